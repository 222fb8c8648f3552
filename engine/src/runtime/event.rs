//! Events: waiting for something to happen, without losing the wake-up.
//!
//! An event counts its signals, as InnoDB's `os_event` does. Whoever wants to wait
//! first calls [`Event::reset`] and keeps the count, then looks at the condition,
//! and then waits for *that* count: a signal in between has moved the count on, and
//! the wait returns at once.
//!
//! ```text
//!   count = event.reset()
//!   if condition { go on }           <-- set() may happen here …
//!   event.wait(count, …)             <-- … and is not lost
//! ```

use std::time::Duration;

use super::ambient;
use super::time::{NANOSECOND, NEVER, Time};
use super::virtual_clock::{Simulation, VirtualEvent};
use super::wait_kind::WaitKind;

#[derive(Debug, Default)]
struct Signals {
    is_set: bool,
    count: u64,
}

/// The count of signals at a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalCount(u64);

/// An event; see the module's opening.
#[derive(Debug)]
pub struct Event {
    signals: parking_lot::Mutex<Signals>,
    changed: parking_lot::Condvar,
    virtual_half: VirtualEvent,
}

impl Event {
    /// An event that is not set.
    pub const fn new() -> Self {
        Event {
            signals: parking_lot::Mutex::new(Signals {
                is_set: false,
                count: 0,
            }),
            changed: parking_lot::Condvar::new(),
            virtual_half: VirtualEvent::new(),
        }
    }

    /// Unsets the event; the count is for a later [`Event::wait`].
    pub fn reset(&self) -> SignalCount {
        if ambient::simulation().is_null() {
            let mut signals = self.signals.lock();
            signals.is_set = false;
            SignalCount(signals.count)
        } else {
            // SAFETY: this is the simulation's thread.
            SignalCount(unsafe { Simulation::event_reset(&self.virtual_half) })
        }
    }

    /// Sets the event and wakes all who wait. An event that is set stays so, and
    /// lets waiters through, until it is reset.
    pub fn set(&self) {
        let simulation = ambient::simulation();
        if simulation.is_null() {
            let mut signals = self.signals.lock();
            if !signals.is_set {
                signals.is_set = true;
                signals.count += 1;
                self.changed.notify_all();
            }
        } else {
            // SAFETY: the current task calls, and no reference into the simulation
            // is live.
            unsafe { Simulation::event_set(simulation, &self.virtual_half) };
        }
    }

    /// Waits until the event is set, or has been set since `count` was read. With a
    /// timeout (in picoseconds, [`NEVER`] for none) it may end without: false.
    pub fn wait(&self, count: SignalCount, timeout: Time, kind: WaitKind) -> bool {
        let simulation = ambient::simulation();
        if !simulation.is_null() {
            // SAFETY: as in `set`.
            return unsafe {
                Simulation::event_wait(simulation, &self.virtual_half, count.0, timeout, kind)
            };
        }
        let start = super::tasks::now();
        let was_set = self.wait_really(count, timeout);
        super::tasks::account_wait(kind, start);
        was_set
    }

    fn wait_really(&self, count: SignalCount, timeout: Time) -> bool {
        let mut signals = self.signals.lock();
        let set = |signals: &Signals| signals.is_set || signals.count != count.0;
        if timeout == NEVER {
            self.changed
                .wait_while(&mut signals, |signals| !set(signals));
            true
        } else {
            let limit = Duration::from_nanos(timeout / NANOSECOND);
            self.changed
                .wait_while_for(&mut signals, |signals| !set(signals), limit);
            set(&signals)
        }
    }
}

impl Default for Event {
    fn default() -> Self {
        Self::new()
    }
}
