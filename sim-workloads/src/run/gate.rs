//! Who may begin another event: the ends by time, by number, and by failure.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The gate that clients pass before each event. During the warm-up all pass and nobody
/// is counted.
#[derive(Debug)]
pub(super) struct Gate {
    closed: AtomicBool,
    counting: AtomicBool,
    /// Events that may still begin once they are counted.
    left: AtomicU64,
}

impl Gate {
    /// A gate that lets through so many events; without a number, all until it closes.
    pub fn new(events: Option<u64>) -> Self {
        Gate {
            closed: AtomicBool::new(false),
            counting: AtomicBool::new(false),
            left: AtomicU64::new(events.unwrap_or(u64::MAX)),
        }
    }

    /// The measurement begins: events count from here on.
    pub fn count_from_now(&self) {
        self.counting.store(true, Relaxed);
    }

    /// Whether another event may begin.
    pub fn next_event(&self) -> bool {
        if self.is_closed() {
            return false;
        }
        let take = |left: u64| left.checked_sub(1);
        !self.counting.load(Relaxed) || self.left.fetch_update(Relaxed, Relaxed, take).is_ok()
    }

    /// No more events begin.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    /// Whether the gate was closed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
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
