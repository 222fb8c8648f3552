//! Which clock is this? One thread-local pointer to the simulation, if any.
//!
//! Beside it stands a pointer to the counters of the thread, for the real clock.
//!
//! The engine's types carry no runtime parameter. Each latch, charge or I/O loads
//! the pointer and takes a predicted branch; under the real clock that is all the
//! virtual machine costs. Built with the feature `real-clock-only` the pointer is
//! a constant null, which is how that cost is measured.
//!
//! A simulation lives on one OS thread from birth to death, so its tasks, which
//! are coroutines of that thread, all see the same pointer. Nothing else may be
//! thread-local in the engine: every task would share it.

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use super::real_clock::RealTask;
use super::virtual_clock::Simulation;

struct Ambient {
    simulation: Cell<*mut Simulation>,
    real_task: Cell<*const RealTask>,
}

thread_local! {
    static AMBIENT: Ambient = const {
        Ambient {
            simulation: Cell::new(ptr::null_mut()),
            real_task: Cell::new(ptr::null()),
        }
    };
}

/// The simulation this thread is running, or null under the real clock.
#[cfg(not(feature = "real-clock-only"))]
#[inline(always)]
pub(super) fn simulation() -> *mut Simulation {
    AMBIENT.with(|ambient| ambient.simulation.get())
}

/// The simulation this thread is running: never one in this build.
#[cfg(feature = "real-clock-only")]
#[inline(always)]
pub(super) fn simulation() -> *mut Simulation {
    ptr::null_mut()
}

/// The counters of this thread, if it belongs to a real machine.
#[inline(always)]
pub(super) fn real_task<'a>() -> Option<&'a RealTask> {
    let task = AMBIENT.with(|ambient| ambient.real_task.get());
    // SAFETY: `EnteredReal` keeps the task alive for as long as the pointer is set, and
    // no caller keeps the reference beyond the function that `enter` runs.
    unsafe { task.as_ref() }
}

/// Makes a thread's counters current for as long as the guard lives.
pub(super) struct EnteredReal {
    _task: Arc<RealTask>,
}

impl EnteredReal {
    pub(super) fn new(task: &Arc<RealTask>) -> Self {
        AMBIENT.with(|ambient| {
            let free = ambient.simulation.get().is_null() && ambient.real_task.get().is_null();
            assert!(free, "one machine at a time on an OS thread");
            ambient.real_task.set(Arc::as_ptr(task));
        });
        EnteredReal {
            _task: task.clone(),
        }
    }
}

impl Drop for EnteredReal {
    fn drop(&mut self) {
        AMBIENT.with(|ambient| ambient.real_task.set(ptr::null()));
    }
}

/// Makes a simulation current for as long as the guard lives.
pub(super) struct Entered;

impl Entered {
    pub(super) fn new(simulation: *mut Simulation) -> Self {
        AMBIENT.with(|ambient| {
            let free = ambient.simulation.get().is_null() && ambient.real_task.get().is_null();
            assert!(free, "one machine at a time on an OS thread");
            ambient.simulation.set(simulation);
        });
        Entered
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        AMBIENT.with(|ambient| ambient.simulation.set(ptr::null_mut()));
    }
}

/// Tells the draw log, if the current simulation keeps one, of a random number.
#[inline]
pub(super) fn log_draw(stream: u64, value: u64) {
    let simulation = simulation();
    if !simulation.is_null() {
        // SAFETY: a non-null pointer is the simulation that this thread is running,
        // alive until `Entered` is dropped. Engine code draws, and no reference into
        // the simulation is live while it runs; the scheduler's own draws do not come
        // this way (`Stream::next_unlogged`).
        unsafe { Simulation::log_draw(simulation, stream, value) };
    }
}
