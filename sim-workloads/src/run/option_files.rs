//! Option files on the host's disk.

use std::io;
use std::path::Path;

use innosim_engine::sysvar::OptionFileSource;

/// Reads option files, and the directories that they include, from the host.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostOptionFiles;

impl OptionFileSource for HostOptionFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        let bytes = std::fs::read(path)?;
        // A byte that is not UTF-8 in some comment must not stop a run.
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn list_directory(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use innosim_engine::sysvar::{Flavor, MachineFacts, Options, resolve};

    #[test]
    fn files_and_directories_of_the_host_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let main = directory.path().join("my.cnf");
        std::fs::create_dir(directory.path().join("more")).unwrap();
        std::fs::write(&main, b"# caf\xe9\n[mysqld]\n!includedir more\n").unwrap();
        let included = directory.path().join("more/1.cnf");
        std::fs::write(included, "[mysqld]\ninnodb_io_capacity = 321\n").unwrap();

        let mut options = Options::new();
        options.read_file(&HostOptionFiles, &main);
        let machine = MachineFacts {
            logical_cpus: 2,
            memory_bytes: 1 << 30,
        };
        let scale = 1.try_into().unwrap();
        let settings = resolve(Flavor::MySql8_4, &options, machine, scale).unwrap();
        assert_eq!(settings.scaled().innodb_io_capacity(), 321);
    }
}
