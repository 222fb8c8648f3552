//! The tree tells of records that move; the lock system moves their locks.

use crate::btree::{Changer, HeapMove, LockHooks, LockedRecord};
use crate::lock::{LockSystem, RecordMove};
use crate::page::PageId;

/// Lets row locks follow their records during one change of a tree.
#[derive(Clone, Copy, Debug)]
pub struct LocksFollow<'a> {
    locks: &'a LockSystem,
    /// Whether the record to be inserted inherits locks of its gap: what
    /// [`LockSystem::check_insert`] has answered. If not, the mutex of the lock system is
    /// spared.
    inherits: bool,
}

impl<'a> LocksFollow<'a> {
    /// For one change.
    pub fn new(locks: &'a LockSystem, inherits: bool) -> LocksFollow<'a> {
        LocksFollow { locks, inherits }
    }

    /// Who makes the change.
    pub fn changer(&self, trx_id: u64) -> Changer<'_> {
        Changer {
            locks: self,
            trx_id,
        }
    }
}

fn place(record: LockedRecord) -> (PageId, u16) {
    (record.page, record.heap_number)
}

impl LockHooks for LocksFollow<'_> {
    fn has_locks(&self, page: PageId) -> bool {
        self.locks.is_page_locked(page)
    }

    fn records_moved(&self, from: PageId, to: PageId, moves: &[HeapMove]) {
        let moves = moves.iter().map(|place| RecordMove {
            from: place.from,
            to: place.to,
        });
        let moves: Vec<RecordMove> = moves.collect();
        match moves[..] {
            // One record changes its place, perhaps to the infimum and back.
            [RecordMove { from: old, to: new }] if (from, old) != (to, new) => {
                self.locks.move_record((from, old), (to, new));
            }
            [_] => {}
            // All records of a page get new numbers, and may exchange them.
            _ if from == to => self.locks.page_rebuilt(from, &moves),
            _ => self.locks.move_records(from, to, &moves),
        }
    }

    fn gap_inherited(&self, heir: LockedRecord, donor: LockedRecord) {
        self.locks.inherit_gap(place(heir), place(donor));
    }

    fn record_inserted(&self, page: PageId, heap_number: u16, next: u16) {
        if self.inherits {
            self.locks.inherit_to_inserted(page, heap_number, next);
        }
    }

    fn record_removed(&self, page: PageId, heap_number: u16, next: u16) {
        self.locks.record_removed(page, heap_number, next);
    }

    fn locks_dropped(&self, record: LockedRecord) {
        self.locks.record_forgotten(record.page, record.heap_number);
    }

    fn page_discarded(&self, page: PageId, heir: Option<LockedRecord>) {
        // Without an heir nothing can be locked there any more.
        if let Some(heir) = heir {
            self.locks.page_discarded(place(heir), page);
        }
    }
}
