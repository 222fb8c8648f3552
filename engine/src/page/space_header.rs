//! Page 0: the tablespace header.
//!
//! ```text
//!  0     38                        150                       10390
//!  +-----+-------------------------+-------------------------+------------- - -
//!  | FIL | size, flags, 5 lists    | 256 extent descriptors  | encryption, SDI
//!  +-----+-------------------------+-------------------------+------------- - -
//! ```
//!
//! The header knows how large the file is, up to where it has been prepared
//! (*free limit*), and which extents are free: wholly, or in part because they
//! serve single pages (*fragments*). Every 16384th page repeats the layout to hold
//! the descriptors of the next 256 extents; the header part is zero there.

use super::field::fields;
use super::fil::HEADER_SIZE;
use super::file_list::ListBase;
use super::{PageNumber, SpaceId};

/// The page with the header.
pub const SPACE_HEADER_PAGE: PageNumber = PageNumber(0);
/// The page of the change buffer bitmap, after each page of extent descriptors.
pub const CHANGE_BUFFER_BITMAP_PAGE: PageNumber = PageNumber(1);
/// The first page of segment inodes.
pub const FIRST_INODE_PAGE: PageNumber = PageNumber(2);
/// The root of the clustered index, in a file without SDI.
pub const FIRST_ROOT_PAGE: PageNumber = PageNumber(3);

/// Flags of a tablespace with 16 KiB pages and DYNAMIC rows, checksummed by crc32:
/// POST_ANTELOPE and ATOMIC_BLOBS (MySQL 5.7 and later, MariaDB).
pub const FLAGS_DYNAMIC_CRC32: u32 = 0x21;
/// Flags of a MariaDB tablespace of 16 KiB pages in the full_crc32 format.
pub const FLAGS_FULL_CRC32: u32 = 0x15;

fields! {
    /// The tablespace header.
    pub const REGIONS;
    /// The tablespace's id, the same as in the FIL header.
    SPACE_ID: SpaceId = HEADER_SIZE, "FSP_SPACE_ID";
    /// Not used; 0.
    UNUSED: u32 = HEADER_SIZE + 4, "FSP_NOT_USED";
    /// Pages in the file.
    SIZE: u32 = HEADER_SIZE + 8, "FSP_SIZE";
    /// First page whose extent descriptor has not been set up; a multiple of 64.
    FREE_LIMIT: u32 = HEADER_SIZE + 12, "FSP_FREE_LIMIT";
    /// Row format, page size and more; [`FLAGS_DYNAMIC_CRC32`] for us.
    FLAGS: u32 = HEADER_SIZE + 16, "FSP_SPACE_FLAGS";
    /// Used pages in the extents on [`FREE_FRAGMENTS`].
    FRAGMENTS_USED: u32 = HEADER_SIZE + 20, "FSP_FRAG_N_USED";
    /// Free extents.
    FREE: ListBase = HEADER_SIZE + 24, "FSP_FREE";
    /// Fragment extents with a free page.
    FREE_FRAGMENTS: ListBase = HEADER_SIZE + 40, "FSP_FREE_FRAG";
    /// Fragment extents without a free page.
    FULL_FRAGMENTS: ListBase = HEADER_SIZE + 56, "FSP_FULL_FRAG";
    /// The next segment id to give out; the first is 1.
    NEXT_SEGMENT_ID: u64 = HEADER_SIZE + 72, "FSP_SEG_ID";
    /// INODE pages on which every slot is used.
    INODES_FULL: ListBase = HEADER_SIZE + 80, "FSP_SEG_INODES_FULL";
    /// INODE pages with a free slot.
    INODES_FREE: ListBase = HEADER_SIZE + 96, "FSP_SEG_INODES_FREE";
}
