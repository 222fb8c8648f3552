//! Power cuts at any instant: what was committed is there, what was not is gone, and
//! everything fits together.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::*};

use innosim_engine::engine::{Engine, EngineOptions};
use innosim_engine::runtime::files::Crash;
use innosim_engine::runtime::time::{MILLISECOND, NEVER, SECOND, Time};
use innosim_engine::runtime::virtual_clock::{Outcome, Simulation};
use innosim_engine::runtime::{JoinHandle, RealMachine, WaitKind, sleep, spawn};
use innosim_engine::sysvar::TransactionIsolation::{ReadCommitted, RepeatableRead};
use innosim_engine::sysvar::{Flavor, Settings};
use innosim_engine::table::{Assignment, IndexReading, ReadLock, Table, TableDefinition};

use crate::world::*;

pub const DATA: &str = "data";

/// k of all rows of the transfers.
pub const SUM: i64 = 50_500;

/// Runs a program that is cut off, and lets the power fail.
pub fn cut(simulation: &mut Simulation, after: Time, program: impl FnOnce() + 'static) {
    let at = simulation.now() + after;
    let outcome = simulation.run_until(at, move || {
        program();
        sleep(NEVER, WaitKind::Other);
    });
    assert!(matches!(outcome, Ok(Outcome::PowerCut)), "it was cut");
    simulation.resolve_crash(Crash::PowerLoss).unwrap();
}

/// Readers that look at the whole table again and again, by both indexes: whatever they
/// see, it adds up.
fn readers(
    engine: &Arc<Engine>,
    table: &Arc<Table>,
    stopped: &Arc<AtomicBool>,
) -> Vec<JoinHandle<()>> {
    let reader = |number: u64| {
        let (engine, table, stopped) = (engine.clone(), table.clone(), stopped.clone());
        spawn("reader", move || {
            let mut session = engine.session(number as usize);
            let isolations = [RepeatableRead, ReadCommitted];
            for round in 0.. {
                if stopped.load(Relaxed) {
                    break;
                }
                session.begin(isolations[round % 2], false).unwrap();
                let rows = all_rows(&mut session, &table);
                assert_eq!(rows.iter().map(|row| row.1).sum::<i64>(), SUM);
                let mut sum = 0;
                let (reading, lock) = (IndexReading::Rows, ReadLock::None);
                session
                    .index_range_select(&table, 0, (&[], &[]), reading, lock, |row| {
                        sum += row.integer(1).unwrap();
                    })
                    .unwrap();
                assert_eq!(sum, SUM);
                session.commit().unwrap();
                sleep(number * MILLISECOND, WaitKind::Other);
            }
            session.close().unwrap();
        })
    };
    (1..=2).map(reader).collect()
}

/// Transfers on an engine that is opened, until the power fails.
fn transfers(settings: &Settings, options: EngineOptions, committed: &Arc<AtomicU64>) {
    let (engine, _) = open(Path::new(DATA), settings, options);
    let never = Arc::new(AtomicBool::new(false));
    for task in start_transfers(&engine, committed, &never) {
        task.join();
    }
}

/// Eight sessions move amounts from one row to another, and two read. The sum never
/// changes.
pub fn start_transfers(
    engine: &Arc<Engine>,
    committed: &Arc<AtomicU64>,
    stopped: &Arc<AtomicBool>,
) -> Vec<JoinHandle<()>> {
    let table = engine.table("sbtest/sbtest1").unwrap();
    let mut tasks = readers(engine, &table, stopped);
    for number in 0..8_u64 {
        let (engine, table, committed) = (engine.clone(), table.clone(), committed.clone());
        let stopped = stopped.clone();
        tasks.push(spawn("transfer", move || {
            let mut session = engine.session(number as usize);
            let mut random = innosim_engine::runtime::stream(&format!("transfer {number}"));
            while !stopped.load(Relaxed) {
                let (from, to) = (1 + random.below(100) as i64, 1 + random.below(100) as i64);
                let amount = random.below(50) as i64;
                session.begin(RepeatableRead, false).unwrap();
                let mut result = session
                    .update(&table, &[from.into()], &[Assignment::add(1, -amount)])
                    .and_then(|_| {
                        session.update(&table, &[to.into()], &[Assignment::add(1, amount)])
                    })
                    .map(|_| ());
                if result.is_ok() && random.below(4) == 0 {
                    // A row that comes and goes.
                    let id = 1000 + (number * 10 + random.below(10)) as i64;
                    result = session
                        .delete(&table, &[id.into()])
                        .and_then(|_| session.insert(&table, &row(id, 0)))
                        .map(|_| ());
                }
                match result {
                    Ok(()) if random.below(8) == 0 => session.rollback().unwrap(),
                    Ok(()) => {
                        session.commit().unwrap();
                        committed.fetch_add(1, Relaxed);
                    }
                    Err(error) => {
                        assert_eq!(error.mysql_number(), Some(1213), "{error}");
                        session.rollback().unwrap();
                    }
                }
            }
            session.close().unwrap();
        }));
    }
    tasks
}

/// The same with threads, which run truly at once.
#[test]
fn transfers_of_threads_add_up() {
    for flavor in [Flavor::MySql8_4, Flavor::MySql5_6] {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        RealMachine::new(1).run(|| {
            let variables = [
                "innodb_buffer_pool_size=5M",
                "innodb_flush_log_at_trx_commit=2",
            ];
            let settings = settings_of(flavor, &variables);
            let engine = create(&data, &settings, WITH_TASKS);
            sysbench(&engine, 100);
            let committed = Arc::new(AtomicU64::new(0));
            let stopped = Arc::new(AtomicBool::new(false));
            let tasks = start_transfers(&engine, &committed, &stopped);
            sleep(3 * SECOND, WaitKind::Other);
            stopped.store(true, Relaxed);
            for task in tasks {
                task.join();
            }
            assert!(committed.load(Relaxed) > 100, "{committed:?}");
            engine.shutdown().unwrap();
            drop(engine);
            let (engine, report) = open(&data, &settings, STEPPED);
            assert!(!report.was_needed(), "{report:?}");
            let table = engine.table("sbtest/sbtest1").unwrap();
            let mut session = engine.session(0);
            let rows = all_rows(&mut session, &table);
            assert_eq!(rows.iter().map(|row| row.1).sum::<i64>(), SUM);
            session.close().unwrap();
            engine.purge_all().unwrap();
            shut_down(&engine);
        });
    }
}

#[test]
fn transfers_survive_repeated_power_cuts() {
    let flavors = [
        Flavor::MySql8_4,
        Flavor::MySql5_7,
        Flavor::MySql5_6,
        Flavor::MariaDb10_11,
        Flavor::MySql8_4,
    ];
    for (seed, flavor) in (0..).zip(flavors) {
        // A small log and pool: checkpoints, flushes and evictions happen all the time.
        let variables: &[&str] = match flavor {
            Flavor::MySql8_4 => &[
                "innodb_redo_log_capacity=8M",
                "innodb_buffer_pool_size=5M",
                "innodb_purge_threads=2",
            ],
            _ => &["innodb_log_file_size=4M", "innodb_buffer_pool_size=5M"],
        };
        let settings = settings_of(flavor, variables);
        let mut simulation = simulation(seed);
        let first = settings.clone();
        simulation
            .run(move || {
                let engine = create(Path::new(DATA), &first, STEPPED);
                sysbench(&engine, 100);
                engine.shutdown().unwrap();
            })
            .unwrap();
        let committed = Arc::new(AtomicU64::new(0));
        for round in 0..4 {
            let (settings, committed) = (settings.clone(), committed.clone());
            let after = (200 + 97 * round + 13 * seed) * MILLISECOND;
            cut(&mut simulation, after, move || {
                transfers(&settings, WITH_TASKS, &committed);
            });
        }
        // A cut in the middle of recovery, too.
        let again = settings.clone();
        cut(&mut simulation, 3 * MILLISECOND, move || {
            let _ = open(Path::new(DATA), &again, STEPPED);
        });
        assert!(committed.load(Relaxed) > 300, "{committed:?}");
        let sum = Arc::new(AtomicI64::new(0));
        let result = sum.clone();
        simulation
            .run(move || {
                let (engine, report) = open(Path::new(DATA), &settings, STEPPED);
                assert!(report.was_needed());
                let table = engine.table("sbtest/sbtest1").unwrap();
                let mut session = engine.session(0);
                let rows = all_rows(&mut session, &table);
                result.store(rows.iter().map(|row| row.1).sum(), Relaxed);
                session.close().unwrap();
                engine.purge_all().unwrap();
                shut_down(&engine);
            })
            .unwrap();
        assert_eq!(sum.load(Relaxed), SUM, "seed {seed}");
    }
}

#[test]
fn what_was_not_committed_is_rolled_back_at_the_next_start() {
    let mut simulation = simulation(1);
    cut(&mut simulation, 100 * SECOND, || {
        let engine = create(Path::new(DATA), &settings(&[]), WITH_TASKS);
        let table = sysbench(&engine, 1000);
        let mut session = engine.session(0);
        session.begin(RepeatableRead, false).unwrap();
        for id in 1..=200 {
            session
                .update(&table, &[id.into()], &[Assignment::add(1, 1)])
                .unwrap();
            session.delete(&table, &[(id + 300).into()]).unwrap();
            session.insert(&table, &row(id + 2000, 1)).unwrap();
        }
        // Its redo is durable, with another's commit.
        let mut other = engine.session(1);
        other.insert(&table, &row(5000, 5)).unwrap();
    });
    simulation
        .run(|| {
            let (engine, report) = open(Path::new(DATA), &settings(&[]), STEPPED);
            assert_eq!((report.rolled_back, report.rows_undone), (1, 600));
            let table = engine.table("sbtest/sbtest1").unwrap();
            let mut session = engine.session(0);
            let expected: Vec<_> = (1..=1000)
                .map(|id| (id, id * 10))
                .chain([(5000, 5)])
                .collect();
            assert_eq!(all_rows(&mut session, &table), expected);
            session.close().unwrap();
            engine.purge_all().unwrap();
            shut_down(&engine);
        })
        .unwrap();
}

#[test]
fn a_table_is_there_as_a_whole_or_not_at_all() {
    for step in 0..12 {
        let mut simulation = simulation(step);
        simulation
            .run(|| {
                let engine = create(Path::new(DATA), &settings(&[]), STEPPED);
                engine.shutdown().unwrap();
            })
            .unwrap();
        cut(&mut simulation, (1 + step * 3) * MILLISECOND, || {
            let (engine, _) = open(Path::new(DATA), &settings(&[]), WITH_TASKS);
            sysbench(&engine, 500);
            engine.create_table(TableDefinition::sysbench(2)).unwrap();
            let table = engine.table("sbtest/sbtest2").unwrap();
            let mut session = engine.session(0);
            session.insert(&table, &row(1, 1)).unwrap();
        });
        simulation
            .run(|| {
                let (engine, _) = open(Path::new(DATA), &settings(&[]), STEPPED);
                let mut session = engine.session(0);
                if let Ok(table) = engine.table("sbtest/sbtest1") {
                    assert_eq!(all_rows(&mut session, &table).len(), 500);
                } else {
                    let table = sysbench(&engine, 500);
                    assert_eq!(all_rows(&mut session, &table).len(), 500);
                }
                if engine.table("sbtest/sbtest2").is_err() {
                    engine.create_table(TableDefinition::sysbench(2)).unwrap();
                }
                let table = engine.table("sbtest/sbtest2").unwrap();
                let rows = all_rows(&mut session, &table);
                assert!(rows.is_empty() || rows == [(1, 1)], "{rows:?}");
                session.close().unwrap();
                shut_down(&engine);
            })
            .unwrap();
    }
}

#[test]
fn a_fast_shutdown_of_2_leaves_the_pages_to_recovery() {
    under_both_clocks(|directory| {
        let settings = settings(&["innodb_fast_shutdown=2"]);
        let engine = create(directory, &settings, STEPPED);
        let table = sysbench(&engine, 100);
        let mut session = engine.session(0);
        for id in 1..=100 {
            session
                .update(&table, &[id.into()], &[Assignment::set(1, 1)])
                .unwrap();
        }
        session.close().unwrap();
        shut_down(&engine);
        drop(engine);
        let (engine, report) = open(directory, &settings, STEPPED);
        assert!(report.redo.pages_applied > 0, "{report:?}");
        let table = engine.table("sbtest/sbtest1").unwrap();
        let mut session = engine.session(0);
        assert!(all_rows(&mut session, &table).iter().all(|row| row.1 == 1));
        session.close().unwrap();
        shut_down(&engine);
    });
}

/// The same seed, the same run: counters, latches and the clock agree to the last digit.
#[test]
fn a_run_repeats_itself() {
    let run = || {
        let mut simulation = simulation(11);
        let settings = settings(&["innodb_redo_log_capacity=8M"]);
        let first = settings.clone();
        simulation
            .run(move || {
                let engine = create(Path::new(DATA), &first, STEPPED);
                sysbench(&engine, 100);
                engine.shutdown().unwrap();
            })
            .unwrap();
        let committed = Arc::new(AtomicU64::new(0));
        let count = committed.clone();
        cut(&mut simulation, 150 * MILLISECOND, move || {
            transfers(&settings, WITH_TASKS, &count);
        });
        let counters = simulation.disk_counters(0);
        (committed.load(Relaxed), format!("{counters:?}"))
    };
    let once = run();
    assert!(once.0 > 50, "{once:?}");
    assert_eq!(once, run());
}
