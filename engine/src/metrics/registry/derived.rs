//! What is worked out from other figures when it is read, so that of a difference of two
//! snapshots it tells about the time between them.

use super::definition::{InnodbMetric, MetricDefinition, MetricType, Origin, Subsystem};
use super::{Counter, Reading};
use crate::metrics::file_io::{FileEvent, FileOperation, OperationSummary};
use crate::metrics::snapshot::{MetricsSnapshot, shown};
use crate::metrics::timing::Timing;

/// A table of names and rules.
macro_rules! derived {
    ($(
        #[doc = $comment:literal]
        $rule:ident:
            $(status $status:literal)? $(,)?
            $(metric $subsystem:ident $metric_type:ident $default:ident $metric:literal)?;
    )*) => {
        pub(super) static DEFINITIONS: &[MetricDefinition] = &[
            $(
                MetricDefinition {
                    status_name: optional!($($status)?),
                    metric: optional!($(InnodbMetric {
                        name: $metric,
                        subsystem: Subsystem::$subsystem,
                        metric_type: MetricType::$metric_type,
                        enabled_by_default: is_on!($default),
                    })?),
                    comment: $comment.trim_ascii_start(),
                    origin: Origin::Rule($rule),
                },
            )*
        ];
    };
}

derived! {
    /// Pages in use for other things than data
    pages_misc: status "Innodb_buffer_pool_pages_misc",
        metric Buffer Value on "buffer_pool_pages_misc";
    /// Bytes of the pages that hold data
    bytes_data: status "Innodb_buffer_pool_bytes_data",
        metric Buffer Value on "buffer_pool_bytes_data";
    /// Bytes of modified pages
    bytes_dirty: status "Innodb_buffer_pool_bytes_dirty",
        metric Buffer Value on "buffer_pool_bytes_dirty";
    /// Reads of files
    data_reads: status "Innodb_data_reads", metric Os StatusCounter on "os_data_reads";
    /// Writes to files
    data_writes: status "Innodb_data_writes", metric Os StatusCounter on "os_data_writes";
    /// Flushes of files
    data_fsyncs: status "Innodb_data_fsyncs", metric Os StatusCounter on "os_data_fsyncs";
    /// Bytes read from files
    data_read: status "Innodb_data_read", metric Buffer StatusCounter on "buffer_data_reads";
    /// Bytes written to files
    data_written: status "Innodb_data_written",
        metric Buffer StatusCounter on "buffer_data_written";
    /// Reads that are not done
    pending_reads: status "Innodb_data_pending_reads", metric Os Counter off "os_pending_reads";
    /// Writes that are not done
    pending_writes: status "Innodb_data_pending_writes",
        metric Os Counter off "os_pending_writes";
    /// Flushes that are not done
    pending_fsyncs: status "Innodb_data_pending_fsyncs";
    /// Flushes of redo files
    log_fsyncs: status "Innodb_os_log_fsyncs", metric Os StatusCounter on "os_log_fsyncs";
    /// Flushes of redo files that are not done
    log_pending_fsyncs: status "Innodb_os_log_pending_fsyncs",
        metric Os StatusCounter on "os_log_pending_fsyncs";
    /// Writes to redo files that are not done
    log_pending_writes: status "Innodb_os_log_pending_writes",
        metric Os StatusCounter on "os_log_pending_writes";
    /// Bytes of redo since the last checkpoint
    checkpoint_age: metric Log Value off "log_lsn_checkpoint_age";
    /// Time in flushes of redo, in milliseconds
    log_flush_total_time: metric Log Counter off "log_flush_total_time";
    /// Time waited for row locks, in milliseconds
    row_lock_time: status "Innodb_row_lock_time",
        metric Lock StatusCounter on "lock_row_lock_time";
    /// Longest wait for a row lock, in milliseconds
    row_lock_time_max: status "Innodb_row_lock_time_max",
        metric Lock Value on "lock_row_lock_time_max";
    /// Mean wait for a row lock, in milliseconds
    row_lock_time_average: status "Innodb_row_lock_time_avg",
        metric Lock Value on "lock_row_lock_time_avg";
}

/// `total - data - free`, as InnoDB. The three are read one after another while pages
/// move, so that the sum can miss by a few: never below zero, which InnoDB once showed
/// as 2^64 less a few.
fn pages_misc(snapshot: &MetricsSnapshot) -> i64 {
    let data = snapshot.reading(Reading::BufferPoolPagesData);
    let free = snapshot.reading(Reading::BufferPoolPagesFree);
    (snapshot.reading(Reading::BufferPoolPagesTotal) - data - free).max(0)
}

/// Every page has the same size: compressed pages are not modelled.
fn bytes_data(snapshot: &MetricsSnapshot) -> i64 {
    snapshot.reading(Reading::BufferPoolPagesData) * snapshot.reading(Reading::PageSize)
}

fn bytes_dirty(snapshot: &MetricsSnapshot) -> i64 {
    snapshot.reading(Reading::BufferPoolPagesDirty) * snapshot.reading(Reading::PageSize)
}

/// Over all kinds of files: redo and doublewrite are in it, as in InnoDB.
fn sum_over_files(
    snapshot: &MetricsSnapshot,
    operation: FileOperation,
    figure: fn(&OperationSummary) -> i64,
) -> i64 {
    FileEvent::ALL
        .iter()
        .map(|event| figure(&snapshot.file_operation(*event, operation)))
        .sum()
}

fn data_reads(snapshot: &MetricsSnapshot) -> i64 {
    sum_over_files(snapshot, FileOperation::Read, |summary| {
        shown(summary.count)
    })
}

fn data_writes(snapshot: &MetricsSnapshot) -> i64 {
    sum_over_files(snapshot, FileOperation::Write, |summary| {
        shown(summary.count)
    })
}

fn data_fsyncs(snapshot: &MetricsSnapshot) -> i64 {
    sum_over_files(snapshot, FileOperation::Sync, |summary| {
        shown(summary.count)
    })
}

fn data_read(snapshot: &MetricsSnapshot) -> i64 {
    sum_over_files(snapshot, FileOperation::Read, |summary| {
        shown(summary.bytes)
    })
}

fn data_written(snapshot: &MetricsSnapshot) -> i64 {
    sum_over_files(snapshot, FileOperation::Write, |summary| {
        shown(summary.bytes)
    })
}

fn pending_reads(snapshot: &MetricsSnapshot) -> i64 {
    sum_over_files(snapshot, FileOperation::Read, |summary| summary.pending)
}

fn pending_writes(snapshot: &MetricsSnapshot) -> i64 {
    sum_over_files(snapshot, FileOperation::Write, |summary| summary.pending)
}

fn pending_fsyncs(snapshot: &MetricsSnapshot) -> i64 {
    sum_over_files(snapshot, FileOperation::Sync, |summary| summary.pending)
}

fn log_fsyncs(snapshot: &MetricsSnapshot) -> i64 {
    shown(
        snapshot
            .file_operation(FileEvent::LogFile, FileOperation::Sync)
            .count,
    )
}

fn log_pending_fsyncs(snapshot: &MetricsSnapshot) -> i64 {
    snapshot
        .file_operation(FileEvent::LogFile, FileOperation::Sync)
        .pending
}

fn log_pending_writes(snapshot: &MetricsSnapshot) -> i64 {
    snapshot
        .file_operation(FileEvent::LogFile, FileOperation::Write)
        .pending
}

/// The two LSNs are not read at one instant; an age is not negative for that.
fn checkpoint_age(snapshot: &MetricsSnapshot) -> i64 {
    (snapshot.reading(Reading::LsnCurrent) - snapshot.reading(Reading::LsnCheckpoint)).max(0)
}

/// Milliseconds of a time in picoseconds.
fn milliseconds(picoseconds: u128) -> i64 {
    i64::try_from(picoseconds / 1_000_000_000).unwrap_or(i64::MAX)
}

fn log_flush_total_time(snapshot: &MetricsSnapshot) -> i64 {
    milliseconds(snapshot.timing(Timing::RedoSync).sum())
}

fn row_lock_time(snapshot: &MetricsSnapshot) -> i64 {
    milliseconds(snapshot.timing(Timing::RowLockWait).sum())
}

fn row_lock_time_max(snapshot: &MetricsSnapshot) -> i64 {
    let longest = snapshot.timing(Timing::RowLockWait).max().unwrap_or(0);
    milliseconds(u128::from(longest))
}

/// Time by waits begun, as InnoDB: a wait that is not over counts as one of no time.
fn row_lock_time_average(snapshot: &MetricsSnapshot) -> i64 {
    let waits = snapshot.counter(Counter::RowLockWaits);
    let time = snapshot.timing(Timing::RowLockWait).sum();
    milliseconds(time.checked_div(u128::from(waits)).unwrap_or(0))
}
