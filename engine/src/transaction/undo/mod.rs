//! Undo: how changes are taken back, and how readers see what was before.
//!
//! ```text
//!   rollback segment            undo segments: lists of pages
//!   header page  slot 0 ------> [ log of trx 40: rec rec rec ]-[ rec rec ... ]
//!                slot 1 ------> [ log of trx 35 | log of trx 38 ]      cached: small logs
//!                slot 2  -                                             one after the other
//!                history -----> newest committed log ... oldest: purge's end
//! ```
//!
//! A transaction has up to two undo logs: inserts, which only a rollback needs, and
//! updates, which readers need until purge. Both come from one rollback segment, chosen in
//! turn when the transaction becomes read-write. A segment of one page that is less than
//! three quarters full is kept at commit ("cached") for the next transaction.
//!
//! Each undo record is written in a mini-transaction of its own, *before* the row is
//! changed in another one: after a crash there is never a change without its undo.
//!
//! | file | what it is about |
//! |---|---|
//! | [`record`] | one undo record as bytes |
//! | `segment` | undo segments: pages, logs, records, their end |
//! | `rollback_segment` | slots, cached segments, the history list |
//! | `spaces` | where rollback segments are: undo tablespaces or the system tablespace |
//! | `logs` | a transaction's undo: writing, reading, commit |
//! | `version` | previous versions of a row |

mod logs;
pub mod record;
mod rollback_segment;
mod segment;
mod spaces;
mod version;

pub use logs::{TransactionUndo, UndoLogs};
pub use record::{InsertUndo, UndoRecord, UndoRecordFault, UndoRecordKind, UpdateUndo};
pub(super) use rollback_segment::HistoryPosition;
pub use rollback_segment::RollbackSegment;
pub(super) use segment::{UndoPlace, UndoSegment, copy_record, next_record};
pub use spaces::{
    SYSTEM_SPACE, SYSTEM_SPACE_NAME, SYSTEM_SPACE_PAGES, UNDO_SPACE_PAGES,
    create_system_tablespace, is_undo_file_name, load_max_trx_id, open_system_tablespace,
    store_max_trx_id, undo_file_name, undo_space_id,
};
pub use version::{RowVersion, VersionError};

use crate::page::PageId;
use crate::page_allocation::AllocationError;
use crate::redo_log::PageAccessError;
use crate::tablespace::TablespaceError;

/// Something that kept undo from being written or read.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// A page could not be had.
    #[error(transparent)]
    Page(#[from] PageAccessError),
    /// Pages could not be allocated or freed.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// A tablespace could not be created or opened.
    #[error(transparent)]
    Tablespace(#[from] TablespaceError),
    /// The record would be longer than an undo page.
    #[error(
        "an undo record of {size} bytes; the maximum is {}",
        record::MAX_UNDO_RECORD
    )]
    TooLong {
        /// Bytes of the record.
        size: usize,
    },
    /// All slots of the transaction's rollback segment are taken.
    #[error(
        "all {} undo slots of rollback segment {segment} are in use (1637)",
        crate::page::rollback_segment::UNDO_SLOTS
    )]
    NoFreeSlot {
        /// Its number.
        segment: usize,
    },
    /// A roll pointer names a rollback segment that does not exist.
    #[error("a roll pointer names rollback segment {0}, which does not exist")]
    NoSuchSegment(u8),
    /// Bytes that are no undo record.
    #[error("{page}, offset {offset}: {fault}")]
    Record {
        /// The undo page.
        page: PageId,
        /// Offset of the record.
        offset: u16,
        /// What is wrong.
        fault: UndoRecordFault,
    },
    /// A structure on a page contradicts itself.
    #[error("{page}: {what} is {found}, accepted is {accepted}")]
    Damaged {
        /// The page.
        page: PageId,
        /// Which field.
        what: &'static str,
        /// What it says.
        found: u64,
        /// What it might say.
        accepted: &'static str,
    },
}
