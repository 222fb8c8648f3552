//! A run: from a call to sysbench's report and a JSON document.
//!
//! ```text
//!   arguments ──► plan ──► machine ──► database ──► measure ──► document, text
//!   (as typed)   (checked)  (clock,     (open)      (clients,    (results)
//!                            files)                  intervals)
//! ```
//!
//! * [`arguments`] – the options as typed, shared by every command with a run in it.
//! * [`plan`] – everything read and checked, with all problems at once; [`not_built`] is
//!   what a flavor lacks.
//! * [`data_directory`], [`space`] – where on the host the files are, and whether they fit.
//! * [`children`] – processes that end with this one.
//! * [`machine`] – the simulation or the host.
//! * [`database`] – what the driver asks of an engine.
//! * [`measure`] – clients, phases, intervals; [`server_layer`] is what their statements
//!   cost outside the engine, [`recorder`] what they count, [`interval_waits`] what they and
//!   the disks wait for in an interval.
//! * [`space`], [`pool_memory`] – whether the host has what a run will need.
//! * [`execute`] – all of it in order; [`snapshot`] – several futures of one warm-up, and
//!   [`futures`] their texts.
//! * [`document`] – the JSON document; [`validity`] says whether its scale can be trusted.
//! * [`text`] – what is printed.

pub mod arguments;
pub mod children;
mod client;
pub mod data_directory;
pub mod database;
pub mod document;
pub mod execute;
pub mod futures;
mod gate;
pub mod host_usage;
mod interval_waits;
pub mod machine;
pub mod measure;
pub mod not_built;
pub mod option_files;
pub mod plan;
pub mod pool_memory;
pub mod recorder;
pub mod server_layer;
#[cfg(test)]
mod sleeping;
pub mod snapshot;
pub mod space;
pub mod text;
pub mod validity;

pub use arguments::RunArguments;
pub use client::EVENTS_PER_STEP;
pub use execute::{NobodyWatches, RunResult, Server, Watch, execute};
pub use measure::{Drive, Measurement, measure};
pub use plan::{Clock, Length, Problems, RunFiles, RunPlan};
