//! Directories, and the handle under which an engine's files are opened and counted.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::FlockOperation;

use super::counters::{FileCounters, FileStatistics};
use super::error::{FileError, Operation, failed};
use super::file::{File, OpenOptions};
use super::image::{IMAGE_BYTES, Image, ImagePool};
use super::kind::FileKind;
use super::virtual_files::{VirtualFiles, operations};
use crate::runtime::ambient;
use crate::runtime::virtual_clock::Simulation;
use crate::runtime::wait_kind::WaitKind;

/// What the files of one handle share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) counters: FileCounters,
    images: ImagePool,
    warnings: Mutex<Vec<String>>,
    /// Whether files grow by holes.
    pub(super) sparse: bool,
}

impl Shared {
    pub(super) fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock();
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name, without the directory's.
    pub name: String,
    /// Whether it is a directory itself.
    pub is_directory: bool,
}

/// The way to an engine's files. Clones share counts, warnings and images; one handle
/// an engine is meant.
#[derive(Clone, Debug, Default)]
pub struct FileSystem(Arc<Shared>);

/// A data directory that is this engine's alone, until dropped.
#[derive(Debug)]
pub struct DirectoryLock(#[expect(dead_code, reason = "held, not read")] LockHandle);

#[derive(Debug)]
#[expect(dead_code, reason = "held, not read")]
enum LockHandle {
    Real(HostLock),
    Virtual(Arc<()>),
}

/// A directory of the host that others leave alone meanwhile.
#[derive(Debug)]
pub struct HostLock(fs::File);

impl HostLock {
    /// Takes a directory for oneself, or (`shared`) with others that take it so; `None` if
    /// somebody else has it.
    ///
    /// # Errors
    /// The system's.
    pub fn take(path: &Path, shared: bool) -> std::io::Result<Option<Self>> {
        let directory = fs::File::open(path)?;
        let operation = match shared {
            true => FlockOperation::NonBlockingLockShared,
            false => FlockOperation::NonBlockingLockExclusive,
        };
        match rustix::fs::flock(&directory, operation) {
            Ok(()) => Ok(Some(HostLock(directory))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for HostLock {
    /// Closing the file would not do: a process that was forked meanwhile has it open, too.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

impl FileSystem {
    /// A handle with counts of its own.
    pub fn new() -> Self {
        Self::default()
    }

    /// A handle whose files grow by holes and not by zeros that are written: for a
    /// directory that only a simulation reads, and that goes with it.
    pub fn sparse() -> Self {
        FileSystem(Arc::new(Shared {
            sparse: true,
            ..Shared::default()
        }))
    }

    /// Opens a file.
    ///
    /// # Errors
    /// That the file exists or does not, or any other of the system's reasons.
    pub fn open(&self, path: impl AsRef<Path>, options: OpenOptions) -> Result<File, FileError> {
        File::open(path.as_ref(), options, &self.0)
    }

    /// A page image with these bytes, to be written to files.
    pub fn image(&self, bytes: &[u8; IMAGE_BYTES]) -> Image {
        self.0.images.image(bytes)
    }

    /// The counts so far.
    pub fn statistics(&self) -> FileStatistics {
        self.0.counters.snapshot()
    }

    /// Warnings since the last call, each once: a file system that refuses direct I/O.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.0.warnings.lock())
    }

    /// Creates a directory and those above it; it may exist.
    ///
    /// # Errors
    /// The system's.
    pub fn create_directory(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        dispatch(
            path.as_ref(),
            Operation::CreateDirectory,
            |path| fs::create_dir_all(path),
            |files, path| files.create_directory(path),
        )
    }

    /// The entries of a directory, in the order of their names. What has a name that is
    /// not UTF-8 is not ours and is left out.
    ///
    /// # Errors
    /// That there is no such directory, or any other of the system's reasons.
    pub fn list(&self, path: impl AsRef<Path>) -> Result<Vec<Entry>, FileError> {
        let real = |path: &Path| {
            let mut entries = Vec::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                if let Ok(name) = entry.file_name().into_string() {
                    let is_directory = fs::metadata(entry.path())?.is_dir();
                    entries.push(Entry { name, is_directory });
                }
            }
            entries.sort();
            Ok(entries)
        };
        dispatch(path.as_ref(), Operation::List, real, |files, path| {
            files.list(path)
        })
    }

    /// Whether there is such a file or directory.
    ///
    /// # Errors
    /// If the system cannot tell.
    pub fn exists(&self, path: impl AsRef<Path>) -> Result<bool, FileError> {
        dispatch(
            path.as_ref(),
            Operation::Open,
            |path| fs::exists(path),
            |files, path| Ok(files.exists(path)),
        )
    }

    /// Removes a file. Whoever has it open can go on reading and writing it.
    ///
    /// # Errors
    /// That there is no such file, or any other of the system's reasons.
    pub fn remove(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        dispatch(
            path.as_ref(),
            Operation::Remove,
            |path| fs::remove_file(path),
            |files, path| files.remove(path),
        )
    }

    /// Gives a file another name; a file that has that name already goes.
    ///
    /// # Errors
    /// That there is no such file, or any other of the system's reasons.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), FileError> {
        let to = to.as_ref();
        dispatch(
            from.as_ref(),
            Operation::Rename,
            |from| fs::rename(from, to),
            |files, from| files.rename(from, to),
        )
    }

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// The system's.
    pub fn sync_directory(
        &self,
        path: impl AsRef<Path>,
        waiting_for: WaitKind,
    ) -> Result<(), FileError> {
        let path = path.as_ref();
        let simulation = ambient::simulation();
        if simulation.is_null() {
            let synced = fs::File::open(path).and_then(|directory| directory.sync_all());
            return synced.map_err(failed(path, Operation::SyncDirectory));
        }
        // SAFETY: the current task calls; borrows end with their statements.
        unsafe {
            if !Simulation::pay_io_call(simulation) {
                return Err(failed(path, Operation::SyncDirectory)(
                    operations::interrupted(),
                ));
            }
            let device = (*simulation).files_mut().device_of_kind(FileKind::Other);
            operations::flush(simulation, device, waiting_for);
        }
        Ok(())
    }

    /// Takes a data directory for this engine, until the lock is dropped or the process
    /// ends.
    ///
    /// # Errors
    /// [`FileError::DirectoryInUse`] if another engine has it, of this process or of
    /// another; or the system's error.
    pub fn lock_data_directory(&self, path: impl AsRef<Path>) -> Result<DirectoryLock, FileError> {
        let path = path.as_ref();
        let real = |path: &Path| Ok(HostLock::take(path, false)?.map(LockHandle::Real));
        let lock = dispatch(path, Operation::Lock, real, |files, path| {
            Ok(files.lock(path)?.map(LockHandle::Virtual))
        })?;
        lock.map(DirectoryLock)
            .ok_or_else(|| FileError::DirectoryInUse { path: path.into() })
    }
}

/// Does one thing or the other, by the clock.
fn dispatch<T>(
    path: &Path,
    operation: Operation,
    real: impl FnOnce(&Path) -> std::io::Result<T>,
    virtually: impl FnOnce(&mut VirtualFiles, &Path) -> std::io::Result<T>,
) -> Result<T, FileError> {
    let simulation = ambient::simulation();
    let result = if simulation.is_null() {
        real(path)
    } else {
        // SAFETY: the current task calls; the borrow of the files ends with the call,
        // which does not suspend.
        unsafe {
            if Simulation::pay_io_call(simulation) {
                virtually((*simulation).files_mut(), path)
            } else {
                Err(operations::interrupted())
            }
        }
    };
    result.map_err(failed(path, operation))
}
