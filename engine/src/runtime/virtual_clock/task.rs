//! A task: a coroutine with its debt, its place in the machine and its time budget.

use corosensei::{Coroutine, Yielder};

use super::Simulation;
use super::latch::SpinMode;
use super::processor::Work;
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
    pub(super) coroutine: Option<Coroutine<(), (), ()>>,
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
    pub(super) state: State,
    /// Counts the waits: a timeout of an earlier wait is recognised by it.
    pub(super) generation: u32,
    pub(super) woken: Woken,
    /// The wait queue of the latch it spins on, and what it wants there.
    pub(super) spin_queue: u32,
    pub(super) spin_mode: SpinMode,
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
            coroutine: None,
            yielder: std::ptr::null(),
            debt: 0,
            stall: 0,
            pending: 0,
            pending_stall: 0,
            thread: 0,
            last_thread: None,
            state: State::Ended,
            generation: 0,
            woken: Woken::Signalled,
            spin_queue: super::latch::NO_QUEUE,
            spin_mode: SpinMode::X,
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

impl Simulation {
    /// Creates a task that is ready to run.
    pub(in crate::runtime) fn spawn_task(&mut self, name: &str, body: Body) -> u32 {
        let id = match self.free_tasks.pop() {
            Some(id) => id,
            None => {
                self.tasks.push(Box::new(Task::new()));
                (self.tasks.len() - 1) as u32
            }
        };
        let pointer: *mut Task = &mut *self.tasks[id as usize];
        let stack = self.stacks.take();
        let coroutine = Coroutine::with_stack(stack, move |yielder, ()| {
            // SAFETY: the task outlives its coroutine, and this runs on the one
            // thread of the simulation while nobody else looks at the field.
            unsafe { (*pointer).yielder = yielder };
            body();
        });
        let task = &mut self.tasks[id as usize];
        let generation = task.generation.wrapping_add(1);
        **task = Task {
            name: name.into(),
            coroutine: Some(coroutine),
            generation,
            since: self.now,
            ..Task::new()
        };
        self.statistics.tasks_started += 1;
        self.make_ready(id);
        id
    }

    /// Takes back what an ended task used.
    pub(super) fn end_task(&mut self, id: u32) {
        let task = &mut self.tasks[id as usize];
        task.state = State::Ended;
        task.yielder = std::ptr::null();
        if let Some(coroutine) = task.coroutine.take() {
            self.stacks.give_back(coroutine.into_stack());
        }
        let (budget, since, doing) = (task.budget, task.since, task.doing);
        let statistics = &mut self.statistics;
        for (sum, spent) in statistics.ended_budget.iter_mut().zip(budget) {
            *sum += spent;
        }
        statistics.ended_budget[doing as usize] += self.now - since;
        self.free_tasks.push(id);
        if id == self.main_task {
            self.main_ended = true;
        }
    }
}
