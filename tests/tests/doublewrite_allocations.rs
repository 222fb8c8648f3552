//! Writing pages through the doublewrite buffer allocates nothing once it is warm: the
//! whole test binary counts its allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use innosim_engine::buffer_pool::{FlushKind, PageSink};
use innosim_engine::sysvar::DoublewriteMode;
use innosim_tests::flushing::{World, WorldSettings};

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

fn write_200(world: &World, version: u64) {
    for number in 0..200 {
        world.modify(number, version);
    }
    assert_eq!(world.pool.flush_list_batch(0, 200, u64::MAX), 200);
    world.pool.wait_for_flush(0, FlushKind::List);
    world.doublewrite.wait_for_pending();
}

#[test]
fn a_warm_doublewrite_buffer_allocates_nothing() {
    for mode in [
        DoublewriteMode::On,
        DoublewriteMode::DetectOnly,
        DoublewriteMode::Off,
    ] {
        for has_handlers in [true, false] {
            let directory = tempfile::tempdir_in(".").unwrap();
            let path = directory.path().canonicalize().unwrap();
            let mut settings = WorldSettings::new(320, 1, 320);
            settings.doublewrite.mode = mode;
            settings.doublewrite.pages = 16;
            settings.has_handlers = has_handlers;
            let world = World::create(&path, &settings);
            write_200(&world, 1);
            write_200(&world, 2);
            let before = ALLOCATIONS.load(Relaxed);
            write_200(&world, 3);
            let allocated = ALLOCATIONS.load(Relaxed) - before;
            // The system call for a batch takes a list of its pages, which is made anew.
            let batches = match mode {
                DoublewriteMode::On => 200_usize.div_ceil(16),
                _ => 0,
            };
            assert!(allocated <= batches, "{mode}, {has_handlers}: {allocated}");
            world.shut_down();
        }
    }
}
