//! A task: a coroutine with its debt, its place in the machine and its time budget.

use corosensei::{Coroutine, Yielder};

use super::Simulation;
use super::latch_word::SpinMode;
use super::processor::Work;
use crate::runtime::accounting::TaskRole;
use crate::runtime::time::Time;
use crate::runtime::wait_kind::WaitKind;

/// The number of a task within its simulation. Numbers of ended tasks are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub(super) u32);

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It has a hardware thread.
    Running,
    /// It waits for a hardware thread.
    Ready,
    /// It waits for a wake-up.
    Blocked,
    /// It was signalled, and waits for the one signalled before it to wake it.
    Requeued,
    /// It was woken and is on its way to being ready.
    Waking,
    /// Its function has returned.
    Ended,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woken {
    /// Somebody woke it.
    Signalled,
    /// Its time was over.
    TimedOut,
}

/// Entries of the agenda.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wakeup {
    /// A woken task becomes ready.
    Ready { task: u32 },
    /// A timed wait is over, unless the task has been woken since.
    Timeout { task: u32, generation: u32 },
    /// A spinning waiter looks at the latch word.
    Poll { queue: u32, generation: u32 },
}

pub(in crate::runtime) type Body = Box<dyn FnOnce()>;

pub(super) struct Task {
    pub(super) name: Box<str>,
    pub(super) role: TaskRole,
    pub(super) yielder: *const Yielder<(), ()>,
    /// CPU used since the last settle, in picoseconds of work.
    pub(super) debt: Time,
    /// Time stalled on cache lines since the last settle.
    pub(super) stall: Time,
    /// Work to do when it next gets a hardware thread.
    pub(super) pending: Work,
    /// Stall to sit out before that.
    pub(super) pending_stall: Time,
    pub(super) thread: u16,
    pub(super) last_thread: Option<u16>,
    /// The hardware thread of the task that woke it, where its socket is wanted.
    pub(super) woken_from: Option<u16>,
    /// The task that it has to wake when it next runs, or `NO_TASK`.
    pub(super) wakes_next: u32,
    pub(super) state: State,
    /// Counts the waits: a timeout of an earlier wait is recognised by it.
    pub(super) generation: u32,
    pub(super) woken: Woken,
    /// Requests of its own that it has not been told of yet.
    pub(super) awaited: u32,
    /// The wait queue of the latch it spins on, and what it wants there.
    pub(super) spin_queue: u32,
    pub(super) spin_mode: SpinMode,
    /// Its place among the spinning waiters of that queue.
    pub(super) spin_place: u32,
    pub(super) spin_granted: bool,
    pub(super) spin_kind: WaitKind,
    /// The time budget: spent so far, and what it has been doing since when.
    pub(super) budget: [Time; WaitKind::COUNT],
    pub(super) doing: WaitKind,
    pub(super) since: Time,
}

impl Task {
    fn new() -> Self {
        Task {
            name: "".into(),
            role: TaskRole::Background,
            yielder: std::ptr::null(),
            debt: 0,
            stall: 0,
            pending: 0,
            pending_stall: 0,
            thread: 0,
            last_thread: None,
            woken_from: None,
            wakes_next: super::processor::NO_TASK,
            state: State::Ended,
            generation: 0,
            woken: Woken::Signalled,
            awaited: 0,
            spin_queue: super::latch_word::NO_QUEUE,
            spin_mode: SpinMode::X,
            spin_place: 0,
            spin_granted: false,
            spin_kind: WaitKind::Latch,
            budget: [0; WaitKind::COUNT],
            doing: WaitKind::Other,
            since: 0,
        }
    }

    /// Closes the running entry of the time budget and opens the next.
    #[inline]
    pub(super) fn turn_to(&mut self, now: Time, kind: WaitKind) {
        self.budget[self.doing as usize] += now - self.since;
        self.doing = kind;
        self.since = now;
    }
}

/// A coroutine, kept apart from its task: while it runs it is borrowed, and the task
/// is reached through other pointers.
pub(super) type TaskCoroutine = Coroutine<(), (), ()>;

impl Simulation {
    /// A task by its number.
    #[inline]
    pub(super) fn task(&mut self, id: u32) -> &mut Task {
        // SAFETY: the table's pointers come from `Box::into_raw` and are freed when
        // the simulation is dropped. References to tasks are made for a moment, in
        // methods that do not suspend.
        unsafe { &mut *self.tasks[id as usize] }
    }

    /// Creates a task that is ready to run.
    pub(in crate::runtime) fn spawn_task(&mut self, name: &str, role: TaskRole, body: Body) -> u32 {
        let id = match self.free_tasks.pop() {
            Some(id) => id,
            None => {
                self.tasks.push(Box::into_raw(Box::new(Task::new())));
                self.coroutines.push(std::ptr::null_mut());
                (self.tasks.len() - 1) as u32
            }
        };
        let pointer = self.tasks[id as usize];
        let stack = self.stacks.take();
        let coroutine: TaskCoroutine = Coroutine::with_stack(stack, move |yielder, ()| {
            // SAFETY: the task outlives its coroutine, and this runs on the one
            // thread of the simulation while nobody else looks at the field.
            unsafe { (*pointer).yielder = yielder };
            body();
            // What it did last takes its time too: waking the one that joins it.
            crate::runtime::settle();
        });
        self.coroutines[id as usize] = Box::into_raw(Box::new(coroutine));
        let now = self.now;
        let task = self.task(id);
        let generation = task.generation.wrapping_add(1);
        *task = Task {
            name: name.into(),
            role,
            generation,
            since: now,
            ..Task::new()
        };
        self.statistics.tasks_started += 1;
        self.make_ready(id);
        id
    }

    /// Takes back what an ended task used.
    pub(super) fn end_task(&mut self, id: u32) {
        let now = self.now;
        let task = self.task(id);
        task.state = State::Ended;
        task.yielder = std::ptr::null();
        let (doing, budget, role) = (task.doing, task.budget, task.role);
        let running = now - task.since;
        let ended = self.statistics.ended_time_of(role);
        for (sum, spent) in ended.iter_mut().zip(budget) {
            *sum += spent;
        }
        ended[doing as usize] += running;
        let coroutine = std::mem::replace(&mut self.coroutines[id as usize], std::ptr::null_mut());
        if !coroutine.is_null() {
            // SAFETY: the pointer comes from `Box::into_raw`, was taken out of the
            // table just now, and the coroutine has ended.
            let coroutine = unsafe { Box::from_raw(coroutine) };
            self.stacks.give_back(coroutine.into_stack());
        }
        self.free_tasks.push(id);
        if id == self.main_task {
            self.main_ended = true;
        }
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // Every run ends with its tasks unwound: no coroutine is left.
        debug_assert!(self.coroutines.iter().all(|coroutine| coroutine.is_null()));
        for &task in &self.tasks {
            // SAFETY: the pointers come from `Box::into_raw` and are not used again.
            drop(unsafe { Box::from_raw(task) });
        }
    }
}
