//! A mini-transaction and the writing of its redo allocate nothing: the whole test binary
//! counts its allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use innosim_engine::buffer_pool::BufferPoolSettings;
use innosim_engine::metrics::Metrics;
use innosim_engine::page::{PageId, PageType, SpaceId};
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::redo_log::{
    CommitPolicy, LogConcurrency, LogWriting, MiniTransactionContext, RedoLog, RedoSettings,
};
use innosim_engine::runtime::files::FileSystem;
use innosim_engine::runtime::{LatchClass, LatchMode, PageLatch};

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

fn page(number: u32) -> PageId {
    PageId::new(5, number)
}

fn allocations_of(settings: &RedoSettings) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let metrics = Arc::new(Metrics::new(4));
    let log = RedoLog::create(
        FileSystem::new(),
        directory.path(),
        settings,
        metrics.clone(),
    );
    let pool = BufferPoolSettings::new(64 * 16384, 1);
    let sandbox = Sandbox::with(directory.path(), &pool, log.unwrap(), metrics);
    sandbox.create_space(SpaceId(5), 64);
    let pages = &sandbox.pages;
    let mut context = MiniTransactionContext::new(1);
    for number in 0..8 {
        let mut mtr = pages.begin(&mut context);
        let handle = mtr.fix_new(page(number)).unwrap();
        mtr.writer(handle)
            .initialise_page(page(number), PageType::UndoLog);
        mtr.commit();
    }
    let latch = Arc::new(PageLatch::of_class(LatchClass::IndexTree));
    let mut round = |value: u8| {
        pages.log.free_check().unwrap();
        let mut mtr = pages.begin(&mut context);
        mtr.hold(&latch, LatchMode::S);
        let root = mtr.fix(page(0), LatchMode::S).unwrap();
        let inner = mtr.fix(page(1), LatchMode::S).unwrap();
        mtr.release(root);
        mtr.release(inner);
        mtr.release_latch(&latch);
        let leaves = [2, 3].map(|number| mtr.fix(page(number), LatchMode::X).unwrap());
        for leaf in leaves {
            for offset in [100, 500, 9000] {
                mtr.writer(leaf).write(offset, &[value; 20]);
            }
        }
        let end = mtr.commit();
        pages.log.commit_wait(end, CommitPolicy::Write).unwrap();
    };
    for value in 1..10 {
        round(value);
    }
    let before = ALLOCATIONS.load(Relaxed);
    for value in 10..200 {
        round(value);
    }
    ALLOCATIONS.load(Relaxed) - before
}

/// One test, so that no other one allocates meanwhile.
#[test]
fn a_mini_transaction_and_the_write_of_its_redo_allocate_nothing() {
    let users = RedoSettings {
        writing: LogWriting::Users,
        ..RedoSettings::small()
    };
    assert_eq!(allocations_of(&users), 0);
    let with_mutex = RedoSettings {
        concurrency: LogConcurrency::FlushOrderMutex,
        ..users
    };
    assert_eq!(allocations_of(&with_mutex), 0);
}
