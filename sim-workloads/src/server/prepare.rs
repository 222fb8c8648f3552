//! Loading: the tables of a workload that a data directory does not have yet.
//!
//! ```text
//!   innosim.dictionary ── lists all of them ──► nothing to do
//!            │
//!            └─ lacks some, or there is none ──► engine without tasks, on the host:
//!                                                rows in order of id ─► trees, bottom-up
//! ```
//!
//! The rows are a function of the seed. One thread loads, without background tasks
//! ([`LOADING`](crate::run::plan::LOADING)), so that the files are the same each time, byte
//! by byte. A table's file is flushed once, before the dictionary says that it is there.
//!
//! Tables are loaded whole or not at all, and a directory can be filled in several goes.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use innosim_engine::engine::{Engine, EngineOptions, data_directory};
use innosim_engine::runtime::RealMachine;
use innosim_engine::runtime::files::FileSystem;
use innosim_engine::table::dictionary_file::{self, TableState};
use innosim_engine::table::{ColumnType, TableDefinition, Value};

use crate::run::data_directory::lock_on_host;
use crate::run::space::{self, directory_bytes};
use crate::run::{Clock, RunFiles, RunPlan, Watch};
use crate::workload::schema::{self, TableSpec};

/// Rows between two reports of progress.
const ROWS_PER_REPORT: u64 = 100_000;

/// What a row and its entry in the index k take, in bytes, at a fill factor of 15/16:
/// measured, files of 2 million rows divided by rows.
const BYTES_PER_ROW: u64 = 270;

/// The database of all tables, as sysbench's `--mysql-db` has it by default.
const SCHEMA: &str = "sbtest";

/// A table of another workload has the name of one of this.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: the table {name} has other columns or indexes than this workload's; load it into a \
     data directory of its own",
    directory.display()
)]
pub(super) struct OtherTable {
    directory: PathBuf,
    name: String,
}

impl OtherTable {
    pub(super) fn new(directory: &Path, table: &TableDefinition) -> Self {
        OtherTable {
            directory: directory.into(),
            name: table.full_name(),
        }
    }
}

/// A table of a workload, as the engine defines it.
///
/// # Errors
/// If the table is not one that the engine can make.
pub(super) fn definition(table: &TableSpec) -> anyhow::Result<TableDefinition> {
    if !table.primary_key {
        bail!(
            "{}: a table without primary key is not supported",
            table.name
        );
    }
    let mut definition = TableDefinition::new(SCHEMA, &table.name);
    for column in &table.columns {
        let column_type = match column.column_type {
            schema::ColumnType::Integer => ColumnType::Integer,
            schema::ColumnType::IntegerUnsigned => ColumnType::IntegerUnsigned,
            schema::ColumnType::Char(length) => ColumnType::Char(length),
        };
        definition = definition.column(column.name, column_type);
    }
    definition = definition.primary_key(&[table.columns[0].name])?;
    for index in &table.indexes {
        definition = definition.index(&index.name, &[index.column])?;
    }
    if table.columns[0].auto_increment {
        definition = definition.auto_increment();
    }
    Ok(definition)
}

/// Loads what is missing into a directory of the host.
///
/// # Errors
/// If the directory is in use or not ours, has a table of another kind, or the device is
/// full; tables that were there are as they were.
pub(super) fn prepare(
    plan: &RunPlan,
    directory: &Path,
    watch: &mut dyn Watch,
) -> anyhow::Result<()> {
    prepare_files(plan, directory, is_sparse(plan), watch)
}

/// Bytes that the tables of a plan take on disk, about.
pub(super) fn table_bytes(plan: &RunPlan) -> u64 {
    let rows = |table: &TableSpec| u64::from(table.rows);
    plan.schema.tables().iter().map(rows).sum::<u64>() * BYTES_PER_ROW
}

/// As [`prepare`]; `sparse` says whether files may have holes.
pub(super) fn prepare_files(
    plan: &RunPlan,
    directory: &Path,
    sparse: bool,
    watch: &mut dyn Watch,
) -> anyhow::Result<()> {
    let missing = RealMachine::new(plan.seed).run(|| missing(plan, directory))?;
    if missing.is_empty() {
        return Ok(());
    }
    if matches!(plan.files, RunFiles::Base(_)) {
        let names: Vec<&str> = missing.iter().map(|table| table.name.as_str()).collect();
        let (directory, names) = (directory.display(), names.join(", "));
        bail!("{directory}: the tables {names} are missing; `innosim prepare` loads them");
    }
    let rows: u64 = missing.iter().map(|table| u64::from(table.rows)).sum();
    let redo = match sparse {
        true => 0,
        false => plan.settings.scaled().innodb_redo_log_capacity(),
    };
    let present = directory_bytes(directory).unwrap_or(0);
    let rest = if present == 0 { redo + (64 << 20) } else { 0 };
    space::require(directory, rows * BYTES_PER_ROW + rest)?;
    RealMachine::new(plan.seed).run(|| load(plan, directory, &missing, sparse, watch))
}

/// Whether the files are there for one simulation alone: it knows no holes, so that space
/// for the redo log need not be filled on the host.
fn is_sparse(plan: &RunPlan) -> bool {
    plan.clock == Clock::Virtual && matches!(plan.files, RunFiles::Temporary)
}

/// The tables that the directory does not have.
fn missing(plan: &RunPlan, directory: &Path) -> anyhow::Result<Vec<TableSpec>> {
    let files = FileSystem::new();
    // Nobody may be at work there, also where nothing is missing.
    let _lock = lock_on_host(directory, true)?;
    let tables = plan.schema.tables();
    if !dictionary_file::exists(&files, directory)? {
        return Ok(tables.to_vec());
    }
    let content = match &plan.files {
        // Another user's, perhaps, which the engine's way of opening would want to write to.
        RunFiles::Base(_) => {
            let path = directory.join(dictionary_file::DICTIONARY_FILE);
            let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
            dictionary_file::from_text(&path, &text)?
        }
        _ => dictionary_file::read(&files, directory)?,
    };
    let mut missing = Vec::new();
    for table in tables {
        let definition = definition(table)?;
        let name = definition.full_name();
        let mut present = content.tables.iter();
        match present.find(|entry| entry.definition.full_name() == name) {
            Some(entry) if entry.state != TableState::Ready => missing.push(table.clone()),
            Some(entry) if entry.definition != definition => {
                bail!(OtherTable::new(directory, &definition))
            }
            Some(_) => {}
            None => missing.push(table.clone()),
        }
    }
    Ok(missing)
}

/// Loads tables with an engine of its own.
fn load(
    plan: &RunPlan,
    directory: &Path,
    tables: &[TableSpec],
    sparse: bool,
    watch: &mut dyn Watch,
) -> anyhow::Result<()> {
    let files = match sparse {
        true => FileSystem::sparse(),
        false => FileSystem::new(),
    };
    let options = EngineOptions {
        stepped: true,
        metric_shards: 1,
    };
    let engine = if dictionary_file::exists(&files, directory)? {
        Engine::open(files, directory, &plan.loading, options)?.0
    } else {
        if data_directory::is_unfinished(&files, directory)? {
            let directory = directory.display();
            watch.note(&format!(
                "{directory}: its creation was interrupted; it is created anew"
            ));
        }
        Engine::create(files, directory, &plan.loading, options)?
    };
    engine.pages().spaces.flush_at_checkpoints_only();
    for table in tables {
        let of = u64::from(table.rows);
        let mut rows = plan.schema.rows(table);
        let mut loaded = 0;
        let result = engine.bulk_load(definition(table)?, |put| {
            let Some(row) = rows.next() else {
                return false;
            };
            let (id, k) = (Value::Integer(row.id), Value::Integer(row.k));
            put(&[id, k, (&row.c).into(), (&row.pad).into()]);
            loaded += 1;
            if loaded % ROWS_PER_REPORT == 0 && loaded < of {
                watch.loaded(&table.name, loaded, of);
            }
            true
        });
        result.with_context(|| format!("cannot load {}", table.name))?;
        watch.loaded(&table.name, of, of);
    }
    engine.shutdown()?;
    Ok(())
}
