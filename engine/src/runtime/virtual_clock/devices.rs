//! Devices of the virtual machine: requests go in, completions come out.
//!
//! A task that submits a request pays for the system call, and then either sleeps
//! until its requests are complete, or goes on and finds the completion later in a
//! queue. At the instant of a completion the files learn that their writes are in the
//! device (see [`VirtualFiles`](crate::runtime::files::VirtualFiles)), whoever waits
//! for it learns it when it next runs. The disk itself is a state machine (see [`disk`](super::disk)); its events
//! wait in an agenda of their own, in the order in which they were entered.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::sync::Arc;

use super::Simulation;
use super::disk::{self, Disk, DiskEvent, DiskModel, DiskRequest, RequestId, RequestKind};
use crate::runtime::files::Piece;
use crate::runtime::time::{NEVER, Time};
use crate::runtime::wait_kind::WaitKind;

/// Who is told when a request is complete.
#[derive(Debug, Clone)]
pub(in crate::runtime) enum Completion {
    /// A task, which waits for all its requests together.
    Task(u32),
    /// A queue, which gets the token and wakes one of those waiting at it.
    Queue(Arc<CompletionQueue>, u64),
}

/// What a completion means for the files.
#[derive(Debug, Clone, Copy)]
enum Effect {
    None,
    /// These volatile writes of the device are complete.
    Written {
        first: u64,
        count: u32,
    },
    /// The FLUSH of this number is complete.
    Flushed(u64),
}

struct Pending {
    completion: Option<Completion>,
    effect: Effect,
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
    /// Submitted, and not taken yet.
    outstanding: usize,
    closed: bool,
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
            *state = QueueState {
                run,
                ..QueueState::default()
            };
        }
        state
    }
}

impl Simulation {
    /// The number of the running task.
    #[inline]
    pub(in crate::runtime) fn current_task(&self) -> u32 {
        self.current_id
    }

    /// Charges and settles the system call of a request; false if the task is being
    /// unwound, and must not ask for anything.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn pay_io_call(simulation: *mut Simulation) -> bool {
        // SAFETY: as for `latch`.
        unsafe {
            (*(*simulation).current).debt += (*simulation).timing.io_call;
            Simulation::settle(simulation);
            !(*simulation).must_not_suspend()
        }
    }

    /// Charges the copy of so many bytes between the page cache and a task's memory.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn charge_copy(simulation: *mut Simulation, bytes: u64) {
        // SAFETY: as for `latch`.
        unsafe {
            let page_copy = (*simulation).timing.page_copy;
            Simulation::charge(simulation, page_copy * bytes / (16 * 1024));
        }
    }

    /// Submits a request whose system call has been paid. `piece` names the volatile
    /// writes that a write of files consists of.
    pub(in crate::runtime) fn submit_piece(
        &mut self,
        device: u16,
        kind: RequestKind,
        piece: Piece,
        completion: Completion,
    ) {
        match &completion {
            Completion::Task(task) => self.task(*task).awaited += 1,
            Completion::Queue(queue, _) => {
                // SAFETY: no other reference to the queue's state lives.
                unsafe { queue.state(self.run_number) }.outstanding += 1;
            }
        }
        let effect = match kind {
            RequestKind::Flush => Effect::Flushed(self.files.flush_submitted(device)),
            RequestKind::Write if piece.count > 0 => Effect::Written {
                first: piece.first,
                count: piece.count,
            },
            _ => Effect::None,
        };
        let now = self.now;
        let entry = &mut self.devices.list[usize::from(device)];
        let pending = Pending {
            completion: Some(completion),
            effect,
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
        let request = DiskRequest {
            id: RequestId(slot.into()),
            kind,
            address: piece.address,
            length: piece.length,
            queue: self.current_id,
        };
        entry.disk.submit(now, request, &mut self.devices.step);
        self.drain_step(device);
    }

    /// Submits a request to a raw device and goes on; the completion arrives in the
    /// queue, or at the task named.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
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
            if Simulation::pay_io_call(simulation) {
                let piece = Piece {
                    address,
                    length,
                    first: 0,
                    count: 0,
                };
                (*simulation).submit_piece(device, kind, piece, completion);
            }
        }
    }

    /// Waits until all requests that the current task has submitted for itself are
    /// complete.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn await_requests(
        simulation: *mut Simulation,
        waiting_for: WaitKind,
    ) {
        // SAFETY: as for `latch`.
        unsafe {
            if (*simulation).must_not_suspend() || (*(*simulation).current).awaited == 0 {
                return;
            }
            // A request never completes within its submission's instant for the task:
            // `drain_step` only notes completions, the run loop hands them out.
            (*simulation).block_current(waiting_for, NEVER);
            Simulation::suspend(simulation);
        }
    }

    /// Submits a request to a raw device and waits for its completion; returns how long
    /// that took from the submission on.
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
            let completion = Completion::Task((*simulation).current_id);
            Simulation::submit(simulation, device, kind, address, length, completion);
            let start = (*simulation).now;
            Simulation::await_requests(simulation, waiting_for);
            (*simulation).now - start
        }
    }

    /// Reports a request that no device has to do anything for.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn complete_now(
        simulation: *mut Simulation,
        queue: &CompletionQueue,
        token: u64,
    ) {
        // SAFETY: as for `latch`; the queue's state is borrowed for a moment.
        unsafe {
            let this = &mut *simulation;
            let state = queue.state(this.run_number);
            state.outstanding += 1;
            this.report(state, token);
        }
    }

    fn report(&mut self, state: &mut QueueState, token: u64) {
        state.ready.push_back(token);
        if let Some(task) = state.waiting.pop_front() {
            self.wake_one(task);
        }
    }

    /// Nothing more will be submitted to a queue: those who wait at it are let go when
    /// all that is outstanding has been taken.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn close_queue(
        simulation: *mut Simulation,
        queue: &CompletionQueue,
    ) {
        // SAFETY: as for `complete_now`.
        unsafe {
            let this = &mut *simulation;
            let state = queue.state(this.run_number);
            state.closed = true;
            this.let_go(state);
        }
    }

    fn let_go(&mut self, state: &mut QueueState) {
        if state.closed && state.outstanding == 0 {
            for task in state.waiting.drain(..) {
                self.wake_one(task);
            }
        }
    }

    /// The next completion of a queue; waits for one. `None` when the time is over, or
    /// when the queue is closed and nothing is outstanding. After the closing the time
    /// does not count: what is outstanding is waited for.
    ///
    /// # Safety
    /// As for [`Simulation::latch`].
    pub(in crate::runtime) unsafe fn next_completion(
        simulation: *mut Simulation,
        queue: &CompletionQueue,
        mut timeout: Time,
        waiting_for: WaitKind,
    ) -> Option<u64> {
        // SAFETY: as for `latch`; the queue is borrowed for a moment at a time.
        unsafe {
            loop {
                Simulation::settle(simulation);
                let this = &mut *simulation;
                let state = queue.state(this.run_number);
                if let Some(token) = state.ready.pop_front() {
                    state.outstanding -= 1;
                    this.let_go(state);
                    // Taking a completion is half a system call.
                    (*this.current).debt += this.timing.io_call / 2;
                    return Some(token);
                }
                if this.must_not_suspend() || (state.closed && state.outstanding == 0) {
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
                    if !state.closed {
                        return None;
                    }
                    timeout = NEVER;
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
            let (completion, effect) = (pending.completion.take(), pending.effect);
            debug_assert!(pending.submitted <= self.now);
            entry.free.push(id.0 as u32);
            match effect {
                Effect::None => {}
                Effect::Written { first, count } => {
                    self.files.write_completed(device, first, count);
                }
                Effect::Flushed(number) => self.files.flush_completed(device, number),
            }
            match completion {
                Some(Completion::Task(task)) => {
                    let entry = self.task(task);
                    entry.awaited -= 1;
                    if entry.awaited == 0 {
                        self.wake_one(task);
                    }
                }
                Some(Completion::Queue(queue, token)) => {
                    // SAFETY: no task is running, so no other reference lives.
                    let state = unsafe { queue.state(self.run_number) };
                    self.report(state, token);
                }
                None => debug_assert!(false, "a request completed twice"),
            }
        }
        self.devices.done = done;
    }
}
