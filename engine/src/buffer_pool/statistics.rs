//! Lengths of an instance's lists, and its counts, as `SHOW ENGINE INNODB STATUS` shows
//! them by instance.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Lengths of an instance's lists, kept beside the lists so that a look at them takes no
/// mutex. Whoever holds a list's mutex writes its length.
#[derive(Debug, Default)]
pub(super) struct Lengths {
    pub(super) free: AtomicUsize,
    pub(super) lru: AtomicUsize,
    pub(super) old: AtomicUsize,
    pub(super) dirty: AtomicUsize,
}

/// Counts of an instance.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) made_young: AtomicU64,
    pub(super) not_made_young: AtomicU64,
    pub(super) pages_read: AtomicU64,
    pub(super) pages_created: AtomicU64,
    pub(super) pages_written: AtomicU64,
    pub(super) failed_writes: AtomicU64,
    pub(super) evictions: AtomicU64,
    pub(super) single_page_flushes: AtomicU64,
    pub(super) difficult_searches: AtomicU64,
    pub(super) pending_reads: AtomicUsize,
}

/// Adds one, for counts that one thread at a time or many now and then bump.
pub(super) fn bump(count: &AtomicU64) {
    count.fetch_add(1, Relaxed);
}

/// An instance at one moment. With other threads at work the figures are not of one
/// instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstanceStatistics {
    /// Frames.
    pub frames: usize,
    /// Frames on the free list.
    pub free: usize,
    /// Pages on the LRU list.
    pub lru: usize,
    /// Of these, in the old sublist.
    pub old: usize,
    /// Pages on the flush list.
    pub dirty: usize,
    /// Pages being read.
    pub pending_reads: usize,
    /// Old pages that were moved to the head of the LRU list.
    pub made_young: u64,
    /// Uses of old pages that did not move them.
    pub not_made_young: u64,
    /// Pages read.
    pub pages_read: u64,
    /// Pages created without a read.
    pub pages_created: u64,
    /// Pages written.
    pub pages_written: u64,
    /// Pages that could not be written, and stayed dirty.
    pub failed_writes: u64,
    /// Pages evicted.
    pub evictions: u64,
    /// Pages written by threads that needed a frame.
    pub single_page_flushes: u64,
    /// Searches for a free frame that took more than 20 rounds: where InnoDB warns that
    /// free blocks are difficult to find.
    pub difficult_searches: u64,
}

impl Lengths {
    pub(super) fn snapshot(&self, frames: usize, counts: &Counts) -> InstanceStatistics {
        InstanceStatistics {
            frames,
            free: self.free.load(Relaxed),
            lru: self.lru.load(Relaxed),
            old: self.old.load(Relaxed),
            dirty: self.dirty.load(Relaxed),
            pending_reads: counts.pending_reads.load(Relaxed),
            made_young: counts.made_young.load(Relaxed),
            not_made_young: counts.not_made_young.load(Relaxed),
            pages_read: counts.pages_read.load(Relaxed),
            pages_created: counts.pages_created.load(Relaxed),
            pages_written: counts.pages_written.load(Relaxed),
            failed_writes: counts.failed_writes.load(Relaxed),
            evictions: counts.evictions.load(Relaxed),
            single_page_flushes: counts.single_page_flushes.load(Relaxed),
            difficult_searches: counts.difficult_searches.load(Relaxed),
        }
    }
}
