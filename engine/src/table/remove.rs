//! Taking records out of trees for good, where nobody's history needs them.
//!
//! Rollback takes out what the transaction inserted; purge what is delete-marked. An entry
//! of a secondary index may be needed although its row has another value now: by a reader
//! with an old view, who finds the row by it. So before an entry goes, the versions of its
//! row are looked through:
//!
//! ```text
//!   k_1 (41, 7)*      row 7:  k=43 (newest)   k=42   k=41 (seen by all: end of the walk)
//!                                                    has the entry: it stays, marked
//! ```
//!
//! The entry's leaf is latched during the walk. A transaction that is about to give the
//! row this entry again has either changed the row, which the walk sees, or will find the
//! entry gone and insert it.

use super::dictionary::Table;
use super::error::TableError;
use super::fields::Fields;
use super::layout::SecondaryLayout;
use super::store::RowStore;
use super::versions::History;
use crate::btree::{
    BtreeLatch, Index, Position, TreeIntention, optimistic_remove, pessimistic_remove, search_leaf,
    set_delete_mark,
};
use crate::page::SearchMode;
use crate::page::record_compare::KeyField;
use crate::redo_log::{MiniTransaction, MiniTransactionContext};

/// What becomes of an entry that its row's history still needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IfNeeded {
    /// It is delete-marked: rollback takes an entry away.
    Mark,
    /// It stays as it is: purge found it marked.
    Keep,
}

/// Searches for a record by its whole key; `None` if it is not there.
pub(super) fn find(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    key: &[KeyField<'_>],
    latch: BtreeLatch,
) -> Result<Option<Position>, TableError> {
    let position = search_leaf(mtr, index, key, SearchMode::LessOrEqual, latch)?;
    let is_there = position.is_at_record() && position.matched == key.len();
    Ok(is_there.then_some(position))
}

/// Takes a record out that `is_wanted` agrees to, looked at under its leaf's latch. The
/// predicate may take latches of other trees, and change the record.
pub(super) fn remove_if(
    store: &RowStore,
    context: &mut MiniTransactionContext,
    index: &Index,
    key: &[KeyField<'_>],
    mut agrees: impl FnMut(&mut MiniTransaction<'_>, &Position) -> Result<bool, TableError>,
) -> Result<(), TableError> {
    let changer = store.changer(0);
    let attempts = [
        BtreeLatch::ModifyLeaf,
        BtreeLatch::ModifyTree(TreeIntention::Delete),
    ];
    for latch in attempts {
        let mut mtr = store.pages.begin(context);
        let Some(position) = find(&mut mtr, index, key, latch)? else {
            mtr.commit();
            return Ok(());
        };
        let agreed = agrees(&mut mtr, &position);
        if !matches!(agreed, Ok(true)) {
            mtr.commit();
            return agreed.map(|_| ());
        }
        let removed = match latch {
            BtreeLatch::ModifyLeaf => Ok(optimistic_remove(&mut mtr, index, &position, changer)),
            _ => pessimistic_remove(&mut mtr, index, &position, changer).map(|()| true),
        };
        mtr.commit();
        if removed? {
            return Ok(());
        }
    }
    Ok(())
}

/// Takes an entry of a row out of a secondary index, unless a version of the row needs it:
/// an older one, or (for purge, which looks at rows that go on living) the newest.
pub(super) fn remove_entry(
    store: &RowStore,
    context: &mut MiniTransactionContext,
    table: &Table,
    (index, of_index): (&Index, &SecondaryLayout),
    entry: &[KeyField<'_>],
    if_needed: IfNeeded,
) -> Result<(), TableError> {
    let key: Fields<'_> = of_index.primary_key_of(entry);
    let mut history = History::default();
    remove_if(store, context, index, entry, |mtr, position| {
        let is_marked = position.record(mtr).is_delete_marked();
        if if_needed == IfNeeded::Keep && !is_marked {
            return Ok(false);
        }
        let also_newest = if_needed == IfNeeded::Keep;
        let savepoint = mtr.savepoint();
        let row = find(mtr, table.clustered(), &key, BtreeLatch::SearchLeaf)?;
        let needed = match row {
            None => false,
            Some(row) => {
                let place = (&mut *mtr, &row);
                history.has_entry(store, table, place, (of_index, entry), also_newest)?
            }
        };
        mtr.release_since(savepoint);
        if needed && if_needed == IfNeeded::Mark && !is_marked {
            set_delete_mark(mtr, index, position, true, None, store.changer(0));
        }
        Ok(!needed)
    })
}
