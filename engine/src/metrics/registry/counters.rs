//! What only grows.

use super::definition::{InnodbMetric, MetricDefinition, MetricType, Origin, Subsystem};

figures! {
    /// A count that only grows. Bumped where the event happens, at the price of one
    /// relaxed addition.
    pub enum Counter;

    // Buffer pool.

    /// Page gets, hits and misses
    BufferPoolReadRequests: status "Innodb_buffer_pool_read_requests",
        metric Buffer StatusCounter on "buffer_pool_read_requests";
    /// Pages that the user of the page had to read
    BufferPoolReads: status "Innodb_buffer_pool_reads",
        metric Buffer StatusCounter on "buffer_pool_reads";
    /// Pages that mini-transactions noted as modified
    BufferPoolWriteRequests: status "Innodb_buffer_pool_write_requests",
        metric Buffer StatusCounter on "buffer_pool_write_requests";
    /// Rounds of the search for a free page that found none at hand
    BufferPoolWaitFree: status "Innodb_buffer_pool_wait_free",
        metric Buffer StatusCounter on "buffer_pool_wait_free";
    /// Pages read by linear read-ahead
    BufferPoolReadAhead: status "Innodb_buffer_pool_read_ahead",
        metric Buffer StatusCounter on "buffer_pool_read_ahead";
    /// Pages read by random read-ahead
    BufferPoolReadAheadRandom: status "Innodb_buffer_pool_read_ahead_rnd";
    /// Pages that read-ahead brought and that left without a use
    BufferPoolReadAheadEvicted: status "Innodb_buffer_pool_read_ahead_evicted",
        metric Buffer StatusCounter on "buffer_pool_read_ahead_evicted";
    /// Pages that flush batches and single-page flushes asked to write
    BufferPoolPagesFlushed: status "Innodb_buffer_pool_pages_flushed";
    /// Pages created in the pool without a read
    PagesCreated: status "Innodb_pages_created",
        metric Buffer StatusCounter on "buffer_pages_created";
    /// Pages read, by users and by read-ahead
    PagesRead: status "Innodb_pages_read",
        metric Buffer StatusCounter on "buffer_pages_read";
    /// Pages written to their own place
    PagesWritten: status "Innodb_pages_written",
        metric Buffer StatusCounter on "buffer_pages_written";
    /// Searches for a free page
    LruGetFreeSearches: metric BufferCapital Counter off "buffer_LRU_get_free_search";
    /// Rounds of such searches in which the free list was empty
    LruGetFreeLoops: metric Buffer Counter off "buffer_LRU_get_free_loops";
    /// Sleeps in such searches
    LruGetFreeWaits: metric Buffer Counter off "buffer_LRU_get_free_waits";
    /// Single-page flushes that found no page to flush
    LruSingleFlushFailures:
        metric BufferCapital Counter off "buffer_LRU_single_flush_failure_count";

    // Pages by type.

    /// Leaf pages of indexes read
    IndexLeafPagesRead: metric BufferPageIo Counter off "buffer_page_read_index_leaf";
    /// Upper pages of indexes read
    IndexNonLeafPagesRead: metric BufferPageIo Counter off "buffer_page_read_index_non_leaf";
    /// Undo pages read
    UndoLogPagesRead: metric BufferPageIo Counter off "buffer_page_read_undo_log";
    /// Pages of segment inodes read
    InodePagesRead: metric BufferPageIo Counter off "buffer_page_read_index_inode";
    /// Change buffer bitmaps read: the format has them though nothing is buffered
    ChangeBufferBitmapPagesRead: metric BufferPageIo Counter off "buffer_page_read_ibuf_bitmap";
    /// System pages read, such as headers of rollback segments
    SystemPagesRead: metric BufferPageIo Counter off "buffer_page_read_system_page";
    /// Transaction system pages read
    TransactionSystemPagesRead: metric BufferPageIo Counter off "buffer_page_read_trx_system";
    /// Tablespace headers read
    SpaceHeaderPagesRead: metric BufferPageIo Counter off "buffer_page_read_fsp_hdr";
    /// Pages of extent descriptors read
    ExtentDescriptorPagesRead: metric BufferPageIo Counter off "buffer_page_read_xdes";
    /// Directories of rollback segments read
    RollbackSegmentArrayPagesRead: metric BufferPageIo Counter off "buffer_page_read_rseg_array";
    /// Pages of any other type read
    OtherPagesRead: metric BufferPageIo Counter off "buffer_page_read_other";
    /// Leaf pages of indexes written
    IndexLeafPagesWritten: metric BufferPageIo Counter off "buffer_page_written_index_leaf";
    /// Upper pages of indexes written
    IndexNonLeafPagesWritten: metric BufferPageIo Counter off "buffer_page_written_index_non_leaf";
    /// Undo pages written
    UndoLogPagesWritten: metric BufferPageIo Counter off "buffer_page_written_undo_log";
    /// Pages of segment inodes written
    InodePagesWritten: metric BufferPageIo Counter off "buffer_page_written_index_inode";
    /// Change buffer bitmaps written
    ChangeBufferBitmapPagesWritten:
        metric BufferPageIo Counter off "buffer_page_written_ibuf_bitmap";
    /// System pages written
    SystemPagesWritten: metric BufferPageIo Counter off "buffer_page_written_system_page";
    /// Transaction system pages written
    TransactionSystemPagesWritten: metric BufferPageIo Counter off "buffer_page_written_trx_system";
    /// Tablespace headers written
    SpaceHeaderPagesWritten: metric BufferPageIo Counter off "buffer_page_written_fsp_hdr";
    /// Pages of extent descriptors written
    ExtentDescriptorPagesWritten: metric BufferPageIo Counter off "buffer_page_written_xdes";
    /// Directories of rollback segments written
    RollbackSegmentArrayPagesWritten:
        metric BufferPageIo Counter off "buffer_page_written_rseg_array";
    /// Pages of any other type written
    OtherPagesWritten: metric BufferPageIo Counter off "buffer_page_written_other";

    // Flushing and doublewrite.

    /// Waits of users for a sync flush
    FlushSyncWaits: metric Buffer Counter off "buffer_flush_sync_waits";
    /// Pages written to the doublewrite area by batches
    DoublewritePagesWritten: status "Innodb_dblwr_pages_written",
        metric Server StatusCounter on "innodb_dblwr_pages_written";
    /// Batches written to the doublewrite area
    DoublewriteWrites: status "Innodb_dblwr_writes",
        metric Server StatusCounter on "innodb_dblwr_writes";
    /// Pages queued for a doublewrite batch
    DoublewriteAsyncRequests: metric Doublewrite Counter off "dblwr_async_requests";
    /// Pages of single-page flushes doublewritten
    DoublewriteSyncRequests: metric Doublewrite Counter off "dblwr_sync_requests";
    /// Attempts to write a doublewrite batch that went ahead
    DoublewriteFlushRequests: metric Doublewrite Counter off "dblwr_flush_requests";
    /// Attempts that had to wait for the batch before
    DoublewriteFlushWaitEvents: metric Doublewrite Counter off "dblwr_flush_wait_events";

    // Redo.

    /// Waits for room in the log buffer
    LogWaits: status "Innodb_log_waits", metric Log StatusCounter on "log_waits";
    /// Mini-transactions that wrote redo
    LogWriteRequests: status "Innodb_log_write_requests",
        metric Log StatusCounter on "log_write_requests";
    /// Writes of redo to the files
    LogWrites: status "Innodb_log_writes", metric Log StatusCounter on "log_writes";
    /// Bytes of redo written to the files, padding and rewritten blocks included
    LogBytesWritten: status "Innodb_os_log_written",
        metric Os StatusCounter on "os_log_bytes_written";
    /// Writes of whole redo blocks
    LogFullBlockWrites: metric Log Counter off "log_full_block_writes";
    /// Writes of a redo block that was not full
    LogPartialBlockWrites: metric Log Counter off "log_partial_block_writes";
    /// Bytes of padding written ahead of redo
    LogPaddedBytes: metric Log Counter off "log_padded";
    /// Redo files begun after another one was full
    LogNextFile: metric Log Counter off "log_next_file";
    /// Checkpoints written
    LogCheckpoints: metric Log Counter off "log_checkpoints";
    /// Stops of the log writer for room in the files
    LogWriterFileSpaceWaits: metric Log Counter off "log_writer_on_file_space_waits";
    /// Rounds of waiting for room in the list of copied redo
    LogRecentWrittenWaitLoops: metric Log Counter off "log_on_recent_written_wait_loops";
    /// Rounds of waiting for room in the list of redo whose dirty pages are listed
    LogRecentClosedWaitLoops: metric Log Counter off "log_on_recent_closed_wait_loops";

    // Transactions and purge.

    /// What tells a busy server from an idle one: commits with writes, and work of undo
    ActivityCount: metric Server StatusCounter on "innodb_activity_count";
    /// Commits of read-write transactions
    ReadWriteCommits: metric Transaction Counter off "trx_rw_commits";
    /// Commits of read-only transactions of several statements
    ReadOnlyCommits: metric Transaction Counter off "trx_ro_commits";
    /// Commits of single non-locking selects under autocommit
    NonLockingReadOnlyCommits: metric Transaction Counter off "trx_nl_ro_commits";
    /// Commits of transactions that wrote undo
    CommitsWithChanges: metric Transaction Counter off "trx_commits_insert_update";
    /// Transactions rolled back
    Rollbacks: metric Transaction Counter off "trx_rollbacks";
    /// Read views opened, those included that were closed and still good (not InnoDB's)
    ReadViewsOpened: metric Transaction Counter off "innosim_read_views_opened";
    /// Walks of the transaction list in search of one id, up to 5.6 (not InnoDB's)
    ImplicitLockWalks: metric Transaction Counter off "innosim_implicit_lock_walks";
    /// Delete-marked rows that purge removed
    PurgeDeleteMarkedRecords: metric Purge Counter off "purge_del_mark_records";
    /// Undo records of updates that purge worked off
    PurgeUpdatedRecords: metric Purge Counter off "purge_upd_exist_or_extern_records";
    /// Batches of purge
    PurgeInvoked: metric Purge Counter off "purge_invoked";
    /// Undo pages that purge worked off
    PurgeUndoLogPages: metric Purge Counter off "purge_undo_log_pages";
    /// Times the history was cut
    PurgeTruncateHistoryCount: metric Purge Counter off "purge_truncate_history_count";
    /// Time spent in cutting it, in microseconds
    PurgeTruncateHistoryMicroseconds: metric Purge Counter off "purge_truncate_history_usec";

    // Locks.

    /// Deadlocks resolved
    Deadlocks: metric Lock Counter on "lock_deadlocks";
    /// Searches of the wait-for graph
    DeadlockRounds: metric Lock Counter on "lock_deadlock_rounds";
    /// Waits for locks that took too long
    LockTimeouts: metric Lock Counter on "lock_timeouts";
    /// Record locks that had to be waited for
    RecordLockWaits: metric Lock Counter off "lock_rec_lock_waits";
    /// Table locks that had to be waited for
    TableLockWaits: metric Lock Counter off "lock_table_lock_waits";
    /// Record locks asked for
    RecordLockRequests: metric Lock Counter off "lock_rec_lock_requests";
    /// Attempts to release a record lock
    RecordLockReleaseAttempts: metric Lock Counter on "lock_rec_release_attempts";
    /// Attempts to grant a record lock to a waiter
    RecordLockGrantAttempts: metric Lock Counter on "lock_rec_grant_attempts";
    /// Record lock objects made
    RecordLocksCreated: metric Lock Counter off "lock_rec_lock_created";
    /// Record lock objects removed
    RecordLocksRemoved: metric Lock Counter off "lock_rec_lock_removed";
    /// Table locks made
    TableLocksCreated: metric Lock Counter off "lock_table_lock_created";
    /// Table locks removed
    TableLocksRemoved: metric Lock Counter off "lock_table_lock_removed";
    /// Waits for row locks, counted as they begin
    RowLockWaits: status "Innodb_row_lock_waits",
        metric Lock StatusCounter on "lock_row_lock_waits";

    // B-trees.

    /// Pages split
    PageSplits: metric Index Counter off "index_page_splits";
    /// Attempts to merge a page with a neighbour
    PageMergeAttempts: metric Index Counter off "index_page_merge_attempts";
    /// Such attempts that succeeded
    PageMergesSuccessful: metric Index Counter off "index_page_merge_successful";
    /// Attempts to reorganise a page
    PageReorganiseAttempts: metric Index Counter off "index_page_reorg_attempts";
    /// Such attempts that succeeded
    PageReorganisesSuccessful: metric Index Counter off "index_page_reorg_successful";
    /// Empty pages taken out of their tree
    PageDiscards: metric Index Counter off "index_page_discards";

    // Rows.

    /// Rows read
    RowsRead: status "Innodb_rows_read", metric Dml StatusCounter off "dml_reads";
    /// Rows inserted
    RowsInserted: status "Innodb_rows_inserted", metric Dml StatusCounter on "dml_inserts";
    /// Rows updated
    RowsUpdated: status "Innodb_rows_updated", metric Dml StatusCounter on "dml_updates";
    /// Rows deleted
    RowsDeleted: status "Innodb_rows_deleted", metric Dml StatusCounter on "dml_deletes";
}
