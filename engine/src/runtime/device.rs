//! Raw devices of the virtual machine, for experiments without files.
//!
//! Under the real clock there are no raw devices: a file is the lowest layer there.

use std::sync::Arc;

use super::ambient;
use super::time::Time;
use super::virtual_clock::disk::{DiskCounters, RequestKind};
use super::virtual_clock::{Completion, CompletionQueue, Simulation};
use super::wait_kind::WaitKind;

/// A device of the current simulation, by its place in the machine's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device(pub u16);

fn simulation() -> *mut Simulation {
    let simulation = ambient::simulation();
    assert!(
        !simulation.is_null(),
        "raw devices exist under the virtual clock only"
    );
    simulation
}

impl Device {
    /// Reads; returns the time from submission to completion.
    ///
    /// # Panics
    /// Under the real clock; or if the machine has no such device.
    pub fn read(self, address: u64, length: u32, waiting_for: WaitKind) -> Time {
        self.wait(RequestKind::Read, address, length, waiting_for)
    }

    /// Writes; returns the time from submission to completion.
    ///
    /// # Panics
    /// As [`Device::read`].
    pub fn write(self, address: u64, length: u32, waiting_for: WaitKind) -> Time {
        self.wait(RequestKind::Write, address, length, waiting_for)
    }

    /// Makes all earlier writes durable; returns the time it took.
    ///
    /// # Panics
    /// As [`Device::read`].
    pub fn flush(self, waiting_for: WaitKind) -> Time {
        self.wait(RequestKind::Flush, 0, 0, waiting_for)
    }

    fn wait(self, kind: RequestKind, address: u64, length: u32, waiting_for: WaitKind) -> Time {
        // SAFETY: the current task calls, and no reference into the simulation is live.
        unsafe {
            Simulation::submit_and_wait(simulation(), self.0, kind, address, length, waiting_for)
        }
    }
}

/// The name of each device of the current simulation and what it has counted up to now, in
/// the order of the machine's list. Under the real clock there are none.
pub fn device_counters() -> Vec<(String, DiskCounters)> {
    let simulation = ambient::simulation();
    if simulation.is_null() {
        return Vec::new();
    }
    // SAFETY: the current task calls, and no other reference into the simulation is live.
    let simulation = unsafe { &*simulation };
    let device = |number| {
        let name = simulation.disk_name(number)?.to_owned();
        Some((name, simulation.disk_counters(number)?))
    };
    (0..).map_while(device).collect()
}

/// Requests in flight whose completions are collected later.
#[derive(Debug, Default)]
pub struct Completions {
    queue: Arc<CompletionQueue>,
    in_flight: std::cell::Cell<usize>,
}

impl Completions {
    /// None in flight.
    pub fn new() -> Self {
        Self::default()
    }

    /// Submits a write and goes on.
    ///
    /// # Panics
    /// As [`Device::read`].
    pub fn submit_write(&self, device: Device, address: u64, length: u32) {
        self.in_flight.set(self.in_flight.get() + 1);
        let completion = Completion::Queue(self.queue.clone(), 0);
        let kind = RequestKind::Write;
        // SAFETY: as in `Device::wait`.
        unsafe { Simulation::submit(simulation(), device.0, kind, address, length, completion) };
    }

    /// Waits until all that was submitted is complete.
    pub fn wait_all(&self, waiting_for: WaitKind) {
        while self.in_flight.get() > 0 {
            // SAFETY: as in `Device::wait`.
            let token = unsafe {
                let never = super::time::NEVER;
                Simulation::next_completion(simulation(), &self.queue, never, waiting_for)
            };
            if token.is_none() {
                return;
            }
            self.in_flight.set(self.in_flight.get() - 1);
        }
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        if self.in_flight.get() > 0 && !std::thread::panicking() {
            panic!("completions are still in flight");
        }
    }
}
