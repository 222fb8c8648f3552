//! Older versions of rows: what a view sees, and which entries history still needs.
//!
//! ```text
//!   record          undo                  undo
//!   trx 40, k=43 -> trx 35, k=42      ->  trx 17, k=41      -> inserted: nothing before
//!   not seen        not seen              seen: this one
//! ```
//!
//! The leaf stays latched meanwhile, so the record and its history do not change. What a
//! view needs, purge has left there.

use super::dictionary::Table;
use super::error::TableError;
use super::layout::{Row, SecondaryLayout};
use super::store::RowStore;
use crate::btree::Position;
use crate::page::record_compare::KeyField;
use crate::redo_log::MiniTransaction;
use crate::sysvar::TransactionIsolation;
use crate::transaction::undo::RowVersion;
use crate::transaction::{Transaction, TransactionError};

/// A place to build versions in: used again and again.
#[derive(Debug, Default)]
pub(super) struct History {
    version: RowVersion,
    undo: Vec<u8>,
}

impl History {
    /// Hands the version of the clustered record at a position to `take` that a
    /// transaction reads. `None` if there is none for it, or the row is deleted in it.
    pub fn read<R>(
        &mut self,
        store: &RowStore,
        transaction: &Transaction,
        table: &Table,
        (mtr, position): (&mut MiniTransaction<'_>, &Position),
        take: impl FnOnce(&Row<'_>) -> R,
    ) -> Result<Option<R>, TableError> {
        let layout = table.layout();
        let format = layout.clustered();
        let record = position.record(mtr);
        let view = transaction.view();
        let uncommitted = transaction.isolation() == TransactionIsolation::ReadUncommitted;
        if uncommitted || view.sees(record.trx_id(format)) {
            let is_there = !record.is_delete_marked();
            return Ok(is_there.then(|| take(&Row::clustered(layout, record))));
        }
        self.version.copy_from(format, record);
        let savepoint = mtr.savepoint();
        let History { version, undo } = self;
        let found = store
            .transactions
            .visible_version(mtr, view, version, undo)?;
        mtr.release_since(savepoint);
        let is_there = found && !self.version.is_deleted();
        Ok(is_there.then(|| take(&Row::version(layout, &self.version))))
    }

    /// Whether the row has, or had, an entry in a secondary index in a version that
    /// somebody may still want: in an older one, or (`also_newest`) in the newest. The
    /// position is at the clustered record.
    ///
    /// Deleted versions have no entries. The walk ends at a version that every view sees:
    /// what was before it nobody wants (`row_vers_old_has_index_entry`).
    pub fn has_entry(
        &mut self,
        store: &RowStore,
        table: &Table,
        (mtr, position): (&mut MiniTransaction<'_>, &Position),
        (of_index, entry): (&SecondaryLayout, &[KeyField<'_>]),
        also_newest: bool,
    ) -> Result<bool, TableError> {
        let format = table.layout().clustered();
        self.version.copy_from(format, position.record(mtr));
        let mut counts = also_newest;
        loop {
            let version = &self.version;
            let own = of_index.entry(|field| version.field(field));
            if counts && !version.is_deleted() && *own == *entry {
                return Ok(true);
            }
            counts = true;
            let savepoint = mtr.savepoint();
            let History { version, undo } = self;
            let stepped = store.transactions.previous_version(mtr, version, undo);
            mtr.release_since(savepoint);
            match stepped {
                Ok(true) => {}
                Ok(false) | Err(TransactionError::Purged(_)) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
