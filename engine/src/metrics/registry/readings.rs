//! What is asked for when a snapshot is taken: lengths of lists, sizes and LSNs, which
//! their owners keep anyway.

use super::definition::{InnodbMetric, MetricDefinition, MetricType, Origin, Subsystem};

figures! {
    /// A value that the engine gives at a snapshot, through
    /// [`ValueSource`](crate::metrics::ValueSource).
    pub enum Reading;

    // Buffer pool.

    /// Size of the buffer pool, in bytes
    BufferPoolBytes: metric Server Value on "buffer_pool_size";
    /// Size of a page, in bytes
    PageSize: status "Innodb_page_size", metric Server Value on "innodb_page_size";
    /// Pages of the buffer pool
    BufferPoolPagesTotal: status "Innodb_buffer_pool_pages_total",
        metric Buffer Value on "buffer_pool_pages_total";
    /// Pages that hold data: the length of the LRU lists
    BufferPoolPagesData: status "Innodb_buffer_pool_pages_data",
        metric Buffer Value on "buffer_pool_pages_data";
    /// Modified pages: the length of the flush lists
    BufferPoolPagesDirty: status "Innodb_buffer_pool_pages_dirty",
        metric Buffer Value on "buffer_pool_pages_dirty";
    /// Pages on the free lists
    BufferPoolPagesFree: status "Innodb_buffer_pool_pages_free",
        metric Buffer Value on "buffer_pool_pages_free";

    // Files.

    /// Tablespace files that are open
    OpenFiles: status "Innodb_num_open_files",
        metric FileSystem Value on "file_num_open_files";

    // Redo: LSNs and bytes of redo.

    /// LSN of the newest redo
    LsnCurrent: status "Innodb_redo_log_current_lsn", metric Log Value off "log_lsn_current";
    /// LSN up to which redo is flushed
    LsnFlushed: status "Innodb_redo_log_flushed_to_disk_lsn",
        metric Log Value off "log_lsn_last_flush";
    /// LSN of the last checkpoint
    LsnCheckpoint: status "Innodb_redo_log_checkpoint_lsn",
        metric Log Value off "log_lsn_last_checkpoint";
    /// LSN up to which all modified pages are on flush lists
    LsnDirtyPagesAdded: metric Log Value off "log_lsn_buf_dirty_pages_added";
    /// LSN of the oldest modification on the flush lists, about
    LsnOldestModification: metric Log Value off "log_lsn_buf_pool_oldest_approx";
    /// LSN below which no page on a flush list was modified
    LsnOldestModificationBound: metric Log Value off "log_lsn_buf_pool_oldest_lwm";
    /// Age of the oldest modification at which flushing turns urgent, in bytes of redo
    MaximumModifiedAgeAsync: metric Log Value off "log_max_modified_age_async";
    /// Age of the oldest modification at which sync flushing begins, in bytes of redo
    MaximumModifiedAgeSync: metric Log Value off "log_max_modified_age_sync";
    /// Room left in the redo files, in bytes; negative in an emergency
    LogFreeSpace: metric Log Counter off "log_free_space";
    /// Room kept for what running mini-transactions may still write, in bytes
    LogConcurrencyMargin: metric Log Counter off "log_concurrency_margin";
    /// Bytes of redo that recovery would need, in whole blocks
    RedoLogicalSize: status "Innodb_redo_log_logical_size";
    /// Bytes of the redo files in use
    RedoPhysicalSize: status "Innodb_redo_log_physical_size";
    /// Redo capacity in force, in bytes
    RedoCapacity: status "Innodb_redo_log_capacity_resized";

    // Transactions.

    /// Transactions whose undo is not purged
    HistoryListLength: metric Transaction Value on "trx_rseg_history_len";
    /// Pages of the rollback segments
    RollbackSegmentPages: metric Transaction Value off "trx_rseg_current_size";
}
