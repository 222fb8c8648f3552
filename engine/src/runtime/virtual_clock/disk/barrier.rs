//! What a FLUSH has to wait for: every write submitted before it, and none after it.
//!
//! Time is cut into *epochs* at the flushes. Each write belongs to the epoch in which it was
//! submitted, and an epoch counts those of its writes that are not on the medium yet. A
//! flush may complete when its epoch and all earlier ones have come down to zero:
//!
//! ```text
//!   submitted:   w w w F1 w F2 w w w w      (F: flush)
//!   epochs:      └─ 0 ─┘  └1┘  └── 2, open
//!   not on medium: 1       0     3          F2 waits for F1's epoch, F1 for one write
//! ```
//!
//! The flush counts in its own epoch too, until the device has taken it from its queue, so
//! that a flush can be found ready only once.

use std::collections::VecDeque;

/// The epochs that are not over yet.
#[derive(Debug)]
pub(super) struct FlushBarrier {
    /// Number of the epoch at the front of the list.
    first: u64,
    /// Never empty: the last one is open.
    epochs: VecDeque<Epoch>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    /// Writes accepted but not in the device's cache yet.
    unplaced: u64,
    /// Writes accepted but not on the medium yet.
    unwritten: u64,
    /// The flush that closed the epoch.
    flush: Option<u32>,
    /// Whether [`FlushBarrier::newly_placed`] has reported it.
    reported: bool,
}

impl FlushBarrier {
    pub(super) fn new() -> Self {
        FlushBarrier {
            first: 0,
            epochs: VecDeque::from([Epoch::default()]),
        }
    }

    /// Count `writes` into the open epoch, whose number is returned.
    pub(super) fn accept(&mut self, writes: u64) -> u64 {
        let number = self.first + self.epochs.len() as u64 - 1;
        let open = self.get(number);
        open.unplaced += writes;
        open.unwritten += writes;
        number
    }

    /// Accept a flush, which ends the open epoch; its number is returned. The flush itself
    /// must be [placed](Self::place) and [written](Self::write) once, when the device takes
    /// it from its queue.
    pub(super) fn close(&mut self, flush: u32) -> u64 {
        let number = self.accept(1);
        self.get(number).flush = Some(flush);
        self.epochs.push_back(Epoch::default());
        number
    }

    /// One write of the epoch is in the cache.
    pub(super) fn place(&mut self, number: u64) {
        self.get(number).unplaced -= 1;
    }

    /// One write of the epoch is on the medium.
    pub(super) fn write(&mut self, number: u64) {
        self.get(number).unwritten -= 1;
    }

    /// Whether, since the last call, the cache has got all the writes that some flush waits
    /// for. This is the moment to write out what was being held back for company.
    pub(super) fn newly_placed(&mut self) -> bool {
        let mut found = false;
        for epoch in &mut self.epochs {
            if epoch.flush.is_none() || epoch.unplaced > 0 {
                break;
            }
            found |= !epoch.reported;
            epoch.reported = true;
        }
        found
    }

    /// A flush that has nothing to wait for any more, oldest first.
    pub(super) fn take_ready(&mut self) -> Option<u32> {
        let front = self.epochs.front()?;
        let flush = front.flush.filter(|_| front.unwritten == 0)?;
        self.epochs.pop_front();
        self.first += 1;
        Some(flush)
    }

    /// Whether a flush is waiting.
    pub(super) fn is_waited_for(&self) -> bool {
        self.epochs.len() > 1
    }

    fn get(&mut self, number: u64) -> &mut Epoch {
        &mut self.epochs[(number - self.first) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_flush_waits_for_earlier_writes_only() {
        let mut barrier = FlushBarrier::new();
        let before = barrier.accept(2);
        let flush = barrier.close(7);
        let after = barrier.accept(1);
        assert_eq!((before, flush, after), (0, 0, 1));
        barrier.write(flush);
        barrier.write(before);
        assert_eq!(barrier.take_ready(), None);
        assert!(barrier.is_waited_for());
        barrier.write(before);
        assert_eq!(barrier.take_ready(), Some(7));
        assert_eq!(barrier.take_ready(), None);
        assert!(!barrier.is_waited_for());
        barrier.write(after);
    }

    #[test]
    fn the_cache_is_told_once_that_it_has_all() {
        let mut barrier = FlushBarrier::new();
        let epoch = barrier.accept(1);
        assert!(!barrier.newly_placed(), "no flush waits");
        barrier.place(epoch);
        assert!(!barrier.newly_placed(), "no flush waits");
        barrier.close(1);
        assert!(!barrier.newly_placed(), "the flush is still queued");
        barrier.place(epoch);
        assert!(barrier.newly_placed());
        assert!(!barrier.newly_placed());
    }

    proptest! {
        /// Against the definition: remember for each flush the writes before it.
        #[test]
        fn agrees_with_the_definition(steps in prop::collection::vec((0_u8..3, 0_usize..64), 1..200)) {
            let mut barrier = FlushBarrier::new();
            let mut pending: Vec<(u64, u32)> = Vec::new(); // (epoch, serial number)
            let mut flushes: Vec<(u32, Vec<u32>)> = Vec::new(); // (flush, waits for)
            for (serial, (action, choice)) in (0_u32..).zip(steps) {
                match action {
                    0 => pending.push((barrier.accept(1), serial)),
                    1 => {
                        flushes.push((serial, pending.iter().map(|write| write.1).collect()));
                        let epoch = barrier.close(serial);
                        barrier.write(epoch);
                    }
                    _ if pending.is_empty() => {}
                    _ => {
                        let (epoch, written) = pending.swap_remove(choice % pending.len());
                        barrier.write(epoch);
                        for (_, waits) in &mut flushes {
                            waits.retain(|&write| write != written);
                        }
                    }
                }
                let mut ready = Vec::new();
                while let Some(flush) = barrier.take_ready() {
                    ready.push(flush);
                }
                // Flushes are ready in order, because a later one waits for all that an
                // earlier one waits for.
                let expected: Vec<u32> =
                    flushes.iter().filter(|(_, waits)| waits.is_empty()).map(|f| f.0).collect();
                flushes.retain(|(_, waits)| !waits.is_empty());
                prop_assert_eq!(ready, expected);
            }
        }
    }
}
