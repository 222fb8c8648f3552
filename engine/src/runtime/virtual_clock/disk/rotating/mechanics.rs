//! Arm and platter of one kind of disk: pure functions from places and times to durations.
//!
//! **Seek.** The time for a fraction `d` of the full stroke is `a + b·√d` up to a third of
//! the stroke (the arm accelerates, then brakes) and linear from there on (it coasts): the
//! form of Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer,
//! March 1994. Three figures of a data sheet determine it: track to track (`a`), "average",
//! which vendors measure over random pairs, whose mean distance is a third, and full stroke.
//!
//! ```text
//!   ms │                          ____,──── full stroke
//!      │            ___,────""""
//!      │      _,──'"│ average
//!      │   ,-'      │
//!      │ ,'         │
//!    a ┼'           │
//!      └────────────┴───────────────────────► d
//!      0           1/3                      1
//! ```
//!
//! **Rotation.** The platter's angle is its phase plus time, so the wait for a sector follows
//! from when the arm arrives. For random places that is uniform over a revolution; but a
//! sector that follows the last one immediately costs nothing, and one that is asked for a
//! moment too late costs a revolution: the reason why logs want a write cache.
//!
//! **Places.** Bytes lie on tracks of equal length (the mean over the zones), one track after
//! the other from the outer edge to the inner. Tracks are skewed by the time of a
//! track-to-track seek, so that reading on across tracks does not miss a revolution.

use super::profile::SeekProfile;
use crate::runtime::virtual_clock::disk::{MILLISECOND, SECOND, Time};

/// Duration of the phases of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Phases {
    pub(super) seek: Time,
    pub(super) rotation: Time,
    pub(super) transfer: Time,
}

impl Phases {
    pub(super) fn total(&self) -> Time {
        self.seek + self.rotation + self.transfer
    }
}

/// What an operation does to the medium: `length` bytes from byte `offset` of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) write: bool,
    pub(super) offset: u64,
    pub(super) length: u32,
}

/// Where a disk's head is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// Byte at which the last operation ended.
    pub(super) offset: u64,
    /// The platter's angle at time 0, in time.
    pub(super) phase: Time,
    /// End of the last operation, if that was a read: from there the disk goes on reading
    /// into its own buffer.
    pub(super) reading_since: Option<Time>,
}

/// The mechanics of a kind of disk.
#[derive(Clone, Debug)]
pub(super) struct Mechanics {
    /// One revolution.
    revolution: Time,
    track_bytes: u64,
    tracks: u64,
    /// Picoseconds: at distance 0, times √distance, at a third, and per distance beyond.
    seek_base: f64,
    seek_root: f64,
    seek_third: f64,
    seek_slope: f64,
    /// Delay from the end of a track to the start of the next.
    skew: Time,
    write_settle: Time,
}

impl Mechanics {
    pub(super) fn new(rpm: f64, media_mib_s: f64, seek: &SeekProfile, capacity: u64) -> Self {
        let revolution = (60.0 * SECOND as f64 / rpm) as Time;
        let bytes_per_second = media_mib_s * f64::from(1 << 20);
        let track_bytes = ((bytes_per_second * 60.0 / rpm) as u64).max(1);
        let [base, third, full, settle] = [
            seek.track_to_track_ms,
            seek.average_ms,
            seek.full_stroke_ms,
            seek.write_settle_ms,
        ]
        .map(|milliseconds| milliseconds * MILLISECOND as f64);
        Mechanics {
            revolution,
            track_bytes,
            tracks: capacity.div_ceil(track_bytes),
            seek_base: base,
            seek_root: (third - base) * 3.0_f64.sqrt(),
            seek_third: third,
            seek_slope: (full - third) * 1.5,
            skew: base as Time,
            write_settle: settle as Time,
        }
    }

    /// One revolution.
    pub(super) fn revolution(&self) -> Time {
        self.revolution
    }

    /// Time to move the arm by a fraction of the full stroke.
    fn seek_time(&self, distance: f64) -> Time {
        let third = 1.0 / 3.0;
        let time = if distance <= third {
            self.seek_base + self.seek_root * distance.sqrt()
        } else {
            self.seek_third + self.seek_slope * (distance - third)
        };
        time as Time
    }

    /// Time that a head which reads the disk from its first byte needs to come to `offset`.
    /// Modulo a revolution this is the angle of the byte; differences are transfer times.
    fn reading_time(&self, offset: u64) -> Time {
        let track = offset / self.track_bytes;
        let inside = offset % self.track_bytes;
        track * (self.revolution + self.skew) + inside * self.revolution / self.track_bytes
    }

    /// The phases of an access that starts `now`.
    pub(super) fn phases(&self, now: Time, head: &Head, access: &Access) -> Phases {
        let begin = self.reading_time(access.offset);
        let transfer = self.reading_time(access.offset + u64::from(access.length)) - begin;
        if let Some(since) = head.reading_since
            && !access.write
            && access.offset == head.offset
        {
            // The disk has gone on reading: part of the data, or all, are in its buffer.
            return Phases {
                transfer: transfer.saturating_sub(now - since),
                ..Phases::default()
            };
        }
        let from = head.offset / self.track_bytes;
        let to = access.offset / self.track_bytes;
        let mut seek = 0;
        if from != to {
            seek = self.seek_time(from.abs_diff(to) as f64 / self.tracks as f64);
            if access.write {
                seek += self.write_settle;
            }
        }
        let angle = (now + seek + head.phase) % self.revolution;
        let rotation = (begin % self.revolution + self.revolution - angle) % self.revolution;
        Phases {
            seek,
            rotation,
            transfer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEK: SeekProfile = SeekProfile {
        track_to_track_ms: 0.3,
        average_ms: 3.8,
        full_stroke_ms: 7.8,
        write_settle_ms: 0.5,
    };

    /// 10,000 rpm, 100 MiB/s: a revolution of 6 ms and tracks of 614.4 KiB.
    fn mechanics() -> Mechanics {
        Mechanics::new(10_000.0, 100.0, &SEEK, 100_000_000_000)
    }

    fn head(offset: u64) -> Head {
        Head {
            offset,
            phase: 0,
            reading_since: None,
        }
    }

    #[test]
    fn the_seek_curve_goes_through_the_data_sheet() {
        let mechanics = mechanics();
        let third = 1.0 / 3.0;
        for (distance, expected) in [(0.0, 0.3), (third, 3.8), (1.0, 7.8), (third / 4.0, 2.05)] {
            let time = mechanics.seek_time(distance) as f64 / MILLISECOND as f64;
            assert!((time - expected).abs() < 1e-6, "{distance}: {time}");
        }
    }

    #[test]
    fn what_follows_immediately_costs_its_transfer() {
        let mechanics = mechanics();
        let access = |index: u64| Access {
            write: true,
            offset: index * 16384,
            length: 16384,
        };
        let mut now = mechanics.reading_time(0);
        let mut position = head(0);
        for index in 0..200 {
            let phases = mechanics.phases(now, &position, &access(index));
            assert_eq!((phases.seek, phases.rotation), (0, 0), "{index}");
            now += phases.total();
            position.offset += 16384;
        }
        // 200 pages are 5.2 tracks: 5 skews, the rest at the rate of the medium.
        let expected = 200.0 * 16384.0 / (100.0 * 1048576.0) + 5.0 * 0.3e-3;
        let seconds = now as f64 / SECOND as f64;
        assert!(
            (seconds / expected - 1.0).abs() < 1e-5,
            "{seconds} {expected}"
        );
    }

    #[test]
    fn a_write_that_comes_too_late_waits_for_a_revolution() {
        let mechanics = mechanics();
        let access = Access {
            write: true,
            offset: 16384,
            length: 512,
        };
        let in_time = mechanics.reading_time(16384);
        let late = in_time + MILLISECOND / 10;
        let rotation = mechanics.phases(late, &head(16384), &access).rotation;
        assert_eq!(rotation, 6 * MILLISECOND - MILLISECOND / 10);
    }

    #[test]
    fn a_read_that_continues_the_last_one_finds_its_data_in_the_buffer() {
        let mechanics = mechanics();
        let read = Access {
            write: false,
            offset: 16384,
            length: 16384,
        };
        let whole = mechanics.reading_time(32768) - mechanics.reading_time(16384);
        let position = Head {
            reading_since: Some(SECOND),
            ..head(16384)
        };
        for (late, left) in [(0, whole), (1000, whole - 1000), (SECOND, 0)] {
            let phases = mechanics.phases(SECOND + late, &position, &read);
            assert_eq!(
                phases,
                Phases {
                    transfer: left,
                    ..Phases::default()
                }
            );
        }
        let elsewhere = Access {
            offset: 65536,
            ..read
        };
        assert!(mechanics.phases(SECOND, &position, &elsewhere).rotation > 0);
    }
}
