//! Everything that must hold on one index page.
//!
//! For tests, crash tests and tools: slow, thorough, and safe on any bytes. A
//! damaged page yields a list of faults, never a panic or an endless loop. What
//! needs other pages (siblings, levels, node pointers against children) is checked
//! by the tree.
//!
//! ```text
//!   1 frame and sizes       heap below directory, compact flag, infimum, supremum
//!   2 the record list       reaches the supremum; status, marks, groups, slots
//!   3 the free list         stays inside the heap
//!   4 the heap              numbers 2, 3, ... each once; no overlap; garbage
//!   5 the keys              ascend
//! ```

use std::cmp::Ordering;

use super::PageBytes;
use super::bytes::{u8_at, u16_at};
use super::fil;
use super::index_header::{
    self as header, COMPACT_FLAG, DIRECTORY_END, HEAP_START, INFIMUM, SLOT_MAX_OWNED,
    SLOT_MIN_OWNED, SLOT_SIZE, SUPREMUM,
};
use super::index_page::IndexPage;
use super::record::{FIXED_HEADER_SIZE, INFO_DELETED, INFO_MIN_REC, Record, RecordStatus};
use super::record_format::{CHILD_LENGTH, RecordFormat};

/// One thing that is wrong on an index page. Origins are byte offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageFault {
    /// The flush LSN is not 0 outside the system tablespace.
    #[error("flush LSN {0}, should be 0")]
    FlushLsn(u64),
    /// Heap and directory do not fit the page.
    #[error("heap top {heap_top} and {slots} directory slots do not fit")]
    Sizes {
        /// PAGE_HEAP_TOP.
        heap_top: usize,
        /// PAGE_N_DIR_SLOTS.
        slots: usize,
    },
    /// PAGE_N_HEAP lacks the compact flag or is below 2.
    #[error("PAGE_N_HEAP {0:#x}")]
    HeapRecords(u16),
    /// Infimum or supremum has another header or text.
    #[error("the system record at {origin} is damaged")]
    SystemRecord {
        /// The record.
        origin: u16,
    },
    /// A list leads out of the heap, or in a circle.
    #[error("the {list} list leads from {from} to {to}")]
    List {
        /// "record" or "free".
        list: &'static str,
        /// The record before.
        from: u16,
        /// Where it leads.
        to: u16,
    },
    /// A record whose bytes do not fit the heap.
    #[error("record {origin} does not fit the heap")]
    Extent {
        /// The record.
        origin: u16,
    },
    /// The status is not that of the page's level.
    #[error("record {origin} has status {status}")]
    Status {
        /// The record.
        origin: u16,
        /// Its status bits.
        status: u8,
    },
    /// Unknown info bits, or a MIN_REC mark where none belongs, or none where one does.
    #[error("record {origin} has info bits {bits:#x}")]
    InfoBits {
        /// The record.
        origin: u16,
        /// Its info bits.
        bits: u8,
    },
    /// A group's size is out of range or differs from what its owner says.
    #[error("record {origin} says it owns {says}, its group has {has}")]
    Owned {
        /// The owner.
        origin: u16,
        /// Its n_owned.
        says: usize,
        /// Records of the group.
        has: usize,
    },
    /// A slot does not point to the owner of its group.
    #[error("directory slot {slot} points to {found}, should be {expected}")]
    Slot {
        /// The slot.
        slot: usize,
        /// Where it should point.
        expected: u16,
        /// Where it points, 0 if there is no such slot.
        found: u16,
    },
    /// More slots than groups.
    #[error("{slots} directory slots for {groups} groups")]
    SlotCount {
        /// Slots.
        slots: usize,
        /// Groups.
        groups: usize,
    },
    /// PAGE_N_RECS is not the length of the list.
    #[error("PAGE_N_RECS is {says}, the list has {has} records")]
    RecordCount {
        /// The header field.
        says: usize,
        /// The list's length.
        has: usize,
    },
    /// Live and freed records are not all that PAGE_N_HEAP counts.
    #[error("PAGE_N_HEAP is {says}, but {has} records were found")]
    HeapCount {
        /// The header field without its flag.
        says: usize,
        /// Records found, infimum and supremum included.
        has: usize,
    },
    /// A heap number occurs twice or is too large.
    #[error("record {origin} has heap number {number}, which is taken or too large")]
    HeapNumber {
        /// The record.
        origin: u16,
        /// Its heap number.
        number: u16,
    },
    /// Two records share bytes.
    #[error("record {origin} begins at {start}, but the one before it ends at {end}")]
    Overlap {
        /// The second record.
        origin: u16,
        /// Its first byte.
        start: usize,
        /// First byte past the first record.
        end: usize,
    },
    /// PAGE_GARBAGE is not the number of bytes outside live records.
    #[error("PAGE_GARBAGE is {says}, {has} bytes are unused")]
    Garbage {
        /// The header field.
        says: usize,
        /// Unused bytes of the heap.
        has: usize,
    },
    /// A key is not above the key before it.
    #[error("the key of record {origin} is not above the one before it")]
    KeyOrder {
        /// The second record.
        origin: u16,
    },
    /// PAGE_LAST_INSERT is no live record.
    #[error("PAGE_LAST_INSERT {0} is no record of the list")]
    LastInsert(u16),
    /// PAGE_DIRECTION has a value that does not exist.
    #[error("PAGE_DIRECTION {0}")]
    Direction(u16),
}

/// Checks an index page against its format.
///
/// # Errors
/// All faults found, up to one that makes further checks meaningless.
pub fn check_index_page(page: &PageBytes, format: &RecordFormat) -> Result<(), Vec<PageFault>> {
    let mut check = Check {
        page,
        format,
        faults: Vec::new(),
        is_leaf: header::LEVEL.get(page) == 0,
    };
    check.run();
    if check.faults.is_empty() {
        Ok(())
    } else {
        Err(check.faults)
    }
}

struct Check<'a> {
    page: &'a PageBytes,
    format: &'a RecordFormat,
    faults: Vec<PageFault>,
    is_leaf: bool,
}

/// A record whose bytes lie within the heap.
#[derive(Clone, Copy)]
struct Found {
    origin: u16,
    start: usize,
    end: usize,
}

impl Check<'_> {
    fn run(&mut self) {
        if !self.check_header() {
            return;
        }
        let (Some(live), Some(freed)) = (self.record_list(), self.free_list()) else {
            return;
        };
        self.check_heap(&live, &freed);
        self.check_keys(&live);
        let last_insert = header::LAST_INSERT.get(self.page);
        if last_insert != 0 && live.iter().all(|record| record.origin != last_insert) {
            self.faults.push(PageFault::LastInsert(last_insert));
        }
    }

    fn header_word(&self, origin: u16) -> (u8, u16) {
        let at = usize::from(origin);
        (u8_at(self.page, at - 5), u16_at(self.page, at - 4))
    }

    fn check_header(&mut self) -> bool {
        let page = IndexPage::new(self.page);
        let flush_lsn = fil::FLUSH_LSN.get(self.page);
        if flush_lsn != 0 {
            self.faults.push(PageFault::FlushLsn(flush_lsn));
        }
        let (heap_top, slots) = (page.heap_top(), page.slot_count());
        let fits =
            slots >= 2 && heap_top >= HEAP_START && heap_top + SLOT_SIZE * slots <= DIRECTORY_END;
        if !fits {
            self.faults.push(PageFault::Sizes { heap_top, slots });
            return false;
        }
        let heap_records = header::HEAP_RECORDS.get(self.page);
        if heap_records & COMPACT_FLAG == 0 || heap_records & !COMPACT_FLAG < 2 {
            self.faults.push(PageFault::HeapRecords(heap_records));
            return false;
        }
        let direction = header::DIRECTION.get(self.page);
        if !matches!(direction & 7, 1 | 2 | 5) {
            self.faults.push(PageFault::Direction(direction));
        }
        // Info bits 0 and owned 1; heap number 0, status 2.
        if self.header_word(INFIMUM) != (1, RecordStatus::Infimum as u16)
            || header::INFIMUM_DATA.get(self.page) != *b"infimum\0"
        {
            self.faults
                .push(PageFault::SystemRecord { origin: INFIMUM });
        }
        // Info bits 0; heap number 1, status 3; no next record.
        let (bits, word) = self.header_word(SUPREMUM);
        if bits & 0xF0 != 0
            || word != 1 << 3 | RecordStatus::Supremum as u16
            || page.next(SUPREMUM) != 0
            || header::SUPREMUM_DATA.get(self.page) != *b"supremum"
        {
            self.faults
                .push(PageFault::SystemRecord { origin: SUPREMUM });
        }
        if page.slot(0) != INFIMUM {
            let found = page.slot(0);
            self.faults.push(PageFault::Slot {
                slot: 0,
                expected: INFIMUM,
                found,
            });
        }
        true
    }

    /// Walks from infimum to supremum, checking records, groups and slots.
    fn record_list(&mut self) -> Option<Vec<Found>> {
        let page = IndexPage::new(self.page);
        let mut live = Vec::new();
        let (mut slot, mut in_group) = (1, 0);
        let mut from = INFIMUM;
        loop {
            let origin = page.next(from);
            in_group += 1;
            if origin != SUPREMUM {
                let found = self.found("record", from, origin, live.len())?;
                self.check_record(origin, live.is_empty());
                live.push(found);
            }
            let owned = Record::new(self.page, origin).n_owned();
            if owned != 0 || origin == SUPREMUM {
                self.check_group(origin, slot, in_group);
                (slot, in_group) = (slot + 1, 0);
            }
            if origin == SUPREMUM {
                break;
            }
            from = origin;
        }
        if slot != page.slot_count() {
            self.faults.push(PageFault::SlotCount {
                slots: page.slot_count(),
                groups: slot,
            });
        }
        if live.len() != page.record_count() {
            let says = page.record_count();
            self.faults.push(PageFault::RecordCount {
                says,
                has: live.len(),
            });
        }
        Some(live)
    }

    fn check_record(&mut self, origin: u16, is_first: bool) {
        let (bits, word) = self.header_word(origin);
        let expected = if self.is_leaf {
            RecordStatus::Ordinary
        } else {
            RecordStatus::NodePointer
        };
        let status = (word & 7) as u8;
        if status != expected as u8 {
            self.faults.push(PageFault::Status { origin, status });
        }
        let leftmost = IndexPage::new(self.page).previous_page().is_none();
        let must_be_min = is_first && leftmost && !self.is_leaf;
        let bits = bits & 0xF0;
        if (bits & INFO_MIN_REC != 0) != must_be_min || bits & !(INFO_MIN_REC | INFO_DELETED) != 0 {
            self.faults.push(PageFault::InfoBits { origin, bits });
        }
    }

    fn check_group(&mut self, owner: u16, slot: usize, has: usize) {
        let page = IndexPage::new(self.page);
        let says = page.record(owner).n_owned();
        let fewest = if owner == SUPREMUM { 1 } else { SLOT_MIN_OWNED };
        if says != has || !(fewest..=SLOT_MAX_OWNED).contains(&has) {
            self.faults.push(PageFault::Owned {
                origin: owner,
                says,
                has,
            });
        }
        let found = if slot < page.slot_count() {
            page.slot(slot)
        } else {
            0
        };
        if found != owner {
            self.faults.push(PageFault::Slot {
                slot,
                expected: owner,
                found,
            });
        }
    }

    fn free_list(&mut self) -> Option<Vec<Found>> {
        let page = IndexPage::new(self.page);
        let mut freed = Vec::new();
        let (mut from, mut origin) = (0, page.first_free());
        while origin != 0 {
            freed.push(self.found("free", from, origin, freed.len())?);
            (from, origin) = (origin, page.next(origin));
        }
        Some(freed)
    }

    /// The record at `origin`, number `count` of its list, if it can be one.
    fn found(&mut self, list: &'static str, from: u16, origin: u16, count: usize) -> Option<Found> {
        let page = IndexPage::new(self.page);
        let heap = HEAP_START + FIXED_HEADER_SIZE..page.heap_top();
        // A list longer than the heap runs in a circle.
        if !heap.contains(&usize::from(origin)) || count >= usize::from(page.heap_count()) {
            self.faults.push(PageFault::List {
                list,
                from,
                to: origin,
            });
            return None;
        }
        let extent = extent_in_heap(self.page, self.format, origin);
        if extent.is_none() {
            self.faults.push(PageFault::Extent { origin });
        }
        let (start, end) = extent?;
        Some(Found { origin, start, end })
    }

    fn check_heap(&mut self, live: &[Found], freed: &[Found]) {
        let page = IndexPage::new(self.page);
        let says = usize::from(page.heap_count());
        let has = live.len() + freed.len() + 2;
        if says != has {
            self.faults.push(PageFault::HeapCount { says, has });
        }
        let mut taken = vec![false; says];
        taken[..2].fill(true);
        for record in live.iter().chain(freed) {
            let number = page.record(record.origin).heap_number();
            match taken.get_mut(usize::from(number)) {
                Some(taken) if !*taken => *taken = true,
                _ => self.faults.push(PageFault::HeapNumber {
                    origin: record.origin,
                    number,
                }),
            }
        }
        let used: usize = live.iter().map(|record| record.end - record.start).sum();
        let (says, heap) = (page.garbage(), page.heap_top() - HEAP_START);
        if used + says != heap {
            self.faults.push(PageFault::Garbage {
                says,
                has: heap.saturating_sub(used),
            });
        }
        let mut all: Vec<_> = live.iter().chain(freed).collect();
        all.sort_by_key(|record| record.start);
        for pair in all.windows(2) {
            let (start, end) = (pair[1].start, pair[0].end);
            if start < end {
                self.faults.push(PageFault::Overlap {
                    origin: pair[1].origin,
                    start,
                    end,
                });
            }
        }
    }

    fn check_keys(&mut self, live: &[Found]) {
        for pair in live.windows(2) {
            let (left, right) = (
                Record::new(self.page, pair[0].origin),
                Record::new(self.page, pair[1].origin),
            );
            // The key of a MIN_REC record counts as minus infinity, whatever it is.
            let ordering = match left.is_min_rec() {
                true => Ordering::Less,
                false => self.format.compare_records(left, right).ordering,
            };
            if ordering != Ordering::Less {
                self.faults.push(PageFault::KeyOrder {
                    origin: pair[1].origin,
                });
            }
        }
    }
}

/// First and past-the-end byte of a record, if both lie in the heap. The same
/// walk as in `record_format`, but wary.
pub(super) fn extent_in_heap(
    page: &PageBytes,
    format: &RecordFormat,
    origin: u16,
) -> Option<(usize, usize)> {
    let origin = usize::from(origin);
    let heap_top = IndexPage::new(page).heap_top();
    let node_pointer = u16_at(page, origin - 4) & 7 == RecordStatus::NodePointer as u16;
    let mut nulls = (origin - FIXED_HEADER_SIZE, 0);
    let mut header = (origin - FIXED_HEADER_SIZE).checked_sub(format.null_bytes())?;
    let mut end = origin + if node_pointer { CHILD_LENGTH } else { 0 };
    for column in &format.columns()[..format.field_count(node_pointer)] {
        if column.is_nullable() {
            let byte = nulls.0.checked_sub(1 + nulls.1 / 8)?;
            let is_null = page[byte] >> (nulls.1 % 8) & 1 != 0;
            nulls.1 += 1;
            if is_null {
                continue;
            }
        }
        let mut length = column.max_length();
        if column.is_variable() {
            header = header.checked_sub(1)?;
            length = usize::from(page[header]);
            if column.has_long_lengths() && length & 0x80 != 0 {
                header = header.checked_sub(1)?;
                length = (length & 0x3F) << 8 | usize::from(page[header]);
            }
        }
        end += length;
    }
    (header >= HEAP_START && end <= heap_top).then_some((header, end))
}
