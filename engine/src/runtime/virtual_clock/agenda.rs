//! The agenda: what will happen, ordered by time and, at one instant, by the
//! order in which it was entered. Ties must never be broken by an address or a
//! hash, or two runs of one seed part ways.
//!
//! It is a four-way heap: a pop touches half as many levels as a binary heap,
//! and the four children of a node share one or two cache lines.
//!
//! Nothing is removed early. An entry that has lost its meaning (a timeout of a
//! wait that ended) carries a generation number that no longer matches, and is
//! dropped when its time comes.

use crate::runtime::time::{NEVER, Time};

struct Entry<E> {
    at: Time,
    sequence: u64,
    event: E,
}

impl<E> Entry<E> {
    #[inline]
    fn before(&self, other: &Self) -> bool {
        (self.at, self.sequence) < (other.at, other.sequence)
    }
}

/// A priority queue of future events.
pub(super) struct Agenda<E> {
    heap: Vec<Entry<E>>,
}

const ARITY: usize = 4;

impl<E: Copy> Agenda<E> {
    pub(super) fn new() -> Self {
        Agenda {
            heap: Vec::with_capacity(256),
        }
    }

    /// The time of the earliest entry, [`NEVER`] if there is none.
    #[inline]
    pub(super) fn next_time(&self) -> Time {
        self.heap.first().map_or(NEVER, |entry| entry.at)
    }

    pub(super) fn push(&mut self, at: Time, sequence: u64, event: E) {
        self.heap.push(Entry {
            at,
            sequence,
            event,
        });
        let mut child = self.heap.len() - 1;
        while child > 0 {
            let parent = (child - 1) / ARITY;
            if !self.heap[child].before(&self.heap[parent]) {
                break;
            }
            self.heap.swap(child, parent);
            child = parent;
        }
    }

    pub(super) fn pop(&mut self) -> Option<(Time, E)> {
        if self.heap.is_empty() {
            return None;
        }
        let entry = self.heap.swap_remove(0);
        let length = self.heap.len();
        let mut parent = 0;
        loop {
            let first = parent * ARITY + 1;
            if first >= length {
                break;
            }
            let mut least = first;
            for child in first + 1..(first + ARITY).min(length) {
                if self.heap[child].before(&self.heap[least]) {
                    least = child;
                }
            }
            if !self.heap[least].before(&self.heap[parent]) {
                break;
            }
            self.heap.swap(least, parent);
            parent = least;
        }
        Some((entry.at, entry.event))
    }

    pub(super) fn clear(&mut self) {
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pops_in_order_of_time_then_entry(times in prop::collection::vec(0u64..20, 1..200)) {
            let mut agenda = Agenda::new();
            let mut expected: Vec<(u64, usize)> = Vec::new();
            for (index, &at) in times.iter().enumerate() {
                agenda.push(at, index as u64, index);
                expected.push((at, index));
            }
            expected.sort();
            let mut popped = Vec::new();
            while let Some(entry) = agenda.pop() {
                popped.push(entry);
            }
            prop_assert_eq!(popped, expected);
            prop_assert_eq!(agenda.next_time(), NEVER);
        }
    }
}
