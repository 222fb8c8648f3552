//! Where files lie on a device: addresses in units of 1 MiB.
//!
//! ```text
//!   device   | ibdata1 | t1 | t2 | t1 | redo 0 | t1 |  free  …
//!              grown in this order: t1 and t2 took turns, so both lie in pieces
//! ```
//!
//! A file that grows goes on where it ended if the space behind it is free, else takes
//! the lowest free range that is large enough, else several. So the order in which
//! files grow decides the distances that a disk's arm travels, as on a real file system
//! (which is cleverer: this one reserves nothing ahead).

use std::collections::BTreeMap;

/// Bytes of a unit of space.
pub(super) const UNIT: u64 = 1 << 20;

/// The free space of a device.
#[derive(Debug)]
pub(super) struct Space {
    /// Start and length of each free range, in units. Ranges never touch.
    free: BTreeMap<u64, u64>,
}

/// A piece of a file on its device, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    first: u64,
    units: u64,
    address: u64,
}

/// The pieces of a file, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Extents {
    list: Vec<Extent>,
    units: u64,
}

impl Space {
    /// A device of so many bytes; without a limit if the model has none.
    pub(super) fn new(capacity: Option<u64>) -> Self {
        let units = capacity.unwrap_or(u64::MAX) / UNIT;
        Space {
            free: BTreeMap::from([(0, units)]),
        }
    }

    fn take(&mut self, start: u64, at: u64, units: u64) {
        let length = self.free.remove(&start).expect("a free range");
        debug_assert!(at >= start && at + units <= start + length);
        if at > start {
            self.free.insert(start, at - start);
        }
        if at + units < start + length {
            self.free.insert(at + units, start + length - (at + units));
        }
    }

    fn give(&mut self, mut at: u64, mut units: u64) {
        if let Some((&before, &length)) = self.free.range(..at).next_back()
            && before + length == at
        {
            self.free.remove(&before);
            at = before;
            units += length;
        }
        if let Some(length) = self.free.remove(&(at + units)) {
            units += length;
        }
        self.free.insert(at, units);
    }

    /// A range of up to `wanted` units, best one that continues at `goal`.
    fn choose(&mut self, wanted: u64, goal: Option<u64>) -> Option<(u64, u64)> {
        if let Some(goal) = goal
            && let Some((&start, &length)) = self.free.range(..=goal).next_back()
            && goal < start + length
        {
            let units = wanted.min(start + length - goal);
            self.take(start, goal, units);
            return Some((goal, units));
        }
        let large_enough = self.free.iter().find(|&(_, &length)| length >= wanted);
        let (&start, &length) = large_enough.or_else(|| self.free.iter().next())?;
        let units = wanted.min(length);
        self.take(start, start, units);
        Some((start, units))
    }
}

impl Extents {
    /// Makes the file large enough for `bytes`; false, and nothing changed, if the
    /// device has no room.
    pub(super) fn grow(&mut self, bytes: u64, space: &mut Space) -> bool {
        let wanted = bytes.div_ceil(UNIT);
        let before = self.units;
        while self.units < wanted {
            let goal = self.list.last().map(|last| last.address + last.units);
            let Some((address, units)) = space.choose(wanted - self.units, goal) else {
                self.shrink(before * UNIT, space);
                return false;
            };
            match self.list.last_mut() {
                Some(last) if last.address + last.units == address => last.units += units,
                _ => self.list.push(Extent {
                    first: self.units,
                    units,
                    address,
                }),
            }
            self.units += units;
        }
        true
    }

    /// Gives back what lies behind `bytes`.
    pub(super) fn shrink(&mut self, bytes: u64, space: &mut Space) {
        let wanted = bytes.div_ceil(UNIT);
        while self.units > wanted {
            let last = self.list.last_mut().expect("units lie in extents");
            let surplus = (self.units - wanted).min(last.units);
            last.units -= surplus;
            space.give(last.address + last.units, surplus);
            self.units -= surplus;
            if last.units == 0 {
                self.list.pop();
            }
        }
    }

    /// The device's address of an offset in the file.
    #[inline]
    pub(super) fn address(&self, offset: u64) -> u64 {
        let unit = offset / UNIT;
        let extent = match self.list.last() {
            Some(last) if last.first <= unit => last,
            _ => {
                let after = self.list.partition_point(|extent| extent.first <= unit);
                &self.list[after - 1]
            }
        };
        (extent.address + unit - extent.first) * UNIT + offset % UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn addresses(extents: &Extents) -> Vec<u64> {
        (0..extents.units)
            .map(|unit| extents.address(unit * UNIT) / UNIT)
            .collect()
    }

    #[test]
    fn files_that_grow_in_turn_lie_in_pieces() {
        let mut space = Space::new(None);
        let (mut a, mut b) = (Extents::default(), Extents::default());
        assert!(a.grow(1, &mut space));
        assert!(b.grow(2 * UNIT, &mut space));
        assert!(a.grow(3 * UNIT, &mut space));
        assert!(a.grow(4 * UNIT, &mut space));
        assert_eq!(addresses(&a), [0, 3, 4, 5]);
        assert_eq!(addresses(&b), [1, 2]);
        assert_eq!(a.address(UNIT + 7), 3 * UNIT + 7);
        assert_eq!((a.list.len(), b.list.len()), (2, 1));
        // The hole that b leaves is taken by the next file that fits.
        b.shrink(0, &mut space);
        let mut c = Extents::default();
        assert!(c.grow(3 * UNIT, &mut space));
        assert_eq!(addresses(&c), [6, 7, 8]);
        assert!(b.grow(2 * UNIT, &mut space));
        assert_eq!(addresses(&b), [1, 2]);
    }

    #[test]
    fn a_full_device_refuses_and_changes_nothing() {
        let mut space = Space::new(Some(10 * UNIT));
        let (mut a, mut b) = (Extents::default(), Extents::default());
        assert!(a.grow(6 * UNIT, &mut space));
        assert!(b.grow(3 * UNIT, &mut space));
        a.shrink(4 * UNIT, &mut space);
        assert!(!b.grow(7 * UNIT, &mut space));
        assert_eq!(b.units, 3);
        assert!(b.grow(6 * UNIT, &mut space));
        assert_eq!(addresses(&b), [6, 7, 8, 9, 4, 5]);
    }

    proptest! {
        /// No unit belongs to two files or to none.
        #[test]
        fn units_are_neither_lost_nor_shared(steps in prop::collection::vec((0usize..4, 0u64..20), 1..60)) {
            let mut space = Space::new(Some(40 * UNIT));
            let mut files = vec![Extents::default(); 4];
            for (file, units) in steps {
                let held: u64 = files.iter().map(|file| file.units).sum();
                let before = files[file].units;
                let fits = held - before + units <= 40;
                if units > before {
                    prop_assert_eq!(files[file].grow(units * UNIT, &mut space), fits);
                } else {
                    files[file].shrink(units * UNIT, &mut space);
                }
                prop_assert_eq!(files[file].units, if fits { units } else { before });
                let mut all: Vec<u64> = files.iter().flat_map(addresses).collect();
                for (&start, &length) in &space.free {
                    all.extend(start..start + length);
                }
                all.sort_unstable();
                prop_assert_eq!(all, (0..40).collect::<Vec<_>>());
            }
        }
    }
}
