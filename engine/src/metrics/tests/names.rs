//! The registry against InnoDB 8.4's own lists, copied by hand and kept apart from it.
//!
//! In the lists, `*` means that a server counts it by default, and the letter is the
//! type: V value, S status_counter, O set_owner, M set_member, C counter. They hold more
//! than the registry does, so that what is added to it is checked as well.

use std::collections::{BTreeMap, BTreeSet};

use crate::metrics::registry::{self, MetricType};

const METRICS: &[(&str, &str)] = &[
    (
        "buffer",
        "S buffer_pool_reads* buffer_pool_read_requests* buffer_pool_write_requests*
         buffer_pool_wait_free* buffer_pool_read_ahead* buffer_pool_read_ahead_evicted*
         buffer_pages_created* buffer_pages_written* buffer_pages_read* buffer_data_reads*
         buffer_data_written*
         V buffer_pool_pages_total* buffer_pool_pages_misc* buffer_pool_pages_data*
         buffer_pool_bytes_data* buffer_pool_pages_dirty* buffer_pool_bytes_dirty*
         buffer_pool_pages_free*
         O buffer_flush_batch_scanned buffer_flush_batch_total_pages
         buffer_flush_neighbor_total_pages buffer_flush_adaptive_total_pages
         buffer_flush_sync_total_pages buffer_flush_background_total_pages
         buffer_LRU_batch_scanned buffer_LRU_batch_flush_total_pages
         buffer_LRU_batch_evict_total_pages buffer_LRU_single_flush_scanned
         buffer_LRU_search_scanned buffer_LRU_unzip_search_scanned
         M buffer_flush_batch_num_scan buffer_flush_batch_scanned_per_call
         buffer_flush_batches buffer_flush_batch_pages
         buffer_flush_neighbor buffer_flush_neighbor_pages
         buffer_flush_adaptive buffer_flush_adaptive_pages
         buffer_flush_sync buffer_flush_sync_pages
         buffer_flush_background buffer_flush_background_pages
         buffer_LRU_batch_num_scan buffer_LRU_batch_scanned_per_call
         buffer_LRU_batches_flush buffer_LRU_batch_flush_pages
         buffer_LRU_batches_evict buffer_LRU_batch_evict_pages
         buffer_LRU_single_flush_num_scan buffer_LRU_single_flush_scanned_per_call
         buffer_LRU_search_num_scan buffer_LRU_search_scanned_per_call
         buffer_LRU_unzip_search_num_scan buffer_LRU_unzip_search_scanned_per_call
         C buffer_flush_n_to_flush_requested buffer_flush_n_to_flush_by_dirty_page
         buffer_flush_n_to_flush_by_age
         buffer_flush_adaptive_avg_time_slot buffer_LRU_batch_flush_avg_time_slot
         buffer_flush_adaptive_avg_time_thread buffer_LRU_batch_flush_avg_time_thread
         buffer_flush_adaptive_avg_time_est buffer_LRU_batch_flush_avg_time_est
         buffer_flush_avg_time
         buffer_flush_adaptive_avg_pass buffer_LRU_batch_flush_avg_pass buffer_flush_avg_pass
         buffer_LRU_get_free_loops buffer_LRU_get_free_waits
         buffer_flush_avg_page_rate buffer_flush_lsn_avg_rate
         buffer_flush_pct_for_dirty buffer_flush_pct_for_lsn buffer_flush_sync_waits",
    ),
    (
        "Buffer",
        "C buffer_LRU_single_flush_failure_count buffer_LRU_get_free_search",
    ),
    (
        "buffer_page_io",
        "C buffer_page_read_index_leaf buffer_page_read_index_non_leaf
         buffer_page_read_index_ibuf_leaf buffer_page_read_index_ibuf_non_leaf
         buffer_page_read_undo_log buffer_page_read_index_inode buffer_page_read_ibuf_free_list
         buffer_page_read_ibuf_bitmap buffer_page_read_system_page buffer_page_read_trx_system
         buffer_page_read_fsp_hdr buffer_page_read_xdes buffer_page_read_blob
         buffer_page_read_zblob buffer_page_read_zblob2 buffer_page_read_rseg_array
         buffer_page_read_other
         buffer_page_written_index_leaf buffer_page_written_index_non_leaf
         buffer_page_written_index_ibuf_leaf buffer_page_written_index_ibuf_non_leaf
         buffer_page_written_undo_log buffer_page_written_index_inode
         buffer_page_written_ibuf_free_list
         buffer_page_written_ibuf_bitmap buffer_page_written_system_page
         buffer_page_written_trx_system
         buffer_page_written_fsp_hdr buffer_page_written_xdes buffer_page_written_blob
         buffer_page_written_zblob buffer_page_written_zblob2 buffer_page_written_rseg_array
         buffer_page_written_other
         buffer_page_written_on_log_no_waits buffer_page_written_on_log_waits
         buffer_page_written_on_log_wait_loops",
    ),
    (
        "dblwr",
        "C dblwr_async_requests dblwr_sync_requests dblwr_flush_requests
         dblwr_flush_wait_events",
    ),
    (
        "os",
        "S os_data_reads* os_data_writes* os_data_fsyncs* os_log_bytes_written*
         os_log_fsyncs* os_log_pending_fsyncs* os_log_pending_writes*
         C os_pending_reads os_pending_writes",
    ),
    (
        "server",
        "S innodb_activity_count* innodb_dblwr_writes* innodb_dblwr_pages_written*
         innodb_rwlock_s_spin_waits* innodb_rwlock_x_spin_waits* innodb_rwlock_sx_spin_waits*
         innodb_rwlock_s_spin_rounds* innodb_rwlock_x_spin_rounds*
         innodb_rwlock_sx_spin_rounds*
         innodb_rwlock_s_os_waits* innodb_rwlock_x_os_waits* innodb_rwlock_sx_os_waits*
         V buffer_pool_size* innodb_page_size*
         C innodb_master_thread_sleeps innodb_master_active_loops innodb_master_idle_loops
         innodb_background_drop_table_usec innodb_ibuf_merge_usec innodb_mem_validate_usec
         innodb_master_purge_usec innodb_dict_lru_usec innodb_dict_lru_count",
    ),
    ("file_system", "V file_num_open_files*"),
    (
        "log",
        "V log_lsn_last_flush log_lsn_last_checkpoint log_lsn_current log_lsn_archived
         log_lsn_checkpoint_age log_lsn_buf_dirty_pages_added log_lsn_buf_pool_oldest_approx
         log_lsn_buf_pool_oldest_lwm log_max_modified_age_async log_max_modified_age_sync
         S log_waits* log_write_requests* log_writes*
         C log_flush_total_time log_flush_max_time log_flush_avg_time log_flush_lsn_avg_rate
         log_full_block_writes log_partial_block_writes log_padded log_next_file
         log_checkpoints log_free_space log_concurrency_margin
         log_writer_no_waits log_writer_waits log_writer_wait_loops
         log_writer_on_file_space_waits log_writer_on_archiver_waits
         log_flusher_no_waits log_flusher_waits log_flusher_wait_loops
         log_write_notifier_no_waits log_write_notifier_waits log_write_notifier_wait_loops
         log_flush_notifier_no_waits log_flush_notifier_waits log_flush_notifier_wait_loops
         log_write_to_file_requests_interval
         log_on_write_no_waits log_on_write_waits log_on_write_wait_loops
         log_on_flush_no_waits log_on_flush_waits log_on_flush_wait_loops
         log_on_buffer_space_no_waits log_on_buffer_space_waits log_on_buffer_space_wait_loops
         log_on_file_space_no_waits log_on_file_space_waits log_on_file_space_wait_loops
         log_on_recent_written_wait_loops log_on_recent_closed_wait_loops",
    ),
    (
        "transaction",
        "C trx_rw_commits trx_ro_commits trx_nl_ro_commits trx_commits_insert_update
         trx_rollbacks trx_rollbacks_savepoint trx_rollback_active trx_active_transactions
         trx_allocations trx_undo_slots_used trx_undo_slots_cached
         trx_on_log_no_waits trx_on_log_waits trx_on_log_wait_loops
         V trx_rseg_history_len* trx_rseg_current_size",
    ),
    (
        "purge",
        "C purge_del_mark_records purge_upd_exist_or_extern_records purge_invoked
         purge_undo_log_pages purge_truncate_history_count purge_truncate_history_usec
         V purge_dml_delay_usec purge_stop_count purge_resume_count",
    ),
    (
        "lock",
        "C lock_deadlocks* lock_deadlock_false_positives* lock_deadlock_rounds*
         lock_timeouts* lock_rec_lock_waits lock_table_lock_waits lock_rec_lock_requests
         lock_rec_release_attempts* lock_rec_grant_attempts* lock_rec_lock_created
         lock_rec_lock_removed lock_rec_locks lock_table_lock_created lock_table_lock_removed
         lock_table_locks lock_schedule_refreshes*
         V lock_threads_waiting* lock_row_lock_time_max* lock_row_lock_time_avg*
         S lock_row_lock_current_waits* lock_row_lock_time* lock_row_lock_waits*",
    ),
    (
        "index",
        "C index_page_splits index_page_merge_attempts index_page_merge_successful
         index_page_reorg_attempts index_page_reorg_successful index_page_discards",
    ),
    ("dml", "S dml_reads dml_inserts* dml_deletes* dml_updates*"),
];

/// `SHOW GLOBAL STATUS`, without the prefix `Innodb_`.
const STATUS: &str = "
    buffer_pool_pages_data buffer_pool_bytes_data buffer_pool_pages_dirty
    buffer_pool_bytes_dirty buffer_pool_pages_flushed buffer_pool_pages_free
    buffer_pool_pages_misc buffer_pool_pages_total
    buffer_pool_read_ahead_rnd buffer_pool_read_ahead buffer_pool_read_ahead_evicted
    buffer_pool_read_requests buffer_pool_reads buffer_pool_wait_free
    buffer_pool_write_requests
    data_fsyncs data_pending_fsyncs data_pending_reads data_pending_writes data_read
    data_reads data_writes data_written
    dblwr_pages_written dblwr_writes
    log_waits log_write_requests log_writes
    os_log_fsyncs os_log_pending_fsyncs os_log_pending_writes os_log_written
    page_size pages_created pages_read pages_written
    row_lock_current_waits row_lock_time row_lock_time_avg row_lock_time_max row_lock_waits
    rows_inserted rows_updated rows_deleted rows_read
    num_open_files truncated_status_writes
    undo_tablespaces_total undo_tablespaces_implicit undo_tablespaces_explicit
    undo_tablespaces_active
    redo_log_checkpoint_lsn redo_log_current_lsn redo_log_flushed_to_disk_lsn
    redo_log_logical_size redo_log_physical_size redo_log_capacity_resized";

/// Name to subsystem, type and default.
fn known_metrics() -> BTreeMap<&'static str, (&'static str, MetricType, bool)> {
    let mut known = BTreeMap::new();
    for (subsystem, list) in METRICS {
        let mut metric_type = None;
        for word in list.split_whitespace() {
            match word {
                "V" => metric_type = Some(MetricType::Value),
                "S" => metric_type = Some(MetricType::StatusCounter),
                "O" => metric_type = Some(MetricType::SetOwner),
                "M" => metric_type = Some(MetricType::SetMember),
                "C" => metric_type = Some(MetricType::Counter),
                _ => {
                    let name = word.trim_end_matches('*');
                    let entry = (*subsystem, metric_type.unwrap(), word.ends_with('*'));
                    assert_eq!(known.insert(name, entry), None, "{name} is listed twice");
                }
            }
        }
    }
    known
}

#[test]
fn metrics_are_spelled_and_classed_as_innodb_does() {
    let known = known_metrics();
    for metric in registry::all().filter_map(|definition| definition.metric) {
        if metric.name.starts_with("innosim_") {
            assert!(!metric.enabled_by_default, "{}", metric.name);
            continue;
        }
        let ours = (
            metric.subsystem.name(),
            metric.metric_type,
            metric.enabled_by_default,
        );
        assert_eq!(known.get(metric.name), Some(&ours), "{}", metric.name);
    }
}

#[test]
fn status_variables_are_spelled_as_innodb_does() {
    let known: BTreeSet<&str> = STATUS.split_whitespace().collect();
    for name in registry::all().filter_map(|definition| definition.status_name) {
        let bare = name.strip_prefix("Innodb_").expect("the prefix");
        assert!(known.contains(bare), "{name}");
    }
}

#[test]
fn names_are_unique() {
    let mut names = BTreeSet::new();
    for definition in registry::all() {
        for name in [
            definition.status_name,
            definition.metric.map(|metric| metric.name),
        ] {
            assert!(
                name.is_none_or(|name| names.insert(name)),
                "{name:?} is there twice"
            );
        }
    }
}

/// A figure that no view shows would be kept for nothing, and one without a comment could
/// not be understood.
#[test]
fn every_figure_is_shown_and_explained() {
    for definition in registry::all() {
        assert!(
            definition.status_name.is_some() || definition.metric.is_some(),
            "{} has no name",
            definition.comment
        );
        assert!(!definition.comment.is_empty());
        assert_eq!(definition.comment, definition.comment.trim());
    }
}

/// A status counter mirrors a status variable; of InnoDB's, only the activity count is
/// called so without being one.
#[test]
fn status_counters_are_status_variables() {
    for definition in registry::all() {
        if let Some(metric) = definition.metric
            && metric.metric_type == MetricType::StatusCounter
            && definition.status_name.is_none()
        {
            assert_eq!(metric.name, "innodb_activity_count");
        }
    }
}

/// What the reports and the flush policies rely on.
#[test]
fn the_figures_of_the_reports_are_there() {
    let metrics: BTreeSet<_> = registry::all()
        .filter_map(|definition| Some(definition.metric?.name))
        .collect();
    for name in [
        "log_lsn_checkpoint_age",
        "trx_rseg_history_len",
        "buffer_pool_pages_dirty",
        "buffer_pool_pages_free",
        "buffer_flush_sync_waits",
        "lock_deadlocks",
        "lock_timeouts",
    ] {
        assert!(metrics.contains(name), "{name}");
    }
}
