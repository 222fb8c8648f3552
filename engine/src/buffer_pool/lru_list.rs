//! The LRU list with its midpoint: which page leaves next.
//!
//! ```text
//!   head                                 old pointer                        tail
//!    |<------------ new sublist ------------>|<-------- old sublist -------->|
//!    v                                       v                               v
//!   [ ]-[ ]-[ ]-[ ]-[ ]-[ ]-[ ]-[ ]-[ ]-[ ]-[o]-[o]-[o]-[o]-[o]-[o]-[o]-[o]-[o]
//!    ^                                          ^                            |
//!    pages made young come here                 pages just read come here    v
//!                                                                     evicted or
//!                                                                     flushed
//! ```
//!
//! A page that was just read goes to the *midpoint*, the head of the old sublist, about
//! 3/8 of the list from the tail. It gets to the real head only if it is used again
//! later (see [`young_rule`](super::young_rule)). So a table scan, which uses every page
//! once, streams through the old sublist and leaves the new one alone.
//!
//! The old pointer is moved one page at a time and only when the old sublist is more
//! than [`OLD_TOLERANCE`] pages off its wanted length: a pool where the pointer moved at
//! every insert would touch one more control block at each.
//!
//! Several scans from the tail are under way at one time, and pages leave the list under
//! them. Each has a *hazard pointer* in the list: the page where it will go on. If that
//! page leaves, the pointer moves towards the head.
//!
//! Source: InnoDB 5.1 plugin to 8.4.

use super::control_block::ControlBlock;
use super::index_list::IndexList;

/// Below this length the list has no old sublist (`BUF_LRU_OLD_MIN_LEN`).
pub const OLD_LENGTH_MIN: usize = 512;
/// By how many pages the old sublist may differ from its wanted length
/// (`BUF_LRU_OLD_TOLERANCE`).
pub const OLD_TOLERANCE: usize = 20;
/// Pages that are never old, besides the tolerance (`BUF_LRU_NON_OLD_MIN_LEN`).
pub const NEW_LENGTH_MIN: usize = 5;
/// What an old ratio is divided by (`BUF_LRU_OLD_RATIO_DIV`).
pub const OLD_RATIO_DIVISOR: usize = 1024;
/// The smallest old ratio (`BUF_LRU_OLD_RATIO_MIN`).
pub const OLD_RATIO_MIN: usize = 51;
/// The first search for a free frame looks at so many pages
/// (`BUF_LRU_SEARCH_SCAN_THRESHOLD`).
pub const SEARCH_DEPTH: usize = 100;
/// LRU batches leave lists alone that are not longer than this (`BUF_LRU_MIN_LEN`).
pub const BATCH_LENGTH_MIN: usize = 256;

/// The old ratio, in 1024ths of the list, for `innodb_old_blocks_pct`.
pub fn old_ratio(old_blocks_pct: u64) -> usize {
    (old_blocks_pct as usize * OLD_RATIO_DIVISOR / 100).clamp(OLD_RATIO_MIN, OLD_RATIO_DIVISOR)
}

/// A scan that goes through the list from the tail, and may be interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// Of an LRU batch: `lru_hp`.
    Batch,
    /// Of those who search a clean page, shared by all: `lru_scan_itr`.
    Search,
    /// Of single-page flushes, shared by all: `single_scan_itr`.
    SingleFlush,
}

const SCANS: usize = 3;

/// The LRU list of an instance; see the module's opening.
///
/// The old marks and the eviction stamps are in the control blocks, where the young
/// rule reads them without the mutex; only this list writes them.
#[derive(Debug)]
pub(super) struct LruList {
    list: IndexList,
    /// The first page of the old sublist, if there is one.
    old_first: Option<u32>,
    old_length: usize,
    old_ratio: usize,
    hazards: [Option<u32>; SCANS],
}

impl LruList {
    /// An empty list of an instance of so many frames.
    pub(super) fn new(frames: usize, old_ratio: usize) -> Self {
        LruList {
            list: IndexList::new(frames),
            old_first: None,
            old_length: 0,
            old_ratio,
            hazards: [None; SCANS],
        }
    }

    /// Pages in the list.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Pages in the old sublist.
    pub(super) fn old_len(&self) -> usize {
        self.old_length
    }

    /// Whether the frame's page is in the list.
    pub(super) fn contains(&self, frame: u32) -> bool {
        self.list.contains(frame)
    }

    /// The frames from head to tail.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.list.iter()
    }

    /// The length that the old sublist should have.
    fn wanted_old_length(&self) -> usize {
        let length = self.list.len();
        let share = length * self.old_ratio / OLD_RATIO_DIVISOR;
        share.min(length - (OLD_TOLERANCE + NEW_LENGTH_MIN))
    }

    /// Changes the old ratio (`innodb_old_blocks_pct` is dynamic).
    pub(super) fn set_old_ratio(&mut self, blocks: &[ControlBlock], old_ratio: usize) {
        self.old_ratio = old_ratio;
        if self.old_first.is_some() {
            self.adjust_old_pointer(blocks);
        }
    }

    /// Inserts a page that was just read or created: at the midpoint, or at the head
    /// while there is no old sublist. `clock` is the instance's count of evictions.
    pub(super) fn insert(&mut self, blocks: &[ControlBlock], frame: u32, clock: u64) {
        match self.old_first {
            Some(old_first) => {
                self.list.insert_after(old_first, frame);
                self.old_length += 1;
                blocks[frame as usize].set_old(true);
                self.adjust_old_pointer(blocks);
            }
            None => self.insert_at_head(blocks, frame, clock),
        }
    }

    /// Moves a page to the head; says whether it was old.
    pub(super) fn make_young(&mut self, blocks: &[ControlBlock], frame: u32, clock: u64) -> bool {
        let was_old = blocks[frame as usize].is_old();
        self.remove(blocks, frame);
        self.insert_at_head(blocks, frame, clock);
        was_old
    }

    fn insert_at_head(&mut self, blocks: &[ControlBlock], frame: u32, clock: u64) {
        let block = &blocks[frame as usize];
        self.list.push_first(frame);
        block.set_old(false);
        block.set_freed_page_clock(clock);
        if self.old_first.is_some() {
            self.adjust_old_pointer(blocks);
        } else if self.list.len() >= OLD_LENGTH_MIN {
            self.begin_old_sublist(blocks);
        }
    }

    /// Takes a page out of the list.
    pub(super) fn remove(&mut self, blocks: &[ControlBlock], frame: u32) {
        let towards_head = self.list.previous(frame);
        for hazard in &mut self.hazards {
            if *hazard == Some(frame) {
                *hazard = towards_head;
            }
        }
        if self.old_first == Some(frame) {
            let new_first = towards_head.expect("the new sublist is never empty");
            blocks[new_first as usize].set_old(true);
            self.old_first = Some(new_first);
            self.old_length += 1;
        }
        self.list.remove(frame);
        if self.old_first.is_none() {
            return;
        }
        if self.list.len() < OLD_LENGTH_MIN {
            self.end_old_sublist(blocks);
        } else {
            if blocks[frame as usize].is_old() {
                self.old_length -= 1;
            }
            self.adjust_old_pointer(blocks);
        }
        blocks[frame as usize].set_old(false);
    }

    /// The list has become long enough for two sublists: all of it is old at first.
    fn begin_old_sublist(&mut self, blocks: &[ControlBlock]) {
        for frame in self.list.iter() {
            blocks[frame as usize].set_old(true);
        }
        self.old_first = self.list.first();
        self.old_length = self.list.len();
        self.adjust_old_pointer(blocks);
    }

    /// The list has become too short for two sublists.
    fn end_old_sublist(&mut self, blocks: &[ControlBlock]) {
        for frame in self.list.iter() {
            blocks[frame as usize].set_old(false);
        }
        self.old_first = None;
        self.old_length = 0;
    }

    fn adjust_old_pointer(&mut self, blocks: &[ControlBlock]) {
        let wanted = self.wanted_old_length();
        while let Some(first) = self.old_first {
            if self.old_length + OLD_TOLERANCE < wanted {
                let before = self.list.previous(first);
                let before = before.expect("the wanted length leaves pages that are new");
                blocks[before as usize].set_old(true);
                self.old_first = Some(before);
                self.old_length += 1;
            } else if self.old_length > wanted + OLD_TOLERANCE {
                blocks[first as usize].set_old(false);
                self.old_first = self.list.next(first);
                self.old_length -= 1;
            } else {
                break;
            }
        }
    }

    // ---- scans ----------------------------------------------------------------

    /// Starts a scan at the tail.
    pub(super) fn start_at_tail(&mut self, scan: Scan) {
        self.hazards[scan as usize] = self.list.last();
    }

    /// Starts a shared scan: where the last one stopped if that is in the new sublist,
    /// at the tail otherwise. So a scan goes on only where a predecessor has looked at
    /// the whole old sublist in vain.
    pub(super) fn start_or_go_on(&mut self, blocks: &[ControlBlock], scan: Scan) {
        let place = self.hazards[scan as usize];
        if place.is_none_or(|frame| blocks[frame as usize].is_old()) {
            self.start_at_tail(scan);
        }
    }

    /// The next page of a scan, towards the head.
    pub(super) fn advance(&mut self, scan: Scan) -> Option<u32> {
        let hazard = &mut self.hazards[scan as usize];
        let frame = (*hazard)?;
        *hazard = self.list.previous(frame);
        Some(frame)
    }

    /// Ends a scan that nobody goes on with.
    pub(super) fn end_scan(&mut self, scan: Scan) {
        self.hazards[scan as usize] = None;
    }

    /// Whether marks, lengths and pointers agree: for checks.
    pub(super) fn faults(&self, blocks: &[ControlBlock]) -> Vec<String> {
        let mut faults = Vec::new();
        let frames: Vec<u32> = self.list.iter().collect();
        let marks: Vec<bool> = frames
            .iter()
            .map(|&f| blocks[f as usize].is_old())
            .collect();
        let old = marks.iter().filter(|&&old| old).count();
        let first_old = marks.iter().position(|&old| old);
        if old != self.old_length {
            faults.push(format!(
                "{old} pages are old, the list counts {}",
                self.old_length
            ));
        }
        if first_old.map(|place| frames[place]) != self.old_first {
            faults.push("the old pointer is not at the first old page".to_owned());
        }
        if first_old.is_some_and(|place| marks[place..].contains(&false)) {
            faults.push("a new page is behind an old one".to_owned());
        }
        if self.old_first.is_some() != (frames.len() >= OLD_LENGTH_MIN) {
            faults.push(format!(
                "an old sublist in a list of {}: {}",
                frames.len(),
                self.old_first.is_some()
            ));
        } else if self.old_first.is_some()
            && self.old_length.abs_diff(self.wanted_old_length()) > OLD_TOLERANCE
        {
            faults.push(format!(
                "{} old pages, {} wanted",
                self.old_length,
                self.wanted_old_length()
            ));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blocks(count: usize) -> Vec<ControlBlock> {
        (0..count).map(|_| ControlBlock::new()).collect()
    }

    /// A list of `length` pages, 0 inserted first.
    fn filled(blocks: &[ControlBlock], length: usize) -> LruList {
        let mut lru = LruList::new(blocks.len(), old_ratio(37));
        for frame in 0..length as u32 {
            lru.insert(blocks, frame, 0);
        }
        lru
    }

    #[test]
    fn the_ratio_of_the_default_is_378() {
        assert_eq!(old_ratio(37), 378);
        assert_eq!(old_ratio(5), 51);
        assert_eq!(old_ratio(95), 972);
        assert_eq!(old_ratio(100), 1024);
    }

    #[test]
    fn a_short_list_has_no_old_pages() {
        let blocks = blocks(600);
        let mut lru = filled(&blocks, 511);
        assert_eq!(lru.old_len(), 0);
        assert!(blocks.iter().all(|block| !block.is_old()));
        assert_eq!(lru.iter().next(), Some(510), "the youngest is at the head");

        // With page 512, all are old, then the pointer moves until it is within the
        // tolerance: 512 * 378 / 1024 = 189, + 20.
        lru.insert(&blocks, 511, 0);
        assert_eq!(lru.old_len(), 209);
        assert!(lru.faults(&blocks).is_empty());

        // And back: below 512 no page is old.
        lru.remove(&blocks, 300);
        assert_eq!(lru.old_len(), 0);
        assert!(blocks.iter().all(|block| !block.is_old()));
    }

    #[test]
    fn a_page_just_read_goes_behind_the_first_old_page() {
        let blocks = blocks(1000);
        let mut lru = filled(&blocks, 512);
        let first_old = lru.iter().nth(512 - 209).unwrap();
        assert_eq!(lru.old_first, Some(first_old));
        lru.insert(&blocks, 900, 0);
        // 513 * 378 / 1024 = 189: 210 old pages are one too many, so the first becomes new.
        assert_eq!(lru.old_len(), 209);
        assert_eq!(lru.old_first, Some(900));
        assert!(blocks[900].is_old() && !blocks[first_old as usize].is_old());
        assert!(lru.faults(&blocks).is_empty());
    }

    #[test]
    fn a_page_made_young_is_at_the_head_and_stamped() {
        let blocks = blocks(1000);
        let mut lru = filled(&blocks, 1000);
        let tail = lru.iter().last().unwrap();
        assert!(lru.make_young(&blocks, tail, 77), "it was old");
        assert_eq!(lru.iter().next(), Some(tail));
        assert_eq!(blocks[tail as usize].freed_page_clock(), 77);
        assert!(!lru.make_young(&blocks, tail, 78), "it was new");
        assert!(lru.faults(&blocks).is_empty());
    }

    #[test]
    fn a_change_of_the_ratio_moves_the_pointer() {
        let blocks = blocks(1024);
        let mut lru = filled(&blocks, 1024);
        lru.set_old_ratio(&blocks, old_ratio(5));
        assert_eq!(lru.old_len(), 51 + 20);
        lru.set_old_ratio(&blocks, old_ratio(95));
        assert_eq!(lru.old_len(), 972 - 20);
        // All old but 25 at most, whatever the ratio.
        lru.set_old_ratio(&blocks, old_ratio(100));
        assert_eq!(lru.old_len(), 1024 - 25 - 20);
        assert!(lru.faults(&blocks).is_empty());
    }

    #[test]
    fn scans_survive_the_removal_of_their_page() {
        let blocks = blocks(10);
        let mut lru = filled(&blocks, 5); // head 4 3 2 1 0 tail
        lru.start_at_tail(Scan::Batch);
        assert_eq!(lru.advance(Scan::Batch), Some(0));
        lru.remove(&blocks, 1);
        assert_eq!(lru.advance(Scan::Batch), Some(2));
        lru.make_young(&blocks, 3, 0); // head 3 4 2 0 tail
        assert_eq!(lru.advance(Scan::Batch), Some(4));
        assert_eq!(lru.advance(Scan::Batch), Some(3));
        assert_eq!(lru.advance(Scan::Batch), None);
    }

    #[test]
    fn a_shared_scan_goes_on_only_beyond_the_old_sublist() {
        let blocks = blocks(1000);
        let mut lru = filled(&blocks, 1000);
        let tail = lru.iter().last();
        let scan = Scan::Search;
        lru.start_or_go_on(&blocks, scan);
        for _ in 0..10 {
            lru.advance(scan);
        }
        lru.start_or_go_on(&blocks, scan);
        assert_eq!(lru.advance(scan), tail, "still in the old sublist: again");
        for _ in 0..lru.old_len() + 9 {
            lru.advance(scan);
        }
        let place = lru.hazards[scan as usize];
        lru.start_or_go_on(&blocks, scan);
        assert_eq!(lru.advance(scan), place);
        // The other scans are their own.
        lru.start_or_go_on(&blocks, Scan::SingleFlush);
        assert_eq!(lru.advance(Scan::SingleFlush), tail);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u32),
        MakeYoung(u32),
        Remove(u32),
        Percent(u64),
        Advance,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            6 => (0u32..700).prop_map(Step::Insert),
            3 => (0u32..700).prop_map(Step::MakeYoung),
            3 => (0u32..700).prop_map(Step::Remove),
            1 => (5u64..96).prop_map(Step::Percent),
            2 => Just(Step::Advance),
        ];
        prop::collection::vec(step, 0..300)
    }

    proptest! {
        /// The order is that of a vector in which pages are inserted behind the old
        /// pointer; marks and lengths obey their rules after every step.
        #[test]
        fn behaves_like_a_vector(start in 400usize..600, steps in steps()) {
            let blocks = blocks(700);
            let mut lru = filled(&blocks, start);
            let mut order: Vec<u32> = lru.iter().collect();
            let mut hazard: Option<u32> = order.last().copied();
            lru.start_at_tail(Scan::Batch);
            for step in steps {
                let place = |order: &[u32], frame| order.iter().position(|&other| other == frame);
                // What a removal does to the model and its scan.
                let take = |order: &mut Vec<u32>, hazard: &mut Option<u32>, at: usize| {
                    let frame = order.remove(at);
                    if *hazard == Some(frame) {
                        *hazard = at.checked_sub(1).map(|before| order[before]);
                    }
                };
                match step {
                    Step::Insert(frame) if place(&order, frame).is_none() => {
                        let at = lru.old_first.map_or(0, |old| place(&order, old).unwrap() + 1);
                        order.insert(at, frame);
                        lru.insert(&blocks, frame, 0);
                    }
                    Step::MakeYoung(frame) => if let Some(at) = place(&order, frame) {
                        take(&mut order, &mut hazard, at);
                        order.insert(0, frame);
                        lru.make_young(&blocks, frame, 0);
                    },
                    Step::Remove(frame) => if let Some(at) = place(&order, frame) {
                        take(&mut order, &mut hazard, at);
                        lru.remove(&blocks, frame);
                        prop_assert!(!blocks[frame as usize].is_old());
                    },
                    Step::Percent(percent) => lru.set_old_ratio(&blocks, old_ratio(percent)),
                    Step::Advance => {
                        prop_assert_eq!(lru.advance(Scan::Batch), hazard);
                        hazard = hazard.and_then(|frame| {
                            let at = place(&order, frame).unwrap();
                            at.checked_sub(1).map(|before| order[before])
                        });
                    }
                    Step::Insert(_) => {}
                }
                prop_assert_eq!(lru.iter().collect::<Vec<_>>(), order.clone());
                prop_assert_eq!(lru.faults(&blocks), Vec::<String>::new());
            }
        }
    }
}
