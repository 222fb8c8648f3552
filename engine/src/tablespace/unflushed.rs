//! Which tablespaces have writes that are not flushed, and who flushes them.
//!
//! A write to a file is durable only after the file was flushed (fsync). Flushes are
//! expensive, so each tablespace counts: its modifications, and how many of them the last
//! flush covers. A flush that would cover nothing new is not made; a thread that finds
//! another one flushing waits for it, and often finds then that nothing is left to do.
//!
//! ```text
//!   write  write  write         write
//!     1      2      3             4            modifications
//!            |---- flush ----|                 covers 2, for it began after 2 writes
//!                    `- a second thread wants 3: waits, then flushes once more
//! ```
//!
//! Source: InnoDB 5.6 to 8.4 (`fil_flush`).

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::page::SpaceId;
use crate::runtime::{LatchClass, Mutex};

/// The tablespaces with writes that are not flushed.
#[derive(Debug)]
pub(super) struct Unflushed {
    spaces: Mutex<Vec<SpaceId>>,
    /// No flush is made but before a checkpoint.
    waits_for_checkpoint: AtomicBool,
}

impl Unflushed {
    pub(super) fn new() -> Self {
        Unflushed {
            spaces: Mutex::new(LatchClass::FileSystem, Vec::new()),
            waits_for_checkpoint: AtomicBool::new(false),
        }
    }

    /// From now on flushes wait for a checkpoint.
    pub(super) fn wait_for_checkpoint(&self) {
        self.waits_for_checkpoint.store(true, Relaxed);
    }

    pub(super) fn waits_for_checkpoint(&self) -> bool {
        self.waits_for_checkpoint.load(Relaxed)
    }

    pub(super) fn add(&self, space: SpaceId) {
        let mut list = self.spaces.lock();
        debug_assert!(!list.contains(&space));
        list.push(space);
    }

    pub(super) fn remove(&self, space: SpaceId) {
        self.spaces.lock().retain(|&other| other != space);
    }

    /// The first of these tablespaces, in the order of their numbers, after one; without
    /// one, the first of all.
    pub(super) fn next_after(&self, last: Option<SpaceId>) -> Option<SpaceId> {
        let spaces = self.spaces.lock();
        let left = spaces.iter().filter(|&&space| Some(space) > last);
        left.min().copied()
    }
}

/// The counts of one tablespace.
#[derive(Debug, Default)]
pub(super) struct FlushCounts {
    /// Writes so far.
    modifications: u64,
    /// Of these, covered by a flush.
    flushed: u64,
    /// Whether the file has grown since it was last flushed.
    has_grown: bool,
    /// Whether somebody is flushing.
    is_flushing: bool,
}

/// What a thread that wants a flush has to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FlushStep {
    /// Nothing: all writes are covered.
    Done,
    /// Wait for the one who is flushing, and look again.
    Wait,
    /// Flush, then call [`FlushCounts::end`] with this.
    Flush(u64),
    /// Say so, without a flush: the flush method trusts the device.
    Skip(u64),
}

impl FlushCounts {
    /// A write is complete. True if it is the first one that is not flushed.
    pub(super) fn note_write(&mut self) -> bool {
        self.modifications += 1;
        self.modifications == self.flushed + 1
    }

    /// The file has become larger. True as for a write.
    pub(super) fn note_growth(&mut self) -> bool {
        self.has_grown = true;
        self.note_write()
    }

    /// What has to be done so that the first `wanted` writes are durable. With
    /// `only_growth` files are flushed only after their size has changed.
    pub(super) fn begin(&mut self, wanted: u64, only_growth: bool) -> FlushStep {
        if self.flushed >= wanted {
            FlushStep::Done
        } else if self.is_flushing {
            FlushStep::Wait
        } else if only_growth && !self.has_grown {
            FlushStep::Skip(self.modifications)
        } else {
            self.is_flushing = true;
            self.has_grown = false;
            FlushStep::Flush(self.modifications)
        }
    }

    /// A flush has ended which covers the first `covered` writes. True if nothing is left
    /// to flush, though something was.
    pub(super) fn end(&mut self, covered: u64) -> bool {
        self.is_flushing = false;
        let had = self.flushed < self.modifications;
        self.flushed = self.flushed.max(covered);
        had && self.flushed == self.modifications
    }

    /// A flush has failed.
    pub(super) fn fail(&mut self) {
        self.is_flushing = false;
        self.has_grown = true;
    }

    /// Writes so far.
    pub(super) fn modifications(&self) -> u64 {
        self.modifications
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_covers_what_was_written_before_it_began() {
        let mut counts = FlushCounts::default();
        assert_eq!(counts.begin(0, false), FlushStep::Done);
        assert!(counts.note_write(), "the first that is not flushed");
        assert!(!counts.note_write());
        assert_eq!(counts.begin(2, false), FlushStep::Flush(2));
        assert!(!counts.note_write());
        assert_eq!(counts.begin(3, false), FlushStep::Wait);
        assert!(!counts.end(2), "3 is left");
        assert_eq!(counts.begin(2, false), FlushStep::Done);
        assert_eq!(counts.begin(3, false), FlushStep::Flush(3));
        assert!(counts.end(3));
        assert!(counts.note_write());
    }

    #[test]
    fn a_failed_flush_covers_nothing() {
        let mut counts = FlushCounts::default();
        counts.note_write();
        assert_eq!(counts.begin(1, true), FlushStep::Skip(1));
        assert_eq!(counts.begin(1, false), FlushStep::Flush(1));
        counts.fail();
        assert_eq!(
            counts.begin(1, true),
            FlushStep::Flush(1),
            "not trusted now"
        );
    }

    #[test]
    fn a_method_that_trusts_the_device_flushes_growth_only() {
        let mut counts = FlushCounts::default();
        counts.note_growth();
        assert_eq!(counts.begin(1, true), FlushStep::Flush(1));
        assert!(counts.end(1));
        counts.note_write();
        assert_eq!(counts.begin(2, true), FlushStep::Skip(2));
        assert!(counts.end(2));
    }
}
