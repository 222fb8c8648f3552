//! What the pool asks of the layers above it, as traits that they implement.
//!
//! ```text
//!   note_modified ... page is chosen --> WriteAheadLog --> PageSink --> complete_write
//!                     (flush_batch)      its redo is       doublewrite,  clean, latch
//!                                        durable           data file     off, evicted?
//! ```
//!
//! * No page leaves before its redo is durable: the pool asks the [`WriteAheadLog`].
//! * How a page gets to its file is the [`PageSink`]'s business: by way of the
//!   doublewrite buffer, or directly.
//! * Whoever sees the end of the data write gives the page back by
//!   [`BufferPool::complete_write`].

use std::fmt;
use std::sync::{Arc, Weak};

use super::pool::BufferPool;
use crate::page::{Lsn, PageId};
use crate::runtime::Held;
use crate::runtime::files::Image;

/// Why a page is written; three kinds of flush are counted and limited apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FlushKind {
    /// An LRU batch of the page cleaner, which wants free frames. The page is evicted
    /// when it is written.
    Lru,
    /// A flush-list batch, which makes old redo unnecessary. The page stays.
    List,
    /// A thread that needs a frame and found none. The page is evicted when it is
    /// written.
    SinglePage,
}

impl FlushKind {
    /// All kinds.
    pub const ALL: [FlushKind; 3] = [FlushKind::Lru, FlushKind::List, FlushKind::SinglePage];

    /// Whether the page leaves the pool when it is written.
    pub const fn evicts(self) -> bool {
        !matches!(self, FlushKind::List)
    }
}

/// The redo log, as the pool sees it.
pub trait WriteAheadLog: Send + Sync {
    /// Makes all redo up to `lsn` durable; waits for it.
    fn flush_up_to(&self, lsn: Lsn);

    /// The LSN up to which redo is durable.
    fn flushed_lsn(&self) -> Lsn;

    /// The end of all redo. A page in a file that is newer is of another time than the log.
    fn end_lsn(&self) -> Lsn;
}

/// Where pages go that are to be written.
pub trait PageSink: Send + Sync {
    /// Takes over a page of an LRU or flush-list batch. It may be queued; it must reach
    /// its data file after an [`end_of_batch`](PageSink::end_of_batch) at the latest.
    fn write(&self, page: FlushedPage);

    /// Takes over a page of a single-page flush, and returns when it is in its data file
    /// and has been given back.
    fn write_single(&self, page: FlushedPage);

    /// Sends off what is queued of the batch. Called at the end of a batch, and before
    /// the flusher waits for a page latch, whose holder might wait for a page that is
    /// still queued.
    fn end_of_batch(&self, kind: FlushKind, instance: usize);

    /// Waits until no write that was taken over is under way.
    fn wait_for_pending(&self);
}

/// The layers above the pool.
#[derive(Clone)]
pub struct PoolHooks {
    /// The redo log.
    pub write_ahead_log: Arc<dyn WriteAheadLog>,
    /// Where pages go that are to be written.
    pub page_sink: Arc<dyn PageSink>,
}

/// A page on its way to its file.
///
/// Its redo is durable, its image is stamped with LSN and checksum, and under
/// `innosim_flush_latch=full` its latch is held. It must end in
/// [`BufferPool::complete_write`] or [`BufferPool::abandon_write`]: until then its frame
/// cannot be used for anything else.
#[must_use = "a page that is not given back to the pool keeps its frame and its latch"]
pub struct FlushedPage {
    /// Weak, for the pool's own sink holds the page: when the power is cut, the two would
    /// keep each other, and all that they hold, for ever.
    pub(super) pool: Weak<BufferPool>,
    pub(super) instance: usize,
    pub(super) frame: u32,
    pub(super) page_id: PageId,
    pub(super) image: Image,
    pub(super) kind: FlushKind,
    pub(super) newest_modification: Lsn,
    pub(super) held: Option<Held>,
}

impl FlushedPage {
    /// The pool that the page is given back to; `None` if it is gone, and nobody waits for
    /// the page any more.
    pub fn pool(&self) -> Option<Arc<BufferPool>> {
        self.pool.upgrade()
    }

    /// The pool's instance.
    pub fn instance(&self) -> usize {
        self.instance
    }

    /// The page's address.
    pub fn page_id(&self) -> PageId {
        self.page_id
    }

    /// What is to be written.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Why it is written.
    pub fn kind(&self) -> FlushKind {
        self.kind
    }

    /// End LSN of the last mini-transaction that changed the image.
    pub fn lsn(&self) -> Lsn {
        self.newest_modification
    }

    /// Whether the page's latch is held until the write is complete.
    pub fn is_latched(&self) -> bool {
        self.held.is_some()
    }
}

impl fmt::Debug for FlushedPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlushedPage")
            .field("page_id", &self.page_id)
            .field("kind", &self.kind)
            .field("lsn", &self.newest_modification)
            .finish_non_exhaustive()
    }
}
