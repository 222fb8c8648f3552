//! The report at the end of a run, as each sysbench prints it.
//!
//! Labels start at the left and values at fixed columns, counted from 0:
//!
//! ```text
//!   0         1         2         3    3    4         5
//!   0         0         0         0    5    1         1  (line ends at 53)
//!       transactions:                        10000  (999.71 per sec.)
//!            min:                                    2.11
//!       events (avg/stddev):           1250.0000/8.15
//! ```
//!
//! * 1.0: SQL statistics, General statistics, Latency, Threads fairness.
//! * 1.1: "Throughput" replaces "General statistics".
//! * 0.5: "OLTP test statistics", response times inside "General statistics".
//! * 0.4: as 0.5 with deadlocks for errors and older headings.
//!
//! One difference remains: 0.4 adds an "other operation" to every autocommit event
//! of mode `simple`; here only statements that were sent are counted.

// Writing to a string cannot fail, so the results below are dropped.
use std::fmt::Write as _;

use super::counters::{QueryCounters, ThreadCounters};
use super::latency::LatencyRecorder;
use crate::stats::{mean, population_standard_deviation};
use crate::workload::SysbenchVersion;

/// Column of most values.
const VALUE: usize = 41;
/// Column of the fairness values.
const FAIRNESS: usize = 35;
/// Column before which latencies end, a suffix included.
const LATENCY_END: usize = 53;

/// The latencies that a report shows, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyFigures {
    /// Shortest event.
    pub min: f64,
    /// Mean.
    pub avg: f64,
    /// Longest event.
    pub max: f64,
    /// The percentile asked for.
    pub percentile: f64,
    /// Sum over all events.
    pub sum: f64,
}

impl LatencyFigures {
    /// From a run's latencies. The percentile is a bucket's value from sysbench 1.0 on;
    /// the older versions had buckets too fine to see.
    pub fn new(recorder: &LatencyRecorder, percentile: u32, version: SysbenchVersion) -> Self {
        let summary = recorder.summary();
        let percent = f64::from(percentile);
        Self {
            min: summary.min,
            avg: summary.avg,
            max: summary.max,
            percentile: if version >= SysbenchVersion::V1_0 {
                recorder.sysbench_histogram().percentile(percent)
            } else {
                recorder.precise_percentile(percent)
            },
            sum: summary.sum,
        }
    }
}

/// Everything that the final report shows.
#[derive(Debug, Clone, PartialEq)]
pub struct FinalReport<'a> {
    /// Statements and transactions over all threads.
    pub counters: QueryCounters,
    /// Length of the measurement, in seconds.
    pub total_time_s: f64,
    /// Latencies.
    pub latency: LatencyFigures,
    /// Which percentile `latency` holds (95); 0 leaves its line out.
    pub percentile: u32,
    /// One entry a thread.
    pub threads: &'a [ThreadCounters],
}

impl FinalReport<'_> {
    /// The report in that version's layout; it ends with a blank line.
    pub fn text(&self, version: SysbenchVersion) -> String {
        let mut out = String::new();
        match version {
            SysbenchVersion::V1_0 | SysbenchVersion::V1_1 => {
                self.sql_statistics(&mut out);
                if version == SysbenchVersion::V1_0 {
                    heading(&mut out, "General statistics:");
                    value(
                        &mut out,
                        "total time:",
                        format!("{:.4}s", self.total_time_s),
                    );
                } else {
                    heading(&mut out, "Throughput:");
                    let rate = self.per_second(self.counters.transactions);
                    value(&mut out, "events/s (eps):", format!("{rate:.4}"));
                    value(
                        &mut out,
                        "time elapsed:",
                        format!("{:.4}s", self.total_time_s),
                    );
                }
                value(
                    &mut out,
                    "total number of events:",
                    self.counters.transactions,
                );
                heading(&mut out, "Latency (ms):");
                self.latencies(&mut out, "");
                latency(&mut out, "         sum:", self.latency.sum, "");
            }
            SysbenchVersion::V0_5 => {
                self.oltp_statistics(&mut out, false);
                heading(&mut out, "General statistics:");
                self.execution(&mut out, "s", "response time:");
            }
            SysbenchVersion::V0_4 => {
                self.oltp_statistics(&mut out, true);
                heading(&mut out, "Test execution summary:");
                self.execution(&mut out, "", "per-request statistics:");
            }
        }
        self.fairness(&mut out);
        out
    }

    /// 1.0's and 1.1's first block.
    fn sql_statistics(&self, out: &mut String) {
        out.push_str("SQL statistics:\n");
        self.queries_performed(out);
        self.count(out, "transactions:", self.counters.transactions);
        self.count(out, "queries:", self.counters.queries());
        self.count(out, "ignored errors:", self.counters.errors.total());
        self.count(out, "reconnects:", self.counters.reconnects);
    }

    /// 0.4's and 0.5's first block; they name and place errors differently.
    fn oltp_statistics(&self, out: &mut String, deadlocks: bool) {
        let counters = &self.counters;
        out.push_str("OLTP test statistics:\n");
        self.queries_performed(out);
        self.count(out, "transactions:", counters.transactions);
        if deadlocks {
            self.count(out, "deadlocks:", counters.errors.deadlocks);
        }
        self.count(
            out,
            "read/write requests:",
            counters.reads + counters.writes,
        );
        self.count(out, "other operations:", counters.others);
        if !deadlocks {
            self.count(out, "ignored errors:", counters.errors.total());
            self.count(out, "reconnects:", counters.reconnects);
        }
    }

    fn queries_performed(&self, out: &mut String) {
        out.push_str("    queries performed:\n");
        let counters = &self.counters;
        for (label, count) in [
            ("read:", counters.reads),
            ("write:", counters.writes),
            ("other:", counters.others),
            ("total:", counters.queries()),
        ] {
            line(out, 8, label, VALUE, count);
        }
    }

    /// 0.4's and 0.5's times.
    fn execution(&self, out: &mut String, seconds: &str, subheading: &str) {
        value(out, "total time:", format!("{:.4}s", self.total_time_s));
        value(out, "total number of events:", self.counters.transactions);
        let executed = self.latency.sum / 1e3;
        value(
            out,
            "total time taken by event execution:",
            format!("{executed:.4}{seconds}"),
        );
        let _ = writeln!(out, "    {subheading}");
        self.latencies(out, "ms");
    }

    /// min, avg, max and the percentile.
    fn latencies(&self, out: &mut String, unit: &str) {
        latency(out, "         min:", self.latency.min, unit);
        latency(out, "         avg:", self.latency.avg, unit);
        latency(out, "         max:", self.latency.max, unit);
        let head = match (self.percentile, unit) {
            (0, _) => return,
            (percentile, "") => format!("        {percentile:>3}th percentile:"),
            (percentile, _) => format!("         approx.  {percentile} percentile:"),
        };
        latency(out, &head, self.latency.percentile, unit);
    }

    fn fairness(&self, out: &mut String) {
        heading(out, "Threads fairness:");
        let events: Vec<f64> = self.threads.iter().map(|t| t.events as f64).collect();
        let seconds: Vec<f64> = self
            .threads
            .iter()
            .map(|t| t.execution_ns as f64 / 1e9)
            .collect();
        for (label, values) in [
            ("events (avg/stddev):", &events),
            ("execution time (avg/stddev):", &seconds),
        ] {
            let average = mean(values).unwrap_or(0.0);
            let deviation = population_standard_deviation(values);
            line(
                out,
                4,
                label,
                FAIRNESS,
                format!("{average:.4}/{deviation:.2}"),
            );
        }
        out.push('\n');
    }

    /// A count padded to six places and its rate.
    fn count(&self, out: &mut String, label: &str, count: u64) {
        value(
            out,
            label,
            format!("{count:<6} ({:.2} per sec.)", self.per_second(count)),
        );
    }

    fn per_second(&self, count: u64) -> f64 {
        if self.total_time_s > 0.0 {
            count as f64 / self.total_time_s
        } else {
            0.0
        }
    }
}

fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "\n{text}");
}

fn value(out: &mut String, label: &str, value: impl std::fmt::Display) {
    line(out, 4, label, VALUE, value);
}

fn line(out: &mut String, indent: usize, label: &str, column: usize, v: impl std::fmt::Display) {
    let width = column - indent;
    let _ = writeln!(out, "{:indent$}{label:<width$}{v}", "");
}

/// A latency whose line ends at a fixed column; `head` is the label with its indent.
fn latency(out: &mut String, head: &str, ms: f64, unit: &str) {
    let width = LATENCY_END.saturating_sub(head.len() + unit.len());
    let _ = writeln!(out, "{head}{ms:>width$.2}{unit}");
}

#[cfg(test)]
mod tests;
