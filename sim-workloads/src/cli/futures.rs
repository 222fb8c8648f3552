//! `innosim futures`: one warm state that goes on in several ways.

use std::io::Write;

use anyhow::Context;
use clap::Args;
use innosim_engine::runtime::time::{Time, from_seconds, to_seconds};

use super::{Failure, Outcome, refuse_unused, warn};
use crate::progress::{Progress, say};
use crate::report::IntervalLine;
use crate::report::json::RunDocument;
use crate::run::futures::{FutureLine, read};
use crate::run::snapshot::{Future, SnapshotOptions, future, futures};
use crate::run::{Problems, RunArguments, RunPlan, Watch};
use crate::server::EngineServer;

/// Warm up once, and go on from there in several ways, each measured in a process of its own.
///
/// Prints a line of JSON for each when it has ended: {"future": its place from 0,
/// "warm_up_s": seconds, "run": what run --json prints}.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    run: RunArguments,
    /// One way to go on: variables that can be changed while clients pause, and its seed;
    /// may be repeated
    #[arg(long = "future", value_name = "NAME=VALUE,…", required = true)]
    futures: Vec<String>,
    /// Seconds between the change and the measurement [default: 5]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    settle_time: Option<String>,
    /// Make the warm-up longer than --warmup-time until it is three times as long as a page
    /// stays dirty
    #[arg(long)]
    until_steady: bool,
    /// Futures at a time [default: as many as there are CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    jobs: Option<String>,
    /// Memory of each process for page images, in MiB; more goes to disk [default: half of
    /// what is available, among them]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    image_memory: Option<String>,
}

/// Everything that was asked for, checked.
struct Checked {
    plan: RunPlan,
    futures: Vec<Future>,
    options: SnapshotOptions,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let Checked {
            plan,
            futures: list,
            options,
        } = self.check().map_err(|wrong| Failure::Call(wrong.into()))?;
        warn(&plan.warnings);
        let watch = Lines::new();
        if let [only] = &list[..] {
            // No process has to wait for another one.
            let warm_up = watch.warm_up.clone();
            let run =
                future::<EngineServer>(&plan, only, &options, watch).map_err(Failure::Work)?;
            let line = FutureLine {
                future: 0,
                warm_up_s: to_seconds(warm_up.get()),
                run,
            };
            print(&line).map_err(Failure::Work)?;
        } else {
            futures::<EngineServer>(&plan, &list, &options, watch).map_err(Failure::Work)?;
        }
        Ok(Outcome::Done)
    }

    fn check(&self) -> Result<Checked, Problems> {
        let mut problems = Problems::default();
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
        let jobs = problems.whole("jobs", self.jobs.as_deref(), cpus, 1..=1_024) as usize;
        let settle = problems.seconds("settle-time", self.settle_time.as_deref(), 5.0);
        let images = self.image_memory.as_deref();
        let images = images.map(|_| problems.whole("image-memory", images, 1, 1..=1 << 24));
        let why = "futures end by time";
        refuse_unused(&mut problems, why, &[("events", self.run.events.is_some())]);
        let plan = match self.run.plan() {
            Ok(plan) => Some(plan),
            Err(more) => {
                problems.merge(more);
                None
            }
        };
        let futures = plan.as_ref().map(|plan| read(&self.futures, plan));
        if let Some(Err(more)) = &futures {
            problems.merge(more.clone());
        }
        problems.into_result()?;
        let (Some(plan), Some(Ok(futures))) = (plan, futures) else {
            unreachable!("each of them has left a problem");
        };
        Ok(Checked {
            plan,
            options: SnapshotOptions {
                jobs,
                settle_time: from_seconds(settle),
                until_steady: self.until_steady,
                image_memory: images.map(|mebibytes| mebibytes << 20).or_else(|| {
                    let processes = jobs.min(futures.len()) as u64 + 1;
                    crate::machine::memory("MemAvailable").map(|free| free / 2 / processes)
                }),
            },
            futures,
        })
    }
}

fn print(line: &FutureLine) -> anyhow::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    let mut output = std::io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .context("standard output")
}

/// Prints each line when its future has ended.
struct Lines {
    warm_up: std::rc::Rc<std::cell::Cell<Time>>,
    progress: Progress,
}

impl Lines {
    fn new() -> Self {
        Lines {
            warm_up: std::rc::Rc::default(),
            progress: Progress::on_standard_error(),
        }
    }
}

impl Watch for Lines {
    fn loaded(&mut self, table: &str, rows: u64, of: u64) {
        if rows == of {
            self.progress.expect(1);
            self.progress.step(&format!("{table}: {rows} rows loaded"));
        }
    }

    fn note(&mut self, message: &str) {
        say(format_args!("innosim: note: {message}"));
    }

    fn starts(&mut self) {
        self.progress.finish();
    }

    fn interval(&mut self, _line: &IntervalLine) {}

    fn warm(&mut self, warm_up: Time) {
        self.warm_up.set(warm_up);
    }

    fn future_ended(&mut self, place: usize, label: &str, document: &RunDocument) {
        say(format_args!("{label}: {:.1} tps", document.tps));
        let line = FutureLine {
            future: place,
            warm_up_s: to_seconds(self.warm_up.get()),
            run: document.clone(),
        };
        // A closed pipe has nobody left to print for.
        let _ = print(&line);
    }
}
