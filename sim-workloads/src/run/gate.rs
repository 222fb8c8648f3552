//! Who may begin another event: the ends by time, by number, and by failure; and a pause
//! in which nobody may, for a snapshot.
//!
//! Under the real clock clients look at the clock themselves: the main task, which is one
//! thread among them, may get a CPU long after the measurement should have ended.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

use innosim_engine::runtime::time::{NEVER, Time};
use innosim_engine::runtime::{Event, WaitKind, now};

/// The gate that clients pass before each event. During the warm-up all pass and nobody
/// is counted.
#[derive(Debug)]
pub(super) struct Gate {
    closed: AtomicBool,
    /// No event begins from here on; `NEVER` where only [`close`](Self::close) ends it.
    deadline: AtomicU64,
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
            deadline: AtomicU64::new(NEVER),
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

    /// The gate closes by itself at this instant of the real clock.
    pub fn close_at(&self, deadline: Time) {
        self.deadline.store(deadline, SeqCst);
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

    /// Whether the gate was closed, or has closed itself.
    pub fn is_closed(&self) -> bool {
        if self.closed.load(SeqCst) {
            return true;
        }
        let deadline = self.deadline.load(SeqCst);
        let is_over = deadline != NEVER && now() >= deadline;
        if is_over {
            self.close();
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use innosim_engine::runtime::time::SECOND;

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

    #[test]
    fn it_closes_by_itself() {
        let gate = Gate::new(None);
        gate.close_at(now() + 3_600 * SECOND);
        assert!(gate.next_event());
        gate.close_at(now());
        assert!(!gate.next_event());
        assert!(gate.is_closed());
    }
}
