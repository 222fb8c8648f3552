//! Single pages: a thread that needs a frame, found none free, and writes one dirty page
//! to have one.
//!
//! ```text
//!   slot (1 of 512) -> write copy -> (fsync) -> write page -> fsync its file -> slot back
//! ```
//!
//! All of it in the foreground. It is not part of a batch and not counted among them. Even
//! under `DETECT_ONLY` a whole copy is written.

use super::Doublewrite;
use super::shape::Shape;
use super::trouble::FailedStep;
use crate::buffer_pool::FlushedPage;
use crate::metrics::{Counter, Timing};
use crate::page::PAGE_SIZE;
use crate::runtime::{Cost, WaitKind, cpu, now};
use crate::tablespace::offset;

impl Doublewrite {
    /// Writes a page and its copy, and gives the page back.
    pub(super) fn write_single_page(&self, page: FlushedPage) {
        // Whatever comes after the page was given back is its shape's still.
        let shape = self.shape();
        let copied = if self.is_off() {
            Ok(None)
        } else {
            self.write_copy(shape, &page).map(Some)
        };
        match copied {
            Ok(slot) => {
                self.write_own_place(page);
                if let Some(slot) = slot {
                    shape.free_slots.put_back(slot);
                }
            }
            Err(_) => self.abandon(page, None),
        }
    }

    /// Writes the copy; returns its slot, which keeps it until the page is safe.
    fn write_copy(&self, shape: &Shape, page: &FlushedPage) -> Result<u32, FailedStep> {
        self.metrics
            .shard(page.instance())
            .increment(Counter::DoublewriteSyncRequests);
        let files = self.judged_files(shape)?;
        let slot = shape.free_slots.take(WaitKind::FreePage);
        let (file, at) = shape.layout.single_page_slot(slot as usize);
        let file = &files.copies[file];
        cpu(Cost::PageCopy);
        let written = file.write_image(page.image(), (at * PAGE_SIZE) as u64, WaitKind::FreePage);
        let outcome = self
            .judge(FailedStep::CopyWrite, written)
            .and_then(|()| self.sync_copies(file));
        if outcome.is_err() {
            shape.free_slots.put_back(slot);
        }
        outcome.map(|()| slot)
    }

    fn write_own_place(&self, page: FlushedPage) {
        let id = page.page_id();
        let Some(tablespace) = self.tablespaces.get(id.space) else {
            self.give_back(page, None);
            return;
        };
        let start = now();
        let written =
            tablespace
                .file()
                .write_image(page.image(), offset(id.page.0), WaitKind::FreePage);
        if self.judge(FailedStep::DataWrite, written).is_err() {
            self.abandon(page, None);
            return;
        }
        self.metrics.record_time(Timing::PageWrite, now() - start);
        tablespace.note_write();
        if let Err(error) = tablespace.flush() {
            self.trouble.failed(FailedStep::DataFlush, &error);
        }
        self.give_back(page, None);
    }
}
