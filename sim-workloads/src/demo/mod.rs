//! `innosim demo`: three settings, each in two or more values, on this computer's disk and
//! on a modelled machine.
//!
//! ```text
//!   load 1.2 million rows ─► modelled runs, two at a time ─► real runs, one at a time
//!        (one directory)      read the files of the           work on the files
//!                             directory, change none
//! ```
//!
//! | experiment | varied | tells |
//! |---|---|---|
//! | [doublewrite](Experiment::Doublewrite) | `innodb_doublewrite_pages` 128, 16 | larger batches are longer in the queue |
//! | [redo](Experiment::Redo) | `innodb_redo_log_capacity` 64M, 1G | a small log makes pages be written more often |
//! | [isolation](Experiment::Isolation) | `transaction_isolation`, 1 to 256 threads | a view a statement is a walk of a list under a global mutex |
//!
//! The data is small and the runs are short, so that all of it takes less than two
//! minutes: it shows shapes. The published figures belong to longer runs of the reports'
//! own sizes.

mod cells;
mod document;
mod tables;

use std::num::NonZeroUsize;
use std::path::Path;
use std::thread::available_parallelism;

use anyhow::{Context, anyhow};

pub use self::cells::{Cell, Experiment};
pub use self::document::{DemoCell, DemoDocument};

use crate::progress::Progress;
use crate::run::data_directory::TemporaryDirectory;
use crate::run::{NobodyWatches, Server, space};
use crate::server::EngineServer;
use crate::sweep::{GridPoint, Outcome, Runner};

/// Room that the demo takes at most, in bytes: tables, redo of 1 GiB, undo, doublewrite
/// files.
pub const NEEDED_BYTES: u64 = 2 << 30;

/// Runs under the virtual clock at a time, at most.
const JOBS_MAX: usize = 2;

/// Runs everything; `program` is innosim itself, which is started for every run.
///
/// # Errors
/// If there is too little room for the files, or a run fails.
pub fn demo(program: &Path, progress: &Progress) -> anyhow::Result<DemoDocument> {
    let directory = TemporaryDirectory::new().context("a temporary directory")?;
    space::require(directory.path(), NEEDED_BYTES)
        .context("the demo has its files where the variable TMPDIR says")?;
    let cells = cells::all(directory.path());
    progress.expect(1 + cells.len() as u64);
    load(&cells)?;
    progress.step("tables loaded");

    let cpus = available_parallelism().map_or(1, NonZeroUsize::get);
    let (modelled, real): (Vec<Cell>, Vec<Cell>) =
        cells.into_iter().partition(|cell| cell.is_modelled);
    let mut documents = Vec::new();
    for (cells, jobs) in [(modelled, cpus.min(JOBS_MAX)), (real, 1)] {
        let runner = Runner {
            program: program.into(),
            arguments: vec!["run".into()],
            jobs,
        };
        let points: Vec<GridPoint> = cells.iter().map(Cell::point).collect();
        let outcomes = runner.run_each(&points, progress);
        for (cell, outcome) in cells.into_iter().zip(outcomes) {
            documents.push(with_run(cell, outcome)?);
        }
    }
    Ok(DemoDocument::new(documents))
}

/// Loads the tables of the cells that share a directory.
fn load(cells: &[Cell]) -> anyhow::Result<()> {
    let shared = cells.iter().find(|cell| cell.arguments.base.is_some());
    let shared = shared.context("a cell has the shared tables")?;
    let mut arguments = shared.arguments.clone();
    arguments.datadir = arguments.base.take();
    let plan = arguments.plan()?;
    let directory = arguments.datadir.context("the directory was its base")?;
    EngineServer::prepare(&plan, &directory, &mut NobodyWatches)
}

fn with_run(cell: Cell, outcome: Outcome) -> anyhow::Result<DemoCell> {
    match outcome {
        Ok(run) => Ok(DemoCell {
            experiment: cell.experiment,
            modelled: cell.is_modelled,
            set: cell.set,
            run,
        }),
        Err(reason) => Err(anyhow!("{}: {reason}", cell.label())),
    }
}
