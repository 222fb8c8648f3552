//! Data writes: the pages' way to their own places, and what happens at its end.
//!
//! With I/O handlers a data write is a request in the array of asynchronous I/O; one of
//! `innodb_write_io_threads` handlers takes its end, makes the page clean and lets its
//! latch go. Without handlers, in the stepped mode, the flusher writes the page itself.
//!
//! A write that fails gives the page back dirty: see `trouble`.

use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;

use super::Doublewrite;
use super::trouble::FailedStep;
use crate::buffer_pool::FlushedPage;
use crate::metrics::Timing;
use crate::runtime::files::{FileError, Next};
use crate::runtime::time::{NEVER, Time};
use crate::runtime::{WaitKind, now};
use crate::tablespace::{Tablespace, offset};

/// A page on its way to its own place.
pub(super) struct DataWrite {
    page: FlushedPage,
    tablespace: Arc<Tablespace>,
    /// The segment of its batch, if it went through one.
    segment: Option<u32>,
}

impl Doublewrite {
    /// Sends a page to its own place; its copy, if any, has been written.
    pub(super) fn write_data(&self, page: FlushedPage, segment: Option<u32>) {
        let id = page.page_id();
        let Some(tablespace) = self.tablespaces.get(id.space) else {
            // Closed since: its pages are nobody's.
            self.give_back(page, segment);
            return;
        };
        let image = page.image().clone();
        let write = DataWrite {
            page,
            tablespace: tablespace.clone(),
            segment,
        };
        let (file, at) = (tablespace.file(), offset(id.page.0));
        if self.has_handlers.load(Acquire) {
            let submitted =
                self.data_writes
                    .submit_write_image(file, image, at, write, WaitKind::Other);
            // Pages lie at multiples of their size, and all else comes with the end.
            debug_assert!(submitted.is_ok(), "{submitted:?}");
        } else {
            let start = now();
            let written = file.write_image(&image, at, WaitKind::Other);
            self.data_write_ends(write, written, now() - start);
        }
    }

    /// An I/O handler: takes the ends of data writes of a segment, until the array is
    /// closed.
    pub(super) fn handle_ends(&self, segment: usize) {
        loop {
            match self.data_writes.next(segment, NEVER) {
                Next::Completed(ended) => {
                    self.data_write_ends(ended.token, ended.result, ended.time);
                }
                Next::TimedOut => {}
                Next::Closed => return,
            }
        }
    }

    fn data_write_ends(&self, write: DataWrite, result: Result<(), FileError>, time: Time) {
        let DataWrite {
            page,
            tablespace,
            segment,
        } = write;
        match self.judge(FailedStep::DataWrite, result) {
            Ok(()) => {
                self.metrics.record_time(Timing::PageWrite, time);
                tablespace.note_write();
                self.give_back(page, segment);
            }
            Err(_) => self.abandon(page, segment),
        }
    }

    /// The page is in its file: the pool gets it back clean.
    pub(super) fn give_back(&self, page: FlushedPage, segment: Option<u32>) {
        let note_end = || {
            if let Some(segment) = segment {
                self.page_of_batch_is_done(segment);
            }
        };
        match page.pool() {
            Some(pool) => pool.complete_write_and(page, note_end),
            None => note_end(),
        }
        self.page_is_done();
    }

    /// The page was not written: the pool gets it back dirty.
    pub(super) fn abandon(&self, page: FlushedPage, segment: Option<u32>) {
        if let Some(pool) = page.pool() {
            pool.abandon_write(page);
        }
        if let Some(segment) = segment {
            self.page_of_batch_is_done(segment);
        }
        self.page_is_done();
    }

    /// Flushes all data files with writes that are not flushed.
    pub(super) fn flush_data_files(&self) {
        if let Err(error) = self.tablespaces.flush_unflushed() {
            self.trouble.failed(FailedStep::DataFlush, &error);
        }
    }
}
