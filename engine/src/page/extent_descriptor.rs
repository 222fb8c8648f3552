//! Extent descriptors: which of 64 pages are free, and who owns the extent.
//!
//! Space is handed out in extents of 64 pages (1 MiB). A descriptor has 40 bytes;
//! 256 of them fit a descriptor page, which therefore covers 16384 pages, itself
//! included:
//!
//! ```text
//!   page      0         16384       32768
//!             |descriptors|descriptors| ...      page n: descriptor page n / 16384,
//!             +--- 256 extents -------+          entry (n mod 16384) / 64
//! ```
//!
//! Two bits stand for a page, the lowest bits of a byte for the lowest page. The
//! first says free; the second ("clean") was never put to use and is always 1. So
//! `10` is used, `11` free, and four used pages make a byte of 0xAA.

use super::field::{Field, fields};
use super::file_list::{FileAddress, ListNode};
use super::{ChangeLog, PAGE_SIZE, PageBytes, PageNumber, PageWriter};

/// Pages in an extent.
pub const EXTENT_PAGES: u32 = 64;
/// Pages that one descriptor page describes.
pub const PAGES_PER_DESCRIPTOR_PAGE: u32 = PAGE_SIZE as u32;
/// Descriptors on a descriptor page.
pub const DESCRIPTORS_PER_PAGE: usize = 256;
/// Offset of the first descriptor.
pub const DESCRIPTORS_START: usize = 150;
/// Bytes of a descriptor.
pub const DESCRIPTOR_SIZE: usize = 40;
/// Bytes of the bitmap.
pub const BITMAP_SIZE: usize = 16;

/// The bitmap of an extent whose pages are all free.
pub const BITMAP_ALL_FREE: [u8; BITMAP_SIZE] = [0xFF; BITMAP_SIZE];

fields! {
    /// One descriptor, relative to its start.
    pub const REGIONS;
    /// The segment that owns the extent, 0 if none.
    SEGMENT_ID: u64 = 0, "XDES_ID";
    /// Neighbours on the list that the state names.
    NODE: ListNode = 8, "XDES_FLST_NODE";
    /// See [`ExtentState`].
    STATE: u32 = 20, "XDES_STATE";
    /// Two bits a page.
    BITMAP: [u8; BITMAP_SIZE] = 24, "XDES_BITMAP";
}

/// What an extent is used for, and so which list it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum ExtentState {
    /// Not set up: at or above the free limit, on no list.
    NotInitialised = 0,
    /// No page is used.
    Free = 1,
    /// Serves single pages, some are free.
    FreeFragment = 2,
    /// Serves single pages, none is free.
    FullFragment = 3,
    /// Belongs to one segment.
    Segment = 4,
}

impl ExtentState {
    /// InnoDB's name.
    pub const fn name(self) -> &'static str {
        match self {
            ExtentState::NotInitialised => "XDES_NOT_INITED",
            ExtentState::Free => "XDES_FREE",
            ExtentState::FreeFragment => "XDES_FREE_FRAG",
            ExtentState::FullFragment => "XDES_FULL_FRAG",
            ExtentState::Segment => "XDES_FSEG",
        }
    }

    /// Reads the field; `None` for a value that does not exist.
    pub const fn from_field(field: u32) -> Option<ExtentState> {
        match field {
            0 => Some(ExtentState::NotInitialised),
            1 => Some(ExtentState::Free),
            2 => Some(ExtentState::FreeFragment),
            3 => Some(ExtentState::FullFragment),
            4 => Some(ExtentState::Segment),
            _ => None,
        }
    }
}

/// The descriptor page that describes `page`.
pub const fn descriptor_page(page: PageNumber) -> PageNumber {
    PageNumber(page.0 / PAGES_PER_DESCRIPTOR_PAGE * PAGES_PER_DESCRIPTOR_PAGE)
}

/// A descriptor on its page: a place, to be used with that page's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtentDescriptor {
    base: usize,
}

impl ExtentDescriptor {
    /// The descriptor of the extent of `page`, on [`descriptor_page`]`(page)`.
    pub const fn of_page(page: PageNumber) -> ExtentDescriptor {
        let entry = page.0 % PAGES_PER_DESCRIPTOR_PAGE / EXTENT_PAGES;
        ExtentDescriptor {
            base: DESCRIPTORS_START + DESCRIPTOR_SIZE * entry as usize,
        }
    }

    /// The descriptor that a list node's address points to; `None` if no
    /// descriptor has its node there.
    pub fn of_node(node: FileAddress) -> Option<ExtentDescriptor> {
        let base = usize::from(node.offset).checked_sub(NODE.offset())?;
        let inside = base.checked_sub(DESCRIPTORS_START)?;
        let is_entry =
            inside % DESCRIPTOR_SIZE == 0 && inside / DESCRIPTOR_SIZE < DESCRIPTORS_PER_PAGE;
        is_entry.then_some(ExtentDescriptor { base })
    }

    /// The first page of the extent, if the descriptor is on `descriptor_page`.
    pub const fn first_page(self, descriptor_page: PageNumber) -> PageNumber {
        let entry = ((self.base - DESCRIPTORS_START) / DESCRIPTOR_SIZE) as u32;
        PageNumber(descriptor_page.0 + entry * EXTENT_PAGES)
    }

    /// The address of its list node, if it is on `descriptor_page`.
    pub const fn node_address(self, descriptor_page: PageNumber) -> FileAddress {
        FileAddress::new(descriptor_page, (self.base + NODE.offset()) as u16)
    }

    /// SEGMENT_ID of this descriptor.
    pub const fn segment_id(self) -> Field<u64> {
        SEGMENT_ID.at(self.base)
    }

    /// NODE of this descriptor.
    pub const fn node(self) -> Field<ListNode> {
        NODE.at(self.base)
    }

    /// STATE of this descriptor, as a number.
    pub const fn state_field(self) -> Field<u32> {
        STATE.at(self.base)
    }

    /// BITMAP of this descriptor.
    pub const fn bitmap(self) -> Field<[u8; BITMAP_SIZE]> {
        BITMAP.at(self.base)
    }

    /// The state; `None` for a value that does not exist.
    pub fn state(self, page: &PageBytes) -> Option<ExtentState> {
        ExtentState::from_field(self.state_field().get(page))
    }

    /// Whether page `index` (0 to 63) of the extent is free.
    pub fn is_free(self, page: &PageBytes, index: u32) -> bool {
        let (offset, shift) = self.bit(index);
        page[offset] >> shift & 1 != 0
    }

    /// Number of used pages.
    pub fn used_pages(self, page: &PageBytes) -> u32 {
        EXTENT_PAGES - (free_bits(&self.bitmap().get(page))).count_ones()
    }

    /// The first free page at or after `from`, else the first before it; as an
    /// index in the extent. `None` if all are used.
    pub fn find_free(self, page: &PageBytes, from: u32) -> Option<u32> {
        debug_assert!(from < EXTENT_PAGES);
        let free = free_bits(&self.bitmap().get(page));
        let after = free >> (2 * from) << (2 * from);
        let chosen = if after != 0 { after } else { free };
        (chosen != 0).then(|| chosen.trailing_zeros() / 2)
    }

    /// Makes it a free extent on no list: all pages free, no owner.
    pub fn initialise<L: ChangeLog + ?Sized>(self, writer: &mut PageWriter<'_, L>) {
        writer.set(self.segment_id(), 0);
        writer.set(self.node(), ListNode::ALONE);
        writer.set(self.state_field(), ExtentState::Free as u32);
        writer.set(self.bitmap(), BITMAP_ALL_FREE);
    }

    /// Sets the state.
    pub fn set_state<L: ChangeLog + ?Sized>(
        self,
        writer: &mut PageWriter<'_, L>,
        state: ExtentState,
    ) {
        writer.set(self.state_field(), state as u32);
    }

    /// Marks page `index` (0 to 63) of the extent as free or used.
    pub fn set_free<L: ChangeLog + ?Sized>(
        self,
        writer: &mut PageWriter<'_, L>,
        index: u32,
        free: bool,
    ) {
        let (offset, shift) = self.bit(index);
        let byte = writer.page()[offset];
        let byte = if free {
            byte | 1 << shift
        } else {
            byte & !(1 << shift)
        };
        writer.write(offset, &[byte]);
    }

    fn bit(self, index: u32) -> (usize, u32) {
        debug_assert!(index < EXTENT_PAGES);
        (
            self.base + BITMAP.offset() + index as usize / 4,
            2 * (index % 4),
        )
    }
}

/// The free bits of a bitmap, page n at bit 2n.
fn free_bits(bitmap: &[u8; BITMAP_SIZE]) -> u128 {
    u128::from_le_bytes(*bitmap) & u128::from_le_bytes([0x55; BITMAP_SIZE])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::NoLog;

    #[test]
    fn bitmaps_of_real_files() {
        let mut page = [0; PAGE_SIZE];
        let mut log = NoLog;
        let mut writer = PageWriter::new(&mut page, &mut log);
        let extent = ExtentDescriptor::of_page(PageNumber(70));
        extent.initialise(&mut writer);
        for index in 0..5 {
            extent.set_free(&mut writer, index, false);
        }
        let bitmap = extent.bitmap().get(writer.page());
        assert_eq!(bitmap[..3], [0xAA, 0xFE, 0xFF]);
        assert_eq!(extent.used_pages(writer.page()), 5);
        assert!(!extent.is_free(writer.page(), 4));
        assert!(extent.is_free(writer.page(), 5));
        assert_eq!(extent.find_free(writer.page(), 0), Some(5));
        assert_eq!(extent.find_free(writer.page(), 63), Some(63));

        for index in 5..64 {
            extent.set_free(&mut writer, index, false);
        }
        assert_eq!(extent.bitmap().get(writer.page()), [0xAA; 16]);
        assert_eq!(extent.find_free(writer.page(), 7), None);
        extent.set_free(&mut writer, 3, true);
        assert_eq!(extent.find_free(writer.page(), 7), Some(3));
        assert_eq!(extent.state(writer.page()), Some(ExtentState::Free));
    }

    #[test]
    fn where_descriptors_are() {
        assert_eq!(descriptor_page(PageNumber(16383)), PageNumber(0));
        assert_eq!(descriptor_page(PageNumber(40000)), PageNumber(32768));
        let extent = ExtentDescriptor::of_page(PageNumber(16384 + 64 * 255 + 63));
        assert_eq!(extent.base, DESCRIPTORS_START + DESCRIPTOR_SIZE * 255);
        assert_eq!(
            extent.first_page(PageNumber(16384)),
            PageNumber(16384 + 64 * 255)
        );
        // The list node of extent 0 is at 158, as in the sample files.
        let node = ExtentDescriptor::of_page(PageNumber(0)).node_address(PageNumber(0));
        assert_eq!(node, FileAddress::new(PageNumber(0), 158));
        assert_eq!(
            ExtentDescriptor::of_node(node),
            Some(ExtentDescriptor::of_page(PageNumber(3)))
        );
        for offset in [0, 38, 157, 159, 158 + 40 * 256] {
            let node = FileAddress::new(PageNumber(0), offset);
            assert_eq!(ExtentDescriptor::of_node(node), None, "offset {offset}");
        }
    }
}
