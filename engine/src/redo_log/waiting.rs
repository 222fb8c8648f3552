//! Waiting for the log: events in slots, and a wait that asks ever less often.
//!
//! Thousands of commits may wait for redo at once. Waking all of them for every write
//! would make most of them go back to sleep. So there is an event for every block of the
//! log (modulo 2048): who waits for an LSN waits for the event of its block.
//!
//! A log thread that has nothing to do looks again after 10 µs, and after every four
//! looks in vain it waits twice as long, up to 100 ms.
//!
//! Source: InnoDB 8.0 (`os_event_wait_for`, `log_sys` events).

use super::block::BLOCK_SIZE;
use crate::page::Lsn;
use crate::runtime::time::{MICROSECOND, MILLISECOND, Time};
use crate::runtime::{self, Event, WaitKind};

/// The longest wait between two looks.
const TIMEOUT_MAX: Time = 100 * MILLISECOND;
/// Looks after which the wait between them doubles.
const LOOKS: u64 = 4;

/// How a wait is conducted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How long to spin first: CPU time.
    pub(super) spin: Time,
    /// The first wait between two looks.
    pub(super) timeout: Time,
    /// Under what the wait is booked.
    pub(super) kind: WaitKind,
}

/// Waits until `condition` holds, which is asked at the start, when the event is set, and
/// from time to time. Returns how often it was waited for.
pub(super) fn wait_for(
    event: &Event,
    patience: Patience,
    mut condition: impl FnMut() -> bool,
) -> u64 {
    if condition() {
        return 0;
    }
    // Spinning notices at once what happens. Looks that are ever further apart, but not
    // further than the half of what has been spun, are nearly as good, and cost the
    // virtual clock little.
    let (mut spun, mut step) = (0, MICROSECOND);
    while spun < patience.spin {
        spin(step);
        spun += step;
        step = (spun / 2).clamp(MICROSECOND, 20 * MICROSECOND);
        if condition() {
            return 0;
        }
    }
    let mut timeout = patience.timeout;
    let mut rounds = 0;
    loop {
        let count = event.reset();
        if condition() {
            return rounds;
        }
        event.wait(count, timeout, patience.kind);
        rounds += 1;
        if rounds % LOOKS == 0 {
            timeout = (2 * timeout).min(TIMEOUT_MAX);
        }
    }
}

/// Keeps a hardware thread busy for so long.
fn spin(time: Time) {
    if runtime::is_virtual() {
        runtime::charge(time);
        runtime::settle();
        return;
    }
    let end = runtime::now() + time;
    while runtime::now() < end {
        std::hint::spin_loop();
    }
}

/// Sleeps that become longer: the polling of users that wait for a checkpoint.
#[derive(Debug)]
pub(super) struct Poll {
    sleep: Time,
    rounds: u64,
}

impl Poll {
    pub(super) fn new(first: Time) -> Self {
        Poll {
            sleep: first,
            rounds: 0,
        }
    }

    pub(super) fn sleep(&mut self, kind: WaitKind) {
        runtime::sleep(self.sleep, kind);
        self.rounds += 1;
        if self.rounds.is_multiple_of(LOOKS) {
            self.sleep = (2 * self.sleep).min(TIMEOUT_MAX);
        }
    }

    pub(super) fn rounds(&self) -> u64 {
        self.rounds
    }
}

/// Events by the block that is waited for.
#[derive(Debug)]
pub(super) struct EventSlots(Box<[Event]>);

impl EventSlots {
    /// So many slots, a power of two.
    pub(super) fn new(slots: usize) -> Self {
        assert!(slots.is_power_of_two());
        EventSlots((0..slots).map(|_| Event::new()).collect())
    }

    fn index(&self, lsn: Lsn) -> usize {
        ((lsn - 1) / BLOCK_SIZE as u64) as usize & (self.0.len() - 1)
    }

    /// The event of those who wait for this LSN.
    pub(super) fn of(&self, lsn: Lsn) -> &Event {
        &self.0[self.index(lsn)]
    }

    /// Whether all who wait for the LSNs from `old` to `new` have one event.
    pub(super) fn is_one_slot(&self, old: Lsn, new: Lsn) -> bool {
        old / BLOCK_SIZE as u64 == (new - 1) / BLOCK_SIZE as u64
    }

    /// Wakes those who wait for the LSNs behind `old` up to `new`.
    pub(super) fn set_range(&self, old: Lsn, new: Lsn) {
        let (first, last) = (old / BLOCK_SIZE as u64, (new - 1) / BLOCK_SIZE as u64);
        let last = last.min(first + self.0.len() as u64 - 1);
        for block in first..=last {
            self.0[block as usize & (self.0.len() - 1)].set();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::time::NEVER;

    #[test]
    fn a_wait_ends_when_it_can_and_asks_ever_less_often() {
        let event = Event::new();
        let patience = Patience {
            spin: 0,
            timeout: 10 * MICROSECOND,
            kind: WaitKind::Other,
        };
        assert_eq!(wait_for(&event, patience, || true), 0);
        let mut looks = 0;
        let rounds = wait_for(&event, patience, || {
            looks += 1;
            looks == 12
        });
        assert_eq!(rounds, 10);
        let spinning = Patience {
            spin: 50 * MICROSECOND,
            ..patience
        };
        looks = 0;
        let rounds = wait_for(&event, spinning, || {
            looks += 1;
            looks == 3
        });
        assert_eq!(rounds, 0, "while it spun");
    }

    #[test]
    fn those_in_between_are_woken_and_no_others() {
        let slots = EventSlots::new(8);
        let count = |lsn| slots.of(lsn).reset();
        let counts: Vec<_> = (0..8).map(|block| count(block * 512 + 100)).collect();
        slots.set_range(1024, 2048 + 12);
        let woken: Vec<_> = (0..8)
            .filter(|&block| {
                let event = slots.of(block * 512 + 100);
                event.wait(counts[block as usize], 0, WaitKind::Other)
            })
            .collect();
        assert_eq!(woken, [2, 3, 4]);
        assert!(slots.is_one_slot(1024, 1536) && !slots.is_one_slot(1024, 1537));
        // More blocks than slots: everybody, once.
        slots.set_range(0, 512 * 100);
        assert!(
            slots
                .of(1)
                .wait(slots.of(513).reset(), NEVER, WaitKind::Other)
        );
    }
}
