//! The dictionary in memory: tables by name, for sessions, and by id, for undo.
//!
//! ```text
//!   "sbtest/sbtest1" ---+
//!                       +--> Table 1024: layout, clustered index, k_1, next AUTO_INCREMENT
//!   undo record: 1024 --+
//! ```
//!
//! What is on disk is the business of [`dictionary_file`](super::dictionary_file). The two
//! change together, under a mutex: first the file, then the map.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use super::definition::TableDefinition;
use super::dictionary_file::TableState;
use super::dictionary_file::{self, DictionaryContent, DictionaryError, IndexEntry, TableEntry};
use super::layout::{SecondaryLayout, TableLayout};
use crate::btree::{Index, IndexDefinition};
use crate::page::{RecordFormat, SpaceId};
use crate::runtime::files::FileSystem;
use crate::runtime::{LatchClass, Mutex, MutexGuard, RwLock};

/// A table that is open. Shared by all that use it, in an `Arc`.
#[derive(Debug)]
pub struct Table {
    id: u64,
    name: Box<str>,
    space: SpaceId,
    layout: TableLayout,
    clustered: Arc<Index>,
    secondary: Box<[Arc<Index>]>,
    next_auto_increment: AtomicI64,
}

impl Table {
    /// A table, from its indexes: the clustered one and then the secondary ones.
    ///
    /// # Panics
    /// If there are not as many as the layout has.
    pub fn new(id: u64, space: SpaceId, layout: TableLayout, indexes: Vec<Arc<Index>>) -> Table {
        assert_eq!(indexes.len(), 1 + layout.secondary().len());
        let mut indexes = indexes.into_iter();
        let clustered = indexes.next().expect("a table has a clustered index");
        Table {
            id,
            name: layout.definition().full_name().into(),
            space,
            layout,
            clustered,
            secondary: indexes.collect(),
            next_auto_increment: AtomicI64::new(1),
        }
    }

    /// Its id, by which undo records name it.
    #[inline]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Schema and name: `sbtest/sbtest1`.
    #[inline]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its tablespace.
    pub fn space(&self) -> SpaceId {
        self.space
    }

    /// Its columns, and where they are in records.
    #[inline]
    pub fn layout(&self) -> &TableLayout {
        &self.layout
    }

    /// Its definition.
    #[inline]
    pub fn definition(&self) -> &TableDefinition {
        self.layout.definition()
    }

    /// The index that holds the rows.
    #[inline]
    pub fn clustered(&self) -> &Arc<Index> {
        &self.clustered
    }

    /// The secondary indexes, in the order of the definition.
    #[inline]
    pub fn secondary(&self) -> &[Arc<Index>] {
        &self.secondary
    }

    /// The secondary indexes with their layouts.
    #[inline]
    pub fn secondary_with_layouts(&self) -> impl Iterator<Item = (&Index, &SecondaryLayout)> {
        let indexes = self.secondary.iter().map(|index| &**index);
        indexes.zip(self.layout.secondary())
    }

    /// All indexes, the clustered one first.
    pub fn indexes(&self) -> impl Iterator<Item = &Arc<Index>> {
        std::iter::once(&self.clustered).chain(&*self.secondary)
    }

    /// The position of a secondary index.
    pub fn index_position(&self, name: &str) -> Option<usize> {
        let mut indexes = self.definition().indexes.iter();
        indexes.position(|index| index.name == name)
    }

    /// The next value of AUTO_INCREMENT, which nobody gets a second time as long as the
    /// table is open.
    pub fn take_auto_increment(&self) -> i64 {
        self.next_auto_increment.fetch_add(1, Relaxed)
    }

    /// A row has this key: AUTO_INCREMENT goes on above it.
    pub fn note_key(&self, key: i64) {
        if self.next_auto_increment.load(Relaxed) <= key {
            self.next_auto_increment
                .fetch_max(key.saturating_add(1), Relaxed);
        }
    }

    /// What the dictionary's file says about the table.
    pub fn entry(&self) -> TableEntry {
        TableEntry {
            id: self.id,
            space: self.space.0,
            state: TableState::Ready,
            definition: self.definition().clone(),
            indexes: self
                .indexes()
                .map(|index| IndexEntry {
                    id: index.id,
                    root: index.root.0,
                })
                .collect(),
        }
    }
}

/// The indexes that a table needs, with the ids from `first_id` on.
pub fn index_definitions(layout: &TableLayout, first_id: u64) -> Vec<IndexDefinition> {
    let name = layout.definition().full_name();
    let definition = |id, index: &str, format: &RecordFormat, unique_fields| IndexDefinition {
        id,
        name: format!("{name}.{index}"),
        format: format.clone(),
        unique_fields,
    };
    let clustered = layout.clustered();
    let mut definitions = vec![definition(
        first_id,
        "PRIMARY",
        clustered,
        clustered.key_fields(),
    )];
    let secondary = layout.definition().indexes.iter().zip(layout.secondary());
    for ((index, of_index), id) in secondary.zip(first_id + 1..) {
        let format = of_index.format();
        definitions.push(definition(id, &index.name, format, format.key_fields()));
    }
    definitions
}

#[derive(Debug, Default)]
struct Maps {
    by_name: BTreeMap<Box<str>, Arc<Table>>,
    by_id: BTreeMap<u64, Arc<Table>>,
}

/// All tables of an engine.
#[derive(Debug)]
pub struct Dictionary {
    files: FileSystem,
    directory: PathBuf,
    maps: RwLock<Maps>,
    content: Mutex<DictionaryContent>,
}

impl Dictionary {
    /// The dictionary of a data directory, which says this. No table is open yet.
    pub fn new(files: FileSystem, directory: &Path, content: DictionaryContent) -> Dictionary {
        Dictionary {
            files,
            directory: directory.into(),
            maps: RwLock::new(LatchClass::Dictionary, Maps::default()),
            content: Mutex::new(LatchClass::Dictionary, content),
        }
    }

    /// A table by schema and name, `sbtest/sbtest1`.
    pub fn table(&self, name: &str) -> Option<Arc<Table>> {
        self.maps.read().by_name.get(name).cloned()
    }

    /// A table by its id.
    pub fn table_by_id(&self, id: u64) -> Option<Arc<Table>> {
        self.maps.read().by_id.get(&id).cloned()
    }

    /// All tables, in the order of their names.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        self.maps.read().by_name.values().cloned().collect()
    }

    /// The content of the file, to look at and to change. Whoever has it may create and
    /// drop tables; others wait.
    pub fn change(&self) -> DictionaryChange<'_> {
        DictionaryChange {
            dictionary: self,
            content: self.content.lock(),
        }
    }

    /// Makes a table known that the file names already.
    pub fn add(&self, table: &Arc<Table>) {
        let mut maps = self.maps.write();
        maps.by_id.insert(table.id, table.clone());
        maps.by_name.insert(table.name.clone(), table.clone());
    }

    /// Makes a table unknown.
    pub fn remove(&self, table: &Table) {
        let mut maps = self.maps.write();
        maps.by_id.remove(&table.id);
        maps.by_name.remove(&table.name);
    }
}

/// A change of the dictionary's file.
pub struct DictionaryChange<'d> {
    dictionary: &'d Dictionary,
    content: MutexGuard<'d, DictionaryContent>,
}

impl DictionaryChange<'_> {
    /// What the file says.
    pub fn content(&self) -> &DictionaryContent {
        &self.content
    }

    /// Writes the file after a change of its content, durably. If that fails, nothing has
    /// changed.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(
        &mut self,
        change: impl FnOnce(&mut DictionaryContent),
    ) -> Result<(), DictionaryError> {
        let mut content = self.content.clone();
        change(&mut content);
        let Dictionary {
            files, directory, ..
        } = self.dictionary;
        dictionary_file::write(files, directory, &content)?;
        *self.content = content;
        Ok(())
    }
}
