//! A session's transaction: the object that lives as long as the session, and serves one
//! transaction after the other.

use std::sync::Arc;

use super::active::TransactionState;
use super::ids::TrxId;
use super::read_view::ReadView;
use super::undo::TransactionUndo;
use crate::lock::LockOwner;
use crate::sysvar::TransactionIsolation;

/// How a transaction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeginOptions {
    /// The isolation level.
    pub isolation: TransactionIsolation,
    /// `START TRANSACTION READ ONLY`.
    pub read_only: bool,
    /// A single plain SELECT under autocommit: the cheapest kind, which locks nothing and
    /// changes nothing (InnoDB's AC-NL-RO).
    pub autocommit_select: bool,
}

impl BeginOptions {
    /// A transaction that may read and write.
    pub const fn read_write(isolation: TransactionIsolation) -> BeginOptions {
        BeginOptions {
            isolation,
            read_only: false,
            autocommit_select: false,
        }
    }

    /// A single SELECT.
    pub const fn select(isolation: TransactionIsolation) -> BeginOptions {
        BeginOptions {
            isolation,
            read_only: true,
            autocommit_select: true,
        }
    }
}

/// How far a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// There is none.
    NotStarted,
    /// It runs.
    Active,
    /// It is being rolled back.
    RollingBack,
}

/// A transaction that changes something, but was begun so that it must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot execute statement in a READ ONLY transaction (1792)")]
pub struct ReadOnlyTransaction;

/// A session's transaction.
///
/// Made by [`TransactionSystem::session`](super::TransactionSystem::session), and given
/// back to [`end_session`](super::TransactionSystem::end_session). Dropping it without
/// that leaves its locks in place, as a crash would.
#[derive(Debug)]
pub struct Transaction {
    pub(super) state: Arc<TransactionState>,
    /// The owner of its locks, for [`LockSystem`](crate::lock::LockSystem).
    pub locks: LockOwner,
    pub(super) view: ReadView,
    pub(super) phase: Phase,
    pub(super) options: BeginOptions,
    /// On the list of read-write transactions.
    pub(super) is_listed: bool,
    pub(super) undo: TransactionUndo,
    /// Which shard of the metrics counts.
    pub(super) shard: usize,
}

impl Transaction {
    /// Its id; 0 while it has none.
    #[inline]
    pub fn id(&self) -> TrxId {
        self.state.id()
    }

    /// How far it is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether it has begun and not ended.
    pub fn is_active(&self) -> bool {
        self.phase != Phase::NotStarted
    }

    /// How it began.
    pub fn options(&self) -> BeginOptions {
        self.options
    }

    /// Its isolation level.
    #[inline]
    pub fn isolation(&self) -> TransactionIsolation {
        self.options.isolation
    }

    /// Whether it locks gaps: REPEATABLE READ and above.
    #[inline]
    pub fn locks_gaps(&self) -> bool {
        self.isolation() >= TransactionIsolation::RepeatableRead
    }

    /// Undo records that it has written and not taken back.
    pub fn undo_records(&self) -> u64 {
        self.undo.next_undo_no
    }

    /// Its read view; open after [`open_view`](super::TransactionSystem::open_view).
    #[inline]
    pub fn view(&self) -> &ReadView {
        &self.view
    }
}
