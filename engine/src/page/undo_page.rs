//! Undo pages: what rows looked like before they were changed.
//!
//! A transaction writes undo records into its own *undo segment*, a list of pages
//! that begins with one page of more header than the rest:
//!
//! ```text
//!  first page of a segment
//!  0     38             56               86                 272
//!  +-----+--------------+----------------+------------------+--------------- - -
//!  | FIL | page header  | segment header | undo log header  | undo records ->
//!  +-----+--------------+----------------+------------------+--------------- - -
//!  other pages
//!  +-----+--------------+-------------------------------------------------- - -
//!  | FIL | page header  | undo records ->
//!  +-----+--------------+-------------------------------------------------- - -
//! ```
//!
//! Small logs share pages: after commit a segment may be kept ("cached") and the
//! next transaction appends its own log header to the same first page. Undo
//! records themselves are made and read by the transaction module.
//!
//! Layout of MySQL 8.4; MariaDB 10.11 differs only in writing 0 as page kind.

use super::PageNumber;
use super::field::fields;
use super::fil::HEADER_SIZE;
use super::file_list::{ListBase, ListNode, SegmentHeader};

fields! {
    /// The header of every undo page.
    pub const PAGE_REGIONS;
    /// See [`UndoKind`].
    KIND: u16 = HEADER_SIZE, "TRX_UNDO_PAGE_TYPE";
    /// Offset of the first undo record of the latest log on the page.
    START: u16 = HEADER_SIZE + 2, "TRX_UNDO_PAGE_START";
    /// First free byte.
    FREE: u16 = HEADER_SIZE + 4, "TRX_UNDO_PAGE_FREE";
    /// Neighbours on the segment's list of pages.
    NODE: ListNode = HEADER_SIZE + 6, "TRX_UNDO_PAGE_NODE";
}

/// First byte behind the page header: where undo records start on a page that is
/// not the first of its segment.
pub const PAGE_HEADER_END: usize = NODE.end();

fields! {
    /// What the first page of a segment has besides.
    pub const SEGMENT_REGIONS;
    /// See [`UndoSegmentState`].
    STATE: u16 = PAGE_HEADER_END, "TRX_UNDO_STATE";
    /// Offset of the last undo log header on the page; 0 if there is none.
    LAST_LOG: u16 = PAGE_HEADER_END + 2, "TRX_UNDO_LAST_LOG";
    /// The file segment that the pages come from.
    SEGMENT: SegmentHeader = PAGE_HEADER_END + 4, "TRX_UNDO_FSEG_HEADER";
    /// The segment's pages.
    PAGE_LIST: ListBase = PAGE_HEADER_END + 14, "TRX_UNDO_PAGE_LIST";
}

/// First byte behind the segment header: the first undo log header.
pub const SEGMENT_HEADER_END: usize = PAGE_LIST.end();

fields! {
    /// One undo log header, relative to its start.
    pub const LOG_REGIONS;
    /// The transaction.
    TRX_ID: u64 = 0, "TRX_UNDO_TRX_ID";
    /// Its place in commit order; 0 while it is active.
    TRX_NO: u64 = 8, "TRX_UNDO_TRX_NO";
    /// Whether purge has something to do: delete marks to follow up.
    HAS_DELETE_MARKS: u16 = 16, "TRX_UNDO_DEL_MARKS";
    /// Offset of the first undo record.
    LOG_START: u16 = 18, "TRX_UNDO_LOG_START";
    /// [`FLAG_XID`] and others.
    FLAGS: u8 = 20, "TRX_UNDO_FLAGS";
    /// Whether it is a dictionary transaction.
    DICTIONARY: u8 = 21, "TRX_UNDO_DICT_TRANS";
    /// The table, if it is one.
    TABLE_ID: u64 = 22, "TRX_UNDO_TABLE_ID";
    /// Offset of the next log header on the page, 0 if none.
    NEXT_LOG: u16 = 30, "TRX_UNDO_NEXT_LOG";
    /// Offset of the log header before, 0 if none.
    PREVIOUS_LOG: u16 = 32, "TRX_UNDO_PREV_LOG";
    /// Neighbours on the rollback segment's history list.
    HISTORY_NODE: ListNode = 34, "TRX_UNDO_HISTORY_NODE";
    /// XA transactions: the format of the id.
    XA_FORMAT: u32 = 46, "TRX_UNDO_XA_FORMAT";
    /// XA transactions: bytes of the global part.
    XA_GLOBAL_LENGTH: u32 = 50, "TRX_UNDO_XA_TRID_LEN";
    /// XA transactions: bytes of the branch part.
    XA_BRANCH_LENGTH: u32 = 54, "TRX_UNDO_XA_BQUAL_LEN";
}

/// Bytes of the XA id that follows the last field of a log header.
pub const XA_ID_LENGTH: usize = 128;
/// Bytes of an undo log header that leaves room for an XA id, the usual kind.
pub const LOG_HEADER_SIZE: usize = XA_BRANCH_LENGTH.end() + XA_ID_LENGTH;

/// FLAGS: an XA id is present.
pub const FLAG_XID: u8 = 1;

/// What a log's undo records are of. MySQL keeps two logs for a transaction,
/// because those of inserts can be thrown away at commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum UndoKind {
    /// Inserts: needed for rollback only.
    Insert = 1,
    /// Updates and delete marks: needed by read views until purge.
    Update = 2,
}

impl UndoKind {
    /// Reads the field; `None` for MariaDB's 0 (both kinds in one log) and others.
    pub const fn from_field(field: u16) -> Option<UndoKind> {
        match field {
            1 => Some(UndoKind::Insert),
            2 => Some(UndoKind::Update),
            _ => None,
        }
    }
}

/// What has become of an undo segment. Numbers of MySQL 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum UndoSegmentState {
    /// Its transaction is running.
    Active = 1,
    /// Committed, small: the segment is kept for the next transaction.
    Cached = 2,
    /// Committed inserts: can be freed.
    ToFree = 3,
    /// Committed updates: belongs to purge.
    ToPurge = 4,
    /// Prepared for a two-phase commit.
    Prepared = 5,
}

impl UndoSegmentState {
    /// Reads the field; `None` for a value that does not exist.
    pub const fn from_field(field: u16) -> Option<UndoSegmentState> {
        match field {
            1 => Some(UndoSegmentState::Active),
            2 => Some(UndoSegmentState::Cached),
            3 => Some(UndoSegmentState::ToFree),
            4 => Some(UndoSegmentState::ToPurge),
            5 => Some(UndoSegmentState::Prepared),
            _ => None,
        }
    }
}

/// The page that a history list node is on, and the log header it belongs to:
/// neighbours point at HISTORY_NODE, not at the header's start. `None` if the
/// address is too low for a header in front of it.
pub fn log_header_of_node(node: super::file_list::FileAddress) -> Option<(PageNumber, usize)> {
    let header = usize::from(node.offset).checked_sub(HISTORY_NODE.offset())?;
    (header >= SEGMENT_HEADER_END).then_some((node.page, header))
}

#[cfg(test)]
mod tests {
    use super::super::PAGE_SIZE;
    use super::super::file_list::FileAddress;
    use super::*;

    /// The headers of an undo page that MariaDB 10.11 wrote for a transaction that
    /// had changed five rows.
    #[test]
    fn headers_of_a_real_undo_page() {
        let mut page = [0; PAGE_SIZE];
        let hex = "0000011001a3ffffffff0000ffffffff0000\
                   00010056000000000000020405720000000100000139002c00000139002c\
                   0000000000005168000000000000000000010110";
        for (index, pair) in hex.as_bytes().chunks_exact(2).enumerate() {
            let pair = std::str::from_utf8(pair).unwrap();
            page[38 + index] = u8::from_str_radix(pair, 16).unwrap();
        }
        assert_eq!(KIND.get(&page), 0);
        assert_eq!(UndoKind::from_field(KIND.get(&page)), None);
        assert_eq!((START.get(&page), FREE.get(&page)), (272, 419));
        assert_eq!(NODE.get(&page), ListNode::ALONE);
        assert_eq!(
            UndoSegmentState::from_field(STATE.get(&page)),
            Some(UndoSegmentState::Active)
        );
        assert_eq!(LAST_LOG.get(&page), 86);
        assert_eq!(SEGMENT.get(&page).offset, 0x0572);
        let only_page = FileAddress::new(PageNumber(313), NODE.offset() as u16);
        assert_eq!(PAGE_LIST.get(&page), ListBase::of_one(only_page));
        let log = SEGMENT_HEADER_END;
        assert_eq!(log, 86);
        assert_eq!(TRX_ID.at(log).get(&page), 0x5168);
        assert_eq!(TRX_NO.at(log).get(&page), 0);
        assert_eq!(HAS_DELETE_MARKS.at(log).get(&page), 1);
        assert_eq!(LOG_START.at(log).get(&page), 272);
        assert_eq!(log + LOG_HEADER_SIZE, 272);
    }

    #[test]
    fn history_nodes_lead_back_to_their_log() {
        let node = FileAddress::new(PageNumber(313), 86 + 34);
        assert_eq!(log_header_of_node(node), Some((PageNumber(313), 86)));
        assert_eq!(
            log_header_of_node(FileAddress::new(PageNumber(313), 44)),
            None
        );
    }
}
