//! Inserting a record after another one.
//!
//! Two steps, which are also the two entries in the log. First the record's bytes
//! are put somewhere in the heap: over the first freed record if that is large
//! enough, else at the heap's top. Then the record is *linked*, an operation that
//! replay repeats from a handful of numbers:
//!
//! ```text
//!  bytes      | inf | sup | 10 | 30 | 20 |          20 put at the heap's top
//!  link        header: records 3, heap top, last insert, direction
//!              list:   inf ─> 10 ─> 20 ─> 30 ─> sup
//!              owner of 20's group: one more; at nine, split 4 + 5
//! ```
//!
//! Only the first freed record is ever tried, as in InnoDB; a longer free list is
//! not searched. If the new record is shorter than the one it replaces, the bytes
//! left over stay garbage until the page is reorganised.

use super::directory;
use super::index_header::{self as header, COMPACT_FLAG, Direction, SLOT_MAX_OWNED};
use super::index_page::IndexPage;
use super::record::{RecordImage, n_owned, next_origin, set_n_owned, set_next};
use super::record_format::RecordFormat;
use super::{ChangeLog, PageBytes, PageOperation, PageWriter};

/// Makes a record that stands in the heap part of the page's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRecord {
    /// The record.
    pub origin: u16,
    /// The record it comes after.
    pub previous: u16,
    /// Bytes of the record, header included.
    pub size: u16,
    /// Where it stands.
    pub place: HeapPlace,
}

/// Where in the heap a new record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapPlace {
    /// At the top: the heap grows.
    Top,
    /// In place of the first freed record.
    Freed {
        /// The freed record that is first from now on; 0 if none is left. The
        /// pointer to it stood in the bytes that the new record now covers.
        next_free: u16,
    },
}

impl<L: ChangeLog + ?Sized> PageWriter<'_, L> {
    /// Inserts `record` after `previous`, which a search with
    /// [`LessOrEqual`](super::SearchMode::LessOrEqual) found, and returns its
    /// origin; `None` if there is no room for it without a reorganisation.
    #[inline]
    pub fn insert_record(
        &mut self,
        format: &RecordFormat,
        previous: u16,
        record: RecordImage<'_>,
    ) -> Option<u16> {
        let size = record.size();
        let (start, heap_number, place) = find_place(self.index_page(), format, size)?;
        let origin = record.put(self.page_mut(), start, heap_number);
        self.changed(start, size);
        self.flush();
        let link = LinkRecord {
            origin,
            previous,
            size: size as u16,
            place,
        };
        link_record(self.page_mut(), &link);
        self.record(PageOperation::LinkRecord(link));
        Some(origin)
    }
}

/// The first byte, the heap number and the kind of place for a record of `size`
/// bytes.
#[inline]
fn find_place(
    page: IndexPage<'_>,
    format: &RecordFormat,
    size: usize,
) -> Option<(usize, u16, HeapPlace)> {
    let free = page.first_free();
    if free != 0 {
        let freed = page.record(free);
        let extent = freed.extent(format);
        if extent.size() >= size {
            let place = HeapPlace::Freed {
                next_free: freed.next(),
            };
            return Some((usize::from(free) - extent.extra, freed.heap_number(), place));
        }
    }
    (page.max_insert_size(1) >= size).then(|| (page.heap_top(), page.heap_count(), HeapPlace::Top))
}

/// Carries [`LinkRecord`] out.
#[inline]
pub(super) fn link_record(page: &mut PageBytes, link: &LinkRecord) {
    let LinkRecord {
        origin,
        previous,
        size,
        place,
    } = *link;
    match place {
        HeapPlace::Top => {
            header::HEAP_TOP.put(page, header::HEAP_TOP.get(page) + size);
            let heap_records = header::HEAP_RECORDS.get(page) & !COMPACT_FLAG;
            header::HEAP_RECORDS.put(page, COMPACT_FLAG | (heap_records + 1));
        }
        HeapPlace::Freed { next_free } => {
            header::FREE.put(page, next_free);
            header::GARBAGE.put(page, header::GARBAGE.get(page) - size);
        }
    }
    let next = next_origin(page, previous);
    set_next(page, origin, next);
    set_next(page, previous, origin);
    note_direction(page, origin, previous, next);
    header::RECORDS.put(page, header::RECORDS.get(page) + 1);

    // The new record owns nothing yet, so its group's owner comes after it.
    let owner = directory::owner_of(page, next);
    let owned = n_owned(page, owner) + 1;
    set_n_owned(page, owner, owned);
    if owned > SLOT_MAX_OWNED {
        directory::split_group(page, owner);
    }
}

/// Updates the three header fields that a split consults: ascending inserts fill
/// pages to the end instead of splitting them in the middle.
#[inline(always)]
fn note_direction(page: &mut PageBytes, origin: u16, previous: u16, next: u16) {
    let last_insert = header::LAST_INSERT.get(page);
    let before = Direction::from_field(header::DIRECTION.get(page));
    let direction = if last_insert == 0 {
        Direction::None
    } else if last_insert == previous && before != Direction::Left {
        Direction::Right
    } else if last_insert == next && before != Direction::Right {
        Direction::Left
    } else {
        Direction::None
    };
    let count = match direction {
        Direction::None => 0,
        _ => header::DIRECTION_COUNT.get(page).saturating_add(1),
    };
    header::LAST_INSERT.put(page, origin);
    header::DIRECTION.put(page, direction as u16);
    header::DIRECTION_COUNT.put(page, count);
}
