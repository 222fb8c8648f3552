//! Counters: what InnoDB's users read to see what the engine does.
//!
//! ```text
//!   engine code ──▶ shard 0  shard 1 … ─┐ sums             ┌─▶ SHOW GLOBAL STATUS
//!     increment, raise, record_call     ├──▶ snapshot ─────┼─▶ INNODB_METRICS
//!   engine code ──▶ gauges, histograms ─┤      │ since     ├─▶ file summary
//!   list lengths, LSNs ◀─ asked ────────┘      ▼           └─▶ JSON
//!                                       of a measurement
//! ```
//!
//! **Counting.** A counter that all threads bumped in one place would make the contention
//! that it is to measure: the cache line with the counter would travel from core to core
//! with every bump. So there are several copies, *shards*, on lines of their own; each
//! task bumps the copy that its number points to, with one relaxed atomic addition, and
//! who reads adds them up. InnoDB counts in the same way.
//!
//! **Names.** [`registry`] lists every figure once, with the names that InnoDB's users
//! know. Figures that follow from others (means, ages, sums over files) are not kept but
//! worked out when read, by a rule that the registry names.
//!
//! **Measuring.** A snapshot before and one after make a difference, which leaves the
//! warm-up out: what grows is subtracted, what is a level stays as it is at the end.
//!
//! This module knows no other of the engine. Times come in as picoseconds, lengths of
//! lists and LSNs through [`ValueSource`].
//!
//! ```
//! use innosim_engine::metrics::{Counter, Level, Metrics, Reading};
//!
//! let metrics = Metrics::new(4);
//! let engine = |reading| if reading == Reading::PageSize { 16384 } else { 0 };
//!
//! metrics.shard(7).increment(Counter::RowsRead);
//! let warm = metrics.snapshot(&engine);
//! metrics.shard(2).add(Counter::RowsRead, 10);
//! metrics.shard(2).raise(Level::ActiveTransactions, 1);
//! let measured = metrics.snapshot(&engine).since(&warm);
//!
//! assert_eq!(measured.status()["Innodb_rows_read"], 10);
//! assert_eq!(measured.status()["Innodb_page_size"], 16384);
//! assert_eq!(measured.metrics()["trx_active_transactions"], 1);
//! ```

mod cells;
mod file_io;
mod histogram;
mod innodb_metrics;
pub mod registry;
mod snapshot;
mod store;
mod timing;

#[cfg(test)]
mod tests;

pub use file_io::{FileEvent, FileOperation, FileSummary, OperationSummary};
pub use histogram::LatencyHistogram;
pub use innodb_metrics::InnodbMetricsRow;
pub use registry::{Counter, Gauge, Level, Reading, Set, WaitFamily};
pub use snapshot::MetricsSnapshot;
pub use store::{Metrics, Shard, ValueSource};
pub use timing::Timing;
