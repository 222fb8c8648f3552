//! The lines that sysbench prints while it runs (`--report-interval`).
//!
//! ```text
//!   1.0  [ 10s ] thds: 8 tps: 999.71 qps: 19994.20 (r/w/o: 13995.94/3998.84/1999.42)
//!                lat (ms,95%): 12.98 err/s: 0.00 reconn/s: 0.00        (one line)
//!        [ 10s ] queue length: 3, concurrency: 8                       (with --rate)
//!   0.5  [  10s] threads: 8, tps: 999.71, reads: 13995.94, writes: 3998.84,
//!                response time: 12.98ms (95%), errors: 0.00, reconnects:  0.00
//!   0.4  [  10s] threads: 8, tps: 999.71, reads/s: 13995.94, writes/s: 3998.84,
//!                response time: 12.98ms (95%)
//! ```

use std::fmt::Write as _;

use super::counters::QueryCounters;
use crate::workload::SysbenchVersion;

/// The state of the arrival queue under `--rate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// Transactions that arrived and wait for a thread.
    pub length: u64,
    /// Threads at work.
    pub concurrency: u64,
}

/// One interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalLine {
    /// Time since the start of the measurement, in seconds; printed as an integer.
    pub elapsed_s: f64,
    /// Client threads.
    pub threads: u32,
    /// What this interval added.
    pub counters: QueryCounters,
    /// Length of this interval, in seconds.
    pub length_s: f64,
    /// The percentile of this interval's latencies, in milliseconds.
    pub latency_ms: f64,
    /// Which percentile (95).
    pub percentile: u32,
    /// The arrival queue, under `--rate`.
    pub queue: Option<QueueState>,
}

impl IntervalLine {
    /// The line (two with a queue) as that version prints it, with its line end.
    pub fn text(&self, version: SysbenchVersion) -> String {
        let counters = &self.counters;
        let rate = |count: u64| {
            if self.length_s > 0.0 {
                count as f64 / self.length_s
            } else {
                0.0
            }
        };
        let (elapsed, threads) = (self.elapsed_s, self.threads);
        let tps = rate(counters.transactions);
        let (reads, writes) = (rate(counters.reads), rate(counters.writes));
        let (latency, percentile) = (self.latency_ms, self.percentile);
        let (errors, reconnects) = (rate(counters.errors.total()), rate(counters.reconnects));
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = match version {
            SysbenchVersion::V1_0 | SysbenchVersion::V1_1 => writeln!(
                out,
                "[ {elapsed:.0}s ] thds: {threads} tps: {tps:4.2} qps: {:4.2} \
                 (r/w/o: {reads:4.2}/{writes:4.2}/{:4.2}) lat (ms,{percentile}%): {latency:4.2} \
                 err/s: {errors:4.2} reconn/s: {reconnects:4.2}",
                rate(counters.queries()),
                rate(counters.others),
            ),
            SysbenchVersion::V0_5 => writeln!(
                out,
                "[{elapsed:4.0}s] threads: {threads}, tps: {tps:4.2}, reads: {reads:4.2}, \
                 writes: {writes:4.2}, response time: {latency:4.2}ms ({percentile}%), \
                 errors: {errors:4.2}, reconnects: {reconnects:5.2}",
            ),
            SysbenchVersion::V0_4 => writeln!(
                out,
                "[{elapsed:4.0}s] threads: {threads}, tps: {tps:4.2}, reads/s: {reads:4.2}, \
                 writes/s: {writes:4.2}, response time: {latency:4.2}ms ({percentile}%)",
            ),
        };
        if let Some(QueueState {
            length,
            concurrency,
        }) = self.queue
        {
            let _ = writeln!(
                out,
                "[ {elapsed:.0}s ] queue length: {length}, concurrency: {concurrency}"
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::counters::ErrorCounters;

    fn line() -> IntervalLine {
        IntervalLine {
            elapsed_s: 10.0003,
            threads: 8,
            counters: QueryCounters {
                reads: 28_000,
                writes: 8_000,
                others: 4_000,
                transactions: 2_000,
                errors: ErrorCounters {
                    deadlocks: 1,
                    ..Default::default()
                },
                reconnects: 0,
            },
            length_s: 2.0,
            latency_ms: 12.984,
            percentile: 95,
            queue: None,
        }
    }

    #[test]
    fn each_version_has_its_line() {
        assert_eq!(
            line().text(SysbenchVersion::V1_0),
            "[ 10s ] thds: 8 tps: 1000.00 qps: 20000.00 (r/w/o: 14000.00/4000.00/2000.00) \
             lat (ms,95%): 12.98 err/s: 0.50 reconn/s: 0.00\n"
        );
        assert_eq!(
            line().text(SysbenchVersion::V0_5),
            "[  10s] threads: 8, tps: 1000.00, reads: 14000.00, writes: 4000.00, \
             response time: 12.98ms (95%), errors: 0.50, reconnects:  0.00\n"
        );
        assert_eq!(
            line().text(SysbenchVersion::V0_4),
            "[  10s] threads: 8, tps: 1000.00, reads/s: 14000.00, writes/s: 4000.00, \
             response time: 12.98ms (95%)\n"
        );
    }

    #[test]
    fn a_rate_adds_the_queue() {
        let queue = Some(QueueState {
            length: 3,
            concurrency: 8,
        });
        let text = IntervalLine { queue, ..line() }.text(SysbenchVersion::V1_1);
        assert_eq!(
            text.lines().nth(1),
            Some("[ 10s ] queue length: 3, concurrency: 8")
        );
    }
}
