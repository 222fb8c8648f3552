//! Values that do not make a row of a table.

use super::column::{ColumnType, ValueFault};
use super::definition::TableDefinition;
use crate::page::RecordError;

/// What is wrong with a row, a key or an assignment; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// Too few or too many values.
    #[error("table {table}: {found} {what} given, {expected} expected")]
    Count {
        /// The table.
        table: String,
        /// Values of a row or of a key.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there must be.
        expected: usize,
    },
    /// The table has no such column.
    #[error("table {table} has {columns} columns, numbered from 0; there is no column {column}")]
    NoColumn {
        /// The table.
        table: String,
        /// Its columns.
        columns: usize,
        /// The column asked for.
        column: usize,
    },
    /// A column cannot have its value.
    #[error("column {column} is {column_type}: {}", describe(*fault, *column_type))]
    Value {
        /// Table and column.
        column: String,
        /// The column's type.
        column_type: ColumnType,
        /// What is wrong.
        fault: ValueFault,
    },
    /// The values are good, but the record is too long.
    #[error("table {table}: {source}")]
    Record {
        /// The table.
        table: String,
        /// What is wrong.
        source: RecordError,
    },
}

fn describe(fault: ValueFault, column_type: ColumnType) -> String {
    match fault {
        ValueFault::WrongType => "the value is of another type".into(),
        ValueFault::OutOfRange { number } => match column_type.range() {
            Some((least, greatest)) => {
                format!("{number} leads outside of {least} to {greatest}")
            }
            None => format!("{number} is out of range"),
        },
        ValueFault::TooLong { bytes } => format!("the text has {bytes} bytes"),
        ValueFault::Null => "NULL is given, and the column is NOT NULL".into(),
    }
}

impl RowError {
    pub(crate) fn value(table: &TableDefinition, column: usize, fault: ValueFault) -> RowError {
        let definition = &table.columns[column];
        RowError::Value {
            column: format!("{}.{}", table.full_name(), definition.name),
            column_type: definition.column_type,
            fault,
        }
    }

    pub(crate) fn no_column(table: &TableDefinition, column: usize) -> RowError {
        RowError::NoColumn {
            table: table.full_name(),
            columns: table.columns.len(),
            column,
        }
    }

    /// The number of the error that a MySQL server would send.
    pub fn mysql_number(&self) -> u16 {
        match self {
            RowError::Count { .. } => 1136,
            RowError::NoColumn { .. } => 1054,
            RowError::Value { fault, .. } => match fault {
                ValueFault::WrongType => 1366,
                ValueFault::OutOfRange { .. } => 1264,
                ValueFault::TooLong { .. } => 1406,
                ValueFault::Null => 1048,
            },
            RowError::Record { .. } => 1118,
        }
    }
}
