//! Bringing a page into the pool: reading it from its file, or making it anew.
//!
//! A free frame is found *before* any latch is taken, since that may take long. Then,
//! under the LRU list's mutex and the hash latch in X, the page is entered if nobody
//! else was faster. From there on others find it; they wait for the read by its latch,
//! which the read holds in X.
//!
//! ```text
//!   free frame -> [LRU mutex, hash X: enter, io = Read, latch X] -> read file, verify
//!        -> io = None, latch off
//!   on failure: [LRU mutex, hash X: take out], mark "read failed", latch off;
//!        whoever unfixes it last frees the frame
//! ```
//!
//! InnoDB's reader looks its page up again after the read. Here it keeps the page fixed
//! from the start: the same, but for the chance to lose the page again in between.

use std::sync::atomic::Ordering::Relaxed;

use super::control_block::IoState;
use super::error::BufferPoolError;
use super::page_type_counters::read_counter;
use super::pool::{BlockHandle, BufferPool, Waits};
use super::statistics::bump;
use crate::metrics::{Counter, Timing};
use crate::page::PageId;
use crate::runtime::{self, Cost, Held, LatchMode, cpu};

impl BufferPool {
    /// Reads a page into a frame and fixes it; `None` if somebody else has entered it
    /// meanwhile. `attempt` counts for the error.
    pub(super) fn read_page(
        &self,
        number: usize,
        page: PageId,
        attempt: u32,
        waits: &mut Waits,
    ) -> Result<Option<u32>, BufferPoolError> {
        let Some(space) = self.tablespaces.get(page.space) else {
            return Err(BufferPoolError::NoTablespace { page });
        };
        let frame = self.free_frame(number, waits)?;
        let Some(held) = self.enter(number, page, frame, IoState::Read) else {
            return Ok(None);
        };
        let instance = &self.instances[number];
        let block = instance.block(frame);
        instance.counts.pending_reads.fetch_add(1, Relaxed);
        let start = runtime::now();
        // SAFETY: this task holds the page's latch in X, and the frame's memory lives as
        // long as the pool.
        let bytes = unsafe { &mut *instance.bytes(frame) };
        let result = space.read_page(page.page, bytes).and_then(|()| {
            let end = self.hooks.write_ahead_log.end_lsn();
            space.check_lsn(page.page, bytes, end)
        });
        let counter = read_counter(bytes);
        instance.counts.pending_reads.fetch_sub(1, Relaxed);
        if let Err(source) = result {
            instance.detach_failed(frame, page);
            block.set_read_failed();
            // SAFETY: taken by `enter`, in X.
            unsafe { block.latch.unlock(LatchMode::X, held) };
            if block.unfix() {
                instance.free_failed(frame);
            }
            return Err(BufferPoolError::Read {
                page,
                attempts: attempt,
                source,
            });
        }
        block.set_io(IoState::None);
        // SAFETY: as above.
        unsafe { block.latch.unlock(LatchMode::X, held) };
        waits.reads += 1;
        bump(&instance.counts.pages_read);
        let shard = self.metrics.shard(waits.shard);
        shard.increment(Counter::PagesRead);
        shard.increment(Counter::BufferPoolReads);
        shard.increment(counter);
        self.metrics
            .record_time(Timing::PageRead, runtime::now() - start);
        Ok(Some(frame))
    }

    /// Gets a frame for a page that is being created: nothing is read. The frame holds
    /// zeros, unless the page is in the pool already, from an earlier life: then it holds
    /// what was there. In both cases the caller latches it in X and initialises it.
    ///
    /// # Errors
    /// If the tablespace is not open or no frame becomes free.
    pub fn fix_new(&self, page: PageId, waits: &mut Waits) -> Result<BlockHandle, BufferPoolError> {
        cpu(Cost::PageGet);
        if self.tablespaces.get(page.space).is_none() {
            return Err(BufferPoolError::NoTablespace { page });
        }
        let number = self.instance_of(page);
        let instance = &self.instances[number];
        let frame = loop {
            let frame = self.free_frame(number, waits)?;
            if let Some(held) = self.enter(number, page, frame, IoState::None) {
                cpu(Cost::PageClear);
                // SAFETY: as in `read_page`.
                unsafe { (*instance.bytes(frame)).fill(0) };
                // SAFETY: taken by `enter`, in X.
                unsafe { instance.block(frame).latch.unlock(LatchMode::X, held) };
                bump(&instance.counts.pages_created);
                self.metrics
                    .shard(waits.shard)
                    .increment(Counter::PagesCreated);
                break frame;
            }
            // It is there, or it was a moment ago.
            let found = instance.hash.find_and_fix(&instance.blocks, page);
            if let Some(frame) = found
                && self.wait_for_read(instance, frame, waits)
            {
                break frame;
            }
        };
        self.touch(instance, frame);
        Ok(BlockHandle {
            instance: number as u32,
            frame,
        })
    }

    /// Enters a page into a free frame, latched in X and fixed once. If the page is
    /// there already, the frame goes back to the free list: `None`.
    fn enter(&self, number: usize, page: PageId, frame: u32, io: IoState) -> Option<Held> {
        let instance = &self.instances[number];
        let mut lru = instance.lru();
        let mut hash = instance.hash.write(page);
        if hash.find(&instance.blocks, page).is_some() {
            drop(hash);
            drop(lru);
            instance.put_free(frame);
            return None;
        }
        let block = instance.block(frame);
        block.assign(page, io);
        let held = block.latch.try_lock(LatchMode::X);
        let held = held.expect("nobody has the latch of an empty frame");
        hash.insert(&instance.blocks, frame);
        drop(hash);
        cpu(Cost::LruChange);
        lru.insert(&instance.blocks, frame, instance.evictions());
        instance.note_lru_lengths(&lru);
        Some(held)
    }
}
