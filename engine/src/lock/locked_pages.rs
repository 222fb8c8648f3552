//! Which pages have locks, in so many words that one can ask without the mutex.

use std::sync::atomic::{AtomicI32, Ordering::*};

use super::lock_table::Target;
use crate::page::PageId;

/// Which pages have locks, to be asked without the mutex: lock objects, counted by a hash
/// of their page. Who holds a page's latch gets an answer that stays true in one
/// direction: if no object is counted, the page has no lock, since whoever adds one has
/// to have that latch.
#[derive(Debug)]
pub(super) struct LockedPages(Box<[AtomicI32]>);

/// Cells of [`LockedPages`]: enough that few of the pages without locks share one with a
/// page that has some.
const LOCKED_PAGES_CELLS: usize = 1 << 14;

impl LockedPages {
    pub(super) fn new() -> Self {
        LockedPages((0..LOCKED_PAGES_CELLS).map(|_| AtomicI32::new(0)).collect())
    }

    fn cell(&self, page: PageId) -> &AtomicI32 {
        let address = u64::from(page.space.0) << 32 | u64::from(page.page.0);
        // Fibonacci hashing: the high bits are the good ones.
        let hash = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50;
        &self.0[hash as usize]
    }

    pub(super) fn count(&self, target: Target, by: i32) {
        if let Target::Page(page) = target {
            self.cell(page).fetch_add(by, Release);
        }
    }

    pub(super) fn may_be_locked(&self, page: PageId) -> bool {
        self.cell(page).load(Acquire) != 0
    }
}
