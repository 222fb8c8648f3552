//! Writers, LRU batches, flush-list batches and single-page flushes at once, under both
//! clocks: no page is lost, and a pool at rest has no faults.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use innosim_engine::buffer_pool::LruBatch;
use innosim_engine::doublewrite::DoublewriteSettings;
use innosim_engine::metrics::Counter;
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND};
use innosim_engine::runtime::virtual_clock::disk::CacheProtection;
use innosim_engine::runtime::{self, LatchMode, RealMachine, WaitKind, spawn};
use innosim_engine::sysvar::{DoublewriteMode, FlushLatch};
use innosim_tests::flushing::{World, WorldSettings, pause, simulation};

const PAGES: u32 = 700;

fn worker(world: &World, versions: &[AtomicU64], number: usize, steps: usize) {
    let mut stream = runtime::stream(&format!("worker {number}"));
    for _ in 0..steps {
        let page = stream.below(PAGES.into()) as u32;
        let latched = world.lock(page, LatchMode::X);
        let version = world.version(&latched) + 1;
        assert_eq!(versions[page as usize].swap(version, AcqRel), version - 1);
        runtime::charge(2 * MICROSECOND);
        world.modify_latched(&latched, page, version);
        world.unlock(latched);
    }
}

fn flusher(world: &World, instance: usize, stop: &AtomicBool) {
    while !stop.load(Acquire) {
        let batch = LruBatch { scan_depth: 25 };
        let count = world.pool.cleaner_wanted().reset();
        world.pool.flush_lru_batch(instance, &batch);
        world.pool.flush_list_batch(instance, 20, u64::MAX);
        let wanted = world.pool.cleaner_wanted();
        wanted.wait(count, MILLISECOND, WaitKind::Other);
    }
}

/// Gives batches one size after the other while pages are written.
fn changer(world: &World, sizes: &[usize], stop: &AtomicBool) {
    let settings = world.doublewrite.settings().clone();
    for &pages in sizes.iter().cycle() {
        if stop.load(Acquire) {
            break;
        }
        let changed = DoublewriteSettings {
            pages,
            ..settings.clone()
        };
        world.doublewrite.change(changed).unwrap();
        assert_eq!(world.doublewrite.settings().pages, pages);
        pause(2 * MILLISECOND);
    }
}

/// Runs the load in a new world; returns the pages that were written.
fn run(directory: &Path, settings: &WorldSettings, steps: usize) -> u64 {
    run_changing(directory, settings, steps, &[])
}

/// The same, with batches of these sizes in turn.
fn run_changing(directory: &Path, settings: &WorldSettings, steps: usize, sizes: &[usize]) -> u64 {
    let world = World::create(directory, settings);
    let versions: Arc<Vec<_>> = Arc::new((0..PAGES).map(|_| AtomicU64::new(0)).collect());
    let stop = Arc::new(AtomicBool::new(false));
    let flushers: Vec<_> = (0..world.pool.instance_count())
        .map(|instance| {
            let (world, stop) = (world.clone(), stop.clone());
            spawn("page_cleaner", move || flusher(&world, instance, &stop))
        })
        .collect();
    let changer = {
        let (world, stop, sizes) = (world.clone(), stop.clone(), sizes.to_vec());
        spawn("changer", move || changer(&world, &sizes, &stop))
    };
    let workers: Vec<_> = (0..6)
        .map(|number| {
            let (world, versions) = (world.clone(), versions.clone());
            spawn("worker", move || worker(&world, &versions, number, steps))
        })
        .collect();
    for worker in workers {
        worker.join();
    }
    stop.store(true, Release);
    for flusher in flushers {
        flusher.join();
    }
    changer.join();
    world.shut_down_with(|| {
        for (page, version) in versions.iter().enumerate() {
            let written = world.version_in_file(page as u32);
            assert_eq!(written, version.load(Acquire), "page {page}");
        }
    });
    let total = |counter| world.metrics.total(counter);
    if settings.doublewrite.mode != DoublewriteMode::Off {
        let copied = total(Counter::DoublewritePagesWritten);
        let singles = total(Counter::DoublewriteSyncRequests);
        assert_eq!(copied + singles, total(Counter::PagesWritten));
        let sizes = sizes.iter().chain([&settings.doublewrite.pages]);
        let largest = *sizes.max().unwrap();
        let full = total(Counter::DoublewriteWrites) * largest as u64;
        assert!(copied <= full);
    }
    assert_eq!(
        (world.doublewrite.failures(), world.doublewrite.trouble()),
        (0, None)
    );
    total(Counter::PagesWritten)
}

/// All modes, both flush latches, batches small and large, with and without handlers.
fn variants() -> Vec<WorldSettings> {
    let mut variants = Vec::new();
    for mode in [
        DoublewriteMode::On,
        DoublewriteMode::DetectOnly,
        DoublewriteMode::Off,
    ] {
        for (flush_latch, pages) in [(FlushLatch::Full, 4), (FlushLatch::AfterCopy, 40)] {
            for has_handlers in [true, false] {
                let mut settings = WorldSettings::new(290, 2, PAGES);
                settings.doublewrite.mode = mode;
                settings.doublewrite.pages = pages;
                settings.pool.flush_latch = flush_latch;
                settings.has_handlers = has_handlers;
                variants.push(settings);
            }
        }
    }
    variants
}

#[test]
fn no_page_is_lost_under_the_virtual_clock() {
    for (number, settings) in variants().into_iter().enumerate() {
        for seed in 1..=3 {
            let settings = settings.clone();
            let written = simulation(seed, CacheProtection::Protected)
                .run(move || run(Path::new("/test"), &settings, 400))
                .unwrap_or_else(|stalled| panic!("variant {number}, seed {seed}: {stalled}"));
            assert!(written > 500, "{written}");
        }
    }
}

#[test]
fn no_page_is_lost_with_threads() {
    for settings in variants() {
        let directory = tempfile::tempdir_in(".").unwrap();
        let path = directory.path().canonicalize().unwrap();
        let written = RealMachine::new(1).run(|| run(&path, &settings, 150));
        assert!(written > 100, "{written}");
    }
}

/// Batches that others fill and write get another size meanwhile.
#[test]
fn no_page_is_lost_while_batches_change() {
    const SIZES: [usize; 4] = [1, 60, 4, 17];
    for (number, settings) in variants().into_iter().enumerate() {
        for seed in 1..=3 {
            let settings = settings.clone();
            let written = simulation(seed, CacheProtection::Protected)
                .run(move || run_changing(Path::new("/test"), &settings, 400, &SIZES))
                .unwrap_or_else(|stalled| panic!("variant {number}, seed {seed}: {stalled}"));
            assert!(written > 300, "{written}");
        }
        let directory = tempfile::tempdir_in(".").unwrap();
        let path = directory.path().canonicalize().unwrap();
        let written = RealMachine::new(1).run(|| run_changing(&path, &settings, 150, &SIZES));
        assert!(written > 100, "{written}");
    }
}
