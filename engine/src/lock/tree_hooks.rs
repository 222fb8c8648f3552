//! The lock system, as B-trees see it: what happens to locks when records move.

use super::movement::RecordMove;
use super::system::LockSystem;
use crate::btree::{HeapMove, LockHooks, LockedRecord};
use crate::page::PageId;

impl LockHooks for LockSystem {
    fn has_locks(&self, page: PageId) -> bool {
        self.is_page_locked(page)
    }

    fn records_moved(&self, from: PageId, to: PageId, moves: &[HeapMove]) {
        let moves = moves.iter().map(|place| RecordMove {
            from: place.from,
            to: place.to,
        });
        self.move_records(from, to, moves);
    }

    fn gap_inherited(&self, heir: LockedRecord, donor: LockedRecord) {
        self.inherit_gap(
            (heir.page, heir.heap_number),
            (donor.page, donor.heap_number),
        );
    }

    fn record_inserted(&self, page: PageId, heap_number: u16, next: u16) {
        self.inherit_to_inserted(page, heap_number, next);
    }

    fn record_removed(&self, page: PageId, heap_number: u16, next: u16) {
        LockSystem::record_removed(self, page, heap_number, next);
    }

    fn locks_dropped(&self, record: LockedRecord) {
        self.forget_record(record.page, record.heap_number);
    }

    fn page_discarded(&self, page: PageId, heir: Option<LockedRecord>) {
        let heir = heir.map(|heir| (heir.page, heir.heap_number));
        LockSystem::page_discarded(self, heir, page);
    }
}
