//! What can go wrong in a B+tree.

use crate::page::{PageId, RecordError};
use crate::page_allocation::AllocationError;
use crate::redo_log::{PageAccessError, RedoLogError};

/// Something that kept a tree from being searched or changed.
#[derive(Debug, thiserror::Error)]
pub enum BtreeError {
    /// A page could not be had.
    #[error(transparent)]
    Page(#[from] PageAccessError),
    /// There is no room, or the allocation structures are damaged.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// The redo log cannot take more.
    #[error(transparent)]
    Log(#[from] RedoLogError),
    /// A record cannot be built.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A page is not what the tree says it is.
    #[error("index {index}, {page}: {what} is {found}, expected {expected}")]
    Damaged {
        /// The index.
        index: Box<str>,
        /// The page.
        page: PageId,
        /// Which field or structure.
        what: &'static str,
        /// What was found.
        found: u64,
        /// What was expected.
        expected: u64,
    },
    /// Records to be loaded were not in order, or the index was not empty.
    #[error("index {index}: a bulk load needs {needs}, and {found}")]
    BulkLoad {
        /// The index.
        index: Box<str>,
        /// What the load needs.
        needs: &'static str,
        /// What it got.
        found: String,
    },
}
