//! The header of an index page, and the arithmetic of its free space.
//!
//! ```text
//! 0     38       74              94   99        112        120         heap top      16376
//! | FIL | header | 2 seg headers |  | infimum |  | supremum | records --> | <-- slots | trailer |
//! ```
//!
//! Records fill the heap from the left, directory slots come from the right.
//! Deleted records stay in the heap, on the free list; their bytes are *garbage*
//! until a new record takes their place or the page is reorganised.
//!
//! How much fits is judged pessimistically, as InnoDB does: one directory slot is
//! set aside for every four records of the heap, whether it exists or not, so
//! that an insert that finds room for its record finds room for its slot.

use super::PAGE_SIZE;
use super::field::fields;
use super::fil::{HEADER_SIZE, TRAILER, TRAILER_SIZE};
use super::file_list::SegmentHeader;
use super::record::FIXED_HEADER_SIZE;

/// Origin of the infimum record: the start of the record list.
pub const INFIMUM: u16 = 99;
/// Origin of the supremum record: the end of the record list.
pub const SUPREMUM: u16 = 112;
/// First byte of the heap of user records.
pub const HEAP_START: usize = 120;
/// End of the page directory; slot i is at `DIRECTORY_END - 2 * (i + 1)`.
pub const DIRECTORY_END: usize = TRAILER;
/// Bytes of a directory slot.
pub const SLOT_SIZE: usize = 2;
/// Bit 15 of PAGE_N_HEAP: records are in the compact format.
pub const COMPACT_FLAG: u16 = 0x8000;

/// Fewest records a directory slot owns (the first owns 1, the last 1 or more).
pub const SLOT_MIN_OWNED: usize = 4;
/// Most records a directory slot owns.
pub const SLOT_MAX_OWNED: usize = 8;

/// Bytes for records and further directory slots on an empty page.
pub const FREE_SPACE_OF_EMPTY_PAGE: usize = PAGE_SIZE - HEAP_START - TRAILER_SIZE - 2 * SLOT_SIZE;

/// Bytes InnoDB keeps free on clustered leaf pages for rows that grow: 1/16 of a
/// page. It applies to inserts in key order and to bulk loads.
pub const CLUSTERED_LEAF_RESERVE: usize = PAGE_SIZE / 16;

// A heap number has 13 bits; the smallest records, of one byte, stay below.
const _: () = assert!(FREE_SPACE_OF_EMPTY_PAGE / (FIXED_HEADER_SIZE + 1) + 2 < 1 << 13);

fields! {
    /// The index page header, segment headers included.
    pub const HEADER_REGIONS;
    /// Directory slots; at least 2.
    DIRECTORY_SLOTS: u16 = HEADER_SIZE, "PAGE_N_DIR_SLOTS";
    /// First byte past the record heap.
    HEAP_TOP: u16 = HEADER_SIZE + 2, "PAGE_HEAP_TOP";
    /// Records in the heap, infimum, supremum and freed ones included, and [`COMPACT_FLAG`].
    HEAP_RECORDS: u16 = HEADER_SIZE + 4, "PAGE_N_HEAP";
    /// Origin of the first freed record, 0 if none.
    FREE: u16 = HEADER_SIZE + 6, "PAGE_FREE";
    /// Bytes of the heap that no live record uses.
    GARBAGE: u16 = HEADER_SIZE + 8, "PAGE_GARBAGE";
    /// Origin of the record inserted last, 0 after a delete.
    LAST_INSERT: u16 = HEADER_SIZE + 10, "PAGE_LAST_INSERT";
    /// Where the last inserts went; see [`Direction`].
    DIRECTION: u16 = HEADER_SIZE + 12, "PAGE_DIRECTION";
    /// How many inserts in a row went there.
    DIRECTION_COUNT: u16 = HEADER_SIZE + 14, "PAGE_N_DIRECTION";
    /// User records in the list, delete-marked ones included.
    RECORDS: u16 = HEADER_SIZE + 16, "PAGE_N_RECS";
    /// Secondary leaf pages: the highest transaction id that changed the page.
    MAX_TRX_ID: u64 = HEADER_SIZE + 18, "PAGE_MAX_TRX_ID";
    /// Height above the leaves; 0 on a leaf.
    LEVEL: u16 = HEADER_SIZE + 26, "PAGE_LEVEL";
    /// The index this page is a node of.
    INDEX_ID: u64 = HEADER_SIZE + 28, "PAGE_INDEX_ID";
    /// Root only: the segment of the leaf pages.
    LEAF_SEGMENT: SegmentHeader = HEADER_SIZE + 36, "PAGE_BTR_SEG_LEAF";
    /// Root only: the segment of all other pages, the root included.
    TOP_SEGMENT: SegmentHeader = HEADER_SIZE + 46, "PAGE_BTR_SEG_TOP";
}

fields! {
    /// The two records that every index page has.
    pub const SYSTEM_RECORD_REGIONS;
    /// Header of the infimum record.
    INFIMUM_HEADER: [u8; 5] = 94, "infimum header";
    /// Data of the infimum record.
    INFIMUM_DATA: [u8; 8] = INFIMUM as usize, "infimum";
    /// Header of the supremum record.
    SUPREMUM_HEADER: [u8; 5] = 107, "supremum header";
    /// Data of the supremum record.
    SUPREMUM_DATA: [u8; 8] = SUPREMUM as usize, "supremum";
}

/// PAGE_DIRECTION: where the last inserts went, each next to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Direction {
    /// Each just before the last one.
    Left = 1,
    /// Each just after the last one: keys ascend, as with AUTO_INCREMENT.
    Right = 2,
    /// No pattern.
    None = 5,
}

impl Direction {
    /// Reads the header field. MariaDB keeps other data in its higher bits.
    pub const fn from_field(field: u16) -> Direction {
        match field & 7 {
            1 => Direction::Left,
            2 => Direction::Right,
            _ => Direction::None,
        }
    }
}

/// Bytes set aside for the directory slots of `records` records.
#[inline(always)]
pub const fn reserved_directory_space(records: usize) -> usize {
    (SLOT_SIZE * records).div_ceil(SLOT_MIN_OWNED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_that_of_innodb() {
        let names: Vec<_> = HEADER_REGIONS
            .iter()
            .map(|r| (r.offset, r.length))
            .collect();
        assert_eq!(
            names,
            [
                (38, 2),
                (40, 2),
                (42, 2),
                (44, 2),
                (46, 2),
                (48, 2),
                (50, 2),
                (52, 2),
                (54, 2),
                (56, 8),
                (64, 2),
                (66, 8),
                (74, 10),
                (84, 10)
            ]
        );
        assert_eq!(FREE_SPACE_OF_EMPTY_PAGE, 16252);
    }

    #[test]
    fn a_slot_is_set_aside_for_every_four_records() {
        assert_eq!(reserved_directory_space(0), 0);
        assert_eq!(reserved_directory_space(1), 1);
        assert_eq!(reserved_directory_space(4), 2);
        assert_eq!(reserved_directory_space(73), 37);
    }
}
