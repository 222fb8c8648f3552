//! Locks that follow their records.
//!
//! A lock lies on a page and a heap number. When a page is split, merged or reorganised,
//! its records get other places, and their locks go with them, granted or waiting. When
//! a record goes for good, what was locked of it remains locked as a part of the gap
//! before its successor:
//!
//! ```text
//!   lock on 20:   -- 10 ..... [20] ..... 30 --
//!   20 is purged: -- 10 [..............] 30 --     a gap lock on 30, the heir
//! ```
//!
//! An insert into a locked gap divides it: the new record inherits the gap before it.
//!
//! Source: InnoDB (`lock_move_*`, `lock_update_*`, `lock_rec_inherit_to_gap`).

use super::lock_table::{HeapNumber, LockTable, Mode, NONE, SUPREMUM, Target};
use super::mode::{LockStrength, RecordLockKind, RecordLockMode};
use super::owner::WaitResult;
use crate::page::PageId;

/// A record's heap number before and after its page was rebuilt, or on the page that it
/// left and on the one that it went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordMove {
    /// Where it was.
    pub from: HeapNumber,
    /// Where it is.
    pub to: HeapNumber,
}

impl LockTable {
    /// Calls for every object on a record, as the queue was before the first call.
    fn for_each_on_record(
        &mut self,
        page: PageId,
        heap: HeapNumber,
        mut each: impl FnMut(&mut LockTable, u32),
    ) {
        let mut objects = std::mem::take(&mut self.scratch);
        objects.clear();
        let mut number = self.first(Target::Page(page));
        while number != NONE {
            self.tally.steps += 1;
            if self.lock(number).bits.contains(heap) {
                objects.push(number);
            }
            number = self.next(number);
        }
        for &number in &objects {
            each(self, number);
        }
        self.scratch = objects;
    }

    fn record_mode(&self, number: u32) -> RecordLockMode {
        match self.lock(number).mode {
            Mode::Record(mode) => mode,
            Mode::Table(_) => unreachable!("a page's queue has record locks"),
        }
    }

    /// Takes a bit out of an object, which goes with its last bit.
    fn clear_bit(&mut self, number: u32, heap: HeapNumber) {
        let lock = self.lock_mut(number);
        lock.bits.remove(heap);
        if lock.bits.is_empty() {
            self.remove(number);
        }
    }

    /// All locks of a record go to another place.
    pub(super) fn move_record(&mut self, from: (PageId, HeapNumber), to: (PageId, HeapNumber)) {
        self.for_each_on_record(from.0, from.1, |table, number| {
            let mode = table.record_mode(number);
            let lock = table.lock(number);
            let (owner, waiting) = (lock.owner, lock.waiting);
            table.clear_bit(number, from.1);
            if waiting {
                table.add_waiting(owner, to.0, to.1, mode);
            } else {
                table.add_granted(owner, to.0, to.1, mode);
            }
        });
    }

    /// Records have gone to another page: those that have locks keep them.
    pub(super) fn move_records(
        &mut self,
        from: PageId,
        to: PageId,
        moves: impl Iterator<Item = RecordMove>,
    ) {
        let mut locked = std::mem::take(&mut self.scratch_bits);
        locked.clear();
        let mut number = self.first(Target::Page(from));
        while number != NONE {
            self.tally.steps += 1;
            locked.insert_all(&self.lock(number).bits);
            number = self.next(number);
        }
        for place in moves {
            if locked.contains(place.from) {
                self.move_record((from, place.from), (to, place.to));
            }
        }
        self.scratch_bits = locked;
    }

    /// Records of a page have other heap numbers; all at once, so that numbers may be
    /// exchanged. Those that are not named keep theirs.
    pub(super) fn renumber(
        &mut self,
        page: PageId,
        moves: impl Iterator<Item = RecordMove> + Clone,
    ) {
        let mut number = self.first(Target::Page(page));
        while number != NONE {
            self.tally.steps += 1;
            let next = self.next(number);
            let mut old = std::mem::take(&mut self.scratch_bits);
            let lock = self.lock_mut(number);
            old.clear();
            old.insert_all(&lock.bits);
            for place in moves.clone() {
                if old.contains(place.from) {
                    lock.bits.remove(place.from);
                }
            }
            let was = lock.heap;
            for place in moves.clone() {
                if old.contains(place.from) {
                    lock.bits.insert(place.to);
                    if lock.waiting && place.from == was {
                        lock.heap = place.to;
                    }
                }
            }
            self.scratch_bits = old;
            number = next;
        }
    }

    /// Everybody who has anything of a record gets the gap before its heir. `only_gaps`:
    /// only who has the gap before the record.
    pub(super) fn inherit_gap(
        &mut self,
        heir: (PageId, HeapNumber),
        from: (PageId, HeapNumber),
        only_gaps: bool,
    ) {
        self.for_each_on_record(from.0, from.1, |table, number| {
            let mode = table.record_mode(number);
            let owner = table.lock(number).owner;
            let has_gap = mode.kind != RecordLockKind::Record || from.1 == SUPREMUM;
            let inherits = match mode.kind {
                RecordLockKind::InsertIntention => false,
                _ if only_gaps => has_gap,
                // READ COMMITTED: what it changes it locks, but never a gap.
                _ => table.owner(owner).state.locks_gaps() || mode.strength == LockStrength::Shared,
            };
            if inherits {
                let gap = RecordLockMode::new(mode.strength, RecordLockKind::Gap);
                table.add_granted(owner, heir.0, heir.1, gap);
            }
        });
    }

    /// A record goes: its locks are released, and who waits for it asks again elsewhere.
    pub(super) fn forget_record(&mut self, page: PageId, heap: HeapNumber) {
        self.for_each_on_record(page, heap, |table, number| {
            let lock = table.lock(number);
            // Cancelled together with one before it: a wait of the same owner cannot be.
            if lock.waiting {
                let owner = lock.owner;
                table.remove(number);
                let state = &table.owner(owner).state;
                state.set_result(WaitResult::Granted);
                state.event.set();
            } else {
                table.clear_bit(number, heap);
            }
        });
        self.grant_waiters(Target::Page(page));
    }

    /// A page goes: the gaps of all its records are inherited by one record of another, if
    /// there is an heir.
    pub(super) fn discard_page(&mut self, heir: Option<(PageId, HeapNumber)>, page: PageId) {
        let target = Target::Page(page);
        loop {
            let number = self.first(target);
            if number == NONE {
                return;
            }
            let mode = self.record_mode(number);
            let lock = self.lock(number);
            let (owner, waiting) = (lock.owner, lock.waiting);
            let inherits = mode.kind != RecordLockKind::InsertIntention
                && (self.owner(owner).state.locks_gaps() || mode.strength == LockStrength::Shared);
            self.remove(number);
            if waiting {
                let state = &self.owner(owner).state;
                state.set_result(WaitResult::Granted);
                state.event.set();
            }
            if let Some(heir) = heir.filter(|_| inherits) {
                let gap = RecordLockMode::new(mode.strength, RecordLockKind::Gap);
                self.add_granted(owner, heir.0, heir.1, gap);
            }
        }
    }
}
