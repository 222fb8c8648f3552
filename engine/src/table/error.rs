//! Why a statement failed.

use super::dictionary::Table;
use super::row_error::RowError;
use crate::btree::{BtreeError, Index};
use crate::lock::LockError;
use crate::redo_log::PageAccessError;
use crate::transaction::TransactionError;

/// Something that kept a statement from doing what it was asked for. What it had changed
/// before is taken back.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A tree could not be searched or changed.
    #[error(transparent)]
    Tree(#[from] BtreeError),
    /// A page could not be had.
    #[error(transparent)]
    Page(#[from] PageAccessError),
    /// The transaction may only read, or history could not be written or read.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// Values do not make a row.
    #[error(transparent)]
    Row(#[from] RowError),
    /// A row could not be locked.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is a row of that key.
    #[error("duplicate entry '{entry}' for key '{table}.PRIMARY' (1062)")]
    DuplicateKey {
        /// The table.
        table: Box<str>,
        /// The key's values.
        entry: String,
    },
    /// The table has no such secondary index.
    #[error("table {table} has {indexes} secondary indexes, numbered from 0; there is no {index}")]
    NoIndex {
        /// The table.
        table: Box<str>,
        /// How many it has.
        indexes: usize,
        /// The one asked for.
        index: usize,
    },
    /// Two structures contradict each other.
    #[error("index {index}: {what}")]
    Damaged {
        /// The index.
        index: Box<str>,
        /// What is wrong.
        what: String,
    },
}

impl TableError {
    /// An index does not hold what the table's rows say.
    pub(super) fn contradiction(index: &Index, what: &str) -> TableError {
        TableError::Damaged {
            index: index.name.clone(),
            what: what.into(),
        }
    }

    /// The table has no secondary index of that position.
    pub(crate) fn no_index(table: &Table, index: usize) -> TableError {
        TableError::NoIndex {
            table: table.name().into(),
            indexes: table.secondary().len(),
            index,
        }
    }

    /// The number of the error that a MySQL server would send; `None` where it would
    /// stop, or say only that the storage engine failed.
    pub fn mysql_number(&self) -> Option<u16> {
        match self {
            TableError::Lock(LockError::Timeout) => Some(1205),
            TableError::Lock(LockError::Deadlock) => Some(1213),
            TableError::DuplicateKey { .. } => Some(1062),
            TableError::Transaction(TransactionError::ReadOnly(_)) => Some(1792),
            TableError::NoIndex { .. } => Some(1176),
            TableError::Row(error) => Some(error.mysql_number()),
            TableError::Lock(LockError::Ended)
            | TableError::Tree(_)
            | TableError::Page(_)
            | TableError::Transaction(_)
            | TableError::Damaged { .. } => None,
        }
    }
}
