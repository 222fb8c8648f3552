//! `innosim crash-test`: power cuts, or a process killed, and what recovery makes of it.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::output::{self, check_file};
use super::{Failure, Outcome, warn};
use crate::crash_test::{CrashArguments, kill};
use crate::progress::Progress;
use crate::run::RunArguments;

/// Crash again and again, recover, and compare what is left with what clients were told.
///
/// Clients run the workload (oltp_write_only and oltp_insert take turns unless one is
/// chosen) with 16 threads on 3 tables of 40000 rows at scale 4, with a small buffer pool and redo log
/// unless an option file says otherwise. --time is the longest time that they work between two crashes
/// (0.25 s, or ten times that at a slow pace; 1 s under the real clock).
///
/// Under the virtual clock the power fails at a random instant, also during recovery; what
/// was not durable is kept, lost or torn in sectors of 4 KiB. Under the real clock a process
/// is killed (SIGKILL): that tests recovery only, because the kernel's page cache survives,
/// and nothing is told of what a loss of power would take away.
///
/// --datadir is a new directory for the files as they are after the last recovery.
///
/// Exit code 0: what the settings promise was kept; or, where they do not protect (a
/// doublewrite buffer that is off, a volatile cache without flushes), the damage was found
/// that they allow. Exit code 1: otherwise; the first faults are listed, with the call that
/// repeats them.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    run: RunArguments,
    /// How often the power fails, or a process is killed [default: 100]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    crashes: Option<String>,
    /// Whether completed writes survive in the disk's cache when the power fails:
    /// protected, volatile, or as in the machine's profile, with its sectors, too
    /// [default: protected]
    #[arg(long, value_name = "protected|volatile|machine")]
    cache: Option<String>,
    /// What must be found: by the settings; nothing; damaged pages alone; any loss
    /// [default: settings]
    #[arg(long, value_name = "settings|nothing|damaged-pages|loss")]
    expect: Option<String>,
    /// Write the results as JSON to a file, or with `-` to standard output in place of text
    #[arg(long, value_name = "F|-")]
    json: Option<PathBuf>,
    /// Be the process that is killed, for the so manieth time
    #[arg(long, value_name = "N", allow_negative_numbers = true, hide = true)]
    victim: Option<u64>,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        if let Some(round) = self.victim {
            kill::be_killed(&self.run, round).map_err(Failure::Work)?;
            return Ok(Outcome::Done);
        }
        let arguments = CrashArguments {
            run: self.run,
            crashes: self.crashes,
            cache: self.cache,
            expect: self.expect,
        };
        let test = arguments
            .test()
            .map_err(|wrong| Failure::Call(wrong.into()))?;
        if let Some(path) = self.json.as_ref().filter(|path| path.as_os_str() != "-") {
            check_file("json", path)?;
        }
        warn(test.warnings());
        let program = std::env::current_exe().context("the program's own path");
        let program = program.map_err(Failure::Work)?;
        let progress = Progress::on_standard_error();
        let document = test.run(&program, &progress).map_err(Failure::Work)?;
        output::write(&document, self.json.as_deref()).map_err(Failure::Work)?;
        Ok(match document.holds {
            true => Outcome::Done,
            false => Outcome::CheckFailed,
        })
    }
}
