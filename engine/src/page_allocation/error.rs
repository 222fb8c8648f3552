//! What can go wrong when pages are allocated or freed.

use crate::page::{PageId, SpaceId};
use crate::redo_log::PageAccessError;
use crate::tablespace::TablespaceError;

/// Something that kept a page from being allocated or freed.
#[derive(Debug, thiserror::Error)]
pub enum AllocationError {
    /// A page could not be had.
    #[error(transparent)]
    Page(#[from] PageAccessError),
    /// The file could not grow.
    #[error("tablespace {space} cannot grow to {pages} pages: {source}")]
    Extend {
        /// The tablespace.
        space: SpaceId,
        /// The size that was wanted.
        pages: u32,
        /// Why not.
        source: TablespaceError,
    },
    /// The tablespace is not open.
    #[error("tablespace {0} is not open")]
    NoTablespace(SpaceId),
    /// A structure on a page contradicts itself or another one.
    #[error("{page}: {what} is {found}, accepted is {accepted}")]
    Damaged {
        /// The page.
        page: PageId,
        /// Which field or structure.
        what: &'static str,
        /// What it says.
        found: u64,
        /// What it might say.
        accepted: &'static str,
    },
}
