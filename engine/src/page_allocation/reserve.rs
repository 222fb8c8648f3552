//! Making sure of room before a change that cannot stop half-way.
//!
//! A split that runs out of space in the middle of its way up the tree could not go back.
//! So it first makes sure that so many extents are free, growing the file if they are
//! not. The tablespace's latch, which is kept until the commit, sees to it that they are
//! still there when they are needed. (InnoDB also counts what is reserved, since it has
//! users that reserve for several mini-transactions.)
//!
//! Ordinary inserts leave something for those who are needed to free space again: undo
//! logs and purge.

use super::AllocationError;
use super::space::Space;
use crate::page::SpaceId;
use crate::page::extent_descriptor::{EXTENT_PAGES, PAGES_PER_DESCRIPTOR_PAGE};
use crate::page::space_header::{self as header, SPACE_HEADER_PAGE};
use crate::redo_log::MiniTransaction;

/// What room is reserved for: how much must be left for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservePurpose {
    /// An insert: two extents and 1 % of the space are left.
    Normal,
    /// Undo logs: one extent and 0.5 % are left.
    Undo,
    /// Purge and rollback, which free space in the end: nothing is left.
    Cleaning,
}

impl ReservePurpose {
    /// Extents that must be left in a space of so many pages.
    fn left(self, size: u32) -> u32 {
        let extents = size / EXTENT_PAGES;
        match self {
            ReservePurpose::Normal => 2 + extents * 2 / 200,
            ReservePurpose::Undo => 1 + extents / 200,
            ReservePurpose::Cleaning => 0,
        }
    }
}

/// Makes sure that `extents` extents can be taken until the mini-transaction ends; in a
/// file smaller than an extent, `pages` single pages. The file grows if need be.
///
/// # Errors
/// If the file cannot grow, or a page cannot be had.
///
/// Source: InnoDB 5.7 (`fsp_reserve_free_extents`, `fsp_reserve_free_pages`).
pub fn reserve_free_extents(
    mtr: &mut MiniTransaction<'_>,
    space: SpaceId,
    extents: u32,
    pages: u32,
    purpose: ReservePurpose,
) -> Result<(), AllocationError> {
    let space = Space::open(mtr, space)?;
    let size = space.size(mtr);
    if size < EXTENT_PAGES && pages < EXTENT_PAGES / 2 {
        let first = space.described(mtr, SPACE_HEADER_PAGE)?;
        let used = first.used_pages(mtr);
        return match used + pages > size {
            true => space.grow_to(mtr, used + pages),
            false => Ok(()),
        };
    }
    loop {
        let size = space.size(mtr);
        let listed = space.list(header::FREE).len(mtr);
        // What lies above the free limit is counted with care: some extents there will
        // hold descriptors.
        let above = size.saturating_sub(space.free_limit(mtr)) / EXTENT_PAGES;
        let above = above.saturating_sub(1);
        let above = above - above / (PAGES_PER_DESCRIPTOR_PAGE / EXTENT_PAGES);
        let enough = purpose.left(size) + extents;
        let free = listed + above;
        let fits = match purpose {
            ReservePurpose::Cleaning => free >= enough,
            _ => free > enough,
        };
        if fits {
            return Ok(());
        }
        space.grow(mtr)?;
    }
}
