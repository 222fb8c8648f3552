//! The transaction system page: page 5 of the system tablespace.
//!
//! ```text
//!   38           46        56                                16184
//!  +------------+---------+--------------------------- - - --+--------------- - -
//!  | max trx id | segment | 128 x (space, header page)       | doublewrite
//!  +------------+---------+--------------------------- - - --+--------------- - -
//! ```
//!
//! MySQL up to 5.7 and MariaDB list their rollback segments here, and where the
//! doublewrite buffer is: two blocks of 64 pages in the system tablespace. MySQL 8
//! keeps the page, but has rollback segments in undo tablespaces and doublewrite
//! in files of its own.

use super::field::{Field, fields};
use super::fil::HEADER_SIZE;
use super::file_list::SegmentHeader;
use super::rollback_segment::MAX_ROLLBACK_SEGMENTS;
use super::{PageNumber, SpaceId};

/// The page's number in the system tablespace.
pub const TRANSACTION_SYSTEM_PAGE: PageNumber = PageNumber(5);

fields! {
    /// The transaction system header, without its slots.
    pub const REGIONS;
    /// An upper bound for transaction ids, rewritten every 256 ids; MariaDB keeps
    /// it elsewhere.
    MAX_TRX_ID: u64 = HEADER_SIZE, "TRX_SYS_TRX_ID_STORE";
    /// The file segment of this page.
    SEGMENT: SegmentHeader = HEADER_SIZE + 8, "TRX_SYS_FSEG_HEADER";
}

/// How far the stored upper bound for transaction ids runs ahead of those given
/// out: the page is rewritten once in so many.
pub const TRX_ID_WRITE_MARGIN: u64 = 256;

/// The tablespace of rollback segment `slot` (0 to 127); 0xFFFFFFFF if it does not
/// exist.
pub const fn rollback_segment_space(slot: usize) -> Field<SpaceId> {
    assert!(slot < MAX_ROLLBACK_SEGMENTS);
    Field::new(SEGMENT.end() + 8 * slot, "TRX_SYS_RSEG_SPACE")
}

/// The header page of rollback segment `slot` (0 to 127); [`PageNumber::NULL`] if
/// it does not exist.
pub const fn rollback_segment_page(slot: usize) -> Field<PageNumber> {
    assert!(slot < MAX_ROLLBACK_SEGMENTS);
    Field::new(SEGMENT.end() + 8 * slot + 4, "TRX_SYS_RSEG_PAGE_NO")
}

const DOUBLEWRITE_START: usize = 16184;
/// Pages of each of the two doublewrite blocks.
pub const DOUBLEWRITE_BLOCK_PAGES: u32 = 64;
/// What both magic fields must be if a doublewrite buffer exists.
pub const DOUBLEWRITE_MAGIC: u32 = 536_853_855;
/// What [`DOUBLEWRITE_SPACE_ID_STORED`] must be for pages with space ids, the only
/// kind since MySQL 4.1.
pub const SPACE_ID_STORED_MAGIC: u32 = 1_783_657_386;

fields! {
    /// Where the doublewrite buffer of the system tablespace is, told twice.
    pub const DOUBLEWRITE_REGIONS;
    /// The file segment of the two blocks.
    DOUBLEWRITE_SEGMENT: SegmentHeader = DOUBLEWRITE_START, "TRX_SYS_DOUBLEWRITE_FSEG";
    /// [`DOUBLEWRITE_MAGIC`].
    DOUBLEWRITE_MAGIC_FIELD: u32 = DOUBLEWRITE_START + 10, "TRX_SYS_DOUBLEWRITE_MAGIC";
    /// First page of the first block.
    DOUBLEWRITE_BLOCK1: PageNumber = DOUBLEWRITE_START + 14, "TRX_SYS_DOUBLEWRITE_BLOCK1";
    /// First page of the second block.
    DOUBLEWRITE_BLOCK2: PageNumber = DOUBLEWRITE_START + 18, "TRX_SYS_DOUBLEWRITE_BLOCK2";
    /// The magic again.
    REPEATED_MAGIC: u32 = DOUBLEWRITE_START + 22, "TRX_SYS_DOUBLEWRITE_MAGIC (repeated)";
    /// The first block again.
    REPEATED_BLOCK1: PageNumber = DOUBLEWRITE_START + 26, "TRX_SYS_DOUBLEWRITE_BLOCK1 (repeated)";
    /// The second block again.
    REPEATED_BLOCK2: PageNumber = DOUBLEWRITE_START + 30, "TRX_SYS_DOUBLEWRITE_BLOCK2 (repeated)";
    /// [`SPACE_ID_STORED_MAGIC`].
    DOUBLEWRITE_SPACE_ID_STORED: u32 =
        DOUBLEWRITE_START + 34, "TRX_SYS_DOUBLEWRITE_SPACE_ID_STORED";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_innodbs() {
        assert_eq!(SEGMENT.offset(), 46);
        assert_eq!(rollback_segment_space(0).offset(), 56);
        assert_eq!(rollback_segment_page(127).offset(), 56 + 127 * 8 + 4);
        assert_eq!(DOUBLEWRITE_MAGIC_FIELD.offset(), 16194);
        assert_eq!(REPEATED_MAGIC.offset(), 16206);
        assert_eq!(DOUBLEWRITE_SPACE_ID_STORED.offset(), 16218);
    }
}
