//! An instance of the pool: frames, control blocks, lists, and their mutexes.
//!
//! Latches are taken in this order, outermost first (InnoDB 8.0):
//!
//! ```text
//!   LRU list > page hash part > flush list > flush state > free list
//! ```
//!
//! A page latch is waited for only while none of these is held.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crossbeam_utils::CachePadded;

use super::control_block::{ControlBlock, OVERHEAD_PER_FRAME_MAX};
use super::error::BufferPoolError;
use super::flush_list::FlushList;
use super::free_list::FreeList;
use super::hooks::FlushKind;
use super::lru_list::{LruList, old_ratio};
use super::page_hash::PageHash;
use super::settings::BufferPoolSettings;
use super::statistics::{Counts, InstanceStatistics, Lengths, bump};
use crate::page::{PageBytes, PageId};
use crate::runtime::files::FrameArena;
use crate::runtime::{Cost, Event, LatchClass, Mutex, MutexGuard, cpu};

// Control block, LRU and flush-list links, a free-list entry, up to 4 hash cells.
const _: () = assert!(size_of::<ControlBlock>() + 8 + 8 + 4 + 4 * 4 + 8 <= OVERHEAD_PER_FRAME_MAX);

/// Which kinds of flush are going on.
#[derive(Debug, Default)]
pub(super) struct FlushState {
    /// Whether a batch of the kind is being put together (`init_flush`).
    pub(super) is_building: [bool; FlushKind::ALL.len()],
    /// Pages of the kind that were chosen and are not written yet (`n_flush`).
    pub(super) in_flight: [usize; FlushKind::ALL.len()],
}

/// An instance of the pool.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) blocks: Box<[ControlBlock]>,
    frames: FrameArena,
    pub(super) hash: PageHash,
    lru: CachePadded<Mutex<LruList>>,
    free: CachePadded<Mutex<FreeList>>,
    flush_list: CachePadded<Mutex<FlushList>>,
    pub(super) flush_state: CachePadded<Mutex<FlushState>>,
    /// By kind: set when the last write of the kind ends while no batch is being built.
    pub(super) no_flush: [Event; FlushKind::ALL.len()],
    /// Whether a search for a free frame looks at the LRU list at once.
    pub(super) try_lru_scan: AtomicBool,
    pub(super) lengths: CachePadded<Lengths>,
    pub(super) counts: CachePadded<Counts>,
}

impl Instance {
    pub(super) fn new(settings: &BufferPoolSettings) -> Result<Self, BufferPoolError> {
        let count = settings.frames_per_instance();
        let frames = FrameArena::new(count, settings.huge_pages).map_err(|source| {
            BufferPoolError::Memory {
                bytes: settings.bytes,
                source,
            }
        })?;
        let instance = Instance {
            blocks: (0..count).map(|_| ControlBlock::new()).collect(),
            frames,
            hash: PageHash::new(count),
            lru: CachePadded::new(Mutex::new(
                LatchClass::BufferPoolLru,
                LruList::new(count, old_ratio(settings.old_blocks_pct)),
            )),
            free: CachePadded::new(Mutex::new(
                LatchClass::BufferPoolFree,
                FreeList::full(count),
            )),
            flush_list: CachePadded::new(Mutex::new(LatchClass::FlushList, FlushList::new(count))),
            flush_state: CachePadded::new(Mutex::new(
                LatchClass::FlushState,
                FlushState::default(),
            )),
            no_flush: Default::default(),
            try_lru_scan: AtomicBool::new(true),
            lengths: CachePadded::default(),
            counts: CachePadded::default(),
        };
        instance.lengths.free.store(count, Relaxed);
        Ok(instance)
    }

    /// The control block of a frame.
    #[inline]
    pub(super) fn block(&self, frame: u32) -> &ControlBlock {
        &self.blocks[frame as usize]
    }

    /// The bytes of a frame: only for who may touch them.
    #[inline]
    pub(super) fn bytes(&self, frame: u32) -> *mut PageBytes {
        self.frames.frame(frame as usize).as_ptr()
    }

    /// The LRU list.
    pub(super) fn lru(&self) -> MutexGuard<'_, LruList> {
        self.lru.lock()
    }

    /// The flush list.
    pub(super) fn flush_list(&self) -> MutexGuard<'_, FlushList> {
        self.flush_list.lock()
    }

    /// Notes the lengths of the LRU list; by the holder of its mutex, after a change.
    pub(super) fn note_lru_lengths(&self, lru: &LruList) {
        self.lengths.lru.store(lru.len(), Relaxed);
        self.lengths.old.store(lru.old_len(), Relaxed);
    }

    /// Notes the length of the flush list; by the holder of its mutex, after a change.
    pub(super) fn note_dirty_length(&self, list: &FlushList) {
        self.lengths.dirty.store(list.len(), Relaxed);
    }

    // ---- free frames ----------------------------------------------------------

    /// Takes a frame from the free list.
    pub(super) fn take_free(&self) -> Option<u32> {
        let mut free = self.free.lock();
        cpu(Cost::FreeListChange);
        let frame = free.pop();
        self.lengths.free.store(free.len(), Relaxed);
        frame
    }

    /// Puts a frame without a page on the free list.
    pub(super) fn put_free(&self, frame: u32) {
        let mut free = self.free.lock();
        cpu(Cost::FreeListChange);
        free.push(frame);
        self.lengths.free.store(free.len(), Relaxed);
    }

    /// The frames on the free list: for checks.
    pub(super) fn free_frames(&self) -> Vec<u32> {
        self.free.lock().iter().collect()
    }

    /// Frees the frame of a page that could not be read, once nobody uses it any more.
    pub(super) fn free_failed(&self, frame: u32) {
        self.block(frame).clear();
        self.put_free(frame);
    }

    // ---- eviction -------------------------------------------------------------

    /// Takes a page out of the pool if that is possible now; the caller holds the LRU
    /// list, and puts the frame on the free list after releasing it.
    pub(super) fn detach(&self, lru: &mut LruList, frame: u32) -> Option<Detached> {
        let block = self.block(frame);
        let page = block.page_id()?;
        let mut hash = self.hash.write(page);
        if !block.is_evictable() {
            return None;
        }
        cpu(Cost::LruChange);
        lru.remove(&self.blocks, frame);
        self.note_lru_lengths(lru);
        hash.remove(&self.blocks, frame);
        let was_used = block.access_time() != 0;
        debug_assert!(
            !block.latch.is_locked(),
            "a page is unlatched, then unfixed"
        );
        block.clear();
        bump(&self.counts.evictions);
        Some(Detached { was_used })
    }

    /// Takes a page that could not be read out of the pool; its frame stays with those
    /// who have fixed it.
    pub(super) fn detach_failed(&self, frame: u32, page: PageId) {
        let mut lru = self.lru();
        let mut hash = self.hash.write(page);
        cpu(Cost::LruChange);
        lru.remove(&self.blocks, frame);
        self.note_lru_lengths(&lru);
        hash.remove(&self.blocks, frame);
    }

    /// Pages evicted since the start: the clock of the young rule.
    #[inline]
    pub(super) fn evictions(&self) -> u64 {
        self.counts.evictions.load(Relaxed)
    }

    /// Lengths and counts now.
    pub(super) fn statistics(&self) -> InstanceStatistics {
        self.lengths.snapshot(self.blocks.len(), &self.counts)
    }
}

/// A page that was taken out of the pool.
pub(super) struct Detached {
    /// Whether anybody used it while it was in: if not, it was read ahead in vain.
    pub(super) was_used: bool,
}
