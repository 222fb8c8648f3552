//! What purge reads: the records of committed logs, in the order of their numbers.

use std::ops::Range;

use super::ids::TrxNo;
use super::read_view::PurgeView;
use super::undo::{HistoryPosition, UndoError, UndoLogs, UndoRecord, copy_record, next_record};
use crate::page::roll_pointer::RollPointer;
use crate::page::{PageId, PageNumber};
use crate::redo_log::MiniTransactionContext;

/// A record to follow up.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    table_id: u64,
    /// Its place in the order of the history.
    order: u32,
    bytes: Range<usize>,
    pub(super) pointer: RollPointer,
}

/// Records to follow up, grouped by table.
#[derive(Debug, Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    groups: Vec<Range<usize>>,
    /// Undo pages that were read for it.
    pub(super) pages: usize,
}

impl Batch {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.groups.clear();
        self.pages = 0;
    }

    fn push(&mut self, table_id: u64, bytes: &[u8], pointer: RollPointer) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.entries.push(Entry {
            table_id,
            order: self.entries.len() as u32,
            bytes: start..self.bytes.len(),
            pointer,
        });
    }

    /// Groups the records by table, the smallest group first, each in the history's order.
    pub(super) fn deal(&mut self) {
        self.entries
            .sort_unstable_by_key(|entry| (entry.table_id, entry.order));
        let mut start = 0;
        for index in 1..=self.entries.len() {
            let ends = index == self.entries.len()
                || self.entries[index].table_id != self.entries[start].table_id;
            if ends {
                self.groups.push(start..index);
                start = index;
            }
        }
        self.groups
            .sort_unstable_by_key(|group| (group.len(), group.start));
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn groups(&self) -> usize {
        self.groups.len()
    }

    pub(super) fn group(&self, number: usize) -> Option<&[Entry]> {
        let range = self.groups.get(number)?;
        Some(&self.entries[range.clone()])
    }

    pub(super) fn bytes(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.bytes.clone()]
    }
}

/// A log that is being read.
#[derive(Clone, Copy, Debug)]
struct Current {
    segment: usize,
    position: HistoryPosition,
    /// The last record that was read.
    place: Option<(PageNumber, u16)>,
}

/// How far purge has read.
#[derive(Debug, Default)]
pub(super) struct Fetch {
    current: Option<Current>,
    /// All logs with lower numbers have been read.
    read_below: TrxNo,
    buffer: Vec<u8>,
}

impl Fetch {
    /// Logs with lower numbers are done with, if all that was read has been followed up.
    pub(super) fn limit(&self) -> TrxNo {
        match &self.current {
            Some(current) => current.position.trx_no,
            None => self.read_below,
        }
    }

    /// Reads on, until a batch has its pages or nothing more may be read.
    pub(super) fn read(
        &mut self,
        undo: &UndoLogs,
        context: &mut MiniTransactionContext,
        view: &PurgeView,
        pages_max: usize,
        batch: &mut Batch,
    ) -> Result<(), UndoError> {
        while batch.pages < pages_max {
            let Some(mut current) = self.current.take().or_else(|| next_log(undo, view, batch))
            else {
                return Ok(());
            };
            let is_at_end = match current.position.concerns_purge {
                true => self.read_log(undo, context, &mut current, pages_max, batch)?,
                false => true,
            };
            if is_at_end {
                finish_log(undo, context, &current)?;
                self.read_below = current.position.trx_no + 1;
            } else {
                self.current = Some(current);
            }
        }
        Ok(())
    }

    /// Reads records of a log; true at its end.
    fn read_log(
        &mut self,
        undo: &UndoLogs,
        context: &mut MiniTransactionContext,
        current: &mut Current,
        pages_max: usize,
        batch: &mut Batch,
    ) -> Result<bool, UndoError> {
        let segment = &undo.rollback_segments()[current.segment];
        let space = segment.space;
        let log = (current.position.page, current.position.log);
        let mut mtr = undo.pages().begin(context);
        loop {
            let Some((page, offset)) = next_record(&mut mtr, space, log, current.place)? else {
                mtr.commit();
                return Ok(true);
            };
            let on = current.place.map_or(log.0, |(page, _)| page);
            if page != on {
                if batch.pages >= pages_max {
                    mtr.commit();
                    return Ok(false);
                }
                batch.pages += 1;
            }
            current.place = Some((page, offset));
            let id = PageId { space, page };
            copy_record(&mut mtr, id, offset, &mut self.buffer)?;
            let record = UndoRecord::parse(&self.buffer).map_err(|fault| UndoError::Record {
                page: id,
                offset,
                fault,
            })?;
            if record.concerns_purge {
                let pointer = RollPointer {
                    is_insert: false,
                    rollback_segment_id: segment.pointer_id,
                    page,
                    offset,
                };
                batch.push(record.table_id, &self.buffer, pointer);
            }
        }
    }
}

/// The oldest log that no view needs.
fn next_log(undo: &UndoLogs, view: &PurgeView, batch: &mut Batch) -> Option<Current> {
    let segment = undo.dequeue(view.low_limit_no)?;
    let position = undo.rollback_segments()[segment].state.lock().oldest?;
    batch.pages += 1;
    Some(Current {
        segment,
        position,
        place: None,
    })
}

/// A log has been read: its rollback segment's next one goes into the queue.
fn finish_log(
    undo: &UndoLogs,
    context: &mut MiniTransactionContext,
    current: &Current,
) -> Result<(), UndoError> {
    let segment = &undo.rollback_segments()[current.segment];
    let mut state = segment.state.lock();
    let mut mtr = undo.pages().begin(context);
    let (_, newer) = segment.position_of(&mut mtr, current.position.node())?;
    state.oldest = None;
    if !newer.is_null() {
        let (position, _) = segment.position_of(&mut mtr, newer)?;
        state.oldest = Some(position);
        undo.enqueue(position.trx_no, current.segment);
    }
    mtr.commit();
    Ok(())
}
