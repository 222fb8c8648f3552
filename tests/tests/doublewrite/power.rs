//! Power failures at random moments: with a doublewrite buffer every page is old or new
//! afterwards, or repaired; without one, torn pages are found.
//!
//! That no data page is written before its copy is shows here: a data write that was
//! submitted earlier could be torn together with its copy.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

use innosim_engine::buffer_pool::{LruBatch, PageSink};
use innosim_engine::doublewrite::{DoublewriteSettings, RecoveryReport};
use innosim_engine::metrics::Counter;
use innosim_engine::runtime::files::Crash;
use innosim_engine::runtime::random::Stream;
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, Time};
use innosim_engine::runtime::virtual_clock::disk::CacheProtection::{self, Protected, Volatile};
use innosim_engine::runtime::virtual_clock::disk::DiskProfile;
use innosim_engine::runtime::virtual_clock::{Outcome, Simulation};
use innosim_engine::runtime::{self, spawn};
use innosim_engine::sysvar::{DoublewriteMode, FlushMethod};
use innosim_tests::disk::solid_state_disk;
use innosim_tests::flushing::{
    World, WorldSettings, pause, recovered, simulation, simulation_with, version_in_file,
};

const PAGES: u32 = 600;
const DIRECTORY: &str = "/test";

/// By then the files are there, and the load has begun.
const BEGUN: Time = 60 * MILLISECOND;

/// What is known of a page.
#[derive(Default)]
struct Known {
    /// The newest version in memory.
    written: AtomicU64,
    /// A version that a flush has made durable.
    durable: AtomicU64,
}

/// Changes pages, flushes them, and notes what is durable then; for ever.
fn load(world: &World, known: &[Known], singles: &AtomicU64, is_evicting: bool) {
    let mut stream = runtime::stream("load");
    for version in 1.. {
        let pages: Vec<u32> = (0..70).map(|_| stream.below(PAGES.into()) as u32).collect();
        for &page in &pages {
            // Before: it may be written from the moment on that the latch is released.
            known[page as usize].written.store(version, Release);
            world.modify(page, version);
            singles.store(
                world.metrics.total(Counter::DoublewriteSyncRequests),
                Relaxed,
            );
        }
        for instance in 0..world.pool.instance_count() {
            if is_evicting {
                world
                    .pool
                    .flush_lru_batch(instance, &LruBatch { scan_depth: 40 });
            }
            world.pool.flush_list_batch(instance, usize::MAX, u64::MAX);
        }
        if stream.below(3) == 0 {
            pause(200 * MICROSECOND);
        }
        let _ = world.pool.flush_all();
        singles.store(
            world.metrics.total(Counter::DoublewriteSyncRequests),
            Relaxed,
        );
        world.doublewrite.wait_for_pending();
        for page in pages {
            known[page as usize].durable.store(version, Release);
        }
    }
}

struct Aftermath {
    /// Pages that threads wrote themselves, for want of a frame.
    singles: u64,
    report: RecoveryReport,
    /// By page: the version found, or what is wrong.
    found: Vec<Result<u64, String>>,
    known: Arc<Vec<Known>>,
}

/// Gives batches another size again and again while others write pages.
fn change_often(world: World) {
    spawn("changer", move || {
        let mut stream = runtime::stream("changer");
        loop {
            pause(stream.below(3 * MILLISECOND));
            let changed = DoublewriteSettings {
                pages: 1 + stream.below(40) as usize,
                ..world.doublewrite.settings().clone()
            };
            world.doublewrite.change(changed).unwrap();
        }
    });
}

fn crash(seed: u64, cache: CacheProtection, settings: &WorldSettings) -> Aftermath {
    crash_of(&mut simulation(seed, cache), settings, false)
}

fn crash_of(simulation: &mut Simulation, settings: &WorldSettings, is_changing: bool) -> Aftermath {
    let seed = simulation.seed();
    let known: Arc<Vec<Known>> = Arc::new((0..PAGES).map(|_| Known::default()).collect());
    let settings = settings.clone();
    let method = settings.flush_method;
    let at = Stream::new(seed, "cut").below(60 * MILLISECOND) + BEGUN;
    let singles = Arc::new(AtomicU64::new(0));
    let (seen, counted) = (known.clone(), singles.clone());
    let outcome = simulation.run_until(at, move || {
        let world = World::create(Path::new(DIRECTORY), &settings);
        if is_changing {
            change_often(world.clone());
        }
        load(&world, &seen, &counted, seed.is_multiple_of(2));
    });
    assert!(matches!(outcome, Ok(Outcome::PowerCut)), "seed {seed}");
    simulation.resolve_crash(Crash::PowerLoss).unwrap();
    let (report, found) = simulation
        .run(move || {
            let (tablespaces, report) = recovered(Path::new(DIRECTORY), method);
            let found = (0..PAGES).map(|page| version_in_file(&tablespaces, page));
            (report, found.collect())
        })
        .unwrap();
    Aftermath {
        singles: singles.load(Relaxed),
        report,
        found,
        known,
    }
}

impl Aftermath {
    /// Torn pages that were repaired.
    fn torn(&self) -> usize {
        let restored = self.report.restored.iter();
        restored.filter(|page| page.corruption.is_some()).count()
    }

    /// Pages that are damaged after recovery.
    fn damaged(&self) -> Vec<u32> {
        let pages = self.found.iter().enumerate();
        pages
            .filter(|(_, found)| found.is_err())
            .map(|(page, _)| page as u32)
            .collect()
    }

    /// Sound pages older than what was durable.
    fn lost(&self) -> usize {
        let pages = self.found.iter().zip(self.known.iter());
        pages
            .filter(|(found, known)| {
                matches!(found, Ok(version) if *version < known.durable.load(Acquire))
            })
            .count()
    }

    fn assert_whole(&self, seed: u64) {
        assert_eq!(self.damaged(), [], "seed {seed}: {:?}", self.report);
        assert!(self.report.check().is_ok());
        for (page, (found, known)) in self.found.iter().zip(self.known.iter()).enumerate() {
            let found = *found.as_ref().unwrap();
            let bounds = known.durable.load(Acquire)..=known.written.load(Acquire);
            assert!(bounds.contains(&found), "seed {seed}, page {page}: {found}");
        }
    }
}

fn settings() -> WorldSettings {
    let mut settings = WorldSettings::new(400, 2, PAGES);
    settings.doublewrite.pages = 16;
    settings
}

#[test]
fn every_page_is_old_or_new_or_repaired() {
    let mut restored = 0;
    let mut copy_newer = 0;
    let mut torn_copies = 0;
    for seed in 1..=60 {
        let after = crash(seed, Protected, &settings());
        after.assert_whole(seed);
        restored += after.torn();
        copy_newer += after.report.copy_newer;
        torn_copies += after.report.torn_copies;
    }
    // The test is worth its name: there was something to repair, power failed between
    // the two writes, and in the first one.
    assert!(restored > 20, "{restored}");
    assert!(copy_newer > 20, "{copy_newer}");
    assert!(torn_copies > 5, "{torn_copies}");
}

#[test]
fn small_batches_and_single_pages_are_as_safe() {
    // Without a cache each write is under way for long enough to be hit.
    let mut disk = solid_state_disk();
    if let DiskProfile::SolidState(disk) = &mut disk {
        disk.write_buffer_kib = 0;
    }
    let (mut restored, mut singles) = (0, 0);
    for seed in 1..=40 {
        let mut settings = settings();
        settings.doublewrite.pages = 1 + seed as usize % 4;
        // No room: threads write pages themselves.
        settings.pool.bytes = 2 * 20 * 16384;
        let after = crash_of(&mut simulation_with(seed, disk.clone()), &settings, false);
        after.assert_whole(seed);
        restored += after.torn();
        singles += after.singles;
    }
    assert!(restored > 2 && singles > 500, "{restored}, {singles}");
}

#[test]
fn changing_the_batches_meanwhile_is_as_safe() {
    let mut restored = 0;
    for seed in 1..=60 {
        let after = crash_of(&mut simulation(seed, Protected), &settings(), true);
        after.assert_whole(seed);
        restored += after.torn();
    }
    assert!(restored > 5, "{restored}");
}

#[test]
fn a_volatile_cache_needs_the_copies_flushed() {
    let mut lost_without = 0;
    for seed in 1..=40 {
        // As 8.0.20 does under O_DIRECT: the data writes may survive their copies, and
        // torn pages are left, or an older copy takes a page's place.
        let after = crash(seed, Volatile, &settings());
        lost_without += after.damaged().len() + after.lost();
        let mut flushed = settings();
        flushed.doublewrite.sync_copies = true;
        crash(seed, Volatile, &flushed).assert_whole(seed);
    }
    assert!(lost_without > 10, "{lost_without}");
}

#[test]
fn buffered_files_are_as_safe() {
    for seed in 1..=20 {
        let mut settings = settings();
        settings.flush_method = FlushMethod::Fsync;
        settings.doublewrite.direct = false;
        settings.doublewrite.sync_copies = true;
        crash(seed, Volatile, &settings).assert_whole(seed);
    }
}

#[test]
fn without_doublewrite_torn_pages_are_found() {
    let mut torn = 0;
    for seed in 1..=20 {
        let mut settings = settings();
        settings.doublewrite.mode = DoublewriteMode::Off;
        let after = crash(seed, Protected, &settings);
        assert_eq!(after.report, RecoveryReport::default());
        assert_eq!(after.lost(), 0, "what was flushed is there all the same");
        torn += after.damaged().len();
    }
    assert!(torn > 10, "{torn}");
}

#[test]
fn detection_finds_every_torn_page_and_repairs_none() {
    let mut torn = 0;
    for seed in 1..=20 {
        let mut settings = settings();
        settings.doublewrite.mode = DoublewriteMode::DetectOnly;
        let after = crash(seed, Protected, &settings);
        let reported = after.report.unrepaired.iter();
        let reported: Vec<u32> = reported.map(|unrepaired| unrepaired.page.page.0).collect();
        assert_eq!(after.damaged(), reported, "seed {seed}");
        assert_eq!(after.report.check().is_err(), !reported.is_empty());
        torn += reported.len();
    }
    assert!(torn > 5, "{torn}");
}
