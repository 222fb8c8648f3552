//! UPDATE and DELETE of the row of a primary key.
//!
//! ```text
//!   UPDATE k = k + 1 WHERE id = 7
//!
//!   1  search and lock the clustered record
//!   2  undo record: old DB_TRX_ID, old DB_ROLL_PTR, k was 41
//!   3  overwrite k, DB_TRX_ID, DB_ROLL_PTR where the record stands
//!   4  k_1: mark (41, 7), insert (42, 7)
//! ```
//!
//! A DELETE marks: the clustered record, then its entries. Readers with older views need
//! them, and purge takes them away when nobody does.
//!
//! An update of the primary key is a delete and an insert.

use super::dictionary::Table;
use super::error::TableError;
use super::fields::{FieldBuffer, Fields};
use super::layout::SystemFields;
use super::locking::{RowLock, lock_clustered, lock_converted, lock_row};
use super::secondary::{delete_mark_entry, insert_entry};
use super::store::{Buffers, RowSession, RowStore};
use super::update_vector::{Assignment, UpdateVector};
use super::{insert, undo_write};
use crate::btree::{
    self, BtreeLatch, FieldChange, Position, TreeIntention, optimistic_update, pessimistic_update,
    search_leaf, set_delete_mark, update_in_place,
};
use crate::lock::{LockOutcome, LockStrength, RecordLockMode};
use crate::metrics::Counter;
use crate::page::record_compare::KeyField;
use crate::page::record_format::MAX_COLUMNS;
use crate::page::{RollPointer, SearchMode};
use crate::redo_log::{MiniTransaction, MiniTransactionContext};
use crate::runtime::{Cost, cpu};
use crate::transaction::Transaction;

/// What an UPDATE has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Updated {
    /// There is a row of the key.
    pub found: bool,
    /// It had other values before.
    pub changed: bool,
}

/// Updates the row of a primary key.
///
/// # Errors
/// If a value does not fit its column, if the new primary key is another row's, or if a
/// page or a lock cannot be had. What was done of the statement is to be rolled back then.
pub fn update(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    key: &[KeyField<'_>],
    assignments: &[Assignment<'_>],
) -> Result<Updated, TableError> {
    begin_change(store, session, table)?;
    let change = Change {
        store,
        table,
        unmark: false,
    };
    let step = with_locked_row(store, session, table, key, |mtr, row| {
        let LockedRow {
            transaction,
            buffers,
            position,
        } = row;
        count(&mtr, Counter::RowsRead);
        cpu(Cost::RowFetch);
        let record = position.record(&mtr);
        buffers
            .vector
            .compute(table.layout(), record, assignments)?;
        if buffers.vector.is_empty() {
            mtr.commit();
            return Ok(UpdateStep::Unchanged);
        }
        count(&mtr, Counter::RowsUpdated);
        buffers.copy_row(table, &position, &mtr);
        if buffers.vector.changes_primary_key(table.layout()) {
            mtr.commit();
            return Ok(UpdateStep::Moves);
        }
        Ok(match change.on_leaf(mtr, transaction, buffers, position)? {
            true => UpdateStep::Done,
            false => UpdateStep::ChangesTree,
        })
    })?;
    match step {
        None | Some(UpdateStep::Unchanged) => {
            return Ok(Updated {
                found: step.is_some(),
                changed: false,
            });
        }
        Some(UpdateStep::Moves) => move_row(store, session, table, key)?,
        Some(step) => {
            if let UpdateStep::ChangesTree = step {
                let RowSession {
                    transaction,
                    context,
                    buffers,
                    ..
                } = &mut *session;
                change.in_tree(context, buffers, transaction.id())?;
            }
            change_entries(store, session, table)?;
        }
    }
    Ok(Updated {
        found: true,
        changed: true,
    })
}

/// How far an update has come with the clustered record latched.
#[derive(Clone, Copy)]
enum UpdateStep {
    /// The values are those that it has.
    Unchanged,
    /// The record has another primary key, and so another place.
    Moves,
    /// The leaf has no room for the new record, or would be left too empty.
    ChangesTree,
    /// The record is changed.
    Done,
}

/// What a transaction does before it changes rows of a table.
fn begin_change(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
) -> Result<(), TableError> {
    store
        .transactions
        .become_read_write(&mut session.transaction)?;
    store.intend(session, table, LockStrength::Exclusive)
}

/// A clustered record that is latched and locked, and what its change needs.
struct LockedRow<'a> {
    transaction: &'a mut Transaction,
    buffers: &'a mut Buffers,
    position: Position,
}

/// Searches for the row of a primary key, locks it exclusively, waiting if need be, and
/// changes it. `None` if there is no such row. The change ends the mini-transaction.
fn with_locked_row<T>(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    key: &[KeyField<'_>],
    change: impl FnOnce(MiniTransaction<'_>, LockedRow<'_>) -> Result<T, TableError>,
) -> Result<Option<T>, TableError> {
    let (strength, latch) = (LockStrength::Exclusive, BtreeLatch::ModifyLeaf);
    loop {
        let RowSession {
            transaction,
            context,
            buffers,
            ..
        } = &mut *session;
        let mut mtr = store.pages.begin(context);
        match lock_row(store, transaction, &mut mtr, table, key, strength, latch)? {
            RowLock::Found(position) => {
                let row = LockedRow {
                    transaction,
                    buffers,
                    position,
                };
                return change(mtr, row).map(Some);
            }
            RowLock::Missing => {
                mtr.commit();
                return Ok(None);
            }
            RowLock::Wait => {
                mtr.commit();
                store.wait_for_lock(session)?;
            }
        }
    }
}

fn count(mtr: &MiniTransaction<'_>, counter: Counter) {
    let metrics = &mtr.pages().metrics;
    metrics.shard(mtr.shard()).increment(counter);
}

impl Buffers {
    /// Keeps all fields of the clustered record at a position.
    fn copy_row(&mut self, table: &Table, position: &Position, mtr: &MiniTransaction<'_>) {
        let format = &table.clustered().format;
        let record = position.record(mtr);
        self.old_row.clear();
        for field in 0..format.columns().len() {
            self.old_row.push(record.field(format, field));
        }
    }
}

/// A change of a clustered record that is latched and locked.
struct Change<'a> {
    store: &'a RowStore,
    table: &'a Table,
    /// The record is delete-marked, and becomes a row again.
    unmark: bool,
}

impl Change<'_> {
    /// Writes undo, and makes the change that the vector says; ends the mini-transaction.
    /// False if the leaf has no room for it, or would be left too empty: then the new
    /// record is in the buffer, and the tree must be changed.
    fn on_leaf(
        &self,
        mut mtr: MiniTransaction<'_>,
        transaction: &mut Transaction,
        buffers: &mut Buffers,
        position: Position,
    ) -> Result<bool, TableError> {
        cpu(Cost::RowBuild);
        let (store, table) = (self.store, self.table);
        let index = &**table.clustered();
        let Buffers {
            record,
            old_row,
            vector,
            ..
        } = buffers;
        let row = position.record(&mtr);
        let roll_pointer = undo_write::update(store, transaction, table, row, vector)?;
        let trx_id = transaction.id();
        let changer = store.changer(trx_id);
        if !vector.changes_size() {
            let system = btree::SystemFields {
                trx_id,
                roll_pointer,
            };
            let mut changes = [FieldChange {
                field: 0,
                value: None,
            }; MAX_COLUMNS];
            let mut number = 0;
            for (field, value) in vector.iter() {
                changes[number] = FieldChange { field, value };
                number += 1;
            }
            let changes = &changes[..number];
            if self.unmark {
                set_delete_mark(&mut mtr, index, &position, false, None, changer);
            }
            let done = update_in_place(&mut mtr, index, &position, changes, Some(system), changer);
            debug_assert!(done, "no length changes");
            mtr.commit();
            return Ok(true);
        }
        build_new(table, old_row, vector, trx_id, roll_pointer, record)?;
        let image = record.image();
        let done = optimistic_update(&mut mtr, index, &position, image, changer).is_some();
        mtr.commit();
        Ok(done)
    }

    /// Replaces the record by the one in the buffer; pages are split or merged if need be.
    fn in_tree(
        &self,
        context: &mut MiniTransactionContext,
        buffers: &Buffers,
        trx_id: u64,
    ) -> Result<(), TableError> {
        let (store, table) = (self.store, self.table);
        let index = &**table.clustered();
        let changer = store.changer(trx_id);
        let mut mtr = store.pages.begin(context);
        let key_fields = table.layout().key_fields();
        let key: Fields<'_> = buffers.old_row.iter().take(key_fields).collect();
        let image = buffers.record.image();
        let latch = BtreeLatch::ModifyTree(TreeIntention::Both);
        let position = search_leaf(&mut mtr, index, &key, SearchMode::LessOrEqual, latch)?;
        if !position.is_at_record() || position.matched < key.len() {
            return Err(TableError::contradiction(
                index,
                "a row that is locked has gone",
            ));
        }
        let result = pessimistic_update(&mut mtr, index, &position, image, changer);
        mtr.commit();
        result?;
        Ok(())
    }
}

/// The record of a row after an update.
fn build_new(
    table: &Table,
    old_row: &FieldBuffer,
    vector: &UpdateVector,
    trx_id: u64,
    roll_pointer: RollPointer,
    record: &mut crate::page::RecordBuffer,
) -> Result<(), TableError> {
    let system = SystemFields::new(trx_id, roll_pointer);
    let layout = table.layout();
    let mut fields = vector.apply(&old_row.as_fields());
    fields.set(layout.key_fields(), Some(&system.trx_id));
    fields.set(layout.key_fields() + 1, Some(&system.roll_pointer));
    layout.clustered().build(&fields, record).map_err(|source| {
        let table = table.name().into();
        super::RowError::Record { table, source }.into()
    })
}

/// Gives the row its new entries in place of its old ones. `old_row` and the vector say
/// what it was and is.
fn change_entries(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
) -> Result<(), TableError> {
    let old_row = std::mem::take(&mut session.buffers.old_row);
    let vector = std::mem::take(&mut session.buffers.vector);
    let mut result = Ok(());
    for (index, layout) in table.secondary_with_layouts() {
        if result.is_ok() && vector.changes_index(layout) {
            let old = old_row.as_fields();
            let new = vector.apply(&old);
            result = delete_mark_entry(store, session, index, &layout.entry(|field| old[field]))
                .and_then(|()| {
                    let entry = layout.entry(|field| new[field]);
                    insert_entry(store, session, index, &entry)
                });
        }
    }
    session.buffers.old_row = old_row;
    session.buffers.vector = vector;
    result
}

/// Deletes the row of a primary key. False if there is none.
///
/// # Errors
/// If a page or a lock cannot be had. What was done of the statement is to be rolled back
/// then.
pub fn delete(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    key: &[KeyField<'_>],
) -> Result<bool, TableError> {
    begin_change(store, session, table)?;
    let deleted = delete_row(store, session, table, key)?;
    if deleted {
        let shard = store.pages.metrics.shard(session.context.shard());
        shard.increment(Counter::RowsRead);
        shard.increment(Counter::RowsDeleted);
    }
    Ok(deleted)
}

fn delete_row(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    key: &[KeyField<'_>],
) -> Result<bool, TableError> {
    let index = &**table.clustered();
    let marked = with_locked_row(store, session, table, key, |mut mtr, row| {
        let LockedRow {
            transaction,
            buffers,
            position,
        } = row;
        buffers.copy_row(table, &position, &mtr);
        let row = position.record(&mtr);
        let roll_pointer = undo_write::delete_mark(store, transaction, table, row)?;
        let system = btree::SystemFields {
            trx_id: transaction.id(),
            roll_pointer,
        };
        let changer = store.changer(transaction.id());
        set_delete_mark(&mut mtr, index, &position, true, Some(system), changer);
        mtr.commit();
        Ok(())
    })?;
    if marked.is_none() {
        return Ok(false);
    }
    let old_row = std::mem::take(&mut session.buffers.old_row);
    let mut result = Ok(true);
    for (index, layout) in table.secondary_with_layouts() {
        let entry = layout.entry(|field| old_row.get(field));
        if let Err(error) = delete_mark_entry(store, session, index, &entry) {
            result = Err(error);
            break;
        }
    }
    session.buffers.old_row = old_row;
    result
}

/// An update of the primary key: the row goes, and comes back elsewhere. `old_row` and the
/// vector say what it was and will be.
fn move_row(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    key: &[KeyField<'_>],
) -> Result<(), TableError> {
    let mut row = FieldBuffer::new();
    {
        let new = session
            .buffers
            .vector
            .apply(&session.buffers.old_row.as_fields());
        for column in 0..table.definition().columns.len() {
            row.push(new[table.layout().place(column)]);
        }
    }
    if !delete_row(store, session, table, key)? {
        let index = table.clustered();
        return Err(TableError::contradiction(
            index,
            "a row that is locked has gone",
        ));
    }
    insert::insert_row(store, session, table, &row)
}

/// Makes a delete-marked record of the key the row that is to be inserted. False if the
/// record has gone meanwhile.
pub(super) fn revive(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    key: &[KeyField<'_>],
    row: &FieldBuffer,
) -> Result<bool, TableError> {
    let index = &**table.clustered();
    let RowSession {
        transaction,
        context,
        buffers,
        ..
    } = session;
    let mut mtr = store.pages.begin(context);
    let (mode, latch) = (SearchMode::LessOrEqual, BtreeLatch::ModifyLeaf);
    let position = search_leaf(&mut mtr, index, key, mode, latch)?;
    let is_there = position.is_at_record() && position.matched == key.len();
    if !is_there || !position.record(&mtr).is_delete_marked() {
        mtr.commit();
        return Ok(false);
    }
    // The lock that was granted may have been lost with a record that purge took away and
    // somebody else inserted again.
    let mode = RecordLockMode::EXCLUSIVE_RECORD;
    let is_own = position.record(&mtr).trx_id(&index.format) == transaction.id();
    let outcome = match is_own {
        true => lock_converted(store, transaction, &mtr, &position)?,
        false => lock_clustered(store, transaction, &mtr, index, &position, mode)?,
    };
    if outcome == LockOutcome::Wait {
        mtr.commit();
        store.wait_for_lock(session)?;
        return Ok(false);
    }
    buffers.copy_row(table, &position, &mtr);
    let record = position.record(&mtr);
    buffers.vector.difference(table.layout(), record, row);
    let change = Change {
        store,
        table,
        unmark: true,
    };
    if !change.on_leaf(mtr, transaction, buffers, position)? {
        change.in_tree(context, buffers, transaction.id())?;
    }
    Ok(true)
}
