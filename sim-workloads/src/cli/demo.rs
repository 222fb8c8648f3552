//! `innosim demo`: the first thing to try.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::{Failure, Outcome, output};
use crate::demo::demo;
use crate::progress::Progress;

/// Show what three settings do, on this computer's disk and on a modelled server.
///
/// Takes up to two minutes and 2 GiB, in a temporary directory that is removed. It shows
/// shapes: published figures take longer.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Write the results as JSON to a file, or with `-` to standard output in place of text
    #[arg(long, value_name = "F|-")]
    json: Option<PathBuf>,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let program = std::env::current_exe().context("the program's own path");
        let program = program.map_err(Failure::Work)?;
        let progress = Progress::on_standard_error();
        let found = demo(&program, &progress);
        progress.finish();
        let found = found.map_err(Failure::Work)?;
        output::write(&found, self.json.as_deref()).map_err(Failure::Work)?;
        Ok(Outcome::Done)
    }
}
