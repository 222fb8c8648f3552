//! The log's part of the figures that are read rather than counted.

use super::block::{BLOCK_SIZE, block_start};
use super::log::RedoLog;
use super::settings::FreeCheck;
use crate::metrics::Reading;

impl RedoLog {
    /// The log's part of the figures that are read rather than counted; `None` for those
    /// of others.
    pub fn read(&self, reading: Reading) -> Option<i64> {
        let limits = &self.settings().limits;
        let checkpoint = self.checkpoint_lsn();
        let oldest = || {
            let source = self.checkpoints.source();
            source.and_then(|source| source.oldest_modification())
        };
        let figure = match reading {
            Reading::LsnCurrent => self.current_lsn(),
            Reading::LsnFlushed => self.flushed_lsn(),
            Reading::LsnCheckpoint => checkpoint,
            Reading::LsnDirtyPagesAdded => self.closed_lsn(),
            Reading::LsnOldestModification => oldest().unwrap_or(0),
            Reading::LsnOldestModificationBound => {
                oldest().map_or(0, |lsn| lsn.saturating_sub(self.flush_list_disorder()))
            }
            // As in 8.4: without the margin for what users have under way.
            Reading::MaximumModifiedAgeAsync => limits.modified_age_async + self.margin(),
            Reading::MaximumModifiedAgeSync => limits.modified_age_sync + self.margin(),
            Reading::LogConcurrencyMargin => limits.concurrency_margin,
            Reading::LogFreeSpace => {
                let limit = (checkpoint + limits.stall_age) as i64;
                return Some(limit - self.current_lsn() as i64);
            }
            Reading::RedoLogicalSize => {
                let end = self.current_lsn().next_multiple_of(BLOCK_SIZE as u64);
                end - block_start(checkpoint)
            }
            Reading::RedoPhysicalSize => match &self.device {
                Some(device) => device.files.physical_size(),
                None => 0,
            },
            Reading::RedoCapacity => limits.capacity,
            _ => return None,
        };
        Some(figure as i64)
    }

    fn margin(&self) -> u64 {
        match self.settings().free_check {
            FreeCheck::Poll => self.settings().limits.concurrency_margin,
            _ => 0,
        }
    }
}
