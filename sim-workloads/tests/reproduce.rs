//! A small report, reproduced: bases, processes, cache, findings.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use innosim_workloads::progress::Progress;
use innosim_workloads::report::json::{
    Answer, Finding, ReproduceDocument, StudyDocument, StudyRow,
};
use innosim_workloads::reproduce::cache::CacheDirectory;
use innosim_workloads::reproduce::finished::{Finished, FinishedCell};
use innosim_workloads::reproduce::machines::MachineChange;
use innosim_workloads::reproduce::report::{
    Cell, Extent, Findings, FittedConstant, Length, OptionFile, Setup, WarmState, labels,
};
use innosim_workloads::reproduce::study::study;
use innosim_workloads::reproduce::{Amount, Options, Program, Report, reproduce};
use innosim_workloads::run::RunArguments;

/// One, two or more threads on two small tables.
struct Threads;

const OPTION_FILE: OptionFile = OptionFile {
    name: "threads.cnf",
    text: "[mysqld]\ninnodb_buffer_pool_size=64M\ninnodb_redo_log_capacity=16M\n",
};

impl Report for Threads {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn machines(&self) -> &'static [&'static str] {
        &["laptop-nvme"]
    }

    fn default_scale(&self, _amount: Amount) -> NonZeroU32 {
        NonZeroU32::MIN
    }

    fn assumptions(&self, _extent: &Extent<'_>) -> Vec<String> {
        vec!["It was never published.".into()]
    }

    fn cells(&self, extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>> {
        let threads: &[u32] = if extent.is_full() {
            &[1, 2, 4]
        } else {
            &[1, 4]
        };
        let cell = |&threads: &u32| Cell {
            labels: labels([("threads", threads.into())]),
            figures: vec![("tps", Some(1000.0 * f64::from(threads)))],
            fitted: threads == 1,
            setup: Setup {
                arguments: RunArguments {
                    workload: Some("oltp_write_only".into()),
                    tables: Some("2".into()),
                    table_size: Some("500".into()),
                    threads: Some(threads.to_string()),
                    ..RunArguments::default()
                },
                option_file: Some(OPTION_FILE),
                machine: extent.machine.into(),
                change: match threads {
                    4 => MachineChange::RedoApart,
                    _ => MachineChange::None,
                },
                adjustments: Vec::new(),
                length: Length {
                    warm_up_s: 0.02,
                    measure_s: 0.1,
                    warm_state: None,
                },
            },
            changed: vec!["innodb_doublewrite_pages=16".into()],
            seeds: vec![1, 2],
            expected_tps: 1000.0,
        };
        Ok(threads.iter().map(cell).collect())
    }

    fn constants(&self) -> Vec<FittedConstant> {
        vec![FittedConstant {
            machine: "laptop-nvme",
            key: "server.statement_us",
            cells: vec![labels([("threads", 1.into())])],
        }]
    }

    fn study_cells(&self, extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>> {
        let mut cells = self.cells(extent)?;
        cells.truncate(1);
        cells[0].seeds.truncate(1);
        Ok(cells)
    }

    fn study_scales(&self) -> Vec<NonZeroU32> {
        [2, 1].into_iter().filter_map(NonZeroU32::new).collect()
    }

    fn answers(&self, finished: &Finished) -> Vec<Answer> {
        let tps = |cell: &FinishedCell| Answer {
            text: "tps".to_owned(),
            published: cell.published("tps"),
            figure: cell.tps(),
        };
        finished.cells.iter().map(tps).collect()
    }

    fn leaves_out(&self) -> &'static [&'static str] {
        &["Everything."]
    }

    fn findings(&self, finished: &Finished, _extent: &Extent<'_>) -> Findings {
        let tps = |cell: Option<&FinishedCell>| cell.and_then(FinishedCell::tps);
        let (first, last) = (finished.cells.first(), finished.cells.last());
        let ratio = tps(last).zip(tps(first)).map(|(last, first)| last / first);
        Findings {
            claims: vec![Finding::new("more threads do more", ratio, |ratio| {
                ratio > 1.0
            })],
            ..Findings::default()
        }
    }
}

fn program() -> Program {
    Program {
        path: env!("CARGO_BIN_EXE_innosim").into(),
        arguments: Vec::new(),
        identity: "this build".into(),
    }
}

/// A program that fails, of the same identity: whatever it were asked for is not kept.
fn broken() -> Program {
    Program {
        path: "false".into(),
        ..program()
    }
}

fn call(directory: &Path, amount: Amount, program: Program) -> ReproduceDocument {
    let cache = CacheDirectory::open(directory).unwrap();
    let options = Options {
        amount,
        scale: None,
        runs_missing: true,
        jobs: 2,
        cache: &cache,
        base_bytes: 1 << 30,
        program,
        progress: &Progress::silent(),
    };
    reproduce(&[&Threads], &options).unwrap()
}

fn entries(directory: &Path, name: &str) -> usize {
    let entries = std::fs::read_dir(directory.join(name)).unwrap();
    let is_data = |path: &Path| name != "bases" || path.is_dir();
    entries
        .filter(|entry| is_data(&entry.as_ref().unwrap().path()))
        .count()
}

#[test]
fn a_report_is_run_once_and_goes_on_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let quick = call(directory.path(), Amount::Quick, program());
    let [report] = &quick.reports[..] else {
        panic!("{quick:?}")
    };
    assert_eq!(report.failures, Vec::<String>::new());
    assert_eq!(
        (report.runs, report.cells.len(), report.quick),
        (4, 2, true)
    );
    assert!(report.claims[0].holds && report.all_hold(), "{report:?}");
    let cell = &report.cells[0];
    assert!(
        cell.simulated > 0.0 && cell.fitted && cell.n == 2,
        "{cell:?}"
    );
    assert!(cell.ci95_low.unwrap() <= cell.simulated && cell.validity.is_some());
    // Both machines read the same data.
    assert_eq!(entries(directory.path(), "bases"), 1);
    assert_eq!(entries(directory.path(), "machines"), 2);
    assert_eq!(entries(directory.path(), "cells"), 4);

    // Nothing is run again, though nothing could be.
    let again = call(directory.path(), Amount::Quick, broken());
    assert_eq!(again.reports[0].runs, 0);
    assert_eq!(again.reports[0].cells, report.cells);
    assert_eq!(again.reports[0].claims, report.claims);

    // The full form needs one cell more.
    let failed = call(directory.path(), Amount::Full, broken());
    assert_eq!(
        (failed.reports[0].runs, failed.reports[0].failures.len()),
        (2, 2)
    );
    assert!(
        failed.reports[0].failures[0].starts_with("threads=2 seed="),
        "{failed:?}"
    );
    assert!(!failed.reports[0].all_hold());
    assert_eq!(failed.reports[0].cells.len(), 2, "the others are told");
    let full = call(directory.path(), Amount::Full, program());
    assert_eq!((full.reports[0].runs, full.reports[0].cells.len()), (2, 3));
    assert!(!full.reports[0].quick && full.reports[0].all_hold());
}

#[test]
fn a_damaged_file_of_the_cache_is_told_of_and_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let first = call(directory.path(), Amount::Quick, program());
    let cells = directory.path().join("cells");
    let damaged = std::fs::read_dir(&cells)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    std::fs::write(&damaged, "{").unwrap();
    let second = call(directory.path(), Amount::Quick, program());
    assert_eq!(second.reports[0].runs, 1);
    let warning = &second.reports[0].warnings[0];
    assert!(warning.contains("damaged"), "{warning}");
    assert_eq!(
        second.reports[0].cells, first.reports[0].cells,
        "the same seed"
    );
}

#[test]
fn another_build_runs_everything_again() {
    let directory = tempfile::tempdir().unwrap();
    call(directory.path(), Amount::Quick, program());
    let other = Program {
        identity: "another build".into(),
        ..program()
    };
    assert_eq!(
        call(directory.path(), Amount::Quick, other).reports[0].runs,
        4
    );
    assert_eq!(entries(directory.path(), "bases"), 1, "the data stay");
}

#[test]
fn a_report_that_has_no_room_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let cache = CacheDirectory::open(directory.path()).unwrap();
    let options = Options {
        amount: Amount::Quick,
        scale: None,
        runs_missing: true,
        jobs: 1,
        cache: &cache,
        base_bytes: 1 << 20,
        program: program(),
        progress: &Progress::silent(),
    };
    let document = reproduce(&[&Threads], &options).unwrap();
    let [failure] = &document.reports[0].failures[..] else {
        panic!("{document:?}")
    };
    assert!(failure.contains("--cache-size"), "{failure}");
    assert!(!document.reports[0].all_hold());
}

#[test]
fn what_is_wrong_with_a_call_is_told_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_innosim"))
        .args([
            "reproduce",
            "doublewrite-page",
            "--jobs",
            "0",
            "--scale=x",
            "--cache-dir",
        ])
        .arg(directory.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    for part in ["did you mean doublewrite-pages?", "--jobs=0", "--scale=x"] {
        assert!(text.contains(part), "{text}");
    }
}

/// Batch sizes of the doublewrite files, from one warm state.
struct Batches {
    pages: &'static [u32],
    seeds: &'static [u64],
}

impl Report for Batches {
    fn name(&self) -> &'static str {
        "batches"
    }

    fn machines(&self) -> &'static [&'static str] {
        Threads.machines()
    }

    fn default_scale(&self, amount: Amount) -> NonZeroU32 {
        Threads.default_scale(amount)
    }

    fn assumptions(&self, _extent: &Extent<'_>) -> Vec<String> {
        Vec::new()
    }

    fn cells(&self, extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>> {
        let like = &Threads.cells(extent)?[0];
        let cell = |pages: &u32| {
            let mut cell = like.clone();
            cell.labels = labels([("innodb_doublewrite_pages", (*pages).into())]);
            cell.changed = vec![format!("innodb_doublewrite_pages={pages}")];
            cell.seeds = self.seeds.to_vec();
            cell.setup.arguments.table_size = Some("20000".into());
            cell.setup.arguments.set = vec!["innodb_buffer_pool_size=8M".into()];
            cell.setup.length.warm_state = Some(WarmState {
                settle_s: 0.05,
                until_steady: true,
            });
            cell
        };
        Ok(self.pages.iter().map(cell).collect())
    }

    fn constants(&self) -> Vec<FittedConstant> {
        Vec::new()
    }

    fn study_cells(&self, extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>> {
        self.cells(extent)
    }

    fn study_scales(&self) -> Vec<NonZeroU32> {
        Vec::new()
    }

    fn answers(&self, _finished: &Finished) -> Vec<Answer> {
        Vec::new()
    }

    fn leaves_out(&self) -> &'static [&'static str] {
        &[]
    }

    fn findings(&self, _finished: &Finished, _extent: &Extent<'_>) -> Findings {
        Findings::default()
    }
}

/// What a call keeps of these runs, by key, but for what differs with the host.
fn kept(report: &Batches, jobs: usize) -> BTreeMap<String, serde_json::Value> {
    let directory = tempfile::tempdir().unwrap();
    let cache = CacheDirectory::open(directory.path()).unwrap();
    let options = Options {
        amount: Amount::Quick,
        scale: None,
        runs_missing: true,
        jobs,
        cache: &cache,
        base_bytes: 1 << 30,
        program: program(),
        progress: &Progress::silent(),
    };
    let document = reproduce(&[report], &options).unwrap();
    let found = &document.reports[0];
    assert_eq!(found.failures, Vec::<String>::new());
    assert_eq!(found.cells.len(), report.pages.len());
    let told = found.warnings.iter();
    let told = told.filter(|text| text.contains("innodb_doublewrite_pages is read-only"));
    assert_eq!(told.count(), 1, "{:?}", found.warnings);
    let files = std::fs::read_dir(directory.path().join("cells")).unwrap();
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read(file.unwrap().path()).unwrap();
        let mut entry: serde_json::Value = serde_json::from_slice(&text).unwrap();
        // The path of the profile is one of the temporary directory.
        for apart in ["host", "machine"] {
            entry["run"].as_object_mut().unwrap().remove(apart).unwrap();
        }
        (entry["key"].to_string(), entry)
    };
    files.map(read).collect()
}

#[test]
fn a_run_from_a_shared_warm_state_is_what_it_is_alone() {
    let all = Batches {
        pages: &[128, 4],
        seeds: &[1, 2],
    };
    let alone = Batches {
        pages: &[4],
        seeds: &[2],
    };
    let one_at_a_time = kept(&all, 1);
    assert_eq!(one_at_a_time.len(), 4);
    assert!(one_at_a_time == kept(&all, 2));
    let alone = kept(&alone, 1);
    assert_eq!(alone.len(), 1);
    let (key, run) = alone.first_key_value().unwrap();
    assert!(one_at_a_time[key] == *run);
    let transactions = run["run"]["transactions"].as_u64();
    assert!(transactions.unwrap() > 10);
    assert_eq!(run["run"]["variables"]["innodb_doublewrite_pages"], 4);
}

#[test]
fn a_process_that_fails_fails_all_of_its_runs() {
    let directory = tempfile::tempdir().unwrap();
    let cache = CacheDirectory::open(directory.path()).unwrap();
    let report = Batches {
        pages: &[128, 4],
        seeds: &[1],
    };
    let options = Options {
        amount: Amount::Quick,
        scale: None,
        runs_missing: true,
        jobs: 2,
        cache: &cache,
        base_bytes: 1 << 30,
        program: broken(),
        progress: &Progress::silent(),
    };
    let document = reproduce(&[&report], &options).unwrap();
    let failures = &document.reports[0].failures;
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(
        failures[0].starts_with("innodb_doublewrite_pages="),
        "{failures:?}"
    );
}

/// The study of [`Threads`], with this program.
fn studied(directory: &Path, program: Program) -> StudyDocument {
    let cache = CacheDirectory::open(directory).unwrap();
    let options = Options {
        amount: Amount::Full,
        scale: None,
        runs_missing: true,
        jobs: 2,
        cache: &cache,
        base_bytes: 1 << 30,
        program,
        progress: &Progress::silent(),
    };
    let mut document = study(&[&Threads], &options).unwrap();
    document.studies.remove(0)
}

#[test]
fn a_study_varies_what_was_fitted_the_disk_and_the_scale() {
    let directory = tempfile::tempdir().unwrap();
    let found = studied(directory.path(), program());
    // As fitted, a constant less and more, three arbitrations, another scale.
    assert_eq!(found.runs, 1 + 2 + 3 + 1);
    for row in found.rows() {
        assert_eq!(row.failures, Vec::<String>::new());
        assert!(row.answers[0].figure.unwrap() > 0.0 && row.validity.is_some());
    }
    let tps = |row: &StudyRow| row.answers[0].figure.unwrap();
    let of_constant = &found.constants[0];
    assert_eq!(of_constant.constant.value, "60.0");
    assert!(tps(&of_constant.less) > tps(&found.as_fitted));
    assert!(tps(&found.as_fitted) > tps(&of_constant.more));
    assert_eq!(found.arbitration.len(), 3);
    let scales: Vec<&str> = found
        .scales
        .iter()
        .map(|row| row.variant.as_str())
        .collect();
    assert_eq!(scales, ["2", "1"]);
    assert_eq!(found.scales[1].answers, found.as_fitted.answers);

    // All of it is kept; what is as fitted is kept for the report, too.
    let again = studied(directory.path(), broken());
    assert_eq!(again.runs, 0);
    assert!(again.rows().eq(found.rows()));
    let full = call(directory.path(), Amount::Full, program());
    assert_eq!(full.reports[0].runs, 2 * 3 - 1);
}

#[test]
fn a_page_is_made_of_results_that_were_written() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let results = call(&file("cache"), Amount::Quick, program());
    std::fs::write(file("results"), serde_json::to_vec(&results).unwrap()).unwrap();
    std::fs::write(file("nonsense"), "{}").unwrap();
    let page = |from: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_innosim"))
            .arg("reproduce")
            .arg("--fidelity")
            .arg(file("page"))
            .arg("--from")
            .arg(file(from))
            .arg("--cache-dir")
            .arg(file("other"))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    assert_eq!(page("results"), (Some(0), String::new()));
    let text = std::fs::read_to_string(file("page")).unwrap();
    for part in [
        "## threads\n",
        "**A shape only:**",
        "| `server.statement_us` | 60.0 | estimate",
        "* Everything.",
        "the study has not been run",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (code, message) = page("nonsense");
    assert!(code == Some(2) && message.contains("--from="), "{message}");
}
