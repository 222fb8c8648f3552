//! Transactions, as the table layer uses them: lists, undo and history together.
//!
//! ```text
//!   begin ---> become_read_write ---> write_insert, write_update ---> commit
//!                (id, IX locks)          |        ^      |
//!                                        v        |      +-----------> rollback
//!                                     savepoint --+
//!                                             rollback_to
//! ```

use std::path::Path;
use std::sync::Arc;

use super::ids::{FIRST_TRX_ID, IdSource, TrxId};
use super::purge::Purge;
use super::read_view::ReadView;
use super::rollback::{RollbackError, UndoApplier};
use super::session::{BeginOptions, Phase, ReadOnlyTransaction, Transaction};
use super::settings::TransactionSettings;
use super::system::TransactionSystem;
use super::undo::{
    InsertUndo, RowVersion, UndoError, UndoLogs, UndoRecord, UpdateUndo, VersionError,
    load_max_trx_id, store_max_trx_id, undo_file_name, undo_space_id,
};
use crate::lock::LockSystem;
use crate::metrics::Counter;
use crate::page::Lsn;
use crate::page::record::Record;
use crate::page::record_format::RecordFormat;
use crate::page::roll_pointer::RollPointer;
use crate::redo_log::{MiniTransaction, MiniTransactionContext, Pages};
use crate::tablespace::Tablespaces;

/// What can go wrong in a transaction, besides locks.
#[derive(Debug, thiserror::Error)]
pub enum TransactionError {
    /// The transaction must not change anything.
    #[error(transparent)]
    ReadOnly(#[from] ReadOnlyTransaction),
    /// Undo cannot be written or read.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// An undo record does not fit its row.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// A version is gone that nobody can need.
    #[error("the history of a row that transaction {0} changed has been purged")]
    Purged(u64),
}

/// A mark in a transaction, to which it can be rolled back: the end of a statement, or
/// SAVEPOINT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionSavepoint {
    pub(super) undo_no: u64,
}

/// Transactions with their undo; one for an engine, in an `Arc`.
#[derive(Debug)]
pub struct Transactions {
    system: TransactionSystem,
    undo: UndoLogs,
    purge: Purge,
}

impl Transactions {
    /// The transactions of a new instance. The system tablespace has been created; undo
    /// tablespaces are, in `directory`.
    ///
    /// # Errors
    /// If a file exists, or cannot be written.
    pub fn create(
        pages: Arc<Pages>,
        directory: &Path,
        settings: TransactionSettings,
    ) -> Result<Arc<Transactions>, TransactionError> {
        let mut context = MiniTransactionContext::new(0);
        let undo = UndoLogs::create(pages.clone(), &mut context, directory, &settings)?;
        Ok(Transactions::with(pages, undo, settings, FIRST_TRX_ID))
    }

    /// Opens the undo tablespaces of an instance that exists, without a look at their
    /// content: before redo is applied to them.
    ///
    /// # Errors
    /// If a file is not there.
    pub fn open_undo_tablespaces(
        spaces: &Tablespaces,
        directory: &Path,
        settings: &TransactionSettings,
    ) -> Result<(), TransactionError> {
        for number in 1..=settings.undo_tablespaces {
            let name = format!("innodb_undo_{number:03}");
            let path = directory.join(undo_file_name(number));
            spaces
                .open_unchecked(undo_space_id(number), &name, &path)
                .map_err(UndoError::from)?;
        }
        Ok(())
    }

    /// The transactions of an instance that exists; redo has been applied. What was running
    /// is there again, see [`Recovered`](super::Recovered), and has to be rolled back before
    /// or while others work.
    ///
    /// # Errors
    /// If a page of undo cannot be had or is damaged.
    pub fn open(
        pages: Arc<Pages>,
        settings: TransactionSettings,
    ) -> Result<(Arc<Transactions>, super::Recovered), TransactionError> {
        let mut context = MiniTransactionContext::new(0);
        let stored = load_max_trx_id(&pages, &mut context)?;
        let undo = UndoLogs::open(pages.clone(), &mut context, &settings)?;
        let next = IdSource::after_restart(stored).next();
        let this = Transactions::with(pages, undo, settings, next);
        let recovered = this.recover(&mut context)?;
        this.purge.begin_after_restart(&this.system);
        Ok((this, recovered))
    }

    fn with(
        pages: Arc<Pages>,
        undo: UndoLogs,
        settings: TransactionSettings,
        next: u64,
    ) -> Arc<Transactions> {
        let purge = Purge::new(&settings);
        Arc::new(Transactions {
            system: TransactionSystem::new(settings, pages.metrics.clone(), next),
            undo,
            purge,
        })
    }

    /// Lists and read views.
    pub fn system(&self) -> &TransactionSystem {
        &self.system
    }

    /// The locks.
    pub fn locks(&self) -> &Arc<LockSystem> {
        self.system.locks()
    }

    /// The undo logs.
    pub fn undo(&self) -> &UndoLogs {
        &self.undo
    }

    pub(super) fn purge_state(&self) -> &Purge {
        &self.purge
    }

    // ---- sessions and the course of a transaction -----------------------------

    /// The transaction object of a new session.
    pub fn session(&self, shard: usize) -> Transaction {
        self.system.session(shard)
    }

    /// A session ends.
    pub fn end_session(&self, transaction: Transaction) {
        self.system.end_session(transaction);
    }

    /// A transaction begins.
    ///
    /// # Errors
    /// If the counter of ids had to be written down (up to 5.6) and its page cannot be had.
    pub fn begin(
        &self,
        transaction: &mut Transaction,
        options: BeginOptions,
    ) -> Result<(), TransactionError> {
        if let Some(id) = self.system.begin(transaction, options) {
            store_max_trx_id(self.undo.pages(), &mut transaction.undo.context, id)?;
        }
        Ok(())
    }

    /// Before the first change of a transaction, and before its first IX lock. Costs nothing
    /// later.
    ///
    /// # Errors
    /// If the transaction was begun as read-only, or the counter of ids had to be written
    /// down and its page cannot be had.
    #[inline]
    pub fn become_read_write(&self, transaction: &mut Transaction) -> Result<(), TransactionError> {
        if let Some(id) = self.system.become_read_write(transaction)? {
            store_max_trx_id(self.undo.pages(), &mut transaction.undo.context, id)?;
        }
        Ok(())
    }

    /// Opens the read view, before a consistent read.
    #[inline]
    pub fn open_view(&self, transaction: &mut Transaction) {
        self.system.open_view(transaction);
    }

    /// A statement has ended.
    #[inline]
    pub fn end_statement(&self, transaction: &mut Transaction) {
        self.system.end_statement(transaction);
    }

    // ---- undo -----------------------------------------------------------------

    /// Writes the undo of an insert, before the row is inserted. The pointer goes into its
    /// DB_ROLL_PTR.
    ///
    /// # Errors
    /// If undo cannot be written; nothing is then.
    pub fn write_insert(
        &self,
        transaction: &mut Transaction,
        insert: &InsertUndo<'_>,
    ) -> Result<RollPointer, TransactionError> {
        self.become_read_write(transaction)?;
        Ok(self.undo.write_insert(transaction, insert)?)
    }

    /// Writes the undo of an update or a delete mark, before the row is changed.
    ///
    /// # Errors
    /// As [`write_insert`](Self::write_insert).
    pub fn write_update(
        &self,
        transaction: &mut Transaction,
        update: &UpdateUndo<'_>,
    ) -> Result<RollPointer, TransactionError> {
        self.become_read_write(transaction)?;
        Ok(self.undo.write_update(transaction, update)?)
    }

    /// Makes `version` the version before it. False if there was none. `buffer` is for one
    /// undo record.
    ///
    /// The caller holds a latch of the row's page, so that its newest version stays what it
    /// is, or has a view that needs what it asks for.
    ///
    /// # Errors
    /// If undo cannot be read, or it has been purged.
    pub fn previous_version(
        &self,
        mtr: &mut MiniTransaction<'_>,
        version: &mut RowVersion,
        buffer: &mut Vec<u8>,
    ) -> Result<bool, TransactionError> {
        let pointer = version.roll_pointer();
        if pointer.is_insert {
            return Ok(false);
        }
        // Purge does not advance its view, and so throws nothing away, meanwhile.
        let purge_view = self.purge.view();
        if purge_view.sees(version.trx_id()) {
            return Err(TransactionError::Purged(version.trx_id()));
        }
        self.undo.read(mtr, pointer, buffer)?;
        drop(purge_view);
        let (page, offset) = self.undo.locate(pointer)?;
        let undo = UndoRecord::parse(buffer).map_err(|fault| UndoError::Record {
            page,
            offset,
            fault,
        })?;
        Ok(version.step_back(&undo)?)
    }

    /// Whether purge may have passed the changes of a transaction. Asked by whoever brings a
    /// delete-marked version back, and has latched it: if so, nobody comes to remove it any
    /// more.
    pub fn may_be_purged(&self, trx_id: TrxId) -> bool {
        self.purge.view().sees(trx_id)
    }

    /// The version of a row that a view sees: true, and `version` is it; it may be a deleted
    /// one. False if the view sees no version. `record` is the clustered record, on a page
    /// that `mtr` holds.
    ///
    /// # Errors
    /// If undo cannot be read.
    pub fn visible_version(
        &self,
        mtr: &mut MiniTransaction<'_>,
        view: &ReadView,
        version: &mut RowVersion,
        buffer: &mut Vec<u8>,
    ) -> Result<bool, TransactionError> {
        while !view.sees(version.trx_id()) {
            if !self.previous_version(mtr, version, buffer)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Copies a clustered record into `version`, as the newest version of its row.
    pub fn newest_version(
        &self,
        format: &RecordFormat,
        record: Record<'_>,
        version: &mut RowVersion,
    ) {
        version.copy_from(format, record);
    }

    // ---- the end --------------------------------------------------------------

    /// Commits. Returns the LSN that must be durable before the user is told, 0 if there is
    /// none: the caller waits for it, as `innodb_flush_log_at_trx_commit` says. Locks are
    /// released here, before that wait.
    ///
    /// # Errors
    /// If a page of undo cannot be had; the transaction is still active then, unless the
    /// error came after the commit itself: undo of inserts could not be freed, or the
    /// counter of ids could not be written down.
    pub fn commit(&self, transaction: &mut Transaction) -> Result<Lsn, TransactionError> {
        let changed = transaction.undo.next_undo_no > 0;
        let (end, number) = self.undo.commit(transaction, &self.system)?;
        if transaction.phase != Phase::RollingBack {
            self.system.count_commit(transaction, changed);
        }
        self.system.retire(transaction, number);
        self.undo.clean_up(transaction)?;
        if let Some(number) = number {
            self.purge.history_has_grown();
            if IdSource::must_store(number) {
                let context = &mut transaction.undo.context;
                store_max_trx_id(self.undo.pages(), context, number)?;
            }
        }
        Ok(end)
    }

    /// A mark at the transaction's present state.
    pub fn savepoint(&self, transaction: &Transaction) -> TransactionSavepoint {
        TransactionSavepoint {
            undo_no: transaction.undo.next_undo_no,
        }
    }

    /// Takes back what was done since a mark; locks are kept, as InnoDB does. For a
    /// statement that failed, and ROLLBACK TO SAVEPOINT.
    ///
    /// # Errors
    /// If undo cannot be read, or a row cannot be restored.
    pub fn rollback_to(
        &self,
        transaction: &mut Transaction,
        savepoint: TransactionSavepoint,
        applier: &dyn UndoApplier,
    ) -> Result<(), RollbackError> {
        self.undo_until(transaction, savepoint.undo_no, applier)
    }

    /// Rolls the transaction back and ends it.
    ///
    /// # Errors
    /// As [`rollback_to`](Self::rollback_to); the transaction then is still active.
    pub fn rollback(
        &self,
        transaction: &mut Transaction,
        applier: &dyn UndoApplier,
    ) -> Result<Lsn, RollbackError> {
        transaction.phase = Phase::RollingBack;
        self.undo_until(transaction, 0, applier)?;
        let metrics = &self.undo.pages().metrics;
        metrics
            .shard(transaction.shard)
            .increment(Counter::Rollbacks);
        Ok(self.commit(transaction)?)
    }
}
