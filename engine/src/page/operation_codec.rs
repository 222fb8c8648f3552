//! Page operations as bytes, for the redo log.
//!
//! A tag byte, then the numbers, compressed as in
//! [`compressed_integer`](super::compressed_integer): an offset on a page takes
//! one or two bytes.
//!
//! ```text
//!   04 814b 7d 80ce          LinkRecord: origin 331, previous 125, size 206, at the top
//!   06 814b 80ce             UnlinkRecord: origin 331, size 206
//! ```
//!
//! Redo is read back after a crash, so decoding trusts nothing: what it returns is
//! an operation whose every offset lies on a page, or an error.

use std::sync::Arc;

use super::compressed_integer::{CompressedInteger, read_u32, read_u64_much};
use super::index_header::INFIMUM;
use super::insert::{HeapPlace, LinkRecord};
use super::operations::PageOperation;
use super::record_format::{MAX_COLUMNS, RecordShape};
use super::record_list::DeleteList;
use super::{PAGE_SIZE, PageId, PageType, fil};

/// Bytes that are no encoded operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageOperationError {
    /// The bytes end inside an operation, or a number is malformed.
    #[error("a page operation ends early or has a malformed number")]
    Truncated,
    /// No operation has this tag.
    #[error("unknown page operation {0}")]
    UnknownTag(u8),
    /// A number is out of its range.
    #[error("a page operation has {field} {value}, which is out of range")]
    OutOfRange {
        /// What the number is.
        field: &'static str,
        /// The number.
        value: u64,
    },
}

impl PageOperation {
    /// Appends the operation to `out`, tag first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            PageOperation::InitialisePage { id, page_type } => {
                out.push(tag::INITIALISE_PAGE);
                put_all(out, &[id.space.0, id.page.0, u32::from(page_type.number())]);
            }
            PageOperation::InitialiseIndexPage {
                id,
                level,
                index_id,
            } => {
                out.push(tag::INITIALISE_INDEX_PAGE);
                put_all(out, &[id.space.0, id.page.0, u32::from(*level)]);
                out.extend_from_slice(&CompressedInteger::from_u64_much(*index_id));
            }
            PageOperation::ClearIndexPage { level } => {
                out.push(tag::CLEAR_INDEX_PAGE);
                put_all(out, &[u32::from(*level)]);
            }
            PageOperation::LinkRecord(LinkRecord {
                origin,
                previous,
                size,
                place,
            }) => {
                let (tag, next_free) = match place {
                    HeapPlace::Top => (tag::LINK_RECORD_AT_TOP, None),
                    HeapPlace::Freed { next_free } => (tag::LINK_FREED_RECORD, Some(next_free)),
                };
                out.push(tag);
                put_all(
                    out,
                    &[u32::from(*origin), u32::from(*previous), u32::from(*size)],
                );
                if let Some(next_free) = next_free {
                    put_all(out, &[u32::from(*next_free)]);
                }
            }
            PageOperation::UnlinkRecord { origin, size } => {
                out.push(tag::UNLINK_RECORD);
                put_all(out, &[u32::from(*origin), u32::from(*size)]);
            }
            PageOperation::DeleteListEnd(list) => {
                out.push(tag::DELETE_LIST_END);
                put_list(out, list);
            }
            PageOperation::DeleteListStart(list) => {
                out.push(tag::DELETE_LIST_START);
                put_list(out, list);
            }
            PageOperation::Reorganise { shape } => {
                out.push(tag::REORGANISE);
                out.push(shape.columns.len() as u8);
                out.push(shape.key_fields << 1 | u8::from(shape.clustered));
                for column in shape.columns.iter() {
                    out.extend_from_slice(&column.to_be_bytes());
                }
            }
            PageOperation::Fill {
                offset,
                length,
                value,
            } => {
                out.push(tag::FILL);
                put_all(out, &[u32::from(*offset), u32::from(*length)]);
                out.push(*value);
            }
        }
    }

    /// Reads an operation from the front of `input` and moves `input` past it.
    ///
    /// # Errors
    /// See [`PageOperationError`]. Every offset of a decoded operation lies on the
    /// page; whether it is the right one cannot be seen here.
    pub fn decode(input: &mut &[u8]) -> Result<PageOperation, PageOperationError> {
        let operation = match take_byte(input)? {
            tag::INITIALISE_PAGE => {
                let id = take_page_id(input)?;
                let number = take_below(input, "page type", 1 << 16)?;
                let page_type = PageType::from_number(number)
                    .ok_or(out_of_range("page type", u64::from(number)))?;
                PageOperation::InitialisePage { id, page_type }
            }
            tag::INITIALISE_INDEX_PAGE => {
                let id = take_page_id(input)?;
                let level = take_below(input, "level", 1 << 16)?;
                let index_id = read_u64_much(input).ok_or(PageOperationError::Truncated)?;
                PageOperation::InitialiseIndexPage {
                    id,
                    level,
                    index_id,
                }
            }
            tag::CLEAR_INDEX_PAGE => PageOperation::ClearIndexPage {
                level: take_below(input, "level", 1 << 16)?,
            },
            tag @ (tag::LINK_RECORD_AT_TOP | tag::LINK_FREED_RECORD) => {
                let (origin, previous) = (take_origin(input)?, take_origin(input)?);
                let size = take_below(input, "size", PAGE_SIZE)?;
                let place = match tag {
                    tag::LINK_RECORD_AT_TOP => HeapPlace::Top,
                    _ => HeapPlace::Freed {
                        next_free: take_below(input, "origin", PAGE_SIZE)?,
                    },
                };
                PageOperation::LinkRecord(LinkRecord {
                    origin,
                    previous,
                    size,
                    place,
                })
            }
            tag::UNLINK_RECORD => {
                let origin = take_origin(input)?;
                PageOperation::UnlinkRecord {
                    origin,
                    size: take_below(input, "size", PAGE_SIZE)?,
                }
            }
            tag::DELETE_LIST_END => PageOperation::DeleteListEnd(take_list(input)?),
            tag::DELETE_LIST_START => PageOperation::DeleteListStart(take_list(input)?),
            tag::REORGANISE => PageOperation::Reorganise {
                shape: take_shape(input)?,
            },
            tag::FILL => {
                let offset = take_below(input, "offset", PAGE_SIZE)?;
                let length = take_below(input, "length", PAGE_SIZE - usize::from(offset) + 1)?;
                PageOperation::Fill {
                    offset,
                    length,
                    value: take_byte(input)?,
                }
            }
            other => return Err(PageOperationError::UnknownTag(other)),
        };
        Ok(operation)
    }
}

/// First byte of an encoded operation. 0 is none, so that a torn block of zeros
/// is not mistaken for redo.
mod tag {
    pub(super) const INITIALISE_PAGE: u8 = 1;
    pub(super) const INITIALISE_INDEX_PAGE: u8 = 2;
    pub(super) const CLEAR_INDEX_PAGE: u8 = 3;
    pub(super) const LINK_RECORD_AT_TOP: u8 = 4;
    pub(super) const LINK_FREED_RECORD: u8 = 5;
    pub(super) const UNLINK_RECORD: u8 = 6;
    pub(super) const DELETE_LIST_END: u8 = 7;
    pub(super) const DELETE_LIST_START: u8 = 8;
    pub(super) const REORGANISE: u8 = 9;
    pub(super) const FILL: u8 = 10;
}

fn put_all(out: &mut Vec<u8>, values: &[u32]) {
    for &value in values {
        out.extend_from_slice(&CompressedInteger::from_u32(value));
    }
}

fn put_list(out: &mut Vec<u8>, list: &DeleteList) {
    put_all(
        out,
        &[
            u32::from(list.border),
            u32::from(list.count),
            u32::from(list.size),
        ],
    );
}

fn out_of_range(field: &'static str, value: u64) -> PageOperationError {
    PageOperationError::OutOfRange { field, value }
}

fn take_byte(input: &mut &[u8]) -> Result<u8, PageOperationError> {
    let (&byte, rest) = input.split_first().ok_or(PageOperationError::Truncated)?;
    *input = rest;
    Ok(byte)
}

/// A number below `limit`, which is at most 2^16.
fn take_below(
    input: &mut &[u8],
    field: &'static str,
    limit: usize,
) -> Result<u16, PageOperationError> {
    let value = read_u32(input).ok_or(PageOperationError::Truncated)?;
    match u16::try_from(value) {
        Ok(small) if usize::from(small) < limit => Ok(small),
        _ => Err(out_of_range(field, u64::from(value))),
    }
}

/// The origin of a record: at least the infimum's, so that its header is there.
fn take_origin(input: &mut &[u8]) -> Result<u16, PageOperationError> {
    let origin = take_below(input, "origin", fil::TRAILER)?;
    match origin >= INFIMUM {
        true => Ok(origin),
        false => Err(out_of_range("origin", u64::from(origin))),
    }
}

fn take_page_id(input: &mut &[u8]) -> Result<PageId, PageOperationError> {
    let space = read_u32(input).ok_or(PageOperationError::Truncated)?;
    let page = read_u32(input).ok_or(PageOperationError::Truncated)?;
    Ok(PageId::new(space, page))
}

fn take_list(input: &mut &[u8]) -> Result<DeleteList, PageOperationError> {
    Ok(DeleteList {
        border: take_origin(input)?,
        count: take_below(input, "count", PAGE_SIZE)?,
        size: take_below(input, "size", PAGE_SIZE)?,
    })
}

fn take_shape(input: &mut &[u8]) -> Result<RecordShape, PageOperationError> {
    let columns = usize::from(take_byte(input)?);
    let keys = take_byte(input)?;
    if columns > MAX_COLUMNS {
        return Err(out_of_range("columns", columns as u64));
    }
    let (words, rest) = input
        .split_at_checked(2 * columns)
        .ok_or(PageOperationError::Truncated)?;
    *input = rest;
    let columns: Arc<[u16]> = words
        .chunks_exact(2)
        .map(|word| u16::from_be_bytes([word[0], word[1]]))
        .collect();
    let shape = RecordShape {
        key_fields: keys >> 1,
        clustered: keys & 1 != 0,
        columns,
    };
    match shape.to_format() {
        Ok(_) => Ok(shape),
        Err(_) => Err(out_of_range("key fields", u64::from(keys >> 1))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::record_format::{Column, RecordFormat};
    use super::*;
    use proptest::prelude::*;

    fn examples() -> Vec<PageOperation> {
        let format = RecordFormat::clustered(
            &[Column::fixed(4)],
            &[Column::variable(300).nullable(), Column::fixed(120)],
        )
        .unwrap();
        let link = |place| LinkRecord {
            origin: 331,
            previous: 125,
            size: 206,
            place,
        };
        let list = DeleteList {
            border: 125,
            count: 36,
            size: 7416,
        };
        vec![
            PageOperation::InitialisePage {
                id: PageId::new(7, 0xFFFF_FFFE),
                page_type: PageType::UndoLog,
            },
            PageOperation::InitialiseIndexPage {
                id: PageId::new(7, 3),
                level: 2,
                index_id: u64::MAX,
            },
            PageOperation::ClearIndexPage { level: 1 },
            PageOperation::LinkRecord(link(HeapPlace::Top)),
            PageOperation::LinkRecord(link(HeapPlace::Freed { next_free: 0 })),
            PageOperation::UnlinkRecord {
                origin: 16375,
                size: 13,
            },
            PageOperation::DeleteListEnd(list),
            PageOperation::DeleteListStart(list),
            PageOperation::Reorganise {
                shape: format.shape().clone(),
            },
            PageOperation::Fill {
                offset: 72,
                length: 4096,
                value: 0xFF,
            },
            PageOperation::Fill {
                offset: 0,
                length: PAGE_SIZE as u16,
                value: 0,
            },
        ]
    }

    #[test]
    fn encoded_operations_are_small_and_come_back() {
        let mut bytes = Vec::new();
        for operation in examples() {
            operation.encode(&mut bytes);
        }
        let mut input = &bytes[..];
        for operation in examples() {
            assert_eq!(PageOperation::decode(&mut input), Ok(operation));
        }
        assert!(input.is_empty());

        let mut link = Vec::new();
        examples()[3].encode(&mut link);
        assert_eq!(link, [4, 0x81, 0x4b, 125, 0x80, 206]);
    }

    #[test]
    fn cut_operations_are_refused() {
        for operation in examples() {
            let mut bytes = Vec::new();
            operation.encode(&mut bytes);
            for length in 0..bytes.len() {
                assert_eq!(
                    PageOperation::decode(&mut &bytes[..length]),
                    Err(PageOperationError::Truncated),
                    "{operation:?} cut to {length} bytes"
                );
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let decode = |mut bytes: &[u8]| PageOperation::decode(&mut bytes);
        assert_eq!(decode(&[0]), Err(PageOperationError::UnknownTag(0)));
        // An origin inside the FIL header, a fill past the page's end, a bad shape.
        assert_eq!(decode(&[6, 20, 13]), Err(out_of_range("origin", 20)));
        assert_eq!(
            decode(&[10, 0xBF, 0xFF, 2, 0]),
            Err(out_of_range("length", 2))
        );
        assert_eq!(decode(&[9, 1, 4, 0, 4]), Err(out_of_range("key fields", 2)));
        assert_eq!(decode(&[1, 7, 3, 1]), Err(out_of_range("page type", 1)));
    }

    proptest! {
        #[test]
        fn decoding_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut input = &bytes[..];
            if let Ok(operation) = PageOperation::decode(&mut input) {
                let mut again = Vec::new();
                operation.encode(&mut again);
                prop_assert!(PageOperation::decode(&mut &again[..]) == Ok(operation));
            }
        }
    }
}
