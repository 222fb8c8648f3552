//! What can go wrong with the doublewrite buffer as a whole. Writes of single pages that
//! fail are another matter: see `trouble`.

use std::io;
use std::path::PathBuf;

use crate::page::{PageCorruption, PageId};
use crate::runtime::files::FileError;
use crate::tablespace::TablespaceError;

/// Something that keeps the doublewrite buffer from being made, or data from being
/// recovered.
#[derive(Debug, thiserror::Error)]
pub enum DoublewriteError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// A tablespace could not be read, repaired or flushed.
    #[error(transparent)]
    Tablespace(#[from] TablespaceError),
    /// No memory for a buffer.
    #[error("no memory for {bytes} bytes of the doublewrite buffer: {source}")]
    Memory {
        /// Bytes asked for.
        bytes: usize,
        /// The system's reason.
        source: io::Error,
    },
    /// A data page is torn, and there is no sound copy of it.
    #[error(
        "{}: {corruption}; {why}, so the page cannot be repaired ({others} more such pages)",
        path.display()
    )]
    Unrepairable {
        /// The page.
        page: PageId,
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        corruption: PageCorruption,
        /// Why there is no copy.
        why: &'static str,
        /// Pages besides it in the same state.
        others: usize,
    },
}
