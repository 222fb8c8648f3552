//! `innosim kernel`: a report's mechanism without an engine.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use innosim_engine::runtime::virtual_clock::Settle;

use super::{Failure, Outcome, output};
use crate::kernel::{Kernel, KernelOptions};
use crate::machine::MachineProfile;
use crate::progress::Progress;

/// Run a report's mechanism on the runtime alone, and hold it against the published figures.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The experiment.
    #[arg(value_enum)]
    name: Name,
    /// When CPU time is accounted for: before anybody could notice, or at every latch.
    #[arg(long, value_enum, default_value_t = SettleRule::Lazy)]
    settle: SettleRule,
    /// The first seed; the same seed gives the same result to the last bit.
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        default_value_t = 1
    )]
    seed: u64,
    /// A machine profile by name, or a TOML file; by default that of the report.
    #[arg(long, value_name = "NAME|F.toml")]
    machine: Option<String>,
    /// Shorter runs of one seed, without the tables of what the result hangs on.
    #[arg(long)]
    quick: bool,
    /// Write the results as JSON to a file, or with `-` to standard output in place of text.
    #[arg(long, value_name = "F|-")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    /// RR against RC: read views under one mutex (isolation-levels).
    ReadViews,
    /// 128 against 16 pages: who waits behind a batch (doublewrite-pages).
    DoublewriteQueue,
    /// Sixteen spindles and the span of their seeks (buffer-pool-instances).
    Array,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SettleRule {
    Lazy,
    Always,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let kernel = match self.name {
            Name::ReadViews => Kernel::ReadViews,
            Name::DoublewriteQueue => Kernel::DoublewriteQueue,
            Name::Array => Kernel::Array,
        };
        let machine = self.machine.as_deref();
        let machine = MachineProfile::load(machine.unwrap_or(kernel.default_machine()))
            .map_err(|error| Failure::Call(error.into()))?;
        kernel.check_machine(&machine).map_err(Failure::Call)?;
        let options = KernelOptions {
            machine,
            settle: match self.settle {
                SettleRule::Lazy => Settle::Lazy,
                SettleRule::Always => Settle::Always,
            },
            seed: self.seed,
            quick: self.quick,
            progress: Progress::on_standard_error(),
        };
        let report = kernel.report(&options).map_err(Failure::Work)?;
        output::write(&report, self.json.as_deref()).map_err(Failure::Work)?;
        Ok(if report.all_hold() {
            Outcome::Done
        } else {
            Outcome::CheckFailed
        })
    }
}
