//! Row locks go where their records go.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use innosim_engine::btree::{
    BtreeLatch, Changer, HeapMove, LockHooks, LockedRecord, SUPREMUM_HEAP, seek,
};
use innosim_engine::page::PageId;
use innosim_engine::runtime::{self, LatchClass, LatchMode, Mutex};

use super::world::{Kind, User, World, value, virtually};

/// Locks of records, by the number that the record should have.
#[derive(Default)]
struct Locks {
    records: BTreeMap<LockedRecord, BTreeSet<u32>>,
    /// Records whose gap before them is locked; only that they exist is checked.
    gaps: BTreeSet<LockedRecord>,
}

struct TestLocks(Mutex<Locks>);

impl TestLocks {
    fn new() -> TestLocks {
        TestLocks(Mutex::new(LatchClass::LockSys, Locks::default()))
    }
}

impl LockHooks for TestLocks {
    fn has_locks(&self, page: PageId) -> bool {
        let locks = self.0.lock();
        locks.records.keys().any(|record| record.page == page)
            || locks.gaps.iter().any(|record| record.page == page)
    }

    fn records_moved(&self, from: PageId, to: PageId, moves: &[HeapMove]) {
        let mut locks = self.0.lock();
        let named = |page, heap_number| LockedRecord { page, heap_number };
        let taken: Vec<_> = moves
            .iter()
            .map(|step| {
                let old = named(from, step.from);
                let locked = locks.records.remove(&old);
                (named(to, step.to), locked, locks.gaps.remove(&old))
            })
            .collect();
        for (new, locked, gap) in taken {
            locks
                .records
                .entry(new)
                .or_default()
                .extend(locked.into_iter().flatten());
            if gap {
                locks.gaps.insert(new);
            }
        }
        locks.records.retain(|_, numbers| !numbers.is_empty());
    }

    fn gap_inherited(&self, heir: LockedRecord, donor: LockedRecord) {
        let mut locks = self.0.lock();
        if locks.gaps.contains(&donor) || locks.records.contains_key(&donor) {
            locks.gaps.insert(heir);
        }
    }

    fn record_inserted(&self, page: PageId, heap_number: u16, next: u16) {
        let named = |heap_number| LockedRecord { page, heap_number };
        let mut locks = self.0.lock();
        assert!(!locks.records.contains_key(&named(heap_number)));
        if locks.gaps.contains(&named(next)) {
            locks.gaps.insert(named(heap_number));
        }
    }

    fn record_removed(&self, page: PageId, heap_number: u16, next: u16) {
        let named = |heap_number| LockedRecord { page, heap_number };
        let mut locks = self.0.lock();
        let was_locked = locks.records.remove(&named(heap_number)).is_some();
        if locks.gaps.remove(&named(heap_number)) || was_locked {
            locks.gaps.insert(named(next));
        }
    }

    fn locks_dropped(&self, record: LockedRecord) {
        let mut locks = self.0.lock();
        locks.records.remove(&record);
        locks.gaps.remove(&record);
    }

    fn page_discarded(&self, page: PageId, heir: Option<LockedRecord>) {
        let mut locks = self.0.lock();
        let of_records: BTreeSet<_> = locks
            .records
            .iter()
            .filter(|(record, _)| record.page == page)
            .flat_map(|(_, numbers)| numbers.clone())
            .collect();
        assert!(
            of_records.is_empty(),
            "{page} goes with locks of {of_records:?}"
        );
        let gaps = locks.gaps.len();
        locks.gaps.retain(|record| record.page != page);
        if locks.gaps.len() < gaps {
            let heir = heir.expect("a locked gap has an heir");
            locks.gaps.insert(heir);
        }
    }
}

/// Locks a record, and the gap before it or not.
fn lock(user: &mut User, locks: &TestLocks, number: u32, with_gap: bool) {
    let index = user.world.index.clone();
    let mut mtr = user.world.sandbox.pages.begin(&mut user.context);
    let key = number.to_be_bytes();
    let found = seek(
        &mut mtr,
        &index,
        &[Some(&key)],
        false,
        BtreeLatch::SearchLeaf,
    );
    let position = found.unwrap().unwrap();
    let record = LockedRecord {
        page: mtr.page_id(position.leaf),
        heap_number: position.record(&mtr).heap_number(),
    };
    mtr.commit();
    let mut locks = locks.0.lock();
    locks.records.entry(record).or_default().insert(number);
    if with_gap {
        locks.gaps.insert(record);
    }
}

/// Every lock is at the record it was taken on.
fn check(user: &mut User, locks: &TestLocks, locked: &BTreeSet<u32>) {
    let index = user.world.index.clone();
    let locks = locks.0.lock();
    let mut found = BTreeSet::new();
    for (place, numbers) in &locks.records {
        let mut mtr = user.world.sandbox.pages.begin(&mut user.context);
        let page = mtr.fix(place.page, LatchMode::S).unwrap();
        let view = mtr.index_page(page);
        assert_eq!((view.index_id(), view.level()), (index.id, 0), "{place:?}");
        let record = view
            .records()
            .find(|record| record.heap_number() == place.heap_number)
            .unwrap_or_else(|| panic!("{place:?}, locked for {numbers:?}, is no record"));
        let key = record.field(&index.format, 0).unwrap();
        let number = u32::from_be_bytes(key[..4].try_into().unwrap());
        assert_eq!(*numbers, BTreeSet::from([number]), "{place:?}");
        found.insert(number);
        mtr.commit();
    }
    assert_eq!(found, *locked);
    for place in &locks.gaps {
        let mut mtr = user.world.sandbox.pages.begin(&mut user.context);
        let page = mtr.fix(place.page, LatchMode::S).unwrap();
        let view = mtr.index_page(page);
        assert_eq!((view.index_id(), view.level()), (index.id, 0), "{place:?}");
        let is_there = place.heap_number == SUPREMUM_HEAP
            || view
                .records()
                .any(|record| record.heap_number() == place.heap_number);
        assert!(is_there, "the gap before {place:?} is before no record");
        mtr.commit();
    }
}

#[test]
fn locks_follow_their_records() {
    for seed in 0..8 {
        virtually(seed, move || {
            let kind = Kind::ALL[seed as usize % 4];
            let world = World::new(Path::new("/test"), kind, 2000);
            let mut user = world.user(0);
            let mut stream = runtime::stream("steps");
            let locks = TestLocks::new();
            let changer = Changer {
                locks: &locks,
                trx_id: 9,
            };
            let (mut present, mut locked) = (BTreeSet::new(), BTreeSet::new());
            for step in 0..2500 {
                let number = stream.below(1500) as u32;
                let length = match stream.below(6) {
                    0 => stream.below(7000) as usize,
                    _ => stream.below(200) as usize,
                };
                let grows = step / 700 % 2 == 0;
                match stream.below(10) {
                    choice if choice < if grows { 6 } else { 1 } => {
                        if user.insert_as(number, &value(length, step), changer) {
                            present.insert(number);
                        }
                    }
                    6 => {
                        if let Some(&number) = present.range(number..).next() {
                            lock(&mut user, &locks, number, stream.below(2) == 0);
                            locked.insert(number);
                        }
                    }
                    7 => {
                        user.update_as(number, &value(length, step), changer);
                    }
                    _ => {
                        if let Some(&number) = present.range(number..).next() {
                            assert!(user.remove_as(number, changer));
                            present.remove(&number);
                            locked.remove(&number);
                        }
                    }
                }
                if step % 250 == 0 {
                    check(&mut user, &locks, &locked);
                }
            }
            check(&mut user, &locks, &locked);
            world.check();
        });
    }
}
