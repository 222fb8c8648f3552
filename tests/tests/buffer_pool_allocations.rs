//! A hit allocates nothing: the whole test binary counts its allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use innosim_engine::buffer_pool::{
    BufferPool, BufferPoolSettings, FixMode, FlushKind, FlushedPage, PageSink, PoolHooks, Waits,
    WriteAheadLog,
};
use innosim_engine::metrics::Metrics;
use innosim_engine::page::{Lsn, PageId, SpaceId, space_header};
use innosim_engine::runtime::LatchMode;
use innosim_engine::runtime::files::FileSystem;
use innosim_engine::sysvar::FlushMethod;
use innosim_engine::tablespace::Tablespaces;

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls go to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Nothing is modified here, so nothing is written.
struct NoWrites;

impl WriteAheadLog for NoWrites {
    fn flush_up_to(&self, _: Lsn) {}
    fn flushed_lsn(&self) -> Lsn {
        0
    }
    fn end_lsn(&self) -> Lsn {
        Lsn::MAX
    }
}

impl PageSink for NoWrites {
    fn write(&self, page: FlushedPage) {
        panic!("{page:?}");
    }
    fn write_single(&self, page: FlushedPage) {
        panic!("{page:?}");
    }
    fn end_of_batch(&self, _: FlushKind, _: usize) {}
    fn wait_for_pending(&self) {}
}

#[test]
fn a_hit_allocates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let tablespaces = Arc::new(Tablespaces::new(
        FileSystem::new(),
        FlushMethod::ODirect,
        true,
    ));
    let flags = space_header::FLAGS_DYNAMIC_CRC32;
    let path = directory.path().join("t1.ibd");
    tablespaces
        .create(SpaceId(1), "test/t1", &path, flags, 700)
        .unwrap();
    let sink = Arc::new(NoWrites);
    let hooks = PoolHooks {
        write_ahead_log: sink.clone(),
        page_sink: sink,
    };
    // Smaller than the table: pages are evicted, and the young rule is at work.
    let settings = BufferPoolSettings {
        old_blocks_time: 0,
        ..BufferPoolSettings::new(600 * 16384, 1)
    };
    let metrics = Arc::new(Metrics::new(4));
    let pool = BufferPool::new(&settings, tablespaces.clone(), metrics, hooks).unwrap();
    let mut waits = Waits::new(0);
    let mut get = |number: u32| {
        let page = PageId::new(1, number);
        let handle = pool.fix(page, FixMode::Normal, &mut waits).unwrap();
        let held = pool.lock_page(handle, LatchMode::S);
        // SAFETY: the page is latched.
        let first = unsafe { (*pool.frame(handle))[0] };
        assert_eq!(first, 0);
        // SAFETY: taken above.
        unsafe { pool.latch(handle).unlock(LatchMode::S, held) };
        pool.unfix(handle);
    };
    for number in 0..700 {
        get(number);
    }
    let before = ALLOCATIONS.load(Relaxed);
    for _ in 0..10 {
        for number in 400..700 {
            get(number);
        }
    }
    assert_eq!(ALLOCATIONS.load(Relaxed) - before, 0);
    // A miss may allocate, but not this pool's.
    let statistics = pool.statistics(0);
    assert_eq!(statistics.pages_read, 700);
    tablespaces.close_all().unwrap();
}
