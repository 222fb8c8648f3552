//! Read views: which transactions' changes a reader sees.
//!
//! A view remembers who was active when it was opened. What those change later, and what
//! others do who come later still, it does not see; it follows the roll pointers of such
//! rows back to a version that it sees.
//!
//! ```text
//!              up limit                    low limit
//!   ids ...  17 | 18   19   20   21   22  | 23  24 ...
//!     visible   |  a         a         a  |   invisible
//!               |  ids = [18, 20, 22]: invisible, all others visible
//! ```
//!
//! "Up" and "low" are InnoDB's words, from the time when ids were drawn downwards: the
//! low limit is the upper one.
//!
//! Where a view comes from costs more than what it does: see [`ReadViewAlgorithm`].
//!
//! [`ReadViewAlgorithm`]: super::ReadViewAlgorithm

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use super::ids::{TrxId, TrxNo};
use crate::runtime::{Cost, cpu};

/// What purge must know of a view that is open, and may look at while its owner uses it.
#[derive(Debug)]
pub(super) struct ViewState {
    /// The owner does not use it, and may again without the mutex.
    pub(super) closed: AtomicBool,
    pub(super) low_limit_no: AtomicU64,
    pub(super) low_limit_id: AtomicU64,
}

impl Default for ViewState {
    fn default() -> Self {
        ViewState {
            closed: AtomicBool::new(true),
            low_limit_no: AtomicU64::new(0),
            low_limit_id: AtomicU64::new(0),
        }
    }
}

/// A read view; kept by a session and opened again and again.
#[derive(Debug, Default)]
pub struct ReadView {
    /// Ids from here on did not exist.
    pub(super) low_limit_id: TrxId,
    /// Ids below were not active.
    pub(super) up_limit_id: TrxId,
    /// Purge must keep the undo of transactions with this number or a higher one.
    pub(super) low_limit_no: TrxNo,
    /// Whose view it is; its own changes are always seen.
    pub(super) creator: TrxId,
    /// Who was active, sorted, without the creator.
    pub(super) ids: Vec<TrxId>,
    pub(super) is_open: bool,
    /// Its place on the list of views, on which it may stay while closed.
    pub(super) node: Option<u32>,
    pub(super) state: Arc<ViewState>,
}

impl ReadView {
    /// Whether the changes of a transaction are seen.
    #[inline]
    pub fn sees(&self, trx_id: TrxId) -> bool {
        cpu(Cost::ReadViewSees);
        if trx_id < self.up_limit_id || trx_id == self.creator {
            return true;
        }
        if trx_id >= self.low_limit_id {
            return false;
        }
        self.ids.binary_search(&trx_id).is_err()
    }

    /// Whether all changes on a page of a secondary index are seen, whose PAGE_MAX_TRX_ID
    /// is given: then its records that are not delete-marked need no look at the clustered
    /// index. One old transaction that is still active makes this false for long.
    #[inline]
    pub fn sees_page(&self, max_trx_id: TrxId) -> bool {
        cpu(Cost::ReadViewSees);
        max_trx_id < self.up_limit_id
    }

    /// Whether the view is in use.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Ids from this one on are invisible.
    pub fn low_limit_id(&self) -> TrxId {
        self.low_limit_id
    }

    /// Ids below this one are visible.
    pub fn up_limit_id(&self) -> TrxId {
        self.up_limit_id
    }

    /// Undo of transactions with this number or a higher one is needed.
    pub fn low_limit_no(&self) -> TrxNo {
        self.low_limit_no
    }

    /// The transactions that were active.
    pub fn ids(&self) -> &[TrxId] {
        &self.ids
    }

    /// Shows others what was decided under the mutex.
    pub(super) fn publish(&mut self) {
        let state = &self.state;
        state.low_limit_no.store(self.low_limit_no, Relaxed);
        state.low_limit_id.store(self.low_limit_id, Relaxed);
        state.closed.store(false, SeqCst);
        self.is_open = true;
    }
}

/// What purge sees: what the oldest view that is open sees, or what a new one would.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgeView {
    /// Undo below this number is needed by nobody.
    pub low_limit_no: TrxNo,
    /// Ids from this one on did not exist.
    pub low_limit_id: TrxId,
    /// Who was active, sorted; the view's creator, too.
    pub(super) ids: Vec<TrxId>,
}

impl PurgeView {
    /// Whether every view, open or to come, sees the changes of a transaction: then nobody
    /// asks for what was before them, and purge may have thrown it away.
    #[inline]
    pub fn sees(&self, trx_id: TrxId) -> bool {
        cpu(Cost::ReadViewSees);
        trx_id < self.low_limit_id && self.ids.binary_search(&trx_id).is_err()
    }
}
