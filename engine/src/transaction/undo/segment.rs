//! Undo segments: lists of undo pages, the logs on them, and the records in the logs.
//!
//! ```text
//!   first page   FIL | page header | segment header | log header | rec rec | log header | rec
//!                                                      (committed, in the history)  ^ the
//!                                                                                 current one
//!   rec:  next (2) | body | start (2)
//! ```
//!
//! A log's records begin behind its header and go on on the segment's further pages.
//! Only the transaction that has the segment writes to it; purge frees it.

use crate::page::file_list::{FileAddress, ListBase, ListNode, SegmentHeader};
use crate::page::undo_page::{self as layout, LOG_HEADER_SIZE, UndoKind, UndoSegmentState};
use crate::page::{PAGE_SIZE, PageBytes, PageId, PageNumber, PageType, SpaceId, fil};
use crate::page_allocation::file_lists::{self, ListPlace};
use crate::page_allocation::{AllocationDirection, allocate_page, free_page, free_segment_step};
use crate::redo_log::{MiniTransaction, MiniTransactionContext, PageHandle, Pages};
use crate::runtime::{Cost, LatchMode, cpu};
use crate::transaction::TrxId;

use super::record::{LINK_LENGTH, UndoRecord};
use super::rollback_segment::RollbackSegment;
use super::{UndoError, UndoRecordFault};

/// A segment of one page with less than this used is kept at commit
/// (`TRX_UNDO_PAGE_REUSE_LIMIT`).
const REUSE_LIMIT: usize = 3 * PAGE_SIZE / 4;

/// Bytes at the end of a page that records leave free (InnoDB: 10).
const RESERVE: usize = 10;

/// Where a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transaction) struct UndoPlace {
    pub(in crate::transaction) page: PageNumber,
    pub(in crate::transaction) offset: u16,
    pub(in crate::transaction) undo_no: u64,
}

/// An undo segment, as the transaction or the rollback segment that has it knows it.
#[derive(Clone, Debug)]
pub(in crate::transaction) struct UndoSegment {
    pub(in crate::transaction) kind: UndoKind,
    pub(in crate::transaction) slot: u16,
    pub(in crate::transaction) segment: SegmentHeader,
    pub(in crate::transaction) first_page: PageNumber,
    pub(in crate::transaction) last_page: PageNumber,
    pub(in crate::transaction) pages: u32,
    /// Offset of the current log's header on the first page.
    pub(in crate::transaction) log: u16,
    /// The current log's last record.
    pub(in crate::transaction) top: Option<UndoPlace>,
    /// Whether the current log has something for purge.
    pub(in crate::transaction) concerns_purge: bool,
}

fn node_of(page: PageNumber) -> FileAddress {
    FileAddress::new(page, layout::NODE.offset() as u16)
}

/// Makes a page an undo page without records.
fn initialise(mtr: &mut MiniTransaction<'_>, page: PageHandle, kind: UndoKind, start: usize) {
    let id = mtr.page_id(page);
    let mut writer = mtr.writer(page);
    writer.initialise_page(id, PageType::UndoLog);
    writer.set(layout::KIND, kind as u16);
    writer.set(layout::START, start as u16);
    writer.set(layout::FREE, start as u16);
    writer.set(layout::NODE, ListNode::ALONE);
}

impl UndoSegment {
    fn id(&self, page: PageNumber) -> PageId {
        PageId {
            space: self.segment.space,
            page,
        }
    }

    /// Creates a segment with one page, in a free slot of a rollback segment whose header
    /// page is held in X.
    pub(super) fn create(
        mtr: &mut MiniTransaction<'_>,
        rollback_segment: &RollbackSegment,
        header: PageHandle,
        slot: usize,
        kind: UndoKind,
    ) -> Result<UndoSegment, UndoError> {
        let space = rollback_segment.space;
        let segment = crate::page_allocation::create_segment(mtr, space)?;
        let hint = rollback_segment.header;
        let page = allocate_page(mtr, segment, hint, AllocationDirection::None)?;
        initialise(mtr, page, kind, layout::SEGMENT_HEADER_END);
        let first_page = mtr.page_id(page).page;
        let mut writer = mtr.writer(page);
        writer.set(layout::NODE, ListNode::ALONE);
        writer.set(layout::STATE, UndoSegmentState::Active as u16);
        writer.set(layout::LAST_LOG, 0);
        writer.set(layout::SEGMENT, segment);
        writer.set(layout::PAGE_LIST, ListBase::of_one(node_of(first_page)));
        drop(writer);
        let field = crate::page::rollback_segment::undo_slot(slot);
        mtr.writer(header).set(field, first_page);
        Ok(UndoSegment {
            kind,
            slot: slot as u16,
            segment,
            first_page,
            last_page: first_page,
            pages: 1,
            log: 0,
            top: None,
            concerns_purge: false,
        })
    }

    /// Begins a transaction's log on a new or cached segment.
    pub(super) fn begin_log(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        trx_id: TrxId,
    ) -> Result<(), UndoError> {
        let page = mtr.fix(self.id(self.first_page), LatchMode::X)?;
        let mut writer = mtr.writer(page);
        if self.kind == UndoKind::Insert {
            // Nobody needs what was there.
            writer.set(layout::FREE, layout::SEGMENT_HEADER_END as u16);
            writer.set(layout::LAST_LOG, 0);
        }
        let log = usize::from(layout::FREE.get(writer.page()));
        let last = layout::LAST_LOG.get(writer.page());
        let start = log + LOG_HEADER_SIZE;
        if last != 0 {
            writer.set(layout::NEXT_LOG.at(usize::from(last)), log as u16);
        }
        writer.set(layout::START, start as u16);
        writer.set(layout::FREE, start as u16);
        writer.set(layout::STATE, UndoSegmentState::Active as u16);
        writer.set(layout::LAST_LOG, log as u16);
        writer.fill(log, LOG_HEADER_SIZE, 0);
        writer.set(layout::TRX_ID.at(log), trx_id);
        writer.set(layout::HAS_DELETE_MARKS.at(log), 1);
        writer.set(layout::LOG_START.at(log), start as u16);
        writer.set(layout::PREVIOUS_LOG.at(log), last);
        writer.set(layout::HISTORY_NODE.at(log), ListNode::ALONE);
        self.log = log as u16;
        self.top = None;
        self.concerns_purge = false;
        Ok(())
    }

    // ---- writing --------------------------------------------------------------

    /// Adds a record to the current log. `None` if the last page has no room for it.
    pub(super) fn append(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        undo_no: u64,
        body: &[u8],
    ) -> Result<Option<u16>, UndoError> {
        let id = self.id(self.last_page);
        let page = mtr.fix(id, LatchMode::X)?;
        let free = layout::FREE.get(mtr.page(page));
        let start = usize::from(free);
        let end = start + body.len() + 2 * LINK_LENGTH;
        if end + RESERVE > fil::TRAILER {
            return Ok(None);
        }
        cpu(Cost::UndoRecordWrite);
        let mut writer = mtr.writer(page);
        writer.write(start, &(end as u16).to_be_bytes());
        writer.write(start + LINK_LENGTH, body);
        writer.write(end - LINK_LENGTH, &free.to_be_bytes());
        writer.set(layout::FREE, end as u16);
        self.top = Some(UndoPlace {
            page: id.page,
            offset: free,
            undo_no,
        });
        Ok(Some(free))
    }

    /// Adds a page.
    pub(super) fn add_page(&mut self, mtr: &mut MiniTransaction<'_>) -> Result<(), UndoError> {
        // Before the tablespace's latch.
        let first = mtr.fix(self.id(self.first_page), LatchMode::X)?;
        mtr.fix(self.id(self.last_page), LatchMode::X)?;
        let hint = PageNumber(self.last_page.0.saturating_add(1));
        let page = allocate_page(mtr, self.segment, hint, AllocationDirection::Up)?;
        initialise(mtr, page, self.kind, layout::PAGE_HEADER_END);
        let number = mtr.page_id(page).page;
        let list = ListPlace::new(first, layout::PAGE_LIST);
        file_lists::add_last(mtr, list, node_of(number))?;
        self.last_page = number;
        self.pages += 1;
        Ok(())
    }

    // ---- reading --------------------------------------------------------------

    /// Where the current log's records begin on a page.
    fn start_on(&self, bytes: &PageBytes, page: PageNumber) -> u16 {
        match page == self.first_page {
            true => layout::LOG_START.at(usize::from(self.log)).get(bytes),
            false => layout::PAGE_HEADER_END as u16,
        }
    }

    /// The record before a place of the current log, or at its end if `place` is `None`:
    /// its page and offset.
    pub(in crate::transaction) fn previous(
        &self,
        mtr: &mut MiniTransaction<'_>,
        place: Option<(PageNumber, u16)>,
    ) -> Result<Option<(PageNumber, u16)>, UndoError> {
        let (mut number, mut offset) = match place {
            Some((page, offset)) => (page, Some(offset)),
            None => (self.last_page, None),
        };
        for _ in 0..=self.pages {
            let id = self.id(number);
            let page = mtr.fix(id, LatchMode::S)?;
            let bytes = mtr.page(page);
            let here = offset.unwrap_or_else(|| layout::FREE.get(bytes));
            let start = self.start_on(bytes, number);
            let before = layout::NODE.get(bytes).previous;
            let found = (here > start).then(|| {
                let end = usize::from(here);
                u16::from_be_bytes([bytes[end - 2], bytes[end - 1]])
            });
            mtr.release(page);
            match found {
                Some(found) if (start..here).contains(&found) => return Ok(Some((number, found))),
                Some(found) => {
                    return Err(UndoError::Damaged {
                        page: id,
                        what: "the start of the record before another one",
                        found: found.into(),
                        accepted: "an offset between the log's start and that record",
                    });
                }
                None if number == self.first_page || before.is_null() => return Ok(None),
                None => (number, offset) = (before.page, None),
            }
        }
        Err(UndoError::Damaged {
            page: self.id(self.first_page),
            what: "the number of an undo segment's pages",
            found: self.pages.into(),
            accepted: "what its list has",
        })
    }

    /// The record of a place, for [`top`](Self::top): reads its number.
    pub(in crate::transaction) fn place_of(
        &self,
        mtr: &mut MiniTransaction<'_>,
        found: Option<(PageNumber, u16)>,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<UndoPlace>, UndoError> {
        let Some((page, offset)) = found else {
            return Ok(None);
        };
        let id = self.id(page);
        copy_record(mtr, id, offset, buffer)?;
        let record = parse(id, offset, buffer)?;
        Ok(Some(UndoPlace {
            page,
            offset,
            undo_no: record.undo_no,
        }))
    }

    // ---- the end --------------------------------------------------------------

    /// Gives the pages behind the last record back, after a rollback.
    pub(in crate::transaction) fn truncate_end(
        &mut self,
        pages: &Pages,
        context: &mut MiniTransactionContext,
    ) -> Result<(), UndoError> {
        let keep = self.top.map_or(self.first_page, |top| top.page);
        while self.last_page != keep {
            let mut mtr = pages.begin(context);
            let first = mtr.fix(self.id(self.first_page), LatchMode::X)?;
            let last = mtr.fix(self.id(self.last_page), LatchMode::X)?;
            let before = layout::NODE.get(mtr.page(last)).previous;
            if before.is_null() {
                let page = self.id(self.last_page);
                return Err(UndoError::Damaged {
                    page,
                    what: "the page before the last one of an undo segment",
                    found: before.page.0.into(),
                    accepted: "a page of the segment",
                });
            }
            mtr.fix(self.id(before.page), LatchMode::X)?;
            let list = ListPlace::new(first, layout::PAGE_LIST);
            let removed = file_lists::remove(&mut mtr, list, node_of(self.last_page))
                .and_then(|()| free_page(&mut mtr, self.segment, self.last_page));
            mtr.commit();
            removed?;
            self.last_page = before.page;
            self.pages -= 1;
        }
        let mut mtr = pages.begin(context);
        let id = self.id(keep);
        let page = mtr.fix(id, LatchMode::X)?;
        let bytes = mtr.page(page);
        let free = match self.top {
            Some(top) => next_of(bytes, top.offset),
            None => self.start_on(bytes, keep),
        };
        mtr.writer(page).set(layout::FREE, free);
        mtr.commit();
        Ok(())
    }

    /// Decides what becomes of the segment at commit, and notes it on its first page, which
    /// is held in X.
    pub(super) fn finish(
        &self,
        mtr: &mut MiniTransaction<'_>,
        first: PageHandle,
    ) -> UndoSegmentState {
        let used = usize::from(layout::FREE.get(mtr.page(first)));
        let state = match (self.pages == 1 && used < REUSE_LIMIT, self.kind) {
            (true, _) => UndoSegmentState::Cached,
            (false, UndoKind::Insert) => UndoSegmentState::ToFree,
            (false, UndoKind::Update) => UndoSegmentState::ToPurge,
        };
        mtr.writer(first).set(layout::STATE, state as u16);
        state
    }

    /// Frees the whole segment in small steps, and its slot with the last one.
    pub(in crate::transaction) fn free(
        &self,
        pages: &Pages,
        context: &mut MiniTransactionContext,
        header: PageId,
    ) -> Result<(), UndoError> {
        loop {
            let mut mtr = pages.begin(context);
            let header = mtr.fix(header, LatchMode::X)?;
            let step = free_segment_step(&mut mtr, self.segment);
            if let Ok(true) = step {
                let slot = crate::page::rollback_segment::undo_slot(usize::from(self.slot));
                mtr.writer(header).set(slot, PageNumber::NULL);
            }
            mtr.commit();
            if step? {
                return Ok(());
            }
        }
    }
}

fn next_of(bytes: &PageBytes, offset: u16) -> u16 {
    let at = usize::from(offset);
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn parse(page: PageId, offset: u16, bytes: &[u8]) -> Result<UndoRecord<'_>, UndoError> {
    UndoRecord::parse(bytes).map_err(|fault| UndoError::Record {
        page,
        offset,
        fault,
    })
}

/// Copies a record, without its links, from its page.
pub(in crate::transaction) fn copy_record(
    mtr: &mut MiniTransaction<'_>,
    id: PageId,
    offset: u16,
    buffer: &mut Vec<u8>,
) -> Result<(), UndoError> {
    cpu(Cost::UndoRecordRead);
    let page = mtr.fix(id, LatchMode::S)?;
    let bytes = mtr.page(page);
    let start = usize::from(offset);
    let range = (layout::PAGE_HEADER_END..fil::TRAILER - 2)
        .contains(&start)
        .then(|| {
            let end = usize::from(next_of(bytes, offset));
            (start + LINK_LENGTH, end.saturating_sub(LINK_LENGTH))
        });
    buffer.clear();
    let found = match range {
        Some((from, to)) if from < to && to <= fil::TRAILER => {
            buffer.extend_from_slice(&bytes[from..to]);
            true
        }
        _ => false,
    };
    mtr.release(page);
    match found {
        true => Ok(()),
        false => Err(UndoError::Record {
            page: id,
            offset,
            fault: UndoRecordFault {
                what: "its place or its end lies outside of the page",
            },
        }),
    }
}

/// The record behind a place of the log whose header is at (`first`, `log`), or the log's
/// first one if `place` is `None`. For purge, which reads logs of others.
pub(in crate::transaction) fn next_record(
    mtr: &mut MiniTransaction<'_>,
    space: SpaceId,
    (first, log): (PageNumber, u16),
    place: Option<(PageNumber, u16)>,
) -> Result<Option<(PageNumber, u16)>, UndoError> {
    let id = |page| PageId { space, page };
    let header = usize::from(log);
    let mut number = place.map_or(first, |(page, _)| page);
    let mut offset = place.map(|(_, offset)| offset);
    loop {
        let page = mtr.fix(id(number), LatchMode::S)?;
        let bytes = mtr.page(page);
        let here = match offset {
            Some(offset) => next_of(bytes, offset),
            None if number == first => layout::LOG_START.at(header).get(bytes),
            None => layout::PAGE_HEADER_END as u16,
        };
        // On its first page a log ends where the next one's header begins.
        let end = match number == first {
            true => match layout::NEXT_LOG.at(header).get(bytes) {
                0 => layout::FREE.get(bytes),
                next => next,
            },
            false => layout::FREE.get(bytes),
        };
        // A log that is followed by another one has one page.
        let is_last_of_several = number == first && layout::NEXT_LOG.at(header).get(bytes) != 0;
        let next_page = layout::NODE.get(bytes).next;
        mtr.release(page);
        if here < end {
            return Ok(Some((number, here)));
        }
        if is_last_of_several || next_page.is_null() {
            return Ok(None);
        }
        (number, offset) = (next_page.page, None);
    }
}
