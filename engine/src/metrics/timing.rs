//! Times inside the engine of which the distribution matters, not only the sum.

named_enum! {
    /// What is timed, in the order of data flow. Each has its own
    /// [`LatencyHistogram`](super::LatencyHistogram).
    pub enum Timing;
    /// The name in reports.
    fn name;

    /// A read of a page, from the request to the page's arrival.
    PageRead = "page_read";
    /// A write of a page to its own place.
    PageWrite = "page_write";
    /// A write of a batch to the doublewrite area.
    DoublewriteWrite = "doublewrite_write";
    /// A flush of the doublewrite area.
    DoublewriteSync = "doublewrite_sync";
    /// A write of redo to its file.
    RedoWrite = "redo_write";
    /// A flush of a redo file.
    RedoSync = "redo_sync";
    /// A wait for a row lock.
    RowLockWait = "row_lock_wait";
    /// From the first change of a clean page to the end of its write.
    DirtyToFlush = "dirty_to_flush";
    /// A round of the page cleaner, from the request to the last instance.
    CleanerRound = "cleaner_round";
}
