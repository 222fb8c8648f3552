//! Variables that change while the engine runs: they take effect, and nothing is lost.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

use innosim_engine::engine::{Engine, EngineError};
use innosim_engine::redo_log::CommitPolicy;
use innosim_engine::runtime::time::MILLISECOND;
use innosim_engine::runtime::{WaitKind, sleep, spawn};
use innosim_engine::sysvar::TransactionIsolation::ReadCommitted;
use innosim_engine::table::Assignment;

use crate::recovery::{DATA, SUM, cut, start_transfers};
use crate::world::*;

fn texts(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    variables.iter().map(own).collect()
}

#[test]
fn parts_obey_what_was_changed_and_say_so() {
    under_both_clocks(|directory| {
        let engine = create(directory, &settings(&[]), WITH_TASKS);
        sysbench(&engine, 100);
        let change = engine
            .change_at_snapshot(&texts(&[
                ("innodb_io_capacity_max", "3000"),
                ("innodb_io_capacity", "3000"),
                ("innodb-lru-scan-depth", "300"),
                ("innodb_flush_log_at_trx_commit", "2"),
                ("innodb_flush_sync", "OFF"),
                ("innodb_doublewrite_pages", "16"),
                ("innosim_flush_latch", "after_copy"),
                ("transaction_isolation", "READ-COMMITTED"),
            ]))
            .unwrap();
        let cleaner = engine.cleaner().settings();
        assert_eq!(cleaner.policy.io_capacity, 3000);
        assert_eq!(cleaner.lru_scan_depth, 300);
        assert!(!cleaner.flush_sync && !engine.pages().log.settings().flush_sync);
        assert_eq!(engine.pages().log.commit_policy(), CommitPolicy::Write);
        assert_eq!(engine.settings().isolation, ReadCommitted);
        assert_eq!(engine.doublewrite().settings().pages, 16);
        let file = directory.join("#ib_16384_0.dblwr");
        let files = engine.files();
        assert!(files.exists(&file).unwrap());
        // Capacity first goes down to where the maximum does not go.
        assert_eq!(change.settings.unscaled().innodb_io_capacity(), 3000);
        assert_eq!(change.warnings.len(), 3, "{:?}", change.warnings);
        assert!(change.warnings[0].contains("innodb_io_capacity_max cannot be set lower"));
        let expected = "innodb_doublewrite_pages was changed from 128 to 16 at a snapshot";
        assert!(change.warnings[1].starts_with(expected), "{change:?}");
        engine.shutdown().unwrap();
        assert!(matches!(
            engine.change_at_snapshot(&[]),
            Err(EngineError::Stopped)
        ));
    });
}

#[test]
fn what_cannot_be_changed_is_named_and_nothing_else_is_changed_either() {
    under_both_clocks(|directory| {
        let engine = create(directory, &settings(&[]), STEPPED);
        for (name, message) in [
            (
                "innodb_buffer_pool_instances",
                "innodb_buffer_pool_instances cannot be changed at a snapshot",
            ),
            ("innodb_nonsense", "unknown variable 'innodb_nonsense'"),
        ] {
            let changes = texts(&[("innodb_doublewrite_pages", "16"), (name, "1")]);
            let error = engine.change_at_snapshot(&changes).unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
        }
        assert_eq!(engine.doublewrite().settings().pages, 128);
        shut_down(&engine);
    });
}

/// Updates and flushes, with a change of the size of batches in the middle; figures of the
/// doublewrite buffer before and after.
fn counted(directory: &Path, to: Option<&str>) -> [[i64; 2]; 2] {
    let engine = create(directory, &settings(&["innodb_io_capacity=20000"]), STEPPED);
    let table = sysbench(&engine, 20_000);
    let mut session = engine.session(0);
    let mut counts = [[0; 2]; 2];
    for (half, counts) in counts.iter_mut().enumerate() {
        let before = engine.metrics_snapshot();
        for id in 1..=20_000_i64 {
            if id % 1000 == 1 {
                session.begin(ReadCommitted, false).unwrap();
            }
            session
                .update(&table, &[id.into()], &[Assignment::add(1, 1)])
                .unwrap();
            if id % 1000 == 0 {
                session.commit().unwrap();
            }
            if id % 10_000 == 0 {
                assert_eq!(engine.pages().pool.flush_all(), 0);
            }
        }
        let status = engine.metrics_snapshot().since(&before).status();
        *counts = ["Innodb_dblwr_writes", "Innodb_dblwr_pages_written"].map(|name| status[name]);
        if let (0, Some(pages)) = (half, to) {
            let change = texts(&[("innodb_doublewrite_pages", pages)]);
            engine.change_at_snapshot(&change).unwrap();
        }
    }
    session.close().unwrap();
    engine.purge_all().unwrap();
    shut_down(&engine);
    counts
}

#[test]
fn batches_have_the_new_size_and_the_same_size_is_no_change() {
    under_both_clocks(|directory| {
        let parent = directory.to_path_buf();
        let run = |name: &str, to| counted(&parent.join(name), to);
        let control = run("control", None);
        let same = run("same", Some("128"));
        let small = run("small", Some("4"));
        let large = run("large", Some("512"));
        assert_eq!(control, same);
        for counts in [control, small, large] {
            assert_eq!(counts[0], control[0]);
            assert_eq!(counts[1][1], control[1][1], "as many pages");
        }
        let per_write = |counts: [[i64; 2]; 2]| counts[1][1] as f64 / counts[1][0] as f64;
        assert!(per_write(control) > 40.0, "{control:?}");
        assert!((3.0..=4.0).contains(&per_write(small)), "{small:?}");
        assert!(per_write(large) >= per_write(control), "{large:?}");
    });
}

/// Changes the size of batches, again and again.
fn change_often(engine: &Arc<Engine>, changes: &Arc<AtomicU64>) {
    let (engine, changes) = (engine.clone(), changes.clone());
    spawn("changer", move || {
        for number in 0_u32.. {
            let pages = [1, 128, 16, 512, 3][number as usize % 5].to_string();
            let change = texts(&[("innodb_doublewrite_pages", &pages)]);
            engine.change_at_snapshot(&change).unwrap();
            changes.fetch_add(1, Relaxed);
            sleep(7 * MILLISECOND, WaitKind::Other);
        }
    });
}

/// Power cuts under load, at any moment before, during and after a change.
#[test]
fn what_was_committed_survives_a_power_cut_after_a_change() {
    for seed in 1..=6 {
        let variables = ["innodb_redo_log_capacity=8M", "innodb_buffer_pool_size=5M"];
        let settings = settings(&variables);
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
        let changes = Arc::new(AtomicU64::new(0));
        for round in 0..4 {
            let (settings, committed) = (settings.clone(), committed.clone());
            let changes = changes.clone();
            let after = (150 + 61 * round + 11 * seed) * MILLISECOND;
            cut(&mut simulation, after, move || {
                let (engine, _) = open(Path::new(DATA), &settings, WITH_TASKS);
                change_often(&engine, &changes);
                for task in start_transfers(&engine, &committed, &Arc::default()) {
                    task.join();
                }
            });
        }
        assert!(committed.load(Relaxed) > 200, "{committed:?}");
        assert!(changes.load(Relaxed) > 20, "{changes:?}");
        let again = settings.clone();
        let rows = simulation
            .run(move || {
                let (engine, report) = open(Path::new(DATA), &again, STEPPED);
                assert!(report.was_needed());
                let table = engine.table("sbtest/sbtest1").unwrap();
                let mut session = engine.session(0);
                let rows = all_rows(&mut session, &table);
                session.close().unwrap();
                engine.purge_all().unwrap();
                shut_down(&engine);
                rows
            })
            .unwrap();
        let sum: i64 = rows.iter().map(|row| row.1).sum();
        assert_eq!(sum, SUM, "seed {seed}");
    }
}
