//! Which of its waiting requests a disk serves next.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use super::mechanics::{Access, Head, Mechanics};
use crate::runtime::virtual_clock::disk::Time;

/// The order in which a disk serves its queue. Ties go to the older request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Elevator {
    /// By age.
    Fifo,
    /// Sweeps: the nearest in the direction in which the arm moves; when there is none, the
    /// direction turns (LOOK).
    Look,
    /// The nearest, either way (SSTF). A request may wait for long: see `maximum_age_ms`.
    ShortestSeek,
    /// The one under the head first, seek and rotation counted (SPTF): what disks with tagged
    /// queueing do. A request may wait for long: see `maximum_age_ms`.
    ShortestPositioning,
}

impl Display for Elevator {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Elevator::Fifo => "fifo",
            Elevator::Look => "look",
            Elevator::ShortestSeek => "shortest_seek",
            Elevator::ShortestPositioning => "shortest_positioning",
        })
    }
}

/// What the choice is made from.
pub(super) struct View<'a> {
    pub(super) now: Time,
    pub(super) head: &'a Head,
    /// Whether the arm moves towards higher addresses.
    pub(super) upward: bool,
    /// Absent where service has nothing to do with place.
    pub(super) mechanics: Option<&'a Mechanics>,
    /// Age at which the oldest is served next.
    pub(super) maximum_age: Time,
}

impl Elevator {
    /// Index of the request to serve, out of waiting requests in order of age, each with its
    /// time of arrival.
    ///
    /// # Panics
    /// When nothing waits.
    pub(super) fn choose(
        self,
        view: &View,
        waiting: impl Iterator<Item = (Time, Access)> + Clone,
    ) -> usize {
        let (oldest, _) = waiting.clone().next().expect("nothing to choose from");
        let Some(mechanics) = view.mechanics else {
            return 0;
        };
        if view.now - oldest >= view.maximum_age {
            return 0;
        }
        let position = view.head.offset;
        let costs = waiting.map(|(_, access)| match self {
            Elevator::Fifo => 0,
            Elevator::ShortestSeek => access.offset.abs_diff(position),
            Elevator::ShortestPositioning => {
                let phases = mechanics.phases(view.now, view.head, &access);
                phases.seek + phases.rotation
            }
            Elevator::Look => {
                // What lies behind the arm comes after all that lies before it.
                let ahead = (access.offset >= position) == view.upward;
                access.offset.abs_diff(position) + if ahead { 0 } else { 1 << 62 }
            }
        });
        let mut best = (0, u64::MAX);
        for (index, cost) in costs.enumerate() {
            if cost < best.1 {
                best = (index, cost);
            }
        }
        best.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::profile::SeekProfile;
    use super::*;
    use crate::runtime::virtual_clock::disk::MILLISECOND;

    /// Choose among requests that arrived at time 0 at the given megabytes.
    fn choose(elevator: Elevator, upward: bool, now: Time, megabytes: &[u64]) -> usize {
        let seek = SeekProfile {
            track_to_track_ms: 0.3,
            average_ms: 3.8,
            full_stroke_ms: 7.8,
            write_settle_ms: 0.5,
        };
        let mechanics = Mechanics::new(10_000.0, 100.0, &seek, 100_000_000_000);
        let view = View {
            now,
            head: &Head {
                offset: 50_000_000,
                phase: 0,
                reading_since: None,
            },
            upward,
            mechanics: Some(&mechanics),
            maximum_age: 500 * MILLISECOND,
        };
        let access = |&at: &u64| Access {
            write: false,
            offset: at * 1_000_000,
            length: 16384,
        };
        elevator.choose(&view, megabytes.iter().map(|at| (0, access(at))))
    }

    #[test]
    fn each_elevator_has_its_order() {
        let waiting = [90, 45, 70, 10];
        assert_eq!(choose(Elevator::Fifo, true, 0, &waiting), 0);
        assert_eq!(choose(Elevator::Look, true, 0, &waiting), 2);
        assert_eq!(choose(Elevator::Look, false, 0, &waiting), 1);
        assert_eq!(choose(Elevator::ShortestSeek, true, 0, &waiting), 1);
        assert_eq!(
            choose(Elevator::Look, true, 0, &[20, 40, 30]),
            1,
            "the sweep turns"
        );
        assert_eq!(
            choose(Elevator::ShortestSeek, true, 0, &[60, 40]),
            0,
            "ties by age"
        );
    }

    #[test]
    fn shortest_positioning_takes_the_far_one_that_comes_round_first() {
        // 50 and 51 MB are tracks 79 and 81: 0.3 ms of seek, but depending on the time either
        // may have gone by. At each instant the choice is the one that is served first.
        let mut chosen = [0, 0];
        for tenth in 0..60 {
            chosen[choose(
                Elevator::ShortestPositioning,
                true,
                tenth * MILLISECOND / 10,
                &[51, 95],
            )] += 1;
        }
        assert!(chosen.iter().all(|&count| count > 5), "{chosen:?}");
    }

    #[test]
    fn age_goes_before_all() {
        for elevator in [
            Elevator::Look,
            Elevator::ShortestSeek,
            Elevator::ShortestPositioning,
        ] {
            assert_eq!(choose(elevator, true, 500 * MILLISECOND, &[5, 50]), 0);
        }
        assert_eq!(
            choose(Elevator::ShortestSeek, true, 499 * MILLISECOND, &[5, 50]),
            1
        );
    }
}
