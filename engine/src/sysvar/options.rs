//! The options of a run, collected from files and the command line before anybody
//! knows the flavor.

use std::path::Path;

use super::errors::{Location, OptionError, OptionWarning, Problem};
use super::option_file::{OptionFileSource, read_option_file};
use super::option_line::{is_option_name, normalised};

/// One option as written, and where.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OptionEntry {
    /// The name, with underscores for dashes and with its prefixes.
    pub name: String,
    /// The value, if it has one; or what is wrong with the line, which matters only
    /// where its group is read.
    pub value: Result<Option<String>, Problem>,
    /// The place.
    pub location: Location,
}

/// The options of a run in the order in which they count: later ones win.
///
/// What cannot be read is kept too, so that
/// [`resolve`](super::resolve()) reports everything at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    pub(super) entries: Vec<OptionEntry>,
    pub(super) errors: Vec<OptionError>,
    pub(super) notes: Vec<OptionWarning>,
}

impl Options {
    /// No options: every variable at its default.
    pub fn new() -> Options {
        Options::default()
    }

    /// Reads an option file and what it includes.
    pub fn read_file(&mut self, source: &dyn OptionFileSource, path: &Path) {
        let contents = read_option_file(source, path);
        self.entries.extend(contents.entries);
        self.errors.extend(contents.errors);
        self.notes.extend(contents.notes);
    }

    /// Takes `NAME=VALUE` of `--set`. Names and values are written as in an option
    /// file, except that quotes and escapes are the shell's business.
    pub fn set(&mut self, assignment: &str) {
        let location = Location::CommandLine;
        match assignment.split_once('=') {
            Some((name, value)) if is_option_name(name.trim()) => self.entries.push(OptionEntry {
                name: normalised(name.trim()),
                value: Ok(Some(value.trim().to_owned())),
                location,
            }),
            _ => {
                let problem = Problem::MalformedAssignment(assignment.to_owned());
                self.errors.push(OptionError { location, problem });
            }
        }
    }
}
