//! Random requests against a model in which every lock is an entry of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::super::lock_table::Request;
use super::super::owner::WaitResult;
use super::*;

const OWNERS: usize = 5;

#[derive(Clone, Debug)]
enum Step {
    Ask(usize, u32, HeapNumber, RecordLockMode),
    Insert(usize, u32, HeapNumber),
    Release(usize),
    ReleaseOne(usize, u32, HeapNumber, RecordLockMode),
    Cancel(usize),
    Move(u32, HeapNumber, u32, HeapNumber),
}

#[derive(Clone, Debug)]
struct Entry {
    owner: usize,
    mode: RecordLockMode,
    waiting: bool,
}

/// Queues in the order of arrival.
#[derive(Default)]
struct Model {
    queues: BTreeMap<(u32, HeapNumber), Vec<Entry>>,
}

impl Model {
    fn blockers(&self, place: (u32, HeapNumber), entry: &Entry, before: usize) -> BTreeSet<usize> {
        let queue = self.queues.get(&place).map_or(&[][..], |queue| queue);
        let conflicts = queue[..before.min(queue.len())].iter().filter(|other| {
            other.owner != entry.owner && entry.mode.waits_for(other.mode, place.1 == SUPREMUM)
        });
        conflicts.map(|other| other.owner).collect()
    }

    fn ask(&mut self, owner: usize, place: (u32, HeapNumber), mode: RecordLockMode) -> Request {
        let queue = self.queues.entry(place).or_default();
        let on_supremum = place.1 == SUPREMUM;
        let has = |entry: &Entry| {
            entry.owner == owner && !entry.waiting && entry.mode.covers(mode, on_supremum)
        };
        if queue.iter().any(has) {
            return Request::Held;
        }
        let (entry, length) = (
            Entry {
                owner,
                mode,
                waiting: false,
            },
            queue.len(),
        );
        let waiting = !self.blockers(place, &entry, length).is_empty();
        let intends_insert = mode.kind == RecordLockKind::InsertIntention;
        if waiting || !intends_insert {
            let entry = Entry { waiting, ..entry };
            self.queues.entry(place).or_default().push(entry);
        }
        match waiting {
            true => Request::Waits,
            false => Request::Granted,
        }
    }

    fn remove(&mut self, goes: impl Fn(&Entry, (u32, HeapNumber)) -> bool) {
        for (&place, queue) in &mut self.queues {
            queue.retain(|entry| !goes(entry, place));
        }
        self.grant();
    }

    fn grant(&mut self) {
        let places: Vec<_> = self.queues.keys().copied().collect();
        for place in places {
            for index in 0..self.queues[&place].len() {
                let entry = self.queues[&place][index].clone();
                if entry.waiting && self.blockers(place, &entry, index).is_empty() {
                    self.queues.get_mut(&place).unwrap()[index].waiting = false;
                }
            }
        }
    }

    fn waiting(&self) -> BTreeSet<usize> {
        let entries = self.queues.values().flatten();
        entries
            .filter(|entry| entry.waiting)
            .map(|entry| entry.owner)
            .collect()
    }

    /// Who is reached from an owner by "waits for".
    fn reached(&self, start: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(owner) = open.pop() {
            for (&place, queue) in &self.queues {
                for (index, entry) in queue.iter().enumerate() {
                    if entry.owner == owner && entry.waiting {
                        for blocker in self.blockers(place, entry, index) {
                            if reached.insert(blocker) {
                                open.push(blocker);
                            }
                        }
                    }
                }
            }
        }
        reached
    }

    fn move_all(&mut self, from: (u32, HeapNumber), to: (u32, HeapNumber)) {
        let entries = self.queues.remove(&from).unwrap_or_default();
        let target = self.queues.entry(to).or_default();
        for entry in entries {
            let same = |other: &Entry| {
                (other.owner, other.mode, other.waiting) == (entry.owner, entry.mode, false)
            };
            if entry.waiting || !target.iter().any(same) {
                target.push(entry);
            }
        }
    }
}

fn mode() -> impl Strategy<Value = RecordLockMode> {
    let kinds = prop_oneof![Just(NextKey), Just(Gap), Just(Record)];
    let strengths = prop_oneof![Just(Shared), Just(Exclusive)];
    (strengths, kinds).prop_map(|(strength, kind)| RecordLockMode::new(strength, kind))
}

fn step() -> impl Strategy<Value = Step> {
    let (owner, page, heap) = (0..OWNERS, 1..3_u32, 1..5 as HeapNumber);
    prop_oneof![
        8 => (owner.clone(), page.clone(), heap.clone(), mode())
            .prop_map(|(owner, page, heap, mode)| Step::Ask(owner, page, heap, mode)),
        3 => (owner.clone(), page.clone(), heap.clone())
            .prop_map(|(owner, page, heap)| Step::Insert(owner, page, heap)),
        2 => owner.clone().prop_map(Step::Release),
        2 => (owner.clone(), page.clone(), heap.clone(), mode())
            .prop_map(|(owner, page, heap, mode)| Step::ReleaseOne(owner, page, heap, mode)),
        1 => owner.prop_map(Step::Cancel),
        // To a place that is otherwise not used, as a split does.
        1 => (page, heap, 3..5_u32, 5..8 as HeapNumber)
            .prop_map(|(page, heap, to, new)| Step::Move(page, heap, to, new)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_table_does_what_the_model_does(steps in prop::collection::vec(step(), 1..80)) {
        let mut table = new_table();
        let ids: Vec<OwnerId> = (0..OWNERS)
            .map(|_| table.join(Arc::new(OwnerState::default())))
            .collect();
        let mut model = Model::default();
        let mut moved = BTreeSet::new();
        for step in steps {
            let asked = match step {
                Step::Ask(owner, number, heap, mode) if !is_waiting(&table, ids[owner]) => {
                    let answer = table.request_record(ids[owner], page(number), heap, mode);
                    prop_assert_eq!(answer, model.ask(owner, (number, heap), mode));
                    (answer == Request::Waits).then_some(owner)
                }
                Step::Insert(owner, number, heap) if !is_waiting(&table, ids[owner]) => {
                    let locked = model.queues.get(&(number, heap)).is_some_and(|q| !q.is_empty());
                    let mode = RecordLockMode::INSERT_INTENTION;
                    let answer = table.request_insert(ids[owner], page(number), heap);
                    prop_assert_eq!(answer, (model.ask(owner, (number, heap), mode), locked));
                    (answer.0 == Request::Waits).then_some(owner)
                }
                Step::Release(owner) => {
                    table.release_owner(ids[owner]);
                    model.remove(|entry, _| entry.owner == owner);
                    None
                }
                Step::ReleaseOne(owner, number, heap, mode) => {
                    table.release_record(ids[owner], page(number), heap, mode);
                    model.remove(|entry, place| {
                        place == (number, heap)
                            && (entry.owner, entry.mode, entry.waiting) == (owner, mode, false)
                    });
                    None
                }
                Step::Cancel(owner) => {
                    table.cancel_wait(ids[owner], WaitResult::Open);
                    model.remove(|entry, _| entry.owner == owner && entry.waiting);
                    None
                }
                Step::Move(number, heap, to, new) if moved.insert((to, new)) => {
                    table.move_record((page(number), heap), (page(to), new));
                    model.move_all((number, heap), (to, new));
                    None
                }
                _ => None,
            };
            if let Some(owner) = asked {
                let is_circle = model.reached(owner).contains(&owner);
                let victim = table.find_victim(ids[owner]);
                prop_assert_eq!(victim.is_some(), is_circle);
                if let Some(victim) = victim {
                    let number = ids.iter().position(|&id| id == victim).unwrap();
                    prop_assert!(model.reached(number).contains(&number), "on the circle");
                    table.cancel_wait(victim, WaitResult::Victim);
                    model.remove(|entry, _| entry.owner == number && entry.waiting);
                    // There may be two circles.
                    while let Some(other) = table.find_victim(ids[owner]) {
                        table.cancel_wait(other, WaitResult::Victim);
                        let number = ids.iter().position(|&id| id == other).unwrap();
                        model.remove(|entry, _| entry.owner == number && entry.waiting);
                    }
                    prop_assert!(!model.reached(owner).contains(&owner));
                }
            }
            let waiting = (0..OWNERS).filter(|&owner| is_waiting(&table, ids[owner]));
            prop_assert_eq!(waiting.collect::<BTreeSet<_>>(), model.waiting());
        }
        for &owner in &ids {
            table.release_owner(owner);
        }
        prop_assert_eq!(table.lock_objects(), 0);
    }
}
