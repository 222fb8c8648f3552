//! Between virtual files and ordinary ones: a host directory as the base of virtual
//! files. The way back is in [`write_out`](super::write_out).
//!
//! Pages of a mounted host file are read when the simulation reads them: the one time
//! besides reading back a spilled image when the host's disk can hold the simulation up.
//! They are read by position and not through a map: a file that somebody cuts short
//! meanwhile is an error then, and not a signal that ends the process. Still the host's
//! files must not be changed by others.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::VirtualFiles;
use super::content::{Base, Content};
use super::journal::finish_write_out;
use super::names::normal;
use crate::runtime::files::error::{FileError, Operation, failed};

impl VirtualFiles {
    /// Makes the files of a host directory, and of those in it, files of the simulation,
    /// under the virtual path `at`. A virtual file of the same name goes. Symbolic links
    /// are followed; what is neither file nor directory, or whose name is not UTF-8, is
    /// passed over. A [`write_out`](Self::write_out) into the directory that was
    /// interrupted is finished first.
    ///
    /// Each file stays open. The process's limit for that is raised as far as it may.
    ///
    /// # Errors
    /// If the host cannot list the directory or open a file.
    pub fn mount(
        &mut self,
        directory: impl AsRef<Path>,
        at: impl AsRef<Path>,
    ) -> Result<(), FileError> {
        let (directory, at) = (directory.as_ref(), normal(at.as_ref()));
        let directory = fs::canonicalize(directory).map_err(failed(directory, Operation::Open))?;
        finish_write_out(&directory)?;
        self.create_directory(&at)
            .map_err(failed(&at, Operation::CreateDirectory))?;
        self.mounted.retain(|path, _| !path.starts_with(&at));
        allow_open_files();
        self.mount_directory(&directory, &at)
    }

    fn mount_directory(&mut self, directory: &Path, at: &Path) -> Result<(), FileError> {
        let entries = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = entries.map_err(failed(directory, Operation::List))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                continue;
            };
            let (host_path, path) = (entry.path(), at.join(name));
            let metadata = fs::metadata(&host_path).map_err(failed(&host_path, Operation::Open))?;
            if metadata.is_dir() {
                self.create_directory(&path)
                    .map_err(failed(&path, Operation::CreateDirectory))?;
                self.mount_directory(&host_path, &path)?;
            } else if metadata.is_file() {
                self.mount_file(&host_path, &path)
                    .map_err(failed(&host_path, Operation::Open))?;
            }
        }
        Ok(())
    }

    fn mount_file(&mut self, host_path: &Path, path: &Path) -> io::Result<()> {
        let file = fs::File::open(host_path)?;
        let metadata = file.metadata()?;
        let base = Base {
            file,
            length: metadata.len(),
            host_path: host_path.into(),
            identity: (metadata.dev(), metadata.ino()),
        };
        if self.names.contains_key(path) {
            self.remove(path)?;
        }
        self.mounted.insert(path.into(), host_path.into());
        self.insert(path.into(), Content::of_base(base), metadata.len());
        Ok(())
    }

    /// The paths of all virtual files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.names.keys().map(PathBuf::as_path)
    }

    /// All bytes of a virtual file, as a reader would see them.
    ///
    /// # Errors
    /// If there is no such file, or the host cannot read back a spilled image.
    pub fn contents(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let id = self.names.get(&normal(path.as_ref()));
        let id = *id.ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = vec![0; self.file(id).length as usize];
        self.read(id, 0, &mut bytes)?;
        Ok(bytes)
    }
}

/// Raises the limit of open files to what the process may have: a data directory can
/// have more tables than the usual limit of 1,024. Where that cannot be done, opening
/// the file that is too many says so.
fn allow_open_files() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` lives long enough for both calls, which do nothing else.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < limit.rlim_max
        {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}
