//! Merging a page with a neighbour, taking one out, and lowering the root.
//!
//! A page that is less than half full after a removal gives its records to a neighbour
//! under the same parent, if they fit there:
//!
//! ```text
//!   parent   ->L | ->P | ->R           ->L | ->R           to the left: P's pointer goes
//!   level    [L] <-> [P] <-> [R]  =>   [L P] <-> [R]
//!
//!   parent   ->P | ->R                 ->R                 to the right: P's pointer now
//!   level    [P] <-> [R]          =>   [P R]               leads to R, R's own goes
//! ```
//!
//! The pointer that goes is never the first of its page, so no key above has to change.
//! If both neighbours are too full the page stays as it is. An empty page leaves the tree;
//! if it was the only child of its parent, so does that. A page that is alone on its level
//! is taken in by the root.
//!
//! Where the first pointer of a page goes all the same (its child, above the leaves, left
//! the tree), the next one becomes the first, and the pointer to the page gets its key:
//! above the leaves a pointer's key equals the first key of the page it leads to.

use super::change::TreeChange;
use super::error::BtreeError;
use super::insert::{count, nth_or_infimum};
use super::lock_hooks::{LockedRecord, SUPREMUM_HEAP};
use super::remove::wants_merge;
use super::reorganise::reorganise;
use super::search::search_page;
use crate::metrics::Counter;
use crate::page::index_header::{INFIMUM, SUPREMUM};
use crate::page::{PageNumber, RecordBuffer, SearchMode, fil};
use crate::page_allocation::free_page;
use crate::redo_log::{MiniTransaction, PageHandle};
use crate::runtime::{Cost, cpu};

impl TreeChange<'_> {
    /// Merges a page of a level with a neighbour if it is less than half full, or lowers
    /// the root if it is alone. True if its records are on another page now.
    pub(super) fn merge_if_useful(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        page: PageHandle,
    ) -> Result<bool, BtreeError> {
        let view = mtr.index_page(page);
        if self.is_root(mtr, page) || !wants_merge(self.index, view, view.data_size()) {
            return Ok(false);
        }
        let (previous, next) = (view.previous_page(), view.next_page());
        if previous.is_none() && next.is_none() {
            self.lower_root(mtr, level)?;
            return Ok(true);
        }
        count(mtr, Counter::PageMergeAttempts);
        let parent = self.at_level(mtr, level + 1)?;
        let pointer = self.pointer_of(mtr, parent, page)?;
        let parent_view = mtr.index_page(parent);
        let is_first = pointer == parent_view.first_record();
        let next_pointer = parent_view.next(pointer);
        if let (false, Some(left)) = (is_first, previous) {
            let left = self.held(mtr, left)?;
            if self.make_room(mtr, page, left) {
                self.merge_left(mtr, level, page, left)?;
                count(mtr, Counter::PageMergesSuccessful);
                self.delete_pointer(mtr, level + 1, parent, pointer)?;
                return Ok(true);
            }
        }
        if let (true, Some(right)) = (next_pointer != SUPREMUM, next) {
            self.check_child(mtr, parent, next_pointer, right)?;
            let right_page = self.held(mtr, right)?;
            if self.make_room(mtr, page, right_page) {
                self.merge_right(mtr, level, page, right_page)?;
                count(mtr, Counter::PageMergesSuccessful);
                mtr.writer(parent)
                    .set_child(&self.index.format, pointer, right);
                self.delete_pointer(mtr, level + 1, parent, next_pointer)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the records of a page fit another one, which is reorganised if that is
    /// necessary (`btr_can_merge_with_page`).
    fn make_room(
        &self,
        mtr: &mut MiniTransaction<'_>,
        page: PageHandle,
        target: PageHandle,
    ) -> bool {
        let view = mtr.index_page(page);
        let (records, bytes) = (view.record_count(), view.data_size());
        let target_view = mtr.index_page(target);
        if bytes > target_view.max_insert_size_after_reorganise(records) {
            return false;
        }
        if bytes > target_view.max_insert_size(records) {
            reorganise(mtr, self.index, target, self.changer);
        }
        true
    }

    fn merge_left(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        page: PageHandle,
        left: PageHandle,
    ) -> Result<(), BtreeError> {
        cpu(Cost::PageSplit);
        let last = mtr.index_page(left).last_record();
        self.copy_all(mtr, page, left, last);
        self.raise_max_trx_id(mtr, page, left);
        if level == 0 {
            // The gap before the supremum now ends at the first record that came.
            let view = mtr.index_page(left);
            let first = view.record(view.next(last)).heap_number();
            self.split_gap(mtr, (left, first), (left, SUPREMUM_HEAP));
            self.move_supremum(mtr, page, left);
        }
        self.take_out(mtr, level, page, None)
    }

    fn merge_right(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        page: PageHandle,
        right: PageHandle,
    ) -> Result<(), BtreeError> {
        cpu(Cost::PageSplit);
        let view = mtr.index_page(right);
        let first = view.record(view.first_record()).heap_number();
        self.copy_all(mtr, page, right, INFIMUM);
        self.raise_max_trx_id(mtr, page, right);
        if level == 0 {
            self.split_gap(mtr, (right, first), (page, SUPREMUM_HEAP));
        }
        self.take_out(mtr, level, page, None)
    }

    /// What is locked on `donor` guards the gap before `heir` from now on, and no more.
    fn split_gap(
        &self,
        mtr: &MiniTransaction<'_>,
        heir: (PageHandle, u16),
        donor: (PageHandle, u16),
    ) {
        let named = |(page, heap_number): (PageHandle, u16)| LockedRecord {
            page: mtr.page_id(page),
            heap_number,
        };
        let (heir, donor) = (named(heir), named(donor));
        if self.changer.locks.has_locks(donor.page) {
            self.changer.locks.gap_inherited(heir, donor);
            self.changer.locks.locks_dropped(donor);
        }
    }

    /// A secondary leaf takes over records, and so who may have changed them.
    fn raise_max_trx_id(&self, mtr: &mut MiniTransaction<'_>, from: PageHandle, to: PageHandle) {
        let max_trx_id = mtr.index_page(from).max_trx_id();
        if max_trx_id > 0 {
            mtr.writer(to).raise_max_trx_id(max_trx_id);
        }
    }

    /// Takes a page, whose records are elsewhere or not wanted, out of the list of its
    /// level, and frees it. Its content changes, so that nobody who remembers the page
    /// finds it as it was.
    fn take_out(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        page: PageHandle,
        heir: Option<LockedRecord>,
    ) -> Result<(), BtreeError> {
        let view = mtr.index_page(page);
        let (previous, next) = (view.previous_page(), view.next_page());
        if let Some(left) = previous {
            let left = self.held(mtr, left)?;
            let next = next.unwrap_or(PageNumber::NULL);
            mtr.writer(left).set(fil::NEXT, next);
        }
        if let Some(right) = next {
            let right = self.held(mtr, right)?;
            let previous = previous.unwrap_or(PageNumber::NULL);
            mtr.writer(right).set(fil::PREVIOUS, previous);
        }
        if level == 0 {
            let id = mtr.page_id(page);
            self.changer.locks.page_discarded(id, heir);
        }
        self.free(mtr, level, page)
    }

    fn free(
        &self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        page: PageHandle,
    ) -> Result<(), BtreeError> {
        mtr.writer(page).clear_index_page(level as u16);
        let segment = match level {
            0 => self.index.leaf_segment,
            _ => self.index.node_segment,
        };
        let number = mtr.page_id(page).page;
        Ok(free_page(mtr, segment, number)?)
    }

    /// The node pointer to a page that has records.
    fn pointer_of(
        &self,
        mtr: &mut MiniTransaction<'_>,
        parent: PageHandle,
        page: PageHandle,
    ) -> Result<u16, BtreeError> {
        let format = &self.index.format;
        let expected = mtr.page_id(page).page;
        let view = mtr.index_page(page);
        let parent_view = mtr.index_page(parent);
        // The key of the first record of the leftmost page means nothing.
        let found = match view.previous_page() {
            None => parent_view.first_record(),
            Some(_) => {
                let key = format.key_of(view.record(view.first_record()));
                search_page(parent_view, format, &key, SearchMode::LessOrEqual).origin
            }
        };
        self.check_child(mtr, parent, found, expected)?;
        Ok(found)
    }

    /// Takes a node pointer out of a page that has others; then looks whether that page
    /// is to be merged.
    fn delete_pointer(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        page: PageHandle,
        pointer: u16,
    ) -> Result<(), BtreeError> {
        cpu(Cost::RecordDelete);
        let is_first = pointer == mtr.index_page(page).first_record();
        mtr.writer(page).delete_record(&self.index.format, pointer);
        if is_first {
            let view = mtr.index_page(page);
            let (first, is_leftmost) = (view.first_record(), view.previous_page().is_none());
            if is_leftmost {
                mtr.writer(page).set_min_rec_mark(first, true);
            } else {
                self.replace_key(mtr, level, page)?;
            }
        }
        self.merge_if_useful(mtr, level, page)?;
        Ok(())
    }

    /// The first key of a page above the leaves has changed: its pointer gets that key.
    fn replace_key(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        page: PageHandle,
    ) -> Result<(), BtreeError> {
        let format = &self.index.format;
        let parent = self.at_level(mtr, level + 1)?;
        let pointer = self.pointer_of(mtr, parent, page)?;
        let mut new = RecordBuffer::new();
        {
            let view = mtr.index_page(page);
            let key = format.key_of(view.record(view.first_record()));
            format.build_node_pointer(&key, view.page_id().page, false, &mut new)?;
        }
        let view = mtr.index_page(parent);
        let is_first = pointer == view.first_record();
        let place = view.records_before(pointer);
        mtr.writer(parent).delete_record(format, pointer);
        let after = nth_or_infimum(mtr.index_page(parent), place);
        self.insert_pointer(mtr, level + 1, parent, after, new.image())?;
        self.follow_split(mtr, level + 1)?;
        if is_first {
            // The parent is neither the root nor leftmost: then this page would be
            // leftmost, too. Nor was it split downwards, as a removal ends all patterns.
            self.replace_key(mtr, level + 1, parent)?;
        }
        Ok(())
    }

    /// After a split of the page of a level: the way goes over the half that has the new
    /// pointer. Above, it must go over the pages that have the pointers to it: each is the
    /// one that got the last new pointer, or its left neighbour.
    fn follow_split(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
    ) -> Result<(), BtreeError> {
        for level in level..self.path.height() - 1 {
            let page = self.at_level(mtr, level)?;
            let above = self.index.page_id(self.path.page(level + 1));
            // A page that is not held was not split, nor was any above it.
            let Some(parent) = mtr.held_page(above) else {
                break;
            };
            if self.pointer_of(mtr, parent, page).is_ok() {
                break;
            }
            if let Some(left) = mtr.index_page(parent).previous_page() {
                self.path.set(level + 1, left);
            }
        }
        Ok(())
    }

    /// A page that has only one record leaves the tree with it.
    pub(super) fn discard(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        page: PageHandle,
    ) -> Result<(), BtreeError> {
        count(mtr, Counter::PageDiscards);
        let parent = self.at_level(mtr, level + 1)?;
        let pointer = self.pointer_of(mtr, parent, page)?;
        let view = mtr.index_page(page);
        let (previous, next) = (view.previous_page(), view.next_page());
        let heir = self.heir(mtr, previous, next)?;
        self.take_out(mtr, level, page, heir)?;

        let parent_view = mtr.index_page(parent);
        if parent_view.record_count() == 1 {
            return match self.is_root(mtr, parent) {
                // That was the last page: the root is an empty leaf again.
                true => {
                    mtr.writer(parent).clear_index_page(0);
                    self.note_new_leaf(mtr, parent);
                    Ok(())
                }
                false => {
                    self.mark_leftmost(mtr, level, previous, next)?;
                    self.discard(mtr, level + 1, parent)
                }
            };
        }
        let next_pointer = parent_view.next(pointer);
        let is_first = pointer == parent_view.first_record();
        match next {
            // A leaf's pointer may have a key below its first: no key has to change.
            Some(right) if level == 0 && is_first => {
                self.check_child(mtr, parent, next_pointer, right)?;
                mtr.writer(parent)
                    .set_child(&self.index.format, pointer, right);
                self.delete_pointer(mtr, level + 1, parent, next_pointer)
            }
            _ => {
                self.mark_leftmost(mtr, level, previous, next)?;
                self.delete_pointer(mtr, level + 1, parent, pointer)
            }
        }
    }

    /// Whose the locks of a page become that leaves the tree.
    fn heir(
        &self,
        mtr: &mut MiniTransaction<'_>,
        previous: Option<PageNumber>,
        next: Option<PageNumber>,
    ) -> Result<Option<LockedRecord>, BtreeError> {
        if let Some(left) = previous {
            return Ok(Some(LockedRecord {
                page: self.index.page_id(left),
                heap_number: SUPREMUM_HEAP,
            }));
        }
        let Some(right) = next else { return Ok(None) };
        let page = self.held(mtr, right)?;
        let view = mtr.index_page(page);
        Ok(Some(LockedRecord {
            page: view.page_id(),
            heap_number: view.record(view.first_record()).heap_number(),
        }))
    }

    /// The leftmost page of a level above the leaves is gone: the next one gets the mark.
    fn mark_leftmost(
        &self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        previous: Option<PageNumber>,
        next: Option<PageNumber>,
    ) -> Result<(), BtreeError> {
        if let (1.., None, Some(next)) = (level, previous, next) {
            let page = self.held(mtr, next)?;
            let first = mtr.index_page(page).first_record();
            mtr.writer(page).set_min_rec_mark(first, true);
        }
        Ok(())
    }

    /// The page of this level is alone: the root takes in its only child, and again,
    /// until the root is that page.
    fn lower_root(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
    ) -> Result<(), BtreeError> {
        while self.path.height() > level + 1 {
            let child_level = self.path.height() - 2;
            let root = self.at_level(mtr, child_level + 1)?;
            let child = self.at_level(mtr, child_level)?;
            let pointers = mtr.index_page(root).record_count();
            if pointers != 1 {
                let id = mtr.page_id(root);
                let what = "the number of node pointers of a root whose child is alone";
                return Err(self.index.damaged(id, what, pointers as u64, 1u32));
            }
            mtr.writer(root).clear_index_page(child_level as u16);
            self.copy_all(mtr, child, root, INFIMUM);
            if child_level == 0 {
                self.raise_max_trx_id(mtr, child, root);
                let id = mtr.page_id(child);
                self.changer.locks.page_discarded(id, None);
            }
            self.free(mtr, child_level, child)?;
            self.path.lower(self.index.root);
        }
        Ok(())
    }

    /// The root has become a leaf without records.
    fn note_new_leaf(&self, mtr: &mut MiniTransaction<'_>, root: PageHandle) {
        if !self.index.is_clustered() {
            mtr.writer(root).raise_max_trx_id(self.changer.trx_id);
        }
    }
}
