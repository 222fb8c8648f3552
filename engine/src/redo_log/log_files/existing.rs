//! The redo files of an earlier run: found, judged, and taken over.
//!
//! **Whether files are whole.** A log ends at the first block that is not good; so a file
//! that somebody deleted or cut would pass for the end of the log, and what was committed
//! in it be lost without a word. Two durable facts in the files' headers prevent that:
//!
//! ```text
//!   1  all blocks of #ib_redo8 flushed
//!   2  #ib_redo9: length, header, name          durable
//!   3  #ib_redo8: flag "full"                   durable
//!   4  first block into #ib_redo9
//! ```
//!
//! - The newest file is *full*: a later one has been there (step 2), and may have had redo
//!   (step 4). It is missing. Without the flag no block was written into a later file, and
//!   nothing is lost if there is none; or it is there, of a crash between 2 and 3.
//! - A file has not the length that its header names: it was cut. A file has its whole
//!   length before its name.
//!
//! A file missing before others shows in their LSNs, and one of a ring in the settings.
//! What this cannot show: that blocks within a file were overwritten, which looks like a
//! tail that was torn, or that all files are those of an earlier day. Some of that is found
//! later: a checkpoint or a page is newer than the end of the log then.
//!
//! Opening files changes none of them. What has to be cleared away before new redo is
//! written is cleared by [`LogFiles::go_on_from`], when it is certain that the engine
//! starts.

use std::collections::VecDeque;
use std::path::Path;

use super::{FileLayout, LogFile, LogFiles, LogIo, NUMBERED, SPARE, read_block};
use crate::page::Lsn;
use crate::redo_log::capacity::FILE_HEADER_SIZE;
use crate::redo_log::error::RedoLogError;
use crate::redo_log::file_format::FileHeader;
use crate::runtime::files::{Create, File, FileSystem};

impl LogFiles {
    /// Finds the files of a log, and that none is missing or cut. Changes nothing.
    pub(in crate::redo_log) fn open(
        system: FileSystem,
        home: &Path,
        layout: FileLayout,
        io: LogIo,
    ) -> Result<Self, RedoLogError> {
        let mut this = Self::empty(system, home, layout, io, 0);
        let named = match this.system.exists(&this.directory)? {
            true => this.named_files()?,
            false => Vec::new(),
        };
        if named.is_empty() {
            let expected = match layout {
                FileLayout::Numbered { .. } => "#ib_redo0 and so on",
                FileLayout::Ring { .. } => "ib_logfile0 and so on",
            };
            return Err(RedoLogError::Missing {
                directory: this.directory,
                expected,
            });
        }
        let mut files: VecDeque<LogFile> = VecDeque::with_capacity(named.len());
        let mut next_number = 0;
        for (number, path) in named {
            let (header, file) = this.open_log_file(&path, files.back())?;
            this.log_uuid = header.log_uuid;
            let start = header.start_lsn;
            if let Some(before) = files.back()
                && before.end != start
            {
                return Err(match number == next_number {
                    true => RedoLogError::Gap {
                        path,
                        expected: before.end,
                        found: start,
                    },
                    false => RedoLogError::FileMissing {
                        path: this.path_of(next_number),
                        length: before.length(),
                        proof: format!(
                            "the file before it ends at LSN {}, and {} begins at LSN {start}",
                            before.end,
                            path.display()
                        ),
                    },
                });
            }
            next_number = number + 1;
            files.push_back(LogFile {
                start,
                end: start + (header.file_length - FILE_HEADER_SIZE) / 512 * 512,
                file,
                is_full: header.is_full,
            });
        }
        if let FileLayout::Ring { files: wanted, .. } = layout
            && files.len() as u64 != wanted
        {
            return Err(RedoLogError::Missing {
                directory: this.directory,
                expected: "innodb_log_files_in_group files ib_logfile0 and so on",
            });
        }
        if let Some(newest) = files.back()
            && newest.is_full
        {
            return Err(RedoLogError::FileMissing {
                path: this.path_of(next_number),
                length: newest.length(),
                proof: format!(
                    "the header of {} says that redo goes on there",
                    newest.file.path().display()
                ),
            });
        }
        {
            let mut state = this.state.lock();
            state.files = files;
            state.next_number = next_number;
        }
        Ok(this)
    }

    /// Opens a file and reads its header.
    fn open_log_file(
        &self,
        path: &Path,
        before: Option<&LogFile>,
    ) -> Result<(FileHeader, File), RedoLogError> {
        let file = self.open_file(path, Create::Existing)?;
        let found = file.length()?;
        let wrong_length = |expected| RedoLogError::Length {
            path: path.into(),
            found,
            expected,
        };
        if found < FILE_HEADER_SIZE {
            let of_settings = match self.layout {
                FileLayout::Numbered { file_size } | FileLayout::Ring { file_size, .. } => {
                    file_size
                }
            };
            return Err(wrong_length(before.map_or(of_settings, LogFile::length)));
        }
        let header =
            FileHeader::decode(&read_block(&file, 0)?).map_err(|fault| RedoLogError::Header {
                path: path.into(),
                fault,
            })?;
        if found != header.file_length {
            return Err(wrong_length(header.file_length));
        }
        if let FileLayout::Ring { file_size, .. } = self.layout
            && found != file_size
        {
            return Err(RedoLogError::Size {
                path: path.into(),
                found,
                expected: file_size,
            });
        }
        Ok((header, file))
    }

    /// Recovery has found that the log ends in this block, and redo will be written from
    /// there on: everything that would contradict that goes. If a crash interrupts this,
    /// the next recovery finds the same end.
    pub(in crate::redo_log) fn go_on_from(&self, block: Lsn) -> Result<(), RedoLogError> {
        // It may have been written only; pages will rely on it.
        self.sync(&self.file_to_go_on(block).file)?;
        self.remove_spare_files()?;
        if !matches!(self.layout, FileLayout::Numbered { .. }) {
            return Ok(());
        }
        let mut state = self.state.lock();
        let state = &mut *state;
        let kept = state.files.partition_point(|file| file.start <= block);
        // A file before others is full, and the newest one is not.
        for (number, file) in state.files.iter_mut().take(kept).enumerate() {
            self.set_full(file, number + 1 < kept)?;
        }
        if kept == state.files.len() {
            return Ok(());
        }
        // The newest first, so that what is left is always without a gap.
        while state.files.len() > kept
            && let Some(behind) = state.files.pop_back()
        {
            self.system.remove(behind.file.path())?;
            state.next_number -= 1;
        }
        self.sync_directory()
    }

    /// A spare file of an earlier run may have any content; a new one is made instead.
    fn remove_spare_files(&self) -> Result<(), RedoLogError> {
        for entry in self.system.list(&self.directory)? {
            if entry.name.starts_with(NUMBERED) && entry.name.ends_with(SPARE) {
                self.system.remove(self.directory.join(entry.name))?;
            }
        }
        Ok(())
    }
}
