//! What a table is: its columns, its primary key, its secondary indexes.
//!
//! ```text
//!   CREATE TABLE sbtest1 (               TableDefinition::new("sbtest", "sbtest1")
//!     id  INTEGER NOT NULL,                  .column("id", ColumnType::Integer)
//!     k   INTEGER NOT NULL,                  .column("k", ColumnType::Integer)
//!     c   CHAR(120) NOT NULL,                .column("c", ColumnType::Char(120))
//!     pad CHAR(60) NOT NULL,                 .column("pad", ColumnType::Char(60))
//!     PRIMARY KEY (id),                      .primary_key(&["id"])
//!     KEY k_1 (k))                           .index("k_1", &["k"])
//! ```

use serde::{Deserialize, Serialize};

use super::column::{CHAR_MAX, ColumnType, VARCHAR_MAX};
use crate::page::record_build::MAX_RECORD_SIZE;
use crate::page::record_format::MAX_COLUMNS;

/// The longest name of a schema, table, column or index, in bytes (MySQL: 64 characters).
pub const NAME_MAX: usize = 64;

/// The most bytes that an index's columns may have (InnoDB: 3072 for 16 KiB pages).
pub const KEY_BYTES_MAX: usize = 3072;

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// Whether it may be NULL.
    #[serde(default)]
    pub nullable: bool,
}

/// A secondary index of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexDefinition {
    /// Its name.
    pub name: String,
    /// Positions of its columns in the table.
    pub columns: Vec<usize>,
}

/// A table as SQL defines it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableDefinition {
    /// The schema (database): a directory.
    pub schema: String,
    /// The table: a file in it.
    pub name: String,
    /// The columns, in SQL's order.
    pub columns: Vec<ColumnDefinition>,
    /// Positions of the primary key's columns.
    pub primary_key: Vec<usize>,
    /// The column that is given the next number where an INSERT has NULL or 0: an integer,
    /// alone in the primary key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_increment: Option<usize>,
    /// The secondary indexes. None is unique.
    #[serde(default)]
    pub indexes: Vec<IndexDefinition>,
}

/// A table that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// A name that is empty, too long, or not a file's.
    #[error(
        "the {what} name {name:?}: 1 to {NAME_MAX} of the characters A-Z, a-z, 0-9, _ and $ are \
         accepted"
    )]
    Name {
        /// Of what.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two things of one name.
    #[error("table {table}: more than one {what} is called {name:?}")]
    Twice {
        /// The table.
        table: String,
        /// Columns or indexes.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A key names a column that the table does not have.
    #[error("table {table}: {key} names the column {column:?}, which the table does not have")]
    NoColumn {
        /// The table.
        table: String,
        /// The index.
        key: String,
        /// The column.
        column: String,
    },
    /// A primary key or an index without columns.
    #[error(
        "table {table}: {key} has no column; a table needs a primary key, and an index at least \
         one column"
    )]
    NoKey {
        /// The table.
        table: String,
        /// The index.
        key: String,
    },
    /// A column may be NULL and be in the primary key.
    #[error("table {table}: column {column:?} of the primary key must be NOT NULL")]
    NullableKey {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// AUTO_INCREMENT where it cannot be.
    #[error(
        "table {table}: column {column:?} cannot be AUTO_INCREMENT; an integer that is the \
         primary key can"
    )]
    AutoIncrement {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A type of a length that cannot be stored.
    #[error(
        "table {table}: column {column:?} is {column_type}; CHAR has 1 to {CHAR_MAX} bytes, \
         VARCHAR 1 to {VARCHAR_MAX}"
    )]
    Length {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Its type.
        column_type: ColumnType,
    },
    /// Too many columns for a record.
    #[error("table {table} has {columns} columns; at most {most} are supported")]
    Columns {
        /// The table.
        table: String,
        /// How many it has.
        columns: usize,
        /// How many it may have.
        most: usize,
    },
    /// A key that is too long.
    #[error("table {table}: {key} has {bytes} bytes; an index may have {KEY_BYTES_MAX}")]
    KeyLength {
        /// The table.
        table: String,
        /// The index.
        key: String,
        /// Bytes of its columns.
        bytes: usize,
    },
    /// Rows that may be longer than a page can hold.
    #[error(
        "table {table}: a row may have {bytes} bytes, and {MAX_RECORD_SIZE} are possible; columns \
         are not stored off the page"
    )]
    RowLength {
        /// The table.
        table: String,
        /// The longest row.
        bytes: usize,
    },
}

impl TableDefinition {
    /// A table without columns.
    pub fn new(schema: &str, name: &str) -> TableDefinition {
        TableDefinition {
            schema: schema.into(),
            name: name.into(),
            columns: Vec::new(),
            primary_key: Vec::new(),
            auto_increment: None,
            indexes: Vec::new(),
        }
    }

    /// One more column, NOT NULL.
    #[must_use]
    pub fn column(mut self, name: &str, column_type: ColumnType) -> TableDefinition {
        self.columns.push(ColumnDefinition {
            name: name.into(),
            column_type,
            nullable: false,
        });
        self
    }

    /// One more column, which may be NULL.
    #[must_use]
    pub fn nullable_column(self, name: &str, column_type: ColumnType) -> TableDefinition {
        let mut table = self.column(name, column_type);
        if let Some(column) = table.columns.last_mut() {
            column.nullable = true;
        }
        table
    }

    /// The primary key.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn primary_key(mut self, columns: &[&str]) -> Result<TableDefinition, DefinitionError> {
        self.primary_key = self.positions("PRIMARY", columns)?;
        Ok(self)
    }

    /// Makes the primary key AUTO_INCREMENT.
    #[must_use]
    pub fn auto_increment(mut self) -> TableDefinition {
        self.auto_increment = self.primary_key.first().copied();
        self
    }

    /// One more secondary index, not unique.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn index(
        mut self,
        name: &str,
        columns: &[&str],
    ) -> Result<TableDefinition, DefinitionError> {
        let columns = self.positions(name, columns)?;
        self.indexes.push(IndexDefinition {
            name: name.into(),
            columns,
        });
        Ok(self)
    }

    /// sysbench's table number `number`: `id`, `k`, `c` and `pad`, and the index `k_N`.
    pub fn sysbench(number: u32) -> TableDefinition {
        TableDefinition::new("sbtest", &format!("sbtest{number}"))
            .column("id", ColumnType::Integer)
            .column("k", ColumnType::Integer)
            .column("c", ColumnType::Char(120))
            .column("pad", ColumnType::Char(60))
            .primary_key(&["id"])
            .and_then(|table| table.index(&format!("k_{number}"), &["k"]))
            .expect("the columns are those above")
            .auto_increment()
    }

    /// The schema's and the table's name: `sbtest/sbtest1`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.schema, self.name)
    }

    /// The position of a column.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|found| found.name == column)
    }

    fn positions(&self, key: &str, columns: &[&str]) -> Result<Vec<usize>, DefinitionError> {
        let found = columns.iter().map(|&column| {
            self.position(column)
                .ok_or_else(|| DefinitionError::NoColumn {
                    table: self.full_name(),
                    key: key.into(),
                    column: column.into(),
                })
        });
        found.collect()
    }

    /// Checks everything that a table must be to be created.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self) -> Result<(), DefinitionError> {
        check_name("schema", &self.schema)?;
        check_name("table", &self.name)?;
        let table = self.full_name();
        // Two system columns in the clustered index.
        let most = MAX_COLUMNS - 2;
        if self.columns.is_empty() || self.columns.len() > most {
            let columns = self.columns.len();
            return Err(DefinitionError::Columns {
                table,
                columns,
                most,
            });
        }
        for (position, column) in self.columns.iter().enumerate() {
            check_name("column", &column.name)?;
            if self.position(&column.name) != Some(position) {
                let name = column.name.clone();
                let what = "column";
                return Err(DefinitionError::Twice { table, what, name });
            }
            if !column.column_type.is_possible() {
                return Err(DefinitionError::Length {
                    table,
                    column: column.name.clone(),
                    column_type: column.column_type,
                });
            }
        }
        self.check_key("PRIMARY", &self.primary_key)?;
        for &position in &self.primary_key {
            if self.columns[position].nullable {
                let column = self.columns[position].name.clone();
                return Err(DefinitionError::NullableKey { table, column });
            }
        }
        self.check_auto_increment()?;
        for (position, index) in self.indexes.iter().enumerate() {
            check_name("index", &index.name)?;
            let earlier = &self.indexes[..position];
            if index.name == "PRIMARY" || earlier.iter().any(|other| other.name == index.name) {
                let name = index.name.clone();
                let what = "index";
                return Err(DefinitionError::Twice { table, what, name });
            }
            self.check_key(&index.name, &index.columns)?;
        }
        self.check_row_length()
    }

    fn check_auto_increment(&self) -> Result<(), DefinitionError> {
        let Some(position) = self.auto_increment else {
            return Ok(());
        };
        let column = self.columns.get(position);
        let is_integer = column.is_some_and(|column| column.column_type.range().is_some());
        if is_integer && self.primary_key == [position] {
            return Ok(());
        }
        Err(DefinitionError::AutoIncrement {
            table: self.full_name(),
            column: column.map_or_else(|| format!("number {position}"), |c| c.name.clone()),
        })
    }

    fn check_key(&self, key: &str, columns: &[usize]) -> Result<(), DefinitionError> {
        let (table, key) = (self.full_name(), key.to_owned());
        if columns.is_empty() {
            return Err(DefinitionError::NoKey { table, key });
        }
        let mut bytes = 0;
        for (place, &position) in columns.iter().enumerate() {
            let Some(column) = self.columns.get(position) else {
                let column = format!("number {position}");
                return Err(DefinitionError::NoColumn { table, key, column });
            };
            if columns[..place].contains(&position) {
                let (what, name) = ("column", column.name.clone());
                return Err(DefinitionError::Twice { table, what, name });
            }
            bytes += column.column_type.layout().max_length();
        }
        if bytes > KEY_BYTES_MAX {
            return Err(DefinitionError::KeyLength { table, key, bytes });
        }
        Ok(())
    }

    fn check_row_length(&self) -> Result<(), DefinitionError> {
        let mut bytes = 5 + 13 + self.columns.len().div_ceil(8);
        for column in &self.columns {
            let layout = column.column_type.layout();
            bytes += layout.max_length() + 2 * usize::from(layout.is_variable());
        }
        if bytes > MAX_RECORD_SIZE {
            let table = self.full_name();
            return Err(DefinitionError::RowLength { table, bytes });
        }
        Ok(())
    }
}

fn check_name(what: &'static str, name: &str) -> Result<(), DefinitionError> {
    let accepted = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(accepted) {
        let name = name.into();
        return Err(DefinitionError::Name { what, name });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_sysbench_is_one() {
        let table = TableDefinition::sysbench(3);
        assert_eq!(table.check(), Ok(()));
        assert_eq!(table.full_name(), "sbtest/sbtest3");
        assert_eq!(table.indexes[0].name, "k_3");
        assert_eq!(table.indexes[0].columns, [1]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let base = || {
            TableDefinition::new("s", "t")
                .column("a", ColumnType::Integer)
                .nullable_column("b", ColumnType::VarChar(20))
        };
        let message = |table: TableDefinition| table.check().unwrap_err().to_string();
        assert!(
            base()
                .primary_key(&["z"])
                .unwrap_err()
                .to_string()
                .contains("\"z\"")
        );
        assert!(message(base()).contains("PRIMARY has no column"));
        assert!(message(base().primary_key(&["b"]).unwrap()).contains("must be NOT NULL"));
        assert!(message(base().primary_key(&["a", "a"]).unwrap()).contains("more than one column"));
        let twice = base().column("a", ColumnType::Integer);
        assert!(message(twice).contains("more than one column is called \"a\""));
        let long = base().column("c", ColumnType::Char(300));
        assert!(message(long).contains("CHAR(300)"));
        let wide = base()
            .column("c", ColumnType::VarChar(8000))
            .column("d", ColumnType::VarChar(200))
            .primary_key(&["a"])
            .unwrap();
        assert!(message(wide.clone()).contains("a row may have"));
        let key = wide.index("c", &["c"]).unwrap();
        assert!(message(key).contains("an index may have 3072"));
        let text = TableDefinition::new("s", "t").column("c", ColumnType::Char(3));
        let text = text.primary_key(&["c"]).unwrap().auto_increment();
        assert!(message(text).contains("cannot be AUTO_INCREMENT"));
        let mut path = base().primary_key(&["a"]).unwrap();
        path.name = "../t".into();
        assert!(message(path).contains("table name"));
        let index = base().primary_key(&["a"]).unwrap();
        let index = index
            .index("x", &["b"])
            .unwrap()
            .index("x", &["a"])
            .unwrap();
        assert!(message(index).contains("more than one index"));
    }
}
