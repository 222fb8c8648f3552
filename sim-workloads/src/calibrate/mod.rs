//! `innosim calibrate`: this host, measured under the real clock and written down as a
//! machine profile.
//!
//! ```text
//!   cpu      micro-runs: CPU measured, charges counted  ──► [costs], [server]
//!   latches  lines, wake-ups, switches                  ──► [cpu]
//!   disk     requests on files, the model at the same   ──► [disks], io_call_us
//! ```
//!
//! Everything that is fitted is then *run* on the virtual machine at the points that were
//! measured, and the report shows the error of each.
//!
//! * [`cpu`], [`latches`], [`disk`] – the parts.
//! * [`host_profile`] – the profile as text, each number with its source.
//! * [`execute`] – the parts in their order.
//! * [`report`] – what is printed, and the JSON document.

pub mod cpu;
pub mod disk;
pub mod execute;
pub mod host_profile;
pub mod latches;
pub mod report;
