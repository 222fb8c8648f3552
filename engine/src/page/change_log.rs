//! Changing a page, and recording the change.
//!
//! Redo must be able to repeat every change, so nothing writes into a page
//! behind its back: a [`PageWriter`] makes the change and tells a [`ChangeLog`].
//! There are two kinds of entries.
//!
//! * *bytes*: "these bytes now stand at this offset". Physical, trivially
//!   repeatable, and right for most changes.
//! * *an operation* ([`PageOperation`]): a deterministic rearrangement. Making
//!   room for a directory slot moves hundreds of bytes; repeating the move takes
//!   five.
//!
//! ```text
//!   insert ──> PageWriter ──> page bytes
//!                  │
//!                  └────────> ChangeLog:  bytes 331..537 | LinkRecord{..} | ...
//!                                              │ (mini-transaction: redo log)
//!   recovery:  old page + entries in order ────┘──> the same page, byte for byte
//! ```
//!
//! Neighbouring small writes become one entry: setting five header fields one
//! after the other is one range of bytes. The writer holds the last range back
//! until a write elsewhere, an operation, or its drop.

use super::field::MAX_FIELD_LENGTH;
use super::index_page::IndexPage;
use super::operations::PageOperation;
use super::{Field, FieldValue, PAGE_SIZE, PageBytes};

/// Receives every change of a page, in order.
///
/// Implemented by the mini-transaction. Neither method may wait, since a page
/// latch is held, nor panic, since a writer reports its last range when dropped.
pub trait ChangeLog {
    /// `length` bytes at `offset` have been changed; `page` holds them already.
    fn bytes(&mut self, page: &PageBytes, offset: usize, length: usize);

    /// A change which [`PageOperation::apply`] repeats.
    fn operation(&mut self, operation: PageOperation);
}

impl<L: ChangeLog + ?Sized> ChangeLog for &mut L {
    fn bytes(&mut self, page: &PageBytes, offset: usize, length: usize) {
        (**self).bytes(page, offset, length);
    }

    fn operation(&mut self, operation: PageOperation) {
        (**self).operation(operation);
    }
}

/// Records nothing: for bulk loads of files that are thrown away on a crash, and
/// for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLog;

impl ChangeLog for NoLog {
    #[inline(always)]
    fn bytes(&mut self, _page: &PageBytes, _offset: usize, _length: usize) {}

    #[inline(always)]
    fn operation(&mut self, _operation: PageOperation) {}
}

/// One recorded change.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// These bytes were put at this offset.
    Bytes {
        /// First byte changed.
        offset: usize,
        /// The new bytes.
        bytes: Vec<u8>,
    },
    /// This operation was carried out.
    Operation(PageOperation),
}

impl Change {
    /// Repeats the change.
    pub fn apply(&self, page: &mut PageBytes) {
        match self {
            Change::Bytes { offset, bytes } => {
                page[*offset..*offset + bytes.len()].copy_from_slice(bytes);
            }
            Change::Operation(operation) => operation.apply(page),
        }
    }
}

/// Keeps all changes in memory: to replay them elsewhere, or to look at them.
#[derive(Clone, Debug, Default)]
pub struct RecordingLog {
    /// The changes, oldest first.
    pub changes: Vec<Change>,
}

impl RecordingLog {
    /// Repeats all changes in order.
    pub fn replay(&self, page: &mut PageBytes) {
        for change in &self.changes {
            change.apply(page);
        }
    }
}

impl ChangeLog for RecordingLog {
    fn bytes(&mut self, page: &PageBytes, offset: usize, length: usize) {
        let bytes = page[offset..offset + length].to_vec();
        self.changes.push(Change::Bytes { offset, bytes });
    }

    fn operation(&mut self, operation: PageOperation) {
        self.changes.push(Change::Operation(operation));
    }
}

/// Ranges this close become one: an entry of its own costs about as much in redo
/// (a type byte, the offset, the length).
const MERGE_GAP: usize = 4;

/// The only way to change a page inside the engine.
///
/// Borrow one for a few changes of one page, then drop it, so that the log has
/// seen everything before another page is changed. Operations on index pages
/// (insert, delete, ...) are methods of the writer, each in a file of its own.
pub struct PageWriter<'a, L: ChangeLog + ?Sized> {
    page: &'a mut PageBytes,
    log: &'a mut L,
    // Changed bytes that the log has not seen: start..end, empty if equal.
    start: usize,
    end: usize,
}

impl<'a, L: ChangeLog + ?Sized> PageWriter<'a, L> {
    /// A writer of `page` which records to `log`.
    #[inline]
    pub fn new(page: &'a mut PageBytes, log: &'a mut L) -> Self {
        PageWriter {
            page,
            log,
            start: 0,
            end: 0,
        }
    }

    /// The page as it is now.
    #[inline(always)]
    pub fn page(&self) -> &PageBytes {
        self.page
    }

    /// The page as an index page.
    #[inline(always)]
    pub fn index_page(&self) -> IndexPage<'_> {
        IndexPage::new(self.page)
    }

    /// Sets a field. Setting the value it has already records nothing.
    #[inline]
    pub fn set<T: FieldValue>(&mut self, field: Field<T>, value: T) {
        let mut buffer = [0; MAX_FIELD_LENGTH];
        let bytes = &mut buffer[..T::LENGTH];
        value.write(bytes);
        self.write(field.offset(), bytes);
    }

    /// Puts `bytes` at `offset`. Bytes that stand there already record nothing.
    ///
    /// # Panics
    /// If the range leaves the page.
    #[inline]
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        let target = &mut self.page[offset..offset + bytes.len()];
        if target != bytes {
            target.copy_from_slice(bytes);
            self.changed(offset, bytes.len());
        }
    }

    /// Fills a range with one byte value.
    ///
    /// # Panics
    /// If the range leaves the page.
    pub fn fill(&mut self, offset: usize, length: usize, value: u8) {
        assert!(offset + length <= PAGE_SIZE, "the range leaves the page");
        self.operate(PageOperation::Fill {
            offset: offset as u16,
            length: length as u16,
            value,
        });
    }

    /// Carries an operation out and records it.
    pub fn operate(&mut self, operation: PageOperation) {
        self.flush();
        operation.apply(self.page);
        self.log.operation(operation);
    }

    /// Hands what has been held back to the log. Dropping the writer does it too.
    pub fn flush(&mut self) {
        if self.start != self.end {
            self.log.bytes(self.page, self.start, self.end - self.start);
            self.start = self.end;
        }
    }

    /// The page, for changes that the caller reports by `changed` or `record`.
    #[inline(always)]
    pub(super) fn page_mut(&mut self) -> &mut PageBytes {
        self.page
    }

    /// Reports that bytes were changed through `page_mut`.
    #[inline]
    pub(super) fn changed(&mut self, offset: usize, length: usize) {
        let end = offset + length;
        let near = offset <= self.end + MERGE_GAP && self.start <= end + MERGE_GAP;
        if self.start != self.end && near {
            self.start = self.start.min(offset);
            self.end = self.end.max(end);
        } else {
            self.flush();
            (self.start, self.end) = (offset, end);
        }
    }

    /// Reports an operation that was carried out through `page_mut`, after a
    /// `flush`: replay must meet the operation with the bytes it had here.
    #[inline]
    pub(super) fn record(&mut self, operation: PageOperation) {
        debug_assert_eq!(self.start, self.end, "flush before an operation");
        self.log.operation(operation);
    }
}

impl<L: ChangeLog + ?Sized> Drop for PageWriter<'_, L> {
    fn drop(&mut self) {
        self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_writes_become_one_entry() {
        let mut page = [0; PAGE_SIZE];
        let mut log = RecordingLog::default();
        let mut writer = PageWriter::new(&mut page, &mut log);
        writer.write(100, &[1, 2]);
        writer.write(102, &[3]);
        writer.write(107, &[4]);
        writer.write(97, &[5]);
        writer.write(200, &[6]);
        writer.write(200, &[6]);
        drop(writer);
        let bytes = |offset, bytes: &[u8]| Change::Bytes {
            offset,
            bytes: bytes.to_vec(),
        };
        let first = bytes(97, &[5, 0, 0, 1, 2, 3, 0, 0, 0, 0, 4]);
        assert_eq!(log.changes, [first, bytes(200, &[6])]);
    }

    #[test]
    fn an_operation_comes_after_the_bytes_before_it() {
        let mut page = [0; PAGE_SIZE];
        let mut log = RecordingLog::default();
        let mut writer = PageWriter::new(&mut page, &mut log);
        writer.write(300, &[1]);
        writer.fill(300, 8, 7);
        writer.write(304, &[9]);
        drop(writer);
        let bytes = |offset, byte| Change::Bytes {
            offset,
            bytes: vec![byte],
        };
        let fill = PageOperation::Fill {
            offset: 300,
            length: 8,
            value: 7,
        };
        let expected = [bytes(300, 1), Change::Operation(fill), bytes(304, 9)];
        assert_eq!(log.changes, expected);
        let mut replica = [0; PAGE_SIZE];
        log.replay(&mut replica);
        assert!(replica == page);
        assert_eq!(page[300..308], [7, 7, 7, 7, 9, 7, 7, 7]);
    }
}
