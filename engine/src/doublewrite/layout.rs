//! Which bytes of which doublewrite file are whose.
//!
//! A file is an array of pages without a header: whose copy a page is stands in the page.
//!
//! ```text
//!   #ib_16384_0.dblwr   [segment][segment][segment]                   flush-list batches
//!   #ib_16384_1.dblwr   [segment][segment][segment][slot][slot] ...   LRU batches, and
//!                        N pages                    1 page             single pages
//! ```
//!
//! A batch is written to whichever segment of its kind is free. There are a few more
//! segments than batches, so that a batch can be written while the one before has ended
//! and is only waiting for the flush of the data files.
//!
//! Source: InnoDB 8.0.20 to 8.4; the default's file sizes are those of real servers.

use crate::buffer_pool::FlushKind;

/// Slots for single-page flushes, in all files together.
pub const SINGLE_PAGE_SLOTS: usize = 512;

/// The division of the doublewrite files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    files: usize,
    instances: usize,
    batch_pages: usize,
    segments_per_file: usize,
}

/// Where a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentPlace {
    /// The file's number.
    pub file: usize,
    /// The first page in it.
    pub first_page: usize,
    /// Whose batches it is for: LRU or flush-list.
    pub kind: FlushKind,
}

impl Layout {
    /// The division for a pool of so many instances, with so many files and pages of a
    /// batch; each at least 1.
    pub fn new(pool_instances: usize, files: usize, batch_pages: usize) -> Self {
        let instances = (2 * pool_instances).max(4);
        let files = files.max(1);
        Layout {
            files,
            instances,
            batch_pages: batch_pages.max(1),
            segments_per_file: match instances < files {
                true => 1,
                false => instances / files + 1,
            },
        }
    }

    /// Files.
    pub fn files(&self) -> usize {
        self.files
    }

    /// Batches that can be filled at the same time: those of LRU flushes, then those of
    /// flush-list flushes.
    pub fn instances(&self) -> usize {
        self.instances
    }

    /// Pages of a batch.
    pub fn batch_pages(&self) -> usize {
        self.batch_pages
    }

    /// The batch of an instance of the buffer pool and a kind of flush.
    pub fn instance_of(&self, pool_instance: usize, kind: FlushKind) -> usize {
        let half = self.instances / 2;
        match kind {
            FlushKind::List => half + pool_instance % half,
            FlushKind::Lru | FlushKind::SinglePage => pool_instance % half,
        }
    }

    /// All segments, in the order in which they are handed out at first.
    pub fn segments(&self) -> impl Iterator<Item = SegmentPlace> + '_ {
        (0..self.files * self.segments_per_file).map(|number| {
            let file = number / self.segments_per_file;
            // A single file is shared by both kinds, in turn.
            let decides = if self.files > 1 { file } else { number };
            SegmentPlace {
                file,
                first_page: number % self.segments_per_file * self.batch_pages,
                kind: match decides % 2 {
                    0 => FlushKind::List,
                    _ => FlushKind::Lru,
                },
            }
        })
    }

    fn slots_of_file(&self, file: usize) -> usize {
        match (self.files, file % 2) {
            (1, _) => SINGLE_PAGE_SLOTS,
            (_, 0) => 0,
            _ => SINGLE_PAGE_SLOTS / (self.files / 2),
        }
    }

    /// Slots for single pages; all [`SINGLE_PAGE_SLOTS`] of them, but for rounding.
    pub fn single_page_slots(&self) -> usize {
        (0..self.files).map(|file| self.slots_of_file(file)).sum()
    }

    /// The file of a single-page slot, and the page in it.
    pub fn single_page_slot(&self, number: usize) -> (usize, usize) {
        let first = self.segments_per_file * self.batch_pages;
        if self.files == 1 {
            return (0, first + number);
        }
        // Those with odd numbers have the slots, all equally many.
        let of_file = self.slots_of_file(1);
        (1 + 2 * (number / of_file), first + number % of_file)
    }

    /// Pages of a file.
    pub fn file_pages(&self, file: usize) -> usize {
        self.segments_per_file * self.batch_pages + self.slots_of_file(file)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PAGE: usize = 16384;

    /// Files of default installations (8.0 and 8.4), and one computed by their rule.
    #[test]
    fn files_have_the_sizes_of_the_server() {
        let sizes = |layout: Layout| [0, 1].map(|file| layout.file_pages(file) * PAGE);
        assert_eq!(sizes(Layout::new(1, 2, 4)), [196_608, 8_585_216]);
        assert_eq!(sizes(Layout::new(1, 2, 128)), [6_291_456, 14_680_064]);
        assert_eq!(sizes(Layout::new(8, 2, 128)), [18_874_368, 27_262_976]);
    }

    #[test]
    fn an_instance_has_a_batch_for_each_kind() {
        let layout = Layout::new(1, 2, 4);
        assert_eq!(layout.instances(), 4);
        assert_eq!(layout.instance_of(0, FlushKind::Lru), 0);
        assert_eq!(layout.instance_of(0, FlushKind::List), 2);
        let layout = Layout::new(8, 2, 4);
        let of_kind = |kind| (0..8).map(move |instance| (instance, kind));
        let batches: BTreeSet<_> = of_kind(FlushKind::Lru)
            .chain(of_kind(FlushKind::List))
            .map(|(instance, kind)| layout.instance_of(instance, kind))
            .collect();
        assert!(batches.into_iter().eq(0..16));
    }

    /// Whatever the numbers: no page of a file is in two places, none is left over, and
    /// each kind has a segment.
    #[test]
    fn places_do_not_overlap() {
        for pool_instances in [1, 2, 3, 8, 64] {
            for files in [1, 2, 3, 4, 7, 16, 256] {
                let layout = Layout::new(pool_instances, files, 5);
                let mut taken = BTreeSet::new();
                let mut kinds = [0; 2];
                for place in layout.segments() {
                    kinds[place.kind as usize] += 1;
                    for page in 0..5 {
                        assert!(taken.insert((place.file, place.first_page + page)));
                    }
                }
                assert!(kinds[0] > 0 && kinds[1] > 0, "{kinds:?}");
                for number in 0..layout.single_page_slots() {
                    assert!(taken.insert(layout.single_page_slot(number)));
                }
                let all = (0..files)
                    .flat_map(|file| (0..layout.file_pages(file)).map(move |page| (file, page)));
                assert!(taken.into_iter().eq(all), "{pool_instances}, {files}");
            }
        }
    }

    #[test]
    fn more_files_than_batches_have_a_segment_each() {
        let layout = Layout::new(1, 8, 10);
        assert_eq!(layout.segments().count(), 8);
        assert_eq!(layout.single_page_slots(), 512);
        assert_eq!(layout.file_pages(0), 10);
        assert_eq!(layout.file_pages(7), 10 + 128);
    }
}
