//! What clients and reports ask of a database: the seam between this crate's driver and
//! the engine.
//!
//! ```text
//!   client task ──► Connection::execute(statement)        one a client
//!   driver ───────► Database::step, levels, snapshot      one for all
//! ```
//!
//! The driver's own tests run it over a database that only takes time, so that what is
//! measured can be worked out by hand.

use std::sync::Arc;

use innosim_engine::metrics::MetricsSnapshot;

use crate::workload::Statement;

/// Why a statement failed.
#[derive(Debug, thiserror::Error)]
pub enum StatementError {
    /// The transaction was chosen to end a deadlock, and is rolled back (error 1213).
    #[error("deadlock found when trying to get a lock")]
    Deadlock,
    /// A row lock was not to be had in `innodb_lock_wait_timeout` (error 1205).
    #[error("lock wait timeout exceeded")]
    LockWaitTimeout,
    /// The engine cannot go on.
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
    /// The engine could not go on before: another client knows why.
    #[error(transparent)]
    Aftermath(anyhow::Error),
}

/// A client's connection. Statements outside of BEGIN and COMMIT commit by themselves.
pub trait Connection {
    /// Carries out a statement; the number of rows that a write changed.
    ///
    /// # Errors
    /// See [`StatementError`]. After a deadlock or a timeout the caller rolls back.
    fn execute(&mut self, statement: &Statement) -> Result<u64, StatementError>;

    /// Rolls the open transaction back; nothing without one.
    ///
    /// # Errors
    /// If the engine cannot go on.
    fn rollback(&mut self) -> Result<(), StatementError>;

    /// Ends the connection; an open transaction is rolled back.
    ///
    /// # Errors
    /// As [`rollback`](Self::rollback).
    fn close(self) -> Result<(), StatementError>;
}

/// Levels at the end of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Levels {
    /// Bytes of redo since the last checkpoint.
    pub checkpoint_age: u64,
    /// Modified pages.
    pub dirty_pages: u64,
    /// Pages on the free lists.
    pub free_pages: u64,
    /// Transactions whose undo is not purged.
    pub history_list_length: u64,
}

/// A database that is open.
pub trait Database: Send + Sync + 'static {
    /// A connection, used by one client task.
    type Connection: Connection;

    /// Opens the connection of a client, which are numbered from 0.
    fn connect(self: &Arc<Self>, client: u32) -> Self::Connection;

    /// Does what the background tasks would do, once: a round of the page cleaner, purge,
    /// a checkpoint. Called between transactions of a stepped run.
    ///
    /// # Errors
    /// If the engine cannot go on.
    fn step(&self) -> Result<(), StatementError>;

    /// A client has given up: whoever waits for it, or for what it has locked, gives up, too.
    fn fail(&self);

    /// The levels now.
    fn levels(&self) -> Levels;

    /// All counters now.
    fn snapshot(&self) -> MetricsSnapshot;

    /// Forgets the smallest and largest values counted: the measurement begins.
    fn restart_extremes(&self);
}
