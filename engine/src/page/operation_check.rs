//! Whether a page can take an operation, looked at before redo repeats it.
//!
//! An operation takes its page as it was when it was made. Recovery may meet another one:
//! a page of zeros that was never written, a page of an older backup, one that somebody
//! has edited. Each has a right checksum, and following its pointers would lead anywhere.
//! So recovery asks first, and gets a reason instead of a wild access:
//!
//! ```text
//!   whole page    header, directory, every record of the list       once a page, and
//!                                                                    before large operations
//!   small ones    the records that it will touch, step by step       each time
//!                 previous ─> new ─> next ─> .. ─> owner, its slot
//! ```
//!
//! The check of a small operation is enough by itself: bytes that redo wrote in between may
//! have been nonsense, too. Records are believed to have their headers only as far as these
//! do not overlap those of others that the operation changes; otherwise one write would turn
//! another pointer.
//!
//! Doing an operation for the first time asks nothing: the page was just searched.

use super::PageBytes;
use super::PageType;
use super::check::extent_in_heap;
use super::fil;
use super::index_header::{
    self as header, COMPACT_FLAG, DIRECTORY_END, FREE_SPACE_OF_EMPTY_PAGE, HEAP_START, INFIMUM,
    SLOT_MAX_OWNED, SLOT_MIN_OWNED, SLOT_SIZE, SUPREMUM, reserved_directory_space,
};
use super::insert::{HeapPlace, LinkRecord};
use super::operations::PageOperation;
use super::record::{FIXED_HEADER_SIZE, n_owned, next_origin};
use super::record_format::RecordFormat;
use super::record_list::DeleteList;
use super::{PAGE_SIZE, directory};

/// What is wrong with a page that cannot take an operation: a field or a structure, and
/// its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value}")]
pub struct OperationFault {
    /// What it is, and what is wrong about it.
    pub what: &'static str,
    /// The number that was found.
    pub value: u64,
}

fn fault<T>(what: &'static str, value: impl Into<u64>) -> Result<T, OperationFault> {
    Err(OperationFault {
        what,
        value: value.into(),
    })
}

impl PageOperation {
    /// Whether the operation goes by what the page holds, beyond replacing bytes.
    pub fn interprets_page(&self) -> bool {
        !self.initialises_page() && !matches!(self, PageOperation::Fill { .. })
    }

    /// Checks that [`apply`](Self::apply) can be carried out on this page: it then neither
    /// panics nor runs in circles.
    ///
    /// # Errors
    /// What is wrong with the page.
    pub fn check(&self, page: &PageBytes) -> Result<(), OperationFault> {
        match self {
            PageOperation::InitialisePage { .. } | PageOperation::InitialiseIndexPage { .. } => {
                Ok(())
            }
            PageOperation::Fill { offset, length, .. } => {
                let end = usize::from(*offset) + usize::from(*length);
                match end <= PAGE_SIZE {
                    true => Ok(()),
                    false => fault("bytes are to be filled beyond the page, up to", end as u64),
                }
            }
            PageOperation::ClearIndexPage { .. } => check_type(page),
            PageOperation::LinkRecord(link) => Frame::of(page)?.check_link(link),
            PageOperation::UnlinkRecord { origin, size } => {
                Frame::of(page)?.check_unlink(*origin, *size)
            }
            PageOperation::DeleteListEnd(list) => {
                let (before, whole) = Frame::of(page)?.check_records(list.border, None)?;
                check_list(page, list, whole - before)
            }
            PageOperation::DeleteListStart(list) => {
                let (before, _) = Frame::of(page)?.check_records(list.border, None)?;
                check_list(page, list, before)
            }
            PageOperation::Reorganise { shape } => match shape.to_format() {
                Ok(format) => {
                    let frame = Frame::of(page)?;
                    frame.check_records(SUPREMUM, Some(&format)).map(|_| ())
                }
                Err(_) => fault("no record has so many key fields:", shape.key_fields),
            },
        }
    }
}

/// Checks an index page's header, directory, and list of records.
///
/// # Errors
/// The first thing that is wrong.
pub fn check_index_structure(page: &PageBytes) -> Result<(), OperationFault> {
    Frame::of(page)?.check_records(SUPREMUM, None).map(|_| ())
}

fn check_type(page: &PageBytes) -> Result<(), OperationFault> {
    match fil::page_type(page) {
        Some(PageType::Index) => Ok(()),
        _ => fault(
            "the page is not of an index: FIL_PAGE_TYPE is",
            fil::PAGE_TYPE.get(page).0,
        ),
    }
}

/// The counts of a page that loses records at one end of its list.
fn check_list(page: &PageBytes, list: &DeleteList, count: usize) -> Result<(), OperationFault> {
    if count == 0 || count != usize::from(list.count) {
        return fault("the number of records to take off is", count as u64);
    }
    let garbage = usize::from(header::GARBAGE.get(page)) + usize::from(list.size);
    check_garbage(page, garbage)
}

fn check_garbage(page: &PageBytes, garbage: usize) -> Result<(), OperationFault> {
    match garbage <= usize::from(header::HEAP_TOP.get(page)) - HEAP_START {
        true => Ok(()),
        false => fault("PAGE_GARBAGE would become", garbage as u64),
    }
}

/// Whether the fixed headers of two records share no byte.
fn is_apart(one: u16, other: u16) -> bool {
    usize::from(one.abs_diff(other)) >= FIXED_HEADER_SIZE
}

/// An index page whose header, infimum, supremum and slots are where they should be.
struct Frame<'a> {
    page: &'a PageBytes,
    heap_top: usize,
    slots: usize,
}

impl<'a> Frame<'a> {
    fn of(page: &'a PageBytes) -> Result<Frame<'a>, OperationFault> {
        check_type(page)?;
        let heap_top = usize::from(header::HEAP_TOP.get(page));
        let slots = usize::from(header::DIRECTORY_SLOTS.get(page));
        if slots < 2 || HEAP_START + SLOT_SIZE * slots > DIRECTORY_END {
            return fault("PAGE_N_DIR_SLOTS is", slots as u64);
        }
        if heap_top < HEAP_START || heap_top + SLOT_SIZE * slots > DIRECTORY_END {
            return fault("PAGE_HEAP_TOP is", heap_top as u64);
        }
        let heap_records = header::HEAP_RECORDS.get(page);
        if heap_records & COMPACT_FLAG == 0 || heap_records & !COMPACT_FLAG < 2 {
            return fault("PAGE_N_HEAP is", heap_records);
        }
        let (first, last) = (
            directory::slot_at(page, 0),
            directory::slot_at(page, slots - 1),
        );
        if first != INFIMUM {
            return fault("the first directory slot points to", first);
        }
        if last != SUPREMUM {
            return fault("the last directory slot points to", last);
        }
        if n_owned(page, INFIMUM) != 1 {
            let owned = n_owned(page, INFIMUM) as u64;
            return fault("records owned by the infimum:", owned);
        }
        Ok(Frame {
            page,
            heap_top,
            slots,
        })
    }

    /// A place where a record's header can be.
    fn check_origin(&self, origin: u16) -> Result<(), OperationFault> {
        let heap = HEAP_START + FIXED_HEADER_SIZE..self.heap_top;
        match origin == INFIMUM || origin == SUPREMUM || heap.contains(&usize::from(origin)) {
            true => Ok(()),
            false => fault("a pointer of the record list leads to byte", origin),
        }
    }

    /// The same, but infimum and supremum are none.
    fn check_user_origin(&self, origin: u16) -> Result<(), OperationFault> {
        match origin == INFIMUM || origin == SUPREMUM {
            true => fault(
                "a record is expected, not the system record at byte",
                origin,
            ),
            false => self.check_origin(origin),
        }
    }

    /// Follows the pointer of a record.
    fn next(&self, origin: u16) -> Result<u16, OperationFault> {
        let next = next_origin(self.page, origin);
        self.check_origin(next)?;
        Ok(next)
    }

    /// The slot of an owner; not the first one.
    fn slot_of(&self, owner: u16) -> Result<usize, OperationFault> {
        let slots = (1..self.slots).rev();
        let mut found = slots.filter(|&slot| directory::slot_at(self.page, slot) == owner);
        match found.next() {
            Some(slot) => Ok(slot),
            None => fault("no directory slot points to the record at byte", owner),
        }
    }

    /// Walks the whole list: every record, group and slot. Returns how many user records
    /// there are before `border`, which must be in the list, and how many in all. With a
    /// format also that the page can be rebuilt.
    fn check_records(
        &self,
        border: u16,
        format: Option<&RecordFormat>,
    ) -> Result<(usize, usize), OperationFault> {
        let records = usize::from(header::RECORDS.get(self.page));
        // One bit for each byte that is part of a record's header.
        let mut taken = [0_u64; PAGE_SIZE / 64];
        let (mut count, mut slot, mut in_group, mut size) = (0_u64, 1, 0, 0);
        let mut before = None;
        let mut at = INFIMUM;
        loop {
            at = self.next(at)?;
            if at == INFIMUM {
                return fault(
                    "the record list leads back to the infimum after records:",
                    count,
                );
            }
            for byte in usize::from(at) - FIXED_HEADER_SIZE..usize::from(at) {
                let bit = 1 << (byte % 64);
                if taken[byte / 64] & bit != 0 {
                    return fault("records overlap or run in a circle at byte", at);
                }
                taken[byte / 64] |= bit;
            }
            if at == border {
                before = Some(count as usize);
            }
            in_group += 1;
            let owned = n_owned(self.page, at);
            if owned != 0 || at == SUPREMUM {
                let fewest = if at == SUPREMUM { 1 } else { SLOT_MIN_OWNED };
                if owned != in_group || !(fewest..=SLOT_MAX_OWNED).contains(&owned) {
                    return fault("a wrong number of records is owned by that at byte", at);
                }
                if slot >= self.slots || directory::slot_at(self.page, slot) != at {
                    return fault("no directory slot points to the record at byte", at);
                }
                (slot, in_group) = (slot + 1, 0);
            }
            if at == SUPREMUM {
                break;
            }
            count += 1;
            if let Some(format) = format {
                match extent_in_heap(self.page, format, at) {
                    Some((start, end)) => size += end - start,
                    None => return fault("no room for the fields of the record at byte", at),
                }
            }
        }
        if slot != self.slots {
            return fault("PAGE_N_DIR_SLOTS is", self.slots as u64);
        }
        let count = count as usize;
        if count != records {
            return fault("PAGE_N_RECS is", records as u64);
        }
        if size + reserved_directory_space(count) > FREE_SPACE_OF_EMPTY_PAGE {
            return fault("the records have together bytes:", size as u64);
        }
        match before {
            Some(before) => Ok((before, count)),
            None => fault("the list does not have the record at byte", border),
        }
    }

    fn check_link(&self, link: &LinkRecord) -> Result<(), OperationFault> {
        let LinkRecord {
            origin, previous, ..
        } = *link;
        let (place, size) = (usize::from(origin), usize::from(link.size));
        let mut heap_top = self.heap_top;
        match link.place {
            HeapPlace::Top => {
                heap_top += size;
                if heap_top + SLOT_SIZE * self.slots > DIRECTORY_END {
                    return fault(
                        "a record does not fit above PAGE_HEAP_TOP",
                        self.heap_top as u64,
                    );
                }
                if !(self.heap_top + FIXED_HEADER_SIZE..heap_top).contains(&place) {
                    return fault(
                        "a record is to be added above PAGE_HEAP_TOP",
                        self.heap_top as u64,
                    );
                }
                let heap_records = header::HEAP_RECORDS.get(self.page);
                if heap_records == u16::MAX {
                    return fault("PAGE_N_HEAP is", heap_records);
                }
            }
            HeapPlace::Freed { .. } => {
                self.check_user_origin(origin)?;
                let garbage = header::GARBAGE.get(self.page);
                if garbage < link.size {
                    return fault("PAGE_GARBAGE is", garbage);
                }
            }
        }
        let records = header::RECORDS.get(self.page);
        if usize::from(records) >= PAGE_SIZE {
            return fault("PAGE_N_RECS is", records);
        }
        self.check_origin(previous)?;
        if previous == SUPREMUM || !is_apart(origin, previous) {
            return fault("a record is to follow that at byte", previous);
        }
        let next = self.next(previous)?;
        let check_apart = |at: u16| match is_apart(at, origin) && is_apart(at, previous) {
            true => Ok(()),
            false => fault("the record list leads in a circle to byte", at),
        };
        check_apart(next)?;
        let owner = self.owner_of(next, check_apart)?;
        if n_owned(self.page, owner) < SLOT_MAX_OWNED {
            return Ok(());
        }
        // The group is split: a slot more, and a walk from the owner before.
        if n_owned(self.page, owner) > SLOT_MAX_OWNED {
            return fault("too many records are owned by that at byte", owner);
        }
        if heap_top + SLOT_SIZE * (self.slots + 1) > DIRECTORY_END {
            return fault(
                "no room for one more directory slot than",
                self.slots as u64,
            );
        }
        let mut middle = directory::slot_at(self.page, self.slot_of(owner)? - 1);
        self.check_origin(middle)?;
        for _ in 0..SLOT_MAX_OWNED.div_ceil(2) {
            middle = match middle {
                at if at == previous => origin,
                at if at == origin => next,
                at => {
                    check_apart(at)?;
                    if at == owner || !is_apart(at, owner) {
                        return fault("the directory leads past its owner to byte", at);
                    }
                    self.next(at)?
                }
            };
        }
        Ok(())
    }

    /// The owner of the group that `at` is of, each record on the way being checked.
    fn owner_of(
        &self,
        mut at: u16,
        check: impl Fn(u16) -> Result<(), OperationFault>,
    ) -> Result<u16, OperationFault> {
        for _ in 0..=SLOT_MAX_OWNED {
            check(at)?;
            if n_owned(self.page, at) != 0 {
                return Ok(at);
            }
            at = self.next(at)?;
        }
        fault("no record owns that before byte", at)
    }

    fn check_unlink(&self, origin: u16, size: u16) -> Result<(), OperationFault> {
        self.check_user_origin(origin)?;
        let check_apart = |at: u16| match at == origin || is_apart(at, origin) {
            true => Ok(()),
            false => fault("records overlap at byte", at),
        };
        let owner = self.owner_of(origin, check_apart)?;
        let slot = self.slot_of(owner)?;
        let mut previous = directory::slot_at(self.page, slot - 1);
        self.check_origin(previous)?;
        let mut steps = 0;
        loop {
            let next = self.next(previous)?;
            if next == origin {
                break;
            }
            steps += 1;
            if steps > SLOT_MAX_OWNED || next == owner {
                return fault("the list does not have the record at byte", origin);
            }
            previous = next;
        }
        if !is_apart(previous, origin) || !is_apart(previous, owner) {
            return fault("records overlap at byte", previous);
        }
        self.next(origin)?;
        if header::RECORDS.get(self.page) == 0 {
            return fault("PAGE_N_RECS is", 0_u64);
        }
        let garbage = usize::from(header::GARBAGE.get(self.page)) + usize::from(size);
        check_garbage(self.page, garbage)?;
        // A small group is filled up from the next one.
        match n_owned(self.page, owner) <= SLOT_MIN_OWNED && slot + 1 < self.slots {
            true => self.check_records(origin, None).map(|_| ()),
            false => Ok(()),
        }
    }
}
