//! The redo log, as the page cleaner sees it.

use crate::page::Lsn;

/// Ages of redo, in bytes of LSN, at which the cleaner behaves differently. They follow
/// from the log's size by rules of each version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedoAges {
    /// What `innodb_adaptive_flushing_lwm` is a percentage of: in 8.0.30 and later the
    /// checkpoint age at which users stall, in 5.7 and earlier 0.9 of the files.
    pub capacity: u64,
    /// Age of the oldest modification at which adaptive flushing is at 100 % of its curve.
    pub async_age: u64,
    /// Age of the oldest modification beyond which pages are flushed without a pause.
    pub sync_age: u64,
}

/// The redo log, as the page cleaner sees it. The log implements it.
pub trait RedoState: Send + Sync {
    /// LSN of the newest redo.
    fn current_lsn(&self) -> Lsn;

    /// Redo since the last checkpoint, in bytes of LSN.
    fn checkpoint_age(&self) -> u64;

    /// The ages that matter.
    fn ages(&self) -> RedoAges;
}
