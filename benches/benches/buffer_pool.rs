//! What a page that is in the pool costs: fix, latch, unlatch, unfix. Under the real
//! clock, and what the virtual clock adds for its host.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use innosim_engine::buffer_pool::{
    BufferPool, BufferPoolSettings, FixMode, FlushKind, FlushedPage, PageSink, PoolHooks, Waits,
    WriteAheadLog,
};
use innosim_engine::metrics::Metrics;
use innosim_engine::page::{Lsn, PageId, SpaceId, space_header};
use innosim_engine::runtime::files::FileSystem;
use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_engine::runtime::{LatchMode, spawn};
use innosim_engine::sysvar::FlushMethod;
use innosim_engine::tablespace::Tablespaces;

const PAGES: u32 = 2000;

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
        unreachable!("{page:?}");
    }
    fn write_single(&self, page: FlushedPage) {
        unreachable!("{page:?}");
    }
    fn end_of_batch(&self, _: FlushKind, _: usize) {}
    fn wait_for_pending(&self) {}
}

/// A pool with all pages of a file in it.
fn warm_pool(directory: &Path) -> Arc<BufferPool> {
    let files = FileSystem::new();
    files
        .create_directory(directory)
        .expect("a directory for the bench");
    let path = directory.join("hit.ibd");
    let tablespaces = Arc::new(Tablespaces::new(files, FlushMethod::ODirect, true));
    let flags = space_header::FLAGS_DYNAMIC_CRC32;
    tablespaces
        .create(SpaceId(1), "bench/hit", &path, flags, PAGES)
        .expect("a file for the bench");
    // The name is not needed any more.
    let _ = tablespaces.files().remove(&path);
    let sink = Arc::new(NoWrites);
    let hooks = PoolHooks {
        write_ahead_log: sink.clone(),
        page_sink: sink,
    };
    let settings = BufferPoolSettings::new(u64::from(PAGES + 100) * 16384, 1);
    let pool = BufferPool::new(&settings, tablespaces, Arc::new(Metrics::new(8)), hooks)
        .expect("memory for a small pool");
    hits(&pool, u64::from(PAGES), 0);
    pool
}

fn hits(pool: &BufferPool, count: u64, shard: usize) {
    let mut waits = Waits::new(shard);
    // Neighbours are not neighbours in the hash: 7919 is prime to the number of pages.
    let mut number = shard as u32 * 500 % PAGES;
    for _ in 0..count {
        number = (number + 7919) % PAGES;
        let page = PageId::new(1, number);
        let handle = pool
            .fix(page, FixMode::Normal, &mut waits)
            .expect("the page can be read");
        let held = pool.lock_page(handle, LatchMode::S);
        // SAFETY: the page is latched.
        black_box(unsafe { (*pool.frame(handle))[0] });
        // SAFETY: taken above.
        unsafe { pool.latch(handle).unlock(LatchMode::S, held) };
        pool.unfix(handle);
    }
}

fn virtual_hits(count: u64) -> Duration {
    let options = SimulationOptions::new(CpuProfile::uniform(4), 1);
    let mut simulation = Simulation::new(&options).expect("the profile is valid");
    simulation
        .run(move || {
            let pool = warm_pool(Path::new("/bench"));
            let start = Instant::now();
            hits(&pool, count, 0);
            start.elapsed()
        })
        .expect("nobody waits for ever")
}

fn hit(criterion: &mut Criterion) {
    let directory = std::env::temp_dir().join(format!("innosim-bench-{}", std::process::id()));
    let pool = warm_pool(&directory);
    let mut group = criterion.benchmark_group("buffer pool hit");
    group.bench_function("real clock", |bencher| {
        bencher.iter_custom(|count| {
            let start = Instant::now();
            hits(&pool, count, 0);
            start.elapsed()
        });
    });
    group.bench_function("real clock, 2 threads", |bencher| {
        bencher.iter_custom(|count| {
            let start = Instant::now();
            let threads = [1, 2].map(|shard| {
                let pool = pool.clone();
                spawn("reader", move || hits(&pool, count, shard))
            });
            for thread in threads {
                thread.join();
            }
            start.elapsed()
        });
    });
    group.bench_function("virtual clock", |bencher| {
        bencher.iter_custom(virtual_hits);
    });
    group.finish();
    // Its file is gone already; an empty directory may stay behind if this fails.
    let _ = std::fs::remove_dir(&directory);
}

criterion_group!(benches, hit);
criterion_main!(benches);
