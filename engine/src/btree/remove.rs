//! Taking a record out of the tree: what purge does to a record that is marked, and
//! rollback to one that was inserted.
//!
//! Optimistic: the leaf stays at least half full. Pessimistic: it does not, and a
//! neighbour is looked for to merge with; or it becomes empty, and leaves the tree.

use super::change::TreeChange;
use super::error::BtreeError;
use super::index::Index;
use super::lock_hooks::Changer;
use super::search::Position;
use crate::page::IndexPage;
use crate::redo_log::{MiniTransaction, PageHandle};
use crate::runtime::{Cost, cpu};

/// Takes out the record at the position, whose leaf is held in X, if no merge is due then.
/// False if one is: nothing was done, and the removal must be tried pessimistically.
pub fn optimistic_remove(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    position: &Position,
    changer: Changer<'_>,
) -> bool {
    let page = mtr.index_page(position.leaf);
    let size = position.record(mtr).extent(&index.format).size();
    let id = page.page_id();
    if id.page != index.root && wants_merge(index, page, page.data_size() - size) {
        return false;
    }
    remove_from_page(mtr, index, position.leaf, position.origin, changer);
    true
}

/// Whether a page that is not the root is to be merged when it has records of so many
/// bytes (`btr_cur_can_delete_without_compress`).
pub(super) fn wants_merge(index: &Index, page: IndexPage<'_>, bytes: usize) -> bool {
    let is_alone = page.previous_page().is_none() && page.next_page().is_none();
    bytes < index.merge_size() || is_alone || page.record_count() < 2
}

/// Takes a record out of its leaf.
fn remove_from_page(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    leaf: PageHandle,
    origin: u16,
    changer: Changer<'_>,
) {
    cpu(Cost::RecordDelete);
    report_removal(mtr, leaf, origin, changer);
    mtr.writer(leaf).delete_record(&index.format, origin);
}

fn report_removal(mtr: &MiniTransaction<'_>, leaf: PageHandle, origin: u16, changer: Changer<'_>) {
    let page = mtr.index_page(leaf);
    let record = page.record(origin);
    let next = page.record(record.next()).heap_number();
    changer
        .locks
        .record_removed(page.page_id(), record.heap_number(), next);
}

/// Takes out the record at the position, which a search with
/// [`ModifyTree`](super::BtreeLatch::ModifyTree) for
/// [`Delete`](super::TreeIntention::Delete) found; merges pages and lowers the tree if
/// that is due. The position is void afterwards.
///
/// # Errors
/// If a page cannot be had, or the tree is damaged.
pub fn pessimistic_remove(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    position: &Position,
    changer: Changer<'_>,
) -> Result<(), BtreeError> {
    let mut change = TreeChange {
        index,
        path: position.path,
        changer,
    };
    let leaf = position.leaf;
    if !change.is_root(mtr, leaf) && mtr.index_page(leaf).record_count() == 1 {
        report_removal(mtr, leaf, position.origin, changer);
        return change.discard(mtr, 0, leaf);
    }
    remove_from_page(mtr, index, leaf, position.origin, changer);
    change.merge_if_useful(mtr, 0, leaf)?;
    Ok(())
}
