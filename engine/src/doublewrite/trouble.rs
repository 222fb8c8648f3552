//! Writes that fail: what is remembered of them, and what is done about them.
//!
//! A write that fails loses nothing: its page is given back to the pool unwritten, stays
//! dirty, and is written again by a later flush. (InnoDB repeats some writes on the spot
//! and ends the server if that does not help.) What is wrong is kept until a write of the
//! same kind succeeds, for the page cleaner, which slows down meanwhile, and for the user.
//!
//! A *flush* that fails is worse: the pages are clean already, and no later success says
//! that their bytes are on the medium. So that stays, and the engine must not checkpoint.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::runtime::files::FileError;
use crate::runtime::time::Time;
use crate::runtime::{LatchClass, Mutex, now};
use crate::tablespace::TablespaceError;

/// Which step of a page's way failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedStep {
    /// The write of a batch, a slot or a record to a doublewrite file.
    CopyWrite,
    /// The flush of a doublewrite file.
    CopyFlush,
    /// The write of a page to its own place.
    DataWrite,
    /// The flush of a data file.
    DataFlush,
}

/// What is wrong with the writes just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteTrouble {
    /// When it began.
    pub since: Time,
    /// Failures since then.
    pub failures: u64,
    /// What failed last.
    pub step: FailedStep,
    /// The last error: file, operation, and the system's reason.
    pub message: String,
    /// Whether the device, or a quota, is full.
    pub is_out_of_space: bool,
}

impl WriteTrouble {
    /// Whether data that was taken for durable may be lost: a flush of data files failed.
    /// This does not pass.
    pub fn is_durability_lost(&self) -> bool {
        self.step == FailedStep::DataFlush
    }
}

/// An error of a file, wherever it comes from.
pub(super) trait FailedFile: Error {
    fn is_out_of_space(&self) -> bool;
}

impl FailedFile for FileError {
    fn is_out_of_space(&self) -> bool {
        FileError::is_out_of_space(self)
    }
}

impl FailedFile for TablespaceError {
    fn is_out_of_space(&self) -> bool {
        matches!(self, TablespaceError::File(error) if error.is_out_of_space())
    }
}

/// What has failed.
#[derive(Debug)]
pub(super) struct Trouble {
    present: Mutex<Option<WriteTrouble>>,
    /// Failures in all; so that the usual case, 0, needs no latch.
    total: AtomicU64,
}

impl Trouble {
    pub(super) fn new() -> Self {
        Trouble {
            present: Mutex::new(LatchClass::Plain, None),
            total: AtomicU64::new(0),
        }
    }

    pub(super) fn present(&self) -> Option<WriteTrouble> {
        self.present.lock().clone()
    }

    pub(super) fn total(&self) -> u64 {
        self.total.load(Relaxed)
    }

    /// A step has failed.
    #[cold]
    pub(super) fn failed(&self, step: FailedStep, error: &impl FailedFile) {
        let mut present = self.present.lock();
        self.total.fetch_add(1, Relaxed);
        let before = present.take();
        if let Some(trouble) = before.as_ref()
            && trouble.is_durability_lost()
        {
            let failures = trouble.failures + 1;
            *present = before.map(|trouble| WriteTrouble {
                failures,
                ..trouble
            });
            return;
        }
        *present = Some(WriteTrouble {
            since: before.as_ref().map_or_else(now, |trouble| trouble.since),
            failures: before.map_or(0, |trouble| trouble.failures) + 1,
            step,
            message: error.to_string(),
            is_out_of_space: error.is_out_of_space(),
        });
    }

    /// A step has succeeded: if it is what failed last, the trouble is over.
    #[inline]
    pub(super) fn succeeded(&self, step: FailedStep) {
        if self.total() > 0 {
            self.clear(step);
        }
    }

    #[cold]
    fn clear(&self, step: FailedStep) {
        let mut present = self.present.lock();
        if let Some(trouble) = &*present
            && trouble.step == step
            && !trouble.is_durability_lost()
        {
            *present = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;
    use crate::runtime::files::Operation;

    fn error(kind: ErrorKind) -> FileError {
        FileError::Failed {
            path: "t1.ibd".into(),
            operation: Operation::Sync,
            source: Error::from(kind),
        }
    }

    #[test]
    fn a_success_of_the_same_step_clears_the_trouble() {
        let trouble = Trouble::new();
        assert_eq!(trouble.present(), None);
        trouble.failed(FailedStep::DataWrite, &error(ErrorKind::StorageFull));
        trouble.failed(FailedStep::DataWrite, &error(ErrorKind::StorageFull));
        let present = trouble.present().unwrap();
        assert_eq!((present.failures, present.is_out_of_space), (2, true));
        assert!(present.message.starts_with("cannot sync t1.ibd: "));
        trouble.succeeded(FailedStep::CopyWrite);
        assert!(trouble.present().is_some(), "another step");
        trouble.succeeded(FailedStep::DataWrite);
        assert_eq!((trouble.present(), trouble.total()), (None, 2));
    }

    #[test]
    fn a_failed_flush_of_data_stays() {
        let trouble = Trouble::new();
        let lost = TablespaceError::File(error(ErrorKind::Other));
        trouble.failed(FailedStep::DataFlush, &lost);
        trouble.failed(FailedStep::DataWrite, &error(ErrorKind::StorageFull));
        trouble.succeeded(FailedStep::DataFlush);
        trouble.succeeded(FailedStep::DataWrite);
        let present = trouble.present().unwrap();
        assert!(present.is_durability_lost() && !present.is_out_of_space);
        assert_eq!(present.failures, 2);
    }
}
