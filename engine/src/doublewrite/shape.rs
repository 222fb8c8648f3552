//! The shape of a doublewrite buffer: what its settings decide, and its change while pages
//! are written.
//!
//! ```text
//!   write ──► door ──► batches, slots ──► files        all of one shape
//!              │
//!   change: shut it ──► send what batches have ──► wait until nothing is pending
//!           new files ──► new shape ──► open it
//! ```
//!
//! A page that is pending has its copy in a file of the shape that it came in by, so a
//! shape is given up only when none is. Flushers that come meanwhile wait at the door.
//!
//! No server can do this: `innodb_doublewrite_pages` and the like are read once, at its
//! start. It is for futures of one warm state that differ in them.

use std::path::Path;
#[expect(
    clippy::disallowed_types,
    reason = "a field, and nobody ever waits for it"
)]
use std::sync::OnceLock;
use std::sync::atomic::Ordering::*;

use super::batch::{BatchInstance, Segment};
use super::error::DoublewriteError;
use super::files::Created;
use super::layout::Layout;
use super::queue::WaitingQueue;
use super::settings::DoublewriteSettings;
use super::{Doublewrite, files};
use crate::buffer_pool::FlushKind;
use crate::runtime::WaitKind;
use crate::runtime::files::{FileError, FileSystem};
use crate::runtime::time::{MILLISECOND, NEVER, Time};

/// Between two looks whether batches have got pages meanwhile, of flushers that were past
/// the door.
const LOOK_AGAIN: Time = MILLISECOND;

/// Files, batches and slots.
pub(super) struct Shape {
    pub(super) settings: DoublewriteSettings,
    pub(super) layout: Layout,
    /// None before [`made_files`](Self::made_files).
    #[expect(
        clippy::disallowed_types,
        reason = "a field, and nobody ever waits for it"
    )]
    files: OnceLock<Created>,
    pub(super) instances: Box<[BatchInstance]>,
    pub(super) segments: Box<[Segment]>,
    /// Numbers of segments that no batch uses: for LRU batches, for flush-list batches.
    pub(super) free_segments: [WaitingQueue<u32>; 2],
    /// Numbers of slots that no single-page flush uses.
    pub(super) free_slots: WaitingQueue<u32>,
}

impl Shape {
    /// The shape of these settings; its files are not made yet.
    pub(super) fn new(settings: DoublewriteSettings) -> Result<Self, DoublewriteError> {
        let layout = Layout::new(settings.pool_instances, settings.files, settings.pages);
        let segments: Box<[_]> = layout.segments().map(Segment::new).collect();
        let of_kind = |kind: FlushKind| {
            let own = (0..segments.len()).filter(|&number| segments[number].place.kind == kind);
            WaitingQueue::new(own.map(|number| number as u32))
        };
        let free_segments = [of_kind(FlushKind::Lru), of_kind(FlushKind::List)];
        let slots = layout.single_page_slots() as u32;
        let instances = (0..layout.instances())
            .map(|_| BatchInstance::new(&settings))
            .collect::<Result<_, _>>()?;
        Ok(Shape {
            files: Default::default(),
            instances,
            segments,
            free_segments,
            free_slots: WaitingQueue::new(0..slots),
            settings,
            layout,
        })
    }

    /// The files, which are made in place of all that are there when they are first asked
    /// for. During recovery a pool may run full, and its first write makes them; only one
    /// task is there then.
    pub(super) fn made_files(
        &self,
        system: &FileSystem,
        data_directory: &Path,
    ) -> Result<&Created, FileError> {
        if let Some(made) = self.files.get() {
            return Ok(made);
        }
        let directory = self.settings.directory_in(data_directory);
        let made = files::create(system, &directory, &self.settings, &self.layout)?;
        Ok(self.files.get_or_init(|| made))
    }
}

impl Doublewrite {
    /// The present shape. It stays while a page is pending.
    pub(super) fn shape(&self) -> &Shape {
        self.shape.get()
    }

    /// A page comes in by the door.
    pub(super) fn let_in(&self) {
        self.pending.fetch_add(1, SeqCst);
        if self.is_shut.load(SeqCst) {
            self.wait_at_the_door();
        }
    }

    #[cold]
    fn wait_at_the_door(&self) {
        loop {
            self.page_is_done();
            let signals = self.opened.reset();
            if self.is_shut.load(SeqCst) {
                self.opened.wait(signals, NEVER, WaitKind::Other);
            }
            self.pending.fetch_add(1, SeqCst);
            if !self.is_shut.load(SeqCst) {
                return;
            }
        }
    }

    /// Obeys other settings, whatever is being flushed: waits for what is pending, makes
    /// the files anew as at the start, and goes on. What concerns neither files nor
    /// batches (I/O threads), and whether there is a doublewrite buffer at all, stays as
    /// it was. To be called by one task at a time, and by none that writes pages.
    ///
    /// # Errors
    /// If the files cannot be made; those of before are made again then. Where not even
    /// that succeeds no page is written any more.
    pub fn change(&self, settings: DoublewriteSettings) -> Result<(), DoublewriteError> {
        let before = self.shape().settings.clone();
        let settings = DoublewriteSettings {
            mode: before.mode,
            pool_instances: before.pool_instances,
            write_io_threads: before.write_io_threads,
            native_aio: before.native_aio,
            ..settings
        };
        self.is_shut.store(true, SeqCst);
        self.send_all();
        let create = |settings| -> Result<_, DoublewriteError> {
            let shape = Shape::new(settings)?;
            shape.made_files(&self.system, &self.data_directory)?;
            Ok(shape)
        };
        let (shape, changed) = match create(settings) {
            Ok(shape) => (shape, Ok(())),
            Err(error) => (create(before)?, Err(error)),
        };
        self.shape.replace(shape);
        self.is_shut.store(false, SeqCst);
        self.opened.set();
        changed
    }

    /// Sends off what batches have, until nothing is pending.
    fn send_all(&self) {
        loop {
            for number in 0..self.shape().instances.len() {
                self.send_batch_of(number);
            }
            let signals = self.idle.reset();
            if self.pending() == 0 {
                return;
            }
            self.idle.wait(signals, LOOK_AGAIN, WaitKind::Other);
        }
    }
}
