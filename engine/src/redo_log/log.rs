//! The redo log itself.

use std::sync::Arc;

use super::block::{FIRST_LSN, lsn_of};
use super::log_buffer::LogBuffer;
use super::settings::{LINK_WAIT, LogConcurrency, RedoSettings};
use crate::buffer_pool::WriteAheadLog;
use crate::metrics::{Counter, Metrics, WaitFamily};
use crate::page::Lsn;
use crate::runtime::{LatchClass, Mutex, MutexGuard, WaitKind, sleep};

/// The redo log; see the module's opening.
#[derive(Debug)]
pub struct RedoLog {
    pub(super) buffer: LogBuffer,
    order: Order,
    pub(super) metrics: Arc<Metrics>,
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
    /// A log without files: what is in its buffer without a gap counts as written and
    /// flushed. For data that is thrown away after a crash, and for tests of what is
    /// above the log.
    ///
    /// # Errors
    /// If there is no memory for the buffer.
    pub fn volatile(settings: &RedoSettings, metrics: Arc<Metrics>) -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(RedoLog {
            buffer: LogBuffer::new(
                settings.log_buffer_size,
                settings.recent_written_size,
                settings.recent_closed_size,
                FIRST_LSN,
            )?,
            order: Order::new(settings.concurrency),
            metrics,
        }))
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
    pub(super) fn append(&self, group: &[u8], shard: usize, note: impl FnOnce(Lsn, Lsn)) -> Lsn {
        self.metrics
            .shard(shard)
            .increment(Counter::LogWriteRequests);
        match &self.order {
            Order::LinkBuffers => {
                let sn = self.buffer.reserve(group.len());
                let (start, end) = (lsn_of(sn), lsn_of(sn + group.len() as u64));
                self.copy(sn, group, shard, None);
                self.wait_to_close(start, shard);
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
                let order = flush_order.as_ref().map(|order| order.lock());
                // In 5.1 the log mutex is kept.
                let guard = guard.filter(|_| order.is_none());
                self.wait_to_close(start, shard);
                note(start, end);
                self.close(start, end, shard);
                drop(order);
                drop(guard);
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
            self.buffer.copy(at, piece, group_start, is_last);
            at = end;
        }
        mutex.map(|(_, guard)| guard)
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

    // ---- writing --------------------------------------------------------------

    /// Waits until redo up to `lsn` is written.
    pub fn write_up_to(&self, lsn: Lsn) {
        let wanted = lsn.min(self.current_lsn());
        loop {
            let ready = self.ready_lsn();
            self.buffer.set_written(ready);
            if ready >= wanted {
                return;
            }
            sleep(LINK_WAIT, WaitKind::LogWrite);
        }
    }
}

impl WriteAheadLog for RedoLog {
    fn flush_up_to(&self, lsn: Lsn) {
        self.write_up_to(lsn);
    }

    fn flushed_lsn(&self) -> Lsn {
        self.written_lsn()
    }
}
