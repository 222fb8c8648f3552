//! The JSON documents of `run`, `sweep` and `reproduce`.
//!
//! Their keys are a contract with the programs that read them: names, units and
//! order are fixed, the unit is part of the name (`_s`, `_ms`, `_us`, `_ns`, `_ps`),
//! and under the virtual clock two runs of one seed differ in `host` only. A number
//! that does not exist (a turnover when nothing was evicted, an interval of one
//! sample) is `null`.
//!
//! All floating-point values must be finite: JSON knows no infinity, and `null` in a
//! field that is not optional could not be read back.

mod reproduce;
mod study;
mod sweep;

pub use reproduce::{Cell, Finding, OptionFileText, ReportDocument, ReproduceDocument};
pub use study::{Answer, Constant, ConstantStudy, StudiesDocument, StudyDocument, StudyRow};
pub use sweep::{SweepDocument, SweepPoint, SweepSummary};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `run --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunDocument {
    /// innosim's version.
    pub innosim: String,
    /// `virtual` or `real`.
    pub clock: String,
    /// The machine profile's name.
    pub machine: String,
    /// The flavor: `mysql-8.4`, ...
    pub flavor: String,
    /// What rows, pool and redo capacity were divided by.
    pub scale: u64,
    /// The run's seed.
    pub seed: u64,
    /// The workload's name.
    pub workload: String,
    /// Client threads.
    pub threads: u32,
    /// Tables.
    pub tables: u32,
    /// Rows a table, before scaling.
    pub table_size: u64,
    /// Length of the measurement, in seconds.
    pub time_s: f64,
    /// Events that ended well.
    pub transactions: u64,
    /// Statements.
    pub queries: u64,
    /// Transactions a second.
    pub tps: f64,
    /// Statements a second.
    pub qps: f64,
    /// Events that ended in a deadlock, a lock timeout or another error.
    pub errors: u64,
    /// Latencies of events.
    pub latency_ms: LatencyMs,
    /// The series, one entry an interval.
    pub intervals: Vec<Interval>,
    /// System variables in force.
    pub variables: BTreeMap<String, Value>,
    /// Of the variables that have another value than they would have if nothing were set,
    /// what that value is, on this machine.
    pub defaults: BTreeMap<String, Value>,
    /// `SHOW GLOBAL STATUS`: what the measurement added, or a level at its end.
    pub status: BTreeMap<String, i64>,
    /// `INNODB_METRICS` counters, likewise.
    pub metrics: BTreeMap<String, i64>,
    /// Input and output by kind of file.
    pub files: Vec<FileSummary>,
    /// Latches by name.
    pub latches: Vec<LatchSummary>,
    /// Where the time of a mean transaction went.
    pub time_budget: TimeBudget,
    /// Whether the run's scale can be trusted.
    pub validity: Validity,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What the run cost this host.
    pub host: Host,
}

/// Latencies of whole events, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyMs {
    /// Shortest.
    pub min: f64,
    /// Mean.
    pub avg: f64,
    /// Median, to three digits.
    pub p50: f64,
    /// 95th percentile, to three digits.
    pub p95: f64,
    /// 99th percentile, to three digits.
    pub p99: f64,
    /// Longest.
    pub max: f64,
    /// Sum over all events.
    pub sum: f64,
}

/// One interval of the series. Rates and the latency belong to the interval, the
/// levels to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// End of the interval, in seconds since the measurement began.
    pub t_s: f64,
    /// Transactions a second.
    pub tps: f64,
    /// Statements a second.
    pub qps: f64,
    /// 95th percentile of latency, in milliseconds.
    pub latency_p95_ms: f64,
    /// Bytes of redo since the last checkpoint.
    pub checkpoint_age: u64,
    /// Modified pages in the buffer pool.
    pub dirty_pages: u64,
    /// Pages on the free lists.
    pub free_pages: u64,
    /// Transactions whose undo is not purged.
    pub history_list_length: u64,
    /// Median of latency, in milliseconds.
    pub latency_p50_ms: f64,
    /// 99th percentile of latency, in milliseconds.
    pub latency_p99_ms: f64,
    /// Waits for latches a second, by the latch's name; those that nobody waited for are
    /// left out.
    pub latch_waits_per_s: BTreeMap<String, f64>,
    /// The disks of the machine; none under the real clock, where the host's disk does not
    /// tell.
    pub disks: Vec<DiskQueue>,
}

/// Mean requests inside a disk over an interval: submitted, and not complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskQueue {
    /// The disk's name in the machine's profile.
    pub name: String,
    /// Reads.
    pub reads_in_flight: f64,
    /// Writes.
    pub writes_in_flight: f64,
    /// Flushes.
    pub flushes_in_flight: f64,
}

/// Input and output of one kind of file, as `performance_schema` sums it up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileSummary {
    /// `wait/io/file/innodb/innodb_data_file`, ...
    pub event_name: String,
    /// Reads.
    pub count_read: u64,
    /// Time in reads, in picoseconds.
    pub sum_timer_read_ps: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Writes.
    pub count_write: u64,
    /// Time in writes, in picoseconds.
    pub sum_timer_write_ps: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Flushes (fsync, fdatasync).
    pub count_sync: u64,
    /// Time in flushes, in picoseconds.
    pub sum_timer_sync_ps: u64,
}

/// One latch, or all latches of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatchSummary {
    /// InnoDB's name for it.
    pub name: String,
    /// Times taken.
    pub acquired: u64,
    /// Times that someone had to wait for it.
    pub contended: u64,
    /// Time waited, in nanoseconds.
    pub wait_ns: u64,
    /// Time held, in nanoseconds.
    pub hold_ns: u64,
}

/// Where a transaction's time goes: mean microseconds per transaction. The parts add
/// up to the mean latency.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TimeBudget {
    /// Computing.
    pub cpu: f64,
    /// Ready to compute, but no hardware thread was free.
    pub run_queue: f64,
    /// Waiting for latches.
    pub latch: f64,
    /// Waiting for row locks.
    pub row_lock: f64,
    /// Waiting for pages to be read.
    pub page_read: f64,
    /// Waiting for a free page in the pool.
    pub free_page: f64,
    /// Waiting for a page that is being flushed.
    pub flushed_page: f64,
    /// Waiting for room in the redo log or for its write.
    pub log_write: f64,
    /// Waiting for the redo log's flush at commit.
    pub log_sync: f64,
    /// Waiting to be admitted (`innodb_thread_concurrency`).
    pub admission: f64,
    /// The rest.
    pub other: f64,
}

impl TimeBudget {
    /// The mean of several; `None` of nothing.
    pub fn mean(budgets: &[TimeBudget]) -> Option<TimeBudget> {
        if budgets.is_empty() {
            return None;
        }
        let mean = |part: fn(&TimeBudget) -> f64| {
            budgets.iter().map(part).sum::<f64>() / budgets.len() as f64
        };
        Some(TimeBudget {
            cpu: mean(|budget| budget.cpu),
            run_queue: mean(|budget| budget.run_queue),
            latch: mean(|budget| budget.latch),
            row_lock: mean(|budget| budget.row_lock),
            page_read: mean(|budget| budget.page_read),
            free_page: mean(|budget| budget.free_page),
            flushed_page: mean(|budget| budget.flushed_page),
            log_write: mean(|budget| budget.log_write),
            log_sync: mean(|budget| budget.log_sync),
            admission: mean(|budget| budget.admission),
            other: mean(|budget| budget.other),
        })
    }

    /// The sum of all parts, in microseconds.
    pub fn total(&self) -> f64 {
        self.cpu
            + self.run_queue
            + self.latch
            + self.row_lock
            + self.page_read
            + self.free_page
            + self.flushed_page
            + self.log_write
            + self.log_sync
            + self.admission
            + self.other
    }
}

/// Figures that say whether dividing the sizes by `scale` distorted the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Validity {
    /// Pages that a mean round of the page cleaner flushes / pages of the pool (at most
    /// 0.1).
    pub round_share: f64,
    /// Time in which reads replace the whole pool, in seconds (at least 10); `null` if
    /// nothing was evicted.
    pub turnover_s: Option<f64>,
    /// Mean time from a page's first change to its flush, in seconds (at least 10);
    /// `null` if nothing was flushed.
    pub dirty_to_flush_s: Option<f64>,
    /// Time waited for pages under flush, in microseconds per transaction (at most 10 %
    /// of the effect claimed).
    pub flushed_page_wait_us: f64,
    /// Waits for row locks per transaction (within 1 % of the run at half the scale).
    pub row_lock_waits: f64,
}

/// What the run cost this host; the only part that repeats differently.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Time on the wall, in seconds.
    pub wall_s: f64,
    /// CPU time, in seconds.
    pub cpu_s: f64,
    /// Largest resident set, in bytes.
    pub peak_rss_bytes: u64,
}

#[cfg(test)]
pub(crate) mod tests;
