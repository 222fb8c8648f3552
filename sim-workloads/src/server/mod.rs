//! The engine as a server that clients talk to.
//!
//! ```text
//!   prepare      on the host's files, before the run     tables that are missing
//!   open         on the run's machine, by its clock      engine, tables
//!   connection   one a client                            statements ──► sessions
//!   close        as innodb_fast_shutdown says
//! ```
//!
//! Loading is no part of what a run measures, so it is never simulated: a run under the
//! virtual clock begins with the files that were loaded on the host, as a server begins
//! with those that an earlier `prepare` has left. So it does the same whether the tables
//! were loaded for it or before, and several runs can begin with the same files.

mod connection;
mod prepare;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::bail;
use innosim_engine::engine::{Engine, EngineOptions, EngineRecoveryReport, SnapshotChange};
use innosim_engine::metrics::MetricsSnapshot;
use innosim_engine::runtime;
use innosim_engine::runtime::files::FileSystem;
use innosim_engine::table::{ReadLock, Table, Value};

pub use self::connection::EngineConnection;
use crate::recovery::{RepairedPage, lost_redo};
use crate::run::database::{Database, Levels, StatementError};
use crate::run::snapshot::Changing;
use crate::run::{RunPlan, Server, Watch};

/// An engine with the tables of a workload.
#[derive(Debug)]
pub struct EngineServer {
    engine: Arc<Engine>,
    /// The tables that statements number from 1.
    tables: Vec<Arc<Table>>,
    /// What the user should know. The lock is the host's and held for a moment only.
    warnings: Mutex<Vec<String>>,
}

impl EngineServer {
    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// How an engine on this machine is driven: in steps, or by tasks of its own.
    pub fn options(stepped: bool) -> EngineOptions {
        let shards = if runtime::is_virtual() {
            1
        } else {
            std::thread::available_parallelism().map_or(1, usize::from)
        };
        EngineOptions {
            stepped,
            metric_shards: shards,
        }
    }

    /// Loads the tables of a plan into a directory that simulations will begin from and
    /// nobody will change: its redo files may have holes, since a simulation knows none.
    ///
    /// # Errors
    /// As [`prepare`](Server::prepare).
    pub fn prepare_base(
        plan: &RunPlan,
        directory: &Path,
        watch: &mut dyn Watch,
    ) -> anyhow::Result<()> {
        prepare::prepare_files(plan, directory, true, watch)
    }

    /// Bytes that the tables of a plan take on disk and, when all are read, in memory;
    /// about.
    pub fn table_bytes(plan: &RunPlan) -> u64 {
        prepare::table_bytes(plan)
    }

    /// The table with this number, from 1.
    ///
    /// # Panics
    /// If the workload has not so many.
    pub fn table(&self, number: u32) -> &Table {
        &self.tables[number as usize - 1]
    }

    /// Opens the database, and says what recovery has done.
    ///
    /// # Errors
    /// As [`open`](Server::open).
    pub fn open_with(
        plan: &RunPlan,
        data: &Path,
        options: EngineOptions,
    ) -> anyhow::Result<(Arc<Self>, EngineRecoveryReport)> {
        let (engine, report) = Engine::open(FileSystem::new(), data, &plan.settings, options)?;
        let mut tables = Vec::new();
        for table in plan.schema.tables() {
            let definition = prepare::definition(table)?;
            let found = engine.table(&definition.full_name())?;
            if *found.definition() != definition {
                bail!(prepare::OtherTable::new(data, found.definition()));
            }
            tables.push(found);
        }
        let server = Arc::new(EngineServer {
            engine,
            tables,
            warnings: Mutex::default(),
        });
        Ok((server, report))
    }

    /// Warns if the first table seems to have been loaded with fewer rows than the plan has.
    fn check_size(&self, plan: &RunPlan) -> anyhow::Result<()> {
        let (Some(table), Some(planned)) = (self.tables.first(), plan.schema.tables().first())
        else {
            return Ok(());
        };
        let mut session = self.engine.session(0);
        let last = [Value::Integer(i64::from(planned.rows))];
        let found = session.point_select(table, &last, ReadLock::None, |_| ())?;
        session.close()?;
        if found.is_none() {
            self.warn(format!(
                "{} has no row {}: was it loaded with another --table-size or --scale?",
                table.name(),
                planned.rows
            ));
        }
        Ok(())
    }

    fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push(warning);
    }
}

/// How an engine of this run is driven.
fn options(plan: &RunPlan) -> EngineOptions {
    EngineServer::options(plan.is_stepped())
}

/// What a recovery has done, in a sentence.
fn recovered(report: &EngineRecoveryReport) -> String {
    let redo = &report.redo;
    format!(
        "the data directory had not been shut down: recovered from LSN {} to {}, {} pages \
         brought up to date, {} torn pages repaired, {} transactions rolled back",
        redo.checkpoint_lsn,
        redo.end_lsn,
        redo.pages_applied,
        report.doublewrite.restored.len(),
        report.rolled_back,
    )
}

impl Server for EngineServer {
    fn prepare(plan: &RunPlan, directory: &Path, watch: &mut dyn Watch) -> anyhow::Result<()> {
        prepare::prepare(plan, directory, watch)
    }

    fn open(plan: &RunPlan, data: &Path) -> anyhow::Result<Arc<Self>> {
        let (server, report) = Self::open_with(plan, data, options(plan))?;
        if report.was_needed() {
            server.warn(recovered(&report));
        }
        if let Some(lost) = lost_redo(&report) {
            server.warn(lost);
        }
        // Also after a shutdown: something has damaged them since.
        if let Some(pages) = RepairedPage::list(&RepairedPage::of(&report, data)) {
            server.warn(format!(
                "torn pages were repaired from the doublewrite files: {pages}"
            ));
        }
        server.check_size(plan)?;
        Ok(server)
    }

    fn close(self: Arc<Self>) -> anyhow::Result<()> {
        Ok(self.engine.shutdown()?)
    }

    fn take_warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = std::mem::take(&mut *warnings);
        all.extend(self.engine.files().take_warnings());
        all
    }
}

impl Changing for EngineServer {
    fn change_at_snapshot(&self, variables: &[(String, String)]) -> anyhow::Result<SnapshotChange> {
        Ok(self.engine.change_at_snapshot(variables)?)
    }
}

impl Database for EngineServer {
    type Connection = EngineConnection;

    fn connect(self: &Arc<Self>, client: u32) -> EngineConnection {
        EngineConnection::new(self.clone(), client)
    }

    fn step(&self) -> Result<(), StatementError> {
        self.engine.step().map_err(anyhow::Error::from)?;
        Ok(())
    }

    fn fail(&self) {
        self.engine.fail();
    }

    fn levels(&self) -> Levels {
        let levels = self.engine.levels();
        Levels {
            checkpoint_age: levels.checkpoint_age,
            dirty_pages: levels.dirty_pages,
            free_pages: levels.free_pages,
            history_list_length: levels.history_list_length,
        }
    }

    fn snapshot(&self) -> MetricsSnapshot {
        self.engine.metrics_snapshot()
    }

    fn restart_extremes(&self) {
        self.engine.restart_extremes();
    }
}
