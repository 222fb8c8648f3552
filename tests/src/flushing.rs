//! A buffer pool with a doublewrite buffer under it and a redo log that is only a number:
//! the world of the tests of page flushing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

use innosim_engine::buffer_pool::{
    BlockHandle, BufferPool, BufferPoolError, BufferPoolSettings, FixMode, PoolHooks, Waits,
    WriteAheadLog,
};
use innosim_engine::doublewrite::{Doublewrite, DoublewriteSettings, RecoveryReport, recover};
use innosim_engine::metrics::{Counter, Metrics};
use innosim_engine::page::{
    ChecksumFormat, Lsn, NoLog, PageBytes, PageId, PageType, PageWriter, SpaceId, fil, space_header,
};
use innosim_engine::page_cleaner::{CleanerSettings, PageCleaner, RedoAges, RedoState};
use innosim_engine::runtime::files::{AlignedBuffer, FileSystem};
use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::time::{MICROSECOND, Time};
use innosim_engine::runtime::virtual_clock::disk::{CacheProtection, DiskProfile};
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_engine::runtime::{Held, LatchMode, WaitKind, sleep};
use innosim_engine::sysvar::FlushMethod;
use innosim_engine::tablespace::{Tablespaces, offset};

use crate::disk::solid_state_disk;

/// The tablespace of all tests.
pub const SPACE: SpaceId = SpaceId(5);

/// Its file, in the test's directory.
pub const FILE: &str = "t1.ibd";

/// A page of the tablespace.
pub fn page(number: u32) -> PageId {
    PageId::new(SPACE.0, number)
}

/// Sleeps, whatever for.
pub fn pause(time: Time) {
    sleep(time, WaitKind::Other);
}

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
    let cpu = CpuProfile {
        time_slice_us: 500.0,
        context_switch_us: 1.0,
        wake_latency_us: 3.0,
        wake_call_us: 1.0,
        io_call_us: 2.0,
        line_same_socket_ns: 40.0,
        ..CpuProfile::uniform(4)
    };
    let options = SimulationOptions {
        disks: vec![("disk".to_owned(), disk)],
        ..SimulationOptions::new(cpu, seed)
    };
    Simulation::new(&options).expect("the profile is valid")
}

/// Runs a test under the virtual clock.
pub fn virtually<T: 'static>(main: impl FnOnce() -> T + 'static) -> T {
    simulation(1, CacheProtection::Protected)
        .run(main)
        .expect("nobody waits for ever")
}

/// A redo log without redo: LSNs, and how far they are durable.
#[derive(Debug)]
pub struct TestLog {
    lsn: AtomicU64,
    flushed: AtomicU64,
    /// Redo of one mini-transaction.
    pub bytes_of_change: u64,
    /// Ages at which the page cleaner behaves differently.
    pub ages: RedoAges,
}

/// LSN of the first redo.
pub const FIRST_LSN: Lsn = 10_000;

impl TestLog {
    /// A log whose mini-transactions write so many bytes each.
    pub fn new(bytes_of_change: u64, ages: RedoAges) -> Self {
        TestLog {
            lsn: AtomicU64::new(FIRST_LSN),
            flushed: AtomicU64::new(0),
            bytes_of_change,
            ages,
        }
    }

    /// The range of a mini-transaction.
    pub fn reserve(&self) -> (Lsn, Lsn) {
        let start = self.lsn.fetch_add(self.bytes_of_change, AcqRel);
        (start, start + self.bytes_of_change)
    }

    /// The newest LSN.
    pub fn lsn(&self) -> Lsn {
        self.lsn.load(Acquire)
    }
}

impl WriteAheadLog for TestLog {
    fn flush_up_to(&self, lsn: Lsn) {
        let _ = lsn;
        sleep(20 * MICROSECOND, WaitKind::LogSync);
        // As a log does: all that there is.
        self.flushed.fetch_max(self.lsn(), AcqRel);
    }

    fn flushed_lsn(&self) -> Lsn {
        self.flushed.load(Acquire)
    }
}

/// There are no checkpoints: their age is that of the log.
impl RedoState for TestLog {
    fn current_lsn(&self) -> Lsn {
        self.lsn()
    }

    fn checkpoint_age(&self) -> u64 {
        self.lsn() - FIRST_LSN
    }

    fn ages(&self) -> RedoAges {
        self.ages
    }
}

/// Ages of a log that is large enough for everything.
pub const LARGE_LOG: RedoAges = RedoAges {
    capacity: 1 << 50,
    async_age: 1 << 49,
    sync_age: 1 << 49,
};

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
    /// The pool.
    pub pool: Arc<BufferPool>,
    /// One tablespace.
    pub tablespaces: Arc<Tablespaces>,
    /// All counters.
    pub metrics: Arc<Metrics>,
    /// The redo log.
    pub log: Arc<TestLog>,
    /// The doublewrite buffer.
    pub doublewrite: Arc<Doublewrite>,
    directory: PathBuf,
}

/// A page that is fixed and latched.
#[derive(Debug)]
pub struct Latched {
    handle: BlockHandle,
    mode: LatchMode,
    held: Held,
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
        World {
            pool: BufferPool::new(&settings.pool, spaces, counters, hooks).unwrap(),
            tablespaces,
            metrics,
            log,
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

    /// Uses a page once.
    pub fn touch(&self, number: u32) {
        self.pool.unfix(self.fix(number).unwrap());
    }

    fn fix(&self, number: u32) -> Result<BlockHandle, BufferPoolError> {
        self.pool
            .fix(page(number), FixMode::Normal, &mut Waits::new(0))
    }

    /// Fixes and latches a page.
    pub fn lock(&self, number: u32, mode: LatchMode) -> Latched {
        self.try_lock(number, mode).unwrap()
    }

    /// As `lock`; the error if the page cannot be had.
    pub fn try_lock(&self, number: u32, mode: LatchMode) -> Result<Latched, BufferPoolError> {
        let handle = self.fix(number)?;
        let held = self.pool.lock_page(handle, mode);
        Ok(Latched { handle, mode, held })
    }

    /// Lets a page go.
    pub fn unlock(&self, latched: Latched) {
        let latch = self.pool.latch(latched.handle);
        // SAFETY: taken by `lock`.
        unsafe { latch.unlock(latched.mode, latched.held) };
        self.pool.unfix(latched.handle);
    }

    /// Writes a version into a page and notes it, as a mini-transaction would.
    pub fn modify(&self, number: u32, version: u64) -> (Lsn, Lsn) {
        let latched = self.lock(number, LatchMode::X);
        let range = self.modify_latched(&latched, number, version);
        self.unlock(latched);
        range
    }

    /// As `modify`, of a page that is latched in X.
    pub fn modify_latched(&self, latched: &Latched, number: u32, version: u64) -> (Lsn, Lsn) {
        assert_eq!(latched.mode, LatchMode::X);
        let (start, end) = self.log.reserve();
        // SAFETY: the page is latched in X.
        let bytes = unsafe { &mut *self.pool.frame(latched.handle) };
        put_version(bytes, number, version);
        fil::set_page_lsn(bytes, end);
        self.pool.note_modified(latched.handle, start, end);
        (start, end)
    }

    /// The version of a page that is latched.
    pub fn version(&self, latched: &Latched) -> u64 {
        // SAFETY: the page is latched.
        version_of(unsafe { &*self.pool.frame(latched.handle) }).expect("one version")
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
        assert_eq!(self.pool.faults(), Vec::<String>::new());
        assert_eq!(self.pool.fixed_pages(), 0);
        for instance in 0..self.pool.instance_count() {
            let statistics = self.pool.statistics(instance);
            assert_eq!(statistics.free + statistics.lru, statistics.frames);
            assert_eq!(statistics.dirty, 0);
        }
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

/// The same number at three places, so that a mixture of two versions shows.
const PLACES: [usize; 3] = [100, 8000, 16000];

fn put_version(bytes: &mut PageBytes, number: u32, version: u64) {
    let mut log = NoLog;
    let mut writer = PageWriter::new(bytes, &mut log);
    writer.initialise_page(page(number), PageType::Index);
    drop(writer);
    for place in PLACES {
        bytes[place..place + 8].copy_from_slice(&version.to_be_bytes());
    }
    // Something different everywhere, so that every torn sector shows in the checksum.
    for sector in bytes[512..15872].chunks_exact_mut(512) {
        sector[256..264].copy_from_slice(&version.to_be_bytes());
    }
}

fn version_of(bytes: &PageBytes) -> Result<u64, String> {
    let versions =
        PLACES.map(|place| u64::from_be_bytes(bytes[place..place + 8].try_into().unwrap()));
    match versions {
        [first, second, third] if first == second && second == third => Ok(first),
        mixture => Err(format!("a mixture of versions: {mixture:?}")),
    }
}
