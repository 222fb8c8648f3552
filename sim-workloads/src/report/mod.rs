//! What a run tells: counters, latencies, sysbench's texts, JSON.
//!
//! ```text
//!   driver --- statement done ---> counters --+
//!          --- event done -------> latency ---+--> final_report, interval   (text)
//!   engine --- metrics, files, latches -------+--> json                     (documents)
//!                                                    +--> html              (pages)
//! ```
//!
//! The texts are those of the sysbench that the script belongs to, column by column,
//! so that whatever reads sysbench's output reads ours.

pub mod counters;
pub mod final_report;
pub mod html;
pub mod interval;
pub mod json;
pub mod latency;
pub mod preamble;

pub use counters::{ErrorCounters, QueryCounters, ThreadCounters};
pub use final_report::{FinalReport, LatencyFigures};
pub use interval::IntervalLine;
pub use latency::{LatencyRecorder, LogHistogram, SharedLogHistogram};
