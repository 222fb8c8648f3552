//! Which clock is this? One thread-local pointer to the simulation, if any.
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

use super::virtual_clock::Simulation;

thread_local! {
    static SIMULATION: Cell<*mut Simulation> = const { Cell::new(ptr::null_mut()) };
}

/// The simulation this thread is running, or null under the real clock.
#[cfg(not(feature = "real-clock-only"))]
#[inline(always)]
pub(super) fn simulation() -> *mut Simulation {
    SIMULATION.get()
}

/// The simulation this thread is running: never one in this build.
#[cfg(feature = "real-clock-only")]
#[inline(always)]
pub(super) fn simulation() -> *mut Simulation {
    ptr::null_mut()
}

/// Makes a simulation current for as long as the guard lives.
pub(super) struct Entered;

impl Entered {
    pub(super) fn new(simulation: *mut Simulation) -> Self {
        assert!(
            SIMULATION.get().is_null(),
            "one simulation at a time on an OS thread"
        );
        SIMULATION.set(simulation);
        Entered
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        SIMULATION.set(ptr::null_mut());
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
