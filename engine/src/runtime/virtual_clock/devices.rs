//! Devices of the virtual machine: requests go in, completions come out.
//!
//! A task that submits a request pays for the system call, and then either sleeps
//! until the request is complete, or goes on and finds the completion later in a
//! queue. The disk itself is a state machine (see [`disk`](super::disk)); its events
//! wait in an agenda of their own, in the order in which they were entered.

use std::cell::UnsafeCell;
use std::collections::VecDeque;

use super::Simulation;
use super::disk::{self, Disk, DiskEvent, DiskModel, DiskRequest, RequestId, RequestKind};
use crate::runtime::time::{NEVER, Time};
use crate::runtime::wait_kind::WaitKind;

/// Who is told when a request is complete.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) enum Completion {
    /// A task that waits for this one request.
    Task(u32),
    /// A queue, which gets the token and wakes one of those waiting at it.
    Queue(*const CompletionQueue, u64),
}

struct Pending {
    completion: Option<Completion>,
    submitted: Time,
}

/// A device with its requests in flight.
pub(super) struct Device {
    pub(super) name: Box<str>,
    pub(super) disk: Disk,
    pending: Vec<Pending>,
    free: Vec<u32>,
}

/// All devices of a machine.
pub(super) struct Devices {
    pub(super) list: Vec<Device>,
    pub(super) agenda: super::agenda::Agenda<(u16, DiskEvent)>,
    step: disk::Agenda,
    /// Requests that have completed and have not been told to anybody yet.
    done: Vec<(u16, RequestId)>,
}

impl Devices {
    pub(super) fn new(disks: Vec<(String, Disk)>) -> Self {
        Devices {
            list: disks
                .into_iter()
                .map(|(name, disk)| Device {
                    name: name.into(),
                    disk,
                    pending: Vec::new(),
                    free: Vec::new(),
                })
                .collect(),
            agenda: super::agenda::Agenda::new(),
            step: disk::Agenda::default(),
            done: Vec::new(),
        }
    }

    /// The power is off: what was in flight completes no more.
    pub(super) fn power_cut(&mut self, now: Time) {
        self.agenda.clear();
        self.done.clear();
        for device in &mut self.list {
            device.disk.power_cut(now);
            device.pending.clear();
            device.free.clear();
        }
    }
}

/// Where completions of asynchronous requests arrive, in order of completion.
#[derive(Debug, Default)]
pub(in crate::runtime) struct CompletionQueue(UnsafeCell<QueueState>);

#[derive(Debug, Default)]
struct QueueState {
    run: u16,
    ready: VecDeque<u64>,
    waiting: VecDeque<u32>,
}

// SAFETY: as for `VirtualEvent`: tasks of one simulation share one OS thread.
unsafe impl Sync for CompletionQueue {}
// SAFETY: as above.
unsafe impl Send for CompletionQueue {}

impl CompletionQueue {
    /// # Safety
    /// This is the thread of the simulation, and no other such reference lives.
    #[expect(clippy::mut_from_ref, reason = "the promise above")]
    unsafe fn state(&self, run: u16) -> &mut QueueState {
        // SAFETY: by the caller's promise.
        let state = unsafe { &mut *self.0.get() };
        if state.run != run {
            state.run = run;
            state.ready.clear();
            state.waiting.clear();
        }
        state
    }
}

impl Simulation {
    /// Submits a request and goes on; the completion arrives in the queue, or at the
    /// task named.
    ///
    /// # Safety
    /// As for [`Simulation::latch`]; a queue named must outlive the request.
    pub(in crate::runtime) unsafe fn submit(
        simulation: *mut Simulation,
        device: u16,
        kind: RequestKind,
        address: u64,
        length: u32,
        completion: Completion,
    ) {
        // SAFETY: as for `latch`.
        unsafe {
            (*(*simulation).current).debt += (*simulation).timing.io_call;
            Simulation::settle(simulation);
            let this = &mut *simulation;
            if this.must_not_suspend() {
                return;
            }
            let queue = this.current_id;
            let now = this.now;
            let entry = &mut this.devices.list[usize::from(device)];
            let pending = Pending {
                completion: Some(completion),
                submitted: now,
            };
            let slot = match entry.free.pop() {
                Some(slot) => {
                    entry.pending[slot as usize] = pending;
                    slot
                }
                None => {
                    entry.pending.push(pending);
                    (entry.pending.len() - 1) as u32
                }
            };
            let id = RequestId(slot.into());
            let request = DiskRequest {
                id,
                kind,
                address,
                length,
                queue,
            };
            entry.disk.submit(now, request, &mut this.devices.step);
            this.drain_step(device);
        }
    }

    /// Submits a request and waits for its completion; returns how long that took
    /// from the submission on.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn submit_and_wait(
        simulation: *mut Simulation,
        device: u16,
        kind: RequestKind,
        address: u64,
        length: u32,
        waiting_for: WaitKind,
    ) -> Time {
        // SAFETY: as for `latch`.
        unsafe {
            let id = (*simulation).current_id;
            let completion = Completion::Task(id);
            Simulation::submit(simulation, device, kind, address, length, completion);
            if (*simulation).must_not_suspend() {
                return 0;
            }
            let start = (*simulation).now;
            // A request never completes within its submission's instant for the task:
            // `drain_step` only notes completions, the run loop hands them out.
            (*simulation).block_current(waiting_for, NEVER);
            Simulation::suspend(simulation);
            (*simulation).now - start
        }
    }

    /// The next completion of a queue; waits for one. `None` when the time is over.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn next_completion(
        simulation: *mut Simulation,
        queue: &CompletionQueue,
        timeout: Time,
        waiting_for: WaitKind,
    ) -> Option<u64> {
        // SAFETY: as for `latch`; the queue is borrowed for a moment at a time.
        unsafe {
            loop {
                Simulation::settle(simulation);
                let this = &mut *simulation;
                let state = queue.state(this.run_number);
                if let Some(token) = state.ready.pop_front() {
                    // Taking a completion is half a system call.
                    (*this.current).debt += this.timing.io_call / 2;
                    return Some(token);
                }
                if this.must_not_suspend() {
                    return None;
                }
                let id = this.current_id;
                state.waiting.push_back(id);
                this.block_current(waiting_for, timeout);
                Simulation::suspend(simulation);
                let this = &mut *simulation;
                let state = queue.state(this.run_number);
                state.waiting.retain(|&waiting| waiting != id);
                if (*this.current).woken == super::task::Woken::TimedOut && state.ready.is_empty() {
                    return None;
                }
            }
        }
    }

    fn drain_step(&mut self, device: u16) {
        for index in 0..self.devices.step.schedule.len() {
            let (at, event) = self.devices.step.schedule[index];
            self.sequence += 1;
            self.devices.agenda.push(at, self.sequence, (device, event));
        }
        self.devices.step.schedule.clear();
        let devices = &mut self.devices;
        devices
            .done
            .extend(devices.step.completed.drain(..).map(|id| (device, id)));
    }

    /// The earliest event of a device is due.
    pub(super) fn handle_device_event(&mut self) {
        if let Some((at, (device, event))) = self.devices.agenda.pop() {
            let entry = &mut self.devices.list[usize::from(device)];
            entry.disk.on_event(at, event, &mut self.devices.step);
            self.drain_step(device);
        }
    }

    /// Whether completions wait to be handed out.
    #[inline]
    pub(super) fn has_completions(&self) -> bool {
        !self.devices.done.is_empty()
    }

    /// Hands completed requests to those who wait.
    pub(super) fn hand_out_completions(&mut self) {
        let mut done = std::mem::take(&mut self.devices.done);
        for (device, id) in done.drain(..) {
            let entry = &mut self.devices.list[usize::from(device)];
            let pending = &mut entry.pending[id.0 as usize];
            let (completion, submitted) = (pending.completion.take(), pending.submitted);
            entry.free.push(id.0 as u32);
            debug_assert!(submitted <= self.now);
            match completion {
                Some(Completion::Task(task)) => self.wake_one(task),
                Some(Completion::Queue(queue, token)) => {
                    let run = self.run_number;
                    // SAFETY: the submitter promised that the queue outlives the
                    // request, and no task is running.
                    let state = unsafe { (*queue).state(run) };
                    state.ready.push_back(token);
                    if let Some(task) = state.waiting.pop_front() {
                        self.wake_one(task);
                    }
                }
                None => debug_assert!(false, "a request completed twice"),
            }
        }
        self.devices.done = done;
    }
}
