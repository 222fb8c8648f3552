//! The doublewrite buffer: how a page gets to its file without being torn for good.
//!
//! Power can fail in the middle of a write of 16 KiB. What is left then is neither the
//! old page nor the new one, and redo, which describes *changes* of a page, cannot repair
//! it. So a page is first written to another place, and only when that write is complete
//! to its own. Whichever of the two writes is torn, the other place has a whole page.
//!
//! ```text
//!   flusher          batch of N pages              #ib_16384_0.dblwr      t1.ibd, t2.ibd
//!   ---- page ---->  [p p p p p . . .]
//!   ---- page ---->  [p p p p p p p p]  full:
//!                           |---- one write of N pages ---->  segment
//!                           |     (fsync, by flush method)
//!                           |---- N asynchronous writes ------------------>  own places
//!                                                                              |
//!   next batch of this instance may be written   <---- the last of them ends --'
//!                                                       fsync of the data files
//! ```
//!
//! There is a *batch* for every instance of the buffer pool and kind of flush. It can
//! fill while the one before is in flight, but it is written only after that one is
//! complete: its data writes, too. So N, `innodb_doublewrite_pages`, bounds how many
//! pages of an instance are in flight, and divides the cost of the doublewrite's write.
//!
//! A thread that needs a frame and writes a single page has a slot of its own, and does
//! all writes itself, one after the other.
//!
//! | file | what it is about |
//! |---|---|
//! | `layout` | which bytes of which file are whose |
//! | `files` | creating the files, finding them again |
//! | `shape` | both put together, and changed while the engine runs |
//! | `batch` | filling batches and writing them |
//! | `data_write` | the pages' way to their own places, and its end |
//! | `single_page` | pages of threads that need a frame |
//! | `trouble` | writes that fail |
//! | `detect_record` | page numbers instead of copies (`DETECT_ONLY`) |
//! | `recovery` | after a crash: torn pages are found and repaired |
//!
//! Source: InnoDB 8.0.20 to 8.4. Earlier servers had one batch of 120 pages for all, in
//! the system tablespace; their flavors get this layout, too.

mod batch;
mod data_write;
mod detect_record;
mod error;
mod files;
mod layout;
mod queue;
pub mod recovery;
mod settings;
mod shape;
mod single_page;
mod trouble;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

pub use detect_record::{ENTRIES_MAX, RECORD_BYTES};
pub use error::DoublewriteError;
pub use files::is_file_name;
pub use layout::{Layout, SINGLE_PAGE_SLOTS};
pub use recovery::{Examination, RecoveryReport, RestoredPage, UnrepairedPage, examine, recover};
pub use settings::DoublewriteSettings;
pub use trouble::{FailedStep, WriteTrouble};

use self::data_write::DataWrite;
use self::shape::Shape;
use self::trouble::Trouble;
use crate::buffer_pool::{FlushKind, FlushedPage, PageSink};
use crate::metrics::Metrics;
use crate::runtime::files::{AsyncIo, AsyncIoStatistics, FileSystem};
use crate::runtime::time::NEVER;
use crate::runtime::{Event, JoinHandle, LatchClass, Mutex, Replaceable, WaitKind};
use crate::sysvar::DoublewriteMode;
use crate::tablespace::Tablespaces;

/// The doublewrite buffer of an engine; see the module's opening.
pub struct Doublewrite {
    shape: Replaceable<Shape>,
    /// Where files are made.
    system: FileSystem,
    data_directory: PathBuf,
    /// Whether pages have to wait, and what tells them that they need not any more.
    is_shut: AtomicBool,
    opened: Event,
    data_writes: AsyncIo<DataWrite>,
    /// Whether handler tasks take the ends of data writes. If not, whoever writes a batch
    /// does its data writes, too.
    has_handlers: AtomicBool,
    handlers: Mutex<Vec<JoinHandle<()>>>,
    /// Pages taken over and not given back.
    pending: AtomicUsize,
    idle: Event,
    trouble: Trouble,
    tablespaces: Arc<Tablespaces>,
    metrics: Arc<Metrics>,
}

impl Doublewrite {
    /// A doublewrite buffer with its files: [`new`](Self::new), then
    /// [`make_files`](Self::make_files).
    ///
    /// # Errors
    /// As of these.
    pub fn create(
        files: &FileSystem,
        data_directory: &Path,
        settings: DoublewriteSettings,
        tablespaces: Arc<Tablespaces>,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<Self>, DoublewriteError> {
        let this = Self::new(files, data_directory, settings, tablespaces, metrics)?;
        this.make_files()?;
        Ok(this)
    }

    /// Creates the doublewrite files anew, of zeros, in place of all that are there; or,
    /// if doublewrite is off, only removes them: old copies would be mistaken for current
    /// ones. So [`recover`] comes first. Nothing if it was done before.
    ///
    /// # Errors
    /// If a file cannot be created, for instance because the device is full.
    pub fn make_files(&self) -> Result<(), DoublewriteError> {
        let made = self.shape().made_files(&self.system, &self.data_directory);
        Ok(made.map(|_| ())?)
    }

    /// A doublewrite buffer whose files are not made yet: those of an earlier run stay until
    /// [`make_files`](Self::make_files), or until the first page is written.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn new(
        files: &FileSystem,
        data_directory: &Path,
        settings: DoublewriteSettings,
        tablespaces: Arc<Tablespaces>,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<Self>, DoublewriteError> {
        let write_io_threads = settings.write_io_threads.max(1);
        Ok(Arc::new(Doublewrite {
            data_writes: match settings.native_aio {
                true => AsyncIo::new(write_io_threads),
                false => AsyncIo::simulated(write_io_threads),
            },
            shape: Replaceable::new(Shape::new(settings)?),
            system: files.clone(),
            data_directory: data_directory.into(),
            is_shut: AtomicBool::new(false),
            opened: Event::new(),
            has_handlers: AtomicBool::new(false),
            handlers: Mutex::new(LatchClass::Plain, Vec::new()),
            pending: AtomicUsize::new(0),
            idle: Event::new(),
            trouble: Trouble::new(),
            tablespaces,
            metrics,
        }))
    }

    /// Starts the I/O handlers (`innodb_write_io_threads`), which take the ends of data
    /// writes. Without them all writes are made by the flushers, one after the other: that
    /// is the stepped mode.
    pub fn start(self: &Arc<Self>) {
        let mut handlers = self.handlers.lock();
        if self.has_handlers.load(Acquire) || self.data_writes.is_closed() {
            return;
        }
        handlers.extend((0..self.data_writes.segments()).map(|segment| {
            let this = self.clone();
            crate::runtime::spawn("io_write_thread", move || this.handle_ends(segment))
        }));
        self.has_handlers.store(true, Release);
    }

    /// Waits for pending writes and ends the handlers, for good. Flushers have stopped
    /// before; what is written later is written without handlers.
    pub fn stop(&self) {
        if !self.has_handlers.load(Acquire) {
            return;
        }
        self.wait_for_pending();
        self.has_handlers.store(false, Release);
        self.data_writes.close();
        let handlers = std::mem::take(&mut *self.handlers.lock());
        for handler in handlers {
            handler.join();
        }
    }

    /// What it was made from.
    pub fn settings(&self) -> &DoublewriteSettings {
        &self.shape().settings
    }

    /// Which bytes of which file are whose.
    pub fn layout(&self) -> &Layout {
        &self.shape().layout
    }

    /// What is wrong with the writes just now, if anything: a full disk, a broken one.
    /// The pages concerned are still dirty and in the pool; the next flush tries again,
    /// and a success clears this.
    pub fn trouble(&self) -> Option<WriteTrouble> {
        self.trouble.present()
    }

    /// Writes and flushes that have failed so far.
    pub fn failures(&self) -> u64 {
        self.trouble.total()
    }

    /// Pages taken over and not given back yet.
    pub fn pending(&self) -> usize {
        self.pending.load(Acquire)
    }

    /// Data writes that have a slot, by handler (InnoDB's "Pending normal aio writes").
    pub fn pending_data_writes(&self) -> Vec<usize> {
        self.data_writes.pending()
    }

    /// Counts and times of the asynchronous data writes.
    pub fn data_write_statistics(&self) -> AsyncIoStatistics {
        self.data_writes.statistics()
    }

    /// Pages go to their own places at once.
    fn is_off(&self) -> bool {
        self.shape().settings.mode == DoublewriteMode::Off
    }

    /// A page has been given back.
    fn page_is_done(&self) {
        if self.pending.fetch_sub(1, AcqRel) == 1 {
            self.idle.set();
        }
    }
}

impl PageSink for Doublewrite {
    fn write(&self, page: FlushedPage) {
        self.let_in();
        if self.is_off() {
            self.write_data(page, None);
        } else {
            self.queue_page(page);
        }
    }

    fn write_single(&self, page: FlushedPage) {
        self.let_in();
        self.write_single_page(page);
    }

    /// With doublewrite off this waits until no write is pending, whoever's it is, and
    /// flushes the data files: so much is left of a batch.
    fn end_of_batch(&self, kind: FlushKind, instance: usize) {
        if self.is_off() {
            self.wait_for_pending();
            self.flush_data_files();
        } else {
            self.send_batch(kind, instance);
        }
    }

    fn wait_for_pending(&self) {
        loop {
            let signals = self.idle.reset();
            if self.pending() == 0 {
                return;
            }
            self.idle.wait(signals, NEVER, WaitKind::Other);
        }
    }
}

impl std::fmt::Debug for Doublewrite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Doublewrite")
            .field("settings", self.settings())
            .field("pending", &self.pending())
            .finish_non_exhaustive()
    }
}
