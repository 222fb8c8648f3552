//! sysbench workloads, machine profiles, experiments and reports for innosim.
//!
//! The modules, in the order in which an experiment uses them:
//!
//! * [`cli`] – the command line, one file a subcommand.
//! * [`machine`] – machine profiles: processor, disks, which file lies where.
//! * [`demo`] – three settings, on this computer and on a modelled one.
//! * [`kernel`] – reports' mechanisms on the runtime alone, without an engine: they
//!   fix the machine profiles.
//! * [`workload`] – sysbench's OLTP scripts as pure statement generators, and the
//!   tables they run on. Nothing here knows the engine.
//! * [`run`] – one run: options, plan, machine, clients, results.
//! * [`server`] – the engine as what a run's clients talk to.
//! * [`recovery`] – opening a data directory after a crash.
//! * [`crash_test`] – power cuts and killed processes, and whether recovery keeps what
//!   the settings promise.
//! * [`sweep`] – many runs: combinations, processes, summaries.
//! * [`reproduce`] – published reports: their runs, claims and controls.
//! * [`calibrate`] – this host, measured and written down as a machine profile.
//! * [`validate`] – the same runs on this host and on its profile.
//! * [`report`] – what is counted while statements run, sysbench's texts and the
//!   JSON documents made from it.
//! * [`stats`] – means, confidence intervals and fits for comparing runs.
//! * [`complaint`] – errors in words.
//! * [`progress`] – bars and lines on standard error while all that runs.

pub mod calibrate;
pub mod cli;
pub mod complaint;
pub mod crash_test;
pub mod demo;
pub mod kernel;
pub mod machine;
pub mod progress;
pub mod recovery;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod server;
pub mod stats;
pub mod sweep;
pub mod validate;
pub mod workload;
