//! Pool, log, cleaner and doublewrite buffer, built from settings and put together.
//!
//! ```text
//!   redo log <── write-ahead ── buffer pool ── pages to write ──> doublewrite ──> files
//!      │                          ▲   ▲
//!      │ how old is the oldest?   │   │ batches
//!      └──── PagesForLog ─────────┘   └── page cleaner <── ages ── RedoForCleaner
//! ```
//!
//! The log must exist before the pool, since no page leaves the pool before its redo; and
//! it asks the pool for the oldest modification, so it learns of it later. Such back
//! references are weak: an engine that is dropped goes away.

use std::path::Path;
use std::sync::{Arc, Weak};

use super::error::EngineError;
use crate::buffer_pool::{BufferPool, BufferPoolSettings, PoolHooks};
use crate::doublewrite::{Doublewrite, DoublewriteSettings};
use crate::metrics::Metrics;
use crate::page::Lsn;
use crate::page_cleaner::{CleanerSettings, PageCleaner, RedoAges, RedoState};
use crate::redo_log::{CheckpointSource, Pages, PoolSource, RedoLog};
use crate::runtime::files::FileSystem;
use crate::sysvar::Settings;
use crate::tablespace::{TablespaceError, Tablespaces};

/// Pages and those who write them.
pub(super) struct Parts {
    pub pages: Arc<Pages>,
    pub doublewrite: Arc<Doublewrite>,
    pub cleaner: Arc<PageCleaner>,
    pub source: Arc<PagesForLog>,
}

impl Parts {
    /// Puts them together over a log. Nothing runs yet, and the doublewrite files are to be
    /// made.
    pub fn new(
        files: &FileSystem,
        directory: &Path,
        settings: &Settings,
        log: Arc<RedoLog>,
        spaces: Arc<Tablespaces>,
        metrics: Arc<Metrics>,
    ) -> Result<Parts, EngineError> {
        let doublewrite = Doublewrite::new(
            files,
            directory,
            DoublewriteSettings::from_variables(settings),
            spaces.clone(),
            metrics.clone(),
        )?;
        let hooks = PoolHooks {
            write_ahead_log: log.clone(),
            page_sink: doublewrite.clone(),
        };
        let pool_settings = BufferPoolSettings::from_variables(settings);
        let pool = BufferPool::new(&pool_settings, spaces.clone(), metrics.clone(), hooks)?;
        let cleaner_settings = CleanerSettings::from_variables(settings);
        let redo = Arc::new(RedoForCleaner {
            log: Arc::downgrade(&log),
        });
        let cleaner = PageCleaner::new(pool.clone(), redo, cleaner_settings, metrics.clone())
            .map_err(|error| EngineError::Setting(error.to_string()))?;
        let source = Arc::new(PagesForLog {
            pool: PoolSource::new(&pool, spaces.clone()),
            cleaner: Arc::downgrade(&cleaner),
        });
        log.set_source(Some(source.clone()));
        let pages = Arc::new(Pages {
            pool,
            log,
            spaces,
            metrics,
        });
        Ok(Parts {
            pages,
            doublewrite,
            cleaner,
            source,
        })
    }

    /// Writes all pages and makes a checkpoint behind all redo.
    pub fn checkpoint_all(&self) -> Result<(), EngineError> {
        checkpoint_all(&self.pages, &self.doublewrite)
    }
}

/// Writes all pages and makes a checkpoint behind all redo, while nobody changes anything.
pub(super) fn checkpoint_all(pages: &Pages, doublewrite: &Doublewrite) -> Result<(), EngineError> {
    pages.log.flush_all()?;
    let left = pages.pool.flush_all();
    if left > 0 {
        return Err(EngineError::PagesNotWritten {
            pages: left,
            why: doublewrite.trouble().map(|trouble| trouble.message),
        });
    }
    pages.spaces.flush_for_checkpoint()?;
    pages.log.checkpoint_now()?;
    Ok(())
}

/// The pages, as the log sees them.
pub(super) struct PagesForLog {
    pool: Arc<PoolSource>,
    cleaner: Weak<PageCleaner>,
}

impl CheckpointSource for PagesForLog {
    fn oldest_modification(&self) -> Option<Lsn> {
        self.pool.oldest_modification()
    }

    fn request_sync_flush(&self, lsn: Lsn) {
        if let Some(cleaner) = self.cleaner.upgrade() {
            cleaner.request_sync_flush(lsn);
        }
    }

    fn sync_flush(&self, lsn: Lsn) {
        self.pool.sync_flush(lsn);
    }

    fn flush_files(&self) -> Result<(), TablespaceError> {
        self.pool.flush_files()
    }
}

/// The log, as the page cleaner sees it.
struct RedoForCleaner {
    log: Weak<RedoLog>,
}

impl RedoState for RedoForCleaner {
    fn current_lsn(&self) -> Lsn {
        self.log.upgrade().map_or(0, |log| log.current_lsn())
    }

    fn checkpoint_age(&self) -> u64 {
        self.log.upgrade().map_or(0, |log| log.checkpoint_age())
    }

    fn ages(&self) -> RedoAges {
        let Some(log) = self.log.upgrade() else {
            return RedoAges {
                capacity: u64::MAX,
                async_age: u64::MAX,
                sync_age: u64::MAX,
            };
        };
        let limits = log.limits();
        RedoAges {
            capacity: limits.stall_age,
            async_age: limits.modified_age_async,
            sync_age: limits.modified_age_sync,
        }
    }
}
