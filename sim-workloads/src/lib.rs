//! sysbench workloads, machine profiles, experiments and reports for innosim.

pub mod kernel;
