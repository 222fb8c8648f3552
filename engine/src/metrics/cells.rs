//! Where the numbers are kept: three arrays, by what merging and subtracting do to them.
//!
//! ```text
//!               shards are merged by    a difference of snapshots
//!   growing     adding                  subtracts
//!   levels      adding (modulo 2^64)    keeps the later
//!   extremes    taking the larger       keeps the later
//! ```
//!
//! A level may be raised on one shard and lowered on another: a shard's part can be
//! "negative", but the sum of all parts is right, since addition modulo 2^64 does not mind.
//!
//! A smallest value is kept as its complement. So the same operation serves both extremes,
//! and 0 means that there was none: for the largest because a largest of 0 says as much.
//!
//! [`Cells`] is generic over the cell, so that the shards (atomics) and a snapshot of them
//! (plain numbers) cannot have different layouts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::file_io::{FileEvent, FileOperation};
use super::registry::{Counter, Level, Set, WaitFamily, WaitMember};

/// What a file operation adds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileQuantity {
    Count,
    Picoseconds,
    Bytes,
}

const SETS: usize = Counter::COUNT;
const WAITS: usize = SETS + 2 * Set::COUNT;
const FILES: usize = WAITS + 3 * WaitFamily::COUNT;
const GROWING: usize = FILES + 3 * FileEvent::COUNT * FileOperation::COUNT;

const PENDING: usize = Level::COUNT;
const LEVELS: usize = PENDING + FileEvent::COUNT * FileOperation::COUNT;

const FILE_EXTREMES: usize = 2 * Set::COUNT;
const EXTREMES: usize = FILE_EXTREMES + 2 * FileEvent::COUNT * FileOperation::COUNT;

/// The place of something that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Growing(usize);

impl Growing {
    #[inline]
    pub(super) const fn counter(counter: Counter) -> Self {
        Self(counter as usize)
    }

    #[inline]
    pub(super) const fn set_total(set: Set) -> Self {
        Self(SETS + 2 * set as usize)
    }

    #[inline]
    pub(super) const fn set_calls(set: Set) -> Self {
        Self(SETS + 2 * set as usize + 1)
    }

    #[inline]
    pub(super) const fn wait(family: WaitFamily, member: WaitMember) -> Self {
        Self(WAITS + 3 * family as usize + member as usize)
    }

    #[inline]
    pub(super) const fn file(
        event: FileEvent,
        operation: FileOperation,
        quantity: FileQuantity,
    ) -> Self {
        Self(FILES + 3 * kind_of_operation(event, operation) + quantity as usize)
    }
}

/// The place of something that goes up and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UpAndDown(usize);

impl UpAndDown {
    #[inline]
    pub(super) const fn level(level: Level) -> Self {
        Self(level as usize)
    }

    /// Operations on files that are under way.
    #[inline]
    pub(super) const fn pending(event: FileEvent, operation: FileOperation) -> Self {
        Self(PENDING + kind_of_operation(event, operation))
    }
}

/// The place of a largest value; the complement of the smallest is behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Extreme(usize);

impl Extreme {
    #[inline]
    pub(super) const fn set(set: Set) -> Self {
        Self(2 * set as usize)
    }

    #[inline]
    pub(super) const fn file(event: FileEvent, operation: FileOperation) -> Self {
        Self(FILE_EXTREMES + 2 * kind_of_operation(event, operation))
    }
}

#[inline]
const fn kind_of_operation(event: FileEvent, operation: FileOperation) -> usize {
    event as usize * FileOperation::COUNT + operation as usize
}

/// All numbers of one shard, or of the sum of all shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cells<T> {
    growing: [T; GROWING],
    levels: [T; LEVELS],
    extremes: [T; EXTREMES],
}

impl<T: Default> Default for Cells<T> {
    fn default() -> Self {
        Self {
            growing: std::array::from_fn(|_| T::default()),
            levels: std::array::from_fn(|_| T::default()),
            extremes: std::array::from_fn(|_| T::default()),
        }
    }
}

impl Cells<AtomicU64> {
    #[inline]
    pub(super) fn add(&self, place: Growing, amount: u64) {
        self.growing[place.0].fetch_add(amount, Relaxed);
    }

    #[inline]
    pub(super) fn raise(&self, place: UpAndDown, amount: u64) {
        self.levels[place.0].fetch_add(amount, Relaxed);
    }

    #[inline]
    pub(super) fn lower(&self, place: UpAndDown, amount: u64) {
        self.levels[place.0].fetch_sub(amount, Relaxed);
    }

    /// Widens a pair of extremes. A new extreme is rare: the load first keeps the cell's
    /// line from being taken from other cores in vain.
    #[inline]
    pub(super) fn widen(&self, place: Extreme, value: u64) {
        for (cell, bound) in [(place.0, value), (place.0 + 1, !value)] {
            let cell = &self.extremes[cell];
            if bound > cell.load(Relaxed) {
                cell.fetch_max(bound, Relaxed);
            }
        }
    }

    pub(super) fn growing(&self, place: Growing) -> u64 {
        self.growing[place.0].load(Relaxed)
    }

    pub(super) fn level(&self, place: UpAndDown) -> u64 {
        self.levels[place.0].load(Relaxed)
    }

    /// Forgets all extremes.
    pub(super) fn restart_extremes(&self) {
        for cell in &self.extremes {
            cell.store(0, Relaxed);
        }
    }
}

impl Cells<u64> {
    /// Adds to a sum.
    pub(super) fn add_to_sum(&mut self, place: Growing, amount: u64) {
        self.growing[place.0] += amount;
    }

    /// Adds what a shard holds.
    pub(super) fn merge(&mut self, shard: &Cells<AtomicU64>) {
        for (sum, part) in self.growing.iter_mut().zip(&shard.growing) {
            *sum += part.load(Relaxed);
        }
        for (sum, part) in self.levels.iter_mut().zip(&shard.levels) {
            *sum = sum.wrapping_add(part.load(Relaxed));
        }
        for (extreme, part) in self.extremes.iter_mut().zip(&shard.extremes) {
            *extreme = (*extreme).max(part.load(Relaxed));
        }
    }

    /// What grew after `earlier`; levels and extremes as they are.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let mut difference = self.clone();
        for (now, before) in difference.growing.iter_mut().zip(&earlier.growing) {
            *now = now.checked_sub(*before).expect("counters do not shrink");
        }
        difference
    }

    pub(super) fn get(&self, place: Growing) -> u64 {
        self.growing[place.0]
    }

    pub(super) fn level(&self, place: UpAndDown) -> i64 {
        // Modulo 2^64: what was lowered more than raised is negative.
        self.levels[place.0] as i64
    }

    pub(super) fn largest(&self, place: Extreme) -> Option<u64> {
        self.smallest(place).map(|_| self.extremes[place.0])
    }

    pub(super) fn smallest(&self, place: Extreme) -> Option<u64> {
        let complement = self.extremes[place.0 + 1];
        (complement > 0).then_some(!complement)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every place belongs to one figure, and none is left over.
    #[test]
    fn places_do_not_overlap() {
        let mut growing = BTreeSet::new();
        let mut levels = BTreeSet::new();
        let mut extremes = BTreeSet::new();
        for counter in Counter::ALL {
            assert!(growing.insert(Growing::counter(*counter).0));
        }
        for set in Set::ALL {
            assert!(growing.insert(Growing::set_total(*set).0));
            assert!(growing.insert(Growing::set_calls(*set).0));
            assert!(extremes.insert(Extreme::set(*set).0));
            assert!(extremes.insert(Extreme::set(*set).0 + 1));
        }
        for family in WaitFamily::ALL {
            for member in [
                WaitMember::NoWaits,
                WaitMember::Waits,
                WaitMember::WaitLoops,
            ] {
                assert!(growing.insert(Growing::wait(*family, member).0));
            }
        }
        for level in Level::ALL {
            assert!(levels.insert(UpAndDown::level(*level).0));
        }
        for event in FileEvent::ALL {
            for operation in FileOperation::ALL {
                for quantity in [
                    FileQuantity::Count,
                    FileQuantity::Picoseconds,
                    FileQuantity::Bytes,
                ] {
                    assert!(growing.insert(Growing::file(*event, *operation, quantity).0));
                }
                assert!(levels.insert(UpAndDown::pending(*event, *operation).0));
                assert!(extremes.insert(Extreme::file(*event, *operation).0));
                assert!(extremes.insert(Extreme::file(*event, *operation).0 + 1));
            }
        }
        assert!(growing.into_iter().eq(0..GROWING));
        assert!(levels.into_iter().eq(0..LEVELS));
        assert!(extremes.into_iter().eq(0..EXTREMES));
    }

    /// The extremes of no value, of 0 and of the largest value there is. The last one's
    /// complement is 0, which says "none": 213 days are not a time that is measured.
    #[test]
    fn extremes_are_known_once_there_is_a_value() {
        let shard = Cells::<AtomicU64>::default();
        let place = Extreme::set(Set::ALL[0]);
        let read = |shard: &Cells<AtomicU64>| {
            let mut cells = Cells::<u64>::default();
            cells.merge(shard);
            (cells.smallest(place), cells.largest(place))
        };

        assert_eq!(read(&shard), (None, None));
        shard.widen(place, 0);
        assert_eq!(read(&shard), (Some(0), Some(0)));
        shard.widen(place, 7);
        assert_eq!(read(&shard), (Some(0), Some(7)));
        shard.restart_extremes();
        assert_eq!(read(&shard), (None, None));
        shard.widen(place, u64::MAX - 1);
        assert_eq!(read(&shard), (Some(u64::MAX - 1), Some(u64::MAX - 1)));
    }
}
