//! An index page, read: header, records in key order, positions, free space.
//!
//! The records of a page form one list from *infimum* to *supremum* in key order,
//! whatever their order in the heap:
//!
//! ```text
//!   heap:   | inf | sup | 20 | 10 | 40 | 30 |
//!   list:    inf ─> 10 ─> 20 ─> 30 ─> 40 ─> sup
//! ```
//!
//! Going forward follows next pointers. There are no previous pointers: going
//! back asks the page directory for the record that starts the group and walks
//! forward from there, eight records at most.

use super::bytes::u16_at;
use super::directory;
use super::fil;
use super::index_header::{self as header, Direction, HEAP_START, INFIMUM, SUPREMUM};
use super::index_header::{DIRECTORY_END, SLOT_SIZE};
use super::record::{Record, next_origin};
use super::{ChangeLog, PageBytes, PageId, PageNumber, PageOperation, PageType, PageWriter};

/// A page that holds a node of a B+tree. One pointer; copy it freely.
#[derive(Clone, Copy)]
pub struct IndexPage<'a> {
    page: &'a PageBytes,
}

impl<'a> IndexPage<'a> {
    /// Looks at a page as an index page. Its type is not checked.
    #[inline(always)]
    pub fn new(page: &'a PageBytes) -> IndexPage<'a> {
        IndexPage { page }
    }

    /// The bytes.
    #[inline(always)]
    pub fn bytes(self) -> &'a PageBytes {
        self.page
    }

    /// The page's own address.
    pub fn page_id(self) -> PageId {
        fil::page_id(self.page)
    }

    /// The left sibling on this level.
    #[inline]
    pub fn previous_page(self) -> Option<PageNumber> {
        fil::PREVIOUS.get(self.page).some()
    }

    /// The right sibling on this level.
    #[inline]
    pub fn next_page(self) -> Option<PageNumber> {
        fil::NEXT.get(self.page).some()
    }

    /// Height above the leaves.
    #[inline(always)]
    pub fn level(self) -> u16 {
        header::LEVEL.get(self.page)
    }

    /// Whether the page holds rows or entries rather than node pointers.
    #[inline(always)]
    pub fn is_leaf(self) -> bool {
        self.level() == 0
    }

    /// The index the page belongs to.
    #[inline]
    pub fn index_id(self) -> u64 {
        header::INDEX_ID.get(self.page)
    }

    /// PAGE_MAX_TRX_ID: on secondary leaf pages, the highest transaction id that
    /// changed the page.
    #[inline]
    pub fn max_trx_id(self) -> u64 {
        header::MAX_TRX_ID.get(self.page)
    }

    /// Number of user records, delete-marked ones included.
    #[inline(always)]
    pub fn record_count(self) -> usize {
        usize::from(header::RECORDS.get(self.page))
    }

    /// First byte past the record heap.
    #[inline(always)]
    pub fn heap_top(self) -> usize {
        usize::from(header::HEAP_TOP.get(self.page))
    }

    /// Records in the heap: infimum, supremum, live and freed ones. The next heap
    /// number.
    #[inline(always)]
    pub fn heap_count(self) -> u16 {
        header::HEAP_RECORDS.get(self.page) & !header::COMPACT_FLAG
    }

    /// Origin of the first freed record; 0 if there is none.
    #[inline(always)]
    pub fn first_free(self) -> u16 {
        header::FREE.get(self.page)
    }

    /// Bytes of the heap that no live record uses.
    #[inline(always)]
    pub fn garbage(self) -> usize {
        usize::from(header::GARBAGE.get(self.page))
    }

    /// Origin of the record inserted last; 0 after a delete.
    #[inline]
    pub fn last_insert(self) -> u16 {
        header::LAST_INSERT.get(self.page)
    }

    /// Where the last inserts went.
    #[inline]
    pub fn direction(self) -> Direction {
        Direction::from_field(header::DIRECTION.get(self.page))
    }

    /// How many inserts in a row went that way.
    #[inline]
    pub fn direction_count(self) -> u16 {
        header::DIRECTION_COUNT.get(self.page)
    }

    /// Bytes of all live records.
    #[inline]
    pub fn data_size(self) -> usize {
        self.heap_top() - HEAP_START - self.garbage()
    }

    /// The most bytes that `records` new records can have together, header
    /// included, without a reorganisation. Freed records are not counted.
    #[inline]
    pub fn max_insert_size(self, records: usize) -> usize {
        let heap_records = usize::from(self.heap_count()) - 2;
        let occupied =
            self.heap_top() - HEAP_START + header::reserved_directory_space(records + heap_records);
        header::FREE_SPACE_OF_EMPTY_PAGE.saturating_sub(occupied)
    }

    /// The same after a reorganisation, which turns garbage into free space.
    #[inline]
    pub fn max_insert_size_after_reorganise(self, records: usize) -> usize {
        let occupied =
            self.data_size() + header::reserved_directory_space(records + self.record_count());
        header::FREE_SPACE_OF_EMPTY_PAGE.saturating_sub(occupied)
    }

    /// The record with this origin.
    #[inline(always)]
    pub fn record(self, origin: u16) -> Record<'a> {
        Record::new(self.page, origin)
    }

    /// Origin of the record after this one in key order; [`SUPREMUM`] after the
    /// last.
    #[inline(always)]
    pub fn next(self, origin: u16) -> u16 {
        next_origin(self.page, origin)
    }

    /// Origin of the record before this one in key order; [`INFIMUM`] before the
    /// first.
    ///
    /// # Panics
    /// If the record is not in the list, or is the infimum.
    pub fn previous(self, origin: u16) -> u16 {
        assert_ne!(origin, INFIMUM, "nothing is before the infimum");
        let slot = self.owner_slot(origin);
        let mut at = self.slot(slot - 1);
        loop {
            let next = self.next(at);
            if next == origin {
                return at;
            }
            at = next;
        }
    }

    /// The first user record, or [`SUPREMUM`].
    #[inline]
    pub fn first_record(self) -> u16 {
        self.next(INFIMUM)
    }

    /// The last user record, or [`INFIMUM`].
    #[inline]
    pub fn last_record(self) -> u16 {
        self.previous(SUPREMUM)
    }

    /// The user records in key order.
    #[inline]
    pub fn records(self) -> Records<'a> {
        self.records_from(self.first_record())
    }

    /// The user records in key order, beginning with this one.
    #[inline]
    pub fn records_from(self, origin: u16) -> Records<'a> {
        Records {
            page: self,
            next: origin,
        }
    }

    /// The user record number `index` in key order, counted from 0.
    ///
    /// # Panics
    /// If the page has not so many records.
    pub fn nth_record(self, index: usize) -> u16 {
        assert!(
            index < self.record_count(),
            "record {index} of {}",
            self.record_count()
        );
        // Steps from the infimum; each group begins after its predecessor's owner.
        let mut left = index + 1;
        let mut slot = 0;
        loop {
            let owned = self.record(self.slot(slot + 1)).n_owned();
            if owned > left {
                break;
            }
            left -= owned;
            slot += 1;
        }
        (0..left).fold(self.slot(slot), |at, _| self.next(at))
    }

    /// How many user records come before this one.
    pub fn records_before(self, origin: u16) -> usize {
        if origin == INFIMUM {
            return 0;
        }
        let owner_slot = self.owner_slot(origin);
        let groups_before: usize = (0..owner_slot)
            .map(|slot| self.record(self.slot(slot)).n_owned())
            .sum();
        let mut at = self.next(self.slot(owner_slot - 1));
        let mut before = groups_before - 1; // The infimum is no user record.
        while at != origin {
            at = self.next(at);
            before += 1;
        }
        before
    }

    /// Number of directory slots.
    #[inline(always)]
    pub fn slot_count(self) -> usize {
        usize::from(header::DIRECTORY_SLOTS.get(self.page))
    }

    /// Origin of the record that a directory slot points to.
    #[inline(always)]
    pub fn slot(self, index: usize) -> u16 {
        u16_at(self.page, DIRECTORY_END - SLOT_SIZE * (index + 1))
    }

    /// The directory slot whose group a record belongs to.
    #[inline]
    pub fn owner_slot(self, origin: u16) -> usize {
        directory::slot_of(self.page, directory::owner_of(self.page, origin))
    }
}

/// User records in key order; see [`IndexPage::records`].
#[derive(Clone)]
pub struct Records<'a> {
    page: IndexPage<'a>,
    next: u16,
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    #[inline]
    fn next(&mut self) -> Option<Record<'a>> {
        if self.next == SUPREMUM {
            return None;
        }
        let record = self.page.record(self.next);
        self.next = record.next();
        Some(record)
    }
}

/// Makes `page` an empty index page without siblings.
pub(super) fn initialise(page: &mut PageBytes, id: PageId, level: u16, index_id: u64) {
    fil::initialise(page, id, PageType::Index);
    header::INDEX_ID.put(page, index_id);
    clear(page, level);
}

/// Takes all records off a page. Frame, index id and segment headers stay; so
/// does PAGE_MAX_TRX_ID of a leaf that stays one.
pub(super) fn clear(page: &mut PageBytes, level: u16) {
    if level != 0 || header::LEVEL.get(page) != 0 {
        header::MAX_TRX_ID.put(page, 0);
    }
    header::DIRECTORY_SLOTS.put(page, 2);
    header::HEAP_TOP.put(page, HEAP_START as u16);
    header::HEAP_RECORDS.put(page, header::COMPACT_FLAG | 2);
    header::FREE.put(page, 0);
    header::GARBAGE.put(page, 0);
    header::LAST_INSERT.put(page, 0);
    header::DIRECTION.put(page, Direction::None as u16);
    header::DIRECTION_COUNT.put(page, 0);
    header::RECORDS.put(page, 0);
    header::LEVEL.put(page, level);
    header::INFIMUM_HEADER.put(page, [0x01, 0x00, 0x02, 0x00, 0x0d]);
    header::INFIMUM_DATA.put(page, *b"infimum\0");
    header::SUPREMUM_HEADER.put(page, [0x01, 0x00, 0x0b, 0x00, 0x00]);
    header::SUPREMUM_DATA.put(page, *b"supremum");
    directory::put_slot(page, 0, INFIMUM);
    directory::put_slot(page, 1, SUPREMUM);
}

impl<L: ChangeLog + ?Sized> PageWriter<'_, L> {
    /// Makes the page an empty page of a type that is not an index page.
    pub fn initialise_page(&mut self, id: PageId, page_type: PageType) {
        self.operate(PageOperation::InitialisePage { id, page_type });
    }

    /// Makes the page an empty index page without siblings.
    pub fn initialise_index_page(&mut self, id: PageId, level: u16, index_id: u64) {
        self.operate(PageOperation::InitialiseIndexPage {
            id,
            level,
            index_id,
        });
    }

    /// Takes all records off the page and makes it a page of `level`. Siblings,
    /// index id and segment headers stay. PAGE_MAX_TRX_ID stays if the page was a
    /// leaf and stays one, else it becomes 0.
    pub fn clear_index_page(&mut self, level: u16) {
        self.operate(PageOperation::ClearIndexPage { level });
    }

    /// Links the page with its neighbours on its level.
    pub fn set_siblings(&mut self, previous: Option<PageNumber>, next: Option<PageNumber>) {
        self.set(fil::PREVIOUS, previous.unwrap_or(PageNumber::NULL));
        self.set(fil::NEXT, next.unwrap_or(PageNumber::NULL));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{NoLog, PAGE_SIZE};

    #[test]
    fn an_empty_page_has_the_bytes_of_a_real_one() {
        let mut page = [0xEE; PAGE_SIZE];
        PageWriter::new(&mut page, &mut NoLog).initialise_index_page(PageId::new(7, 3), 0, 27);
        let mut expected = [0; PAGE_SIZE];
        expected[4..8].copy_from_slice(&[0, 0, 0, 3]);
        expected[8..16].fill(0xFF);
        expected[24..26].copy_from_slice(&[0x45, 0xBF]);
        expected[34..38].copy_from_slice(&[0, 0, 0, 7]);
        expected[38..44].copy_from_slice(&[0, 2, 0, 120, 0x80, 2]);
        expected[50..52].copy_from_slice(&[0, 5]);
        expected[66..74].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 27]);
        expected[94..120].copy_from_slice(b"\x01\0\x02\0\x0dinfimum\0\x01\0\x0b\0\0supremum");
        expected[16372..16376].copy_from_slice(&[0, 0x70, 0, 0x63]);
        assert!(page == expected);

        let empty = IndexPage::new(&page);
        assert_eq!(empty.records().count(), 0);
        assert_eq!(empty.first_record(), SUPREMUM);
        assert_eq!(empty.last_record(), INFIMUM);
        assert_eq!(empty.max_insert_size(1), 16251);
    }

    #[test]
    fn clearing_keeps_what_belongs_to_the_tree() {
        let mut page = [0; PAGE_SIZE];
        let mut log = NoLog;
        let mut writer = PageWriter::new(&mut page, &mut log);
        writer.initialise_index_page(PageId::new(7, 3), 0, 27);
        writer.set(header::MAX_TRX_ID, 99);
        writer.set_siblings(Some(PageNumber(5)), Some(PageNumber(6)));
        writer.clear_index_page(0);
        assert_eq!(writer.index_page().max_trx_id(), 99);
        assert_eq!(writer.index_page().previous_page(), Some(PageNumber(5)));
        assert_eq!(writer.index_page().next_page(), Some(PageNumber(6)));
        writer.clear_index_page(1);
        assert_eq!(
            (
                writer.index_page().max_trx_id(),
                writer.index_page().level()
            ),
            (0, 1)
        );
        assert_eq!(writer.index_page().index_id(), 27);
    }
}
