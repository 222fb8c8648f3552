//! Segments: the pages of one half of a B+tree, or of one undo log.
//!
//! A tree has two segments, for its leaves and for all other pages, so that each
//! lies together on disk. The *inode* says which pages are a segment's: up to 32
//! single pages (*fragments*) while it is small, then whole extents on three lists.
//!
//! ```text
//!   INODE page
//!   0     38           50                242
//!   +-----+------------+-----------------+-----------------+---- - -
//!   | FIL | list node  | inode 0         | inode 1         | ...  85 inodes
//!   +-----+------------+-----------------+-----------------+---- - -
//!
//!   inode (192 bytes): id | NOT_FULL used | FREE | NOT_FULL | FULL | magic | 32 pages
//! ```

use super::field::{Field, fields};
use super::fil::HEADER_SIZE;
use super::file_list::{FileAddress, ListBase, ListNode, SegmentHeader};
use super::{ChangeLog, PageBytes, PageNumber, PageWriter, SpaceId};

/// Offset of the first inode.
pub const INODES_START: usize = HEADER_SIZE + 12;
/// Bytes of an inode.
pub const INODE_SIZE: usize = 192;
/// Inodes on a page.
pub const INODES_PER_PAGE: usize = 85;
/// Fragment pages of a segment.
pub const FRAGMENT_SLOTS: usize = 32;
/// What MAGIC must be.
pub const INODE_MAGIC: u32 = 97_937_874;

const FRAGMENTS_START: usize = 64;

fields! {
    /// The INODE page's own header.
    pub const PAGE_REGIONS;
    /// Neighbours on the tablespace's list of INODE pages.
    PAGE_NODE: ListNode = HEADER_SIZE, "FSEG_INODE_PAGE_NODE";
}

fields! {
    /// One inode, relative to its start, without the fragment array.
    pub const REGIONS;
    /// The segment's id; 0 for a slot that is not in use.
    SEGMENT_ID: u64 = 0, "FSEG_ID";
    /// Used pages in the extents on [`NOT_FULL`].
    NOT_FULL_USED: u32 = 8, "FSEG_NOT_FULL_N_USED";
    /// Extents of the segment without a used page.
    FREE: ListBase = 12, "FSEG_FREE";
    /// Extents with used and free pages.
    NOT_FULL: ListBase = 28, "FSEG_NOT_FULL";
    /// Extents without a free page.
    FULL: ListBase = 44, "FSEG_FULL";
    /// [`INODE_MAGIC`].
    MAGIC: u32 = 60, "FSEG_MAGIC_N";
}

/// An inode on its page: a place, to be used with that page's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentInode {
    base: usize,
}

impl SegmentInode {
    /// Inode `index` (0 to 84) of a page.
    pub const fn nth(index: usize) -> SegmentInode {
        assert!(index < INODES_PER_PAGE);
        SegmentInode {
            base: INODES_START + INODE_SIZE * index,
        }
    }

    /// The inode that a segment header names, on the page it names; `None` if no
    /// inode begins there.
    pub fn of_header(header: SegmentHeader) -> Option<SegmentInode> {
        let inside = usize::from(header.offset).checked_sub(INODES_START)?;
        let is_inode = inside % INODE_SIZE == 0 && inside / INODE_SIZE < INODES_PER_PAGE;
        is_inode.then_some(SegmentInode {
            base: usize::from(header.offset),
        })
    }

    /// The segment header that names this inode.
    pub const fn header(self, space: SpaceId, page: PageNumber) -> SegmentHeader {
        SegmentHeader {
            space,
            page,
            offset: self.base as u16,
        }
    }

    /// SEGMENT_ID of this inode.
    pub const fn segment_id(self) -> Field<u64> {
        SEGMENT_ID.at(self.base)
    }

    /// NOT_FULL_USED of this inode.
    pub const fn not_full_used(self) -> Field<u32> {
        NOT_FULL_USED.at(self.base)
    }

    /// FREE of this inode.
    pub const fn free(self) -> Field<ListBase> {
        FREE.at(self.base)
    }

    /// NOT_FULL of this inode.
    pub const fn not_full(self) -> Field<ListBase> {
        NOT_FULL.at(self.base)
    }

    /// FULL of this inode.
    pub const fn full(self) -> Field<ListBase> {
        FULL.at(self.base)
    }

    /// The address of one of its list bases on `page`.
    pub const fn list_address(base: Field<ListBase>, page: PageNumber) -> FileAddress {
        FileAddress::new(page, base.offset() as u16)
    }

    /// MAGIC of this inode.
    pub const fn magic(self) -> Field<u32> {
        MAGIC.at(self.base)
    }

    /// Fragment slot `slot` (0 to 31); [`PageNumber::NULL`] if it is empty.
    pub const fn fragment(self, slot: usize) -> Field<PageNumber> {
        assert!(slot < FRAGMENT_SLOTS);
        Field::new(self.base + FRAGMENTS_START + 4 * slot, "FSEG_FRAG_ARR")
    }

    /// Whether a segment is described here.
    pub fn is_used(self, page: &PageBytes) -> bool {
        self.segment_id().get(page) != 0
    }

    /// The fragment pages, in slot order.
    pub fn fragments(self, page: &PageBytes) -> impl Iterator<Item = PageNumber> + '_ {
        (0..FRAGMENT_SLOTS).filter_map(move |slot| self.fragment(slot).get(page).some())
    }

    /// The first empty fragment slot.
    pub fn find_empty_fragment(self, page: &PageBytes) -> Option<usize> {
        (0..FRAGMENT_SLOTS).find(|&slot| self.fragment(slot).get(page).is_null())
    }

    /// Makes it the inode of a segment without pages.
    pub fn initialise<L: ChangeLog + ?Sized>(self, writer: &mut PageWriter<'_, L>, id: u64) {
        writer.set(self.segment_id(), id);
        writer.set(self.not_full_used(), 0);
        for list in [self.free(), self.not_full(), self.full()] {
            writer.set(list, ListBase::EMPTY);
        }
        writer.set(self.magic(), INODE_MAGIC);
        writer.fill(self.base + FRAGMENTS_START, 4 * FRAGMENT_SLOTS, 0xFF);
    }

    /// Gives the slot back: all zero, as a slot that was never used.
    pub fn clear<L: ChangeLog + ?Sized>(self, writer: &mut PageWriter<'_, L>) {
        writer.fill(self.base, INODE_SIZE, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{NoLog, PAGE_SIZE};

    #[test]
    fn inodes_are_where_real_roots_point() {
        // Segment headers of the two indexes of a table, from MariaDB 10.11.
        for (offset, index) in [(0x0032, 0), (0x00F2, 1), (0x01B2, 2), (0x0272, 3)] {
            let header = SegmentInode::nth(index).header(SpaceId(7), PageNumber(2));
            assert_eq!(header.offset, offset);
            assert_eq!(
                SegmentInode::of_header(header),
                Some(SegmentInode::nth(index))
            );
        }
        let wrong = SegmentHeader {
            space: SpaceId(7),
            page: PageNumber(2),
            offset: 0x0033,
        };
        assert_eq!(SegmentInode::of_header(wrong), None);
        let last = SegmentInode::nth(INODES_PER_PAGE - 1);
        assert!(last.base + INODE_SIZE <= crate::page::fil::TRAILER);
    }

    #[test]
    fn a_segment_comes_and_goes() {
        let mut page = [0; PAGE_SIZE];
        let mut log = NoLog;
        let mut writer = PageWriter::new(&mut page, &mut log);
        let inode = SegmentInode::nth(2);
        assert!(!inode.is_used(writer.page()));
        inode.initialise(&mut writer, 9);
        assert!(inode.is_used(writer.page()));
        assert_eq!(inode.find_empty_fragment(writer.page()), Some(0));
        writer.set(inode.fragment(0), PageNumber(4));
        writer.set(inode.fragment(31), PageNumber(5));
        let fragments: Vec<_> = inode.fragments(writer.page()).collect();
        assert_eq!(fragments, [PageNumber(4), PageNumber(5)]);
        assert_eq!(inode.find_empty_fragment(writer.page()), Some(1));
        assert_eq!(inode.magic().get(writer.page()), INODE_MAGIC);
        inode.clear(&mut writer);
        assert!(crate::page::fil::is_all_zero(writer.page()));
    }
}
