//! The lock table against a model, and the lock system under the virtual clock.

mod clock;
mod model;

use super::lock_table::{LockTable, Request};
use super::locked_pages::LockedPages;
use super::mode::LockStrength::{Exclusive, Shared};
use super::mode::RecordLockKind::{Gap, NextKey, Record};
use super::*;
use crate::page::PageId;
use std::sync::Arc;

fn page(number: u32) -> PageId {
    PageId::new(5, number)
}

fn x(kind: RecordLockKind) -> RecordLockMode {
    RecordLockMode::new(Exclusive, kind)
}

fn s(kind: RecordLockKind) -> RecordLockMode {
    RecordLockMode::new(Shared, kind)
}

fn new_table() -> LockTable {
    LockTable::new(Arc::new(LockedPages::new()))
}

fn owners(table: &mut LockTable, count: usize) -> Vec<OwnerId> {
    (0..count)
        .map(|_| {
            let state = Arc::new(OwnerState::default());
            state.set_locks_gaps(true);
            table.join(state)
        })
        .collect()
}

fn is_waiting(table: &LockTable, owner: OwnerId) -> bool {
    table.owner(owner).waiting != super::lock_table::NONE
}

#[test]
fn one_object_serves_many_records_of_a_page() {
    let mut table = new_table();
    let [a] = owners(&mut table, 1)[..] else {
        unreachable!()
    };
    for heap in 2..200 {
        let request = table.request_record(a, page(1), heap, x(Record));
        assert_eq!(request, Request::Granted);
    }
    assert_eq!(table.lock_objects(), 1);
    assert_eq!(table.record_locks_of(a), 198);
    assert_eq!(
        table.request_record(a, page(1), 77, s(Record)),
        Request::Held
    );
    table.release_owner(a);
    assert_eq!(table.lock_objects(), 0);
    table.leave(a);
}

#[test]
fn first_come_first_served() {
    let mut table = new_table();
    let [a, b, c, d] = owners(&mut table, 4)[..] else {
        unreachable!()
    };
    let mut ask = |owner, mode| table.request_record(owner, page(1), 2, mode);
    assert_eq!(ask(a, x(Record)), Request::Granted);
    assert_eq!(ask(b, s(Record)), Request::Waits);
    assert_eq!(ask(c, x(Record)), Request::Waits);
    // It could share with b, but would overtake c.
    assert_eq!(ask(d, s(Record)), Request::Waits);
    table.release_owner(a);
    let waiting = [b, c, d].map(|owner| is_waiting(&table, owner));
    assert_eq!(waiting, [false, true, true]);
    table.release_owner(b);
    assert!(!is_waiting(&table, c) && is_waiting(&table, d));
    // Whoever waits may also go away.
    table.release_owner(c);
    assert!(!is_waiting(&table, d));
}

#[test]
fn the_lightest_of_a_circle_gives_way() {
    let mut table = new_table();
    let [a, b, c] = owners(&mut table, 3)[..] else {
        unreachable!()
    };
    for (owner, heap) in [(a, 2), (b, 3), (c, 4)] {
        let _ = table.request_record(owner, page(1), heap, x(Record));
    }
    for (owner, work) in [(a, 5), (b, 1), (c, 9)] {
        table.owner(owner).state.set_undo_records(work);
    }
    for (owner, heap) in [(a, 3), (b, 4)] {
        let request = table.request_record(owner, page(1), heap, x(Record));
        assert_eq!(request, Request::Waits);
        assert_eq!(table.find_victim(owner), None);
    }
    assert_eq!(
        table.request_record(c, page(1), 2, x(Record)),
        Request::Waits
    );
    assert_eq!(table.find_victim(c), Some(b));
}

#[test]
fn an_insert_waits_for_the_gap_and_divides_it() {
    let mut table = new_table();
    let [a, b] = owners(&mut table, 2)[..] else {
        unreachable!()
    };
    assert_eq!(
        table.request_insert(b, page(1), 2),
        (Request::Granted, false)
    );
    let _ = table.request_record(a, page(1), 2, s(NextKey));
    // Its own gap lock does not stop a, but the new record inherits it.
    assert_eq!(
        table.request_insert(a, page(1), 2),
        (Request::Granted, true)
    );
    table.inherit_gap((page(1), 3), (page(1), 2), true);
    assert!(table.has_record(a, page(1), 3, s(Gap)));
    assert!(!table.has_record(a, page(1), 3, s(Record)));
    assert_eq!(table.request_insert(b, page(1), 3), (Request::Waits, true));
    table.release_owner(a);
    assert!(!is_waiting(&table, b));
}

#[test]
fn locks_follow_their_records() {
    let mut table = new_table();
    let [a, b, c] = owners(&mut table, 3)[..] else {
        unreachable!()
    };
    let _ = table.request_record(a, page(1), 5, x(Record));
    let _ = table.request_record(a, page(1), 6, x(Record));
    let _ = table.request_record(b, page(1), 5, x(Record));
    let _ = table.request_record(c, page(1), 5, s(Record));
    let moves = [RecordMove { from: 4, to: 8 }, RecordMove { from: 5, to: 9 }];
    table.move_records(page(1), page(2), moves.into_iter());
    assert!(table.has_record(a, page(2), 9, x(Record)));
    assert!(table.has_record(a, page(1), 6, x(Record)));
    assert!(!table.has_record(a, page(1), 5, x(Record)));
    // The page is rebuilt: 9 becomes 2.
    let moves = [RecordMove { from: 9, to: 2 }, RecordMove { from: 2, to: 9 }];
    table.renumber(page(2), moves.into_iter());
    assert!(table.has_record(a, page(2), 2, x(Record)));
    assert!(is_waiting(&table, b) && is_waiting(&table, c));
    table.release_owner(a);
    assert!(!is_waiting(&table, b) && is_waiting(&table, c));
    assert!(table.has_record(b, page(2), 2, x(Record)));
    // The record goes: b has its gap, and c asks again.
    table.inherit_gap((page(2), SUPREMUM), (page(2), 2), false);
    table.forget_record(page(2), 2);
    assert!(!is_waiting(&table, c));
    assert!(table.has_record(b, page(2), SUPREMUM, x(Gap)));
    assert!(!table.has_record(b, page(2), 2, x(Record)));
    // And then the page.
    table.discard_page(Some((page(3), 4)), page(2));
    assert!(table.has_record(b, page(3), 4, x(Gap)));
    assert!(table.has_record(c, page(3), 4, s(Gap)));
    for owner in [a, b, c] {
        table.release_owner(owner);
    }
    assert_eq!(table.lock_objects(), 0);
}

#[test]
fn read_committed_leaves_no_gap_locks() {
    let mut table = new_table();
    let a = table.join(Arc::new(OwnerState::default()));
    let _ = table.request_record(a, page(1), 5, x(Record));
    table.inherit_gap((page(1), 6), (page(1), 5), false);
    table.forget_record(page(1), 5);
    assert_eq!(table.lock_objects(), 0);
}

#[test]
fn intentions_go_together_and_tables_do_not() {
    let mut table = new_table();
    let [a, b, c] = owners(&mut table, 3)[..] else {
        unreachable!()
    };
    let intent = TableLockMode::IntentionExclusive;
    assert_eq!(table.request_table(a, 7, intent), Request::Granted);
    assert_eq!(table.request_table(b, 7, intent), Request::Granted);
    assert_eq!(
        table.request_table(b, 7, TableLockMode::IntentionShared),
        Request::Held
    );
    assert_eq!(
        table.request_table(c, 7, TableLockMode::Shared),
        Request::Waits
    );
    table.release_owner(a);
    assert!(is_waiting(&table, c));
    table.release_owner(b);
    assert!(!is_waiting(&table, c));
}
