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
//! | [`change_log`], [`operations`], [`operation_codec`], `operation_check` | how changes are recorded and replayed |
//! | [`encoding`], [`compressed_integer`], [`roll_pointer`] | values as bytes |
//! | [`record`], [`record_format`], [`record_fields`], [`record_build`], [`record_compare`] | one record |
//! | [`index_header`], [`index_page`], [`directory`], [`search`] | an index page, read |
//! | [`insert`], [`delete`], [`update`], [`reorganise`], [`record_list`], [`bulk`] | an index page, changed |
//! | [`check`] | everything that must hold on an index page |
//! | [`file_list`], [`space_header`], [`extent_descriptor`], [`segment_inode`] | free space |
//! | [`undo_page`], [`rollback_segment`], [`transaction_system`] | history |
//! | [`regions`] | the declared fields of any page, for dumps |
//!
//! Sources: the MySQL 8.0/8.4 and MariaDB 10.11 manuals and public descriptions
//! of the format, checked against files which those servers wrote.

pub mod bulk;
mod bytes;
pub mod change_log;
pub mod check;
pub mod checksum;
pub mod compressed_integer;
pub mod delete;
pub mod directory;
pub mod encoding;
pub mod extent_descriptor;
pub mod field;
pub mod fil;
pub mod file_list;
pub mod index_header;
pub mod index_page;
pub mod insert;
mod operation_check;
pub mod operation_codec;
pub mod operations;
pub mod page_id;
pub mod page_type;
pub mod record;
pub mod record_build;
pub mod record_compare;
pub mod record_fields;
pub mod record_format;
pub mod record_list;
pub mod regions;
pub mod reorganise;
pub mod roll_pointer;
pub mod rollback_segment;
pub mod search;
pub mod segment_inode;
pub mod space_header;
pub mod transaction_system;
pub mod undo_page;
pub mod update;

pub use bulk::BulkPage;
pub use change_log::{Change, ChangeLog, NoLog, PageWriter, RecordingLog};
pub use check::{PageFault, check_index_page};
pub use checksum::ChecksumFormat;
pub use field::{Field, FieldValue, Region};
pub use fil::PageCorruption;
pub use index_page::IndexPage;
pub use operation_check::{OperationFault, check_index_structure};
pub use operation_codec::PageOperationError;
pub use operations::PageOperation;
pub use page_id::{Lsn, PageId, PageNumber, SpaceId};
pub use page_type::PageType;
pub use record::{Record, RecordImage};
pub use record_build::{RecordBuffer, RecordError};
pub use record_format::{Column, RecordFormat, RecordFormatError};
pub use roll_pointer::RollPointer;
pub use search::{SearchMode, SearchResult};

/// Bytes in a page. InnoDB's default; other sizes are not supported here.
pub const PAGE_SIZE: usize = 16384;

/// The bytes of one page.
pub type PageBytes = [u8; PAGE_SIZE];
