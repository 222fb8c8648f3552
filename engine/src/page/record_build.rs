//! Building a record from its fields.
//!
//! The record is put together in a buffer of its own, header first, exactly as it
//! will stand on the page; inserting it is then one copy. The buffer is kept by
//! whoever builds records and reused, so a row costs no allocation.

use super::PageNumber;
use super::index_header::FREE_SPACE_OF_EMPTY_PAGE;
use super::record::{FIXED_HEADER_SIZE, INFO_DELETED, INFO_MIN_REC, RecordImage, RecordStatus};
use super::record_compare::KeyField;
use super::record_format::{CHILD_LENGTH, RecordFormat};

/// The longest record, header included: two must fit an empty page, or a B+tree
/// page could not be split (InnoDB: below half the free space of an empty page).
pub const MAX_RECORD_SIZE: usize = FREE_SPACE_OF_EMPTY_PAGE / 2 - 1;

/// Fields that do not make a record of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Too few or too many fields.
    #[error("{found} fields given, the index has {expected}")]
    FieldCount {
        /// Fields of the record format.
        expected: usize,
        /// Fields given.
        found: usize,
    },
    /// NULL where it is not allowed.
    #[error("field {field} is NULL, but its column is NOT NULL")]
    Null {
        /// Position of the field.
        field: usize,
    },
    /// A fixed field of another length, or a variable one over its maximum.
    #[error("field {field} has {found} bytes, its column has {expected}")]
    Length {
        /// Position of the field.
        field: usize,
        /// (Maximum) length of the column in bytes.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// The fields are good, but the record is longer than [`MAX_RECORD_SIZE`].
    #[error("a record of {size} bytes; the maximum is {MAX_RECORD_SIZE}")]
    TooLong {
        /// Bytes of the record with its header.
        size: usize,
    },
}

/// A place to build records in, one after the other.
#[derive(Clone, Debug, Default)]
pub struct RecordBuffer {
    bytes: Vec<u8>,
    extra: usize,
}

impl RecordBuffer {
    /// An empty buffer. It grows with the first record and is then kept.
    pub fn new() -> RecordBuffer {
        RecordBuffer::default()
    }

    /// Marks the record built last as deleted.
    ///
    /// # Panics
    /// If none was built.
    pub fn mark_deleted(&mut self) {
        assert!(!self.bytes.is_empty(), "no record was built");
        self.bytes[self.extra - FIXED_HEADER_SIZE] |= INFO_DELETED;
    }

    /// The record built last.
    ///
    /// # Panics
    /// If none was built.
    #[inline]
    pub fn image(&self) -> RecordImage<'_> {
        assert!(!self.bytes.is_empty(), "no record was built");
        RecordImage {
            bytes: &self.bytes,
            extra: self.extra,
        }
    }
}

impl RecordFormat {
    /// Builds a leaf record from all its fields, in stored order.
    ///
    /// # Errors
    /// See [`RecordError`]; the buffer then holds no record.
    pub fn build(
        &self,
        fields: &[KeyField<'_>],
        buffer: &mut RecordBuffer,
    ) -> Result<(), RecordError> {
        self.build_record(fields, None, buffer)
    }

    /// Builds a node pointer from the key fields of a child's first record.
    ///
    /// `is_min_rec` marks the first record of the leftmost page of a level.
    ///
    /// # Errors
    /// See [`RecordError`]; the buffer then holds no record.
    pub fn build_node_pointer(
        &self,
        key: &[KeyField<'_>],
        child: PageNumber,
        is_min_rec: bool,
        buffer: &mut RecordBuffer,
    ) -> Result<(), RecordError> {
        self.build_record(key, Some(child), buffer)?;
        if is_min_rec {
            buffer.bytes[buffer.extra - 5] |= INFO_MIN_REC;
        }
        Ok(())
    }

    fn build_record(
        &self,
        fields: &[KeyField<'_>],
        child: Option<PageNumber>,
        buffer: &mut RecordBuffer,
    ) -> Result<(), RecordError> {
        buffer.bytes.clear();
        let expected = self.field_count(child.is_some());
        if fields.len() != expected {
            return Err(RecordError::FieldCount {
                expected,
                found: fields.len(),
            });
        }
        let (length_bytes, mut data) = self.measure(fields)?;
        if child.is_some() {
            data += CHILD_LENGTH;
        }
        let extra = FIXED_HEADER_SIZE + self.null_bytes() + length_bytes;
        if extra + data > MAX_RECORD_SIZE {
            return Err(RecordError::TooLong { size: extra + data });
        }
        buffer.extra = extra;
        buffer.bytes.resize(extra, 0);
        self.fill_header(fields, &mut buffer.bytes);
        for field in fields.iter().flatten() {
            buffer.bytes.extend_from_slice(field);
        }
        if let Some(child) = child {
            buffer.bytes[extra - 3] = RecordStatus::NodePointer as u8;
            buffer.bytes.extend_from_slice(&child.0.to_be_bytes());
        }
        Ok(())
    }

    /// Number of length bytes and data bytes, after checking each field.
    fn measure(&self, fields: &[KeyField<'_>]) -> Result<(usize, usize), RecordError> {
        let (mut length_bytes, mut data) = (0, 0);
        for (index, (value, column)) in fields.iter().zip(self.columns()).enumerate() {
            let Some(value) = value else {
                if !column.is_nullable() {
                    return Err(RecordError::Null { field: index });
                }
                continue;
            };
            let (expected, found) = (column.max_length(), value.len());
            let fits = if column.is_variable() {
                found <= expected
            } else {
                found == expected
            };
            if !fits {
                return Err(RecordError::Length {
                    field: index,
                    expected,
                    found,
                });
            }
            if column.is_variable() {
                length_bytes += if column.has_long_lengths() && found > 127 {
                    2
                } else {
                    1
                };
            }
            data += found;
        }
        Ok((length_bytes, data))
    }

    /// Writes NULL bits and lengths, from the right end of `header` to the left.
    fn fill_header(&self, fields: &[KeyField<'_>], header: &mut [u8]) {
        if header.len() == FIXED_HEADER_SIZE {
            return;
        }
        let nulls = header.len() - FIXED_HEADER_SIZE - 1;
        let mut null_index = 0;
        let mut lengths = nulls.wrapping_sub(self.null_bytes());
        for (value, column) in fields.iter().zip(self.columns()) {
            if column.is_nullable() {
                if value.is_none() {
                    header[nulls - null_index / 8] |= 1 << (null_index % 8);
                }
                null_index += 1;
            }
            let Some(value) = value else { continue };
            if column.is_variable() {
                let length = value.len();
                if column.has_long_lengths() && length > 127 {
                    header[lengths] = 0x80 | (length >> 8) as u8;
                    header[lengths - 1] = length as u8;
                    lengths = lengths.wrapping_sub(2);
                } else {
                    header[lengths] = length as u8;
                    lengths = lengths.wrapping_sub(1);
                }
            }
        }
        debug_assert_eq!(lengths, usize::MAX, "the header is full");
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoding::{encode_i16, encode_i32, encode_u64};
    use super::super::record_format::Column;
    use super::super::roll_pointer::RollPointer;
    use super::*;

    /// The clustered index of the sample table t_edge:
    /// id, DB_TRX_ID, DB_ROLL_PTR, a, b VARCHAR(20), c VARCHAR(300), d CHAR(5), e, f.
    fn t_edge() -> RecordFormat {
        RecordFormat::clustered(
            &[Column::fixed(4)],
            &[
                Column::fixed(4).nullable(),
                Column::variable(20).nullable(),
                Column::variable(300),
                Column::fixed(5).nullable(),
                Column::fixed(8),
                Column::fixed(2).nullable(),
            ],
        )
        .unwrap()
    }

    fn header(b: Option<&[u8]>, c: &[u8], d: Option<&[u8]>, f: Option<i16>) -> Vec<u8> {
        let (id, a, f) = (encode_i32(1), encode_i32(2), f.map(encode_i16));
        let (e, roll) = (encode_u64(3), RollPointer::NO_HISTORY.to_bytes());
        let fields = [
            Some(&id[..]),
            Some(&[0; 6]),
            Some(&roll),
            Some(&a),
            b,
            Some(c),
            d,
            Some(&e),
            f.as_ref().map(|f| &f[..]),
        ];
        let mut buffer = RecordBuffer::new();
        t_edge().build(&fields, &mut buffer).unwrap();
        let extra = buffer.image().extra_size();
        buffer.bytes[..extra - FIXED_HEADER_SIZE].to_vec()
    }

    #[test]
    fn null_bits_and_lengths_are_those_of_a_real_server() {
        let d = Some(&b"d    "[..]);
        assert_eq!(header(None, b"xy", d, Some(1)), [0x02, 0x02]);
        assert_eq!(
            header(Some(b"xy"), b"xy", None, Some(1)),
            [0x02, 0x02, 0x04]
        );
        assert_eq!(
            header(Some(b"xyz"), &[7; 299], d, Some(1)),
            [0x2b, 0x81, 0x03, 0x00]
        );
        assert_eq!(header(None, &[7; 256], d, None), [0x00, 0x81, 0x0a]);
    }

    #[test]
    fn node_pointer_of_sbtest() {
        let format =
            RecordFormat::clustered(&[Column::fixed(4)], &[Column::fixed(4), Column::fixed(60)])
                .unwrap();
        let mut buffer = RecordBuffer::new();
        let key = encode_i32(1);
        format
            .build_node_pointer(&[Some(&key)], PageNumber(5), true, &mut buffer)
            .unwrap();
        assert_eq!(buffer.bytes, [0x10, 0, 1, 0, 0, 0x80, 0, 0, 1, 0, 0, 0, 5]);
        format
            .build_node_pointer(&[Some(&key)], PageNumber(5), false, &mut buffer)
            .unwrap();
        assert_eq!(buffer.bytes[0], 0);
    }

    #[test]
    fn wrong_fields_are_refused() {
        let format = RecordFormat::secondary(&[
            Column::fixed(4),
            Column::variable(20),
            Column::variable(8191),
        ])
        .unwrap();
        let mut buffer = RecordBuffer::new();
        let mut build = |fields: &[KeyField<'_>]| format.build(fields, &mut buffer);
        let four = [0; 4];
        assert_eq!(
            build(&[Some(&four), Some(b"")]),
            Err(RecordError::FieldCount {
                expected: 3,
                found: 2
            })
        );
        assert_eq!(
            build(&[Some(&four), None, Some(b"")]),
            Err(RecordError::Null { field: 1 })
        );
        assert_eq!(
            build(&[Some(&four[1..]), Some(b""), Some(b"")]),
            Err(RecordError::Length {
                field: 0,
                expected: 4,
                found: 3
            })
        );
        assert_eq!(
            build(&[Some(&four), Some(&[0; 21]), Some(b"")]),
            Err(RecordError::Length {
                field: 1,
                expected: 20,
                found: 21
            })
        );
        // 5 fixed, 3 length bytes, 4 and 20 bytes of data.
        let longest = MAX_RECORD_SIZE - 5 - 3 - 24;
        assert_eq!(
            build(&[Some(&four), Some(&[0; 20]), Some(&vec![0; longest])]),
            Ok(())
        );
        assert_eq!(
            build(&[Some(&four), Some(&[0; 20]), Some(&vec![0; longest + 1])]),
            Err(RecordError::TooLong {
                size: MAX_RECORD_SIZE + 1
            })
        );
    }
}
