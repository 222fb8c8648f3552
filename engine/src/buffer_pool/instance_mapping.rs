//! Which instance of the pool a page belongs to.
//!
//! The pool is split into *instances*, each with its own lists, hash table and
//! mutexes. A page's instance follows from its address alone, and all pages of an
//! aligned area of 64 pages (1 MiB, the unit of read-ahead and of flushing
//! neighbours) are in one instance:
//!
//! ```text
//!   space 5:  pages 0..63   64..127  128..191  192..255 ...
//!   4 instances:   1           2         3         0          (5 << 20) + 5 + area, mod 4
//! ```
//!
//! A hot index of a few hundred pages can therefore land in a few instances only.

use crate::page::PageId;

/// Pages of an area: those of one area are all in one instance.
pub const AREA_PAGES: u32 = 64;

/// Most instances that InnoDB allows (`MAX_BUFFER_POOLS`).
pub const INSTANCES_MAX: usize = 64;

/// The instance of a page, of `instances` in all (InnoDB 5.5 to 8.4).
#[inline]
pub fn instance_of(page: PageId, instances: usize) -> usize {
    if instances == 1 {
        return 0;
    }
    let space = u64::from(page.space.0);
    let area = u64::from(page.page.0 / AREA_PAGES);
    let fold = (space << 20) + space + area;
    (fold % instances as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_in_one_instance_and_the_next_one_in_the_next() {
        for page in 0..64 {
            assert_eq!(instance_of(PageId::new(5, page), 4), 1);
        }
        assert_eq!(instance_of(PageId::new(5, 64), 4), 2);
        assert_eq!(instance_of(PageId::new(5, 3 * 64), 4), 0);
        // (7 << 20) + 7 + 1000 / 64 = 7340032 + 7 + 15 = 7340054 = 6 * 1223342 + 2.
        assert_eq!(instance_of(PageId::new(7, 1000), 6), 2);
        assert_eq!(instance_of(PageId::new(7, 1000), 1), 0);
    }

    #[test]
    fn areas_of_a_large_file_spread_evenly() {
        let mut counts = [0; 8];
        for area in 0..8000 {
            counts[instance_of(PageId::new(3, area * 64), 8)] += 1;
        }
        assert_eq!(counts, [1000; 8]);
    }
}
