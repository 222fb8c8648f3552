//! Whole reports, byte for byte.

use super::*;
use crate::report::counters::ErrorCounters;

/// Eight threads; the deviations from 1250 events square to 532, so sd is 8.15.
fn threads() -> Vec<ThreadCounters> {
    [15i64, -15, 5, -5, 4, -4, 0, 0]
        .iter()
        .map(|deviation| ThreadCounters {
            events: 1_250u64.checked_add_signed(*deviation).unwrap(),
            execution_ns: 9_998_515_000,
        })
        .collect()
}

fn report(threads: &[ThreadCounters]) -> FinalReport<'_> {
    FinalReport {
        counters: QueryCounters {
            reads: 140_000,
            writes: 40_000,
            others: 20_000,
            transactions: 10_000,
            ..Default::default()
        },
        total_time_s: 10.0029,
        latency: LatencyFigures {
            min: 2.11,
            avg: 7.998_8,
            max: 61.3,
            percentile: 12.984,
            sum: 79_988.12,
        },
        percentile: 95,
        threads,
    }
}

#[test]
fn version_1_0() {
    let expected = "\
SQL statistics:
    queries performed:
        read:                            140000
        write:                           40000
        other:                           20000
        total:                           200000
    transactions:                        10000  (999.71 per sec.)
    queries:                             200000 (19994.20 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          10.0029s
    total number of events:              10000

Latency (ms):
         min:                                    2.11
         avg:                                    8.00
         max:                                   61.30
         95th percentile:                       12.98
         sum:                                79988.12

Threads fairness:
    events (avg/stddev):           1250.0000/8.15
    execution time (avg/stddev):   9.9985/0.00

";
    assert_eq!(report(&threads()).text(SysbenchVersion::V1_0), expected);
}

#[test]
fn version_1_1_has_a_throughput_block() {
    let threads = threads();
    let new = report(&threads).text(SysbenchVersion::V1_1);
    let block = "
Throughput:
    events/s (eps):                      999.7101
    time elapsed:                        10.0029s
    total number of events:              10000
";
    assert!(new.contains(block), "{new}");
    // The rest is 1.0's.
    let old = report(&threads).text(SysbenchVersion::V1_0);
    let general = "
General statistics:
    total time:                          10.0029s
    total number of events:              10000
";
    assert_eq!(new.replace(block, general), old);
}

#[test]
fn version_0_5() {
    let threads = threads();
    let mut report = report(&threads);
    report.counters.errors = ErrorCounters {
        deadlocks: 11,
        lock_wait_timeouts: 1,
        others: 0,
    };
    report.counters.reconnects = 3;
    let expected = "\
OLTP test statistics:
    queries performed:
        read:                            140000
        write:                           40000
        other:                           20000
        total:                           200000
    transactions:                        10000  (999.71 per sec.)
    read/write requests:                 180000 (17994.78 per sec.)
    other operations:                    20000  (1999.42 per sec.)
    ignored errors:                      12     (1.20 per sec.)
    reconnects:                          3      (0.30 per sec.)

General statistics:
    total time:                          10.0029s
    total number of events:              10000
    total time taken by event execution: 79.9881s
    response time:
         min:                                  2.11ms
         avg:                                  8.00ms
         max:                                 61.30ms
         approx.  95 percentile:              12.98ms

Threads fairness:
    events (avg/stddev):           1250.0000/8.15
    execution time (avg/stddev):   9.9985/0.00

";
    assert_eq!(report.text(SysbenchVersion::V0_5), expected);
}

#[test]
fn version_0_4() {
    let threads = threads();
    let mut report = report(&threads);
    report.counters.writes = 50_000;
    report.counters.errors = ErrorCounters {
        deadlocks: 11,
        lock_wait_timeouts: 1,
        others: 0,
    };
    report.percentile = 99;
    let expected = "\
OLTP test statistics:
    queries performed:
        read:                            140000
        write:                           50000
        other:                           20000
        total:                           210000
    transactions:                        10000  (999.71 per sec.)
    deadlocks:                           11     (1.10 per sec.)
    read/write requests:                 190000 (18994.49 per sec.)
    other operations:                    20000  (1999.42 per sec.)

Test execution summary:
    total time:                          10.0029s
    total number of events:              10000
    total time taken by event execution: 79.9881
    per-request statistics:
         min:                                  2.11ms
         avg:                                  8.00ms
         max:                                 61.30ms
         approx.  99 percentile:              12.98ms

Threads fairness:
    events (avg/stddev):           1250.0000/8.15
    execution time (avg/stddev):   9.9985/0.00

";
    assert_eq!(report.text(SysbenchVersion::V0_4), expected);
}

#[test]
fn wide_numbers_push_nothing_out_of_place() {
    let threads = threads();
    let mut report = report(&threads);
    report.counters.reads = 61_109_440;
    report.counters.transactions = 4_364_960;
    report.latency.sum = 38_403_928.94;
    report.percentile = 999;
    let text = report.text(SysbenchVersion::V1_0);
    for line in [
        "        read:                            61109440\n",
        "    transactions:                        4364960 (436369.45 per sec.)\n",
        "        999th percentile:                       12.98\n",
        "         sum:                             38403928.94\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn no_percentile_no_line_and_no_time_no_rate() {
    let mut report = report(&[]);
    report.percentile = 0;
    report.total_time_s = 0.0;
    let text = report.text(SysbenchVersion::V1_0);
    assert!(!text.contains("percentile"), "{text}");
    assert!(text.contains("10000  (0.00 per sec.)"), "{text}");
    assert!(
        text.contains("(avg/stddev):           0.0000/0.00"),
        "{text}"
    );
}

#[test]
fn a_long_latency_keeps_all_its_digits() {
    let mut out = String::new();
    latency(&mut out, "         approx.  95 percentile:", 1e15, "ms");
    assert_eq!(
        out,
        "         approx.  95 percentile:1000000000000000.00ms\n"
    );
}

#[test]
fn percentiles_are_buckets_from_1_0_on() {
    let mut recorder = LatencyRecorder::default();
    recorder.record(50_000_000);
    let percentile = |version| {
        format!(
            "{:.2}",
            LatencyFigures::new(&recorder, 95, version).percentile
        )
    };
    assert_eq!(percentile(SysbenchVersion::V1_0), "50.11");
    assert_eq!(percentile(SysbenchVersion::V0_5), "50.00");
}
