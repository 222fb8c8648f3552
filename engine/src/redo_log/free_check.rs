//! Users that wait because there is too much redo.
//!
//! Before it makes redo, a user looks at the age. In 8.0 that is one comparison; whoever
//! is over the limit polls until there is a checkpoint. Up to 5.7 users also see to it
//! that pages get written: all who notice do so at the same moment, and throughput drops
//! to nothing until the age is low again ("furious flushing").
//!
//! Source: MySQL 8.4 (`log_free_check_wait`), 5.1 to 5.7 (`log_checkpoint_margin`).

use std::sync::atomic::Ordering::*;

use super::error::RedoLogError;
use super::log::RedoLog;
use super::settings::FreeCheck;
use super::waiting::Poll;
use crate::metrics::{Counter, WaitFamily};
use crate::runtime::time::{MICROSECOND, MILLISECOND, Time};
use crate::runtime::{self, WaitKind};

/// A user that waits in 5.7 looks again after this long.
const FLUSH_WAIT: Time = 10 * MILLISECOND;
/// A user to whom a checkpoint gave no room looks again after this long.
const CLOSE_WAIT: Time = 20 * MICROSECOND;
/// The first sleep of a user that waits in 8.0.
const POLL: Time = 100 * MICROSECOND;

impl RedoLog {
    /// Waits while the age is too high. A user calls this before it makes redo, with no
    /// latch held and no mini-transaction open, and makes at most four pages' worth of
    /// redo before it calls it again.
    ///
    /// # Errors
    /// If redo or checkpoints cannot be written; instead of a wait once the engine has
    /// failed.
    #[inline]
    pub fn free_check(&self) -> Result<(), RedoLogError> {
        let is_free = match self.settings().free_check {
            FreeCheck::Poll => {
                self.current_lsn() <= self.checkpoints.free_check_limit.load(Acquire)
            }
            // These look at the age of pages as well, from a while before.
            _ => self.checkpoint_age() <= self.settings().limits.modified_age_async,
        };
        match is_free || self.device.is_none() {
            true => Ok(()),
            false => self.free_check_slow(),
        }
    }

    #[cold]
    fn free_check_slow(&self) -> Result<(), RedoLogError> {
        let rounds = match self.settings().free_check {
            FreeCheck::Poll => self.poll_for_checkpoint()?,
            FreeCheck::AskForFlush | FreeCheck::Flush => self.make_checkpoint_possible()?,
        };
        let shard = self.metrics.shard(0);
        shard.record_wait(WaitFamily::LogOnFileSpace, rounds);
        Ok(())
    }

    /// 8.0 and 8.4.
    fn poll_for_checkpoint(&self) -> Result<u64, RedoLogError> {
        let mut poll = Poll::new(POLL);
        while self.current_lsn() > self.checkpoints.free_check_limit.load(Acquire) {
            self.fail_if_failed()?;
            if self.tasks.are_running() {
                self.signals.checkpointer.set();
            } else {
                self.make_room_myself()?;
            }
            poll.sleep(WaitKind::LogWrite);
        }
        Ok(poll.rounds())
    }

    /// 5.1 to 5.7 and MariaDB.
    fn make_checkpoint_possible(&self) -> Result<u64, RedoLogError> {
        let limits = &self.settings().limits;
        let Some(source) = self.checkpoints.source() else {
            return Ok(0);
        };
        let mut rounds = 0;
        loop {
            self.fail_if_failed()?;
            let current = self.current_lsn();
            let available = self.available(&*source);
            let modified_age = current.saturating_sub(available);
            let mut again = false;
            if modified_age > limits.modified_age_sync {
                let excess = modified_age - limits.modified_age_sync;
                self.metrics.shard(0).increment(Counter::FlushSyncWaits);
                if self.settings().free_check == FreeCheck::Flush {
                    source.sync_flush(available + 2 * excess);
                } else {
                    source.request_sync_flush(available + excess);
                    if !self.tasks.are_running() {
                        source.sync_flush(available + excess);
                    }
                    runtime::sleep(FLUSH_WAIT, WaitKind::LogWrite);
                }
                again = true;
            } else if modified_age > limits.modified_age_async
                && self.settings().free_check == FreeCheck::AskForFlush
            {
                source.request_sync_flush(available);
            }
            let age = self.checkpoint_age();
            if age > limits.checkpoint_age_async {
                self.checkpoint_now()?;
            }
            if self.checkpoint_age() <= limits.stall_age && !again {
                return Ok(rounds);
            }
            // Where it is not pages that keep the checkpoint back but somebody whose pages are
            // not in their lists yet, nothing above takes time, and he needs some.
            runtime::sleep(CLOSE_WAIT, WaitKind::LogWrite);
            rounds += 1;
        }
    }

    /// Nobody else is there to do it: flushes pages and writes a checkpoint.
    pub(super) fn make_room_myself(&self) -> Result<(), RedoLogError> {
        if let Some(source) = self.checkpoints.source() {
            let limits = &self.settings().limits;
            let target = self.current_lsn().saturating_sub(limits.modified_age_async);
            source.sync_flush(target + self.flush_list_disorder());
        }
        self.checkpoint_now()?;
        Ok(())
    }

    fn fail_if_failed(&self) -> Result<(), RedoLogError> {
        match self.failure() {
            Some(reason) => Err(RedoLogError::WriteFailed { reason }),
            None if self.are_room_waits_ended() => Err(RedoLogError::WaitsEnded),
            None => Ok(()),
        }
    }
}
