//! The transaction system: who is active, ids and numbers, read views.
//!
//! ```text
//!                begin      first read   first change     commit
//!   up to 5.6   id, list    view                          number, list, view   trx_sys
//!   5.7                     view         id, list         number, list + view  trx_sys
//!   8.0, 8.4                view         id, list         list + view          trx_sys
//!                                        shard            number, shard        others
//! ```
//!
//! Each entry is a critical section. REPEATABLE READ opens one view in a transaction, READ
//! COMMITTED one for each statement and closes it again: with a mutex held for the time
//! of a walk of all transactions, that is the difference between the two levels.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

use super::active::{ActiveTransactions, TransactionState};
use super::ids::{IdSource, TrxId, TrxNo};
use super::numbers::Numbers;
use super::read_view::{PurgeView, ReadView};
use super::read_view_algorithm::{self, ReadViewAlgorithm};
use super::session::{BeginOptions, Phase, ReadOnlyTransaction, Transaction};
use super::settings::{ActivityCheck, TransactionSettings};
use super::undo::TransactionUndo;
use super::view_list::ViewList;
use crate::lock::{ActiveOwners, LockSystem, OwnerId};
use crate::metrics::{Counter, Level, Metrics};
use crate::runtime::{Cost, LatchClass, Mutex, MutexGuard, cpu, cpu_times};
use crate::sysvar::TransactionIsolation;

/// Parts of the map from ids to transactions (8.0: `TRX_SHARDS_N`).
const SHARDS: u64 = 256;

/// What `trx_sys->mutex` protects.
#[derive(Debug)]
struct TrxSys {
    active: ActiveTransactions,
    views: ViewList,
    /// Up to 5.7.
    numbers: Numbers,
}

/// All transactions of an engine.
#[derive(Debug)]
pub struct TransactionSystem {
    settings: TransactionSettings,
    algorithm: Box<dyn ReadViewAlgorithm>,
    ids: IdSource,
    trx_sys: Mutex<TrxSys>,
    /// From 8.0.
    numbers: Mutex<Numbers>,
    /// What their low limit was when it last moved.
    numbers_low_limit: AtomicU64,
    /// No active transaction has a smaller id.
    smallest_active: AtomicU64,
    shards: Box<[Mutex<Vec<Arc<TransactionState>>>]>,
    locks: Arc<LockSystem>,
    metrics: Arc<Metrics>,
}

impl TransactionSystem {
    /// A system without transactions. `next` is the first id that it gives out.
    pub fn new(settings: TransactionSettings, metrics: Arc<Metrics>, next: TrxId) -> Self {
        let trx_sys = TrxSys {
            active: ActiveTransactions::default(),
            views: ViewList::new(),
            numbers: Numbers::default(),
        };
        let shard = |_| Mutex::new(LatchClass::TrxSysShard, Vec::new());
        TransactionSystem {
            algorithm: read_view_algorithm::of_variable(settings.read_view),
            ids: IdSource::new(next),
            trx_sys: Mutex::new(LatchClass::TrxSys, trx_sys),
            numbers: Mutex::new(LatchClass::TrxSysSerialisation, Numbers::default()),
            numbers_low_limit: AtomicU64::new(next),
            smallest_active: AtomicU64::new(next),
            shards: (0..SHARDS).map(shard).collect(),
            locks: Arc::new(LockSystem::new(metrics.clone(), settings.lock_wait_timeout)),
            metrics,
            settings,
        }
    }

    /// As it was made.
    pub fn settings(&self) -> &TransactionSettings {
        &self.settings
    }

    /// The locks.
    pub fn locks(&self) -> &Arc<LockSystem> {
        &self.locks
    }

    /// The counter of ids and numbers.
    pub fn ids(&self) -> &IdSource {
        &self.ids
    }

    /// Takes `trx_sys->mutex` for a critical section.
    fn enter(&self) -> MutexGuard<'_, TrxSys> {
        let trx_sys = self.trx_sys.lock();
        cpu(Cost::TrxSysSection);
        trx_sys
    }

    // ---- sessions -------------------------------------------------------------

    /// The transaction object of a new session, which counts in this shard of the metrics.
    pub fn session(&self, shard: usize) -> Transaction {
        let locks = self.locks.join(shard);
        Transaction {
            state: Arc::new(TransactionState::new(locks.id())),
            locks,
            view: ReadView::default(),
            phase: Phase::NotStarted,
            options: BeginOptions::read_write(self.settings.isolation),
            is_listed: false,
            undo: TransactionUndo::new(shard),
            shard,
        }
    }

    /// A session ends. Its transaction has ended before.
    pub fn end_session(&self, mut transaction: Transaction) {
        debug_assert_eq!(transaction.phase, Phase::NotStarted);
        if let Some(node) = transaction.view.node.take() {
            self.enter().views.remove(node);
        }
        self.locks.leave(transaction.locks);
    }

    // ---- begin ----------------------------------------------------------------

    /// A transaction begins. From 5.7 that is nothing but a note of how. Returns what
    /// [`become_read_write`](Self::become_read_write) does.
    #[must_use = "once in 256 the counter of ids is to be written down"]
    pub fn begin(&self, transaction: &mut Transaction, options: BeginOptions) -> Option<TrxId> {
        debug_assert_eq!(transaction.phase, Phase::NotStarted, "one at a time");
        transaction.phase = Phase::Active;
        transaction.options = options;
        let locks_gaps = transaction.locks_gaps();
        transaction.locks.state().set_locks_gaps(locks_gaps);
        self.metrics
            .shard(transaction.shard)
            .raise(Level::ActiveTransactions, 1);
        if self.settings.rules.listed_at_begin {
            let mut trx_sys = self.enter();
            let id = self.ids.take();
            transaction.state.set_id(id);
            if !options.read_only {
                self.list(&mut trx_sys, transaction, id);
            }
            return IdSource::must_store(id).then_some(id);
        }
        None
    }

    fn list(&self, trx_sys: &mut TrxSys, transaction: &mut Transaction, id: TrxId) {
        trx_sys.active.push(&transaction.state);
        self.note_smallest(&trx_sys.active);
        transaction.is_listed = true;
        transaction.locks.state().set_trx_id(id);
    }

    fn note_smallest(&self, active: &ActiveTransactions) {
        let smallest = active.smallest().unwrap_or_else(|| self.ids.next());
        self.smallest_active.store(smallest, Release);
    }

    /// The transaction is about to change something, or to lock rows in X: it gets an id
    /// and appears in views that are opened from now on. Nothing if it has one.
    ///
    /// Returns the id if the counter is to be written to the transaction system page, by
    /// [`store_max_trx_id`](super::undo::store_max_trx_id): once in 256.
    ///
    /// # Errors
    /// If the transaction was begun as read-only.
    pub fn become_read_write(
        &self,
        transaction: &mut Transaction,
    ) -> Result<Option<TrxId>, ReadOnlyTransaction> {
        if transaction.is_listed {
            return Ok(None);
        }
        if transaction.options.read_only {
            return Err(ReadOnlyTransaction);
        }
        let id = {
            let mut trx_sys = self.enter();
            let id = self.ids.take();
            transaction.state.set_id(id);
            self.list(&mut trx_sys, transaction, id);
            transaction.view.creator = id;
            id
        };
        if self.uses_shards() {
            let mut shard = self.shard_of(id).lock();
            cpu(Cost::TrxIdLookup);
            shard.push(transaction.state.clone());
        }
        Ok(IdSource::must_store(id).then_some(id))
    }

    fn uses_shards(&self) -> bool {
        self.settings.rules.activity_check == ActivityCheck::SmallestId
    }

    fn shard_of(&self, id: TrxId) -> &Mutex<Vec<Arc<TransactionState>>> {
        &self.shards[(id % SHARDS) as usize]
    }

    /// Recovery is done: whatever has a number now has committed.
    pub(super) fn recovered(&self) {
        self.numbers_low_limit.store(self.ids.next(), SeqCst);
    }

    /// Recovery found an active transaction with undo.
    pub(super) fn resurrect(&self, transaction: &mut Transaction, id: TrxId) {
        transaction.phase = Phase::Active;
        transaction.state.set_id(id);
        self.ids.note_seen(id);
        let mut trx_sys = self.enter();
        trx_sys.active.insert(&transaction.state);
        self.note_smallest(&trx_sys.active);
        drop(trx_sys);
        transaction.is_listed = true;
        transaction.locks.state().set_trx_id(id);
        self.metrics
            .shard(transaction.shard)
            .raise(Level::ActiveTransactions, 1);
        if self.uses_shards() {
            self.shard_of(id).lock().push(transaction.state.clone());
        }
    }

    // ---- read views -----------------------------------------------------------

    /// Opens the transaction's read view if it is not open: before a consistent read.
    pub fn open_view(&self, transaction: &mut Transaction) {
        let view = &mut transaction.view;
        if view.is_open {
            return;
        }
        let shard = self.metrics.shard(transaction.shard);
        shard.increment(Counter::ReadViewsOpened);
        if transaction.options.autocommit_select && self.reopen(view) {
            return;
        }
        let mut trx_sys = self.enter();
        if let Some(node) = view.node.take() {
            trx_sys.views.remove(node);
        }
        // In this order: numbers grow meanwhile (8.0).
        view.low_limit_no = self.low_limit_no(&trx_sys);
        view.low_limit_id = self.ids.next();
        view.creator = transaction.state.id();
        view.ids.clear();
        self.algorithm
            .collect(&trx_sys.active, view.creator, &mut view.ids);
        view.up_limit_id = view.ids.first().copied().unwrap_or(view.low_limit_id);
        view.publish();
        view.node = Some(trx_sys.views.push_newest(view));
    }

    /// Opens a closed view again without the mutex: it is still what a new one would be,
    /// if nobody was active then, and no id or number has been given out since.
    fn reopen(&self, view: &mut ReadView) -> bool {
        if view.node.is_none() || !view.ids.is_empty() {
            return false;
        }
        // Opened first, looked at then: purge may be choosing its view right now.
        view.state.closed.store(false, SeqCst);
        if view.low_limit_id == self.ids.next() {
            view.is_open = true;
            return true;
        }
        view.state.closed.store(true, SeqCst);
        false
    }

    fn low_limit_no(&self, trx_sys: &TrxSys) -> TrxNo {
        match self.settings.rules.number_mutex {
            true => self.numbers_low_limit.load(SeqCst),
            false => trx_sys.numbers.low_limit(self.ids.next()),
        }
    }

    /// A statement has ended: under READ COMMITTED its view is closed, at the price of
    /// another critical section.
    pub fn end_statement(&self, transaction: &mut Transaction) {
        if transaction.isolation() <= TransactionIsolation::ReadCommitted {
            let without_mutex =
                transaction.options.autocommit_select && self.algorithm.keeps_closed_views();
            self.close_view(&mut transaction.view, without_mutex);
        }
    }

    fn close_view(&self, view: &mut ReadView, without_mutex: bool) {
        if !view.is_open {
            return;
        }
        if without_mutex {
            view.is_open = false;
            view.state.closed.store(true, SeqCst);
        } else {
            let mut trx_sys = self.enter();
            unlink_view(&mut trx_sys, view);
        }
    }

    /// What purge may throw away: what the oldest view in use sees, or a new one would.
    pub fn clone_oldest_view(&self, purge: &mut PurgeView) {
        let trx_sys = self.enter();
        let (found, passed) = trx_sys.views.oldest_open(purge);
        cpu_times(Cost::TrxListStepFar, passed + 1);
        if !found {
            purge.low_limit_no = self.low_limit_no(&trx_sys);
            purge.low_limit_id = self.ids.next();
            purge.ids.clear();
            purge.ids.extend_from_slice(trx_sys.active.ids());
        }
        cpu_times(Cost::ReadViewCopyId, purge.ids.len() as u64);
    }

    // ---- commit ---------------------------------------------------------------

    /// A transaction commits changes that views may have to undo: its place in the order.
    pub(super) fn take_number(&self) -> TrxNo {
        if self.settings.rules.number_mutex {
            let mut numbers = self.numbers.lock();
            cpu(Cost::TrxSysSection);
            let number = numbers.take(&self.ids);
            let low_limit = numbers.low_limit(number);
            self.numbers_low_limit.store(low_limit, SeqCst);
            number
        } else {
            self.enter().numbers.take(&self.ids)
        }
    }

    /// The transaction leaves all lists; its changes are seen by views that are opened from
    /// now on, its locks are released, and the object is ready for the next one.
    #[inline(never)]
    pub(super) fn retire(&self, transaction: &mut Transaction, number: Option<TrxNo>) {
        let rules = self.settings.rules;
        if transaction.is_listed && self.uses_shards() {
            let id = transaction.id();
            let mut shard = self.shard_of(id).lock();
            cpu(Cost::TrxIdLookup);
            shard.retain(|other| other.id() != id);
        }
        if transaction.is_listed {
            let mut trx_sys = self.enter();
            cpu(Cost::TrxIdRemove);
            trx_sys.active.remove(transaction.state.id());
            self.note_smallest(&trx_sys.active);
            if let Some(number) = number.filter(|_| !rules.number_mutex) {
                trx_sys.numbers.release(number);
            }
            if !rules.closes_view_apart && transaction.view.is_open {
                unlink_view(&mut trx_sys, &mut transaction.view);
            }
        } else if rules.listed_at_begin && !transaction.options.autocommit_select {
            // The list of read-only transactions.
            drop(self.enter());
        }
        let without_mutex = !transaction.is_listed && self.algorithm.keeps_closed_views();
        self.close_view(&mut transaction.view, without_mutex);
        if let Some(number) = number.filter(|_| rules.number_mutex) {
            let mut numbers = self.numbers.lock();
            cpu(Cost::TrxSysSection);
            numbers.release(number);
            let low_limit = numbers.low_limit(self.ids.next());
            self.numbers_low_limit.store(low_limit, SeqCst);
        }
        transaction.state.set_id(0);
        transaction.is_listed = false;
        // Last: who has waited for a lock may commit a change that is based on this
        // transaction's, and whoever sees that one must see this one. (Up to 5.6 the locks go
        // before the entry in the list, but views pass over entries of transactions that are
        // committed in memory, which they are before that.)
        self.locks.release_all(&mut transaction.locks);
        transaction.phase = Phase::NotStarted;
        self.metrics
            .shard(transaction.shard)
            .lower(Level::ActiveTransactions, 1);
    }

    pub(super) fn count_commit(&self, transaction: &Transaction, changed: bool) {
        let shard = self.metrics.shard(transaction.shard);
        shard.increment(match (transaction.is_listed, transaction.options) {
            (true, _) => Counter::ReadWriteCommits,
            (false, options) if options.autocommit_select => Counter::NonLockingReadOnlyCommits,
            (false, _) => Counter::ReadOnlyCommits,
        });
        if changed {
            shard.increment(Counter::CommitsWithChanges);
            shard.increment(Counter::ActivityCount);
        }
    }

    // ---- who is active --------------------------------------------------------

    /// An id below which nobody is active: a page of a secondary index whose
    /// PAGE_MAX_TRX_ID is below has no implicit locks. Under `trx_sys->mutex` up to 5.7.
    pub fn smallest_active_id(&self) -> TrxId {
        if !self.uses_shards() {
            drop(self.enter());
        }
        self.smallest_active.load(Acquire)
    }

    fn find(&self, trx_id: TrxId) -> Option<OwnerId> {
        if trx_id == 0 {
            return None;
        }
        match self.settings.rules.activity_check {
            ActivityCheck::ListWalk => {
                let trx_sys = self.enter();
                // The oldest one's id is at hand.
                if trx_sys
                    .active
                    .smallest()
                    .is_none_or(|oldest| trx_id < oldest)
                {
                    return None;
                }
                // Whoever asks is not known here; any shard will do.
                let shard = self.metrics.shard(trx_id as usize);
                shard.increment(Counter::ImplicitLockWalks);
                read_view_algorithm::find_by_walk(&trx_sys.active, trx_id)
                    .map(|transaction| transaction.owner())
            }
            ActivityCheck::LookUp => {
                let trx_sys = self.enter();
                cpu(Cost::TrxIdLookup);
                trx_sys.active.find(trx_id).map(|found| found.owner())
            }
            ActivityCheck::SmallestId => {
                if trx_id < self.smallest_active.load(Acquire) {
                    return None;
                }
                let shard = self.shard_of(trx_id).lock();
                cpu(Cost::TrxIdLookup);
                let found = shard.iter().find(|other| other.id() == trx_id);
                found.map(|transaction| transaction.owner())
            }
        }
    }

    /// Whether the transaction of an id is active, at the version's price.
    pub fn is_active(&self, trx_id: TrxId) -> bool {
        self.find(trx_id).is_some()
    }

    /// Read-write transactions that are active, and read views on the list.
    pub fn lengths(&self) -> (usize, usize) {
        let trx_sys = self.trx_sys.lock();
        (trx_sys.active.ids().len(), trx_sys.views.length())
    }
}

impl ActiveOwners for TransactionSystem {
    fn find_active(&self, trx_id: TrxId) -> Option<OwnerId> {
        self.find(trx_id)
    }

    fn asks_under_lock_system(&self) -> bool {
        self.settings.rules.activity_check == ActivityCheck::ListWalk
    }
}

fn unlink_view(trx_sys: &mut TrxSys, view: &mut ReadView) {
    if let Some(node) = view.node.take() {
        trx_sys.views.remove(node);
    }
    view.is_open = false;
    view.state.closed.store(true, SeqCst);
}
