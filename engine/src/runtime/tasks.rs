//! Tasks: an OS thread under the real clock, a coroutine under the virtual one.

use std::sync::Arc;
use std::time::Duration;

use super::accounting::TaskRole;
use super::ambient;
use super::event::Event;
use super::time::{NANOSECOND, NEVER, Time};
use super::virtual_clock::Simulation;
use super::wait_kind::WaitKind;

/// A task that has been started.
#[derive(Debug)]
pub struct JoinHandle<T> {
    shared: Arc<Shared<T>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared<T> {
    result: parking_lot::Mutex<Option<T>>,
    ended: Event,
}

/// Starts a background task. Its name appears in errors and dumps. A destructor that
/// runs during a crash cut starts nothing: such a task never lives, and what it owns is
/// dropped.
///
/// # Panics
/// If the operating system cannot start a thread (real clock).
pub fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    spawn_as(TaskRole::Background, name, body)
}

/// Starts a task in a role; otherwise as [`spawn`].
///
/// # Panics
/// As [`spawn`].
pub fn spawn_as<T: Send + 'static>(
    role: TaskRole,
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let shared = Arc::new(Shared {
        result: parking_lot::Mutex::new(None),
        ended: Event::new(),
    });
    let inner = shared.clone();
    let run = move || {
        let value = body();
        // The task ends when its work is done, not when its code has run.
        settle();
        *inner.result.lock() = Some(value);
        inner.ended.set();
    };
    // The new task must not begin before its parent has got here.
    settle();
    let simulation = ambient::simulation();
    let thread = if simulation.is_null() {
        let task = ambient::real_task().map(|parent| parent.machine().new_task(role));
        let builder = std::thread::Builder::new().name(name.into());
        let started = builder.spawn(move || match task {
            Some(task) => task.enter(run),
            None => run(),
        });
        Some(started.expect("the operating system starts a thread"))
    } else {
        // SAFETY: the current task calls; the borrow ends with the statement.
        unsafe {
            if Simulation::is_cut(simulation) {
                drop(run);
            } else {
                (&mut *simulation).spawn_task(name, role, Box::new(run));
            }
        }
        None
    };
    JoinHandle { shared, thread }
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the task and returns its result.
    ///
    /// # Panics
    /// With the task's own panic, if it panicked.
    pub fn join(self) -> T {
        match self.thread {
            Some(thread) => {
                if let Err(payload) = thread.join() {
                    std::panic::resume_unwind(payload);
                }
            }
            None => {
                let count = self.shared.ended.reset();
                if self.shared.result.lock().is_none() {
                    self.shared.ended.wait(count, NEVER, WaitKind::Other);
                }
            }
        }
        let result = self.shared.result.lock().take();
        result.expect("a task that ended has left its result")
    }
}

/// Whether the clock is virtual.
#[inline]
pub fn is_virtual() -> bool {
    !ambient::simulation().is_null()
}

/// Whether this task is being unwound: it panics, or the power was cut. A destructor
/// then leaves alone what others may be using.
#[inline]
pub fn is_unwinding() -> bool {
    let simulation = ambient::simulation();
    // SAFETY: the current simulation is alive, and no reference into it is kept.
    std::thread::panicking() || (!simulation.is_null() && unsafe { Simulation::is_cut(simulation) })
}

/// The time: since the start of the simulation, or of the host's monotonic clock.
/// A task's unsettled debt counts.
#[inline]
pub fn now() -> Time {
    let simulation = ambient::simulation();
    if simulation.is_null() {
        real_now()
    } else {
        // SAFETY: the current task calls.
        unsafe { Simulation::task_time(simulation) }
    }
}

/// As [`now`], where it is known that the clock is the real one.
#[inline(never)]
pub(super) fn real_now() -> Time {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64) * NANOSECOND
}

/// Adds CPU work, in picoseconds at full speed, to the task's debt. Nothing under
/// the real clock, where the work itself takes the time.
#[inline]
pub fn charge(work: Time) {
    let simulation = ambient::simulation();
    if !simulation.is_null() {
        // SAFETY: the current task calls, and no reference into the simulation is live.
        unsafe { Simulation::charge(simulation, work) };
    }
}

/// Adds time stalled on memory, in picoseconds, to the task's debt: cache misses last
/// as long as they last, whatever the sibling thread and the frequency.
#[inline]
pub fn stall(time: Time) {
    let simulation = ambient::simulation();
    if !simulation.is_null() {
        // SAFETY: as in `charge`.
        unsafe { Simulation::stall(simulation, time) };
    }
}

/// The socket on which the task runs; 0 under the real clock.
pub fn socket() -> usize {
    let simulation = ambient::simulation();
    if simulation.is_null() {
        0
    } else {
        // SAFETY: the current task calls.
        unsafe { Simulation::current_socket(simulation) }
    }
}

/// Pays the task's debt of CPU: see `virtual_clock::charges`.
#[inline]
pub fn settle() {
    let simulation = ambient::simulation();
    if !simulation.is_null() {
        // SAFETY: as in `charge`.
        unsafe { Simulation::settle(simulation) };
    }
}

/// Sleeps for so many picoseconds.
pub fn sleep(length: Time, kind: WaitKind) {
    let simulation = ambient::simulation();
    if simulation.is_null() {
        let start = now();
        std::thread::sleep(Duration::from_nanos(length / NANOSECOND));
        account_wait(kind, start);
    } else {
        // SAFETY: as in `charge`.
        unsafe { Simulation::sleep(simulation, length, kind) };
    }
}

/// Lets other ready tasks run first.
pub fn yield_now() {
    let simulation = ambient::simulation();
    if simulation.is_null() {
        std::thread::yield_now();
    } else {
        // SAFETY: as in `charge`.
        unsafe { Simulation::yield_now(simulation) };
    }
}

/// The task has to wait for something that comes at once: under the virtual clock it queues
/// behind those that are ready for a CPU. If there are none it goes on, and nothing is
/// charged. Nothing under the real clock, where the wait itself is there.
pub fn give_way() {
    let simulation = ambient::simulation();
    if !simulation.is_null() {
        // SAFETY: as in `charge`.
        unsafe { Simulation::give_way(simulation) };
    }
}

/// Under the real clock: a wait that began at `start` is over.
#[inline]
pub(super) fn account_wait(kind: WaitKind, start: Time) {
    if let Some(task) = ambient::real_task() {
        task.waited(kind, now().saturating_sub(start));
    }
}

/// Gives the current simulation another seed: that of a future which begins here. Every
/// stream of the machine itself is that of its name and the new seed from here on; where
/// tasks are, what waits and what is under way stays as it is. A stream that a task keeps
/// stays, too, until the task asks [`stream`] for it again.
///
/// | stream | of |
/// |---|---|
/// | `latch spin` | polls of latches |
/// | `disk NAME` | service times of a disk; a pair of normal deviates of which one is drawn is forgotten |
/// | `power failure` | what a power cut leaves |
///
/// Nothing under the real clock, where chance is the host's.
pub fn reseed(seed: u64) {
    let simulation = ambient::simulation();
    if !simulation.is_null() {
        // SAFETY: the current task calls; the borrow ends with the statement.
        unsafe { (*simulation).reseed(seed) };
    }
}

/// The random stream `name` of the current simulation's or machine's seed; of seed 0
/// outside of both.
pub fn stream(name: &str) -> super::random::Stream {
    let simulation = ambient::simulation();
    let seed = if simulation.is_null() {
        ambient::real_task().map_or(0, |task| task.machine().seed())
    } else {
        // SAFETY: the current simulation is alive.
        unsafe { (*simulation).seed() }
    };
    super::random::Stream::new(seed, name)
}
