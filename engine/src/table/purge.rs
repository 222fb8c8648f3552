//! Removing what updates and deletes left behind, when nobody can see it any more.
//!
//! ```text
//!   undo record "7 was deleted, k was 41"     k_1: (41, 7)* goes     row 7* goes
//!   undo record "k of 7 was 41"               k_1: (41, 7)* goes     row 7 lives on
//! ```
//!
//! Entries first: as long as the row is there, its history tells which entries are still
//! needed.

use super::dictionary::Table;
use super::error::TableError;
use super::fields::Fields;
use super::remove::{IfNeeded, remove_entry, remove_if};
use super::store::RowStore;
use crate::page::RollPointer;
use crate::page::record_compare::KeyField;
use crate::redo_log::MiniTransactionContext;
use crate::transaction::undo::{UndoRecord, UndoRecordKind};
use crate::transaction::{ApplyError, PurgeApplier, PurgeView};

impl PurgeApplier for RowStore {
    fn purge(
        &self,
        context: &mut MiniTransactionContext,
        record: &UndoRecord<'_>,
        pointer: RollPointer,
        _: &PurgeView,
    ) -> Result<(), ApplyError> {
        let Some(table) = self.dictionary.table_by_id(record.table_id) else {
            return Ok(());
        };
        // Room in the redo files, while nothing is latched.
        self.pages.log.free_check()?;
        Ok(purge_row(self, context, &table, record, pointer)?)
    }
}

fn purge_row(
    store: &RowStore,
    context: &mut MiniTransactionContext,
    table: &Table,
    record: &UndoRecord<'_>,
    pointer: RollPointer,
) -> Result<(), TableError> {
    let Some(before) = record.before else {
        return Ok(());
    };
    if !record.concerns_purge || record.kind == UndoRecordKind::UpdateDeleted {
        return Ok(());
    }
    // The indexed columns as they were before: the key, and what the record says.
    let layout = table.layout();
    let fields = layout.clustered().columns().len();
    let mut old: [Option<KeyField<'_>>; crate::page::record_format::MAX_COLUMNS] =
        [None; crate::page::record_format::MAX_COLUMNS];
    let key: Fields<'_> = record.key.collect();
    for (field, &value) in key.iter().enumerate() {
        old[field] = Some(value);
    }
    for (field, value) in before.ordering.chain(before.changed) {
        if field >= fields {
            let what = "an undo record names a field that rows do not have";
            return Err(TableError::contradiction(table.clustered(), what));
        }
        old[field] = Some(value);
    }
    for (index, of_index) in table.secondary_with_layouts() {
        let known = of_index.clustered_fields().iter();
        if !known.clone().all(|&field| old[field].is_some()) {
            let what = "an undo record lacks a column of the index";
            return Err(TableError::contradiction(index, what));
        }
        let is_concerned = record.kind == UndoRecordKind::DeleteMark
            || before
                .changed
                .into_iter()
                .any(|(field, _)| of_index.clustered_fields().contains(&field));
        if is_concerned {
            let entry: Fields<'_> = known.map(|&field| old[field].flatten()).collect();
            let place = (index, of_index);
            remove_entry(store, context, table, place, &entry, IfNeeded::Keep)?;
        }
    }
    if record.kind == UndoRecordKind::DeleteMark {
        let index = &**table.clustered();
        remove_if(store, context, index, &key, |mtr, position| {
            let row = position.record(mtr);
            let is_same = row.roll_pointer(&index.format) == pointer;
            Ok(is_same && row.is_delete_marked())
        })?;
    }
    Ok(())
}
