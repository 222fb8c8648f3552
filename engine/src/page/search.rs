//! Finding a record on a page.
//!
//! Halve the directory until two neighbouring slots enclose the key, then walk
//! the records between them, seven at most. The result is always a record:
//! infimum or supremum if there is no better one.
//!
//! ```text
//!   records  inf  10  20  20  30  sup        key 20
//!
//!   Less              10                     the last below the key
//!   LessOrEqual               20             the last not above it
//!   GreaterOrEqual        20                 the first not below it
//!   Greater                       30         the first above it
//! ```
//!
//! Descending a tree uses `LessOrEqual` (or `Less`, to find the first of several
//! equal prefixes); an insert uses `LessOrEqual`, and puts the record after what
//! it found.

use std::cmp::Ordering;

use super::index_page::IndexPage;
use super::record::Record;
use super::record_compare::{Comparison, KeyField, compare_u32};
use super::record_format::RecordFormat;

/// Which record a search returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchMode {
    /// The last record below the key.
    Less,
    /// The last record not above the key.
    LessOrEqual,
    /// The first record not below the key.
    GreaterOrEqual,
    /// The first record above the key.
    Greater,
}

impl SearchMode {
    /// Whether the wanted record is at the lower border: below or at the key.
    #[inline(always)]
    fn wants_lower(self) -> bool {
        matches!(self, SearchMode::Less | SearchMode::LessOrEqual)
    }

    /// Whether records equal to the key are below the border that is searched.
    #[inline(always)]
    fn equal_is_below(self) -> bool {
        matches!(self, SearchMode::LessOrEqual | SearchMode::Greater)
    }
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchResult {
    /// The record; infimum or supremum if the page has none that fits.
    pub origin: u16,
    /// How many leading fields of the key are equal to that record's. All of them
    /// after `LessOrEqual` means that the key exists.
    pub matched: usize,
}

impl<'a> IndexPage<'a> {
    /// Searches the page. The key may have fewer fields than the index's key.
    ///
    /// # Panics
    /// If the key has more fields than the index's key.
    pub fn search(
        self,
        format: &RecordFormat,
        key: &[KeyField<'_>],
        mode: SearchMode,
    ) -> SearchResult {
        assert!(
            key.len() <= format.key_fields(),
            "the key is longer than the index's"
        );
        if format.has_fixed_prefix(key.len()) {
            if let &[Some(field)] = key
                && let Ok(bytes) = <[u8; 4]>::try_from(field)
                && format.columns()[0].max_length() == 4
            {
                let key = u32::from_be_bytes(bytes);
                return self.search_with(mode, |record, _| compare_u32(key, record));
            }
            self.search_with(mode, |record, skip| format.compare_fixed(key, record, skip))
        } else {
            self.search_with(mode, |record, _| format.compare_any(key, record))
        }
    }

    /// The search itself. `compare` is told how many leading fields are equal for
    /// certain: those which both borders share with the key.
    #[inline(always)]
    fn search_with(
        self,
        mode: SearchMode,
        compare: impl Fn(Record<'a>, usize) -> Comparison,
    ) -> SearchResult {
        let is_leaf = self.is_leaf();
        let equal_is_below = mode.equal_is_below();
        let (mut low_matched, mut high_matched) = (0, 0);
        let mut judge = |origin: u16| {
            let record = self.record(origin);
            let skip = low_matched.min(high_matched);
            let comparison = if !is_leaf && record.is_min_rec() {
                Comparison {
                    ordering: Ordering::Greater,
                    matched: 0,
                }
            } else {
                compare(record, skip)
            };
            let below = match comparison.ordering {
                Ordering::Greater => true,
                Ordering::Equal => equal_is_below,
                Ordering::Less => false,
            };
            if below {
                low_matched = comparison.matched;
            } else {
                high_matched = comparison.matched;
            }
            below
        };

        let (mut low_slot, mut high_slot) = (0, self.slot_count() - 1);
        while high_slot - low_slot > 1 {
            let middle = (low_slot + high_slot) / 2;
            if judge(self.slot(middle)) {
                low_slot = middle;
            } else {
                high_slot = middle;
            }
        }
        let (mut low, mut high) = (self.slot(low_slot), self.slot(high_slot));
        loop {
            let middle = self.next(low);
            if middle == high {
                break;
            }
            if judge(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        match mode.wants_lower() {
            true => SearchResult {
                origin: low,
                matched: low_matched,
            },
            false => SearchResult {
                origin: high,
                matched: high_matched,
            },
        }
    }
}
