//! Comparing a search key with a record.
//!
//! Fields are compared from left to right, byte by byte; NULL comes before every
//! value. The answer has two parts: the order, and how many whole fields were
//! equal before it was decided. The second tells an insert whether the key exists
//! already, and lets a binary search skip fields which both of its borders share.

use std::cmp::Ordering;

use super::bytes::u32_at;
use super::record::Record;
use super::record_format::{MAX_COLUMNS, RecordFormat};

/// A field of a search key or of a record to build: its stored bytes, or NULL.
pub type KeyField<'a> = Option<&'a [u8]>;

/// The key fields of a record, as a search key. It dereferences to a slice, so it
/// can be given to a search or to a builder of node pointers.
#[derive(Clone, Copy, Debug)]
pub struct RecordKey<'a> {
    fields: [KeyField<'a>; MAX_COLUMNS],
    count: usize,
}

impl<'a> std::ops::Deref for RecordKey<'a> {
    type Target = [KeyField<'a>];

    #[inline]
    fn deref(&self) -> &[KeyField<'a>] {
        &self.fields[..self.count]
    }
}

/// How a key compares with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The key against the record: `Greater` if the key comes after it.
    pub ordering: Ordering,
    /// Number of leading fields that are equal.
    pub matched: usize,
}

/// Byte order of two values; for equal lengths of four and eight, the usual ones
/// of keys, without a call to the library.
#[inline(always)]
fn compare_bytes(left: &[u8], right: &[u8]) -> Ordering {
    if let (Ok(left), Ok(right)) = (<[u8; 4]>::try_from(left), <[u8; 4]>::try_from(right)) {
        return u32::from_be_bytes(left).cmp(&u32::from_be_bytes(right));
    }
    if let (Ok(left), Ok(right)) = (<[u8; 8]>::try_from(left), <[u8; 8]>::try_from(right)) {
        return u64::from_be_bytes(left).cmp(&u64::from_be_bytes(right));
    }
    left.cmp(right)
}

/// NULL first, then by bytes.
#[inline(always)]
pub(super) fn compare_fields(left: KeyField<'_>, right: KeyField<'_>) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => compare_bytes(left, right),
        (left, right) => left.is_some().cmp(&right.is_some()),
    }
}

impl RecordFormat {
    /// Compares a key, which may have fewer fields than the index's key, with a
    /// record. Fields beyond the end of the key are not looked at.
    ///
    /// A record with the MIN_REC mark is lower than every key.
    #[inline]
    pub fn compare(&self, key: &[KeyField<'_>], record: Record<'_>) -> Comparison {
        if record.is_min_rec() {
            return Comparison {
                ordering: Ordering::Greater,
                matched: 0,
            };
        }
        if self.has_fixed_prefix(key.len()) {
            self.compare_fixed(key, record, 0)
        } else {
            self.compare_any(key, record)
        }
    }

    /// The key fields of a leaf record or node pointer of this index.
    #[inline]
    pub fn key_of<'a>(&self, record: Record<'a>) -> RecordKey<'a> {
        let mut key = RecordKey {
            fields: [None; MAX_COLUMNS],
            count: self.key_fields(),
        };
        for (slot, field) in key
            .fields
            .iter_mut()
            .zip(self.walk(record).take(self.key_fields()))
        {
            *slot = field.map(|(start, end)| &record.page()[start..end]);
        }
        key
    }

    /// Compares the key fields of two records of this index; see
    /// [`compare`](Self::compare).
    pub fn compare_records(&self, left: Record<'_>, right: Record<'_>) -> Comparison {
        let fields = self
            .walk(left)
            .zip(self.walk(right))
            .take(self.key_fields());
        for (matched, (left_field, right_field)) in fields.enumerate() {
            let left_field = left_field.map(|(start, end)| &left.page()[start..end]);
            let right_field = right_field.map(|(start, end)| &right.page()[start..end]);
            let ordering = compare_fields(left_field, right_field);
            if ordering.is_ne() {
                return Comparison { ordering, matched };
            }
        }
        Comparison {
            ordering: Ordering::Equal,
            matched: self.key_fields(),
        }
    }

    /// Whether the first `fields` fields are at the same place in every record.
    #[inline(always)]
    pub(super) fn has_fixed_prefix(&self, fields: usize) -> bool {
        fields < self.fixed_starts().len()
    }

    /// Compares where [`has_fixed_prefix`](Self::has_fixed_prefix) holds, skipping
    /// fields which are known to be equal.
    #[inline(always)]
    pub(super) fn compare_fixed(
        &self,
        key: &[KeyField<'_>],
        record: Record<'_>,
        skip: usize,
    ) -> Comparison {
        let origin = usize::from(record.origin());
        let starts = &self.fixed_starts()[..key.len() + 1];
        for matched in skip..key.len() {
            let (start, end) = (
                usize::from(starts[matched]),
                usize::from(starts[matched + 1]),
            );
            let bytes = &record.page()[origin + start..origin + end];
            let ordering = compare_fields(key[matched], Some(bytes));
            if ordering.is_ne() {
                return Comparison { ordering, matched };
            }
        }
        Comparison {
            ordering: Ordering::Equal,
            matched: key.len(),
        }
    }

    /// Compares for any format.
    #[inline]
    pub(super) fn compare_any(&self, key: &[KeyField<'_>], record: Record<'_>) -> Comparison {
        for (matched, (&value, field)) in key.iter().zip(self.walk(record)).enumerate() {
            let field = field.map(|(start, end)| &record.page()[start..end]);
            let ordering = compare_fields(value, field);
            if ordering.is_ne() {
                return Comparison { ordering, matched };
            }
        }
        Comparison {
            ordering: Ordering::Equal,
            matched: key.len(),
        }
    }
}

/// Compares a key of one four-byte field, the most common search of all.
#[inline(always)]
pub(super) fn compare_u32(key: u32, record: Record<'_>) -> Comparison {
    let ordering = key.cmp(&u32_at(record.page(), usize::from(record.origin())));
    Comparison {
        ordering,
        matched: usize::from(ordering.is_eq()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering::{Equal, Greater, Less};

    #[test]
    fn bytes_compare_as_in_memory_order() {
        assert_eq!(compare_bytes(b"abc", b"abcd"), Less);
        assert_eq!(compare_bytes(b"abd", b"abcd"), Greater);
        assert_eq!(compare_bytes(&[0, 0, 1, 0], &[0, 0, 0, 255]), Greater);
        assert_eq!(compare_bytes(&[0; 8], &[0, 0, 0, 0, 0, 0, 0, 1]), Less);
        assert_eq!(compare_bytes(&[9; 8], &[9; 8]), Equal);
        assert_eq!(compare_bytes(&[], &[]), Equal);
    }

    #[test]
    fn null_comes_first() {
        assert_eq!(compare_fields(None, None), Equal);
        assert_eq!(compare_fields(None, Some(b"")), Less);
        assert_eq!(compare_fields(Some(b""), None), Greater);
    }
}
