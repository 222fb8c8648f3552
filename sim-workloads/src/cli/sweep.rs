//! `innosim sweep`: many runs, a process each.

use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Args;

use super::output::{OutputArguments, check_file, write_file};
use super::{Failure, Outcome, complain, warn};
use crate::progress::Progress;
use crate::report::html::{self, Origin};
use crate::report::json::{SweepDocument, SweepPoint};
use crate::run::{Problems, RunArguments};
use crate::sweep::{Grid, Runner, jobs, table};

/// Run every combination of what varies, for several seeds, and sum up over the seeds.
///
/// A run that fails is named on standard error and left out of the results; the others
/// go on, and the exit code is 1.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    run: RunArguments,
    /// Vary a system variable, or threads, workload, seed and other options of a run; may
    /// be repeated: all combinations
    #[arg(long, value_name = "NAME=V1,V2,…")]
    vary: Vec<String>,
    /// Seeds for each combination, from --seed on [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    repeat: Option<String>,
    /// Runs at a time [default: as many as there are CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    jobs: Option<String>,
    /// Write a line for every run as CSV to a file
    #[arg(long, value_name = "F")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let (grid, jobs) = self.grid().map_err(|wrong| Failure::Call(wrong.into()))?;
        self.output.check()?;
        if let Some(path) = &self.csv {
            check_file("csv", path)?;
        }
        self.output.check_apart(&[("csv", &self.csv)])?;
        let runner = Runner::this_program(jobs)
            .context("the program's own path")
            .map_err(Failure::Work)?;
        let outcomes = runner.run_all(&grid.points, &Progress::on_standard_error());
        let mut points = Vec::new();
        let mut failed = 0;
        for (point, outcome) in grid.points.into_iter().zip(outcomes) {
            match outcome {
                Ok(run) => points.push(SweepPoint {
                    set: point.set,
                    run,
                }),
                Err(reason) => {
                    failed += 1;
                    complain(&anyhow!("{}: {reason}", jobs::label(&point)));
                }
            }
        }
        let document = SweepDocument::new(points);
        self.write(&document).map_err(Failure::Work)?;
        Ok(if failed == 0 {
            Outcome::Done
        } else {
            Outcome::CheckFailed
        })
    }

    /// What is to be done, with everything that is wrong told at once.
    fn grid(&self) -> Result<(Grid, usize), Problems> {
        let mut problems = Problems::default();
        let repeat = problems.whole("repeat", self.repeat.as_deref(), 1, 1..=10_000) as u32;
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
        let jobs = problems.whole("jobs", self.jobs.as_deref(), cpus, 1..=1_024) as usize;
        let repeat = NonZeroU32::new(repeat).unwrap_or(NonZeroU32::MIN);
        match Grid::new(&self.run, &self.vary, repeat) {
            Ok(grid) => problems.into_result().map(|()| (grid, jobs)),
            Err(more) => {
                problems.merge(more);
                Err(problems)
            }
        }
    }

    fn write(&self, document: &SweepDocument) -> anyhow::Result<()> {
        let mut warnings: Vec<String> = Vec::new();
        for warning in document.points.iter().flat_map(|point| &point.run.warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        warn(&warnings);
        let page = |document: &SweepDocument| {
            let points = document.points.iter();
            let machines = points.map(|point| point.run.machine.as_str());
            html::sweep(document, &Origin::of_this_call(machines))
        };
        let summary = table::summary(document);
        let given = self.output.write(&summary, document, page);
        let lines = self.csv.as_ref().map(|path| {
            let mut text = Vec::new();
            table::write_csv(document, &mut text).with_context(|| path.display().to_string())?;
            write_file(path, &String::from_utf8(text)?)
        });
        given.and(lines.unwrap_or(Ok(())))
    }
}
