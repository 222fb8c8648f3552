//! Opening a data directory, after a shutdown or a crash.
//!
//! ```text
//!   1  lock the directory            in use -> error
//!   2  dictionary                    which tables, which files
//!   3  open the files                without a look at them
//!   4  redo                          is read
//!   5  doublewrite                   torn pages are found
//!   6  first pages                   are sound or will be
//!      ---- up to here nothing has been changed ----------------------------
//!   7  doublewrite                   torn pages from their copies
//!   8  redo                          pages as they were, in the pool
//!   9  transactions                  who was active is active again
//!  10  tables                        trees by their roots
//!  11  take over                     redo log cut at its end, doublewrite files anew
//!  12  roll back                     what had not committed
//!  13  tasks
//! ```
//!
//! A directory that is refused in steps 1 to 6 is as it was. If a page turns out to be
//! damaged in steps 8 to 10, torn pages have been repaired and files extended, as redo says;
//! redo log and doublewrite files are as they were, unless the pool was too small for the
//! pages of recovery, and some had to be written.
//!
//! A table whose creation was interrupted has a file, and perhaps redo; recovery goes
//! over it as over any other, and then it is removed.

use std::path::Path;
use std::sync::Arc;

use super::Engine;
use super::create::row_store;
use super::data_directory::{self, DirectoryKind};
use super::error::EngineError;
use super::first_pages;
use super::parts::Parts;
use super::settings::{EngineOptions, EngineSettings};
use super::tables::{open_table, remove_unfinished};
use crate::doublewrite::{self, DoublewriteSettings};
use crate::metrics::Metrics;
use crate::page::SpaceId;
use crate::redo_log::{FileLayout, RedoLog, RedoSettings};
use crate::runtime::files::FileSystem;
use crate::runtime::now;
use crate::runtime::time::Time;
use crate::sysvar::Settings;
use crate::table::Dictionary;
use crate::table::dictionary_file::{self, DictionaryContent, TableState};
use crate::tablespace::Tablespaces;
use crate::transaction::undo::{undo_file_name, undo_space_id};
use crate::transaction::{TransactionSettings, Transactions};

/// What opening a data directory has found and done.
#[derive(Debug)]
pub struct EngineRecoveryReport {
    /// Torn pages, and their copies.
    pub doublewrite: doublewrite::RecoveryReport,
    /// Redo.
    pub redo: crate::redo_log::RecoveryReport,
    /// Transactions that were rolled back.
    pub rolled_back: usize,
    /// Undo records that they had.
    pub rows_undone: u64,
    /// Tables whose creation was interrupted, and which were removed.
    pub removed_tables: Vec<String>,
    /// How long the steps took, in picoseconds.
    pub times: RecoveryTimes,
}

/// How long the steps of opening took, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryTimes {
    /// Looking for torn pages.
    pub doublewrite: Time,
    /// Reading redo.
    pub scan: Time,
    /// Applying redo.
    pub apply: Time,
    /// Finding transactions and rolling them back.
    pub roll_back: Time,
}

impl EngineRecoveryReport {
    /// Whether the engine before had not been shut down.
    pub fn was_needed(&self) -> bool {
        self.redo.was_needed() || self.rolled_back > 0
    }
}

impl Engine {
    /// Opens a data directory that [`create`](Self::create) has made, and starts an engine
    /// on it.
    ///
    /// # Errors
    /// If another engine has it, if it is none, if its files are damaged beyond repair or
    /// do not fit together. The module's opening says what has been changed then.
    pub fn open(
        files: FileSystem,
        directory: &Path,
        settings: &Settings,
        options: EngineOptions,
    ) -> Result<(Arc<Engine>, EngineRecoveryReport), EngineError> {
        data_directory::check_ours(&files, directory)?;
        let lock = files.lock_data_directory(directory)?;
        let content = dictionary_file::read(&files, directory)?;
        let redo_settings = RedoSettings::from_variables(settings)?;
        let transaction_settings = TransactionSettings::from_variables(settings);
        let metrics = Arc::new(Metrics::new(options.metric_shards));
        let spaces = Arc::new(Tablespaces::from_variables(files.clone(), settings));
        let kind = match redo_settings.layout {
            FileLayout::Numbered { .. } => DirectoryKind::Since8_0,
            FileLayout::Ring { .. } => DirectoryKind::Before8_0,
        };
        data_directory::check_kind(&files, directory, kind, settings.flavor())?;
        open_files(&files, directory, &spaces, &content, &transaction_settings)?;

        let mut times = RecoveryTimes::default();
        let mut start = now();
        let mut lap = || {
            let end = now();
            end - std::mem::replace(&mut start, end)
        };
        let recovery =
            RedoLog::open_for_recovery(files.clone(), directory, &redo_settings, metrics.clone())?;
        let log = recovery.log().clone();
        times.scan = lap();
        let checkpoint = recovery.report().checkpoint_lsn;
        let doublewrite_settings = DoublewriteSettings::from_variables(settings);
        let copies = doublewrite_settings.directory_in(directory);
        let torn = doublewrite::examine(&files, &copies, &spaces, checkpoint)?;
        torn.report().check()?;
        recovery.check_tablespaces(&spaces)?;
        first_pages::check(&spaces, &content, &transaction_settings, &recovery, &torn)?;
        let parts = Parts::new(&files, directory, settings, log, spaces.clone(), metrics)?;
        let doublewrite = torn.repair(&files, &spaces)?;
        times.doublewrite = lap();
        let redo = recovery.apply(&parts.pages.pool, &parts.pages.spaces)?;
        times.apply = lap();

        let (transactions, recovered) =
            Transactions::open(parts.pages.clone(), transaction_settings)?;
        let engine_settings = EngineSettings::from_variables(settings, options);
        let dictionary = Dictionary::new(files.clone(), directory, content.clone());
        for entry in &content.tables {
            if entry.state == TableState::Ready {
                dictionary.add(&open_table(&parts.pages, entry, &engine_settings)?);
            }
        }
        parts.pages.log.accept_recovery()?;
        parts.doublewrite.make_files()?;
        data_directory::end_creation(&files, directory)?;
        let removed_tables = remove_unfinished(&files, directory, &parts, &dictionary)?;
        let rows = row_store(&parts, transactions, dictionary, settings);
        let rows_undone = recovered.rows_to_undo;
        let rolled_back = recovered.finish(&rows.transactions, &*rows)?;
        times.roll_back = lap();

        let engine = Engine::start(
            files,
            directory,
            lock,
            engine_settings,
            settings,
            parts,
            rows,
        );
        let report = EngineRecoveryReport {
            doublewrite,
            redo,
            rolled_back,
            rows_undone,
            removed_tables,
            times,
        };
        Ok((engine, report))
    }
}

/// Opens the files of all tablespaces, without a look at what is in them.
fn open_files(
    files: &FileSystem,
    directory: &Path,
    spaces: &Tablespaces,
    content: &DictionaryContent,
    settings: &TransactionSettings,
) -> Result<(), EngineError> {
    let system = data_directory::system_tablespace(directory);
    spaces.open_unchecked(SpaceId(0), "innodb_system", &system)?;
    for number in 1..=settings.undo_tablespaces {
        let path = directory.join(undo_file_name(number));
        let name = format!("innodb_undo_{number:03}");
        spaces.open_unchecked(undo_space_id(number), &name, &path)?;
    }
    for entry in &content.tables {
        let name = entry.definition.full_name();
        let path = data_directory::table_file(directory, &name);
        // One whose creation was interrupted may have no file yet.
        if entry.state == TableState::Ready || files.exists(&path)? {
            spaces.open_unchecked(SpaceId(entry.space), &name, &path)?;
        }
    }
    Ok(())
}
