//! Ages, margins, checkpoints, files that come and go.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

use innosim_engine::metrics::{Counter, Reading};
use innosim_engine::page::{Lsn, PageType};
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::redo_log::{
    CheckpointSource, MiniTransactionContext, PoolSource, RedoLogError, RedoSettings,
};
use innosim_engine::runtime::time::{MILLISECOND, SECOND};
use innosim_engine::runtime::{WaitKind, sleep, spawn};
use innosim_engine::tablespace::TablespaceError;

use super::model::clean;
use super::support::{LOGS, create, page, simulation, threads, under_both_clocks};

/// Makes about 4 KiB of redo in each of some pages, round after round.
fn churn(sandbox: &Sandbox, first: u32, rounds: u32) -> Lsn {
    let mut context = MiniTransactionContext::new(first as usize);
    let mut end = 0;
    let log = &sandbox.pages.log;
    for round in 0..rounds {
        log.free_check().unwrap();
        let id = page(first + round % 8);
        let mut mtr = sandbox.pages.begin(&mut context);
        let handle = mtr.fix_new(id).unwrap();
        let mut writer = mtr.writer(handle);
        writer.initialise_page(id, PageType::UndoLog);
        writer.write(100, &[round as u8 | 1; 4000]);
        drop(writer);
        end = mtr.commit();
        let age = log.checkpoint_age();
        assert!(age <= log.limits().writer_stop, "age {age}");
    }
    end
}

#[test]
fn the_age_stays_within_the_files_however_often_they_are_filled() {
    for (name, settings) in LOGS {
        simulation(1)
            .run(move || {
                let sandbox = create(Path::new("/test"), &settings(), 100, 64);
                sandbox.start_log();
                let stop = Arc::new(AtomicBool::new(false));
                let cleaner = {
                    let (sandbox, stop) = (sandbox.clone(), stop.clone());
                    spawn("page_cleaner", move || clean(&sandbox, &stop, false))
                };
                let start = sandbox.pages.log.current_lsn();
                let tasks: Vec<_> = (0..4)
                    .map(|task| {
                        let sandbox = sandbox.clone();
                        spawn("user", move || churn(&sandbox, task * 8, 2000))
                    })
                    .collect();
                for task in tasks {
                    task.join();
                }
                stop.store(true, Release);
                cleaner.join();
                let log = &sandbox.pages.log;
                let made = log.current_lsn() - start;
                let limits = log.limits();
                assert!(made > 3 * limits.capacity, "{name}: {made}");
                let metrics = &sandbox.pages.metrics;
                assert!(metrics.total(Counter::LogCheckpoints) > 3, "{name}");
                assert!(metrics.total(Counter::LogNextFile) > 5, "{name}");
                assert_eq!(metrics.total(Counter::LogWriterFileSpaceWaits), 0, "{name}");
                let physical = log.read(Reading::RedoPhysicalSize).unwrap() as u64;
                assert!(physical <= limits.capacity, "{name}: {physical}");
                log.stop().unwrap();
                sandbox.flush_all();
            })
            .unwrap();
    }
}

/// A page that is dirty from the start and is never written.
struct Stuck(Lsn);

impl CheckpointSource for Stuck {
    fn oldest_modification(&self) -> Option<Lsn> {
        Some(self.0)
    }
    fn request_sync_flush(&self, _: Lsn) {}
    fn sync_flush(&self, _: Lsn) {
        sleep(10 * MILLISECOND, WaitKind::Other);
    }
    fn flush_files(&self) -> Result<(), TablespaceError> {
        Ok(())
    }
}

#[test]
fn a_wait_for_room_that_would_never_end_can_be_ended() {
    under_both_clocks(|directory| {
        for (name, settings) in LOGS {
            let sandbox = create(&directory.join(name), &settings(), 100, 64);
            let log = &sandbox.pages.log;
            log.start(Arc::new(Stuck(log.current_lsn())));
            let user = {
                let sandbox = sandbox.clone();
                spawn("user", move || {
                    let log = &sandbox.pages.log;
                    while log.free_check().is_ok() {
                        let mut context = MiniTransactionContext::new(0);
                        let mut mtr = sandbox.pages.begin(&mut context);
                        let handle = mtr.fix_new(page(1)).unwrap();
                        let mut writer = mtr.writer(handle);
                        writer.initialise_page(page(1), PageType::UndoLog);
                        writer.write(100, &[1; 4000]);
                        drop(writer);
                        mtr.commit();
                    }
                    log.free_check().unwrap_err()
                })
            };
            sleep(500 * MILLISECOND, WaitKind::Other);
            log.end_room_waits();
            let error = user.join();
            assert!(matches!(error, RedoLogError::WaitsEnded), "{name}: {error}");
            sandbox.start_log();
            sandbox.flush_all();
            log.stop().unwrap();
        }
    });
}

#[test]
fn in_steps_the_user_makes_room() {
    under_both_clocks(|directory| {
        for (name, settings) in LOGS {
            let directory = directory.join(name);
            let sandbox = create(&directory, &settings(), 100, 64);
            let pages = &sandbox.pages;
            let source = PoolSource::new(&pages.pool, pages.spaces.clone());
            pages.log.set_source(Some(source));
            churn(&sandbox, 0, 5000);
            let end = churn(&sandbox, 8, 10);
            assert!(pages.log.flushed_lsn() < end, "{name}");
            sandbox.flush_all();
            pages.log.step().unwrap();
            assert_eq!(pages.log.flushed_lsn(), end, "{name}");
            assert_eq!(pages.log.checkpoint_lsn(), end, "{name}");
            assert_eq!(pages.log.checkpoint_age(), 0);
            pages.log.set_source(None);
        }
    });
}

#[test]
fn a_checkpoint_does_not_pass_the_oldest_page() {
    under_both_clocks(|directory| {
        let sandbox = create(directory, &threads(), 100, 64);
        let pages = &sandbox.pages;
        let source = PoolSource::new(&pages.pool, pages.spaces.clone());
        pages.log.set_source(Some(source));
        let disorder = pages.log.flush_list_disorder();
        assert_eq!(disorder, 128 << 10);
        let start = pages.log.current_lsn();
        churn(&sandbox, 0, 100);
        let oldest = pages.pool.oldest_modification_lsn().unwrap();
        assert_eq!(oldest, start);
        pages.log.step().unwrap();
        assert_eq!(
            pages.log.checkpoint_lsn(),
            start,
            "less the disorder it is before it"
        );
        // All but the newest pages are written.
        pages.pool.flush_list_batch(0, 6, u64::MAX);
        let oldest = pages.pool.oldest_modification_lsn().unwrap();
        pages.log.step().unwrap();
        let checkpoint = pages.log.checkpoint_lsn();
        assert!(checkpoint <= oldest.saturating_sub(disorder).max(start));
        sandbox.flush_all();
        pages.log.step().unwrap();
        assert_eq!(pages.log.checkpoint_lsn(), pages.log.current_lsn());
        pages.log.set_source(None);
    });
}

#[test]
fn an_idle_server_has_a_checkpoint_a_second_and_a_busy_one_every_seven() {
    simulation(1)
        .run(|| {
            let settings = RedoSettings::with_capacity(64 << 20);
            let sandbox = create(Path::new("/test"), &settings, 100, 64);
            sandbox.start_log();
            let count = || sandbox.pages.metrics.total(Counter::LogCheckpoints);
            for _ in 0..200 {
                churn(&sandbox, 0, 1);
                sandbox.flush_all();
                sleep(100 * MILLISECOND, WaitKind::Other);
            }
            let busy = count();
            assert!((2..=4).contains(&busy), "{busy} in 20 s");
            sleep(3 * SECOND, WaitKind::Other);
            assert_eq!(count(), busy + 1, "there is nothing new after that");
            assert_eq!(sandbox.pages.log.checkpoint_age(), 0);
            sandbox.pages.log.stop().unwrap();
        })
        .unwrap();
}
