//! Tables: rows in a clustered index, entries in secondary ones, and what SQL does to them.
//!
//! | file | what it is about |
//! |---|---|
//! | [`column`], [`definition`] | types, values, what a table is |
//! | [`layout`], [`fields`] | which column stands where in which record |
//! | [`update_vector`] | what an UPDATE changes |
//! | [`dictionary_file`] | which tables there are, on disk |

pub mod column;
pub mod definition;
pub mod dictionary_file;
pub mod fields;
pub mod layout;
mod row_error;
pub mod update_vector;

pub use column::{ColumnType, Value, ValueFault};
pub use definition::{ColumnDefinition, DefinitionError, IndexDefinition, TableDefinition};
pub use dictionary_file::DictionaryError;
pub use fields::{FieldBuffer, Fields};
pub use layout::{LayoutError, Row, SecondaryLayout, SystemFields, TableLayout};
pub use row_error::RowError;
pub use update_vector::{Assignment, Change, UpdateVector};
