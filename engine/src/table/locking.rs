//! Reading with locks: `SELECT ... FOR UPDATE`, `FOR SHARE`, and the search for the row
//! that an UPDATE or DELETE is about.
//!
//! | what is found | REPEATABLE READ, SERIALIZABLE | READ COMMITTED and below |
//! |---|---|---|
//! | the row of a primary key | the record | the record |
//! | no row of that key | the gap where it would be | nothing |
//! | a delete-marked record of it | record and gaps on both sides | nothing, after a look |
//! | each entry of a range | next-key: record and gap before it | the record |
//! | the end of a range | the gap | nothing |
//!
//! A transaction that must wait gives up all latches first. Afterwards the page may have
//! been split and the record may be gone, so it searches again.
//!
//! Source: the fact sheet's section 5.2 (`row_search_mvcc`).

use super::dictionary::Table;
use super::error::TableError;
use super::fields::FieldBuffer;
use super::layout::{Row, SecondaryLayout};
use super::read::{KeyRange, first_of, step};
use super::store::{RowSession, RowStore};
use crate::btree::{BtreeLatch, Index, Position, move_next, search_leaf};
use crate::lock::{
    LockOutcome, LockStrength, RecordLockKind, RecordLockMode, SUPREMUM, TableLockMode,
};
use crate::metrics::Counter;
use crate::page::SearchMode;
use crate::page::record_compare::KeyField;
use crate::redo_log::MiniTransaction;
use crate::runtime::{Cost, cpu};
use crate::transaction::Transaction;

/// What a SELECT locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadLock {
    /// A plain SELECT: nothing, but under SERIALIZABLE within a transaction.
    None,
    /// `FOR SHARE`, `LOCK IN SHARE MODE`
    Shared,
    /// `FOR UPDATE`
    Exclusive,
}

impl ReadLock {
    /// The strength of its locks.
    pub(super) fn strength(self) -> LockStrength {
        match self {
            ReadLock::Exclusive => LockStrength::Exclusive,
            ReadLock::None | ReadLock::Shared => LockStrength::Shared,
        }
    }
}

/// What became of the search for a row to lock.
pub(super) enum RowLock {
    /// The row is there and locked.
    Found(Position),
    /// There is no such row.
    Missing,
    /// Somebody else has it: end the mini-transaction, wait, and search again.
    Wait,
}

impl RowStore {
    /// Waits for a lock that was answered by [`LockOutcome::Wait`]. The caller holds no
    /// latch. The seat under `innodb_thread_concurrency` is given up meanwhile.
    pub(super) fn wait_for_lock(&self, session: &mut RowSession) -> Result<(), TableError> {
        self.admission.leave(&mut session.seat);
        let result = self.locks.wait(&mut session.transaction.locks);
        self.admission.enter_by_force(&mut session.seat);
        Ok(result?)
    }

    /// Tells others that the transaction is about to lock rows of a table, or to change
    /// them. Waits if somebody has locked all of it.
    pub(super) fn intend(
        &self,
        session: &mut RowSession,
        table: &Table,
        strength: LockStrength,
    ) -> Result<(), TableError> {
        let mode = match strength {
            LockStrength::Shared => TableLockMode::IntentionShared,
            LockStrength::Exclusive => {
                // A transaction that only reads may lock rows.
                if !session.transaction.options().read_only {
                    self.transactions
                        .become_read_write(&mut session.transaction)?;
                }
                TableLockMode::IntentionExclusive
            }
        };
        loop {
            let locks = &mut session.transaction.locks;
            match self.locks.lock_table(locks, table.id(), mode)? {
                LockOutcome::Granted => return Ok(()),
                LockOutcome::Wait => self.wait_for_lock(session)?,
            }
        }
    }
}

/// Locks the record at a position; who has it implicitly gets an explicit lock first.
pub(super) fn lock_clustered(
    store: &RowStore,
    transaction: &mut Transaction,
    mtr: &MiniTransaction<'_>,
    index: &Index,
    position: &Position,
    mode: RecordLockMode,
) -> Result<LockOutcome, TableError> {
    let page = mtr.page_id(position.leaf);
    let record = position.record(mtr);
    let (heap, trx_id) = (record.heap_number(), record.trx_id(&index.format));
    let active = store.transactions.system();
    store
        .locks
        .convert_implicit(&transaction.locks, page, heap, trx_id, active);
    let locks = &mut transaction.locks;
    Ok(store.locks.lock_record(locks, page, heap, mode)?)
}

/// Locks the record at a position for a change, where nobody has it implicitly but the
/// transaction itself: there is nothing to ask for.
pub(super) fn lock_converted(
    store: &RowStore,
    transaction: &mut Transaction,
    mtr: &MiniTransaction<'_>,
    position: &Position,
) -> Result<LockOutcome, TableError> {
    let page = mtr.page_id(position.leaf);
    let heap = position.record(mtr).heap_number();
    let (locks, mode) = (&mut transaction.locks, RecordLockMode::EXCLUSIVE_RECORD);
    Ok(store.locks.lock_record(locks, page, heap, mode)?)
}

/// Locks the gap before the record with this origin, which may be the supremum.
fn lock_gap(
    store: &RowStore,
    transaction: &mut Transaction,
    mtr: &MiniTransaction<'_>,
    position: &Position,
    before: u16,
    strength: LockStrength,
) -> Result<(), TableError> {
    let page = mtr.index_page(position.leaf);
    let heap = page.record(before).heap_number();
    let mode = RecordLockMode::new(strength, RecordLockKind::Gap);
    let locks = &mut transaction.locks;
    // Gaps do not conflict with each other.
    let outcome = store.locks.lock_record(locks, page.page_id(), heap, mode)?;
    debug_assert_eq!(outcome, LockOutcome::Granted);
    Ok(())
}

/// Searches for the row of a primary key and locks it.
pub(super) fn lock_row(
    store: &RowStore,
    transaction: &mut Transaction,
    mtr: &mut MiniTransaction<'_>,
    table: &Table,
    key: &[KeyField<'_>],
    strength: LockStrength,
    latch: BtreeLatch,
) -> Result<RowLock, TableError> {
    let index = &**table.clustered();
    let position = search_leaf(mtr, index, key, SearchMode::LessOrEqual, latch)?;
    let locks_gaps = transaction.locks_gaps();
    let next = mtr.index_page(position.leaf).next(position.origin);
    if !position.is_at_record() || position.matched < key.len() {
        if locks_gaps {
            lock_gap(store, transaction, mtr, &position, next, strength)?;
        }
        return Ok(RowLock::Missing);
    }
    let is_deleted = position.record(mtr).is_delete_marked();
    let kind = match is_deleted && locks_gaps {
        true => RecordLockKind::NextKey,
        false => RecordLockKind::Record,
    };
    let mode = RecordLockMode::new(strength, kind);
    match lock_clustered(store, transaction, mtr, index, &position, mode)? {
        LockOutcome::Wait => return Ok(RowLock::Wait),
        LockOutcome::Granted if !is_deleted => return Ok(RowLock::Found(position)),
        LockOutcome::Granted => {}
    }
    if locks_gaps {
        lock_gap(store, transaction, mtr, &position, next, strength)?;
    } else {
        let page = mtr.page_id(position.leaf);
        let heap = position.record(mtr).heap_number();
        store
            .locks
            .unlock_record(&transaction.locks, page, heap, mode);
    }
    Ok(RowLock::Missing)
}

/// A scan that locks what it finds.
struct Scan<'s> {
    store: &'s RowStore,
    table: &'s Table,
    /// The tree that is scanned, and the layout if it is a secondary one.
    tree: &'s Index,
    of_index: Option<&'s SecondaryLayout>,
    range: KeyRange<'s>,
    strength: LockStrength,
    locks_gaps: bool,
}

/// What a scan does next.
enum Next {
    Step,
    Wait,
    End,
}

/// Reads the rows of a range of the clustered index, or of the secondary index of that
/// position, and locks all that it scans.
pub(super) fn scan(
    store: &RowStore,
    session: &mut RowSession,
    table: &Table,
    index: Option<usize>,
    range: KeyRange<'_>,
    strength: LockStrength,
    mut each: impl FnMut(&Row<'_>),
) -> Result<u64, TableError> {
    store.intend(session, table, strength)?;
    let scan = Scan {
        store,
        table,
        tree: match index {
            None => table.clustered(),
            Some(index) => &table.secondary()[index],
        },
        of_index: index.map(|index| &table.layout().secondary()[index]),
        range,
        strength,
        locks_gaps: session.transaction.locks_gaps(),
    };
    let mut rows = 0;
    session.buffers.place.clear();
    loop {
        let RowSession {
            transaction,
            context,
            buffers,
            ..
        } = session;
        let mut mtr = store.pages.begin(context);
        // After a wait: from the record on that was waited for.
        let from = KeyRange {
            first: match buffers.place.is_empty() {
                true => range.first,
                false => &buffers.place.as_fields(),
            },
            ..range
        };
        let mut position = first_of(&mut mtr, scan.tree, from)?;
        let next = loop {
            let mut take = |row: &Row<'_>| {
                rows += 1;
                each(row);
            };
            match scan.look_at(transaction, &mut mtr, &mut position, &mut take)? {
                Next::Step => step(&mtr, &mut position),
                next => break next,
            }
        };
        if let Next::End = next {
            mtr.commit();
            return Ok(rows);
        }
        let record = position.record(&mtr);
        buffers.place.copy(&scan.tree.format.key_of(record));
        mtr.commit();
        store.wait_for_lock(session)?;
    }
}

impl Scan<'_> {
    /// Locks the record at the position, or at the start of the next page, and takes its
    /// row if it is in the range.
    fn look_at(
        &self,
        transaction: &mut Transaction,
        mtr: &mut MiniTransaction<'_>,
        position: &mut Position,
        take: &mut dyn FnMut(&Row<'_>),
    ) -> Result<Next, TableError> {
        while !position.is_at_record() {
            if self.locks_gaps {
                let page = mtr.page_id(position.leaf);
                let mode = RecordLockMode::new(self.strength, RecordLockKind::Gap);
                let locks = &mut transaction.locks;
                let outcome = self.store.locks.lock_record(locks, page, SUPREMUM, mode)?;
                debug_assert_eq!(outcome, LockOutcome::Granted);
            }
            if !move_next(mtr, self.tree, position)? {
                return Ok(Next::End);
            }
        }
        cpu(Cost::RecordCompare);
        let format = &self.tree.format;
        let record = position.record(mtr);
        if format.compare(self.range.last, record).ordering.is_lt() {
            if self.locks_gaps {
                let (origin, strength) = (position.origin, self.strength);
                lock_gap(self.store, transaction, mtr, position, origin, strength)?;
            }
            return Ok(Next::End);
        }
        // A range that begins with a whole primary key locks its first record alone.
        let first = self.range.first;
        let is_first = self.of_index.is_none()
            && first.len() == format.key_fields()
            && format.compare(first, record).ordering.is_eq();
        let kind = match self.locks_gaps && !is_first {
            true => RecordLockKind::NextKey,
            false => RecordLockKind::Record,
        };
        let mode = RecordLockMode::new(self.strength, kind);
        match self.of_index {
            None => self.take_row(transaction, mtr, position, mode, take),
            Some(of_index) => self.take_entry(transaction, mtr, position, of_index, mode, take),
        }
    }

    fn take_row(
        &self,
        transaction: &mut Transaction,
        mtr: &MiniTransaction<'_>,
        position: &Position,
        mode: RecordLockMode,
        take: &mut dyn FnMut(&Row<'_>),
    ) -> Result<Next, TableError> {
        let index = &**self.table.clustered();
        let outcome = lock_clustered(self.store, transaction, mtr, index, position, mode)?;
        if outcome == LockOutcome::Wait {
            return Ok(Next::Wait);
        }
        let record = position.record(mtr);
        if record.is_delete_marked() {
            self.give_back(transaction, mtr, position, mode);
        } else {
            self.count(mtr);
            take(&Row::clustered(self.table.layout(), record));
        }
        Ok(Next::Step)
    }

    /// Locks an entry of a secondary index, and the row that it names.
    fn take_entry(
        &self,
        transaction: &mut Transaction,
        mtr: &mut MiniTransaction<'_>,
        position: &Position,
        of_index: &SecondaryLayout,
        mode: RecordLockMode,
        take: &mut dyn FnMut(&Row<'_>),
    ) -> Result<Next, TableError> {
        let mut entry = FieldBuffer::new();
        entry.copy(&of_index.format().key_of(position.record(mtr)));
        let entry = entry.as_fields();
        let key = of_index.primary_key_of(&entry);
        let savepoint = mtr.savepoint();
        let clustered = &**self.table.clustered();
        let (how, latch) = (SearchMode::LessOrEqual, BtreeLatch::SearchLeaf);
        let row = search_leaf(mtr, clustered, &key, how, latch)?;
        let has_row = row.is_at_record() && row.matched == key.len();

        let (page, heap) = {
            let page = mtr.index_page(position.leaf);
            (page, position.record(mtr).heap_number())
        };
        // Who has changed the row last, and is active, may have made this entry or marked
        // it. That is not looked into: its clustered record is locked in any case.
        if has_row && page.max_trx_id() >= self.store.transactions.system().smallest_active_id() {
            let trx_id = row.record(mtr).trx_id(&clustered.format);
            let active = self.store.transactions.system();
            let locks = &transaction.locks;
            self.store
                .locks
                .convert_implicit(locks, page.page_id(), heap, trx_id, active);
        }
        let locks = &mut transaction.locks;
        let outcome = self
            .store
            .locks
            .lock_record(locks, page.page_id(), heap, mode)?;
        if outcome == LockOutcome::Wait {
            mtr.release_since(savepoint);
            return Ok(Next::Wait);
        }
        if position.record(mtr).is_delete_marked() || !has_row {
            mtr.release_since(savepoint);
            self.give_back(transaction, mtr, position, mode);
            return Ok(Next::Step);
        }
        let of_row = RecordLockMode::new(self.strength, RecordLockKind::Record);
        let outcome = lock_clustered(self.store, transaction, mtr, clustered, &row, of_row)?;
        if outcome == LockOutcome::Granted {
            let record = row.record(mtr);
            if record.is_delete_marked() {
                return Err(TableError::contradiction(
                    self.tree,
                    "an entry names a row that is deleted",
                ));
            }
            self.count(mtr);
            take(&Row::clustered(self.table.layout(), record));
        }
        mtr.release_since(savepoint);
        Ok(match outcome {
            LockOutcome::Granted => Next::Step,
            LockOutcome::Wait => Next::Wait,
        })
    }

    /// READ COMMITTED keeps locks on rows that it returns only.
    fn give_back(
        &self,
        transaction: &Transaction,
        mtr: &MiniTransaction<'_>,
        position: &Position,
        mode: RecordLockMode,
    ) {
        if !self.locks_gaps {
            let page = mtr.page_id(position.leaf);
            let heap = position.record(mtr).heap_number();
            let locks = &transaction.locks;
            self.store.locks.unlock_record(locks, page, heap, mode);
        }
    }

    fn count(&self, mtr: &MiniTransaction<'_>) {
        cpu(Cost::RowFetch);
        let metrics = &mtr.pages().metrics;
        metrics.shard(mtr.shard()).increment(Counter::RowsRead);
    }
}
