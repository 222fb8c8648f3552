//! Rollback segments: slots for undo segments, and the history of committed logs.

use std::cmp::Reverse;

use crate::page::file_list::{FileAddress, ListBase};
use crate::page::rollback_segment::{self as layout, UNDO_SLOTS};
use crate::page::undo_page::{self, UndoKind, UndoSegmentState};
use crate::page::{PageId, PageNumber, PageType, SpaceId};
use crate::page_allocation::{AllocationDirection, allocate_page, create_segment};
use crate::redo_log::{MiniTransaction, PageHandle};
use crate::runtime::{LatchClass, LatchMode, Mutex};
use crate::transaction::TrxNo;

use super::UndoError;
use super::segment::UndoSegment;

/// A committed log in the history of its rollback segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transaction) struct HistoryPosition {
    pub(in crate::transaction) page: PageNumber,
    /// Offset of the log's header.
    pub(in crate::transaction) log: u16,
    pub(in crate::transaction) trx_no: TrxNo,
    /// Whether it has something for purge.
    pub(in crate::transaction) concerns_purge: bool,
}

/// A rollback segment with something to purge: the number of its oldest log, and which it
/// is. The queue gives out the smallest first.
pub(super) type QueueEntry = Reverse<(TrxNo, usize)>;

#[derive(Debug, Default)]
pub(in crate::transaction) struct RollbackSegmentState {
    /// Segments for reuse, insert and update.
    pub(in crate::transaction) cached: [Vec<UndoSegment>; 2],
    /// The oldest log that purge has not read.
    pub(in crate::transaction) oldest: Option<HistoryPosition>,
    /// Where the search for a free slot begins.
    next_slot: usize,
}

/// A rollback segment.
#[derive(Debug)]
pub struct RollbackSegment {
    /// Its place in the list of all.
    pub(in crate::transaction) number: usize,
    pub(in crate::transaction) space: SpaceId,
    /// Its header page.
    pub(in crate::transaction) header: PageNumber,
    /// What roll pointers to its undo name it by: the undo tablespace's number (8.0), or
    /// its slot on the transaction system page.
    pub(in crate::transaction) pointer_id: u8,
    pub(in crate::transaction) state: Mutex<RollbackSegmentState>,
}

/// The index of a kind of log.
pub(super) const fn index_of(kind: UndoKind) -> usize {
    match kind {
        UndoKind::Insert => 0,
        UndoKind::Update => 1,
    }
}

impl RollbackSegment {
    pub(super) fn new(number: usize, space: SpaceId, header: PageNumber, pointer_id: u8) -> Self {
        RollbackSegment {
            number,
            space,
            header,
            pointer_id,
            state: Mutex::new(LatchClass::RollbackSegment, RollbackSegmentState::default()),
        }
    }

    /// The address of its header page.
    pub fn header(&self) -> PageId {
        PageId {
            space: self.space,
            page: self.header,
        }
    }

    /// Its tablespace.
    pub fn space(&self) -> SpaceId {
        self.space
    }

    /// Makes the header page of a new rollback segment.
    pub(super) fn create_header(
        mtr: &mut MiniTransaction<'_>,
        space: SpaceId,
    ) -> Result<PageNumber, UndoError> {
        let segment = create_segment(mtr, space)?;
        let page = allocate_page(mtr, segment, PageNumber(0), AllocationDirection::Up)?;
        let id = mtr.page_id(page);
        let mut writer = mtr.writer(page);
        writer.initialise_page(id, PageType::System);
        writer.set(layout::MAX_SIZE, layout::NO_SIZE_LIMIT);
        writer.set(layout::HISTORY_SIZE, 0);
        writer.set(layout::HISTORY, ListBase::EMPTY);
        writer.set(layout::SEGMENT, segment);
        let (slots, length) = layout::UNDO_SLOT_RANGE;
        writer.fill(slots, length, 0xFF);
        writer.set(layout::MAX_TRX_NO, 0);
        Ok(id.page)
    }

    /// A free slot of the header page, which is held.
    pub(super) fn find_free_slot(
        &self,
        mtr: &MiniTransaction<'_>,
        header: PageHandle,
        state: &mut RollbackSegmentState,
    ) -> Result<usize, UndoError> {
        let bytes = mtr.page(header);
        let all = (state.next_slot..UNDO_SLOTS).chain(0..state.next_slot);
        for slot in all {
            if layout::undo_slot(slot).get(bytes).is_null() {
                state.next_slot = (slot + 1) % UNDO_SLOTS;
                return Ok(slot);
            }
        }
        Err(UndoError::NoFreeSlot {
            segment: self.number,
        })
    }

    /// Reads what a slot holds, after a restart. `None` if it is free.
    pub(in crate::transaction) fn load_slot(
        &self,
        mtr: &mut MiniTransaction<'_>,
        slot: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<(UndoSegment, UndoSegmentState, u64)>, UndoError> {
        let header = mtr.fix(self.header(), LatchMode::S)?;
        let first_page = layout::undo_slot(slot).get(mtr.page(header));
        mtr.release(header);
        if first_page.is_null() {
            return Ok(None);
        }
        let id = PageId {
            space: self.space,
            page: first_page,
        };
        let damaged = |what, found: u64, accepted| UndoError::Damaged {
            page: id,
            what,
            found,
            accepted,
        };
        let page = mtr.fix(id, LatchMode::S)?;
        let bytes = mtr.page(page);
        let kind = undo_page::KIND.get(bytes);
        let kind = UndoKind::from_field(kind).ok_or(damaged(
            "TRX_UNDO_PAGE_TYPE",
            kind.into(),
            "1 (insert) or 2 (update)",
        ))?;
        let state = undo_page::STATE.get(bytes);
        let state = UndoSegmentState::from_field(state).ok_or(damaged(
            "TRX_UNDO_STATE",
            state.into(),
            "1 to 5",
        ))?;
        let log = undo_page::LAST_LOG.get(bytes);
        let at = usize::from(log);
        if at < undo_page::SEGMENT_HEADER_END
            || at + undo_page::LOG_HEADER_SIZE > crate::page::fil::TRAILER
        {
            return Err(damaged(
                "TRX_UNDO_LAST_LOG",
                log.into(),
                "86 to 16190, the place of a log header",
            ));
        }
        let list = undo_page::PAGE_LIST.get(bytes);
        let trx_id = undo_page::TRX_ID.at(at).get(bytes);
        let mut segment = UndoSegment {
            kind,
            slot: slot as u16,
            segment: undo_page::SEGMENT.get(bytes),
            first_page,
            last_page: list.last.page,
            pages: list.length,
            log,
            top: None,
            concerns_purge: undo_page::HAS_DELETE_MARKS.at(at).get(bytes) != 0,
        };
        mtr.release(page);
        if matches!(state, UndoSegmentState::Active | UndoSegmentState::Prepared) {
            let last = segment.previous(mtr, None)?;
            segment.top = segment.place_of(mtr, last, buffer)?;
        }
        Ok(Some((segment, state, trx_id)))
    }

    /// Reads a log's header in the history.
    pub(in crate::transaction) fn position_of(
        &self,
        mtr: &mut MiniTransaction<'_>,
        node: FileAddress,
    ) -> Result<(HistoryPosition, FileAddress), UndoError> {
        let page = PageId {
            space: self.space,
            page: node.page,
        };
        let (number, header) = undo_page::log_header_of_node(node).ok_or(UndoError::Damaged {
            page,
            what: "the offset of a node of the history",
            found: node.offset.into(),
            accepted: "120 and more",
        })?;
        let handle = mtr.fix(page, LatchMode::S)?;
        let bytes = mtr.page(handle);
        let position = HistoryPosition {
            page: number,
            log: header as u16,
            trx_no: undo_page::TRX_NO.at(header).get(bytes),
            concerns_purge: undo_page::HAS_DELETE_MARKS.at(header).get(bytes) != 0,
        };
        let newer = undo_page::HISTORY_NODE.at(header).get(bytes).previous;
        mtr.release(handle);
        Ok((position, newer))
    }
}

impl HistoryPosition {
    /// The log's node on the history list.
    pub(in crate::transaction) fn node(&self) -> FileAddress {
        let offset = undo_page::HISTORY_NODE.at(usize::from(self.log)).offset();
        FileAddress::new(self.page, offset as u16)
    }
}
