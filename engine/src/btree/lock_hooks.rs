//! What the lock system has to know of records that move.
//!
//! Row locks are kept by page and heap number. When records move to another page or get
//! other numbers, their locks must go with them; when a record goes away, what its lock
//! kept out of the gap must still be kept out. The tree says what happens, at the moment
//! when it holds the latches of all pages concerned in X; the lock system, a layer above,
//! implements this trait.
//!
//! ```text
//!   split   10 20 30 40 sup  ->  10 20 sup | 30 40 sup
//!           records_moved   left 30, 40, sup  to  right 2, 3, sup
//!           gap_inherited   left sup  from  right 30: the gap 20..30 has two parts now
//! ```
//!
//! Only leaf pages have locks, so only those are reported. Source: InnoDB's
//! `lock_move_*` and `lock_update_*` functions.

use crate::page::PageId;

/// The heap number of the infimum of every page.
pub const INFIMUM_HEAP: u16 = 0;
/// The heap number of the supremum of every page: locks on it guard the gap before it.
pub const SUPREMUM_HEAP: u16 = 1;

/// A record, as locks name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockedRecord {
    /// The page.
    pub page: PageId,
    /// The record's number in the page's heap.
    pub heap_number: u16,
}

/// A record got another heap number, perhaps on another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapMove {
    /// Its number before.
    pub from: u16,
    /// Its number now.
    pub to: u16,
}

/// The lock system, as the tree sees it.
pub trait LockHooks: Send + Sync {
    /// Whether there is any lock on a page. If not, no moves are reported for it.
    fn has_locks(&self, page: PageId) -> bool;

    /// Records moved from a page to another one or to other places of the same page; all
    /// at once, so that numbers may be exchanged. All locks go with them.
    fn records_moved(&self, from: PageId, to: PageId, moves: &[HeapMove]);

    /// `heir` inherits from `donor`, as locks of the gap before it, what is locked there.
    fn gap_inherited(&self, heir: LockedRecord, donor: LockedRecord);

    /// A record was inserted before `next`: it inherits what locks the gap.
    fn record_inserted(&self, page: PageId, heap_number: u16, next: u16);

    /// A record was removed; `next`, the one after it, inherits its locks as locks of
    /// the gap, and who waits for it is woken.
    fn record_removed(&self, page: PageId, heap_number: u16, next: u16);

    /// The locks of a record lapse, and who waits for them is woken.
    fn locks_dropped(&self, record: LockedRecord);

    /// A page has left the tree. What is still locked on it is inherited by `heir` as
    /// locks of the gap; `None` if nothing can be locked there any more.
    fn page_discarded(&self, page: PageId, heir: Option<LockedRecord>);
}

/// No locks at all: for loading, tests and recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLocks;

impl LockHooks for NoLocks {
    fn has_locks(&self, _: PageId) -> bool {
        false
    }

    fn records_moved(&self, _: PageId, _: PageId, _: &[HeapMove]) {}

    fn gap_inherited(&self, _: LockedRecord, _: LockedRecord) {}

    fn record_inserted(&self, _: PageId, _: u16, _: u16) {}

    fn record_removed(&self, _: PageId, _: u16, _: u16) {}

    fn locks_dropped(&self, _: LockedRecord) {}

    fn page_discarded(&self, _: PageId, _: Option<LockedRecord>) {}
}

/// Who changes a tree.
#[derive(Clone, Copy)]
pub struct Changer<'a> {
    /// The lock system.
    pub locks: &'a dyn LockHooks,
    /// The transaction, for PAGE_MAX_TRX_ID of secondary leaf pages; 0 for purge and
    /// rollback, which do not raise it.
    pub trx_id: u64,
}

impl Changer<'_> {
    /// A transaction in a world without locks.
    pub const fn without_locks(trx_id: u64) -> Changer<'static> {
        Changer {
            locks: &NoLocks,
            trx_id,
        }
    }
}
