//! Where results go: text to standard output, JSON to a file or, with `-`, in its place,
//! a page to a file.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use super::Failure;

/// The options that say where results go.
#[derive(Debug, Clone, Args)]
pub(super) struct OutputArguments {
    /// Write the results as JSON to a file, or with `-` to standard output in place of text
    #[arg(long, value_name = "F|-")]
    json: Option<PathBuf>,
    /// Write the results as an HTML page to a file
    #[arg(long, value_name = "F")]
    html: Option<PathBuf>,
}

impl OutputArguments {
    /// Whether standard output is for JSON alone.
    pub(super) fn json_only(&self) -> bool {
        self.json
            .as_ref()
            .is_some_and(|path| path.as_os_str() == "-")
    }

    /// Whether the files can be written, before work begins whose results would be lost.
    ///
    /// # Errors
    /// If a file's directory does not exist.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if let Some(path) = self.json.as_ref().filter(|_| !self.json_only()) {
            check_file("json", path)?;
        }
        if let Some(path) = &self.html {
            check_file("html", path)?;
        }
        Ok(())
    }

    /// Writes text, document and page.
    ///
    /// # Errors
    /// If a file or standard output cannot be written.
    pub(super) fn write<D: Serialize>(
        &self,
        text: &str,
        document: &D,
        page: impl FnOnce(&D) -> String,
    ) -> anyhow::Result<()> {
        if let Some(path) = &self.html {
            write_file(path, &page(document))?;
        }
        if self.json_only() {
            return print(&(serde_json::to_string_pretty(document)? + "\n"));
        }
        if let Some(path) = &self.json {
            write_file(path, &(serde_json::to_string_pretty(document)? + "\n"))?;
        }
        print(text)
    }
}

/// Whether a file of results can be written later.
///
/// # Errors
/// If its directory does not exist, or a directory has its name.
pub(super) fn check_file(option: &str, path: &Path) -> Result<(), Failure> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if parent.is_none_or(Path::is_dir) && !path.is_dir() {
        return Ok(());
    }
    Err(Failure::Call(anyhow::anyhow!(
        "--{option}={}: accepted is a file in a directory that exists",
        path.display()
    )))
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| path.display().to_string())
}

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
    let output = OutputArguments {
        json: json.map(Path::to_path_buf),
        html: None,
    };
    output.write(&results.to_string(), results, |_| String::new())
}
