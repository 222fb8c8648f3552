//! Many runs: every combination of what varies, for every seed.
//!
//! ```text
//!   --vary innodb_doublewrite_pages=16,128          pages threads seed
//!   --vary threads=16,64            ──► grid ──►      16     16     1 ─┐
//!   --repeat 2                                        16     16     2  ├─► a process
//!                                                     16     64     1  │   each
//!                                                     …                ┘
//!                        CSV, JSON, table ◄── summary over seeds ◄── documents
//! ```
//!
//! Every run is a process of its own (the same program, `run … --json -`): a simulation
//! lives on one thread, and what one run leaves in memory must not reach another. All
//! combinations are checked before the first process starts. A run that fails is named,
//! and the others go on.
//!
//! * [`grid`] – which runs there are.
//! * [`jobs`] – the processes.
//! * [`table`] – the summary as text and as CSV.

pub mod grid;
pub mod jobs;
pub mod table;

pub use grid::{Grid, GridPoint, Vary};
pub use jobs::{Outcome, Runner};
