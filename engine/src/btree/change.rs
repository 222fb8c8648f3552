//! Which pages a change of the tree may touch, found out and latched before it begins.
//!
//! One task at a time changes which pages a tree has: it holds the tree's latch in SX.
//! Pages above the leaves are changed by nobody else, and no page enters or leaves the
//! tree. So the task reads its path first, a page at a time, and sees from each page
//! whether a change below can reach it:
//!
//! ```text
//!   root      has room for a node pointer: safe           X
//!   node      full: may be split                  left X, X, right X
//!   leaf      to be split                         left X, X, right X
//!             then latched, from the top down and from left to right
//! ```
//!
//! A page is *safe* if the change of one node pointer ends there: for an insert if it has
//! room for the longest one; for a delete if it stays at least half full without one, and
//! the pointer is not its first (whose key its own parent repeats), and it is not alone on
//! its level (or the root may take it in). A page that is not
//! safe may be split, merged or taken out, which changes its neighbours' links. The first
//! safe page on the way up is the last that is latched.
//!
//! Readers that come from the root wait at the topmost of these pages; who is already
//! below reads on.

use super::error::BtreeError;
use super::index::{Index, LEVELS_MAX};
use super::search::{
    Position, TreeIntention, child_of, pointer_to_follow, search_page, upper_mode,
};
use crate::page::record_compare::KeyField;
use crate::page::{IndexPage, PageNumber, SearchMode};
use crate::redo_log::{MiniTransaction, PageHandle};
use crate::runtime::LatchMode;

/// The pages from the root down to a leaf, by level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pages: [PageNumber; LEVELS_MAX],
    height: usize,
}

impl Path {
    /// Of a search that does not change the tree.
    pub(super) const EMPTY: Path = Path {
        pages: [PageNumber::NULL; LEVELS_MAX],
        height: 0,
    };

    /// Number of levels.
    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// The page of a level.
    pub(super) fn page(&self, level: usize) -> PageNumber {
        assert!(level < self.height, "the search was not for a tree change");
        self.pages[level]
    }

    /// The way goes over another page of a level, after a split.
    pub(super) fn set(&mut self, level: usize, page: PageNumber) {
        self.pages[level] = page;
    }

    /// The root has moved up: its old level has a new page.
    pub(super) fn raise(&mut self, root: PageNumber, child: PageNumber) {
        self.pages[self.height - 1] = child;
        self.pages[self.height] = root;
        self.height += 1;
    }

    /// The root has taken in its only child.
    pub(super) fn lower(&mut self, root: PageNumber) {
        self.height -= 1;
        self.pages[self.height - 1] = root;
    }
}

/// A page of the path, as it was read.
#[derive(Clone, Copy)]
struct Step {
    page: PageNumber,
    previous: Option<PageNumber>,
    next: Option<PageNumber>,
    /// The change of a node pointer ends here.
    safe: bool,
}

/// Searches for a place to change the tree; see the module's opening.
pub(super) fn search_for_change(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    key: &[KeyField<'_>],
    mode: SearchMode,
    intention: TreeIntention,
) -> Result<Position, BtreeError> {
    debug_assert!(
        mtr.held_page(index.page_id(index.root)).is_none(),
        "nothing of the tree may be held"
    );
    mtr.hold(&index.latch, index.change_latch);
    let mut steps = [None; LEVELS_MAX];
    let upper = upper_mode(mode);
    let mut page = index.root;
    let mut expected = None;
    let height = loop {
        let handle = mtr.fix(index.page_id(page), LatchMode::S)?;
        index.check_page(mtr, handle, expected)?;
        let view = mtr.index_page(handle);
        let level = view.level();
        let mut step = Step {
            page,
            previous: view.previous_page(),
            next: view.next_page(),
            safe: false,
        };
        let mut child = PageNumber::NULL;
        if level > 0 {
            let origin = pointer_to_follow(view, &index.format, key, upper);
            child = child_of(index, view, origin)?;
            step.safe = is_safe(index, view, origin, intention);
        }
        steps[usize::from(level)] = Some(step);
        mtr.release(handle);
        let height = usize::from(level) + 1;
        match level {
            0 => break steps.iter().flatten().count().max(height),
            _ => (page, expected) = (child, Some(level - 1)),
        }
    };
    latch(mtr, index, &steps, height)?;

    let mut path = Path::EMPTY;
    path.height = height;
    for (place, step) in path.pages.iter_mut().zip(steps.iter().flatten()) {
        *place = step.page;
    }
    let leaf = mtr.fix(index.page_id(path.page(0)), LatchMode::X)?;
    let found = search_page(mtr.index_page(leaf), &index.format, key, mode);
    Ok(Position {
        leaf,
        origin: found.origin,
        matched: found.matched,
        path,
    })
}

/// Whether the change of a node pointer, at `origin` or after it, ends at this page.
fn is_safe(index: &Index, page: IndexPage<'_>, origin: u16, intention: TreeIntention) -> bool {
    let size = index.node_pointer_size_max();
    let has_room = page.max_insert_size_after_reorganise(1) >= size;
    let is_root = page.page_id().page == index.root;
    let has_siblings = page.previous_page().is_some() || page.next_page().is_some();
    let stays = page.record_count() > 2
        && (is_root || has_siblings)
        && page.data_size() >= index.merge_size() + size
        && origin != page.first_record();
    match intention {
        TreeIntention::Insert => has_room,
        // If the first key of a page below changes, its pointer here may grow.
        TreeIntention::Delete | TreeIntention::Both => has_room && stays,
    }
}

/// Latches what the change may touch, from the top down and from left to right.
fn latch(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    steps: &[Option<Step>; LEVELS_MAX],
    height: usize,
) -> Result<(), BtreeError> {
    let is_safe = |level: &usize| steps[*level].is_none_or(|step| step.safe);
    let top = (1..height).find(is_safe).unwrap_or(height - 1);
    for (level, step) in steps[..=top].iter().enumerate().rev() {
        let Some(step) = step else { continue };
        let (left, right) = match step.safe {
            true => (None, None),
            false => (step.previous, step.next),
        };
        for page in [left, Some(step.page), right].into_iter().flatten() {
            let handle = mtr.fix(index.page_id(page), LatchMode::X)?;
            index.check_page(mtr, handle, Some(level as u16))?;
        }
    }
    Ok(())
}

/// A tree while it is changed: the index and the way to the leaf.
pub(super) struct TreeChange<'t> {
    pub(super) index: &'t Index,
    pub(super) path: Path,
    pub(super) changer: super::Changer<'t>,
}

impl TreeChange<'_> {
    /// A page that the search has latched.
    pub(super) fn held(
        &self,
        mtr: &mut MiniTransaction<'_>,
        page: PageNumber,
    ) -> Result<PageHandle, BtreeError> {
        let id = self.index.page_id(page);
        match mtr.held_page(id) {
            Some(handle) if mtr.mode(handle) == LatchMode::X => Ok(handle),
            _ => Err(self.index.damaged(
                id,
                "a page that a change reaches, but that was not foreseen",
                page.0,
                self.path.page(0).0,
            )),
        }
    }

    /// The page of a level of the path.
    pub(super) fn at_level(
        &self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
    ) -> Result<PageHandle, BtreeError> {
        self.held(mtr, self.path.page(level))
    }

    pub(super) fn is_root(&self, mtr: &MiniTransaction<'_>, page: PageHandle) -> bool {
        mtr.page_id(page).page == self.index.root
    }
}
