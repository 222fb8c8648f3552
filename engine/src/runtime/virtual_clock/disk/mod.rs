//! Modelled disks: what the virtual machine has in place of a device.
//!
//! A disk here is a *pure state machine*. It does no I/O, holds no data, knows no
//! scheduler and no clock: the caller tells it what time it is and gives it either a
//! request or one of the events that the disk asked for earlier; the disk answers with
//! requests that are now complete and events that it wants to be given later.
//!
//! ```text
//!                submit(now, request)                completed: [RequestId]
//!   file layer ─────────────────────────►┌──────┐──────────────────────────► file layer
//!                                        │ disk │
//!   scheduler  ─────────────────────────►└──────┘──────────────────────────► scheduler
//!                on_event(now, event)                schedule: [(time, event)]
//! ```
//!
//! Both lists live in an [`Agenda`], which the caller empties after each call and uses
//! again, so that a call allocates nothing once the lists have grown to their usual size.
//!
//! Two devices exist, and what they have in common is that *arbitration is spelled out*:
//! who waits behind whom decides how a flood of page writes slows a small log write, and
//! so most of what a storage engine's flushing settings do.
//!
//! * [`SolidState`]: controller, links, write buffer, log-structured writes over dies.
//! * [`RotatingArray`]: striped (and mirrored) spindles with heads, platters that turn,
//!   an elevator for each spindle, and a controller cache.
//!
//! Everything random is drawn from the generator given at construction, time is counted in
//! whole picoseconds, and nothing is iterated in hash order: the same requests at the same
//! times give the same completions, bit for bit.

mod barrier;
mod counters;
mod flush_engine;
mod profile;
mod requests;
mod rotating;
mod service_time;
mod slab;
mod solid_state;

#[cfg(test)]
mod test_bench;

use rand_xoshiro::Xoshiro256PlusPlus;

pub use counters::{DiskCounters, KindCounters, MechanicsCounters, StationCounters, TimeWeighted};
pub use profile::{CacheProtection, DiskProfile, ProfileError, ProfileProblem};
pub use rotating::{
    ArrayCacheProfile, Destage, DriveProfile, Elevator, MirrorReads, RotatingArray,
    RotatingArrayProfile, SeekProfile,
};
pub use service_time::ServiceTime;
pub use solid_state::{Admission, SolidState, SolidStateProfile};

/// Picoseconds since the start of the simulation.
///
/// A `u64` holds 213 days of them; a float would lose the order of two events that are
/// close together late in a long run.
pub type Time = u64;

/// Picoseconds in a microsecond.
pub const MICROSECOND: Time = 1_000_000;
/// Picoseconds in a millisecond.
pub const MILLISECOND: Time = 1_000 * MICROSECOND;
/// Picoseconds in a second.
pub const SECOND: Time = 1_000 * MILLISECOND;

/// The caller's name for a request; the disk hands it back at completion and does nothing
/// else with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Bring bytes from the device.
    Read,
    /// Take bytes to the device. Complete does not mean durable: see [`RequestKind::Flush`].
    Write,
    /// Make every write that was submitted earlier durable, on the whole device (as the
    /// NVMe Flush and SCSI SYNCHRONIZE CACHE commands do). Address and length mean nothing.
    Flush,
}

/// One request as the host submits it, before the device splits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRequest {
    /// Name under which completion is reported.
    pub id: RequestId,
    /// Read, write or flush.
    pub kind: RequestKind,
    /// First byte on the device.
    pub address: u64,
    /// Number of bytes, at least one for a read or a write.
    pub length: u32,
    /// Submission queue, for example the number of the submitting task. Queues matter
    /// where the device takes from them in turn ([`Admission::RoundRobin`]).
    pub queue: u32,
}

/// A moment that the disk asked to be told about. Opaque to the caller, 12 bytes.
///
/// Only a power cut ([`DiskModel::power_cut`]) takes the meaning from an event that is
/// already scheduled; the generation number tells such events, and they are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskEvent {
    generation: u32,
    index: u32,
    stage: Stage,
}

/// Which part of a device an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The controller has dealt with a command.
    Controller,
    /// A transfer from host to device is over.
    Inbound,
    /// A transfer from device to host is over.
    Outbound,
    /// The die or spindle `index` is done with its operation.
    Unit,
    /// The flush engine is done.
    Flush,
    /// The fixed latency of request `index` has passed.
    Completion,
}

/// What a call to a disk led to. The caller drains both lists after each call.
#[derive(Debug, Default)]
pub struct Agenda {
    /// Events to give back through [`DiskModel::on_event`], each at its time (never in the
    /// past). Events of one time must come back in the order in which they stand here and
    /// in which the calls were made.
    pub schedule: Vec<(Time, DiskEvent)>,
    /// Requests that completed in this call, in order.
    pub completed: Vec<RequestId>,
}

/// A call in progress: the time, and where its consequences go.
struct Step<'a> {
    now: Time,
    generation: u32,
    agenda: &'a mut Agenda,
}

impl Step<'_> {
    /// Ask to be called after `delay`.
    fn after(&mut self, delay: Time, stage: Stage, index: u32) {
        let event = DiskEvent {
            generation: self.generation,
            index,
            stage,
        };
        self.agenda.schedule.push((self.now + delay, event));
    }
}

/// A modelled disk.
pub trait DiskModel {
    /// Accept a request.
    ///
    /// # Panics
    /// When a read or write has no bytes, or lies outside the device: the file layer
    /// allocates addresses, so either is its bug.
    fn submit(&mut self, now: Time, request: DiskRequest, agenda: &mut Agenda);

    /// Take note that the time of an event has come.
    fn on_event(&mut self, now: Time, event: DiskEvent, agenda: &mut Agenda);

    /// The counters, with all time-weighted figures brought up to `now`.
    fn counters(&self, now: Time) -> DiskCounters;

    /// Time for which each die or spindle has been busy with finished operations.
    fn unit_busy(&self) -> Vec<Time>;

    /// Forget all that is queued or in flight, as when the power fails. The requests
    /// concerned never complete, and events scheduled before are ignored from now on.
    fn power_cut(&mut self, now: Time);
}

/// Either modelled disk, without the cost of a virtual call.
#[derive(Debug)]
pub enum Disk {
    /// Flash.
    SolidState(Box<SolidState>),
    /// Spindles.
    RotatingArray(Box<RotatingArray>),
}

macro_rules! dispatch {
    ($self:ident, $disk:ident => $call:expr) => {
        match $self {
            Disk::SolidState($disk) => $call,
            Disk::RotatingArray($disk) => $call,
        }
    };
}

impl Disk {
    /// Number of bytes that a power failure leaves either all old or all new, given an
    /// aligned write. The device does nothing with it: the file layer tears writes by it.
    pub fn atomic_write_bytes(&self) -> u32 {
        dispatch!(self, disk => disk.profile().atomic_write_bytes)
    }

    /// Whether completed writes survive a power failure without a flush.
    pub fn cache_protection(&self) -> CacheProtection {
        match self {
            Disk::SolidState(disk) => disk.profile().cache,
            Disk::RotatingArray(disk) => disk.profile().protection(),
        }
    }

    /// First byte after the last, where the model has such a limit. A solid-state disk
    /// takes any address; on an array addresses have places, and places have a cost.
    pub fn capacity_bytes(&self) -> Option<u64> {
        match self {
            Disk::SolidState(_) => None,
            Disk::RotatingArray(disk) => Some(disk.profile().capacity_bytes()),
        }
    }
}

impl Disk {
    /// Draws all service times from another generator from here on; what is under way ends
    /// when it would have.
    pub(super) fn reseed(&mut self, generator: Xoshiro256PlusPlus) {
        dispatch!(self, disk => disk.reseed(generator));
    }
}

impl DiskModel for Disk {
    fn submit(&mut self, now: Time, request: DiskRequest, agenda: &mut Agenda) {
        dispatch!(self, disk => disk.submit(now, request, agenda));
    }

    fn on_event(&mut self, now: Time, event: DiskEvent, agenda: &mut Agenda) {
        dispatch!(self, disk => disk.on_event(now, event, agenda));
    }

    fn counters(&self, now: Time) -> DiskCounters {
        dispatch!(self, disk => disk.counters(now))
    }

    fn unit_busy(&self) -> Vec<Time> {
        dispatch!(self, disk => disk.unit_busy())
    }

    fn power_cut(&mut self, now: Time) {
        dispatch!(self, disk => disk.power_cut(now));
    }
}

// An event sits in every entry of the scheduler's queue.
const _: () = assert!(size_of::<DiskEvent>() <= 16);
