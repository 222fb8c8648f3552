//! Coordinator and workers as tasks under the virtual clock: when rounds are made, and how
//! long they take.

use std::path::Path;
use std::sync::Arc;

use innosim_engine::page_cleaner::{CleanerSettings, PageCleaner, PolicySettings, RedoAges};
use innosim_engine::runtime::time::{MILLISECOND, SECOND};
use innosim_engine::runtime::virtual_clock::disk::DiskProfile;
use innosim_engine::runtime::{self, LatchMode, spawn};
use innosim_tests::disk::solid_state_disk;
use innosim_tests::flushing::{World, WorldSettings, pause, simulation_with, virtually};

const DIRECTORY: &str = "/test";

fn settings(instances: usize) -> CleanerSettings {
    CleanerSettings {
        policy: PolicySettings {
            io_capacity: 100,
            io_capacity_max: 200,
            ..PolicySettings::new()
        },
        lru_scan_depth: 30,
        ..CleanerSettings::new(instances)
    }
}

fn started(world: &World, settings: CleanerSettings) -> Arc<PageCleaner> {
    let cleaner = world.cleaner(settings);
    cleaner.start();
    cleaner
}

#[test]
fn a_round_a_second() {
    virtually(|| {
        let world = World::create(Path::new(DIRECTORY), &WorldSettings::new(300, 2, 600));
        let cleaner = started(&world, settings(2));
        for version in 1..=100 {
            for number in 0..20 {
                world.modify(number, version);
            }
            world.commit();
            pause(100 * MILLISECOND);
        }
        cleaner.stop();
        let figures = cleaner.figures();
        assert_eq!(figures.timed_rounds, 10, "{figures:?}");
        assert_eq!((figures.woken_rounds, figures.late_rounds), (0, 0));
        assert!(figures.longest_round < 100 * MILLISECOND);
        world.shut_down();
    });
}

#[test]
fn an_idle_server_writes_all_dirty_pages_in_time() {
    virtually(|| {
        let world = World::create(Path::new(DIRECTORY), &WorldSettings::new(300, 2, 600));
        let cleaner = started(&world, settings(2));
        // Three areas of 64 pages in each instance.
        for number in 0..384 {
            world.modify(number, 1);
        }
        // 50 pages of each a second; a full second passes before the first.
        pause(2 * SECOND + 500 * MILLISECOND);
        assert_eq!(world.dirty(), 384 - 200);
        pause(2 * SECOND);
        assert_eq!(world.dirty(), 0);
        pause(3 * SECOND);
        cleaner.stop();
        let figures = cleaner.figures();
        assert_eq!((figures.list_pages, figures.lru_pages), (384, 0));
        world.shut_down();
    });
}

/// Reads pages through a small pool; returns rounds made early, and pages that users had
/// to write themselves.
fn read_through(wakes_early: bool) -> (u64, u64) {
    virtually(move || {
        let world = World::create(Path::new(DIRECTORY), &WorldSettings::new(320, 1, 3000));
        let cleaner = started(
            &world,
            CleanerSettings {
                wakes_early,
                ..settings(1)
            },
        );
        world.commit();
        let mut stream = runtime::stream("reader");
        for version in 1..2000 {
            world.modify(stream.below(3000) as u32, version);
            world.commit();
        }
        cleaner.stop();
        let figures = cleaner.figures();
        let singles = world.pool.statistics(0).single_page_flushes;
        world.shut_down();
        (figures.woken_rounds, singles)
    })
}

#[test]
fn a_thread_without_a_frame_wakes_the_cleaner() {
    let (woken, singles) = read_through(true);
    let (not_woken, more_singles) = read_through(false);
    assert!(woken > 10, "{woken}");
    assert_eq!(not_woken, 0);
    assert!(singles < more_singles / 2, "{singles}, {more_singles}");
}

#[test]
fn redo_that_runs_short_is_made_room_for_at_once() {
    virtually(|| {
        let mut world_settings = WorldSettings::new(400, 2, 600);
        world_settings.ages = RedoAges {
            capacity: 40_000,
            async_age: 20_000,
            sync_age: 25_000,
        };
        let world = World::create(Path::new(DIRECTORY), &world_settings);
        let cleaner = started(&world, settings(2));
        for number in 0..400 {
            world.modify(number, 1);
        }
        assert!(world.age() > 25_000);
        // Nobody has told the coordinator: it sees for itself when the second is over.
        pause(SECOND + 100 * MILLISECOND);
        assert!(world.age() <= 25_000, "{}", world.age());
        // Told, it comes at once.
        let wanted = world.log.lsn();
        world.modify(500, 1);
        let start = runtime::now();
        let ticks = cleaner.tick().reset();
        cleaner.request_sync_flush(wanted);
        cleaner.tick().wait(ticks, SECOND, runtime::WaitKind::Other);
        while world.pool.oldest_modification_lsn() < Some(wanted) {
            pause(MILLISECOND);
        }
        let time = runtime::now() - start;
        assert!(time < 300 * MILLISECOND, "{time}");
        assert_eq!(world.dirty(), 1);
        cleaner.stop();
        let figures = cleaner.figures();
        assert!(figures.sync_rounds >= 2, "{figures:?}");
        world.shut_down();
    });
}

#[test]
fn a_sync_round_waits_for_a_latched_page_and_for_writes_in_flight() {
    virtually(|| {
        let mut world_settings = WorldSettings::new(300, 1, 300);
        world_settings.ages = RedoAges {
            capacity: 4000,
            async_age: 2000,
            sync_age: 2500,
        };
        let world = World::create(Path::new(DIRECTORY), &world_settings);
        let cleaner = started(&world, settings(1));
        let held = world.lock(0, LatchMode::S);
        let other = world.clone();
        let writer = spawn("writer", move || {
            // The oldest change is of the page that is latched from now on.
            for number in 1..200 {
                other.modify(number, 1);
            }
        });
        writer.join();
        world.unlock(held);
        let held = world.lock(1, LatchMode::X);
        pause(2 * SECOND);
        world.unlock(held);
        pause(SECOND);
        assert!(world.age() <= 2500, "{}", world.age());
        cleaner.stop();
        world.shut_down();
    });
}

/// The time of the longest round with so many cleaners, on a disk that serves all of them
/// at once.
fn round_time(cleaners: usize) -> u64 {
    let mut disk = solid_state_disk();
    if let DiskProfile::SolidState(disk) = &mut disk {
        disk.dies = 64;
        disk.write_buffer_kib = 0;
    }
    let body = move || {
        let mut world_settings = WorldSettings::new(300, 4, 1000);
        world_settings.doublewrite.pages = 4;
        let world = World::create(Path::new(DIRECTORY), &world_settings);
        let mut settings = settings(4);
        settings.cleaners = cleaners;
        settings.policy.io_capacity = 600;
        settings.policy.io_capacity_max = 1200;
        let cleaner = started(&world, settings);
        for version in 1..=5 {
            for number in 0..1000 {
                world.modify(number, version);
            }
            world.commit();
            pause(SECOND);
        }
        cleaner.stop();
        let figures = cleaner.figures();
        assert!(figures.list_pages > 400, "{figures:?}");
        world.shut_down();
        figures.longest_round
    };
    simulation_with(1, disk).run(body).expect("all end")
}

#[test]
fn cleaners_work_on_instances_side_by_side() {
    let [one, four] = [1, 4].map(round_time);
    // The sum of four instances' times against the longest of them.
    assert!(one > four * 5 / 2, "{one} ps and {four} ps");
}

#[test]
fn a_cleaner_can_be_stopped_and_started_again() {
    virtually(|| {
        let world = World::create(Path::new(DIRECTORY), &WorldSettings::new(300, 2, 600));
        let cleaner = world.cleaner(settings(2));
        cleaner.stop();
        for _ in 0..3 {
            cleaner.start();
            cleaner.start();
            pause(1500 * MILLISECOND);
            let start = runtime::now();
            cleaner.stop();
            cleaner.stop();
            assert!(runtime::now() - start < 10 * MILLISECOND, "it is woken");
        }
        assert_eq!(cleaner.figures().idle_rounds, 3);
        world.shut_down();
    });
}
