//! Where results go: text to standard output, JSON to a file or, with `-`, in its place,
//! a page to a file.

use std::fmt::Display;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
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

    /// Whether JSON is asked for.
    pub(super) fn has_json(&self) -> bool {
        self.json.is_some()
    }

    /// Whether a page is asked for.
    pub(super) fn has_page(&self) -> bool {
        self.html.is_some()
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

    /// That no two results go to one file; `more` are those of other options.
    ///
    /// # Errors
    /// If two do.
    pub(super) fn check_apart(&self, more: &[(&str, &Option<PathBuf>)]) -> Result<(), Failure> {
        let json = self.json.clone().filter(|_| !self.json_only());
        let mut options = vec![("json", &json), ("html", &self.html)];
        options.extend(more);
        let mut seen: Vec<(&str, PathBuf)> = Vec::new();
        for (option, path) in options {
            let Some(path) = path else { continue };
            let resolved = resolved(path);
            if let Some((other, _)) = seen.iter().find(|(_, known)| *known == resolved) {
                return Err(Failure::Call(anyhow::anyhow!(
                    "--{option}={}: accepted is another file than that of --{other}",
                    path.display()
                )));
            }
            seen.push((option, resolved));
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
        // The text first, and each file whatever becomes of the others: results may have
        // taken hours.
        let json = || Ok(serde_json::to_string_pretty(document)? + "\n");
        let printed = match self.json_only() {
            true => json().and_then(|json| print(&json)),
            false => print(text),
        };
        let json_file = self.json.as_ref().filter(|_| !self.json_only());
        let written = json_file.map(|path| write_file(path, &json()?));
        let paged = self
            .html
            .as_ref()
            .map(|path| write_file(path, &page(document)));
        printed
            .and(written.unwrap_or(Ok(())))
            .and(paged.unwrap_or(Ok(())))
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

/// Where a path leads, also if there is no file yet.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    match (directory_of(path).canonicalize(), path.file_name()) {
        (Ok(directory), Some(name)) => directory.join(name),
        _ => path.into(),
    }
}

fn directory_of(path: &Path) -> &Path {
    let parent = path.parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Writes a file whole or not at all: beside the old one, whose place it takes then. What is
/// no ordinary file, such as a pipe, is written to.
///
/// # Errors
/// If it cannot be written. The old file is as it was.
pub(super) fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    let replace = || -> std::io::Result<()> {
        let path = resolved(path);
        let old = std::fs::metadata(&path).ok();
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            return std::fs::write(&path, text);
        }
        let permissions =
            old.map_or_else(|| Permissions::from_mode(0o666), |old| old.permissions());
        let mut file = tempfile::Builder::new()
            .prefix(".innosim-")
            .permissions(permissions)
            .tempfile_in(directory_of(&path))?;
        file.write_all(text.as_bytes())?;
        file.persist(&path)?;
        Ok(())
    };
    replace().with_context(|| path.display().to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_stays_where_that_fails() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        write_file(&path, "1").unwrap();
        write_file(&path, "2").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "2");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        write_file(Path::new("/dev/null"), "3").unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn everything_is_given_before_a_failure_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let html = directory.path().join("page.html");
        let output = OutputArguments {
            json: Some("/dev/full".into()),
            html: Some(html.clone()),
        };
        let error = output.write("", &1, |_| "page".into()).unwrap_err();
        assert!(error.to_string().contains("/dev/full"), "{error:#}");
        assert_eq!(std::fs::read_to_string(&html).unwrap(), "page");
    }

    #[test]
    fn two_results_need_two_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| Some(directory.path().join(name));
        let output = OutputArguments {
            json: path("a"),
            html: path("b"),
        };
        assert!(output.check_apart(&[("csv", &path("c"))]).is_ok());
        assert!(output.check_apart(&[("csv", &path("../a"))]).is_ok());
        assert!(output.check_apart(&[("csv", &path("./a"))]).is_err());
        assert!(output.check_apart(&[("csv", &path("b"))]).is_err());
    }
}
