//! An array of rotating disks behind a controller.
//!
//! ```text
//!   requests ─► controller ─► cut at stripe units ─┬─► spindle 0: elevator, arm, platter
//!                   │                              ├─► spindle 1
//!                   │ writes, cut at lines         └─► …           ▲
//!                   └─► write-back cache ── dirty lines, swept ────┘ destage
//! ```
//!
//! * A **read** is cut at stripe units; each piece goes to its disk, or to one of its two
//!   copies (`mirror_reads`).
//!   Pieces that lie wholly in dirty lines of the cache are answered from there.
//! * A **write** without a cache goes to all copies and completes with the last. With one it
//!   completes when all its lines (16 KiB) are in the cache; lines that find no room wait in
//!   the order of submission. A line that is written again before it was destaged costs one
//!   write of the disk, not two: this is what a controller cache does for a log and for a
//!   doublewrite area.
//! * A **flush** costs `flush_us`; when the cache is volatile it first waits until all that
//!   was written before is on the disks, and destaging becomes urgent.
//!
//! Each disk chooses its next request from where its head is and where the platter is
//! ([`mechanics`], [`elevator`]), so service times follow from addresses: a wider span means
//! longer seeks, and a longer queue means a better choice and shorter ones.
//!
//! Left out: zones (all tracks are equal), read caching in the controller, parity (RAID 5),
//! the bandwidth of the bus, repair.

mod elevator;
mod layout;
mod mechanics;
mod profile;
mod spindle;

#[cfg(test)]
mod published_array;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;

use self::layout::{Layout, Piece};
use self::mechanics::{Access, Mechanics};
use self::profile::LINE_BYTES;
use self::spindle::{DirtyLine, HostPart, Rules, Service, Spindle, Work};
use super::barrier::FlushBarrier;
use super::counters::DiskCounters;
use super::flush_engine::FlushEngine;
use super::requests::Requests;
use super::service_time::{Sampler, ServiceTime, from_us, uniform};
use super::{
    Agenda, CacheProtection, DiskEvent, DiskModel, DiskRequest, ProfileError, RequestKind, Stage,
    Step, Time,
};

pub use self::elevator::Elevator;
pub use self::profile::{
    ArrayCacheProfile, Destage, DriveProfile, MirrorReads, RotatingArrayProfile, SeekProfile,
};

/// An array of rotating disks: controller, write-back cache, spindles.
#[derive(Debug)]
pub struct RotatingArray {
    profile: RotatingArrayProfile,
    generation: u32,
    counters: DiskCounters,
    requests: Requests,

    command_time: Time,
    capacity: u64,
    layout: Layout,
    rules: Rules,
    /// The copies of a column stand side by side.
    spindles: Vec<Spindle>,

    /// Commands that wait for the controller; the first is being dealt with.
    controller: VecDeque<Command>,
    /// Lines of writes that wait for room in the cache.
    admission: VecDeque<CacheWrite>,
    /// Size of the cache in bytes, each copy counted; 0 is none.
    cache: u64,
    /// Fill of the cache from which on destaging is urgent.
    urgent_from: u64,
    eager: bool,
    /// Only a volatile cache has something to wait for.
    barrier: Option<FlushBarrier>,
    flush_engine: FlushEngine,
}

/// A request on its way through the controller.
#[derive(Clone, Copy, Debug)]
struct Command {
    /// Slot of the request.
    request: u32,
    kind: RequestKind,
    address: u64,
    length: u32,
    /// Epoch of the flush barrier, if there is one.
    epoch: u64,
}

/// A line, or part of one, on its way into the cache.
#[derive(Clone, Copy, Debug)]
struct CacheWrite {
    request: u32,
    piece: Piece,
    epoch: u64,
}

/// The generator of service times beside that of angles.
fn drawn_generator(angles: &Xoshiro256PlusPlus) -> Xoshiro256PlusPlus {
    let mut draws = angles.clone();
    draws.jump();
    draws
}

impl RotatingArray {
    /// Build an idle array. The angles of the platters, and exponential service times, are
    /// drawn from `generator`.
    ///
    /// # Errors
    /// When the profile is not valid.
    pub fn new(
        profile: &RotatingArrayProfile,
        mut generator: Xoshiro256PlusPlus,
    ) -> Result<Self, ProfileError> {
        profile.validate()?;
        let columns = profile.spindles / profile.copies;
        let (service, revolution) = match profile.drive {
            DriveProfile::Mechanical {
                rpm,
                media_mib_s,
                seek,
            } => {
                let mechanics = Mechanics::new(rpm, media_mib_s, &seek, profile.spindle_bytes());
                let revolution = mechanics.revolution();
                (Service::Mechanical(mechanics), revolution)
            }
            DriveProfile::Exponential { mean_ms } => {
                let time = ServiceTime::Exponential {
                    mean_us: mean_ms * 1e3,
                };
                (
                    Service::Drawn(Sampler::new(time, drawn_generator(&generator))),
                    0,
                )
            }
        };
        let spindles = (0..profile.spindles)
            .map(|_| Spindle::new((uniform(&mut generator) * revolution as f64) as Time))
            .collect();
        let cache = profile
            .cache
            .map_or(0, |cache| u64::from(cache.size_mib * profile.copies) << 20);
        let threshold = profile.cache.map_or(1.0, |cache| cache.destage_threshold);
        let volatile = profile.protection() == CacheProtection::Volatile;
        Ok(RotatingArray {
            generation: 0,
            counters: DiskCounters::default(),
            requests: Requests::new(from_us(profile.latency_us)),
            command_time: from_us(profile.command_us),
            capacity: profile.capacity_bytes(),
            layout: Layout {
                columns,
                stripe: u64::from(profile.stripe_kib) * 1024,
            },
            rules: Rules {
                service,
                elevator: profile.elevator,
                queue_depth: profile.queue_depth as usize,
                maximum_age: from_us(profile.maximum_age_ms * 1e3),
            },
            spindles,
            controller: VecDeque::new(),
            admission: VecDeque::new(),
            cache,
            urgent_from: (cache as f64 * threshold) as u64,
            eager: profile
                .cache
                .is_some_and(|cache| cache.destage == Destage::Eager),
            barrier: volatile.then(FlushBarrier::new),
            flush_engine: FlushEngine::new(from_us(profile.flush_us), false),
            profile: profile.clone(),
        })
    }

    /// Draws all service times from another generator from here on. Platters turn on as
    /// they do: their angles are where they are, not drawn again.
    pub(super) fn reseed(&mut self, generator: Xoshiro256PlusPlus) {
        if let Service::Drawn(times) = &mut self.rules.service {
            times.reseed(drawn_generator(&generator));
        }
    }

    /// The profile that the array was built from.
    pub fn profile(&self) -> &RotatingArrayProfile {
        &self.profile
    }

    /// Bytes at whose multiples a request of this kind is cut.
    fn granule(&self, kind: RequestKind) -> u64 {
        if kind == RequestKind::Write && self.cache > 0 {
            LINE_BYTES.into()
        } else {
            self.layout.stripe
        }
    }

    fn copies_of(&self, column: u32) -> std::ops::Range<usize> {
        let copies = self.profile.copies as usize;
        let first = column as usize * copies;
        first..first + copies
    }

    /// The controller has dealt with a command: send its pieces on their way.
    fn dispatch(&mut self, command: Command, step: &mut Step) {
        let Command {
            request,
            kind,
            address,
            length,
            epoch,
        } = command;
        let granule = self.granule(kind);
        match kind {
            RequestKind::Read => {
                for piece in self.layout.pieces(address, length, granule) {
                    if self.is_cached(piece) {
                        self.counters.mechanics.cache_hits += 1;
                        self.requests.finish_part(request, &mut self.counters, step);
                    } else {
                        let spindle = self.choose_copy(piece);
                        self.send(spindle, request, piece, false, step);
                    }
                }
            }
            RequestKind::Write if self.cache > 0 => {
                for piece in self.layout.pieces(address, length, granule) {
                    self.counters.inbound.arrive(step.now);
                    self.admission.push_back(CacheWrite {
                        request,
                        piece,
                        epoch,
                    });
                }
                self.admit(step);
            }
            RequestKind::Write => {
                for piece in self.layout.pieces(address, length, granule) {
                    for spindle in self.copies_of(piece.column) {
                        self.send(spindle, request, piece, true, step);
                    }
                }
            }
            RequestKind::Flush => match &mut self.barrier {
                Some(barrier) => {
                    barrier.place(epoch);
                    barrier.write(epoch);
                    self.advance_barrier(step);
                }
                None => self.queue_flush(request, step),
            },
        }
    }

    /// Whether the cache has all of a piece, line by line.
    fn is_cached(&self, piece: Piece) -> bool {
        let line_bytes = u64::from(LINE_BYTES);
        let end = piece.offset + u64::from(piece.length);
        self.cache > 0
            && (piece.offset / line_bytes..end.div_ceil(line_bytes)).all(|line| {
                let offset = piece.offset.max(line * line_bytes);
                let length = (end.min((line + 1) * line_bytes) - offset) as u32;
                let access = Access {
                    write: false,
                    offset,
                    length,
                };
                self.copies_of(piece.column)
                    .any(|copy| self.spindles[copy].is_cached(&access))
            })
    }

    /// The copy that a read goes to.
    fn choose_copy(&self, piece: Piece) -> usize {
        let copies = self.copies_of(piece.column);
        if self.profile.mirror_reads == MirrorReads::FirstCopy {
            return copies.start;
        }
        copies
            .min_by_key(|&copy| {
                let spindle = &self.spindles[copy];
                (spindle.host_load(), spindle.distance(piece.offset))
            })
            .expect("a column has at least one copy")
    }

    fn send(&mut self, spindle: usize, request: u32, piece: Piece, write: bool, step: &mut Step) {
        let access = Access {
            write,
            offset: piece.offset,
            length: piece.length,
        };
        self.spindles[spindle].enqueue(HostPart {
            request,
            arrived: step.now,
            access,
        });
        self.counters.units.arrive(step.now);
        self.start(spindle, step);
    }

    /// Let a disk begin something if it is idle.
    fn start(&mut self, spindle: usize, step: &mut Step) {
        let urgent = self.eager
            || !self.admission.is_empty()
            || (self.cache > 0 && self.counters.buffer.value >= self.urgent_from)
            || self
                .barrier
                .as_ref()
                .is_some_and(FlushBarrier::is_waited_for);
        if let Some(duration) = self.spindles[spindle].start(step.now, &mut self.rules, urgent) {
            self.counters.units.start(step.now);
            step.after(duration, Stage::Unit, spindle as u32);
        }
    }

    /// Take writes into the cache, oldest first, as long as there is room.
    fn admit(&mut self, step: &mut Step) {
        while let Some(&CacheWrite {
            request,
            piece,
            epoch,
        }) = self.admission.front()
        {
            let copies = self.copies_of(piece.column);
            let new = copies
                .clone()
                .filter(|&copy| !self.spindles[copy].has_dirty(piece.offset));
            let bytes = new.count() as u64 * u64::from(LINE_BYTES);
            if self.counters.buffer.value + bytes > self.cache {
                return;
            }
            self.admission.pop_front();
            self.counters.inbound.start(step.now);
            self.counters.inbound.finish(step.now, 0);
            self.counters.buffer.add(step.now, bytes);
            let to = piece.offset + u64::from(piece.length);
            for copy in copies {
                let write = DirtyLine {
                    from: piece.offset,
                    to,
                    epoch,
                };
                if self.spindles[copy].absorb(write) {
                    self.counters.mechanics.absorbed += 1;
                    // The line's older epoch stands for this write: no flush that waits for
                    // this one can be ready before the line is written.
                    if let Some(barrier) = &mut self.barrier {
                        barrier.write(epoch);
                    }
                } else {
                    self.counters.units.arrive(step.now);
                    self.start(copy, step);
                }
            }
            self.requests.finish_part(request, &mut self.counters, step);
        }
    }

    /// A disk has ended its operation.
    fn finish(&mut self, index: usize, step: &mut Step) {
        let spindle = &mut self.spindles[index];
        let operation = spindle.current.take().expect("an idle disk finished");
        let phases = operation.phases;
        let duration = phases.total();
        spindle.busy += duration;
        self.counters.units.finish(step.now, duration);
        let mechanics = &mut self.counters.mechanics;
        mechanics.seeks += u64::from(phases.seek > 0);
        mechanics.seek += u128::from(phases.seek);
        mechanics.rotation += u128::from(phases.rotation);
        mechanics.transfer += u128::from(phases.transfer);
        match operation.work {
            Work::Host(part) => {
                self.requests
                    .finish_part(part.request, &mut self.counters, step);
            }
            Work::Destage(line) => {
                mechanics.destaged += 1;
                self.counters.buffer.subtract(step.now, LINE_BYTES.into());
                if let Some(barrier) = &mut self.barrier {
                    barrier.write(line.epoch);
                    self.advance_barrier(step);
                }
                self.admit(step);
            }
        }
        self.start(index, step);
    }

    fn advance_barrier(&mut self, step: &mut Step) {
        while let Some(request) = self.barrier.as_mut().and_then(FlushBarrier::take_ready) {
            self.queue_flush(request, step);
        }
    }

    fn queue_flush(&mut self, request: u32, step: &mut Step) {
        self.flush_engine
            .push(request, &mut self.counters.flush_engine, step);
    }

    fn start_command(&mut self, step: &mut Step) {
        self.counters.controller.start(step.now);
        step.after(self.command_time, Stage::Controller, 0);
    }
}

impl DiskModel for RotatingArray {
    fn submit(&mut self, now: Time, request: DiskRequest, agenda: &mut Agenda) {
        let step = &mut Step {
            now,
            generation: self.generation,
            agenda,
        };
        let DiskRequest {
            id,
            kind,
            address,
            length,
            ..
        } = request;
        let is_flush = kind == RequestKind::Flush;
        assert!(is_flush || length > 0, "{id:?} without bytes");
        let inside = address
            .checked_add(length.into())
            .is_some_and(|end| end <= self.capacity);
        assert!(
            is_flush || inside,
            "{id:?} reaches beyond {} bytes",
            self.capacity
        );
        let address = address + u64::from(self.profile.partition_offset_bytes);

        let pieces = if is_flush {
            1
        } else {
            self.layout
                .pieces(address, length, self.granule(kind))
                .count() as u32
        };
        let copies = self.profile.copies;
        // A cached write is complete when its lines are in the cache, whatever the copies.
        let to_disks = kind == RequestKind::Write && self.cache == 0;
        let parts = if to_disks { pieces * copies } else { pieces };
        let slot = self.requests.open(now, &request, parts, &mut self.counters);
        let epoch = match (&mut self.barrier, kind) {
            (Some(barrier), RequestKind::Write) => barrier.accept((pieces * copies).into()),
            (Some(barrier), RequestKind::Flush) => barrier.close(slot),
            _ => 0,
        };
        self.counters.controller.arrive(now);
        let command = Command {
            request: slot,
            kind,
            address,
            length,
            epoch,
        };
        self.controller.push_back(command);
        if self.controller.len() == 1 {
            self.start_command(step);
        }
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
                let command = self
                    .controller
                    .pop_front()
                    .expect("an idle controller finished");
                self.counters.controller.finish(now, self.command_time);
                if !self.controller.is_empty() {
                    self.start_command(step);
                }
                self.dispatch(command, step);
            }
            Stage::Unit => self.finish(event.index as usize, step),
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
            Stage::Inbound | Stage::Outbound => unreachable!("an array has no such stage"),
        }
    }

    fn counters(&self, now: Time) -> DiskCounters {
        self.counters.snapshot(now)
    }

    fn unit_busy(&self) -> Vec<Time> {
        self.spindles.iter().map(|spindle| spindle.busy).collect()
    }

    fn power_cut(&mut self, now: Time) {
        self.generation = self.generation.wrapping_add(1);
        self.counters.power_cut(now);
        self.requests.clear();
        self.spindles.iter_mut().for_each(Spindle::clear);
        self.controller.clear();
        self.admission.clear();
        self.barrier = self.barrier.is_some().then(FlushBarrier::new);
        self.flush_engine.clear();
    }
}
