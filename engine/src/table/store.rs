//! What row operations work with: the engine's parts, and a session's own memory.

use std::sync::Arc;

use super::dictionary::Dictionary;
use super::fields::FieldBuffer;
use super::update_vector::UpdateVector;
use super::versions::History;
use crate::btree::Changer;
use crate::lock::LockSystem;
use crate::page::RecordBuffer;
use crate::redo_log::{MiniTransactionContext, Pages};
use crate::transaction::{Admission, Seat, Transaction, Transactions, TrxId};

/// The parts of an engine that row operations work with. Shared by all sessions.
#[derive(Debug)]
pub struct RowStore {
    /// Pages and their log.
    pub pages: Arc<Pages>,
    /// Transactions, read views, undo.
    pub transactions: Arc<Transactions>,
    /// Row locks.
    pub locks: Arc<LockSystem>,
    /// `innodb_thread_concurrency`.
    pub admission: Arc<Admission>,
    /// Tables.
    pub dictionary: Arc<Dictionary>,
}

/// What a session, or a background task, has of its own for row operations: its
/// transaction, and memory that is used again and again.
#[derive(Debug)]
pub struct RowSession {
    /// The transaction.
    pub transaction: Transaction,
    /// For mini-transactions on trees.
    pub context: MiniTransactionContext,
    /// The seat under `innodb_thread_concurrency`.
    pub seat: Seat,
    pub(super) buffers: Buffers,
}

/// Memory for one row operation.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// The record to insert.
    pub record: RecordBuffer,
    /// A clustered record as it was: all its fields.
    pub old_row: FieldBuffer,
    /// Where a scan goes on.
    pub place: FieldBuffer,
    /// What an update changes.
    pub vector: UpdateVector,
    /// An older version of a row.
    pub history: History,
}

impl RowStore {
    /// Who changes trees: a transaction, or 0 for rollback and purge. Row locks follow the
    /// records.
    pub(super) fn changer(&self, trx_id: TrxId) -> Changer<'_> {
        Changer {
            locks: &*self.locks,
            trx_id,
        }
    }

    /// What a new session has; its counts go to this shard.
    pub fn session(&self, shard: usize) -> RowSession {
        RowSession {
            transaction: self.transactions.session(shard),
            context: MiniTransactionContext::new(shard),
            seat: Seat::default(),
            buffers: Buffers::default(),
        }
    }
}
