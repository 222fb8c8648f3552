//! Redo records: what a mini-transaction did, as bytes.
//!
//! Redo is physical: "these bytes now stand at this offset of this page". Only where
//! that would be wasteful a record is a page operation, which recovery repeats. All
//! records of a mini-transaction are one *group*, which takes effect as a whole or not
//! at all.
//!
//! ```text
//!   kind | space | page | offset | length | bytes         bytes of a page
//!   kind | space | page | operation                       a page operation
//!   kind | space | ...                                    something done to a file
//!
//!   group of one record:   [kind with bit 0x80 ...]
//!   group of several:      [kind ...][kind with 0x40 ...] ... [31]
//! ```
//!
//! Numbers are compressed as in [`compressed_integer`](crate::page::compressed_integer). Bit 0x40 of a kind says that the
//! page is that of the record before, and leaves its address out. Bit 0x80 (InnoDB's
//! single-record flag) says that the record is a whole group; a group of several ends
//! with a byte 31 (`MLOG_MULTI_REC_END`), without which it is not complete.
//!
//! Recovery reads what a crash has left, so [`read_group`] trusts nothing.

use crate::page::compressed_integer::{CompressedInteger, read_u32};
use crate::page::{
    ChangeLog, OperationFault, PAGE_SIZE, PageBytes, PageId, PageOperation, PageOperationError,
    SpaceId,
};

/// The record is a group of its own.
const SINGLE: u8 = 0x80;
/// The record is about the page of the record before.
const SAME_PAGE: u8 = 0x40;

/// Kinds of records; 0 is none, so that zeros are not mistaken for redo.
mod kind {
    pub(super) const BYTES: u8 = 1;
    pub(super) const OPERATION: u8 = 2;
    pub(super) const FILE_CREATE: u8 = 3;
    pub(super) const FILE_DELETE: u8 = 4;
    pub(super) const FILE_EXTEND: u8 = 5;
    pub(super) const GROUP_END: u8 = 31;
}

/// Longest name of a tablespace that is logged, in bytes.
pub const NAME_LENGTH_MAX: usize = 512;

/// Something done to a tablespace's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOperation {
    /// It was created.
    Create {
        /// The tablespace.
        space: SpaceId,
        /// Its name, such as `sbtest/sbtest1`; at most [`NAME_LENGTH_MAX`] bytes.
        name: String,
        /// Its first size in pages.
        pages: u32,
    },
    /// It is gone.
    Delete {
        /// The tablespace.
        space: SpaceId,
    },
    /// It has become larger.
    Extend {
        /// The tablespace.
        space: SpaceId,
        /// Its new size in pages.
        pages: u32,
    },
}

impl FileOperation {
    /// The tablespace.
    pub fn space(&self) -> SpaceId {
        match self {
            FileOperation::Create { space, .. }
            | FileOperation::Delete { space }
            | FileOperation::Extend { space, .. } => *space,
        }
    }
}

/// The records of a mini-transaction, as they are made. It is the [`ChangeLog`] of every
/// page writer.
#[derive(Debug, Default)]
pub struct GroupBuffer {
    bytes: Vec<u8>,
    records: u32,
    /// The page that is being written.
    page: Option<PageId>,
    /// The page of the last record.
    last_page: Option<PageId>,
    /// Whether the page that is being written has changed.
    changed: bool,
    /// Nothing is recorded.
    silent: bool,
}

impl GroupBuffer {
    /// Forgets everything but its memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.records = 0;
        self.page = None;
        self.last_page = None;
        self.changed = false;
        self.silent = false;
    }

    /// From here on changes are noticed, but not recorded.
    pub(super) fn set_silent(&mut self) {
        self.silent = true;
    }

    /// Whether changes are not recorded.
    pub(super) fn is_silent(&self) -> bool {
        self.silent
    }

    /// Whether nothing has been recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The next changes are of this page.
    #[inline]
    pub(super) fn begin_page(&mut self, page: PageId) {
        self.page = Some(page);
        self.changed = false;
    }

    /// Whether the page that was begun last has changed; no longer afterwards.
    #[inline]
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    fn put(&mut self, value: u32) {
        self.bytes
            .extend_from_slice(&CompressedInteger::from_u32(value));
    }

    fn begin_record(&mut self, kind: u8) {
        let page = self.page.expect("a writer has a page");
        self.records += 1;
        if self.last_page == Some(page) {
            self.bytes.push(kind | SAME_PAGE);
        } else {
            self.last_page = Some(page);
            self.bytes.push(kind);
            self.put(page.space.0);
            self.put(page.page.0);
        }
    }

    /// Records something done to a file.
    pub(super) fn file_operation(&mut self, operation: &FileOperation) {
        if self.silent {
            return;
        }
        self.records += 1;
        self.last_page = None;
        match operation {
            FileOperation::Create { space, name, pages } => {
                assert!(name.len() <= NAME_LENGTH_MAX, "{name} is too long a name");
                self.bytes.push(kind::FILE_CREATE);
                self.put(space.0);
                self.put(*pages);
                self.put(name.len() as u32);
                self.bytes.extend_from_slice(name.as_bytes());
            }
            FileOperation::Delete { space } => {
                self.bytes.push(kind::FILE_DELETE);
                self.put(space.0);
            }
            FileOperation::Extend { space, pages } => {
                self.bytes.push(kind::FILE_EXTEND);
                self.put(space.0);
                self.put(*pages);
            }
        }
    }

    /// Ends the group; its bytes are then ready for the log.
    pub(super) fn finish(&mut self) -> &[u8] {
        match self.records {
            0 => {}
            1 => self.bytes[0] |= SINGLE,
            _ => self.bytes.push(kind::GROUP_END),
        }
        &self.bytes
    }
}

impl ChangeLog for GroupBuffer {
    #[inline]
    fn bytes(&mut self, page: &PageBytes, offset: usize, length: usize) {
        self.changed = true;
        if self.silent {
            return;
        }
        self.begin_record(kind::BYTES);
        self.put(offset as u32);
        self.put(length as u32);
        self.bytes.extend_from_slice(&page[offset..offset + length]);
    }

    #[inline]
    fn operation(&mut self, operation: PageOperation) {
        self.changed = true;
        if self.silent {
            return;
        }
        self.begin_record(kind::OPERATION);
        operation.encode(&mut self.bytes);
    }
}

/// A record, as it is read back.
#[derive(Clone, Debug, PartialEq)]
pub enum RedoRecord<'a> {
    /// Bytes of a page.
    Bytes {
        /// The page.
        page: PageId,
        /// Where they stand.
        offset: u16,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// An operation on a page.
    Operation {
        /// The page.
        page: PageId,
        /// What was done.
        operation: PageOperation,
    },
    /// Something done to a file.
    File(FileOperation),
}

impl RedoRecord<'_> {
    /// The page it is about.
    pub fn page(&self) -> Option<PageId> {
        match self {
            RedoRecord::Bytes { page, .. } | RedoRecord::Operation { page, .. } => Some(*page),
            RedoRecord::File(_) => None,
        }
    }

    /// Whether applying the record means to follow what stands on the page.
    pub fn interprets_page(&self) -> bool {
        matches!(self, RedoRecord::Operation { operation, .. } if operation.interprets_page())
    }

    /// Repeats the change on its page; nothing for a record about a file.
    ///
    /// # Errors
    /// If the page is not one on which this was done. It is as it was then.
    pub fn apply(&self, page: &mut PageBytes) -> Result<(), OperationFault> {
        match self {
            RedoRecord::Bytes { offset, bytes, .. } => {
                let start = usize::from(*offset);
                page[start..start + bytes.len()].copy_from_slice(bytes);
            }
            RedoRecord::Operation { operation, .. } => {
                operation.check(page)?;
                operation.apply(page);
            }
            RedoRecord::File(_) => {}
        }
        Ok(())
    }
}

/// Bytes that are no redo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordFault {
    /// The bytes end inside a group.
    #[error("the group of records is not complete")]
    Incomplete,
    /// No record has this kind.
    #[error("unknown redo record {0:#04x}")]
    UnknownKind(u8),
    /// The record's flags do not fit its place.
    #[error("redo record {0:#04x} cannot stand at this place of a group")]
    Misplaced(u8),
    /// A range is not on a page.
    #[error("a redo record has bytes {offset} to {end}, beyond the page's 16384")]
    Range {
        /// First byte.
        offset: u32,
        /// End.
        end: u64,
    },
    /// A page operation is malformed.
    #[error(transparent)]
    Operation(#[from] PageOperationError),
    /// A name is too long or not text.
    #[error("a redo record has the name of a tablespace of {0} bytes, which is not one")]
    Name(u32),
}

/// Reads the group of records at the front of `input`, giving each record to `record`
/// in order, and moves `input` past it.
///
/// # Errors
/// [`RecordFault::Incomplete`] if the group ends behind `input`: it may be the torn end
/// of the log. Others if the bytes cannot be redo. `input` is then where it was, but
/// `record` may have been called: let it only look, or call this once before for the
/// judgement ([`group_length`]).
pub fn read_group<'a>(
    input: &mut &'a [u8],
    mut record: impl FnMut(RedoRecord<'a>),
) -> Result<(), RecordFault> {
    let mut rest = *input;
    let mut last_page = None;
    let mut is_first = true;
    loop {
        let byte = take_byte(&mut rest)?;
        if byte == kind::GROUP_END {
            if is_first {
                return Err(RecordFault::Misplaced(byte));
            }
            break;
        }
        let is_single = byte & SINGLE != 0;
        if is_single && !is_first {
            return Err(RecordFault::Misplaced(byte));
        }
        record(read_record(byte, &mut rest, &mut last_page)?);
        is_first = false;
        if is_single {
            break;
        }
    }
    *input = rest;
    Ok(())
}

/// The length of the group at the front of `input`.
///
/// # Errors
/// As [`read_group`].
pub fn group_length(input: &[u8]) -> Result<usize, RecordFault> {
    let mut rest = input;
    read_group(&mut rest, |_| ())?;
    Ok(input.len() - rest.len())
}

fn read_record<'a>(
    byte: u8,
    rest: &mut &'a [u8],
    last_page: &mut Option<PageId>,
) -> Result<RedoRecord<'a>, RecordFault> {
    let kind = byte & !(SINGLE | SAME_PAGE);
    let same_page = byte & SAME_PAGE != 0;
    match kind {
        kind::BYTES | kind::OPERATION => {
            let page = match (same_page, *last_page) {
                (true, None) => return Err(RecordFault::Misplaced(byte)),
                (true, Some(page)) => page,
                (false, _) => PageId::new(take_u32(rest)?, take_u32(rest)?),
            };
            *last_page = Some(page);
            if kind == kind::OPERATION {
                let operation = PageOperation::decode(rest).map_err(|error| match error {
                    PageOperationError::Truncated => RecordFault::Incomplete,
                    error => error.into(),
                })?;
                return Ok(RedoRecord::Operation { page, operation });
            }
            let (offset, length) = (take_u32(rest)?, take_u32(rest)?);
            let end = u64::from(offset) + u64::from(length);
            if end > PAGE_SIZE as u64 || length == 0 {
                return Err(RecordFault::Range { offset, end });
            }
            Ok(RedoRecord::Bytes {
                page,
                offset: offset as u16,
                bytes: take(rest, length)?,
            })
        }
        kind::FILE_CREATE | kind::FILE_DELETE | kind::FILE_EXTEND if same_page => {
            Err(RecordFault::Misplaced(byte))
        }
        kind::FILE_CREATE => {
            *last_page = None;
            let space = SpaceId(take_u32(rest)?);
            let pages = take_u32(rest)?;
            let length = take_u32(rest)?;
            if length as usize > NAME_LENGTH_MAX {
                return Err(RecordFault::Name(length));
            }
            let name = String::from_utf8(take(rest, length)?.to_vec())
                .map_err(|_| RecordFault::Name(length))?;
            Ok(RedoRecord::File(FileOperation::Create {
                space,
                name,
                pages,
            }))
        }
        kind::FILE_DELETE => {
            *last_page = None;
            let space = SpaceId(take_u32(rest)?);
            Ok(RedoRecord::File(FileOperation::Delete { space }))
        }
        kind::FILE_EXTEND => {
            *last_page = None;
            let space = SpaceId(take_u32(rest)?);
            let pages = take_u32(rest)?;
            Ok(RedoRecord::File(FileOperation::Extend { space, pages }))
        }
        _ => Err(RecordFault::UnknownKind(byte)),
    }
}

fn take_byte(input: &mut &[u8]) -> Result<u8, RecordFault> {
    let (&byte, rest) = input.split_first().ok_or(RecordFault::Incomplete)?;
    *input = rest;
    Ok(byte)
}

fn take_u32(input: &mut &[u8]) -> Result<u32, RecordFault> {
    read_u32(input).ok_or(RecordFault::Incomplete)
}

fn take<'a>(input: &mut &'a [u8], length: u32) -> Result<&'a [u8], RecordFault> {
    let (bytes, rest) = input
        .split_at_checked(length as usize)
        .ok_or(RecordFault::Incomplete)?;
    *input = rest;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::page::{PageType, PageWriter};

    fn read_all(mut bytes: &[u8]) -> Vec<RedoRecord<'_>> {
        let mut records = Vec::new();
        read_group(&mut bytes, |record| records.push(record)).unwrap();
        assert!(bytes.is_empty());
        records
    }

    #[test]
    fn a_group_of_one_record_has_a_flag_and_no_end() {
        let mut page = [0; PAGE_SIZE];
        let mut group = GroupBuffer::default();
        group.begin_page(PageId::new(5, 7));
        PageWriter::new(&mut page, &mut group).write(300, &[1, 2]);
        assert!(group.take_changed());
        let bytes = group.finish().to_vec();
        assert_eq!(bytes, [0x81, 5, 7, 0x81, 0x2C, 2, 1, 2]);
        let expected = RedoRecord::Bytes {
            page: PageId::new(5, 7),
            offset: 300,
            bytes: &[1, 2],
        };
        assert_eq!(read_all(&bytes), [expected]);
    }

    #[test]
    fn the_page_is_named_where_it_changes() {
        let mut page = [0; PAGE_SIZE];
        let mut group = GroupBuffer::default();
        for (number, offset) in [(7, 100), (7, 200), (8, 100)] {
            group.begin_page(PageId::new(5, number));
            PageWriter::new(&mut page, &mut group).write(offset, &[9]);
            page[offset] = 0;
        }
        group.file_operation(&FileOperation::Extend {
            space: SpaceId(5),
            pages: 64,
        });
        group.begin_page(PageId::new(5, 8));
        PageWriter::new(&mut page, &mut group)
            .initialise_page(PageId::new(5, 8), PageType::UndoLog);
        let bytes = group.finish().to_vec();
        assert_eq!(bytes[..6], [1, 5, 7, 100, 1, 9]);
        assert_eq!(*bytes.last().unwrap(), 31);
        let pages: Vec<_> = read_all(&bytes).iter().map(RedoRecord::page).collect();
        let page = |number| Some(PageId::new(5, number));
        assert_eq!(pages, [page(7), page(7), page(8), None, page(8)]);
    }

    #[test]
    fn a_silent_group_notices_changes_and_records_none() {
        let mut page = [0; PAGE_SIZE];
        let mut group = GroupBuffer::default();
        group.set_silent();
        group.begin_page(PageId::new(5, 7));
        PageWriter::new(&mut page, &mut group).write(300, &[0]);
        assert!(!group.take_changed(), "the byte was 0 already");
        PageWriter::new(&mut page, &mut group).write(300, &[1]);
        assert!(group.take_changed());
        assert!(group.is_empty() && group.finish().is_empty());
    }

    #[test]
    fn what_cannot_be_redo_is_refused() {
        let fault = |bytes: &[u8]| group_length(bytes).unwrap_err();
        assert_eq!(fault(&[]), RecordFault::Incomplete);
        assert_eq!(fault(&[0]), RecordFault::UnknownKind(0));
        assert_eq!(fault(&[31]), RecordFault::Misplaced(31));
        assert_eq!(fault(&[0xC1, 5]), RecordFault::Misplaced(0xC1));
        let range = RecordFault::Range {
            offset: 16383,
            end: 16385,
        };
        assert_eq!(fault(&[0x81, 5, 7, 0xBF, 0xFF, 2, 1, 1]), range);
        assert_eq!(
            fault(&[0x82, 5, 7, 99]),
            RecordFault::Operation(PageOperationError::UnknownTag(99))
        );
        assert_eq!(fault(&[0x84, 0xC0]), RecordFault::Incomplete);
        // A second record that claims to be a group of its own.
        assert_eq!(
            fault(&[1, 5, 7, 8, 1, 1, 0xC1, 8, 1, 1]),
            RecordFault::Misplaced(0xC1)
        );
    }

    proptest! {
        /// Every cut of a group is incomplete, never something else, and never a panic.
        #[test]
        fn a_cut_group_is_incomplete(writes in prop::collection::vec((0u32..4, 40u16..16000, 1usize..60), 1..12)) {
            let mut group = GroupBuffer::default();
            let mut page = [0; PAGE_SIZE];
            for (number, offset, length) in writes {
                group.begin_page(PageId::new(1, number));
                page.fill(0);
                PageWriter::new(&mut page, &mut group).write(offset.into(), &vec![3; length]);
            }
            let bytes = group.finish().to_vec();
            prop_assert_eq!(group_length(&bytes), Ok(bytes.len()));
            for cut in 0..bytes.len() {
                prop_assert_eq!(group_length(&bytes[..cut]), Err(RecordFault::Incomplete));
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = group_length(&bytes);
        }
    }
}
