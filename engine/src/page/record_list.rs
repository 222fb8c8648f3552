//! Moving many records at once, for page splits and merges.
//!
//! A split moves the end of a page's list to a new right page, or its start to a
//! new left page; a merge moves a whole list to a neighbour. Each is two steps,
//! so that row locks can be carried over while both copies exist:
//!
//! ```text
//!   left   inf ─> 10 ─> 20 ─> 30 ─> 40 ─> sup
//!   copy                      30 ─> 40           to the new page: bytes
//!   delete inf ─> 10 ─> 20 ─────────────> sup    one operation, eight bytes
//!   free   30 ─> 40 ─> (freed before)
//! ```

use super::bulk::SequentialFill;
use super::directory;
use super::index_header::{
    self as header, DIRECTORY_SLOTS, INFIMUM, SUPREMUM, reserved_directory_space,
};
use super::index_page::IndexPage;
use super::record::{n_owned, next_origin, set_n_owned, set_next};
use super::record_format::RecordFormat;
use super::{ChangeLog, PageBytes, PageOperation, PageWriter};

/// Some records of a page's list, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRange {
    /// The first record.
    pub first: u16,
    /// The record after the last one, or [`SUPREMUM`].
    pub end: u16,
}

impl RecordRange {
    /// All user records of a page.
    pub fn all(page: IndexPage<'_>) -> RecordRange {
        RecordRange {
            first: page.first_record(),
            end: SUPREMUM,
        }
    }

    /// The record `first` and all after it.
    pub fn end_from(first: u16) -> RecordRange {
        RecordRange {
            first,
            end: SUPREMUM,
        }
    }

    /// All user records before `end`.
    pub fn start_until(page: IndexPage<'_>, end: u16) -> RecordRange {
        RecordRange {
            first: page.first_record(),
            end,
        }
    }

    /// Number of records, and their bytes with headers.
    pub fn measure(self, page: IndexPage<'_>, format: &RecordFormat) -> (usize, usize) {
        let (mut count, mut size) = (0, 0);
        let mut at = self.first;
        while at != self.end {
            count += 1;
            size += page.record(at).extent(format).size();
            at = page.next(at);
        }
        (count, size)
    }
}

/// The target has no room for the records; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{records} records of {size} bytes do not fit the page without a reorganisation")]
pub struct PageFull {
    /// Number of records.
    pub records: usize,
    /// Their bytes with headers.
    pub size: usize,
}

/// Carried out on one page: records taken off one end of its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeleteList {
    /// From the end: the first record deleted. From the start: the first kept.
    pub border: u16,
    /// Number of records deleted.
    pub count: u16,
    /// Their bytes with headers.
    pub size: u16,
}

impl<L: ChangeLog + ?Sized> PageWriter<'_, L> {
    /// Copies records of another page of this index and level to this one, after
    /// the record `after`. They keep their order and marks. On a page that has no
    /// records they get heap numbers 2, 3, ... in key order.
    ///
    /// # Errors
    /// [`PageFull`]
    pub fn copy_records(
        &mut self,
        format: &RecordFormat,
        after: u16,
        source: IndexPage<'_>,
        range: RecordRange,
    ) -> Result<(), PageFull> {
        let (records, size) = range.measure(source, format);
        let target = self.index_page();
        debug_assert_eq!(target.level(), source.level());
        let images = source
            .records_from(range.first)
            .take(records)
            .map(|record| record.image(format));
        if target.heap_count() == 2 {
            let space = header::FREE_SPACE_OF_EMPTY_PAGE - reserved_directory_space(records);
            if size > space {
                return Err(PageFull { records, size });
            }
            if records == 0 {
                return Ok(());
            }
            let mut fill = SequentialFill::new();
            images.for_each(|image| fill.append(self.page_mut(), image));
            fill.finish(self.page_mut());
            self.report_index_page();
            return Ok(());
        }
        if size > target.max_insert_size(records) {
            return Err(PageFull { records, size });
        }
        let mut previous = after;
        for image in images {
            let inserted = self.insert_record(format, previous, image);
            previous = inserted.expect("the space was measured");
        }
        Ok(())
    }

    /// Takes the record `first` and all after it off the page.
    pub fn delete_list_end(&mut self, format: &RecordFormat, first: u16) {
        let page = self.index_page();
        if first == page.first_record() {
            let level = page.level();
            return self.clear_index_page(level);
        }
        let (count, size) = RecordRange::end_from(first).measure(page, format);
        if count != 0 {
            let list = DeleteList {
                border: first,
                count: count as u16,
                size: size as u16,
            };
            self.operate(PageOperation::DeleteListEnd(list));
        }
    }

    /// Takes all user records before `end` off the page.
    pub fn delete_list_start(&mut self, format: &RecordFormat, end: u16) {
        let page = self.index_page();
        if end == SUPREMUM {
            let level = page.level();
            return self.clear_index_page(level);
        }
        let (count, size) = RecordRange::start_until(page, end).measure(page, format);
        if count != 0 {
            let list = DeleteList {
                border: end,
                count: count as u16,
                size: size as u16,
            };
            self.operate(PageOperation::DeleteListStart(list));
        }
    }
}

/// Carries [`PageOperation::DeleteListEnd`] out. Some record stays.
pub(super) fn delete_list_end(page: &mut PageBytes, list: &DeleteList) {
    let view = IndexPage::new(page);
    let first = list.border;
    let (last, previous) = (view.last_record(), view.previous(first));
    let slot = view.owner_slot(first);
    // What stays of the group that is cut becomes the last group.
    let mut kept = 0;
    let mut at = view.slot(slot - 1);
    while at != previous {
        at = view.next(at);
        kept += 1;
    }
    directory::put_slot(page, slot, SUPREMUM);
    DIRECTORY_SLOTS.put(page, slot as u16 + 1);
    set_n_owned(page, SUPREMUM, kept + 1);
    set_next(page, previous, SUPREMUM);
    free_list(page, first, last, list);
}

/// Carries [`PageOperation::DeleteListStart`] out. The border is a user record.
pub(super) fn delete_list_start(page: &mut PageBytes, list: &DeleteList) {
    let view = IndexPage::new(page);
    let end = list.border;
    let (first, last) = (view.first_record(), view.previous(end));
    let slot = view.owner_slot(end);
    let owner = view.slot(slot);
    let mut kept = 1;
    let mut at = end;
    while at != owner {
        at = next_origin(page, at);
        kept += 1;
    }
    set_n_owned(page, owner, kept);
    directory::remove_slots(page, 1, slot - 1);
    set_next(page, INFIMUM, end);
    debug_assert_eq!(n_owned(page, INFIMUM), 1);
    free_list(page, first, last, list);
    directory::balance_group(page, 1);
}

/// Puts the records from `first` to `last`, linked as they are, on the free list.
fn free_list(page: &mut PageBytes, first: u16, last: u16, list: &DeleteList) {
    set_next(page, last, header::FREE.get(page));
    header::FREE.put(page, first);
    header::GARBAGE.put(page, header::GARBAGE.get(page) + list.size);
    header::RECORDS.put(page, header::RECORDS.get(page) - list.count);
    header::LAST_INSERT.put(page, 0);
}
