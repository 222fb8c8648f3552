//! InnoDB's 16 KiB pages, byte for byte.
//!
//! A tablespace file is an array of pages. Every page has the same frame, a
//! 38-byte *FIL header* in front and an 8-byte *FIL trailer* behind, and a body
//! that depends on its type. Most pages of a table are *index pages*: nodes of a
//! B+tree that hold records. The rest keeps order: which page is free, which
//! belongs to whom, and what a row looked like before.
//!
//! ```text
//!  page 0      page 1     page 2    page 3     page 4    page 5 ...
//! +---------+----------+---------+----------+---------+----------+
//! | FSP_HDR | IBUF_    | INODE   | INDEX    | INDEX   | INDEX    |
//! | extents | BITMAP   | segments| clustered| k_1     | a leaf   |
//! |         | (zeros)  |         | root     | root    |          |
//! +---------+----------+---------+----------+---------+----------+
//! ```
//!
//! This module knows bytes and nothing else: no file, no latch, no clock, no
//! transaction. Reading works on a `&PageBytes`; every change goes through a
//! [`PageWriter`], which reports it to a [`ChangeLog`] so that redo can repeat it.
//!
//! The map, from the frame inwards:
//!
//! | file | what it is about |
//! |---|---|
//! | [`page_id`] | page numbers, space ids, LSNs |
//! | [`field`] | a field of a page: offset, width, name, declared once |
//! | [`fil`], [`checksum`], [`page_type`] | the frame, and how a damaged page is noticed |
//! | [`encoding`], [`compressed_integer`], [`roll_pointer`] | values as bytes |
//! | [`file_list`] | free space |
//!
//! Sources: the MySQL 8.0/8.4 and MariaDB 10.11 manuals and public descriptions
//! of the format, checked against files which those servers wrote.

mod bytes;
pub mod checksum;
pub mod compressed_integer;
pub mod encoding;
pub mod field;
pub mod fil;
pub mod file_list;
pub mod page_id;
pub mod page_type;
pub mod roll_pointer;

pub use checksum::ChecksumFormat;
pub use field::{Field, FieldValue, Region};
pub use fil::PageCorruption;
pub use page_id::{Lsn, PageId, PageNumber, SpaceId};
pub use page_type::PageType;
pub use roll_pointer::RollPointer;

/// Bytes in a page. InnoDB's default; other sizes are not supported here.
pub const PAGE_SIZE: usize = 16384;

/// The bytes of one page.
pub type PageBytes = [u8; PAGE_SIZE];
