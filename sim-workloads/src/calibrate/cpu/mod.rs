//! What the engine's own work costs on this host.
//!
//! ```text
//!   micro-runs ──► CPU measured ──┐
//!                                 ├──► non-negative least squares ──► multiples
//!              ──► charges counted┘
//! ```
//!
//! * [`micro_run`] – statements of one kind each, under both clocks.
//! * [`nothing`] – what the driver costs alone.
//! * [`groups`] – which costs can only be told together.
//! * [`fit`] – the multiples, and how sure they are.
//! * [`pages`] – costs of whole pages, each measured by itself.

pub mod fit;
pub mod groups;
pub mod micro_run;
pub mod nothing;
pub mod pages;
