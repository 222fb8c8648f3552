//! The young rule: when a page that is used moves to the head of the LRU list.
//!
//! A true LRU list would move a page at every use, under the list's mutex: far too
//! often. InnoDB moves one only if that would change something:
//!
//! ```text
//!   nothing was evicted yet           -> stay: the order does not matter
//!   in the old sublist                -> move if the first use was long enough ago
//!                                        (innodb_old_blocks_time), else "not young"
//!   in the new sublist                -> move if the page has sunk below about the
//!                                        first quarter of the new sublist
//! ```
//!
//! How far a page has sunk is estimated without looking at the list: by the pages that
//! were evicted since it was last put at the head. The time of the first use is never
//! renewed: a page used often within its first second stays old until it is used after
//! that second, and a scan, which leaves its page within a millisecond, never promotes
//! it.
//!
//! Source: InnoDB 5.1 plugin to 8.4.

use super::lru_list::OLD_RATIO_DIVISOR;

/// What to do with a page that was just used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YoungDecision {
    /// Leave it where it is.
    Stay,
    /// Leave it in the old sublist, and count it as not made young.
    StayOld,
    /// Move it to the head of the list.
    MoveToHead,
}

/// What the rule looks at.
#[derive(Clone, Copy, Debug)]
pub struct YoungSnapshot {
    /// Pages that the instance has evicted since it started.
    pub evictions: u64,
    /// The same, modulo 2^31, when the page was last put at the head.
    pub stamp: u32,
    /// Whether the page is in the old sublist.
    pub is_old: bool,
    /// When the page was first used, in milliseconds; 0 if this is the first use.
    pub first_use: u32,
    /// Frames of the instance.
    pub frames: usize,
    /// The old sublist's share of the list, in 1024ths.
    pub old_ratio: usize,
    /// `innodb_old_blocks_time`, in milliseconds.
    pub old_blocks_time: u32,
}

impl YoungSnapshot {
    /// Evictions after which a page at the head has sunk through a quarter of the new
    /// sublist, about.
    #[inline]
    pub fn quarter(&self) -> u64 {
        (self.frames * (OLD_RATIO_DIVISOR - self.old_ratio) / (OLD_RATIO_DIVISOR * 4)) as u64
    }

    /// Whether the page is in the young quarter, by the estimate.
    #[inline]
    pub fn is_young_enough(&self) -> bool {
        const CLOCK_MASK: u64 = (1 << 31) - 1;
        self.evictions & CLOCK_MASK < u64::from(self.stamp) + self.quarter()
    }

    /// The rule. `now`, in milliseconds, is asked for only where it matters.
    #[inline]
    pub fn decide(&self, now: impl FnOnce() -> u32) -> YoungDecision {
        if self.evictions == 0 {
            YoungDecision::Stay
        } else if self.is_old && self.old_blocks_time > 0 {
            let was_used = self.first_use > 0;
            if was_used && now().wrapping_sub(self.first_use) >= self.old_blocks_time {
                YoungDecision::MoveToHead
            } else {
                YoungDecision::StayOld
            }
        } else if self.is_young_enough() {
            YoungDecision::Stay
        } else {
            YoungDecision::MoveToHead
        }
    }
}

#[cfg(test)]
mod tests {
    use super::YoungDecision::*;
    use super::*;

    /// A page of a pool of 8192, in the new sublist, put at the head at eviction 1000.
    const PAGE: YoungSnapshot = YoungSnapshot {
        evictions: 1000,
        stamp: 1000,
        is_old: false,
        first_use: 10,
        frames: 8192,
        old_ratio: 378,
        old_blocks_time: 1000,
    };

    const OLD: YoungSnapshot = YoungSnapshot {
        is_old: true,
        stamp: 0,
        ..PAGE
    };

    fn never() -> u32 {
        panic!("the time is not asked for")
    }

    #[test]
    fn a_quarter_of_8192_pages_is_1292_evictions() {
        assert_eq!(PAGE.quarter(), 1292);
    }

    #[test]
    fn before_the_first_eviction_no_page_ever_moves() {
        for page in [PAGE, OLD] {
            let page = YoungSnapshot {
                evictions: 0,
                first_use: 1,
                ..page
            };
            assert_eq!(page.decide(|| u32::MAX), Stay);
        }
    }

    #[test]
    fn an_old_page_moves_a_second_after_its_first_use() {
        assert_eq!(OLD.decide(|| 10 + 999), StayOld);
        assert_eq!(OLD.decide(|| 10 + 1000), MoveToHead);
        let first = YoungSnapshot {
            first_use: 0,
            ..OLD
        };
        assert_eq!(first.decide(|| 5000), StayOld, "this is its first use");
    }

    #[test]
    fn a_new_page_moves_once_it_has_sunk_through_a_quarter() {
        let after = |evictions: u64| YoungSnapshot {
            evictions: 1000 + evictions,
            ..PAGE
        };
        assert_eq!(after(1291).decide(never), Stay);
        assert_eq!(after(1292).decide(never), MoveToHead);
    }

    #[test]
    fn without_a_time_old_pages_follow_the_rule_of_new_ones() {
        let page = YoungSnapshot {
            old_blocks_time: 0,
            first_use: 0,
            ..OLD
        };
        assert_eq!(page.decide(never), Stay, "1000 evictions since the start");
        let page = YoungSnapshot {
            evictions: 1292,
            ..page
        };
        assert_eq!(page.decide(never), MoveToHead);
    }

    #[test]
    fn the_clock_is_compared_modulo_2_31() {
        let page = YoungSnapshot {
            evictions: (1 << 31) + 5,
            stamp: 0,
            ..PAGE
        };
        assert_eq!(page.decide(never), Stay);
    }
}
