//! Reading rows: by primary key, by ranges of it, and by ranges of a secondary index.
//!
//! ```text
//!   consistent    the version that the transaction's view sees; no locks
//!                   record seen?  yes: it is the row       no: back along its history
//!
//!   by k_1        entry -> page changed by nobody the view does not see, not marked: it is good
//!                       -> else ask the clustered record, and see whether its visible
//!                          version has this entry at all
//!
//!   locking       the newest version; each record scanned is locked: see `locking`
//! ```
//!
//! Rows are handed to the caller where they lie on their page, which is latched as long
//! as the call takes.

use super::dictionary::Table;
use super::error::TableError;
use super::layout::Row;
use super::locking::{self, ReadLock, RowLock};
use super::store::{RowSession, RowStore};
use crate::btree::{BtreeLatch, Index, Position, move_next, search_leaf};
use crate::metrics::Counter;
use crate::page::SearchMode;
use crate::page::record_compare::KeyField;
use crate::redo_log::MiniTransaction;
use crate::runtime::{Cost, cpu};
use crate::sysvar::TransactionIsolation;
use crate::transaction::Transaction;

/// A range of an index: from the first to the last key, both included. A key may have
/// fewer fields than the index: none at all stands for the end of the index.
#[derive(Clone, Copy, Debug)]
pub struct KeyRange<'a> {
    /// The first key.
    pub first: &'a [KeyField<'a>],
    /// The last key.
    pub last: &'a [KeyField<'a>],
}

/// What is read through a secondary index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexReading {
    /// The columns that the index has; the rows themselves are looked at only where that
    /// is the way to know whether the entry is visible.
    Covering,
    /// The rows.
    Rows,
}

/// Opens the view that a consistent read needs; READ UNCOMMITTED reads without.
pub(super) fn open_view(store: &RowStore, transaction: &mut Transaction) {
    if transaction.isolation() != TransactionIsolation::ReadUncommitted {
        store.transactions.open_view(transaction);
    }
}

/// The lock that a plain SELECT takes, if its isolation level wants one.
pub(super) fn effective_lock(transaction: &Transaction, lock: ReadLock) -> ReadLock {
    let serializable = transaction.isolation() == TransactionIsolation::Serializable;
    let single = transaction.options().autocommit_select;
    match lock {
        ReadLock::None if serializable && !single => ReadLock::Shared,
        lock => lock,
    }
}

/// Reads the row of a primary key. `None` if there is none, or the view does not see it.
///
/// # Errors
/// If a page or a lock cannot be had.
pub fn point_select<R>(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    key: &[KeyField<'_>],
    lock: ReadLock,
    take: impl FnOnce(&Row<'_>) -> R,
) -> Result<Option<R>, TableError> {
    match effective_lock(&session.transaction, lock) {
        ReadLock::None => consistent_point(store, session, table, key, take),
        lock => locking_point(store, session, table, key, lock, take),
    }
}

fn locking_point<R>(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    key: &[KeyField<'_>],
    lock: ReadLock,
    take: impl FnOnce(&Row<'_>) -> R,
) -> Result<Option<R>, TableError> {
    let (strength, latch) = (lock.strength(), BtreeLatch::SearchLeaf);
    store.intend(session, table, strength)?;
    loop {
        let transaction = &mut session.transaction;
        let mut mtr = store.pages.begin(&mut session.context);
        match locking::lock_row(store, transaction, &mut mtr, table, key, strength, latch)? {
            RowLock::Found(position) => {
                note_read(&mtr);
                let row = Row::clustered(table.layout(), position.record(&mtr));
                let taken = take(&row);
                mtr.commit();
                return Ok(Some(taken));
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

fn note_read(mtr: &MiniTransaction<'_>) {
    cpu(Cost::RowFetch);
    let metrics = &mtr.pages().metrics;
    metrics.shard(mtr.shard()).increment(Counter::RowsRead);
}

fn consistent_point<R>(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    key: &[KeyField<'_>],
    take: impl FnOnce(&Row<'_>) -> R,
) -> Result<Option<R>, TableError> {
    open_view(store, &mut session.transaction);
    let RowSession {
        transaction,
        context,
        buffers,
        ..
    } = session;
    let index = &**table.clustered();
    let mut mtr = store.pages.begin(context);
    let (mode, latch) = (SearchMode::LessOrEqual, BtreeLatch::SearchLeaf);
    let position = search_leaf(&mut mtr, index, key, mode, latch)?;
    if !position.is_at_record() || position.matched < key.len() {
        mtr.commit();
        return Ok(None);
    }
    let place = (&mut mtr, &position);
    let taken = buffers
        .history
        .read(store, transaction, table, place, take)?;
    if taken.is_some() {
        note_read(&mtr);
    }
    mtr.commit();
    Ok(taken)
}

/// Reads the rows of a range of primary keys, in their order. Returns how many there are.
///
/// # Errors
/// If a page or a lock cannot be had.
pub fn range_select(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    range: KeyRange<'_>,
    lock: ReadLock,
    mut each: impl FnMut(&Row<'_>),
) -> Result<u64, TableError> {
    let lock = effective_lock(&session.transaction, lock);
    if lock != ReadLock::None {
        let index = None;
        return locking::scan(store, session, table, index, range, lock.strength(), each);
    }
    open_view(store, &mut session.transaction);
    let RowSession {
        transaction,
        context,
        buffers,
        ..
    } = session;
    let index = &**table.clustered();
    let mut mtr = store.pages.begin(context);
    let mut position = first_of(&mut mtr, index, range)?;
    let mut rows = 0;
    while find_in_range(&mut mtr, index, &mut position, range)? {
        let place = (&mut mtr, &position);
        let history = &mut buffers.history;
        if history
            .read(store, transaction, table, place, &mut each)?
            .is_some()
        {
            note_read(&mtr);
            rows += 1;
        }
        step(&mtr, &mut position);
    }
    mtr.commit();
    Ok(rows)
}

/// Reads a range of a secondary index, in the order of its entries. Returns how many rows
/// there are.
///
/// # Errors
/// If a page or a lock cannot be had.
pub fn index_range_select(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    index: usize,
    range: KeyRange<'_>,
    (reading, lock): (IndexReading, ReadLock),
    mut each: impl FnMut(&Row<'_>),
) -> Result<u64, TableError> {
    let lock = effective_lock(&session.transaction, lock);
    let (Some(tree), Some(of_index)) = (
        table.secondary().get(index),
        table.layout().secondary().get(index),
    ) else {
        return Err(TableError::no_index(table, index));
    };
    if lock != ReadLock::None {
        let index = Some(index);
        return locking::scan(store, session, table, index, range, lock.strength(), each);
    }
    open_view(store, &mut session.transaction);
    let RowSession {
        transaction,
        context,
        buffers,
        ..
    } = session;
    let layout = table.layout();
    let mut mtr = store.pages.begin(context);
    let mut position = first_of(&mut mtr, tree, range)?;
    let mut rows = 0;
    while find_in_range(&mut mtr, tree, &mut position, range)? {
        let page = mtr.index_page(position.leaf);
        let seen = match transaction.isolation() {
            TransactionIsolation::ReadUncommitted => true,
            _ => transaction.view().sees_page(page.max_trx_id()),
        };
        let entry = position.record(&mtr);
        let marked = entry.is_delete_marked();
        if seen && (marked || reading == IndexReading::Covering) {
            if !marked {
                note_read(&mtr);
                rows += 1;
                each(&Row::entry(layout, of_index, entry));
            }
            step(&mtr, &mut position);
            continue;
        }
        // The clustered record knows. The entry's page stays latched meanwhile; its key
        // is copied, as the mini-transaction is about to take more pages.
        buffers.place.copy(&of_index.format().key_of(entry));
        let entry = buffers.place.as_fields();
        let key = of_index.primary_key_of(&entry);
        let savepoint = mtr.savepoint();
        let (mode, latch) = (SearchMode::LessOrEqual, BtreeLatch::SearchLeaf);
        let found = search_leaf(&mut mtr, table.clustered(), &key, mode, latch)?;
        if found.is_at_record() && found.matched == key.len() {
            let place = (&mut mtr, &found);
            let take = |row: &Row<'_>| {
                let is_its = *of_index.entry_of_row(row) == *entry;
                if is_its {
                    each(row);
                }
                is_its
            };
            let history = &mut buffers.history;
            if history.read(store, transaction, table, place, take)? == Some(true) {
                note_read(&mtr);
                rows += 1;
            }
        }
        mtr.release_since(savepoint);
        step(&mtr, &mut position);
    }
    mtr.commit();
    Ok(rows)
}

/// The place before which a range begins.
pub(super) fn first_of(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    range: KeyRange<'_>,
) -> Result<Position, TableError> {
    let (mode, latch) = (SearchMode::GreaterOrEqual, BtreeLatch::SearchLeaf);
    Ok(search_leaf(mtr, index, range.first, mode, latch)?)
}

/// Goes on to the next page if the position is at the end of one; whether it is at a
/// record of the range then.
fn find_in_range(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    position: &mut Position,
    range: KeyRange<'_>,
) -> Result<bool, TableError> {
    while !position.is_at_record() {
        if !move_next(mtr, index, position)? {
            return Ok(false);
        }
    }
    cpu(Cost::RecordCompare);
    let record = position.record(mtr);
    Ok(index.format.compare(range.last, record).ordering.is_ge())
}

/// To the next record of the page, or its end.
#[inline]
pub(super) fn step(mtr: &MiniTransaction<'_>, position: &mut Position) {
    position.origin = mtr.index_page(position.leaf).next(position.origin);
}
