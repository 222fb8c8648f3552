//! What an UPDATE changes in a row: the fields whose bytes become others.
//!
//! ```text
//!   row         id=7  k=41  c="aaa"  pad="zz"
//!   UPDATE      SET k = k + 1, pad = "zz"
//!   vector      field 3: 41 -> 42                pad stays what it is: not in the vector
//!
//!   changes size?          no: the record is changed where it stands
//!   changes an index?      k_1, yes: entry (41, 7) is delete-marked, (42, 7) inserted
//! ```

use super::column::{ColumnType, Value, ValueFault};
use super::fields::{FieldBuffer, Fields};
use super::layout::{SecondaryLayout, TableLayout};
use super::row_error::RowError;
use crate::page::Record;
use crate::page::record_compare::KeyField;

/// A new value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment<'a> {
    /// The column's position in the table.
    pub column: usize,
    /// What it becomes.
    pub change: Change<'a>,
}

/// What a column becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// `SET column = value`
    Set(Value<'a>),
    /// `SET column = column + number`; NULL stays NULL.
    Add(i64),
}

impl<'a> Assignment<'a> {
    /// `SET column = value`
    pub fn set(column: usize, value: impl Into<Value<'a>>) -> Assignment<'a> {
        let change = Change::Set(value.into());
        Assignment { column, change }
    }

    /// `SET column = column + number`
    pub fn add(column: usize, number: i64) -> Assignment<'a> {
        let change = Change::Add(number);
        Assignment { column, change }
    }
}

/// The fields that an update changes, by their place in the clustered index.
#[derive(Clone, Debug, Default)]
pub struct UpdateVector {
    /// In ascending order.
    fields: Vec<usize>,
    new_values: FieldBuffer,
    changes_size: bool,
}

impl UpdateVector {
    /// A vector that changes nothing.
    pub fn new() -> UpdateVector {
        UpdateVector::default()
    }

    /// Works out what assignments change in a row. Of two to one column the last one
    /// counts, as in SQL.
    ///
    /// # Errors
    /// If a column cannot have its new value, or does not exist.
    pub fn compute(
        &mut self,
        layout: &TableLayout,
        record: Record<'_>,
        assignments: &[Assignment<'_>],
    ) -> Result<(), RowError> {
        self.fields.clear();
        self.new_values.clear();
        self.changes_size = false;
        let columns = &layout.definition().columns;
        let format = layout.clustered();
        for assignment in assignments {
            if assignment.column >= columns.len() {
                return Err(RowError::no_column(layout.definition(), assignment.column));
            }
        }
        for field in 0..format.columns().len() {
            let Some(column) = layout.column_of(field) else {
                continue;
            };
            let mut of_column = assignments.iter().rev();
            let Some(assignment) = of_column.find(|found| found.column == column) else {
                continue;
            };
            let definition = &columns[column];
            let old = record.field(format, field);
            new_value(definition.column_type, old, assignment.change)
                .and_then(|value| self.new_values.push_column(definition, value))
                .map_err(|fault| RowError::value(layout.definition(), column, fault))?;
            let new = self.new_values.get(self.fields.len());
            if new == old {
                self.new_values.pop();
                continue;
            }
            self.changes_size |= new.map(<[u8]>::len) != old.map(<[u8]>::len);
            self.fields.push(field);
        }
        Ok(())
    }

    /// Works out what changes a record into a row, whose columns are given in the table's
    /// order and whose key is the record's.
    pub fn difference(&mut self, layout: &TableLayout, record: Record<'_>, row: &FieldBuffer) {
        self.fields.clear();
        self.new_values.clear();
        self.changes_size = false;
        let format = layout.clustered();
        for field in 0..format.columns().len() {
            let Some(column) = layout.column_of(field) else {
                continue;
            };
            let (old, new) = (record.field(format, field), row.get(column));
            if new != old {
                self.changes_size |= new.map(<[u8]>::len) != old.map(<[u8]>::len);
                self.fields.push(field);
                self.new_values.push(new);
            }
        }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Whether a field changes its length, or becomes NULL or a value: then the record
    /// cannot be changed where it stands.
    pub fn changes_size(&self) -> bool {
        self.changes_size
    }

    /// Whether the row moves to another place in the clustered index.
    pub fn changes_primary_key(&self, layout: &TableLayout) -> bool {
        self.fields
            .first()
            .is_some_and(|&field| field < layout.key_fields())
    }

    /// Whether the row gets another entry in a secondary index.
    pub fn changes_index(&self, index: &SecondaryLayout) -> bool {
        let mut fields = index.clustered_fields().iter();
        fields.any(|field| self.fields.binary_search(field).is_ok())
    }

    /// Whether the row gets another entry in any index.
    pub fn changes_ordering(&self, layout: &TableLayout) -> bool {
        self.changes_primary_key(layout)
            || layout
                .secondary()
                .iter()
                .any(|index| self.changes_index(index))
    }

    /// The clustered fields that change, ascending, and what they become.
    pub fn iter(&self) -> impl Iterator<Item = (usize, KeyField<'_>)> {
        self.fields.iter().copied().zip(self.new_values.iter())
    }

    /// The clustered fields that change, ascending.
    pub fn fields(&self) -> &[usize] {
        &self.fields
    }

    /// The new value of a clustered field; `None` if it does not change.
    pub fn new_value(&self, field: usize) -> Option<KeyField<'_>> {
        let place = self.fields.binary_search(&field).ok()?;
        Some(self.new_values.get(place))
    }

    /// A record's fields with the changes made.
    pub fn apply<'a>(&'a self, fields: &Fields<'a>) -> Fields<'a> {
        let mut changed = *fields;
        for (field, value) in self.iter() {
            changed.set(field, value);
        }
        changed
    }
}

fn new_value<'a>(
    column_type: ColumnType,
    old: KeyField<'_>,
    change: Change<'a>,
) -> Result<Value<'a>, ValueFault> {
    let number = match change {
        Change::Set(value) => return Ok(value),
        Change::Add(number) => number,
    };
    match old.map(|bytes| column_type.decode(bytes)) {
        None => Ok(Value::Null),
        Some(Value::Integer(old)) => old
            .checked_add(number)
            .map(Value::Integer)
            .ok_or(ValueFault::OutOfRange { number: old }),
        Some(_) => Err(ValueFault::WrongType),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{IndexPage, index_header};
    use crate::page::{NoLog, PAGE_SIZE, PageId, PageWriter, RecordBuffer, RollPointer};
    use crate::table::{SystemFields, TableDefinition};

    /// A table `a INTEGER primary key, k INTEGER (index k), v VARCHAR(9) NULL, c CHAR(3)`
    /// with one row; hands its record to `body`.
    fn with_row(values: [Value<'_>; 4], body: impl FnOnce(&TableLayout, Record<'_>)) {
        let table = TableDefinition::new("s", "t")
            .column("a", ColumnType::Integer)
            .column("k", ColumnType::Integer)
            .nullable_column("v", ColumnType::VarChar(9))
            .column("c", ColumnType::Char(3))
            .primary_key(&["a"])
            .unwrap()
            .index("k", &["k"])
            .unwrap();
        let layout = TableLayout::new(table).unwrap();
        let mut row = FieldBuffer::new();
        for (column, value) in layout.definition().columns.iter().zip(values) {
            row.push_column(column, value).unwrap();
        }
        let system = SystemFields::new(1, RollPointer::NO_HISTORY);
        let mut buffer = RecordBuffer::new();
        let fields = layout.clustered_fields(|column| row.get(column), &system);
        layout.clustered().build(&fields, &mut buffer).unwrap();
        let mut page = Box::new([0; PAGE_SIZE]);
        let mut log = NoLog;
        let mut writer = PageWriter::new(&mut page, &mut log);
        writer.initialise_index_page(PageId::new(1, 3), 0, 1);
        let format = layout.clustered();
        writer
            .insert_record(format, index_header::INFIMUM, buffer.image())
            .expect("an empty page has room");
        drop(writer);
        let page = IndexPage::new(&page);
        body(&layout, page.record(page.first_record()));
    }

    fn values() -> [Value<'static>; 4] {
        [7.into(), 41.into(), "abc".into(), "x".into()]
    }

    #[test]
    fn only_what_changes_is_in_the_vector() {
        with_row(values(), |layout, record| {
            let mut vector = UpdateVector::new();
            let assignments = [
                Assignment::set(3, "x"),
                Assignment::set(1, 99),
                Assignment::add(1, 1),
            ];
            vector.compute(layout, record, &assignments).unwrap();
            assert_eq!(vector.fields(), [3]);
            assert_eq!(vector.new_value(3), Some(Some(&[0x80, 0, 0, 42][..])));
            assert!(!vector.changes_size() && !vector.changes_primary_key(layout));
            assert!(vector.changes_index(&layout.secondary()[0]));
            let nothing = [Assignment::set(0, 7), Assignment::add(1, 0)];
            vector.compute(layout, record, &nothing).unwrap();
            assert!(vector.is_empty() && !vector.changes_ordering(layout));
        });
    }

    #[test]
    fn sizes_and_nulls_are_noticed() {
        with_row(values(), |layout, record| {
            let mut vector = UpdateVector::new();
            for (value, changes_size) in [
                (Value::from("abd"), false),
                (Value::from("ab"), true),
                (Value::Null, true),
            ] {
                let assignments = [Assignment::set(2, value)];
                vector.compute(layout, record, &assignments).unwrap();
                assert_eq!(vector.changes_size(), changes_size, "{value}");
                assert!(!vector.changes_ordering(layout));
            }
            vector
                .compute(layout, record, &[Assignment::set(0, 8)])
                .unwrap();
            assert!(vector.changes_primary_key(layout));
            assert!(vector.changes_index(&layout.secondary()[0]));
        });
    }

    #[test]
    fn what_a_column_cannot_have_is_refused() {
        with_row(values(), |layout, record| {
            let mut vector = UpdateVector::new();
            let mut message = |assignment| {
                let error = vector.compute(layout, record, &[assignment]).unwrap_err();
                error.to_string()
            };
            let range = message(Assignment::add(1, i64::from(i32::MAX)));
            assert!(
                range.contains("s/t.k") && range.contains("-2147483648"),
                "{range}"
            );
            assert!(message(Assignment::set(3, "four")).contains("4 bytes"));
            assert!(message(Assignment::set(1, Value::Null)).contains("NOT NULL"));
            assert!(message(Assignment::add(3, 1)).contains("CHAR(3)"));
            assert!(message(Assignment::set(4, 1)).contains("column 4"));
        });
    }
}
