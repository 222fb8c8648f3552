//! What a redo log is made from.

use crate::runtime::time::{MICROSECOND, Time};

/// How mini-transactions get their redo into the log buffer: see `log_buffer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogConcurrency {
    /// One mutex from the reservation to the flush lists (5.1).
    OneMutex,
    /// One mutex for the log buffer, and a second one for the order of the flush lists
    /// (5.5 to 5.7, MariaDB).
    FlushOrderMutex,
    /// An atomic addition, then all at once (8.0, 8.4).
    LinkBuffers,
}

/// What a redo log is made from; all sizes as the engine works with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedoSettings {
    /// `innodb_log_buffer_size` in bytes.
    pub log_buffer_size: u64,
    /// How redo gets into the buffer.
    pub concurrency: LogConcurrency,
    /// `innodb_log_recent_written_size` in bytes.
    pub recent_written_size: usize,
    /// `innodb_log_recent_closed_size` in bytes.
    pub recent_closed_size: usize,
}

/// How long a mini-transaction sleeps that finds no room in a link buffer, or waits for
/// others to copy their redo (InnoDB 8.0).
pub(super) const LINK_WAIT: Time = 20 * MICROSECOND;

impl RedoSettings {
    /// A log of the defaults of MySQL 8.4 in all but the size of its buffers: a buffer of
    /// 1 MiB and link buffers of 64 and 128 KiB.
    pub fn small() -> Self {
        RedoSettings {
            log_buffer_size: 1 << 20,
            concurrency: LogConcurrency::LinkBuffers,
            recent_written_size: 64 << 10,
            recent_closed_size: 128 << 10,
        }
    }
}
