//! The redo log itself.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use super::block::{FIRST_LSN, block_start, lsn_of};
use super::checkpoint::Checkpoints;
use super::error::RedoLogError;
use super::file_format::Checkpoint;
use super::log_buffer::LogBuffer;
use super::log_files::LogFiles;
use super::settings::{LINK_WAIT, LogConcurrency, RedoSettings};
use super::tasks::Tasks;
use super::waiting::EventSlots;
use super::write::{FlushTimes, FlusherState, WriterState};
use crate::metrics::{Counter, Metrics, WaitFamily};
use crate::page::Lsn;
use crate::runtime::files::FileSystem;
use crate::runtime::{
    self, Cost, Event, LatchClass, Mutex, MutexGuard, Replaceable, WaitKind, cpu, sleep,
};

/// The redo log; see the module's opening.
pub struct RedoLog {
    settings: Replaceable<RedoSettings>,
    pub(super) buffer: LogBuffer,
    order: Order,
    /// Nothing for a log without files.
    pub(super) device: Option<Device>,
    pub(super) signals: Signals,
    pub(super) checkpoints: Checkpoints,
    pub(super) tasks: Tasks,
    pub(super) metrics: Arc<Metrics>,
    failure: Mutex<Option<String>>,
    failed: AtomicBool,
    /// Nobody may wait for room in the files any more.
    room_waits_ended: AtomicBool,
}

/// The marks, not thousands of events.
impl fmt::Debug for RedoLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedoLog")
            .field("current_lsn", &self.current_lsn())
            .field("written_lsn", &self.written_lsn())
            .field("flushed_lsn", &self.flushed_lsn())
            .field("checkpoint_lsn", &self.checkpoint_lsn())
            .finish_non_exhaustive()
    }
}

/// The files, and who works on them.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) files: LogFiles,
    pub(super) writer: Mutex<WriterState>,
    pub(super) flusher: Mutex<FlusherState>,
    pub(super) flushed: AtomicU64,
    /// Somebody needs redo up to here to be flushed, whatever commits do.
    pub(super) flush_wanted: AtomicU64,
    pub(super) last_flush: AtomicU64,
    pub(super) flush_times: FlushTimes,
    /// Without log threads: whether some user is flushing.
    pub(super) flush_under_way: Mutex<bool>,
}

/// Who wakes whom.
#[derive(Debug)]
pub(super) struct Signals {
    pub(super) writer: Event,
    pub(super) flusher: Event,
    pub(super) write_notifier: Event,
    pub(super) flush_notifier: Event,
    pub(super) checkpointer: Event,
    pub(super) governor: Event,
    pub(super) flush_ended: Event,
    pub(super) write_slots: EventSlots,
    pub(super) flush_slots: EventSlots,
}

/// `innodb_log_write_events` and `innodb_log_flush_events`.
const EVENT_SLOTS: usize = 2048;

impl Signals {
    fn new(slots: usize) -> Self {
        Signals {
            writer: Event::new(),
            flusher: Event::new(),
            write_notifier: Event::new(),
            flush_notifier: Event::new(),
            checkpointer: Event::new(),
            governor: Event::new(),
            flush_ended: Event::new(),
            write_slots: EventSlots::new(slots),
            flush_slots: EventSlots::new(slots),
        }
    }
}

/// What keeps mini-transactions apart that put redo into the buffer.
#[derive(Debug)]
enum Order {
    LinkBuffers,
    Mutexes {
        log: Mutex<()>,
        flush_order: Option<Mutex<()>>,
    },
}

impl Order {
    fn new(concurrency: LogConcurrency) -> Self {
        let flush_order = match concurrency {
            LogConcurrency::LinkBuffers => return Order::LinkBuffers,
            LogConcurrency::OneMutex => None,
            LogConcurrency::FlushOrderMutex => Some(Mutex::new(LatchClass::LogFlushOrder, ())),
        };
        Order::Mutexes {
            log: Mutex::new(LatchClass::LogBuffer, ()),
            flush_order,
        }
    }
}

impl RedoLog {
    /// Up to 5.7 and in MariaDB the log mutex is held while a write is prepared.
    pub(super) fn lock_for_composing(&self) -> Option<MutexGuard<'_, ()>> {
        match &self.order {
            Order::LinkBuffers => None,
            Order::Mutexes { log, .. } => Some(log.lock()),
        }
    }
}

impl RedoLog {
    /// A log without files: what is in its buffer without a gap counts as written and
    /// flushed. For data that is thrown away after a crash, and for tests of what is
    /// above the log.
    ///
    /// # Errors
    /// If there is no memory for the buffer.
    pub fn volatile(
        settings: &RedoSettings,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<Self>, RedoLogError> {
        Self::new(settings, FIRST_LSN, None, metrics)
    }

    /// Makes the files of a new log in a directory (`innodb_log_group_home_dir`), with a
    /// checkpoint at their beginning.
    ///
    /// # Errors
    /// If there is a log, or files cannot be made.
    pub fn create(
        system: FileSystem,
        home: &Path,
        settings: &RedoSettings,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<Self>, RedoLogError> {
        let uuid = runtime::stream("redo log uuid").next_u64() as u32;
        let files = LogFiles::create(system, home, settings.layout, settings.io, uuid)?;
        let checkpoint = Checkpoint {
            number: 0,
            lsn: FIRST_LSN,
        };
        files.write_checkpoint(&checkpoint)?;
        Self::with_files(settings, files, checkpoint, FIRST_LSN, metrics)
    }

    /// A log over files, which goes on at `start`.
    pub(super) fn with_files(
        settings: &RedoSettings,
        files: LogFiles,
        checkpoint: Checkpoint,
        start: Lsn,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<Self>, RedoLogError> {
        let file = files.file_to_go_on(block_start(start));
        let device = Device {
            flusher: Mutex::new(
                LatchClass::LogFlusher,
                FlusherState {
                    file: file.file.clone(),
                },
            ),
            writer: Mutex::new(
                LatchClass::LogWriter,
                WriterState::new(file, settings.write_ahead_size)?,
            ),
            files,
            flushed: AtomicU64::new(start),
            flush_wanted: AtomicU64::new(0),
            last_flush: AtomicU64::new(runtime::now()),
            flush_times: FlushTimes::default(),
            flush_under_way: Mutex::new(LatchClass::Plain, false),
        };
        let log = Self::new(settings, start, Some(device), metrics)?;
        log.checkpoints.set(checkpoint, &log.settings().limits);
        Ok(log)
    }

    fn new(
        settings: &RedoSettings,
        start: Lsn,
        device: Option<Device>,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<Self>, RedoLogError> {
        let bytes = settings.log_buffer_size;
        let buffer = LogBuffer::new(
            bytes,
            settings.recent_written_size,
            settings.recent_closed_size,
            start,
        );
        let buffer = buffer.map_err(|source| RedoLogError::Memory { bytes, source })?;
        let slots = match device {
            Some(_) => EVENT_SLOTS,
            None => 1,
        };
        Ok(Arc::new(RedoLog {
            buffer,
            order: Order::new(settings.concurrency),
            signals: Signals::new(slots),
            checkpoints: Checkpoints::new(start),
            tasks: Tasks::new(),
            metrics,
            failure: Mutex::new(LatchClass::Plain, None),
            failed: AtomicBool::new(false),
            room_waits_ended: AtomicBool::new(false),
            device,
            settings: Replaceable::new(settings.clone()),
        }))
    }

    /// What the log was made from.
    pub fn settings(&self) -> &RedoSettings {
        self.settings.get()
    }

    /// Obeys other values of the variables that can change while the engine runs: what
    /// commits wait for, how often redo is flushed where they do not, and whether the log
    /// asks for sync flushes. All else stays as it was.
    pub fn change(&self, settings: &RedoSettings) {
        self.settings.replace(RedoSettings {
            commit: settings.commit,
            flush_period: settings.flush_period,
            flush_sync: settings.flush_sync,
            ..self.settings().clone()
        });
        // It may be waiting by the rule of before.
        self.signals.flusher.set();
    }

    // ---- failures -------------------------------------------------------------

    /// Why redo could not be written when it was last tried. Trying goes on.
    pub fn failure(&self) -> Option<String> {
        match self.has_failed() {
            true => self.failure.lock().clone(),
            false => None,
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Acquire)
    }

    pub(super) fn set_failure(&self, error: &RedoLogError) {
        *self.failure.lock() = Some(error.to_string());
        self.failed.store(true, Release);
    }

    pub(super) fn clear_failure(&self) {
        if self.has_failed() {
            self.failed.store(false, Release);
        }
    }

    /// Ends the waits for room in the files, for good: the engine has failed, and pages that
    /// its sessions have left latched may keep the log from getting shorter.
    pub fn end_room_waits(&self) {
        self.room_waits_ended.store(true, Release);
    }

    pub(super) fn are_room_waits_ended(&self) -> bool {
        self.room_waits_ended.load(Acquire)
    }

    // ---- marks ----------------------------------------------------------------

    /// End of the redo that has been made.
    pub fn current_lsn(&self) -> Lsn {
        self.buffer.current_lsn()
    }

    /// Up to here redo is complete in the buffer.
    pub fn ready_lsn(&self) -> Lsn {
        self.buffer.ready_lsn()
    }

    /// Up to here redo is in the files, though perhaps only in the page cache.
    pub fn written_lsn(&self) -> Lsn {
        self.buffer.written_lsn()
    }

    /// Up to here all pages that redo is about are in the flush lists.
    pub fn closed_lsn(&self) -> Lsn {
        self.buffer.closed_lsn()
    }

    // ---- making redo ----------------------------------------------------------

    /// Puts the group of records of a mini-transaction into the log. `note` is called
    /// with its range when it is in the buffer: it puts the pages into the flush lists.
    /// Returns the end of the range.
    ///
    /// Up to 5.7 the flush lists are in exact order by way of a mutex, which is taken only
    /// if `makes_dirty`: if one of the group's pages enters a list. (InnoDB's
    /// `mtr_t::made_dirty`.)
    pub(super) fn append(
        &self,
        group: &[u8],
        shard: usize,
        makes_dirty: impl FnOnce() -> bool,
        note: impl FnOnce(Lsn, Lsn),
    ) -> Lsn {
        self.metrics
            .shard(shard)
            .increment(Counter::LogWriteRequests);
        match &self.order {
            Order::LinkBuffers => {
                cpu(Cost::LogReserve);
                let sn = self.buffer.reserve(group.len());
                let (start, end) = (lsn_of(sn), lsn_of(sn + group.len() as u64));
                self.copy(sn, group, shard, None);
                self.wait_to_close(start, shard);
                self.checkpoints
                    .note_disorder(start, self.buffer.closed_tail());
                note(start, end);
                self.close(start, end, shard);
                end
            }
            Order::Mutexes { log, flush_order } => {
                let piece = group.len().min(self.buffer.piece_max()) as u64;
                let mut guard = log.lock();
                while !self.buffer.has_room(self.buffer.next_sn() + piece) {
                    let wanted = self.buffer.next_sn() + piece;
                    drop(guard);
                    self.wait_for_room(wanted, shard);
                    guard = log.lock();
                }
                let sn = self.buffer.reserve(group.len());
                let (start, end) = (lsn_of(sn), lsn_of(sn + group.len() as u64));
                let guard = self.copy(sn, group, shard, Some((log, guard)));
                let order = match flush_order {
                    Some(order) => {
                        let order = makes_dirty().then(|| order.lock());
                        drop(guard);
                        (order, None)
                    }
                    // In 5.1 the log mutex is kept.
                    None => (None, guard),
                };
                self.wait_to_close(start, shard);
                self.checkpoints
                    .note_disorder(start, self.buffer.closed_tail());
                note(start, end);
                self.close(start, end, shard);
                drop(order);
                end
            }
        }
    }

    /// Copies a group into its range, piece by piece if it is large. A mutex that is held
    /// is released where this has to wait: what others reserve meanwhile comes later.
    fn copy<'a>(
        &self,
        sn: u64,
        group: &[u8],
        shard: usize,
        mut mutex: Option<(&'a Mutex<()>, MutexGuard<'a, ()>)>,
    ) -> Option<MutexGuard<'a, ()>> {
        let group_start = lsn_of(sn);
        let mut at = sn;
        let mut pieces = group.chunks(self.buffer.piece_max()).peekable();
        while let Some(piece) = pieces.next() {
            let end = at + piece.len() as u64;
            let start = lsn_of(at);
            if !self.buffer.has_room(end) || !self.buffer.can_note_copied(start) {
                let log = mutex.take().map(|(log, _guard)| log);
                self.wait_for_room(end, shard);
                self.wait_to_link(start, shard);
                mutex = log.map(|log| (log, log.lock()));
            }
            let is_last = pieces.peek().is_none();
            self.charge_link();
            self.buffer.copy(at, piece, group_start, is_last);
            at = end;
        }
        mutex.map(|(_, guard)| guard)
    }

    /// Under the log mutex InnoDB has no link buffers. They are used all the same, as the
    /// engine's own bookkeeping, at no cost: the mutex's cache lines are those of its state.
    fn charge_link(&self) {
        if matches!(self.order, Order::LinkBuffers) {
            cpu(Cost::LogLink);
        }
    }

    fn wait_to_link(&self, start: Lsn, shard: usize) {
        while !self.buffer.can_note_copied(start) {
            let counter = Counter::LogRecentWrittenWaitLoops;
            self.metrics.shard(shard).increment(counter);
            sleep(LINK_WAIT, WaitKind::LogWrite);
        }
    }

    fn wait_to_close(&self, start: Lsn, shard: usize) {
        while !self.buffer.can_note_closed(start) {
            let counter = Counter::LogRecentClosedWaitLoops;
            self.metrics.shard(shard).increment(counter);
            sleep(LINK_WAIT, WaitKind::LogWrite);
        }
    }

    fn close(&self, start: Lsn, end: Lsn, shard: usize) {
        let step = self.buffer.disorder_max() / 2;
        let mut at = start;
        while at < end {
            let next = end.min(at + step);
            self.wait_to_close(at, shard);
            self.charge_link();
            self.buffer.close(at, next);
            at = next;
        }
    }

    /// Waits until a range that ends at `end_sn` has room in the buffer.
    fn wait_for_room(&self, end_sn: u64, shard: usize) {
        if self.buffer.has_room(end_sn) {
            return;
        }
        let shard = self.metrics.shard(shard);
        shard.increment(Counter::LogWaits);
        let wanted = self.buffer.written_for_room(end_sn);
        let mut rounds = 0;
        while !self.buffer.has_room(end_sn) {
            rounds += 1;
            self.write_up_to(wanted);
        }
        shard.record_wait(WaitFamily::LogOnBufferSpace, rounds);
    }
}
