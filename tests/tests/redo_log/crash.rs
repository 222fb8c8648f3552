//! Power cuts at random instants: what recovery makes of them equals the history up to
//! some LSN, which is not before what was flushed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::redo_log::{LogIo, PoolSource, RedoSettings};
use innosim_engine::runtime::files::{Crash, IoMode};
use innosim_engine::runtime::random::Stream;
use innosim_engine::runtime::spawn;
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, NEVER};
use innosim_engine::runtime::virtual_clock::{Outcome, Settle, Simulation};
use innosim_engine::runtime::{WaitKind, sleep};

use super::model::{DOMAINS, Model, PAGES, clean, recover};
use super::support::{LOGS, create, options, threads};

const FRAMES: usize = 100;

/// Workers and a cleaner, until `stop`.
fn load(sandbox: &Sandbox, model: &Model, how: Load, most: usize) {
    let stop = Arc::new(AtomicBool::new(false));
    let cleaner = {
        let (sandbox, stop) = (sandbox.clone(), stop.clone());
        spawn("page_cleaner", move || {
            clean(&sandbox, &stop, how.out_of_order)
        })
    };
    let workers: Vec<_> = (0..DOMAINS)
        .map(|domain| {
            let (sandbox, model, stop) = (sandbox.clone(), model.clone(), stop.clone());
            spawn("worker", move || {
                model.work(&sandbox, domain, how.large, &stop, most);
            })
        })
        .collect();
    for worker in workers {
        worker.join();
    }
    stop.store(true, Release);
    sandbox.pages.pool.cleaner_wanted().set();
    cleaner.join();
}

/// Makes the pages and a log, in a run that ends well.
fn prepare(directory: &Path, settings: &RedoSettings, model: &Model) {
    let sandbox = create(directory, settings, FRAMES, DOMAINS * PAGES);
    sandbox.start_log();
    model.make_pages(&sandbox);
    sandbox.pages.log.stop().unwrap();
}

/// What is special about a run.
#[derive(Clone, Copy)]
struct Load {
    /// Groups of several KiB.
    large: bool,
    /// The log has background tasks.
    with_tasks: bool,
    /// Mini-transactions take long from their place in the log to the flush list, and
    /// checkpoints are made all the time.
    out_of_order: bool,
    /// When time passes.
    settle: Settle,
}

const LOAD: Load = Load {
    large: false,
    with_tasks: true,
    out_of_order: false,
    settle: Settle::Lazy,
};

#[derive(Default)]
struct Figures {
    applied: AtomicU64,
    torn: AtomicU64,
    disorder: AtomicU64,
    checkpoints: AtomicU64,
}

/// Makes checkpoints as fast as it can.
fn checkpoints(sandbox: &Sandbox, figures: &Figures) {
    let log = &sandbox.pages.log;
    loop {
        let made = log.checkpoint_now().unwrap();
        figures.checkpoints.fetch_add(u64::from(made), Relaxed);
        let disorder = log.flush_list_disorder();
        figures.disorder.fetch_max(disorder, Relaxed);
        sleep(50 * MICROSECOND, WaitKind::Other);
    }
}

fn cut_rounds(seed: u64, settings: RedoSettings, how: Load) -> Arc<Figures> {
    let mut options = options(seed);
    options.settle = how.settle;
    if how.out_of_order {
        options.costs.set("log_copy", 15_000.0).unwrap();
        options.costs.set("log_link", 25_000.0).unwrap();
        options.costs.set("flush_list_change", 5_000.0).unwrap();
    }
    let mut simulation = Simulation::new(&options).unwrap();
    let mut stream = Stream::new(seed, "cuts");
    let model = Model::new();
    {
        let (settings, model) = (settings.clone(), model.clone());
        simulation
            .run(move || prepare(Path::new("/test"), &settings, &model))
            .unwrap();
    }
    let figures = Arc::new(Figures::default());
    for _ in 0..5 {
        let length = match stream.below(4) {
            // Perhaps in the middle of recovery.
            0 => stream.below(10_000) * MICROSECOND,
            _ => (20 + stream.below(200)) * MILLISECOND,
        };
        let at = simulation.now() + length;
        let (settings, model, figures) = (settings.clone(), model.clone(), figures.clone());
        let outcome = simulation.run_until(at, move || {
            let (sandbox, report) = recover(Path::new("/test"), &settings, FRAMES).unwrap();
            figures.applied.fetch_add(report.records_applied, Relaxed);
            figures.torn.fetch_add(report.torn_bytes, Relaxed);
            model.check(&sandbox, report.end_lsn);
            match how.with_tasks {
                true => sandbox.start_log(),
                false => {
                    let pages = &sandbox.pages;
                    let source = PoolSource::new(&pages.pool, pages.spaces.clone());
                    pages.log.set_source(Some(source));
                }
            }
            if how.out_of_order {
                let (sandbox, figures) = (sandbox.clone(), figures.clone());
                spawn("checkpoints", move || checkpoints(&sandbox, &figures));
            }
            load(&sandbox, &model, how, usize::MAX);
            sleep(NEVER, WaitKind::Other);
        });
        assert!(matches!(outcome.unwrap(), Outcome::PowerCut));
        let crash = match stream.below(4) {
            0 => Crash::ProcessKill,
            _ => Crash::PowerLoss,
        };
        simulation.resolve_crash(crash).unwrap();
    }
    simulation
        .run(move || {
            let (sandbox, report) = recover(Path::new("/test"), &settings, FRAMES).unwrap();
            model.check(&sandbox, report.end_lsn);
            sandbox.flush_all();
            assert_eq!(sandbox.pages.pool.faults(), Vec::<String>::new());
        })
        .unwrap();
    figures
}

#[test]
fn recovery_gives_a_prefix_that_has_all_that_was_flushed() {
    let mut torn = 0;
    for (name, settings) in LOGS {
        let mut applied = 0;
        for seed in 1..=6 {
            let figures = cut_rounds(seed, settings(), LOAD);
            applied += figures.applied.load(Relaxed);
            torn += figures.torn.load(Relaxed);
        }
        assert!(applied > 1000, "{name}: {applied} records applied");
    }
    assert!(torn > 0, "no log had a torn end");
}

#[test]
fn recovery_of_a_log_that_has_gone_around() {
    for (name, settings) in LOGS {
        let load = Load {
            large: true,
            ..LOAD
        };
        for seed in 1..=3 {
            let figures = cut_rounds(seed, settings(), load);
            let applied = figures.applied.load(Relaxed);
            assert!(applied > 100, "{name}: {applied} records applied");
        }
    }
}

#[test]
fn recovery_of_a_log_whose_users_do_everything() {
    for (name, settings) in LOGS {
        let load = Load {
            large: true,
            with_tasks: false,
            ..LOAD
        };
        let applied = cut_rounds(1, settings(), load).applied.load(Relaxed);
        assert!(applied > 100, "{name}: {applied} records applied");
    }
}

/// A checkpoint must not pass redo of a page that is not in the flush list yet, or that
/// is in it behind a page with a later LSN.
#[test]
fn checkpoints_wait_for_pages_on_their_way_to_the_flush_list() {
    let (mut disorder, mut checkpoints) = (0, 0);
    for seed in 1..=12 {
        let settings = RedoSettings {
            // What was seen is all that is subtracted.
            disorder_allowance: 0,
            ..threads()
        };
        let load = Load {
            out_of_order: true,
            ..LOAD
        };
        let figures = cut_rounds(seed, settings, load);
        disorder += figures.disorder.load(Relaxed);
        checkpoints += figures.checkpoints.load(Relaxed);
    }
    assert!(disorder > 1000, "{disorder}: nothing was out of order");
    assert!(checkpoints > 500, "{checkpoints} checkpoints");
}

#[test]
fn a_seed_repeats_itself() {
    let figures = |seed| {
        let figures = cut_rounds(seed, threads(), LOAD);
        let cells = [&figures.applied, &figures.torn];
        cells.map(|cell| cell.load(Relaxed))
    };
    assert_eq!(figures(3), figures(3));
    assert_ne!(figures(3), figures(4));
}

#[test]
fn time_may_pass_at_every_latch() {
    for (name, settings) in LOGS {
        let load = Load {
            settle: Settle::Always,
            ..LOAD
        };
        let applied = cut_rounds(2, settings(), load).applied.load(Relaxed);
        assert!(applied > 100, "{name}: {applied} records applied");
    }
}

#[test]
fn files_whose_writes_go_to_the_medium_need_no_flush() {
    for (name, settings) in LOGS {
        let settings = RedoSettings {
            io: LogIo {
                io: IoMode::BufferedSync,
                sync: false,
                data_only: false,
            },
            ..settings()
        };
        for seed in 1..=2 {
            let applied = cut_rounds(seed, settings.clone(), LOAD);
            let applied = applied.applied.load(Relaxed);
            assert!(applied > 50, "{name}: {applied} records applied");
        }
    }
}

/// Really: the process goes on, but what is in the pool is forgotten.
#[test]
fn recovery_with_real_threads() {
    for (name, settings) in LOGS {
        let directory = tempfile::tempdir().unwrap();
        let model = Model::new();
        prepare(directory.path(), &settings(), &model);
        for round in 0..3 {
            let (sandbox, report) = recover(directory.path(), &settings(), FRAMES).unwrap();
            assert!(report.was_needed(), "{name} {round}");
            model.check(&sandbox, report.end_lsn);
            sandbox.start_log();
            let how = Load {
                large: round == 1,
                ..LOAD
            };
            load(&sandbox, &model, how, 300);
            sandbox.pages.log.stop().unwrap();
        }
        let (sandbox, report) = recover(directory.path(), &settings(), FRAMES).unwrap();
        model.check(&sandbox, report.end_lsn);
    }
}
