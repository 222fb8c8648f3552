//! Entries of secondary indexes: inserted, delete-marked, and marked no more.
//!
//! ```text
//!   UPDATE k = 42 WHERE id = 7 (k was 41)
//!
//!   k_1:  (40, 3) (41, 7) (43, 5)          before
//!         (40, 3) (41, 7)* (42, 7) (43, 5)  after; * is delete-marked
//! ```
//!
//! An entry never changes its key: the old one is marked and a new one inserted. Readers
//! with an older view still find the row by the old one; purge removes it when nobody can
//! need it any more. If the row gets its old value back before that, the mark is taken
//! off again.

use super::error::TableError;
use super::locking::lock_converted;
use super::store::{RowSession, RowStore};
use crate::btree::{
    self, BtreeLatch, Index, Position, TreeIntention, optimistic_insert, pessimistic_insert,
    search_leaf,
};
use crate::lock::{InsertCheck, LockOutcome};
use crate::page::SearchMode;
use crate::page::record_compare::KeyField;
use crate::redo_log::MiniTransaction;
use crate::transaction::Transaction;

/// Gives a row its entry in a secondary index.
pub(super) fn insert_entry(
    store: &RowStore,
    session: &mut RowSession,
    index: &Index,
    entry: &[KeyField<'_>],
) -> Result<(), TableError> {
    let mut record = std::mem::take(&mut session.buffers.record);
    let built = index.format.build(entry, &mut record);
    let result = match built {
        Ok(()) => insert_image(store, session, index, entry, &record),
        Err(error) => Err(btree::BtreeError::from(error).into()),
    };
    session.buffers.record = record;
    result
}

fn insert_image(
    store: &RowStore,
    session: &mut RowSession,
    index: &Index,
    entry: &[KeyField<'_>],
    record: &crate::page::RecordBuffer,
) -> Result<(), TableError> {
    let mut latch = BtreeLatch::ModifyLeaf;
    loop {
        let mut mtr = store.pages.begin(&mut session.context);
        let position = search_leaf(&mut mtr, index, entry, SearchMode::LessOrEqual, latch)?;
        if position.is_at_record() && position.matched == entry.len() {
            if !position.record(&mtr).is_delete_marked() {
                return Err(TableError::contradiction(
                    index,
                    "a row's new entry is there already, and not delete-marked",
                ));
            }
            if lock_changed(store, &mut session.transaction, &mtr, &position)? == LockOutcome::Wait
            {
                mtr.commit();
                store.wait_for_lock(session)?;
                continue;
            }
            let changer = store.changer(session.transaction.id());
            btree::set_delete_mark(&mut mtr, index, &position, false, None, changer);
            mtr.commit();
            return Ok(());
        }
        if check_insert(store, &mut session.transaction, &mtr, &position)? == InsertCheck::Wait {
            mtr.commit();
            store.wait_for_lock(session)?;
            continue;
        }
        let changer = store.changer(session.transaction.id());
        let image = record.image();
        let inserted = match latch {
            BtreeLatch::ModifyLeaf => {
                Ok(optimistic_insert(&mut mtr, index, &position, image, changer).is_some())
            }
            _ => pessimistic_insert(&mut mtr, index, &position, image, changer).map(|_| true),
        };
        mtr.commit();
        if inserted? {
            return Ok(());
        }
        latch = BtreeLatch::ModifyTree(TreeIntention::Insert);
    }
}

/// Takes an entry away from a row whose clustered record the transaction has changed.
pub(super) fn delete_mark_entry(
    store: &RowStore,
    session: &mut RowSession,
    index: &Index,
    entry: &[KeyField<'_>],
) -> Result<(), TableError> {
    loop {
        let mut mtr = store.pages.begin(&mut session.context);
        let latch = BtreeLatch::ModifyLeaf;
        let position = search_leaf(&mut mtr, index, entry, SearchMode::LessOrEqual, latch)?;
        if !position.is_at_record() || position.matched < entry.len() {
            let what = "the entry of a row is missing";
            return Err(TableError::contradiction(index, what));
        }
        if lock_changed(store, &mut session.transaction, &mtr, &position)? == LockOutcome::Wait {
            mtr.commit();
            store.wait_for_lock(session)?;
            continue;
        }
        let changer = store.changer(session.transaction.id());
        btree::set_delete_mark(&mut mtr, index, &position, true, None, changer);
        mtr.commit();
        return Ok(());
    }
}

/// Asks whether a record may be inserted after a position.
pub(super) fn check_insert(
    store: &RowStore,
    transaction: &mut Transaction,
    mtr: &MiniTransaction<'_>,
    position: &Position,
) -> Result<InsertCheck, TableError> {
    let page = mtr.index_page(position.leaf);
    let successor = page.record(page.next(position.origin));
    let locks = &mut transaction.locks;
    let check = store
        .locks
        .check_insert(locks, page.page_id(), successor.heap_number())?;
    Ok(check)
}

/// Locks an entry that is about to be changed, if anybody has locks on its page.
///
/// Another transaction cannot have it implicitly: it would have to have changed the row,
/// whose clustered record is locked by this one. So a page without locks needs none
/// (`lock_sec_rec_modify_check_and_lock`).
fn lock_changed(
    store: &RowStore,
    transaction: &mut Transaction,
    mtr: &MiniTransaction<'_>,
    position: &Position,
) -> Result<LockOutcome, TableError> {
    if !store.locks.is_page_locked(mtr.page_id(position.leaf)) {
        return Ok(LockOutcome::Granted);
    }
    lock_converted(store, transaction, mtr, position)
}
