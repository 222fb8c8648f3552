//! `innosim prepare`: load the tables into a data directory.

use std::path::Path;
use std::time::Instant;

use clap::Args;

use super::run::Printer;
use super::{Failure, Outcome, output, warn};
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
        drop(printer);
        let seconds = begin.elapsed().as_secs_f64();
        output::print(&told(&plan, directory.path(), seconds)).map_err(Failure::Work)?;
        Ok(Outcome::Done)
    }

    /// The plan, if there is a place for the files.
    fn plan(&self) -> Result<RunPlan, Problems> {
        let mut problems = Problems::default();
        if self.run.datadir.is_none() {
            problems.add("--datadir is missing: accepted is a directory for the files");
        }
        match self.run.plan() {
            Ok(plan) => problems.into_result().map(|()| plan),
            Err(more) => {
                problems.merge(more);
                Err(problems)
            }
        }
    }
}

fn told(plan: &RunPlan, directory: &Path, seconds: f64) -> String {
    let rows = |table: &crate::workload::schema::TableSpec| u64::from(table.rows);
    let rows: u64 = plan.schema.tables().iter().map(rows).sum();
    format!(
        "{}: {} tables with {rows} rows ({seconds:.1} s)\n",
        directory.display(),
        plan.tables,
    )
}
