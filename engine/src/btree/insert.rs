//! Inserting a record.
//!
//! Optimistic: the leaf has room. That is decided with nothing but the leaf latched, and
//! is the case for all but about one in seventy inserts of a table with rows of 200
//! bytes. Pessimistic: the leaf must be split, and with it perhaps pages above.

use super::change::TreeChange;
use super::error::BtreeError;
use super::index::Index;
use super::lock_hooks::Changer;
use super::reorganise::reorganise;
use super::search::Position;
use super::split_point::{InsertPattern, insert_pattern};
use crate::metrics::Counter;
use crate::page::index_header::{CLUSTERED_LEAF_RESERVE, INFIMUM};
use crate::page::{IndexPage, PAGE_SIZE, RecordImage};
use crate::page_allocation::{ReservePurpose, reserve_free_extents};
use crate::redo_log::{MiniTransaction, PageHandle};
use crate::runtime::{Cost, cpu};

/// A page with less free space than this, all garbage included, is not reorganised for
/// an insert: the next one would not find room (`BTR_CUR_PAGE_REORGANIZE_LIMIT`).
pub(super) const REORGANISE_LIMIT: usize = PAGE_SIZE / 32;

/// Inserts a record after the position, which a search for its key with
/// [`LessOrEqual`](crate::page::SearchMode::LessOrEqual) found, if its leaf has room.
/// Returns its origin, or `None`: then the position is as it was, and the insert must be
/// tried pessimistically in a new mini-transaction.
///
/// The leaf is held in X.
pub fn optimistic_insert(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    position: &Position,
    image: RecordImage<'_>,
    changer: Changer<'_>,
) -> Option<u16> {
    let page = mtr.index_page(position.leaf);
    if !has_room(index, page, position.origin, image.size()) {
        return None;
    }
    let origin = insert_on_page(mtr, index, position.leaf, position.origin, image, changer)?;
    note_insert(mtr, index, position.leaf, origin, changer);
    Some(origin)
}

/// Whether an insert may go to this page (`btr_cur_optimistic_insert`).
fn has_room(index: &Index, page: IndexPage<'_>, after: u16, size: usize) -> bool {
    let at_once = page.max_insert_size(1);
    let in_all = page.max_insert_size_after_reorganise(1);
    if in_all < size {
        return false;
    }
    if page.garbage() > 0 && in_all < REORGANISE_LIMIT && page.record_count() > 1 && at_once < size
    {
        return false;
    }
    // Rows grow when they are updated: pages that are filled in order keep a reserve.
    let in_order = insert_pattern(page, after) != InsertPattern::None;
    let keeps_reserve = index.is_clustered() && page.is_leaf() && page.record_count() >= 2;
    !(keeps_reserve && in_order && CLUSTERED_LEAF_RESERVE + size > in_all)
}

/// Puts a record on a page if that has room for it, at least after a reorganisation.
pub(super) fn insert_on_page(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    page: PageHandle,
    after: u16,
    image: RecordImage<'_>,
    changer: Changer<'_>,
) -> Option<u16> {
    cpu(Cost::RecordInsert);
    let inserted = mtr.writer(page).insert_record(&index.format, after, image);
    if inserted.is_some() {
        return inserted;
    }
    let view = mtr.index_page(page);
    if view.max_insert_size_after_reorganise(1) < image.size() || view.garbage() == 0 {
        return None;
    }
    let place = match after {
        INFIMUM => 0,
        after => view.records_before(after) + 1,
    };
    reorganise(mtr, index, page, changer);
    let after = nth_or_infimum(mtr.index_page(page), place);
    mtr.writer(page).insert_record(&index.format, after, image)
}

/// The record after which a record number `place` comes.
pub(super) fn nth_or_infimum(page: IndexPage<'_>, place: usize) -> u16 {
    match place {
        0 => INFIMUM,
        place => page.nth_record(place - 1),
    }
}

/// After a leaf has got a record: locks, and who changed the page.
pub(super) fn note_insert(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    leaf: PageHandle,
    origin: u16,
    changer: Changer<'_>,
) {
    note_change(mtr, index, leaf, changer);
    let page = mtr.index_page(leaf);
    if !page.is_leaf() {
        return;
    }
    let id = page.page_id();
    let record = page.record(origin);
    let next = page.record(record.next());
    changer
        .locks
        .record_inserted(id, record.heap_number(), next.heap_number());
}

/// A transaction has changed a leaf: secondary pages remember the highest one.
pub(super) fn note_change(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    leaf: PageHandle,
    changer: Changer<'_>,
) {
    if !index.is_clustered() && mtr.index_page(leaf).is_leaf() {
        mtr.writer(leaf).raise_max_trx_id(changer.trx_id);
    }
}

/// Inserts a record after the position, which a search with
/// [`ModifyTree`](super::BtreeLatch::ModifyTree) found; splits pages if need be. Returns
/// the leaf and the record's origin.
///
/// # Errors
/// If there is no room in the tablespace, or a page cannot be had. An error that comes
/// before the first change leaves the tree as it was.
pub fn pessimistic_insert(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    position: &Position,
    image: RecordImage<'_>,
    changer: Changer<'_>,
) -> Result<(PageHandle, u16), BtreeError> {
    if let Some(origin) = optimistic_insert(mtr, index, position, image, changer) {
        return Ok((position.leaf, origin));
    }
    reserve(mtr, index, position.path.height(), ReservePurpose::Normal)?;
    let mut change = TreeChange {
        index,
        path: position.path,
        changer,
    };
    let (leaf, origin) = change.split_and_insert(mtr, 0, position.leaf, position.origin, image)?;
    note_insert(mtr, index, leaf, origin, changer);
    Ok((leaf, origin))
}

/// Makes sure that a split finds pages for all levels (`btr_cur_pessimistic_insert`).
pub(super) fn reserve(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    height: usize,
    purpose: ReservePurpose,
) -> Result<(), BtreeError> {
    let height = height as u32;
    reserve_free_extents(mtr, index.space, height / 16 + 3, height + 2, purpose)?;
    Ok(())
}

/// Counts an event of the tree.
pub(super) fn count(mtr: &MiniTransaction<'_>, counter: Counter) {
    mtr.pages().metrics.shard(mtr.shard()).increment(counter);
}
