//! What can go wrong with a tablespace.

use std::path::PathBuf;

use crate::page::{Lsn, PageCorruption, PageId, SpaceId};
use crate::runtime::files::FileError;

/// Something that kept a tablespace from being opened, or a page from being read.
#[derive(Debug, thiserror::Error)]
pub enum TablespaceError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// A page is damaged.
    #[error("{}: {corruption}", path.display())]
    Corrupted {
        /// The file.
        path: PathBuf,
        /// What is wrong: page, expected, found.
        corruption: PageCorruption,
    },
    /// A page has changes that are not in the redo log.
    #[error(
        "{}: {page} has LSN {page_lsn}, which is beyond the end of the redo log, {end_lsn}: the \
         redo files are older than the data files, or their end was lost",
        path.display()
    )]
    NewerThanRedo {
        /// The file.
        path: PathBuf,
        /// The page.
        page: PageId,
        /// Its LSN.
        page_lsn: Lsn,
        /// Where the redo log ends.
        end_lsn: Lsn,
    },
    /// A file is shorter than its header says.
    #[error(
        "{}: {length} bytes, but its header says that it has {pages} pages, {} bytes: the file \
         was cut short. Put the whole file back, or restore a backup of the whole data directory",
        path.display(), super::offset(*pages)
    )]
    CutShort {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        length: u64,
        /// FSP_SIZE.
        pages: u32,
    },
    /// The file has no such page.
    #[error("{page} is beyond the end of {}, which has {pages} pages", path.display())]
    BeyondEnd {
        /// The page.
        page: PageId,
        /// The file.
        path: PathBuf,
        /// Its pages.
        pages: u32,
    },
    /// Page 0 is all zeros: the file was created, and its header never written.
    #[error("{} has an empty first page: it was never initialised", path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
    /// The file's format is not the one that this engine writes.
    #[error(
        "{}: tablespace flags {flags:#x} are not supported ({what}); this engine opens {:#x}: \
         16 KiB pages, row format DYNAMIC, checksum crc32",
        path.display(),
        crate::page::space_header::FLAGS_DYNAMIC_CRC32
    )]
    Flags {
        /// The file.
        path: PathBuf,
        /// Its flags.
        flags: u32,
        /// What they stand for.
        what: &'static str,
    },
    /// The header contradicts itself or the caller.
    #[error("{} says it is tablespace {found}, expected {expected}", path.display())]
    WrongSpace {
        /// The file.
        path: PathBuf,
        /// The tablespace that it should be.
        expected: SpaceId,
        /// The tablespace that it says it is.
        found: SpaceId,
    },
    /// A tablespace of that id is open already.
    #[error("tablespace {space} cannot be {}: it is open as {}", path.display(), open.display())]
    AlreadyOpen {
        /// The tablespace.
        space: SpaceId,
        /// The file to be opened or created.
        path: PathBuf,
        /// The file that is open.
        open: PathBuf,
    },
    /// No tablespace of that id is open.
    #[error("tablespace {space} is not open")]
    NotOpen {
        /// The tablespace.
        space: SpaceId,
    },
    /// A page number of 32 bits does not reach so far.
    #[error("{} cannot have {pages} pages: at most {}", path.display(), super::PAGES_MAX)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The pages asked for, or found.
        pages: u64,
    },
}

impl TablespaceError {
    /// Whether bytes are damaged, as opposed to missing or out of reach.
    pub fn is_corruption(&self) -> bool {
        matches!(self, TablespaceError::Corrupted { .. })
    }
}
