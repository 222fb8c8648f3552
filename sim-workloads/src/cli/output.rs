//! Where results go: text to standard output, JSON to a file or, with `-`, in its place.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

/// Prints text. Whoever reads it may stop early, as `head` does.
///
/// # Errors
/// If standard output cannot be written for another reason.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("standard output"),
    }
}

/// Writes results as text, and as JSON where `--json` says.
///
/// # Errors
/// If a file or standard output cannot be written.
pub(super) fn write(
    results: &(impl Display + Serialize),
    json: Option<&Path>,
) -> anyhow::Result<()> {
    let mut standard_output = std::io::stdout().lock();
    match json {
        Some(path) if path.as_os_str() == "-" => {
            let text = serde_json::to_string_pretty(results)?;
            writeln!(standard_output, "{text}").context("standard output")?;
        }
        path => {
            write!(standard_output, "{results}").context("standard output")?;
            if let Some(path) = path {
                let text = serde_json::to_string_pretty(results)? + "\n";
                std::fs::write(path, text).with_context(|| path.display().to_string())?;
            }
        }
    }
    Ok(())
}
