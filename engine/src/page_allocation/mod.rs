//! Page allocation: which page of a tablespace is free, and whose the others are.
//!
//! A tablespace is handed out in extents of 64 pages. An extent is free, or it belongs
//! to a segment, or it serves single pages (*fragments*) to whoever needs few. Every
//! extent is on exactly one list:
//!
//! ```text
//!   page 0: header            FREE       ──> extent ──> extent
//!                             FREE_FRAG  ──> extent            some pages used
//!                             FULL_FRAG  ──> extent            all 64 used
//!   page 2: inode of a        32 fragment pages, then
//!           segment           FREE       ──> extent
//!                             NOT_FULL   ──> extent
//!                             FULL       ──> extent ──> extent
//! ```
//!
//! A small segment takes single pages, so that a table of five rows has a file of a few
//! pages. After 32 of them it takes whole extents, so that the leaves of a large tree lie
//! side by side on disk and can be read ahead.
//!
//! | file | what it is about |
//! |---|---|
//! | [`file_lists`] | doubly linked lists whose nodes lie on pages |
//! | `space` | the tablespace's header; how a file grows |
//! | `extents` | taking and giving back extents and fragment pages |
//! | `segments` | creating segments, their pages, their end |
//! | `reserve` | making sure of room before a change that cannot stop half-way |
//! | `check` | what must hold for all lists and bitmaps |
//!
//! # Latches
//!
//! All of it happens under the tablespace's latch in X, which the mini-transaction takes
//! here and keeps until it commits. After it come only latches of pages that belong to
//! allocation itself (header, extent descriptors, inodes: nobody latches them without the
//! tablespace's latch) and of pages which have just been allocated and which nobody can
//! know yet. So a mini-transaction takes all other pages it needs *before* it allocates or
//! frees one.
//!
//! # Errors
//!
//! An error is found before anything is changed where that is possible. Where it is not
//! (a descriptor page that cannot be read half-way), what was changed so far is
//! consistent but may have lost a page; the caller commits its mini-transaction all the
//! same, as there is no way back.
//!
//! Source: InnoDB 5.7 to 8.4 (`fsp0fsp.cc`).

mod check;
mod error;
mod extents;
pub mod file_lists;
mod reserve;
mod segments;
mod space;

pub use check::{PageOwner, SpaceMap, check_space};
pub use error::AllocationError;
pub use reserve::{ReservePurpose, reserve_free_extents};
pub use segments::{
    SegmentPages, allocate_page, create_segment, free_page, free_segment_step, segment_pages,
};
pub use space::{FREE_EXTENTS_ADDED, SMALL_SPACE_EXTENTS, create_space, extension};

/// In which direction a segment grows, as far as its user can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocationDirection {
    /// No pattern.
    None,
    /// Towards higher keys: pages are taken upwards.
    Up,
    /// Towards lower keys: pages are taken downwards.
    Down,
}
