//! Submission queues, and whose turn it is.
//!
//! ```text
//!   round robin:  queue 7: a b c     taken: a d e b f c
//!                 queue 2: d
//!                 queue 9: e f
//!   fifo:         one queue for all: the same thing with one queue
//! ```
//!
//! A queue exists while it holds something; one that gets its first item takes its turn
//! after all others. Items are linked by index, so a queue is two numbers.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::profile::Admission;
use crate::runtime::virtual_clock::disk::slab::{NONE, Slab};

/// Queues of items named by small numbers (indices into the caller's table).
#[derive(Debug)]
pub(super) struct Arbiter {
    admission: Admission,
    /// For each waiting item, the one behind it in its queue.
    next: Vec<u32>,
    queues: Slab<Queue>,
    /// Slot in `queues` by the queue's number. Only looked up, never iterated.
    slots: FxHashMap<u32, u32>,
    /// Slots of the queues that hold something, next turn first.
    turns: VecDeque<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    number: u32,
    head: u32,
    tail: u32,
}

impl Arbiter {
    pub(super) fn new(admission: Admission) -> Self {
        Arbiter {
            admission,
            next: Vec::new(),
            queues: Slab::default(),
            slots: FxHashMap::default(),
            turns: VecDeque::new(),
        }
    }

    /// Put an item behind the others of its queue.
    pub(super) fn push(&mut self, queue: u32, item: u32) {
        let number = match self.admission {
            Admission::Fifo => 0,
            Admission::RoundRobin => queue,
        };
        let position = item as usize;
        if position >= self.next.len() {
            self.next.resize(position + 1, NONE);
        }
        self.next[position] = NONE;
        if let Some(&slot) = self.slots.get(&number) {
            let queue = &mut self.queues[slot];
            self.next[queue.tail as usize] = item;
            queue.tail = item;
        } else {
            let slot = self.queues.insert(Queue {
                number,
                head: item,
                tail: item,
            });
            self.slots.insert(number, slot);
            self.turns.push_back(slot);
        }
    }

    /// The item that [`Arbiter::pop`] would take.
    pub(super) fn peek(&self) -> Option<u32> {
        self.turns.front().map(|&slot| self.queues[slot].head)
    }

    /// Take the first item of the queue whose turn it is.
    pub(super) fn pop(&mut self) -> Option<u32> {
        let slot = self.turns.pop_front()?;
        let queue = &mut self.queues[slot];
        let item = queue.head;
        if item == queue.tail {
            self.slots.remove(&queue.number);
            self.queues.remove(slot);
        } else {
            queue.head = self.next[item as usize];
            self.turns.push_back(slot);
        }
        Some(item)
    }

    pub(super) fn clear(&mut self) {
        self.queues.clear();
        self.slots.clear();
        self.turns.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn takes_one_of_each_queue_in_turn() {
        let items = [(7, 0), (7, 1), (7, 2), (2, 3), (9, 4), (9, 5)];
        for (admission, order) in [
            (Admission::RoundRobin, [0, 3, 4, 1, 5, 2]),
            (Admission::Fifo, [0, 1, 2, 3, 4, 5]),
        ] {
            let mut arbiter = Arbiter::new(admission);
            for (queue, item) in items {
                arbiter.push(queue, item);
            }
            let taken: Vec<u32> = std::iter::from_fn(|| arbiter.pop()).collect();
            assert_eq!(taken, order);
        }
    }

    proptest! {
        /// Against a list of lists that is rotated at each turn.
        #[test]
        fn agrees_with_a_list_of_lists(
            steps in prop::collection::vec(prop::option::weighted(0.55, 0_u32..5), 1..300),
            fifo in any::<bool>(),
        ) {
            let mut arbiter = Arbiter::new(if fifo { Admission::Fifo } else { Admission::RoundRobin });
            let mut model: Vec<(u32, Vec<u32>)> = Vec::new();
            for (item, step) in (0_u32..).zip(steps) {
                if let Some(queue) = step {
                    arbiter.push(queue, item);
                    let number = if fifo { 0 } else { queue };
                    match model.iter_mut().find(|(other, _)| *other == number) {
                        Some((_, items)) => items.push(item),
                        None => model.push((number, vec![item])),
                    }
                } else {
                    let expected = if model.is_empty() {
                        None
                    } else {
                        let (number, mut items) = model.remove(0);
                        let first = items.remove(0);
                        if !items.is_empty() {
                            model.push((number, items));
                        }
                        Some(first)
                    };
                    prop_assert_eq!(arbiter.peek(), expected);
                    prop_assert_eq!(arbiter.pop(), expected);
                }
            }
        }
    }
}
