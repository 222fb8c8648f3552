//! Which pages stay: midpoint, young rule, scans.

use std::path::Path;

use innosim_engine::buffer_pool::{BufferPoolSettings, FixMode, Waits};
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, SECOND};

use super::world::{World, page, pause, virtually};

#[test]
fn a_page_used_again_after_a_second_becomes_young_and_not_earlier() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 8192, 1, 9000);
        let made_young = || world.pool.statistics(0).made_young;
        for number in 0..8192 {
            world.touch(number);
        }
        pause(5 * SECOND);
        world.touch(8000);
        let statistics = world.pool.statistics(0);
        assert_eq!(
            (statistics.made_young, statistics.not_made_young),
            (0, 0),
            "before the first eviction no page moves"
        );

        // The first eviction; both pages go to the midpoint.
        world.touch(8500);
        let before = world.pool.statistics(0).not_made_young;
        pause(999 * MILLISECOND);
        world.touch(8500);
        assert_eq!(made_young(), 0, "999 ms");
        assert_eq!(world.pool.statistics(0).not_made_young, before + 1);
        pause(2 * MILLISECOND);
        world.touch(8500);
        assert_eq!(made_young(), 1, "1000 ms");
        world.touch(8500);
        assert_eq!(made_young(), 1, "it is not old any more");
        world.shut_down();
    });
}

/// A pool of 1000 frames in which 200 pages are used all the time, then a scan of 10,000
/// others. Returns how many of the 200 are still there.
fn hot_pages_after_a_scan(old_blocks_time: u32, touches: usize, mode: FixMode) -> usize {
    virtually(move || {
        let settings = BufferPoolSettings {
            old_blocks_time,
            ..BufferPoolSettings::new(1000 * 16384, 1)
        };
        let world = World::with(Path::new("/test"), &settings, 12_000, 8);
        // Something is evicted, so that order counts.
        for number in 1000..2100 {
            world.touch(number);
        }
        for _ in 0..4 {
            for number in 0..200 {
                world.touch(number);
            }
            pause(SECOND / 2);
        }
        let mut waits = Waits::new(0);
        for number in 2000..12_000 {
            for _ in 0..touches {
                let handle = world.pool.fix(page(number), mode, &mut waits).unwrap();
                world.pool.unfix(handle);
                pause(50 * MICROSECOND);
            }
        }
        let left = (0..200).filter(|&number| world.is_in_pool(number)).count();
        world.shut_down();
        left
    })
}

#[test]
fn a_scan_leaves_the_hot_pages_alone() {
    assert_eq!(hot_pages_after_a_scan(1000, 1, FixMode::Normal), 200);
    assert_eq!(hot_pages_after_a_scan(1000, 3, FixMode::Normal), 200);
}

#[test]
fn without_the_waiting_time_a_scan_that_uses_its_pages_twice_drives_them_out() {
    assert_eq!(hot_pages_after_a_scan(0, 3, FixMode::Normal), 0);
    // Unless it says that its use does not count.
    assert_eq!(hot_pages_after_a_scan(0, 3, FixMode::Scan), 200);
}

#[test]
fn the_share_of_old_pages_can_be_changed() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 1024, 1, 1024);
        for number in 0..1024 {
            world.touch(number);
        }
        // 1024 * 378 / 1024, and up to 20 more or fewer.
        assert_eq!(world.pool.statistics(0).old.abs_diff(378), 20);
        world.pool.set_old_blocks_pct(50);
        assert_eq!(world.pool.statistics(0).old, 512 - 20);
        world.pool.set_old_blocks_pct(10);
        assert_eq!(world.pool.statistics(0).old, 102 + 20);
        world.shut_down();
    });
}
