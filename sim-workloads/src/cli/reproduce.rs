//! `innosim reproduce`: published figures against simulated ones.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Deserialize;

use super::output::{OutputArguments, check_file, write_file};
use super::{Failure, Outcome, refuse_unused};
use crate::progress::{Progress, say};
use crate::report::html::{self, Origin};
use crate::report::json::{ReproduceDocument, StudiesDocument, StudyDocument};
use crate::reproduce::estimate::for_transactions as estimate;
use crate::reproduce::execute::cache;
use crate::reproduce::{self, Amount, Options, Program, Report, fidelity, study, text::text};
use crate::run::Problems;

/// Run published reports on models of their machines: every figure, every claim.
///
/// Data directories and runs are kept, so that a call that was interrupted goes on where it
/// stopped. The exit code is 1 if something does not hold.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The reports: isolation-levels, doublewrite-pages, threads-5.6-5.7 [default: all of them]
    #[arg(value_name = "REPORT")]
    reports: Vec<String>,
    /// Divide rows, buffer pool and redo capacity by this [default: the report's own]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    scale: Option<String>,
    /// Every cell with three seeds, and all controls, rather than a few cells of one seed
    #[arg(long)]
    full: bool,
    /// How far the answers of reports depend on what was fitted, on the disk's arbitration
    /// and on the scale, in place of the reports. With two cores of one's own: half an hour
    /// for isolation-levels, an hour for doublewrite-pages, some minutes for threads-5.6-5.7
    #[arg(long, conflicts_with = "full")]
    study: bool,
    /// Write a page about how far the model can be trusted (Markdown), from what --full and
    /// --study have found: nothing is run, and what is not there is said to be missing
    #[arg(long, value_name = "F", conflicts_with_all = ["full", "study"])]
    fidelity: Option<PathBuf>,
    /// For --fidelity: results that --full --json and --study --json have written, in place
    /// of those in the cache; may be repeated
    #[arg(long = "from", value_name = "F", requires = "fidelity")]
    from: Vec<PathBuf>,
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

/// A file of results: of reports or of studies.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Results {
    Reports(ReproduceDocument),
    Studies(StudiesDocument),
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
        self.check_outputs()?;
        let cache = cache(self.cache_dir.as_deref()).map_err(Failure::Call)?;
        let program = Program::this()
            .context("the program's own file")
            .map_err(Failure::Work)?;
        let progress = Progress::on_standard_error();
        let options = Options {
            amount: match self.full || self.fidelity.is_some() {
                true => Amount::Full,
                false => Amount::Quick,
            },
            scale: checked.scale,
            runs_missing: self.fidelity.is_none(),
            jobs: checked.jobs,
            cache: &cache,
            base_bytes: checked.base_bytes,
            program,
            progress: &progress,
        };
        if self.study {
            return self.study(&checked.reports, &options);
        }
        if let Some(path) = &self.fidelity {
            return self.fidelity(path, &checked.reports, &options);
        }
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

    fn study(&self, reports: &[&dyn Report], options: &Options<'_>) -> Result<Outcome, Failure> {
        for report in reports {
            let (runs, transactions) =
                study::amount(*report, options.scale).map_err(Failure::Work)?;
            say(format_args!(
                "the study of {}: {runs} runs, {} at most; those that are kept take no time",
                report.name(),
                estimate(transactions, options.jobs)
            ));
        }
        let document = study::study(reports, options).map_err(Failure::Work)?;
        self.output
            .write(&study::tables::text(&document), &document, |_| {
                String::new()
            })
            .map_err(Failure::Work)?;
        let mut studies = document.studies.iter();
        Ok(
            match studies.all(|study| study::tables::failures(study).is_empty()) {
                true => Outcome::Done,
                false => Outcome::CheckFailed,
            },
        )
    }

    /// Writes the page. The exit code is that of the writing: what the page says of claims
    /// is told elsewhere.
    fn fidelity(
        &self,
        path: &Path,
        reports: &[&dyn Report],
        options: &Options<'_>,
    ) -> Result<Outcome, Failure> {
        let (mut documents, mut studies) = (Vec::new(), Vec::new());
        if self.from.is_empty() {
            let found = reproduce::reproduce(reports, options).map_err(Failure::Work)?;
            documents.extend(found.reports);
            let found = study::study(reports, options).map_err(Failure::Work)?;
            studies.extend(found.studies);
            // Of what has never been run nothing is told but that.
            documents.retain(|document| !document.cells.is_empty());
            let is_there = |study: &StudyDocument| study.rows().any(|row| row.validity.is_some());
            studies.retain(is_there);
        }
        for file in &self.from {
            let context = || format!("--from={}", file.display());
            let read = std::fs::read(file).map_err(anyhow::Error::from);
            let read = read.and_then(|text| Ok(serde_json::from_slice::<Results>(&text)?));
            match read.with_context(context).map_err(Failure::Call)? {
                Results::Reports(found) => documents.extend(found.reports),
                Results::Studies(found) => studies.extend(found.studies),
            }
        }
        let page = fidelity::page(&documents, &studies);
        write_file(path, &page).map_err(Failure::Work)?;
        Ok(Outcome::Done)
    }

    /// Refuses files that would not be written.
    fn check_outputs(&self) -> Result<(), Failure> {
        let mut problems = Problems::default();
        if self.study {
            let why = "a study is no page";
            refuse_unused(&mut problems, why, &[("html", self.output.has_page())]);
        }
        if let Some(path) = &self.fidelity {
            check_file("fidelity", path)?;
            let why = "with --fidelity there is one result";
            let unused = [
                ("html", self.output.has_page()),
                ("json", self.output.has_json()),
            ];
            refuse_unused(&mut problems, why, &unused);
        }
        problems
            .into_result()
            .map_err(|wrong| Failure::Call(wrong.into()))
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
