//! Under load, with every policy: nothing is lost, and a pool at rest has no faults.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

use innosim_engine::metrics::Counter;
use innosim_engine::page_cleaner::{
    CleanerFigures, CleanerSettings, PolicySettings, RedoAges, policies,
};
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, Time};
use innosim_engine::runtime::virtual_clock::disk::CacheProtection;
use innosim_engine::runtime::{self, LatchMode, RealMachine, spawn};
use innosim_engine::sysvar::DoublewriteMode;
use innosim_tests::flushing::{World, WorldSettings, pause, simulation};

const PAGES: u32 = 1500;

fn worker(world: &World, versions: &[AtomicU64], number: usize, end: Time) {
    let mut stream = runtime::stream(&format!("worker {number}"));
    while runtime::now() < end {
        let page = stream.below(PAGES.into()) as u32;
        let latched = world.lock(page, LatchMode::X);
        let version = world.version(&latched) + 1;
        assert_eq!(versions[page as usize].swap(version, AcqRel), version - 1);
        runtime::charge(2 * MICROSECOND);
        world.modify_latched(&latched, page, version);
        world.unlock(latched);
        world.commit();
        pause(stream.below(400) * MICROSECOND);
    }
}

/// Runs the load for so long in a new world.
fn run(
    directory: &Path,
    settings: &WorldSettings,
    cleaner: &CleanerSettings,
    length: Time,
) -> (CleanerFigures, [u64; 3]) {
    let world = World::create(directory, settings);
    let cleaner = world.cleaner(cleaner.clone());
    cleaner.start();
    let versions: Arc<Vec<_>> = Arc::new((0..PAGES).map(|_| AtomicU64::new(0)).collect());
    let end = runtime::now() + length;
    let workers: Vec<_> = (0..6)
        .map(|number| {
            let (world, versions) = (world.clone(), versions.clone());
            spawn("worker", move || worker(&world, &versions, number, end))
        })
        .collect();
    for worker in workers {
        worker.join();
    }
    cleaner.stop();
    world.shut_down_with(|| {
        for (page, version) in versions.iter().enumerate() {
            let written = world.version_in_file(page as u32);
            assert_eq!(written, version.load(Acquire), "page {page}");
        }
    });
    assert_eq!(world.doublewrite.failures(), 0);
    let figures = [
        world.metrics.total(Counter::PagesWritten),
        world.metrics.total(Counter::PagesRead),
        world.metrics.total(Counter::DoublewriteWrites),
    ];
    (cleaner.figures(), figures)
}

fn settings(policy: &str, mode: DoublewriteMode) -> (WorldSettings, CleanerSettings) {
    let mut world = WorldSettings::new(300, 4, PAGES);
    world.doublewrite.mode = mode;
    world.doublewrite.pages = 16;
    world.ages = RedoAges {
        capacity: 150_000,
        async_age: 100_000,
        sync_age: 130_000,
    };
    let cleaner = CleanerSettings {
        policy: PolicySettings {
            io_capacity: 300,
            io_capacity_max: 600,
            flushing_avg_loops: 2,
            ..PolicySettings::new()
        },
        policy_name: policy.to_owned(),
        lru_scan_depth: 30,
        cleaners: 3,
        ..CleanerSettings::new(4)
    };
    (world, cleaner)
}

#[test]
fn no_page_is_lost_under_any_policy() {
    for policy in policies::names() {
        for mode in [DoublewriteMode::On, DoublewriteMode::Off] {
            for seed in 1..=2 {
                let (world, cleaner) = settings(policy, mode);
                let once = |world: WorldSettings, cleaner: CleanerSettings| {
                    simulation(seed, CacheProtection::Protected)
                        .run(move || {
                            let path = Path::new("/test");
                            run(path, &world, &cleaner, 4500 * MILLISECOND)
                        })
                        .unwrap_or_else(|stalled| panic!("{policy}, seed {seed}: {stalled}"))
                };
                let result = once(world.clone(), cleaner.clone());
                let (figures, [written, ..]) = &result;
                assert!(
                    figures.timed_rounds + figures.sync_rounds >= 3,
                    "{figures:?}"
                );
                assert!(figures.lru_pages + figures.evicted > 500, "{figures:?}");
                assert!(figures.list_pages > 300, "{policy}: {figures:?}");
                assert!(*written >= figures.list_pages + figures.lru_pages);
                assert_eq!(figures.late_rounds, 0);
                if seed == 1 {
                    assert_eq!(result, once(world, cleaner), "a seed is a result");
                }
            }
        }
    }
}

#[test]
fn no_page_is_lost_with_threads() {
    for (policy, mode) in [
        ("v57", DoublewriteMode::On),
        ("v57", DoublewriteMode::Off),
        ("v56", DoublewriteMode::DetectOnly),
    ] {
        let (world, cleaner) = settings(policy, mode);
        let directory = tempfile::tempdir_in(".").unwrap();
        let path = directory.path().canonicalize().unwrap();
        let (figures, [written, ..]) =
            RealMachine::new(1).run(|| run(&path, &world, &cleaner, 2500 * MILLISECOND));
        assert!(written > 50, "{written}");
        assert!(figures.list_pages + figures.lru_pages > 0, "{figures:?}");
    }
}
