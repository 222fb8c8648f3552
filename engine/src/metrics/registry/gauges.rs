//! What somebody sets.

use super::definition::{InnodbMetric, MetricDefinition, MetricType, Origin, Subsystem};

figures! {
    /// The last value that its one owner set: what the page cleaner decided, and
    /// averages over `innodb_flushing_avg_loops` rounds.
    pub enum Gauge;

    /// Pages that the last round was told to flush from flush lists
    FlushRequested: metric Buffer Counter off "buffer_flush_n_to_flush_requested";
    /// Pages that the growth of dirty pages asks for
    FlushByDirtyPage: metric Buffer Counter off "buffer_flush_n_to_flush_by_dirty_page";
    /// Pages that the speed of redo asks for
    FlushByAge: metric Buffer Counter off "buffer_flush_n_to_flush_by_age";
    /// Time of a flush-list batch of one instance, in milliseconds
    FlushAverageTimeSlot: metric Buffer Counter off "buffer_flush_adaptive_avg_time_slot";
    /// Time of an LRU batch of one instance, in milliseconds
    LruFlushAverageTimeSlot: metric Buffer Counter off "buffer_LRU_batch_flush_avg_time_slot";
    /// Time in flush-list batches of one cleaner in a round, in milliseconds
    FlushAverageTimeThread: metric Buffer Counter off "buffer_flush_adaptive_avg_time_thread";
    /// Time in LRU batches of one cleaner in a round, in milliseconds
    LruFlushAverageTimeThread:
        metric Buffer Counter off "buffer_LRU_batch_flush_avg_time_thread";
    /// Part of a round that goes to flush-list batches, in milliseconds
    FlushAverageTimeEstimate: metric Buffer Counter off "buffer_flush_adaptive_avg_time_est";
    /// Part of a round that goes to LRU batches, in milliseconds
    LruFlushAverageTimeEstimate:
        metric Buffer Counter off "buffer_LRU_batch_flush_avg_time_est";
    /// Time of a round, in milliseconds
    FlushAverageTime: metric Buffer Counter off "buffer_flush_avg_time";
    /// Flush-list batches of one instance in the period of averages
    FlushAveragePasses: metric Buffer Counter off "buffer_flush_adaptive_avg_pass";
    /// LRU batches of one instance in the period of averages
    LruFlushAveragePasses: metric Buffer Counter off "buffer_LRU_batch_flush_avg_pass";
    /// Rounds in the period of averages
    FlushAverageRounds: metric Buffer Counter off "buffer_flush_avg_pass";
    /// Pages flushed a second, averaged
    FlushAveragePageRate: metric Buffer Counter off "buffer_flush_avg_page_rate";
    /// Bytes of redo made a second, averaged
    FlushLsnAverageRate: metric Buffer Counter off "buffer_flush_lsn_avg_rate";
    /// Percent of innodb_io_capacity that the share of dirty pages asks for
    FlushPercentForDirty: metric Buffer Counter off "buffer_flush_pct_for_dirty";
    /// Percent of innodb_io_capacity that the age of redo asks for
    FlushPercentForLsn: metric Buffer Counter off "buffer_flush_pct_for_lsn";
    /// Longest redo flush in the period of averages, in milliseconds
    LogFlushMaximumTime: metric Log Counter off "log_flush_max_time";
    /// Mean redo flush in the period of averages, in milliseconds
    LogFlushAverageTime: metric Log Counter off "log_flush_avg_time";
    /// Bytes of redo flushed a second, averaged
    LogFlushLsnAverageRate: metric Log Counter off "log_flush_lsn_avg_rate";
    /// Delay that purge lag puts on a change of a row, in microseconds
    PurgeDmlDelayMicroseconds: metric Purge Value off "purge_dml_delay_usec";
}
