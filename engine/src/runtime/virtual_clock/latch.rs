//! Latches of the virtual machine: spin, sleep, and barging.
//!
//! ```text
//!   word   X | SX | reserved | readers
//!
//!   a waiter:  spins, burning its hardware thread ------> granted at one of its
//!              polls the word at random moments           polls of a free word
//!                 | its spin budget ends
//!                 v
//!              sleeps until the release signals *all* sleepers, then spins again
//!
//!   a release: frees the word. Whoever comes first takes it: a task that just
//!              arrives (barging), or the first spinning waiter to poll.
//! ```
//!
//! This is InnoDB's test-and-test-and-set mutex with an event behind it, and its
//! rw-lock: a waiter spins for `innodb_sync_spin_loops` rounds, each a random number
//! (0 to `innodb_spin_wait_delay`) of delay units, then reserves a wait cell and
//! sleeps; a release frees the word and broadcasts. There is no hand-off in order of
//! arrival: a FIFO latch has convoys that this one has not, and hides the collapse
//! that this one has.
//!
//! **Polls are drawn, not events.** A spinning waiter's rounds are uniform on 0..M,
//! so at a random moment the time to its next poll has the distribution function
//! 1 − (1 − x/M)²; the first of k independent waiters polls within x with
//! probability 1 − (1 − x/M)^2k. At a release one number is drawn for that, and one
//! for which of them it is: a spin costs two events, whatever its length.
//!
//! **Cache lines.** Taking a latch last held on another core fetches the lines that
//! its critical section touches. While others spin, each of their polls takes the
//! latch word's line away, and the holder must fetch it back at its next access to
//! that line, the release at the latest: critical sections get longer under
//! contention, by an amount that saturates once every access finds the line gone.
//!
//! A release fetches a line, too, if another core has touched the latch since.
//!
//! **rw-locks.** An X request first reserves the word, which keeps new readers out,
//! and then waits for the readers inside to leave, as in InnoDB.
//!
//! **Left out**, each a row to vary when a result hangs on it: the sync array's own
//! mutex, which every sleeper takes; a woken task preempting a running one (CFS);
//! spin rounds that a lost compare-and-swap gives back; queueing of readers for one
//! hot line; a wake-up of one waiter only (futex locks of later versions).

use std::sync::atomic::Ordering::Relaxed;

use super::Simulation;
use super::latch_word::{
    Attempt, NO_QUEUE, NO_THREAD, READERS, RESERVED, SX, SpinMode, VirtualLatch, X,
};
use crate::runtime::latch_class::{LatchClass, LatchMode};
use crate::runtime::time::{NEVER, Time};
use crate::runtime::wait_kind::WaitKind;

impl Simulation {
    /// Takes a latch for the current task; returns the time of acquisition.
    ///
    /// # Safety
    /// Called by the current task of `simulation`; no reference into it is live.
    pub(in crate::runtime) unsafe fn latch(
        simulation: *mut Simulation,
        latch: &VirtualLatch,
        class: LatchClass,
        mode: LatchMode,
        waiting_for: impl FnOnce() -> WaitKind,
    ) -> Time {
        // SAFETY: by the caller's promise; every borrow ends within its statement.
        unsafe {
            latch.belong_to((*simulation).run_number);
            let always = (*simulation).settle == super::Settle::Always;
            if always || mode != LatchMode::S || class.is_hot(mode) || in_the_way(latch, mode) {
                // In the way: what others do until our time comes counts.
                Simulation::settle(simulation);
            }
            let waits = match latch.attempt(mode.into()) {
                Attempt::Taken => None,
                Attempt::Busy => Some(SpinMode::from(mode)),
                Attempt::Reserved => Some(SpinMode::Drain),
            };
            if let Some(mode) = waits {
                Simulation::latch_slow(simulation, latch, class, mode, waiting_for());
            }
            let this = &mut *simulation;
            let taken = this.now;
            this.statistics.latches[class as usize].acquired += 1;
            this.fetch_lines(latch, class.facts().lines);
            if always {
                Simulation::settle(simulation);
            }
            taken
        }
    }

    /// Whether a latch is held or reserved in this mode or a stronger one.
    ///
    /// # Safety
    /// `simulation` is the current simulation.
    pub(in crate::runtime) unsafe fn is_latched(
        simulation: *mut Simulation,
        latch: &VirtualLatch,
        mode: LatchMode,
    ) -> bool {
        // SAFETY: by the caller's promise; only this field is read.
        latch.belong_to(unsafe { (*simulation).run_number });
        let word = latch.word.load(Relaxed);
        match mode {
            LatchMode::S => word != 0,
            LatchMode::SX => word & (X | SX | RESERVED) != 0,
            LatchMode::X => word & X != 0,
        }
    }

    /// Takes a latch if that needs no waiting.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn try_latch(
        simulation: *mut Simulation,
        latch: &VirtualLatch,
        class: LatchClass,
        mode: LatchMode,
    ) -> Option<Time> {
        // SAFETY: as for `latch`.
        unsafe {
            latch.belong_to((*simulation).run_number);
            let always = (*simulation).settle == super::Settle::Always;
            if always || mode != LatchMode::S || class.is_hot(mode) || in_the_way(latch, mode) {
                Simulation::settle(simulation);
            }
            let word = latch.word.load(Relaxed);
            if mode == LatchMode::X && word & READERS != 0 {
                return None;
            }
            let Attempt::Taken = latch.attempt(mode.into()) else {
                return None;
            };
            let this = &mut *simulation;
            let taken = this.now;
            this.statistics.latches[class as usize].acquired += 1;
            this.fetch_lines(latch, class.facts().lines);
            if always {
                Simulation::settle(simulation);
            }
            Some(taken)
        }
    }

    /// Turns a held SX latch into X, waiting for the readers to leave.
    ///
    /// # Safety
    /// As for [`Simulation::latch`]; the task holds the latch in SX.
    pub(in crate::runtime) unsafe fn upgrade(
        simulation: *mut Simulation,
        latch: &VirtualLatch,
        class: LatchClass,
    ) {
        // SAFETY: as for `latch`.
        unsafe {
            Simulation::settle(simulation);
            let word = latch.word.load(Relaxed);
            debug_assert!(word & SX != 0 && word & (X | RESERVED) == 0);
            latch.word.store(word | RESERVED, Relaxed);
            if let Attempt::Busy = latch.attempt(SpinMode::Drain) {
                let kind = WaitKind::Latch;
                Simulation::latch_slow(simulation, latch, class, SpinMode::Drain, kind);
            }
        }
    }

    /// Releases a latch that was taken at `since`, perhaps by another task.
    ///
    /// # Safety
    /// As for [`Simulation::latch`]; the latch is held in `mode`.
    pub(in crate::runtime) unsafe fn unlatch(
        simulation: *mut Simulation,
        latch: &VirtualLatch,
        class: LatchClass,
        mode: LatchMode,
        since: Time,
    ) {
        // SAFETY: as for `latch`.
        unsafe {
            if (*simulation).cut {
                // Tasks are being unwound; those that wait for the latch are, too.
                latch.release(mode);
                return;
            }
            let this = &mut *simulation;
            let number = latch.queue.load(Relaxed);
            let settle = this.settle == super::Settle::Always
                || class.is_hot(mode)
                || number != NO_QUEUE
                || (mode != LatchMode::S && this.now != since);
            if settle {
                Simulation::settle(simulation);
            }
            // Only now is it known who has come to spin during the hold.
            let this = &mut *simulation;
            let number = latch.queue.load(Relaxed);
            if number != NO_QUEUE {
                this.refetch_word_line(number, class, since);
            } else {
                // Another core may have touched the latch since: readers share it.
                this.fetch_lines(latch, 1);
            }
            if settle {
                Simulation::settle(simulation);
            }
            let this = &mut *simulation;
            latch.release(mode);
            this.statistics.latches[class as usize].hold += this.now - since;
            let number = latch.queue.load(Relaxed);
            if number != NO_QUEUE {
                this.released(number, mode);
            }
        }
    }

    /// Waits until the latch has been taken.
    #[inline(never)]
    unsafe fn latch_slow(
        simulation: *mut Simulation,
        latch: &VirtualLatch,
        class: LatchClass,
        mut mode: SpinMode,
        waiting_for: WaitKind,
    ) {
        // SAFETY: as for `latch`; borrows end before each suspend.
        unsafe {
            let this = &mut *simulation;
            if this.must_not_suspend() {
                this.abort_in_destructor(class);
            }
            let asked = this.now;
            this.statistics.latches[class as usize].contended += 1;
            let number = this.queues.join(latch, class);
            loop {
                (*simulation).start_spinning(number, mode, waiting_for);
                Simulation::suspend(simulation);
                let this = &mut *simulation;
                let granted = this.stop_spinning();
                mode = (*this.current).spin_mode;
                if granted {
                    break;
                }
                // The budget is spent: reserve a cell, look again, sleep.
                (*this.current).debt += this.timing.sleep_call;
                Simulation::settle(simulation);
                match latch.attempt(mode) {
                    Attempt::Taken => break,
                    Attempt::Reserved => mode = SpinMode::Drain,
                    Attempt::Busy => {
                        let this = &mut *simulation;
                        this.statistics.latches[class as usize].slept += 1;
                        let id = this.current_id;
                        this.queues.get(number).sleepers.push((id, mode));
                        this.block_current(waiting_for, NEVER);
                        Simulation::suspend(simulation);
                        match latch.attempt(mode) {
                            Attempt::Taken => break,
                            Attempt::Reserved => mode = SpinMode::Drain,
                            Attempt::Busy => {}
                        }
                    }
                }
            }
            let this = &mut *simulation;
            let waited = this.now - asked;
            this.statistics.latches[class as usize].wait += waited;
            this.queues.leave(number, latch);
        }
    }

    /// A destructor wants to wait for a latch while its task unwinds, or after a
    /// power cut. Going on would give out what another task holds.
    #[cold]
    fn abort_in_destructor(&mut self, class: LatchClass) -> ! {
        // SAFETY: `current` is the task that calls.
        let name = unsafe { &(*self.current).name };
        let latch = class.facts().name;
        eprintln!("task {name} waits for {latch} in a destructor while it unwinds: a bug");
        std::process::abort()
    }

    /// Lines of the latch's critical section come from the core that used it last.
    #[inline]
    fn fetch_lines(&mut self, latch: &VirtualLatch, lines: u32) {
        // SAFETY: `current` is the running task.
        let task = unsafe { &mut *self.current };
        let last = latch.last_thread.load(Relaxed);
        if last == task.thread {
            return;
        }
        latch.last_thread.store(task.thread, Relaxed);
        if last != NO_THREAD {
            let transfer = self.line_transfer(last.into(), task.thread.into());
            task.stall += u64::from(lines) * transfer;
        }
    }

    #[inline]
    fn line_transfer(&self, from: usize, to: usize) -> Time {
        if self.processor.same_core(from, to) {
            0
        } else if self.processor.socket_of(from) == self.processor.socket_of(to) {
            self.timing.line_same_socket
        } else {
            self.timing.line_cross_socket
        }
    }
}

/// Whether a request in this mode would meet a holder, a reader it must wait for, or
/// a queue.
#[inline]
fn in_the_way(latch: &VirtualLatch, mode: LatchMode) -> bool {
    let word = latch.word.load(Relaxed);
    latch.queue.load(Relaxed) != NO_QUEUE
        || !SpinMode::from(mode).eligible(word)
        || (mode == LatchMode::X && word & READERS != 0)
}
