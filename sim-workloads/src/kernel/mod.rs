//! Kernel experiments: a report's mechanism on the runtime alone, without an engine.
//!
//! Each is small enough to read in one sitting. They fix the machine profiles, and
//! they say whether tasks, latches and disk can produce a published effect at all,
//! before an engine is built on them.

pub mod read_views;
