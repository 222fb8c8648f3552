//! What checkpoints ask of those who hold pages.

use std::sync::{Arc, Weak};

use crate::buffer_pool::{BufferPool, FlushKind};
use crate::page::Lsn;
use crate::tablespace::{TablespaceError, Tablespaces};

/// What checkpoints ask of the layers that hold pages.
pub trait CheckpointSource: Send + Sync {
    /// The oldest modification that is not in its data file, as the flush lists have it;
    /// `None` if no page is dirty.
    fn oldest_modification(&self) -> Option<Lsn>;

    /// Asks for all pages to be written that became dirty before `lsn`, as fast as
    /// possible; does not wait.
    fn request_sync_flush(&self, lsn: Lsn);

    /// Writes all pages that became dirty before `lsn`, in the calling task, and waits
    /// for the writes.
    fn sync_flush(&self, lsn: Lsn);

    /// Makes all writes of pages durable.
    ///
    /// # Errors
    /// If a file cannot be flushed; there is no checkpoint then.
    fn flush_files(&self) -> Result<(), TablespaceError>;
}

/// The buffer pool and its files as a [`CheckpointSource`]. A sync flush that is asked
/// for wakes the page cleaner.
pub struct PoolSource {
    /// The pool knows the log, which knows this: one of them must not keep the next alive.
    pool: Weak<BufferPool>,
    spaces: Arc<Tablespaces>,
}

impl PoolSource {
    /// The source over a pool.
    pub fn new(pool: &Arc<BufferPool>, spaces: Arc<Tablespaces>) -> Arc<Self> {
        Arc::new(PoolSource {
            pool: Arc::downgrade(pool),
            spaces,
        })
    }
}

impl CheckpointSource for PoolSource {
    fn oldest_modification(&self) -> Option<Lsn> {
        match self.pool.upgrade() {
            Some(pool) => pool.oldest_modification_lsn(),
            // The pool is gone, and with it what was dirty: all redo is needed.
            None => Some(0),
        }
    }

    fn request_sync_flush(&self, _: Lsn) {
        if let Some(pool) = self.pool.upgrade() {
            pool.cleaner_wanted().set();
        }
    }

    fn sync_flush(&self, lsn: Lsn) {
        if let Some(pool) = self.pool.upgrade() {
            for instance in 0..pool.instance_count() {
                pool.flush_list_batch(instance, usize::MAX, lsn);
            }
            for instance in 0..pool.instance_count() {
                pool.wait_for_flush(instance, FlushKind::List);
            }
        }
    }

    fn flush_files(&self) -> Result<(), TablespaceError> {
        self.spaces.flush_for_checkpoint()
    }
}
