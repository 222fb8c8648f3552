//! The data, the runs in their order, and what is kept.
//!
//! ```text
//!   prepare ──► age ──► base ──copy──► real files
//!                        │                │
//!             virtual runs begin here     real runs, one after the other, go on here
//!
//!   repeat 1   cell 1  cell 2  …  cell n
//!   repeat 2   cell n  …  cell 2  cell 1      what drifts hits all cells alike
//! ```
//!
//! Every run is a process of its own. One that has ended is kept, by the program, the cell,
//! the directory, the repeat and the day: a call that was interrupted goes on where it stopped,
//! and tomorrow's call measures again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use super::grid::{Cell, Grid, Size, ageing};
use super::judge::{Bar, JudgedCell, OTHERS_MAX, bars, judge};
use crate::calibrate::host_profile::today;
use crate::progress::Progress;
use crate::report::json::RunDocument;
use crate::reproduce::Program;
use crate::reproduce::cache::CacheDirectory;
use crate::reproduce::finished::Measured;
use crate::run::{NobodyWatches, RunArguments, Server};
use crate::server::EngineServer;
use crate::sweep::{GridPoint, Runner};

/// What a validation is asked to do.
#[derive(Debug)]
pub struct Options<'a> {
    /// Which cells.
    pub grid: Grid,
    /// Their sizes and lengths.
    pub size: Size,
    /// Real runs a cell.
    pub repeats: u32,
    /// Virtual runs at a time.
    pub jobs: usize,
    /// The disk's directory; nothing is left in it.
    pub directory: &'a Path,
    /// The profile: a name or a file.
    pub machine: String,
    /// What of the profile decides results: its text.
    pub machine_text: String,
    /// What is kept.
    pub cache: &'a CacheDirectory,
    /// Whether to measure again what is kept.
    pub fresh: bool,
    /// What is started.
    pub program: Program,
    /// Where steps are announced.
    pub progress: &'a Progress,
}

/// What a validation found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Validation {
    /// The version of the program.
    pub innosim: &'static str,
    /// The profile's name.
    pub machine: String,
    /// The grid's name.
    pub grid: &'static str,
    /// Real runs a cell.
    pub repeats: u32,
    /// Every cell.
    pub cells: Vec<JudgedCell>,
    /// The bars.
    pub bars: Vec<Bar>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl Validation {
    /// Whether every bar holds.
    pub fn all_hold(&self) -> bool {
        self.bars.iter().all(|bar| bar.holds)
    }
}

/// Runs everything.
///
/// # Errors
/// If files cannot be made, or a run fails.
pub fn validate(options: &Options<'_>) -> anyhow::Result<Validation> {
    let cells = options.grid.cells(&options.size);
    let directory = tempfile::Builder::new()
        .prefix("innosim-validate-")
        .tempdir_in(options.directory)
        .with_context(|| options.directory.display().to_string())?;
    let progress = options.progress;
    progress.expect((cells.len() * (options.repeats as usize + 1) + 2) as u64);

    let runner = Runner {
        program: options.program.path.clone(),
        arguments: [&*options.program.arguments, &["run".into()]].concat(),
        jobs: options.jobs,
    };
    let (base, files) = (directory.path().join("base"), directory.path().join("real"));
    if !is_all_kept(options, &cells) {
        prepare(options, &runner, &base)?;
        copy(&base, &files)?;
        progress.step("copied");
    }

    let mut real: Vec<Vec<(RunDocument, f64)>> = cells.iter().map(|_| Vec::new()).collect();
    for repeat in 0..options.repeats {
        for number in order(cells.len(), repeat) {
            let run = real_run(options, &runner, &cells[number], &files, repeat)?;
            real[number].push(run);
        }
    }
    let predicted = virtual_runs(options, &runner, &cells, &base)?;
    progress.finish();

    let judged: Vec<JudgedCell> = cells
        .iter()
        .zip(real.iter().zip(&predicted))
        .map(|(cell, (real, predicted))| judge(&cell.labels, real, predicted))
        .collect();
    let disturbed = judged.iter().filter(|cell| !cell.is_judged()).count();
    let mut warnings = Vec::new();
    if disturbed > 0 {
        warnings.push(format!(
            "while real runs of {disturbed} of {} cells ran, other processes took more than \
             {:.0} % of this host's CPUs: what was measured is not what an idle host does, which \
             is what the profile says, and these cells are not judged",
            judged.len(),
            OTHERS_MAX * 100.0
        ));
    }
    Ok(Validation {
        innosim: env!("CARGO_PKG_VERSION"),
        machine: options.machine.clone(),
        grid: options.grid.name(),
        repeats: options.repeats,
        bars: bars(&judged).to_vec(),
        cells: judged,
        warnings,
    })
}

/// The cells in the order of a repeat: there and back.
fn order(cells: usize, repeat: u32) -> Vec<usize> {
    let forth = 0..cells;
    if repeat.is_multiple_of(2) {
        forth.collect()
    } else {
        forth.rev().collect()
    }
}

/// Loads the tables and lets them age.
fn prepare(options: &Options<'_>, runner: &Runner, base: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(base)?;
    let arguments = RunArguments {
        clock: Some("real".into()),
        datadir: Some(base.into()),
        ..ageing(&options.size)
    };
    let plan = arguments.plan()?;
    EngineServer::prepare(&plan, base, &mut NobodyWatches)?;
    options.progress.step("tables loaded");
    let run = runner
        .run(&point("ageing", &arguments))
        .map_err(|error| anyhow::anyhow!(error))?;
    options
        .progress
        .step(&format!("aged by {} transactions", run.transactions));
    Ok(())
}

fn point(what: &str, arguments: &RunArguments) -> GridPoint {
    let mut set = serde_json::Map::new();
    set.insert("run".into(), what.into());
    GridPoint {
        set,
        arguments: arguments.clone(),
    }
}

/// Copies a directory of files, and of directories of files.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| target.display().to_string())?;
            // Not to be written back while something is measured.
            fs::File::open(&target)?.sync_all()?;
        }
    }
    Ok(())
}

/// A key of what is kept: everything that decides a run's results.
fn key(options: &Options<'_>, cell: &Cell, more: &[&str]) -> String {
    let call: Vec<String> = cell
        .arguments
        .command_line()
        .iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let ageing = options.size.ageing_s;
    format!(
        "validate\n{}\n{}\naged {ageing} s\n{}",
        options.program.identity,
        call.join(" "),
        more.join("\n")
    )
}

fn real_key(options: &Options<'_>, cell: &Cell, repeat: u32) -> String {
    let place = canonical(options.directory).display().to_string();
    key(
        options,
        cell,
        &["real", &place, &repeat.to_string(), &today()],
    )
}

fn virtual_key(options: &Options<'_>, cell: &Cell) -> String {
    let place = canonical(options.directory).display().to_string();
    key(
        options,
        cell,
        &["virtual", &place, &today(), &options.machine_text],
    )
}

/// The run of this key from an earlier call.
fn kept(options: &Options<'_>, key: &str) -> Option<Measured> {
    let find = || {
        options
            .cache
            .find(key, |message| options.progress.step(&message))
    };
    (!options.fresh).then(find).flatten()
}

/// Whether no run is left to be made.
fn is_all_kept(options: &Options<'_>, cells: &[Cell]) -> bool {
    cells.iter().all(|cell| {
        let mut keys = (0..options.repeats)
            .map(|repeat| real_key(options, cell, repeat))
            .chain([virtual_key(options, cell)]);
        keys.all(|key| kept(options, &key).is_some())
    })
}

/// What others took of the CPUs is kept with a run, as a warning of this form.
const TAKEN: &str = "share of the CPUs that other processes took: ";

fn real_run(
    options: &Options<'_>,
    runner: &Runner,
    cell: &Cell,
    files: &Path,
    repeat: u32,
) -> anyhow::Result<(RunDocument, f64)> {
    let key = real_key(options, cell, repeat);
    if let Some(measured) = kept(options, &key) {
        options.progress.step("kept from an earlier call");
        let others = measured
            .run
            .warnings
            .iter()
            .find_map(|w| w.strip_prefix(TAKEN));
        let others = others.and_then(|text| text.parse().ok()).unwrap_or(0.0);
        return Ok((measured.run, others));
    }
    let arguments = RunArguments {
        clock: Some("real".into()),
        datadir: Some(files.into()),
        seed: Some((repeat + 1).to_string()),
        ..cell.arguments.clone()
    };
    let before = Busy::now();
    let point = GridPoint {
        set: cell.labels.clone(),
        arguments,
    };
    let label = crate::sweep::jobs::label(&point);
    let mut run = runner
        .run(&point)
        .map_err(|error| anyhow::anyhow!("{label}: {error}"))?;
    // As it is kept, so that a later call says the same.
    let others = (Busy::now().others_since(&before, run.host.cpu_s) * 1e4).round() / 1e4;
    options
        .progress
        .step(&format!("real: {label}: {:.1} tps", run.tps));
    run.warnings.push(format!("{TAKEN}{others:.4}"));
    let measured = Measured {
        warm_up_s: options.size.warm_up_s,
        run,
    };
    options.cache.keep(&key, &measured)?;
    Ok((measured.run, others))
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

fn virtual_runs(
    options: &Options<'_>,
    runner: &Runner,
    cells: &[Cell],
    base: &Path,
) -> anyhow::Result<Vec<RunDocument>> {
    let keys: Vec<String> = cells
        .iter()
        .map(|cell| virtual_key(options, cell))
        .collect();
    let found_before: Vec<Option<Measured>> = keys.iter().map(|key| kept(options, key)).collect();
    let missing: Vec<GridPoint> = cells
        .iter()
        .zip(&found_before)
        .filter(|(_, found)| found.is_none())
        .map(|(cell, _)| GridPoint {
            set: cell.labels.clone(),
            arguments: RunArguments {
                clock: Some("virtual".into()),
                machine: Some(options.machine.clone()),
                base: Some(base.into()),
                ..cell.arguments.clone()
            },
        })
        .collect();
    let mut found = runner.run_each(&missing, options.progress).into_iter();
    let mut runs = Vec::new();
    for ((cell, key), before) in cells.iter().zip(&keys).zip(found_before) {
        if let Some(measured) = before {
            runs.push(measured.run);
            continue;
        }
        let outcome = found.next().expect("a run for each that was missing");
        let label = || {
            crate::sweep::jobs::label(&GridPoint {
                set: cell.labels.clone(),
                arguments: RunArguments::default(),
            })
        };
        let run = outcome.map_err(|error| anyhow::anyhow!("{}: {error}", label()))?;
        let measured = Measured {
            warm_up_s: options.size.warm_up_s,
            run,
        };
        options.cache.keep(key, &measured)?;
        runs.push(measured.run);
    }
    Ok(runs)
}

/// The CPUs' time so far, in seconds: busy, and all.
#[derive(Debug, Clone, Copy)]
struct Busy {
    busy_s: f64,
    all_s: f64,
}

impl Busy {
    fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        Self::of(&text)
    }

    /// From the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq,
    /// steal, in hundredths of a second. What a hypervisor stole is somebody else's, too.
    fn of(text: &str) -> Self {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
        let fields: Vec<f64> = line
            .unwrap_or_default()
            .split_ascii_whitespace()
            .take(8)
            .filter_map(|field| field.parse().ok())
            .collect();
        let all: f64 = fields.iter().sum();
        let idle: f64 = fields.iter().skip(3).take(2).sum();
        Busy {
            busy_s: (all - idle) / 100.0,
            all_s: all / 100.0,
        }
    }

    /// The share that others took, of whom one process is not.
    fn others_since(&self, before: &Busy, own_s: f64) -> f64 {
        let all = self.all_s - before.all_s;
        let busy = self.busy_s - before.busy_s;
        if all > 0.0 {
            ((busy - own_s) / all).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_go_there_and_back() {
        assert_eq!(order(3, 0), [0, 1, 2]);
        assert_eq!(order(3, 1), [2, 1, 0]);
        assert_eq!(order(3, 2), [0, 1, 2]);
    }

    #[test]
    fn what_others_took_is_the_busy_time_less_one_s_own() {
        let before = Busy::of("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3 4\n");
        let after = Busy::of("cpu  200 50 150 900 50 10 20 20 0 0\ncpu0 1 2 3 4\n");
        // 4 s in all, 2.5 s of them busy.
        assert!((after.others_since(&before, 1.5) - 0.25).abs() < 1e-12);
        assert_eq!(after.others_since(&before, 9.0), 0.0);
        assert_eq!(Busy::of("").others_since(&Busy::of(""), 0.0), 0.0);
    }

    #[test]
    fn a_copy_has_all_files() {
        let directory = tempfile::tempdir().unwrap();
        let from = directory.path().join("from");
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::write(from.join("a"), "1").unwrap();
        fs::write(from.join("sub/b"), "2").unwrap();
        let to = directory.path().join("to");
        copy(&from, &to).unwrap();
        assert_eq!(fs::read(to.join("a")).unwrap(), b"1");
        assert_eq!(fs::read(to.join("sub/b")).unwrap(), b"2");
    }
}
