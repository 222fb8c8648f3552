//! `innosim reproduce`: published figures against simulated ones.

use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::output::OutputArguments;
use super::{Failure, Outcome};
use crate::progress::Progress;
use crate::report::html::{self, Origin};
use crate::report::json::ReproduceDocument;
use crate::reproduce::execute::cache;
use crate::reproduce::{self, Amount, Options, Program, Report, text::text};
use crate::run::Problems;

/// Run published reports on models of their machines: every figure, every claim.
///
/// Data directories and runs are kept, so that a call that was interrupted goes on where it
/// stopped. The exit code is 1 if something does not hold.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The reports: isolation-levels, doublewrite-pages [default: all of them]
    #[arg(value_name = "REPORT")]
    reports: Vec<String>,
    /// Divide rows, buffer pool and redo capacity by this [default: the report's own]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    scale: Option<String>,
    /// Every cell with three seeds, and all controls, rather than a few cells of one seed
    #[arg(long)]
    full: bool,
    /// Runs at a time, if there is memory for them [default: as many as there are CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    jobs: Option<String>,
    /// Where data directories and runs are kept [default: innosim in XDG_CACHE_HOME, or in
    /// ~/.cache]
    #[arg(long, value_name = "D")]
    cache_dir: Option<PathBuf>,
    /// The most that data directories may take, in GiB: those that were not used for longest
    /// go [default: 40]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    cache_size: Option<String>,
    #[command(flatten)]
    output: OutputArguments,
}

/// What of a call can be wrong, read.
struct Checked {
    reports: Vec<&'static dyn Report>,
    scale: Option<NonZeroU32>,
    jobs: usize,
    base_bytes: u64,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let checked = self.check().map_err(|wrong| Failure::Call(wrong.into()))?;
        self.output.check()?;
        let cache = cache(self.cache_dir.as_deref()).map_err(Failure::Call)?;
        let program = Program::this()
            .context("the program's own file")
            .map_err(Failure::Work)?;
        let progress = Progress::on_standard_error();
        let options = Options {
            amount: if self.full {
                Amount::Full
            } else {
                Amount::Quick
            },
            scale: checked.scale,
            jobs: checked.jobs,
            cache: &cache,
            base_bytes: checked.base_bytes,
            program,
            progress: &progress,
        };
        let document = reproduce::reproduce(&checked.reports, &options).map_err(Failure::Work)?;
        let page = |document: &ReproduceDocument| {
            let machines = document.reports.iter().map(|report| &*report.machine);
            html::reproduce(document, &Origin::of_this_call(machines))
        };
        self.output
            .write(&text(&document), &document, page)
            .map_err(Failure::Work)?;
        Ok(
            match document.reports.iter().all(|report| report.all_hold()) {
                true => Outcome::Done,
                false => Outcome::CheckFailed,
            },
        )
    }

    /// Everything that is wrong, at once.
    fn check(&self) -> Result<Checked, Problems> {
        let mut problems = Problems::default();
        let mut reports: Vec<&'static dyn Report> = Vec::new();
        for name in &self.reports {
            match reproduce::find(name) {
                Err(unknown) => problems.add(unknown),
                // Named twice, it is run once.
                Ok(report) if reports.iter().any(|known| known.name() == report.name()) => {}
                Ok(report) => reports.push(report),
            }
        }
        if self.reports.is_empty() {
            reports = reproduce::REPORTS.to_vec();
        }
        let scale = problems.whole("scale", self.scale.as_deref(), 1, 1..=1_000_000) as u32;
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
        let jobs = problems.whole("jobs", self.jobs.as_deref(), cpus, 1..=1_024) as usize;
        let size = problems.whole("cache-size", self.cache_size.as_deref(), 40, 1..=1 << 20);
        problems.into_result()?;
        Ok(Checked {
            reports,
            scale: self.scale.as_ref().and(NonZeroU32::new(scale)),
            jobs,
            base_bytes: size << 30,
        })
    }
}
