//! Batches: filling them, writing them, and what ends them.
//!
//! ```text
//!   batch mutex held:  |-- copy --|-- copy --| ... |-- write N pages --|-- submit N --|
//!   is_running:                                    |===============================+=====|
//!                                                    until the last data write ends
//! ```
//!
//! The flusher that finds the batch full writes it, and holds the batch's mutex meanwhile;
//! the others of its instance wait. If the batch before is still running, it waits for its
//! end. `Innodb_dblwr_writes` counts batches, `Innodb_dblwr_pages_written` their pages:
//! the ratio says how full batches were.
//!
//! No data write is submitted before the write of the copies has returned: that is what
//! the doublewrite buffer is for.
//!
//! Source: InnoDB 8.0.20 to 8.4 (`Double_write`, `Batch_segment`).

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

use super::Doublewrite;
use super::detect_record::{self, ENTRIES_MAX, Entry, RECORD_BYTES};
use super::error::DoublewriteError;
use super::files::Created;
use super::layout::SegmentPlace;
use super::settings::DoublewriteSettings;
use super::shape::Shape;
use super::trouble::FailedStep;
use crate::buffer_pool::{FlushKind, FlushedPage};
use crate::metrics::{Counter, Timing};
use crate::page::PAGE_SIZE;
use crate::runtime::files::{AlignedBuffer, FileError, Image};
use crate::runtime::time::NEVER;
use crate::runtime::{Cost, Event, LatchClass, Mutex, MutexGuard, WaitKind, cpu, now};
use crate::sysvar::DoublewriteMode;

/// The batch that an instance of the pool fills with pages of one kind of flush.
pub(super) struct BatchInstance {
    batch: Mutex<Batch>,
    /// Whether the last batch is being written, or pages of it.
    is_running: AtomicBool,
    /// Set when it is complete.
    ended: Event,
}

/// Pages that wait for the batch to be written.
struct Batch {
    pages: Vec<FlushedPage>,
    /// Their images, side by side for the one write.
    images: Vec<Image>,
    /// Under `DETECT_ONLY`: the record that is written instead.
    record: Option<AlignedBuffer>,
    /// Number of the record.
    batches: u32,
    pages_max: usize,
}

impl BatchInstance {
    pub(super) fn new(settings: &DoublewriteSettings) -> Result<Self, DoublewriteError> {
        let (pages_max, record) = match settings.mode {
            DoublewriteMode::DetectOnly => {
                let record = AlignedBuffer::new(RECORD_BYTES);
                let record = record.map_err(|source| DoublewriteError::Memory {
                    bytes: RECORD_BYTES,
                    source,
                })?;
                (settings.pages.min(ENTRIES_MAX), Some(record))
            }
            _ => (settings.pages, None),
        };
        let batch = Batch {
            pages: Vec::with_capacity(pages_max),
            images: Vec::with_capacity(pages_max),
            record,
            batches: 0,
            pages_max: pages_max.max(1),
        };
        Ok(BatchInstance {
            batch: Mutex::new(LatchClass::Doublewrite, batch),
            is_running: AtomicBool::new(false),
            ended: Event::new(),
        })
    }
}

/// A part of a file that a batch is written to, and how much of that batch is left.
pub(super) struct Segment {
    pub(super) place: SegmentPlace,
    /// Pages of the batch.
    pages: AtomicU32,
    /// Of these, those whose data write has not ended.
    left: AtomicU32,
    /// Whose batch it is.
    instance: AtomicU32,
}

impl Segment {
    pub(super) fn new(place: SegmentPlace) -> Self {
        Segment {
            place,
            pages: AtomicU32::new(0),
            left: AtomicU32::new(0),
            instance: AtomicU32::new(0),
        }
    }
}

impl Doublewrite {
    /// Puts a page into its batch. If that is full it is written first.
    pub(super) fn queue_page(&self, page: FlushedPage) {
        // The page is pending: this is its shape to the end.
        let shape = self.shape();
        let number = shape.layout.instance_of(page.instance(), page.kind());
        let shard = self.metrics.shard(number);
        shard.increment(Counter::DoublewriteAsyncRequests);
        loop {
            let mut batch = shape.instances[number].batch.lock();
            if batch.pages.len() >= batch.pages_max {
                match self.write_or_wait(shape, number, batch) {
                    Some(written) => batch = written,
                    None => continue,
                }
            }
            if shape.settings.mode.writes_page_copies() {
                cpu(Cost::PageCopy);
                batch.images.push(page.image().clone());
            }
            batch.pages.push(page);
            return;
        }
    }

    /// Writes what the batch of an instance and kind has, if anything.
    pub(super) fn send_batch(&self, kind: FlushKind, pool_instance: usize) {
        self.send_batch_of(self.shape().layout.instance_of(pool_instance, kind));
    }

    /// Writes what the batch with this number has.
    pub(super) fn send_batch_of(&self, number: usize) {
        loop {
            // Not that of before: it may have been given up while this task waited.
            let shape = self.shape();
            let batch = shape.instances[number].batch.lock();
            if batch.pages.is_empty() || self.write_or_wait(shape, number, batch).is_some() {
                return;
            }
        }
    }

    /// Writes a batch; or waits, if the one before is running: `None`, the batch may be
    /// another one then.
    fn write_or_wait<'b>(
        &self,
        shape: &Shape,
        number: usize,
        mut batch: MutexGuard<'b, Batch>,
    ) -> Option<MutexGuard<'b, Batch>> {
        let instance = &shape.instances[number];
        let shard = self.metrics.shard(number);
        let signals = instance.ended.reset();
        if instance.is_running.load(Acquire) {
            drop(batch);
            shard.increment(Counter::DoublewriteFlushWaitEvents);
            instance.ended.wait(signals, NEVER, WaitKind::Other);
            return None;
        }
        shard.increment(Counter::DoublewriteFlushRequests);
        self.write_batch(shape, number, &mut batch);
        Some(batch)
    }

    fn write_batch(&self, shape: &Shape, number: usize, batch: &mut Batch) {
        let instance = &shape.instances[number];
        let kind = batch.pages[0].kind();
        let queue = &shape.free_segments[kind as usize];
        let segment_number = queue.take(WaitKind::Other);
        let segment = &shape.segments[segment_number as usize];
        instance.is_running.store(true, Relaxed);
        let pages = batch.pages.len() as u32;
        segment.instance.store(number as u32, Relaxed);
        segment.pages.store(pages, Relaxed);
        segment.left.store(pages, Release);

        let written = match shape.settings.mode {
            DoublewriteMode::DetectOnly => self.write_record(shape, number, kind, batch),
            _ => self.write_copies(shape, segment.place, &batch.images),
        };
        batch.images.clear();
        match written {
            Ok(()) => {
                self.metrics
                    .shard(number)
                    .increment(Counter::DoublewriteWrites);
                for page in batch.pages.drain(..) {
                    self.write_data(page, Some(segment_number));
                }
            }
            // Without their copies the pages must not be written: they stay dirty.
            Err(step) => {
                debug_assert!(matches!(
                    step,
                    FailedStep::CopyWrite | FailedStep::CopyFlush
                ));
                for page in batch.pages.drain(..) {
                    self.abandon(page, None);
                }
                Self::end_batch(shape, segment_number);
            }
        }
    }

    /// Writes the copies of a batch as one request, and flushes them if the method says
    /// so. When it returns, the data writes may begin.
    fn write_copies(
        &self,
        shape: &Shape,
        place: SegmentPlace,
        images: &[Image],
    ) -> Result<(), FailedStep> {
        let file = &self.judged_files(shape)?.copies[place.file];
        let offset = (place.first_page * PAGE_SIZE) as u64;
        let start = now();
        let written = file.write_images(images, offset, WaitKind::Other);
        self.metrics
            .record_time(Timing::DoublewriteWrite, now() - start);
        self.judge(FailedStep::CopyWrite, written)?;
        self.sync_copies(file)
    }

    fn write_record(
        &self,
        shape: &Shape,
        number: usize,
        kind: FlushKind,
        batch: &mut Batch,
    ) -> Result<(), FailedStep> {
        let detect_file = &self.judged_files(shape)?.detect;
        let (Some(file), Some(record)) = (detect_file, &mut batch.record) else {
            unreachable!("both are made for this mode");
        };
        batch.batches = batch.batches.wrapping_add(1);
        let entries = batch.pages.iter().map(|page| Entry {
            page: page.page_id(),
            lsn: page.lsn(),
        });
        detect_record::encode(record, batch.batches, kind, entries);
        let start = now();
        let offset = (number * RECORD_BYTES) as u64;
        let written = file.write_at(record, offset, WaitKind::Other);
        self.metrics
            .record_time(Timing::DoublewriteWrite, now() - start);
        self.judge(FailedStep::CopyWrite, written)?;
        self.sync_copies(file)
    }

    /// Flushes a doublewrite file, if that is wanted at all.
    pub(super) fn sync_copies(&self, file: &crate::runtime::files::File) -> Result<(), FailedStep> {
        let settings = self.settings();
        if !settings.sync_copies {
            return Ok(());
        }
        let start = now();
        let synced = file.sync(settings.data_only, WaitKind::Other);
        self.metrics
            .record_time(Timing::DoublewriteSync, now() - start);
        self.judge(FailedStep::CopyFlush, synced)
    }

    /// The files, to write a copy.
    pub(super) fn judged_files<'s>(&self, shape: &'s Shape) -> Result<&'s Created, FailedStep> {
        let made = shape.made_files(&self.system, &self.data_directory);
        made.map_err(|error| {
            self.trouble.failed(FailedStep::CopyWrite, &error);
            FailedStep::CopyWrite
        })
    }

    /// Notes the outcome of a step.
    pub(super) fn judge(
        &self,
        step: FailedStep,
        outcome: Result<(), FileError>,
    ) -> Result<(), FailedStep> {
        match outcome {
            Ok(()) => {
                self.trouble.succeeded(step);
                Ok(())
            }
            Err(error) => {
                self.trouble.failed(step, &error);
                Err(step)
            }
        }
    }

    /// The data write of a page of a batch has ended. After the last one the next batch
    /// may be written, and the data files are flushed: in this task, which still holds the
    /// page's latch, and the LRU list's mutex if the page is to be evicted.
    pub(super) fn page_of_batch_is_done(&self, segment_number: u32) {
        // Its page is pending still.
        let shape = self.shape();
        let segment = &shape.segments[segment_number as usize];
        if segment.left.fetch_sub(1, AcqRel) != 1 {
            return;
        }
        let number = segment.instance.load(Relaxed) as usize;
        self.metrics.shard(number).add(
            Counter::DoublewritePagesWritten,
            segment.pages.load(Relaxed).into(),
        );
        shape.instances[number].let_next_batch_run();
        self.flush_data_files();
        shape.return_segment(segment_number);
    }

    /// A batch ends of which nothing was written.
    fn end_batch(shape: &Shape, segment_number: u32) {
        let segment = &shape.segments[segment_number as usize];
        shape.instances[segment.instance.load(Relaxed) as usize].let_next_batch_run();
        shape.return_segment(segment_number);
    }
}

impl BatchInstance {
    fn let_next_batch_run(&self) {
        self.is_running.store(false, Release);
        self.ended.set();
    }
}

impl Shape {
    fn return_segment(&self, segment_number: u32) {
        let kind = self.segments[segment_number as usize].place.kind;
        self.free_segments[kind as usize].put_back(segment_number);
    }
}
