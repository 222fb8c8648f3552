//! Pages with versions in them, a pool to use them in, and a redo log that is only a number:
//! what tests of the pool and of page flushing have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

use innosim_engine::buffer_pool::{
    BlockHandle, BufferPool, BufferPoolError, FixMode, Waits, WriteAheadLog,
};
use innosim_engine::page::{Lsn, NoLog, PageBytes, PageId, PageType, PageWriter, SpaceId, fil};
use innosim_engine::page_cleaner::{RedoAges, RedoState};
use innosim_engine::runtime::time::{MICROSECOND, Time};
use innosim_engine::runtime::{Held, LatchMode, WaitKind, sleep};

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

/// A redo log without redo: LSNs, and how far they are durable.
#[derive(Debug)]
pub struct TestLog {
    lsn: AtomicU64,
    flushed: AtomicU64,
    /// Flushes that were asked for.
    pub flushes: AtomicUsize,
    flushes_all: bool,
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
            flushes: AtomicUsize::new(0),
            flushes_all: true,
            bytes_of_change,
            ages,
        }
    }

    /// A log that flushes what it is asked for, where others flush all that there is.
    #[must_use]
    pub fn flushing_what_is_asked_for(self) -> Self {
        TestLog {
            flushes_all: false,
            ..self
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
        sleep(20 * MICROSECOND, WaitKind::LogSync);
        let end = if self.flushes_all { self.lsn() } else { lsn };
        self.flushed.fetch_max(end, AcqRel);
        self.flushes.fetch_add(1, Relaxed);
    }

    fn flushed_lsn(&self) -> Lsn {
        self.flushed.load(Acquire)
    }
    fn end_lsn(&self) -> Lsn {
        Lsn::MAX
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

/// A page that is fixed and latched.
#[derive(Debug)]
pub struct Latched {
    /// The page, fixed.
    pub handle: BlockHandle,
    mode: LatchMode,
    held: Held,
}

/// A pool, and the redo log of its changes.
#[derive(Clone, Debug)]
pub struct PoolUser {
    /// The pool.
    pub pool: Arc<BufferPool>,
    /// The redo log.
    pub log: Arc<TestLog>,
}

impl PoolUser {
    /// Uses a page once.
    pub fn touch(&self, number: u32) {
        self.pool.unfix(self.fix(number));
    }

    /// Fixes a page.
    pub fn fix(&self, number: u32) -> BlockHandle {
        self.try_fix(number).unwrap()
    }

    /// As `fix`; the error if the page cannot be had.
    pub fn try_fix(&self, number: u32) -> Result<BlockHandle, BufferPoolError> {
        self.pool
            .fix(page(number), FixMode::Normal, &mut Waits::new(0))
    }

    /// Fixes and latches a page.
    pub fn lock(&self, number: u32, mode: LatchMode) -> Latched {
        self.try_lock(number, mode).unwrap()
    }

    /// As `lock`; the error if the page cannot be had.
    pub fn try_lock(&self, number: u32, mode: LatchMode) -> Result<Latched, BufferPoolError> {
        let handle = self.try_fix(number)?;
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

    /// Checks a pool of which nobody uses anything.
    pub fn assert_at_rest(&self) {
        assert_eq!(self.pool.faults(), Vec::<String>::new());
        assert_eq!(self.pool.fixed_pages(), 0);
        for instance in 0..self.pool.instance_count() {
            let statistics = self.pool.statistics(instance);
            assert_eq!(statistics.free + statistics.lru, statistics.frames);
            assert_eq!(statistics.dirty, 0);
        }
    }
}

/// The same number at three places, so that a mixture of two versions shows.
const PLACES: [usize; 3] = [100, 8000, 16000];

/// Makes a page one of this version.
pub fn put_version(bytes: &mut PageBytes, number: u32, version: u64) {
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

/// The version of a page; or what it has instead of one.
///
/// # Errors
/// If its parts are of different versions.
pub fn version_of(bytes: &PageBytes) -> Result<u64, String> {
    let versions =
        PLACES.map(|place| u64::from_be_bytes(bytes[place..place + 8].try_into().unwrap()));
    match versions {
        [first, second, third] if first == second && second == third => Ok(first),
        mixture => Err(format!("a mixture of versions: {mixture:?}")),
    }
}
