//! Writing redo to its file, and flushing the file.
//!
//! ```text
//!              written                      ready
//!   ---[======|===][==========][==========][====|     ]---      blocks
//!       \__________ 1. whole blocks _______/ \_ 2. the rest, when
//!             straight from the buffer          no whole block is left
//! ```
//!
//! A block that is not full is written as it is and written again when there is more. A
//! commit that is alone thus writes 512 bytes.
//!
//! **Write-ahead.** The kernel keeps files in pages. Writing a part of a page that is not
//! in its cache makes it read the page first. So the first write into each unit of
//! `innodb_log_write_ahead_size` is padded with zeros to the end of the unit.
//!
//! **Flushing** goes on while the next redo is being written. It covers what was written
//! when it began. The last file is flushed before anything is written into the next one.
//!
//! Source: MySQL 8.0 and 8.4 (`log_writer`, `log_flusher`).

use std::sync::atomic::{AtomicU64, Ordering::*};

use super::block::{BLOCK_SIZE, BlockHeader, HEADER_SIZE, block_start, write_checksum};
use super::error::RedoLogError;
use super::log::{Device, RedoLog};
use super::log_files::LogFile;
use crate::metrics::{Counter, FileEvent, FileOperation, Gauge, Metrics, Timing};
use crate::page::Lsn;
use crate::runtime::files::{AlignedBuffer, File};
use crate::runtime::time::{MILLISECOND, SECOND, Time};
use crate::runtime::{self, Cost, MutexGuard, WaitKind, cpu_times};

const BLOCK: u64 = BLOCK_SIZE as u64;

/// What the one who writes knows.
#[derive(Debug)]
pub(super) struct WriterState {
    file: LogFile,
    /// Offset in the file up to which the kernel has whole units in its cache.
    covered: u64,
    /// Blocks that are not written from the log buffer.
    scratch: AlignedBuffer,
    /// Where recovery has found the end of the log: what is behind it in the files must go
    /// before anything is written.
    pub(super) found_end: Option<Lsn>,
}

impl WriterState {
    pub(super) fn new(file: LogFile, write_ahead_size: u64) -> Result<Self, RedoLogError> {
        let bytes = write_ahead_size.max(BLOCK);
        let scratch = AlignedBuffer::new(bytes as usize);
        Ok(WriterState {
            file,
            covered: 0,
            found_end: None,
            scratch: scratch.map_err(|source| RedoLogError::Memory { bytes, source })?,
        })
    }
}

/// What the one who flushes knows.
#[derive(Debug)]
pub(super) struct FlusherState {
    pub(super) file: File,
}

/// What came of an attempt to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteStep {
    /// Something was written.
    Written,
    /// There is nothing to write.
    Idle,
    /// There is no room in the files before the next checkpoint.
    NoRoom,
}

/// Times of flushes, and how much they flush, for the metrics.
#[derive(Debug, Default)]
pub(super) struct FlushTimes {
    mean: AtomicU64,
    longest: AtomicU64,
    window_start: AtomicU64,
    window_lsn: AtomicU64,
}

/// Maxima and rates are of so long (`innodb_flushing_avg_loops` seconds).
const WINDOW: Time = 30 * SECOND;

impl FlushTimes {
    /// A flush took so long and went up to `lsn`. Called by one at a time.
    fn note(&self, time: Time, lsn: Lsn, metrics: &Metrics) {
        let mean = self.mean.load(Relaxed);
        // An exponential mean of weight 1/16.
        let mean = match mean {
            0 => time,
            _ => mean - mean / 16 + time / 16,
        };
        self.mean.store(mean, Relaxed);
        let longest = self.longest.load(Relaxed).max(time);
        self.longest.store(longest, Relaxed);
        metrics.set(Gauge::LogFlushAverageTime, (mean / MILLISECOND) as i64);
        metrics.set(Gauge::LogFlushMaximumTime, (longest / MILLISECOND) as i64);
        let now = runtime::now();
        let passed = now.saturating_sub(self.window_start.load(Relaxed));
        if passed >= WINDOW {
            let bytes = lsn.saturating_sub(self.window_lsn.load(Relaxed));
            let rate = u128::from(bytes) * u128::from(SECOND) / u128::from(passed);
            metrics.set(Gauge::LogFlushLsnAverageRate, rate as i64);
            self.longest.store(0, Relaxed);
            self.window_start.store(now, Relaxed);
            self.window_lsn.store(lsn, Relaxed);
        }
    }
}

impl RedoLog {
    // ---- writing --------------------------------------------------------------

    /// Writes the next piece of what is ready.
    pub(super) fn write_step(
        &self,
        device: &Device,
        state: &mut WriterState,
    ) -> Result<WriteStep, RedoLogError> {
        if state.found_end.is_some() {
            self.take_over_files(device, state)?;
        }
        let written = self.buffer.written_lsn();
        let ready = self.buffer.ready_lsn();
        if ready <= written {
            return Ok(WriteStep::Idle);
        }
        let checkpoint = block_start(self.checkpoint_lsn());
        let limits = &self.settings().limits;
        self.set_in_margin(ready > checkpoint + limits.writer_warning);
        let target = ready.min(checkpoint + limits.writer_stop);
        let from = block_start(written);
        if target <= written {
            return Ok(WriteStep::NoRoom);
        }
        if from >= state.file.end {
            self.switch_file(device, state)?;
        }
        let end = block_start(target).min(state.file.end);
        let new_written = if end > from {
            self.write_whole_blocks(state, from, end)?
        } else {
            self.write_partial_block(state, from, target)?
        };
        let lsn = self.buffer.set_written(new_written);
        self.after_write(written, lsn);
        Ok(WriteStep::Written)
    }

    /// Writes blocks that are full, as many as one request can have.
    fn write_whole_blocks(
        &self,
        state: &mut WriterState,
        from: Lsn,
        end: Lsn,
    ) -> Result<Lsn, RedoLogError> {
        let unit = self.settings().write_ahead_size;
        let mut length = (end - from).min(self.buffer.contiguous(from));
        let start = state.file.offset(from);
        let mut padded_to = None;
        if start + length > state.covered {
            let last = (start + length) / unit * unit;
            if start < state.covered {
                length = state.covered - start;
            } else if last > start {
                length = last - start;
                state.covered = last;
            } else {
                padded_to = Some(self.unit_end(state, start + length)?);
            }
        }
        {
            let _composing = self.lock_for_composing();
            cpu_times(Cost::LogBlock, length / BLOCK);
            let mut lsn = from;
            while lsn < from + length {
                // SAFETY: the block is complete, so no mini-transaction touches it, and
                // there is one writer.
                complete_block(unsafe { &mut *self.buffer.block(lsn) }, lsn);
                lsn += BLOCK;
            }
        }
        // SAFETY: as above; the range is contiguous in the ring.
        let bytes = unsafe { self.buffer.bytes(from, length) };
        match padded_to {
            None => self.write(state, bytes, start)?,
            Some(unit_end) => {
                state.scratch[..bytes.len()].copy_from_slice(bytes);
                self.write_padded(state, bytes.len(), start, unit_end)?;
            }
        }
        self.count(Counter::LogFullBlockWrites, 1);
        Ok(from + length + HEADER_SIZE as u64)
    }

    /// Writes a block up to `target`, which is in it.
    fn write_partial_block(
        &self,
        state: &mut WriterState,
        from: Lsn,
        target: Lsn,
    ) -> Result<Lsn, RedoLogError> {
        {
            let _composing = self.lock_for_composing();
            cpu_times(Cost::LogBlock, 1);
            let used = (target - from) as usize;
            // SAFETY: up to `target` redo is complete, and the header's part that is read
            // belongs to a mini-transaction that is done.
            let bytes = unsafe { self.buffer.bytes(from, used as u64) };
            state.scratch[..used].copy_from_slice(bytes);
            state.scratch[used..BLOCK_SIZE].fill(0);
            let block = state.scratch.first_chunk_mut().expect("at least a block");
            let header = BlockHeader::at(from, used as u16, BlockHeader::read(block).first_group);
            header.write(block);
            write_checksum(block);
        }
        let start = state.file.offset(from);
        let end = start + BLOCK;
        let unit_end = match end > state.covered {
            true => self.unit_end(state, end)?,
            false => end,
        };
        self.write_padded(state, BLOCK_SIZE, start, unit_end)?;
        self.count(Counter::LogPartialBlockWrites, 1);
        Ok(target)
    }

    /// The end of the unit that a write ends in, or of the file.
    fn unit_end(&self, state: &WriterState, end: u64) -> Result<u64, RedoLogError> {
        let unit = self.settings().write_ahead_size;
        let file_end = state.file.offset(state.file.end - BLOCK) + BLOCK;
        Ok(end.next_multiple_of(unit).min(file_end).max(end))
    }

    /// Writes what is in the scratch buffer, with zeros up to the end of the unit.
    fn write_padded(
        &self,
        state: &mut WriterState,
        used: usize,
        start: u64,
        unit_end: u64,
    ) -> Result<(), RedoLogError> {
        let length = (unit_end - start) as usize;
        state.scratch[used..length].fill(0);
        self.write(state, &state.scratch[..length], start)?;
        self.count(Counter::LogPaddedBytes, (length - used) as u64);
        state.covered = state.covered.max(unit_end);
        Ok(())
    }

    fn write(&self, state: &WriterState, bytes: &[u8], offset: u64) -> Result<(), RedoLogError> {
        let shard = self.metrics.shard(0);
        let (event, operation) = (FileEvent::LogFile, FileOperation::Write);
        shard.file_operation_begins(event, operation);
        let begin = runtime::now();
        let result = state.file.file.write_at(bytes, offset, WaitKind::LogWrite);
        let time = runtime::now() - begin;
        shard.file_operation_ends(event, operation, time, bytes.len() as u64);
        self.metrics.record_time(Timing::RedoWrite, time);
        shard.increment(Counter::LogWrites);
        shard.add(Counter::LogBytesWritten, bytes.len() as u64);
        Ok(result?)
    }

    /// Goes on in the next file, when the last one is full and flushed.
    fn switch_file(&self, device: &Device, state: &mut WriterState) -> Result<(), RedoLogError> {
        let mut flusher = device.flusher.lock();
        self.flush_file(device, &mut flusher)?;
        let start = state.file.end;
        state.file = device.files.next_file(start, self.checkpoint_lsn())?;
        state.covered = 0;
        flusher.file = state.file.file.clone();
        drop(flusher);
        self.count(Counter::LogNextFile, 1);
        self.signals.governor.set();
        Ok(())
    }

    fn count(&self, counter: Counter, amount: u64) {
        self.metrics.shard(0).add(counter, amount);
    }

    // ---- flushing -------------------------------------------------------------

    /// Flushes what has been written; false if that was nothing.
    pub(super) fn flush_step(&self, device: &Device) -> Result<bool, RedoLogError> {
        let mut state = device.flusher.lock();
        self.flush_file(device, &mut state)
    }

    fn flush_file(
        &self,
        device: &Device,
        state: &mut MutexGuard<'_, FlusherState>,
    ) -> Result<bool, RedoLogError> {
        let target = self.buffer.written_lsn();
        let flushed = device.flushed.load(Acquire);
        if target <= flushed {
            return Ok(false);
        }
        if self.settings().io.sync {
            let shard = self.metrics.shard(0);
            let (event, operation) = (FileEvent::LogFile, FileOperation::Sync);
            shard.file_operation_begins(event, operation);
            let begin = runtime::now();
            let result = state
                .file
                .sync(self.settings().io.data_only, WaitKind::LogSync);
            let time = runtime::now() - begin;
            shard.file_operation_ends(event, operation, time, 0);
            self.metrics.record_time(Timing::RedoSync, time);
            device.flush_times.note(time, target, &self.metrics);
            result?;
        }
        device.flushed.store(target, Release);
        device.last_flush.store(runtime::now(), Relaxed);
        self.after_flush(flushed, target);
        Ok(true)
    }
}

/// Completes a full block in place: all of the header but the first group, which is there.
fn complete_block(block: &mut [u8; BLOCK_SIZE], lsn: Lsn) {
    let first_group = BlockHeader::read(block).first_group;
    BlockHeader::at(lsn, BLOCK_SIZE as u16, first_group).write(block);
    write_checksum(block);
}
