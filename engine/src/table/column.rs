//! Columns and values: SQL's types, and the bytes that stand in a record.
//!
//! ```text
//!   SQL               Value                 stored
//!   INTEGER           Integer(-3)           7f ff ff fd          4 bytes, sign bit flipped
//!   BIGINT            Integer(1)            80 00 ... 00 01      8 bytes, likewise
//!   CHAR(5)           Text(b"ab")           61 62 20 20 20       padded with blanks
//!   VARCHAR(5)        Text(b"ab")           61 62                its length stands apart
//! ```
//!
//! Stored bytes sort as the values do (see [`encoding`](crate::page::encoding)), so that
//! nothing above this file needs to know a column's type to compare two of its values.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::page::{Column, encoding};

/// The most bytes of a CHAR column (MySQL's limit of 255 characters, of one byte here).
pub const CHAR_MAX: u16 = 255;

/// The most bytes of a VARCHAR column: a row must fit a page, as nothing is stored off it.
pub const VARCHAR_MAX: u16 = 8000;

/// The longest stored value of a column, in bytes.
pub const VALUE_MAX: usize = VARCHAR_MAX as usize;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ColumnType {
    /// INTEGER: four bytes, signed.
    Integer,
    /// INTEGER UNSIGNED: four bytes.
    IntegerUnsigned,
    /// BIGINT: eight bytes, signed.
    BigInteger,
    /// CHAR(n) in a character set of one byte: n bytes, padded with blanks.
    Char(u16),
    /// VARCHAR(n) in a character set of one byte.
    VarChar(u16),
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnType::Integer => f.write_str("INTEGER"),
            ColumnType::IntegerUnsigned => f.write_str("INTEGER UNSIGNED"),
            ColumnType::BigInteger => f.write_str("BIGINT"),
            ColumnType::Char(length) => write!(f, "CHAR({length})"),
            ColumnType::VarChar(length) => write!(f, "VARCHAR({length})"),
        }
    }
}

impl From<ColumnType> for String {
    fn from(column_type: ColumnType) -> String {
        column_type.to_string()
    }
}

/// A type that this engine does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "column type {0:?}; known are INTEGER, INTEGER UNSIGNED, BIGINT, CHAR(1..{CHAR_MAX}) and \
     VARCHAR(1..{VARCHAR_MAX})"
)]
pub struct UnknownColumnType(String);

impl TryFrom<String> for ColumnType {
    type Error = UnknownColumnType;

    fn try_from(text: String) -> Result<ColumnType, UnknownColumnType> {
        let length = |name: &str| -> Option<u16> {
            let rest = text.strip_prefix(name)?.strip_prefix('(')?;
            rest.strip_suffix(')')?.parse().ok()
        };
        let found = match text.as_str() {
            "INTEGER" => Some(ColumnType::Integer),
            "INTEGER UNSIGNED" => Some(ColumnType::IntegerUnsigned),
            "BIGINT" => Some(ColumnType::BigInteger),
            _ => length("CHAR")
                .map(ColumnType::Char)
                .or_else(|| length("VARCHAR").map(ColumnType::VarChar)),
        };
        match found {
            Some(found) if found.is_possible() => Ok(found),
            _ => Err(UnknownColumnType(text)),
        }
    }
}

impl ColumnType {
    /// Whether its length is one that this engine can store.
    pub fn is_possible(self) -> bool {
        match self {
            ColumnType::Char(length) => (1..=CHAR_MAX).contains(&length),
            ColumnType::VarChar(length) => (1..=VARCHAR_MAX).contains(&length),
            _ => true,
        }
    }

    /// How the column is laid out in a record.
    pub fn layout(self) -> Column {
        match self {
            ColumnType::Integer | ColumnType::IntegerUnsigned => Column::fixed(4),
            ColumnType::BigInteger => Column::fixed(8),
            ColumnType::Char(length) => Column::fixed(length),
            ColumnType::VarChar(length) => Column::variable(length),
        }
    }

    /// The least and the greatest number of an integer type.
    pub fn range(self) -> Option<(i64, i64)> {
        match self {
            ColumnType::Integer => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
            ColumnType::IntegerUnsigned => Some((0, i64::from(u32::MAX))),
            ColumnType::BigInteger => Some((i64::MIN, i64::MAX)),
            ColumnType::Char(_) | ColumnType::VarChar(_) => None,
        }
    }

    /// Appends the stored form of a value that is not NULL.
    ///
    /// # Errors
    /// If the type does not have the value; nothing is appended then.
    pub fn encode(self, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), ValueFault> {
        match (self, value) {
            (ColumnType::Char(length), Value::Text(text)) => {
                let start = out.len();
                if text.len() > usize::from(length) {
                    return Err(ValueFault::TooLong { bytes: text.len() });
                }
                out.resize(start + usize::from(length), b' ');
                out[start..start + text.len()].copy_from_slice(text);
                Ok(())
            }
            (ColumnType::VarChar(length), Value::Text(text)) => {
                if text.len() > usize::from(length) {
                    return Err(ValueFault::TooLong { bytes: text.len() });
                }
                out.extend_from_slice(text);
                Ok(())
            }
            (_, Value::Integer(number)) => {
                let Some((least, greatest)) = self.range() else {
                    return Err(ValueFault::WrongType);
                };
                if !(least..=greatest).contains(&number) {
                    return Err(ValueFault::OutOfRange { number });
                }
                match self {
                    ColumnType::Integer => {
                        out.extend_from_slice(&encoding::encode_i32(number as i32));
                    }
                    ColumnType::IntegerUnsigned => {
                        out.extend_from_slice(&encoding::encode_u32(number as u32));
                    }
                    _ => out.extend_from_slice(&encoding::encode_i64(number)),
                }
                Ok(())
            }
            (_, Value::Text(_) | Value::Null) => Err(ValueFault::WrongType),
        }
    }

    /// The value of stored bytes. Text of a CHAR comes without its padding.
    ///
    /// # Panics
    /// If an integer does not have the length of its type.
    pub fn decode(self, bytes: &[u8]) -> Value<'_> {
        match self {
            ColumnType::Integer => Value::Integer(i64::from(encoding::decode_i32(array(bytes)))),
            ColumnType::IntegerUnsigned => {
                Value::Integer(i64::from(encoding::decode_u32(array(bytes))))
            }
            ColumnType::BigInteger => Value::Integer(encoding::decode_i64(array(bytes))),
            ColumnType::Char(_) => Value::Text(encoding::decode_char(bytes)),
            ColumnType::VarChar(_) => Value::Text(bytes),
        }
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes
        .try_into()
        .expect("a fixed column has the length of its type")
}

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A number.
    Integer(i64),
    /// Bytes of a text.
    Text(&'a [u8]),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Integer(number) => number.fmt(f),
            Value::Text(text) => String::from_utf8_lossy(text).fmt(f),
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Value::Integer(number)
    }
}

impl From<i32> for Value<'_> {
    fn from(number: i32) -> Self {
        Value::Integer(i64::from(number))
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(text: &'a [u8]) -> Self {
        Value::Text(text)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(text: &'a [u8; N]) -> Self {
        Value::Text(text)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text.as_bytes())
    }
}

/// What is wrong with a value for a column; see
/// [`RowError`](super::RowError) for the message that names the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFault {
    /// A text for a number, or the reverse.
    WrongType,
    /// A number that the type does not reach.
    OutOfRange {
        /// The number.
        number: i64,
    },
    /// A text longer than the column.
    TooLong {
        /// Its bytes.
        bytes: usize,
    },
    /// NULL for a column that is NOT NULL.
    Null,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(column_type: ColumnType, value: Value<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        column_type.encode(value, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn names_are_read_back() {
        for column_type in [
            ColumnType::Integer,
            ColumnType::IntegerUnsigned,
            ColumnType::BigInteger,
            ColumnType::Char(120),
            ColumnType::VarChar(8000),
        ] {
            let name = column_type.to_string();
            assert_eq!(ColumnType::try_from(name), Ok(column_type));
        }
        for name in [
            "",
            "INT",
            "CHAR(0)",
            "CHAR(256)",
            "CHAR(12",
            "VARCHAR(8001)",
            "CHAR(-1)",
        ] {
            let error = ColumnType::try_from(name.to_owned()).unwrap_err();
            assert!(error.to_string().contains("CHAR(1..255)"), "{name}");
        }
    }

    #[test]
    fn values_that_do_not_fit_are_refused_and_append_nothing() {
        let mut bytes = vec![7];
        let mut encode = |column_type: ColumnType, value| {
            let result = column_type.encode(value, &mut bytes);
            assert_eq!(bytes, [7]);
            result.unwrap_err()
        };
        let number = 1 << 31;
        assert_eq!(
            encode(ColumnType::Integer, Value::Integer(number)),
            ValueFault::OutOfRange { number }
        );
        assert_eq!(
            encode(ColumnType::IntegerUnsigned, Value::Integer(-1)),
            ValueFault::OutOfRange { number: -1 }
        );
        assert_eq!(
            encode(ColumnType::Char(3), Value::Text(b"four")),
            ValueFault::TooLong { bytes: 4 }
        );
        assert_eq!(
            encode(ColumnType::Char(3), Value::Integer(1)),
            ValueFault::WrongType
        );
        assert_eq!(
            encode(ColumnType::Integer, Value::Text(b"1")),
            ValueFault::WrongType
        );
    }

    #[test]
    fn char_is_padded_and_comes_back_without() {
        assert_eq!(encoded(ColumnType::Char(4), Value::Text(b"ab")), b"ab  ");
        assert_eq!(ColumnType::Char(4).decode(b"ab  "), Value::Text(b"ab"));
        assert_eq!(ColumnType::VarChar(4).decode(b"ab "), Value::Text(b"ab "));
    }

    proptest! {
        #[test]
        fn stored_numbers_sort_as_numbers(left: i32, right: i32) {
            let column_type = ColumnType::Integer;
            let stored = |number: i32| encoded(column_type, Value::from(number));
            prop_assert_eq!(stored(left).cmp(&stored(right)), left.cmp(&right));
            let bytes = stored(left);
            prop_assert_eq!(column_type.decode(&bytes), Value::from(left));
        }

        #[test]
        fn stored_big_numbers_sort_as_numbers(left: i64, right: i64) {
            let column_type = ColumnType::BigInteger;
            let stored = |number: i64| encoded(column_type, Value::from(number));
            prop_assert_eq!(stored(left).cmp(&stored(right)), left.cmp(&right));
            let bytes = stored(left);
            prop_assert_eq!(column_type.decode(&bytes), Value::from(left));
        }
    }
}
