//! A pool, tablespaces and a redo log in small: for tests and benches of what works on
//! pages.
//!
//! ```no_run
//! use innosim_engine::page::{PageId, PageType, SpaceId};
//! use innosim_engine::redo_log::{MiniTransactionContext, sandbox::Sandbox};
//!
//! # fn main() {
//! let sandbox = Sandbox::new(std::path::Path::new("/test"), 64);
//! sandbox.create_space(SpaceId(5), 100);
//! let mut context = MiniTransactionContext::new(0);
//! let mut transaction = sandbox.pages.begin(&mut context);
//! let id = PageId::new(5, 3);
//! let page = transaction.fix_new(id).unwrap();
//! transaction.writer(page).initialise_page(id, PageType::UndoLog);
//! transaction.commit();
//! sandbox.flush_all();
//! # }
//! ```
//!
//! Under the real clock the directory is an ordinary one. Under the virtual clock all of
//! this runs inside `Simulation::run`, on a machine with a disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checkpoint_source::PoolSource;
use super::log::RedoLog;
use super::pages::Pages;
use super::settings::RedoSettings;
use crate::buffer_pool::{
    BufferPool, BufferPoolSettings, FlushKind, FlushedPage, PageSink, PoolHooks,
};
use crate::metrics::Metrics;
use crate::page::{PAGE_SIZE, SpaceId, space_header};
use crate::runtime::WaitKind;
use crate::runtime::files::FileSystem;
use crate::sysvar::FlushMethod;
use crate::tablespace::{Tablespace, Tablespaces, offset};

/// A page sink without a doublewrite buffer: the flusher itself writes each page to its
/// file.
#[derive(Debug)]
pub struct DirectSink {
    spaces: Arc<Tablespaces>,
}

impl DirectSink {
    /// A sink that writes to these tablespaces.
    pub fn new(spaces: Arc<Tablespaces>) -> Self {
        DirectSink { spaces }
    }
}

impl PageSink for DirectSink {
    fn write(&self, page: FlushedPage) {
        self.write_single(page);
    }

    fn write_single(&self, page: FlushedPage) {
        let id = page.page_id();
        let Some(pool) = page.pool() else { return };
        let written = self.spaces.get(id.space).is_some_and(|space| {
            let place = offset(id.page.0);
            let result = space
                .file()
                .write_image(page.image(), place, WaitKind::FlushedPage);
            if result.is_ok() {
                space.note_write();
            }
            result.is_ok()
        });
        match written {
            true => pool.complete_write(page),
            false => pool.abandon_write(page),
        }
    }

    fn end_of_batch(&self, _: FlushKind, _: usize) {}

    fn wait_for_pending(&self) {}
}

/// A pool with everything around it.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// What mini-transactions work on.
    pub pages: Arc<Pages>,
    /// Where the files are.
    pub directory: PathBuf,
}

impl Sandbox {
    /// A pool of so many frames in one instance, at least 16, and a log without files.
    ///
    /// # Panics
    /// This and all of the sandbox: if something goes wrong.
    pub fn new(directory: &Path, frames: usize) -> Sandbox {
        let metrics = Arc::new(Metrics::new(1));
        let log = RedoLog::volatile(&RedoSettings::small(), metrics.clone());
        let log = log.expect("there is memory for a log buffer");
        let settings = BufferPoolSettings::new((frames * PAGE_SIZE) as u64, 1);
        Sandbox::with(directory, &settings, log, metrics)
    }

    /// A pool of these settings over this log.
    pub fn with(
        directory: &Path,
        settings: &BufferPoolSettings,
        log: Arc<RedoLog>,
        metrics: Arc<Metrics>,
    ) -> Sandbox {
        let files = FileSystem::new();
        files
            .create_directory(directory)
            .expect("the directory can be created");
        let spaces = Arc::new(Tablespaces::new(files, FlushMethod::ODirect, true));
        let hooks = PoolHooks {
            write_ahead_log: log.clone(),
            page_sink: Arc::new(DirectSink::new(spaces.clone())),
        };
        let pool = BufferPool::new(settings, spaces.clone(), metrics.clone(), hooks)
            .expect("the pool has a possible size");
        let pages = Pages {
            pool,
            log,
            spaces,
            metrics,
        };
        Sandbox {
            pages: Arc::new(pages),
            directory: directory.to_path_buf(),
        }
    }

    /// Where a tablespace's file is.
    pub fn path_of(&self, space: SpaceId) -> PathBuf {
        self.directory.join(format!("t{space}.ibd"))
    }

    /// Creates a tablespace of so many pages of zeros.
    pub fn create_space(&self, space: SpaceId, pages: u32) -> Arc<Tablespace> {
        let name = format!("test/t{space}");
        let flags = space_header::FLAGS_DYNAMIC_CRC32;
        let path = self.path_of(space);
        let created = self.pages.spaces.create(space, &name, &path, flags, pages);
        created.expect("the tablespace can be created")
    }

    /// Opens a tablespace of an earlier sandbox in the same directory.
    pub fn open_space(&self, space: SpaceId) -> Arc<Tablespace> {
        let name = format!("test/t{space}");
        let path = self.path_of(space);
        let opened = self.pages.spaces.open_unchecked(space, &name, &path);
        opened.expect("the tablespace can be opened")
    }

    /// Starts the log's background tasks, with checkpoints by this pool. Nobody writes
    /// pages unless the test does: users that make more redo than fits wait for ever.
    pub fn start_log(&self) {
        let source = PoolSource::new(&self.pages.pool, self.pages.spaces.clone());
        self.pages.log.start(source);
    }

    /// Writes all dirty pages.
    pub fn flush_all(&self) {
        assert_eq!(
            self.pages.pool.flush_all(),
            0,
            "a page could not be written"
        );
    }
}
