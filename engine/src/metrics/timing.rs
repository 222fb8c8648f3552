//! Times inside the engine of which the distribution matters, not only the sum.

/// What is timed. Each has its own [`LatencyHistogram`](super::LatencyHistogram).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timing {
    /// A read of a page, from the request to the page's arrival.
    PageRead,
    /// A write of a page to its own place.
    PageWrite,
    /// A write of a batch to the doublewrite area.
    DoublewriteWrite,
    /// A flush of the doublewrite area.
    DoublewriteSync,
    /// A write of redo to its file.
    RedoWrite,
    /// A flush of a redo file.
    RedoSync,
    /// A wait for a row lock.
    RowLockWait,
    /// From the first change of a clean page to the end of its write.
    DirtyToFlush,
    /// A round of the page cleaner, from the request to the last instance.
    CleanerRound,
}

impl Timing {
    /// Every one, in the order of data flow.
    pub const ALL: &[Self] = &[
        Timing::PageRead,
        Timing::PageWrite,
        Timing::DoublewriteWrite,
        Timing::DoublewriteSync,
        Timing::RedoWrite,
        Timing::RedoSync,
        Timing::RowLockWait,
        Timing::DirtyToFlush,
        Timing::CleanerRound,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Timing::PageRead => "page_read",
            Timing::PageWrite => "page_write",
            Timing::DoublewriteWrite => "doublewrite_write",
            Timing::DoublewriteSync => "doublewrite_sync",
            Timing::RedoWrite => "redo_write",
            Timing::RedoSync => "redo_sync",
            Timing::RowLockWait => "row_lock_wait",
            Timing::DirtyToFlush => "dirty_to_flush",
            Timing::CleanerRound => "cleaner_round",
        }
    }
}
