//! Kernel experiments: a report's mechanism on the runtime alone, without an engine.
//!
//! ```text
//!   machine profile ──► one file of model, at most 300 lines ──► figures ──► bars
//!                       (tasks, latches, CPU charges, disk)                  published
//!                                                                            against simulated
//! ```
//!
//! Each is small enough to read in one sitting. They fix the machine profiles, and
//! they say whether tasks, latches and disk can produce a published effect at all,
//! before an engine is built on them.
//!
//! * [`read_views`] – read views under `trx_sys->mutex` (isolation-levels);
//! * [`doublewrite_queue`] – who waits behind a doublewrite batch (doublewrite-pages);
//! * [`array`] – sixteen spindles and the span of their seeks (buffer-pool-instances).

pub mod array;
pub mod doublewrite_queue;
pub mod read_views;
mod report;

use std::fmt;

use innosim_engine::runtime::time::Time;
use innosim_engine::runtime::virtual_clock::Settle;

use crate::machine::MachineProfile;
use crate::progress::Progress;

pub use report::{Bar, KernelReport, Table, Value};

/// The kernel experiments by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// [`read_views`].
    ReadViews,
    /// [`doublewrite_queue`].
    DoublewriteQueue,
    /// [`array`].
    Array,
}

impl Kernel {
    /// All of them.
    pub const ALL: [Kernel; 3] = [Kernel::ReadViews, Kernel::DoublewriteQueue, Kernel::Array];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Kernel::ReadViews => "read-views",
            Kernel::DoublewriteQueue => "doublewrite-queue",
            Kernel::Array => "array",
        }
    }

    /// The machine of the report that the kernel is about.
    pub const fn default_machine(self) -> &'static str {
        match self {
            Kernel::ReadViews => "quad-144-ramdisk",
            Kernel::DoublewriteQueue => "nvme-24core",
            Kernel::Array => "array-16-spindles",
        }
    }

    /// Whether a machine has what the experiment is about.
    ///
    /// # Errors
    /// If not, naming the key and what is accepted.
    pub fn check_machine(self, machine: &MachineProfile) -> anyhow::Result<()> {
        match self {
            Kernel::ReadViews => Ok(()),
            Kernel::DoublewriteQueue => {
                doublewrite_queue::controls::solid_state(&mut machine.clone()).map(|_| ())
            }
            Kernel::Array => array::check_capacity(machine),
        }
    }

    /// Runs the experiment.
    ///
    /// # Errors
    /// If the machine cannot be built or the simulation stalls.
    pub fn report(self, options: &KernelOptions) -> anyhow::Result<KernelReport> {
        match self {
            Kernel::ReadViews => read_views::report(options),
            Kernel::DoublewriteQueue => doublewrite_queue::report(options),
            Kernel::Array => array::report(options),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How an experiment is run.
#[derive(Debug)]
pub struct KernelOptions {
    /// The machine.
    pub machine: MachineProfile,
    /// When debts of CPU are settled.
    pub settle: Settle,
    /// The first seed; an experiment that needs several uses those that follow.
    pub seed: u64,
    /// Shorter, with fewer seeds and without tables of sensitivity.
    pub quick: bool,
    /// Where steps are announced.
    pub progress: Progress,
}

/// How long a cell runs.
#[derive(Debug, Clone, Copy)]
pub struct Length {
    /// Not measured.
    pub warm_up: Time,
    /// Measured.
    pub measure: Time,
}
