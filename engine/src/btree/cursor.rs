//! Walking over records from left to right, from leaf to leaf.
//!
//! The next leaf is latched before this one is given up, so no record is missed and none
//! is seen twice, whatever others do to the tree:
//!
//! ```text
//!   [10 20 30] ──> [40 50 60]
//!       S             S             both held for a moment, always left before right
//! ```

use super::error::BtreeError;
use super::index::Index;
use super::search::{BtreeLatch, Position, search_leaf};
use crate::page::SearchMode;
use crate::page::index_header::{INFIMUM, SUPREMUM};
use crate::page::record_compare::KeyField;
use crate::redo_log::MiniTransaction;
use crate::runtime::{Cost, cpu};

/// Moves a position to the next record, on the next leaf if need be. False at the end of
/// the index: the position is then at the supremum of the last leaf.
///
/// A leaf that is left is given up, unless it was changed.
///
/// # Errors
/// If a page cannot be had, or the leaves are not linked as they should be.
pub fn move_next(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    position: &mut Position,
) -> Result<bool, BtreeError> {
    cpu(Cost::RecordStep);
    let page = mtr.index_page(position.leaf);
    let mut next = match position.origin {
        SUPREMUM => SUPREMUM,
        origin => page.next(origin),
    };
    position.matched = 0;
    while next == SUPREMUM {
        let page = mtr.index_page(position.leaf);
        let this = page.page_id().page;
        let Some(next_page) = page.next_page() else {
            position.origin = SUPREMUM;
            return Ok(false);
        };
        let mode = mtr.mode(position.leaf);
        let leaf = mtr.fix(index.page_id(next_page), mode)?;
        index.check_page(mtr, leaf, Some(0))?;
        let view = mtr.index_page(leaf);
        if view.previous_page() != Some(this) {
            let found = view.previous_page().map_or(u32::MAX, |page| page.0);
            return Err(index.damaged(view.page_id(), "FIL_PAGE_PREV", found, this.0));
        }
        next = view.first_record();
        if !mtr.is_modified(position.leaf) {
            mtr.release(position.leaf);
        }
        position.leaf = leaf;
    }
    position.origin = next;
    Ok(true)
}

/// Goes to the first record that is not below the key (or above it, if `after`), with no
/// fields in the key to the first of all. `None` if there is none.
///
/// # Errors
/// As [`search_leaf`].
pub fn seek(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    key: &[KeyField<'_>],
    after: bool,
    latch: BtreeLatch,
) -> Result<Option<Position>, BtreeError> {
    let mode = match after {
        true => SearchMode::Greater,
        false => SearchMode::GreaterOrEqual,
    };
    let mut position = search_leaf(mtr, index, key, mode, latch)?;
    let found = match position.origin {
        INFIMUM | SUPREMUM => move_next(mtr, index, &mut position)?,
        _ => true,
    };
    if !found && !mtr.is_modified(position.leaf) {
        mtr.release(position.leaf);
    }
    Ok(found.then_some(position))
}
