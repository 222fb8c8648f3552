//! Counters and readings: what users see of an engine.

use super::Engine;
use super::statements::StatementCounts;
use crate::metrics::{FileEvent, FileOperation, MetricsSnapshot, Reading};
use crate::page::PAGE_SIZE;
use crate::page::rollback_segment as layout;
use crate::redo_log::MiniTransactionContext;
use crate::runtime::LatchMode;
use crate::runtime::files::{FileKind, OperationStatistics};

/// Levels of an engine at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineLevels {
    /// Bytes of redo since the last checkpoint.
    pub checkpoint_age: u64,
    /// Modified pages.
    pub dirty_pages: u64,
    /// Pages on the free lists.
    pub free_pages: u64,
    /// Transactions whose undo is not purged.
    pub history_list_length: u64,
}

impl Engine {
    /// All counters now, with the sums of file I/O.
    pub fn metrics_snapshot(&self) -> MetricsSnapshot {
        let source = |reading| self.read(reading);
        let mut snapshot = self.pages.metrics.snapshot(&source);
        let files = self.files.statistics();
        for (event, kind) in [
            (FileEvent::DataFile, FileKind::Data),
            (FileEvent::LogFile, FileKind::Log),
            (FileEvent::DoublewriteFile, FileKind::Doublewrite),
            (FileEvent::TempFile, FileKind::Temporary),
        ] {
            let kind = files.kind(kind);
            for (operation, sums) in [
                (FileOperation::Read, kind.reads),
                (FileOperation::Write, kind.writes),
                (FileOperation::Sync, kind.syncs),
            ] {
                let OperationStatistics { count, time, bytes } = sums;
                snapshot.add_file_operations(event, operation, (count, time, bytes));
            }
        }
        snapshot
    }

    /// Statements of transactions that have ended, by kind.
    pub fn statement_counts(&self) -> StatementCounts {
        self.statements.read()
    }

    /// Forgets the smallest and largest values counted: a measurement begins.
    pub fn restart_extremes(&self) {
        self.pages.metrics.restart_extremes();
    }

    /// The levels that a report shows for each interval.
    pub fn levels(&self) -> EngineLevels {
        EngineLevels {
            checkpoint_age: self.pages.log.checkpoint_age(),
            dirty_pages: self.sum(|statistics| statistics.dirty),
            free_pages: self.sum(|statistics| statistics.free),
            history_list_length: self.rows.transactions.undo().history_length(),
        }
    }

    /// Adds a figure up over the pool's instances.
    fn sum(&self, figure: impl Fn(&crate::buffer_pool::InstanceStatistics) -> usize) -> u64 {
        let pool = &self.pages.pool;
        (0..pool.instance_count())
            .map(|instance| figure(&pool.statistics(instance)) as u64)
            .sum()
    }

    /// A reading now.
    fn read(&self, reading: Reading) -> i64 {
        if let Some(value) = self.pages.log.read(reading) {
            return value;
        }
        let value = match reading {
            Reading::BufferPoolBytes => self.pages.pool.bytes(),
            Reading::PageSize => PAGE_SIZE as u64,
            Reading::BufferPoolPagesTotal => self.sum(|statistics| statistics.frames),
            Reading::BufferPoolPagesData => self.sum(|statistics| statistics.lru),
            Reading::BufferPoolPagesDirty => self.sum(|statistics| statistics.dirty),
            Reading::BufferPoolPagesFree => self.sum(|statistics| statistics.free),
            Reading::OpenFiles => self.pages.spaces.len() as u64,
            Reading::HistoryListLength => self.rows.transactions.undo().history_length(),
            Reading::RollbackSegmentPages => self.rollback_segment_pages(),
            // The log's own, answered above.
            Reading::LsnCurrent
            | Reading::LsnFlushed
            | Reading::LsnCheckpoint
            | Reading::LsnDirtyPagesAdded
            | Reading::LsnOldestModification
            | Reading::LsnOldestModificationBound
            | Reading::MaximumModifiedAgeAsync
            | Reading::MaximumModifiedAgeSync
            | Reading::LogFreeSpace
            | Reading::LogConcurrencyMargin
            | Reading::RedoLogicalSize
            | Reading::RedoPhysicalSize
            | Reading::RedoCapacity => 0,
        };
        i64::try_from(value).unwrap_or(i64::MAX)
    }

    /// Pages of history, by the headers of the rollback segments; those that are not in the
    /// pool are left out, as a reading does no I/O.
    fn rollback_segment_pages(&self) -> u64 {
        let mut context = MiniTransactionContext::new(0);
        let mut pages = 0;
        for segment in self.rows.transactions.undo().rollback_segments() {
            let mut mtr = self.pages.begin(&mut context);
            let how = crate::buffer_pool::FixMode::IfInPool;
            if let Ok(header) = mtr.fix_with(segment.header(), LatchMode::S, how) {
                pages += u64::from(layout::HISTORY_SIZE.get(mtr.page(header)));
            }
            mtr.commit();
        }
        pages
    }
}
