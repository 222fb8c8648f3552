//! Moving records within a page or between two, with their locks.

use super::index::Index;
use super::insert::count;
use super::lock_hooks::{Changer, HeapMove};
use crate::metrics::Counter;
use crate::page::IndexPage;
use crate::page::record_list::RecordRange;
use crate::redo_log::{MiniTransaction, PageHandle};
use crate::runtime::{Cost, cpu_times};

/// Heap numbers of some records in key order; none if their page has no locks, as nobody
/// will ask.
pub(super) fn locked_heap_numbers(
    page: IndexPage<'_>,
    range: RecordRange,
    changer: Changer<'_>,
) -> Vec<u16> {
    if !page.is_leaf() || !changer.locks.has_locks(page.page_id()) {
        return Vec::new();
    }
    let mut numbers = Vec::with_capacity(page.record_count());
    let mut at = range.first;
    while at != range.end {
        let record = page.record(at);
        numbers.push(record.heap_number());
        at = record.next();
    }
    numbers
}

/// Tells the lock system where the records went whose numbers were noted before: they are
/// now in `to`, from `first` on.
pub(super) fn report_moves(
    from: IndexPage<'_>,
    to: IndexPage<'_>,
    first: u16,
    numbers: &[u16],
    changer: Changer<'_>,
) {
    if numbers.is_empty() {
        return;
    }
    let mut moves = Vec::with_capacity(numbers.len());
    let mut at = first;
    for &number in numbers {
        let record = to.record(at);
        moves.push(HeapMove {
            from: number,
            to: record.heap_number(),
        });
        at = record.next();
    }
    changer
        .locks
        .records_moved(from.page_id(), to.page_id(), &moves);
}

/// Rebuilds a page without garbage.
pub(super) fn reorganise(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    page: PageHandle,
    changer: Changer<'_>,
) {
    count(mtr, Counter::PageReorganiseAttempts);
    let view = mtr.index_page(page);
    cpu_times(Cost::RecordMove, view.record_count() as u64);
    let numbers = locked_heap_numbers(view, RecordRange::all(view), changer);
    mtr.writer(page).reorganise(&index.format);
    count(mtr, Counter::PageReorganisesSuccessful);
    let view = mtr.index_page(page);
    report_moves(view, view, view.first_record(), &numbers, changer);
}
