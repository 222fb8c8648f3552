//! A transaction's undo: writing records, reading them back, and what commit does to them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

use crate::metrics::Level;
use crate::page::roll_pointer::RollPointer;
use crate::page::rollback_segment as layout;
use crate::page::undo_page::{self, UndoKind, UndoSegmentState};
use crate::page::{Lsn, PageId, PageNumber, SpaceId};
use crate::page_allocation::file_lists::{self, ListPlace};
use crate::redo_log::{MiniTransaction, MiniTransactionContext, Pages};
use crate::runtime::{Cost, LatchClass, LatchMode, Mutex, cpu};
use crate::transaction::session::Transaction;
use crate::transaction::settings::TransactionSettings;
use crate::transaction::system::TransactionSystem;
use crate::transaction::{TrxId, TrxNo};

use super::record::{InsertUndo, MAX_UNDO_RECORD, UpdateUndo};
use super::rollback_segment::{HistoryPosition, QueueEntry, RollbackSegment, index_of};
use super::segment::{UndoSegment, copy_record};
use super::{UndoError, spaces};

/// What a transaction has of undo.
#[derive(Debug)]
pub struct TransactionUndo {
    /// For undo's own mini-transactions: the row's is open while undo is written.
    pub(in crate::transaction) context: MiniTransactionContext,
    pub(in crate::transaction) rollback_segment: Option<Arc<RollbackSegment>>,
    /// Insert and update.
    pub(in crate::transaction) segments: [Option<UndoSegment>; 2],
    /// What the commit decided of the insert log's segment.
    insert_is_cached: bool,
    /// The number of the next record.
    pub(in crate::transaction) next_undo_no: u64,
    /// For one record.
    pub(in crate::transaction) buffer: Vec<u8>,
}

impl TransactionUndo {
    pub(in crate::transaction) fn new(shard: usize) -> Self {
        TransactionUndo {
            context: MiniTransactionContext::new(shard),
            rollback_segment: None,
            segments: [None, None],
            insert_is_cached: false,
            next_undo_no: 0,
            buffer: Vec::new(),
        }
    }
}

/// The undo logs of an engine.
#[derive(Debug)]
pub struct UndoLogs {
    pages: Arc<Pages>,
    segments: Vec<Arc<RollbackSegment>>,
    /// Tablespaces by the number that roll pointers name them by.
    spaces: Vec<Option<SpaceId>>,
    /// Counts assignments.
    next: AtomicUsize,
    /// Committed update logs that are not purged.
    history_length: AtomicU64,
    /// Rollback segments with something to purge.
    queue: Mutex<BinaryHeap<QueueEntry>>,
    /// Whether a segment's header has room for its highest number (8.0).
    keeps_max_trx_no: bool,
}

/// Roll pointers have seven bits for a rollback segment.
const POINTER_IDS: usize = 128;

impl UndoLogs {
    /// Creates the rollback segments of a new instance, and the undo tablespaces if the
    /// version has them. The system tablespace exists.
    ///
    /// # Errors
    /// If a file exists, or cannot be written.
    pub fn create(
        pages: Arc<Pages>,
        context: &mut MiniTransactionContext,
        directory: &Path,
        settings: &TransactionSettings,
    ) -> Result<UndoLogs, UndoError> {
        let count = settings.rollback_segments;
        let segments = if settings.undo_tablespaces == 0 {
            spaces::create_in_system_space(&pages, context, count)?
        } else {
            let mut headers = Vec::new();
            for number in 1..=settings.undo_tablespaces {
                let size = (settings.undo_space_pages, count);
                headers.push(spaces::create_undo_tablespace(
                    &pages, context, directory, number, size,
                )?);
            }
            spaces::by_turns(&headers)
        };
        Ok(UndoLogs::with(pages, segments, settings))
    }

    /// Finds the rollback segments of an instance that exists. Undo tablespaces are open.
    ///
    /// # Errors
    /// If a page cannot be had or is damaged.
    pub fn open(
        pages: Arc<Pages>,
        context: &mut MiniTransactionContext,
        settings: &TransactionSettings,
    ) -> Result<UndoLogs, UndoError> {
        let segments = if settings.undo_tablespaces == 0 {
            spaces::load_from_system_space(&pages, context)?
        } else {
            let mut headers = Vec::new();
            for number in 1..=settings.undo_tablespaces {
                headers.push(spaces::load_undo_tablespace(&pages, context, number)?);
            }
            spaces::by_turns(&headers)
        };
        Ok(UndoLogs::with(pages, segments, settings))
    }

    fn with(
        pages: Arc<Pages>,
        segments: Vec<Arc<RollbackSegment>>,
        settings: &TransactionSettings,
    ) -> UndoLogs {
        let mut spaces = vec![None; POINTER_IDS];
        for segment in &segments {
            spaces[usize::from(segment.pointer_id)] = Some(segment.space);
        }
        UndoLogs {
            pages,
            segments,
            spaces,
            next: AtomicUsize::new(0),
            history_length: AtomicU64::new(0),
            queue: Mutex::new(LatchClass::PurgeQueue, BinaryHeap::new()),
            keeps_max_trx_no: settings.undo_tablespaces > 0,
        }
    }

    /// What mini-transactions work on.
    pub fn pages(&self) -> &Arc<Pages> {
        &self.pages
    }

    /// All rollback segments.
    pub fn rollback_segments(&self) -> &[Arc<RollbackSegment>] {
        &self.segments
    }

    /// Committed update logs that are not purged (`trx_rseg_history_len`).
    pub fn history_length(&self) -> u64 {
        self.history_length.load(SeqCst)
    }

    pub(in crate::transaction) fn history_grows(&self, by: u64) {
        self.history_length.fetch_add(by, SeqCst);
    }

    pub(in crate::transaction) fn history_shrinks(&self) {
        self.history_length.fetch_sub(1, SeqCst);
    }

    /// A rollback segment has something to purge.
    pub(in crate::transaction) fn enqueue(&self, trx_no: TrxNo, segment: usize) {
        self.queue.lock().push(Reverse((trx_no, segment)));
    }

    /// Takes the rollback segment with the oldest log out of the queue, if that log's number
    /// is below `limit`.
    pub(in crate::transaction) fn dequeue(&self, limit: TrxNo) -> Option<usize> {
        let mut queue = self.queue.lock();
        let &Reverse((trx_no, segment)) = queue.peek()?;
        if trx_no >= limit {
            return None;
        }
        queue.pop();
        Some(segment)
    }

    /// The address of an undo record.
    ///
    /// # Errors
    /// If the roll pointer names nothing that exists.
    pub fn locate(&self, pointer: RollPointer) -> Result<(PageId, u16), UndoError> {
        let id = pointer.rollback_segment_id;
        let space = self.spaces[usize::from(id)].ok_or(UndoError::NoSuchSegment(id))?;
        let page = PageId {
            space,
            page: pointer.page,
        };
        Ok((page, pointer.offset))
    }

    // ---- writing --------------------------------------------------------------

    /// Writes the undo record of an insert. The transaction is read-write.
    ///
    /// # Errors
    /// If a page cannot be had, or there is no room for undo; nothing is written then.
    pub fn write_insert(
        &self,
        transaction: &mut Transaction,
        insert: &InsertUndo<'_>,
    ) -> Result<RollPointer, UndoError> {
        let mut buffer = std::mem::take(&mut transaction.undo.buffer);
        buffer.clear();
        insert.encode(transaction.undo.next_undo_no, &mut buffer);
        let written = self.write(transaction, UndoKind::Insert, &buffer, false);
        transaction.undo.buffer = buffer;
        written
    }

    /// Writes the undo record of an update or a delete mark. The transaction is read-write.
    ///
    /// # Errors
    /// As [`write_insert`](Self::write_insert).
    pub fn write_update(
        &self,
        transaction: &mut Transaction,
        update: &UpdateUndo<'_>,
    ) -> Result<RollPointer, UndoError> {
        let mut buffer = std::mem::take(&mut transaction.undo.buffer);
        buffer.clear();
        update.encode(transaction.undo.next_undo_no, &mut buffer);
        let concerns_purge = update.concerns_purge();
        let written = self.write(transaction, UndoKind::Update, &buffer, concerns_purge);
        transaction.undo.buffer = buffer;
        written
    }

    fn write(
        &self,
        transaction: &mut Transaction,
        kind: UndoKind,
        body: &[u8],
        concerns_purge: bool,
    ) -> Result<RollPointer, UndoError> {
        debug_assert!(transaction.is_listed, "it became read-write before");
        if body.len() > MAX_UNDO_RECORD {
            return Err(UndoError::TooLong { size: body.len() });
        }
        let id = transaction.id();
        let undo = &mut transaction.undo;
        let rollback_segment = match &undo.rollback_segment {
            Some(segment) => segment.clone(),
            None => {
                let segment = self.assign().clone();
                undo.rollback_segment = Some(segment.clone());
                segment
            }
        };
        let slot = index_of(kind);
        if undo.segments[slot].is_none() {
            let segment = self.take_segment(&rollback_segment, &mut undo.context, kind, id)?;
            undo.segments[slot] = Some(segment);
        }
        let undo_no = undo.next_undo_no;
        let Some(segment) = &mut undo.segments[slot] else {
            unreachable!("taken above");
        };
        let offset = loop {
            let mut mtr = self.pages.begin(&mut undo.context);
            let appended = segment.append(&mut mtr, undo_no, body);
            mtr.commit();
            if let Some(offset) = appended? {
                break offset;
            }
            let _held = rollback_segment.state.lock();
            let mut mtr = self.pages.begin(&mut undo.context);
            let added = segment.add_page(&mut mtr);
            mtr.commit();
            added?;
        };
        segment.concerns_purge |= concerns_purge;
        let page = segment.last_page;
        undo.next_undo_no += 1;
        transaction.locks.state().set_undo_records(undo_no + 1);
        Ok(RollPointer {
            is_insert: kind == UndoKind::Insert,
            rollback_segment_id: rollback_segment.pointer_id,
            page,
            offset,
        })
    }

    /// The next rollback segment, by turns.
    fn assign(&self) -> &Arc<RollbackSegment> {
        let turn = self.next.fetch_add(1, Relaxed);
        &self.segments[turn % self.segments.len()]
    }

    /// An undo segment for a transaction: one from the cache, or a new one.
    fn take_segment(
        &self,
        rollback_segment: &RollbackSegment,
        context: &mut MiniTransactionContext,
        kind: UndoKind,
        trx_id: TrxId,
    ) -> Result<UndoSegment, UndoError> {
        let shard = self.pages.metrics.shard(context.shard());
        let mut state = rollback_segment.state.lock();
        cpu(Cost::RollbackSegmentSection);
        let mut mtr = self.pages.begin(context);
        let (mut segment, is_new) = match state.cached[index_of(kind)].pop() {
            Some(segment) => {
                shard.lower(Level::UndoSlotsCached, 1);
                (segment, false)
            }
            None => {
                let header = mtr.fix(rollback_segment.header(), LatchMode::X)?;
                let slot = rollback_segment.find_free_slot(&mtr, header, &mut state)?;
                let created = UndoSegment::create(&mut mtr, rollback_segment, header, slot, kind);
                match created {
                    Ok(segment) => (segment, true),
                    Err(error) => {
                        mtr.commit();
                        return Err(error);
                    }
                }
            }
        };
        let begun = segment.begin_log(&mut mtr, trx_id);
        mtr.commit();
        if let Err(error) = begun {
            if !is_new {
                state.cached[index_of(kind)].push(segment);
            }
            return Err(error);
        }
        shard.raise(Level::UndoSlotsUsed, 1);
        Ok(segment)
    }

    // ---- reading --------------------------------------------------------------

    /// Copies the bytes of an undo record; [`UndoRecord::parse`](super::UndoRecord::parse)
    /// reads them. Whoever asks makes sure that the record still exists: by a view that
    /// needs it, or by being the transaction that wrote it.
    ///
    /// # Errors
    /// If there is no record, or its page cannot be had.
    pub fn read(
        &self,
        mtr: &mut MiniTransaction<'_>,
        pointer: RollPointer,
        buffer: &mut Vec<u8>,
    ) -> Result<(), UndoError> {
        let (page, offset) = self.locate(pointer)?;
        copy_record(mtr, page, offset, buffer)
    }

    // ---- commit ---------------------------------------------------------------

    /// Makes a transaction's undo that of a committed one, in one mini-transaction, which is
    /// what makes the transaction committed. Returns the end of its redo, and the
    /// transaction's number if it has one.
    pub(in crate::transaction) fn commit(
        &self,
        transaction: &mut Transaction,
        system: &TransactionSystem,
    ) -> Result<(Lsn, Option<TrxNo>), UndoError> {
        let undo = &mut transaction.undo;
        let Some(rollback_segment) = undo.rollback_segment.clone() else {
            return Ok((0, None));
        };
        let [insert, update] = &mut undo.segments;
        let mut state = rollback_segment.state.lock();
        cpu(Cost::RollbackSegmentSection);
        let mut mtr = self.pages.begin(&mut undo.context);
        // All pages first: from the first change on there is no way back.
        let first_of_insert = match insert {
            Some(segment) => Some(mtr.fix(first_page(segment), LatchMode::X)?),
            None => None,
        };
        let for_history = match update {
            Some(segment) => Some(fix_for_history(&mut mtr, &rollback_segment, segment)?),
            None => None,
        };
        if let (Some(segment), Some(first)) = (insert, first_of_insert) {
            let became = segment.finish(&mut mtr, first);
            undo.insert_is_cached = became == UndoSegmentState::Cached;
        }
        let (Some(segment), Some((header, first))) = (&update, for_history) else {
            return Ok((mtr.commit(), None));
        };
        let number = system.take_number();
        let became = segment.finish(&mut mtr, first);
        let log = usize::from(segment.log);
        let mut writer = mtr.writer(first);
        writer.set(undo_page::TRX_NO.at(log), number);
        if !segment.concerns_purge {
            writer.set(undo_page::HAS_DELETE_MARKS.at(log), 0);
        }
        drop(writer);
        if became != UndoSegmentState::Cached {
            let size = layout::HISTORY_SIZE.get(mtr.page(header)) + segment.pages;
            let mut writer = mtr.writer(header);
            let slot = layout::undo_slot(usize::from(segment.slot));
            writer.set(slot, PageNumber::NULL);
            writer.set(layout::HISTORY_SIZE, size);
        }
        let position = HistoryPosition {
            page: segment.first_page,
            log: segment.log,
            trx_no: number,
            concerns_purge: segment.concerns_purge,
        };
        let list = ListPlace::new(header, layout::HISTORY);
        let added = file_lists::add_first(&mut mtr, list, position.node());
        if self.keeps_max_trx_no {
            mtr.writer(header).set(layout::MAX_TRX_NO, number);
        }
        let end = mtr.commit();
        added?;
        if state.oldest.is_none() {
            state.oldest = Some(position);
            self.enqueue(number, rollback_segment.number);
        }
        let shard = self.pages.metrics.shard(transaction.shard);
        shard.lower(Level::UndoSlotsUsed, 1);
        if let Some(segment) = update.take()
            && became == UndoSegmentState::Cached
        {
            shard.raise(Level::UndoSlotsCached, 1);
            state.cached[index_of(UndoKind::Update)].push(segment);
        }
        self.history_grows(1);
        Ok((end, Some(number)))
    }

    /// Gives the undo of inserts away, which nobody needs after the commit.
    pub(in crate::transaction) fn clean_up(
        &self,
        transaction: &mut Transaction,
    ) -> Result<(), UndoError> {
        let undo = &mut transaction.undo;
        undo.next_undo_no = 0;
        let rollback_segment = undo.rollback_segment.take();
        let (Some(rollback_segment), Some(segment)) = (rollback_segment, undo.segments[0].take())
        else {
            return Ok(());
        };
        let shard = self.pages.metrics.shard(transaction.shard);
        shard.lower(Level::UndoSlotsUsed, 1);
        let mut state = rollback_segment.state.lock();
        cpu(Cost::RollbackSegmentSection);
        if undo.insert_is_cached {
            shard.raise(Level::UndoSlotsCached, 1);
            state.cached[index_of(UndoKind::Insert)].push(segment);
            return Ok(());
        }
        segment.free(&self.pages, &mut undo.context, rollback_segment.header())
    }
}

fn first_page(segment: &UndoSegment) -> PageId {
    PageId {
        space: segment.segment.space,
        page: segment.first_page,
    }
}

/// Latches what is changed when a log enters the history: the rollback segment's header,
/// the log's first page, and that of the newest log so far.
fn fix_for_history(
    mtr: &mut MiniTransaction<'_>,
    rollback_segment: &RollbackSegment,
    segment: &UndoSegment,
) -> Result<(crate::redo_log::PageHandle, crate::redo_log::PageHandle), UndoError> {
    let header = mtr.fix(rollback_segment.header(), LatchMode::X)?;
    let newest = layout::HISTORY.get(mtr.page(header)).first;
    let first = mtr.fix(first_page(segment), LatchMode::X)?;
    if !newest.is_null() {
        let page = PageId {
            space: rollback_segment.space,
            page: newest.page,
        };
        mtr.fix(page, LatchMode::X)?;
    }
    Ok((header, first))
}
