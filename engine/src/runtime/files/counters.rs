//! What is counted of file I/O, per kind of file, as performance_schema's table
//! `file_summary_by_event_name` shows it.
//!
//! As there, a synchronous request counts with the time until it was complete, an
//! asynchronous one with the time of its *submission*: InnoDB opens and closes the
//! instrument around the call that submits. How long asynchronous requests really
//! took is counted by [`AsyncIo`](super::AsyncIo).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::kind::FileKind;
use crate::runtime::time::Time;

/// What is counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    Read,
    Write,
    Sync,
}

#[derive(Debug, Default)]
struct Sum {
    count: AtomicU64,
    time: AtomicU64,
    bytes: AtomicU64,
}

/// The running counts, one set for each kind of file.
#[derive(Debug, Default)]
pub(super) struct FileCounters {
    sums: [[Sum; 3]; FileKind::COUNT],
}

impl FileCounters {
    pub(super) fn count(&self, kind: FileKind, activity: Activity, time: Time, bytes: u64) {
        let sum = &self.sums[kind as usize][activity as usize];
        sum.count.fetch_add(1, Relaxed);
        sum.time.fetch_add(time, Relaxed);
        sum.bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn snapshot(&self) -> FileStatistics {
        let read = |kind: FileKind, activity: Activity| {
            let sum = &self.sums[kind as usize][activity as usize];
            OperationStatistics {
                count: sum.count.load(Relaxed),
                time: sum.time.load(Relaxed),
                bytes: sum.bytes.load(Relaxed),
            }
        };
        FileStatistics {
            kinds: FileKind::ALL.map(|kind| KindStatistics {
                reads: read(kind, Activity::Read),
                writes: read(kind, Activity::Write),
                syncs: read(kind, Activity::Sync),
            }),
        }
    }
}

/// Counts of one kind of operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationStatistics {
    /// Requests of the engine, however many the device made of them.
    pub count: u64,
    /// Their time, in picoseconds.
    pub time: Time,
    /// Their bytes; 0 for a sync.
    pub bytes: u64,
}

/// Counts of one kind of file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindStatistics {
    /// Reads.
    pub reads: OperationStatistics,
    /// Writes.
    pub writes: OperationStatistics,
    /// Syncs (performance_schema counts them in its column MISC).
    pub syncs: OperationStatistics,
}

/// The counts of all kinds of file at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileStatistics {
    kinds: [KindStatistics; FileKind::COUNT],
}

impl FileStatistics {
    /// The counts of one kind.
    pub fn kind(&self, kind: FileKind) -> &KindStatistics {
        &self.kinds[kind as usize]
    }
}
