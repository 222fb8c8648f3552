//! What can go wrong in the buffer pool.

use std::io;

use crate::page::{PageId, SpaceId};
use crate::runtime::time::{SECOND, Time};
use crate::tablespace::TablespaceError;

/// Something that kept the pool from giving a page.
#[derive(Debug, thiserror::Error)]
pub enum BufferPoolError {
    /// The page is not in the pool, and the caller did not want it read.
    #[error("{0} is not in the buffer pool")]
    NotInPool(PageId),
    /// The page's tablespace is not open.
    #[error("{page}: tablespace {} is not open", page.space)]
    NoTablespace {
        /// The page.
        page: PageId,
    },
    /// The page could not be read, or is damaged; the source says which.
    #[error("cannot read {page} after {attempts} attempts: {source}")]
    Read {
        /// The page.
        page: PageId,
        /// How often it was tried.
        attempts: u32,
        /// Why.
        source: TablespaceError,
    },
    /// Nobody gave up a frame for so long.
    #[error(
        "no free frame in buffer pool instance {instance} for {} s: of {frames} frames {fixed} are \
         in use, {dirty} hold changes that are not written, {under_io} are being read or written; \
         a larger innodb_buffer_pool_size may help",
        waited / SECOND
    )]
    NoFreeFrame {
        /// The instance.
        instance: usize,
        /// How long the thread has looked, in picoseconds.
        waited: Time,
        /// Frames of the instance.
        frames: usize,
        /// Frames whose page somebody uses.
        fixed: usize,
        /// Frames with a dirty page.
        dirty: usize,
        /// Frames under I/O.
        under_io: usize,
    },
    /// A pool of this shape cannot be made.
    #[error(
        "a buffer pool of {bytes} bytes in {instances} instances is not possible: 1 to 64 \
         instances of at least {frames_min} pages of 16 KiB"
    )]
    Size {
        /// Its size.
        bytes: u64,
        /// Its instances.
        instances: usize,
        /// The least that an instance must have.
        frames_min: usize,
    },
    /// The operating system has no memory for the frames.
    #[error("cannot allocate a buffer pool of {bytes} bytes: {source}")]
    Memory {
        /// Its size.
        bytes: u64,
        /// The system's reason.
        source: io::Error,
    },
}

impl BufferPoolError {
    /// The page that is damaged, if that is the error.
    pub fn corrupted_page(&self) -> Option<PageId> {
        match self {
            BufferPoolError::Read { page, source, .. } if source.is_corruption() => Some(*page),
            _ => None,
        }
    }

    /// The tablespace that is not open, if that is the error.
    pub fn missing_tablespace(&self) -> Option<SpaceId> {
        match self {
            BufferPoolError::NoTablespace { page } => Some(page.space),
            _ => None,
        }
    }
}
