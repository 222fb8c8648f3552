//! Power cuts: what is kept, lost and torn.

use innosim_engine::runtime::WaitKind::Other;
use innosim_engine::runtime::files::{
    AsyncIo, Crash, CrashReport, Create, FileSystem, IMAGE_BYTES,
};
use innosim_engine::runtime::sleep;
use innosim_engine::runtime::time::{MILLISECOND, NEVER, SECOND, Time};
use innosim_engine::runtime::virtual_clock::disk::CacheProtection::{self, Protected, Volatile};
use innosim_engine::runtime::virtual_clock::{Outcome, Simulation};

use crate::{PAGE, buffered, direct, options_with, page, page_bytes, solid_state};

fn simulation(cache: CacheProtection, atomic: u32, seed: u64) -> Box<Simulation> {
    Simulation::new(&options_with(&[solid_state(cache, atomic)], seed)).unwrap()
}

/// Runs a program that then waits for the power to be cut.
fn cut(simulation: &mut Simulation, at: Time, program: impl FnOnce() + 'static) {
    let outcome = simulation.run_until(at, move || {
        program();
        sleep(NEVER, Other);
    });
    assert!(matches!(outcome, Ok(Outcome::PowerCut)));
}

/// 300 pages of version 1, which are synced, and then of version 2, which are not. What a
/// power failure leaves.
fn overwritten(
    cache: CacheProtection,
    atomic: u32,
    seed: u64,
    options: fn(Create) -> innosim_engine::runtime::files::OpenOptions,
) -> (Vec<u8>, CrashReport) {
    let mut simulation = simulation(cache, atomic, seed);
    cut(&mut simulation, SECOND, move || {
        let files = FileSystem::new();
        let file = files.open("t1.ibd", options(Create::New)).unwrap();
        for version in [1, 2] {
            for number in 0..300 {
                let image = page(&files, number, version);
                file.write_image(&image, number * PAGE, Other).unwrap();
            }
            if version == 1 {
                file.sync(true, Other).unwrap();
            }
        }
    });
    let report = simulation.resolve_crash(Crash::PowerLoss).unwrap();
    (simulation.files().contents("t1.ibd").unwrap(), report)
}

/// For each page, how many of its units of so many bytes are new; checks that each is
/// old or new as a whole.
fn new_units(bytes: &[u8], unit: usize) -> Vec<usize> {
    let pages = bytes.chunks_exact(IMAGE_BYTES).enumerate();
    pages
        .map(|(number, bytes)| {
            let (old, new) = (page_bytes(number as u64, 1), page_bytes(number as u64, 2));
            let units = bytes.chunks_exact(unit);
            let old_and_new = old.chunks_exact(unit).zip(new.chunks_exact(unit));
            units
                .zip(old_and_new)
                .filter(|(found, (old, new))| {
                    assert!(found == old || found == new, "page {number}");
                    found == new
                })
                .count()
        })
        .collect()
}

#[test]
fn unsynced_writes_of_a_volatile_cache_are_kept_lost_or_torn_a_third_each() {
    for options in [direct, buffered] {
        for unit in [512, 4096] {
            let (bytes, report) = overwritten(Volatile, unit, 1, options);
            let units = IMAGE_BYTES / unit as usize;
            let new = new_units(&bytes, unit as usize);
            let count = |wanted: &dyn Fn(usize) -> bool| {
                new.iter().filter(|&&count| wanted(count)).count() as u64
            };
            let kept = count(&|count| count == units);
            let lost = count(&|count| count == 0);
            assert_eq!(
                report,
                CrashReport {
                    kept,
                    lost,
                    torn: 300 - kept - lost
                }
            );
            // Binomial, n = 300 and p = 1/3 (of the torn with four units, an eighth look
            // kept or lost): five standard deviations of 8.2 are 41.
            for part in [report.kept, report.lost, report.torn] {
                assert!((59..=154).contains(&part), "{report:?}");
            }
        }
    }
}

#[test]
fn a_unit_of_a_page_or_more_is_never_torn() {
    let (bytes, report) = overwritten(Volatile, 16_384, 1, direct);
    assert_eq!(report.torn, 0);
    assert!(new_units(&bytes, IMAGE_BYTES).contains(&1));
    // One request of 64 pages is torn between units of 4 pages only.
    for seed in 0..10 {
        let mut simulation = simulation(Volatile, 65_536, seed);
        cut(&mut simulation, SECOND, || {
            let files = FileSystem::new();
            let file = files.open("t1.ibd", direct(Create::New)).unwrap();
            let old: Vec<_> = (0..64).map(|number| page(&files, number, 1)).collect();
            file.write_images(&old, 0, Other).unwrap();
            file.sync(true, Other).unwrap();
            let new: Vec<_> = (0..64).map(|number| page(&files, number, 2)).collect();
            file.write_images(&new, 0, Other).unwrap();
        });
        let report = simulation.resolve_crash(Crash::PowerLoss).unwrap();
        assert_eq!(report.kept + report.lost + report.torn, 1);
        let new = new_units(&simulation.files().contents("t1.ibd").unwrap(), IMAGE_BYTES);
        for unit in new.chunks(4) {
            assert!(unit.iter().all(|&page| page == unit[0]), "{new:?}");
        }
    }
}

#[test]
fn a_completed_write_of_a_protected_cache_is_durable_and_one_in_flight_is_not() {
    let (bytes, report) = overwritten(Protected, 512, 1, direct);
    assert_eq!(report, CrashReport::default());
    assert!(new_units(&bytes, IMAGE_BYTES).iter().all(|&page| page == 1));

    let mut fates = CrashReport::default();
    for seed in 0..60 {
        let mut simulation = simulation(Protected, 512, seed);
        cut(&mut simulation, MILLISECOND, || {
            let files = FileSystem::new();
            let file = files.open("t1.ibd", direct(Create::New)).unwrap();
            let array = AsyncIo::new(1);
            for number in 0..100 {
                let image = page(&files, number, 2);
                array
                    .submit_write_image(&file, image, number * PAGE, (), Other)
                    .unwrap();
            }
        });
        let report = simulation.resolve_crash(Crash::PowerLoss).unwrap();
        // By 1 ms, (1000 - 1 - 10) / 16 = 61 have completed.
        assert_eq!(report.kept + report.lost + report.torn, 39);
        let bytes = simulation.files().contents("t1.ibd").unwrap();
        for number in 0..61 {
            let at = number as usize * IMAGE_BYTES;
            assert!(bytes[at..at + IMAGE_BYTES] == page_bytes(number, 2));
        }
        fates.kept += report.kept;
        fates.lost += report.lost;
        fates.torn += report.torn;
    }
    // 2340 fates, a third each: five standard deviations of 23 are 114.
    for part in [fates.kept, fates.lost, fates.torn] {
        assert!((666..=894).contains(&part), "{fates:?}");
    }
}

#[test]
fn a_synced_write_is_never_lost() {
    for seed in 0..20 {
        for (cache, options) in [
            (Volatile, direct as fn(_) -> _),
            (Volatile, buffered),
            (Protected, buffered),
        ] {
            let mut simulation = simulation(cache, 512, seed);
            cut(&mut simulation, SECOND, move || {
                let files = FileSystem::new();
                let file = files.open("t1.ibd", options(Create::New)).unwrap();
                for version in 1..=2 {
                    for number in 0..20 {
                        let image = page(&files, number, version);
                        file.write_image(&image, number * PAGE, Other).unwrap();
                    }
                    file.write_at(&[version; 512], 20 * PAGE, Other).unwrap();
                    file.sync(true, Other).unwrap();
                }
                // Later writes of other pages do not drag it along.
                for number in 21..30 {
                    let image = page(&files, number, 3);
                    file.write_image(&image, number * PAGE, Other).unwrap();
                }
            });
            simulation.resolve_crash(Crash::PowerLoss).unwrap();
            let bytes = simulation.files().contents("t1.ibd").unwrap();
            assert!(
                new_units(&bytes[..20 * IMAGE_BYTES], 512)
                    .iter()
                    .all(|&new| new == 32)
            );
            assert!(bytes[20 * IMAGE_BYTES..][..512] == [2; 512]);
        }
    }
}

#[test]
fn without_the_sync_it_sometimes_is() {
    let lost = (0..20).filter(|&seed| {
        let mut simulation = simulation(Volatile, 512, seed);
        cut(&mut simulation, SECOND, || {
            let files = FileSystem::new();
            let file = files.open("t1.ibd", direct(Create::New)).unwrap();
            file.write_image(&page(&files, 0, 1), 0, Other).unwrap();
        });
        simulation.resolve_crash(Crash::PowerLoss).unwrap();
        simulation.files().contents("t1.ibd").unwrap() == [0; IMAGE_BYTES]
    });
    let lost = lost.count();
    assert!((2..=14).contains(&lost), "{lost}");
}

#[test]
fn a_killed_process_loses_nothing_that_it_wrote() {
    let mut simulation = simulation(Volatile, 512, 1);
    cut(&mut simulation, 5 * MILLISECOND, || {
        let files = FileSystem::new();
        let data = files.open("t1.ibd", direct(Create::New)).unwrap();
        let redo = files.open("redo", buffered(Create::New)).unwrap();
        redo.write_at(&[1; 5000], 0, Other).unwrap();
        let array = AsyncIo::new(4);
        for number in 0..500 {
            let image = page(&files, number, 2);
            let offset = number * PAGE;
            array
                .submit_write_image(&data, image, offset, (), Other)
                .unwrap();
        }
    });
    let report = simulation.resolve_crash(Crash::ProcessKill).unwrap();
    assert_eq!(report, CrashReport::default());
    assert_eq!(simulation.files().contents("redo").unwrap(), [1; 5000]);
    let bytes = simulation.files().contents("t1.ibd").unwrap();
    assert!(new_units(&bytes, IMAGE_BYTES).iter().all(|&page| page == 1));

    // The page cache survives the process, so that the next one reads it at once; the
    // power may still fail then.
    let reads = simulation.disk_counters(0).unwrap().read.completed;
    simulation
        .run(|| {
            let redo = crate::open("redo", buffered(Create::Existing));
            let mut bytes = [0; 5000];
            redo.read_at(&mut bytes, 0, Other).unwrap();
            assert_eq!(bytes, [1; 5000]);
        })
        .unwrap();
    assert_eq!(simulation.disk_counters(0).unwrap().read.completed, reads);
    let report = simulation.resolve_crash(Crash::PowerLoss).unwrap();
    assert_eq!(report.kept + report.lost + report.torn, 501);
}

#[test]
fn the_same_seed_leaves_the_same_bytes_and_another_seed_others() {
    let run = |seed| overwritten(Volatile, 512, seed, direct);
    assert!(run(5) == run(5));
    assert!(run(5) != run(6));
    // A second cut in the same simulation does not repeat the first.
    let mut simulation = simulation(Volatile, 512, 5);
    let mut patterns = Vec::new();
    for _ in 0..2 {
        let at = simulation.now() + SECOND;
        cut(&mut simulation, at, || {
            let files = FileSystem::new();
            let file = files.open("t1.ibd", direct(Create::OrTruncate)).unwrap();
            for number in 0..50 {
                let image = page(&files, number, 2);
                file.write_image(&image, number * PAGE, Other).unwrap();
            }
        });
        simulation.resolve_crash(Crash::PowerLoss).unwrap();
        patterns.push(simulation.files().contents("t1.ibd").unwrap());
    }
    assert!(patterns[0] != patterns[1]);
}

#[test]
#[should_panic(expected = "say with `Simulation::resolve_crash`")]
fn going_on_after_a_cut_without_saying_what_it_was_is_a_bug() {
    let mut simulation = simulation(Volatile, 512, 1);
    cut(&mut simulation, SECOND, || {
        crate::open("t1.ibd", direct(Create::New));
    });
    let _ = simulation.run(|| ());
}

#[test]
fn a_write_that_was_put_over_an_unsynced_one_leaves_one_of_three_versions() {
    let mut seen = [0; 3];
    for seed in 0..40 {
        let mut simulation = simulation(Volatile, 16_384, seed);
        cut(&mut simulation, SECOND, || {
            let files = FileSystem::new();
            let file = files.open("t1.ibd", direct(Create::New)).unwrap();
            for version in 1..=3 {
                file.write_image(&page(&files, 0, version), 0, Other)
                    .unwrap();
                if version == 1 {
                    file.sync(true, Other).unwrap();
                }
            }
        });
        simulation.resolve_crash(Crash::PowerLoss).unwrap();
        let bytes = simulation.files().contents("t1.ibd").unwrap();
        let version = (1..=3)
            .find(|&version| bytes == page_bytes(0, version))
            .unwrap();
        seen[version as usize - 1] += 1;
    }
    // Kept with p = 1/2: a half have 3, a quarter 2, a quarter 1.
    assert!(seen[2] > seen[1] && seen[2] > seen[0], "{seen:?}");
    assert!(seen[0] > 1 && seen[1] > 1, "{seen:?}");
}
