//! Reorganising: a page rebuilt from its live records.
//!
//! Freed records and the left-overs between records are bytes that only a lucky
//! insert can use. When a page has room in sum but not in one piece, its live
//! records are copied to the front of the heap in key order, and the garbage is
//! free space again:
//!
//! ```text
//!   before  | inf | sup | 20 | (freed) | 10 | (..) | 30 |  free  |
//!   after   | inf | sup | 10 | 20 | 30 |          free           |
//! ```
//!
//! Heap numbers change, so the caller must carry row locks over.
//!
//! Replay needs to know how long the records are, and has no dictionary. The log
//! entry therefore carries the record format in a compact form, two bytes a
//! column.

use super::PageBytes;
use super::bulk::SequentialFill;
use super::index_page::{self, IndexPage};
use super::record_format::RecordFormat;
use super::{ChangeLog, PageOperation, PageWriter};

impl<L: ChangeLog + ?Sized> PageWriter<'_, L> {
    /// Rebuilds the page without garbage. Records keep their order and their
    /// marks, and get new origins and heap numbers.
    pub fn reorganise(&mut self, format: &RecordFormat) {
        self.flush();
        rebuild(self.page_mut(), format);
        self.record(PageOperation::Reorganise {
            shape: format.shape().clone(),
        });
    }
}

/// Carries [`PageOperation::Reorganise`] out.
// Kept out of line for its frame of a whole page.
#[inline(never)]
pub(super) fn rebuild(page: &mut PageBytes, format: &RecordFormat) {
    let old = *page;
    let old = IndexPage::new(&old);
    index_page::clear(page, old.level());
    let mut fill = SequentialFill::new();
    for record in old.records() {
        fill.append(page, record.image(format));
    }
    fill.finish(page);
}
