//! Where the fields of a record are, when they are not all at fixed places.
//!
//! Lengths and NULL bits stand in front of the record in reverse order, so a walk
//! moves both ways at once: over the data to the right, over the header to the
//! left. Nothing is allocated.
//!
//! ```text
//!      <---- lengths   <---- NULL bits         data ---->
//!   | len c | len b |   | 00000000 |  header  | a | b  | c     |
//!                                             ^ origin
//! ```

use super::PageBytes;
use super::record::{FIXED_HEADER_SIZE, Record};
use super::record_format::{Column, MAX_COLUMNS, RecordFormat};

impl RecordFormat {
    /// Where all fields of a record are, found in one walk.
    #[inline]
    pub fn offsets(&self, record: Record<'_>) -> FieldOffsets {
        let mut offsets = FieldOffsets {
            count: 0,
            nulls: 0,
            ends: [0; MAX_COLUMNS],
        };
        let origin = usize::from(record.origin());
        for field in self.walk(record) {
            let index = offsets.count;
            match field {
                Some((_, end)) => offsets.ends[index] = (end - origin) as u16,
                None => {
                    offsets.nulls |= 1 << index;
                    offsets.ends[index] = if index == 0 {
                        0
                    } else {
                        offsets.ends[index - 1]
                    };
                }
            }
            offsets.count += 1;
        }
        offsets
    }

    /// A walk over the fields of a record, for any format.
    #[inline]
    pub(super) fn walk<'f, 'p>(&'f self, record: Record<'p>) -> FieldWalk<'f, 'p> {
        let origin = usize::from(record.origin());
        let fields = self.field_count(record.is_node_pointer());
        FieldWalk {
            page: record.page(),
            columns: self.columns()[..fields].iter(),
            null_byte: origin - FIXED_HEADER_SIZE - 1,
            null_bit: 1,
            lengths: origin - FIXED_HEADER_SIZE - 1 - self.null_bytes(),
            data: origin,
        }
    }
}

/// Where the fields of one record are, relative to its origin.
#[derive(Clone, Copy, Debug)]
pub struct FieldOffsets {
    count: usize,
    nulls: u64,
    ends: [u16; MAX_COLUMNS],
}

impl FieldOffsets {
    /// Number of fields.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The range of a field, relative to the origin; `None` if it is NULL.
    ///
    /// # Panics
    /// If the record has no such field.
    pub fn range(&self, index: usize) -> Option<std::ops::Range<usize>> {
        assert!(
            index < self.count,
            "field {index} of a record of {}",
            self.count
        );
        if self.nulls >> index & 1 != 0 {
            return None;
        }
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        Some(usize::from(start)..usize::from(self.ends[index]))
    }
}

/// Walks the fields of a record from left to right, its header from right to
/// left. Yields the bytes of a field as (start, end) on the page, or `None` for
/// NULL.
pub(super) struct FieldWalk<'f, 'p> {
    page: &'p PageBytes,
    columns: std::slice::Iter<'f, Column>,
    null_byte: usize,
    null_bit: u8,
    /// The next length byte; after the walk, the byte left of the record.
    pub(super) lengths: usize,
    /// The next data byte; after the walk, the end of the fields.
    pub(super) data: usize,
}

impl Iterator for FieldWalk<'_, '_> {
    type Item = Option<(usize, usize)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let column = self.columns.next()?;
        if column.is_nullable() {
            let is_null = self.page[self.null_byte] & self.null_bit != 0;
            self.null_bit = self.null_bit.rotate_left(1);
            self.null_byte -= usize::from(self.null_bit == 1);
            if is_null {
                return Some(None);
            }
        }
        let mut length = column.max_length();
        if column.is_variable() {
            length = usize::from(self.page[self.lengths]);
            self.lengths -= 1;
            if length & 0x80 != 0 && column.has_long_lengths() {
                // Bit 6 marks a column stored off the page; its reference is here.
                length = (length & 0x3F) << 8 | usize::from(self.page[self.lengths]);
                self.lengths -= 1;
            }
        }
        let start = self.data;
        self.data += length;
        Some(Some((start, self.data)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::PAGE_SIZE;
    use super::*;

    /// Nine nullable columns, so that the NULL bits take two bytes, and a long
    /// VARCHAR behind them. The header is written by hand.
    #[test]
    fn the_walk_follows_the_second_null_byte() {
        let mut columns = vec![Column::fixed(1).nullable(); 9];
        columns.push(Column::variable(300));
        let format = RecordFormat::secondary(&columns).unwrap();
        let mut page = [0; PAGE_SIZE];
        let origin = 1000;
        // Fields 0 and 8 are NULL; 7 bytes of data before the VARCHAR of 200.
        page[origin - 6] = 0b0000_0001;
        page[origin - 7] = 0b0000_0001;
        page[origin - 8] = 0x80;
        page[origin - 9] = 200;
        let record = Record::new(&page, origin as u16);
        let offsets = format.offsets(record);
        assert_eq!(offsets.count(), 10);
        assert_eq!((offsets.range(0), offsets.range(8)), (None, None));
        assert_eq!(offsets.range(1), Some(0..1));
        assert_eq!(offsets.range(7), Some(6..7));
        assert_eq!(offsets.range(9), Some(7..207));
        let extent = record.extent(&format);
        assert_eq!((extent.extra, extent.data), (9, 207));
        assert_eq!(record.field(&format, 9).unwrap().len(), 200);
        assert_eq!(record.field(&format, 8), None);
    }
}
