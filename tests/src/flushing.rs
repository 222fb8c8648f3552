//! A buffer pool with a doublewrite buffer under it and a redo log that is only a number:
//! the world of the tests of page flushing.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use innosim_engine::buffer_pool::{BufferPool, BufferPoolSettings, PoolHooks};
use innosim_engine::doublewrite::{Doublewrite, DoublewriteSettings, RecoveryReport, recover};
use innosim_engine::metrics::{Counter, Metrics};
use innosim_engine::page::{ChecksumFormat, Lsn, PageBytes, fil, space_header};
use innosim_engine::page_cleaner::{CleanerSettings, PageCleaner, RedoAges};
use innosim_engine::runtime::WaitKind;
use innosim_engine::runtime::files::{AlignedBuffer, FileSystem};
use innosim_engine::runtime::virtual_clock::disk::{CacheProtection, DiskProfile};
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_engine::sysvar::FlushMethod;
use innosim_engine::tablespace::{Tablespaces, offset};

use crate::disk::solid_state_disk;
use crate::machine::four_cores;
use crate::pages::version_of;
pub use crate::pages::{FILE, LARGE_LOG, PoolUser, SPACE, TestLog, page, pause};

/// A machine of four cores and a small disk, whose write cache survives a power failure or
/// not.
pub fn simulation(seed: u64, cache: CacheProtection) -> Box<Simulation> {
    let mut disk = solid_state_disk();
    if let DiskProfile::SolidState(disk) = &mut disk {
        disk.cache = cache;
        // Small, so that many writes are in flight when the power fails.
        disk.write_buffer_kib = 192;
    }
    simulation_with(seed, disk)
}

/// A machine of four cores and this disk.
pub fn simulation_with(seed: u64, disk: DiskProfile) -> Box<Simulation> {
    let options = SimulationOptions {
        disks: vec![("disk".to_owned(), disk)],
        ..SimulationOptions::new(four_cores(), seed)
    };
    Simulation::new(&options).expect("the profile is valid")
}

/// Runs a test under the virtual clock.
pub fn virtually<T: 'static>(main: impl FnOnce() -> T + 'static) -> T {
    simulation(1, CacheProtection::Protected)
        .run(main)
        .expect("nobody waits for ever")
}

/// What a world is made from.
#[derive(Clone, Debug)]
pub struct WorldSettings {
    /// The pool.
    pub pool: BufferPoolSettings,
    /// The doublewrite buffer.
    pub doublewrite: DoublewriteSettings,
    /// `innodb_flush_method`.
    pub flush_method: FlushMethod,
    /// Pages of the tablespace.
    pub pages: u32,
    /// Whether there are I/O handlers.
    pub has_handlers: bool,
    /// Redo of one change of a page.
    pub bytes_of_change: u64,
    /// Ages of redo that matter to the page cleaner.
    pub ages: RedoAges,
}

impl WorldSettings {
    /// A pool of so many frames in each of so many instances, over so many pages;
    /// doublewrite batches of 8.
    pub fn new(frames: usize, instances: usize, pages: u32) -> Self {
        WorldSettings {
            pool: BufferPoolSettings::new((frames * instances * 16384) as u64, instances),
            doublewrite: DoublewriteSettings {
                pages: 8,
                ..DoublewriteSettings::new(instances)
            },
            flush_method: FlushMethod::ODirect,
            pages,
            has_handlers: true,
            bytes_of_change: 100,
            ages: LARGE_LOG,
        }
    }
}

/// A pool over one tablespace, and what is below it.
#[derive(Clone, Debug)]
pub struct World {
    /// The pool and the redo log.
    pub user: PoolUser,
    /// One tablespace.
    pub tablespaces: Arc<Tablespaces>,
    /// All counters.
    pub metrics: Arc<Metrics>,
    /// The doublewrite buffer.
    pub doublewrite: Arc<Doublewrite>,
    directory: PathBuf,
}

impl Deref for World {
    type Target = PoolUser;

    fn deref(&self) -> &PoolUser {
        &self.user
    }
}

impl World {
    /// A new tablespace of zeros, and a pool over it.
    pub fn create(directory: &Path, settings: &WorldSettings) -> World {
        let files = FileSystem::new();
        files.create_directory(directory).unwrap();
        let tablespaces = Arc::new(Tablespaces::new(files, settings.flush_method, true));
        let (path, flags) = (directory.join(FILE), space_header::FLAGS_DYNAMIC_CRC32);
        tablespaces
            .create(SPACE, "test/t1", &path, flags, settings.pages)
            .unwrap();
        World::over(directory, tablespaces, settings)
    }

    /// A pool over a tablespace that is open.
    pub fn over(
        directory: &Path,
        tablespaces: Arc<Tablespaces>,
        settings: &WorldSettings,
    ) -> World {
        let metrics = Arc::new(Metrics::new(1));
        let log = Arc::new(TestLog::new(settings.bytes_of_change, settings.ages));
        let doublewrite = Doublewrite::create(
            tablespaces.files(),
            directory,
            settings.doublewrite.clone(),
            tablespaces.clone(),
            metrics.clone(),
        )
        .unwrap();
        if settings.has_handlers {
            doublewrite.start();
        }
        let hooks = PoolHooks {
            write_ahead_log: log.clone(),
            page_sink: doublewrite.clone(),
        };
        let (spaces, counters) = (tablespaces.clone(), metrics.clone());
        let pool = BufferPool::new(&settings.pool, spaces, counters, hooks).unwrap();
        World {
            user: PoolUser { pool, log },
            tablespaces,
            metrics,
            doublewrite,
            directory: directory.into(),
        }
    }

    /// A page cleaner for the pool, at rest.
    pub fn cleaner(&self, settings: CleanerSettings) -> Arc<PageCleaner> {
        let (pool, log, metrics) = (self.pool.clone(), self.log.clone(), self.metrics.clone());
        PageCleaner::new(pool, log, settings, metrics).expect("there is such a policy")
    }

    /// Counts a transaction that has written: the server is at work.
    pub fn commit(&self) {
        self.metrics.shard(0).increment(Counter::ActivityCount);
    }

    /// Redo since the oldest change that is not written.
    pub fn age(&self) -> u64 {
        let oldest = self.pool.oldest_modification_lsn();
        oldest.map_or(0, |oldest| self.log.lsn() - oldest)
    }

    /// Dirty pages.
    pub fn dirty(&self) -> usize {
        let instances = 0..self.pool.instance_count();
        instances
            .map(|instance| self.pool.statistics(instance).dirty)
            .sum()
    }

    /// The version of a page in the file, past the pool.
    pub fn version_in_file(&self, number: u32) -> u64 {
        version_in_file(&self.tablespaces, number).unwrap()
    }

    /// Writes all dirty pages, stops the handlers, and checks a pool at rest.
    pub fn shut_down(&self) {
        self.shut_down_with(|| ());
    }

    /// As `shut_down`, with a look at the files before they are closed.
    pub fn shut_down_with(&self, look: impl FnOnce()) {
        assert_eq!(self.pool.flush_all(), 0);
        look();
        self.doublewrite.stop();
        assert_eq!(self.doublewrite.pending(), 0);
        self.assert_at_rest();
        self.tablespaces.close_all().unwrap();
    }

    /// The directory of the files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Opens the tablespace after a crash, and lets the doublewrite buffer repair it.
pub fn recovered(
    directory: &Path,
    flush_method: FlushMethod,
) -> (Arc<Tablespaces>, RecoveryReport) {
    recovered_behind(directory, flush_method, 0)
}

/// As [`recovered`], where a checkpoint at this LSN says what redo can be applied.
pub fn recovered_behind(
    directory: &Path,
    flush_method: FlushMethod,
    checkpoint: Lsn,
) -> (Arc<Tablespaces>, RecoveryReport) {
    let files = FileSystem::new();
    let tablespaces = Arc::new(Tablespaces::new(files, flush_method, true));
    tablespaces
        .open_unchecked(SPACE, "test/t1", &directory.join(FILE))
        .unwrap();
    let report = recover(tablespaces.files(), directory, &tablespaces, checkpoint).unwrap();
    (tablespaces, report)
}

/// The version of a page in its file; or what is wrong with the page.
pub fn version_in_file(tablespaces: &Tablespaces, number: u32) -> Result<u64, String> {
    let tablespace = tablespaces.get(SPACE).expect("it is open");
    let mut buffer = AlignedBuffer::new(16384).unwrap();
    tablespace
        .file()
        .read_at(&mut buffer, offset(number), WaitKind::Other)
        .unwrap();
    let bytes: &PageBytes = buffer[..].try_into().unwrap();
    fil::verify(bytes, page(number), ChecksumFormat::Crc32).map_err(|error| error.to_string())?;
    version_of(bytes)
}
