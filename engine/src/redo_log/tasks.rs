//! The log's own threads, and the log without them.
//!
//! | task | does |
//! |---|---|
//! | log_writer | writes what is ready |
//! | log_flusher | flushes what is written: at once, or once a second where commits do not wait for it |
//! | log_write_notifier, log_flush_notifier | wake users, when the writer or the flusher has gone past more than a block |
//! | log_checkpointer | writes checkpoints, asks for sync flushes |
//! | log_files_governor | makes the next file, or takes an old one |
//!
//! Without log threads (up to 5.7, MariaDB, `innodb_log_writer_threads=OFF`) users write
//! and flush; a timer flushes once a second.
//!
//! In *stepped* mode there are no tasks at all: [`RedoLog::step`] does everything once.
//! Users then write and flush for themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use super::checkpoint_source::CheckpointSource;
use super::durability::RETRY_WAIT;
use super::error::RedoLogError;
use super::log::{Device, RedoLog};
use super::settings::{CommitPolicy, LogWriting};
use super::waiting::{Patience, wait_for};
use super::write::WriteStep;
use crate::metrics::WaitFamily;
use crate::page::Lsn;
use crate::runtime::time::{MICROSECOND, MILLISECOND, NEVER, Time};
use crate::runtime::{self, Event, JoinHandle, LatchClass, Mutex, WaitKind, spawn};

/// First waits of the log threads between two looks (`innodb_log_writer_timeout` and so
/// on).
const THREAD_TIMEOUT: Time = 10 * MICROSECOND;
/// How long writer and flusher spin before they wait: 250,000 pauses, at 4 µs for 1000
/// (`innodb_log_writer_spin_delay`, a comment in InnoDB's source).
const THREAD_SPIN: Time = MILLISECOND;
/// Threads do not spin where requests are further apart than this on average.
const INTERVAL_MAX: Time = MILLISECOND;
/// Weight of one interval in the average, as a divisor.
const INTERVAL_WEIGHT: u64 = 64;
/// Steps after which the writer yields once.
const STEPS: u32 = 1024;
/// The checkpointer's wait for a sync flush while the writer is in its margin.
const MARGIN_WAIT: Time = MILLISECOND;

/// What a task does until it is stopped.
type TaskBody = fn(&RedoLog, &Device);

/// The tasks of a log.
#[derive(Debug)]
pub(super) struct Tasks {
    running: AtomicBool,
    has_threads: AtomicBool,
    stopping: AtomicBool,
    handles: Mutex<Vec<JoinHandle<()>>>,
    /// When somebody last asked for a write or a flush, and the mean distance of that.
    last_request: AtomicU64,
    interval: AtomicU64,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Tasks {
            running: AtomicBool::new(false),
            has_threads: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            handles: Mutex::new(LatchClass::Plain, Vec::new()),
            last_request: AtomicU64::new(0),
            interval: AtomicU64::new(INTERVAL_MAX),
        }
    }

    /// Whether background tasks are there.
    pub(super) fn are_running(&self) -> bool {
        self.running.load(Acquire)
    }

    fn are_stopping(&self) -> bool {
        self.stopping.load(Acquire)
    }

    /// How long a log thread spins.
    fn spin(&self) -> Time {
        match self.interval.load(Relaxed) <= INTERVAL_MAX / 2 {
            true => THREAD_SPIN,
            false => 0,
        }
    }
}

impl RedoLog {
    /// Whether writing and flushing is the business of threads.
    pub(super) fn has_threads(&self) -> bool {
        self.tasks.has_threads.load(Acquire)
    }

    /// Somebody waits for a write or a flush.
    pub(super) fn note_request(&self) {
        let now = runtime::now();
        let last = self.tasks.last_request.swap(now, Relaxed);
        let passed = now.saturating_sub(last).min(100 * INTERVAL_MAX);
        let mean = self.tasks.interval.load(Relaxed);
        let next = mean - mean / INTERVAL_WEIGHT + passed / INTERVAL_WEIGHT;
        self.tasks.interval.store(next, Relaxed);
    }

    /// Starts the background tasks. A log without files has none.
    pub fn start(self: &Arc<Self>, source: Arc<dyn CheckpointSource>) {
        self.set_source(Some(source));
        if self.device.is_none() || self.tasks.are_running() {
            return;
        }
        let tasks: &[(&str, TaskBody)] = match self.settings().writing {
            LogWriting::Threads => &[
                ("log_writer", RedoLog::run_writer),
                ("log_flusher", RedoLog::run_flusher),
                ("log_write_notifier", RedoLog::run_write_notifier),
                ("log_flush_notifier", RedoLog::run_flush_notifier),
                ("log_checkpointer", RedoLog::run_checkpointer),
                ("log_files_governor", RedoLog::run_governor),
            ],
            LogWriting::Users | LogWriting::UsersOneAtATime => &[
                ("log_flush_timer", RedoLog::run_timer),
                ("log_checkpointer", RedoLog::run_checkpointer),
                ("log_files_governor", RedoLog::run_governor),
            ],
        };
        self.tasks.stopping.store(false, Release);
        self.tasks.running.store(true, Release);
        let threads = self.settings().writing == LogWriting::Threads;
        self.tasks.has_threads.store(threads, Release);
        let handles = tasks.iter().map(|&(name, run)| {
            let log = self.clone();
            spawn(name, move || {
                if let Some(device) = &log.device {
                    run(&log, device);
                }
            })
        });
        let handles: Vec<_> = handles.collect();
        *self.tasks.handles.lock() = handles;
    }

    /// Writes and flushes what there is, and ends the background tasks. Makes no
    /// checkpoint: [`checkpoint_now`](Self::checkpoint_now) is for who wants one.
    ///
    /// # Errors
    /// If redo could not be written.
    pub fn stop(&self) -> Result<(), RedoLogError> {
        self.tasks.has_threads.store(false, Release);
        self.tasks.stopping.store(true, Release);
        let handles = std::mem::take(&mut *self.tasks.handles.lock());
        let signals = &self.signals;
        for event in [
            &signals.writer,
            &signals.flusher,
            &signals.write_notifier,
            &signals.flush_notifier,
            &signals.checkpointer,
            &signals.governor,
        ] {
            event.set();
        }
        // Who waited for threads goes on alone.
        let current = self.current_lsn();
        signals.write_slots.set_range(0, current);
        signals.flush_slots.set_range(0, current);
        for handle in handles {
            handle.join();
        }
        self.tasks.running.store(false, Release);
        self.set_source(None);
        if let Some(device) = &self.device {
            self.write_all(device)?;
            self.flush_step(device)?;
        }
        Ok(())
    }

    /// Does once what the background tasks would do: writes and flushes all that is ready
    /// and makes a checkpoint at the newest LSN that is possible. For a run in steps,
    /// without background tasks.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn step(&self) -> Result<(), RedoLogError> {
        match &self.device {
            Some(device) => {
                self.write_all(device)?;
                self.flush_step(device)?;
                self.checkpoint_now()?;
                device.files.prepare_spare(self.checkpoint_lsn())
            }
            None => {
                self.write_up_to(self.ready_lsn());
                self.checkpoint_now().map(|_| ())
            }
        }
    }

    // ---- writer and flusher ---------------------------------------------------

    /// A wait of a log thread. What it waits for is not booked to users.
    fn wait_as_thread(&self, event: &Event, spin: Time, condition: impl Fn() -> bool) -> u64 {
        let patience = Patience {
            spin,
            timeout: THREAD_TIMEOUT,
            kind: WaitKind::Other,
        };
        wait_for(event, patience, || self.tasks.are_stopping() || condition())
    }

    fn run_writer(&self, device: &Device) {
        let mut steps = 0;
        while !self.tasks.are_stopping() {
            let rounds = self.wait_as_thread(&self.signals.writer, self.tasks.spin(), || {
                self.buffer.ready_lsn() > self.buffer.written_lsn()
            });
            let shard = self.metrics.shard(0);
            shard.record_wait(WaitFamily::LogWriter, rounds);
            let step = {
                let mut state = device.writer.lock();
                self.write_step(device, &mut state)
            };
            match step {
                Ok(WriteStep::Written) => {
                    self.clear_failure();
                    steps += 1;
                    if steps % STEPS == 0 {
                        runtime::yield_now();
                    }
                }
                Ok(WriteStep::Idle) => {}
                Ok(WriteStep::NoRoom) => self.wait_for_file_room(),
                Err(error) => self.thread_failed(&error),
            }
        }
    }

    /// Tells those who wait, and lets some time pass.
    fn thread_failed(&self, error: &RedoLogError) {
        self.set_failure(error);
        let current = self.current_lsn();
        self.signals
            .write_slots
            .set_range(self.buffer.written_lsn(), current);
        self.signals
            .flush_slots
            .set_range(self.flushed_lsn(), current);
        runtime::sleep(RETRY_WAIT, WaitKind::Other);
    }

    fn run_flusher(&self, device: &Device) {
        while !self.tasks.are_stopping() {
            let is_due = || {
                let (written, flushed) = (self.buffer.written_lsn(), self.flushed_lsn());
                written > flushed
                    && (self.settings().commit == CommitPolicy::Flush
                        || device.flush_wanted.load(Acquire) > flushed
                        || self.flush_timer(device) == 0)
            };
            let rounds = match self.settings().commit {
                CommitPolicy::Flush => {
                    self.wait_as_thread(&self.signals.flusher, self.tasks.spin(), is_due)
                }
                _ => self.wait_for_timer(device, &self.signals.flusher, is_due),
            };
            let shard = self.metrics.shard(0);
            shard.record_wait(WaitFamily::LogFlusher, rounds);
            if !self.tasks.are_stopping()
                && let Err(error) = self.flush_step(device)
            {
                self.thread_failed(&error);
            }
        }
    }

    /// How long until the once-a-second flush.
    fn flush_timer(&self, device: &Device) -> Time {
        let last = device.last_flush.load(Relaxed);
        (last + self.settings().flush_period).saturating_sub(runtime::now())
    }

    /// Waits for the event or the timer.
    fn wait_for_timer(&self, device: &Device, event: &Event, is_due: impl Fn() -> bool) -> u64 {
        let mut rounds = 0;
        loop {
            let count = event.reset();
            if self.tasks.are_stopping() || is_due() {
                return rounds;
            }
            // Not less than a millisecond, for a period of 0.
            let time = self.flush_timer(device).max(MILLISECOND);
            event.wait(count, time, WaitKind::Other);
            rounds += 1;
            if self.buffer.written_lsn() <= self.flushed_lsn() && self.flush_timer(device) == 0 {
                // Nothing to flush: the next period begins.
                device.last_flush.store(runtime::now(), Relaxed);
            }
        }
    }

    /// Without log threads: what the master thread does once a second.
    fn run_timer(&self, device: &Device) {
        while !self.tasks.are_stopping() {
            let count = self.signals.flusher.reset();
            if self.tasks.are_stopping() {
                return;
            }
            let period = self.settings().flush_period.max(MILLISECOND);
            self.signals.flusher.wait(count, period, WaitKind::Other);
            let result = self
                .write_all(device)
                .and_then(|()| self.flush_step(device));
            if let Err(error) = result {
                self.thread_failed(&error);
            }
        }
    }

    // ---- those who wake others ------------------------------------------------

    /// The written LSN has moved.
    pub(super) fn after_write(&self, old: Lsn, new: Lsn) {
        if !self.has_threads() {
            return;
        }
        if self.settings().commit == CommitPolicy::Flush {
            self.signals.flusher.set();
        }
        match self.signals.write_slots.is_one_slot(old, new) {
            true => self.signals.write_slots.of(new).set(),
            false => self.signals.write_notifier.set(),
        }
    }

    /// The flushed LSN has moved.
    pub(super) fn after_flush(&self, old: Lsn, new: Lsn) {
        if !self.has_threads() {
            return;
        }
        match self.signals.flush_slots.is_one_slot(old, new) {
            true => self.signals.flush_slots.of(new).set(),
            false => self.signals.flush_notifier.set(),
        }
    }

    fn run_write_notifier(&self, _: &Device) {
        let mut told = self.buffer.written_lsn();
        while !self.tasks.are_stopping() {
            let rounds = self.wait_as_thread(&self.signals.write_notifier, 0, || {
                self.buffer.written_lsn() > told
            });
            let shard = self.metrics.shard(0);
            shard.record_wait(WaitFamily::LogWriteNotifier, rounds);
            let written = self.buffer.written_lsn();
            if written > told {
                self.signals.write_slots.set_range(told, written);
                told = written;
            }
        }
    }

    fn run_flush_notifier(&self, _: &Device) {
        let mut told = self.flushed_lsn();
        while !self.tasks.are_stopping() {
            let rounds = self.wait_as_thread(&self.signals.flush_notifier, 0, || {
                self.flushed_lsn() > told
            });
            let shard = self.metrics.shard(0);
            shard.record_wait(WaitFamily::LogFlushNotifier, rounds);
            let flushed = self.flushed_lsn();
            if flushed > told {
                self.signals.flush_slots.set_range(told, flushed);
                told = flushed;
            }
        }
    }

    // ---- checkpointer and governor --------------------------------------------

    fn run_checkpointer(&self, _: &Device) {
        let mut seen = self.current_lsn();
        let mut wait = self.settings().checkpoint_period;
        while !self.tasks.are_stopping() {
            let count = self.signals.checkpointer.reset();
            if self.tasks.are_stopping() {
                return;
            }
            let wait_at_least = wait.max(MILLISECOND);
            let asked = self
                .signals
                .checkpointer
                .wait(count, wait_at_least, WaitKind::Other);
            if self.tasks.are_stopping() {
                return;
            }
            let current = self.current_lsn();
            let is_busy = std::mem::replace(&mut seen, current) != current;
            let passed = runtime::now().saturating_sub(self.last_checkpoint_time());
            let is_flushing = self.ask_for_sync_flush();
            // A busy server that needs no checkpoint is left alone for a while.
            let may_be_due = asked
                || is_flushing
                || !is_busy
                || passed >= self.settings().checkpoint_period_busy;
            if may_be_due && let Err(error) = self.checkpoint_if_due() {
                self.thread_failed(&error);
            }
            wait = match is_flushing && self.is_in_margin() {
                true => MARGIN_WAIT,
                false => self.settings().checkpoint_period,
            };
        }
    }

    fn run_governor(&self, device: &Device) {
        while !self.tasks.are_stopping() {
            let count = self.signals.governor.reset();
            if self.tasks.are_stopping() {
                return;
            }
            if device.files.wants_spare()
                && let Err(error) = device.files.prepare_spare(self.checkpoint_lsn())
            {
                // The writer, which cannot do without, will say the same.
                self.thread_failed(&error);
                continue;
            }
            self.signals.governor.wait(count, NEVER, WaitKind::Other);
        }
    }
}
