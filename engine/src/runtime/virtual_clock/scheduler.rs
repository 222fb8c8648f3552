//! The run loop: time moves to the next event, and a task is resumed.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};

use super::Simulation;
use super::latch_word::NO_QUEUE;
use super::processor::{FULL_SPEED, NO_TASK};
use super::task::{State, Wakeup, Woken};
use crate::runtime::profile::Broadcast;
use crate::runtime::time::{NEVER, Time};
use crate::runtime::wait_kind::WaitKind;
use corosensei::CoroutineResult;

/// Every task waits, and nothing is going to happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the simulation stalled at {at} ps: {}", waiting.join("; "))]
pub struct Stalled {
    /// The virtual time.
    pub at: Time,
    /// The waiting tasks, each with what it waits for.
    pub waiting: Vec<String>,
}

impl Simulation {
    // ---- the loop -------------------------------------------------------------

    /// Runs until the main task has ended or the power is cut.
    ///
    /// # Safety
    /// `simulation` is the current simulation; no reference into it is live.
    pub(super) unsafe fn run_loop(simulation: *mut Simulation) -> Result<(), Stalled> {
        loop {
            // SAFETY: no task is running between two resumes, so this borrow is the
            // only one until it ends at the resume below.
            let this = unsafe { &mut *simulation };
            if this.main_ended {
                return Ok(());
            }
            if this.has_completions() {
                this.hand_out_completions();
            }
            let (completion, thread) = this.processor.next_completion();
            let wakeup = this.agenda.next_time();
            let device = this.devices.agenda.next_time();
            let slice = this.processor.next_slice_end();
            let next = completion.min(wakeup).min(device).min(slice);
            if next == NEVER && this.cut_at == NEVER {
                return Err(this.stalled());
            }
            if next >= this.cut_at {
                this.now = this.cut_at.max(this.now);
                return Ok(());
            }
            this.now = this.now.max(next);
            if wakeup == next {
                this.handle_wakeup();
            } else if device == next {
                this.handle_device_event();
            } else if completion == next {
                let id = this.processor.task_on(thread);
                // SAFETY: the borrow above is not used after this call.
                unsafe { Simulation::resume(simulation, id) };
            } else {
                this.preempt();
            }
        }
    }

    /// # Safety
    /// As for `run_loop`; the task is on a hardware thread with its charge done.
    unsafe fn resume(simulation: *mut Simulation, id: u32) {
        // SAFETY: the coroutine stays where it is until its task has ended, and while
        // it runs it is reached through this pointer only.
        unsafe {
            let coroutine = {
                let this = &mut *simulation;
                this.current = this.tasks[id as usize];
                this.current_id = id;
                this.statistics.switches += 1;
                this.coroutines[id as usize]
            };
            let result = (*coroutine).resume(());
            let this = &mut *simulation;
            this.current = std::ptr::null_mut();
            this.current_id = NO_TASK;
            if let CoroutineResult::Return(()) = result {
                this.release_thread(id);
                this.end_task(id);
            }
        }
    }

    fn handle_wakeup(&mut self) {
        let Some((_, wakeup)) = self.agenda.pop() else {
            return;
        };
        match wakeup {
            Wakeup::Ready { task } => self.make_ready(task),
            Wakeup::Timeout { task, generation } => {
                let entry = self.task(task);
                if entry.state == State::Blocked && entry.generation == generation {
                    entry.woken = Woken::TimedOut;
                    self.make_ready(task);
                }
            }
            Wakeup::Poll { queue, generation } => self.poll(queue, generation),
        }
    }

    fn stalled(&self) -> Stalled {
        let waiting = self
            .tasks
            .iter()
            // SAFETY: the tasks live as long as the simulation; none is running.
            .map(|&task| unsafe { &*task })
            .filter(|task| task.state != State::Ended)
            .map(|task| format!("{} waits for {}", task.name, task.doing.name()))
            .collect();
        Stalled {
            at: self.now,
            waiting,
        }
    }

    // ---- who runs -------------------------------------------------------------

    #[inline]
    pub(super) fn schedule(&mut self, at: Time, wakeup: Wakeup) {
        self.sequence += 1;
        self.agenda.push(at, self.sequence, wakeup);
    }

    /// A task wants to run: it gets an idle hardware thread, or queues for one.
    pub(super) fn make_ready(&mut self, id: u32) {
        let now = self.now;
        let task = self.task(id);
        task.state = State::Ready;
        task.turn_to(now, WaitKind::RunQueue);
        let last = task.last_thread.map(usize::from);
        let waker = task.woken_from.take().map(usize::from);
        match self.processor.choose_idle(last, waker) {
            Some(thread) => {
                self.processor.occupy(now, thread, id);
                self.start_on(thread, id);
            }
            None => self.processor.enqueue(now, id),
        }
    }

    /// The task has got the hardware thread: its pending work starts.
    fn start_on(&mut self, thread: usize, id: u32) {
        let now = self.now;
        let task = self.task(id);
        task.state = State::Running;
        task.thread = thread as u16;
        task.last_thread = Some(thread as u16);
        let spinning = task.spin_queue != NO_QUEUE;
        task.turn_to(
            now,
            if spinning {
                task.spin_kind
            } else {
                WaitKind::Cpu
            },
        );
        let work = std::mem::take(&mut task.pending);
        let mut stall = std::mem::take(&mut task.pending_stall);
        let next = std::mem::replace(&mut task.wakes_next, NO_TASK);
        let mut before = self.timing.context_switch;
        if next != NO_TASK {
            before += self.timing.wake_call;
            self.task(next).woken_from = self.wake_affine.then_some(thread as u16);
            self.wake(next, now + before);
        }
        // Who comes back to spin reads one line.
        if !spinning && self.processor.is_cold(thread) {
            stall += self.timing.cold_cache;
        }
        self.processor
            .start(now, thread, work + before * FULL_SPEED, stall);
        if spinning {
            self.resume_spinning(id);
        }
    }

    /// The task's hardware thread goes to the next ready task, or idle.
    pub(super) fn release_thread(&mut self, id: u32) {
        let thread = self.task(id).thread as usize;
        debug_assert_eq!(self.processor.task_on(thread), id);
        match self.processor.dequeue(self.now) {
            Some(next) => {
                self.processor.replace(self.now, thread, next);
                self.start_on(thread, next);
            }
            None => self.processor.vacate(self.now, thread),
        }
    }

    /// The oldest slice has ended and others wait: its task goes to the end of the
    /// queue, in the middle of its charge, whatever it holds.
    fn preempt(&mut self) {
        let thread = self.processor.oldest_slice();
        let id = self.processor.task_on(thread);
        let now = self.now;
        let left = self.processor.stop(now, thread);
        let task = self.task(id);
        (task.pending, task.pending_stall) = left;
        task.state = State::Ready;
        task.turn_to(now, WaitKind::RunQueue);
        if task.spin_queue != NO_QUEUE {
            self.pause_spinning(id);
        }
        self.statistics.preemptions += 1;
        self.processor.enqueue(now, id);
        self.release_thread(id);
    }

    /// The current task queues behind the others that are ready; false if there are
    /// none. The caller suspends it.
    pub(super) fn yield_current(&mut self) -> bool {
        let id = self.current_id;
        let Some(next) = self.processor.dequeue(self.now) else {
            return false;
        };
        let now = self.now;
        let task = self.task(id);
        task.state = State::Ready;
        task.turn_to(now, WaitKind::RunQueue);
        let thread = task.thread as usize;
        self.processor.enqueue(now, id);
        self.processor.replace(now, thread, next);
        self.start_on(thread, next);
        true
    }

    // ---- waiting and waking ---------------------------------------------------

    /// The current task starts to wait; the caller suspends it next.
    pub(super) fn block_current(&mut self, kind: WaitKind, timeout: Time) {
        let id = self.current_id;
        let now = self.now;
        let task = self.task(id);
        task.state = State::Blocked;
        task.woken = Woken::Signalled;
        task.generation = task.generation.wrapping_add(1);
        let generation = task.generation;
        task.turn_to(now, kind);
        if timeout != NEVER {
            let at = now
                .saturating_add(timeout)
                .saturating_add(self.timing.timer_slack);
            self.schedule(
                at,
                Wakeup::Timeout {
                    task: id,
                    generation,
                },
            );
        }
        self.release_thread(id);
    }

    /// Wakes waiting tasks, at the current task's cost. By [`Broadcast::WakeAll`] one
    /// after the other; each is ready a wake-up latency after its turn. By
    /// [`Broadcast::Requeue`] the first only, who wakes the second when it runs, and so
    /// on.
    pub(super) fn wake_all(&mut self, ids: impl IntoIterator<Item = u32>) {
        let waker = if self.wake_affine && !self.current.is_null() {
            // SAFETY: `current` is the running task.
            Some(unsafe { (*self.current).thread })
        } else {
            None
        };
        let mut at = self.now;
        let mut call = |this: &mut Self, id| {
            this.task(id).woken_from = waker;
            at += this.timing.wake_call;
            this.wake(id, at);
        };
        let requeues = self.timing.broadcast == Broadcast::Requeue;
        let (mut first, mut last) = (NO_TASK, NO_TASK);
        for id in ids {
            if self.task(id).state != State::Blocked {
                continue;
            }
            if !requeues {
                call(self, id);
            } else if first == NO_TASK {
                (first, last) = (id, id);
            } else {
                let task = self.task(id);
                task.state = State::Requeued;
                // It has been signalled: its time cannot be over any more.
                task.generation = task.generation.wrapping_add(1);
                self.task(last).wakes_next = id;
                last = id;
            }
        }
        // Last, since it may run at once, and then wakes the second.
        if first != NO_TASK {
            call(self, first);
        }
        if !self.current.is_null() {
            // SAFETY: `current` is the running task, whose wakes these are.
            unsafe { (*self.current).debt += at - self.now };
        }
    }

    /// Wakes a waiting task from outside: a request of its is complete.
    pub(super) fn wake_one(&mut self, id: u32) {
        if self.task(id).state == State::Blocked {
            self.wake(id, self.now);
        }
    }

    fn wake(&mut self, id: u32, at: Time) {
        let task = self.task(id);
        task.state = State::Waking;
        task.generation = task.generation.wrapping_add(1);
        let at = at + self.timing.wake_latency;
        if at == self.now {
            self.make_ready(id);
        } else {
            self.schedule(at, Wakeup::Ready { task: id });
        }
    }

    /// Leaves the current task's stack until the run loop resumes it.
    ///
    /// # Safety
    /// Called by the current task; no reference into the simulation is live.
    #[inline]
    pub(super) unsafe fn suspend(simulation: *mut Simulation) {
        // SAFETY: `current` is the running task, whose yielder lives on its stack.
        unsafe {
            debug_assert_eq!(
                (*simulation).open_borrows,
                0,
                "a borrow is open at a suspend"
            );
            let yielder = (*(*simulation).current).yielder;
            (*yielder).suspend(());
        }
    }

    /// Whether nothing may suspend: the power was cut, or the task is unwinding.
    #[inline]
    pub(super) fn must_not_suspend(&self) -> bool {
        self.cut || std::thread::panicking()
    }

    /// Whether a request may be made: see `must_not_suspend`.
    #[inline]
    pub(in crate::runtime) fn may_suspend(&self) -> bool {
        !self.must_not_suspend()
    }

    // ---- the end --------------------------------------------------------------

    /// Whether the suspended tasks are being unwound.
    ///
    /// # Safety
    /// `simulation` is the current simulation.
    pub(in crate::runtime) unsafe fn is_cut(simulation: *mut Simulation) -> bool {
        // SAFETY: by the caller's promise; only this field is read.
        unsafe { (*simulation).cut }
    }

    /// Unwinds every suspended task and forgets all that was going to happen. While
    /// this runs no runtime call suspends. A panic that comes out of a destructor is
    /// returned when all is done.
    ///
    /// # Safety
    /// As for `run_loop`.
    pub(super) unsafe fn unwind_tasks(simulation: *mut Simulation) -> Option<Box<dyn Any + Send>> {
        let mut panic = None;
        // SAFETY: no task is running; unwinding a task runs its destructors, which
        // reach the simulation through the pointer for a moment at a time, as any
        // running task does, while no borrow is held here.
        unsafe {
            (*simulation).cut = true;
            let mut id = 0;
            loop {
                let coroutine = {
                    let this = &mut *simulation;
                    let Some(&task) = this.tasks.get(id) else {
                        break;
                    };
                    if (*task).state == State::Ended {
                        id += 1;
                        continue;
                    }
                    this.current = task;
                    this.current_id = id as u32;
                    this.coroutines[id]
                };
                let unwind = AssertUnwindSafe(|| (*coroutine).force_unwind());
                if let Err(payload) = panic::catch_unwind(unwind) {
                    panic = Some(payload);
                }
                (&mut *simulation).end_task(id as u32);
                id += 1;
            }
            let this = &mut *simulation;
            this.current = std::ptr::null_mut();
            this.current_id = NO_TASK;
            this.agenda.clear();
            this.devices.power_cut(this.now);
            this.queues.clear();
            this.processor.reset(this.now);
            this.open_borrows = 0;
            this.cut = false;
        }
        panic
    }
}
