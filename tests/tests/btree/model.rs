//! One task, and a `BTreeMap` that does the same.

use std::collections::BTreeMap;
use std::path::Path;

use innosim_engine::btree::{BtreeLatch, PersistentCursor, Restored, move_next, seek};
use innosim_engine::metrics::Counter;
use innosim_engine::runtime;
use proptest::prelude::*;

use super::world::{Kind, User, World, value, virtually};

/// A step of a test.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert { number: u32, length: usize },
    Update { number: u32, length: usize },
    Remove { number: u32 },
    Range { from: u32, limit: usize },
}

/// The tree and what should be in it.
struct Pair {
    user: User,
    model: BTreeMap<u32, Vec<u8>>,
    stamp: u32,
}

impl Pair {
    fn new(kind: Kind) -> Pair {
        let world = World::new(Path::new("/test"), kind, 3000);
        Pair {
            user: world.user(0),
            model: BTreeMap::new(),
            stamp: 0,
        }
    }

    fn value(&mut self, length: usize) -> Vec<u8> {
        self.stamp += 1;
        match self.user.world.kind.has_value() {
            true => value(length, self.stamp),
            false => Vec::new(),
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Insert { number, length } => {
                let value = self.value(length);
                let is_new = !self.model.contains_key(&number);
                assert_eq!(self.user.insert(number, &value), is_new, "{step:?}");
                self.model.entry(number).or_insert(value);
            }
            Step::Update { number, length } => {
                let value = self.value(length);
                let is_there = self.model.contains_key(&number);
                assert_eq!(self.user.update(number, &value), is_there, "{step:?}");
                if is_there {
                    self.model.insert(number, value);
                }
            }
            Step::Remove { number } => {
                let is_there = self.model.remove(&number).is_some();
                assert_eq!(self.user.remove(number), is_there, "{step:?}");
            }
            Step::Range { from, limit } => self.compare(from, limit),
        }
    }

    fn compare(&mut self, from: u32, limit: usize) {
        let found = self.user.range(from, limit);
        let model = self.model.range(from..).take(limit);
        let expected: Vec<_> = model.map(|(&key, value)| (key, value.clone())).collect();
        assert!(
            found == expected,
            "from {from}: {} and {} records",
            found.len(),
            expected.len()
        );
    }

    fn check(&mut self) -> usize {
        let report = self.user.world.check();
        assert_eq!(report.records as usize, self.model.len());
        self.compare(0, usize::MAX);
        report.height()
    }
}

/// The order in which keys come.
#[derive(Clone, Copy, Debug)]
enum Order {
    Ascending,
    Descending,
    Random,
}

fn steps() -> impl Strategy<Value = (Kind, Order, Vec<Step>)> {
    let kind = prop::sample::select(&Kind::ALL[..]);
    let order = prop::sample::select(&[Order::Ascending, Order::Descending, Order::Random][..]);
    let length = prop_oneof![3 => 0usize..300, 1 => 0usize..7000];
    let step = (0u32..400, length, 0u8..20);
    (kind, order, prop::collection::vec(step, 1..700), 5u8..15).prop_map(
        |(kind, order, steps, inserts)| {
            let steps = steps.into_iter().enumerate();
            let steps = steps.map(|(index, (number, length, choice))| {
                let next = match order {
                    Order::Ascending => 1000 + index as u32,
                    Order::Descending => 1000 - index as u32,
                    Order::Random => 700 + number,
                };
                let known = match order {
                    Order::Random => 700 + number,
                    Order::Ascending => 1000 + number,
                    Order::Descending => 1000 - number,
                };
                match choice {
                    choice if choice < inserts => Step::Insert {
                        number: next,
                        length,
                    },
                    19 => Step::Range {
                        from: known,
                        limit: 50,
                    },
                    choice if choice % 3 == 0 => Step::Update {
                        number: known,
                        length,
                    },
                    _ => Step::Remove { number: known },
                }
            });
            (kind, order, steps.collect())
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_is_a_map((kind, _, steps) in steps()) {
        virtually(1, move || {
            let mut pair = Pair::new(kind);
            for step in steps {
                pair.step(step);
            }
            pair.check();
            pair.user.world.shut_down();
        });
    }
}

/// Grows a tree to several levels and takes all out again, in a random order.
fn grow_and_shrink(kind: Kind, seed: u64, records: u32) {
    virtually(seed, move || {
        let mut stream = runtime::stream("steps");
        let mut pair = Pair::new(kind);
        let mut highest = 0;
        for round in 0..3 {
            for step in 0..records {
                let number = match round {
                    0 => stream.below(1 << 20) as u32,
                    1 => (1 << 20) + step,
                    _ => (1 << 20) - step,
                };
                let length = match stream.below(8) {
                    0 => stream.below(7000) as usize,
                    _ => stream.below(200) as usize,
                };
                pair.step(Step::Insert { number, length });
                if stream.below(4) == 0 {
                    let known = pair.model.range(stream.below(1 << 21) as u32..).next();
                    if let Some((&number, _)) = known {
                        match stream.below(3) {
                            0 if round > 0 => pair.step(Step::Remove { number }),
                            _ => pair.step(Step::Update { number, length }),
                        }
                    }
                }
            }
            highest = highest.max(pair.check());
            // At random, from the left, from the right.
            let mut left = 0;
            while let Some(count) = Some(pair.model.len()).filter(|&count| count > 0) {
                let at = match round {
                    0 => stream.below(count as u64) as usize,
                    1 => 0,
                    _ => count - 1,
                };
                let number = *pair.model.keys().nth(at).unwrap();
                pair.step(Step::Remove { number });
                left += 1;
                if left % 500 == 0 {
                    pair.check();
                }
            }
            let report = pair.user.world.check();
            assert_eq!((report.pages, report.records), (vec![1], 0));
        }
        assert!(highest >= 3, "{kind:?}: {highest} levels");
        pair.user.world.shut_down();
    });
}

#[test]
fn a_tree_of_rows_grows_and_shrinks() {
    for seed in 1..=2 {
        // Three levels of keys of four bytes take more rows than a quick test has: large
        // ones help.
        virtually(seed, move || {
            let mut pair = Pair::new(Kind::Rows);
            for number in 0..3000 {
                let number = number * 7919 % 3000;
                pair.step(Step::Insert {
                    number,
                    length: 5000,
                });
            }
            assert_eq!(pair.check(), 3);
            for number in 0..3000 {
                let number = number * 6007 % 3000;
                pair.step(Step::Remove { number });
                if number % 600 == 0 {
                    pair.check();
                }
            }
            assert_eq!(pair.check(), 1);
        });
    }
}

#[test]
fn a_tree_of_long_keys_grows_and_shrinks() {
    for seed in 1..=3 {
        grow_and_shrink(Kind::LongKeys, seed, 1500);
    }
}

#[test]
fn a_high_tree_of_entries_grows_and_shrinks() {
    for seed in 1..=4 {
        grow_and_shrink(Kind::Entries, seed, 1500);
    }
}

#[test]
fn a_very_high_tree_grows_and_shrinks() {
    for seed in 1..=3 {
        grow_and_shrink(Kind::HugeEntries, seed, 400);
    }
}

#[test]
fn ascending_rows_fill_their_leaves() {
    virtually(1, || {
        let mut pair = Pair::new(Kind::Rows);
        for number in 0..2000 {
            pair.step(Step::Insert {
                number,
                length: 180,
            });
        }
        pair.check();
        let report = pair.user.world.check();
        // 204 bytes each, two of them the length: 74 fit 15/16 of a page.
        assert_eq!(report.pages, [2000_usize.div_ceil(74), 1]);
    });
}

#[test]
fn leaves_that_are_half_empty_are_merged() {
    virtually(1, || {
        let mut pair = Pair::new(Kind::Rows);
        for number in 0..6000 {
            let number = number * 4001 % 6000;
            pair.step(Step::Insert {
                number,
                length: 100,
            });
        }
        let before = pair.user.world.check().pages[0];
        for number in 0..6000 {
            let number = number * 5003 % 6000;
            if number % 20 != 0 {
                pair.step(Step::Remove { number });
            }
        }
        pair.check();
        // 300 rows of 124 bytes are 2.3 full leaves; only a page whose neighbours are
        // full may stay under half.
        let after = pair.user.world.check().pages[0];
        assert!(before > 60 && after <= 7, "{before} leaves, then {after}");
        let merges = pair.user.counter(Counter::PageMergesSuccessful);
        assert_eq!(merges as usize, before - after);
    });
}

#[test]
fn a_cursor_finds_its_place_again() {
    virtually(1, || {
        let mut pair = Pair::new(Kind::Rows);
        for number in (0..3000).step_by(2) {
            pair.step(Step::Insert {
                number,
                length: 150,
            });
        }
        let mut stream = runtime::stream("steps");
        let index = pair.user.world.index.clone();
        let pages = pair.user.world.sandbox.pages.clone();
        let mut cursor = PersistentCursor::new();
        for _ in 0..500 {
            let from = stream.below(2990) as u32;
            let mut mtr = pages.begin(&mut pair.user.context);
            let key = from.to_be_bytes();
            let start = seek(
                &mut mtr,
                &index,
                &[Some(&key)],
                false,
                BtreeLatch::SearchLeaf,
            );
            cursor.store(&mut mtr, &index, &start.unwrap().unwrap());
            mtr.commit();
            let stored = *pair.model.range(from..).next().unwrap().0;

            let change = stream.below(4);
            match change {
                0 => {}
                1 => pair.step(Step::Remove { number: stored }),
                2 => pair.step(Step::Insert {
                    number: stored ^ 1,
                    length: 3000,
                }),
                _ => pair.step(Step::Remove {
                    number: stream.below(3000) as u32,
                }),
            }
            let mut mtr = pages.begin(&mut pair.user.context);
            let restored = cursor.restore(&mut mtr, &index, BtreeLatch::SearchLeaf);
            let (is_same, mut position) = match restored.unwrap() {
                Restored::Same(position) => (true, position),
                Restored::Before(position) => (false, position),
            };
            assert_eq!(is_same, pair.model.contains_key(&stored));
            let at = |position: &innosim_engine::btree::Position, mtr: &_| {
                let record = position.record(mtr);
                let key = record.field(&index.format, 0).unwrap();
                u32::from_be_bytes(key.try_into().unwrap())
            };
            if is_same {
                assert_eq!(at(&position, &mtr), stored);
            }
            let next = move_next(&mut mtr, &index, &mut position).unwrap();
            let next = next.then(|| at(&position, &mtr));
            let expected = pair.model.range(stored + 1..).next().map(|(&key, _)| key);
            assert_eq!(next, expected);
            mtr.commit();
        }
        pair.check();
    });
}
