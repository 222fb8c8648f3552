//! Whole option files through the whole module.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use super::*;
use crate::sysvar::registry::GIB;

mod derived_defaults;
mod mycnf;
mod reading;
mod scale;
mod seeds;

/// A file system in memory. Paths are compared part by part, so `d/` is `d`.
#[derive(Debug, Default)]
pub(super) struct MemoryFiles {
    files: BTreeMap<PathBuf, String>,
}

impl MemoryFiles {
    pub fn new(files: &[(&str, &str)]) -> MemoryFiles {
        let files = files
            .iter()
            .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
            .collect();
        MemoryFiles { files }
    }
}

impl OptionFileSource for MemoryFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no such file");
        self.files.get(path).cloned().ok_or_else(missing)
    }

    fn list_directory(&self, path: &Path) -> io::Result<Vec<String>> {
        // Backwards, so that a test notices who does not sort.
        let names: Vec<String> = self
            .files
            .keys()
            .rev()
            .filter(|file| file.parent().is_some_and(|parent| parent == path))
            .filter_map(|file| Some(file.file_name()?.to_str()?.to_owned()))
            .collect();
        if names.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no such directory"));
        }
        Ok(names)
    }
}

/// Two sockets of 24 hardware threads and 128 GiB.
const MACHINE: MachineFacts = MachineFacts {
    logical_cpus: 48,
    memory_bytes: 128 * GIB,
};

const SCALE_1: NonZeroU32 = NonZeroU32::MIN;

/// The options of one option file in memory.
fn options_of(text: &str) -> Options {
    let mut options = Options::new();
    options.read_file(&MemoryFiles::new(&[("my.cnf", text)]), Path::new("my.cnf"));
    options
}

/// Looks at one option file, at full size on [`MACHINE`].
fn examine_text(flavor: Flavor, text: &str) -> Examination {
    examine(flavor, &options_of(text), MACHINE, SCALE_1)
}

/// Settings of an option file that has no errors.
fn settings_of(flavor: Flavor, text: &str) -> Settings {
    resolve(flavor, &options_of(text), MACHINE, SCALE_1).unwrap()
}

/// A variable's unscaled value as text.
fn value(settings: &Settings, name: &str) -> String {
    settings
        .unscaled()
        .get(name)
        .unwrap_or_else(|| panic!("{name} has no value"))
        .to_string()
}

/// All warnings as text.
fn warnings(settings: &Settings) -> Vec<String> {
    settings
        .warnings()
        .iter()
        .map(|warning| warning.to_string())
        .collect()
}

/// All errors as text.
fn errors(examination: &Examination) -> Vec<String> {
    examination
        .errors
        .iter()
        .map(|error| error.to_string())
        .collect()
}
