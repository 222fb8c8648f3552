//! Running a test of this binary again in a process of its own.
//!
//! Some tests need what a process has only one of: an address-space layout, an
//! environment, a resident set, a way to die. Such a test starts the test binary it
//! is part of once more, with its own name and with [`VARIABLE`] set, and finds out
//! from [`task`] that it is the child and what it has to do there.

use std::path::Path;
use std::process::{Command, Output};

/// The environment variable that makes a test the child of itself.
pub const VARIABLE: &str = "INNOSIM_TEST_CHILD";

/// What this process has to do as a child; `None` in the test proper.
pub fn task() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// A command that runs the test `name` of this binary as a child with this task.
/// The test's own output is not captured.
pub fn command(name: &str, task: &str) -> Command {
    wrapped(&[], name, task)
}

/// As [`command`], started by another program, for example `setarch -R`.
pub fn wrapped(launcher: &[&str], name: &str, task: &str) -> Command {
    let binary = std::env::current_exe().expect("the path of the test binary is known");
    let mut command = match launcher {
        [] => Command::new(&binary),
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).arg(&binary);
            command
        }
    };
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(VARIABLE, task);
    command
}

/// Runs the command and returns its output.
///
/// # Panics
/// If it cannot be started, or ends with an error.
pub fn run(mut command: Command) -> Output {
    let output = command.output().expect("the child starts");
    assert!(
        output.status.success(),
        "the child ended with {}:\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    output
}

/// Whether a program of this name is on the search path.
pub fn has_program(name: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|at| at.join(name).is_file()))
}

/// Says on the real standard error, past the test harness's capture, that a part of
/// a test did not run.
pub fn skipped(what: &str) {
    use std::io::Write;
    // Nothing is lost if nobody listens.
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

/// Writes lines to a file, for a parent to read.
///
/// # Panics
/// If the file cannot be written.
pub fn write_lines(path: &Path, lines: impl IntoIterator<Item = String>) {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    std::fs::write(path, text).expect("the child's report is written");
}
