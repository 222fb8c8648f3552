//! How busy the processor was: two areas under curves.
//!
//! ```text
//!   busy hardware threads          tasks in the run queue
//!   2 |     ####                   2 |       ##
//!   1 | ########   ####            1 |      ####
//!     +------------------> time      +------------------> time
//! ```
//!
//! The first area, divided by the time, is the mean number of busy hardware threads:
//! by the utilisation law it is throughput times CPU per transaction. The second is
//! the mean length of the run queue: by Little's law it is throughput times the wait
//! for a CPU per transaction. Both laws hold for every single run, so the areas are a
//! check on the time budgets, which are added up task by task.

use crate::runtime::time::Time;

/// The two curves' present heights and the areas under them so far.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Occupancy {
    busy: u64,
    queued: u64,
    /// Up to when the areas are added up.
    until: Time,
    busy_time: Time,
    queued_time: Time,
}

impl Occupancy {
    /// Adds up to now; returns the areas of busy threads and of the run queue.
    #[inline]
    pub(super) fn areas(&mut self, now: Time) -> (Time, Time) {
        let length = now - self.until;
        self.until = now;
        self.busy_time += length * self.busy;
        self.queued_time += length * self.queued;
        (self.busy_time, self.queued_time)
    }

    /// From now on so many hardware threads are busy.
    #[inline]
    pub(super) fn set_busy(&mut self, now: Time, busy: usize) {
        self.areas(now);
        self.busy = busy as u64;
    }

    /// From now on so many tasks are in the run queue.
    #[inline]
    pub(super) fn set_queued(&mut self, now: Time, queued: usize) {
        self.areas(now);
        self.queued = queued as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_heights_times_lengths() {
        let mut occupancy = Occupancy::default();
        occupancy.set_busy(10, 1);
        occupancy.set_queued(10, 3);
        occupancy.set_busy(14, 2);
        occupancy.set_queued(15, 0);
        assert_eq!(occupancy.areas(20), (4 + 2 * 6, 3 * 5));
        assert_eq!(occupancy.areas(20), (16, 15));
    }
}
