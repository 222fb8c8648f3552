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

mod calibrate;
mod crash_test;
mod demo;
mod explain;
mod futures;
mod kernel;
mod output;
mod prepare;
mod recover;
mod reproduce;
mod run;
mod sweep;
mod validate;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Command as CommandLine, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::complaint::{in_words, printable};
use crate::progress::say;
use crate::run::Problems;

/// An InnoDB-like storage engine in real and in virtual time.
#[derive(Debug, Parser)]
#[command(name = "innosim", version, about)]
struct Innosim {
    #[command(subcommand)]
    subcommand: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Calibrate(calibrate::Arguments),
    CrashTest(crash_test::Arguments),
    Demo(demo::Arguments),
    Explain(explain::Arguments),
    Futures(futures::Arguments),
    Kernel(kernel::Arguments),
    Prepare(prepare::Arguments),
    Recover(recover::Arguments),
    Reproduce(reproduce::Arguments),
    Run(run::Arguments),
    Sweep(sweep::Arguments),
    Validate(validate::Arguments),
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
    let parsed = command_line().try_get_matches_from(arguments);
    let innosim = match parsed.and_then(|matches| Innosim::from_arg_matches(&matches)) {
        Ok(innosim) => innosim,
        Err(message) => {
            // `--help` and `--version` come this way too: they go to standard output
            // and are no errors. A closed pipe has nobody left to complain to.
            let _ = message.print();
            return ExitCode::from(if message.use_stderr() { 2 } else { 0 });
        }
    };
    let result = match innosim.subcommand {
        Command::Calibrate(arguments) => arguments.run(),
        Command::CrashTest(arguments) => arguments.run(),
        Command::Demo(arguments) => arguments.run(),
        Command::Explain(arguments) => arguments.run(),
        Command::Futures(arguments) => arguments.run(),
        Command::Kernel(arguments) => arguments.run(),
        Command::Prepare(arguments) => arguments.run(),
        Command::Recover(arguments) => arguments.run(),
        Command::Reproduce(arguments) => arguments.run(),
        Command::Run(arguments) => arguments.run(),
        Command::Sweep(arguments) => arguments.run(),
        Command::Validate(arguments) => arguments.run(),
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

/// Options of a run that a subcommand has no use for: its help does not list them, and it
/// refuses them in its own words.
const HIDDEN: [(&str, &[&str]); 4] = [
    (
        "prepare",
        &[
            "threads",
            "time",
            "events",
            "warmup_time",
            "report_interval",
            "settle",
            "base",
        ],
    ),
    (
        "crash-test",
        &["events", "warmup_time", "report_interval", "base"],
    ),
    ("futures", &["events", "report_interval", "clock"]),
    ("sweep", &["datadir"]),
];

/// What a crash test has by default otherwise than a run.
const CRASH_TEST_HELP: [(&str, &str); 7] = [
    (
        "workload",
        "What the clients do [default: oltp_write_only and oltp_insert in turn]",
    ),
    ("threads", "Client threads [default: 16]"),
    ("tables", "Tables [default: 3]"),
    (
        "table_size",
        "Rows in each table, before they are divided by the scale [default: 40000]",
    ),
    (
        "scale",
        "Divide rows, buffer pool and redo capacity by this [default: 4]",
    ),
    (
        "time",
        "The longest time between two crashes, in seconds [default: 0.25, or 1 under the real \
         clock]",
    ),
    (
        "datadir",
        "A new directory for the files as they are after the last recovery",
    ),
];

/// The definition of the command line, each subcommand's help with what it uses.
fn command_line() -> CommandLine {
    let mut line = Innosim::command();
    for (subcommand, hidden) in HIDDEN {
        line = line.mut_subcommand(subcommand, |command| {
            command.mut_args(|argument| {
                let name = argument.get_id().as_str();
                let is_hidden = hidden.contains(&name);
                let mut helps = CRASH_TEST_HELP.iter();
                match helps.find(|(of, _)| subcommand == "crash-test" && *of == name) {
                    Some((_, help)) => argument.help(*help),
                    None if is_hidden => argument.hide(true),
                    None => argument,
                }
            })
        });
    }
    line
}

/// Refuses options that would have no effect, each of which may have been given.
fn refuse_unused(problems: &mut Problems, why: &str, options: &[(&str, bool)]) {
    for (option, _) in options.iter().filter(|(_, is_given)| *is_given) {
        problems.add(format_args!("--{option}: accepted is none: {why}"));
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

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        command_line().debug_assert();
    }

    #[test]
    fn a_help_lists_what_the_subcommand_uses() {
        let help = |name: &str| {
            let mut line = command_line();
            let command = line.find_subcommand_mut(name).unwrap();
            command.render_long_help().to_string()
        };
        for (subcommand, hidden) in HIDDEN {
            let shown = help(subcommand);
            for name in hidden {
                let option = format!("--{} <", name.replace('_', "-"));
                assert!(!shown.contains(&option), "{subcommand} {option}");
                assert!(help("run").contains(&option), "{option}");
            }
        }
        assert!(help("crash-test").contains("[default: 40000]"));
        assert!(!help("crash-test").contains("[default: 10000]"));
    }
}
