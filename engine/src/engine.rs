//! The engine: all parts put together, and sessions that use it.
//!
//! ```text
//!   Session ── statements ──> table: rows, versions, locks
//!                               │
//!                      btree, undo, lock system
//!                               │ mini-transactions
//!            buffer pool ───────┴─────── redo log
//!        cleaner │ doublewrite              │ writer, flusher
//!            data files                 redo files
//! ```
//!
//! | file | what it is about |
//! |---|---|
//! | `data_directory` | which file is where |
//! | `parts` | pool, log and all that hangs on them, built from settings |
//! | `create`, `open` | a new data directory; one that was shut down, or crashed |
//! | `first_pages` | what is looked at before a directory is changed |
//! | `tables` | creating tables, loading them |
//! | [`session`] | statements and transactions |
//! | `background` | the tasks, and one step without them |
//! | `shutdown` | the end |
//! | `change` | variables that change while it runs |
//! | `figures`, `statements` | counters, levels |
//! | `check` | everything that must hold |
//!
//! An engine is driven in one of two ways. *With background tasks*, as a server: log
//! threads, page cleaner, purge. *Stepped*: without any; [`Engine::step`] does once what
//! they would do, so that a run can be followed step by step.

mod background;
mod change;
mod check;
mod create;
pub mod data_directory;
mod error;
mod figures;
mod first_pages;
mod open;
mod parts;
pub mod session;
mod settings;
mod shutdown;
mod statements;
mod tables;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::*};

pub use self::background::EngineStep;
pub use self::change::{SnapshotChange, can_change_at_snapshot};
pub use self::error::EngineError;
pub use self::figures::EngineLevels;
pub use self::open::{EngineRecoveryReport, RecoveryTimes};
pub use self::session::Session;
pub use self::settings::{EngineOptions, EngineSettings};
pub use self::statements::{StatementCounts, StatementKind};
pub use self::tables::PutRow;

use self::statements::SharedStatementCounts;
use crate::doublewrite::Doublewrite;
use crate::page::Lsn;
use crate::page_cleaner::PageCleaner;
use crate::redo_log::Pages;
use crate::runtime::files::{DirectoryLock, FileSystem};
use crate::runtime::{Mutex, Replaceable};
use crate::sysvar::Settings;
use crate::table::{Dictionary, RowStore, Table};
use crate::transaction::PurgeTasks;

/// A storage engine on a data directory.
///
/// [`shutdown`](Self::shutdown) ends it. One that is dropped leaves its files as a crash
/// would; under the real clock its tasks go on until the process ends.
pub struct Engine {
    files: FileSystem,
    directory: PathBuf,
    lock: Mutex<Option<DirectoryLock>>,
    settings: Replaceable<EngineSettings>,
    /// Every variable, for changes of some of them.
    variables: Replaceable<Settings>,
    pages: Arc<Pages>,
    doublewrite: Arc<Doublewrite>,
    cleaner: Arc<PageCleaner>,
    rows: Arc<RowStore>,
    purge: Mutex<Option<PurgeTasks>>,
    statements: SharedStatementCounts,
    state: AtomicU8,
}

/// Whether an engine can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Running = 0,
    Stopped = 1,
    Failed = 2,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("directory", &self.directory)
            .field("settings", self.settings())
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// The data directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The files, for their counts and warnings.
    pub fn files(&self) -> &FileSystem {
        &self.files
    }

    /// What it was made from, with what was changed since.
    pub fn settings(&self) -> &EngineSettings {
        self.settings.get()
    }

    /// Pages, redo log and tablespaces.
    pub fn pages(&self) -> &Arc<Pages> {
        &self.pages
    }

    /// The doublewrite buffer.
    pub fn doublewrite(&self) -> &Arc<Doublewrite> {
        &self.doublewrite
    }

    /// The page cleaner.
    pub fn cleaner(&self) -> &Arc<PageCleaner> {
        &self.cleaner
    }

    /// Transactions, locks, admission: what row operations work with.
    pub fn rows(&self) -> &Arc<RowStore> {
        &self.rows
    }

    /// The tables.
    pub fn dictionary(&self) -> &Arc<Dictionary> {
        &self.rows.dictionary
    }

    /// A table by schema and name: `sbtest/sbtest1`.
    ///
    /// # Errors
    /// If there is none.
    pub fn table(&self, name: &str) -> Result<Arc<Table>, EngineError> {
        let table = self.rows.dictionary.table(name);
        table.ok_or_else(|| EngineError::NoTable { name: name.into() })
    }

    /// A new session; its counts go to this shard of the metrics, any number that tells
    /// sessions apart.
    pub fn session(self: &Arc<Self>, shard: usize) -> Session {
        Session::new(self.clone(), shard)
    }

    /// Says that the engine cannot go on: something happened to one session after which the
    /// others would wait in vain, for locks that are never released. All waits of sessions
    /// end now, for row locks, for a seat under `innodb_thread_concurrency` and for room in
    /// the redo files, and nothing new begins. Open transactions stay as a crash would leave
    /// them. [`shutdown`](Self::shutdown) can still be called.
    ///
    /// The engine itself does this after a rollback or commit that failed; who runs several
    /// sessions as one does it when one of them gives up.
    pub fn fail(&self) {
        let (running, failed) = (State::Running as u8, State::Failed as u8);
        if self
            .state
            .compare_exchange(running, failed, AcqRel, Acquire)
            .is_ok()
        {
            self.rows.locks.end_waits();
            self.rows.admission.end_waits();
            self.pages.log.end_room_waits();
        }
    }

    /// Fails once the engine is shut down, or has failed.
    fn check_usable(&self) -> Result<(), EngineError> {
        match self.state.load(Acquire) {
            state if state == State::Running as u8 => Ok(()),
            state if state == State::Failed as u8 => Err(EngineError::Failed),
            _ => Err(EngineError::Stopped),
        }
    }

    /// Waits until redo up to `end` is as durable as `innodb_flush_log_at_trx_commit`
    /// wants; 0: there is none.
    fn make_durable(&self, end: Lsn) -> Result<(), EngineError> {
        if end != 0 {
            let log = &self.pages.log;
            log.commit_wait(end, log.commit_policy())?;
        }
        Ok(())
    }
}
