//! The redo files: which file an LSN is in, and where files come from and go.
//!
//! ```text
//!   8.0.30 and later: each file follows the one before; the oldest is renamed and used
//!   again when no redo in it is needed
//!
//!     #ib_redo7     #ib_redo8     #ib_redo9     #ib_redo10_tmp
//!     [==========]  [==========]  [====      ]  [          ]
//!           ^checkpoint                ^writer   spare
//!
//!   before: a ring of files
//!
//!     ib_logfile0   ib_logfile1
//!     [====      ]  [  ========]
//!          ^writer     ^checkpoint
//! ```
//!
//! Offset in a file: 2048 + (LSN - the LSN of its first block). A write never crosses
//! the end of a file.
//!
//! A file gets its header, with the LSN of its first block and no checkpoints, before it
//! gets its name; so a file with a name of a redo file is one. Blocks of its earlier life
//! are still in it: their numbers tell that they are old.
//!
//! How a later start finds them again, and tells whether they are whole: see `existing`.

mod existing;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::block::{FIRST_BLOCK_LSN, block_start};
use super::capacity::FILE_HEADER_SIZE;
use super::error::RedoLogError;
use super::file_format::{CHECKPOINT_SLOTS, Checkpoint, FileHeader, HeaderBlock};
use crate::page::Lsn;
use crate::runtime::files::{Create, File, FileKind, FileSystem, IoMode, OpenOptions};
use crate::runtime::{LatchClass, Mutex, WaitKind};

/// How redo is spread over files; sizes as the engine works with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLayout {
    /// Files without end, one after the other (8.0.30 and later).
    Numbered {
        /// Bytes of a new file.
        file_size: u64,
    },
    /// So many files, one after the other and again from the first.
    Ring {
        /// Bytes of each.
        file_size: u64,
        /// How many.
        files: u64,
    },
}

/// How redo files are opened and made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogIo {
    /// Which way bytes take: into the page cache, or on to the medium (`O_DSYNC`).
    pub io: IoMode,
    /// Whether files are flushed at all.
    pub sync: bool,
    /// `innodb_use_fdatasync`.
    pub data_only: bool,
}

/// A redo file, as it is in use now.
#[derive(Clone, Debug)]
pub(super) struct LogFile {
    /// The LSN of its first block.
    pub(super) start: Lsn,
    /// The LSN of the block after its last one.
    pub(super) end: Lsn,
    pub(super) file: File,
    /// Its header says that redo goes on in the next one; never in a ring.
    is_full: bool,
}

impl LogFile {
    /// Bytes of the file, with its header.
    fn length(&self) -> u64 {
        FILE_HEADER_SIZE + (self.end - self.start)
    }

    /// Where the block of an LSN is.
    pub(super) fn offset(&self, block: Lsn) -> u64 {
        debug_assert!((self.start..self.end).contains(&block));
        FILE_HEADER_SIZE + (block - self.start)
    }
}

#[derive(Debug)]
struct State {
    /// From the oldest to the newest; of a ring, in the order of their names.
    files: VecDeque<LogFile>,
    /// A file that is not in use, under the name that ends in `_tmp`.
    spare: Option<(PathBuf, File)>,
    /// The number of the next new file, or of the spare one.
    next_number: u64,
}

/// All redo files; see the module's opening.
#[derive(Debug)]
pub(super) struct LogFiles {
    system: FileSystem,
    directory: PathBuf,
    layout: FileLayout,
    io: LogIo,
    log_uuid: u32,
    state: Mutex<State>,
}

/// The directory of numbered files in the data directory.
pub const SUBDIRECTORY: &str = "#innodb_redo";
const NUMBERED: &str = "#ib_redo";
const RING: &str = "ib_logfile";
const SPARE: &str = "_tmp";

/// Whether a file of this name is a redo file, or a spare one.
pub fn is_file_name(name: &str) -> bool {
    let numbered = name.strip_prefix(NUMBERED);
    let number = match numbered {
        Some(rest) => Some(rest.strip_suffix(SPARE).unwrap_or(rest)),
        None => name.strip_prefix(RING),
    };
    number.is_some_and(|number| number.parse::<u64>().is_ok())
}

impl LogFiles {
    // ---- making files --------------------------------------------------------

    fn empty(
        system: FileSystem,
        home: &Path,
        layout: FileLayout,
        io: LogIo,
        log_uuid: u32,
    ) -> Self {
        let directory = match layout {
            FileLayout::Numbered { .. } => home.join(SUBDIRECTORY),
            FileLayout::Ring { .. } => home.to_path_buf(),
        };
        LogFiles {
            system,
            directory,
            layout,
            io,
            log_uuid,
            state: Mutex::new(
                LatchClass::Plain,
                State {
                    files: VecDeque::new(),
                    spare: None,
                    next_number: 0,
                },
            ),
        }
    }

    /// Makes the files of a new log, whose first block is at [`FIRST_BLOCK_LSN`].
    pub(super) fn create(
        system: FileSystem,
        home: &Path,
        layout: FileLayout,
        io: LogIo,
        log_uuid: u32,
    ) -> Result<Self, RedoLogError> {
        let this = Self::empty(system, home, layout, io, log_uuid);
        this.system.create_directory(&this.directory)?;
        if let Some((_, path)) = this.named_files()?.first() {
            return Err(RedoLogError::Exists { path: path.clone() });
        }
        match layout {
            FileLayout::Numbered { .. } => {
                this.add_file(FIRST_BLOCK_LSN, 0)?;
            }
            FileLayout::Ring { file_size, files } => {
                let mut state = this.state.lock();
                for number in 0..files {
                    let path = this.directory.join(format!("{RING}{number}"));
                    let file = this.new_file(&path, file_size)?;
                    let length = file_size - FILE_HEADER_SIZE;
                    let start = FIRST_BLOCK_LSN + number * length;
                    let added = LogFile {
                        start,
                        end: start + length,
                        file,
                        is_full: false,
                    };
                    this.write_new_header(&added)?;
                    state.files.push_back(added);
                }
            }
        }
        this.sync_directory()?;
        Ok(this)
    }

    /// Redo files by their numbers.
    fn named_files(&self) -> Result<Vec<(u64, PathBuf)>, RedoLogError> {
        let prefix = match self.layout {
            FileLayout::Numbered { .. } => NUMBERED,
            FileLayout::Ring { .. } => RING,
        };
        let mut named = Vec::new();
        for entry in self.system.list(&self.directory)? {
            let number = entry.name.strip_prefix(prefix);
            if let Some(number) = number.and_then(|number| number.parse().ok()) {
                named.push((number, self.directory.join(entry.name)));
            }
        }
        named.sort_unstable();
        Ok(named)
    }

    fn open_file(&self, path: &Path, create: Create) -> Result<File, RedoLogError> {
        let options = OpenOptions {
            create,
            io: self.io.io,
            kind: FileKind::Log,
        };
        Ok(self.system.open(path, options)?)
    }

    fn new_file(&self, path: &Path, size: u64) -> Result<File, RedoLogError> {
        let file = self.open_file(path, Create::New)?;
        if let Err(error) = file.extend(size, WaitKind::Other) {
            // The first error counts.
            let _ = self.system.remove(path);
            return Err(error.into());
        }
        Ok(file)
    }

    fn header_of(&self, file: &LogFile) -> HeaderBlock {
        let header = FileHeader {
            log_uuid: self.log_uuid,
            start_lsn: file.start,
            file_length: file.length(),
            is_full: file.is_full,
        };
        header.encode()
    }

    /// Writes the whole header, without checkpoints, and makes it durable.
    fn write_new_header(&self, file: &LogFile) -> Result<(), RedoLogError> {
        let mut header = [0; FILE_HEADER_SIZE as usize];
        header[..512].copy_from_slice(&self.header_of(file));
        file.file.write_at(&header, 0, WaitKind::Other)?;
        self.sync(&file.file)
    }

    /// Says in a file's header whether redo goes on in the next one, durably; the
    /// checkpoints stay.
    fn set_full(&self, file: &mut LogFile, is_full: bool) -> Result<(), RedoLogError> {
        if file.is_full == is_full {
            return Ok(());
        }
        let changed = LogFile {
            is_full,
            ..file.clone()
        };
        let header = self.header_of(&changed);
        changed.file.write_at(&header, 0, WaitKind::Other)?;
        self.sync(&changed.file)?;
        *file = changed;
        Ok(())
    }

    fn sync(&self, file: &File) -> Result<(), RedoLogError> {
        match self.io.sync {
            true => Ok(file.sync(self.io.data_only, WaitKind::Other)?),
            false => Ok(()),
        }
    }

    fn sync_directory(&self) -> Result<(), RedoLogError> {
        Ok(self
            .system
            .sync_directory(&self.directory, WaitKind::Other)?)
    }

    // ---- files that come and go -----------------------------------------------

    fn path_of(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{NUMBERED}{number}"))
    }

    /// Sees to it that there is a spare file: one that is needed no more, or a new one.
    /// `oldest_needed` is the last checkpoint.
    pub(super) fn prepare_spare(&self, oldest_needed: Lsn) -> Result<(), RedoLogError> {
        let mut state = self.state.lock();
        self.prepare_spare_in(&mut state, oldest_needed)
    }

    fn prepare_spare_in(&self, state: &mut State, oldest_needed: Lsn) -> Result<(), RedoLogError> {
        let FileLayout::Numbered { file_size } = self.layout else {
            return Ok(());
        };
        if state.spare.is_some() {
            return Ok(());
        }
        let path = self
            .directory
            .join(format!("{NUMBERED}{}{SPARE}", state.next_number));
        let oldest = state.files.front();
        if state.files.len() > 1
            && let Some(oldest) = oldest
            && oldest.end <= oldest_needed
        {
            let length = oldest.length();
            let file = oldest.file.clone();
            if length == file_size {
                self.system.rename(file.path(), &path)?;
                state.files.pop_front();
                // Opened again, so that errors name it rightly.
                let file = self.open_file(&path, Create::Existing)?;
                state.spare = Some((path, file));
                // Before it gets the header of its next life, which must not be found under
                // the old name.
                return self.sync_directory();
            }
            self.system.remove(file.path())?;
            state.files.pop_front();
        }
        let file = self.new_file(&path, file_size)?;
        state.spare = Some((path, file));
        Ok(())
    }

    /// Whether a spare file is missing.
    pub(super) fn wants_spare(&self) -> bool {
        matches!(self.layout, FileLayout::Numbered { .. }) && self.state.lock().spare.is_none()
    }

    /// Appends a file whose first block is at `start`.
    fn add_file(&self, start: Lsn, oldest_needed: Lsn) -> Result<LogFile, RedoLogError> {
        let mut state = self.state.lock();
        self.prepare_spare_in(&mut state, oldest_needed)?;
        let (path, file) = state.spare.take().expect("it has just been prepared");
        let end = start + (file.length()? - FILE_HEADER_SIZE) / 512 * 512;
        let mut added = LogFile {
            start,
            end,
            file,
            is_full: false,
        };
        self.write_new_header(&added)?;
        let name = self.path_of(state.next_number);
        self.system.rename(&path, &name)?;
        self.sync_directory()?;
        state.next_number += 1;
        added.file = self.open_file(&name, Create::Existing)?;
        state.files.push_back(added.clone());
        Ok(added)
    }

    /// The file in which the block at `start`, the end of the file before, is to be
    /// written. All of that file has been flushed.
    pub(super) fn next_file(
        &self,
        start: Lsn,
        oldest_needed: Lsn,
    ) -> Result<LogFile, RedoLogError> {
        match self.layout {
            FileLayout::Numbered { .. } => {
                let file = match self.file_of(start) {
                    Some(file) => file,
                    None => self.add_file(start, oldest_needed)?,
                };
                let mut state = self.state.lock();
                let before = state.files.iter_mut().find(|file| file.end == start);
                before.map_or(Ok(()), |before| self.set_full(before, true))?;
                Ok(file)
            }
            FileLayout::Ring { .. } => Ok(self.file_of(start).expect("a ring has every LSN")),
        }
    }

    /// The file in which redo goes on from this block: the newest one also if the block is
    /// just behind its end.
    pub(super) fn file_to_go_on(&self, block: Lsn) -> LogFile {
        let newest = || self.state.lock().files.back().cloned();
        let file = self.file_of(block).or_else(newest);
        file.expect("a log has a file")
    }

    /// The file that the block at this LSN is in. Of a ring: that it is in if it is the
    /// newest of all that are there in turn.
    pub(super) fn file_of(&self, block: Lsn) -> Option<LogFile> {
        let state = self.state.lock();
        match self.layout {
            FileLayout::Numbered { .. } => {
                let found = state.files.iter().rev();
                found
                    .clone()
                    .find(|file| (file.start..file.end).contains(&block))
                    .cloned()
            }
            FileLayout::Ring { file_size, files } => {
                let length = file_size - FILE_HEADER_SIZE;
                let position = (block - FIRST_BLOCK_LSN) % (length * files);
                let start = block - position % length;
                Some(LogFile {
                    start,
                    end: start + length,
                    file: state.files[(position / length) as usize].file.clone(),
                    is_full: false,
                })
            }
        }
    }

    /// The LSNs whose blocks may be in the files: from the first to the end. Of a ring
    /// nothing is known.
    pub(super) fn range(&self) -> Option<(Lsn, Lsn)> {
        let state = self.state.lock();
        match self.layout {
            FileLayout::Numbered { .. } => {
                Some((state.files.front()?.start, state.files.back()?.end))
            }
            FileLayout::Ring { .. } => None,
        }
    }

    /// Bytes of LSN that a ring can hold; files without end hold any number.
    pub(super) fn ring_length(&self) -> Option<u64> {
        match self.layout {
            FileLayout::Numbered { .. } => None,
            FileLayout::Ring { file_size, files } => Some((file_size - FILE_HEADER_SIZE) * files),
        }
    }

    /// Bytes of all files in use.
    pub(super) fn physical_size(&self) -> u64 {
        let state = self.state.lock();
        state.files.iter().map(LogFile::length).sum()
    }

    /// Where the files are.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    // ---- checkpoints ----------------------------------------------------------

    fn checkpoint_file(&self, lsn: Lsn) -> Option<File> {
        match self.layout {
            FileLayout::Numbered { .. } => self.file_of(lsn).map(|file| file.file),
            FileLayout::Ring { .. } => self
                .state
                .lock()
                .files
                .front()
                .map(|file| file.file.clone()),
        }
    }

    /// Writes a checkpoint and makes it durable.
    pub(super) fn write_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), RedoLogError> {
        let file = match self.checkpoint_file(checkpoint.lsn) {
            Some(file) => file,
            // All redo ends with a file, and has been flushed.
            None => self.next_file(block_start(checkpoint.lsn), 0)?.file,
        };
        let block = checkpoint.encode();
        file.write_at(&block, checkpoint.slot(), WaitKind::Other)?;
        self.sync(&file)
    }

    /// The newest checkpoint of all files, and what is in those that have none.
    pub(super) fn newest_checkpoint(
        &self,
    ) -> Result<(Option<Checkpoint>, Vec<String>), RedoLogError> {
        let files: Vec<File> = {
            let state = self.state.lock();
            state.files.iter().map(|file| file.file.clone()).collect()
        };
        let mut newest: Option<Checkpoint> = None;
        let mut faults = Vec::new();
        for file in files {
            let mut empty = 0;
            for slot in CHECKPOINT_SLOTS {
                match Checkpoint::decode(&read_block(&file, slot)?) {
                    Ok(Some(found)) => {
                        let best = newest.get_or_insert(found);
                        if found.lsn >= best.lsn {
                            *best = found;
                        }
                    }
                    Ok(None) => empty += 1,
                    Err(fault) => {
                        let path = file.path().display();
                        faults.push(format!("{path}, offset {slot}: {fault}"));
                    }
                }
            }
            if empty == CHECKPOINT_SLOTS.len() {
                let path = file.path().display();
                faults.push(format!("{path}: both checkpoint slots are empty"));
            }
        }
        Ok((newest, faults))
    }
}

fn read_block(file: &File, offset: u64) -> Result<HeaderBlock, RedoLogError> {
    let mut block = [0; 512];
    file.read_at(&mut block, offset, WaitKind::Other)?;
    Ok(block)
}
