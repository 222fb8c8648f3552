//! The layout of an index's records: which fields, how wide, in which order.
//!
//! InnoDB's compact format stores no column offsets. They follow from the index
//! definition, and for columns of variable length from length bytes in front of
//! the record:
//!
//! ```text
//!   a INT NULL, b VARCHAR(20) NULL, c VARCHAR(300) NOT NULL:  (5, NULL, "xy")
//!
//!    len c  NULL bits  fixed header   a            c
//!   +----+ +--------+ +-----------+  +-----------+-----+
//!   | 02 | |000000 1 0| ...       |  |80 00 00 05| x y |
//!   +----+ +--------+ +-----------+  +-----------+-----+
//!                 b a             ^origin
//! ```
//!
//! A NULL field has neither length byte nor data. A node pointer has the same
//! header as a leaf record of its index (with NULL bits for *all* nullable
//! fields), the key fields, and four bytes of child page number.
//!
//! Most lookups need only the leading fields, and in most tables those are fixed
//! and NOT NULL. Their offsets are computed once, when the format is made, so
//! that reading `id` or DB_TRX_ID of an sbtest row is one addition. Other fields
//! take a walk over the header.

use std::sync::Arc;

use super::encoding::TRX_ID_LENGTH;
use super::record::{FIXED_HEADER_SIZE, Record};
use super::roll_pointer::ROLL_POINTER_LENGTH;

/// The most columns an index may have here (InnoDB: 1017). It bounds the offset
/// arrays, which live on the stack.
pub const MAX_COLUMNS: usize = 64;

/// The longest fixed or variable column that can still fit a record.
pub const MAX_COLUMN_LENGTH: u16 = 8191;

/// Bytes of the child page number at the end of a node pointer.
pub const CHILD_LENGTH: usize = 4;

/// How many bytes a column takes, and whether it may be NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    length: u16,
    variable: bool,
    nullable: bool,
}

impl Column {
    /// A column of exactly `length` bytes, NOT NULL: numbers, CHAR in a one-byte
    /// character set, BINARY.
    pub const fn fixed(length: u16) -> Column {
        Column {
            length,
            variable: false,
            nullable: false,
        }
    }

    /// A column of at most `maximum` bytes, NOT NULL: VARCHAR, VARBINARY, CHAR in
    /// a multi-byte character set.
    pub const fn variable(maximum: u16) -> Column {
        Column {
            length: maximum,
            variable: true,
            nullable: false,
        }
    }

    /// The same column, but NULL allowed.
    pub const fn nullable(self) -> Column {
        Column {
            nullable: true,
            ..self
        }
    }

    /// Whether NULL is allowed.
    pub const fn is_nullable(self) -> bool {
        self.nullable
    }

    /// Whether the length is stored with each record.
    pub const fn is_variable(self) -> bool {
        self.variable
    }

    /// The length of a fixed column, or the maximum of a variable one, in bytes.
    pub const fn max_length(self) -> usize {
        self.length as usize
    }

    /// Whether lengths above 127 take two length bytes. Up to a maximum of 255
    /// one byte always suffices.
    pub(super) const fn has_long_lengths(self) -> bool {
        self.variable && self.length > 255
    }

    /// The column in 16 bits: nullable, variable, 13 bits of length (two length
    /// bytes or not follows from it).
    fn to_word(self) -> u16 {
        u16::from(self.nullable) << 15 | u16::from(self.variable) << 14 | self.length
    }

    fn from_word(word: u16) -> Column {
        Column {
            length: word & MAX_COLUMN_LENGTH,
            variable: word & 0x4000 != 0,
            nullable: word & 0x8000 != 0,
        }
    }
}

/// An index definition that no record format can be made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordFormatError {
    /// No key columns, or more columns than supported.
    #[error("an index of {columns} columns; 1 to {MAX_COLUMNS} are supported")]
    ColumnCount {
        /// Columns, system columns included.
        columns: usize,
    },
    /// A column that no page can hold, or of no width.
    #[error("column {column} is {length} bytes long; 1 to {MAX_COLUMN_LENGTH} are supported")]
    ColumnLength {
        /// Position in the index.
        column: usize,
        /// Its (maximum) length in bytes.
        length: usize,
    },
}

/// A record format in a compact, comparable form: what redo carries so that a
/// page can be reorganised without the dictionary. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordShape {
    pub(super) key_fields: u8,
    pub(super) clustered: bool,
    pub(super) columns: Arc<[u16]>,
}

impl RecordShape {
    /// The format with this shape.
    ///
    /// # Errors
    /// A shape that was read from a file may be nonsense.
    pub fn to_format(&self) -> Result<RecordFormat, RecordFormatError> {
        let columns = self
            .columns
            .iter()
            .map(|&word| Column::from_word(word))
            .collect();
        RecordFormat::new(columns, usize::from(self.key_fields), self.clustered)
    }
}

/// The layout of the records of one index, leaf and node pointer.
#[derive(Clone, Debug)]
pub struct RecordFormat {
    columns: Box<[Column]>,
    key_fields: usize,
    clustered: bool,
    null_bytes: usize,
    // Offsets from the origin of the leading fixed NOT NULL fields and of the end
    // of the last of them.
    starts: Box<[u16]>,
    shape: RecordShape,
}

/// Bytes of a record left and right of its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordExtent {
    /// Header bytes, left of the origin.
    pub extra: usize,
    /// Data bytes, from the origin on.
    pub data: usize,
}

impl RecordExtent {
    /// Bytes the record takes.
    #[inline(always)]
    pub fn size(self) -> usize {
        self.extra + self.data
    }
}

impl RecordFormat {
    /// A clustered index: the primary key's columns, DB_TRX_ID, DB_ROLL_PTR, and
    /// all other columns in table order.
    ///
    /// # Errors
    /// See [`RecordFormatError`].
    pub fn clustered(key: &[Column], others: &[Column]) -> Result<RecordFormat, RecordFormatError> {
        let system = [
            Column::fixed(TRX_ID_LENGTH as u16),
            Column::fixed(ROLL_POINTER_LENGTH as u16),
        ];
        RecordFormat::new([key, &system, others].concat(), key.len(), true)
    }

    /// A secondary index: its columns, then those of the primary key that are not
    /// among them. All of them order the tree.
    ///
    /// # Errors
    /// See [`RecordFormatError`].
    pub fn secondary(columns: &[Column]) -> Result<RecordFormat, RecordFormatError> {
        RecordFormat::new(columns.to_vec(), columns.len(), false)
    }

    fn new(
        columns: Vec<Column>,
        key_fields: usize,
        clustered: bool,
    ) -> Result<RecordFormat, RecordFormatError> {
        if key_fields == 0 || key_fields > columns.len() || columns.len() > MAX_COLUMNS {
            return Err(RecordFormatError::ColumnCount {
                columns: columns.len(),
            });
        }
        for (column, &Column { length, .. }) in columns.iter().enumerate() {
            if !(1..=MAX_COLUMN_LENGTH).contains(&length) {
                let length = usize::from(length);
                return Err(RecordFormatError::ColumnLength { column, length });
            }
        }
        let mut starts = vec![0];
        for column in columns
            .iter()
            .take_while(|column| !column.variable && !column.nullable)
        {
            let next = starts[starts.len() - 1] + usize::from(column.length);
            if next > usize::from(u16::MAX) {
                break;
            }
            starts.push(next);
        }
        let nullable = columns.iter().filter(|column| column.nullable).count();
        let shape = RecordShape {
            key_fields: key_fields as u8,
            clustered,
            columns: columns.iter().map(|column| column.to_word()).collect(),
        };
        Ok(RecordFormat {
            columns: columns.into(),
            key_fields,
            clustered,
            null_bytes: nullable.div_ceil(8),
            starts: starts.into_iter().map(|start| start as u16).collect(),
            shape,
        })
    }

    /// All columns of a leaf record, in stored order.
    #[inline(always)]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many leading fields order the tree and stand in node pointers.
    #[inline(always)]
    pub fn key_fields(&self) -> usize {
        self.key_fields
    }

    /// Whether leaf records are the rows, with DB_TRX_ID and DB_ROLL_PTR.
    #[inline(always)]
    pub fn is_clustered(&self) -> bool {
        self.clustered
    }

    /// The field number of DB_TRX_ID in a clustered index; DB_ROLL_PTR is next.
    #[inline(always)]
    pub fn trx_id_field(&self) -> Option<usize> {
        self.clustered.then_some(self.key_fields)
    }

    /// The compact form of this format.
    pub fn shape(&self) -> &RecordShape {
        &self.shape
    }

    /// The extent of every leaf record, if no column is variable or nullable.
    pub fn fixed_leaf_extent(&self) -> Option<RecordExtent> {
        self.is_fixed().then(|| RecordExtent {
            extra: FIXED_HEADER_SIZE,
            data: self.starts_end(self.columns.len()),
        })
    }

    /// Offsets of the leading fixed NOT NULL fields; one more for the end.
    #[inline(always)]
    pub(super) fn fixed_starts(&self) -> &[u16] {
        &self.starts
    }

    #[inline(always)]
    pub(super) fn null_bytes(&self) -> usize {
        self.null_bytes
    }

    #[inline(always)]
    fn is_fixed(&self) -> bool {
        self.starts.len() == self.columns.len() + 1
    }

    #[inline(always)]
    fn starts_end(&self, fields: usize) -> usize {
        usize::from(self.starts[fields])
    }

    /// Number of fields that a record of a kind has, without the child number.
    #[inline(always)]
    pub(super) fn field_count(&self, node_pointer: bool) -> usize {
        if node_pointer {
            self.key_fields
        } else {
            self.columns.len()
        }
    }

    /// How many bytes of a record lie left and right of its origin.
    #[inline]
    pub fn extent(&self, record: Record<'_>) -> RecordExtent {
        let node_pointer = record.is_node_pointer();
        let child = if node_pointer { CHILD_LENGTH } else { 0 };
        if self.is_fixed() {
            let data = self.starts_end(self.field_count(node_pointer)) + child;
            return RecordExtent {
                extra: FIXED_HEADER_SIZE,
                data,
            };
        }
        let mut walk = self.walk(record);
        while walk.next().is_some() {}
        let origin = usize::from(record.origin());
        RecordExtent {
            extra: origin - walk.lengths - 1,
            data: walk.data - origin + child,
        }
    }

    /// The bytes of a field; `None` if it is NULL.
    ///
    /// # Panics
    /// If the record has no such field.
    #[inline]
    pub fn field<'a>(&self, record: Record<'a>, index: usize) -> Option<&'a [u8]> {
        self.field_range(record, index)
            .map(|(start, end)| &record.page()[start..end])
    }

    /// Where a field's bytes are on the page; `None` if it is NULL.
    #[inline]
    pub(super) fn field_range(&self, record: Record<'_>, index: usize) -> Option<(usize, usize)> {
        if let Some(&end) = self.starts.get(index + 1) {
            let origin = usize::from(record.origin());
            return Some((
                origin + usize::from(self.starts[index]),
                origin + usize::from(end),
            ));
        }
        self.walk(record)
            .nth(index)
            .expect("the record has the field")
    }

    /// Distance of DB_TRX_ID from the origin of a clustered leaf record.
    #[inline]
    pub(super) fn system_fields_offset(&self, record: Record<'_>) -> usize {
        assert!(self.clustered, "a secondary index has no system columns");
        match self.starts.get(self.key_fields) {
            Some(&start) => usize::from(start),
            None => {
                let field = self.walk(record).nth(self.key_fields).flatten();
                field.expect("DB_TRX_ID is never NULL").0 - usize::from(record.origin())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sbtest_formats_are_fixed() {
        let primary = RecordFormat::clustered(
            &[Column::fixed(4)],
            &[Column::fixed(4), Column::fixed(120), Column::fixed(60)],
        )
        .unwrap();
        let extent = primary.fixed_leaf_extent().unwrap();
        assert_eq!((extent.extra, extent.data, extent.size()), (5, 201, 206));
        assert_eq!(primary.trx_id_field(), Some(1));
        assert_eq!(primary.fixed_starts(), [0, 4, 10, 17, 21, 141, 201]);
    }

    #[test]
    fn a_shape_is_enough_to_rebuild_the_format() {
        let format = RecordFormat::clustered(
            &[Column::fixed(4)],
            &[
                Column::variable(300),
                Column::fixed(2).nullable(),
                Column::variable(20).nullable(),
            ],
        )
        .unwrap();
        let copy = format.shape().to_format().unwrap();
        assert_eq!(copy.columns(), format.columns());
        assert_eq!(copy.shape(), format.shape());
        assert_eq!(copy.null_bytes(), 1);
        assert_eq!(copy.fixed_starts(), [0, 4, 10, 17]);
        assert_eq!(copy.fixed_leaf_extent(), None);
    }

    #[test]
    fn impossible_indexes_are_refused() {
        assert_eq!(
            RecordFormat::secondary(&[]).unwrap_err(),
            RecordFormatError::ColumnCount { columns: 0 }
        );
        assert_eq!(
            RecordFormat::secondary(&[Column::fixed(4), Column::variable(0)]).unwrap_err(),
            RecordFormatError::ColumnLength {
                column: 1,
                length: 0
            }
        );
        let many = [Column::fixed(1); MAX_COLUMNS + 1];
        assert!(RecordFormat::secondary(&many).is_err());
    }
}
