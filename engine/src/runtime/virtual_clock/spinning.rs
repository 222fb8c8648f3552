//! Spinning on a latch: who looks at the word when, and what it costs the holder.
//!
//! A waiter burns its hardware thread for a random budget of rounds. At a release one
//! random number decides when the first of the spinning waiters looks, and one which
//! of them it is; a task that asks in the meantime comes first.

use std::sync::atomic::Ordering::Relaxed;

use super::Simulation;
use super::latch_word::{Attempt, NO_QUEUE, READERS, SpinMode};
use super::task::Wakeup;
use crate::runtime::latch_class::{LatchClass, LatchMode};
use crate::runtime::random;
use crate::runtime::time::{SECOND, Time};
use crate::runtime::wait_kind::WaitKind;

/// Spinning longer than this before sleeping helps no simulation.
pub(super) const SPIN_BUDGET_MAX: Time = 10 * SECOND;

impl Simulation {
    /// Polls of the spinning waiters have taken the latch word's line away from the
    /// holder: the expected number of times it had to fetch it back.
    pub(super) fn refetch_word_line(&mut self, number: u32, class: LatchClass, since: Time) {
        let spinners = self.queues.get(number).spinners.len() as f64;
        let accesses = f64::from(class.facts().word_line_accesses);
        if spinners == 0.0 {
            return;
        }
        // SAFETY: `current` is the running task.
        let task = unsafe { &mut *self.current };
        let hold = (self.now - since + task.debt + task.stall) as f64;
        let round = (self.timing.round_max / 2 + self.timing.round_check) as f64;
        let polls_between = spinners * hold / (accesses * round);
        let share = -libm::expm1(-polls_between);
        let transfer = (self.timing.line_cross_socket * (self.timing.sockets - 1)
            + self.timing.line_same_socket)
            / self.timing.sockets;
        task.stall += (accesses * share * transfer as f64) as Time;
    }

    /// The current task starts to spin; the caller suspends it.
    pub(super) fn start_spinning(&mut self, number: u32, mode: SpinMode, waiting_for: WaitKind) {
        let budget = self.spin_budget();
        let now = self.now;
        let id = self.current_id;
        let task = self.task(id);
        debug_assert_eq!(task.debt, 0, "a debt would be paid inside the latch");
        task.spin_queue = number;
        task.spin_mode = mode;
        task.spin_granted = false;
        task.spin_kind = waiting_for;
        task.turn_to(now, waiting_for);
        let thread = task.thread as usize;
        self.processor.set_spinning(now, thread, true);
        self.processor.start(now, thread, 0, budget);
        self.add_spinner(number, id);
    }

    /// The current task has stopped spinning: was it granted the latch?
    pub(super) fn stop_spinning(&mut self) -> bool {
        let id = self.current_id;
        let now = self.now;
        let task = self.task(id);
        task.turn_to(now, WaitKind::Cpu);
        let (granted, thread) = (task.spin_granted, task.thread as usize);
        self.processor.set_spinning(now, thread, false);
        if !granted {
            self.remove_spinner(id);
        }
        self.task(id).spin_queue = NO_QUEUE;
        granted
    }

    /// A spinning task has lost its hardware thread: it no longer polls.
    pub(super) fn pause_spinning(&mut self, id: u32) {
        if !self.task(id).spin_granted {
            self.remove_spinner(id);
        }
    }

    /// A spinning task has a hardware thread again.
    pub(super) fn resume_spinning(&mut self, id: u32) {
        let now = self.now;
        let task = self.task(id);
        let (granted, number, thread) = (task.spin_granted, task.spin_queue, task.thread as usize);
        self.processor.set_spinning(now, thread, true);
        if !granted {
            self.add_spinner(number, id);
            self.schedule_poll(number);
        }
    }

    fn add_spinner(&mut self, number: u32, id: u32) {
        let mode = self.task(id).spin_mode;
        let queue = self.queues.get(number);
        let place = queue.spinners.len() as u32;
        queue.spinners.push((id, mode));
        queue.wanting[mode as usize] += 1;
        self.task(id).spin_place = place;
    }

    fn remove_spinner(&mut self, id: u32) {
        let task = self.task(id);
        let (number, place) = (task.spin_queue, task.spin_place);
        let queue = self.queues.get(number);
        let (removed, mode) = queue.spinners.swap_remove(place as usize);
        debug_assert_eq!(removed, id);
        queue.wanting[mode as usize] -= 1;
        if let Some(&(moved, _)) = queue.spinners.get(place as usize) {
            self.task(moved).spin_place = place;
        }
    }

    /// The sum of the rounds of one spin: 30 uniform rounds are normal within the
    /// accuracy that matters here.
    fn spin_budget(&mut self) -> Time {
        let loops = f64::from(self.timing.spin_loops);
        let longest = self.timing.round_max as f64;
        let mean = loops * (longest / 2.0 + self.timing.round_check as f64);
        let deviation = longest * libm::sqrt(loops / 12.0);
        let bits = self.draw_spin();
        let normal = self.normal.at(bits);
        ((mean + deviation * normal).max(0.0) as Time).min(SPIN_BUDGET_MAX)
    }

    fn draw_spin(&mut self) -> u64 {
        let bits = self.spin_stream.next_unlogged();
        let (at, stream) = (self.now, self.spin_stream.id());
        if let Some(draws) = &mut self.draws {
            draws.push(super::Draw {
                at,
                stream,
                value: bits,
            });
        }
        bits
    }

    /// If a waiter that spins could take the latch: when does the first one look?
    fn schedule_poll(&mut self, number: u32) {
        let queue = self.queues.get(number);
        if queue.poll_scheduled || queue.spinners.is_empty() {
            return;
        }
        // SAFETY: the queue has members, tasks inside `latch_slow` with a reference
        // to the latch, so it is alive.
        let word = unsafe { (*queue.latch).word.load(Relaxed) };
        let generation = queue.generation;
        let eligible = queue.eligible(word);
        if eligible == 0 {
            return;
        }
        queue.poll_scheduled = true;
        let u = random::unit(self.draw_spin());
        // x = M (1 − (1 − u)^(1/2k)): the first of k polls.
        let share = -libm::expm1(libm::log1p(-u) / f64::from(2 * eligible));
        let delay = (share * self.timing.round_max as f64) as Time + self.timing.round_check;
        self.schedule(
            self.now + delay,
            Wakeup::Poll {
                queue: number,
                generation,
            },
        );
    }

    /// A spinning waiter looks at the latch word; if nobody came before it, the
    /// latch is its own.
    pub(super) fn poll(&mut self, number: u32, generation: u32) {
        let now = self.now;
        let Some(queue) = self.queues.queues.get_mut(number as usize - 1) else {
            return;
        };
        if queue.generation != generation {
            return;
        }
        queue.poll_scheduled = false;
        self.statistics.polls += 1;
        // SAFETY: as in `schedule_poll`.
        let latch = unsafe { &*queue.latch };
        let word = latch.word.load(Relaxed);
        let count = queue.eligible(word);
        if count == 0 {
            return;
        }
        let bits = self.draw_spin();
        let queue = self.queues.get(number);
        let chosen = random::scale(bits, count.into()) as usize;
        let place = if count as usize == queue.spinners.len() {
            chosen
        } else {
            let mut eligible =
                (0..queue.spinners.len()).filter(|&i| queue.spinners[i].1.eligible(word));
            match eligible.nth(chosen) {
                Some(place) => place,
                None => return,
            }
        };
        let (id, mode) = queue.spinners[place];
        match latch.attempt(mode) {
            Attempt::Taken => {
                self.remove_spinner(id);
                let task = self.task(id);
                task.spin_granted = true;
                let thread = task.thread as usize;
                self.processor.finish_now(now, thread);
            }
            Attempt::Reserved => {
                queue.spinners[place].1 = SpinMode::Drain;
                queue.wanting[mode as usize] -= 1;
                queue.wanting[SpinMode::Drain as usize] += 1;
                self.task(id).spin_mode = SpinMode::Drain;
            }
            Attempt::Busy => {}
        }
        // A shared latch lets more than one in.
        self.schedule_poll(number);
    }

    /// A latch with waiters has been released in this mode.
    pub(super) fn released(&mut self, number: u32, mode: LatchMode) {
        self.schedule_poll(number);
        let queue = self.queues.get(number);
        if queue.sleepers.is_empty() {
            return;
        }
        // SAFETY: as in `schedule_poll`.
        let word = unsafe { (*queue.latch).word.load(Relaxed) };
        if mode == LatchMode::S {
            // The last reader wakes the one who has reserved the word.
            if word & READERS == 0
                && let Some(place) = queue
                    .sleepers
                    .iter()
                    .position(|&(_, mode)| mode == SpinMode::Drain)
            {
                let (id, _) = queue.sleepers.swap_remove(place);
                self.wake_all([id]);
            }
        } else {
            let mut sleepers = std::mem::take(&mut queue.sleepers);
            self.wake_all(sleepers.iter().map(|&(id, _)| id));
            sleepers.clear();
            // Keep the allocation; nobody can have gone to sleep meanwhile.
            self.queues.get(number).sleepers = sleepers;
        }
    }
}
