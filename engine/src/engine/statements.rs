//! Statements by kind: a server's `Com_select`, `Com_insert` and so on.
//!
//! A session counts for itself and adds its counts to the engine's when a transaction
//! ends, so that sessions do not meet at a counter with every statement.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

named_enum! {
    /// A kind of statement.
    pub enum StatementKind;
    /// The name of its count in `SHOW GLOBAL STATUS`.
    fn name;

    /// SELECT, plain or locking.
    Select = "Com_select";
    /// INSERT.
    Insert = "Com_insert";
    /// UPDATE.
    Update = "Com_update";
    /// DELETE.
    Delete = "Com_delete";
    /// BEGIN.
    Begin = "Com_begin";
    /// COMMIT, as a statement: not those of autocommit.
    Commit = "Com_commit";
    /// ROLLBACK, as a statement.
    Rollback = "Com_rollback";
}

/// Counts of statements, by kind. Statements that failed count, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementCounts([u64; StatementKind::COUNT]);

impl StatementCounts {
    /// How many there were of a kind.
    pub fn get(&self, kind: StatementKind) -> u64 {
        self.0[kind as usize]
    }

    /// What was counted after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &StatementCounts) -> StatementCounts {
        StatementCounts(std::array::from_fn(|kind| {
            self.0[kind].saturating_sub(earlier.0[kind])
        }))
    }

    pub(super) fn increment(&mut self, kind: StatementKind) {
        self.0[kind as usize] += 1;
    }
}

/// The counts of all sessions.
#[derive(Debug, Default)]
pub(super) struct SharedStatementCounts([AtomicU64; StatementKind::COUNT]);

impl SharedStatementCounts {
    /// Takes over what a session has counted.
    pub fn add(&self, counts: &mut StatementCounts) {
        for (shared, own) in self.0.iter().zip(&mut counts.0) {
            if *own > 0 {
                shared.fetch_add(std::mem::take(own), Relaxed);
            }
        }
    }

    pub fn read(&self) -> StatementCounts {
        StatementCounts(std::array::from_fn(|kind| self.0[kind].load(Relaxed)))
    }
}
