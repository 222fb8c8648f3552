//! Commits share writes and flushes.

use std::path::Path;

use innosim_engine::metrics::Counter;
use innosim_engine::page::PageType;
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::redo_log::{CommitPolicy, MiniTransactionContext, RedoSettings};
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, SECOND, Time};
use innosim_engine::runtime::{
    LatchClass, LatchMode, WaitKind, now, runtime_statistics, sleep, spawn,
};

use super::support::{
    LOGS, as_5_1, as_5_7, create, page, simulation, threads, under_both_clocks, users,
};

/// Makes a page and changes it `changes` times, waiting each time.
fn commit_often(sandbox: &Sandbox, number: u32, changes: u64, policy: CommitPolicy) {
    let mut context = MiniTransactionContext::new(number as usize);
    for change in 0..changes {
        let mut mtr = sandbox.pages.begin(&mut context);
        let handle = match change {
            0 => {
                let handle = mtr.fix_new(page(number)).unwrap();
                mtr.writer(handle)
                    .initialise_page(page(number), PageType::UndoLog);
                handle
            }
            _ => mtr.fix(page(number), LatchMode::X).unwrap(),
        };
        mtr.writer(handle).write(100, &(change + 1).to_be_bytes());
        let end = mtr.commit();
        let log = &sandbox.pages.log;
        log.commit_wait(end, policy).unwrap();
        match policy {
            CommitPolicy::Flush => assert!(log.flushed_lsn() >= end),
            CommitPolicy::Write => assert!(log.written_lsn() >= end),
            CommitPolicy::Nothing => {}
        }
    }
}

struct Figures {
    syncs: u64,
    writes: u64,
    time: Time,
}

fn commits(directory: &Path, settings: &RedoSettings, users: u32, policy: CommitPolicy) -> Figures {
    let settings = RedoSettings {
        commit: policy,
        ..settings.clone()
    };
    let sandbox = create(directory, &settings, 100, 64);
    sandbox.start_log();
    let (start, before) = (now(), sandbox.pages.metrics.snapshot(&|_| 0));
    let tasks: Vec<_> = (0..users)
        .map(|number| {
            let sandbox = sandbox.clone();
            spawn("user", move || commit_often(&sandbox, number, 50, policy))
        })
        .collect();
    for task in tasks {
        task.join();
    }
    let time = now() - start;
    let counts = sandbox.pages.metrics.snapshot(&|_| 0).since(&before);
    sandbox.pages.log.stop().unwrap();
    let log = &sandbox.pages.log;
    assert_eq!(log.flushed_lsn(), log.current_lsn());
    Figures {
        syncs: counts.status()["Innodb_os_log_fsyncs"] as u64,
        writes: counts.status()["Innodb_log_writes"] as u64,
        time,
    }
}

fn virtually(settings: fn() -> RedoSettings, users: u32, policy: CommitPolicy) -> Figures {
    simulation(1)
        .run(move || commits(Path::new("/test"), &settings(), users, policy))
        .unwrap()
}

#[test]
fn one_flush_serves_many_commits() {
    for (name, settings) in LOGS {
        let alone = virtually(settings, 1, CommitPolicy::Flush);
        let together = virtually(settings, 32, CommitPolicy::Flush);
        assert!(alone.syncs >= 50, "{name}: {}", alone.syncs);
        // 1600 commits: with a flush each it would take 32 times as long.
        assert!(together.syncs < 400, "{name}: {} syncs", together.syncs);
        let factor = together.time / alone.time;
        assert!(factor <= 6, "{name}: {factor} times as long");
    }
}

#[test]
fn what_a_commit_waits_for_is_what_it_costs() {
    for (name, settings) in LOGS {
        let flush = virtually(settings, 4, CommitPolicy::Flush);
        let write = virtually(settings, 4, CommitPolicy::Write);
        let nothing = virtually(settings, 4, CommitPolicy::Nothing);
        assert!(flush.time > 3 * write.time, "{name}");
        assert!(write.time > nothing.time, "{name}");
        assert!(write.syncs <= 1 && nothing.syncs <= 1, "{name}");
        assert!(write.writes > 20, "{name}: {}", write.writes);
    }
}

#[test]
fn up_to_5_6_a_write_waits_for_the_flush_before() {
    let one_at_a_time = virtually(as_5_1, 32, CommitPolicy::Flush);
    let overlapping = virtually(users, 32, CommitPolicy::Flush);
    assert!(one_at_a_time.writes <= one_at_a_time.syncs + 64);
    assert!(overlapping.writes > overlapping.syncs);
}

#[test]
fn commits_are_durable_under_both_clocks() {
    under_both_clocks(|directory| {
        for (name, settings) in LOGS {
            for policy in [
                CommitPolicy::Flush,
                CommitPolicy::Write,
                CommitPolicy::Nothing,
            ] {
                let directory = directory.join(format!("{name} {policy:?}"));
                commits(&directory, &settings(), 3, policy);
            }
        }
    });
}

#[test]
fn redo_that_no_commit_waits_for_is_flushed_once_a_second() {
    for (name, settings) in LOGS {
        simulation(1)
            .run(move || {
                let settings = RedoSettings {
                    commit: CommitPolicy::Nothing,
                    ..settings()
                };
                let sandbox = create(Path::new("/test"), &settings, 100, 64);
                sandbox.start_log();
                sleep(SECOND / 3, WaitKind::Other);
                commit_often(&sandbox, 1, 10, CommitPolicy::Nothing);
                let log = &sandbox.pages.log;
                let end = log.current_lsn();
                sleep(100 * MILLISECOND, WaitKind::Other);
                assert!(log.flushed_lsn() < end, "{name}");
                sleep(2 * SECOND, WaitKind::Other);
                assert_eq!(log.flushed_lsn(), end, "{name}");
                log.stop().unwrap();
            })
            .unwrap();
    }
}

#[test]
fn first_writes_into_a_unit_are_padded() {
    under_both_clocks(|directory| {
        let sandbox = create(directory, &threads(), 100, 64);
        let metrics = &sandbox.pages.metrics;
        commit_often(&sandbox, 1, 1, CommitPolicy::Flush);
        // One block at offset 2048, to the end of the 8 KiB.
        assert_eq!(metrics.total(Counter::LogPaddedBytes), 8192 - 2048 - 512);
        assert_eq!(metrics.total(Counter::LogBytesWritten), 8192 - 2048);
        commit_often(&sandbox, 1, 2, CommitPolicy::Flush);
        assert_eq!(metrics.total(Counter::LogPaddedBytes), 8192 - 2048 - 512);
        assert_eq!(metrics.total(Counter::LogBytesWritten), 8192 - 2048 + 1024);
        assert_eq!(metrics.total(Counter::LogPartialBlockWrites), 3);
        sandbox.pages.log.stop().unwrap();
    });
}

#[test]
fn who_finds_the_buffer_full_waits_for_a_write() {
    for (name, settings) in LOGS {
        simulation(1)
            .run(move || {
                let settings = RedoSettings {
                    log_buffer_size: 16 << 10,
                    ..settings()
                };
                let sandbox = create(Path::new("/test"), &settings, 100, 64);
                sandbox.start_log();
                let tasks: Vec<_> = (0..4)
                    .map(|number| {
                        let sandbox = sandbox.clone();
                        spawn("user", move || {
                            let mut context = MiniTransactionContext::new(number);
                            let id = page(number as u32);
                            for round in 0..30u8 {
                                sandbox.pages.log.free_check().unwrap();
                                let mut mtr = sandbox.pages.begin(&mut context);
                                let handle = mtr.fix_new(id).unwrap();
                                let mut writer = mtr.writer(handle);
                                writer.initialise_page(id, PageType::UndoLog);
                                writer.write(100, &[round + 1; 9000]);
                                drop(writer);
                                mtr.commit();
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    task.join();
                }
                let waits = sandbox.pages.metrics.total(Counter::LogWaits);
                assert!(waits > 10, "{name}: {waits}");
                sandbox.pages.log.stop().unwrap();
            })
            .unwrap();
    }
}

#[test]
fn waits_are_short_when_nothing_is_in_the_way() {
    let mut times = Vec::new();
    for (_, settings) in LOGS {
        times.push(virtually(settings, 1, CommitPolicy::Write).time / 50);
    }
    // Threads have hand-offs; users only the call of the system.
    assert!(times[0] > times[1], "{times:?}");
    assert!(
        times.iter().all(|&time| time < 200 * MICROSECOND),
        "{times:?}"
    );
}

/// Up to 5.7 pages enter the flush lists in the order of their redo; who brings none has no
/// need of the mutex that sees to that.
#[test]
fn only_who_makes_a_page_dirty_takes_the_mutex_of_the_flush_lists_order() {
    simulation(1)
        .run(|| {
            let sandbox = create(Path::new("/order"), &as_5_7(), 100, 64);
            let acquired =
                || runtime_statistics().latches[LatchClass::LogFlushOrder as usize].acquired;
            let before = acquired();
            commit_often(&sandbox, 3, 50, CommitPolicy::Nothing);
            assert_eq!(acquired() - before, 1, "dirty pages stay in their list");
            let log_before = runtime_statistics().latches[LatchClass::LogBuffer as usize].acquired;
            commit_often(&sandbox, 4, 7, CommitPolicy::Nothing);
            let log = runtime_statistics().latches[LatchClass::LogBuffer as usize].acquired;
            assert_eq!((acquired() - before, log - log_before), (2, 7));
        })
        .expect("nobody waits for ever");
}
