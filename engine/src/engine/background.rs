//! The tasks of an engine, and one step without them.
//!
//! | task | with background tasks | [`Engine::step`] |
//! |---|---|---|
//! | log writer, flusher, checkpointer | on their own | last: redo flushed, a checkpoint |
//! | page cleaner | once a second, or when woken | one round |
//! | I/O handlers | ends of data writes | the flusher itself |
//! | purge | when history grows | one batch, first |

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use super::error::EngineError;
use super::parts::Parts;
use super::settings::EngineSettings;
use super::statements::SharedStatementCounts;
use super::{Engine, State};
use crate::page_cleaner::RoundReport;
use crate::runtime::files::{DirectoryLock, FileSystem};
use crate::runtime::{LatchClass, Mutex, Replaceable};
use crate::sysvar::Settings;
use crate::table::RowStore;
use crate::transaction::PurgeStep;

/// What one step did.
#[derive(Debug)]
pub struct EngineStep {
    /// Purge's batch.
    pub purge: PurgeStep,
    /// The page cleaner's round.
    pub cleaner: RoundReport,
}

impl Engine {
    /// Puts the parts together and starts the tasks.
    pub(super) fn start(
        files: FileSystem,
        directory: &Path,
        lock: DirectoryLock,
        settings: EngineSettings,
        variables: &Settings,
        parts: Parts,
        rows: Arc<RowStore>,
    ) -> Arc<Engine> {
        let Parts {
            pages,
            doublewrite,
            cleaner,
            source,
        } = parts;
        let mut purge = None;
        if !settings.options.stepped {
            doublewrite.start();
            pages.log.start(source);
            cleaner.start();
            purge = Some(rows.transactions.start_purge(rows.clone()));
        }
        Arc::new(Engine {
            files,
            directory: directory.into(),
            lock: Mutex::new(LatchClass::Plain, Some(lock)),
            settings: Replaceable::new(settings),
            variables: Replaceable::new(variables.clone()),
            pages,
            doublewrite,
            cleaner,
            rows,
            purge: Mutex::new(LatchClass::Plain, purge),
            statements: SharedStatementCounts::default(),
            state: AtomicU8::new(State::Running as u8),
        })
    }

    /// Does once what the background tasks would do: a batch of purge, a round of the page
    /// cleaner, redo flushed, a checkpoint. For an engine that is stepped; with others at
    /// work it does no harm.
    ///
    /// # Errors
    /// If undo cannot be read or redo not be written.
    pub fn step(&self) -> Result<EngineStep, EngineError> {
        self.check_usable()?;
        let purge = self.rows.transactions.purge_step(&*self.rows)?;
        let cleaner = self.cleaner.step();
        self.pages.log.step()?;
        Ok(EngineStep { purge, cleaner })
    }
}
