//! Flush batches and their limits, and who waits for a page under flush.

use std::path::Path;
use std::sync::atomic::Ordering::*;

use innosim_engine::buffer_pool::{BufferPoolSettings, FixMode, FlushKind, LruBatch, Waits};
use innosim_engine::metrics::Counter;
use innosim_engine::runtime::time::MILLISECOND;
use innosim_engine::runtime::{self, LatchMode, WaitKind, spawn};
use innosim_engine::sysvar::FlushLatch;

use super::world::{SPACE, World, page, pause, simulation, virtually};

#[test]
fn a_list_batch_stops_at_its_count_and_at_its_lsn() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 320, 1, 320);
        let starts: Vec<_> = (0..100).map(|number| world.modify(number, 1).0).collect();
        let pool = &world.pool;
        assert_eq!(pool.oldest_modification_lsn(), Some(starts[0]));
        // Changing a page again does not move it.
        world.modify(0, 2);
        assert_eq!(pool.oldest_modification_lsn(), Some(starts[0]));

        assert_eq!(pool.flush_list_batch(0, 10, u64::MAX), 10);
        pool.wait_for_flush(0, FlushKind::List);
        assert_eq!(pool.oldest_modification_lsn(), Some(starts[10]));
        assert_eq!(pool.flush_list_batch(0, 1000, starts[25]), 15, "10 to 24");
        pool.wait_for_flush(0, FlushKind::List);
        assert_eq!(pool.oldest_modification_lsn(), Some(starts[25]));
        assert_eq!(pool.flush_list_batch(0, 1000, starts[25]), 0);
        assert_eq!(pool.statistics(0).lru, 100, "they stay in the pool");

        assert_eq!(pool.list_ages(0, starts[29], 1000), 5);
        assert_eq!(pool.list_ages(0, starts[29], 3), 3);
        assert_eq!(pool.list_ages(0, u64::MAX, 1000), 75);
        assert_eq!(world.metrics.total(Counter::PagesWritten), 25);
        assert_eq!(world.version_in_file(0), 2);
        world.shut_down();
        assert_eq!(world.pool.oldest_modification_lsn(), None);
    });
}

#[test]
fn one_batch_of_a_kind_at_a_time() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 320, 1, 320);
        for number in 0..300 {
            world.modify(number, 1);
        }
        let pool = &world.pool;
        let batch = LruBatch { scan_depth: 30 };
        world.sink.held_back.store(true, Release);
        assert_eq!(pool.flush_list_batch(0, 10, u64::MAX), 10);
        assert!(pool.is_flushing(0, FlushKind::List));
        assert_eq!(pool.flush_list_batch(0, 10, u64::MAX), 0, "not complete");
        // The other kind may run; it passes over the ten that are under flush.
        let lru = pool.flush_lru_batch(0, &batch);
        assert_eq!((lru.flushed, lru.evicted, lru.scanned), (30, 0, 40));
        assert_eq!(pool.flush_lru_batch(0, &batch).scanned, 0);
        assert_eq!(world.sink.pending(), 40);
        world.sink.release();
        pool.wait_for_flush(0, FlushKind::List);
        pool.wait_for_flush(0, FlushKind::Lru);
        assert_eq!(pool.flush_list_batch(0, 10, u64::MAX), 10);
        world.shut_down();
    });
}

#[test]
fn an_lru_batch_stops_at_its_depth_its_target_and_256_pages() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 1000, 1, 1000);
        for number in 0..1000 {
            world.touch(number);
        }
        let pool = &world.pool;
        let batch = |scan_depth| pool.flush_lru_batch(0, &LruBatch { scan_depth });
        // The depth, which is also the target for free frames.
        let first = batch(100);
        assert_eq!((first.flushed, first.evicted, first.scanned), (0, 100, 100));
        assert_eq!(pool.statistics(0).free, 100);
        assert!(!world.is_in_pool(0) && world.is_in_pool(100));
        // The target: enough are free.
        assert_eq!(batch(100).scanned, 0);
        assert_eq!(batch(150).evicted, 50);
        // 256 pages are left.
        assert_eq!(batch(900).evicted, 850 - 256);
        assert_eq!(pool.statistics(0).lru, 256);
        assert_eq!(batch(900).scanned, 0);
        world.shut_down();
    });
}

#[test]
fn an_lru_batch_evicts_what_it_writes_and_passes_over_what_is_in_use() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 400, 1, 400);
        for number in 0..400 {
            match number % 2 {
                0 => world.touch(number),
                _ => drop(world.modify(number, 1)),
            }
        }
        let pool = &world.pool;
        let fixed = world.fix(0);
        // Dirty and latched, though not fixed, is not possible: whoever latches fixes.
        let latched = world.lock(1, LatchMode::S);
        let result = pool.flush_lru_batch(0, &LruBatch { scan_depth: 40 });
        assert_eq!(
            (result.flushed, result.evicted, result.scanned),
            (20, 20, 42)
        );
        pool.wait_for_flush(0, FlushKind::Lru);
        assert_eq!(pool.statistics(0).free, 40);
        assert!(world.is_in_pool(0) && world.is_in_pool(1));
        assert!(!world.is_in_pool(2) && !world.is_in_pool(3));
        assert_eq!(world.version_in_file(3), 1);
        assert_eq!(world.version_in_file(1), 0, "not written");
        pool.unfix(fixed);
        world.unlock(latched);
        world.shut_down();
    });
}

#[test]
fn a_flush_lets_readers_in_and_keeps_writers_out_until_the_write_is_complete() {
    let mut simulation = simulation(1);
    simulation
        .run(|| {
            let world = World::new(Path::new("/test"), 320, 1, 320);
            world.modify(7, 1);
            world.sink.held_back.store(true, Release);
            assert_eq!(world.pool.flush_list_batch(0, 1, u64::MAX), 1);
            let reader = world.lock(7, LatchMode::S);
            assert_eq!(world.version(&reader), 1);
            world.unlock(reader);
            let handle = world.fix(7);
            assert!(world.pool.try_lock_page(handle, LatchMode::X).is_none());
            assert!(world.pool.try_lock_page(handle, LatchMode::SX).is_none());
            world.pool.unfix(handle);
            let writer = {
                let world = world.clone();
                spawn("writer", move || {
                    world.modify(7, 2);
                    runtime::now()
                })
            };
            pause(40 * MILLISECOND);
            let released = runtime::now();
            world.sink.release();
            assert!(writer.join() >= released);
            world.shut_down();
        })
        .unwrap();
    let waited = simulation.statistics().ended_time()[WaitKind::FlushedPage as usize];
    assert!(waited >= 39 * MILLISECOND, "{waited}");
}

#[test]
fn after_the_copy_writers_go_on_and_the_page_stays_dirty() {
    virtually(|| {
        let settings = BufferPoolSettings {
            flush_latch: FlushLatch::AfterCopy,
            ..BufferPoolSettings::new(320 * 16384, 1)
        };
        let world = World::with(Path::new("/test"), &settings, 320, 8);
        let pool = &world.pool;
        let (first, _) = world.modify(7, 1);
        let (other, _) = world.modify(8, 1);
        world.sink.held_back.store(true, Release);
        assert_eq!(pool.flush_list_batch(0, 1, u64::MAX), 1);
        let (again, _) = world.modify(7, 2);
        world.modify(7, 3);
        // The image is not in the file yet: its redo is still needed.
        assert_eq!(pool.oldest_modification_lsn(), Some(first));
        assert_eq!(pool.list_ages(0, again, 10), 2);
        world.sink.release();
        pool.wait_for_flush(0, FlushKind::List);
        assert_eq!(world.version_in_file(7), 1, "the image of the copy");
        assert_eq!(pool.oldest_modification_lsn(), Some(other));
        assert_eq!(pool.flush_list_batch(0, 1, u64::MAX), 1);
        pool.wait_for_flush(0, FlushKind::List);
        assert_eq!(pool.oldest_modification_lsn(), Some(again));
        world.shut_down_with(|| assert_eq!(world.version_in_file(7), 3));
    });
}

#[test]
fn a_flusher_that_waits_for_a_latch_sends_off_its_batch_first() {
    virtually(|| {
        // A batch of 8 pages would not be full: without sending it off, both would wait
        // for ever, the flusher for page 2 and its holder for page 0.
        let world = World::new(Path::new("/test"), 320, 1, 320);
        for number in 0..4 {
            world.modify(number, 1);
        }
        let held = world.lock(2, LatchMode::X);
        let flusher = {
            let world = world.clone();
            spawn("flusher", move || {
                world.pool.flush_list_batch(0, 4, u64::MAX)
            })
        };
        pause(MILLISECOND);
        world.modify(0, 2);
        world.unlock(held);
        assert_eq!(flusher.join(), 4);
        world.shut_down();
    });
}

#[test]
fn redo_is_durable_before_a_page_leaves() {
    virtually(|| {
        // The sink asserts it for every page; here, that it is asked for when needed only.
        let world = World::new(Path::new("/test"), 320, 1, 320);
        for number in 0..10 {
            world.modify(number, 1);
        }
        world.pool.flush_list_batch(0, 10, u64::MAX);
        world.pool.wait_for_flush(0, FlushKind::List);
        // Oldest first: each page's redo is newer than the one before.
        assert_eq!(world.log.flushes.load(Relaxed), 10);
        world.modify(3, 2);
        world.modify(4, 2);
        innosim_engine::buffer_pool::WriteAheadLog::flush_up_to(&*world.log, world.log.lsn());
        world.pool.flush_list_batch(0, 10, u64::MAX);
        assert_eq!(world.log.flushes.load(Relaxed), 11, "only the one above");
        world.shut_down();
    });
}

#[test]
fn pages_noted_in_any_order_can_be_sorted() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 320, 2, 320);
        let ranges: Vec<_> = (0..200).map(|_| world.log.reserve()).collect();
        // Recovery comes to page 199 first, and finds its changes oldest.
        for number in (0..200u32).rev() {
            let latched = world.lock(number, LatchMode::X);
            let (start, end) = ranges[199 - (number as usize * 7 % 200)];
            world.pool.note_modified(latched.handle, start, end);
            world.unlock(latched);
        }
        world.pool.sort_flush_lists();
        assert_eq!(world.pool.oldest_modification_lsn(), Some(ranges[0].0));
        let half = ranges[99].0;
        let older: usize = (0..2)
            .map(|instance| world.pool.list_ages(instance, half, 1000))
            .sum();
        assert_eq!(older, 100);
        world.shut_down();
    });
}

#[test]
fn pages_of_a_closed_tablespace_are_not_written() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 400, 1, 400);
        for number in 0..400 {
            world.modify(number, 1);
        }
        let pool = &world.pool;
        world.sink.held_back.store(true, Release);
        assert_eq!(pool.flush_list_batch(0, 5, u64::MAX), 5);
        world.sink.release();
        pool.wait_for_flush(0, FlushKind::List);
        assert!(world.tablespaces.close(SPACE));

        // Batches that come by free the pages, or make them clean.
        let result = pool.flush_lru_batch(0, &LruBatch { scan_depth: 20 });
        assert_eq!((result.flushed, result.evicted), (0, 20));
        assert_eq!(pool.flush_list_batch(0, 7, 1200), 0);
        assert_eq!(world.metrics.total(Counter::PagesWritten), 5);

        // And all of them at once, except what somebody uses.
        assert_eq!(pool.statistics(0).lru, 380);
        let mut waits = Waits::new(0);
        let page = page(399);
        let handle = pool.fix(page, FixMode::IfInPool, &mut waits).unwrap();
        assert_eq!(pool.discard_space(SPACE), 1);
        pool.unfix(handle);
        assert_eq!(pool.discard_space(SPACE), 0);
        let statistics = pool.statistics(0);
        assert_eq!(
            (statistics.lru, statistics.free, statistics.dirty),
            (0, 400, 0)
        );
        world.shut_down();
    });
}

#[test]
fn a_tablespace_is_discarded_after_its_pending_writes() {
    virtually(|| {
        let world = World::new(Path::new("/test"), 320, 2, 320);
        for number in 0..200 {
            world.modify(number, 1);
        }
        world.sink.held_back.store(true, Release);
        for instance in 0..2 {
            assert_eq!(world.pool.flush_list_batch(instance, 20, u64::MAX), 20);
        }
        let discarding = {
            let world = world.clone();
            spawn("drop", move || world.pool.discard_space(SPACE))
        };
        pause(MILLISECOND);
        world.sink.release();
        assert_eq!(discarding.join(), 0);
        assert_eq!(world.metrics.total(Counter::PagesWritten), 40);
        assert!((0..200).all(|number| !world.is_in_pool(number)));
        world.shut_down();
    });
}
