//! One tablespace: a file that is an array of pages.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::*};

use super::error::TablespaceError;
use super::unflushed::{FlushCounts, FlushStep, Unflushed};
use super::{FlushSettings, PAGES_MAX};
use crate::page::{ChecksumFormat, Lsn, PAGE_SIZE, PageBytes, PageId, PageNumber, SpaceId, fil};
use crate::runtime::files::File;
use crate::runtime::time::NEVER;
use crate::runtime::{Cost, Event, LatchClass, Mutex, PageLatch, WaitKind, cpu};

/// A tablespace that is open.
#[derive(Debug)]
pub struct Tablespace {
    id: SpaceId,
    name: Box<str>,
    path: PathBuf,
    file: File,
    /// Pages that the file has: written by who holds `growing`.
    size: AtomicU32,
    growing: Mutex<()>,
    latch: PageLatch,
    flush_counts: Mutex<FlushCounts>,
    flush_ended: Event,
    unflushed: Arc<Unflushed>,
    settings: FlushSettings,
}

impl Tablespace {
    pub(super) fn new(
        id: SpaceId,
        name: &str,
        file: File,
        size: u32,
        unflushed: Arc<Unflushed>,
        settings: FlushSettings,
    ) -> Self {
        Tablespace {
            id,
            name: name.into(),
            path: file.path().to_path_buf(),
            file,
            size: AtomicU32::new(size),
            growing: Mutex::new(LatchClass::Plain, ()),
            latch: PageLatch::of_class(LatchClass::Tablespace),
            flush_counts: Mutex::new(LatchClass::FileSystem, FlushCounts::default()),
            flush_ended: Event::new(),
            unflushed,
            settings,
        }
    }

    /// The tablespace's number.
    pub fn id(&self) -> SpaceId {
        self.id
    }

    /// Its name, such as `sbtest/sbtest1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, for writes of pages: follow each by
    /// [`note_write`](Self::note_write).
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Pages that the file has.
    pub fn size(&self) -> u32 {
        self.size.load(Acquire)
    }

    /// Guards the allocation of pages and segments; what that means is the business of
    /// `page_allocation`. A mini-transaction holds it.
    pub fn latch(&self) -> &PageLatch {
        &self.latch
    }

    /// Reads a page into a frame and judges it.
    ///
    /// # Errors
    /// If the file has no such page or cannot be read, or if the page is damaged or
    /// another one. The frame holds anything then.
    pub fn read_page(
        &self,
        page: PageNumber,
        frame: &mut PageBytes,
    ) -> Result<(), TablespaceError> {
        let id = PageId {
            space: self.id,
            page,
        };
        let pages = self.size();
        if page.0 >= pages {
            return Err(TablespaceError::BeyondEnd {
                page: id,
                path: self.path.clone(),
                pages,
            });
        }
        self.file
            .read_at(frame, offset(page.0), WaitKind::PageRead)?;
        cpu(Cost::PageChecksum);
        fil::verify(frame, id, ChecksumFormat::Crc32).map_err(|corruption| {
            TablespaceError::Corrupted {
                path: self.path.clone(),
                corruption,
            }
        })
    }

    /// Checks that a page of this tablespace, which was read just now, is not newer than the
    /// end of the redo log: redo is durable before the page that it changes.
    ///
    /// # Errors
    /// [`TablespaceError::NewerThanRedo`].
    pub fn check_lsn(
        &self,
        page: PageNumber,
        frame: &PageBytes,
        end_lsn: Lsn,
    ) -> Result<(), TablespaceError> {
        let page_lsn = fil::PAGE_LSN.get(frame);
        match page_lsn <= end_lsn {
            true => Ok(()),
            false => Err(TablespaceError::NewerThanRedo {
                path: self.path.clone(),
                page: PageId {
                    space: self.id,
                    page,
                },
                page_lsn,
                end_lsn,
            }),
        }
    }

    /// Makes the file `pages` pages long, if it is shorter: zeros are written, and the
    /// file is flushed. By how much a file grows is decided by `page_allocation`.
    ///
    /// # Errors
    /// If the file cannot be extended, for instance because the device is full. Its
    /// earlier pages are untouched then.
    pub fn extend(&self, pages: u32) -> Result<(), TablespaceError> {
        if u64::from(pages) > PAGES_MAX {
            return Err(TablespaceError::TooLarge {
                path: self.path.clone(),
                pages: pages.into(),
            });
        }
        {
            let growing = self.growing.lock();
            if pages <= self.size() {
                return Ok(());
            }
            self.file.extend(offset(pages), WaitKind::Other)?;
            self.note(FlushCounts::note_growth);
            self.size.store(pages, Release);
            drop(growing);
        }
        self.flush()
    }

    // ---- durability -----------------------------------------------------------

    /// A write to the file is complete. It is durable after the next flush.
    pub fn note_write(&self) {
        self.note(FlushCounts::note_write);
    }

    fn note(&self, what: impl FnOnce(&mut FlushCounts) -> bool) {
        let mut counts = self.flush_counts.lock();
        if what(&mut counts) {
            self.unflushed.add(self.id);
        }
    }

    /// Makes all writes noted so far durable, by a flush of the file if one is needed.
    ///
    /// # Errors
    /// If the flush fails. What was written may be lost then, though a later flush
    /// succeeds.
    pub fn flush(&self) -> Result<(), TablespaceError> {
        match self.unflushed.waits_for_checkpoint() {
            true => Ok(()),
            false => self.flush_now(),
        }
    }

    /// As [`flush`](Self::flush), also where flushes wait for a checkpoint.
    pub(super) fn flush_now(&self) -> Result<(), TablespaceError> {
        let wanted = self.flush_counts.lock().modifications();
        loop {
            let mut counts = self.flush_counts.lock();
            match counts.begin(wanted, self.settings.growth_only) {
                FlushStep::Done => return Ok(()),
                FlushStep::Skip(covered) => {
                    self.end_flush(&mut counts, covered);
                    return Ok(());
                }
                FlushStep::Wait => {
                    let signals = self.flush_ended.reset();
                    drop(counts);
                    self.flush_ended.wait(signals, NEVER, WaitKind::Other);
                }
                FlushStep::Flush(covered) => {
                    drop(counts);
                    let result = self.file.sync(self.settings.data_only, WaitKind::Other);
                    let mut counts = self.flush_counts.lock();
                    match result {
                        Ok(()) => self.end_flush(&mut counts, covered),
                        Err(_) => counts.fail(),
                    }
                    drop(counts);
                    self.flush_ended.set();
                    return result.map_err(TablespaceError::from);
                }
            }
        }
    }

    fn end_flush(&self, counts: &mut FlushCounts, covered: u64) {
        if counts.end(covered) {
            self.unflushed.remove(self.id);
        }
    }
}

/// Where a page is in its file.
pub fn offset(page: u32) -> u64 {
    u64::from(page) * PAGE_SIZE as u64
}
