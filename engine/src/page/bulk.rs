//! Filling an empty page with records that come in key order.
//!
//! Loading a table row by row would search each page as often as it has rows. Who
//! has the rows in order can append: the record goes to the heap's top and to the
//! list's end, and every fourth gets a directory slot.
//!
//! ```text
//!   append   a b c d | e f g h | i j
//!   slots          d         h
//!   finish         d                supremum   the last group joins the one before
//! ```
//!
//! The same fill, without a limit, rebuilds pages (`reorganise`) and fills new
//! ones at a split (`record_list`).

use super::directory::{put_slot, slot_at};
use super::fil;
use super::index_header::{
    self as header, COMPACT_FLAG, DIRECTORY_END, FREE_SPACE_OF_EMPTY_PAGE, HEAP_START, INFIMUM,
    SLOT_MAX_OWNED, SLOT_SIZE, SUPREMUM, reserved_directory_space,
};
use super::record::{RecordImage, set_n_owned, set_next};
use super::{ChangeLog, PAGE_SIZE, PageBytes, PageWriter};

/// Records in a group that a sequential fill closes: half of what fits, so that
/// later inserts find room.
const GROUP: usize = SLOT_MAX_OWNED / 2;

/// Appends records to a page that was empty. The page is not consistent until
/// `finish`.
pub(super) struct SequentialFill {
    heap_top: usize,
    records: usize,
    last: u16,
    slots: usize,
    in_group: usize,
}

impl SequentialFill {
    pub(super) fn new() -> SequentialFill {
        SequentialFill {
            heap_top: HEAP_START,
            records: 0,
            last: INFIMUM,
            slots: 1,
            in_group: 0,
        }
    }

    pub(super) fn append(&mut self, page: &mut PageBytes, record: RecordImage<'_>) {
        let heap_number = self.records as u16 + 2;
        let origin = record.put(page, self.heap_top, heap_number);
        set_next(page, self.last, origin);
        self.heap_top += record.size();
        self.records += 1;
        self.last = origin;
        self.in_group += 1;
        if self.in_group == GROUP {
            set_n_owned(page, origin, GROUP);
            put_slot(page, self.slots, origin);
            self.slots += 1;
            self.in_group = 0;
        }
    }

    pub(super) fn finish(mut self, page: &mut PageBytes) {
        set_next(page, self.last, SUPREMUM);
        // Three records at most are left over: the last full group takes them in,
        // and the supremum.
        if self.slots > 1 {
            self.slots -= 1;
            set_n_owned(page, slot_at(page, self.slots), 0);
            self.in_group += GROUP;
        }
        put_slot(page, self.slots, SUPREMUM);
        set_n_owned(page, SUPREMUM, self.in_group + 1);
        header::DIRECTORY_SLOTS.put(page, self.slots as u16 + 1);
        header::HEAP_TOP.put(page, self.heap_top as u16);
        header::HEAP_RECORDS.put(page, COMPACT_FLAG | (self.records as u16 + 2));
        header::RECORDS.put(page, self.records as u16);
    }
}

/// Builds one index page from records in key order.
pub struct BulkPage<'w, 'p, L: ChangeLog + ?Sized> {
    writer: &'w mut PageWriter<'p, L>,
    fill: SequentialFill,
    reserve: usize,
}

impl<'w, 'p, L: ChangeLog + ?Sized> BulkPage<'w, 'p, L> {
    /// Starts to fill an empty index page, leaving `reserve` bytes free for rows
    /// that come later: on clustered leaf pages at least
    /// [`CLUSTERED_LEAF_RESERVE`](super::index_header::CLUSTERED_LEAF_RESERVE),
    /// and what `innodb_fill_factor` asks for.
    ///
    /// # Panics
    /// If the page has, or ever had, records.
    pub fn new(writer: &'w mut PageWriter<'p, L>, reserve: usize) -> Self {
        assert_eq!(
            writer.index_page().heap_count(),
            2,
            "only an empty page can be filled"
        );
        BulkPage {
            writer,
            fill: SequentialFill::new(),
            reserve,
        }
    }

    /// Appends a record, whose key must be above that of the record before it.
    /// Returns `false`, and does nothing, if the page is full. A page takes two
    /// records whatever the reserve, or a tree of long rows would not branch.
    #[must_use]
    pub fn append(&mut self, record: RecordImage<'_>) -> bool {
        let records = self.fill.records;
        let used =
            self.fill.heap_top - HEAP_START + record.size() + reserved_directory_space(records + 1);
        let reserve = if records < 2 { 0 } else { self.reserve };
        if used + reserve > FREE_SPACE_OF_EMPTY_PAGE {
            return false;
        }
        self.fill.append(self.writer.page_mut(), record);
        true
    }

    /// Number of records so far.
    pub fn record_count(&self) -> usize {
        self.fill.records
    }

    /// Closes the list and the directory. Until then the page is not readable.
    pub fn finish(self) {
        self.fill.finish(self.writer.page_mut());
        self.writer.report_index_page();
    }
}

impl<L: ChangeLog + ?Sized> PageWriter<'_, L> {
    /// Reports header, heap and directory as changed, after a sequential fill.
    pub(super) fn report_index_page(&mut self) {
        let page = self.index_page();
        let (heap_top, slots) = (page.heap_top(), page.slot_count());
        self.changed(fil::HEADER_SIZE, header::RECORDS.end() - fil::HEADER_SIZE);
        let records = header::INFIMUM_HEADER.offset();
        self.changed(records, heap_top - records);
        let directory = DIRECTORY_END - SLOT_SIZE * slots;
        self.changed(directory, PAGE_SIZE - fil::TRAILER_SIZE - directory);
    }
}
