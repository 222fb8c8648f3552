//! What is counted a call: sets of a total with its calls, and families of waits.

use super::definition::{
    InnodbMetric, MetricDefinition, MetricType, Origin, SetMember, Subsystem, WaitMember,
};

/// The definition of one member of a set or of a family.
const fn member(
    subsystem: Subsystem,
    metric_type: MetricType,
    name: &'static str,
    comment: &'static str,
    origin: Origin,
) -> MetricDefinition {
    MetricDefinition {
        status_name: None,
        metric: Some(InnodbMetric {
            name,
            subsystem,
            metric_type,
            enabled_by_default: false,
        }),
        comment: comment.trim_ascii_start(),
        origin,
    }
}

/// Sets: the names of total, calls and share of a call. All are of subsystem `buffer`
/// and off by default.
macro_rules! sets {
    ($(
        #[doc = $comment:literal]
        $name:ident: $total:literal, $calls:literal, $per_call:literal;
    )*) => {
        /// A set of `INNODB_METRICS`: what calls added up to, how many calls there were,
        /// and the mean, largest and smallest of a call. (InnoDB shows the last call's
        /// figure for the mean: of a window that says nothing.)
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Set {
            $( #[doc = $comment] $name, )*
        }

        enumerated!(Set: $($name),*);

        pub(super) static SET_DEFINITIONS: &[MetricDefinition] = &[
            $(
                member(
                    Subsystem::Buffer,
                    MetricType::SetOwner,
                    $total,
                    $comment,
                    Origin::Set(Set::$name, SetMember::Total),
                ),
                member(
                    Subsystem::Buffer,
                    MetricType::SetMember,
                    $calls,
                    concat!($comment, ": number of calls"),
                    Origin::Set(Set::$name, SetMember::Calls),
                ),
                member(
                    Subsystem::Buffer,
                    MetricType::SetMember,
                    $per_call,
                    concat!($comment, ": mean of a call"),
                    Origin::Set(Set::$name, SetMember::PerCall),
                ),
            )*
        ];
    };
}

sets! {
    /// Pages scanned by flush-list batches
    FlushBatchScanned: "buffer_flush_batch_scanned", "buffer_flush_batch_num_scan",
        "buffer_flush_batch_scanned_per_call";
    /// Pages flushed by flush-list batches
    FlushBatchPages: "buffer_flush_batch_total_pages", "buffer_flush_batches",
        "buffer_flush_batch_pages";
    /// Pages flushed because their neighbour was
    FlushNeighborPages: "buffer_flush_neighbor_total_pages", "buffer_flush_neighbor",
        "buffer_flush_neighbor_pages";
    /// Pages flushed from flush lists in rounds of a busy server
    FlushAdaptivePages: "buffer_flush_adaptive_total_pages", "buffer_flush_adaptive",
        "buffer_flush_adaptive_pages";
    /// Pages flushed in rounds that redo was waiting for
    FlushSyncPages: "buffer_flush_sync_total_pages", "buffer_flush_sync",
        "buffer_flush_sync_pages";
    /// Pages flushed in rounds of an idle server
    FlushBackgroundPages: "buffer_flush_background_total_pages", "buffer_flush_background",
        "buffer_flush_background_pages";
    /// Pages scanned by LRU batches
    LruBatchScanned: "buffer_LRU_batch_scanned", "buffer_LRU_batch_num_scan",
        "buffer_LRU_batch_scanned_per_call";
    /// Pages flushed by LRU batches
    LruBatchFlushPages: "buffer_LRU_batch_flush_total_pages", "buffer_LRU_batches_flush",
        "buffer_LRU_batch_flush_pages";
    /// Clean pages evicted by LRU batches
    LruBatchEvictPages: "buffer_LRU_batch_evict_total_pages", "buffer_LRU_batches_evict",
        "buffer_LRU_batch_evict_pages";
    /// Pages scanned by single-page flushes
    LruSingleFlushScanned: "buffer_LRU_single_flush_scanned", "buffer_LRU_single_flush_num_scan",
        "buffer_LRU_single_flush_scanned_per_call";
    /// Pages scanned by users who look for a clean page
    LruSearchScanned: "buffer_LRU_search_scanned", "buffer_LRU_search_num_scan",
        "buffer_LRU_search_scanned_per_call";
}

/// Families of waits: `X_no_waits`, `X_waits`, `X_wait_loops`, off by default.
macro_rules! wait_families {
    ($(
        #[doc = $comment:literal]
        $name:ident: $subsystem:ident $family:literal;
    )*) => {
        /// A place where a thread may have to wait: how often it need not, how often it
        /// had to, and how many rounds the waits took. InnoDB has these from 8.0.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum WaitFamily {
            $( #[doc = $comment] $name, )*
        }

        enumerated!(WaitFamily: $($name),*);

        pub(super) static WAIT_DEFINITIONS: &[MetricDefinition] = &[
            $(
                member(
                    Subsystem::$subsystem,
                    MetricType::Counter,
                    concat!($family, "_no_waits"),
                    concat!($comment, ": what was wanted was there"),
                    Origin::Wait(WaitFamily::$name, WaitMember::NoWaits),
                ),
                member(
                    Subsystem::$subsystem,
                    MetricType::Counter,
                    concat!($family, "_waits"),
                    concat!($comment, ": waits"),
                    Origin::Wait(WaitFamily::$name, WaitMember::Waits),
                ),
                member(
                    Subsystem::$subsystem,
                    MetricType::Counter,
                    concat!($family, "_wait_loops"),
                    concat!($comment, ": rounds of these waits"),
                    Origin::Wait(WaitFamily::$name, WaitMember::WaitLoops),
                ),
            )*
        ];
    };
}

wait_families! {
    /// The log writer waits for redo to write
    LogWriter: Log "log_writer";
    /// The log flusher waits for redo to flush
    LogFlusher: Log "log_flusher";
    /// The notifier of users that wait for a write waits for a write
    LogWriteNotifier: Log "log_write_notifier";
    /// The notifier of users that wait for a flush waits for a flush
    LogFlushNotifier: Log "log_flush_notifier";
    /// A user waits for redo to be written
    LogOnWrite: Log "log_on_write";
    /// A user waits for redo to be flushed
    LogOnFlush: Log "log_on_flush";
    /// A user waits for room in the log buffer
    LogOnBufferSpace: Log "log_on_buffer_space";
    /// A user waits for room in the redo files
    LogOnFileSpace: Log "log_on_file_space";
    /// A commit waits for its redo
    TransactionOnLog: Transaction "trx_on_log";
    /// A page that is to be written waits for its redo
    PageWrittenOnLog: BufferPageIo "buffer_page_written_on_log";
}
