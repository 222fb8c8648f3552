//! From reports to results: what is kept is taken, what is missing is run.
//!
//! ```text
//!   cells ──► in the cache? ──yes──────────────────────────────┐
//!                  │ no                                        ▼
//!                  └──► base ──► jobs ──► kept in the cache ──► findings
//! ```
//!
//! An interrupted call loses the runs that were under way, and no other.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use innosim_engine::buffer_pool::BufferPoolSettings;
use innosim_engine::sysvar::Flavor;

use super::base::{self, Bases};
use super::cache::CacheDirectory;
use super::estimate;
use super::fingerprint::Fingerprint;
use super::finished::{Finished, FinishedCell, Measured};
use super::groups::{self, Group, Job, Means, Wanted, groups};
use super::jobs::{Cost, Limits, Meter, carry_out};
use super::loading::{self, WantedBase};
use super::machines;
use super::processes;
use super::report::{Amount, Cell, Extent, Report, Setup};
use super::study;
use super::warnings;
use crate::complaint::in_words;
use crate::machine::memory;
use crate::progress::Progress;
use crate::report::json::{OptionFileText, ReportDocument, ReproduceDocument};
use crate::run::{RunArguments, RunPlan, space};
use crate::server::EngineServer;

/// The program that is started for every run.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// What comes before the subcommand.
    pub arguments: Vec<OsString>,
    /// What tells it from every other program, of another version or build.
    pub identity: String,
}

impl Program {
    /// innosim itself; its identity is the content of its file.
    ///
    /// # Errors
    /// If the system does not tell the program's path, or it cannot be read.
    pub fn this() -> std::io::Result<Self> {
        let path = std::env::current_exe()?;
        let hash = Fingerprint::of_file(&path)?;
        Ok(Program {
            path,
            arguments: Vec::new(),
            identity: format!("innosim {} {hash}", env!("CARGO_PKG_VERSION")),
        })
    }
}

/// What is asked for.
#[derive(Debug)]
pub struct Options<'a> {
    /// How much.
    pub amount: Amount,
    /// What sizes are divided by, in place of each report's own scale.
    pub scale: Option<NonZeroU32>,
    /// Whether runs that are not kept are carried out; they fail otherwise.
    pub runs_missing: bool,
    /// Runs at a time, at most.
    pub jobs: usize,
    /// What is kept.
    pub cache: &'a CacheDirectory,
    /// The most bytes that bases may take.
    pub base_bytes: u64,
    /// What is started.
    pub program: Program,
    /// Where steps are announced.
    pub progress: &'a Progress,
}

/// Reproduces reports. One that cannot be run at all is among the results, with the reason.
///
/// # Errors
/// If the cache cannot be used.
pub fn reproduce(
    reports: &[&dyn Report],
    options: &Options<'_>,
) -> anyhow::Result<ReproduceDocument> {
    let bases = Bases::new(&options.cache.path().join("bases"), options.base_bytes)?;
    let mut documents = Vec::new();
    for report in reports {
        let machines = match options.amount {
            Amount::Quick => &report.machines()[..1],
            Amount::Full => report.machines(),
        };
        for machine in machines {
            let extent = Extent {
                machine,
                scale: options
                    .scale
                    .unwrap_or_else(|| report.default_scale(options.amount)),
                amount: options.amount,
            };
            let begin = Instant::now();
            let constants = report.constants();
            let constants = constants.iter().filter(|one| one.machine == *machine);
            let constants = constants
                .map(study::document)
                .collect::<anyhow::Result<_>>();
            let leaves_out = report.leaves_out().iter();
            let mut document = ReportDocument {
                innosim: env!("CARGO_PKG_VERSION").to_owned(),
                name: report.name().to_owned(),
                machine: (*machine).to_owned(),
                scale: extent.scale.get().into(),
                cells: Vec::new(),
                claims: Vec::new(),
                controls: Vec::new(),
                quick: !extent.is_full(),
                assumptions: report.assumptions(&extent),
                constants: constants?,
                leaves_out: leaves_out.map(|text| (*text).to_owned()).collect(),
                warnings: Vec::new(),
                failures: Vec::new(),
                runs: 0,
                wall_s: 0.0,
                option_files: Vec::new(),
            };
            if let Err(error) = fill(&mut document, *report, &extent, &bases, options) {
                document.failures.push(in_words(&error));
            }
            document.wall_s = begin.elapsed().as_secs_f64();
            documents.push(document);
        }
    }
    options.progress.finish();
    Ok(ReproduceDocument { reports: documents })
}

/// Runs what is missing, and judges.
fn fill(
    document: &mut ReportDocument,
    report: &dyn Report,
    extent: &Extent<'_>,
    bases: &Bases,
    options: &Options<'_>,
) -> anyhow::Result<()> {
    let cells = report.cells(extent)?;
    document.option_files = option_files(&cells);
    let mut log = Log::default();
    let finished = finish(&mut log, cells, extent, bases, options);
    document.runs = log.runs;
    document.warnings = log.warnings;
    let failures = log.failures.into_iter().map(|(_, reason)| reason);
    document.failures = failures.collect();
    let finished = finished?;
    let findings = report.findings(&finished, extent);
    document.cells = finished
        .cells
        .iter()
        .flat_map(FinishedCell::documents)
        .collect();
    document.claims = findings.claims;
    document.controls = findings.controls;
    document.warnings.extend(findings.warnings);
    let warnings = warnings::of(&finished, extent.scale);
    document.warnings.extend(warnings);
    Ok(())
}

/// The option files of cells, each once, in the order of their first use.
fn option_files(cells: &[Cell]) -> Vec<OptionFileText> {
    let mut files: Vec<OptionFileText> = Vec::new();
    for file in cells.iter().filter_map(|cell| cell.setup.option_file) {
        if !files.iter().any(|known| known.name == file.name) {
            files.push(OptionFileText {
                name: file.name.to_owned(),
                text: file.text.to_owned(),
            });
        }
    }
    files
}

/// What happened while runs were carried out.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Runs that failed, by their cells' numbers, and why.
    pub failures: Vec<(usize, String)>,
    /// Runs that were carried out.
    pub runs: u64,
}

/// The runs of cells: those that are kept, and the others, which are carried out.
///
/// # Errors
/// If none can be: a cell is wrong, or there is no room for its data.
pub(super) fn finish(
    log: &mut Log,
    cells: Vec<Cell>,
    extent: &Extent<'_>,
    bases: &Bases,
    options: &Options<'_>,
) -> anyhow::Result<Finished> {
    let mut results = Results::new(&cells);
    let mut groups_to_run: Vec<(Prepared, Vec<Wanted>)> = Vec::new();
    for group in groups(&cells) {
        let prepared = Prepared::new(&group, extent, options.cache)?;
        let wanted = missing(&cells, &group, &prepared, options, &mut results, log)?;
        if wanted.is_empty() {
            continue;
        }
        if options.runs_missing {
            groups_to_run.push((prepared, wanted));
            continue;
        }
        let failed = wanted.iter().map(|wanted| {
            let label = groups::label(&cells[wanted.cell], wanted.seed);
            (
                wanted.cell,
                format!("{label}: not run, or by another build"),
            )
        });
        log.failures.extend(failed);
    }
    let wanted_bases = groups_to_run.iter().map(|(prepared, _)| WantedBase {
        key: &prepared.base_key,
        plan: &prepared.base_plan,
        memory: means(&prepared.base_plan, 1).process,
    });
    let wanted_bases: Vec<_> = wanted_bases.collect();
    // Bases stay in use until the report is done.
    let used = loading::load(bases, &wanted_bases, limits(options), options.progress)?;
    let mut jobs: Vec<Job> = Vec::new();
    for (prepared, wanted) in groups_to_run {
        let mut arguments = prepared.arguments;
        arguments.base = Some(used[&prepared.base_key].path().to_path_buf());
        let means = means(&arguments.plan()?, options.jobs);
        jobs.extend(groups::jobs(&cells, &arguments, wanted, &means));
    }
    run(jobs, options, &mut results, log);
    Ok(results.into_finished(cells))
}

/// Runs by cell and seed.
struct Results(Vec<BTreeMap<u64, Measured>>);

impl Results {
    fn new(cells: &[Cell]) -> Self {
        Results(vec![BTreeMap::new(); cells.len()])
    }

    fn into_finished(self, cells: Vec<Cell>) -> Finished {
        let with_runs = |(cell, runs): (Cell, BTreeMap<u64, Measured>)| FinishedCell {
            cell,
            runs: runs.into_values().collect(),
        };
        Finished {
            cells: cells.into_iter().zip(self.0).map(with_runs).collect(),
        }
    }
}

/// A group with its files in place.
struct Prepared {
    /// With paths; without base.
    arguments: RunArguments,
    machine_text: String,
    /// The plan by which the base is loaded.
    base_plan: RunPlan,
    base_key: String,
}

/// The seed of the rows: they are the same for all runs.
const LOADER_SEED: &str = "1";

/// Redo capacity of the loader from 8.0 on, after division by the scale. It is not that of
/// the runs, so that those with other capacities can share a base: numbered redo files of
/// another size are used up and replaced, as when a server changes its capacity.
const LOADER_REDO_BYTES: u64 = 128 << 20;

impl Prepared {
    fn new(group: &Group<'_>, extent: &Extent<'_>, cache: &CacheDirectory) -> anyhow::Result<Self> {
        let Setup {
            arguments,
            option_file,
            machine,
            change,
            adjustments,
            ..
        } = group.setup;
        let machine_text = machines::text(machine, *change, adjustments)?;
        let mut arguments = arguments.clone();
        arguments.scale = Some(extent.scale.to_string());
        if let Some(file) = option_file {
            arguments.defaults_file = Some(cache.keep_text("settings", file.name, file.text)?);
        }
        let name = format!("{machine}-{}.toml", change.name());
        let path = cache.keep_text("machines", &name, &machine_text)?;
        arguments.machine = Some(path.display().to_string());

        let mut loading = arguments.clone();
        loading.seed = Some(LOADER_SEED.into());
        let flavor: Flavor = loading
            .flavor
            .as_deref()
            .map_or(Ok(Flavor::default()), str::parse)?;
        if flavor.is_mysql_since(Flavor::MySql8_0) {
            let bytes = LOADER_REDO_BYTES * u64::from(extent.scale.get());
            loading
                .set
                .push(format!("innodb_redo_log_capacity={bytes}"));
        }
        let base_plan = loading.plan()?;
        Ok(Prepared {
            arguments,
            machine_text,
            base_key: base::key(&base_plan)?,
            base_plan,
        })
    }

    /// Everything that decides what a run gives, as text.
    fn key(&self, cell: &Cell, seed: u64, identity: &str) -> String {
        let mut arguments = groups::with_seed(&self.arguments, cell, seed);
        // Not where they are, but what is in them.
        arguments.defaults_file = None;
        arguments.machine = None;
        let call = arguments.command_line();
        let call: Vec<_> = call.iter().map(|word| word.to_string_lossy()).collect();
        let options = cell.setup.option_file.map_or("", |file| file.text);
        format!(
            "{identity}\n{}\nwarm-up {}\n--- base\n{}--- options\n{options}\n--- machine\n{}",
            call.join(" "),
            groups::beginning(cell.setup.length),
            self.base_key,
            self.machine_text,
        )
    }
}

/// The runs of a group that are not kept; those that are go into the results.
fn missing(
    cells: &[Cell],
    group: &Group<'_>,
    prepared: &Prepared,
    options: &Options<'_>,
    results: &mut Results,
    log: &mut Log,
) -> anyhow::Result<Vec<Wanted>> {
    let mut wanted = Vec::new();
    for &number in &group.cells {
        let cell = &cells[number];
        for &seed in &cell.seeds {
            let key = prepared.key(cell, seed, &options.program.identity);
            match options
                .cache
                .find(&key, |warning| log.warnings.push(warning))
            {
                Some(measured) => {
                    results.0[number].insert(seed, measured);
                }
                None => wanted.push(Wanted {
                    cell: number,
                    seed,
                    key,
                }),
            }
        }
        // What is wrong with a cell is told before minutes of work.
        groups::with_seed(&prepared.arguments, cell, 1).plan()?;
    }
    Ok(wanted)
}

/// Carries jobs out, the longest first, and keeps what they give.
fn run(mut jobs: Vec<Job>, options: &Options<'_>, results: &mut Results, log: &mut Log) {
    let weight = |job: &Job| job.weights.iter().sum::<f64>();
    jobs.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let runs: usize = jobs.iter().map(|job| job.wanted.len()).sum();
    if runs > 0 {
        options.progress.expect(1);
        options.progress.step(&estimate::of(&jobs, options.jobs));
    }
    options.progress.expect(runs as u64);
    let meter = Meter::new(jobs.iter().map(weight).sum());
    let outcomes = carry_out(
        &jobs,
        |job| Cost {
            processes: job.processes,
            memory: job.memory,
        },
        limits(options),
        |job| {
            let mut outcomes = Vec::new();
            let mut not_kept = Vec::new();
            processes::carry_out(job, &options.program, |place, outcome| {
                if let Ok(measured) = &outcome {
                    let kept = options.cache.keep(&job.wanted[place].key, measured);
                    not_kept.extend(kept.err().map(|error| in_words(&error)));
                }
                let left = meter.add(job.weights[place]);
                options
                    .progress
                    .step(&told(&job.labels[place], &outcome, left));
                outcomes.push((place, outcome));
            });
            (outcomes, not_kept)
        },
    );
    for (job, (outcomes, not_kept)) in jobs.iter().zip(outcomes) {
        let not_kept = not_kept.into_iter();
        log.warnings
            .extend(not_kept.map(|error| format!("a run is not kept: {error}")));
        for (place, outcome) in outcomes {
            log.runs += 1;
            let wanted = &job.wanted[place];
            match outcome {
                Ok(measured) => {
                    results.0[wanted.cell].insert(wanted.seed, measured);
                }
                Err(reason) => {
                    let reason = format!("{}: {reason}", job.labels[place]);
                    log.failures.push((wanted.cell, reason));
                }
            }
        }
    }
}

fn told(label: &str, outcome: &Result<Measured, String>, left: Option<Duration>) -> String {
    let tps = match outcome {
        Ok(measured) => format!("{:.1} tps", measured.run.tps),
        Err(_) => "failed".to_owned(),
    };
    let left = match left {
        None | Some(Duration::ZERO) => String::new(),
        Some(left) => format!(", about {} left", estimate::in_words(left)),
    };
    format!("{label}: {tps}{left}")
}

/// What may run at a time.
fn limits(options: &Options<'_>) -> Limits {
    Limits {
        processes: options.jobs,
        memory: memory("MemAvailable").unwrap_or(u64::MAX),
    }
}

/// What processes may take. Frames of the pool take memory when a page is first in them.
/// Where the data do not fit into the pool, what was changed leaves it, and is in memory as
/// the content of virtual files until it is spilled to disk.
fn means(plan: &RunPlan, jobs: usize) -> Means {
    /// The program, tasks with their stacks, the notes on each frame.
    const REST: u64 = 512 << 20;
    /// Of the memory that is available, in hundredths: the system's cache of files that are
    /// read again and again needs some.
    const SHARE: u64 = 85;
    let pool = BufferPoolSettings::from_variables(&plan.settings).bytes;
    let data = EngineServer::table_bytes(plan);
    Means {
        jobs,
        memory: memory("MemAvailable").map_or(u64::MAX, |free| free / 100 * SHARE),
        process: data.min(pool) + REST,
        images: if data > pool { data } else { 0 },
        disk: space::free(&std::env::temp_dir()).unwrap_or(u64::MAX),
    }
}

/// The cache in this directory, or where it is if nobody says otherwise.
///
/// # Errors
/// If there is no such place.
pub fn cache(directory: Option<&Path>) -> anyhow::Result<CacheDirectory> {
    let path = match directory {
        Some(path) => path.to_path_buf(),
        None => CacheDirectory::default_path()?,
    };
    CacheDirectory::open(&path).context("the cache directory")
}
