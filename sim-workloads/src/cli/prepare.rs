//! `innosim prepare`: load the tables into a data directory.

use std::path::Path;
use std::time::Instant;

use clap::Args;

use super::run::Printer;
use super::{Failure, Outcome, output, refuse_unused, warn};
use crate::progress::say;
use crate::run::data_directory::DataDirectory;
use crate::run::{Problems, RunArguments, RunPlan, Server};
use crate::server::EngineServer;

/// Load the workload's tables into a data directory, which is made if it is not there.
///
/// The rows depend on the seed and on nothing else. Tables that are there already stay as
/// they are. `run --datadir` begins from there.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    run: RunArguments,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let plan = self.plan().map_err(|wrong| Failure::Call(wrong.into()))?;
        warn(&plan.warnings);
        let begin = Instant::now();
        let directory = DataDirectory::new(&plan.files).map_err(Failure::Work)?;
        let mut printer = Printer::new(&plan, true);
        EngineServer::prepare(&plan, directory.path(), &mut printer).map_err(Failure::Work)?;
        let (loaded, rows) = printer.loaded;
        drop(printer);
        let seconds = begin.elapsed().as_secs_f64();
        let present = plan.tables - loaded;
        if present > 0 {
            let directory = directory.path().display();
            say(format_args!(
                "innosim: note: {directory}: tables that were there keep their rows, also where \
                 --table-size, --scale or --seed was another one when they were loaded"
            ));
        }
        output::print(&told(directory.path(), (loaded, rows), present, seconds))
            .map_err(Failure::Work)?;
        Ok(Outcome::Done)
    }

    /// The plan, if there is a place for the files.
    fn plan(&self) -> Result<RunPlan, Problems> {
        let mut problems = Problems::default();
        if self.run.datadir.is_none() {
            problems.add("--datadir is missing: accepted is a directory for the files");
        }
        let run = &self.run;
        refuse_unused(
            &mut problems,
            "tables are loaded by the host, and no clients work",
            &[
                ("threads", run.threads.is_some()),
                ("time", run.time.is_some()),
                ("events", run.events.is_some()),
                ("warmup-time", run.warmup_time.is_some()),
                ("report-interval", run.report_interval.is_some()),
                ("settle", run.settle.is_some()),
                ("base", run.base.is_some()),
            ],
        );
        match self.run.plan() {
            Ok(plan) => problems.into_result().map(|()| plan),
            Err(more) => {
                problems.merge(more);
                Err(problems)
            }
        }
    }
}

/// What was loaded now, and what was there already.
fn told(directory: &Path, (tables, rows): (u32, u64), present: u32, seconds: f64) -> String {
    let directory = directory.display();
    let present = match present {
        0 => String::new(),
        _ => format!("; {present} tables were there already"),
    };
    format!("{directory}: {tables} tables with {rows} rows loaded{present} ({seconds:.1} s)\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_is_not_told_as_loaded() {
        let text = told(Path::new("d"), (0, 0), 3, 0.04);
        assert_eq!(
            text,
            "d: 0 tables with 0 rows loaded; 3 tables were there already (0.0 s)\n"
        );
        let text = told(Path::new("d"), (2, 154), 0, 1.0);
        assert_eq!(text, "d: 2 tables with 154 rows loaded (1.0 s)\n");
    }
}
