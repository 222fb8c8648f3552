//! The driver over a database that only takes time: every figure can be worked out.

use std::sync::atomic::Ordering::Relaxed;

use super::super::sleeping::Sleeping;
use super::*;
use crate::machine::{ServerProfile, StatementWeights};
use crate::workload::ScriptOptions;
use crate::workload::version::Protocol;
use innosim_engine::metrics::Counter;
use innosim_engine::runtime::RealMachine;
use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND};
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};

const NO_SERVER: ServerProfile = ServerProfile {
    statement_us: 0.0,
    statement_cv: 0.5,
    network_us: 0.0,
    weights: StatementWeights {
        begin: 1.0,
        point_select: 1.0,
        range: 1.0,
        write: 1.0,
        commit: 1.0,
        text_protocol: 1.0,
    },
};

fn drive(workload: &str, clients: u32, length: Length) -> Drive {
    let options = ScriptOptions {
        threads: clients,
        ..ScriptOptions::default()
    };
    Drive {
        script: Script::new(workload, &options, 1).unwrap(),
        clients,
        server: ServerLayer::new(&NO_SERVER, Protocol::Prepared, 0.0),
        length,
        interval: SECOND,
        stepped: false,
    }
}

const TEN_SECONDS: Length = Length {
    warm_up: 0,
    time: Some(10 * SECOND),
    events: None,
};

/// Runs a drive under the virtual clock; the lines of the intervals come along.
fn virtually(
    database: Sleeping,
    drive: Drive,
) -> (
    Arc<Sleeping>,
    Result<Measurement, StatementError>,
    Vec<IntervalLine>,
) {
    let options = SimulationOptions::new(CpuProfile::uniform(4), 1);
    let mut simulation = Simulation::new(&options).unwrap();
    let database = Arc::new(database);
    let inside = database.clone();
    let (result, lines) = simulation
        .run(move || {
            let mut lines = Vec::new();
            let result = measure(&inside, &drive, |line| lines.push(*line));
            (result, lines)
        })
        .unwrap();
    (database, result, lines)
}

#[test]
fn rates_are_those_of_the_closed_loop() {
    // 20 statements of 500 µs: 100 events a second for each of eight clients.
    let database = Sleeping::new(500 * MICROSECOND);
    let drive = drive("oltp_read_write", 8, TEN_SECONDS);
    let (database, result, lines) = virtually(database, drive);
    let measurement = result.unwrap();
    assert_eq!(database.closed.load(Relaxed), 8, "every client disconnects");
    let counters = measurement.counters;
    assert_eq!(measurement.time, 10 * SECOND);
    assert!(counters.transactions.abs_diff(8_000) <= 8, "{counters:?}");
    assert_eq!(counters.reads, counters.transactions * 14);
    // The delete of each event hits nothing and counts as other.
    assert_eq!(counters.writes, counters.transactions * 3);
    assert_eq!(counters.others, counters.transactions * 3);
    let latency = measurement.latency.summary();
    assert_eq!((latency.min, latency.max), (10.0, 10.0));
    assert_eq!(measurement.clients.len(), 8);
    let events: u64 = measurement.clients.iter().map(|client| client.events).sum();
    assert_eq!(events, counters.transactions);
    // All the clients' time was spent in these sleeps.
    let waited = measurement.runtime.user_time[WaitKind::RowLock as usize];
    assert_eq!(waited, 80 * SECOND);

    assert_eq!(measurement.intervals.len(), 10);
    let transactions: u64 = lines.iter().map(|line| line.counters.transactions).sum();
    assert_eq!(transactions, counters.transactions);
    for (second, interval) in (1..).zip(&measurement.intervals) {
        assert_eq!(interval.t_s, f64::from(second));
        assert!((interval.tps - 800.0).abs() <= 8.0, "{interval:?}");
        assert!(
            (interval.latency_p95_ms / 10.0 - 1.0).abs() < 0.02,
            "{interval:?}"
        );
        assert_eq!(interval.dirty_pages, 7);
    }
}

#[test]
fn the_warm_up_leaves_no_trace() {
    let length = Length {
        warm_up: 5 * SECOND,
        ..TEN_SECONDS
    };
    let database = Sleeping::new(MILLISECOND);
    let (database, result, _) = virtually(database, drive("oltp_point_select", 1, length));
    let measurement = result.unwrap();
    assert!(measurement.counters.transactions.abs_diff(10_000) <= 1);
    let counted = measurement.metrics.counter(Counter::RowsRead);
    assert!(counted.abs_diff(10_000) <= 1, "{counted}");
    assert!(database.statements.load(Relaxed) >= 15_000);
}

#[test]
fn a_number_of_events_is_kept_to_the_last() {
    for (clients, warm_up) in [(1, 0), (3, 0), (3, SECOND)] {
        let length = Length {
            warm_up,
            time: None,
            events: Some(1_000),
        };
        let drive = drive("oltp_point_select", clients, length);
        let (_, result, _) = virtually(Sleeping::new(MILLISECOND), drive);
        let measurement = result.unwrap();
        let begun_before = if warm_up > 0 { u64::from(clients) } else { 0 };
        let transactions = measurement.counters.transactions;
        assert!(
            (1_000..=1_000 + begun_before).contains(&transactions),
            "{transactions}"
        );
        let expected = SECOND / u64::from(clients);
        assert!(
            measurement.time.abs_diff(expected) <= 2 * MILLISECOND,
            "{}",
            measurement.time
        );
    }
}

#[test]
fn a_stepped_run_steps_after_every_hundred_events() {
    let length = Length {
        warm_up: 0,
        time: None,
        events: Some(1_050),
    };
    let drive = Drive {
        stepped: true,
        ..drive("oltp_point_select", 1, length)
    };
    let (database, result, _) = virtually(Sleeping::new(MICROSECOND), drive.clone());
    assert_eq!(result.unwrap().counters.transactions, 1_050);
    assert_eq!(database.steps.load(Relaxed), 10);

    let database = Arc::new(Sleeping::new(MICROSECOND));
    let result = RealMachine::new(1).run(|| measure(&database, &drive, |_| {}));
    assert_eq!(result.unwrap().counters.transactions, 1_050);
    assert_eq!(database.steps.load(Relaxed), 10);
}

#[test]
fn a_deadlock_is_rolled_back_and_the_event_tried_again() {
    let length = Length {
        warm_up: 0,
        time: None,
        events: Some(100),
    };
    let database = Sleeping {
        deadlock_every: 50,
        ..Sleeping::new(MILLISECOND)
    };
    let (database, result, _) = virtually(database, drive("oltp_read_write", 1, length));
    let measurement = result.unwrap();
    assert_eq!(measurement.counters.transactions, 100);
    let deadlocks = measurement.counters.errors.deadlocks;
    assert!(deadlocks > 40, "{deadlocks}");
    assert_eq!(database.rollbacks.load(Relaxed), deadlocks);
    // The lost attempts are part of the latencies, and their statements were sent.
    let statements = database.statements.load(Relaxed);
    assert_eq!(measurement.latency.summary().sum, statements as f64);
    assert_eq!(measurement.counters.queries(), statements - deadlocks);
}

#[test]
fn a_failure_ends_the_run_at_once() {
    let database = Sleeping {
        fail_at: 500,
        ..Sleeping::new(MILLISECOND)
    };
    let (database, result, _) = virtually(database, drive("oltp_read_write", 4, TEN_SECONDS));
    assert_eq!(result.unwrap_err().to_string(), "the disk is full");
    assert!(database.statements.load(Relaxed) < 600);
    assert!(database.failed.load(Relaxed) > 0, "nobody is left waiting");
}

#[test]
fn one_seed_gives_one_run() {
    let run = || {
        let drive = drive("oltp_read_write", 5, TEN_SECONDS);
        let (_, result, lines) = virtually(Sleeping::new(137 * MICROSECOND), drive);
        let measurement = result.unwrap();
        (
            measurement.counters,
            measurement.intervals,
            measurement.runtime,
            lines,
        )
    };
    assert_eq!(run(), run());
}

#[test]
fn clients_that_want_every_cpu_end_in_time_and_all_is_counted() {
    let length = Length {
        warm_up: 100 * MILLISECOND,
        time: Some(SECOND),
        events: None,
    };
    let drive = Drive {
        interval: 250 * MILLISECOND,
        ..drive("oltp_point_select", 200, length)
    };
    let database = Arc::new(Sleeping::new(0));
    let mut lines = Vec::new();
    let begin = std::time::Instant::now();
    let measurement = RealMachine::new(1)
        .run(|| measure(&database, &drive, |line| lines.push(*line)))
        .unwrap();
    let took = begin.elapsed().as_secs_f64();
    assert!(took < 10.0, "{took} s");
    assert_eq!(measurement.time, SECOND);
    let counters = measurement.counters;
    assert!(counters.transactions > 0);
    assert_eq!(measurement.latency.count(), counters.transactions);
    let events: u64 = measurement.clients.iter().map(|client| client.events).sum();
    assert_eq!(events, counters.transactions);
    let of_lines: u64 = lines.iter().map(|line| line.counters.transactions).sum();
    // Each client may have one event that ended in time and was counted a moment later.
    assert!(counters.transactions - of_lines <= 200, "{of_lines}");
    let length: f64 = lines.iter().map(|line| line.length_s).sum();
    assert!((length - 1.0).abs() < 1e-9, "{length}");
}
