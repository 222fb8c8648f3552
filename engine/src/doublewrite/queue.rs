//! A queue of what is free: whoever finds it empty waits.
//!
//! (InnoDB's threads spin and yield. Under the virtual clock, where time passes only by
//! what is done, an event says the same.)

use crossbeam_queue::ArrayQueue;

use crate::runtime::time::NEVER;
use crate::runtime::{Event, WaitKind};

/// A queue of fixed content: what is taken is put back.
#[derive(Debug)]
pub(super) struct WaitingQueue<T> {
    free: ArrayQueue<T>,
    returned: Event,
}

impl<T> WaitingQueue<T> {
    pub(super) fn new(content: impl Iterator<Item = T>) -> Self {
        let content: Vec<T> = content.collect();
        let free = ArrayQueue::new(content.len().max(1));
        for value in content {
            let pushed = free.push(value);
            debug_assert!(pushed.is_ok(), "the queue is as long as its content");
        }
        WaitingQueue {
            free,
            returned: Event::new(),
        }
    }

    /// The first that is free; waits for one.
    pub(super) fn take(&self, waiting_for: WaitKind) -> T {
        loop {
            if let Some(value) = self.free.pop() {
                return value;
            }
            let signals = self.returned.reset();
            if let Some(value) = self.free.pop() {
                return value;
            }
            self.returned.wait(signals, NEVER, waiting_for);
        }
    }

    /// Puts back what was taken.
    pub(super) fn put_back(&self, value: T) {
        let pushed = self.free.push(value);
        debug_assert!(pushed.is_ok(), "what is put back was taken");
        self.returned.set();
    }
}
