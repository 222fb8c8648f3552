//! `innosim run`: one run of a workload.

use std::io::Write;

use clap::Args;

use super::output::OutputArguments;
use super::{Failure, Outcome, warn};
use crate::progress::{Progress, say};
use crate::report::IntervalLine;
use crate::report::html::{self, Origin};
use crate::run::text::{preamble, results};
use crate::run::{RunArguments, RunPlan, Watch, execute};
use crate::server::EngineServer;
use crate::workload::SysbenchVersion;

/// Run a workload and report as sysbench does.
///
/// Tables that the data directory does not have are loaded first.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    run: RunArguments,
    #[command(flatten)]
    output: OutputArguments,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let plan = self
            .run
            .plan()
            .map_err(|wrong| Failure::Call(wrong.into()))?;
        self.output.check()?;
        self.output.check_apart(&[])?;
        warn(&plan.warnings);
        let printer = Printer::new(&plan, self.output.json_only());
        let result = execute::<EngineServer>(&plan, printer).map_err(Failure::Work)?;
        let document = &result.document;
        warn(&document.warnings[plan.warnings.len()..]);
        let text = results(&plan, &result.measurement, document);
        self.output
            .write(&text, document, |document| {
                html::run(document, &Origin::of_this_call([&*document.machine]))
            })
            .map_err(Failure::Work)?;
        match result.unwritten {
            Some(why) => Err(Failure::Work(anyhow::Error::msg(why))),
            None => Ok(Outcome::Done),
        }
    }
}

/// Prints what a run says while it runs: sysbench's lines to standard output, everything
/// else to standard error.
#[derive(Debug)]
pub(super) struct Printer {
    version: SysbenchVersion,
    /// What is printed before the clients start; nothing where JSON alone is wanted.
    preamble: Option<String>,
    prints_intervals: bool,
    /// Tables that were loaded, and their rows.
    pub(super) loaded: (u32, u64),
    progress: Progress,
}

impl Printer {
    pub(super) fn new(plan: &RunPlan, json_only: bool) -> Self {
        Printer {
            version: plan.script.info().version,
            preamble: (!json_only).then(|| preamble(plan)),
            prints_intervals: !json_only && plan.report_interval.is_some(),
            loaded: (0, 0),
            progress: Progress::on_standard_error(),
        }
    }

    /// A closed pipe has nobody left to print for.
    fn print(text: &str) {
        let mut output = std::io::stdout().lock();
        let _ = output
            .write_all(text.as_bytes())
            .and_then(|()| output.flush());
    }
}

impl Watch for Printer {
    fn note(&mut self, message: &str) {
        say(format_args!("innosim: note: {message}"));
    }

    fn loaded(&mut self, table: &str, rows: u64, of: u64) {
        if rows == of {
            self.loaded = (self.loaded.0 + 1, self.loaded.1 + rows);
            self.progress.expect(1);
            self.progress.step(&format!("{table}: {rows} rows loaded"));
        }
    }

    fn starts(&mut self) {
        self.progress.finish();
        if let Some(text) = &self.preamble {
            Self::print(text);
        }
    }

    fn interval(&mut self, line: &IntervalLine) {
        if self.prints_intervals {
            return Self::print(&line.text(self.version));
        }
        let tps = line.counters.transactions as f64 / line.length_s;
        self.progress.expect(1);
        self.progress
            .step(&format!("{:.0} s: {tps:.1} tps", line.elapsed_s));
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.progress.finish();
    }
}
