//! `innosim recover`: open a data directory after a crash.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, Outcome, output, warn};
use crate::recovery::recover;
use crate::run::RunArguments;

/// Open a data directory after a crash, tell what was found, and shut it down.
///
/// Recovery works on the directory's own files, by the real clock. Its settings have to
/// be those of the server that crashed.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The data directory
    #[arg(long, value_name = "D")]
    datadir: PathBuf,
    /// An option file of a server (my.cnf), read by MySQL's rules
    #[arg(long, value_name = "F")]
    defaults_file: Option<PathBuf>,
    /// Set a system variable; counts more than the option file. May be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// The server whose defaults hold [default: mysql-8.4]
    #[arg(long, value_name = "V")]
    flavor: Option<String>,
    /// What sizes were divided by [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    scale: Option<String>,
    /// Check all pages, trees and indexes afterwards; faults are exit code 1
    #[arg(long)]
    check: bool,
    /// Write the report as JSON to a file, or with `-` to standard output in place of text
    #[arg(long, value_name = "F|-")]
    json: Option<PathBuf>,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let arguments = RunArguments {
            defaults_file: self.defaults_file,
            set: self.set,
            flavor: self.flavor,
            scale: self.scale,
            clock: Some("real".into()),
            datadir: Some(self.datadir.clone()),
            ..RunArguments::default()
        };
        let plan = arguments.plan();
        let plan = plan.map_err(|wrong| Failure::Call(wrong.into()))?;
        warn(&plan.warnings);
        let report = recover(&plan, &self.datadir, self.check).map_err(Failure::Work)?;
        output::write(&report, self.json.as_deref()).map_err(Failure::Work)?;
        Ok(match report.faults.is_empty() {
            true => Outcome::Done,
            false => Outcome::CheckFailed,
        })
    }
}
