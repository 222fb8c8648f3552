//! Shards, and the arithmetic of snapshots.

use std::sync::Arc;

use proptest::prelude::*;

use super::snapshot;
use crate::metrics::*;
use crate::runtime::{JoinHandle, RealMachine, spawn};

#[test]
fn the_number_of_shards_is_a_power_of_two() {
    let shards_of = |wanted| format!("{:?}", Metrics::new(wanted));
    for (wanted, shards) in [
        (0, 1),
        (1, 1),
        (3, 4),
        (64, 64),
        (144, 64),
        (usize::MAX, 64),
    ] {
        assert_eq!(
            shards_of(wanted),
            format!("Metrics {{ shards: {shards}, .. }}")
        );
    }
}

/// Any number is a hint, and the sum does not depend on it.
#[test]
fn a_hint_does_not_change_the_sum() {
    let metrics = Metrics::new(4);
    for hint in [0, 1, 3, 4, 1_000_003, usize::MAX] {
        metrics.shard(hint).increment(Counter::LogWrites);
    }
    metrics.shard(1).add(Counter::LogWrites, 10);
    assert_eq!(metrics.total(Counter::LogWrites), 16);
    assert_eq!(snapshot(&metrics).counter(Counter::LogWrites), 16);
    assert_eq!(metrics.total(Counter::LogWaits), 0);
}

/// A task may begin on one shard what another ends on its own.
#[test]
fn a_level_is_lowered_on_any_shard() {
    let metrics = Metrics::new(2);
    metrics.shard(0).raise(Level::RecordLocks, 3);
    metrics.shard(1).lower(Level::RecordLocks, 2);
    assert_eq!(metrics.level(Level::RecordLocks), 1);
    metrics.shard(1).lower(Level::RecordLocks, 2);
    assert_eq!(metrics.level(Level::RecordLocks), -1);
    assert_eq!(snapshot(&metrics).level(Level::RecordLocks), -1);
}

/// Real threads, of which some share a shard: nothing is lost.
#[test]
fn concurrent_counts_are_all_there() {
    const THREADS: usize = 4;
    const ROUNDS: u64 = 2_000;
    let metrics = Arc::new(Metrics::new(2));
    let count = |metrics: &Metrics, thread: usize| {
        let shard = metrics.shard(thread);
        for round in 0..ROUNDS {
            shard.increment(Counter::BufferPoolReadRequests);
            shard.raise(Level::ActiveTransactions, 2);
            let next = metrics.shard(thread + 1);
            next.lower(Level::ActiveTransactions, 1);
            shard.record_call(Set::FlushBatchPages, round + 1);
            shard.record_wait(WaitFamily::LogOnFlush, round % 2);
            metrics.record_time(Timing::RedoSync, 1000 + round);
        }
    };
    RealMachine::new(1).run(|| {
        let start = |thread| {
            let metrics = Arc::clone(&metrics);
            spawn("counter", move || count(&metrics, thread))
        };
        let tasks: Vec<_> = (0..THREADS).map(start).collect();
        tasks.into_iter().for_each(JoinHandle::join);
    });
    let all = THREADS as u64 * ROUNDS;
    let seen = snapshot(&metrics);
    assert_eq!(seen.counter(Counter::BufferPoolReadRequests), all);
    assert_eq!(seen.level(Level::ActiveTransactions), all as i64);
    assert_eq!(seen.set_calls(Set::FlushBatchPages), all);
    assert_eq!(seen.set_total(Set::FlushBatchPages), all * (ROUNDS + 1) / 2);
    assert_eq!(seen.set_extremes(Set::FlushBatchPages), Some((1, ROUNDS)));
    assert_eq!(
        seen.waits(WaitFamily::LogOnFlush),
        (all / 2, all / 2, all / 2)
    );
    let flushes = seen.timing(Timing::RedoSync);
    assert_eq!(
        (flushes.count(), flushes.min(), flushes.max()),
        (all, Some(1000), Some(2999))
    );
}

/// Each time has a histogram of its own, and a name of its own.
#[test]
fn times_do_not_get_mixed_up() {
    let metrics = Metrics::new(1);
    for (index, timing) in Timing::ALL.iter().enumerate() {
        metrics.record_time(*timing, index as u64);
    }
    let seen = snapshot(&metrics);
    for (index, timing) in Timing::ALL.iter().enumerate() {
        assert_eq!(seen.timing(*timing).count(), 1);
        assert_eq!(seen.timing(*timing).max(), Some(index as u64));
        let same = |other: &&Timing| other.name() == timing.name();
        assert_eq!(Timing::ALL.iter().filter(same).count(), 1);
    }
}

/// What is subtracted and what is not.
#[test]
fn a_difference_is_of_the_time_between() {
    let metrics = Metrics::new(2);
    let shard = metrics.shard(0);
    shard.add(Counter::PagesRead, 5);
    shard.raise(Level::RowLockCurrentWaits, 4);
    shard.record_call(Set::LruBatchScanned, 100);
    shard.record_wait(WaitFamily::LogWriter, 8);
    metrics.set(Gauge::FlushPercentForLsn, 30);
    metrics.record_time(Timing::PageRead, 50);
    let warm = metrics.snapshot(&|_: Reading| 1);

    shard.add(Counter::PagesRead, 7);
    shard.lower(Level::RowLockCurrentWaits, 1);
    shard.record_call(Set::LruBatchScanned, 10);
    shard.record_call(Set::LruBatchScanned, 20);
    shard.record_wait(WaitFamily::LogWriter, 0);
    metrics.set(Gauge::FlushPercentForLsn, 40);
    metrics.record_time(Timing::PageRead, 70);
    let end = metrics.snapshot(&|_: Reading| 2);
    let measured = end.since(&warm);

    assert_eq!(measured.counter(Counter::PagesRead), 7);
    assert_eq!(measured.level(Level::RowLockCurrentWaits), 3);
    assert_eq!(measured.set_total(Set::LruBatchScanned), 30);
    assert_eq!(measured.set_calls(Set::LruBatchScanned), 2);
    assert_eq!(measured.waits(WaitFamily::LogWriter), (1, 0, 0));
    assert_eq!(measured.gauge(Gauge::FlushPercentForLsn), 40);
    assert_eq!(metrics.gauge(Gauge::FlushPercentForLsn), 40);
    assert_eq!(measured.reading(Reading::LsnCurrent), 2);
    assert_eq!(measured.timing(Timing::PageRead).sum(), 70);
    // The mean is of the two calls in between, not of all three.
    assert_eq!(measured.metrics()["buffer_LRU_batch_scanned_per_call"], 15);
    assert_eq!(end.metrics()["buffer_LRU_batch_scanned_per_call"], 43);
}

#[test]
fn extremes_can_be_those_of_a_measurement() {
    let metrics = Metrics::new(2);
    metrics.shard(0).record_call(Set::FlushSyncPages, 900);
    metrics.shard(1).record_call(Set::FlushSyncPages, 1);
    assert_eq!(
        snapshot(&metrics).set_extremes(Set::FlushSyncPages),
        Some((1, 900))
    );

    metrics.restart_extremes();
    assert_eq!(snapshot(&metrics).set_extremes(Set::FlushSyncPages), None);
    metrics.shard(0).record_call(Set::FlushSyncPages, 20);
    metrics.shard(1).record_call(Set::FlushSyncPages, 30);
    assert_eq!(
        snapshot(&metrics).set_extremes(Set::FlushSyncPages),
        Some((20, 30))
    );
    assert_eq!(snapshot(&metrics).set_total(Set::FlushSyncPages), 951);
}

#[test]
#[should_panic(expected = "counters do not shrink")]
fn an_earlier_snapshot_must_be_earlier() {
    let metrics = Metrics::new(1);
    let before = snapshot(&metrics);
    metrics.shard(0).increment(Counter::Deadlocks);
    let _ = before.since(&snapshot(&metrics));
}

/// One thing done to the metrics.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(Counter, u64),
    Raise(Level, u64),
    Lower(Level, u64),
    Call(Set, u64),
    Wait(WaitFamily, u64),
    Time(Timing, u64),
    File(FileEvent, FileOperation, u64),
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let one_of = |count: usize| 0..count;
    let amount = 0_u64..1000;
    let step = prop_oneof![
        (one_of(Counter::ALL.len()), amount.clone())
            .prop_map(|(index, amount)| Step::Add(Counter::ALL[index], amount)),
        (one_of(Level::ALL.len()), amount.clone())
            .prop_map(|(index, amount)| Step::Raise(Level::ALL[index], amount)),
        (one_of(Level::ALL.len()), amount.clone())
            .prop_map(|(index, amount)| Step::Lower(Level::ALL[index], amount)),
        (one_of(Set::ALL.len()), amount.clone())
            .prop_map(|(index, amount)| Step::Call(Set::ALL[index], amount)),
        (one_of(WaitFamily::ALL.len()), 0_u64..3)
            .prop_map(|(index, amount)| Step::Wait(WaitFamily::ALL[index], amount)),
        (one_of(Timing::ALL.len()), amount.clone())
            .prop_map(|(index, amount)| Step::Time(Timing::ALL[index], amount)),
        (
            one_of(FileEvent::ALL.len()),
            one_of(FileOperation::ALL.len()),
            amount
        )
            .prop_map(|(event, operation, amount)| {
                Step::File(FileEvent::ALL[event], FileOperation::ALL[operation], amount)
            }),
    ];
    prop::collection::vec((0_usize..9, step), 0..60)
}

fn run(metrics: &Metrics, steps: &[(usize, Step)]) {
    for (hint, step) in steps {
        let shard = metrics.shard(*hint);
        match *step {
            Step::Add(counter, amount) => shard.add(counter, amount),
            Step::Raise(level, amount) => shard.raise(level, amount),
            Step::Lower(level, amount) => shard.lower(level, amount),
            Step::Call(set, amount) => shard.record_call(set, amount),
            Step::Wait(family, rounds) => shard.record_wait(family, rounds),
            Step::Time(timing, time) => metrics.record_time(timing, time),
            Step::File(event, operation, time) => {
                shard.file_operation_begins(event, operation);
                shard.file_operation_ends(event, operation, time, 3 * time);
            }
        }
    }
}

proptest! {
    /// The number of shards is never seen in the figures.
    #[test]
    fn shards_are_invisible(steps in steps()) {
        let (one, many) = (Metrics::new(1), Metrics::new(8));
        run(&one, &steps);
        run(&many, &steps);
        prop_assert_eq!(snapshot(&one), snapshot(&many));
    }

    /// What grows in a measurement after a warm-up is what grows in the measurement alone.
    #[test]
    fn a_warm_up_leaves_no_trace(warm_up in steps(), measurement in steps()) {
        let both = Metrics::new(4);
        run(&both, &warm_up);
        let warm = snapshot(&both);
        both.restart_extremes();
        run(&both, &measurement);
        let measured = snapshot(&both).since(&warm);

        let alone = Metrics::new(4);
        run(&alone, &measurement);
        let alone = snapshot(&alone);

        for counter in Counter::ALL {
            prop_assert_eq!(measured.counter(*counter), alone.counter(*counter));
        }
        for set in Set::ALL {
            prop_assert_eq!(measured.set_total(*set), alone.set_total(*set));
            prop_assert_eq!(measured.set_calls(*set), alone.set_calls(*set));
            prop_assert_eq!(measured.set_extremes(*set), alone.set_extremes(*set));
        }
        for family in WaitFamily::ALL {
            prop_assert_eq!(measured.waits(*family), alone.waits(*family));
        }
        for timing in Timing::ALL {
            prop_assert_eq!(measured.timing(*timing).count(), alone.timing(*timing).count());
            prop_assert_eq!(measured.timing(*timing).sum(), alone.timing(*timing).sum());
        }
        prop_assert_eq!(measured.files(), alone.files());
        for level in Level::ALL {
            prop_assert_eq!(measured.level(*level), warm.level(*level) + alone.level(*level));
        }
    }
}
