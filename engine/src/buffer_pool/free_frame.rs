//! Finding a free frame: the loop that every missing page passes.
//!
//! ```text
//!   free list ---------------- head ---------------------------> done
//!      | empty
//!   LRU tail: 100 pages, later rounds all ---- a clean page ---> evict it, again
//!      | nothing
//!   wake the page cleaner; from the third round on sleep 10 ms
//!      |
//!   write one dirty page from the tail, synchronously ---------> again
//! ```
//!
//! With a page cleaner that keeps up, the free list is never empty and no thread gets
//! past the first line. A thread that gets to the last line pays for a page write, with
//! its doublewrite and its syncs, in the foreground: the cliff behind a too small
//! `innodb_lru_scan_depth`.
//!
//! Source: InnoDB 5.6 to 8.4 (`buf_LRU_get_free_block`). InnoDB goes on for ever; here
//! the search ends with an error after
//! [`free_frame_timeout`](super::BufferPoolSettings::free_frame_timeout).

use std::sync::atomic::Ordering::Relaxed;

use super::control_block::IoState;
use super::error::BufferPoolError;
use super::hooks::FlushKind;
use super::instance::Instance;
use super::lru_list::{SEARCH_DEPTH, Scan};
use super::pool::{BufferPool, Waits};
use super::statistics::bump;
use crate::metrics::{Counter, Set};
use crate::runtime::time::{MILLISECOND, Time};
use crate::runtime::{self, Cost, WaitKind, cpu};

/// What a search sleeps from its third round on.
const SLEEP: Time = 10 * MILLISECOND;
/// After so many rounds InnoDB warns that free blocks are difficult to find.
const DIFFICULT_AFTER: u32 = 20;

impl BufferPool {
    /// Takes a frame for a new page; waits until there is one. The caller holds no latch
    /// of the pool, but perhaps latches of pages.
    pub(super) fn free_frame(
        &self,
        number: usize,
        waits: &mut Waits,
    ) -> Result<u32, BufferPoolError> {
        let instance = &self.instances[number];
        let shard = self.metrics.shard(waits.shard);
        shard.increment(Counter::LruGetFreeSearches);
        let mut round = 0;
        let mut started = None;
        loop {
            if let Some(frame) = instance.take_free() {
                return Ok(frame);
            }
            shard.increment(Counter::LruGetFreeLoops);
            if instance.try_lru_scan.load(Relaxed) || round > 0 {
                if self.evict_one(number, round > 0) {
                    continue;
                }
                if round == 0 {
                    // Others need not look in vain before the next batch has been.
                    instance.try_lru_scan.store(false, Relaxed);
                }
            }
            let started = *started.get_or_insert_with(runtime::now);
            if round == DIFFICULT_AFTER + 1 {
                bump(&instance.counts.difficult_searches);
            }
            let waited = runtime::now() - started;
            if waited >= self.free_frame_timeout {
                return Err(no_free_frame(instance, number, waited));
            }
            self.cleaner_wanted.set();
            if round > 1 {
                shard.increment(Counter::LruGetFreeWaits);
                runtime::sleep(SLEEP, WaitKind::FreePage);
            }
            if !self.flush_single_page(number) {
                shard.increment(Counter::LruSingleFlushFailures);
            }
            shard.increment(Counter::BufferPoolWaitFree);
            waits.free_frame_rounds += 1;
            round += 1;
        }
    }

    /// Evicts the first clean page from the LRU tail that nobody uses, among the first
    /// 100 or among all.
    fn evict_one(&self, number: usize, all: bool) -> bool {
        let instance = &self.instances[number];
        let mut lru = instance.lru();
        lru.start_or_go_on(&instance.blocks, Scan::Search);
        let mut scanned = 0;
        let mut evicted = false;
        while all || scanned < SEARCH_DEPTH {
            let Some(frame) = lru.advance(Scan::Search) else {
                break;
            };
            scanned += 1;
            cpu(Cost::LruScanStep);
            if instance.block(frame).is_evictable()
                && let Some(detached) = instance.detach(&mut lru, frame)
            {
                drop(lru);
                self.free_detached(number, frame, detached);
                evicted = true;
                break;
            }
        }
        if scanned > 0 {
            let shard = self.metrics.shard(number);
            shard.record_call(Set::LruSearchScanned, scanned as u64);
        }
        evicted
    }

    /// Frees a frame near the LRU tail by evicting a clean page or writing a dirty one,
    /// whichever comes first; false if there is neither.
    fn flush_single_page(&self, number: usize) -> bool {
        let instance = &self.instances[number];
        let mut lru = instance.lru();
        lru.start_or_go_on(&instance.blocks, Scan::SingleFlush);
        let mut scanned = 0;
        let mut freed = false;
        while let Some(frame) = lru.advance(Scan::SingleFlush) {
            scanned += 1;
            cpu(Cost::LruScanStep);
            let block = instance.block(frame);
            if block.is_evictable() {
                if let Some(detached) = instance.detach(&mut lru, frame) {
                    drop(lru);
                    self.free_detached(number, frame, detached);
                    freed = true;
                    break;
                }
            } else if block.is_flushable_from_lru()
                && let Some(held) = self.choose_from_lru(number, frame, FlushKind::SinglePage)
            {
                drop(lru);
                bump(&instance.counts.single_page_flushes);
                self.write_out(number, frame, FlushKind::SinglePage, held);
                freed = true;
                break;
            }
        }
        if scanned > 0 {
            let shard = self.metrics.shard(number);
            shard.record_call(Set::LruSingleFlushScanned, scanned);
        }
        freed
    }
}

#[cold]
fn no_free_frame(instance: &Instance, number: usize, waited: Time) -> BufferPoolError {
    let count = |matches: &dyn Fn(u32) -> bool| {
        (0..instance.blocks.len() as u32)
            .filter(|&frame| matches(frame))
            .count()
    };
    BufferPoolError::NoFreeFrame {
        instance: number,
        waited,
        frames: instance.blocks.len(),
        fixed: count(&|frame| instance.block(frame).fix_count() > 0),
        dirty: count(&|frame| instance.block(frame).oldest_modification() > 0),
        under_io: count(&|frame| instance.block(frame).io() != IoState::None),
    }
}
