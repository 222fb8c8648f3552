//! Who may begin another event: the ends by time, by number, and by failure; and a pause
//! in which nobody may, for a snapshot.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

use innosim_engine::runtime::time::NEVER;
use innosim_engine::runtime::{Event, WaitKind};

/// The gate that clients pass before each event. During the warm-up all pass and nobody
/// is counted.
#[derive(Debug)]
pub(super) struct Gate {
    closed: AtomicBool,
    counting: AtomicBool,
    /// Events that may still begin once they are counted.
    left: AtomicU64,
    paused: AtomicBool,
    resumed: Event,
    /// Clients that wait for the end of a pause.
    waiting: AtomicU32,
    /// Set when one more waits, or has ended.
    arrived: Event,
    /// How often clients have been told to take new random streams.
    reseeded: AtomicU32,
}

impl Gate {
    /// A gate that lets through so many events; without a number, all until it closes.
    pub fn new(events: Option<u64>) -> Self {
        Gate {
            closed: AtomicBool::new(false),
            counting: AtomicBool::new(false),
            left: AtomicU64::new(events.unwrap_or(u64::MAX)),
            paused: AtomicBool::new(false),
            resumed: Event::new(),
            waiting: AtomicU32::new(0),
            arrived: Event::new(),
            reseeded: AtomicU32::new(0),
        }
    }

    /// The measurement begins: events count from here on.
    pub fn count_from_now(&self) {
        self.counting.store(true, SeqCst);
    }

    /// Whether another event may begin; waits for the end of a pause.
    pub fn next_event(&self) -> bool {
        if self.paused.load(SeqCst) {
            self.wait_for_the_end_of_the_pause();
        }
        if self.is_closed() {
            return false;
        }
        let take = |left: u64| left.checked_sub(1);
        !self.counting.load(SeqCst) || self.left.fetch_update(SeqCst, SeqCst, take).is_ok()
    }

    #[cold]
    fn wait_for_the_end_of_the_pause(&self) {
        self.waiting.fetch_add(1, SeqCst);
        self.arrived.set();
        loop {
            let signals = self.resumed.reset();
            if !self.paused.load(SeqCst) {
                break;
            }
            self.resumed.wait(signals, NEVER, WaitKind::Other);
        }
        self.waiting.fetch_sub(1, SeqCst);
    }

    /// No event begins until [`resume`](Self::resume). Waits until so many clients as
    /// `running` says wait at the gate: those that have ended do not come.
    pub fn pause(&self, running: impl Fn() -> u32) {
        self.paused.store(true, SeqCst);
        loop {
            let signals = self.arrived.reset();
            if self.waiting.load(SeqCst) >= running() {
                return;
            }
            self.arrived.wait(signals, NEVER, WaitKind::Other);
        }
    }

    /// A client has ended: a pause does not wait for it.
    pub fn client_ended(&self) {
        self.arrived.set();
    }

    /// The pause is over.
    pub fn resume(&self) {
        self.paused.store(false, SeqCst);
        self.resumed.set();
    }

    /// Clients take their random streams anew before their next event.
    pub fn reseed(&self) {
        self.reseeded.fetch_add(1, SeqCst);
    }

    /// How often they were told to.
    pub fn reseeded(&self) -> u32 {
        self.reseeded.load(SeqCst)
    }

    /// No more events begin.
    pub fn close(&self) {
        self.closed.store(true, SeqCst);
    }

    /// Whether the gate was closed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_after_the_warm_up_only() {
        let gate = Gate::new(Some(2));
        assert!((0..10).all(|_| gate.next_event()));
        gate.count_from_now();
        assert_eq!(
            [gate.next_event(), gate.next_event(), gate.next_event()],
            [true, true, false]
        );
        let gate = Gate::new(None);
        gate.count_from_now();
        assert!((0..10).all(|_| gate.next_event()));
        gate.close();
        assert!(!gate.next_event());
    }
}
