//! Taking changes of rows back, by their undo records.
//!
//! | undone | secondary indexes | clustered index |
//! |---|---|---|
//! | insert | the entries go | the record goes |
//! | update | new entries go (or are marked, if an older version needs them), old ones are marked no more | old values, DB_TRX_ID and DB_ROLL_PTR |
//! | delete | entries are marked no more | the mark goes |
//! | insert over a deleted row | the entries go | the row of before, marked; it goes if nobody sees it |
//!
//! The clustered record is last: its DB_ROLL_PTR says whether the change is still there. A
//! crash in between, and the change is taken back once more; what is done already is found
//! done.

use super::dictionary::Table;
use super::error::TableError;
use super::fields::{FieldBuffer, Fields};
use super::layout::SystemFields;
use super::remove::{IfNeeded, find, remove_entry, remove_if};
use super::store::RowStore;
use crate::btree::{
    self, BtreeLatch, FieldChange, Index, TreeIntention, optimistic_update, pessimistic_update,
    set_delete_mark, update_in_place,
};
use crate::page::record::INFO_DELETED;
use crate::page::record_compare::KeyField;
use crate::page::record_format::MAX_COLUMNS;
use crate::page::{RecordBuffer, RollPointer};
use crate::redo_log::MiniTransactionContext;
use crate::transaction::undo::record::Before;
use crate::transaction::undo::{UndoRecord, UndoRecordKind};
use crate::transaction::{ApplyError, Transaction, UndoApplier};

impl UndoApplier for RowStore {
    fn undo(
        &self,
        _: &Transaction,
        context: &mut MiniTransactionContext,
        record: &UndoRecord<'_>,
        pointer: RollPointer,
    ) -> Result<(), ApplyError> {
        // A table whose creation was interrupted is gone with all its rows.
        let Some(table) = self.dictionary.table_by_id(record.table_id) else {
            return Ok(());
        };
        // Room in the redo files, while nothing is latched.
        self.pages.log.free_check()?;
        let undo = RowUndo {
            store: self,
            table: &table,
            kind: record.kind,
            pointer,
        };
        Ok(undo.apply(context, record)?)
    }
}

/// The change of one row that is taken back.
struct RowUndo<'a> {
    store: &'a RowStore,
    table: &'a Table,
    kind: UndoRecordKind,
    pointer: RollPointer,
}

impl RowUndo<'_> {
    fn apply(
        &self,
        context: &mut MiniTransactionContext,
        record: &UndoRecord<'_>,
    ) -> Result<(), TableError> {
        let key: Fields<'_> = record.key.collect();
        let Some(row) = self.read_row(context, &key)? else {
            return Ok(());
        };
        let row = row.as_fields();
        match record.before {
            None => self.insert(context, &key, &row),
            Some(before) => self.change(context, &key, &row, &before),
        }
    }

    /// The row as it is; `None` if the change has not been made, or is taken back.
    fn read_row(
        &self,
        context: &mut MiniTransactionContext,
        key: &[KeyField<'_>],
    ) -> Result<Option<FieldBuffer>, TableError> {
        let index = &**self.table.clustered();
        let format = &index.format;
        let mut mtr = self.store.pages.begin(context);
        let found = find(&mut mtr, index, key, BtreeLatch::SearchLeaf)?;
        let row = found.and_then(|position| {
            let record = position.record(&mtr);
            if record.roll_pointer(format) != self.pointer {
                return None;
            }
            let mut row = FieldBuffer::new();
            for field in 0..format.columns().len() {
                row.push(record.field(format, field));
            }
            Some(row)
        });
        mtr.commit();
        Ok(row)
    }

    fn insert(
        &self,
        context: &mut MiniTransactionContext,
        key: &[KeyField<'_>],
        row: &Fields<'_>,
    ) -> Result<(), TableError> {
        let index = &**self.table.clustered();
        for (secondary, layout) in self.table.secondary_with_layouts() {
            let entry = layout.entry(|field| row[field]);
            remove_if(self.store, context, secondary, &entry, |_, _| Ok(true))?;
        }
        remove_if(self.store, context, index, key, |mtr, position| {
            let record = position.record(mtr);
            Ok(record.roll_pointer(&index.format) == self.pointer)
        })
    }

    fn change(
        &self,
        context: &mut MiniTransactionContext,
        key: &[KeyField<'_>],
        row: &Fields<'_>,
        before: &Before<'_>,
    ) -> Result<(), TableError> {
        let mut old = *row;
        for (field, value) in before.changed {
            if field >= row.len() {
                let what = "an undo record changes a field that rows do not have";
                return Err(TableError::contradiction(self.table.clustered(), what));
            }
            old.set(field, value);
        }
        for (secondary, layout) in self.table.secondary_with_layouts() {
            let new_entry = layout.entry(|field| row[field]);
            let old_entry = layout.entry(|field| old[field]);
            let place = (secondary, layout);
            match self.kind {
                UndoRecordKind::DeleteMark => self.unmark(context, secondary, &old_entry)?,
                UndoRecordKind::UpdateDeleted => {
                    let needed = IfNeeded::Mark;
                    remove_entry(self.store, context, self.table, place, &new_entry, needed)?;
                }
                _ if *new_entry == *old_entry => {}
                _ => {
                    let needed = IfNeeded::Mark;
                    remove_entry(self.store, context, self.table, place, &new_entry, needed)?;
                    self.unmark(context, secondary, &old_entry)?;
                }
            }
        }
        self.restore(context, key, &old, before)?;
        if self.kind == UndoRecordKind::UpdateDeleted {
            self.remove_deleted(context, key, before)?;
        }
        Ok(())
    }

    /// An entry is the row's again.
    fn unmark(
        &self,
        context: &mut MiniTransactionContext,
        index: &Index,
        entry: &[KeyField<'_>],
    ) -> Result<(), TableError> {
        let mut mtr = self.store.pages.begin(context);
        if let Some(position) = find(&mut mtr, index, entry, BtreeLatch::ModifyLeaf)?
            && position.record(&mtr).is_delete_marked()
        {
            let changer = self.store.changer(0);
            set_delete_mark(&mut mtr, index, &position, false, None, changer);
        }
        mtr.commit();
        Ok(())
    }

    /// Puts the clustered record back as it was.
    fn restore(
        &self,
        context: &mut MiniTransactionContext,
        key: &[KeyField<'_>],
        old: &Fields<'_>,
        before: &Before<'_>,
    ) -> Result<(), TableError> {
        let index = &**self.table.clustered();
        let changer = self.store.changer(0);
        let was_deleted = before.info_bits & INFO_DELETED != 0;
        let system = btree::SystemFields {
            trx_id: before.trx_id,
            roll_pointer: before.roll_pointer,
        };
        let mut changes = [FieldChange {
            field: 0,
            value: None,
        }; MAX_COLUMNS];
        let mut number = 0;
        for (field, value) in before.changed {
            changes[number] = FieldChange { field, value };
            number += 1;
        }
        let changes = &changes[..number];
        let mut image = RecordBuffer::new();
        let attempts = [
            BtreeLatch::ModifyLeaf,
            BtreeLatch::ModifyTree(TreeIntention::Both),
        ];
        for latch in attempts {
            let mut mtr = self.store.pages.begin(context);
            let Some(position) = find(&mut mtr, index, key, latch)? else {
                let what = "a row that is rolled back has gone";
                return Err(TableError::contradiction(index, what));
            };
            let system = Some(system);
            if update_in_place(&mut mtr, index, &position, changes, system, changer) {
                if position.record(&mtr).is_delete_marked() != was_deleted {
                    set_delete_mark(&mut mtr, index, &position, was_deleted, None, changer);
                }
                mtr.commit();
                return Ok(());
            }
            self.build_old(old, before, &mut image)?;
            if was_deleted {
                image.mark_deleted();
            }
            let image = image.image();
            let updated = match latch {
                BtreeLatch::ModifyLeaf => {
                    Ok(optimistic_update(&mut mtr, index, &position, image, changer).is_some())
                }
                _ => pessimistic_update(&mut mtr, index, &position, image, changer).map(|_| true),
            };
            mtr.commit();
            if updated? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn build_old(
        &self,
        old: &Fields<'_>,
        before: &Before<'_>,
        image: &mut RecordBuffer,
    ) -> Result<(), TableError> {
        let layout = self.table.layout();
        let system = SystemFields::new(before.trx_id, before.roll_pointer);
        let mut fields = *old;
        fields.set(layout.key_fields(), Some(&system.trx_id));
        fields.set(layout.key_fields() + 1, Some(&system.roll_pointer));
        let built = layout.clustered().build(&fields, image);
        Ok(built.map_err(btree::BtreeError::from)?)
    }

    /// The row that an insert went over is deleted again. If purge has passed it while it was
    /// not, it goes now.
    fn remove_deleted(
        &self,
        context: &mut MiniTransactionContext,
        key: &[KeyField<'_>],
        before: &Before<'_>,
    ) -> Result<(), TableError> {
        if !self.store.transactions.may_be_purged(before.trx_id) {
            return Ok(());
        }
        let index = &**self.table.clustered();
        remove_if(self.store, context, index, key, |mtr, position| {
            let record = position.record(mtr);
            let is_same = record.roll_pointer(&index.format) == before.roll_pointer;
            Ok(is_same && record.is_delete_marked())
        })
    }
}
