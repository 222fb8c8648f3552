//! The command line: one file a subcommand.
//!
//! ```text
//!   innosim SUBCOMMAND OPTIONS      progress ► standard error     results ► standard output
//!
//!   exit 0   done
//!   exit 1   the work failed, or a check did not hold
//!   exit 2   the call was wrong, or a file that it names
//! ```
//!
//! A subcommand is a struct of clap's arguments with a method `run` that returns an
//! [`Outcome`] or a [`Failure`]; what it does lives elsewhere in this crate.

mod crash_test;
mod demo;
mod explain;
mod kernel;
mod output;
mod prepare;
mod recover;
mod reproduce;
mod run;
mod sweep;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::complaint::{in_words, printable};
use crate::progress::say;

/// An InnoDB-like storage engine in real and in virtual time.
#[derive(Debug, Parser)]
#[command(name = "innosim", version, about)]
struct Innosim {
    #[command(subcommand)]
    subcommand: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    CrashTest(crash_test::Arguments),
    Demo(demo::Arguments),
    Explain(explain::Arguments),
    Kernel(kernel::Arguments),
    Prepare(prepare::Arguments),
    Recover(recover::Arguments),
    Reproduce(reproduce::Arguments),
    Run(run::Arguments),
    Sweep(sweep::Arguments),
}

/// How a subcommand that did its work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Everything that was checked holds.
    Done,
    /// A check did not hold; the results say which.
    CheckFailed,
}

/// Why a subcommand could not do its work.
#[derive(Debug)]
enum Failure {
    /// The call, or a file that it names, is wrong.
    Call(anyhow::Error),
    /// The work failed.
    Work(anyhow::Error),
}

/// Runs a call, program name first, and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let innosim = match Innosim::try_parse_from(arguments) {
        Ok(innosim) => innosim,
        Err(message) => {
            // `--help` and `--version` come this way too: they go to standard output
            // and are no errors. A closed pipe has nobody left to complain to.
            let _ = message.print();
            return ExitCode::from(if message.use_stderr() { 2 } else { 0 });
        }
    };
    let result = match innosim.subcommand {
        Command::CrashTest(arguments) => arguments.run(),
        Command::Demo(arguments) => arguments.run(),
        Command::Explain(arguments) => arguments.run(),
        Command::Kernel(arguments) => arguments.run(),
        Command::Prepare(arguments) => arguments.run(),
        Command::Recover(arguments) => arguments.run(),
        Command::Reproduce(arguments) => arguments.run(),
        Command::Run(arguments) => arguments.run(),
        Command::Sweep(arguments) => arguments.run(),
    };
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::CheckFailed) => ExitCode::from(1),
        Err(Failure::Work(error)) => {
            complain(&error);
            ExitCode::from(1)
        }
        Err(Failure::Call(error)) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
}

/// Tells what the user should know, on standard error.
fn warn(warnings: &[String]) {
    for warning in warnings.iter().map(|warning| printable(warning)) {
        match warning.strip_prefix("note: ") {
            Some(note) => say(format_args!("innosim: note: {note}")),
            None => say(format_args!("innosim: warning: {warning}")),
        }
    }
}

/// An error may be many problems, one a line.
fn complain(error: &anyhow::Error) {
    for line in in_words(error).lines() {
        say(format_args!("innosim: {}", printable(line)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Innosim::command().debug_assert();
    }
}
