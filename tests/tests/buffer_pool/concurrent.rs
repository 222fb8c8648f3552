//! Readers, writers and flushers at the same time. The model is one number a page; what
//! must hold at the end is checked by `World::shut_down`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use innosim_engine::buffer_pool::{BufferPoolSettings, LruBatch};
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, Time};
use innosim_engine::runtime::virtual_clock::Settle;
use innosim_engine::runtime::{self, LatchMode, WaitKind, spawn};
use innosim_engine::sysvar::FlushLatch;

use super::world::{World, simulation_with};

#[derive(Clone, Copy)]
struct Load {
    workers: usize,
    steps: usize,
    pages: u32,
    /// Of each of two instances.
    frames: usize,
    flush_latch: FlushLatch,
    flush_latch_mode: LatchMode,
}

const LOAD: Load = Load {
    workers: 8,
    steps: 400,
    pages: 900,
    frames: 300,
    flush_latch: FlushLatch::Full,
    flush_latch_mode: LatchMode::SX,
};

/// What the workers have written last, a number a page. Changed and compared only under
/// the page's latch.
struct Model(Vec<AtomicU64>);

fn worker(world: &World, model: &Model, number: usize, load: Load) {
    let mut stream = runtime::stream(&format!("worker {number}"));
    for _ in 0..load.steps {
        // A tenth of the pages are used half of the time.
        let range = match stream.below(2) {
            0 => load.pages / 10,
            _ => load.pages,
        };
        let page = stream.below(range.into()) as u32;
        let expected = &model.0[page as usize];
        match stream.below(10) {
            0..=4 => {
                let latched = world.lock(page, LatchMode::S);
                assert_eq!(world.version(&latched), expected.load(Acquire));
                runtime::charge(MICROSECOND);
                world.unlock(latched);
            }
            5..=8 => {
                let latched = world.lock(page, LatchMode::X);
                let version = world.version(&latched) + 1;
                assert_eq!(expected.swap(version, AcqRel), version - 1);
                runtime::charge(2 * MICROSECOND);
                world.modify_latched(&latched, page, version);
                world.unlock(latched);
            }
            // Two pages at once, in order, as a split would have them.
            _ => {
                let other = (page + 1) % load.pages;
                let (low, high) = (page.min(other), page.max(other));
                let first = world.lock(low, LatchMode::SX);
                let second = world.lock(high, LatchMode::S);
                let versions = (world.version(&first), world.version(&second));
                let expected = |page: u32| model.0[page as usize].load(Acquire);
                assert_eq!(versions, (expected(low), expected(high)));
                world.unlock(second);
                world.unlock(first);
            }
        }
        if stream.below(20) == 0 {
            runtime::sleep(100 * MICROSECOND, WaitKind::Other);
        }
    }
}

fn cleaner(world: &World, stop: &AtomicBool) {
    let batch = LruBatch { scan_depth: 20 };
    while !stop.load(Acquire) {
        let count = world.pool.cleaner_wanted().reset();
        for instance in 0..world.pool.instance_count() {
            world.pool.flush_lru_batch(instance, &batch);
            let limit = world.log.lsn().saturating_sub(100);
            world.pool.flush_list_batch(instance, 12, limit);
        }
        let wanted = world.pool.cleaner_wanted();
        wanted.wait(count, MILLISECOND, WaitKind::Other);
    }
}

/// Runs the load in a new world; returns figures that a second run must repeat.
fn run(directory: &Path, load: Load) -> (Time, [u64; 4]) {
    let settings = BufferPoolSettings {
        flush_latch: load.flush_latch,
        flush_latch_mode: load.flush_latch_mode,
        ..BufferPoolSettings::new(2 * load.frames as u64 * 16384, 2)
    };
    let world = World::with(directory, &settings, load.pages, 8);
    let versions = (0..load.pages).map(|_| AtomicU64::new(0)).collect();
    let model = Arc::new(Model(versions));
    let stop = Arc::new(AtomicBool::new(false));
    let cleaner = {
        let (world, stop) = (world.clone(), stop.clone());
        spawn("page_cleaner", move || cleaner(&world, &stop))
    };
    let workers: Vec<_> = (0..load.workers)
        .map(|number| {
            let (world, model) = (world.clone(), model.clone());
            spawn("worker", move || worker(&world, &model, number, load))
        })
        .collect();
    for worker in workers {
        worker.join();
    }
    stop.store(true, Release);
    world.pool.cleaner_wanted().set();
    cleaner.join();
    world.shut_down_with(|| {
        for (page, version) in model.0.iter().enumerate() {
            let written = world.version_in_file(page as u32);
            assert_eq!(written, version.load(Acquire), "page {page}");
        }
    });
    let sum = |figure: fn(&innosim_engine::buffer_pool::InstanceStatistics) -> u64| {
        (0..2)
            .map(|instance| figure(&world.pool.statistics(instance)))
            .sum()
    };
    let figures = [
        sum(|s| s.pages_read),
        sum(|s| s.pages_written),
        sum(|s| s.evictions),
        sum(|s| s.single_page_flushes),
    ];
    (runtime::now(), figures)
}

fn run_virtually(seed: u64, load: Load) -> (Time, [u64; 4]) {
    run_settled(seed, Settle::Lazy, load)
}

fn run_settled(seed: u64, settle: Settle, load: Load) -> (Time, [u64; 4]) {
    let mut simulation = simulation_with(seed, settle);
    simulation
        .run(move || run(Path::new("/test"), load))
        .unwrap_or_else(|stalled| panic!("seed {seed}: {stalled}"))
}

#[test]
fn bytes_equal_the_model_for_many_seeds() {
    for seed in 1..=20 {
        let (_, [read, written, evicted, _]) = run_virtually(seed, LOAD);
        // The load is worth its name: pages came, left, and came again.
        assert!(read > 700 && written > 300 && evicted > 100, "seed {seed}");
    }
}

#[test]
fn pages_released_after_the_copy_are_not_lost_when_they_change_again() {
    for seed in 1..=15 {
        let load = Load {
            flush_latch: FlushLatch::AfterCopy,
            pages: 650,
            ..LOAD
        };
        run_virtually(seed, load);
    }
}

#[test]
fn a_flush_may_hold_s_as_in_5_6() {
    for seed in 1..=10 {
        let load = Load {
            flush_latch_mode: LatchMode::S,
            ..LOAD
        };
        run_virtually(seed, load);
    }
}

#[test]
fn time_may_pass_at_every_latch() {
    for seed in 1..=5 {
        run_settled(seed, Settle::Always, LOAD);
    }
}

#[test]
fn threads_that_find_no_frame_write_pages_themselves() {
    let load = Load {
        steps: 150,
        pages: 300,
        frames: 40,
        ..LOAD
    };
    let mut single_pages = 0;
    for seed in 1..=10 {
        // LRU batches leave so short a list alone.
        let (_, [read, written, evicted, single]) = run_virtually(seed, load);
        assert!(read > evicted && evicted > 400, "seed {seed}: {evicted}");
        assert!(single < written, "seed {seed}");
        single_pages += single;
    }
    assert!(single_pages > 100, "{single_pages}");
}

#[test]
fn a_seed_repeats_itself() {
    let first = run_virtually(7, LOAD);
    assert_eq!(first, run_virtually(7, LOAD));
    assert_ne!(first, run_virtually(8, LOAD));
}

#[test]
fn bytes_equal_the_model_with_real_threads() {
    for (frames, flush_latch) in [
        (300, FlushLatch::Full),
        (300, FlushLatch::AfterCopy),
        (60, FlushLatch::Full),
        (60, FlushLatch::AfterCopy),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let load = Load {
            steps: 1000,
            frames,
            flush_latch,
            ..LOAD
        };
        run(directory.path(), load);
    }
}
