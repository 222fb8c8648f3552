//! What users read: status variables, INNODB_METRICS, the file summary, JSON.

use super::snapshot;
use crate::metrics::registry;
use crate::metrics::*;

/// A small server in the middle of its work.
fn busy_engine(reading: Reading) -> i64 {
    match reading {
        Reading::PageSize => 16_384,
        Reading::BufferPoolBytes => 1000 * 16_384,
        Reading::BufferPoolPagesTotal => 1000,
        Reading::BufferPoolPagesData => 900,
        Reading::BufferPoolPagesDirty => 120,
        Reading::BufferPoolPagesFree => 90,
        Reading::LsnCurrent => 1_000_000,
        Reading::LsnCheckpoint => 700_000,
        Reading::HistoryListLength => 42,
        _ => 0,
    }
}

fn row(rows: &[InnodbMetricsRow], name: &str) -> InnodbMetricsRow {
    *rows
        .iter()
        .find(|row| row.name == name)
        .expect("the row is there")
}

#[test]
fn pages_and_ages_follow_from_readings() {
    let seen = Metrics::new(1).snapshot(&busy_engine);
    let status = seen.status();
    assert_eq!(status["Innodb_buffer_pool_pages_misc"], 10);
    assert_eq!(status["Innodb_buffer_pool_bytes_data"], 900 * 16_384);
    assert_eq!(status["Innodb_buffer_pool_bytes_dirty"], 120 * 16_384);
    assert_eq!(status["Innodb_redo_log_current_lsn"], 1_000_000);
    let metrics = seen.metrics();
    assert_eq!(metrics["log_lsn_checkpoint_age"], 300_000);
    assert_eq!(metrics["log_lsn_current"], 1_000_000);
    assert_eq!(metrics["trx_rseg_history_len"], 42);
    assert_eq!(metrics["buffer_pool_size"], 1000 * 16_384);
}

/// Readings of different instants may contradict each other; the views do not.
#[test]
fn ages_and_remainders_are_not_negative() {
    let seen = Metrics::new(1).snapshot(&|reading| match reading {
        Reading::BufferPoolPagesTotal => 10,
        Reading::BufferPoolPagesData => 9,
        Reading::BufferPoolPagesFree => 2,
        Reading::LsnCheckpoint => 5,
        _ => 0,
    });
    assert_eq!(seen.status()["Innodb_buffer_pool_pages_misc"], 0);
    assert_eq!(seen.metrics()["log_lsn_checkpoint_age"], 0);
}

/// Waits of 30 ms and 50.9 ms, and a third that is not over.
#[test]
fn row_lock_times_are_in_milliseconds() {
    let metrics = Metrics::new(1);
    metrics.shard(0).add(Counter::RowLockWaits, 3);
    metrics.shard(0).raise(Level::RowLockCurrentWaits, 1);
    metrics.record_time(Timing::RowLockWait, 30_000_000_000);
    metrics.record_time(Timing::RowLockWait, 50_900_000_000);
    let status = snapshot(&metrics).status();
    assert_eq!(status["Innodb_row_lock_waits"], 3);
    assert_eq!(status["Innodb_row_lock_current_waits"], 1);
    assert_eq!(status["Innodb_row_lock_time"], 80);
    assert_eq!(status["Innodb_row_lock_time_max"], 50);
    assert_eq!(status["Innodb_row_lock_time_avg"], 26);
    assert_eq!(
        snapshot(&Metrics::new(1)).status()["Innodb_row_lock_time_avg"],
        0
    );
}

/// The doublewrite report's own figures (MySQL bug 115328, 128 pages a batch). The mean
/// is theirs but for the last digits: theirs was not worked out from these two sums.
#[test]
fn the_file_summary_is_the_performance_schemas() {
    let metrics = Metrics::new(2);
    let (count, sum_timer_ps) = (474_846, 9_133_864_376_751_562_u64);
    let mean_ps = sum_timer_ps / count;
    for write in 0..count {
        let shard = metrics.shard(write as usize);
        let picoseconds = mean_ps + u64::from(write < sum_timer_ps % count);
        shard.file_operation_begins(FileEvent::DoublewriteFile, FileOperation::Write);
        shard.file_operation_ends(
            FileEvent::DoublewriteFile,
            FileOperation::Write,
            picoseconds,
            128 * 16_384,
        );
    }
    let written =
        snapshot(&metrics).file_operation(FileEvent::DoublewriteFile, FileOperation::Write);
    assert_eq!(
        written,
        OperationSummary {
            count,
            sum_timer_ps,
            min_timer_ps: mean_ps,
            max_timer_ps: mean_ps + 1,
            bytes: count * 128 * 16_384,
            pending: 0,
        }
    );
    assert_eq!(written.avg_timer_ps(), 19_235_424_488);
    assert!(written.avg_timer_ps().abs_diff(19_235_424_298) < 200);
}

/// Status variables about files are sums over kinds of files.
#[test]
fn status_sums_over_files() {
    use FileEvent::{DataFile, LogFile};
    use FileOperation::{Read, Sync, Write};
    let metrics = Metrics::new(1);
    let shard = metrics.shard(0);
    for (event, operation, bytes) in [
        (DataFile, Read, 16_384),
        (DataFile, Write, 16_384),
        (DataFile, Sync, 0),
        (LogFile, Write, 512),
        (LogFile, Write, 1024),
        (LogFile, Sync, 0),
        (LogFile, Sync, 0),
    ] {
        shard.file_operation_begins(event, operation);
        shard.file_operation_ends(event, operation, 1_000_000, bytes);
    }
    for (event, operation) in [
        (DataFile, Read),
        (DataFile, Sync),
        (LogFile, Write),
        (LogFile, Sync),
        (LogFile, Sync),
    ] {
        shard.file_operation_begins(event, operation);
    }

    let seen = snapshot(&metrics);
    let status = seen.status();
    for (name, value) in [
        ("Innodb_data_reads", 1),
        ("Innodb_data_read", 16_384),
        ("Innodb_data_writes", 3),
        ("Innodb_data_written", 16_384 + 512 + 1024),
        ("Innodb_data_fsyncs", 3),
        ("Innodb_os_log_fsyncs", 2),
        ("Innodb_data_pending_reads", 1),
        ("Innodb_data_pending_writes", 1),
        ("Innodb_data_pending_fsyncs", 3),
        ("Innodb_os_log_pending_writes", 1),
        ("Innodb_os_log_pending_fsyncs", 2),
    ] {
        assert_eq!(status[name], value, "{name}");
    }
    let log = seen
        .files()
        .into_iter()
        .find(|row| row.event == LogFile)
        .unwrap();
    assert_eq!((log.count_star(), log.sum_timer_wait_ps()), (4, 4_000_000));
    assert_eq!(log.read, OperationSummary::default());
    assert_eq!(log.read.avg_timer_ps(), 0);
}

#[test]
fn rows_of_innodb_metrics() {
    let metrics = Metrics::new(1);
    let shard = metrics.shard(0);
    shard.add(Counter::RowsInserted, 35);
    shard.record_call(Set::LruBatchScanned, 100);
    shard.record_call(Set::LruBatchScanned, 51);
    metrics.record_time(Timing::RedoSync, 3_000_000_000);
    let rows = metrics.snapshot(&busy_engine).innodb_metrics(10);

    assert_eq!(
        row(&rows, "dml_inserts"),
        InnodbMetricsRow {
            name: "dml_inserts",
            subsystem: "dml",
            count: 35,
            max_count: None,
            min_count: None,
            avg_count: Some(3.5),
            time_elapsed: 10,
            metric_type: "status_counter",
            comment: "Rows inserted",
        }
    );
    let total = row(&rows, "buffer_LRU_batch_scanned");
    assert_eq!((total.metric_type, total.count), ("set_owner", 151));
    assert_eq!((total.max_count, total.min_count), (Some(100), Some(51)));
    assert_eq!(total.avg_count, Some(75.5));
    let calls = row(&rows, "buffer_LRU_batch_num_scan");
    assert_eq!(
        (calls.count, calls.max_count, calls.avg_count),
        (2, None, Some(0.2))
    );
    assert_eq!(
        calls.comment,
        "Pages scanned by LRU batches: number of calls"
    );
    let per_call = row(&rows, "buffer_LRU_batch_scanned_per_call");
    assert_eq!((per_call.metric_type, per_call.count), ("set_member", 75));
    assert_eq!((per_call.max_count, per_call.avg_count), (Some(100), None));
    assert_eq!(row(&rows, "log_flush_total_time").avg_count, Some(0.3));
    // A level has no rate, and nothing has one before a second is over.
    assert_eq!(row(&rows, "log_lsn_checkpoint_age").avg_count, None);
    let at_once = snapshot(&metrics).innodb_metrics(0);
    assert_eq!(row(&at_once, "dml_inserts").avg_count, None);

    let columns = toml::Table::try_from(row(&rows, "dml_inserts")).unwrap();
    assert_eq!(columns["type"].as_str(), Some("status_counter"));
    assert!(rows.is_sorted_by_key(|row| row.name));
    assert_eq!(
        rows.len(),
        registry::all()
            .filter(|entry| entry.metric.is_some())
            .count()
    );
}

/// The shape that programs read: three keys, names to whole numbers, and the nine keys of
/// a file's row.
#[test]
fn a_snapshot_serializes_as_the_json_contract_says() {
    let metrics = Metrics::new(1);
    metrics
        .shard(0)
        .file_operation_begins(FileEvent::LogFile, FileOperation::Sync);
    metrics
        .shard(0)
        .file_operation_ends(FileEvent::LogFile, FileOperation::Sync, 77, 0);
    // TOML has the same shapes as JSON: tables, arrays, whole numbers.
    let document = toml::Table::try_from(metrics.snapshot(&busy_engine)).unwrap();

    let keys: Vec<&str> = document.keys().map(String::as_str).collect();
    assert_eq!(keys, ["files", "metrics", "status"]);
    assert_eq!(
        document["status"]["Innodb_page_size"].as_integer(),
        Some(16_384)
    );
    assert_eq!(
        document["metrics"]["trx_rseg_history_len"].as_integer(),
        Some(42)
    );

    let files = document["files"].as_array().unwrap();
    let names: Vec<&str> = files
        .iter()
        .map(|row| row["event_name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "wait/io/file/innodb/innodb_data_file",
            "wait/io/file/innodb/innodb_dblwr_file",
            "wait/io/file/innodb/innodb_log_file",
            "wait/io/file/innodb/innodb_temp_file",
        ]
    );
    let log: Vec<(&str, Option<i64>)> = files[2]
        .as_table()
        .unwrap()
        .iter()
        .filter(|(key, _)| *key != "event_name")
        .map(|(key, value)| (key.as_str(), value.as_integer()))
        .collect();
    assert_eq!(
        log,
        [
            ("bytes_read", Some(0)),
            ("bytes_written", Some(0)),
            ("count_read", Some(0)),
            ("count_sync", Some(1)),
            ("count_write", Some(0)),
            ("sum_timer_read_ps", Some(0)),
            ("sum_timer_sync_ps", Some(77)),
            ("sum_timer_write_ps", Some(0)),
        ]
    );
}

/// Each figure reaches its own name: set one to a value of its own, and find it there.
#[test]
fn figures_do_not_get_mixed_up() {
    let metrics = Metrics::new(1);
    let shard = metrics.shard(0);
    let mut expected = Vec::new();
    for (index, counter) in Counter::ALL.iter().enumerate() {
        shard.add(*counter, 1000 + index as u64);
        expected.push(1000 + index as i64);
    }
    for (index, level) in Level::ALL.iter().enumerate() {
        shard.raise(*level, 2000 + index as u64);
        expected.push(2000 + index as i64);
    }
    for (index, gauge) in Gauge::ALL.iter().enumerate() {
        metrics.set(*gauge, 3000 + index as i64);
        expected.push(3000 + index as i64);
    }
    let seen = metrics.snapshot(&|reading| 4000 + reading as i64);
    expected.extend(Reading::ALL.iter().map(|reading| 4000 + *reading as i64));

    let mut shown: Vec<i64> = seen
        .status()
        .into_iter()
        .chain(seen.metrics())
        .map(|(_, value)| value)
        .filter(|value| (1000..5000).contains(value))
        .collect();
    shown.sort_unstable();
    shown.dedup();
    assert_eq!(shown, expected);
    assert_eq!(
        seen.metrics()["dml_deletes"],
        1000 + Counter::RowsDeleted as i64
    );
    assert_eq!(
        seen.metrics()["lock_table_locks"],
        2000 + Level::TableLocks as i64
    );
}
