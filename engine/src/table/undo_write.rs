//! What row operations tell history before they change a row.
//!
//! | change | undo record |
//! |---|---|
//! | insert | key |
//! | update | key, DB_TRX_ID, DB_ROLL_PTR, old values of what changes; if an index is concerned, all columns of secondary indexes |
//! | delete | key, DB_TRX_ID, DB_ROLL_PTR, all columns of secondary indexes |
//!
//! The record is written in a mini-transaction of its own, while the leaf is latched and
//! before it is changed: redo of the history comes first. If the engine stops in between,
//! there is an undo record of a change that was not made; rollback finds that the row does
//! not point to it, and does nothing.

use super::dictionary::Table;
use super::error::TableError;
use super::store::RowStore;
use super::update_vector::UpdateVector;
use crate::page::record_compare::KeyField;
use crate::page::record_format::MAX_COLUMNS;
use crate::page::{Record, RollPointer};
use crate::transaction::Transaction;
use crate::transaction::undo::{InsertUndo, UndoRecordKind, UpdateUndo};

/// Numbered fields on the stack.
struct Numbered<'a> {
    fields: [(u16, KeyField<'a>); MAX_COLUMNS],
    count: usize,
}

impl<'a> Numbered<'a> {
    fn new() -> Numbered<'a> {
        Numbered {
            fields: [(0, None); MAX_COLUMNS],
            count: 0,
        }
    }

    fn push(&mut self, field: usize, value: KeyField<'a>) {
        self.fields[self.count] = (field as u16, value);
        self.count += 1;
    }

    fn as_slice(&self) -> &[(u16, KeyField<'a>)] {
        &self.fields[..self.count]
    }
}

/// A row is about to be inserted.
pub(super) fn insert(
    store: &RowStore,
    transaction: &mut Transaction,
    table: &Table,
    key: &[KeyField<'_>],
) -> Result<RollPointer, TableError> {
    let undo = InsertUndo {
        table_id: table.id(),
        key,
    };
    Ok(store.transactions.write_insert(transaction, &undo)?)
}

/// The fields of a clustered record that vector says are about to change.
pub(super) fn update(
    store: &RowStore,
    transaction: &mut Transaction,
    table: &Table,
    record: Record<'_>,
    vector: &UpdateVector,
) -> Result<RollPointer, TableError> {
    let format = table.layout().clustered();
    let mut changed = Numbered::new();
    for &field in vector.fields() {
        changed.push(field, record.field(format, field));
    }
    let mut ordering = Numbered::new();
    // The old entries of a record that is delete-marked are purged with the delete.
    let kind = match record.is_delete_marked() {
        true => UndoRecordKind::UpdateDeleted,
        false => {
            if vector.changes_ordering(table.layout()) {
                push_index_columns(table, record, &mut ordering);
            }
            UndoRecordKind::UpdateExisting
        }
    };
    write(store, transaction, table, record, kind, &changed, &ordering)
}

/// A row is about to be delete-marked.
pub(super) fn delete_mark(
    store: &RowStore,
    transaction: &mut Transaction,
    table: &Table,
    record: Record<'_>,
) -> Result<RollPointer, TableError> {
    let mut ordering = Numbered::new();
    push_index_columns(table, record, &mut ordering);
    let (kind, changed) = (UndoRecordKind::DeleteMark, Numbered::new());
    write(store, transaction, table, record, kind, &changed, &ordering)
}

/// The columns of all secondary indexes but those of the primary key, each once.
fn push_index_columns<'a>(table: &Table, record: Record<'a>, ordering: &mut Numbered<'a>) {
    let layout = table.layout();
    let format = layout.clustered();
    for field in layout.key_fields()..format.columns().len() {
        let mut indexes = layout.secondary().iter();
        if indexes.any(|index| index.clustered_fields().contains(&field)) {
            ordering.push(field, record.field(format, field));
        }
    }
}

fn write(
    store: &RowStore,
    transaction: &mut Transaction,
    table: &Table,
    record: Record<'_>,
    kind: UndoRecordKind,
    changed: &Numbered<'_>,
    ordering: &Numbered<'_>,
) -> Result<RollPointer, TableError> {
    let format = table.layout().clustered();
    let undo = UpdateUndo {
        kind,
        table_id: table.id(),
        info_bits: record.info_bits(),
        trx_id: record.trx_id(format),
        roll_pointer: record.roll_pointer(format),
        key: &format.key_of(record),
        changed: changed.as_slice(),
        ordering: ordering.as_slice(),
    };
    Ok(store.transactions.write_update(transaction, &undo)?)
}
