//! Asking for locks: what each request looks at, and what it leaves in the queue.

use super::lock_table::{HeapNumber, LockTable, Mode, NONE, Request, SUPREMUM, Target};
use super::mode::{RecordLockKind, RecordLockMode, TableLockMode};
use super::owner::OwnerId;
use crate::page::PageId;

impl LockTable {
    /// Asks for a record lock.
    pub(super) fn request_record(
        &mut self,
        owner: OwnerId,
        page: PageId,
        heap: HeapNumber,
        mode: RecordLockMode,
    ) -> Request {
        debug_assert_ne!(mode.kind, RecordLockKind::InsertIntention);
        let target = Target::Page(page);
        let on_supremum = heap == SUPREMUM;
        let (mut similar, mut conflict, mut somebody_waits) = (NONE, false, false);
        let mut number = self.first(target);
        while number != NONE {
            self.tally.steps += 1;
            let lock = self.lock(number);
            let Mode::Record(held) = lock.mode else {
                unreachable!("a page's queue has record locks")
            };
            let on_record = lock.bits.contains(heap);
            if lock.owner == owner {
                if on_record && !lock.waiting && held.covers(mode, on_supremum) {
                    return Request::Held;
                }
                if held == mode && !lock.waiting {
                    similar = number;
                }
            } else if on_record {
                somebody_waits |= lock.waiting;
                conflict |= mode.waits_for(held, on_supremum);
            }
            number = self.next(number);
        }
        if conflict {
            self.append(owner, target, Mode::Record(mode), heap, true);
            return Request::Waits;
        }
        // A bit in an old object would overtake whoever waits for the record.
        if similar == NONE || somebody_waits {
            self.append(owner, target, Mode::Record(mode), heap, false);
        } else {
            self.lock_mut(similar).bits.insert(heap);
        }
        Request::Granted
    }

    /// Asks whether a record may be inserted before `successor`. Returns whether it has to
    /// wait, and whether there is any lock on the gap that the new record divides.
    pub(super) fn request_insert(
        &mut self,
        owner: OwnerId,
        page: PageId,
        successor: HeapNumber,
    ) -> (Request, bool) {
        let target = Target::Page(page);
        let mode = RecordLockMode::INSERT_INTENTION;
        let (mut conflict, mut locked) = (false, false);
        let mut number = self.first(target);
        while number != NONE {
            self.tally.steps += 1;
            let lock = self.lock(number);
            if let Mode::Record(held) = lock.mode
                && lock.bits.contains(successor)
            {
                locked = true;
                conflict |= lock.owner != owner && mode.waits_for(held, successor == SUPREMUM);
            }
            number = self.next(number);
        }
        if conflict {
            self.append(owner, target, Mode::Record(mode), successor, true);
            return (Request::Waits, true);
        }
        (Request::Granted, locked)
    }

    /// Asks for a table lock.
    pub(super) fn request_table(
        &mut self,
        owner: OwnerId,
        table: u64,
        mode: TableLockMode,
    ) -> Request {
        let target = Target::Table(table);
        let mut conflict = false;
        let mut number = self.first(target);
        while number != NONE {
            self.tally.steps += 1;
            let lock = self.lock(number);
            if let Mode::Table(held) = lock.mode {
                if lock.owner == owner {
                    if !lock.waiting && held.covers(mode) {
                        return Request::Held;
                    }
                } else {
                    conflict |= !mode.is_compatible(held);
                }
            }
            number = self.next(number);
        }
        self.append(owner, target, Mode::Table(mode), 0, conflict);
        match conflict {
            true => Request::Waits,
            false => Request::Granted,
        }
    }

    /// Gives an owner a record lock without asking: it has it implicitly, or inherits it.
    pub(super) fn add_granted(
        &mut self,
        owner: OwnerId,
        page: PageId,
        heap: HeapNumber,
        mode: RecordLockMode,
    ) {
        let (mut similar, mut somebody_waits) = (NONE, false);
        let mut number = self.first(Target::Page(page));
        while number != NONE {
            self.tally.steps += 1;
            let lock = self.lock(number);
            let own = lock.owner == owner && lock.mode == Mode::Record(mode) && !lock.waiting;
            if own {
                if lock.bits.contains(heap) {
                    return;
                }
                similar = number;
            }
            somebody_waits |= lock.waiting && lock.bits.contains(heap);
            number = self.next(number);
        }
        if similar == NONE || somebody_waits {
            self.append(owner, Target::Page(page), Mode::Record(mode), heap, false);
        } else {
            self.lock_mut(similar).bits.insert(heap);
        }
    }

    /// Puts a request that waits to the end of another record's queue.
    pub(super) fn add_waiting(
        &mut self,
        owner: OwnerId,
        page: PageId,
        heap: HeapNumber,
        mode: RecordLockMode,
    ) {
        self.append(owner, Target::Page(page), Mode::Record(mode), heap, true);
    }

    /// Whether an owner has a granted lock on a record that covers a mode.
    pub(super) fn has_record(
        &mut self,
        owner: OwnerId,
        page: PageId,
        heap: HeapNumber,
        mode: RecordLockMode,
    ) -> bool {
        let mut number = self.first(Target::Page(page));
        while number != NONE {
            self.tally.steps += 1;
            let lock = self.lock(number);
            if let Mode::Record(held) = lock.mode
                && lock.owner == owner
                && !lock.waiting
                && lock.bits.contains(heap)
                && held.covers(mode, heap == SUPREMUM)
            {
                return true;
            }
            number = self.next(number);
        }
        false
    }
}
