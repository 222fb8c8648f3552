//! Debts of CPU and when they are settled.
//!
//! Engine code says what it does (`cpu(Cost::…)`); the cost is added to the task's
//! debt and the code goes on at the same instant. The debt is *settled* – the task
//! occupies its hardware thread for that long, and others run meanwhile – before
//! anything happens by which the task could notice others, or others it:
//!
//! * before a latch of a hot class is asked for, and before it is released;
//! * before any latch is asked for in SX or X: work done before it would be paid
//!   inside it, and others would find it held for up to 20 µs too long;
//! * before asking for any latch that is held or awaited in a conflicting mode;
//! * before releasing an X or SX latch that was held across a settle;
//! * before I/O, sleep, starting a task, setting or waiting for an event, commit;
//! * when the debt reaches 20 µs.
//!
//! An uncontended S latch costs its cache lines and does not settle. The price is
//! that a task may act up to 20 µs before its time where nobody is in the way;
//! [`Settle::Always`](super::Settle) settles at every acquire and release instead,
//! and is the oracle that the two agree.

use super::Simulation;
use super::processor::FULL_SPEED;
use crate::runtime::time::{MICROSECOND, Time};

/// A debt this large is settled at once.
pub(super) const DEBT_LIMIT: Time = 20 * MICROSECOND;

impl Simulation {
    /// Adds to the current task's debt.
    ///
    /// # Safety
    /// Called by the current task.
    #[inline]
    pub(in crate::runtime) unsafe fn charge(simulation: *mut Simulation, work: Time) {
        // SAFETY: `current` is the running task; no reference to it is held.
        unsafe {
            let task = (*simulation).current;
            (*task).debt += work;
            if (*task).debt >= DEBT_LIMIT {
                Simulation::settle(simulation);
            }
        }
    }

    /// Adds stalled time to the current task's debt.
    ///
    /// # Safety
    /// Called by the current task.
    #[inline]
    pub(in crate::runtime) unsafe fn stall(simulation: *mut Simulation, time: Time) {
        // SAFETY: as for `charge`.
        unsafe {
            let task = (*simulation).current;
            (*task).stall += time;
            if (*task).stall >= DEBT_LIMIT {
                Simulation::settle(simulation);
            }
        }
    }

    /// The socket of the current task's hardware thread.
    ///
    /// # Safety
    /// Called by the current task.
    pub(in crate::runtime) unsafe fn current_socket(simulation: *mut Simulation) -> usize {
        // SAFETY: as for `charge`.
        unsafe {
            let thread = (*(*simulation).current).thread;
            (*simulation).processor.socket_of(thread.into())
        }
    }

    /// The time by the current task's reckoning: its debt is spent already.
    ///
    /// # Safety
    /// Called by the current task.
    #[inline]
    pub(in crate::runtime) unsafe fn task_time(simulation: *mut Simulation) -> Time {
        // SAFETY: as for `charge`.
        unsafe {
            (*simulation).now + (*(*simulation).current).debt + (*(*simulation).current).stall
        }
    }

    /// Pays the current task's debt: time passes, others run.
    ///
    /// # Safety
    /// Called by the current task; no reference into the simulation is live.
    #[inline]
    pub(in crate::runtime) unsafe fn settle(simulation: *mut Simulation) {
        // SAFETY: as for `charge`.
        unsafe {
            if (*(*simulation).current).debt | (*(*simulation).current).stall != 0 {
                Simulation::settle_debt(simulation);
            }
        }
    }

    #[inline(never)]
    unsafe fn settle_debt(simulation: *mut Simulation) {
        // SAFETY: the borrow ends before the suspend.
        unsafe {
            let this = &mut *simulation;
            if this.must_not_suspend() {
                return;
            }
            debug_assert_eq!(this.open_borrows, 0, "a borrow is open while time passes");
            let task = &mut *this.current;
            let work = std::mem::take(&mut task.debt) * FULL_SPEED;
            let stall = std::mem::take(&mut task.stall);
            let thread = task.thread as usize;
            this.processor.start(this.now, thread, work, stall);
            if this.advance_inline(thread) {
                return;
            }
            Simulation::suspend(simulation);
        }
    }

    /// If nothing else happens before the charge on this thread ends, time moves
    /// there without leaving the task.
    #[inline]
    fn advance_inline(&mut self, thread: usize) -> bool {
        let (completion, first) = self.processor.next_completion();
        if first != thread
            || completion >= self.agenda.next_time()
            || completion >= self.devices.agenda.next_time()
            || self.has_completions()
            || completion >= self.processor.next_slice_end()
            || completion >= self.cut_at
        {
            return false;
        }
        self.now = completion;
        self.statistics.inline_settles += 1;
        true
    }
}
