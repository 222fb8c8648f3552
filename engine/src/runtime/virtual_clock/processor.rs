//! The processor: sockets, cores, hardware threads, and the run queue.
//!
//! ```text
//!  run queue  [t7 t3 t9]                     one FIFO queue for the machine
//!                 |
//!   socket 0      v            socket 1
//!   core 0  thread 0: t1 ####....     a charge in flight: work left, rate, since
//!           thread 1: t4 ##......     both threads busy: each runs at the SMT rate
//!   core 1  thread 2: t2 ####....     sibling idle: full rate
//!           thread 3: -
//! ```
//!
//! **Work and time.** A charge is an amount of *work*: picoseconds on a core that
//! has no busy sibling and runs at the highest frequency. How long it takes
//! changes while it runs. Two things change it:
//!
//! * A sibling thread of the core starts or stops. The charge in flight is
//!   re-timed: the work done so far is subtracted, and the rest goes on at the
//!   new rate.
//! * The number of active cores changes, and with it the frequency of all. That
//!   would re-time every charge at every idle/busy change of any core. Instead the
//!   processor keeps a *work clock* that advances by the current speed, and all
//!   completions are keyed by the work clock: a change of frequency only changes
//!   how the work clock maps to time. (Only the few charges that are in their stall,
//!   which is time and not work, are keyed anew.)
//!
//! A task that spins on a latch sits in PAUSE, which leaves the core's execution units
//! to the sibling: it occupies its thread but does not slow the other. And a *stall*
//! (a cache line on its way from another core) lasts as long as it lasts, whatever
//! the sibling does.
//!
//! **Slices.** A hardware thread gives way when its task has run for a whole time
//! slice and others wait, also in the middle of a charge and inside a latch: a
//! holder that was cut off is what makes over-subscribed servers collapse. All
//! slices have one length, so the thread whose slice began first is the first to
//! end: a list in that order is all the bookkeeping.
//!
//! Left out: one run queue per CPU with its balancing, priorities, and CFS's
//! vruntime. A machine-wide FIFO queue with slices is their fair limit.

use std::collections::VecDeque;

use super::occupancy::Occupancy;
use super::tournament::Tournament;
use crate::runtime::profile::CpuProfile;
use crate::runtime::time::{NEVER, Time};

/// Work in units of 1/256 picosecond at full speed.
pub(super) type Work = u64;

/// Units of [`Work`] a picosecond, and the full speed of the work clock.
pub(super) const FULL_SPEED: u64 = 256;
/// The unit of the SMT stretch: this means "no slower". Fine enough that a rate such
/// as 0.65 is met to a millionth.
const STRETCH_ONE: u64 = 1 << 20;

pub(super) const NO_TASK: u32 = u32::MAX;
const NO_THREAD: u16 = u16::MAX;

#[derive(Clone)]
struct HardwareThread {
    task: u32,
    /// Whose data its caches hold: the task that runs, or ran last.
    cached: u32,
    /// Whether they held another's when the running task came.
    is_cold: bool,
    core: u16,
    /// Whether the running task spins on a latch.
    spins: bool,
    /// The charge in flight: first a stall, which ends at `since` on the work clock,
    /// then this much work.
    work_left: Work,
    since: u64,
    /// When the running task's slice began, and its neighbours in that order.
    slice_start: Time,
    previous: u16,
    next: u16,
    /// Whether it is in the list of stalled threads.
    listed: bool,
}

pub(super) struct Processor {
    threads: Vec<HardwareThread>,
    smt: usize,
    threads_per_socket: usize,
    /// Hardware threads of each core that have a task.
    core_occupied: Vec<u8>,
    /// Those of them whose task does not spin: they share the execution units.
    core_busy: Vec<u8>,
    active_cores: usize,
    occupied_threads: usize,
    /// Time a unit of work takes, in units of [`STRETCH_ONE`], by busy threads of the
    /// core.
    stretch: Vec<u64>,
    /// Speed of the work clock in 256ths, by active cores.
    speed_by_active: Vec<u64>,
    speed: u64,
    epoch_time: Time,
    epoch_work: u64,
    completions: Tournament,
    /// The threads whose charge in flight is in its stall, and some in which it has
    /// ended since.
    stalled: Vec<u16>,
    /// Per socket, a bit for each idle hardware thread, and for the first thread
    /// of each wholly idle core.
    idle_threads: Vec<u128>,
    idle_cores: Vec<u128>,
    slice: Time,
    slice_head: u16,
    slice_tail: u16,
    run_queue: VecDeque<u32>,
    occupancy: Occupancy,
}

impl Processor {
    pub(super) fn new(profile: &CpuProfile) -> Self {
        let smt = profile.threads_per_core as usize;
        let cores = (profile.sockets * profile.cores_per_socket) as usize;
        let threads_per_socket = profile.cores_per_socket as usize * smt;
        let count = cores * smt;
        let stretch = (0..=smt)
            .map(|busy| match busy {
                0 => STRETCH_ONE,
                _ => (STRETCH_ONE as f64 / profile.smt_rate[busy - 1]).round() as u64,
            })
            .collect();
        let speed_by_active = (0..=cores)
            .map(|active| ((FULL_SPEED as f64 * profile.speed(active)).round() as u64).max(1))
            .collect::<Vec<_>>();
        let all_threads = mask(threads_per_socket);
        let first_threads = (0..threads_per_socket)
            .step_by(smt)
            .fold(0u128, |bits, thread| bits | 1 << thread);
        let sockets = profile.sockets as usize;
        Processor {
            threads: (0..count)
                .map(|thread| HardwareThread {
                    task: NO_TASK,
                    cached: NO_TASK,
                    is_cold: false,
                    core: (thread / smt) as u16,
                    spins: false,
                    work_left: 0,
                    since: 0,
                    slice_start: 0,
                    previous: NO_THREAD,
                    next: NO_THREAD,
                    listed: false,
                })
                .collect(),
            smt,
            threads_per_socket,
            core_occupied: vec![0; cores],
            core_busy: vec![0; cores],
            active_cores: 0,
            occupied_threads: 0,
            stretch,
            speed: speed_by_active[0],
            speed_by_active,
            epoch_time: 0,
            epoch_work: 0,
            completions: Tournament::new(count),
            stalled: Vec::with_capacity(count),
            idle_threads: vec![all_threads; sockets],
            idle_cores: vec![first_threads; sockets],
            slice: profile.slice(),
            slice_head: NO_THREAD,
            slice_tail: NO_THREAD,
            run_queue: VecDeque::with_capacity(1024),
            occupancy: Occupancy::default(),
        }
    }

    // ---- the work clock -------------------------------------------------------

    #[inline]
    fn work_clock(&self, now: Time) -> u64 {
        self.epoch_work + (now - self.epoch_time) * self.speed
    }

    #[inline]
    fn time_of(&self, work: u64) -> Time {
        // A charge that ends at the very instant of a change of speed may lie a
        // fraction of a picosecond before the new epoch.
        self.epoch_time + work.saturating_sub(self.epoch_work).div_ceil(self.speed)
    }

    fn set_active_cores(&mut self, now: Time, active: usize) {
        self.active_cores = active;
        let speed = self.speed_by_active[active];
        if speed != self.speed {
            let before = self.speed;
            self.epoch_work = self.work_clock(now);
            self.epoch_time = now;
            self.speed = speed;
            self.retime_stalls(before);
        }
    }

    /// A new epoch of the work clock has begun: what was left of each stall, keyed at
    /// the speed before, takes the same time at the new speed.
    fn retime_stalls(&mut self, before: u64) {
        let clock = self.epoch_work;
        let mut stalled = std::mem::take(&mut self.stalled);
        stalled.retain(|&thread| {
            let slot = &mut self.threads[thread as usize];
            let key = self.completions.key(thread as usize);
            if slot.since <= clock || key == u64::MAX {
                slot.listed = false;
                return false;
            }
            let stall = (slot.since - clock).div_ceil(before);
            let stall_end = clock + stall * self.speed;
            self.completions
                .set(thread as usize, stall_end + (key - slot.since));
            slot.since = stall_end;
            true
        });
        self.stalled = stalled;
    }

    // ---- charges --------------------------------------------------------------

    /// The earliest completion of a charge in flight, and its hardware thread.
    #[inline]
    pub(super) fn next_completion(&self) -> (Time, usize) {
        let thread = self.completions.winner();
        let key = self.completions.key(thread);
        if key == u64::MAX {
            (NEVER, thread)
        } else {
            (self.time_of(key), thread)
        }
    }

    /// Starts a charge on a hardware thread that has none in flight: so much work,
    /// and a stall of so many picoseconds.
    #[inline]
    pub(super) fn start(&mut self, now: Time, thread: usize, work: Work, stall: Time) {
        let stall_end = self.work_clock(now) + stall * self.speed;
        let slot = &mut self.threads[thread];
        slot.work_left = work;
        slot.since = stall_end;
        if stall != 0 && !slot.listed {
            slot.listed = true;
            self.stalled.push(thread as u16);
        }
        let stretch = self.stretch[self.core_busy[slot.core as usize].max(1) as usize];
        self.completions
            .set(thread, stall_end + stretched(work, stretch));
    }

    /// Stops the charge in flight; returns the work and the stall that are left of it.
    pub(super) fn stop(&mut self, now: Time, thread: usize) -> (Work, Time) {
        let left = self.left(now, thread);
        self.completions.set(thread, u64::MAX);
        left
    }

    /// Makes the charge in flight end now, whatever was left of it.
    pub(super) fn finish_now(&mut self, now: Time, thread: usize) {
        self.start(now, thread, 0, 0);
    }

    fn left(&self, now: Time, thread: usize) -> (Work, Time) {
        let slot = &self.threads[thread];
        let clock = self.work_clock(now);
        if clock < slot.since {
            return (slot.work_left, (slot.since - clock).div_ceil(self.speed));
        }
        let stretch = self.stretch[self.core_busy[slot.core as usize].max(1) as usize];
        let done = unstretched(clock - slot.since, stretch);
        (slot.work_left.saturating_sub(done), 0)
    }

    // ---- who runs where -------------------------------------------------------

    #[inline]
    pub(super) fn task_on(&self, thread: usize) -> u32 {
        self.threads[thread].task
    }

    #[inline]
    pub(super) fn socket_of(&self, thread: usize) -> usize {
        thread / self.threads_per_socket
    }

    #[inline]
    pub(super) fn same_core(&self, left: usize, right: usize) -> bool {
        self.threads[left].core == self.threads[right].core
    }

    /// An idle hardware thread for a task that ran on `last` and was woken by a task
    /// on `waker`: where its cache is warm, then a wholly idle core, then an idle
    /// sibling, first on the waker's socket, then on its own, then anywhere.
    pub(super) fn choose_idle(&self, last: Option<usize>, waker: Option<usize>) -> Option<usize> {
        let home = match waker.or(last) {
            Some(thread) => self.socket_of(thread),
            None => self.emptiest_socket(),
        };
        if let Some(thread) = last
            && self.socket_of(thread) == home
            && self.idle_cores[home] & self.bit_of_core(thread) != 0
        {
            return Some(thread);
        }
        if let Some(thread) = self.any_of(&self.idle_cores, home, last) {
            return Some(thread);
        }
        if let Some(thread) = last
            && self.threads[thread].task == NO_TASK
        {
            return Some(thread);
        }
        self.any_of(&self.idle_threads, home, last)
    }

    fn bit_of_core(&self, thread: usize) -> u128 {
        1 << ((thread % self.threads_per_socket) / self.smt * self.smt)
    }

    /// The first thread set in the masks: of the home socket, of the task's own, of
    /// the following ones.
    fn any_of(&self, masks: &[u128], home: usize, last: Option<usize>) -> Option<usize> {
        let own = last.map(|thread| self.socket_of(thread));
        let others = (0..masks.len()).map(|step| (home + step) % masks.len());
        [home]
            .into_iter()
            .chain(own)
            .chain(others)
            .find(|&socket| masks[socket] != 0)
            .map(|socket| {
                socket * self.threads_per_socket + masks[socket].trailing_zeros() as usize
            })
    }

    fn emptiest_socket(&self) -> usize {
        let idle = |socket: usize| self.idle_threads[socket].count_ones();
        (0..self.idle_threads.len())
            .max_by_key(|&socket| (idle(socket), usize::MAX - socket))
            .unwrap_or(0)
    }

    /// Puts a task on an idle hardware thread. Its sibling's charge is re-timed.
    pub(super) fn occupy(&mut self, now: Time, thread: usize, task: u32) {
        debug_assert_eq!(self.threads[thread].task, NO_TASK);
        let core = self.threads[thread].core as usize;
        self.occupied_threads += 1;
        self.occupancy.set_busy(now, self.occupied_threads);
        self.core_occupied[core] += 1;
        if self.core_occupied[core] == 1 {
            self.set_active_cores(now, self.active_cores + 1);
        }
        self.retime_siblings(now, thread, self.core_busy[core] + 1);
        let (socket, bit) = (self.socket_of(thread), thread % self.threads_per_socket);
        self.idle_threads[socket] &= !(1 << bit);
        self.idle_cores[socket] &= !(1 << (bit / self.smt * self.smt));
        self.assign(now, thread, task);
    }

    /// Leaves a hardware thread idle. Its sibling's charge is re-timed.
    pub(super) fn vacate(&mut self, now: Time, thread: usize) {
        self.set_spinning(now, thread, false);
        self.unlink_slice(thread);
        self.completions.set(thread, u64::MAX);
        let core = self.threads[thread].core as usize;
        self.threads[thread].task = NO_TASK;
        self.retime_siblings(now, thread, self.core_busy[core] - 1);
        self.occupied_threads -= 1;
        self.occupancy.set_busy(now, self.occupied_threads);
        self.core_occupied[core] -= 1;
        let (socket, bit) = (self.socket_of(thread), thread % self.threads_per_socket);
        self.idle_threads[socket] |= 1 << bit;
        if self.core_occupied[core] == 0 {
            self.idle_cores[socket] |= 1 << (bit / self.smt * self.smt);
            self.set_active_cores(now, self.active_cores - 1);
        }
    }

    /// Replaces the task of a busy hardware thread; a new slice begins.
    pub(super) fn replace(&mut self, now: Time, thread: usize, task: u32) {
        self.set_spinning(now, thread, false);
        self.unlink_slice(thread);
        self.assign(now, thread, task);
    }

    /// Whether the task on this thread has found another's data in the caches.
    pub(super) fn is_cold(&self, thread: usize) -> bool {
        self.threads[thread].is_cold
    }

    /// The task on this thread begins or ends to spin.
    pub(super) fn set_spinning(&mut self, now: Time, thread: usize, spins: bool) {
        if self.threads[thread].spins == spins {
            return;
        }
        self.threads[thread].spins = spins;
        let core = self.threads[thread].core as usize;
        let busy = self.core_busy[core];
        self.retime_siblings(now, thread, if spins { busy - 1 } else { busy + 1 });
    }

    fn assign(&mut self, now: Time, thread: usize, task: u32) {
        let slot = &mut self.threads[thread];
        slot.task = task;
        slot.is_cold = slot.cached != task;
        slot.cached = task;
        slot.slice_start = now;
        self.link_slice(thread);
    }

    fn retime_siblings(&mut self, now: Time, thread: usize, busy: u8) {
        let core = self.threads[thread].core as usize;
        let first = core * self.smt;
        for sibling in first..first + self.smt {
            if sibling == thread || self.completions.key(sibling) == u64::MAX {
                continue;
            }
            let (work, stall) = self.left(now, sibling);
            let stall_end = self.work_clock(now) + stall * self.speed;
            self.threads[sibling].work_left = work;
            self.threads[sibling].since = stall_end;
            let stretch = self.stretch[busy.max(1) as usize];
            self.completions
                .set(sibling, stall_end + stretched(work, stretch));
        }
        self.core_busy[core] = busy;
    }

    // ---- run queue and slices -------------------------------------------------

    pub(super) fn enqueue(&mut self, now: Time, task: u32) {
        self.run_queue.push_back(task);
        self.occupancy.set_queued(now, self.run_queue.len());
    }

    pub(super) fn dequeue(&mut self, now: Time) -> Option<u32> {
        let task = self.run_queue.pop_front()?;
        self.occupancy.set_queued(now, self.run_queue.len());
        Some(task)
    }

    /// The areas under the curves of busy threads and of the run queue, up to now.
    pub(super) fn areas(&mut self, now: Time) -> (Time, Time) {
        self.occupancy.areas(now)
    }

    /// When the next running task must give way; [`NEVER`] while nobody waits.
    /// A slice that ended while nobody waited ends as soon as somebody does.
    #[inline]
    pub(super) fn next_slice_end(&self) -> Time {
        if self.run_queue.is_empty() || self.slice_head == NO_THREAD {
            NEVER
        } else {
            self.threads[self.slice_head as usize]
                .slice_start
                .saturating_add(self.slice)
        }
    }

    /// The hardware thread of [`Processor::next_slice_end`].
    pub(super) fn oldest_slice(&self) -> usize {
        self.slice_head as usize
    }

    fn link_slice(&mut self, thread: usize) {
        let tail = self.slice_tail;
        self.threads[thread].previous = tail;
        self.threads[thread].next = NO_THREAD;
        match tail {
            NO_THREAD => self.slice_head = thread as u16,
            _ => self.threads[tail as usize].next = thread as u16,
        }
        self.slice_tail = thread as u16;
    }

    fn unlink_slice(&mut self, thread: usize) {
        let (previous, next) = (self.threads[thread].previous, self.threads[thread].next);
        match previous {
            NO_THREAD => self.slice_head = next,
            _ => self.threads[previous as usize].next = next,
        }
        match next {
            NO_THREAD => self.slice_tail = previous,
            _ => self.threads[next as usize].previous = previous,
        }
    }

    /// Forgets all tasks: the machine lost power.
    pub(super) fn reset(&mut self, now: Time) {
        for thread in 0..self.threads.len() {
            if self.threads[thread].task != NO_TASK {
                self.vacate(now, thread);
            }
        }
        self.run_queue.clear();
        self.occupancy.set_queued(now, 0);
    }
}

/// How far the work clock advances during this work.
#[inline]
fn stretched(work: Work, stretch: u64) -> u64 {
    (u128::from(work) * u128::from(stretch) / u128::from(STRETCH_ONE)) as u64
}

/// The work that is done while the work clock advances so far, rounded down: what is
/// left of a charge is never less than it should be.
#[inline]
fn unstretched(advance: u64, stretch: u64) -> Work {
    if stretch == STRETCH_ONE {
        return advance;
    }
    if advance <= u64::MAX / STRETCH_ONE {
        return advance * STRETCH_ONE / stretch;
    }
    // A charge of more than a minute.
    (u128::from(advance) * u128::from(STRETCH_ONE) / u128::from(stretch)) as u64
}

fn mask(bits: usize) -> u128 {
    assert!(
        (1..=128).contains(&bits),
        "1 to 128 hardware threads a socket"
    );
    if bits == 128 {
        u128::MAX
    } else {
        (1 << bits) - 1
    }
}

#[cfg(test)]
mod tests;
