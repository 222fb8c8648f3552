//! Which column stands where in the records of a table's indexes.
//!
//! ```text
//!   SQL         id   k    c    pad            PRIMARY KEY (id), KEY k_1 (k)
//!   column      0    1    2    3
//!
//!   clustered   id   DB_TRX_ID   DB_ROLL_PTR   k   c   pad
//!   field       0    1           2             3   4   5
//!
//!   k_1         k    id                        all of it is key: two rows of one k
//!   field       0    1                         differ in id
//! ```
//!
//! A clustered record is the row. A secondary entry holds the index's own columns and
//! those of the primary key which are not among them: with these the row is found.

use super::column::Value;
use super::definition::{DefinitionError, TableDefinition};
use super::fields::Fields;
use crate::page::record_compare::KeyField;
use crate::page::roll_pointer::ROLL_POINTER_LENGTH;
use crate::page::{Column, Record, RecordFormat, RecordFormatError, RollPointer, encoding};
use crate::transaction::undo::RowVersion;

/// A table's definition and the layout of its records.
#[derive(Clone, Debug)]
pub struct TableLayout {
    definition: TableDefinition,
    clustered: RecordFormat,
    /// For each column, its field in the clustered index.
    places: Box<[usize]>,
    /// For each field of the clustered index, its column; `None` for system fields.
    columns: Box<[Option<usize>]>,
    secondary: Box<[SecondaryLayout]>,
}

/// The layout of a secondary index.
#[derive(Clone, Debug)]
pub struct SecondaryLayout {
    format: RecordFormat,
    /// For each field, the table's column.
    columns: Box<[usize]>,
    /// For each field, the field of the clustered index.
    clustered_fields: Box<[usize]>,
    /// For each column of the primary key, the field.
    primary_key_fields: Box<[usize]>,
    /// Fields that are the index's own columns.
    own: usize,
}

/// A table whose records cannot be laid out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The definition breaks a rule.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// An index has no record format.
    #[error("table {table}, index {index}: {source}")]
    Format {
        /// The table.
        table: String,
        /// The index.
        index: String,
        /// Why not.
        source: RecordFormatError,
    },
}

impl TableLayout {
    /// The layout of a table.
    ///
    /// # Errors
    /// If the definition breaks a rule.
    pub fn new(definition: TableDefinition) -> Result<TableLayout, LayoutError> {
        definition.check()?;
        let layout_of = |column: usize| -> Column {
            let column = &definition.columns[column];
            let layout = column.column_type.layout();
            match column.nullable {
                true => layout.nullable(),
                false => layout,
            }
        };
        let failed = |index: &str| {
            let (table, index) = (definition.full_name(), index.to_owned());
            move |source| LayoutError::Format {
                table,
                index,
                source,
            }
        };
        let key = &definition.primary_key;
        let others: Vec<usize> = (0..definition.columns.len())
            .filter(|column| !key.contains(column))
            .collect();
        let layouts = |columns: &[usize]| -> Vec<Column> {
            columns.iter().map(|&column| layout_of(column)).collect()
        };
        let clustered =
            RecordFormat::clustered(&layouts(key), &layouts(&others)).map_err(failed("PRIMARY"))?;

        let columns: Box<[Option<usize>]> = key
            .iter()
            .map(|&column| Some(column))
            .chain([None, None])
            .chain(others.iter().map(|&column| Some(column)))
            .collect();
        let place = |column: usize| {
            let found = columns.iter().position(|&other| other == Some(column));
            found.expect("every column is in the clustered index")
        };
        let places: Box<[usize]> = (0..definition.columns.len()).map(place).collect();

        let mut secondary = Vec::new();
        for index in &definition.indexes {
            let own = &index.columns;
            let rest = key.iter().filter(|column| !own.contains(column));
            let all: Box<[usize]> = own.iter().chain(rest).copied().collect();
            let field = |column: &usize| {
                let found = all.iter().position(|other| other == column);
                found.expect("every entry holds the primary key")
            };
            secondary.push(SecondaryLayout {
                format: RecordFormat::secondary(&layouts(&all)).map_err(failed(&index.name))?,
                clustered_fields: all.iter().map(|&column| places[column]).collect(),
                primary_key_fields: key.iter().map(field).collect(),
                own: own.len(),
                columns: all,
            });
        }
        Ok(TableLayout {
            definition,
            clustered,
            places,
            columns,
            secondary: secondary.into(),
        })
    }

    /// The table as SQL defines it.
    #[inline]
    pub fn definition(&self) -> &TableDefinition {
        &self.definition
    }

    /// The format of the clustered index.
    #[inline]
    pub fn clustered(&self) -> &RecordFormat {
        &self.clustered
    }

    /// The secondary indexes.
    #[inline]
    pub fn secondary(&self) -> &[SecondaryLayout] {
        &self.secondary
    }

    /// The clustered field of a column.
    ///
    /// # Panics
    /// If there is no such column.
    #[inline]
    pub fn place(&self, column: usize) -> usize {
        self.places[column]
    }

    /// The column of a clustered field; `None` for DB_TRX_ID and DB_ROLL_PTR.
    ///
    /// # Panics
    /// If there is no such field.
    #[inline]
    pub fn column_of(&self, field: usize) -> Option<usize> {
        self.columns[field]
    }

    /// Number of the primary key's columns.
    #[inline]
    pub fn key_fields(&self) -> usize {
        self.definition.primary_key.len()
    }

    /// The fields of a clustered record, from the row's columns and the system columns.
    pub fn clustered_fields<'a>(
        &self,
        row: impl Fn(usize) -> KeyField<'a>,
        system: &'a SystemFields,
    ) -> Fields<'a> {
        let key_fields = self.key_fields();
        let fields = self.columns.iter().enumerate();
        fields
            .map(|(field, &column)| match column {
                Some(column) => row(column),
                None if field == key_fields => Some(&system.trx_id[..]),
                None => Some(&system.roll_pointer[..]),
            })
            .collect()
    }
}

impl SecondaryLayout {
    /// The format of the index.
    #[inline]
    pub fn format(&self) -> &RecordFormat {
        &self.format
    }

    /// For each field, the table's column.
    #[inline]
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// For each field, the field of the clustered index.
    #[inline]
    pub fn clustered_fields(&self) -> &[usize] {
        &self.clustered_fields
    }

    /// How many of the fields are the index's own columns.
    #[inline]
    pub fn own_fields(&self) -> usize {
        self.own
    }

    /// The entry of a row, by the fields of its clustered record.
    #[inline]
    pub fn entry<'a>(&self, clustered: impl Fn(usize) -> KeyField<'a>) -> Fields<'a> {
        self.clustered_fields
            .iter()
            .map(|&f| clustered(f))
            .collect()
    }

    /// The entry of a row, by the row.
    #[inline]
    pub fn entry_of_row<'a>(&self, row: &Row<'a>) -> Fields<'a> {
        self.columns
            .iter()
            .map(|&column| row.bytes(column))
            .collect()
    }

    /// The primary key that an entry names.
    #[inline]
    pub fn primary_key_of<'a>(&self, entry: &[KeyField<'a>]) -> Fields<'a> {
        let fields = self.primary_key_fields.iter();
        fields.map(|&field| entry[field]).collect()
    }
}

/// DB_TRX_ID and DB_ROLL_PTR as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemFields {
    /// DB_TRX_ID.
    pub trx_id: [u8; encoding::TRX_ID_LENGTH],
    /// DB_ROLL_PTR.
    pub roll_pointer: [u8; ROLL_POINTER_LENGTH],
}

impl SystemFields {
    /// The fields of a version.
    #[inline]
    pub fn new(trx_id: u64, roll_pointer: RollPointer) -> SystemFields {
        SystemFields {
            trx_id: encoding::encode_trx_id(trx_id),
            roll_pointer: roll_pointer.to_bytes(),
        }
    }
}

/// A row that a statement has found.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    layout: &'a TableLayout,
    source: Source<'a>,
}

/// Where a row's columns are.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// In its clustered record.
    Record(Record<'a>),
    /// In an older version of it.
    Version(&'a RowVersion),
    /// In its entry in a secondary index, which has all columns that are asked for.
    Entry(&'a SecondaryLayout, Record<'a>),
}

impl<'a> Row<'a> {
    /// A row, by its clustered record.
    #[inline]
    pub fn clustered(layout: &'a TableLayout, record: Record<'a>) -> Row<'a> {
        let source = Source::Record(record);
        Row { layout, source }
    }

    /// An older version of a row.
    #[inline]
    pub fn version(layout: &'a TableLayout, version: &'a RowVersion) -> Row<'a> {
        let source = Source::Version(version);
        Row { layout, source }
    }

    /// A row, by its entry in a secondary index.
    #[inline]
    pub fn entry(
        layout: &'a TableLayout,
        index: &'a SecondaryLayout,
        record: Record<'a>,
    ) -> Row<'a> {
        let source = Source::Entry(index, record);
        Row { layout, source }
    }

    /// The stored bytes of a column; `None` for NULL.
    ///
    /// # Panics
    /// If there is no such column, or if the row was read from an index without it.
    #[inline]
    pub fn bytes(&self, column: usize) -> Option<&'a [u8]> {
        match self.source {
            Source::Record(record) => {
                let field = self.layout.place(column);
                record.field(self.layout.clustered(), field)
            }
            Source::Version(version) => version.field(self.layout.place(column)),
            Source::Entry(index, record) => {
                let found = index.columns.iter().position(|&other| other == column);
                let field = found.expect("the index that was read has the column");
                record.field(index.format(), field)
            }
        }
    }

    /// The value of a column.
    ///
    /// # Panics
    /// As [`bytes`](Self::bytes).
    #[inline]
    pub fn value(&self, column: usize) -> Value<'a> {
        let column_type = self.layout.definition.columns[column].column_type;
        match self.bytes(column) {
            Some(bytes) => column_type.decode(bytes),
            None => Value::Null,
        }
    }

    /// The number in a column; `None` for NULL and text.
    ///
    /// # Panics
    /// As [`bytes`](Self::bytes).
    #[inline]
    pub fn integer(&self, column: usize) -> Option<i64> {
        match self.value(column) {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// Number of the table's columns.
    pub fn column_count(&self) -> usize {
        self.layout.definition.columns.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ColumnType;

    #[test]
    fn sysbench_rows_lie_as_innodb_lays_them() {
        let layout = TableLayout::new(TableDefinition::sysbench(1)).unwrap();
        let places: Vec<_> = (0..4).map(|column| layout.place(column)).collect();
        assert_eq!(places, [0, 3, 4, 5]);
        assert_eq!(layout.column_of(1), None);
        assert_eq!(
            layout.clustered().fixed_leaf_extent().unwrap().data,
            4 + 13 + 4 + 120 + 60
        );
        let k = &layout.secondary()[0];
        assert_eq!(k.columns(), [1, 0]);
        assert_eq!(k.clustered_fields(), [3, 0]);
        assert_eq!((k.own_fields(), k.format().key_fields()), (1, 2));
    }

    #[test]
    fn an_index_that_holds_key_columns_does_not_repeat_them() {
        let table = TableDefinition::new("s", "t")
            .column("a", ColumnType::Integer)
            .column("b", ColumnType::BigInteger)
            .nullable_column("c", ColumnType::VarChar(10))
            .primary_key(&["b", "a"])
            .unwrap()
            .index("ca", &["c", "a"])
            .unwrap();
        let layout = TableLayout::new(table).unwrap();
        // b a DB_TRX_ID DB_ROLL_PTR c
        assert_eq!(
            (0..3).map(|c| layout.place(c)).collect::<Vec<_>>(),
            [1, 0, 4]
        );
        let index = &layout.secondary()[0];
        assert_eq!(index.columns(), [2, 0, 1]);
        assert_eq!(*index.primary_key_fields, [2, 1]);
        assert!(index.format().columns()[0].is_nullable());
    }

    #[test]
    fn clustered_fields_put_the_system_columns_behind_the_key() {
        let layout = TableLayout::new(TableDefinition::sysbench(1)).unwrap();
        let row: [&[u8]; 4] = [b"id", b"k", b"c", b"pad"];
        let system = SystemFields::new(0x0102, RollPointer::NO_HISTORY);
        let fields = layout.clustered_fields(|column| Some(row[column]), &system);
        let roll_pointer = [0x80, 0, 0, 0, 0, 0, 0];
        let expected: [KeyField<'_>; 6] = [
            Some(b"id"),
            Some(&[0, 0, 0, 0, 1, 2]),
            Some(&roll_pointer),
            Some(b"k"),
            Some(b"c"),
            Some(b"pad"),
        ];
        assert_eq!(*fields, expected);
        let entry = layout.secondary()[0].entry(|field| fields[field]);
        assert_eq!(*entry, [Some(&b"k"[..]), Some(b"id")]);
    }
}
