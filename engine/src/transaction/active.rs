//! The read-write transactions that are active: what every read view is made from.
//!
//! Two forms of the same set, because versions read it differently:
//!
//! ```text
//!   ids   [ 17 | 21 | 22 | 30 ]                     one piece of memory, sorted
//!   list  [  o |  o |  o |  o ]                     5.6 reads these, one after the other
//!            v    v    v    v
//!          trx  trx  trx  trx                       each last changed by another core
//! ```
//!
//! New transactions come at the end, since ids grow and are given out under the mutex.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use super::ids::TrxId;
use crate::lock::OwnerId;
use crate::runtime;

/// The part of a transaction that others look at.
#[derive(Debug)]
pub struct TransactionState {
    id: AtomicU64,
    /// The socket on which it became read-write.
    socket: AtomicU32,
    owner: OwnerId,
}

impl TransactionState {
    pub(super) fn new(owner: OwnerId) -> Self {
        TransactionState {
            id: AtomicU64::new(0),
            socket: AtomicU32::new(0),
            owner,
        }
    }

    /// Its id; 0 while it has none.
    #[inline]
    pub fn id(&self) -> TrxId {
        self.id.load(Acquire)
    }

    /// Who owns its locks.
    pub fn owner(&self) -> OwnerId {
        self.owner
    }

    #[inline]
    pub(super) fn socket(&self) -> usize {
        self.socket.load(Relaxed) as usize
    }

    pub(super) fn set_id(&self, id: TrxId) {
        self.id.store(id, Release);
        self.socket.store(runtime::socket() as u32, Relaxed);
    }
}

/// The set; its owner holds `trx_sys->mutex`.
#[derive(Debug, Default)]
pub struct ActiveTransactions {
    ids: Vec<TrxId>,
    list: Vec<Arc<TransactionState>>,
}

impl ActiveTransactions {
    /// The ids, sorted.
    #[inline]
    pub fn ids(&self) -> &[TrxId] {
        &self.ids
    }

    /// The transactions, in the order of their ids.
    #[inline]
    pub fn list(&self) -> &[Arc<TransactionState>] {
        &self.list
    }

    /// A transaction has become read-write. Its id is above all others.
    pub(super) fn push(&mut self, transaction: &Arc<TransactionState>) {
        let id = transaction.id();
        debug_assert!(self.ids.last().is_none_or(|&last| last < id));
        self.ids.push(id);
        self.list.push(transaction.clone());
    }

    /// Recovery brings transactions in no order.
    pub(super) fn insert(&mut self, transaction: &Arc<TransactionState>) {
        let id = transaction.id();
        let place = self.ids.partition_point(|&other| other < id);
        self.ids.insert(place, id);
        self.list.insert(place, transaction.clone());
    }

    /// A transaction is not active any more.
    pub(super) fn remove(&mut self, id: TrxId) {
        if let Ok(place) = self.ids.binary_search(&id) {
            self.ids.remove(place);
            self.list.remove(place);
        }
    }

    /// The transaction of this id.
    pub fn find(&self, id: TrxId) -> Option<&Arc<TransactionState>> {
        let place = self.ids.binary_search(&id).ok()?;
        Some(&self.list[place])
    }

    /// The smallest id, if there is any.
    pub fn smallest(&self) -> Option<TrxId> {
        self.ids.first().copied()
    }
}
