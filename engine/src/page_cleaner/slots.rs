//! The slots: an instance's work of one round, taken by whichever cleaner is free.
//!
//! ```text
//!   none --request--> requested --first free cleaner--> flushing --> finished --collect--> none
//! ```

use super::figures::RoundReport;
use crate::buffer_pool::LruBatchResult;
use crate::page::Lsn;
use crate::runtime::time::{MILLISECOND, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    None,
    Requested,
    Flushing,
    Finished,
}

/// The work of one instance.
#[derive(Clone, Debug, Default)]
struct Slot {
    state: State,
    pages: u64,
    lru: LruBatchResult,
    list_pages: u64,
}

/// What a cleaner that has taken a slot shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) instance: usize,
    /// Pages of the flush list; none: the LRU part only.
    pub(super) pages: Option<u64>,
    pub(super) lsn_limit: Lsn,
}

/// What it has done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) lru: LruBatchResult,
    pub(super) list_pages: u64,
    pub(super) lru_time: Time,
    pub(super) list_time: Time,
}

/// Times of slots, for the averages that users see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SlotTimes {
    pub(super) lru: Time,
    pub(super) lru_passes: u64,
    pub(super) list: Time,
    pub(super) list_passes: u64,
}

/// All slots.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    has_list_part: bool,
    lsn_limit: Lsn,
    unfinished: usize,
    times: SlotTimes,
}

impl Slots {
    pub(super) fn new(instances: usize) -> Self {
        Slots {
            slots: vec![Slot::default(); instances],
            has_list_part: false,
            lsn_limit: 0,
            unfinished: 0,
            times: SlotTimes::default(),
        }
    }

    /// A round begins. `pages` of each instance's flush list; none: the LRU part only.
    pub(super) fn request(&mut self, pages: Option<&[u64]>, lsn_limit: Lsn) {
        debug_assert_eq!(self.unfinished, 0, "the last round is over");
        self.has_list_part = pages.is_some();
        self.lsn_limit = lsn_limit;
        self.unfinished = self.slots.len();
        for (instance, slot) in self.slots.iter_mut().enumerate() {
            *slot = Slot {
                state: State::Requested,
                pages: pages.map_or(0, |pages| pages[instance]),
                ..Slot::default()
            };
        }
    }

    /// Takes the first slot that nobody has taken.
    pub(super) fn take(&mut self) -> Option<Work> {
        let requested = |slot: &Slot| slot.state == State::Requested;
        let instance = self.slots.iter().position(requested)?;
        let slot = &mut self.slots[instance];
        slot.state = State::Flushing;
        Some(Work {
            instance,
            pages: self.has_list_part.then_some(slot.pages),
            lsn_limit: self.lsn_limit,
        })
    }

    /// A slot's work is done; true if it was the last one's.
    pub(super) fn finish(&mut self, work: &Work, done: &Done) -> bool {
        let slot = &mut self.slots[work.instance];
        debug_assert_eq!(slot.state, State::Flushing);
        slot.state = State::Finished;
        slot.lru = done.lru;
        slot.list_pages = done.list_pages;
        self.times.lru += done.lru_time;
        self.times.lru_passes += 1;
        if work.pages.is_some() {
            self.times.list += done.list_time;
            self.times.list_passes += 1;
        }
        self.unfinished -= 1;
        self.unfinished == 0
    }

    /// Adds up a round whose slots are all finished; false if some are not.
    pub(super) fn collect(&mut self, round: &mut RoundReport) -> bool {
        if self.unfinished > 0 {
            return false;
        }
        for slot in &mut self.slots {
            debug_assert_eq!(slot.state, State::Finished);
            slot.state = State::None;
            round.list_pages += slot.list_pages;
            round.lru_pages += slot.lru.flushed as u64;
            round.evicted += slot.lru.evicted as u64;
        }
        true
    }

    /// The times since the last call.
    pub(super) fn take_times(&mut self) -> SlotTimes {
        std::mem::take(&mut self.times)
    }
}

/// Whole milliseconds.
pub(super) fn milliseconds(time: Time) -> u64 {
    time / MILLISECOND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_once_and_collected_together() {
        let mut slots = Slots::new(3);
        assert_eq!(slots.take(), None);
        slots.request(Some(&[5, 6, 7]), 99);
        let work: Vec<_> = std::iter::from_fn(|| slots.take()).collect();
        let taken: Vec<_> = work
            .iter()
            .map(|work| (work.instance, work.pages))
            .collect();
        assert_eq!(taken, [(0, Some(5)), (1, Some(6)), (2, Some(7))]);
        assert!(work.iter().all(|work| work.lsn_limit == 99));
        let mut round = RoundReport::default();
        for (index, work) in work.iter().enumerate().rev() {
            assert!(!slots.collect(&mut round));
            let done = Done {
                lru: LruBatchResult {
                    flushed: 1,
                    evicted: 10,
                    scanned: 0,
                },
                list_pages: work.pages.unwrap(),
                lru_time: 2 * MILLISECOND,
                list_time: 3 * MILLISECOND,
            };
            assert_eq!(slots.finish(work, &done), index == 0);
        }
        assert!(slots.collect(&mut round));
        assert_eq!(
            (round.list_pages, round.lru_pages, round.evicted),
            (18, 3, 30)
        );
        let times = slots.take_times();
        assert_eq!((times.lru, times.lru_passes), (6 * MILLISECOND, 3));
        assert_eq!((times.list, times.list_passes), (9 * MILLISECOND, 3));
        assert_eq!(slots.take_times(), SlotTimes::default());

        slots.request(None, 0);
        assert_eq!(slots.take().unwrap().pages, None);
    }
}
