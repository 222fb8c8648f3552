//! Rollback: the undo records of a transaction, read backwards.
//!
//! ```text
//!   insert log   1         3    4
//!   update log        2              5        rollback applies 5 4 3 2 1
//! ```
//!
//! Which of the two logs has the younger record is told by the records' numbers. What it
//! means to take a row's change back is the table layer's knowledge: [`UndoApplier`].
//! A crash during a rollback leaves records that have been applied; applying them again
//! must do nothing, which the row's DB_ROLL_PTR tells.

use super::session::Transaction;
use super::transactions::{TransactionError, Transactions};
use super::undo::{UndoError, UndoPlace, UndoRecord, copy_record};
use crate::metrics::Level;
use crate::page::PageId;
use crate::page::roll_pointer::RollPointer;
use crate::redo_log::MiniTransactionContext;

/// An error of the table layer.
pub type ApplyError = Box<dyn std::error::Error + Send + Sync>;

/// A rollback that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RollbackError {
    /// Undo or the commit.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// A row could not be restored.
    #[error("a change of table {table_id} cannot be taken back: {source}")]
    Apply {
        /// The table.
        table_id: u64,
        /// Why not.
        source: ApplyError,
    },
}

impl From<UndoError> for RollbackError {
    fn from(error: UndoError) -> Self {
        RollbackError::Transaction(error.into())
    }
}

/// Takes changes of rows back: the table layer.
pub trait UndoApplier: Send + Sync {
    /// Restores the row that an undo record of this transaction is about, in the clustered
    /// index and in secondary ones. `pointer` is the record's address: if the row's
    /// DB_ROLL_PTR is another one, the change never happened or has been taken back, and
    /// there is nothing to do. `context` is free.
    ///
    /// A row that is delete-marked again ([`UpdateDeleted`]) is removed instead if
    /// [`may_be_purged`](Transactions::may_be_purged) says of the DB_TRX_ID that it gets back
    /// that purge has been there: it left the row because there was a younger version.
    ///
    /// # Errors
    /// If the table or a page of it cannot be had.
    ///
    /// [`UpdateDeleted`]: super::undo::UndoRecordKind::UpdateDeleted
    fn undo(
        &self,
        transaction: &Transaction,
        context: &mut MiniTransactionContext,
        record: &UndoRecord<'_>,
        pointer: RollPointer,
    ) -> Result<(), ApplyError>;
}

impl Transactions {
    /// Applies all records from number `limit` on, the youngest first, and takes them off
    /// the logs.
    pub(super) fn undo_until(
        &self,
        transaction: &mut Transaction,
        limit: u64,
        applier: &dyn UndoApplier,
    ) -> Result<(), RollbackError> {
        if transaction.undo.next_undo_no <= limit {
            return Ok(());
        }
        let metrics = self.undo().pages().metrics.clone();
        let shard = metrics.shard(transaction.shard);
        shard.raise(Level::ActiveRollbacks, 1);
        // Apart from the transaction, which the applier looks at.
        let mut buffer = std::mem::take(&mut transaction.undo.buffer);
        let fresh = MiniTransactionContext::new(transaction.shard);
        let mut context = std::mem::replace(&mut transaction.undo.context, fresh);
        let mut done = Ok(());
        while done.is_ok() {
            let Some((kind, place)) = youngest(transaction, limit) else {
                break;
            };
            done = self.undo_one(transaction, kind, place, &mut buffer, &mut context, applier);
        }
        // Also after an error: what was applied is off the logs.
        let mut cut = Ok(());
        for segment in transaction.undo.segments.iter_mut().flatten() {
            cut = cut.and(segment.truncate_end(self.undo().pages(), &mut context));
        }
        transaction.undo.context = context;
        transaction.undo.buffer = buffer;
        shard.lower(Level::ActiveRollbacks, 1);
        done?;
        cut?;
        transaction.undo.next_undo_no = limit;
        transaction.locks.state().set_undo_records(limit);
        Ok(())
    }

    fn undo_one(
        &self,
        transaction: &mut Transaction,
        kind: usize,
        place: UndoPlace,
        buffer: &mut Vec<u8>,
        context: &mut MiniTransactionContext,
        applier: &dyn UndoApplier,
    ) -> Result<(), RollbackError> {
        let pages = self.undo().pages();
        let (Some(rollback_segment), Some(segment)) = (
            &transaction.undo.rollback_segment,
            &transaction.undo.segments[kind],
        ) else {
            unreachable!("it has this record");
        };
        let page = PageId {
            space: rollback_segment.space,
            page: place.page,
        };
        let pointer = RollPointer {
            is_insert: kind == 0,
            rollback_segment_id: rollback_segment.pointer_id,
            page: place.page,
            offset: place.offset,
        };
        let mut mtr = pages.begin(context);
        let before = segment.previous(&mut mtr, Some((place.page, place.offset)))?;
        let top = segment.place_of(&mut mtr, before, buffer)?;
        copy_record(&mut mtr, page, place.offset, buffer)?;
        mtr.commit();
        let record = UndoRecord::parse(buffer).map_err(|fault| UndoError::Record {
            page,
            offset: place.offset,
            fault,
        })?;
        applier
            .undo(transaction, context, &record, pointer)
            .map_err(|source| RollbackError::Apply {
                table_id: record.table_id,
                source,
            })?;
        if let Some(segment) = &mut transaction.undo.segments[kind] {
            segment.top = top;
        }
        Ok(())
    }
}

/// The youngest record that is not below `limit`: in which of the logs, and where.
fn youngest(transaction: &Transaction, limit: u64) -> Option<(usize, UndoPlace)> {
    let tops = transaction.undo.segments.iter().enumerate();
    tops.filter_map(|(kind, segment)| Some((kind, segment.as_ref()?.top?)))
        .filter(|(_, top)| top.undo_no >= limit)
        .max_by_key(|(_, top)| top.undo_no)
}
