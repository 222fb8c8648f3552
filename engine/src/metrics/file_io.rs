//! File I/O by kind of file, as `performance_schema.file_summary_by_event_name` sums it
//! up: how many reads, writes and flushes, how long they took, how many bytes.

use serde::{Serialize, Serializer};

/// A kind of file: an event of the performance schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileEvent {
    /// Tablespaces; before 8.0.20 the doublewrite area is in one, and counts here.
    DataFile,
    /// The redo log.
    LogFile,
    /// Doublewrite files (8.0.20 and later).
    DoublewriteFile,
    /// Temporary files.
    TempFile,
}

impl FileEvent {
    /// Every kind.
    pub const ALL: &[Self] = &[
        FileEvent::DataFile,
        FileEvent::LogFile,
        FileEvent::DoublewriteFile,
        FileEvent::TempFile,
    ];

    /// How many there are.
    pub(super) const COUNT: usize = Self::ALL.len();

    /// Column EVENT_NAME.
    pub const fn name(self) -> &'static str {
        match self {
            FileEvent::DataFile => "wait/io/file/innodb/innodb_data_file",
            FileEvent::LogFile => "wait/io/file/innodb/innodb_log_file",
            FileEvent::DoublewriteFile => "wait/io/file/innodb/innodb_dblwr_file",
            FileEvent::TempFile => "wait/io/file/innodb/innodb_temp_file",
        }
    }
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileOperation {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A flush: fsync or fdatasync. The performance schema counts it, with opening and
    /// closing, as MISC; innosim counts nothing else there.
    Sync,
}

impl FileOperation {
    /// Every one.
    pub const ALL: &[Self] = &[
        FileOperation::Read,
        FileOperation::Write,
        FileOperation::Sync,
    ];

    /// How many there are.
    pub(super) const COUNT: usize = Self::ALL.len();
}

/// The sums of one operation on one kind of file. Times are in picoseconds, as in the
/// performance schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct OperationSummary {
    /// COUNT_…: operations done.
    pub count: u64,
    /// SUM_TIMER_…
    pub sum_timer_ps: u64,
    /// MIN_TIMER_…; 0 if none was done.
    pub min_timer_ps: u64,
    /// MAX_TIMER_…
    pub max_timer_ps: u64,
    /// SUM_NUMBER_OF_BYTES_…; 0 for flushes.
    pub bytes: u64,
    /// Operations begun and not done, for `Innodb_data_pending_…`.
    pub pending: i64,
}

impl OperationSummary {
    /// AVG_TIMER_…: 0 if none was done, as in the performance schema.
    pub fn avg_timer_ps(&self) -> u64 {
        self.sum_timer_ps.checked_div(self.count).unwrap_or(0)
    }
}

/// A row of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSummary {
    /// The kind of file.
    pub event: FileEvent,
    /// Reads.
    pub read: OperationSummary,
    /// Writes.
    pub write: OperationSummary,
    /// Flushes: MISC.
    pub sync: OperationSummary,
}

impl FileSummary {
    /// COUNT_STAR: operations of all sorts.
    pub fn count_star(&self) -> u64 {
        self.read.count + self.write.count + self.sync.count
    }

    /// SUM_TIMER_WAIT: the time of all operations, in picoseconds.
    pub fn sum_timer_wait_ps(&self) -> u64 {
        self.read.sum_timer_ps + self.write.sum_timer_ps + self.sync.sum_timer_ps
    }
}

/// The keys of `files` in a run's JSON, which are a contract.
impl Serialize for FileSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row {
            event_name: &'static str,
            count_read: u64,
            sum_timer_read_ps: u64,
            bytes_read: u64,
            count_write: u64,
            sum_timer_write_ps: u64,
            bytes_written: u64,
            count_sync: u64,
            sum_timer_sync_ps: u64,
        }

        Row {
            event_name: self.event.name(),
            count_read: self.read.count,
            sum_timer_read_ps: self.read.sum_timer_ps,
            bytes_read: self.read.bytes,
            count_write: self.write.count,
            sum_timer_write_ps: self.write.sum_timer_ps,
            bytes_written: self.write.bytes,
            count_sync: self.sync.count,
            sum_timer_sync_ps: self.sync.sum_timer_ps,
        }
        .serialize(serializer)
    }
}
