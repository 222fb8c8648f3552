//! A transaction, as the lock system sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::*};

use super::mode::TableLockMode;
use crate::runtime::{Event, SignalCount};

/// The number of an owner: an object of the lock system's, reused after the owner leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId(pub(super) u32);

/// What became of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum WaitResult {
    /// Nobody has decided.
    Open = 0,
    /// The lock is granted, or what it was asked for is gone: ask again.
    Granted = 1,
    /// The owner was chosen to break a deadlock.
    Victim = 2,
    /// All waits have ended: who has the lock may never release it.
    Ended = 3,
}

/// The part of an owner that others look at without the lock system's mutex.
#[derive(Debug, Default)]
pub struct OwnerState {
    pub(super) event: Event,
    result: AtomicU8,
    /// The transaction's id while it is active and has one, else 0.
    trx_id: AtomicU64,
    undo_records: AtomicU64,
    locks_gaps: AtomicBool,
}

impl OwnerState {
    /// The transaction's id while it may own implicit locks, else 0.
    pub fn trx_id(&self) -> u64 {
        self.trx_id.load(Acquire)
    }

    /// The transaction has become read-write: rows that carry this id are implicitly its
    /// own until [`release_all`](super::LockSystem::release_all).
    pub fn set_trx_id(&self, trx_id: u64) {
        self.trx_id.store(trx_id, Release);
    }

    /// How many undo records the transaction has written: the work that its rollback would
    /// cost, a part of its weight when a deadlock's victim is chosen.
    pub fn set_undo_records(&self, count: u64) {
        self.undo_records.store(count, Relaxed);
    }

    pub(super) fn undo_records(&self) -> u64 {
        self.undo_records.load(Relaxed)
    }

    /// Whether the transaction's isolation level locks gaps (REPEATABLE READ and above).
    /// Below, its exclusive locks leave no gap lock behind when their record goes.
    pub fn set_locks_gaps(&self, locks_gaps: bool) {
        self.locks_gaps.store(locks_gaps, Relaxed);
    }

    pub(super) fn locks_gaps(&self) -> bool {
        self.locks_gaps.load(Relaxed)
    }

    pub(super) fn result(&self) -> WaitResult {
        match self.result.load(Acquire) {
            1 => WaitResult::Granted,
            2 => WaitResult::Victim,
            3 => WaitResult::Ended,
            _ => WaitResult::Open,
        }
    }

    pub(super) fn set_result(&self, result: WaitResult) {
        self.result.store(result as u8, Release);
    }
}

/// An owner of locks; kept by a session and used for one transaction after the other.
///
/// Given back by [`LockSystem::leave`](super::LockSystem::leave); a dropped owner's number
/// is lost, and nothing else.
#[derive(Debug)]
pub struct LockOwner {
    pub(super) id: OwnerId,
    pub(super) state: Arc<OwnerState>,
    /// Which shard of the metrics counts.
    pub(super) shard: usize,
    /// The event's count when the wait was decided upon.
    pub(super) signal: Option<SignalCount>,
    /// Whether the transaction may have locks.
    pub(super) has_locks: bool,
    /// Table locks that were granted: asking again costs no mutex.
    pub(super) tables: Vec<(u64, TableLockMode)>,
}

impl LockOwner {
    /// The owner's number.
    pub fn id(&self) -> OwnerId {
        self.id
    }

    /// What others may look at.
    pub fn state(&self) -> &Arc<OwnerState> {
        &self.state
    }

    /// Whether the transaction waits: a request was answered by
    /// [`Wait`](super::LockOutcome::Wait), and the wait is not over.
    pub fn is_waiting(&self) -> bool {
        self.signal.is_some()
    }
}
