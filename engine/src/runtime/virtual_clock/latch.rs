//! Latches of the virtual machine: spin, sleep, and barging.
//!
//! ```text
//!   word   X | SX | reserved | readers
//!
//!   a waiter:  spins, burning its hardware thread ------> granted at one of its
//!              polls the word at random moments           polls of a free word
//!                 | its spin budget ends
//!                 v
//!              sleeps until the release wakes *all* sleepers, then spins again
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

use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};

use super::Simulation;
use super::task::Wakeup;
use crate::runtime::latch_class::{LatchClass, LatchMode};
use crate::runtime::random;
use crate::runtime::time::{NEVER, Time};
use crate::runtime::wait_kind::WaitKind;

const X: u32 = 1 << 31;
const SX: u32 = 1 << 30;
/// A task has reserved the word for X and waits for the readers to leave.
const RESERVED: u32 = 1 << 29;
const READERS: u32 = (1 << 20) - 1;

pub(super) const NO_QUEUE: u32 = 0;
const NO_THREAD: u16 = u16::MAX;

/// The virtual half of a latch: 12 bytes in every latch of the engine.
///
/// Only the one OS thread of a simulation touches it; the fields are atomics
/// (relaxed, plain moves on every CPU) so that the type is `Sync` without a promise.
#[derive(Debug)]
pub(in crate::runtime) struct VirtualLatch {
    word: AtomicU32,
    queue: AtomicU32,
    last_thread: AtomicU16,
    /// The run that wrote the other fields: what a power cut left behind is void.
    run: AtomicU16,
}

/// What a spinning waiter waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SpinMode {
    S,
    SX,
    X,
    /// It has reserved the word and waits for the readers to leave.
    Drain,
}

const SPIN_MODES: [SpinMode; 4] = [SpinMode::S, SpinMode::SX, SpinMode::X, SpinMode::Drain];

enum Attempt {
    Taken,
    /// Reserved for X, readers still inside.
    Reserved,
    Busy,
}

impl From<LatchMode> for SpinMode {
    fn from(mode: LatchMode) -> Self {
        match mode {
            LatchMode::S => SpinMode::S,
            LatchMode::SX => SpinMode::SX,
            LatchMode::X => SpinMode::X,
        }
    }
}

impl SpinMode {
    /// Whether a poll of this word would succeed.
    #[inline]
    fn eligible(self, word: u32) -> bool {
        match self {
            SpinMode::S => word & (X | RESERVED) == 0,
            SpinMode::SX | SpinMode::X => word & (X | SX | RESERVED) == 0,
            SpinMode::Drain => word & READERS == 0,
        }
    }
}

impl VirtualLatch {
    pub(in crate::runtime) const fn new() -> Self {
        VirtualLatch {
            word: AtomicU32::new(0),
            queue: AtomicU32::new(NO_QUEUE),
            last_thread: AtomicU16::new(NO_THREAD),
            run: AtomicU16::new(0),
        }
    }

    /// Frees the latch if its state is of an earlier run.
    #[inline]
    fn belong_to(&self, run: u16) {
        if self.run.load(Relaxed) != run {
            self.word.store(0, Relaxed);
            self.queue.store(NO_QUEUE, Relaxed);
            self.last_thread.store(NO_THREAD, Relaxed);
            self.run.store(run, Relaxed);
        }
    }

    fn attempt(&self, mode: SpinMode) -> Attempt {
        let word = self.word.load(Relaxed);
        if !mode.eligible(word) {
            return Attempt::Busy;
        }
        match mode {
            SpinMode::S => {
                debug_assert!(word & READERS < READERS);
                self.word.store(word + 1, Relaxed);
            }
            SpinMode::SX => self.word.store(word | SX, Relaxed),
            SpinMode::X if word & READERS != 0 => {
                self.word.store(word | RESERVED, Relaxed);
                return Attempt::Reserved;
            }
            SpinMode::X => self.word.store(word | X, Relaxed),
            SpinMode::Drain => self.word.store((word & !(RESERVED | SX)) | X, Relaxed),
        }
        Attempt::Taken
    }

    fn release(&self, mode: LatchMode) {
        let word = self.word.load(Relaxed);
        let free = match mode {
            LatchMode::S => word.wrapping_sub(1),
            LatchMode::SX => word & !SX,
            LatchMode::X => word & !X,
        };
        debug_assert_ne!(
            free, word,
            "a latch was released that is not held in {mode:?}"
        );
        self.word.store(free, Relaxed);
    }
}

// ---- waiters ------------------------------------------------------------------

struct WaitQueue {
    latch: *const VirtualLatch,
    class: LatchClass,
    /// Waiters that spin on a hardware thread now, in no order; each task knows its
    /// place. Beside them, how many want which mode.
    spinners: Vec<(u32, SpinMode)>,
    wanting: [u32; SPIN_MODES.len()],
    sleepers: Vec<(u32, SpinMode)>,
    /// Tasks in either list or on their way between the two: the queue stays.
    members: u32,
    generation: u32,
    poll_scheduled: bool,
}

impl WaitQueue {
    /// Spinning waiters whose poll of this word would succeed.
    fn eligible(&self, word: u32) -> u32 {
        let wanting = |mode: SpinMode| self.wanting[mode as usize];
        SPIN_MODES
            .iter()
            .filter(|mode| mode.eligible(word))
            .map(|&mode| wanting(mode))
            .sum()
    }
}

/// The wait queues of the latches that have waiters now; number 0 is "none".
pub(super) struct WaitQueues {
    queues: Vec<WaitQueue>,
    free: Vec<u32>,
}

impl WaitQueues {
    pub(super) fn new() -> Self {
        WaitQueues {
            queues: Vec::new(),
            free: Vec::new(),
        }
    }

    #[inline]
    fn get(&mut self, number: u32) -> &mut WaitQueue {
        &mut self.queues[number as usize - 1]
    }

    fn join(&mut self, latch: &VirtualLatch, class: LatchClass) -> u32 {
        let mut number = latch.queue.load(Relaxed);
        if number == NO_QUEUE {
            number = self.free.pop().unwrap_or_else(|| {
                self.queues.push(WaitQueue {
                    latch: std::ptr::null(),
                    class,
                    spinners: Vec::new(),
                    wanting: [0; SPIN_MODES.len()],
                    sleepers: Vec::new(),
                    members: 0,
                    generation: 0,
                    poll_scheduled: false,
                });
                self.queues.len() as u32
            });
            let queue = self.get(number);
            queue.latch = latch;
            queue.class = class;
            latch.queue.store(number, Relaxed);
        }
        self.get(number).members += 1;
        number
    }

    fn leave(&mut self, number: u32, latch: &VirtualLatch) {
        let queue = self.get(number);
        queue.members -= 1;
        if queue.members == 0 {
            debug_assert!(queue.spinners.is_empty() && queue.sleepers.is_empty());
            queue.generation = queue.generation.wrapping_add(1);
            queue.poll_scheduled = false;
            queue.latch = std::ptr::null();
            latch.queue.store(NO_QUEUE, Relaxed);
            self.free.push(number);
        }
    }

    pub(super) fn clear(&mut self) {
        self.queues.clear();
        self.free.clear();
    }
}

// ---- acquiring and releasing --------------------------------------------------

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

    /// Polls of the spinning waiters have taken the latch word's line away from the
    /// holder: the expected number of times it had to fetch it back.
    fn refetch_word_line(&mut self, number: u32, class: LatchClass, since: Time) {
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

    // ---- spinning -------------------------------------------------------------

    /// The current task starts to spin; the caller suspends it.
    fn start_spinning(&mut self, number: u32, mode: SpinMode, waiting_for: WaitKind) {
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
    fn stop_spinning(&mut self) -> bool {
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
    fn released(&mut self, number: u32, mode: LatchMode) {
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

/// Spinning longer than this before sleeping helps no simulation.
pub(super) const SPIN_BUDGET_MAX: Time = 10 * crate::runtime::time::SECOND;

/// Whether a request in this mode would meet a holder, a reader it must wait for, or
/// a queue.
#[inline]
fn in_the_way(latch: &VirtualLatch, mode: LatchMode) -> bool {
    let word = latch.word.load(Relaxed);
    latch.queue.load(Relaxed) != NO_QUEUE
        || !SpinMode::from(mode).eligible(word)
        || (mode == LatchMode::X && word & READERS != 0)
}
