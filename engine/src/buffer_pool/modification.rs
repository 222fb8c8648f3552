//! Dirty pages: noting modifications, and how old the oldest of them is.
//!
//! At its commit a mini-transaction notes every page that it changed, while it still
//! holds the page's X latch. A page that was clean goes to the head of its instance's
//! flush list; one that was dirty stays where it is, however often it is changed.
//!
//! ```text
//!   redo:  ----[mtr A: page 5]----[mtr B: page 5, page 9]----[mtr C: page 5]---->
//!   page 5:    oldest = start of A                            newest = end of C
//!   page 9:                       oldest = start of B, newest = end of B
//! ```

use super::control_block::{ControlBlock, IoState};
use super::pool::{BlockHandle, BufferPool};
use crate::metrics::Counter;
use crate::page::Lsn;
use crate::runtime::{self, Cost, cpu, cpu_times};

/// Whether a page that is changed now has to be put into its flush list: a clean one, or
/// one whose copy is on its way to the disk. While the page is latched in X the answer
/// stays the same: nobody begins to write it.
fn enters_flush_list(block: &ControlBlock) -> bool {
    block.oldest_modification() == 0 || block.io() == IoState::WriteCopied
}

impl BufferPool {
    /// Notes that a mini-transaction has changed a page. Its redo is the range from
    /// `start_lsn` to `end_lsn`. The caller has fixed the page and holds its latch in X.
    ///
    /// Mini-transactions of an instance may come here a little out of order; by how much
    /// is the redo log's business.
    pub fn note_modified(&self, handle: BlockHandle, start_lsn: Lsn, end_lsn: Lsn) {
        debug_assert!(start_lsn < end_lsn);
        let instance = &self.instances[handle.instance()];
        let block = instance.block(handle.frame);
        debug_assert!(block.fix_count() > 0);
        block.set_newest_modification(end_lsn);
        self.metrics
            .shard(handle.instance())
            .increment(Counter::BufferPoolWriteRequests);
        if !enters_flush_list(block) {
            return;
        }
        let mut list = instance.flush_list();
        // Looked at again: a write may have ended in between.
        if block.oldest_modification() == 0 {
            list.insert(&instance.blocks, handle.frame, start_lsn);
        } else if block.io() == IoState::WriteCopied {
            list.redirty(&instance.blocks, handle.frame, start_lsn);
            block.set_io(IoState::WriteRedirtied);
        } else {
            return;
        }
        cpu(Cost::FlushListChange);
        block.set_dirty_since(runtime::now());
        instance.note_dirty_length(&list);
    }

    /// Whether a changed page, latched in X, will enter its flush list when that is noted.
    pub fn would_enter_flush_list(&self, handle: BlockHandle) -> bool {
        enters_flush_list(self.instances[handle.instance()].block(handle.frame))
    }

    /// The oldest modification that is not in its data file, over all instances; `None`
    /// if no page is dirty. Redo before it is not needed, but for the bounded disorder of
    /// the flush lists.
    pub fn oldest_modification_lsn(&self) -> Option<Lsn> {
        self.instances
            .iter()
            .filter_map(|instance| {
                let list = instance.flush_list();
                list.oldest_modification(&instance.blocks)
            })
            .min()
    }

    /// How many pages, from the tail of an instance's flush list, became dirty at
    /// `target_lsn` or before; stops counting at `limit`. (InnoDB's adaptive flushing
    /// plans by this count.)
    pub fn list_ages(&self, instance: usize, target_lsn: Lsn, limit: usize) -> usize {
        let instance = &self.instances[instance];
        let list = instance.flush_list();
        let count = list
            .iter_from_tail()
            .take(limit)
            .take_while(|&frame| instance.block(frame).oldest_modification() <= target_lsn)
            .count();
        cpu_times(Cost::FlushListScanStep, count as u64 + 1);
        count
    }

    /// Puts the flush lists in order. Recovery applies redo page by page, so it notes
    /// modifications in any order; it calls this when it is done, before anything relies
    /// on the tails.
    pub fn sort_flush_lists(&self) {
        for instance in &self.instances {
            let mut list = instance.flush_list();
            let steps = list.len() as u64;
            list.sort(&instance.blocks);
            cpu_times(Cost::FlushListScanStep, steps);
        }
    }
}
