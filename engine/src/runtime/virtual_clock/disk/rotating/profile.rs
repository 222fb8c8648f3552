//! Parameters of an array of rotating disks.

use serde::{Deserialize, Serialize};

use super::elevator::Elevator;
use crate::runtime::virtual_clock::disk::profile::{CacheProtection, Checker, ProfileError};

/// Bytes of a line of the controller's write cache: an InnoDB page.
pub(super) const LINE_BYTES: u32 = 16 * 1024;

/// An array of equal disks behind one controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotatingArrayProfile {
    /// Number of disks, copies included, 1 to 1024.
    pub spindles: u32,
    /// 1: striped (RAID 0). 2: striped over mirrored pairs (RAID 10); `spindles` must be even.
    pub copies: u32,
    /// With two copies: which one a read goes to. `freer_copy` if not given.
    #[serde(default)]
    pub mirror_reads: MirrorReads,
    /// Bytes that lie on one disk before the next disk's begin. KiB, 16 to 16384, a multiple
    /// of 16.
    pub stripe_kib: u32,
    /// Bytes of the array in front of the partition, whose first byte has address 0 in
    /// requests. 0 if not given; with the partition tables of the time of rotating disks
    /// 63 × 512, so that one page in four crosses stripe units of 64 KiB. 0 to 1 GiB, a
    /// multiple of 512.
    #[serde(default)]
    pub partition_offset_bytes: u32,
    /// Capacity of one disk in gigabytes as vendors count them (10⁹ bytes), 1 to 20,000.
    pub capacity_gb: f64,
    /// How long a disk takes.
    pub drive: DriveProfile,
    /// In which order a disk serves its queue.
    pub elevator: Elevator,
    /// Number of its oldest waiting requests among which a disk chooses (SCSI tagged command
    /// queueing), 1 to 256.
    pub queue_depth: u32,
    /// Age at which a request is served next whatever its place. Milliseconds, 1 to 60,000.
    pub maximum_age_ms: f64,
    /// Time for which the controller, which is serial, is busy with one request.
    /// Microseconds, 0 to 10,000.
    pub command_us: f64,
    /// Fixed time added to each request that nobody queues for: driver, bus, the disk's own
    /// command handling. Microseconds, 0 to 100,000.
    pub latency_us: f64,
    /// Duration of a FLUSH, not counting what it may have to wait for. Microseconds, 0 to
    /// 1,000,000.
    pub flush_us: f64,
    /// Bytes that a power failure leaves all old or all new. 512 to 1 MiB, a power of two.
    pub atomic_write_bytes: u32,
    /// The controller's write-back cache, if it has one; without, a write is complete when
    /// all its copies are on the disks.
    pub cache: Option<ArrayCacheProfile>,
}

/// Which of two copies a read goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MirrorReads {
    /// The one with fewer requests of the host; of equals, the one whose head is nearer.
    #[default]
    FreerCopy,
    /// Always the first: the second one only takes writes.
    FirstCopy,
}

/// How long a disk takes for one operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum DriveProfile {
    /// Arm and platter.
    Mechanical {
        /// Revolutions per minute, 1,000 to 20,000.
        rpm: f64,
        /// Rate at which data pass under the head, mean over the zones. MiB/s, 10 to 1,000.
        media_mib_s: f64,
        /// The arm.
        seek: SeekProfile,
    },
    /// An exponential time whatever the address, for checks against queueing theory. Needs
    /// `elevator = "fifo"`, as there is nothing to choose by.
    Exponential {
        /// Mean in milliseconds, 0.001 to 1,000.
        mean_ms: f64,
    },
}

/// Seek times as data sheets give them. Command overhead is not part of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeekProfile {
    /// To the neighbouring track. Milliseconds, 0.01 to 20.
    pub track_to_track_ms: f64,
    /// "Average", which is the time for a third of the full stroke. Milliseconds, from
    /// `track_to_track_ms` to 50.
    pub average_ms: f64,
    /// Across all tracks. Milliseconds, from `average_ms` to 100.
    pub full_stroke_ms: f64,
    /// What a write needs more than a read, because the head must have settled. Milliseconds,
    /// 0 to 10.
    pub write_settle_ms: f64,
}

/// The controller's write-back cache, in lines of 16 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayCacheProfile {
    /// Size in MiB, 1 to 65,536.
    pub size_mib: u32,
    /// Whether it survives a power failure (battery or flash behind it).
    pub protection: CacheProtection,
    /// When lines are written to the disks.
    pub destage: Destage,
    /// Share of the cache from which on destaging takes every second turn of a disk, whatever
    /// `destage` says. 0.01 to 1.
    pub destage_threshold: f64,
}

/// When a disk writes out lines of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destage {
    /// When it has no request of the host, until the cache fills to `destage_threshold` or a
    /// flush waits.
    Idle,
    /// Always in turn with requests of the host.
    Eager,
}

impl RotatingArrayProfile {
    /// Check every value.
    ///
    /// # Errors
    /// Lists all values that are out of range.
    pub fn validate(&self) -> Result<(), ProfileError> {
        let mut check = Checker::default();
        check.integer("spindles", self.spindles.into(), 1, 1024);
        check.integer("copies", self.copies.into(), 1, 2);
        check.require(
            "spindles",
            self.spindles,
            self.copies != 2 || self.spindles.is_multiple_of(2),
            "an even number, with copies = 2",
        );
        let stripe = self.stripe_kib;
        check.require(
            "stripe_kib",
            stripe,
            stripe.is_multiple_of(LINE_BYTES / 1024) && (16..=16384).contains(&stripe),
            "a multiple of 16 from 16 to 16384",
        );
        let offset = self.partition_offset_bytes;
        check.require(
            "partition_offset_bytes",
            offset,
            offset.is_multiple_of(512) && offset <= 1 << 30,
            "a multiple of 512 up to 1073741824",
        );
        check.number("capacity_gb", self.capacity_gb, 1.0, 20_000.0);
        match &self.drive {
            DriveProfile::Mechanical {
                rpm,
                media_mib_s,
                seek,
            } => {
                check.number("drive.rpm", *rpm, 1e3, 2e4);
                check.number("drive.media_mib_s", *media_mib_s, 10.0, 1e3);
                seek.check(&mut check);
            }
            DriveProfile::Exponential { mean_ms } => {
                check.number("drive.mean_ms", *mean_ms, 1e-3, 1e3);
                check.require(
                    "elevator",
                    self.elevator,
                    self.elevator == Elevator::Fifo,
                    "fifo, with drive.kind = exponential",
                );
            }
        }
        check.integer("queue_depth", self.queue_depth.into(), 1, 256);
        check.number("maximum_age_ms", self.maximum_age_ms, 1.0, 6e4);
        check.number("command_us", self.command_us, 0.0, 1e4);
        check.number("latency_us", self.latency_us, 0.0, 1e5);
        check.number("flush_us", self.flush_us, 0.0, 1e6);
        check.require(
            "atomic_write_bytes",
            self.atomic_write_bytes,
            self.atomic_write_bytes.is_power_of_two()
                && (512..=1 << 20).contains(&self.atomic_write_bytes),
            "a power of two from 512 to 1048576",
        );
        if let Some(cache) = &self.cache {
            check.integer("cache.size_mib", cache.size_mib.into(), 1, 65_536);
            check.number(
                "cache.destage_threshold",
                cache.destage_threshold,
                0.01,
                1.0,
            );
        }
        check.finish()
    }

    /// Bytes of the partition.
    pub fn capacity_bytes(&self) -> u64 {
        let all = self.spindle_bytes() * u64::from(self.spindles / self.copies);
        all.saturating_sub(self.partition_offset_bytes.into())
    }

    /// Bytes of one disk that are used: whole stripe units.
    pub(super) fn spindle_bytes(&self) -> u64 {
        let stripe = u64::from(self.stripe_kib) * 1024;
        (self.capacity_gb * 1e9) as u64 / stripe * stripe
    }

    /// What becomes of completed writes when the power fails. Without a cache they are on the
    /// disks.
    pub fn protection(&self) -> CacheProtection {
        self.cache
            .map_or(CacheProtection::Protected, |cache| cache.protection)
    }
}

impl SeekProfile {
    fn check(&self, check: &mut Checker) {
        check.number(
            "drive.seek.track_to_track_ms",
            self.track_to_track_ms,
            0.01,
            20.0,
        );
        check.number(
            "drive.seek.average_ms",
            self.average_ms,
            self.track_to_track_ms,
            50.0,
        );
        check.number(
            "drive.seek.full_stroke_ms",
            self.full_stroke_ms,
            self.average_ms,
            100.0,
        );
        check.number(
            "drive.seek.write_settle_ms",
            self.write_settle_ms,
            0.0,
            10.0,
        );
    }
}
