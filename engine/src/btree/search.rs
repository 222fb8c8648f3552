//! From the root to a leaf.
//!
//! ```text
//!   index S, root S ──> node S ──> leaf S or X       then index and path are let go
//! ```
//!
//! Whoever searches holds each page of its path until it has the leaf, so that nobody
//! changes the path behind its back. Searching for a place to change *which pages* the
//! tree has is another matter: see [`change`](super::change).

use super::change::{Path, search_for_change};
use super::error::BtreeError;
use super::index::{Index, LEVELS_MAX};
use crate::page::index_header::{INFIMUM, SUPREMUM};
use crate::page::record_compare::KeyField;
use crate::page::{IndexPage, PageNumber, Record, RecordFormat, SearchMode, SearchResult};
use crate::redo_log::{MiniTransaction, PageHandle};
use crate::runtime::{Cost, LatchMode, cpu_times};

/// What a search latches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BtreeLatch {
    /// The leaf in S: to read.
    SearchLeaf,
    /// The leaf in X: to change records as long as the page stays the same.
    ModifyLeaf,
    /// The tree, and in X all pages that the change may touch.
    ModifyTree(TreeIntention),
}

/// What is to be done to a tree: how far up a change may reach depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeIntention {
    /// A page may be split.
    Insert,
    /// A page may be merged or taken out.
    Delete,
    /// Either: an update that changes a record's length.
    Both,
}

/// A place in a leaf that the mini-transaction holds.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// The leaf.
    pub leaf: PageHandle,
    /// The record; infimum or supremum if the leaf has none that fits.
    pub origin: u16,
    /// How many leading fields of the key are equal to that record's.
    pub matched: usize,
    /// The pages above the leaf, if the tree is to be changed.
    pub(super) path: Path,
}

impl Position {
    /// A place in a leaf that is held; of no use for a change of the tree.
    pub fn at(leaf: PageHandle, origin: u16, matched: usize) -> Position {
        Position {
            leaf,
            origin,
            matched,
            path: Path::EMPTY,
        }
    }

    /// Whether it is at a record, not at an end of the page.
    pub fn is_at_record(&self) -> bool {
        self.origin != INFIMUM && self.origin != SUPREMUM
    }

    /// The record.
    ///
    /// # Panics
    /// If it is not at a record.
    pub fn record<'t>(&self, mtr: &'t MiniTransaction<'_>) -> Record<'t> {
        assert!(self.is_at_record(), "the position is at the end of a page");
        mtr.index_page(self.leaf).record(self.origin)
    }
}

/// The search of one page, at its price.
#[inline]
pub(super) fn search_page(
    page: IndexPage<'_>,
    format: &RecordFormat,
    key: &[KeyField<'_>],
    mode: SearchMode,
) -> SearchResult {
    // Halving the directory, then at most seven records, half of them on average.
    let halvings = usize::BITS - page.slot_count().leading_zeros();
    cpu_times(Cost::RecordCompare, u64::from(halvings) + 3);
    page.search(format, key, mode)
}

/// The mode in which the pages above the leaves are searched.
#[inline]
pub(super) fn upper_mode(mode: SearchMode) -> SearchMode {
    match mode {
        SearchMode::Less | SearchMode::GreaterOrEqual => SearchMode::Less,
        SearchMode::LessOrEqual | SearchMode::Greater => SearchMode::LessOrEqual,
    }
}

/// The node pointer to follow. The first record of a page serves for keys below it.
#[inline]
pub(super) fn pointer_to_follow(
    page: IndexPage<'_>,
    format: &RecordFormat,
    key: &[KeyField<'_>],
    mode: SearchMode,
) -> u16 {
    match search_page(page, format, key, mode).origin {
        INFIMUM => page.first_record(),
        origin => origin,
    }
}

/// Searches a tree down to its leaf. The key may have fewer fields than the index's key,
/// even none: then the first or the last record is found.
///
/// After [`BtreeLatch::SearchLeaf`] and [`BtreeLatch::ModifyLeaf`] only the leaf is held.
/// The mini-transaction must hold nothing of the tree before a search with
/// [`BtreeLatch::ModifyTree`].
///
/// # Errors
/// If a page cannot be had, or is not what its parent says.
pub fn search_leaf(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    key: &[KeyField<'_>],
    mode: SearchMode,
    latch: BtreeLatch,
) -> Result<Position, BtreeError> {
    let leaf_mode = match latch {
        BtreeLatch::SearchLeaf => LatchMode::S,
        BtreeLatch::ModifyLeaf => LatchMode::X,
        BtreeLatch::ModifyTree(intention) => {
            return search_for_change(mtr, index, key, mode, intention);
        }
    };
    mtr.hold(&index.latch, LatchMode::S);
    let mut path = [None; LEVELS_MAX];
    let mut page = fix_root(mtr, index, leaf_mode)?;
    let upper = upper_mode(mode);
    let mut level = mtr.index_page(page).level();
    while level > 0 {
        let child = {
            let view = mtr.index_page(page);
            let origin = pointer_to_follow(view, &index.format, key, upper);
            child_of(index, view, origin)?
        };
        path[usize::from(level)] = Some(page);
        level -= 1;
        let latch = if level == 0 { leaf_mode } else { LatchMode::S };
        page = mtr.fix(index.page_id(child), latch)?;
        index.check_page(mtr, page, Some(level))?;
    }
    for page in path.into_iter().flatten() {
        mtr.release(page);
    }
    mtr.release_latch(&index.latch);
    let found = search_page(mtr.index_page(page), &index.format, key, mode);
    Ok(Position::at(page, found.origin, found.matched))
}

/// The root, in S; in the leaf's mode if it is a leaf. Its level may change as long as it
/// is not held.
fn fix_root(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    leaf_mode: LatchMode,
) -> Result<PageHandle, BtreeError> {
    let id = index.page_id(index.root);
    let mut mode = LatchMode::S;
    loop {
        let root = mtr.fix(id, mode)?;
        index.check_page(mtr, root, None)?;
        let wanted = match mtr.index_page(root).level() {
            0 => leaf_mode,
            _ => LatchMode::S,
        };
        if wanted == mode {
            return Ok(root);
        }
        mtr.release(root);
        mode = wanted;
    }
}

/// The child of a node pointer.
#[inline]
pub(super) fn child_of(
    index: &Index,
    page: IndexPage<'_>,
    origin: u16,
) -> Result<PageNumber, BtreeError> {
    let record = page.record(origin);
    if origin == SUPREMUM || !record.is_node_pointer() {
        let found = page.record_count() as u64;
        return Err(index.damaged(
            page.page_id(),
            "the number of node pointers of a page above the leaves",
            found,
            1u32,
        ));
    }
    Ok(record.child(&index.format))
}
