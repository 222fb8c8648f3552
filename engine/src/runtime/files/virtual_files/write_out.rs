//! All virtual files written out into a directory of the host, whole or not at all.
//!
//! Files of the mounted directory are changed where they are, in the pages that the
//! simulation has changed and no others. All other files are written whole, under
//! another name first: a file that lies at the target may be the base of a virtual file
//! with another name by now. Nothing that a reader of the directory would see changes
//! before all of it has been written beside: see [`journal`](super::journal).
//!
//! The price is that changed pages are written twice. It is paid in proportion to what a
//! run has changed, and not to what it has.

use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;

use super::content::{Part, pages};
use super::image_store::PageRef;
use super::journal::{
    JournalWriter, Run, Step, Watch, carry_out, finish_write_out, new_name, nobody, sync_directory,
};
use super::names::normal;
use super::volatile::Old;
use super::{IMAGE_BYTES, VirtualFile, VirtualFiles};
use crate::runtime::files::error::{FileError, Operation, failed};

/// Bytes written at a time.
const CHUNK: usize = 1 << 20;

/// Why virtual files were not written out.
#[derive(Debug, thiserror::Error)]
pub enum WriteOutError {
    /// The host has no room. The directory is as it was.
    #[error(
        "no room for {}: to write out what has changed takes about {} MiB, and {} MiB are free \
         on that file system; the files there are as they were",
        path.display(), needed.div_ceil(1 << 20), free >> 20
    )]
    NoRoom {
        /// The file that has no room.
        path: PathBuf,
        /// Bytes that all files need.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// A file would be written over on which the simulation relies
    /// ([`base_stays`](VirtualFiles::base_stays)). The directory is as it was.
    #[error("{}: the simulation still reads this file, so it cannot be written over", path.display())]
    StillRead {
        /// That file.
        path: PathBuf,
    },
    /// The host refused something. The directory is as it was.
    #[error(transparent)]
    Host(#[from] FileError),
    /// The host refused something when everything had been written beside. It is done
    /// by [`finish_write_out`], which mounting calls.
    #[error("{error}; what is left to do is done by the next run with this directory")]
    Unfinished {
        /// What happened.
        error: FileError,
    },
}

/// A file to be written.
struct Target<'a> {
    file: &'a VirtualFile,
    /// From the directory on.
    path: PathBuf,
    /// The length of the file there, if it is the base of this one.
    base_length: Option<u64>,
}

impl Target<'_> {
    /// Whether the file at the target has this page already, or will have it once it has
    /// its length.
    fn has(&self, page: u32) -> bool {
        let content = self.file.content.page(page);
        if self.file.cache.has_dirty(page) {
            return false;
        }
        match self.base_length {
            Some(length) => {
                let offset = u64::from(page) * IMAGE_BYTES as u64;
                content == PageRef::BASE || content == PageRef::ZERO && offset >= length
            }
            None => content == PageRef::ZERO,
        }
    }

    /// Pages that the target lacks.
    fn changed(&self) -> impl Iterator<Item = u32> {
        (0..pages(self.file.length) as u32).filter(|&page| !self.has(page))
    }

    /// About how many bytes it takes: those of changed pages, which the journal has for a
    /// time if the file is changed where it is, and where that grows once more.
    fn needed(&self) -> u64 {
        let mut bytes = 0;
        for page in self.changed() {
            let grows = self
                .base_length
                .is_some_and(|length| u64::from(page) * IMAGE_BYTES as u64 >= length);
            bytes += IMAGE_BYTES as u64 * (1 + u64::from(grows));
        }
        bytes
    }
}

impl VirtualFiles {
    /// Writes the virtual files under `from` into a host directory, as ordinary files
    /// with what a reader of the virtual ones would see. Files that were mounted from
    /// there and exist no longer are removed. Either all of it happens, or nothing: also
    /// where the process is killed or the host fails meanwhile, if the directory is read
    /// by [`mount`](Self::mount), or after [`finish_write_out`]. It is durable then.
    ///
    /// # Errors
    /// If the host has no room, cannot write a file, or cannot read a page back.
    ///
    /// # Panics
    /// If the power was cut and [`resolve_crash`] has not been called.
    ///
    /// [`resolve_crash`]: crate::runtime::virtual_clock::Simulation::resolve_crash
    pub fn write_out(
        &mut self,
        from: impl AsRef<Path>,
        directory: impl AsRef<Path>,
    ) -> Result<(), WriteOutError> {
        self.write_out_watched(from.as_ref(), directory.as_ref(), &mut nobody)
    }

    fn write_out_watched(
        &mut self,
        from: &Path,
        directory: &Path,
        watch: Watch<'_>,
    ) -> Result<(), WriteOutError> {
        assert!(!self.unresolved, "a power cut has not been resolved");
        let from = normal(from);
        let create = |path: &Path| {
            let created = fs::create_dir_all(path);
            created.map_err(failed(path, Operation::CreateDirectory))
        };
        create(directory)?;
        let directory = &fs::canonicalize(directory).map_err(failed(directory, Operation::Open))?;
        finish_write_out(directory)?;
        for path in &self.directories {
            if let Ok(rest) = path.strip_prefix(&from) {
                create(&directory.join(rest))?;
            }
        }
        let kept = self.keep_what_may_be_put_back(directory);
        kept.map_err(failed(directory, Operation::Open))?;

        let targets = self.targets(&from, directory);
        if self.store.relies_on_base()
            && let Some(base) = targets.iter().find(|target| target.base_length.is_some())
        {
            let path = directory.join(&base.path);
            return Err(WriteOutError::StillRead { path });
        }
        let needed = needed(&targets, directory, free(directory).ok())?;
        let mut reserved = Vec::new();
        let mut journal = JournalWriter::new(directory, watch)
            .map_err(|error| no_room(error, needed, directory))?;
        let path = journal.path().to_path_buf();
        let written = self.write_beside(&targets, &mut journal, &mut reserved, directory, watch);
        let written = written.and_then(|()| {
            journal.steps.extend(self.removals(&from, directory));
            journal.decide(watch)
        });
        if let Err(error) = written {
            let error = no_room(error, needed, directory);
            give_up(&targets, &reserved, directory, &path);
            return Err(error);
        }
        let finished = sync_directory(directory, watch).and_then(|()| carry_out(directory, watch));
        finished.map_err(|error| WriteOutError::Unfinished { error })
    }

    /// Pages of the base that a power failure could still put back are about to be
    /// changed on the host: they get images.
    fn keep_what_may_be_put_back(&mut self, directory: &Path) -> io::Result<()> {
        for device in &mut self.devices {
            for write in device.writes.iter_mut() {
                let file = self.files[write.file.0 as usize].as_ref();
                if let Old::Page(page @ PageRef::BASE) = &mut write.old
                    && let Some(file) = file
                    && let Some(base) = &file.content.base
                    && base.host_path.starts_with(directory)
                {
                    let mut bytes = [0; IMAGE_BYTES];
                    file.content
                        .read_as(*page, write.page, 0, &mut bytes, &self.store)?;
                    *page = self.store.image(&bytes);
                }
            }
        }
        Ok(())
    }

    fn targets(&self, from: &Path, directory: &Path) -> Vec<Target<'_>> {
        let mut targets = Vec::new();
        for (path, id) in &self.names {
            let Ok(rest) = path.strip_prefix(from) else {
                continue;
            };
            let (file, path) = (self.file(*id), rest.to_path_buf());
            let target = directory.join(&path);
            let base = file.content.base.as_ref();
            let base = base.filter(|base| base.host_path == target);
            let base_length = base.and_then(|base| {
                let metadata = fs::metadata(&target).ok()?;
                let same = (metadata.dev(), metadata.ino()) == base.identity;
                same.then_some(metadata.len())
            });
            targets.push(Target {
                file,
                path,
                base_length,
            });
        }
        targets
    }

    /// The files that were mounted from the directory and exist no longer.
    fn removals(&self, from: &Path, directory: &Path) -> Vec<Step> {
        let gone = self.mounted.iter().filter_map(|(path, host_path)| {
            let rest = path.strip_prefix(from).ok()?;
            let is_gone = *host_path == directory.join(rest) && !self.names.contains_key(path);
            is_gone.then(|| Step::Remove { path: rest.into() })
        });
        gone.collect()
    }

    /// Writes the journal's bytes and the new files, and reserves what the steps will
    /// take. `reserved` has the files that was done in, with their lengths.
    fn write_beside(
        &self,
        targets: &[Target<'_>],
        journal: &mut JournalWriter,
        reserved: &mut Vec<(PathBuf, u64)>,
        directory: &Path,
        watch: Watch<'_>,
    ) -> Result<(), FileError> {
        for target in targets {
            let (path, length) = (target.path.clone(), target.file.length);
            let host_path = directory.join(&path);
            let Some(base_length) = target.base_length else {
                self.write_whole(target, &new_name(&host_path), watch)?;
                journal.steps.push(Step::Adopt { path });
                continue;
            };
            let mut runs: Vec<Run> = Vec::new();
            self.write_pages(target, &host_path, |offset, bytes| {
                journal.append(bytes, watch)?;
                let length = bytes.len() as u64;
                match runs.last_mut() {
                    Some(last) if last.offset + last.length == offset => last.length += length,
                    _ => runs.push(Run { offset, length }),
                }
                Ok(())
            })?;
            if runs.is_empty() && length == base_length {
                continue;
            }
            reserved.push((host_path.clone(), base_length));
            reserve(&host_path, &runs, watch)?;
            journal.steps.push(Step::Change { path, length, runs });
        }
        Ok(())
    }

    fn write_whole(
        &self,
        target: &Target<'_>,
        path: &Path,
        watch: Watch<'_>,
    ) -> Result<(), FileError> {
        let length = target.file.length;
        let created = watch(path).and_then(|()| fs::File::create(path));
        let host = created.map_err(failed(path, Operation::Open))?;
        // Pages of zeros stay holes.
        host.set_len(length)
            .map_err(failed(path, Operation::SetLength { length }))?;
        self.write_pages(target, path, |offset, bytes| {
            let operation = Operation::Write {
                offset,
                length: bytes.len() as u64,
            };
            watch(path)
                .and_then(|()| host.write_all_at(bytes, offset))
                .map_err(failed(path, operation))
        })?;
        watch(path)
            .and_then(|()| host.sync_all())
            .map_err(failed(path, Operation::Sync))
    }

    /// Gives `write` the changed pages, in pieces of up to [`CHUNK`], with their offset.
    fn write_pages(
        &self,
        target: &Target<'_>,
        path: &Path,
        mut write: impl FnMut(u64, &[u8]) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let file = target.file;
        let mut buffer = Vec::with_capacity(CHUNK);
        let mut start = 0;
        for page in target.changed() {
            let offset = u64::from(page) * IMAGE_BYTES as u64;
            if start + buffer.len() as u64 != offset || buffer.len() >= CHUNK {
                if !buffer.is_empty() {
                    write(start, &buffer)?;
                }
                buffer.clear();
                start = offset;
            }
            let length = (file.length - offset).min(IMAGE_BYTES as u64) as usize;
            let at = buffer.len();
            buffer.resize(at + length, 0);
            let part = Part {
                page,
                offset: 0,
                length,
                position: 0,
            };
            let operation = Operation::Read {
                offset,
                length: length as u64,
            };
            file.cache
                .read(part, &mut buffer[at..], &file.content, &self.store)
                .map_err(failed(path, operation))?;
        }
        match buffer.is_empty() {
            true => Ok(()),
            false => write(start, &buffer),
        }
    }
}

/// Bytes that are free on the file system of a directory.
fn free(directory: &Path) -> io::Result<u64> {
    let about = rustix::fs::statvfs(directory)?;
    Ok(about.f_bavail.saturating_mul(about.f_frsize))
}

/// About how many bytes all targets need, if as many are free.
fn needed(
    targets: &[Target<'_>],
    directory: &Path,
    free: Option<u64>,
) -> Result<u64, WriteOutError> {
    let mut needed = 0;
    let mut too_much = None;
    for target in targets {
        needed += target.needed();
        if free.is_some_and(|free| needed > free) {
            too_much.get_or_insert(&target.path);
        }
    }
    match (too_much, free) {
        (Some(path), Some(free)) => Err(WriteOutError::NoRoom {
            path: directory.join(path),
            needed,
            free,
        }),
        _ => Ok(needed),
    }
}

/// Sees to it that ranges of a file can be written without taking room, where the file
/// system can promise that. Neither the file's bytes nor its length change.
fn reserve(path: &Path, runs: &[Run], watch: Watch<'_>) -> Result<(), FileError> {
    let opened = watch(path).and_then(|()| fs::OpenOptions::new().write(true).open(path));
    let host = opened.map_err(failed(path, Operation::Open))?;
    for run in runs {
        let operation = Operation::Write {
            offset: run.offset,
            length: run.length,
        };
        let reserved = watch(path).and_then(|()| {
            let kept = FallocateFlags::KEEP_SIZE;
            Ok(rustix::fs::fallocate(&host, kept, run.offset, run.length)?)
        });
        match reserved {
            // Then the journal outlasts a lack of room.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(()),
            other => other.map_err(failed(path, operation))?,
        }
    }
    Ok(())
}

/// An error for a lack of room says how much is needed.
fn no_room(error: FileError, needed: u64, directory: &Path) -> WriteOutError {
    match (error.io_kind(), free(directory)) {
        (Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded), Ok(free)) => {
            WriteOutError::NoRoom {
                path: error.path().to_path_buf(),
                needed,
                free,
            }
        }
        _ => error.into(),
    }
}

/// Removes what was written beside, and gives back what was reserved. What cannot be
/// removed now is as long as the journal, which goes last, says that there is something.
fn give_up(targets: &[Target<'_>], reserved: &[(PathBuf, u64)], directory: &Path, journal: &Path) {
    for (path, length) in reserved {
        // To the length that it has: what lies behind its end is given back.
        if let Ok(host) = fs::OpenOptions::new().write(true).open(path) {
            let _ = host.set_len(*length);
        }
    }
    let whole = targets.iter().filter(|target| target.base_length.is_none());
    let removed = whole
        .map(|target| fs::remove_file(new_name(&directory.join(&target.path))))
        .all(|removed| match removed {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        });
    if removed {
        let _ = fs::remove_file(journal);
    }
}

#[cfg(test)]
mod tests;
