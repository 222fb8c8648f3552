//! Rollback segments: where undo logs are found again after a crash.
//!
//! A rollback segment's header page has 1024 slots, each for the first page of an
//! undo segment, and the list of all committed update logs, the *history*, which
//! purge works off from its oldest end. Rollback segments are listed in turn: in
//! MySQL 5.x and MariaDB on the [transaction system page](super::transaction_system),
//! in MySQL 8 in an array in each undo tablespace.
//!
//! ```text
//!   MySQL 5.x, MariaDB: TRX_SYS,            MySQL 8: RSEG_ARRAY,
//!   page 5 of the system tablespace         page 3 of an undo tablespace
//!        |                                       |
//!        +----------> header page (SYS) <--------+
//!                      | history: newest ... oldest
//!                      | 1024 slots -> undo segments
//! ```

use super::PageNumber;
use super::field::{Field, fields};
use super::fil::HEADER_SIZE;
use super::file_list::{ListBase, SegmentHeader};

/// Undo segments of a rollback segment, and so its concurrent transactions.
pub const UNDO_SLOTS: usize = 1024;
/// Rollback segments that a server can have.
pub const MAX_ROLLBACK_SEGMENTS: usize = 128;
/// MAX_SIZE of a rollback segment without a limit (MySQL).
pub const NO_SIZE_LIMIT: u32 = 0xFFFF_FFFE;

const SLOTS_START: usize = HEADER_SIZE + 34;

fields! {
    /// The rollback segment header page, without its slots.
    pub const REGIONS;
    /// Most pages it may have; [`NO_SIZE_LIMIT`]. MariaDB: format, 0.
    MAX_SIZE: u32 = HEADER_SIZE, "TRX_RSEG_MAX_SIZE";
    /// Pages of the logs on the history list.
    HISTORY_SIZE: u32 = HEADER_SIZE + 4, "TRX_RSEG_HISTORY_SIZE";
    /// Committed update logs, the newest first.
    HISTORY: ListBase = HEADER_SIZE + 8, "TRX_RSEG_HISTORY";
    /// The file segment of this page.
    SEGMENT: SegmentHeader = HEADER_SIZE + 24, "TRX_RSEG_FSEG_HEADER";
    /// The highest transaction number committed through it (MySQL 8). Behind the slots.
    MAX_TRX_NO: u64 = SLOTS_START + 4 * UNDO_SLOTS, "TRX_RSEG_MAX_TRX_NO";
}

/// Slot `slot` (0 to 1023): the first page of an undo segment, or
/// [`PageNumber::NULL`].
pub const fn undo_slot(slot: usize) -> Field<PageNumber> {
    assert!(slot < UNDO_SLOTS);
    Field::new(SLOTS_START + 4 * slot, "TRX_RSEG_UNDO_SLOTS")
}

/// The bytes of all slots: offset and length, to fill with 0xFF on a new page.
pub const UNDO_SLOT_RANGE: (usize, usize) = (SLOTS_START, 4 * UNDO_SLOTS);

/// The page of a MySQL 8 undo tablespace that lists its rollback segments.
pub const ROLLBACK_SEGMENT_ARRAY_PAGE: PageNumber = PageNumber(3);
/// What ARRAY_VERSION must be: "RSEH".
pub const ROLLBACK_SEGMENT_ARRAY_VERSION: u32 = 0x5253_4548;

fields! {
    /// The rollback segment array of an undo tablespace (MySQL 8), without its slots.
    pub const ARRAY_REGIONS;
    /// [`ROLLBACK_SEGMENT_ARRAY_VERSION`].
    ARRAY_VERSION: u32 = HEADER_SIZE, "RSEG_ARRAY_VERSION";
    /// Rollback segments in the array.
    ARRAY_SIZE: u32 = HEADER_SIZE + 4, "RSEG_ARRAY_SIZE";
    /// The file segment of this page.
    ARRAY_SEGMENT: SegmentHeader = HEADER_SIZE + 8, "RSEG_ARRAY_FSEG_HEADER";
}

/// The header page of rollback segment `slot` (0 to 127) of an undo tablespace.
pub const fn array_slot(slot: usize) -> Field<PageNumber> {
    assert!(slot < MAX_ROLLBACK_SEGMENTS);
    Field::new(ARRAY_SEGMENT.end() + 4 * slot, "RSEG_ARRAY_PAGES")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_innodbs() {
        assert_eq!(undo_slot(0).offset(), 72);
        assert_eq!(undo_slot(1023).end(), 4168);
        assert_eq!(MAX_TRX_NO.offset(), 4168);
        assert_eq!(ARRAY_SIZE.offset(), 42);
        assert_eq!(ARRAY_SEGMENT.offset(), 46);
        assert_eq!(array_slot(0).offset(), 56);
    }
}
