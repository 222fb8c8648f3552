//! Transaction ids and numbers: one counter for both.
//!
//! A transaction gets an *id* when it becomes read-write, and a *number* when it commits
//! changes that readers may have to undo. Both come from one counter, so that they can be
//! compared: what committed with a number below a view's low limit is of no interest to
//! it, and purge may throw its undo away.
//!
//! ```text
//!   id 41: A begins    id 42: B begins    no 43: B commits   no 44: A commits
//!   --------------------------------------------------------------------------> counter
//! ```
//!
//! The counter must never go back, not even over a crash. It is written to the
//! transaction system page once in 256 values, and a restart begins well above what it
//! finds there.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::page::transaction_system::TRX_ID_WRITE_MARGIN;

/// A transaction's id: what DB_TRX_ID holds. 0 is nobody's.
pub type TrxId = u64;
/// A transaction's place in the order of commits.
pub type TrxNo = u64;

/// The first id that a fresh instance gives out; InnoDB keeps 0 for itself, too.
pub const FIRST_TRX_ID: TrxId = 1;

/// The counter.
#[derive(Debug)]
pub struct IdSource {
    next: AtomicU64,
}

impl IdSource {
    /// A counter whose next value is `next`.
    pub const fn new(next: u64) -> Self {
        IdSource {
            next: AtomicU64::new(next),
        }
    }

    /// The counter after a restart that found `stored` on the transaction system page: at
    /// most 256 values were given out since, and perhaps those of an unfinished write.
    pub const fn after_restart(stored: u64) -> Self {
        IdSource::new(stored.next_multiple_of(TRX_ID_WRITE_MARGIN) + 2 * TRX_ID_WRITE_MARGIN)
    }

    /// The value that will be given out next. All ids below belong to transactions that
    /// exist or have existed.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next.load(SeqCst)
    }

    /// Takes a value.
    #[inline]
    pub fn take(&self) -> u64 {
        self.next.fetch_add(1, SeqCst)
    }

    /// Whether the counter is to be written down now that this value was taken.
    #[inline]
    pub const fn must_store(taken: u64) -> bool {
        taken.is_multiple_of(TRX_ID_WRITE_MARGIN)
    }

    /// Recovery found a transaction of this id or number: the counter is above it.
    pub fn note_seen(&self, value: u64) {
        self.next.fetch_max(value + 1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_never_repeats_a_value() {
        let ids = IdSource::new(FIRST_TRX_ID);
        let mut stored = 0;
        for _ in 0..1000 {
            let id = ids.take();
            if IdSource::must_store(id) {
                stored = id;
            }
            assert!(IdSource::after_restart(stored).next() > id);
        }
        assert_eq!(ids.next(), 1001);
    }
}
