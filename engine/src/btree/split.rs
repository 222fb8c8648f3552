//! Splitting a page, and raising the root.
//!
//! ```text
//!   parent   ... | ->P | ...            ... | ->P | ->N | ...
//!                   |             =>           |     |
//!   level    L <-> [P ....full....] <-> R    L <-> [P ..] <-> [N ..] <-> R
//! ```
//!
//! The new page is taken first, then the records move, then the links of the level are
//! set, then the parent gets its node pointer; which may split the parent, and so on. A
//! full root is raised before: its records move to a new page, of which the root then
//! holds the only pointer. So the root's number never changes.
//!
//! All pages that are changed were latched by the search (see [`change`](super::change)),
//! or are new.

use super::change::TreeChange;
use super::error::BtreeError;
use super::index::LEVELS_MAX;
use super::insert::{count, insert_on_page, nth_or_infimum};
use super::lock_hooks::{HeapMove, LockedRecord, SUPREMUM_HEAP};
use super::reorganise::{locked_heap_numbers, report_moves};
use super::search::search_page;
use super::split_point::{SplitPoint, choose_split};
use crate::metrics::Counter;
use crate::page::index_header::{INFIMUM, SUPREMUM};
use crate::page::record_list::RecordRange;
use crate::page::{IndexPage, PageNumber, RecordBuffer, RecordImage, SearchMode, fil};
use crate::page_allocation::{AllocationDirection, allocate_page};
use crate::redo_log::{MiniTransaction, PageHandle};
use crate::runtime::{Cost, cpu, cpu_times};

impl TreeChange<'_> {
    /// Inserts a record into a page of a level that has no room for it, after the record
    /// `after`. Returns where it is.
    pub(super) fn split_and_insert(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        page: PageHandle,
        after: u16,
        image: RecordImage<'_>,
    ) -> Result<(PageHandle, u16), BtreeError> {
        let (page, after) = match self.is_root(mtr, page) {
            true => self.raise_root(mtr, page, after)?,
            false => (page, after),
        };
        cpu(Cost::PageSplit);
        let view = mtr.index_page(page);
        let place = match after {
            INFIMUM => 0,
            after => view.records_before(after) + 1,
        };
        let split = choose_split(view, &self.index.format, after, image.size());
        let new = self.new_page(mtr, level, page, split.direction)?;
        count(mtr, Counter::PageSplits);
        self.move_records(mtr, page, new, split);
        let (left, right) = match split.direction {
            AllocationDirection::Down => (new, page),
            _ => (page, new),
        };
        self.link_new_page(mtr, page, new, split.direction)?;

        let (target, place) = match split.new_goes_left {
            true => (left, place),
            false => (right, place - split.border),
        };
        let after = nth_or_infimum(mtr.index_page(target), place);
        let origin = insert_on_page(mtr, self.index, target, after, image, self.changer);
        let origin = origin.ok_or(self.index.damaged(
            mtr.page_id(target),
            "the free space of a page after its split",
            mtr.index_page(target).max_insert_size_after_reorganise(1) as u64,
            image.size() as u64,
        ))?;
        self.add_pointer_to_half(mtr, level, page, new, right, split.direction)?;
        let number = mtr.page_id(target).page;
        self.path.set(level, number);
        Ok((target, origin))
    }

    /// The root's records move to a new page, of which the root holds the only pointer.
    /// Returns that page and where `after` is on it.
    fn raise_root(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        root: PageHandle,
        after: u16,
    ) -> Result<(PageHandle, u16), BtreeError> {
        let index = self.index;
        let height = self.path.height();
        if height == LEVELS_MAX {
            let id = mtr.page_id(root);
            return Err(index.damaged(
                id,
                "the number of levels",
                height as u64 + 1,
                height as u64,
            ));
        }
        let level = height - 1;
        let view = mtr.index_page(root);
        let place = match after {
            INFIMUM => 0,
            after => view.records_before(after) + 1,
        };
        let new = self.new_page(mtr, level, root, AllocationDirection::Up)?;
        self.copy_all(mtr, root, new, INFIMUM);
        let number = mtr.page_id(new).page;

        let mut pointer = RecordBuffer::new();
        {
            let view = mtr.index_page(new);
            let first = view.record(view.first_record());
            let key = index.format.key_of(first);
            index
                .format
                .build_node_pointer(&key, number, true, &mut pointer)?;
        }
        let mut writer = mtr.writer(root);
        writer.clear_index_page(height as u16);
        let inserted = writer.insert_record(&index.format, INFIMUM, pointer.image());
        debug_assert!(inserted.is_some(), "an empty page has room for a pointer");
        drop(writer);
        self.path.raise(index.root, number);
        Ok((new, nth_or_infimum(mtr.index_page(new), place)))
    }

    /// Takes a page for a level, near `neighbour`, and makes it an empty index page.
    fn new_page(
        &self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        neighbour: PageHandle,
        direction: AllocationDirection,
    ) -> Result<PageHandle, BtreeError> {
        let segment = match level {
            0 => self.index.leaf_segment,
            _ => self.index.node_segment,
        };
        let near = mtr.page_id(neighbour).page.0;
        let hint = match direction {
            AllocationDirection::Down => near.saturating_sub(1),
            _ => near + 1,
        };
        let max_trx_id = mtr.index_page(neighbour).max_trx_id();
        let page = allocate_page(mtr, segment, PageNumber(hint), direction)?;
        let id = mtr.page_id(page);
        let mut writer = mtr.writer(page);
        writer.initialise_index_page(id, level as u16, self.index.id);
        if level == 0 && !self.index.is_clustered() {
            writer.raise_max_trx_id(max_trx_id);
        }
        drop(writer);
        Ok(page)
    }

    /// Copies all records of a page to another one, after `after`, with their locks. The
    /// other page has room. Afterwards the caller empties or frees the source.
    pub(super) fn copy_all(
        &self,
        mtr: &mut MiniTransaction<'_>,
        source: PageHandle,
        target: PageHandle,
        after: u16,
    ) {
        let view = mtr.index_page(source);
        cpu_times(Cost::RecordMove, view.record_count() as u64);
        let all = RecordRange::all(view);
        let numbers = locked_heap_numbers(view, all, self.changer);
        let is_leaf = view.is_leaf();
        let copies_all = mtr.index_page(target).record_count() == 0;
        let (mut writer, bytes) = mtr.writer_and_page(target, source);
        let source_page = IndexPage::new(bytes);
        let copied = writer.copy_records(&self.index.format, after, source_page, all);
        debug_assert_eq!(copied, Ok(()), "the room was measured");
        drop(writer);
        let (from, to) = (mtr.index_page(source), mtr.index_page(target));
        report_moves(from, to, to.next(after), &numbers, self.changer);
        if is_leaf && copies_all {
            self.move_supremum(mtr, source, target);
        }
    }

    /// Moves the records of one half to the new page, with their locks.
    fn move_records(
        &self,
        mtr: &mut MiniTransaction<'_>,
        page: PageHandle,
        new: PageHandle,
        split: SplitPoint,
    ) {
        let format = &self.index.format;
        let view = mtr.index_page(page);
        let border = match split.border {
            border if border == view.record_count() => SUPREMUM,
            border => view.nth_record(border),
        };
        let downwards = split.direction == AllocationDirection::Down;
        let range = match downwards {
            true => RecordRange::start_until(view, border),
            false => RecordRange::end_from(border),
        };
        let moved = match downwards {
            true => split.border,
            false => view.record_count() - split.border,
        };
        cpu_times(Cost::RecordMove, moved as u64);
        let numbers = locked_heap_numbers(view, range, self.changer);
        let (mut writer, bytes) = mtr.writer_and_page(new, page);
        let source = IndexPage::new(bytes);
        let copied = writer.copy_records(format, INFIMUM, source, range);
        debug_assert_eq!(copied, Ok(()), "half of a page fits an empty one");
        drop(writer);
        {
            let (from, to) = (mtr.index_page(page), mtr.index_page(new));
            report_moves(from, to, to.first_record(), &numbers, self.changer);
        }
        let mut writer = mtr.writer(page);
        match downwards {
            true => writer.delete_list_start(format, border),
            false => writer.delete_list_end(format, border),
        }
        drop(writer);
        self.inherit_after_split(mtr, page, new, downwards);
    }

    /// The gap that was split has two parts now, on two pages.
    fn inherit_after_split(
        &self,
        mtr: &mut MiniTransaction<'_>,
        page: PageHandle,
        new: PageHandle,
        downwards: bool,
    ) {
        if !mtr.index_page(page).is_leaf() {
            return;
        }
        let (left, right) = match downwards {
            true => (new, page),
            false => (page, new),
        };
        if !downwards {
            self.move_supremum(mtr, left, right);
        }
        let right = mtr.index_page(right);
        if self.changer.locks.has_locks(right.page_id()) {
            let donor = right.record(right.first_record()).heap_number();
            self.changer.locks.gap_inherited(
                LockedRecord {
                    page: mtr.page_id(left),
                    heap_number: SUPREMUM_HEAP,
                },
                LockedRecord {
                    page: right.page_id(),
                    heap_number: donor,
                },
            );
        }
    }

    /// What is locked on the supremum of a page is on that of another one from now on.
    pub(super) fn move_supremum(
        &self,
        mtr: &MiniTransaction<'_>,
        from: PageHandle,
        to: PageHandle,
    ) {
        let from = mtr.page_id(from);
        if self.changer.locks.has_locks(from) {
            let supremum = HeapMove {
                from: SUPREMUM_HEAP,
                to: SUPREMUM_HEAP,
            };
            self.changer
                .locks
                .records_moved(from, mtr.page_id(to), &[supremum]);
        }
    }

    /// Puts the new page into the list of its level, beside `page`.
    fn link_new_page(
        &self,
        mtr: &mut MiniTransaction<'_>,
        page: PageHandle,
        new: PageHandle,
        direction: AllocationDirection,
    ) -> Result<(), BtreeError> {
        let (number, new_number) = (mtr.page_id(page).page, mtr.page_id(new).page);
        let view = mtr.index_page(page);
        let (previous, next) = (view.previous_page(), view.next_page());
        if direction == AllocationDirection::Down {
            if let Some(left) = previous {
                let left = self.held(mtr, left)?;
                mtr.writer(left).set(fil::NEXT, new_number);
            }
            mtr.writer(new).set_siblings(previous, Some(number));
            mtr.writer(page).set(fil::PREVIOUS, new_number);
        } else {
            if let Some(right) = next {
                let right = self.held(mtr, right)?;
                mtr.writer(right).set(fil::PREVIOUS, new_number);
            }
            mtr.writer(new).set_siblings(Some(number), next);
            mtr.writer(page).set(fil::NEXT, new_number);
        }
        Ok(())
    }

    /// Gives the parent a node pointer for the right half, and lets the old one point to
    /// the left half.
    fn add_pointer_to_half(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        page: PageHandle,
        new: PageHandle,
        right: PageHandle,
        direction: AllocationDirection,
    ) -> Result<(), BtreeError> {
        let mut pointer = RecordBuffer::new();
        let number = mtr.page_id(right).page;
        {
            let view = mtr.index_page(right);
            let first = view.record(view.first_record());
            let key = self.index.format.key_of(first);
            self.index
                .format
                .build_node_pointer(&key, number, false, &mut pointer)?;
        }
        let old = mtr.page_id(page).page;
        let parent = self.at_level(mtr, level + 1)?;
        let at = self.pointer_to(mtr, parent, page, right)?;
        if direction == AllocationDirection::Down {
            let left = mtr.page_id(new).page;
            debug_assert_ne!(left, old);
            mtr.writer(parent).set_child(&self.index.format, at, left);
        }
        self.insert_pointer(mtr, level + 1, parent, at, pointer.image())
    }

    /// The node pointer to `page` in its parent: the one to follow for the first key of
    /// `right`, before that has a pointer of its own.
    fn pointer_to(
        &self,
        mtr: &mut MiniTransaction<'_>,
        parent: PageHandle,
        page: PageHandle,
        right: PageHandle,
    ) -> Result<u16, BtreeError> {
        let format = &self.index.format;
        let expected = mtr.page_id(page).page;
        let view = mtr.index_page(right);
        let key = format.key_of(view.record(view.first_record()));
        let parent_view = mtr.index_page(parent);
        let found = search_page(parent_view, format, &key, SearchMode::LessOrEqual).origin;
        self.check_child(mtr, parent, found, expected)?;
        Ok(found)
    }

    /// Checks that the record at `origin` points to a page.
    pub(super) fn check_child(
        &self,
        mtr: &MiniTransaction<'_>,
        parent: PageHandle,
        origin: u16,
        expected: PageNumber,
    ) -> Result<(), BtreeError> {
        let view = mtr.index_page(parent);
        let found = match origin {
            INFIMUM | SUPREMUM => PageNumber::NULL,
            origin => view.record(origin).child(&self.index.format),
        };
        match found == expected {
            true => Ok(()),
            false => Err(self.index.damaged(
                view.page_id(),
                "the child of the node pointer for a page's first key",
                found.0,
                expected.0,
            )),
        }
    }

    /// Inserts a node pointer after another one; splits the page if need be.
    pub(super) fn insert_pointer(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        level: usize,
        page: PageHandle,
        after: u16,
        pointer: RecordImage<'_>,
    ) -> Result<(), BtreeError> {
        let inserted = insert_on_page(mtr, self.index, page, after, pointer, self.changer);
        if inserted.is_none() {
            self.split_and_insert(mtr, level, page, after, pointer)?;
        }
        Ok(())
    }
}
