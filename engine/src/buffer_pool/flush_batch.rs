//! Flush batches: what the page cleaner does to an instance.
//!
//! ```text
//!   LRU batch   from the LRU tail: evicts clean pages, writes dirty ones, until there are
//!               enough free frames           (who reads pages needs frames)
//!   LIST batch  from the flush list's tail: writes the pages that became dirty first
//!                                            (who writes redo needs it to shrink)
//! ```
//!
//! Of each kind one batch at a time runs in an instance, and it runs until its last write
//! is complete: a batch asked for earlier does nothing. Nobody waits here for writes,
//! except by way of the page sink's own limits.
//!
//! Both walk a list whose mutex they release for every page they write, by the list's
//! hazard pointer.
//!
//! Source: InnoDB 5.7 to 8.4.

use std::sync::atomic::Ordering::Relaxed;

use super::hooks::FlushKind;
use super::lru_list::{BATCH_LENGTH_MIN, Scan};
use super::pool::BufferPool;
use crate::metrics::Set;
use crate::page::Lsn;
use crate::runtime::{Cost, cpu};

/// What an LRU batch shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LruBatch {
    /// `innodb_lru_scan_depth`: the number of free frames that is enough, and the most
    /// pages that are evicted or written.
    pub scan_depth: usize,
}

/// What an LRU batch has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LruBatchResult {
    /// Pages sent off to be written.
    pub flushed: usize,
    /// Clean pages evicted.
    pub evicted: usize,
    /// Pages looked at.
    pub scanned: usize,
}

impl BufferPool {
    /// Frees frames of an instance from the tail of its LRU list, until `scan_depth`
    /// pages were evicted or sent off, so many frames are free, or the list is down to
    /// 256 pages. Does nothing while the instance's last LRU batch is not complete.
    pub fn flush_lru_batch(&self, instance: usize, batch: &LruBatch) -> LruBatchResult {
        if !self.begin_batch(instance, FlushKind::Lru) {
            return LruBatchResult::default();
        }
        let result = self.lru_batch(instance, batch);
        self.end_batch(instance, FlushKind::Lru);
        let shard = self.metrics.shard(instance);
        shard.record_call(Set::LruBatchScanned, result.scanned as u64);
        if result.evicted > 0 {
            shard.record_call(Set::LruBatchEvictPages, result.evicted as u64);
        }
        if result.flushed > 0 {
            shard.record_call(Set::LruBatchFlushPages, result.flushed as u64);
        }
        result
    }

    fn lru_batch(&self, number: usize, batch: &LruBatch) -> LruBatchResult {
        let instance = &self.instances[number];
        let mut result = LruBatchResult::default();
        let mut lru = instance.lru();
        let most = batch.scan_depth.min(lru.len());
        lru.start_at_tail(Scan::Batch);
        while result.flushed + result.evicted < most
            && instance.lengths.free.load(Relaxed) < batch.scan_depth
            && lru.len() > BATCH_LENGTH_MIN
            && let Some(frame) = lru.advance(Scan::Batch)
        {
            result.scanned += 1;
            cpu(Cost::LruScanStep);
            let block = instance.block(frame);
            if block.is_evictable() {
                if let Some(detached) = instance.detach(&mut lru, frame) {
                    drop(lru);
                    self.free_detached(number, frame, detached);
                    result.evicted += 1;
                    lru = instance.lru();
                }
            } else if block.is_flushable_from_lru()
                && let Some(held) = self.choose_from_lru(number, frame, FlushKind::Lru)
            {
                drop(lru);
                match self.write_out(number, frame, FlushKind::Lru, held) {
                    true => result.flushed += 1,
                    false => result.evicted += 1,
                }
                lru = instance.lru();
            }
        }
        lru.end_scan(Scan::Batch);
        result
    }

    /// Writes up to `max_pages` pages of an instance from the tail of its flush list, as
    /// long as they became dirty before `lsn_limit`; returns how many. Pages under I/O
    /// are passed over. Does nothing while the instance's last flush-list batch is not
    /// complete.
    pub fn flush_list_batch(&self, instance: usize, max_pages: usize, lsn_limit: Lsn) -> usize {
        if max_pages == 0 || !self.begin_batch(instance, FlushKind::List) {
            return 0;
        }
        let (flushed, scanned) = self.list_batch(instance, max_pages, lsn_limit);
        self.end_batch(instance, FlushKind::List);
        let shard = self.metrics.shard(instance);
        shard.record_call(Set::FlushBatchScanned, scanned);
        if flushed > 0 {
            shard.record_call(Set::FlushBatchPages, flushed as u64);
        }
        flushed
    }

    fn list_batch(&self, number: usize, max_pages: usize, lsn_limit: Lsn) -> (usize, u64) {
        let instance = &self.instances[number];
        let (mut flushed, mut scanned) = (0, 0);
        let mut list = instance.flush_list();
        // Pages that become dirty meanwhile are not this batch's.
        let mut left = list.len();
        list.start_batch();
        while flushed < max_pages
            && left > 0
            && let Some(frame) = list.advance()
        {
            let block = instance.block(frame);
            if block.oldest_modification() >= lsn_limit {
                break;
            }
            left -= 1;
            scanned += 1;
            cpu(Cost::FlushListScanStep);
            // Under the list's mutex the page is dirty, so it stays dirty: only the
            // flusher that wins here can write it.
            if block.begin_write() {
                drop(list);
                let held = self.latch_chosen(number, frame);
                let is_sent = self.write_out(number, frame, FlushKind::List, held);
                flushed += usize::from(is_sent);
                list = instance.flush_list();
            }
        }
        list.end_batch();
        (flushed, scanned)
    }

    /// Whether a batch may begin; it has begun then.
    fn begin_batch(&self, number: usize, kind: FlushKind) -> bool {
        let mut state = self.instances[number].flush_state.lock();
        let may = !state.is_building[kind as usize] && state.in_flight[kind as usize] == 0;
        if may {
            state.is_building[kind as usize] = true;
        }
        may
    }

    fn end_batch(&self, number: usize, kind: FlushKind) {
        let instance = &self.instances[number];
        let mut state = instance.flush_state.lock();
        state.is_building[kind as usize] = false;
        let is_over = state.in_flight[kind as usize] == 0;
        drop(state);
        instance.try_lru_scan.store(true, Relaxed);
        if is_over {
            instance.no_flush[kind as usize].set();
        }
        self.hooks.page_sink.end_of_batch(kind, number);
    }

    /// Writes every dirty page and waits until all are written: for a clean shutdown,
    /// when nobody dirties pages any more. What others have sent off is waited for, too.
    /// Returns how many pages are still dirty: more than 0 if writes failed.
    #[must_use = "pages that are still dirty could not be written"]
    pub fn flush_all(&self) -> usize {
        let mut dirty_left = 0;
        for number in 0..self.instances.len() {
            let mut before = usize::MAX;
            dirty_left += loop {
                for kind in FlushKind::ALL {
                    self.wait_for_flush(number, kind);
                }
                let dirty = self.statistics(number).dirty;
                // A pass over the whole list that wrote nothing: another would not, either.
                if dirty == 0 || dirty >= before {
                    break dirty;
                }
                before = dirty;
                self.flush_list_batch(number, usize::MAX, Lsn::MAX);
            };
        }
        self.hooks.page_sink.wait_for_pending();
        dirty_left
    }
}
