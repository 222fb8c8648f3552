//! Pages that cannot be read, and frames that cannot be had.

use std::path::Path;

use innosim_engine::buffer_pool::{
    BufferPoolError, BufferPoolSettings, FixMode, READ_ATTEMPTS_MAX, Waits,
};
use innosim_engine::metrics::Counter;
use innosim_engine::page::PageId;
use innosim_engine::runtime::time::{MILLISECOND, SECOND};
use innosim_engine::runtime::{self, LatchMode, spawn};

use super::world::{World, page, pause, virtually};

/// InnoDB's smallest pool.
const SMALLEST: u64 = 5 << 20;

#[test]
fn a_page_is_read_once_for_all_who_wait() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 320, 1, 100);
        let readers: Vec<_> = (0..6)
            .map(|_| {
                let world = world.clone();
                spawn("reader", move || {
                    let mut waits = Waits::new(0);
                    let fixed = world.pool.fix(page(7), FixMode::Normal, &mut waits);
                    world.pool.unfix(fixed.unwrap());
                    (waits.reads, waits.read_waits)
                })
            })
            .collect();
        let waits: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        let reads: u32 = waits.iter().map(|waits| waits.0).sum();
        let read_waits: u32 = waits.iter().map(|waits| waits.1).sum();
        assert_eq!(reads, 1);
        assert!(read_waits > 0, "somebody came while it was being read");
        assert_eq!(world.metrics.total(Counter::BufferPoolReads), 1);
        assert_eq!(world.metrics.total(Counter::BufferPoolReadRequests), 6);
        assert_eq!(world.pool.statistics(0).pages_read, 1);
        world.shut_down();
    });
}

fn damaged_page(directory: &Path) {
    let world = World::new(directory, 16, 1, 100);
    world.modify(9, 1);
    assert_eq!(world.pool.flush_all(), 0);
    for number in 10..60 {
        world.touch(number);
    }
    assert!(!world.is_in_pool(9));
    world.damage(9, 5000, &[0xFF]);
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let world = world.clone();
            spawn("reader", move || world.try_fix(9).unwrap_err())
        })
        .collect();
    for reader in readers {
        let error = reader.join();
        assert_eq!(error.corrupted_page(), Some(page(9)));
        let text = error.to_string();
        assert!(text.contains("space 5 page 9"), "{text}");
        assert!(text.contains("checksum"), "{text}");
        assert!(text.contains("t1.ibd"), "{text}");
        assert!(matches!(
            error,
            BufferPoolError::Read {
                attempts: READ_ATTEMPTS_MAX,
                ..
            }
        ));
    }
    // No frame is lost, and what is mended can be read.
    assert_eq!(world.pool.faults(), Vec::<String>::new());
    world.damage(9, 5000, &[0]);
    let latched = world.lock(9, LatchMode::S);
    assert_eq!(world.version(&latched), 1);
    world.unlock(latched);
    world.shut_down();
}

#[test]
fn a_damaged_page_is_refused_with_its_name_under_the_virtual_clock() {
    virtually(|| damaged_page(Path::new("/test")));
}

#[test]
fn a_damaged_page_is_refused_with_its_name_with_real_threads() {
    let directory = tempfile::tempdir().unwrap();
    damaged_page(directory.path());
}

#[test]
fn a_page_that_is_somewhere_else_is_refused() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 16, 1, 100);
        let mut waits = Waits::new(0);
        let mut fix = |page| world.pool.fix(page, FixMode::Normal, &mut waits);
        let text = fix(page(100)).unwrap_err().to_string();
        assert!(text.contains("beyond the end of"), "{text}");
        assert!(text.contains("100 pages"), "{text}");
        let error = fix(PageId::new(6, 1)).unwrap_err();
        assert_eq!(error.missing_tablespace().map(|space| space.0), Some(6));
        assert_eq!(
            error.to_string(),
            "space 6 page 1: tablespace 6 is not open"
        );
        world.shut_down();
    });
}

#[test]
fn a_pool_whose_pages_are_all_in_use_gives_an_error_at_last() {
    virtually(|| {
        let settings = BufferPoolSettings {
            free_frame_timeout: 30 * SECOND,
            ..BufferPoolSettings::new(SMALLEST, 1)
        };
        let world = World::with(Path::new("/test"), &settings, 400, 8);
        let handles: Vec<_> = (0..320).map(|number| world.fix(number)).collect();
        let start = runtime::now();
        let error = world.try_fix(320).unwrap_err();
        assert!(runtime::now() - start >= 30 * SECOND);
        assert!(matches!(
            error,
            BufferPoolError::NoFreeFrame {
                frames: 320,
                fixed: 320,
                ..
            }
        ));
        let text = error.to_string();
        assert!(text.contains("instance 0 for 30 s"), "{text}");
        let statistics = world.pool.statistics(0);
        assert_eq!(statistics.difficult_searches, 1);
        assert!(world.metrics.total(Counter::BufferPoolWaitFree) > 1000);
        for handle in handles {
            world.pool.unfix(handle);
        }
        world.touch(320);
        world.shut_down();
    });
}

#[test]
fn who_waits_for_a_frame_gets_it_when_somebody_lets_one_go() {
    virtually(|| {
        let world = World::with(
            Path::new("/test"),
            &BufferPoolSettings::new(SMALLEST, 1),
            400,
            8,
        );
        let handles: Vec<_> = (0..320).map(|number| world.fix(number)).collect();
        let waiting = {
            let world = world.clone();
            spawn("waiting", move || {
                let mut waits = Waits::new(0);
                let fixed = world.pool.fix(page(399), FixMode::Normal, &mut waits);
                world.pool.unfix(fixed.unwrap());
                (waits.free_frame_rounds, runtime::now())
            })
        };
        pause(95 * MILLISECOND);
        let released = runtime::now();
        for handle in handles {
            world.pool.unfix(handle);
        }
        let (rounds, got) = waiting.join();
        // Two rounds without a sleep, then one every 10 ms.
        assert!((10..=12).contains(&rounds), "{rounds}");
        assert!(got > released && got - released < 20 * MILLISECOND);
        world.shut_down();
    });
}

#[test]
fn a_thread_without_a_frame_writes_a_dirty_page_itself() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 320, 1, 400);
        for number in 0..320 {
            world.modify(number, 1);
        }
        // All frames are dirty and unused: the tail's page is written in the foreground.
        world.touch(320);
        assert_eq!(world.pool.statistics(0).single_page_flushes, 1);
        assert!(!world.is_in_pool(0), "the oldest page made room");
        assert_eq!(world.version_in_file(0), 1);
        assert_eq!(world.pool.statistics(0).dirty, 319);
        world.shut_down();
    });
}

#[test]
fn a_page_is_created_without_a_read() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 16, 1, 100);
        // Garbage in the file does not matter.
        world.damage(3, 0, &[7; 512]);
        let mut waits = Waits::new(0);
        let handle = world.pool.fix_new(page(3), &mut waits).unwrap();
        // SAFETY: nobody else uses the page.
        let bytes = unsafe { &*world.pool.frame(handle) };
        assert!(bytes.iter().all(|&byte| byte == 0));
        assert_eq!(world.pool.page_id(handle), page(3));
        assert_eq!(waits.reads, 0);
        let again = world.pool.fix_new(page(3), &mut waits).unwrap();
        assert_eq!(again, handle, "it is there already");
        world.pool.unfix(again);
        world.pool.unfix(handle);
        assert_eq!(world.metrics.total(Counter::PagesCreated), 1);
        world.modify(3, 4);
        assert_eq!(world.pool.flush_all(), 0);
        assert_eq!(world.version_in_file(3), 4);
        world.shut_down();
    });
}

#[test]
fn a_pool_that_cannot_be_made_says_so() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 16, 1, 10);
        let make = |bytes, instances| {
            let hooks = innosim_engine::buffer_pool::PoolHooks {
                write_ahead_log: world.log.clone(),
                page_sink: world.sink.clone(),
            };
            let settings = BufferPoolSettings::new(bytes, instances);
            innosim_engine::buffer_pool::BufferPool::new(
                &settings,
                world.tablespaces.clone(),
                world.metrics.clone(),
                hooks,
            )
        };
        for (bytes, instances) in [(SMALLEST, 0), (SMALLEST, 65), (SMALLEST, 21), (0, 1)] {
            let error = make(bytes, instances).unwrap_err();
            assert!(matches!(error, BufferPoolError::Size { .. }), "{error}");
        }
        assert!(make(SMALLEST, 20).is_ok());
        world.shut_down();
    });
}
