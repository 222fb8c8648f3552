//! What a disk counts about itself.
//!
//! Sums and time integrals only, never averages: a caller takes two snapshots and subtracts,
//! and so gets the figures of any interval. With them the two laws that hold for every
//! queue, whatever its distributions, can be checked in every run:
//!
//! * utilisation law: busy servers = throughput × mean service time;
//! * Little's law: requests inside = throughput × mean time inside.

use super::{RequestKind, Time};

/// A quantity that changes in steps, with the integral of its value over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeWeighted {
    /// Value now.
    pub value: u64,
    /// Largest value ever.
    pub maximum: u64,
    /// Sum of value × picoseconds, up to `until`.
    pub integral: u128,
    /// Time up to which the integral is complete.
    pub until: Time,
}

impl TimeWeighted {
    /// Bring the integral up to `now`.
    pub(super) fn advance(&mut self, now: Time) {
        debug_assert!(
            now >= self.until,
            "time runs backwards: {now} after {}",
            self.until
        );
        self.integral += u128::from(self.value) * u128::from(now - self.until);
        self.until = now;
    }

    pub(super) fn add(&mut self, now: Time, amount: u64) {
        self.advance(now);
        self.value += amount;
        self.maximum = self.maximum.max(self.value);
    }

    pub(super) fn subtract(&mut self, now: Time, amount: u64) {
        self.advance(now);
        self.value -= amount;
    }

    pub(super) fn reset(&mut self, now: Time) {
        self.advance(now);
        self.value = 0;
    }

    /// Mean value from the time of `earlier` (a snapshot of the same quantity) to that of
    /// `self`; 0 when no time has passed.
    pub fn mean_since(&self, earlier: &TimeWeighted) -> f64 {
        let time = self.until - earlier.until;
        if time == 0 {
            0.0
        } else {
            (self.integral - earlier.integral) as f64 / time as f64
        }
    }
}

/// Completed requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindCounters {
    /// Requests completed.
    pub completed: u64,
    /// Bytes of the completed requests.
    pub bytes: u64,
    /// Sum of the times from submission to completion, in picoseconds.
    pub latency: u128,
    /// Requests inside: submitted and not completed.
    pub inside: TimeWeighted,
}

/// One or more equal servers with their queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounters {
    /// Operations served to the end.
    pub served: u64,
    /// Sum of the service times of those, in picoseconds.
    pub service: u128,
    /// Servers at work.
    pub busy: TimeWeighted,
    /// Operations that wait for a server.
    pub waiting: TimeWeighted,
}

impl StationCounters {
    pub(super) fn arrive(&mut self, now: Time) {
        self.waiting.add(now, 1);
    }

    pub(super) fn start(&mut self, now: Time) {
        self.waiting.subtract(now, 1);
        self.busy.add(now, 1);
    }

    pub(super) fn finish(&mut self, now: Time, service: Time) {
        self.busy.subtract(now, 1);
        self.served += 1;
        self.service += u128::from(service);
    }

    pub(super) fn advance(&mut self, now: Time) {
        self.busy.advance(now);
        self.waiting.advance(now);
    }

    pub(super) fn reset(&mut self, now: Time) {
        self.busy.reset(now);
        self.waiting.reset(now);
    }
}

/// Where the time of spindles went, in picoseconds (sums over spindles).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MechanicsCounters {
    /// Operations of which the arm had to move.
    pub seeks: u64,
    /// Time spent moving arms.
    pub seek: u128,
    /// Time spent waiting for the sector to come round.
    pub rotation: u128,
    /// Time spent with data under the head.
    pub transfer: u128,
    /// Cache lines destaged (each copy counts).
    pub destaged: u64,
    /// Cached writes that replaced a line that was still waiting to be destaged (each copy
    /// counts): writes that the medium never saw.
    pub absorbed: u64,
    /// Parts of reads answered from the write cache.
    pub cache_hits: u64,
}

/// All that a disk counts. Parts that a device does not have stay at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Reads.
    pub read: KindCounters,
    /// Writes.
    pub write: KindCounters,
    /// Flushes.
    pub flush: KindCounters,
    /// 1 while any request is inside: its mean is iostat's `%util`.
    pub active: TimeWeighted,
    /// The controller: one operation for each command.
    pub controller: StationCounters,
    /// The link to the device; waiting includes waiting for room in the write buffer.
    pub inbound: StationCounters,
    /// The link from the device.
    pub outbound: StationCounters,
    /// Dies or spindles: reads, programs, destages.
    pub units: StationCounters,
    /// Flush engine.
    pub flush_engine: StationCounters,
    /// Bytes in the write buffer or the array's write cache.
    pub buffer: TimeWeighted,
    /// Die reads (one for each stripe unit touched).
    pub die_reads: u64,
    /// Program operations.
    pub programs: u64,
    /// Bytes of program units that carried no data, because a unit had to be written
    /// before it was full.
    pub padding: u64,
    /// Spindles only.
    pub mechanics: MechanicsCounters,
}

impl DiskCounters {
    /// The counters of one kind of request.
    pub fn kind(&self, kind: RequestKind) -> &KindCounters {
        match kind {
            RequestKind::Read => &self.read,
            RequestKind::Write => &self.write,
            RequestKind::Flush => &self.flush,
        }
    }

    pub(super) fn kind_mut(&mut self, kind: RequestKind) -> &mut KindCounters {
        match kind {
            RequestKind::Read => &mut self.read,
            RequestKind::Write => &mut self.write,
            RequestKind::Flush => &mut self.flush,
        }
    }

    /// A copy that is complete up to `now`.
    pub(super) fn snapshot(&self, now: Time) -> DiskCounters {
        let mut copy = *self;
        for kind in [&mut copy.read, &mut copy.write, &mut copy.flush] {
            kind.inside.advance(now);
        }
        for station in [
            &mut copy.controller,
            &mut copy.inbound,
            &mut copy.outbound,
            &mut copy.units,
            &mut copy.flush_engine,
        ] {
            station.advance(now);
        }
        copy.active.advance(now);
        copy.buffer.advance(now);
        copy
    }

    /// Forget what is inside; keep what was counted.
    pub(super) fn power_cut(&mut self, now: Time) {
        for kind in [&mut self.read, &mut self.write, &mut self.flush] {
            kind.inside.reset(now);
        }
        for station in [
            &mut self.controller,
            &mut self.inbound,
            &mut self.outbound,
            &mut self.units,
            &mut self.flush_engine,
        ] {
            station.reset(now);
        }
        self.active.reset(now);
        self.buffer.reset(now);
    }
}
