//! Cutting the history: undo that has been worked off is given back.

use super::ids::TrxNo;
use super::undo::{HistoryPosition, RollbackSegment, UndoError, UndoLogs};
use crate::page::PageId;
use crate::page::rollback_segment as layout;
use crate::page::undo_page::{self, UndoSegmentState};
use crate::page_allocation::file_lists::{self, ListPlace};
use crate::page_allocation::{free_segment_step, segment_pages};
use crate::redo_log::MiniTransactionContext;
use crate::runtime::LatchMode;

impl UndoLogs {
    /// Takes all logs with numbers below `limit` off the history, and frees segments of
    /// which nothing else is needed. Returns how many logs there were.
    pub(super) fn cut_history(
        &self,
        context: &mut MiniTransactionContext,
        limit: TrxNo,
    ) -> Result<u64, UndoError> {
        let mut removed = 0;
        for segment in self.rollback_segments() {
            while self.cut_oldest(segment, context, limit)? {
                self.history_shrinks();
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Takes the oldest log off, if it is below the limit.
    fn cut_oldest(
        &self,
        segment: &RollbackSegment,
        context: &mut MiniTransactionContext,
        limit: TrxNo,
    ) -> Result<bool, UndoError> {
        let pages = self.pages();
        // Without the mutex at first: mostly there is nothing.
        let mut mtr = pages.begin(context);
        let header = mtr.fix(segment.header(), LatchMode::S)?;
        let last = layout::HISTORY.get(mtr.page(header)).last;
        mtr.release(header);
        if last.is_null() {
            mtr.commit();
            return Ok(false);
        }
        let (position, _) = segment.position_of(&mut mtr, last)?;
        mtr.commit();
        if position.trx_no >= limit {
            return Ok(false);
        }
        let _state = segment.state.lock();
        let mut mtr = pages.begin(context);
        let id = PageId {
            space: segment.space,
            page: position.page,
        };
        let page = mtr.fix(id, LatchMode::S)?;
        let bytes = mtr.page(page);
        let state = UndoSegmentState::from_field(undo_page::STATE.get(bytes));
        let next_log = undo_page::NEXT_LOG.at(usize::from(position.log)).get(bytes);
        mtr.commit();
        if state == Some(UndoSegmentState::ToPurge) && next_log == 0 {
            self.free_log_segment(segment, context, &position)?;
        } else {
            let mut mtr = pages.begin(context);
            let header = mtr.fix(segment.header(), LatchMode::X)?;
            let list = ListPlace::new(header, layout::HISTORY);
            let removed = file_lists::remove(&mut mtr, list, position.node());
            mtr.commit();
            removed?;
        }
        Ok(true)
    }

    /// Frees the segment of a log, which nothing else is on, and takes the log off the
    /// history with its last page: so the history never names a page that is free.
    fn free_log_segment(
        &self,
        rollback_segment: &RollbackSegment,
        context: &mut MiniTransactionContext,
        position: &HistoryPosition,
    ) -> Result<(), UndoError> {
        let pages = self.pages();
        let id = PageId {
            space: rollback_segment.space,
            page: position.page,
        };
        let mut mtr = pages.begin(context);
        let page = mtr.fix(id, LatchMode::S)?;
        let bytes = mtr.page(page);
        let segment = undo_page::SEGMENT.get(bytes);
        let size = undo_page::PAGE_LIST.get(bytes).length;
        mtr.commit();
        loop {
            let mut mtr = pages.begin(context);
            // Before the tablespace's latch.
            let header = mtr.fix(rollback_segment.header(), LatchMode::X)?;
            let first = mtr.fix(id, LatchMode::X)?;
            let node = undo_page::HISTORY_NODE.at(usize::from(position.log));
            let newer = node.get(mtr.page(first)).previous;
            if !newer.is_null() {
                let newer = PageId {
                    space: id.space,
                    page: newer.page,
                };
                mtr.fix(newer, LatchMode::X)?;
            }
            let used = match segment_pages(&mut mtr, segment) {
                Ok(pages) => pages.used,
                Err(error) => {
                    mtr.commit();
                    return Err(error.into());
                }
            };
            if used > 1 {
                let step = free_segment_step(&mut mtr, segment);
                mtr.commit();
                step?;
                continue;
            }
            let list = ListPlace::new(header, layout::HISTORY);
            let mut freed = file_lists::remove(&mut mtr, list, position.node());
            let left = layout::HISTORY_SIZE.get(mtr.page(header));
            mtr.writer(header)
                .set(layout::HISTORY_SIZE, left.saturating_sub(size));
            while freed.is_ok() {
                match free_segment_step(&mut mtr, segment) {
                    Ok(false) => {}
                    Ok(true) => break,
                    Err(error) => freed = Err(error),
                }
            }
            mtr.commit();
            return Ok(freed?);
        }
    }
}
