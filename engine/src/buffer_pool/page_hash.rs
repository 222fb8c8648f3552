//! The page hash: from a page's address to its frame.
//!
//! ```text
//!   page id --hash--> cell 0x2A5:  part 0x5 (low 4 bits), cell 0x2A of that part
//!
//!   part 5: rw-lock | cells [ . | 7 | . | 31 | ... ]
//!                                 |      |
//!                                 v      v
//!                   control block 7     31 -> 12          (chains through the blocks)
//! ```
//!
//! The table has about two cells a frame, so most chains are one block long. It is cut
//! into 16 parts with a latch each: lookups take it in S, and only a page that enters
//! or leaves the pool takes one in X. (InnoDB 5.6 to 8.4: `innodb_page_hash_locks`.)

use std::sync::atomic::Ordering::Relaxed;

use crossbeam_utils::CachePadded;

use super::control_block::{CHAIN_END, ControlBlock};
use crate::page::PageId;
use crate::runtime::{Cost, LatchClass, RwLock, RwLockReadGuard, RwLockWriteGuard, cpu};

/// Parts of an instance's page hash, each with its latch.
pub const PAGE_HASH_PARTS: usize = 16;

/// Cells a frame, about.
const CELLS_PER_FRAME: usize = 2;

/// The page hash of an instance.
#[derive(Debug)]
pub(super) struct PageHash {
    parts: Box<[CachePadded<RwLock<Part>>]>,
    /// The hash's leading bits are the cell number; so many others are dropped.
    shift: u32,
}

/// A part of the table: chains of control blocks. Its latch guards them.
#[derive(Debug)]
pub(super) struct Part {
    cells: Box<[u32]>,
}

/// Where a page belongs in the table.
#[derive(Clone, Copy, Debug)]
struct Place {
    part: usize,
    cell: usize,
}

impl PageHash {
    /// An empty table for so many frames.
    pub(super) fn new(frames: usize) -> Self {
        let cells = (frames * CELLS_PER_FRAME)
            .next_power_of_two()
            .max(PAGE_HASH_PARTS);
        let part = || Part {
            cells: vec![CHAIN_END; cells / PAGE_HASH_PARTS].into(),
        };
        PageHash {
            parts: (0..PAGE_HASH_PARTS)
                .map(|_| CachePadded::new(RwLock::new(LatchClass::PageHash, part())))
                .collect(),
            shift: u64::BITS - cells.trailing_zeros(),
        }
    }

    #[inline]
    fn place(&self, page: PageId) -> Place {
        // Multiplicative hashing (Knuth, TAOCP 3, 6.4): neighbours go to different parts.
        const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
        let address = u64::from(page.space.0) << 32 | u64::from(page.page.0);
        let cell = (address.wrapping_mul(GOLDEN_RATIO) >> self.shift) as usize;
        Place {
            part: cell % PAGE_HASH_PARTS,
            cell: cell / PAGE_HASH_PARTS,
        }
    }

    /// The frame of a page, which is fixed for the caller before the latch is released.
    pub(super) fn find_and_fix(&self, blocks: &[ControlBlock], page: PageId) -> Option<u32> {
        let place = self.place(page);
        let part = self.parts[place.part].read();
        cpu(Cost::PageHashLookup);
        part.find_and_fix(blocks, place, page)
    }

    /// As [`find_and_fix`](Self::find_and_fix), after the price of a page get: what nearly
    /// all gets do. Asks once which clock this is, not at each charge and at the latch.
    #[inline]
    pub(super) fn get_and_fix(&self, blocks: &[ControlBlock], page: PageId) -> Option<u32> {
        let place = self.place(page);
        match self.parts[place.part].read_if_real() {
            Some(part) => part.find_and_fix(blocks, place, page),
            None => self.get_and_fix_virtually(blocks, page),
        }
    }

    #[inline(never)]
    fn get_and_fix_virtually(&self, blocks: &[ControlBlock], page: PageId) -> Option<u32> {
        cpu(Cost::PageGet);
        self.find_and_fix(blocks, page)
    }

    /// The part of a page, to look it up.
    pub(super) fn read(&self, page: PageId) -> HashRead<'_> {
        let place = self.place(page);
        HashRead {
            part: self.parts[place.part].read(),
            place,
        }
    }

    /// The part of a page, to enter it or take it out.
    pub(super) fn write(&self, page: PageId) -> HashWrite<'_> {
        let place = self.place(page);
        HashWrite {
            part: self.parts[place.part].write(),
            place,
        }
    }
}

/// A part of the table open for reading, at the place of one page.
pub(super) struct HashRead<'a> {
    part: RwLockReadGuard<'a, Part>,
    place: Place,
}

impl HashRead<'_> {
    /// The frame of the page.
    pub(super) fn find(&self, blocks: &[ControlBlock], page: PageId) -> Option<u32> {
        cpu(Cost::PageHashLookup);
        self.part.find(blocks, self.place, page)
    }
}

/// A part of the table open for changes, at the place of one page.
pub(super) struct HashWrite<'a> {
    part: RwLockWriteGuard<'a, Part>,
    place: Place,
}

impl HashWrite<'_> {
    /// The frame of the page.
    pub(super) fn find(&self, blocks: &[ControlBlock], page: PageId) -> Option<u32> {
        cpu(Cost::PageHashLookup);
        self.part.find(blocks, self.place, page)
    }

    /// Enters the page that `frame` holds.
    pub(super) fn insert(&mut self, blocks: &[ControlBlock], frame: u32) {
        cpu(Cost::PageHashChange);
        let cell = &mut self.part.cells[self.place.cell];
        blocks[frame as usize].hash_next.store(*cell, Relaxed);
        *cell = frame;
    }

    /// Takes out the page that `frame` holds.
    pub(super) fn remove(&mut self, blocks: &[ControlBlock], frame: u32) {
        cpu(Cost::PageHashChange);
        let after = blocks[frame as usize].hash_next.load(Relaxed);
        let cell = &mut self.part.cells[self.place.cell];
        if *cell == frame {
            *cell = after;
            return;
        }
        let mut before = *cell;
        while before != CHAIN_END {
            let link = &blocks[before as usize].hash_next;
            if link.load(Relaxed) == frame {
                link.store(after, Relaxed);
                return;
            }
            before = link.load(Relaxed);
        }
        panic!("frame {frame} is in its page's hash chain");
    }
}

impl Part {
    #[inline]
    fn find(&self, blocks: &[ControlBlock], place: Place, page: PageId) -> Option<u32> {
        let mut frame = self.cells[place.cell];
        while frame != CHAIN_END {
            let block = &blocks[frame as usize];
            if block.holds(page) {
                return Some(frame);
            }
            frame = block.hash_next.load(Relaxed);
        }
        None
    }

    #[inline]
    fn find_and_fix(&self, blocks: &[ControlBlock], place: Place, page: PageId) -> Option<u32> {
        let frame = self.find(blocks, place, page)?;
        blocks[frame as usize].fix();
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::control_block::IoState;
    use super::*;

    proptest! {
        /// Few frames make few cells, so chains are long.
        #[test]
        fn behaves_like_a_map(steps in prop::collection::vec((0u32..3, 0u32..12), 0..200)) {
            const FRAMES: usize = 24;
            let blocks: Vec<_> = (0..FRAMES).map(|_| ControlBlock::new()).collect();
            let hash = PageHash::new(FRAMES);
            let mut model = BTreeMap::new();
            let mut free: Vec<u32> = (0..FRAMES as u32).collect();
            for (space, number) in steps {
                let page = PageId::new(space, number);
                if let Some(frame) = model.remove(&page) {
                    hash.write(page).remove(&blocks, frame);
                    blocks[frame as usize].clear();
                    free.push(frame);
                } else if let Some(frame) = free.pop() {
                    blocks[frame as usize].assign(page, IoState::None);
                    hash.write(page).insert(&blocks, frame);
                    model.insert(page, frame);
                }
                for space in 0..3 {
                    for number in 0..12 {
                        let page = PageId::new(space, number);
                        let found = hash.read(page).find(&blocks, page);
                        prop_assert_eq!(found, model.get(&page).copied());
                    }
                }
            }
        }
    }

    #[test]
    fn a_page_that_is_found_is_fixed() {
        let blocks = vec![ControlBlock::new(), ControlBlock::new()];
        let hash = PageHash::new(2);
        let page = PageId::new(9, 9);
        assert_eq!(hash.find_and_fix(&blocks, page), None);
        blocks[1].assign(page, IoState::None);
        hash.write(page).insert(&blocks, 1);
        assert_eq!(hash.find_and_fix(&blocks, page), Some(1));
        assert_eq!(blocks[1].fix_count(), 2);
    }

    #[test]
    fn chains_are_short() {
        const FRAMES: usize = 4096;
        let blocks: Vec<_> = (0..FRAMES).map(|_| ControlBlock::new()).collect();
        let hash = PageHash::new(FRAMES);
        for frame in 0..FRAMES as u32 {
            let page = PageId::new(3 + frame / 1000, frame % 1000);
            blocks[frame as usize].assign(page, IoState::None);
            hash.write(page).insert(&blocks, frame);
        }
        let mut longest = 0;
        for part in &hash.parts {
            for &first in &part.read().cells {
                let mut length = 0;
                let mut frame = first;
                while frame != CHAIN_END {
                    length += 1;
                    frame = blocks[frame as usize].hash_next.load(Relaxed);
                }
                longest = longest.max(length);
            }
        }
        assert!(longest <= 4, "{longest}");
    }
}
