//! A new data directory.
//!
//! ```text
//!   innosim.creating                        from here on it is one that is being made
//!   redo log, doublewrite files
//!   ibdata1            transaction system page
//!   undo_001, ...      rollback segments
//!   all pages written, checkpoint
//!   innosim.dictionary                      from here on it is a data directory
//!   innosim.creating goes
//! ```
//!
//! The dictionary comes last: a directory in which the creation was interrupted is not
//! taken for one that can be opened. Whoever creates it then begins anew: what has the mark
//! and no dictionary has nothing that anybody could miss.

use std::path::Path;
use std::sync::Arc;

use super::Engine;
use super::data_directory;
use super::error::EngineError;
use super::parts::Parts;
use super::settings::{EngineOptions, EngineSettings};
use crate::metrics::Metrics;
use crate::redo_log::{MiniTransactionContext, RedoLog, RedoSettings};
use crate::runtime::WaitKind;
use crate::runtime::files::FileSystem;
use crate::sysvar::Settings;
use crate::table::dictionary_file::{self, DictionaryContent};
use crate::table::{Dictionary, RowStore};
use crate::tablespace::Tablespaces;
use crate::transaction::undo::{SYSTEM_SPACE_PAGES, create_system_tablespace};
use crate::transaction::{Admission, AdmissionSettings, TransactionSettings, Transactions};

impl Engine {
    /// Makes a data directory in a directory that is empty or does not exist, or in which
    /// this was interrupted, and starts an engine on it.
    ///
    /// # Errors
    /// If the directory is not empty, or something cannot be written. What was made so far
    /// stays there, until it is created again.
    pub fn create(
        files: FileSystem,
        directory: &Path,
        settings: &Settings,
        options: EngineOptions,
    ) -> Result<Arc<Engine>, EngineError> {
        files.create_directory(directory)?;
        let lock = files.lock_data_directory(directory)?;
        data_directory::begin_creation(&files, directory)?;
        let metrics = Arc::new(Metrics::new(options.metric_shards));
        let spaces = Arc::new(Tablespaces::from_variables(files.clone(), settings));
        let redo = RedoSettings::from_variables(settings)?;
        let log = RedoLog::create(files.clone(), directory, &redo, metrics.clone())?;
        let parts = Parts::new(&files, directory, settings, log, spaces, metrics)?;
        parts.doublewrite.make_files()?;

        let mut context = MiniTransactionContext::new(0);
        let pages = &parts.pages;
        create_system_tablespace(pages, &mut context, directory, SYSTEM_SPACE_PAGES)?;
        let transaction_settings = TransactionSettings::from_variables(settings);
        let transactions = Transactions::create(pages.clone(), directory, transaction_settings)?;
        parts.checkpoint_all()?;
        files.sync_directory(directory, WaitKind::Other)?;
        let content = DictionaryContent::default();
        dictionary_file::write(&files, directory, &content)?;
        data_directory::end_creation(&files, directory)?;

        let dictionary = Dictionary::new(files.clone(), directory, content);
        let rows = row_store(&parts, transactions, dictionary, settings);
        let engine_settings = EngineSettings::from_variables(settings, options);
        Ok(Engine::start(
            files,
            directory,
            lock,
            engine_settings,
            settings,
            parts,
            rows,
        ))
    }
}

/// What row operations work with.
pub(super) fn row_store(
    parts: &Parts,
    transactions: Arc<Transactions>,
    dictionary: Dictionary,
    settings: &Settings,
) -> Arc<RowStore> {
    Arc::new(RowStore {
        pages: parts.pages.clone(),
        locks: transactions.locks().clone(),
        transactions,
        admission: Arc::new(Admission::new(AdmissionSettings::from_variables(settings))),
        dictionary: Arc::new(dictionary),
    })
}
