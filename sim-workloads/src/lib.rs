//! sysbench workloads, machine profiles, experiments and reports for innosim.
//!
//! * [`kernel`]: reports' mechanisms on the runtime alone, without an engine.
//! * [`workload`]: what sysbench's scripts do: statements, rows and random numbers.
//! * [`report`]: what was measured, as sysbench's text and as JSON documents.
//! * [`stats`]: confidence intervals and least squares.

pub mod kernel;
pub mod report;
pub mod stats;
pub mod workload;
