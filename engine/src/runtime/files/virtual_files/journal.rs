//! The journal of a write-out: why it happens whole or not at all.
//!
//! Pages of a data directory are overwritten where they are, for a copy of the whole
//! file would cost more than the run. So all that is going to change is first written
//! beside, into a journal:
//!
//! ```text
//!   innosim.write-out   | bytes of changed pages … | steps | trailer |
//!                                                      |
//!     t1.ibd: length, and the ranges that the bytes are for
//!     t2.ibd: is complete as t2.ibd.innosim-new, and gets its name
//!     t3.ibd: is removed
//!
//!   1  journal and new files are written, under names that end in .innosim-new; the
//!      room that the steps will take in old files is reserved        any error: as before
//!   2  all of it is synced, and the journal gets its name             <- the decision
//!   3  the steps are carried out and synced; the journal is removed  any error: again
//! ```
//!
//! A process that is killed before the decision has changed nothing that is read; one
//! that is killed after it leaves a journal, from which [`finish_write_out`] takes every
//! step again. A step that was done before changes nothing, so that it does not matter
//! how often that is interrupted. The syncs make this hold for a loss of power, too.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use crate::runtime::files::error::{FileError, Operation, failed};

/// What the name of a file ends in before it is complete.
const NEW: &str = ".innosim-new";

/// The journal's name in the directory.
const JOURNAL: &str = "innosim.write-out";

/// The last bytes of a journal.
const MAGIC: [u8; 8] = *b"innosim1";

/// First byte of the steps, their length, their CRC-32C, and the magic bytes.
const TRAILER_BYTES: usize = 8 + 8 + 4 + MAGIC.len();

/// Bytes copied at a time.
const CHUNK: usize = 1 << 20;

/// Called with a file before each thing that is done with it: where tests let the host
/// fail, or the process die.
pub(super) type Watch<'a> = &'a mut dyn FnMut(&Path) -> io::Result<()>;

/// Watches in silence.
pub(super) fn nobody(_: &Path) -> io::Result<()> {
    Ok(())
}

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// A thing to do. Paths are relative to the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The file gets this length, and ranges of it get bytes. These follow in the journal
    /// on those of the step before.
    Change {
        path: PathBuf,
        length: u64,
        runs: Vec<Run>,
    },
    /// The file that was written under its name with [`NEW`] gets its name.
    Adopt { path: PathBuf },
    /// The file goes.
    Remove { path: PathBuf },
}

/// The path with [`NEW`].
pub(super) fn new_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(NEW);
    name.into()
}

/// A journal that is being written.
pub(super) struct JournalWriter {
    file: fs::File,
    /// Its present name, with [`NEW`].
    path: PathBuf,
    name: PathBuf,
    position: u64,
    pub(super) steps: Vec<Step>,
}

impl JournalWriter {
    /// An empty journal for a directory.
    ///
    /// # Errors
    /// If the host cannot make it.
    pub(super) fn new(directory: &Path, watch: Watch<'_>) -> Result<Self, FileError> {
        let name = directory.join(JOURNAL);
        let path = new_name(&name);
        let file = watch(&path).and_then(|()| fs::File::create(&path));
        Ok(JournalWriter {
            file: file.map_err(failed(&path, Operation::Open))?,
            path,
            name,
            position: 0,
            steps: Vec::new(),
        })
    }

    /// Its present path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends bytes for the step that comes next.
    ///
    /// # Errors
    /// If the host cannot write them.
    pub(super) fn append(&mut self, bytes: &[u8], watch: Watch<'_>) -> Result<(), FileError> {
        let operation = Operation::Write {
            offset: self.position,
            length: bytes.len() as u64,
        };
        watch(&self.path)
            .and_then(|()| self.file.write_all_at(bytes, self.position))
            .map_err(failed(&self.path, operation))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Writes the steps, and makes the journal durable under its name: from here on the
    /// steps will be done.
    ///
    /// # Errors
    /// If the host cannot; then they will not.
    pub(super) fn decide(mut self, watch: Watch<'_>) -> Result<(), FileError> {
        let steps = encode(&self.steps);
        let mut end = self.position.to_le_bytes().to_vec();
        end.extend((steps.len() as u64).to_le_bytes());
        end.extend(crc32c::crc32c(&steps).to_le_bytes());
        end.extend(MAGIC);
        self.append(&[steps, end].concat(), watch)?;
        watch(&self.path)
            .and_then(|()| self.file.sync_all())
            .map_err(failed(&self.path, Operation::Sync))?;
        watch(&self.name)
            .and_then(|()| fs::rename(&self.path, &self.name))
            .map_err(failed(&self.path, Operation::Rename))
    }
}

/// A journal that was decided upon.
struct Journal {
    file: fs::File,
    path: PathBuf,
    steps: Vec<Step>,
}

impl Journal {
    /// That of a directory, if there is one.
    fn open(directory: &Path) -> Result<Option<Self>, FileError> {
        let path = directory.join(JOURNAL);
        let read = || -> io::Result<Option<(fs::File, Vec<Step>)>> {
            let file = match fs::File::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => opened?,
            };
            let steps = read_steps(&file)?;
            let steps = steps.ok_or_else(|| {
                let reason = "its end is not that of the journal of a write-out";
                io::Error::new(io::ErrorKind::InvalidData, reason)
            });
            Ok(Some((file, steps?)))
        };
        let read = read().map_err(failed(&path, Operation::Open))?;
        Ok(read.map(|(file, steps)| Journal { file, path, steps }))
    }

    /// Takes all steps, also those that were taken before.
    fn carry_out(self, directory: &Path, watch: Watch<'_>) -> Result<(), FileError> {
        let mut position = 0;
        let mut directories = BTreeSet::from([directory.to_path_buf()]);
        for step in &self.steps {
            let target = match step {
                Step::Change { path, length, runs } => {
                    let target = directory.join(path);
                    self.change(&target, *length, runs, &mut position, watch)?;
                    continue;
                }
                Step::Adopt { path } => {
                    let target = directory.join(path);
                    let renamed =
                        watch(&target).and_then(|()| fs::rename(new_name(&target), &target));
                    done_before(renamed).map_err(failed(&target, Operation::Rename))?;
                    target
                }
                Step::Remove { path } => {
                    let target = directory.join(path);
                    let removed = watch(&target).and_then(|()| fs::remove_file(&target));
                    done_before(removed).map_err(failed(&target, Operation::Remove))?;
                    target
                }
            };
            directories.extend(target.parent().map(Path::to_path_buf));
        }
        for directory in &directories {
            sync_directory(directory, watch)?;
        }
        let removed = watch(&self.path).and_then(|()| fs::remove_file(&self.path));
        done_before(removed).map_err(failed(&self.path, Operation::Remove))?;
        sync_directory(directory, watch)
    }

    fn change(
        &self,
        target: &Path,
        length: u64,
        runs: &[Run],
        position: &mut u64,
        watch: Watch<'_>,
    ) -> Result<(), FileError> {
        let opened = watch(target).and_then(|()| fs::OpenOptions::new().write(true).open(target));
        let file = opened.map_err(failed(target, Operation::Open))?;
        file.set_len(length)
            .map_err(failed(target, Operation::SetLength { length }))?;
        let mut buffer = vec![0; CHUNK];
        for run in runs {
            let mut done = 0;
            while done < run.length {
                let bytes = (run.length - done).min(CHUNK as u64);
                let buffer = &mut buffer[..bytes as usize];
                let read = Operation::Read {
                    offset: *position,
                    length: bytes,
                };
                let offset = run.offset + done;
                let write = Operation::Write {
                    offset,
                    length: bytes,
                };
                let copied = self.file.read_exact_at(buffer, *position);
                copied.map_err(failed(&self.path, read))?;
                watch(target)
                    .and_then(|()| file.write_all_at(buffer, offset))
                    .map_err(failed(target, write))?;
                *position += bytes;
                done += bytes;
            }
        }
        watch(target)
            .and_then(|()| file.sync_all())
            .map_err(failed(target, Operation::Sync))
    }
}

/// That a file is not there any more says that the step was taken before.
fn done_before(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Makes the names in a directory durable.
///
/// # Errors
/// If the host cannot.
pub(super) fn sync_directory(directory: &Path, watch: Watch<'_>) -> Result<(), FileError> {
    watch(directory)
        .and_then(|()| fs::File::open(directory)?.sync_all())
        .map_err(failed(directory, Operation::SyncDirectory))
}

/// Whether writing out into a directory of the host was interrupted, so that it is for
/// [`finish_write_out`] before anybody reads the files there.
pub fn is_write_out_unfinished(directory: &Path) -> bool {
    let journal = directory.join(JOURNAL);
    journal.exists() || new_name(&journal).exists()
}

/// Finishes a write-out into a directory of the host that was interrupted: carries it
/// out to its end if everything had been written beside, and else removes what was, so
/// that the directory is as it was before. Nobody else may use the directory meanwhile.
///
/// # Errors
/// If the host cannot read or write a file. The write-out is still to be finished then.
pub fn finish_write_out(directory: &Path) -> Result<(), FileError> {
    carry_out(directory, &mut nobody)?;
    let journal = new_name(&directory.join(JOURNAL));
    if journal.exists() {
        remove_new(directory, &journal)?;
        let removed = done_before(fs::remove_file(&journal));
        removed.map_err(failed(&journal, Operation::Remove))?;
    }
    Ok(())
}

/// Carries out what was decided, if anything was.
pub(super) fn carry_out(directory: &Path, watch: Watch<'_>) -> Result<(), FileError> {
    match Journal::open(directory)? {
        Some(journal) => journal.carry_out(directory, watch),
        None => Ok(()),
    }
}

/// Removes the files that are not complete, but for the journal.
fn remove_new(directory: &Path, journal: &Path) -> Result<(), FileError> {
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    for entry in entries.map_err(failed(directory, Operation::List))? {
        let path = entry.path();
        // Links are followed, as they are when a directory is mounted.
        if fs::metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            remove_new(&path, journal)?;
        } else if path != journal && path.as_os_str().as_bytes().ends_with(NEW.as_bytes()) {
            let removed = done_before(fs::remove_file(&path));
            removed.map_err(failed(&path, Operation::Remove))?;
        }
    }
    Ok(())
}

// ---- steps as bytes ---------------------------------------------------------------

fn encode(steps: &[Step]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for step in steps {
        let (kind, path) = match step {
            Step::Change { path, .. } => (1, path),
            Step::Adopt { path } => (2, path),
            Step::Remove { path } => (3, path),
        };
        let path = path.as_os_str().as_bytes();
        bytes.push(kind);
        bytes.extend((path.len() as u64).to_le_bytes());
        bytes.extend(path);
        if let Step::Change { length, runs, .. } = step {
            bytes.extend(length.to_le_bytes());
            bytes.extend((runs.len() as u64).to_le_bytes());
            for run in runs {
                bytes.extend(run.offset.to_le_bytes());
                bytes.extend(run.length.to_le_bytes());
            }
        }
    }
    bytes
}

/// The steps of a journal; `None` if it is not one.
fn read_steps(file: &fs::File) -> io::Result<Option<Vec<Step>>> {
    let length = file.metadata()?.len();
    let Some(end) = length.checked_sub(TRAILER_BYTES as u64) else {
        return Ok(None);
    };
    let mut trailer = [0; TRAILER_BYTES];
    file.read_exact_at(&mut trailer, end)?;
    let mut rest = &trailer[..];
    let (Some(first), Some(steps)) = (take_number(&mut rest), take_number(&mut rest)) else {
        return Ok(None);
    };
    let (checksum, magic) = rest.split_at(4);
    if magic != MAGIC || first.checked_add(steps) != Some(end) {
        return Ok(None);
    }
    let mut bytes = vec![0; steps as usize];
    file.read_exact_at(&mut bytes, first)?;
    if crc32c::crc32c(&bytes).to_le_bytes() != checksum {
        return Ok(None);
    }
    Ok(decode(&bytes))
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(taken)
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let taken = take(bytes, 8)?;
    Some(u64::from_le_bytes(taken.try_into().ok()?))
}

fn decode(mut bytes: &[u8]) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    while !bytes.is_empty() {
        let kind = take(&mut bytes, 1)?[0];
        let length = take_number(&mut bytes)?;
        let path = PathBuf::from(OsStr::from_bytes(take(&mut bytes, length)?));
        // Nothing outside of the directory is meant.
        let is_inside = |component| matches!(component, Component::Normal(_));
        if !path.components().all(is_inside) {
            return None;
        }
        steps.push(match kind {
            1 => {
                let length = take_number(&mut bytes)?;
                let mut runs = Vec::new();
                for _ in 0..take_number(&mut bytes)? {
                    runs.push(Run {
                        offset: take_number(&mut bytes)?,
                        length: take_number(&mut bytes)?,
                    });
                }
                Step::Change { path, length, runs }
            }
            2 => Step::Adopt { path },
            3 => Step::Remove { path },
            _ => return None,
        });
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Vec<Step> {
        let run = |offset, length| Run { offset, length };
        vec![
            Step::Change {
                path: "db/t1.ibd".into(),
                length: 9 << 40,
                runs: vec![run(0, 5), run(7 << 33, 1)],
            },
            Step::Adopt { path: "a".into() },
            Step::Remove { path: "b".into() },
        ]
    }

    #[test]
    fn steps_come_back_and_what_is_cut_short_does_not() {
        let bytes = encode(&steps());
        assert_eq!(decode(&bytes), Some(steps()));
        let whole: Vec<usize> = (0..bytes.len())
            .filter(|&length| decode(&bytes[..length]).is_some())
            .collect();
        // Between two steps.
        assert_eq!(whole.len(), 3, "{whole:?}");
        let outside = Step::Remove {
            path: "../b".into(),
        };
        assert_eq!(decode(&encode(&[outside])), None);
    }

    #[test]
    fn a_damaged_journal_is_refused_and_stays() {
        let directory = tempfile::tempdir().unwrap();
        let journal = directory.path().join(JOURNAL);
        let mut writer = JournalWriter::new(directory.path(), &mut nobody).unwrap();
        writer.steps.push(Step::Remove { path: "b".into() });
        writer.decide(&mut nobody).unwrap();
        assert!(is_write_out_unfinished(directory.path()));
        let sound = fs::read(&journal).unwrap();
        for at in 0..sound.len() {
            let mut damaged = sound.clone();
            damaged[at] ^= 1;
            fs::write(&journal, &damaged).unwrap();
            let error = finish_write_out(directory.path()).unwrap_err().to_string();
            assert!(error.contains(JOURNAL), "{error}");
        }
        fs::write(&journal, sound).unwrap();
        finish_write_out(directory.path()).unwrap();
        assert!(!is_write_out_unfinished(directory.path()));
    }
}
