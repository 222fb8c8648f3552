//! Whole option files through the whole module.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::*;

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
