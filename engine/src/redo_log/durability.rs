//! Waiting until redo is written or flushed: commits, and pages that are to be written.
//!
//! With log threads (8.0):
//!
//! ```text
//!   user    commit ... waits for the event of its block ..................... goes on
//!   writer          writes ------------------> next                            ^
//!   flusher                   flushes -------------------------> next          |
//!   notifier                                    wakes all whose redo is flushed
//! ```
//!
//! Without, the first user who finds nobody at work does it for all who are there, and
//! the next ones wait for the end and then have theirs done together. Either way many
//! commits share one flush: *group commit*.
//!
//! Source: MySQL 8.0 (`log_write_up_to`), 5.1 to 5.7 for users that write themselves.

use std::sync::atomic::Ordering::*;

use super::block::block_start;
use super::error::RedoLogError;
use super::log::{Device, RedoLog};
use super::settings::{CommitPolicy, LINK_WAIT, LogWriting};
use super::waiting::{Patience, wait_for};
use super::write::WriteStep;
use crate::buffer_pool::WriteAheadLog;
use crate::metrics::WaitFamily;
use crate::page::Lsn;
use crate::runtime::time::{MICROSECOND, MILLISECOND, NEVER, Time};
use crate::runtime::{self, WaitKind, sleep};

/// First wait of a user between two looks (`innodb_log_wait_for_write_timeout` and
/// `_flush_timeout`).
const USER_TIMEOUT: Time = MILLISECOND;

/// Between attempts of the writer that found no room in the files.
const NO_ROOM_WAIT: Time = 100 * MICROSECOND;

/// Between attempts of one whose write has failed, for instance because the device is
/// full.
pub(super) const RETRY_WAIT: Time = 100 * MILLISECOND;

impl RedoLog {
    /// Waits until the redo of a commit is as durable as the policy says; `lsn` is what
    /// the commit's mini-transaction returned.
    ///
    /// # Errors
    /// If redo cannot be written. The commit is not durable then.
    pub fn commit_wait(&self, lsn: Lsn, policy: CommitPolicy) -> Result<(), RedoLogError> {
        let rounds = match policy {
            CommitPolicy::Nothing => 0,
            CommitPolicy::Write => self.wait_written(lsn, true)?,
            CommitPolicy::Flush => self.wait_flushed(lsn, true)?,
        };
        let shard = self.metrics.shard(lsn as usize / 512);
        shard.record_wait(WaitFamily::TransactionOnLog, rounds);
        Ok(())
    }

    /// The policy of `innodb_flush_log_at_trx_commit`.
    pub fn commit_policy(&self) -> CommitPolicy {
        self.settings().commit
    }

    /// Waits until redo up to `lsn` is written, however long that takes.
    pub fn write_up_to(&self, lsn: Lsn) {
        // Only users give up.
        let _ = self.wait_written(lsn, false);
    }

    /// Waits until redo up to `lsn` is flushed, however long that takes: a page must not
    /// be written before.
    pub fn flush_up_to(&self, lsn: Lsn) {
        let _ = self.wait_flushed(lsn, false);
    }

    /// Waits until all redo there is is flushed, while nobody makes any.
    ///
    /// # Errors
    /// If it cannot be written; where no task is there to make checkpoints, also if it does
    /// not fit into the files, which no wait would change.
    pub fn flush_all(&self) -> Result<(), RedoLogError> {
        let lsn = self.current_lsn();
        let room = self.settings().limits.writer_stop;
        let needed = || lsn.saturating_sub(block_start(self.checkpoint_lsn()));
        if self.device.is_some() && !self.tasks.are_running() && needed() > room {
            self.checkpoint_now()?;
            let needed = needed();
            if needed > room {
                return Err(RedoLogError::NoRoom { needed, room });
            }
        }
        self.wait_flushed(lsn, true).map(|_| ())
    }

    /// Up to here redo is durable.
    pub fn flushed_lsn(&self) -> Lsn {
        match &self.device {
            Some(device) => device.flushed.load(Acquire),
            None => self.buffer.written_lsn(),
        }
    }

    /// What cannot be waited for is not there: nobody has an LSN from the future.
    fn at_most_current(&self, lsn: Lsn) -> Lsn {
        lsn.min(self.current_lsn())
    }

    /// Waits for a write; gives up on a failure if that is allowed. Returns how often it
    /// was waited for.
    fn wait_written(&self, lsn: Lsn, may_fail: bool) -> Result<u64, RedoLogError> {
        let lsn = self.at_most_current(lsn);
        if self.buffer.written_lsn() >= lsn {
            return Ok(0);
        }
        let Some(device) = &self.device else {
            self.write_nowhere(lsn);
            return Ok(1);
        };
        if !self.has_threads() {
            return self.write_myself(device, lsn, false, may_fail);
        }
        self.note_request();
        let patience = Patience {
            spin: 0,
            timeout: USER_TIMEOUT,
            kind: WaitKind::LogWrite,
        };
        let rounds = wait_for(self.signals.write_slots.of(lsn), patience, || {
            let done = self.buffer.written_lsn() >= lsn;
            if !done {
                self.signals.writer.set();
            }
            done || may_fail && self.has_failed() || !self.has_threads()
        });
        self.metrics
            .shard(lsn as usize / 512)
            .record_wait(WaitFamily::LogOnWrite, rounds);
        if self.buffer.written_lsn() >= lsn {
            return Ok(rounds);
        }
        self.failure_or(may_fail, || self.wait_written(lsn, may_fail))
    }

    fn wait_flushed(&self, lsn: Lsn, may_fail: bool) -> Result<u64, RedoLogError> {
        let lsn = self.at_most_current(lsn);
        if self.flushed_lsn() >= lsn {
            return Ok(0);
        }
        let Some(device) = &self.device else {
            self.write_nowhere(lsn);
            return Ok(1);
        };
        if !self.has_threads() {
            return self.write_myself(device, lsn, true, may_fail);
        }
        self.note_request();
        device.flush_wanted.fetch_max(lsn, AcqRel);
        let patience = Patience {
            spin: 0,
            timeout: USER_TIMEOUT,
            kind: WaitKind::LogSync,
        };
        let rounds = wait_for(self.signals.flush_slots.of(lsn), patience, || {
            let done = self.flushed_lsn() >= lsn;
            if !done {
                self.signals.writer.set();
                // In mode 1 the writer wakes the flusher.
                if self.settings().commit != CommitPolicy::Flush || self.buffer.written_lsn() >= lsn
                {
                    self.signals.flusher.set();
                }
            }
            done || may_fail && self.has_failed() || !self.has_threads()
        });
        self.metrics
            .shard(lsn as usize / 512)
            .record_wait(WaitFamily::LogOnFlush, rounds);
        if self.flushed_lsn() >= lsn {
            return Ok(rounds);
        }
        self.failure_or(may_fail, || self.wait_flushed(lsn, may_fail))
    }

    /// The log's failure, where that may be told; otherwise once more.
    fn failure_or(
        &self,
        may_fail: bool,
        again: impl FnOnce() -> Result<u64, RedoLogError>,
    ) -> Result<u64, RedoLogError> {
        match self.failure() {
            Some(reason) if may_fail => Err(RedoLogError::WriteFailed { reason }),
            _ => again(),
        }
    }

    /// A log without files: what is ready counts as written.
    fn write_nowhere(&self, lsn: Lsn) {
        loop {
            let ready = self.ready_lsn();
            self.buffer.set_written(ready);
            if ready >= lsn {
                return;
            }
            sleep(LINK_WAIT, WaitKind::LogWrite);
        }
    }

    // ---- users that write themselves ------------------------------------------

    /// Writes, and flushes if that is wanted, together with others who want the same.
    fn write_myself(
        &self,
        device: &Device,
        lsn: Lsn,
        flush: bool,
        may_fail: bool,
    ) -> Result<u64, RedoLogError> {
        let mut rounds = 0;
        let done = || match flush {
            true => self.flushed_lsn() >= lsn,
            false => self.buffer.written_lsn() >= lsn,
        };
        while self.ready_lsn() < lsn {
            rounds += 1;
            sleep(LINK_WAIT, WaitKind::LogWrite);
        }
        let one_at_a_time = self.settings().writing == LogWriting::UsersOneAtATime;
        while !done() {
            rounds += 1;
            if !one_at_a_time && let Err(error) = self.write_all(device) {
                self.give_up_or_wait(error, may_fail)?;
                continue;
            }
            if done() {
                break;
            }
            // One flush at a time (and, up to 5.6, one write).
            let count = {
                let mut under_way = device.flush_under_way.lock();
                let count = self.signals.flush_ended.reset();
                match std::mem::replace(&mut *under_way, true) {
                    true => Some(count),
                    false => None,
                }
            };
            if let Some(count) = count {
                let kind = match flush {
                    true => WaitKind::LogSync,
                    false => WaitKind::LogWrite,
                };
                self.signals.flush_ended.wait(count, NEVER, kind);
                continue;
            }
            let mut result = Ok(());
            if one_at_a_time {
                result = self.write_all(device);
            }
            if result.is_ok() && (flush || one_at_a_time && self.flushes_with_write()) {
                result = self.flush_step(device).map(|_| ());
            }
            *device.flush_under_way.lock() = false;
            self.signals.flush_ended.set();
            if let Err(error) = result {
                self.give_up_or_wait(error, may_fail)?;
            }
        }
        Ok(rounds)
    }

    /// Up to 5.6 redo that a full log buffer makes necessary to write is flushed as well.
    fn flushes_with_write(&self) -> bool {
        self.settings().commit == CommitPolicy::Flush
    }

    fn give_up_or_wait(&self, error: RedoLogError, may_fail: bool) -> Result<(), RedoLogError> {
        self.set_failure(&error);
        if may_fail {
            return Err(error);
        }
        sleep(RETRY_WAIT, WaitKind::LogWrite);
        Ok(())
    }

    /// Writes all that is ready.
    pub(super) fn write_all(&self, device: &Device) -> Result<(), RedoLogError> {
        let target = self.ready_lsn();
        let mut steps = 0;
        loop {
            let mut state = device.writer.lock();
            if self.buffer.written_lsn() >= target {
                return Ok(());
            }
            match self.write_step(device, &mut state)? {
                WriteStep::Written => self.clear_failure(),
                WriteStep::Idle => return Ok(()),
                WriteStep::NoRoom => {
                    drop(state);
                    self.wait_for_file_room();
                }
            }
            steps += 1;
            if steps % 1024 == 0 {
                runtime::yield_now();
            }
        }
    }

    /// The files are full up to the last checkpoint: asks for another one, and waits a
    /// little.
    pub(super) fn wait_for_file_room(&self) {
        let counter = crate::metrics::Counter::LogWriterFileSpaceWaits;
        self.metrics.shard(0).increment(counter);
        self.ask_for_checkpoint();
        sleep(NO_ROOM_WAIT, WaitKind::LogWrite);
    }
}

impl WriteAheadLog for RedoLog {
    fn flush_up_to(&self, lsn: Lsn) {
        RedoLog::flush_up_to(self, lsn);
    }

    fn flushed_lsn(&self) -> Lsn {
        RedoLog::flushed_lsn(self)
    }

    fn end_lsn(&self) -> Lsn {
        self.current_lsn()
    }
}
