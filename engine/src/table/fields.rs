//! Stored fields, kept back to back in one buffer that is used again and again.
//!
//! ```text
//!   bytes   80 00 00 07 | 61 62 63 |            places   0..4, 4..7, NULL
//! ```
//!
//! Rows to insert, keys to search for and old values are all lists of fields. A session
//! keeps one buffer for each, so that a statement allocates nothing.

use std::ops::Deref;

use super::column::{ColumnType, Value, ValueFault};
use super::definition::ColumnDefinition;
use crate::page::record_compare::KeyField;
use crate::page::record_format::MAX_COLUMNS;

/// A list of fields that owns their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldBuffer {
    bytes: Vec<u8>,
    /// Where a field starts and ends; `None` for NULL.
    places: Vec<Option<(u32, u32)>>,
}

impl FieldBuffer {
    /// An empty list.
    pub fn new() -> FieldBuffer {
        FieldBuffer::default()
    }

    /// Forgets the fields, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// Becomes a copy of these fields.
    pub fn copy(&mut self, fields: &[KeyField<'_>]) {
        self.clear();
        for &field in fields {
            self.push(field);
        }
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Appends a field that is stored already.
    pub fn push(&mut self, field: KeyField<'_>) {
        let place = field.map(|bytes| {
            let start = self.bytes.len() as u32;
            self.bytes.extend_from_slice(bytes);
            (start, self.bytes.len() as u32)
        });
        self.places.push(place);
    }

    /// Appends a value in the form that its type is stored in.
    ///
    /// # Errors
    /// If the type does not have the value; nothing is appended then.
    pub fn push_value(
        &mut self,
        column_type: ColumnType,
        value: Value<'_>,
    ) -> Result<(), ValueFault> {
        if value == Value::Null {
            self.places.push(None);
            return Ok(());
        }
        let start = self.bytes.len() as u32;
        column_type.encode(value, &mut self.bytes)?;
        self.places.push(Some((start, self.bytes.len() as u32)));
        Ok(())
    }

    /// Appends a value of a column.
    ///
    /// # Errors
    /// If the column cannot have the value; nothing is appended then.
    pub fn push_column(
        &mut self,
        column: &ColumnDefinition,
        value: Value<'_>,
    ) -> Result<(), ValueFault> {
        if value == Value::Null && !column.nullable {
            return Err(ValueFault::Null);
        }
        self.push_value(column.column_type, value)
    }

    /// Takes the last field away.
    pub fn pop(&mut self) {
        if let Some(Some((start, _))) = self.places.pop() {
            self.bytes.truncate(start as usize);
        }
    }

    /// A field.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn get(&self, index: usize) -> KeyField<'_> {
        self.places[index].map(|(start, end)| &self.bytes[start as usize..end as usize])
    }

    /// The fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = KeyField<'_>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// All fields, to search for them or to build a record of them.
    ///
    /// # Panics
    /// If there are more than an index can have.
    #[inline]
    pub fn as_fields(&self) -> Fields<'_> {
        self.iter().collect()
    }
}

/// A list of fields that are elsewhere. It lies on the stack and dereferences to a slice.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    fields: [KeyField<'a>; MAX_COLUMNS],
    count: usize,
}

impl<'a> Fields<'a> {
    /// No field.
    #[inline]
    pub fn new() -> Fields<'a> {
        Fields {
            fields: [None; MAX_COLUMNS],
            count: 0,
        }
    }

    /// Appends a field.
    ///
    /// # Panics
    /// If there are as many as an index can have.
    #[inline]
    pub fn push(&mut self, field: KeyField<'a>) {
        self.fields[self.count] = field;
        self.count += 1;
    }

    /// Replaces a field.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn set(&mut self, index: usize, field: KeyField<'a>) {
        self.fields[..self.count][index] = field;
    }
}

impl Default for Fields<'_> {
    fn default() -> Self {
        Fields::new()
    }
}

impl<'a> Deref for Fields<'a> {
    type Target = [KeyField<'a>];

    #[inline]
    fn deref(&self) -> &[KeyField<'a>] {
        &self.fields[..self.count]
    }
}

impl<'a> FromIterator<KeyField<'a>> for Fields<'a> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = KeyField<'a>>>(iter: I) -> Self {
        let mut fields = Fields::new();
        for field in iter {
            fields.push(field);
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_as_they_were() {
        let mut buffer = FieldBuffer::new();
        buffer.push(Some(b"one"));
        buffer.push(None);
        buffer
            .push_value(ColumnType::Integer, Value::Integer(7))
            .unwrap();
        buffer.push_value(ColumnType::Char(2), Value::Null).unwrap();
        let refused = buffer.push_value(ColumnType::Char(2), Value::Text(b"abc"));
        assert_eq!(refused, Err(ValueFault::TooLong { bytes: 3 }));
        let fields = buffer.as_fields();
        assert_eq!(
            *fields,
            [Some(&b"one"[..]), None, Some(&[128, 0, 0, 7]), None]
        );
        let mut changed = fields;
        changed.set(1, Some(b""));
        assert_eq!(changed[1], Some(&b""[..]));
        buffer.clear();
        assert!(buffer.is_empty() && buffer.as_fields().is_empty());
    }

    #[test]
    fn null_needs_a_column_that_allows_it() {
        let column = |nullable| ColumnDefinition {
            name: "a".into(),
            column_type: ColumnType::Integer,
            nullable,
        };
        let mut buffer = FieldBuffer::new();
        assert_eq!(buffer.push_column(&column(true), Value::Null), Ok(()));
        let refused = buffer.push_column(&column(false), Value::Null);
        assert_eq!(refused, Err(ValueFault::Null));
        assert_eq!(buffer.len(), 1);
    }
}
