//! What mini-transactions work on, and what each task has of its own for them.

use std::sync::Arc;

use super::log::RedoLog;
use super::memo::Memo;
use super::mini_transaction::MiniTransaction;
use super::record::GroupBuffer;
use crate::buffer_pool::{BufferPool, Waits};
use crate::metrics::Metrics;
use crate::tablespace::Tablespaces;

/// Pages and the log of their changes: all that a mini-transaction needs. Shared by all
/// tasks as an `Arc<Pages>`.
#[derive(Clone, Debug)]
pub struct Pages {
    /// The pages in memory.
    pub pool: Arc<BufferPool>,
    /// The redo log.
    pub log: Arc<RedoLog>,
    /// The files.
    pub spaces: Arc<Tablespaces>,
    /// Where is counted.
    pub metrics: Arc<Metrics>,
}

impl Pages {
    /// Begins a mini-transaction. A task has one at a time in a context.
    ///
    /// # Panics
    /// If the last mini-transaction of the context ended in a panic: nobody knows what
    /// is held.
    pub fn begin<'m>(&'m self, context: &'m mut MiniTransactionContext) -> MiniTransaction<'m> {
        assert!(
            context.memo.is_empty(),
            "the last mini-transaction of this context panicked"
        );
        context.group.clear();
        context.writing = None;
        MiniTransaction {
            pages: self,
            context,
        }
    }
}

/// The memory of one task's mini-transactions: the memo and the records. Used again and
/// again, it does not allocate once it has grown to what the task needs.
#[derive(Debug)]
pub struct MiniTransactionContext {
    pub(super) memo: Memo,
    pub(super) group: GroupBuffer,
    /// The page that the last writer was of.
    pub(super) writing: Option<super::memo::PageHandle>,
    /// How often the task waited for the pool.
    pub waits: Waits,
}

impl MiniTransactionContext {
    /// A context for a task; `shard` is where its counts go, a number of the task.
    pub fn new(shard: usize) -> Self {
        MiniTransactionContext {
            memo: Memo::default(),
            group: GroupBuffer::default(),
            writing: None,
            waits: Waits::new(shard),
        }
    }

    /// The number of the task.
    pub fn shard(&self) -> usize {
        self.waits.shard
    }
}
