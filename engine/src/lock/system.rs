//! The lock system: the mutex around the locks, waiting, and counting.
//!
//! ```text
//!   lock_record --> Granted                       go on
//!               --> Wait      give up all latches; wait(owner) --> Ok        ask again
//!               |                                              --> Timeout   statement back
//!               --> Deadlock  roll the transaction back        --> Deadlock  transaction back
//! ```
//!
//! Once the engine has failed ([`LockSystem::end_waits`]) nobody waits any more: both
//! `Wait` and the wait become the error `Ended`.
//!
//! After a wait the caller searches its record again and asks again: the page may have
//! been split, and the record may be gone. If it has not moved it has the lock already.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::lock_table::{HeapNumber, LockTable, Mode, Request, Tally};
use super::locked_pages::LockedPages;
use super::mode::{RecordLockMode, TableLockMode};
use super::movement::RecordMove;
use super::owner::{LockOwner, OwnerId, OwnerState, WaitResult};
use crate::metrics::{Counter, Level, Metrics, Shard, Timing};
use crate::page::PageId;
use crate::runtime::time::{SECOND, Time};
use crate::runtime::{Cost, LatchClass, Mutex, MutexGuard, WaitKind, cpu, cpu_times, now};

/// A lock that cannot be had. Numbers in the messages are MySQL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// The wait took longer than `innodb_lock_wait_timeout`; the request is taken back.
    #[error("lock wait timeout exceeded; try restarting transaction (1205)")]
    Timeout,
    /// The transaction was chosen to break a deadlock: it must be rolled back.
    #[error("deadlock found when trying to get lock; try restarting transaction (1213)")]
    Deadlock,
    /// The engine has failed, and waits for nobody any more; the request is taken back.
    #[error("no wait for a lock: the engine has failed")]
    Ended,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a request that waits must be waited for"]
pub enum LockOutcome {
    /// The transaction has the lock.
    Granted,
    /// The request stands in the queue: give up all latches and call
    /// [`LockSystem::wait`].
    Wait,
}

/// The answer to an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an insert that waits must be waited for"]
pub enum InsertCheck {
    /// Nobody has anything of the gap.
    Free,
    /// Insert, and then let the new record inherit the gap's locks:
    /// [`LockSystem::inherit_to_inserted`].
    Inherit,
    /// As [`LockOutcome::Wait`].
    Wait,
}

/// Who is active: asked when a row may be locked implicitly. The transaction system's.
pub trait ActiveOwners {
    /// The owner of the active transaction of this id, at the price that the version pays
    /// for the answer.
    fn find_active(&self, trx_id: u64) -> Option<OwnerId>;

    /// Whether the lock system's mutex is held while [`find_active`](Self::find_active) is
    /// asked, and a transaction's own rows are asked for too (up to 5.6).
    fn asks_under_lock_system(&self) -> bool;
}

/// All locks of an engine.
#[derive(Debug)]
pub struct LockSystem {
    table: Mutex<LockTable>,
    locked_pages: Arc<LockedPages>,
    metrics: Arc<Metrics>,
    /// `innodb_lock_wait_timeout`, in seconds.
    timeout: AtomicU64,
}

/// The mutex of the lock system. What was done under it is charged before it is released.
struct Guard<'a> {
    table: MutexGuard<'a, LockTable>,
    shard: &'a Shard,
}

impl Guard<'_> {
    /// Charges and counts what has been done. Not in a destructor: that would run while a
    /// task unwinds.
    fn end(mut self) {
        let tally = std::mem::take(&mut self.table.tally);
        cpu_times(Cost::LockQueueStep, tally.steps);
        cpu_times(Cost::DeadlockSearchStep, tally.search_steps);
        let created = tally.record_locks_created + tally.table_locks_created;
        let removed = tally.record_locks_removed + tally.table_locks_removed;
        cpu_times(Cost::LockChange, created + removed);
        drop(self.table);
        if tally != Tally::default() {
            count(self.shard, &tally);
        }
    }
}

fn count(shard: &Shard, tally: &Tally) {
    shard.add(Counter::RecordLocksCreated, tally.record_locks_created);
    shard.add(Counter::RecordLocksRemoved, tally.record_locks_removed);
    shard.add(Counter::TableLocksCreated, tally.table_locks_created);
    shard.add(Counter::TableLocksRemoved, tally.table_locks_removed);
    shard.add(Counter::RecordLockGrantAttempts, tally.grant_attempts);
    shard.add(Counter::DeadlockRounds, tally.searches);
    shard.raise(Level::RecordLocks, tally.record_locks_created);
    shard.lower(Level::RecordLocks, tally.record_locks_removed);
    shard.raise(Level::TableLocks, tally.table_locks_created);
    shard.lower(Level::TableLocks, tally.table_locks_removed);
}

impl LockSystem {
    /// No locks. `timeout`: `innodb_lock_wait_timeout`, in seconds.
    pub fn new(metrics: Arc<Metrics>, timeout: u64) -> Self {
        let locked_pages = Arc::new(LockedPages::new());
        LockSystem {
            table: Mutex::new(LatchClass::LockSys, LockTable::new(locked_pages.clone())),
            locked_pages,
            metrics,
            timeout: AtomicU64::new(timeout),
        }
    }

    /// Sets `innodb_lock_wait_timeout`, in seconds, for waits that begin from now on.
    pub fn set_timeout(&self, seconds: u64) {
        self.timeout.store(seconds, Relaxed);
    }

    fn enter(&self, shard: usize) -> Guard<'_> {
        let table = self.table.lock();
        cpu(Cost::LockSysSection);
        Guard {
            table,
            shard: self.metrics.shard(shard),
        }
    }

    // ---- owners ---------------------------------------------------------------

    /// A new owner, which counts in this shard of the metrics.
    pub fn join(&self, shard: usize) -> LockOwner {
        let state = Arc::new(OwnerState::default());
        let mut guard = self.enter(shard);
        let id = guard.table.join(state.clone());
        guard.end();
        LockOwner {
            id,
            state,
            shard,
            signal: None,
            has_locks: false,
            tables: Vec::new(),
        }
    }

    /// An owner leaves; its locks are released.
    pub fn leave(&self, mut owner: LockOwner) {
        self.release_all(&mut owner);
        let mut guard = self.enter(owner.shard);
        guard.table.leave(owner.id);
        guard.end();
    }

    // ---- asking ---------------------------------------------------------------

    /// Asks for a lock on a record whose page is latched by the caller.
    ///
    /// # Errors
    /// [`LockError::Deadlock`] if waiting would close a circle, and the caller is to give
    /// way; [`LockError::Ended`] instead of a wait once the engine has failed.
    pub fn lock_record(
        &self,
        owner: &mut LockOwner,
        page: PageId,
        heap: HeapNumber,
        mode: RecordLockMode,
    ) -> Result<LockOutcome, LockError> {
        let mut guard = self.enter(owner.shard);
        guard.shard.increment(Counter::RecordLockRequests);
        owner.has_locks = true;
        let request = guard.table.request_record(owner.id, page, heap, mode);
        self.answer(guard, owner, request, Counter::RecordLockWaits)
    }

    /// Asks whether a record may be inserted in front of `successor`, whose page is latched
    /// in X by the caller.
    ///
    /// # Errors
    /// As [`lock_record`](Self::lock_record).
    pub fn check_insert(
        &self,
        owner: &mut LockOwner,
        page: PageId,
        successor: HeapNumber,
    ) -> Result<InsertCheck, LockError> {
        let mut guard = self.enter(owner.shard);
        let (request, locked) = guard.table.request_insert(owner.id, page, successor);
        owner.has_locks |= request == Request::Waits;
        let outcome = self.answer(guard, owner, request, Counter::RecordLockWaits)?;
        Ok(match (outcome, locked) {
            (LockOutcome::Wait, _) => InsertCheck::Wait,
            (LockOutcome::Granted, true) => InsertCheck::Inherit,
            (LockOutcome::Granted, false) => InsertCheck::Free,
        })
    }

    /// Asks for a table lock. Mostly IS or IX, before the first row of a table is locked or
    /// changed; a mode that the transaction has already costs no mutex.
    ///
    /// # Errors
    /// As [`lock_record`](Self::lock_record).
    pub fn lock_table(
        &self,
        owner: &mut LockOwner,
        table: u64,
        mode: TableLockMode,
    ) -> Result<LockOutcome, LockError> {
        let has = |&(locked, held): &(u64, TableLockMode)| locked == table && held.covers(mode);
        if owner.tables.iter().any(has) {
            return Ok(LockOutcome::Granted);
        }
        let mut guard = self.enter(owner.shard);
        owner.has_locks = true;
        let request = guard.table.request_table(owner.id, table, mode);
        let outcome = self.answer(guard, owner, request, Counter::TableLockWaits)?;
        if outcome == LockOutcome::Granted {
            owner.tables.push((table, mode));
        }
        Ok(outcome)
    }

    /// The intention to lock rows of a table in X, or to change them (`exclusive`), or to
    /// lock them in S.
    ///
    /// # Errors
    /// As [`lock_record`](Self::lock_record).
    pub fn lock_table_intention(
        &self,
        owner: &mut LockOwner,
        table: u64,
        exclusive: bool,
    ) -> Result<LockOutcome, LockError> {
        let mode = match exclusive {
            true => TableLockMode::IntentionExclusive,
            false => TableLockMode::IntentionShared,
        };
        self.lock_table(owner, table, mode)
    }

    /// Looks for a deadlock if the request waits, and prepares the wait.
    fn answer(
        &self,
        mut guard: Guard<'_>,
        owner: &mut LockOwner,
        request: Request,
        waits: Counter,
    ) -> Result<LockOutcome, LockError> {
        if request != Request::Waits {
            guard.end();
            return Ok(LockOutcome::Granted);
        }
        if guard.table.are_waits_ended() {
            guard.table.cancel_wait(owner.id, WaitResult::Ended);
            guard.end();
            return Err(LockError::Ended);
        }
        guard.shard.increment(waits);
        let signal = owner.state.event.reset();
        while let Some(victim) = guard.table.find_victim(owner.id) {
            guard.shard.increment(Counter::Deadlocks);
            guard.table.cancel_wait(victim, WaitResult::Victim);
            if victim == owner.id {
                guard.end();
                return Err(LockError::Deadlock);
            }
        }
        // With the victim out of the way the lock may have been granted: the wait will see.
        owner.signal = Some(signal);
        guard.end();
        Ok(LockOutcome::Wait)
    }

    // ---- waiting --------------------------------------------------------------

    /// Waits for the request that was answered by [`LockOutcome::Wait`]. The caller holds
    /// no latch. After success it looks for its record again, and asks again.
    ///
    /// InnoDB looks for waits that took too long once a second, and so the wait ends with
    /// the first full second after `innodb_lock_wait_timeout`.
    ///
    /// # Errors
    /// If the wait took too long, a deadlock was broken at this transaction's cost, or the
    /// engine has failed.
    pub fn wait(&self, owner: &mut LockOwner) -> Result<(), LockError> {
        let Some(signal) = owner.signal.take() else {
            return Ok(());
        };
        let shard = self.metrics.shard(owner.shard);
        shard.increment(Counter::RowLockWaits);
        shard.raise(Level::RowLockCurrentWaits, 1);
        shard.raise(Level::LockThreadsWaiting, 1);
        let start = now();
        let in_time = owner
            .state
            .event
            .wait(signal, self.wait_length(start), WaitKind::RowLock);
        if !in_time {
            let mut guard = self.enter(owner.shard);
            // Decided while this thread woke up?
            if owner.state.result() == WaitResult::Open {
                guard.table.cancel_wait(owner.id, WaitResult::Open);
            }
            guard.end();
        }
        self.metrics
            .record_time(Timing::RowLockWait, now().saturating_sub(start));
        shard.lower(Level::LockThreadsWaiting, 1);
        shard.lower(Level::RowLockCurrentWaits, 1);
        match owner.state.result() {
            WaitResult::Granted => Ok(()),
            WaitResult::Victim => Err(LockError::Deadlock),
            WaitResult::Ended => Err(LockError::Ended),
            WaitResult::Open => {
                shard.increment(Counter::LockTimeouts);
                Err(LockError::Timeout)
            }
        }
    }

    /// Ends all waits for locks, for good: the engine has failed, and who has the locks may
    /// never release them.
    pub fn end_waits(&self) {
        let mut guard = self.enter(0);
        guard.table.end_waits();
        guard.end();
    }

    fn wait_length(&self, start: Time) -> Time {
        let timeout = self.timeout.load(Relaxed).saturating_mul(SECOND);
        let end = start.saturating_add(timeout);
        // The next round second.
        end.div_ceil(SECOND).saturating_mul(SECOND) - start
    }

    // ---- implicit locks -------------------------------------------------------

    /// A record that the caller wants to lock or change, on a page that it has latched,
    /// carries a transaction's id: if that one is active, the record is its own, and it
    /// gets an explicit lock, which others can wait for.
    pub fn convert_implicit(
        &self,
        owner: &LockOwner,
        page: PageId,
        heap: HeapNumber,
        record_trx_id: u64,
        active: &dyn ActiveOwners,
    ) {
        if active.asks_under_lock_system() {
            let mut guard = self.enter(owner.shard);
            if let Some(holder) = active.find_active(record_trx_id) {
                convert(&mut guard, owner, holder, page, heap, record_trx_id);
            }
            guard.end();
        } else if record_trx_id != owner.state.trx_id()
            && let Some(holder) = active.find_active(record_trx_id)
        {
            let mut guard = self.enter(owner.shard);
            convert(&mut guard, owner, holder, page, heap, record_trx_id);
            guard.end();
        }
    }

    // ---- releasing ------------------------------------------------------------

    /// Releases all locks of a transaction, explicit and implicit: at its end.
    pub fn release_all(&self, owner: &mut LockOwner) {
        owner.tables.clear();
        owner.signal = None;
        if !owner.has_locks && owner.state.trx_id() == 0 {
            return;
        }
        let mut guard = self.enter(owner.shard);
        owner.state.set_trx_id(0);
        guard.table.release_owner(owner.id);
        guard.end();
        owner.has_locks = false;
        owner.state.set_undo_records(0);
    }

    /// Releases one granted record lock: READ COMMITTED gives back what does not match.
    pub fn unlock_record(
        &self,
        owner: &LockOwner,
        page: PageId,
        heap: HeapNumber,
        mode: RecordLockMode,
    ) {
        let mut guard = self.enter(owner.shard);
        guard.shard.increment(Counter::RecordLockReleaseAttempts);
        guard.table.release_record(owner.id, page, heap, mode);
        guard.end();
    }

    // ---- records that move ----------------------------------------------------

    /// A new record inherits the locks of the gap that it divides. Without the mutex if its
    /// page has no locks.
    pub fn inherit_to_inserted(&self, page: PageId, inserted: HeapNumber, successor: HeapNumber) {
        if self.is_page_locked(page) {
            let mut guard = self.enter(0);
            let table = &mut guard.table;
            table.inherit_gap((page, inserted), (page, successor), true);
            guard.end();
        }
    }

    /// A record leaves its page for good: its successor inherits the gap, and whoever waits
    /// for it asks again.
    pub fn record_removed(&self, page: PageId, heap: HeapNumber, successor: HeapNumber) {
        let mut guard = self.enter(0);
        guard
            .table
            .inherit_gap((page, successor), (page, heap), false);
        guard.table.forget_record(page, heap);
        guard.end();
    }

    /// `heir` inherits whatever anybody has of `from`, as locks on the gap before it.
    pub fn inherit_gap(&self, heir: (PageId, HeapNumber), from: (PageId, HeapNumber)) {
        let mut guard = self.enter(0);
        guard.table.inherit_gap(heir, from, false);
        guard.end();
    }

    /// The locks of a record lapse, and whoever waits for it asks again.
    pub fn forget_record(&self, page: PageId, heap: HeapNumber) {
        let mut guard = self.enter(0);
        guard.table.forget_record(page, heap);
        guard.end();
    }

    /// Records have gone to other places, of another page or of the same one; all at once,
    /// so that numbers may be exchanged. Records that are not named stay where they are.
    pub fn move_records(
        &self,
        from: PageId,
        to: PageId,
        moves: impl Iterator<Item = RecordMove> + Clone,
    ) {
        let mut guard = self.enter(0);
        if from == to {
            guard.table.renumber(from, moves);
        } else {
            guard.table.move_records(from, to, moves);
        }
        guard.end();
    }

    /// A page goes: one record of another inherits the gaps of all its records. Whoever
    /// waits for one of them asks again.
    pub fn page_discarded(&self, heir: Option<(PageId, HeapNumber)>, page: PageId) {
        let mut guard = self.enter(0);
        guard.table.discard_page(heir, page);
        guard.end();
    }

    /// Whether somebody may have or want a lock on a page, whose latch the caller holds.
    /// Mostly exact, and never a wrong no; takes no mutex.
    pub fn is_page_locked(&self, page: PageId) -> bool {
        self.locked_pages.may_be_locked(page)
    }

    // ---- figures --------------------------------------------------------------

    /// Lock objects that exist.
    pub fn lock_objects(&self) -> usize {
        self.table.lock().lock_objects()
    }

    /// Record locks, by owner: bits, not objects. For `SHOW ENGINE INNODB STATUS`.
    pub fn record_locks_of(&self, owner: &LockOwner) -> u64 {
        self.table.lock().record_locks_of(owner.id)
    }

    /// All locks in words, a line each, queue by queue: for dumps and tests.
    pub fn describe(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.table.lock().visit(|lock| {
            let state = if lock.waiting { "waits" } else { "granted" };
            let (owner, target) = (lock.owner.0, lock.target);
            lines.push(match lock.mode {
                Mode::Record(mode) => {
                    let heaps: Vec<HeapNumber> = (0..=lock.bits.largest().unwrap_or(0))
                        .filter(|&heap| lock.bits.contains(heap))
                        .collect();
                    format!("{target:?} owner {owner} {mode:?} {heaps:?} {state}")
                }
                Mode::Table(mode) => format!("{target:?} owner {owner} {mode:?} {state}"),
            });
        });
        lines
    }
}

/// Gives an active transaction an explicit lock on what it has implicitly.
fn convert(
    guard: &mut Guard<'_>,
    owner: &LockOwner,
    holder: OwnerId,
    page: PageId,
    heap: HeapNumber,
    trx_id: u64,
) {
    let mode = RecordLockMode::EXCLUSIVE_RECORD;
    let table = &mut *guard.table;
    // It may have ended since it was found, and its number may be another's.
    let active = table.owner(holder).state.trx_id() == trx_id;
    if holder != owner.id && active && !table.has_record(holder, page, heap, mode) {
        table.add_granted(holder, page, heap, mode);
    }
}
