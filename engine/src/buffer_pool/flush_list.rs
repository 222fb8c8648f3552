//! The flush list: dirty pages in the order in which they became dirty.
//!
//! ```text
//!   head                                                              tail
//!   [oldest modification 900] - [870] - [875] - [640] - ... - [210] - [150]
//!    ^                            ^ a little out of order                ^
//!    mini-transactions insert     (8.0: they insert concurrently)        flushed first;
//!    here at their commit                                                redo before 150
//!                                                                        is not needed
//! ```
//!
//! The tail tells how much redo a recovery would need: nothing older than its oldest
//! modification. A page stays at its place however often it is changed again.
//!
//! With `innosim_flush_latch=after_copy` a page can be changed while an older image of it
//! is being written. Then the page moves to the head, as if it had become dirty now, and
//! its earlier oldest modification is remembered until the write is complete: until then
//! the redo from there on is still needed.

use super::control_block::ControlBlock;
use super::index_list::IndexList;
use crate::page::Lsn;

/// The dirty pages of an instance. Their oldest modifications are in the control blocks;
/// only this list writes them.
#[derive(Debug)]
pub(super) struct FlushList {
    list: IndexList,
    /// Where a running batch will go on.
    hazard: Option<u32>,
    /// Pages modified while an image of them is being written, with the oldest
    /// modification that the image will make durable.
    redirtied: Vec<(u32, Lsn)>,
}

impl FlushList {
    /// An empty list of an instance of so many frames.
    pub(super) fn new(frames: usize) -> Self {
        FlushList {
            list: IndexList::new(frames),
            hazard: None,
            redirtied: Vec::new(),
        }
    }

    /// Dirty pages.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the frame's page is in the list.
    pub(super) fn contains(&self, frame: u32) -> bool {
        self.list.contains(frame)
    }

    /// The frames from head to tail.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.list.iter()
    }

    /// A clean page was modified from `start_lsn` on: it goes to the head.
    pub(super) fn insert(&mut self, blocks: &[ControlBlock], frame: u32, start_lsn: Lsn) {
        debug_assert_ne!(start_lsn, 0, "0 stands for clean");
        debug_assert_eq!(blocks[frame as usize].oldest_modification(), 0);
        self.list.push_first(frame);
        blocks[frame as usize].set_oldest_modification(start_lsn);
    }

    /// A page was modified from `start_lsn` on while an image of it is being written: it
    /// goes to the head.
    pub(super) fn redirty(&mut self, blocks: &[ControlBlock], frame: u32, start_lsn: Lsn) {
        let block = &blocks[frame as usize];
        self.redirtied.push((frame, block.oldest_modification()));
        self.unlink(frame);
        self.list.push_first(frame);
        block.set_oldest_modification(start_lsn);
    }

    /// The image of a redirtied page is written; the page stays in the list.
    pub(super) fn written_but_redirtied(&mut self, frame: u32) {
        let place = self.redirtied.iter().position(|entry| entry.0 == frame);
        let place = place.expect("the page was redirtied");
        self.redirtied.swap_remove(place);
    }

    /// The image of a redirtied page could not be written: the page is as old as before,
    /// and goes back to its place. Rare, so the whole list is sorted.
    pub(super) fn abandon_redirtied(&mut self, blocks: &[ControlBlock], frame: u32) {
        let place = self.redirtied.iter().position(|entry| entry.0 == frame);
        let (_, oldest) = self
            .redirtied
            .swap_remove(place.expect("the page was redirtied"));
        blocks[frame as usize].set_oldest_modification(oldest);
        self.sort(blocks);
    }

    /// Puts the list in order, the oldest modification at the tail; equal ones by frame.
    pub(super) fn sort(&mut self, blocks: &[ControlBlock]) {
        let mut frames: Vec<u32> = self.list.iter().collect();
        frames.sort_by_key(|&frame| (blocks[frame as usize].oldest_modification(), frame));
        for &frame in &frames {
            self.list.remove(frame);
            // The oldest first: each later one goes in front of it.
            self.list.push_first(frame);
        }
    }

    /// The page is written: it is clean.
    pub(super) fn remove(&mut self, blocks: &[ControlBlock], frame: u32) {
        self.unlink(frame);
        blocks[frame as usize].set_oldest_modification(0);
    }

    fn unlink(&mut self, frame: u32) {
        if self.hazard == Some(frame) {
            self.hazard = self.list.previous(frame);
        }
        self.list.remove(frame);
    }

    /// The LSN from which on redo is needed for this list's pages, up to the bounded
    /// disorder of 8.0's concurrent inserts; `None` if no page is dirty.
    pub(super) fn oldest_modification(&self, blocks: &[ControlBlock]) -> Option<Lsn> {
        let tail = self.list.last();
        let tail = tail.map(|frame| blocks[frame as usize].oldest_modification());
        let under_write = self.redirtied.iter().map(|entry| entry.1).min();
        tail.into_iter().chain(under_write).min()
    }

    // ---- the batch ------------------------------------------------------------

    /// Starts a batch at the tail.
    pub(super) fn start_batch(&mut self) {
        self.hazard = self.list.last();
    }

    /// The next page of the batch, towards the head.
    pub(super) fn advance(&mut self) -> Option<u32> {
        let frame = self.hazard?;
        self.hazard = self.list.previous(frame);
        Some(frame)
    }

    /// Ends the batch.
    pub(super) fn end_batch(&mut self) {
        self.hazard = None;
    }

    /// Frames from the tail towards the head.
    pub(super) fn iter_from_tail(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.list.last(), |&frame| self.list.previous(frame))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blocks(count: usize) -> Vec<ControlBlock> {
        (0..count).map(|_| ControlBlock::new()).collect()
    }

    #[test]
    fn the_tail_is_the_oldest() {
        let blocks = blocks(4);
        let mut list = FlushList::new(4);
        assert_eq!(list.oldest_modification(&blocks), None);
        for (frame, lsn) in [(2, 100), (0, 150), (3, 200)] {
            list.insert(&blocks, frame, lsn);
        }
        assert_eq!(list.oldest_modification(&blocks), Some(100));
        assert_eq!(list.iter_from_tail().collect::<Vec<_>>(), [2, 0, 3]);
        list.remove(&blocks, 2);
        assert_eq!(blocks[2].oldest_modification(), 0);
        assert_eq!(list.oldest_modification(&blocks), Some(150));
    }

    #[test]
    fn a_batch_goes_on_when_its_page_leaves() {
        let blocks = blocks(4);
        let mut list = FlushList::new(4);
        for frame in 0..4 {
            list.insert(&blocks, frame, 10 + u64::from(frame));
        }
        list.start_batch();
        assert_eq!(list.advance(), Some(0));
        list.remove(&blocks, 1);
        list.remove(&blocks, 0);
        assert_eq!(list.advance(), Some(2));
        list.redirty(&blocks, 3, 99);
        assert_eq!(
            list.advance(),
            None,
            "3 is at the head, where it was before"
        );
    }

    #[test]
    fn redo_of_an_image_under_write_is_needed_until_it_is_written() {
        let blocks = blocks(2);
        let mut list = FlushList::new(2);
        list.insert(&blocks, 0, 100);
        list.insert(&blocks, 1, 200);
        list.redirty(&blocks, 0, 300);
        assert_eq!(list.iter_from_tail().collect::<Vec<_>>(), [1, 0]);
        assert_eq!(blocks[0].oldest_modification(), 300);
        assert_eq!(list.oldest_modification(&blocks), Some(100));
        list.written_but_redirtied(0);
        assert_eq!(list.oldest_modification(&blocks), Some(200));
    }

    #[test]
    fn a_list_made_in_any_order_can_be_sorted() {
        let blocks = blocks(5);
        let mut list = FlushList::new(5);
        for (frame, lsn) in [(4, 50), (0, 20), (3, 90), (1, 20)] {
            list.insert(&blocks, frame, lsn);
        }
        list.sort(&blocks);
        assert_eq!(list.iter_from_tail().collect::<Vec<_>>(), [0, 1, 4, 3]);
        assert_eq!(list.oldest_modification(&blocks), Some(20));
    }

    #[test]
    fn a_write_that_failed_leaves_the_page_as_old_as_it_was() {
        let blocks = blocks(2);
        let mut list = FlushList::new(2);
        list.insert(&blocks, 0, 100);
        list.insert(&blocks, 1, 200);
        list.redirty(&blocks, 0, 300);
        list.abandon_redirtied(&blocks, 0);
        assert_eq!(list.iter_from_tail().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(list.oldest_modification(&blocks), Some(100));
    }

    proptest! {
        /// Whatever is inserted in order, redirtied, written and flushed: the oldest
        /// modification is that of a model that keeps all of them, and pages leave the
        /// list in order.
        #[test]
        fn the_oldest_modification_is_exact(steps in prop::collection::vec((0u32..6, 0u8..4), 0..120)) {
            let blocks = blocks(6);
            let mut list = FlushList::new(6);
            // Of each page: its own oldest modification, and that of an image under write.
            let mut model = [(None::<Lsn>, None::<Lsn>); 6];
            let mut lsn = 1000;
            for (frame, action) in steps {
                lsn += 10;
                let page = &mut model[frame as usize];
                match (action, *page) {
                    (0 | 1, (None, _)) => {
                        list.insert(&blocks, frame, lsn);
                        page.0 = Some(lsn);
                    }
                    (1, (Some(oldest), None)) => {
                        list.redirty(&blocks, frame, lsn);
                        *page = (Some(lsn), Some(oldest));
                    }
                    (2, (_, Some(_))) => {
                        list.written_but_redirtied(frame);
                        page.1 = None;
                    }
                    (3, (Some(_), None)) => {
                        list.remove(&blocks, frame);
                        page.0 = None;
                    }
                    _ => {}
                }
                let oldest = model.iter().flat_map(|page| [page.0, page.1]).flatten().min();
                prop_assert_eq!(list.oldest_modification(&blocks), oldest);
                let order: Vec<_> = list
                    .iter_from_tail()
                    .map(|frame| blocks[frame as usize].oldest_modification())
                    .collect();
                prop_assert!(order.is_sorted());
                prop_assert_eq!(order.len(), model.iter().filter(|page| page.0.is_some()).count());
            }
        }
    }
}
