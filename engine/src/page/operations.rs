//! Changes that redo repeats by doing them again.
//!
//! Recording every byte would make some changes dear: a new slot in the directory
//! of a page with a thousand records moves five hundred bytes, a reorganised page
//! has changed from front to back. These are recorded as *operations*: a tag and
//! a few numbers, with all that is needed to repeat them on the page as it was.
//!
//! ```text
//!   LinkRecord   tag | origin | previous | size | next free      6 to 9 bytes
//!   bytes moved without it: header 16, two next pointers, n_owned, half a directory
//! ```
//!
//! The promise that makes this safe: an operation's result depends on the page's
//! bytes and the operation alone, and doing and repeating run the same function.
//! Redo applies it once, in order, to a page whose LSN says that it is missing.
//!
//! In the log they stand as [`operation_codec`](super::operation_codec) says.

use super::delete::unlink_record;
use super::insert::{LinkRecord, link_record};
use super::record_format::RecordShape;
use super::record_list::{DeleteList, delete_list_end, delete_list_start};
use super::reorganise::rebuild;
use super::{PageBytes, PageId, PageType, fil, index_page};

/// A deterministic change of one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageOperation {
    /// The page becomes an empty page of a type that is not an index page.
    InitialisePage {
        /// Its address.
        id: PageId,
        /// Its type.
        page_type: PageType,
    },
    /// The page becomes an empty index page.
    InitialiseIndexPage {
        /// Its address.
        id: PageId,
        /// Height above the leaves.
        level: u16,
        /// Its index.
        index_id: u64,
    },
    /// All records leave the page; see `PageWriter::clear_index_page`.
    ClearIndexPage {
        /// Height above the leaves from now on.
        level: u16,
    },
    /// A record that stands in the heap enters the list.
    LinkRecord(LinkRecord),
    /// A record leaves the list and waits on the free list.
    UnlinkRecord {
        /// The record.
        origin: u16,
        /// Its bytes with the header.
        size: u16,
    },
    /// A record and all after it leave the page.
    DeleteListEnd(DeleteList),
    /// All records before a record leave the page.
    DeleteListStart(DeleteList),
    /// The page is rebuilt without garbage.
    Reorganise {
        /// How long its records are.
        shape: RecordShape,
    },
    /// A range gets one byte value.
    Fill {
        /// First byte.
        offset: u16,
        /// Number of bytes.
        length: u16,
        /// The value.
        value: u8,
    },
}

impl PageOperation {
    /// Whether the operation makes the page anew, so that what it held before does
    /// not matter: recovery need not read it, nor mind if it cannot be read.
    pub fn initialises_page(&self) -> bool {
        matches!(
            self,
            PageOperation::InitialisePage { .. } | PageOperation::InitialiseIndexPage { .. }
        )
    }

    /// Carries the operation out.
    ///
    /// # Panics
    /// May panic, or not return, on a page that is not in the state the operation was made
    /// for: who cannot be sure of it calls [`check`](Self::check) first.
    #[inline]
    pub fn apply(&self, page: &mut PageBytes) {
        match self {
            PageOperation::InitialisePage { id, page_type } => {
                fil::initialise(page, *id, *page_type);
            }
            PageOperation::InitialiseIndexPage {
                id,
                level,
                index_id,
            } => {
                index_page::initialise(page, *id, *level, *index_id);
            }
            PageOperation::ClearIndexPage { level } => index_page::clear(page, *level),
            PageOperation::LinkRecord(link) => link_record(page, link),
            PageOperation::UnlinkRecord { origin, size } => unlink_record(page, *origin, *size),
            PageOperation::DeleteListEnd(list) => delete_list_end(page, list),
            PageOperation::DeleteListStart(list) => delete_list_start(page, list),
            PageOperation::Reorganise { shape } => {
                let format = shape
                    .to_format()
                    .expect("checked when it was made or decoded");
                rebuild(page, &format);
            }
            PageOperation::Fill {
                offset,
                length,
                value,
            } => {
                let (start, length) = (usize::from(*offset), usize::from(*length));
                page[start..start + length].fill(*value);
            }
        }
    }
}
