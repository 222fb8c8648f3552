//! Control blocks: what the pool knows of the page in a frame.
//!
//! Every frame has one control block, at the same index. It is two cache lines: what a
//! hit needs is in the first, what a modification needs in the second.
//!
//! ```text
//!   page id | latch | fix count | hash chain | LRU stamp | access time | I/O state
//!   oldest and newest modification | when it became dirty
//! ```
//!
//! InnoDB protects some of these fields by a mutex in each block. Here they are atomic
//! words with an owner each, and the rules that the mutex enforced are these:
//!
//! * **Fix count.** A page is fixed by whoever uses it and stays in its frame as long.
//!   The count grows from 0 only under the page's hash latch, in S; so who holds that
//!   latch in X and sees 0 may take the page away.
//! * **I/O state.** It leaves `None` for `Read` when a page enters its frame (under the
//!   hash latch in X), and for `Write` by one compare-and-swap, which chooses the one
//!   flusher. Only that flusher's completion sets it back.
//! * **Oldest modification** is not 0 exactly while the frame is on the flush list; it
//!   changes under the flush list's mutex.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::*};

use crate::page::{Lsn, PageId};
use crate::runtime::PageLatch;
use crate::runtime::time::Time;

/// Bytes that the pool may use for each frame besides the frame: control block, list
/// links, hash cells.
pub const OVERHEAD_PER_FRAME_MAX: usize = 256;

/// The end of a hash chain.
pub(super) const CHAIN_END: u32 = u32::MAX;

/// The `page_id` of a frame without a page: page "none" of the last space.
const NO_PAGE: u64 = u64::MAX;

/// Set in the fix count of a page that could not be read. It is out of the hash table
/// by then; its last user frees the frame.
const READ_FAILED: u32 = 1 << 31;

/// Set in the LRU stamp while the page is in the old sublist.
const OLD: u32 = 1 << 31;

/// I/O that is under way for a page (InnoDB's `io_fix`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum IoState {
    /// None.
    None = 0,
    /// The page is being read; the read holds its latch in X.
    Read = 1,
    /// The page has been chosen to be written.
    Write = 2,
    /// Its image was taken and its latch released before the write is complete
    /// (`innosim_flush_latch=after_copy`).
    WriteCopied = 3,
    /// Then it was modified again: the page in the frame is not the one being written.
    WriteRedirtied = 4,
    /// The write is complete and accounted for; the latch is about to be released.
    Written = 5,
}

impl IoState {
    fn from_number(number: u8) -> IoState {
        match number {
            0 => IoState::None,
            1 => IoState::Read,
            2 => IoState::Write,
            3 => IoState::WriteCopied,
            4 => IoState::WriteRedirtied,
            5 => IoState::Written,
            _ => unreachable!("only states are stored"),
        }
    }
}

/// What the pool knows of the page in a frame; see the module's opening.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct ControlBlock {
    page_id: AtomicU64,
    pub(super) latch: PageLatch,
    fix_count: AtomicU32,
    /// The next block of the page's hash chain; guarded by the hash latch.
    pub(super) hash_next: AtomicU32,
    lru_stamp: AtomicU32,
    access_time: AtomicU32,
    io: AtomicU8,
    oldest_modification: AtomicU64,
    newest_modification: AtomicU64,
    dirty_since: AtomicU64,
}

// The hit's fields share the first line; nothing grows without being noticed.
const _: () = assert!(size_of::<ControlBlock>() == 128);
const _: () = assert!(std::mem::offset_of!(ControlBlock, oldest_modification) <= 64);

fn packed(page: PageId) -> u64 {
    u64::from(page.space.0) << 32 | u64::from(page.page.0)
}

impl ControlBlock {
    /// The block of an empty frame.
    pub(super) fn new() -> Self {
        ControlBlock {
            page_id: AtomicU64::new(NO_PAGE),
            latch: PageLatch::new(),
            fix_count: AtomicU32::new(0),
            hash_next: AtomicU32::new(CHAIN_END),
            lru_stamp: AtomicU32::new(0),
            access_time: AtomicU32::new(0),
            io: AtomicU8::new(IoState::None as u8),
            oldest_modification: AtomicU64::new(0),
            newest_modification: AtomicU64::new(0),
            dirty_since: AtomicU64::new(0),
        }
    }

    // ---- life -----------------------------------------------------------------

    /// The frame receives a page, which its user has fixed once. Under the hash latch
    /// in X.
    pub(super) fn assign(&self, page: PageId, io: IoState) {
        debug_assert_eq!(self.page_id.load(Relaxed), NO_PAGE, "the frame is empty");
        debug_assert_eq!(self.fix_count.load(Relaxed), 0);
        debug_assert_eq!(self.oldest_modification(), 0);
        self.lru_stamp.store(0, Relaxed);
        self.access_time.store(0, Relaxed);
        self.newest_modification.store(0, Relaxed);
        self.fix_count.store(1, Relaxed);
        self.io.store(io as u8, Relaxed);
        self.page_id.store(packed(page), Relaxed);
    }

    /// The frame loses its page.
    pub(super) fn clear(&self) {
        self.page_id.store(NO_PAGE, Relaxed);
        self.fix_count.store(0, Relaxed);
        self.io.store(IoState::None as u8, Relaxed);
    }

    /// The page in the frame.
    pub(super) fn page_id(&self) -> Option<PageId> {
        let packed = self.page_id.load(Relaxed);
        (packed != NO_PAGE).then(|| PageId::new((packed >> 32) as u32, packed as u32))
    }

    /// Whether the frame holds this page.
    #[inline]
    pub(super) fn holds(&self, page: PageId) -> bool {
        self.page_id.load(Relaxed) == packed(page)
    }

    // ---- fixing ---------------------------------------------------------------

    /// One more user. Under the hash latch in S, or by one who has fixed it already.
    #[inline]
    pub(super) fn fix(&self) {
        let before = self.fix_count.fetch_add(1, Relaxed);
        debug_assert!(before & !READ_FAILED < READ_FAILED - 1);
    }

    /// One user fewer; true if this was the last user of a page that could not be
    /// read, who must free the frame.
    #[inline]
    pub(super) fn unfix(&self) -> bool {
        // Release: the next owner of the frame, who sees 0, also sees what its users did.
        let before = self.fix_count.fetch_sub(1, AcqRel);
        debug_assert_ne!(before & !READ_FAILED, 0, "a page is unfixed once too often");
        before == READ_FAILED | 1
    }

    /// Users of the page.
    #[inline]
    pub(super) fn fix_count(&self) -> u32 {
        self.fix_count.load(Acquire) & !READ_FAILED
    }

    /// The page could not be read. By the reader, who has it fixed, after it is out of
    /// the hash table.
    pub(super) fn set_read_failed(&self) {
        self.fix_count.fetch_or(READ_FAILED, Release);
    }

    /// Whether the page could not be read.
    pub(super) fn read_failed(&self) -> bool {
        self.fix_count.load(Acquire) & READ_FAILED != 0
    }

    // ---- I/O ------------------------------------------------------------------

    /// The I/O under way.
    #[inline]
    pub(super) fn io(&self) -> IoState {
        IoState::from_number(self.io.load(Acquire))
    }

    /// Chooses the page to be written; false if I/O is under way already.
    pub(super) fn begin_write(&self) -> bool {
        let (none, write) = (IoState::None as u8, IoState::Write as u8);
        self.io
            .compare_exchange(none, write, AcqRel, Acquire)
            .is_ok()
    }

    /// The next state of the I/O under way; by the one who runs it.
    pub(super) fn set_io(&self, io: IoState) {
        self.io.store(io as u8, Release);
    }

    // ---- modification ---------------------------------------------------------

    /// Start LSN of the mini-transaction that dirtied the page; 0 while it is clean.
    #[inline]
    pub(super) fn oldest_modification(&self) -> Lsn {
        self.oldest_modification.load(Acquire)
    }

    /// Under the flush list's mutex.
    pub(super) fn set_oldest_modification(&self, lsn: Lsn) {
        self.oldest_modification.store(lsn, Release);
    }

    /// End LSN of the last mini-transaction that changed the page since it was read.
    pub(super) fn newest_modification(&self) -> Lsn {
        self.newest_modification.load(Acquire)
    }

    /// By the holder of the page's X latch.
    pub(super) fn set_newest_modification(&self, lsn: Lsn) {
        self.newest_modification.store(lsn, Release);
    }

    /// When the page became dirty.
    pub(super) fn dirty_since(&self) -> Time {
        self.dirty_since.load(Relaxed)
    }

    /// Under the flush list's mutex.
    pub(super) fn set_dirty_since(&self, time: Time) {
        self.dirty_since.store(time, Relaxed);
    }

    // ---- replacement ----------------------------------------------------------

    /// Whether the page may leave the pool now: nobody uses it, no I/O is under way, and
    /// its file has all that was changed. Final only under the hash latch in X.
    #[inline]
    pub(super) fn is_evictable(&self) -> bool {
        // The fix count first: who sees 0 there sees the modifications of those who left.
        self.fix_count() == 0 && self.oldest_modification() == 0 && self.io() == IoState::None
    }

    /// Whether an LRU or single-page flush may choose the page: dirty, nobody uses it,
    /// and no I/O is under way. A hint, until the page has been chosen.
    #[inline]
    pub(super) fn is_flushable_from_lru(&self) -> bool {
        self.fix_count() == 0 && self.oldest_modification() != 0 && self.io() == IoState::None
    }

    /// Whether the page is in the old sublist.
    #[inline]
    pub(super) fn is_old(&self) -> bool {
        self.lru_stamp.load(Relaxed) & OLD != 0
    }

    /// Under the LRU list's mutex.
    pub(super) fn set_old(&self, old: bool) {
        let clock = self.freed_page_clock();
        let stamp = if old { clock | OLD } else { clock };
        self.lru_stamp.store(stamp, Relaxed);
    }

    /// The low 31 bits of the instance's count of evictions when the page was last put
    /// at the head of the LRU list; 0 if it never was.
    #[inline]
    pub(super) fn freed_page_clock(&self) -> u32 {
        self.lru_stamp.load(Relaxed) & !OLD
    }

    /// Under the LRU list's mutex.
    pub(super) fn set_freed_page_clock(&self, clock: u64) {
        let old = self.lru_stamp.load(Relaxed) & OLD;
        self.lru_stamp.store(clock as u32 & !OLD | old, Relaxed);
    }

    /// When the page was first used since it entered the pool, in milliseconds of the
    /// pool's clock; 0 for never.
    #[inline]
    pub(super) fn access_time(&self) -> u32 {
        self.access_time.load(Relaxed)
    }

    /// Notes the first use. Of two at once either may win.
    pub(super) fn set_access_time(&self, milliseconds: u32) {
        self.access_time.store(milliseconds, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_in_use_or_dirty_or_under_io_stays() {
        let block = ControlBlock::new();
        block.assign(PageId::new(3, 4), IoState::Read);
        assert!(block.holds(PageId::new(3, 4)) && !block.holds(PageId::new(4, 3)));
        assert!(!block.is_evictable());
        block.set_io(IoState::None);
        assert!(!block.is_evictable(), "its reader uses it");
        assert!(!block.unfix());
        assert!(block.is_evictable() && !block.is_flushable_from_lru());
        block.set_oldest_modification(17);
        assert!(!block.is_evictable() && block.is_flushable_from_lru());
        assert!(block.begin_write());
        assert!(!block.begin_write(), "one flusher at a time");
        assert!(!block.is_flushable_from_lru());
    }

    #[test]
    fn the_last_user_of_a_page_that_could_not_be_read_frees_it() {
        let block = ControlBlock::new();
        block.assign(PageId::new(1, 1), IoState::Read);
        block.fix();
        block.set_read_failed();
        assert!(block.read_failed());
        assert_eq!(block.fix_count(), 2);
        assert!(!block.unfix());
        assert!(block.unfix());
    }

    #[test]
    fn stamp_and_old_mark_do_not_disturb_each_other() {
        let block = ControlBlock::new();
        block.set_freed_page_clock((1 << 33) + 5);
        block.set_old(true);
        assert_eq!((block.freed_page_clock(), block.is_old()), (5, true));
        block.set_freed_page_clock((1 << 31) - 1);
        assert_eq!(
            (block.freed_page_clock(), block.is_old()),
            (i32::MAX as u32, true)
        );
        block.set_old(false);
        assert_eq!(
            (block.freed_page_clock(), block.is_old()),
            (i32::MAX as u32, false)
        );
    }
}
