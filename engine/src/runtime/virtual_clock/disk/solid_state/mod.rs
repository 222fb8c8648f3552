//! A solid-state disk.
//!
//! ```text
//!               submission queues             ┌──── outbound link ◄──────────────┐
//!  requests ─► split ─► ≡≡≡ ─► controller ────┤                                  │
//!                                             ├─ read ─► die that has the page ──┘
//!                                             │          ╔═══════╗  ┌─► die 0 ─┐
//!                                             ├─ write ─►║≡≡≡ in-║  ├─► die 1 ─┼─► programmed
//!                                             │          ║ bound ║──┤   …      │
//!                                             │          ╚═══════╝  └─► die n ─┘
//!                                             │           write buffer, program units
//!                                             └─ flush ─► barrier (volatile) ─► flush engine
//! ```
//!
//! * Requests are split into commands of at most `max_request_kib`; the request completes
//!   with its last part. Each command occupies the controller for `command_us`.
//! * A **read** goes to the dies that its address maps to, one die operation for each stripe
//!   unit, then over the outbound link.
//! * A **write** waits until the inbound link is free and the buffer has room for it. Here
//!   and at the controller, `admission` decides who is next; the one that is next is never
//!   overtaken by a smaller one. Transferred, it is complete, and its bytes join the open
//!   program unit. Programs go to the dies in turn and free the buffer when done.
//!   Without a buffer a part makes units of its own and completes when they are programmed.
//! * A **flush** of a protected cache costs `flush_us`. With a volatile one it first waits
//!   for all writes submitted before it, and the open unit is written out, full or not.
//!
//! Left out: garbage collection (set `program` for the sustained rate of the device as it is
//! used), reads of data that are still in the buffer (they read the die), mapping units
//! (4 KiB) larger than a write, suspending a program for a read.

mod arbiter;
mod dies;
mod profile;
mod write_log;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;

use self::arbiter::Arbiter;
use self::dies::{Dies, Operation};
use self::write_log::WriteLog;
use super::barrier::FlushBarrier;
use super::counters::DiskCounters;
use super::flush_engine::FlushEngine;
use super::requests::Requests;
use super::service_time::{Sampler, from_us};
use super::slab::{NONE, Slab};
use super::{
    Agenda, CacheProtection, DiskEvent, DiskModel, DiskRequest, ProfileError, RequestKind, SECOND,
    Stage, Step, Time,
};

pub use self::profile::{Admission, SolidStateProfile};

/// A solid-state disk: controller, links, write buffer, dies.
#[derive(Debug)]
pub struct SolidState {
    profile: SolidStateProfile,
    generation: u32,
    counters: DiskCounters,
    requests: Requests,
    parts: Slab<Part>,

    max_request: u32,
    stripe: u64,
    bytes_per_second: u64,
    command_time: Time,

    /// Commands that wait for the controller, and the one it has.
    commands: Arbiter,
    command: Option<u32>,
    /// Write parts that wait for buffer and link, and the one that is being transferred.
    admission: Arbiter,
    inbound: Option<u32>,
    /// Read parts that wait for the link, and the one that is being transferred.
    outbound_queue: VecDeque<u32>,
    outbound: Option<u32>,
    /// Size of the write buffer in bytes; 0 is none.
    buffer: u64,
    log: WriteLog,
    dies: Dies,
    /// Only a volatile cache has something to wait for.
    barrier: Option<FlushBarrier>,
    flush_engine: FlushEngine,
}

/// A part of a request: a read or write of at most `max_request_kib`, or a flush.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Slot of the request.
    request: u32,
    kind: RequestKind,
    queue: u32,
    address: u64,
    length: u32,
    /// Reads: stripe units not read yet. Writes: bytes not programmed yet.
    remaining: u32,
    /// Epoch of the flush barrier, if there is one.
    epoch: u64,
}

/// The generator of programs' times beside that of reads.
fn program_generator(reads: &Xoshiro256PlusPlus) -> Xoshiro256PlusPlus {
    let mut programs = reads.clone();
    programs.jump();
    programs
}

impl SolidState {
    /// Build an idle disk. All service times are drawn from `generator`, those of reads and
    /// those of programs from streams of their own.
    ///
    /// # Errors
    /// When the profile is not valid.
    pub fn new(
        profile: &SolidStateProfile,
        generator: Xoshiro256PlusPlus,
    ) -> Result<Self, ProfileError> {
        profile.validate()?;
        let programs = program_generator(&generator);
        let dies = Dies::new(
            profile.dies,
            Sampler::new(profile.read, generator),
            Sampler::new(profile.program, programs),
            profile.reads_first,
        );
        let volatile = profile.cache == CacheProtection::Volatile;
        Ok(SolidState {
            generation: 0,
            counters: DiskCounters::default(),
            requests: Requests::new(from_us(profile.latency_us)),
            parts: Slab::default(),
            max_request: profile.max_request_kib * 1024,
            stripe: u64::from(profile.stripe_kib) * 1024,
            bytes_per_second: (profile.bandwidth_mib_s * f64::from(1 << 20)) as u64,
            command_time: from_us(profile.command_us),
            commands: Arbiter::new(profile.admission),
            command: None,
            admission: Arbiter::new(profile.admission),
            inbound: None,
            outbound_queue: VecDeque::new(),
            outbound: None,
            buffer: u64::from(profile.write_buffer_kib) * 1024,
            log: WriteLog::new(profile.program_kib * 1024),
            dies,
            barrier: volatile.then(FlushBarrier::new),
            flush_engine: FlushEngine::new(from_us(profile.flush_us), profile.merge_flushes),
            profile: profile.clone(),
        })
    }

    /// Draws all service times from another generator from here on.
    pub(super) fn reseed(&mut self, generator: Xoshiro256PlusPlus) {
        let programs = program_generator(&generator);
        self.dies.reseed(generator, programs);
    }

    /// The profile that the disk was built from.
    pub fn profile(&self) -> &SolidStateProfile {
        &self.profile
    }

    fn transfer_time(&self, bytes: u32) -> Time {
        // At most 4 MiB × 10¹² fits 64 bits.
        u64::from(bytes) * SECOND / self.bytes_per_second
    }

    fn start_command(&mut self, step: &mut Step) {
        if self.command.is_none()
            && let Some(part) = self.commands.pop()
        {
            self.command = Some(part);
            self.counters.controller.start(step.now);
            step.after(self.command_time, Stage::Controller, part);
        }
    }

    /// The controller has dealt with a command: send it on its way.
    fn dispatch(&mut self, index: u32, step: &mut Step) {
        let part = self.parts[index];
        match part.kind {
            RequestKind::Read => {
                let first = part.address / self.stripe;
                let last = (part.address + u64::from(part.length) - 1) / self.stripe;
                self.parts[index].remaining = (last - first + 1) as u32;
                for unit in first..=last {
                    self.counters.die_reads += 1;
                    self.dies.read(unit, index, &mut self.counters.units, step);
                }
            }
            RequestKind::Write => {
                self.counters.inbound.arrive(step.now);
                self.admission.push(part.queue, index);
                self.admit(step);
            }
            RequestKind::Flush => {
                self.parts.remove(index);
                match &mut self.barrier {
                    Some(barrier) => {
                        barrier.place(part.epoch);
                        barrier.write(part.epoch);
                        self.advance_barrier(step);
                    }
                    None => self.queue_flush(part.request, step),
                }
            }
        }
    }

    /// Start the transfer of the next write if the link is free and the buffer has room.
    fn admit(&mut self, step: &mut Step) {
        if self.inbound.is_some() {
            return;
        }
        let Some(next) = self.admission.peek() else {
            return;
        };
        let length = self.parts[next].length;
        if self.buffer > 0 {
            if self.counters.buffer.value + u64::from(length) > self.buffer {
                return;
            }
            self.counters.buffer.add(step.now, length.into());
        }
        self.admission.pop();
        self.inbound = Some(next);
        self.counters.inbound.start(step.now);
        step.after(self.transfer_time(length), Stage::Inbound, next);
    }

    /// A write has been transferred.
    fn place(&mut self, index: u32, step: &mut Step) {
        let part = self.parts[index];
        let mut bytes = part.length;
        while bytes > 0 {
            if let Some(unit) = self.log.append(index, &mut bytes) {
                self.program(unit, 0, step);
            }
        }
        if self.buffer == 0 {
            self.close_unit(step);
        } else {
            self.requests
                .finish_part(part.request, &mut self.counters, step);
        }
        if let Some(barrier) = &mut self.barrier {
            barrier.place(part.epoch);
            self.advance_barrier(step);
        }
    }

    fn close_unit(&mut self, step: &mut Step) {
        if let Some((unit, padding)) = self.log.close() {
            self.program(unit, padding, step);
        }
    }

    fn program(&mut self, unit: u32, padding: u32, step: &mut Step) {
        self.counters.programs += 1;
        self.counters.padding += u64::from(padding);
        self.dies.program(unit, &mut self.counters.units, step);
    }

    /// A unit has been programmed: its bytes leave the buffer.
    fn programmed(&mut self, unit: u32, step: &mut Step) {
        let mut next = unit;
        let mut bytes = 0;
        while next != NONE {
            let segment = self.log.take(next);
            next = segment.next;
            bytes += u64::from(segment.bytes);
            let part = &mut self.parts[segment.part];
            part.remaining -= segment.bytes;
            if part.remaining == 0 {
                let part = self.parts.remove(segment.part);
                if self.buffer == 0 {
                    self.requests
                        .finish_part(part.request, &mut self.counters, step);
                }
                if let Some(barrier) = &mut self.barrier {
                    barrier.write(part.epoch);
                }
            }
        }
        if self.barrier.is_some() {
            self.advance_barrier(step);
        }
        if self.buffer > 0 {
            self.counters.buffer.subtract(step.now, bytes);
            self.admit(step);
        }
    }

    /// Let go the flushes that have nothing to wait for; write out what they wait for.
    fn advance_barrier(&mut self, step: &mut Step) {
        if let Some(barrier) = &mut self.barrier
            && barrier.is_waited_for()
            && barrier.newly_placed()
        {
            self.close_unit(step);
        }
        while let Some(request) = self.barrier.as_mut().and_then(FlushBarrier::take_ready) {
            self.queue_flush(request, step);
        }
    }

    fn queue_flush(&mut self, request: u32, step: &mut Step) {
        self.flush_engine
            .push(request, &mut self.counters.flush_engine, step);
    }

    fn start_outbound(&mut self, step: &mut Step) {
        if self.outbound.is_none()
            && let Some(part) = self.outbound_queue.pop_front()
        {
            self.outbound = Some(part);
            self.counters.outbound.start(step.now);
            let time = self.transfer_time(self.parts[part].length);
            step.after(time, Stage::Outbound, part);
        }
    }
}

impl DiskModel for SolidState {
    fn submit(&mut self, now: Time, request: DiskRequest, agenda: &mut Agenda) {
        let step = &mut Step {
            now,
            generation: self.generation,
            agenda,
        };
        let is_flush = request.kind == RequestKind::Flush;
        assert!(
            is_flush || request.length > 0,
            "{:?} without bytes",
            request.id
        );
        let count = if is_flush {
            1
        } else {
            request.length.div_ceil(self.max_request)
        };
        let slot = self.requests.open(now, &request, count, &mut self.counters);
        let epoch = match (&mut self.barrier, request.kind) {
            (Some(barrier), RequestKind::Write) => barrier.accept(count.into()),
            (Some(barrier), RequestKind::Flush) => barrier.close(slot),
            _ => 0,
        };
        let mut address = request.address;
        let mut left = request.length;
        for _ in 0..count {
            let length = left.min(self.max_request);
            let part = self.parts.insert(Part {
                request: slot,
                kind: request.kind,
                queue: request.queue,
                address,
                length,
                remaining: length,
                epoch,
            });
            self.counters.controller.arrive(now);
            self.commands.push(request.queue, part);
            address += u64::from(length);
            left -= length;
        }
        self.start_command(step);
    }

    fn on_event(&mut self, now: Time, event: DiskEvent, agenda: &mut Agenda) {
        if event.generation != self.generation {
            return;
        }
        let step = &mut Step {
            now,
            generation: self.generation,
            agenda,
        };
        match event.stage {
            Stage::Controller => {
                let part = self.command.take().expect("an idle controller finished");
                self.counters.controller.finish(now, self.command_time);
                self.start_command(step);
                self.dispatch(part, step);
            }
            Stage::Inbound => {
                let part = self.inbound.take().expect("an idle link finished");
                let service = self.transfer_time(self.parts[part].length);
                self.counters.inbound.finish(now, service);
                self.place(part, step);
                self.admit(step);
            }
            Stage::Unit => match self
                .dies
                .finish(event.index, &mut self.counters.units, step)
            {
                Operation::Read(index) => {
                    let part = &mut self.parts[index];
                    part.remaining -= 1;
                    if part.remaining == 0 {
                        self.counters.outbound.arrive(now);
                        self.outbound_queue.push_back(index);
                        self.start_outbound(step);
                    }
                }
                Operation::Program(unit) => self.programmed(unit, step),
            },
            Stage::Outbound => {
                let index = self.outbound.take().expect("an idle link finished");
                let part = self.parts.remove(index);
                let service = self.transfer_time(part.length);
                self.counters.outbound.finish(now, service);
                self.start_outbound(step);
                self.requests
                    .finish_part(part.request, &mut self.counters, step);
            }
            Stage::Flush => {
                let counters = &mut self.counters;
                while let Some(request) = self.flush_engine.finish(&mut counters.flush_engine, step)
                {
                    self.requests.finish_part(request, counters, step);
                }
            }
            Stage::Completion => self
                .requests
                .complete(event.index, &mut self.counters, step),
        }
    }

    fn counters(&self, now: Time) -> DiskCounters {
        self.counters.snapshot(now)
    }

    fn unit_busy(&self) -> Vec<Time> {
        self.dies.busy()
    }

    fn power_cut(&mut self, now: Time) {
        self.generation = self.generation.wrapping_add(1);
        self.counters.power_cut(now);
        self.requests.clear();
        self.parts.clear();
        self.commands.clear();
        self.command = None;
        self.admission.clear();
        self.inbound = None;
        self.outbound_queue.clear();
        self.outbound = None;
        self.log.clear();
        self.dies.clear();
        self.barrier = self.barrier.is_some().then(FlushBarrier::new);
        self.flush_engine.clear();
    }
}
