//! INSERT: a row into the clustered index, then an entry into each secondary one.
//!
//! ```text
//!   1  search the leaf for the key                  it is there: locked? delete-marked?
//!   2  is the gap locked by somebody?               then wait
//!   3  undo record: "7 was inserted"                roll pointer
//!   4  record with DB_TRX_ID and DB_ROLL_PTR        into the leaf, split if need be
//!   5  entries into k_1, ...
//! ```
//!
//! The new record needs no lock object: it carries the id of a transaction that is active,
//! and everybody who wants it finds that out.
//!
//! If the key is there but delete-marked, by the transaction itself or by one that has
//! committed and is not purged yet, the old record becomes the new row: its older versions
//! may still be wanted, and hang on it.

use super::dictionary::Table;
use super::error::TableError;
use super::fields::{FieldBuffer, Fields};
use super::layout::SystemFields;
use super::locking::{lock_clustered, lock_converted};
use super::secondary::{check_insert, insert_entry};
use super::store::{RowSession, RowStore};
use super::undo_write;
use crate::btree::{
    BtreeLatch, Position, TreeIntention, optimistic_insert, pessimistic_insert, search_leaf,
};
use crate::lock::{InsertCheck, LockOutcome, LockStrength, RecordLockKind, RecordLockMode};
use crate::metrics::Counter;
use crate::page::{RollPointer, SearchMode};
use crate::redo_log::MiniTransaction;
use crate::runtime::{Cost, cpu};
use crate::transaction::Transaction;

/// Inserts a row, whose stored columns are given in the table's order.
///
/// # Errors
/// [`TableError::DuplicateKey`] if there is a row of that key; or if a page or a lock
/// cannot be had. What was done of the statement is to be rolled back then.
pub fn insert(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    row: &FieldBuffer,
) -> Result<(), TableError> {
    cpu(Cost::RowBuild);
    store
        .transactions
        .become_read_write(&mut session.transaction)?;
    store.intend(session, table, LockStrength::Exclusive)?;
    insert_row(store, session, table, row)?;
    let shard = store.pages.metrics.shard(session.context.shard());
    shard.increment(Counter::RowsInserted);
    Ok(())
}

/// As [`insert`], without a count: an update of a primary key inserts, too.
pub(super) fn insert_row(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    row: &FieldBuffer,
) -> Result<(), TableError> {
    insert_clustered(store, session, table, row)?;
    for (index, layout) in table.secondary_with_layouts() {
        let columns = layout.columns().iter();
        let entry: Fields<'_> = columns.map(|&column| row.get(column)).collect();
        insert_entry(store, session, index, &entry)?;
    }
    Ok(())
}

/// What a look at the place of a new record has led to.
enum Place {
    /// It can be inserted.
    Free,
    /// A delete-marked record of the key is there, and locked for this transaction.
    Marked,
    /// A row of the key is there.
    Taken,
    /// Somebody has a lock: wait, and look again.
    Wait,
}

fn look(
    store: &RowStore,
    transaction: &mut Transaction,
    mtr: &MiniTransaction<'_>,
    table: &Table,
    position: &Position,
) -> Result<Place, TableError> {
    let index = &**table.clustered();
    if position.is_at_record() && position.matched == index.format.key_fields() {
        // Whoever inserted or deleted it may still be rolled back.
        let mode = RecordLockMode::new(LockStrength::Shared, RecordLockKind::Record);
        if lock_clustered(store, transaction, mtr, index, position, mode)? == LockOutcome::Wait {
            return Ok(Place::Wait);
        }
        if !position.record(mtr).is_delete_marked() {
            return Ok(Place::Taken);
        }
        // Who had it implicitly has an explicit lock since, and the page has been latched.
        let outcome = lock_converted(store, transaction, mtr, position)?;
        return Ok(match outcome {
            LockOutcome::Granted => Place::Marked,
            LockOutcome::Wait => Place::Wait,
        });
    }
    let check = check_insert(store, transaction, mtr, position)?;
    Ok(match check {
        // What is locked of the gap the tree reports to the lock system.
        InsertCheck::Free | InsertCheck::Inherit => Place::Free,
        InsertCheck::Wait => Place::Wait,
    })
}

fn insert_clustered(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    row: &FieldBuffer,
) -> Result<(), TableError> {
    let index = &**table.clustered();
    let layout = table.layout();
    let key_columns = layout.definition().primary_key.iter();
    let key: Fields<'_> = key_columns.map(|&column| row.get(column)).collect();
    // A record with any system fields has the same length: if it cannot be built, that is
    // found out before anything is changed.
    let mut system = SystemFields::new(session.transaction.id(), RollPointer::NO_HISTORY);
    build(session, table, row, &system)?;
    let mut latch = BtreeLatch::ModifyLeaf;
    let mut undo = None;
    loop {
        let RowSession {
            transaction,
            context,
            buffers,
            ..
        } = &mut *session;
        let mut mtr = store.pages.begin(context);
        let position = search_leaf(&mut mtr, index, &key, SearchMode::LessOrEqual, latch)?;
        match look(store, transaction, &mtr, table, &position)? {
            Place::Free => {}
            Place::Wait => {
                mtr.commit();
                store.wait_for_lock(session)?;
                continue;
            }
            Place::Taken => {
                mtr.commit();
                return Err(duplicate(table, &key));
            }
            Place::Marked => {
                mtr.commit();
                let revived = super::update::revive(store, session, table, &key, row)?;
                if revived {
                    return Ok(());
                }
                continue;
            }
        };
        let roll_pointer = match undo {
            Some(roll_pointer) => roll_pointer,
            None => undo_write::insert(store, transaction, table, &key)?,
        };
        undo = Some(roll_pointer);
        system = SystemFields::new(transaction.id(), roll_pointer);
        let fields = layout.clustered_fields(|column| row.get(column), &system);
        let built = index.format.build(&fields, &mut buffers.record);
        debug_assert_eq!(built, Ok(()), "it was built before");
        let changer = store.changer(transaction.id());
        let image = buffers.record.image();
        if latch == BtreeLatch::ModifyLeaf {
            let inserted = optimistic_insert(&mut mtr, index, &position, image, changer);
            mtr.commit();
            if inserted.is_some() {
                return Ok(());
            }
            latch = BtreeLatch::ModifyTree(TreeIntention::Insert);
        } else {
            let inserted = pessimistic_insert(&mut mtr, index, &position, image, changer);
            mtr.commit();
            inserted?;
            return Ok(());
        }
    }
}

fn build(
    session: &mut RowSession,
    table: &Table,
    row: &FieldBuffer,
    system: &SystemFields,
) -> Result<(), TableError> {
    let layout = table.layout();
    let fields = layout.clustered_fields(|column| row.get(column), system);
    let built = layout
        .clustered()
        .build(&fields, &mut session.buffers.record);
    built.map_err(|source| {
        let table = table.name().into();
        super::RowError::Record { table, source }.into()
    })
}

fn duplicate(table: &Table, key: &Fields<'_>) -> TableError {
    let definition = table.definition();
    let values = definition.primary_key.iter().zip(key.iter());
    let texts = values.map(|(&column, field)| match field {
        Some(bytes) => {
            let column_type = definition.columns[column].column_type;
            column_type.decode(bytes).to_string()
        }
        None => "NULL".to_owned(),
    });
    TableError::DuplicateKey {
        table: definition.name.as_str().into(),
        entry: texts.collect::<Vec<_>>().join("-"),
    }
}
