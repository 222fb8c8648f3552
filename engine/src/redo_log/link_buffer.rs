//! Link buffers: how far many tasks have come that work out of order.
//!
//! Mini-transactions reserve ranges of the log in order, but they finish copying them in
//! any order. The log writer may write only what is complete without a gap. A link
//! buffer answers how far that is: each task that is done leaves a *link* from the start
//! of its range to its end, and the *tail* follows the links as far as they go.
//!
//! ```text
//!   reserved   [  A  ][ B ][    C    ][ D ]
//!   done              [ B ]           [ D ]     links B, D; tail before A
//!   A is done  ------------>                    tail after B
//!   C is done  ---------------------------->    tail after D
//! ```
//!
//! Links are kept in a ring, at their start modulo its capacity. A start must be less
//! than the capacity ahead of the tail; who is further ahead waits.
//!
//! Source: InnoDB 8.0 (`Link_buf`).

use std::sync::atomic::{AtomicU64, Ordering::*};

/// A link buffer; see the module's opening.
#[derive(Debug)]
pub struct LinkBuffer {
    /// The end of the link that starts at the slot's position; outdated if it is not
    /// ahead of the tail.
    slots: Box<[AtomicU64]>,
    tail: AtomicU64,
}

impl LinkBuffer {
    /// An empty buffer whose tail is at `start`.
    ///
    /// # Panics
    /// If the capacity is not a power of two.
    pub fn new(capacity: usize, start: u64) -> Self {
        assert!(
            capacity.is_power_of_two(),
            "{capacity} is not a power of two"
        );
        LinkBuffer {
            slots: (0..capacity).map(|_| AtomicU64::new(0)).collect(),
            tail: AtomicU64::new(start),
        }
    }

    /// Bytes of the log that links can be ahead of the tail.
    pub fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Up to here there is no gap.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.tail.load(SeqCst)
    }

    /// Whether a link may start here now.
    #[inline]
    pub fn has_room(&self, from: u64) -> bool {
        from - self.tail() < self.capacity()
    }

    fn slot(&self, position: u64) -> &AtomicU64 {
        &self.slots[(position & (self.capacity() - 1)) as usize]
    }

    /// Leaves a link. There must be [room](Self::has_room), and a link is shorter than
    /// the capacity.
    #[inline]
    pub fn add(&self, from: u64, to: u64) {
        debug_assert!(from < to && to - from < self.capacity());
        debug_assert!(self.has_room(from));
        // Sequentially consistent, as is all of this: who moves the tail here either sees
        // this link, or is seen by the look at the tail that follows.
        self.slot(from).store(to, SeqCst);
        self.advance();
    }

    /// Moves the tail as far as links lead; returns where it is then.
    pub fn advance(&self) -> u64 {
        let mut tail = self.tail();
        loop {
            let to = self.slot(tail).load(SeqCst);
            // An older round's link ends at or before the tail, since links are shorter
            // than the ring.
            if to <= tail || to - tail >= self.capacity() {
                let now = self.tail();
                if now == tail {
                    return tail;
                }
                tail = now;
                continue;
            }
            match self.tail.compare_exchange(tail, to, SeqCst, SeqCst) {
                Ok(_) => tail = to,
                Err(now) => tail = now,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_tail_stops_at_a_gap() {
        let links = LinkBuffer::new(64, 100);
        links.add(110, 120);
        links.add(130, 131);
        assert_eq!(links.tail(), 100);
        links.add(100, 110);
        assert_eq!(links.tail(), 120);
        links.add(120, 130);
        assert_eq!(links.tail(), 131);
        assert!(links.has_room(194) && !links.has_room(195));
    }

    #[test]
    fn links_of_an_earlier_round_do_not_lead_anywhere() {
        let links = LinkBuffer::new(16, 0);
        let mut at = 0;
        for round in 0..100 {
            let step = 1 + round % 15;
            assert_eq!(links.advance(), at);
            links.add(at, at + step);
            at += step;
            assert_eq!(links.tail(), at);
        }
    }

    proptest! {
        /// Ranges that are finished in any order: the tail is the end of the longest
        /// prefix without a gap.
        #[test]
        fn the_tail_is_the_end_of_the_prefix(
            lengths in prop::collection::vec(1u64..40, 1..20),
            keys in prop::collection::vec(any::<u32>(), 20),
        ) {
            let links = LinkBuffer::new(1024, 5000);
            let mut ranges = Vec::new();
            let mut at = 5000;
            for length in lengths {
                ranges.push((at, at + length));
                at += length;
            }
            let mut order: Vec<usize> = (0..ranges.len()).collect();
            order.sort_by_key(|&range| keys[range]);
            let mut done = vec![false; ranges.len()];
            for range in order {
                links.add(ranges[range].0, ranges[range].1);
                done[range] = true;
                let prefix = done.iter().take_while(|&&done| done).count();
                let expected = prefix.checked_sub(1).map_or(5000, |last| ranges[last].1);
                prop_assert_eq!(links.tail(), expected);
            }
        }
    }
}
