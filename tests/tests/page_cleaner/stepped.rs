//! Rounds one by one, without tasks and without sleeping: what they flush, in numbers.

use std::path::Path;

use innosim_engine::metrics::{Counter, Gauge};
use innosim_engine::page_cleaner::{
    CleanerSettings, PageCleaner, PolicySettings, RedoAges, RoundKind, RoundReport,
};
use innosim_engine::runtime::RealMachine;
use innosim_tests::flushing::{World, WorldSettings, virtually};

const DIRECTORY: &str = "/test";

fn settings() -> CleanerSettings {
    CleanerSettings {
        policy: PolicySettings {
            io_capacity: 100,
            io_capacity_max: 200,
            ..PolicySettings::new()
        },
        lru_scan_depth: 20,
        ..CleanerSettings::new(2)
    }
}

/// Two instances of 300 frames over 600 pages, without I/O handlers.
fn world_settings() -> WorldSettings {
    WorldSettings {
        has_handlers: false,
        ..WorldSettings::new(300, 2, 600)
    }
}

fn world() -> World {
    World::create(Path::new(DIRECTORY), &world_settings())
}

/// The round without its time, which is not the same everywhere.
fn timeless(round: RoundReport) -> RoundReport {
    RoundReport { time: 0, ..round }
}

#[test]
fn a_round_flushes_what_the_policy_says() {
    virtually(|| {
        let world = world();
        let cleaner = world.cleaner(settings());
        for number in 0..200 {
            world.modify(number, 1);
        }
        world.commit();
        // The first round only looks.
        let first = cleaner.step();
        assert_eq!((first.kind, first.flushed()), (RoundKind::Timed, 0));
        world.modify(0, 2);
        world.commit();
        // 200 of 601 pages: 33.3 %, 36 % of 100; one page is as old as the oldest:
        // (36 + 0 + 1) / 3 = 12, 12 / 2 + 1 each.
        let second = cleaner.step();
        assert_eq!((second.requested, second.list_pages), (12, 14));
        assert_eq!(
            (second.lru_pages, second.evicted),
            (0, 0),
            "frames are free"
        );
        assert_eq!(world.dirty(), 186);
        assert_eq!(world.metrics.gauge(Gauge::FlushPercentForDirty), 36);
        assert_eq!(world.metrics.gauge(Gauge::FlushRequested), 12);
        let figures = cleaner.figures();
        assert_eq!((figures.timed_rounds, figures.list_pages), (2, 14));
        assert_eq!(figures.largest_round, 14);
        assert_eq!(figures.last, second);
        world.shut_down();
    });
}

#[test]
fn an_idle_server_flushes_at_its_rate_and_evicts_nothing() {
    virtually(|| {
        let world = world();
        let cleaner = world.cleaner(CleanerSettings {
            idle_flush_pct: 51,
            ..settings()
        });
        // All frames taken: an LRU batch would have work.
        for number in 0..600 {
            match number % 3 {
                0 => drop(world.modify(number, 1)),
                _ => world.touch(number),
            }
        }
        let dirty = world.dirty();
        let evicted: u64 = (0..2).map(|i| world.pool.statistics(i).evictions).sum();
        for round in 1..=3 {
            // 51 pages, split over two, rounded up.
            let report = cleaner.step();
            assert_eq!(report.kind, RoundKind::Idle);
            assert_eq!((report.requested, report.list_pages), (51, 52));
            assert_eq!(world.dirty(), dirty - 52 * round);
        }
        let now: u64 = (0..2).map(|i| world.pool.statistics(i).evictions).sum();
        assert_eq!(now, evicted);
        world.shut_down();
    });
}

#[test]
fn lru_batches_keep_frames_free() {
    virtually(|| {
        // Five areas of 64 pages in each instance, and 10 free frames.
        let mut larger = world_settings();
        larger.pages = 700;
        larger.pool.bytes = 2 * 330 * 16384;
        let world = World::create(Path::new(DIRECTORY), &larger);
        let cleaner = world.cleaner(settings());
        for number in 0..640 {
            match number % 3 {
                0 => drop(world.modify(number, 1)),
                _ => world.touch(number),
            }
        }
        for round in 0..3 {
            world.commit();
            let report = cleaner.step();
            assert_eq!(report.kind, RoundKind::Timed);
            for instance in 0..2 {
                let free = world.pool.statistics(instance).free;
                assert!(free >= 20, "instance {instance}: {free} free");
            }
            for number in 0..15 {
                world.touch(640 + 15 * round + number);
            }
        }
        let figures = cleaner.figures();
        assert!(figures.lru_pages > 0 && figures.evicted > 0, "{figures:?}");
        world.shut_down_with(|| {
            for number in (0..640).step_by(3) {
                assert_eq!(world.version_in_file(number), 1);
            }
        });
    });
}

fn with_short_redo(is_8_0: bool) -> (World, std::sync::Arc<PageCleaner>) {
    let mut short = world_settings();
    // 300 changes of 100 bytes: 10,000 bytes too many.
    short.ages = RedoAges {
        capacity: 30_000,
        async_age: 15_000,
        sync_age: 20_000,
    };
    let world = World::create(Path::new(DIRECTORY), &short);
    let mut settings = settings();
    settings.policy.io_capacity = 10;
    settings.policy.io_capacity_max = 20;
    settings.policy.is_8_0 = is_8_0;
    let cleaner = world.cleaner(settings);
    for number in 0..300 {
        world.modify(number, 1);
    }
    (world, cleaner)
}

#[test]
fn rounds_follow_while_redo_is_short() {
    virtually(|| {
        let (world, cleaner) = with_short_redo(true);
        assert_eq!(world.age(), 30_000);
        let mut rounds = 0;
        while world.age() > 20_000 {
            let round = cleaner.step();
            assert_eq!(round.kind, RoundKind::Sync);
            // At most twice io_capacity_max, but for the rounding of the split.
            assert!((1..=42).contains(&round.list_pages), "{round:?}");
            rounds += 1;
        }
        assert!((2..=6).contains(&rounds), "{rounds}");
        // The oldest are gone, and not many more.
        assert!(world.dirty() >= 300 - 100 - 42, "{}", world.dirty());
        let next = cleaner.step();
        assert_eq!(next.kind, RoundKind::Idle, "no transaction was counted");
        world.shut_down();
    });
}

#[test]
fn a_furious_round_has_no_limit_but_its_target() {
    virtually(|| {
        let (world, cleaner) = with_short_redo(false);
        let round = cleaner.step();
        assert_eq!((round.kind, round.list_pages), (RoundKind::Sync, 100));
        assert_eq!((world.age(), world.dirty()), (20_000, 200));
        world.shut_down();
    });
}

#[test]
fn a_wish_is_fulfilled_unless_flush_sync_is_off() {
    virtually(|| {
        for flush_sync in [true, false] {
            let directory = format!("/test{flush_sync}");
            let world = World::create(Path::new(&directory), &world_settings());
            let cleaner = world.cleaner(CleanerSettings {
                flush_sync,
                ..settings()
            });
            let ends: Vec<_> = (0..300).map(|number| world.modify(number, 1).1).collect();
            world.commit();
            cleaner.step();
            cleaner.request_sync_flush(ends[149]);
            let round = cleaner.step();
            match flush_sync {
                true => {
                    assert_eq!(round.kind, RoundKind::Sync);
                    assert!(world.pool.oldest_modification_lsn() >= Some(ends[149]));
                    assert_ne!(cleaner.step().kind, RoundKind::Sync, "it is fulfilled");
                }
                false => assert_ne!(round.kind, RoundKind::Sync),
            }
            world.shut_down();
        }
    });
}

/// Fifty steps with changes in between, whose rounds are the same at every run.
fn fifty_steps(directory: &Path) -> Vec<RoundReport> {
    let world = World::create(directory, &world_settings());
    let cleaner = world.cleaner(settings());
    let mut stream = innosim_engine::runtime::stream("steps");
    let rounds = (0..50)
        .map(|version| {
            for _ in 0..stream.below(60) {
                world.modify(stream.below(600) as u32, version);
            }
            if stream.below(4) > 0 {
                world.commit();
            }
            timeless(cleaner.step())
        })
        .collect();
    world.shut_down();
    rounds
}

#[test]
fn steps_are_the_same_at_every_run_and_under_both_clocks() {
    let rounds = virtually(|| fifty_steps(Path::new(DIRECTORY)));
    assert_eq!(rounds, virtually(|| fifty_steps(Path::new(DIRECTORY))));
    let directory = tempfile::tempdir_in(".").unwrap();
    let path = directory.path().canonicalize().unwrap();
    assert_eq!(rounds, RealMachine::new(1).run(|| fifty_steps(&path)));
    let of_kind = |kind| rounds.iter().filter(|round| round.kind == kind).count();
    assert!(of_kind(RoundKind::Timed) > 25 && of_kind(RoundKind::Idle) > 5);
    assert!(rounds.iter().map(|round| round.list_pages).sum::<u64>() > 300);
}

#[test]
fn an_unknown_policy_is_an_error() {
    virtually(|| {
        let world = world();
        let unknown = CleanerSettings {
            policy_name: "v99".to_owned(),
            ..settings()
        };
        let (pool, log, metrics) = (world.pool.clone(), world.log.clone(), world.metrics.clone());
        let error = PageCleaner::new(pool, log, unknown, metrics).unwrap_err();
        assert!(error.to_string().contains("'v99'"), "{error}");
        assert_eq!(world.metrics.total(Counter::PagesWritten), 0);
        world.shut_down();
    });
}
