//! The memo: which pages and latches a mini-transaction holds.
//!
//! InnoDB's rule is that a mini-transaction keeps what it latched until it commits,
//! because its redo gets its place in the log only then: a page that another one could
//! change in between would have its redo in the wrong order. So a slot of the memo is
//! only given up early if its page was not changed.
//!
//! ```text
//!   slot   0            1           2           3
//!        [index S]   [page 3 S]  [page 7 X*]  [given up]         * changed
//!                                    ^
//!                      PageHandle { slot 2, number 41 }
//! ```
//!
//! A page that is asked for again is answered from here. Each acquisition has a number,
//! so that a handle which outlived its slot is noticed.

use std::sync::Arc;

use crate::buffer_pool::BlockHandle;
use crate::page::PageId;
use crate::runtime::{Held, LatchMode, PageLatch};
use crate::tablespace::Tablespace;

/// A page that a mini-transaction has fixed and latched. Valid until it is released or
/// the mini-transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHandle {
    pub(super) slot: u32,
    pub(super) number: u32,
}

/// A place in a memo, to which one can go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(pub(super) usize);

/// A page in the memo.
#[derive(Debug)]
pub(super) struct PageSlot {
    pub(super) block: BlockHandle,
    pub(super) page: PageId,
    pub(super) mode: LatchMode,
    pub(super) held: Held,
    pub(super) number: u32,
    /// How often it was asked for, less how often it was released.
    pub(super) uses: u32,
    pub(super) modified: bool,
}

/// A latch that is not a page's.
#[derive(Clone, Debug)]
pub(super) enum OtherLatch {
    /// For instance an index tree's.
    Latch(Arc<PageLatch>),
    /// A tablespace's.
    Space(Arc<Tablespace>),
}

impl OtherLatch {
    pub(super) fn latch(&self) -> &PageLatch {
        match self {
            OtherLatch::Latch(latch) => latch,
            OtherLatch::Space(space) => space.latch(),
        }
    }
}

/// Something that is held.
#[derive(Debug)]
pub(super) enum Slot {
    Page(PageSlot),
    Latch {
        owner: OtherLatch,
        mode: LatchMode,
        held: Held,
        uses: u32,
    },
    /// It was given up early.
    Released,
}

/// The memo; it keeps its memory from one mini-transaction to the next.
#[derive(Debug, Default)]
pub(super) struct Memo {
    slots: Vec<Slot>,
    next_number: u32,
}

impl Memo {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The slot of a page that is held. What was latched last is looked at first.
    #[inline(always)]
    pub(super) fn find_page(&self, page: PageId) -> Option<u32> {
        let held = |slot: &Slot| matches!(slot, Slot::Page(slot) if slot.page == page);
        self.slots.iter().rposition(held).map(|index| index as u32)
    }

    /// The page in a slot.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn page_slot(&mut self, index: u32) -> &mut PageSlot {
        match &mut self.slots[index as usize] {
            Slot::Page(slot) => slot,
            _ => panic!("slot {index} of the memo holds no page"),
        }
    }

    /// The slot of another latch that is held.
    pub(super) fn find_latch(&self, latch: &PageLatch) -> Option<usize> {
        self.slots.iter().rposition(|slot| match slot {
            Slot::Latch { owner, .. } => std::ptr::eq(owner.latch(), latch),
            _ => false,
        })
    }

    /// Notes a page; all but the number of the slot is given.
    pub(super) fn push_page(
        &mut self,
        block: BlockHandle,
        page: PageId,
        mode: LatchMode,
        held: Held,
    ) -> PageHandle {
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        let slot = self.slots.len() as u32;
        self.slots.push(Slot::Page(PageSlot {
            block,
            page,
            mode,
            held,
            number,
            uses: 1,
            modified: false,
        }));
        PageHandle { slot, number }
    }

    /// Notes another latch.
    pub(super) fn push_latch(&mut self, owner: OtherLatch, mode: LatchMode, held: Held) {
        self.slots.push(Slot::Latch {
            owner,
            mode,
            held,
            uses: 1,
        });
    }

    /// The page of a handle.
    ///
    /// # Panics
    /// If the page has been released.
    #[inline]
    pub(super) fn page(&self, handle: PageHandle) -> &PageSlot {
        match self.slots.get(handle.slot as usize) {
            Some(Slot::Page(slot)) if slot.number == handle.number => slot,
            _ => panic!("a page handle was used after its page was released"),
        }
    }

    /// As [`page`](Self::page).
    #[inline]
    pub(super) fn page_mut(&mut self, handle: PageHandle) -> &mut PageSlot {
        match self.slots.get_mut(handle.slot as usize) {
            Some(Slot::Page(slot)) if slot.number == handle.number => slot,
            _ => panic!("a page handle was used after its page was released"),
        }
    }

    pub(super) fn slot_mut(&mut self, index: usize) -> &mut Slot {
        &mut self.slots[index]
    }

    /// Takes a slot out; those behind it keep their places.
    pub(super) fn take(&mut self, index: usize) -> Slot {
        let slot = std::mem::replace(&mut self.slots[index], Slot::Released);
        while let Some(Slot::Released) = self.slots.last() {
            self.slots.pop();
        }
        slot
    }

    /// The last slot.
    pub(super) fn pop(&mut self) -> Option<Slot> {
        self.slots.pop()
    }

    /// The pages that were changed, in the order in which they were latched.
    pub(super) fn modified(&self) -> impl Iterator<Item = &PageSlot> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Page(slot) if slot.modified => Some(slot),
            _ => None,
        })
    }
}
