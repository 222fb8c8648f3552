//! Events of the virtual machine: InnoDB's `os_event` with its signal count.

use std::cell::UnsafeCell;

use super::Simulation;
use super::task::Woken;
use crate::runtime::time::{NEVER, Time};
use crate::runtime::wait_kind::WaitKind;

#[derive(Debug, Default)]
struct EventState {
    is_set: bool,
    count: u64,
    waiters: Vec<u32>,
    /// The run that the waiters are of.
    run: u16,
}

/// The virtual half of an event.
#[derive(Debug, Default)]
pub(in crate::runtime) struct VirtualEvent(UnsafeCell<EventState>);

// SAFETY: only tasks of one simulation touch the virtual half of an event, and they
// share one OS thread; under the real clock it is never touched.
unsafe impl Sync for VirtualEvent {}

impl VirtualEvent {
    pub(in crate::runtime) const fn new() -> Self {
        VirtualEvent(UnsafeCell::new(EventState {
            is_set: false,
            count: 0,
            waiters: Vec::new(),
            run: 0,
        }))
    }

    /// # Safety
    /// This is the thread of the simulation, and no other such reference lives.
    #[expect(clippy::mut_from_ref, reason = "the promise above")]
    unsafe fn state(&self) -> &mut EventState {
        // SAFETY: by the caller's promise.
        unsafe { &mut *self.0.get() }
    }
}

/// A task's entry among the waiters, taken out when its time is over and when the
/// task is unwound: the event may outlive it.
struct Waiting<'a> {
    event: &'a VirtualEvent,
    id: u32,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // SAFETY: this runs on the thread of the simulation, between its steps.
        unsafe {
            self.event
                .state()
                .waiters
                .retain(|&waiter| waiter != self.id)
        };
    }
}

impl Simulation {
    /// # Safety
    /// Called by the current task.
    pub(in crate::runtime) unsafe fn event_reset(event: &VirtualEvent) -> u64 {
        // SAFETY: tasks of a simulation share one thread.
        let state = unsafe { event.state() };
        state.is_set = false;
        state.count
    }

    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn event_set(simulation: *mut Simulation, event: &VirtualEvent) {
        // SAFETY: as for `latch`; the borrow of the event ends before any suspend.
        unsafe {
            if (*simulation).cut {
                return;
            }
            Simulation::settle(simulation);
            let this = &mut *simulation;
            let state = event.state();
            if state.is_set {
                return;
            }
            state.is_set = true;
            state.count += 1;
            let mut waiters = std::mem::take(&mut state.waiters);
            if state.run == this.run_number {
                this.wake_all(waiters.iter().copied());
            }
            waiters.clear();
            event.state().waiters = waiters;
        }
    }

    /// Waits until the event is set or has been set since `count` was read, or the
    /// time is over; says whether it was the event.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn event_wait(
        simulation: *mut Simulation,
        event: &VirtualEvent,
        count: u64,
        timeout: Time,
        kind: WaitKind,
    ) -> bool {
        // SAFETY: as for `event_set`.
        unsafe {
            if (*simulation).cut {
                return false;
            }
            Simulation::settle(simulation);
            let this = &mut *simulation;
            let state = event.state();
            if state.is_set || state.count != count {
                return true;
            }
            if this.must_not_suspend() {
                return false;
            }
            (*this.current).debt += this.timing.sleep_call;
            Simulation::settle(simulation);
            let state = event.state();
            if state.is_set || state.count != count {
                // It was set while this task was on its way to sleep.
                return true;
            }
            let this = &mut *simulation;
            let id = this.current_id;
            if state.run != this.run_number {
                // A power cut took the waiters of an earlier run.
                state.run = this.run_number;
                state.waiters.clear();
            }
            state.waiters.push(id);
            this.block_current(kind, timeout);
            let waiting = Waiting { event, id };
            Simulation::suspend(simulation);
            if (*(*simulation).current).woken == Woken::TimedOut {
                drop(waiting);
                // It may have been set since the time was over, before a CPU was free.
                let state = event.state();
                return state.is_set || state.count != count;
            }
            std::mem::forget(waiting);
            true
        }
    }

    /// The current task sleeps.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn sleep(
        simulation: *mut Simulation,
        length: Time,
        kind: WaitKind,
    ) {
        // SAFETY: as for `latch`.
        unsafe {
            Simulation::settle(simulation);
            if (*simulation).must_not_suspend() {
                return;
            }
            (*simulation).block_current(kind, length);
            Simulation::suspend(simulation);
        }
    }

    /// The current task goes to the end of the run queue if others wait for a CPU.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn yield_now(simulation: *mut Simulation) {
        // SAFETY: as for `latch`.
        unsafe {
            // The call itself takes time: a loop that yields until something happens
            // must not stand still when nobody else is ready.
            (*(*simulation).current).debt += (*simulation).timing.yield_call;
            Simulation::settle(simulation);
            if (*simulation).must_not_suspend() || !(*simulation).yield_current() {
                return;
            }
            Simulation::suspend(simulation);
        }
    }

    /// Queues behind the tasks that are ready for a CPU, if there are any.
    ///
    /// # Safety
    /// As for [`latch`](Simulation::latch).
    pub(in crate::runtime) unsafe fn give_way(simulation: *mut Simulation) {
        // SAFETY: as for `latch`.
        unsafe {
            if (*simulation).processor.next_slice_end() == NEVER {
                return;
            }
            Simulation::settle(simulation);
            if (*simulation).must_not_suspend() || !(*simulation).yield_current() {
                return;
            }
            Simulation::suspend(simulation);
        }
    }
}
