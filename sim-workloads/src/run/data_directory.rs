//! Where on the host a run has its files: the directory asked for, or a temporary one.
//!
//! A temporary directory goes when the run is over, also when it fails, and when it is
//! interrupted (Ctrl-C) or told to end: a thread waits for those signals, ends the
//! [children], removes what there is, and then lets the signal do what it would have done.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use anyhow::{Context, anyhow};
use innosim_engine::runtime::files::{
    FileError, HostLock, finish_write_out, is_write_out_unfinished,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tempfile::TempDir;

use super::children;
use super::plan::RunFiles;

/// A directory of the host for a run's files.
#[derive(Debug)]
pub struct DataDirectory {
    path: PathBuf,
    _temporary: Option<TemporaryDirectory>,
}

impl DataDirectory {
    /// The directory of a plan, which is made if it is not there; or a temporary one that
    /// goes with this value. What an earlier run did not come to write is written.
    ///
    /// # Errors
    /// If it cannot be made, or that not be written.
    pub fn new(files: &RunFiles) -> anyhow::Result<Self> {
        match files {
            RunFiles::Kept(path) | RunFiles::Base(path) => {
                fs::create_dir_all(path).with_context(|| path.display().to_string())?;
                finish(path)?;
                Ok(DataDirectory {
                    path: path.into(),
                    _temporary: None,
                })
            }
            RunFiles::Temporary => {
                let temporary = TemporaryDirectory::new().context("a temporary directory")?;
                Ok(DataDirectory {
                    path: temporary.path().into(),
                    _temporary: Some(temporary),
                })
            }
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Finishes what a run under the virtual clock was interrupted in: writing its changes
/// into the directory.
///
/// # Errors
/// If somebody else uses the directory, or the host cannot write.
pub fn finish(directory: &Path) -> anyhow::Result<()> {
    if is_write_out_unfinished(directory) {
        let _lock = lock_on_host(directory, false)?;
        finish_write_out(directory)?;
    }
    Ok(())
}

/// Takes a directory of the host for oneself, or together with others that only read it,
/// so that nobody changes it while a simulation has its files.
///
/// # Errors
/// [`FileError::DirectoryInUse`] if an engine or a simulation has it; or the system's error.
pub fn lock_on_host(path: &Path, shared: bool) -> anyhow::Result<HostLock> {
    let lock = HostLock::take(path, shared).with_context(|| path.display().to_string())?;
    lock.ok_or_else(|| anyhow!(FileError::DirectoryInUse { path: path.into() }))
}

/// The temporary directories of this process.
static DIRECTORIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn directories() -> MutexGuard<'static, Vec<PathBuf>> {
    DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory that is removed with everything in it when the value goes, or when a signal
/// ends the process.
#[derive(Debug)]
pub struct TemporaryDirectory(TempDir);

impl TemporaryDirectory {
    /// A new, empty one, where the system keeps temporary files (`TMPDIR`).
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new() -> io::Result<Self> {
        watch_for_signals()?;
        // Under the lock, so that a signal finds it once it exists.
        let mut directories = directories();
        let made = tempfile::Builder::new().prefix("innosim-").tempdir()?;
        directories.push(made.path().into());
        Ok(TemporaryDirectory(made))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        directories().retain(|path| path != self.0.path());
    }
}

/// Starts the thread that ends children and removes directories when a signal comes, once.
pub(super) fn watch_for_signals() -> io::Result<()> {
    static STARTED: Once = Once::new();
    let mut started = Ok(());
    STARTED.call_once(|| {
        started = Signals::new([SIGHUP, SIGINT, SIGTERM]).and_then(|mut signals| {
            let thread = std::thread::Builder::new().name("signals".into());
            thread.spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    children::end_all(signal);
                    // The process ends with this thread; nobody is to make another one.
                    let directories = directories();
                    for path in directories.iter() {
                        remove(path);
                    }
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
            })?;
            Ok(())
        });
    });
    started
}

/// Removes a directory in which others may still be making files.
fn remove(path: &Path) {
    for _ in 0..10 {
        match fs::remove_dir_all(path) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_directory_goes_with_its_value() {
        let directory = DataDirectory::new(&RunFiles::Temporary).unwrap();
        let path = directory.path().to_path_buf();
        fs::write(path.join("a"), "b").unwrap();
        assert!(directories().contains(&path));
        drop(directory);
        assert!(!path.exists());
        assert!(!directories().contains(&path));
    }

    #[test]
    fn a_directory_that_was_asked_for_is_made_and_stays() {
        let parent = TemporaryDirectory::new().unwrap();
        let path = parent.path().join("new/data");
        drop(DataDirectory::new(&RunFiles::Kept(path.clone())).unwrap());
        assert!(path.is_dir());
    }
}
