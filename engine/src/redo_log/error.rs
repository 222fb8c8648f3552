//! What can go wrong with the redo log.

use std::path::PathBuf;

use super::capacity::{RedoTooSmall, ScaledRedoTooSmall};
use super::file_format::HeaderFault;
use super::record::RecordFault;
use crate::buffer_pool::BufferPoolError;
use crate::page::{Lsn, OperationFault, PageId};
use crate::runtime::files::FileError;
use crate::tablespace::TablespaceError;

/// Something that keeps the redo log from working, or recovery from ending.
#[derive(Debug, thiserror::Error)]
pub enum RedoLogError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// A tablespace refused.
    #[error(transparent)]
    Tablespace(#[from] TablespaceError),
    /// The buffer pool refused.
    #[error(transparent)]
    Pool(#[from] BufferPoolError),
    /// The files are too small.
    #[error(transparent)]
    TooSmall(#[from] RedoTooSmall),
    /// They are, once they are divided by the scale.
    #[error(transparent)]
    ScaledTooSmall(#[from] ScaledRedoTooSmall),
    /// There is no memory for the log buffer.
    #[error("cannot allocate a log buffer of {bytes} bytes: {source}")]
    Memory {
        /// Its size.
        bytes: u64,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A new log was to be made where one is.
    #[error("{} exists: there is a redo log already", path.display())]
    Exists {
        /// One of its files.
        path: PathBuf,
    },
    /// There are no redo files.
    #[error("no redo files in {}: {expected} expected", directory.display())]
    Missing {
        /// Where they should be.
        directory: PathBuf,
        /// What they are called.
        expected: &'static str,
    },
    /// A redo file is gone that has been there.
    #[error(
        "{} is missing, a file of {length} bytes: {}. Without it committed transactions would \
         be lost; put it back, or restore a backup of the whole data directory",
        path.display(), proof
    )]
    FileMissing {
        /// The file.
        path: PathBuf,
        /// The length that it had, by that of its neighbour.
        length: u64,
        /// How that is known.
        proof: String,
    },
    /// A redo file has not the length that it was made with.
    #[error(
        "{}: {found} bytes, {expected} expected: the redo file was {}. Put the whole file back, \
         or restore a backup of the whole data directory",
        path.display(), if found < expected { "cut short" } else { "extended" }
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The length that it was made with.
        expected: u64,
    },
    /// A redo file cannot be used.
    #[error("{}: the file's header cannot be used: {fault}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// Why.
        fault: HeaderFault,
    },
    /// The redo files are not one log.
    #[error(
        "{}: the file begins at LSN {found}, but the file before it ends at LSN {expected}; a \
         redo file is missing or of another log",
        path.display()
    )]
    Gap {
        /// The file.
        path: PathBuf,
        /// Where it should begin.
        expected: Lsn,
        /// Where it begins.
        found: Lsn,
    },
    /// A redo file has a size that cannot be.
    #[error(
        "{}: {found} bytes, expected {expected}: the size of redo files cannot be changed \
         while they hold redo",
        path.display()
    )]
    Size {
        /// The file.
        path: PathBuf,
        /// Its size.
        found: u64,
        /// What the settings say.
        expected: u64,
    },
    /// There is no checkpoint.
    #[error(
        "{}: no redo file has a valid checkpoint, from which recovery would begin: {}",
        directory.display(), reasons.join("; ")
    )]
    NoCheckpoint {
        /// Where the files are.
        directory: PathBuf,
        /// What each file has instead; never empty.
        reasons: Vec<String>,
    },
    /// The last checkpoint is not in the files.
    #[error(
        "{}: the checkpoint is at LSN {lsn}, but the redo files hold LSN {first} to {end}",
        directory.display()
    )]
    CheckpointOutside {
        /// Where the files are.
        directory: PathBuf,
        /// The checkpoint.
        lsn: Lsn,
        /// Their first LSN.
        first: Lsn,
        /// Their end.
        end: Lsn,
    },
    /// Redo before the last checkpoint is missing, which was flushed before that.
    #[error(
        "{}: the checkpoint is at LSN {checkpoint}, but the redo log ends at LSN {end}: it was \
         cut short or damaged",
        directory.display()
    )]
    CutShort {
        /// Where the files are.
        directory: PathBuf,
        /// The checkpoint.
        checkpoint: Lsn,
        /// The end of good blocks.
        end: Lsn,
    },
    /// A block is bad in a file that was flushed as a whole.
    #[error(
        "{}: the block at offset {offset}, LSN {lsn}, is damaged, and redo follows it in the \
         next file",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The block's LSN.
        lsn: Lsn,
        /// Where it is in the file.
        offset: u64,
    },
    /// A block has the right checksum, but what it holds is no redo.
    #[error("redo at LSN {lsn} cannot be read: {fault}")]
    Record {
        /// Where the group of records begins.
        lsn: Lsn,
        /// What is wrong.
        fault: RecordFault,
    },
    /// A page is not one that redo can be applied to.
    #[error(
        "{}: redo at LSN {lsn} cannot be applied to {page}, whose LSN is {page_lsn}: {fault}. \
         The page was damaged, or is not of the same time as the redo log; restore a backup of \
         the whole data directory",
        path.display()
    )]
    CannotApply {
        /// The page's file.
        path: PathBuf,
        /// The page.
        page: PageId,
        /// The page's LSN, before anything was applied.
        page_lsn: Lsn,
        /// Where the group of records begins.
        lsn: Lsn,
        /// What is wrong.
        fault: OperationFault,
    },
    /// Redo is about a tablespace that is not there.
    #[error("redo at LSN {lsn} changes {page}, but tablespace {} is not open", page.space)]
    NoTablespace {
        /// The page.
        page: PageId,
        /// Where the group of records begins.
        lsn: Lsn,
    },
    /// Redo cannot be written.
    #[error("redo cannot be written: {reason}")]
    WriteFailed {
        /// Why.
        reason: String,
    },
    /// There is no room in the redo files, and nobody is there to make room.
    #[error(
        "no room for redo: {needed} bytes are to be written since the last checkpoint, and the \
         redo files hold {room}"
    )]
    NoRoom {
        /// Bytes from the last checkpoint to the newest redo.
        needed: u64,
        /// Bytes at which the writer stops.
        room: u64,
    },
    /// There is no room in the redo files, and the engine has failed: nobody waits for room
    /// any more.
    #[error("no wait for room in the redo files: the engine has failed")]
    WaitsEnded,
}
