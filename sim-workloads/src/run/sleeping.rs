//! A database for the driver's own tests: a statement sleeps, and that is all.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use innosim_engine::metrics::{Counter, Metrics, MetricsSnapshot, Reading, Timing};
use innosim_engine::runtime::time::{MILLISECOND, Time};
use innosim_engine::runtime::{WaitKind, sleep};

use super::database::{Connection, Database, Levels, StatementError};
use super::execute::{Server, Watch};
use super::plan::RunPlan;
use crate::workload::Statement;

/// A database in which a statement sleeps, and every so many statements end in a
/// deadlock or fail.
pub(super) struct Sleeping {
    pub statement: Time,
    pub deadlock_every: u64,
    pub fail_at: u64,
    pub statements: AtomicU64,
    pub steps: AtomicU64,
    pub rollbacks: AtomicU64,
    pub closed: AtomicU64,
    pub failed: AtomicU64,
    pub metrics: Metrics,
    /// Each statement flushes a page that was dirty for so long; none where it is 0.
    pub dirty_for: Time,
}

impl Sleeping {
    pub fn new(statement: Time) -> Self {
        Sleeping {
            statement,
            deadlock_every: u64::MAX,
            fail_at: u64::MAX,
            statements: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            rollbacks: AtomicU64::new(0),
            closed: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            metrics: Metrics::new(1),
            dirty_for: 0,
        }
    }
}

pub(super) struct Sleeper(Arc<Sleeping>);

impl Connection for Sleeper {
    fn execute(&mut self, statement: &Statement) -> Result<u64, StatementError> {
        let database = &self.0;
        sleep(database.statement, WaitKind::RowLock);
        database.metrics.shard(0).increment(Counter::RowsRead);
        if database.dirty_for > 0 {
            database
                .metrics
                .record_time(Timing::DirtyToFlush, database.dirty_for);
        }
        let number = database.statements.fetch_add(1, Relaxed) + 1;
        if database.failed.load(Relaxed) > 0 {
            let before = anyhow::anyhow!("the disk was full");
            return Err(StatementError::Aftermath(before));
        }
        if number == database.fail_at {
            return Err(anyhow::anyhow!("the disk is full").into());
        }
        if number.is_multiple_of(database.deadlock_every) {
            return Err(StatementError::Deadlock);
        }
        // Deletes hit nothing.
        Ok(u64::from(!matches!(statement, Statement::Delete { .. })))
    }

    fn rollback(&mut self) -> Result<(), StatementError> {
        self.0.rollbacks.fetch_add(1, Relaxed);
        Ok(())
    }

    fn close(self) -> Result<(), StatementError> {
        self.0.closed.fetch_add(1, Relaxed);
        Ok(())
    }
}

impl Database for Sleeping {
    type Connection = Sleeper;

    fn connect(self: &Arc<Self>, _client: u32) -> Sleeper {
        Sleeper(self.clone())
    }

    fn step(&self) -> Result<(), StatementError> {
        self.steps.fetch_add(1, Relaxed);
        Ok(())
    }

    fn fail(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    fn levels(&self) -> Levels {
        Levels {
            dirty_pages: 7,
            ..Levels::default()
        }
    }

    fn snapshot(&self) -> MetricsSnapshot {
        self.metrics.snapshot(&|_: Reading| 0)
    }

    fn restart_extremes(&self) {
        self.metrics.restart_extremes();
    }
}

/// Preparing writes a file, opening makes one, and the seed 13 brings bad luck while
/// statements run.
impl Server for Sleeping {
    fn prepare(plan: &RunPlan, directory: &Path, watch: &mut dyn Watch) -> anyhow::Result<()> {
        for table in plan.schema.tables() {
            std::fs::write(directory.join("tables"), &table.name)?;
            watch.loaded(&table.name, table.rows.into(), table.rows.into());
        }
        Ok(())
    }

    fn open(plan: &RunPlan, data: &Path) -> anyhow::Result<Arc<Self>> {
        use innosim_engine::runtime::files::{Create, FileKind, FileSystem, IoMode, OpenOptions};
        let options = OpenOptions {
            create: Create::New,
            io: IoMode::Buffered,
            kind: FileKind::Other,
        };
        FileSystem::new().open(data.join("open"), options)?;
        let fail_at = if plan.seed == 13 { 5 } else { u64::MAX };
        Ok(Arc::new(Sleeping {
            fail_at,
            ..Sleeping::new(MILLISECOND)
        }))
    }

    fn close(self: Arc<Self>) -> anyhow::Result<()> {
        Ok(())
    }

    fn take_warnings(&self) -> Vec<String> {
        if self.statements.swap(0, Relaxed) > 0 {
            vec!["all was a dream".to_owned()]
        } else {
            Vec::new()
        }
    }
}
