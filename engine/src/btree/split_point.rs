//! Where a full page is split.
//!
//! In the middle is right only if keys come in no order. If they ascend, as with
//! AUTO_INCREMENT, the left half would stay half empty for ever; so the page remembers
//! where the last record went, and if this one goes next to it, that counts as a pattern:
//!
//! ```text
//!   last insert 40, now 41      10 20 30 40 |41          split at the new record
//!   the same, records behind    10 20 30 40 41 50 |60 70 all but one go
//!   last insert 30, now 29      |29 30 40 50  (downwards) the new page is on the left
//!   no pattern                  10 20 30 | 40 50 60
//! ```
//!
//! InnoDB splits once more if the record still does not fit its half. Here a border is
//! looked for at which both halves fit; there always is one, as a record is smaller than
//! half a page.
//!
//! Source: InnoDB (`btr_page_get_split_rec_to_right`, `..._to_left`,
//! `page_get_middle_rec`, `btr_page_split_and_insert`).

use crate::page::index_header::{FREE_SPACE_OF_EMPTY_PAGE, INFIMUM, reserved_directory_space};
use crate::page::{IndexPage, RecordFormat};
use crate::page_allocation::AllocationDirection;

/// How a page is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitPoint {
    /// How many of the page's records are in the left half.
    pub border: usize,
    /// Whether the new record goes to the left half.
    pub new_goes_left: bool,
    /// [`Up`](AllocationDirection::Up): the new page is the right half;
    /// [`Down`](AllocationDirection::Down): the left one.
    pub direction: AllocationDirection,
}

/// A pattern of the last inserts, as a new record continues it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertPattern {
    /// The new record follows the one inserted last.
    Ascending,
    /// The new record precedes it.
    Descending,
    /// Neither.
    None,
}

/// The pattern that a record inserted after `after` continues.
pub fn insert_pattern(page: IndexPage<'_>, after: u16) -> InsertPattern {
    let last = page.last_insert();
    if last == 0 {
        InsertPattern::None
    } else if last == after {
        InsertPattern::Ascending
    } else if last == page.next(after) {
        InsertPattern::Descending
    } else {
        InsertPattern::None
    }
}

/// InnoDB's choice for a page of `records` records and a new one that comes after the
/// first `place` of them.
pub fn preferred_split(records: usize, place: usize, pattern: InsertPattern) -> SplitPoint {
    let up = AllocationDirection::Up;
    let split = |border, new_goes_left, direction| SplitPoint {
        border,
        new_goes_left,
        direction,
    };
    match pattern {
        // At most one record behind: the new one begins the right half. Else one record
        // behind it stays with it.
        InsertPattern::Ascending if records - place <= 1 => split(place, false, up),
        InsertPattern::Ascending => split(place + 1, true, up),
        // In the middle of a page the record before goes along, or the next split would
        // have to move all that is below once more.
        InsertPattern::Descending if place >= 2 => {
            split(place - 1, false, AllocationDirection::Down)
        }
        InsertPattern::Descending => split(place, true, AllocationDirection::Down),
        InsertPattern::None if records > 1 => split(records / 2, place <= records / 2, up),
        InsertPattern::None => split(place, place == 0, up),
    }
}

/// Chooses how to split a page for a record of `size` bytes that is to come after the
/// record `after`.
pub fn choose_split(
    page: IndexPage<'_>,
    format: &RecordFormat,
    after: u16,
    size: usize,
) -> SplitPoint {
    let place = match after {
        INFIMUM => 0,
        after => page.records_before(after) + 1,
    };
    let preferred = preferred_split(page.record_count(), place, insert_pattern(page, after));
    let sizes = || page.records().map(|record| record.extent(format).size());
    if fits(sizes(), place, size, preferred) {
        return preferred;
    }
    balanced_split(sizes(), page.record_count(), place, size)
}

/// Whether both halves fit a page.
fn fits(sizes: impl Iterator<Item = usize>, place: usize, new: usize, split: SplitPoint) -> bool {
    debug_assert!(match split.new_goes_left {
        true => place <= split.border,
        false => place >= split.border,
    });
    let (mut left, mut right) = (Half::default(), Half::default());
    for (index, size) in sizes.enumerate() {
        if index < split.border {
            left.add(size);
        } else {
            right.add(size);
        }
    }
    match split.new_goes_left {
        true => left.add(new),
        false => right.add(new),
    }
    left.fits() && right.fits()
}

#[derive(Clone, Copy, Default)]
struct Half {
    records: usize,
    bytes: usize,
}

impl Half {
    fn add(&mut self, size: usize) {
        self.records += 1;
        self.bytes += size;
    }

    fn fits(self) -> bool {
        self.bytes + reserved_directory_space(self.records) <= FREE_SPACE_OF_EMPTY_PAGE
    }
}

/// The border at which the halves differ least, of those at which both fit.
fn balanced_split(
    sizes: impl Iterator<Item = usize> + Clone,
    records: usize,
    place: usize,
    new: usize,
) -> SplitPoint {
    let total: usize = sizes.clone().sum::<usize>() + new;
    let mut best: Option<(usize, SplitPoint)> = None;
    let mut left = Half::default();
    let mut sizes = sizes;
    // The left half has `border` of the old records, and the new one or not.
    for taken in 1..=records {
        let new_goes_left = taken > place;
        let border = taken - usize::from(new_goes_left);
        left.add(match taken == place + 1 {
            true => new,
            false => sizes.next().unwrap_or(0),
        });
        let right = Half {
            records: records + 1 - taken,
            bytes: total - left.bytes,
        };
        let difference = left.bytes.abs_diff(right.bytes);
        if left.fits() && right.fits() && best.is_none_or(|(least, _)| difference < least) {
            let split = SplitPoint {
                border,
                new_goes_left,
                direction: AllocationDirection::Up,
            };
            best = Some((difference, split));
        }
    }
    best.expect("a record is smaller than half a page").1
}

#[cfg(test)]
mod tests {
    use super::AllocationDirection::{Down, Up};
    use super::*;
    use crate::page::record_build::MAX_RECORD_SIZE;
    use crate::page::{Column, NoLog, PAGE_SIZE, PageId, PageWriter, RecordBuffer};
    use proptest::prelude::*;

    fn split(border: usize, new_goes_left: bool, direction: AllocationDirection) -> SplitPoint {
        SplitPoint {
            border,
            new_goes_left,
            direction,
        }
    }

    #[test]
    fn ascending_keys_fill_pages_to_the_end() {
        let ascending = |place| preferred_split(70, place, InsertPattern::Ascending);
        assert_eq!(ascending(70), split(70, false, Up));
        // One record behind begins the right half, after the new one.
        assert_eq!(ascending(69), split(69, false, Up));
        // Two: the next one stays, so that the new one is not the last of its page.
        assert_eq!(ascending(68), split(69, true, Up));
        assert_eq!(ascending(10), split(11, true, Up));
    }

    #[test]
    fn descending_keys_put_the_new_page_on_the_left() {
        let descending = |place| preferred_split(70, place, InsertPattern::Descending);
        assert_eq!(descending(0), split(0, true, Down));
        assert_eq!(descending(1), split(1, true, Down));
        // In the middle the record before the new one goes to the right with it.
        assert_eq!(descending(40), split(39, false, Down));
    }

    #[test]
    fn without_a_pattern_the_middle_is_the_border() {
        let split_at = |records, place| preferred_split(records, place, InsertPattern::None);
        assert_eq!(split_at(70, 10), split(35, true, Up));
        assert_eq!(split_at(70, 35), split(35, true, Up));
        assert_eq!(split_at(70, 36), split(35, false, Up));
        assert_eq!(split_at(3, 3), split(1, false, Up));
        assert_eq!(split_at(2, 0), split(1, true, Up));
        assert_eq!(split_at(1, 0), split(0, true, Up));
        assert_eq!(split_at(1, 1), split(1, false, Up));
    }

    /// A page with a record of each size, in the order of keys.
    fn filled(format: &RecordFormat, sizes: &[usize]) -> (Box<[u8; PAGE_SIZE]>, usize) {
        let mut page = Box::new([0; PAGE_SIZE]);
        let mut log = NoLog;
        let mut writer = PageWriter::new(&mut page, &mut log);
        writer.initialise_index_page(PageId::new(1, 4), 0, 9);
        let mut buffer = RecordBuffer::new();
        let mut after = INFIMUM;
        let mut count = 0;
        for (number, &size) in sizes.iter().enumerate() {
            let key = (number as u32).to_be_bytes();
            let value = vec![7; size];
            format
                .build(&[Some(&key), Some(&value)], &mut buffer)
                .unwrap();
            match writer.insert_record(format, after, buffer.image()) {
                Some(origin) => after = origin,
                None => break,
            }
            count += 1;
        }
        drop(writer);
        (page, count)
    }

    #[test]
    fn the_pattern_is_that_of_the_record_inserted_last() {
        let format = RecordFormat::secondary(&[Column::fixed(4), Column::variable(8000)]).unwrap();
        let (page, count) = filled(&format, &[100; 20]);
        let page = IndexPage::new(&page);
        let last = page.nth_record(count - 1);
        assert_eq!(insert_pattern(page, last), InsertPattern::Ascending);
        let before = page.previous(last);
        assert_eq!(insert_pattern(page, before), InsertPattern::Descending);
        assert_eq!(insert_pattern(page, INFIMUM), InsertPattern::None);
    }

    proptest! {
        /// Whatever is on the page and whatever comes, both halves fit and none is empty.
        #[test]
        fn both_halves_fit(
            sizes in prop::collection::vec(prop_oneof![0usize..60, 0usize..8000], 1..400),
            place: prop::sample::Index,
            new in 1usize..8000,
            pattern in 0..2u8,
        ) {
            let format =
                RecordFormat::secondary(&[Column::fixed(4), Column::variable(8000)]).unwrap();
            let (page, count) = filled(&format, &sizes);
            let view = IndexPage::new(&page);
            let new = new.min(MAX_RECORD_SIZE);
            // Splits are for records that do not fit.
            prop_assume!(view.max_insert_size_after_reorganise(1) < new);
            let place = match pattern {
                0 => count,
                _ => place.index(count + 1),
            };
            let after = match place {
                0 => INFIMUM,
                place => view.nth_record(place - 1),
            };
            let split = choose_split(view, &format, after, new);
            let sizes = view.records().map(|record| record.extent(&format).size());
            prop_assert!(fits(sizes, place, new, split));
            let left = split.border + usize::from(split.new_goes_left);
            prop_assert!(left > 0 && left <= count, "{split:?} of {count}");
        }
    }
}
