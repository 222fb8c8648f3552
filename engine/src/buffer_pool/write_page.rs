//! Writing one page: what all kinds of flush have in common.
//!
//! ```text
//!   choose        io: None -> Write           one flusher; the page can no longer leave
//!   latch         SX (S up to 5.6)            readers go on, writers wait from here ...
//!   write-ahead   redo up to the page's newest change is made durable
//!   image         copy, LSN, checksum
//!   hand over     to the page sink: doublewrite buffer, data file
//!   complete      off the flush list, io: None, latch off             ... to here
//!                 evicted, if that is what it was written for
//! ```
//!
//! The window in which writers wait holds a batch's filling, its doublewrite, and the
//! page's own write. `innosim_flush_latch=after_copy` ends it after the image is made: a
//! page changed meanwhile stays dirty, at a new place of the flush list.
//!
//! Source: InnoDB 5.7 to 8.4; `after_copy` is the proposal of MySQL bug 104779.

use std::sync::atomic::Ordering::Relaxed;

use super::control_block::IoState;
use super::hooks::{FlushKind, FlushedPage};
use super::instance::{Detached, Instance};
use super::page_type_counters::write_counter;
use super::pool::BufferPool;
use super::statistics::bump;
use crate::metrics::{Counter, Timing, WaitFamily};
use crate::page::fil;
use crate::runtime::{self, Cost, Held, WaitKind, cpu};
use crate::sysvar::FlushLatch;

impl BufferPool {
    /// Chooses a page from the LRU list for writing, and latches it; `None` if it is in
    /// use after all. The caller holds the LRU list, and releases it before the write.
    pub(super) fn choose_from_lru(
        &self,
        number: usize,
        frame: u32,
        kind: FlushKind,
    ) -> Option<Held> {
        let instance = &self.instances[number];
        let block = instance.block(frame);
        if !block.begin_write() {
            return None;
        }
        // A flush-list write may have ended since the caller looked.
        if block.oldest_modification() == 0 {
            block.set_io(IoState::None);
            return None;
        }
        let Some(held) = block.latch.try_lock(self.flush_latch_mode) else {
            block.set_io(IoState::None);
            return None;
        };
        self.note_chosen(instance, kind);
        Some(held)
    }

    /// Latches a page that was chosen from the flush list, waiting if need be.
    pub(super) fn latch_chosen(&self, number: usize, frame: u32) -> Held {
        let instance = &self.instances[number];
        self.note_chosen(instance, FlushKind::List);
        let latch = &instance.block(frame).latch;
        latch.try_lock(self.flush_latch_mode).unwrap_or_else(|| {
            // The holder may be waiting for a page that is queued in this very batch.
            self.hooks.page_sink.end_of_batch(FlushKind::List, number);
            latch.lock(self.flush_latch_mode, || WaitKind::Latch)
        })
    }

    fn note_chosen(&self, instance: &Instance, kind: FlushKind) {
        cpu(Cost::FlushPage);
        let mut state = instance.flush_state.lock();
        state.in_flight[kind as usize] += 1;
    }

    /// Sends off a page that was chosen and latched. False if there is nowhere to send it:
    /// its tablespace was closed, so the page is nobody's and is only made clean.
    pub(super) fn write_out(&self, number: usize, frame: u32, kind: FlushKind, held: Held) -> bool {
        let instance = &self.instances[number];
        let block = instance.block(frame);
        let page_id = block
            .page_id()
            .expect("a page under I/O stays in its frame");
        if self.tablespaces.get(page_id.space).is_none() {
            self.make_clean(number, frame, kind, Some(held), || ());
            return false;
        }
        let newest_modification = block.newest_modification();
        let log = &self.hooks.write_ahead_log;
        let must_wait = log.flushed_lsn() < newest_modification;
        if must_wait {
            log.flush_up_to(newest_modification);
        }
        let shard = self.metrics.shard(number);
        shard.record_wait(WaitFamily::PageWrittenOnLog, u64::from(must_wait));
        shard.increment(Counter::BufferPoolPagesFlushed);

        cpu(Cost::PageChecksum);
        // SAFETY: the page's latch keeps writers out, and the frame's memory lives as
        // long as the pool.
        let mut image = self
            .tablespaces
            .files()
            .image(unsafe { &*instance.bytes(frame) });
        let bytes = image.get_mut().expect("a new image has one reference");
        fil::stamp_for_write(bytes, newest_modification);

        let mut held = Some(held);
        if self.flush_latch() == FlushLatch::AfterCopy {
            block.set_io(IoState::WriteCopied);
            self.unlatch(instance, frame, held.take());
        }
        let page = FlushedPage {
            pool: self.shared(),
            instance: number,
            frame,
            page_id,
            image,
            kind,
            newest_modification,
            held,
        };
        match kind {
            FlushKind::SinglePage => self.hooks.page_sink.write_single(page),
            FlushKind::Lru | FlushKind::List => self.hooks.page_sink.write(page),
        }
        true
    }

    /// The page is in its data file: it becomes clean, its latch is released, and it is
    /// evicted if it was written for its frame. Called by whoever sees the end of the
    /// write, once.
    pub fn complete_write(&self, page: FlushedPage) {
        self.complete_write_and(page, || ());
    }

    /// As [`complete_write`](Self::complete_write), with something to be done in between,
    /// where InnoDB's doublewrite buffer counts the page and syncs the files after the
    /// last page of a batch: the page is clean, but its latch is still held, and so is
    /// the LRU list's mutex if the page is to be evicted.
    pub fn complete_write_and(&self, page: FlushedPage, between: impl FnOnce()) {
        let instance = &self.instances[page.instance];
        let block = instance.block(page.frame);
        debug_assert_eq!(block.page_id(), Some(page.page_id));
        bump(&instance.counts.pages_written);
        let shard = self.metrics.shard(page.instance);
        shard.increment(Counter::PagesWritten);
        shard.increment(write_counter(&page.image));
        if block.io() != IoState::WriteRedirtied {
            let dirty_for = runtime::now().saturating_sub(block.dirty_since());
            self.metrics.record_time(Timing::DirtyToFlush, dirty_for);
        }
        self.make_clean(page.instance, page.frame, page.kind, page.held, between);
    }

    /// The end of a flush: step 5 of InnoDB's write path.
    fn make_clean(
        &self,
        number: usize,
        frame: u32,
        kind: FlushKind,
        held: Option<Held>,
        between: impl FnOnce(),
    ) {
        let instance = &self.instances[number];
        let block = instance.block(frame);
        let lru = kind.evicts().then(|| instance.lru());
        cpu(Cost::FlushPage);
        {
            let mut list = instance.flush_list();
            cpu(Cost::FlushListChange);
            match block.io() {
                IoState::WriteRedirtied => list.written_but_redirtied(frame),
                _ => list.remove(&instance.blocks, frame),
            }
            instance.note_dirty_length(&list);
            // Under this mutex, as is the redirtying: the two see each other whole. Not
            // `None` yet: a clean page could be evicted while its latch is held.
            block.set_io(IoState::Written);
        }
        self.note_written(instance, kind);
        between();
        self.unlatch(instance, frame, held);
        block.set_io(IoState::None);
        if let Some(mut lru) = lru
            && let Some(detached) = instance.detach(&mut lru, frame)
        {
            drop(lru);
            self.free_detached(number, frame, detached);
        }
    }

    /// The page could not be written: it stays dirty, its latch is released, and a later
    /// flush will choose it again.
    pub fn abandon_write(&self, page: FlushedPage) {
        let instance = &self.instances[page.instance];
        let block = instance.block(page.frame);
        bump(&instance.counts.failed_writes);
        {
            let mut list = instance.flush_list();
            if block.io() == IoState::WriteRedirtied {
                list.abandon_redirtied(&instance.blocks, page.frame);
            }
            block.set_io(IoState::Written);
        }
        self.note_written(instance, page.kind);
        self.unlatch(instance, page.frame, page.held);
        block.set_io(IoState::None);
    }

    fn note_written(&self, instance: &Instance, kind: FlushKind) {
        let mut state = instance.flush_state.lock();
        let in_flight = &mut state.in_flight[kind as usize];
        *in_flight -= 1;
        let is_last = *in_flight == 0 && !state.is_building[kind as usize];
        drop(state);
        if is_last {
            instance.no_flush[kind as usize].set();
        }
    }

    fn unlatch(&self, instance: &Instance, frame: u32, held: Option<Held>) {
        if let Some(held) = held {
            let latch = &instance.block(frame).latch;
            // SAFETY: taken in this mode when the page was chosen, and owned since by
            // the flushed page.
            unsafe { latch.unlock(self.flush_latch_mode, held) };
        }
    }

    /// Puts the frame of a page that was taken out of the pool on the free list.
    pub(super) fn free_detached(&self, number: usize, frame: u32, detached: Detached) {
        if !detached.was_used {
            let shard = self.metrics.shard(number);
            shard.increment(Counter::BufferPoolReadAheadEvicted);
        }
        self.instances[number].put_free(frame);
    }

    /// Whether writes of a kind are under way, or a batch of it is being built, in an
    /// instance.
    pub fn is_flushing(&self, instance: usize, kind: FlushKind) -> bool {
        let state = self.instances[instance].flush_state.lock();
        state.is_building[kind as usize] || state.in_flight[kind as usize] > 0
    }

    /// Waits until no batch of the kind is being built in the instance and all writes of
    /// the kind are complete.
    pub fn wait_for_flush(&self, instance: usize, kind: FlushKind) {
        let instance = &self.instances[instance];
        let event = &instance.no_flush[kind as usize];
        loop {
            let count = {
                let state = instance.flush_state.lock();
                if !state.is_building[kind as usize] && state.in_flight[kind as usize] == 0 {
                    return;
                }
                // Under the mutex: the last write cannot end between look and reset.
                event.reset()
            };
            event.wait(count, runtime::time::NEVER, WaitKind::FlushedPage);
        }
    }

    /// Reads that are under way in an instance.
    pub fn pending_reads(&self, instance: usize) -> usize {
        self.instances[instance].counts.pending_reads.load(Relaxed)
    }
}
