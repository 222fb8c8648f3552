//! Creating tables, loading them, and removing what was left half-made.
//!
//! ```text
//!   dictionary: "sbtest/sbtest1 is being created"     durable
//!   file sbtest/sbtest1.ibd: header, roots            redo, or all pages written
//!   dictionary: "sbtest/sbtest1: space 2, roots 3, 4" durable: now it is there
//! ```
//!
//! If the engine stops in between, the next start finds the first note and removes the
//! file.
//!
//! A *bulk load* fills the trees bottom-up, without redo. Its pages are all written before
//! the dictionary names the table, and a checkpoint is made: no redo from before will be
//! applied to them.

use std::path::Path;
use std::sync::Arc;

use super::Engine;
use super::data_directory;
use super::error::EngineError;
use super::parts::{Parts, checkpoint_all};
use super::settings::EngineSettings;
use crate::btree::{BtreeError, BulkLoadOptions, Index, bulk_load, search_leaf};
use crate::btree::{BtreeLatch, IndexDefinition};
use crate::page::space_header::FLAGS_DYNAMIC_CRC32;
use crate::page::{PageNumber, RollPointer, SearchMode, SpaceId};
use crate::page_allocation::create_space;
use crate::redo_log::{FileOperation, MiniTransactionContext, Pages};
use crate::runtime::WaitKind;
use crate::runtime::files::FileSystem;
use crate::table::dictionary::index_definitions;
use crate::table::dictionary_file::{TableEntry, TableState};
use crate::table::{
    Dictionary, FieldBuffer, Fields, RowError, SystemFields, Table, TableDefinition, TableLayout,
    Value,
};
use crate::transaction::{BeginOptions, TrxId};

/// Pages of a new table's file (`FIL_IBD_FILE_INITIAL_SIZE`: 7 with SDI in 8.0, 4 before;
/// a file without it has room for two indexes in 6).
const INITIAL_PAGES: u32 = 6;

/// Takes the values of a row to load, in the order of the table's columns.
pub type PutRow<'p> = dyn FnMut(&[Value<'_>]) + 'p;

impl Engine {
    /// Creates a table without rows.
    ///
    /// # Errors
    /// If there is a table of that name, the definition breaks a rule, or a file cannot be
    /// written.
    pub fn create_table(&self, definition: TableDefinition) -> Result<Arc<Table>, EngineError> {
        self.add_table(definition, true, |_, _, _| Ok(()))
    }

    /// Creates a table and loads rows into it, which come in ascending order of their
    /// primary keys, each with its values in the order of the columns. Much faster than
    /// inserting them. `next` gives the next row to its argument, or returns false.
    ///
    /// # Errors
    /// As [`create_table`](Self::create_table); or if a row does not fit or is out of order:
    /// there is no table then.
    pub fn bulk_load(
        &self,
        definition: TableDefinition,
        mut next: impl FnMut(&mut PutRow<'_>) -> bool,
    ) -> Result<Arc<Table>, EngineError> {
        self.add_table(definition, false, |engine, table, context| {
            // The rows carry the id of a transaction that has ended when the table appears.
            let transactions = &engine.rows.transactions;
            let mut transaction = transactions.session(context.shard());
            let options = BeginOptions::read_write(engine.settings().isolation);
            transactions.begin(&mut transaction, options)?;
            transactions.become_read_write(&mut transaction)?;
            let loaded = engine.load(table, context, transaction.id(), &mut next);
            transactions.commit(&mut transaction)?;
            transactions.end_session(transaction);
            loaded?;
            checkpoint_all(&engine.pages, &engine.doublewrite)
        })
    }

    fn add_table(
        &self,
        definition: TableDefinition,
        logged: bool,
        fill: impl FnOnce(&Engine, &Table, &mut MiniTransactionContext) -> Result<(), EngineError>,
    ) -> Result<Arc<Table>, EngineError> {
        self.check_usable()?;
        let layout = TableLayout::new(definition)?;
        let name = layout.definition().full_name();
        let dictionary = self.dictionary().clone();
        let mut change = dictionary.change();
        let content = change.content();
        let mut names = content
            .tables
            .iter()
            .map(|table| table.definition.full_name());
        if names.any(|other| other == name) {
            return Err(EngineError::TableExists { name });
        }
        let entry = TableEntry {
            id: content.next_table_id,
            space: content.next_space,
            state: TableState::Creating,
            definition: layout.definition().clone(),
            indexes: Vec::new(),
        };
        let definitions = index_definitions(&layout, content.next_index_id);
        let next_index_id = content.next_index_id + definitions.len() as u64;
        change.write(|content| {
            content.next_table_id += 1;
            content.next_space += 1;
            content.next_index_id = next_index_id;
            content.tables.push(entry.clone());
        })?;
        let made = self
            .make(&entry, layout, definitions, logged)
            .and_then(|table| {
                let mut context = MiniTransactionContext::new(0);
                fill(self, &table, &mut context)?;
                Ok(table)
            });
        match made {
            Ok(table) => {
                change.write(|content| {
                    content.tables.retain(|other| other.id != entry.id);
                    content.tables.push(table.entry());
                })?;
                let table = Arc::new(table);
                dictionary.add(&table);
                Ok(table)
            }
            Err(error) => {
                // What cannot be removed now is removed at the next start.
                let removed = remove_files(&self.files, &self.directory, &self.pages, &entry);
                if removed.is_ok() {
                    change.write(|content| content.tables.retain(|other| other.id != entry.id))?;
                }
                Err(error)
            }
        }
    }

    /// Makes the file, its header and the roots of its trees.
    fn make(
        &self,
        entry: &TableEntry,
        layout: TableLayout,
        definitions: Vec<IndexDefinition>,
        logged: bool,
    ) -> Result<Table, EngineError> {
        let definition = layout.definition();
        let name = definition.full_name();
        let schema = data_directory::schema(&self.directory, &definition.schema);
        self.files.create_directory(&schema)?;
        let path = data_directory::table_file(&self.directory, &name);
        let space = SpaceId(entry.space);
        let flags = FLAGS_DYNAMIC_CRC32;
        let spaces = &self.pages.spaces;
        spaces.create(space, &name, &path, flags, INITIAL_PAGES)?;
        self.files.sync_directory(&schema, WaitKind::Other)?;
        self.files
            .sync_directory(&self.directory, WaitKind::Other)?;

        let mut context = MiniTransactionContext::new(0);
        let mut mtr = self.pages.begin(&mut context);
        if !logged {
            mtr.set_no_log();
        }
        let created = create_space(&mut mtr, space);
        let mut end = mtr.commit();
        created?;
        let mut indexes = Vec::new();
        for definition in definitions {
            let mut mtr = self.pages.begin(&mut context);
            if !logged {
                mtr.set_no_log();
            }
            let index = Index::create(&mut mtr, space, definition);
            end = mtr.commit();
            let mut index = index?;
            index.change_latch = self.settings().tree_change_latch;
            indexes.push(Arc::new(index));
        }
        // The dictionary must not name what redo may not bring back.
        self.pages.log.flush_up_to(end);
        Ok(Table::new(entry.id, space, layout, indexes))
    }

    fn load(
        &self,
        table: &Table,
        context: &mut MiniTransactionContext,
        trx_id: TrxId,
        next: &mut dyn FnMut(&mut PutRow<'_>) -> bool,
    ) -> Result<(), EngineError> {
        let layout = table.layout();
        let options = BulkLoadOptions {
            trx_id,
            ..BulkLoadOptions::default()
        };
        let system = SystemFields::new(trx_id, RollPointer::NO_HISTORY);
        let secondary = layout.secondary();
        let mut entries: Vec<Entries> = secondary.iter().map(|_| Entries::default()).collect();
        let mut row = FieldBuffer::new();
        let mut last_key = FieldBuffer::new();
        let mut number = 0;
        let mut failure = None;
        let loaded = bulk_load(&self.pages, context, table.clustered(), options, |record| {
            let mut encoded = Ok(());
            let more = next(&mut |values| encoded = encode_row(table, values, &mut row));
            number += 1;
            if let Err(error) = encoded {
                failure = Some(EngineError::Statement(error.into()));
                return Ok(false);
            }
            if !more {
                return Ok(false);
            }
            let key_columns = layout.definition().primary_key.iter();
            let key: Fields<'_> = key_columns.map(|&column| row.get(column)).collect();
            if number > 1 && *last_key.as_fields() >= *key {
                failure = Some(EngineError::LoadOrder {
                    table: table.name().into(),
                    row: number,
                });
                return Ok(false);
            }
            last_key.copy(&key);
            for (list, of_index) in entries.iter_mut().zip(secondary) {
                let columns = of_index.columns().iter();
                list.push(columns.map(|&column| row.get(column)));
            }
            let fields = layout.clustered_fields(|column| row.get(column), &system);
            layout.clustered().build(&fields, record)?;
            Ok(true)
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        loaded?;
        for (list, index) in entries.into_iter().zip(table.secondary()) {
            let mut sorted = list.sorted();
            bulk_load(&self.pages, context, index, options, |record| {
                let Some(entry) = sorted.next() else {
                    return Ok(false);
                };
                index.format.build(&entry.as_fields(), record)?;
                Ok(true)
            })?;
        }
        note_last_key(&self.pages, table)?;
        Ok(())
    }
}

/// Encodes a row in the order of its columns.
fn encode_row(table: &Table, values: &[Value<'_>], row: &mut FieldBuffer) -> Result<(), RowError> {
    let definition = table.definition();
    if values.len() != definition.columns.len() {
        return Err(RowError::Count {
            table: table.name().into(),
            what: "values of a row",
            found: values.len(),
            expected: definition.columns.len(),
        });
    }
    row.clear();
    for (column, &value) in values.iter().enumerate() {
        row.push_column(&definition.columns[column], value)
            .map_err(|fault| RowError::value(definition, column, fault))?;
    }
    Ok(())
}

/// Entries of a secondary index that are to be sorted: their bytes one after the other,
/// each field as a mark and its bytes, so that whole entries compare as byte strings where
/// all fields have one length.
#[derive(Default)]
struct Entries {
    bytes: Vec<u8>,
    /// Where each field of each entry ends, and whether it is NULL.
    fields: Vec<(u64, bool)>,
    per_entry: usize,
}

impl Entries {
    fn push<'a>(&mut self, fields: impl Iterator<Item = Option<&'a [u8]>>) {
        let before = self.fields.len();
        for field in fields {
            self.bytes.extend_from_slice(field.unwrap_or_default());
            self.fields.push((self.bytes.len() as u64, field.is_none()));
        }
        self.per_entry = self.fields.len() - before;
    }

    fn entry(&self, number: usize) -> impl Iterator<Item = Option<&[u8]>> {
        let first = number * self.per_entry;
        (first..first + self.per_entry).map(|place| {
            let start = match place {
                0 => 0,
                place => self.fields[place - 1].0,
            };
            let (end, is_null) = self.fields[place];
            (!is_null).then(|| &self.bytes[start as usize..end as usize])
        })
    }

    /// The first bytes of an entry's first field as a number: of two entries, the one with
    /// the smaller number comes first.
    fn prefix(&self, number: usize) -> u64 {
        let mut prefix = [0; 8];
        let first = self.entry(number).next().flatten().unwrap_or_default();
        let length = first.len().min(prefix.len());
        prefix[..length].copy_from_slice(&first[..length]);
        u64::from_be_bytes(prefix)
    }

    /// The entries in ascending order.
    fn sorted(self) -> impl Iterator<Item = FieldBuffer> {
        let count = self.fields.len().checked_div(self.per_entry).unwrap_or(0);
        let numbers = 0..count as u32;
        let mut order: Vec<(u64, u32)> = numbers
            .map(|number| (self.prefix(number as usize), number))
            .collect();
        order.sort_unstable_by(|left, right| {
            let whole = |number: u32| self.entry(number as usize);
            let by_prefix = left.0.cmp(&right.0);
            by_prefix.then_with(|| whole(left.1).cmp(whole(right.1)))
        });
        order.into_iter().map(move |(_, number)| {
            let mut entry = FieldBuffer::new();
            for field in self.entry(number as usize) {
                entry.push(field);
            }
            entry
        })
    }
}

/// Opens a table that the dictionary's file names.
pub(super) fn open_table(
    pages: &Pages,
    entry: &TableEntry,
    settings: &EngineSettings,
) -> Result<Arc<Table>, EngineError> {
    let layout = TableLayout::new(entry.definition.clone())?;
    let definitions = index_definitions(&layout, 0);
    let space = SpaceId(entry.space);
    let mut context = MiniTransactionContext::new(0);
    let mut indexes = Vec::new();
    for (definition, index) in definitions.into_iter().zip(&entry.indexes) {
        let definition = IndexDefinition {
            id: index.id,
            ..definition
        };
        let mut mtr = pages.begin(&mut context);
        let opened = Index::open(&mut mtr, space, PageNumber(index.root), definition);
        mtr.commit();
        let mut index = opened?;
        index.change_latch = settings.tree_change_latch;
        indexes.push(Arc::new(index));
    }
    let table = Table::new(entry.id, space, layout, indexes);
    note_last_key(pages, &table)?;
    Ok(Arc::new(table))
}

/// AUTO_INCREMENT goes on above the largest key (as up to 5.7; 8.0 remembers it even after
/// the row has gone).
fn note_last_key(pages: &Pages, table: &Table) -> Result<(), BtreeError> {
    let Some(column) = table.definition().auto_increment else {
        return Ok(());
    };
    let index = &**table.clustered();
    let mut context = MiniTransactionContext::new(0);
    let mut mtr = pages.begin(&mut context);
    let (mode, latch) = (SearchMode::LessOrEqual, BtreeLatch::SearchLeaf);
    let last = search_leaf(&mut mtr, index, &[], mode, latch)?;
    if last.is_at_record()
        && let Some(bytes) = last.record(&mtr).field(&index.format, 0)
        && let Value::Integer(key) = table.definition().columns[column].column_type.decode(bytes)
    {
        table.note_key(key);
    }
    mtr.commit();
    Ok(())
}

/// Removes the file of a table whose creation was interrupted; redo says so, for a recovery
/// that finds redo about it.
fn remove_files(
    files: &FileSystem,
    directory: &Path,
    pages: &Pages,
    entry: &TableEntry,
) -> Result<(), EngineError> {
    let space = SpaceId(entry.space);
    let path = data_directory::table_file(directory, &entry.definition.full_name());
    if pages.spaces.get(space).is_some() {
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = pages.begin(&mut context);
        mtr.log_file_operation(&FileOperation::Delete { space });
        let end = mtr.commit();
        pages.log.flush_up_to(end);
        let in_use = pages.pool.discard_space(space);
        if in_use > 0 {
            return Err(EngineError::SpaceInUse {
                name: entry.definition.full_name(),
                pages: in_use,
            });
        }
        pages.spaces.close(space);
    }
    if files.exists(&path)? {
        files.remove(&path)?;
    }
    Ok(())
}

/// Removes tables whose creation was interrupted; returns their names.
pub(super) fn remove_unfinished(
    files: &FileSystem,
    directory: &Path,
    parts: &Parts,
    dictionary: &Dictionary,
) -> Result<Vec<String>, EngineError> {
    let mut change = dictionary.change();
    let tables = change.content().tables.iter();
    let unfinished: Vec<TableEntry> = tables
        .filter(|entry| entry.state == TableState::Creating)
        .cloned()
        .collect();
    for entry in &unfinished {
        remove_files(files, directory, &parts.pages, entry)?;
    }
    if !unfinished.is_empty() {
        change.write(|content| {
            content
                .tables
                .retain(|entry| entry.state == TableState::Ready);
        })?;
    }
    let names = unfinished.iter().map(|entry| entry.definition.full_name());
    Ok(names.collect())
}
