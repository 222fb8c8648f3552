//! Pages of a tablespace that goes away.
//!
//! A tablespace that is dropped or closed leaves pages in the pool. They would be found
//! again if a file came back under the same id, and dirty ones would have nowhere to go.
//! So they are thrown out, dirty or not.
//!
//! Source: InnoDB 5.6 to 5.7 (`buf_LRU_flush_or_remove_pages`). MySQL 8.0 marks them as
//! stale instead and frees them when a batch comes by; a page of a closed tablespace that
//! is still there when a batch chooses it is freed here, too, without a write.

use super::control_block::IoState;
use super::hooks::FlushKind;
use super::pool::BufferPool;
use crate::page::SpaceId;
use crate::runtime::{Cost, cpu_times};

impl BufferPool {
    /// Throws all pages of a tablespace out of the pool, unwritten changes included. The
    /// caller has seen to it that nobody uses them any more, and that nobody reads new
    /// ones. Waits for writes that are under way. Returns how many pages are still in use,
    /// which had to stay: 0 if the caller was right.
    #[must_use = "pages that are still in use have stayed in the pool"]
    pub fn discard_space(&self, space: SpaceId) -> usize {
        let mut in_use = 0;
        for number in 0..self.instances.len() {
            in_use += loop {
                let left = self.discard_pass(number, space);
                if left.under_io == 0 {
                    break left.in_use;
                }
                for kind in FlushKind::ALL {
                    self.wait_for_flush(number, kind);
                }
            };
        }
        in_use
    }

    fn discard_pass(&self, number: usize, space: SpaceId) -> Left {
        let instance = &self.instances[number];
        let is_of_space = |frame: u32| {
            let page = instance.block(frame).page_id();
            page.is_some_and(|page| page.space == space)
        };
        let frames: Vec<u32> = {
            let lru = instance.lru();
            cpu_times(Cost::LruScanStep, lru.len() as u64);
            lru.iter().filter(|&frame| is_of_space(frame)).collect()
        };
        let mut left = Left::default();
        for frame in frames {
            let mut lru = instance.lru();
            // It may have left meanwhile, and another page may have come.
            if !is_of_space(frame) {
                continue;
            }
            let block = instance.block(frame);
            if block.fix_count() > 0 {
                left.in_use += 1;
            } else if !block.begin_write() {
                left.under_io += 1;
            } else {
                // Chosen, so that no flusher can choose it.
                let mut list = instance.flush_list();
                if block.oldest_modification() != 0 {
                    list.remove(&instance.blocks, frame);
                    instance.note_dirty_length(&list);
                }
                drop(list);
                block.set_io(IoState::None);
                let detached = instance.detach(&mut lru, frame);
                drop(lru);
                match detached {
                    Some(detached) => self.free_detached(number, frame, detached),
                    None => left.in_use += 1,
                }
            }
        }
        left
    }
}

/// Pages that a pass had to leave.
#[derive(Default)]
struct Left {
    in_use: usize,
    under_io: usize,
}
