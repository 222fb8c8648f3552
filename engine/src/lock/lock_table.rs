//! Queues of locks and lists of owners: asking, granting, releasing.
//!
//! Every lock object is on two lists: the queue of its page or table, in the order of
//! arrival, and the list of its owner. Both run through the object by numbers. Nothing
//! here waits or takes a latch; `system` does, with the mutex that owns the table.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::heap_bits::HeapBits;
use super::locked_pages::LockedPages;
use super::mode::{RecordLockMode, TableLockMode};
use super::owner::{OwnerId, OwnerState, WaitResult};
use super::slots::Slots;
use crate::page::PageId;

/// The number of a record in its page's heap; see [`Record`](crate::page::Record).
pub type HeapNumber = u16;
/// The heap number of the record that begins a page's list. No lock stays there; it keeps
/// the locks of a record that is off the page for a moment.
pub const INFIMUM: HeapNumber = 0;
/// The heap number of the record that ends a page's list: the gap after the last record.
pub const SUPREMUM: HeapNumber = 1;

/// No object: the end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Target {
    Page(PageId),
    Table(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Record(RecordLockMode),
    Table(TableLockMode),
}

#[derive(Clone, Copy, Debug)]
struct Links {
    previous: u32,
    next: u32,
}

impl Links {
    const ALONE: Links = Links {
        previous: NONE,
        next: NONE,
    };
}

/// A lock object: all record locks of an owner on a page in one mode, or a table lock.
#[derive(Debug)]
pub(super) struct Lock {
    pub(super) owner: OwnerId,
    pub(super) target: Target,
    pub(super) mode: Mode,
    /// Not granted. Such an object is for one record, [`heap`](Self::heap).
    pub(super) waiting: bool,
    pub(super) heap: HeapNumber,
    pub(super) bits: HeapBits,
    in_queue: Links,
    of_owner: Links,
}

impl Default for Lock {
    fn default() -> Self {
        Lock {
            owner: OwnerId(NONE),
            target: Target::Table(0),
            mode: Mode::Table(TableLockMode::IntentionShared),
            waiting: false,
            heap: 0,
            bits: HeapBits::default(),
            in_queue: Links::ALONE,
            of_owner: Links::ALONE,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
    /// Objects that wait.
    waiting: u32,
}

/// An owner's list.
#[derive(Debug)]
pub(super) struct OwnerEntry {
    pub(super) state: Arc<OwnerState>,
    first: u32,
    last: u32,
    pub(super) locks: u32,
    /// The object that waits, or [`NONE`].
    pub(super) waiting: u32,
    /// The last search for a deadlock that came by.
    pub(super) mark: u64,
}

impl Default for OwnerEntry {
    fn default() -> Self {
        OwnerEntry {
            state: Arc::default(),
            first: NONE,
            last: NONE,
            locks: 0,
            waiting: NONE,
            mark: 0,
        }
    }
}

/// What has been done, for the costs and the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Lock objects looked at.
    pub(super) steps: u64,
    /// Lock objects looked at in searches for deadlocks.
    pub(super) search_steps: u64,
    pub(super) searches: u64,
    pub(super) record_locks_created: u64,
    pub(super) record_locks_removed: u64,
    pub(super) table_locks_created: u64,
    pub(super) table_locks_removed: u64,
    pub(super) grant_attempts: u64,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Granted,
    /// The owner had it already.
    Held,
    /// An object stands in the queue and waits.
    Waits,
}

/// All locks; see the module's opening.
#[derive(Debug)]
pub(super) struct LockTable {
    locks: Slots<Lock>,
    owners: Slots<OwnerEntry>,
    queues: FxHashMap<Target, Queue>,
    pub(super) tally: Tally,
    /// The number of the last search for a deadlock.
    pub(super) search: u64,
    pub(super) search_stack: Vec<super::deadlock::Frame>,
    /// Objects to be looked at one after the other while the queue changes.
    pub(super) scratch: Vec<u32>,
    pub(super) scratch_bits: HeapBits,
    locked_pages: Arc<LockedPages>,
    /// Nobody may wait any more.
    waits_ended: bool,
}

impl LockTable {
    pub(super) fn new(locked_pages: Arc<LockedPages>) -> Self {
        LockTable {
            locked_pages,
            locks: Slots::new(),
            owners: Slots::new(),
            queues: FxHashMap::default(),
            tally: Tally::default(),
            search: 0,
            search_stack: Vec::new(),
            scratch: Vec::new(),
            scratch_bits: HeapBits::default(),
            waits_ended: false,
        }
    }

    // ---- owners ---------------------------------------------------------------

    /// A new owner.
    pub(super) fn join(&mut self, state: Arc<OwnerState>) -> OwnerId {
        let id = self.owners.take();
        self.owners[id] = OwnerEntry {
            state,
            ..OwnerEntry::default()
        };
        OwnerId(id)
    }

    /// An owner goes; it has no locks.
    pub(super) fn leave(&mut self, owner: OwnerId) {
        debug_assert_eq!(self.owners[owner.0].first, NONE, "its locks are released");
        self.owners.give_back(owner.0);
    }

    pub(super) fn owner(&self, owner: OwnerId) -> &OwnerEntry {
        &self.owners[owner.0]
    }

    pub(super) fn owner_mut(&mut self, owner: OwnerId) -> &mut OwnerEntry {
        &mut self.owners[owner.0]
    }

    pub(super) fn lock(&self, lock: u32) -> &Lock {
        &self.locks[lock]
    }

    pub(super) fn lock_mut(&mut self, lock: u32) -> &mut Lock {
        &mut self.locks[lock]
    }

    // ---- lists ----------------------------------------------------------------

    /// The first object of a queue, or [`NONE`].
    pub(super) fn first(&self, target: Target) -> u32 {
        self.queues.get(&target).map_or(NONE, |queue| queue.first)
    }

    /// The object after this one in its queue, or [`NONE`].
    #[inline]
    pub(super) fn next(&self, lock: u32) -> u32 {
        self.locks[lock].in_queue.next
    }

    /// Puts a new object at the end of its queue and of its owner's list.
    pub(super) fn append(
        &mut self,
        owner: OwnerId,
        target: Target,
        mode: Mode,
        heap: HeapNumber,
        waiting: bool,
    ) -> u32 {
        let number = self.locks.take();
        let queue = self.queues.entry(target).or_insert(Queue {
            first: NONE,
            last: NONE,
            waiting: 0,
        });
        let previous = queue.last;
        queue.last = number;
        if previous == NONE {
            queue.first = number;
        } else {
            self.locks[previous].in_queue.next = number;
        }
        queue.waiting += u32::from(waiting);
        let entry = &mut self.owners[owner.0];
        let previous_of_owner = entry.last;
        entry.last = number;
        entry.locks += 1;
        if previous_of_owner == NONE {
            entry.first = number;
        } else {
            self.locks[previous_of_owner].of_owner.next = number;
        }
        if waiting {
            debug_assert_eq!(entry.waiting, NONE, "an owner waits for one lock");
            entry.waiting = number;
            entry.state.set_result(WaitResult::Open);
        }
        let lock = &mut self.locks[number];
        lock.owner = owner;
        lock.target = target;
        lock.mode = mode;
        lock.waiting = waiting;
        lock.heap = heap;
        lock.bits.clear();
        lock.in_queue = Links {
            previous,
            next: NONE,
        };
        lock.of_owner = Links {
            previous: previous_of_owner,
            next: NONE,
        };
        match mode {
            Mode::Record(_) => {
                self.locked_pages.count(target, 1);
                lock.bits.insert(heap);
                self.tally.record_locks_created += 1;
            }
            Mode::Table(_) => self.tally.table_locks_created += 1,
        }
        number
    }

    /// Takes an object off both lists. If it waited, its owner waits no more; who waited
    /// for it is not looked at.
    pub(super) fn remove(&mut self, number: u32) {
        let lock = &self.locks[number];
        let (owner, target, waiting) = (lock.owner, lock.target, lock.waiting);
        let (in_queue, of_owner) = (lock.in_queue, lock.of_owner);
        let queue = self.queues.get_mut(&target).expect("its queue exists");
        queue.waiting -= u32::from(waiting);
        match in_queue.previous {
            NONE => queue.first = in_queue.next,
            previous => self.locks[previous].in_queue.next = in_queue.next,
        }
        match in_queue.next {
            NONE => queue.last = in_queue.previous,
            next => self.locks[next].in_queue.previous = in_queue.previous,
        }
        if queue.first == NONE {
            self.queues.remove(&target);
        }
        let entry = &mut self.owners[owner.0];
        entry.locks -= 1;
        if waiting {
            entry.waiting = NONE;
        }
        match of_owner.previous {
            NONE => entry.first = of_owner.next,
            previous => self.locks[previous].of_owner.next = of_owner.next,
        }
        match of_owner.next {
            NONE => entry.last = of_owner.previous,
            next => self.locks[next].of_owner.previous = of_owner.previous,
        }
        match target {
            Target::Page(_) => {
                self.locked_pages.count(target, -1);
                self.tally.record_locks_removed += 1;
            }
            Target::Table(_) => self.tally.table_locks_removed += 1,
        }
        self.locks.give_back(number);
    }

    // ---- conflicts ------------------------------------------------------------

    /// Whether an object that waits has to, as far as another one goes.
    #[inline]
    pub(super) fn is_blocked_by(&self, waiter: u32, other: u32) -> bool {
        self.locks[waiter].owner != self.locks[other].owner && self.modes_conflict(waiter, other)
    }

    /// As [`is_blocked_by`](Self::is_blocked_by), whoever owns them.
    #[inline]
    pub(super) fn modes_conflict(&self, waiter: u32, other: u32) -> bool {
        let (lock, other) = (&self.locks[waiter], &self.locks[other]);
        match (lock.mode, other.mode) {
            (Mode::Record(wanted), Mode::Record(held)) => {
                other.bits.contains(lock.heap) && wanted.waits_for(held, lock.heap == SUPREMUM)
            }
            (Mode::Table(wanted), Mode::Table(held)) => !wanted.is_compatible(held),
            _ => false,
        }
    }

    /// Whether anything in front of an object that waits keeps it waiting.
    fn has_to_wait(&mut self, waiter: u32) -> bool {
        let mut other = self.first(self.locks[waiter].target);
        while other != waiter {
            self.tally.steps += 1;
            if self.is_blocked_by(waiter, other) {
                return true;
            }
            other = self.next(other);
        }
        false
    }

    // ---- granting and releasing -----------------------------------------------

    /// Lets the owner of an object that waits go on.
    pub(super) fn grant(&mut self, number: u32) {
        let lock = &mut self.locks[number];
        debug_assert!(lock.waiting);
        lock.waiting = false;
        let (owner, target) = (lock.owner, lock.target);
        let queue = self.queues.get_mut(&target).expect("its queue exists");
        queue.waiting -= 1;
        let entry = &mut self.owners[owner.0];
        entry.waiting = NONE;
        entry.state.set_result(WaitResult::Granted);
        entry.state.event.set();
    }

    /// Something has left a queue: grants what need not wait any more, the oldest first.
    pub(super) fn grant_waiters(&mut self, target: Target) {
        let Some(queue) = self.queues.get(&target) else {
            return;
        };
        let mut waiting = queue.waiting;
        let mut number = queue.first;
        while number != NONE && waiting > 0 {
            self.tally.steps += 1;
            if self.locks[number].waiting {
                waiting -= 1;
                self.tally.grant_attempts += 1;
                if !self.has_to_wait(number) {
                    self.grant(number);
                }
            }
            number = self.next(number);
        }
    }

    /// Ends an owner's wait, if it waits: takes its request back, with this result.
    pub(super) fn cancel_wait(&mut self, owner: OwnerId, result: WaitResult) {
        let number = self.owners[owner.0].waiting;
        if number == NONE {
            return;
        }
        let target = self.locks[number].target;
        self.remove(number);
        let state = &self.owners[owner.0].state;
        state.set_result(result);
        state.event.set();
        self.grant_waiters(target);
    }

    /// Ends all waits: those there are, by taking the requests back, and those to come,
    /// which [`are_waits_ended`](Self::are_waits_ended) forbids.
    pub(super) fn end_waits(&mut self) {
        self.waits_ended = true;
        for owner in 0..self.owners.count() {
            self.cancel_wait(OwnerId(owner), WaitResult::Ended);
        }
    }

    /// Whether nobody may wait any more.
    pub(super) fn are_waits_ended(&self) -> bool {
        self.waits_ended
    }

    /// Releases all locks of an owner, the youngest first.
    pub(super) fn release_owner(&mut self, owner: OwnerId) {
        loop {
            let number = self.owners[owner.0].last;
            if number == NONE {
                break;
            }
            self.tally.steps += 1;
            let target = self.locks[number].target;
            self.remove(number);
            self.grant_waiters(target);
        }
    }

    /// Releases an owner's granted lock on one record, in one strength.
    pub(super) fn release_record(
        &mut self,
        owner: OwnerId,
        page: PageId,
        heap: HeapNumber,
        mode: RecordLockMode,
    ) {
        let target = Target::Page(page);
        let mut number = self.first(target);
        while number != NONE {
            self.tally.steps += 1;
            let lock = &mut self.locks[number];
            let next = lock.in_queue.next;
            let this = lock.owner == owner
                && lock.mode == Mode::Record(mode)
                && !lock.waiting
                && lock.bits.contains(heap);
            if this {
                lock.bits.remove(heap);
                if lock.bits.is_empty() {
                    self.remove(number);
                }
                self.grant_waiters(target);
                return;
            }
            number = next;
        }
    }

    // ---- figures --------------------------------------------------------------

    /// Objects that exist.
    pub(super) fn lock_objects(&self) -> usize {
        self.locks.in_use()
    }

    /// Record locks of an owner: bits, not objects.
    pub(super) fn record_locks_of(&self, owner: OwnerId) -> u64 {
        let mut count = 0;
        let mut number = self.owners[owner.0].first;
        while number != NONE {
            let lock = &self.locks[number];
            count += u64::from(lock.bits.count());
            number = lock.of_owner.next;
        }
        count
    }

    /// Every object, queue by queue in the order of pages and tables: for dumps and tests.
    pub(super) fn visit(&self, mut visit: impl FnMut(&Lock)) {
        let mut targets: Vec<Target> = self.queues.keys().copied().collect();
        targets.sort_unstable();
        for target in targets {
            let mut number = self.first(target);
            while number != NONE {
                visit(&self.locks[number]);
                number = self.next(number);
            }
        }
    }
}
