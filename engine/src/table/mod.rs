//! Tables: rows in a clustered index, entries in secondary ones, and what SQL does to them.
//!
//! ```text
//!   INSERT, UPDATE, DELETE ──> clustered index    the row, who changed it, its history
//!                         ╰──> k_1, ...           key and primary key
//!
//!   SELECT  <── newest record, or an older version of it: what the view sees
//! ```
//!
//! | file | what it is about |
//! |---|---|
//! | [`column`], [`definition`] | types, values, what a table is |
//! | [`layout`], [`fields`] | which column stands where in which record |
//! | [`update_vector`] | what an UPDATE changes |
//! | [`dictionary`], [`dictionary_file`] | which tables there are, in memory and on disk |
//! | `store` | what row operations work with |
//! | [`insert`], [`update`] | changing rows |
//! | `secondary` | entries of secondary indexes |
//! | `undo_write` | what is noted before a change |
//! | [`read`], `versions` | reading what a view sees |
//! | `locking` | reading with locks |
//! | `rollback`, `purge`, `remove` | taking changes back; removing what nobody sees |
//!
//! The order in which a statement takes things: table lock, page latches of one index,
//! undo page latches while it has them, and a row lock only if that need not be waited
//! for. Who has to wait lets go of all latches first and looks again afterwards.

pub mod column;
pub mod definition;
pub mod dictionary;
pub mod dictionary_file;
mod error;
pub mod fields;
pub mod insert;
pub mod layout;
mod locking;
mod purge;
pub mod read;
mod remove;
mod rollback;
mod row_error;
mod secondary;
mod store;
mod undo_write;
pub mod update;
pub mod update_vector;
mod versions;

pub use column::{ColumnType, Value, ValueFault};
pub use definition::{ColumnDefinition, DefinitionError, IndexDefinition, TableDefinition};
pub use dictionary::{Dictionary, Table};
pub use dictionary_file::DictionaryError;
pub use error::TableError;
pub use fields::{FieldBuffer, Fields};
pub use layout::{LayoutError, Row, SecondaryLayout, SystemFields, TableLayout};
pub use locking::ReadLock;
pub use read::{IndexReading, KeyRange};
pub use row_error::RowError;
pub use store::{RowSession, RowStore};
pub use update::Updated;
pub use update_vector::{Assignment, Change, UpdateVector};
