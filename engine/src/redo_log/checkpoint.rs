//! Checkpoints: from where on redo is needed.
//!
//! A checkpoint writes no page. It looks how far pages have been written anyway, and
//! notes that in a redo file: recovery will begin there, and redo before can be
//! overwritten.
//!
//! ```text
//!             redo not needed            needed
//!   ---------------------------|---------------------------------------> LSN
//!                              ^ least of
//!                                - the closed LSN: before it, every page that redo is
//!                                  about is in a flush list, or was written since
//!                                - the oldest modification in the flush lists, less
//!                                  what the lists may be out of order
//!                                - the flushed LSN
//! ```
//!
//! The order matters: the closed LSN is read *first*. A mini-transaction that closes
//! later might have put an older page into a list, but its redo is not before the closed
//! LSN that was read.
//!
//! **Disorder.** In 8.0 mini-transactions enter pages into the flush lists at the same
//! time. When a page with start LSN T enters, others may be missing that begin at the
//! closed LSN C of that moment or later. So a list whose oldest-entered page has T may
//! hold one as old as C, but not older. InnoDB subtracts the largest T - C that its link
//! buffer allows, 2 MiB. Here that is divided by the scale, since the log is; and the
//! largest T - C that was ever seen is subtracted where it is larger.
//!
//! Source: MySQL 8.4 (`log_compute_available_for_checkpoint_lsn`,
//! `log_should_checkpoint`, `log_sync_flush_lsn`).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use super::block::{BLOCK_SIZE, HEADER_SIZE, block_start, is_payload};
use super::capacity::RedoLimits;
use super::checkpoint_source::CheckpointSource;
use super::error::RedoLogError;
use super::file_format::Checkpoint;
use super::log::RedoLog;
use crate::metrics::Counter;
use crate::page::Lsn;
use crate::runtime::time::Time;
use crate::runtime::{self, LatchClass, Mutex};

/// The state of checkpoints.
pub(super) struct Checkpoints {
    lsn: AtomicU64,
    /// Up to here users may make redo without a question.
    pub(super) free_check_limit: AtomicU64,
    stall_age: AtomicU64,
    /// The writer is in the margin that was to stay free.
    in_margin: AtomicBool,
    wanted: AtomicU64,
    /// The largest distance seen between a page that enters a flush list and the closed
    /// LSN.
    disorder: AtomicU64,
    writing: Mutex<Writing>,
    source: Mutex<Option<Arc<dyn CheckpointSource>>>,
}

struct Writing {
    next_number: u64,
    last_time: Time,
}

impl fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoints")
            .field("lsn", &self.lsn.load(Relaxed))
            .finish_non_exhaustive()
    }
}

impl Checkpoints {
    pub(super) fn new(start: Lsn) -> Self {
        Checkpoints {
            lsn: AtomicU64::new(start),
            free_check_limit: AtomicU64::new(u64::MAX),
            stall_age: AtomicU64::new(0),
            in_margin: AtomicBool::new(false),
            wanted: AtomicU64::new(0),
            disorder: AtomicU64::new(0),
            writing: Mutex::new(
                LatchClass::LogCheckpointer,
                Writing {
                    next_number: 0,
                    last_time: runtime::now(),
                },
            ),
            source: Mutex::new(LatchClass::Plain, None),
        }
    }

    /// A log over files begins with this checkpoint.
    pub(super) fn set(&self, checkpoint: Checkpoint, limits: &RedoLimits) {
        self.stall_age.store(limits.stall_age, Relaxed);
        self.writing.lock().next_number = checkpoint.number + 1;
        self.reached(checkpoint.lsn);
    }

    fn reached(&self, lsn: Lsn) {
        self.lsn.store(lsn, Release);
        self.update_limit();
    }

    fn update_limit(&self) {
        let limit = match self.in_margin.load(Acquire) {
            true => 0,
            false => self.lsn.load(Acquire) + self.stall_age.load(Relaxed),
        };
        self.free_check_limit.store(limit, Release);
    }

    /// A page that enters a flush list now, from `start` on, is so far from the closed
    /// LSN.
    #[inline]
    pub(super) fn note_disorder(&self, start: Lsn, closed: Lsn) {
        let distance = start.saturating_sub(closed);
        if distance > self.disorder.load(Acquire) {
            self.disorder.fetch_max(distance, AcqRel);
        }
    }

    pub(super) fn source(&self) -> Option<Arc<dyn CheckpointSource>> {
        self.source.lock().clone()
    }
}

impl RedoLog {
    // ---- marks and ages -------------------------------------------------------

    /// The last checkpoint: recovery would begin there.
    pub fn checkpoint_lsn(&self) -> Lsn {
        self.checkpoints.lsn.load(Acquire)
    }

    /// Bytes of LSN from the last checkpoint to the newest redo.
    pub fn checkpoint_age(&self) -> u64 {
        self.current_lsn().saturating_sub(self.checkpoint_lsn())
    }

    /// Where ages have consequences.
    pub fn limits(&self) -> &RedoLimits {
        &self.settings().limits
    }

    /// What a checkpoint keeps away from the oldest page: see the module's opening.
    pub fn flush_list_disorder(&self) -> u64 {
        let seen = self.checkpoints.disorder.load(Acquire);
        self.settings().disorder_allowance.max(seen)
    }

    /// The LSN that a checkpoint could have now.
    pub fn available_for_checkpoint(&self) -> Lsn {
        match self.checkpoints.source() {
            Some(source) => self.available(&*source),
            None => self.checkpoint_lsn(),
        }
    }

    pub(super) fn available(&self, source: &dyn CheckpointSource) -> Lsn {
        // Before the flush lists are looked at.
        let closed = self.closed_lsn();
        let flushed = self.flushed_lsn();
        let lsn = match source.oldest_modification() {
            Some(oldest) => {
                let oldest = oldest.saturating_sub(self.flush_list_disorder());
                oldest.min(closed).min(flushed)
            }
            None => closed.min(flushed),
        };
        let lsn = match is_payload(lsn) {
            true => lsn,
            // A header belongs to the block before: nothing of this one is needed yet.
            false if lsn % (BLOCK_SIZE as u64) < HEADER_SIZE as u64 => {
                block_start(lsn.saturating_sub(HEADER_SIZE as u64)) + HEADER_SIZE as u64
            }
            false => block_start(lsn) + HEADER_SIZE as u64,
        };
        lsn.max(self.checkpoint_lsn())
    }

    /// Up to which LSN pages should be written now as fast as possible, if the age of
    /// the oldest page makes that necessary. Asked by the page cleaner, too.
    pub fn sync_flush_target(&self) -> Option<Lsn> {
        let available = self.available_for_checkpoint();
        let current = self.current_lsn();
        let age = current.saturating_sub(available);
        let mut target = match age > self.settings().limits.modified_age_sync {
            true => current - self.settings().limits.modified_age_sync,
            false => 0,
        };
        target = target
            .max(self.checkpoints.wanted.load(Acquire))
            .min(current);
        (target > available).then(|| target + self.flush_list_disorder())
    }

    // ---- checkpoints ----------------------------------------------------------

    /// Names who knows about pages. [`start`](Self::start) does it, too.
    pub fn set_source(&self, source: Option<Arc<dyn CheckpointSource>>) {
        *self.checkpoints.source.lock() = source;
    }

    /// Writes a checkpoint if one is due; true if one was written.
    ///
    /// # Errors
    /// If a file cannot be flushed or written.
    pub fn checkpoint_if_due(&self) -> Result<bool, RedoLogError> {
        self.checkpoint(|log, available, last_time| {
            let last = log.checkpoint_lsn();
            let wanted = log.checkpoints.wanted.load(Acquire);
            let passed = runtime::now().saturating_sub(last_time);
            wanted > last && wanted <= available
                || log.checkpoint_age() >= log.settings().limits.checkpoint_age_async
                || passed >= log.settings().checkpoint_period
                || log.device.as_ref().is_some_and(|device| {
                    let file = device.files.file_of(block_start(last));
                    file.is_some_and(|file| available > file.end)
                })
        })
    }

    /// Writes a checkpoint at the newest LSN that is possible; true if that is newer than
    /// the last one.
    ///
    /// # Errors
    /// As [`checkpoint_if_due`](Self::checkpoint_if_due).
    pub fn checkpoint_now(&self) -> Result<bool, RedoLogError> {
        self.checkpoint(|_, _, _| true)
    }

    fn checkpoint(
        &self,
        is_due: impl FnOnce(&RedoLog, Lsn, Time) -> bool,
    ) -> Result<bool, RedoLogError> {
        let Some(source) = self.checkpoints.source() else {
            return Ok(false);
        };
        let mut writing = self.checkpoints.writing.lock();
        let lsn = self.available(&*source);
        if lsn <= self.checkpoint_lsn() || !is_due(self, lsn, writing.last_time) {
            return Ok(false);
        }
        source.flush_files()?;
        if let Some(device) = &self.device {
            let number = writing.next_number;
            device.files.write_checkpoint(&Checkpoint { number, lsn })?;
            writing.next_number += 1;
        }
        writing.last_time = runtime::now();
        self.checkpoints.reached(lsn);
        drop(writing);
        self.metrics.shard(0).increment(Counter::LogCheckpoints);
        self.signals.governor.set();
        self.signals.writer.set();
        Ok(true)
    }

    /// When the last checkpoint was written.
    pub(super) fn last_checkpoint_time(&self) -> Time {
        self.checkpoints.writing.lock().last_time
    }

    /// Asks for a checkpoint at `lsn` or later, as soon as pages allow it.
    pub fn request_checkpoint(&self, lsn: Lsn) {
        self.checkpoints.wanted.fetch_max(lsn, AcqRel);
        self.signals.checkpointer.set();
    }

    /// Somebody cannot go on without a checkpoint.
    pub(super) fn ask_for_checkpoint(&self) {
        if self.tasks.are_running() {
            self.signals.checkpointer.set();
        } else if let Err(error) = self.checkpoint_now() {
            self.set_failure(&error);
        }
    }

    /// The page cleaner has written pages of a sync flush: the checkpointer looks again.
    pub fn pages_were_flushed(&self) {
        self.signals.checkpointer.set();
    }

    /// The writer is in the margin that was to stay free, or has left it.
    pub(super) fn set_in_margin(&self, in_margin: bool) {
        if self.checkpoints.in_margin.swap(in_margin, AcqRel) != in_margin {
            self.checkpoints.update_limit();
        }
    }

    /// Whether the writer is in the margin that was to stay free.
    pub(super) fn is_in_margin(&self) -> bool {
        self.checkpoints.in_margin.load(Acquire)
    }

    pub(super) fn ask_for_sync_flush(&self) -> bool {
        let target = match self.settings().flush_sync {
            true => self.sync_flush_target(),
            false => None,
        };
        if let (Some(target), Some(source)) = (target, self.checkpoints.source()) {
            source.request_sync_flush(target);
        }
        target.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::FIRST_LSN;
    use super::super::settings::{LogConcurrency, RedoSettings};
    use super::*;
    use crate::metrics::Metrics;
    use crate::runtime::profile::CpuProfile;
    use crate::runtime::time::NEVER;
    use crate::runtime::virtual_clock::{Simulation, SimulationOptions};
    use crate::runtime::{Event, WaitKind, spawn};
    use crate::tablespace::TablespaceError;

    /// A flush list of start LSNs: the last entered in front, the oldest entered at the
    /// tail.
    struct List(Mutex<Vec<Lsn>>);

    impl List {
        fn enter(&self, start: Lsn) {
            self.0.lock().push(start);
        }

        fn written(&self, start: Lsn) {
            self.0.lock().retain(|&lsn| lsn != start);
        }
    }

    impl CheckpointSource for List {
        fn oldest_modification(&self) -> Option<Lsn> {
            self.0.lock().first().copied()
        }
        fn request_sync_flush(&self, _: Lsn) {}
        fn sync_flush(&self, _: Lsn) {}
        fn flush_files(&self) -> Result<(), TablespaceError> {
            Ok(())
        }
    }

    /// Runs under the virtual clock, then with real threads.
    fn under_both_clocks(body: fn()) {
        let options = SimulationOptions::new(CpuProfile::uniform(4), 1);
        Simulation::new(&options).unwrap().run(body).unwrap();
        body();
    }

    fn log_and_list() -> (Arc<RedoLog>, Arc<List>) {
        let settings = RedoSettings {
            // Only what was seen counts.
            disorder_allowance: 0,
            ..RedoSettings::small()
        };
        assert_eq!(settings.concurrency, LogConcurrency::LinkBuffers);
        let log = RedoLog::volatile(&settings, Arc::new(Metrics::new(1))).unwrap();
        let list = Arc::new(List(Mutex::new(LatchClass::Plain, Vec::new())));
        log.set_source(Some(list.clone()));
        (log, list)
    }

    /// A mini-transaction that has got its place in the log, and goes on to the flush
    /// list when the event is set.
    fn slow(
        log: &Arc<RedoLog>,
        list: &Arc<List>,
        go_on: &Arc<Event>,
    ) -> crate::runtime::JoinHandle<Lsn> {
        let (before, at_note) = (log.current_lsn(), Arc::new(Event::new()));
        let count = at_note.reset();
        let task = {
            let (log, list, go_on) = (log.clone(), list.clone(), go_on.clone());
            let at_note = at_note.clone();
            spawn("slow", move || {
                let count = go_on.reset();
                log.append(
                    &[1; 100],
                    0,
                    || true,
                    |start, _| {
                        at_note.set();
                        go_on.wait(count, NEVER, WaitKind::Other);
                        list.enter(start);
                    },
                )
            })
        };
        at_note.wait(count, NEVER, WaitKind::Other);
        assert!(log.current_lsn() > before);
        task
    }

    #[test]
    fn a_page_that_is_not_in_the_flush_list_yet_holds_the_checkpoint() {
        under_both_clocks(|| {
            let (log, list) = log_and_list();
            let go_on = Arc::new(Event::new());
            let task = slow(&log, &list, &go_on);
            // A later one has come, and its page is in its file already.
            let mut later = 0;
            let end = log.append(
                &[2; 3000],
                0,
                || true,
                |start, _| {
                    later = start;
                    list.enter(start);
                },
            );
            log.flush_up_to(end);
            list.written(later);
            assert_eq!(list.oldest_modification(), None);
            assert_eq!(log.available_for_checkpoint(), FIRST_LSN);
            assert!(!log.checkpoint_now().unwrap());
            go_on.set();
            task.join();
            assert_eq!(log.closed_lsn(), end);
            assert_eq!(log.available_for_checkpoint(), FIRST_LSN, "it is dirty");
            list.written(FIRST_LSN);
            assert!(log.checkpoint_now().unwrap());
            assert_eq!(log.checkpoint_lsn(), end);
        });
    }

    #[test]
    fn a_page_behind_a_later_one_in_the_flush_list_holds_the_checkpoint() {
        under_both_clocks(|| {
            let (log, list) = log_and_list();
            let go_on = Arc::new(Event::new());
            let task = slow(&log, &list, &go_on);
            let mut later = 0;
            let end = log.append(
                &[2; 3000],
                0,
                || true,
                |start, _| {
                    later = start;
                    list.enter(start);
                },
            );
            log.flush_up_to(end);
            go_on.set();
            task.join();
            assert_eq!(log.closed_lsn(), end);
            // The tail is the later one: the list is out of order.
            assert_eq!(list.oldest_modification(), Some(later));
            assert!(later > FIRST_LSN);
            assert_eq!(log.flush_list_disorder(), later - FIRST_LSN);
            assert_eq!(log.available_for_checkpoint(), FIRST_LSN);
            list.written(FIRST_LSN);
            list.written(later);
            assert_eq!(log.available_for_checkpoint(), end);
        });
    }
}
