//! Made-up cells and runs for tests.

use serde_json::{Map, Value};

use super::finished::{Finished, FinishedCell, Measured};
use super::machines::MachineChange;
use super::report::{Cell, Length, Setup};
use crate::report::json::{
    Answer, Cell as CellDocument, Constant, ConstantStudy, Finding, ReportDocument, RunDocument,
    StudyDocument, StudyRow, Validity,
};
use crate::run::RunArguments;
use crate::stats::mean_interval_95;

/// A run of something.
pub fn run() -> RunDocument {
    crate::report::json::tests::sample()
}

/// A cell with these labels and seeds 1, 2, …
pub fn cell(labels: Value, figures: &[(&'static str, Option<f64>)], seeds: u64) -> Cell {
    let labels: Map<String, Value> = labels.as_object().unwrap().clone();
    Cell {
        labels,
        figures: figures.to_vec(),
        fitted: false,
        setup: Setup {
            arguments: RunArguments::default(),
            option_file: None,
            machine: "laptop-nvme".into(),
            change: MachineChange::None,
            adjustments: Vec::new(),
            length: Length {
                warm_up_s: 1.0,
                measure_s: 2.0,
                warm_state: None,
            },
        },
        changed: Vec::new(),
        seeds: (1..=seeds).collect(),
        expected_tps: 100.0,
    }
}

/// The cell with a run for each seed, each of them changed.
pub fn finished(cell: Cell, change: impl Fn(u64, &mut RunDocument)) -> FinishedCell {
    let measured = |&seed: &u64| {
        let mut run = run();
        run.seed = seed;
        change(seed, &mut run);
        Measured {
            warm_up_s: cell.setup.length.warm_up_s,
            run,
        }
    };
    let runs = cell.seeds.iter().map(measured).collect();
    FinishedCell { cell, runs }
}

/// All cells of a report with runs that `change` makes from the published figures.
pub fn all(cells: Vec<Cell>, change: impl Fn(&Cell, &mut RunDocument)) -> Finished {
    let finish = |cell: Cell| {
        let labels = cell.clone();
        finished(cell, |_, run| change(&labels, run))
    };
    Finished {
        cells: cells.into_iter().map(finish).collect(),
    }
}

/// A study of one constant, one other arbitration and two scales, the finer of which has
/// failed.
pub fn study() -> StudyDocument {
    let row = |variant: &str, figure: Option<f64>| StudyRow {
        variant: variant.to_owned(),
        answers: vec![
            Answer {
                text: "effect, %".to_owned(),
                published: Some(14.3),
                figure,
            },
            Answer {
                text: "tps | all".to_owned(),
                published: None,
                figure: figure.map(|figure| figure * 100.0),
            },
        ],
        validity: figure.map(|figure| Validity {
            round_share: figure / 1000.0,
            turnover_s: Some(21.0),
            dirty_to_flush_s: None,
            flushed_page_wait_us: figure,
            row_lock_waits: 0.0012,
        }),
        failures: match figure {
            None => vec!["threads=1 seed=1: there is no room".to_owned()],
            Some(_) => Vec::new(),
        },
    };
    let labels = serde_json::json!({"threads": 1});
    StudyDocument {
        innosim: "0.1.0".to_owned(),
        name: "sky".to_owned(),
        machine: "laptop-nvme".to_owned(),
        scale: 4,
        measure_s: 60.0,
        as_fitted: row("as fitted", Some(9.0)),
        constants: vec![ConstantStudy {
            constant: Constant {
                machine: "laptop-nvme".to_owned(),
                key: "server.statement_us".to_owned(),
                value: "60.0".to_owned(),
                source: Some("fitted: one thread".to_owned()),
                cells: vec![labels.as_object().unwrap().clone()],
            },
            less: row("server.statement_us -25 %: 45.0", Some(8.5)),
            more: row("server.statement_us +25 %: 75.0", Some(10.25)),
        }],
        arbitration: vec![row("nvme: fifo, reads before programs", Some(-1.0))],
        scales: vec![row("4", Some(9.0)), row("2", None)],
        warnings: vec!["the sky is grey".to_owned()],
        runs: 5,
        wall_s: 61.4,
    }
}

/// A report with a fitted cell and one without a published figure.
pub fn report() -> ReportDocument {
    let labels = |value: Value| value.as_object().unwrap().clone();
    let mut first = CellDocument::new(
        labels(serde_json::json!({"flavor": "mysql-5.6", "threads": 36})),
        "tps",
        Some(200.0),
        mean_interval_95(&[206.0, 208.0, 210.0]).unwrap(),
        3,
    );
    first.fitted = true;
    let second = CellDocument::new(
        labels(serde_json::json!({"threads": 1, "time_s": 60})),
        "latency_ms.avg",
        None,
        mean_interval_95(&[1.5]).unwrap(),
        1,
    );
    let finding = |holds: bool| Finding::new("the sky is up", Some(0.0625), |_| holds);
    ReportDocument {
        name: "sky".into(),
        machine: "laptop-nvme".into(),
        scale: 4,
        cells: vec![first, second],
        claims: vec![finding(true), finding(false)],
        controls: vec![finding(false).for_information()],
        quick: false,
        assumptions: vec!["It is day.".into()],
        warnings: vec!["clouds".into()],
        failures: vec!["rain: wet".into()],
        runs: 4,
        wall_s: 2.6,
        option_files: Vec::new(),
        innosim: "0.1.0".into(),
        constants: study()
            .constants
            .into_iter()
            .map(|one| one.constant)
            .collect(),
        leaves_out: vec!["The stars.".into()],
    }
}
