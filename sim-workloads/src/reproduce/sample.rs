//! Made-up cells and runs for tests.

use serde_json::{Map, Value};

use super::finished::{Finished, FinishedCell, Measured};
use super::machines::MachineChange;
use super::report::{Cell, Length, Setup};
use crate::report::json::RunDocument;
use crate::run::RunArguments;

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
            length: Length {
                warm_up_s: 1.0,
                measure_s: 2.0,
                until_steady: false,
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
