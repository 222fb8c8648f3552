//! Tablespaces that are filled and emptied: after every step each page has one owner and
//! every list is whole.

use std::collections::BTreeSet;
use std::path::Path;

use innosim_engine::page::file_list::SegmentHeader;
use innosim_engine::page::{PageNumber, PageType, SpaceId};
use innosim_engine::page_allocation::{
    AllocationDirection, PageOwner, ReservePurpose, allocate_page, check_space, create_segment,
    create_space, free_page, free_segment_step, reserve_free_extents, segment_pages,
};
use innosim_engine::redo_log::MiniTransactionContext;
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::runtime;
use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_tests::disk::solid_state_disk;

const SPACE: SpaceId = SpaceId(7);

fn virtually<T: 'static>(seed: u64, main: impl FnOnce() -> T + 'static) -> T {
    let options = SimulationOptions {
        disks: vec![("disk".to_owned(), solid_state_disk())],
        ..SimulationOptions::new(CpuProfile::uniform(2), seed)
    };
    let mut simulation = Simulation::new(&options).unwrap();
    simulation.run(main).expect("nobody waits for ever")
}

struct Space {
    sandbox: Sandbox,
    context: MiniTransactionContext,
}

impl Space {
    fn new(pages: u32) -> Space {
        let sandbox = Sandbox::new(Path::new("/test"), 2000);
        sandbox.create_space(SPACE, pages);
        let mut space = Space {
            sandbox,
            context: MiniTransactionContext::new(0),
        };
        let mut mtr = space.sandbox.pages.begin(&mut space.context);
        create_space(&mut mtr, SPACE).unwrap();
        mtr.commit();
        space
    }

    fn segment(&mut self) -> SegmentHeader {
        let mut mtr = self.sandbox.pages.begin(&mut self.context);
        let segment = create_segment(&mut mtr, SPACE).unwrap();
        mtr.commit();
        segment
    }

    fn allocate(
        &mut self,
        segment: SegmentHeader,
        hint: u32,
        direction: AllocationDirection,
    ) -> u32 {
        let mut mtr = self.sandbox.pages.begin(&mut self.context);
        let page = allocate_page(&mut mtr, segment, PageNumber(hint), direction).unwrap();
        let id = mtr.page_id(page);
        mtr.writer(page).initialise_page(id, PageType::UndoLog);
        mtr.commit();
        id.page.0
    }

    fn free(&mut self, segment: SegmentHeader, page: u32) {
        let mut mtr = self.sandbox.pages.begin(&mut self.context);
        free_page(&mut mtr, segment, PageNumber(page)).unwrap();
        mtr.commit();
    }

    fn drop_segment(&mut self, segment: SegmentHeader) {
        loop {
            let mut mtr = self.sandbox.pages.begin(&mut self.context);
            let done = free_segment_step(&mut mtr, segment).unwrap();
            mtr.commit();
            if done {
                return;
            }
        }
    }

    fn size(&self) -> u32 {
        self.sandbox.pages.spaces.get(SPACE).unwrap().size()
    }

    /// Pages of a segment, after a check of the whole space.
    fn check(&self, segment: u64) -> BTreeSet<u32> {
        let map = check_space(&self.sandbox.pages, SPACE).unwrap();
        assert_eq!(map.faults, Vec::<String>::new());
        let owned = map.owners.iter();
        owned
            .filter(|(_, owner)| **owner == PageOwner::Segment(segment))
            .map(|(page, _)| page.0)
            .collect()
    }
}

#[test]
fn a_new_table_has_its_pages_where_create_table_puts_them() {
    virtually(1, || {
        let mut space = Space::new(4);
        let node = space.segment();
        assert_eq!((node.page, node.offset), (PageNumber(2), 0x32));
        assert_eq!(space.allocate(node, 0, AllocationDirection::Up), 3);
        let leaf = space.segment();
        assert_eq!((leaf.page, leaf.offset), (PageNumber(2), 0xF2));
        // The file grows page by page.
        assert_eq!(space.allocate(leaf, 4, AllocationDirection::Up), 4);
        assert_eq!(space.size(), 5);
        assert_eq!(space.check(2), BTreeSet::from([4]));
    });
}

#[test]
fn a_segment_takes_32_single_pages_and_then_extents() {
    virtually(1, || {
        let mut space = Space::new(4);
        let segment = space.segment();
        let mut hint = 0;
        for number in 1..=32 {
            hint = space.allocate(segment, hint + 1, AllocationDirection::Up);
            assert_eq!(hint, number + 2, "fragment pages follow each other");
        }
        // Page 64 and on: the first whole extent, in order.
        for number in 0..64 {
            hint = space.allocate(segment, hint + 1, AllocationDirection::Up);
            assert_eq!(hint, 64 + number);
        }
        assert_eq!(space.check(1).len(), 96);
        for number in 0..64 * 50 {
            hint = space.allocate(segment, hint + 1, AllocationDirection::Up);
            assert!(hint >= 128, "page {number} of the next extents is {hint}");
        }
        let pages = space.check(1);
        assert_eq!(pages.len(), 96 + 64 * 50);
        assert_eq!(
            space.size() % (4 * 64),
            0,
            "a large file grows by four extents"
        );
    });
}

#[test]
fn downwards_the_last_page_of_an_extent_comes_first() {
    virtually(1, || {
        let mut space = Space::new(4);
        let segment = space.segment();
        for _ in 0..32 {
            space.allocate(segment, 0, AllocationDirection::Down);
        }
        let first = space.allocate(segment, 50, AllocationDirection::Down);
        assert_eq!(first % 64, 63);
        assert_eq!(
            space.allocate(segment, first - 1, AllocationDirection::Down),
            first - 1
        );
    });
}

#[test]
fn whatever_the_order_every_page_comes_back() {
    for seed in 1..=5 {
        virtually(seed, || {
            let mut stream = runtime::stream("choices");
            let mut space = Space::new(4);
            let mut segments = vec![(space.segment(), BTreeSet::new()); 1];
            segments.push((space.segment(), BTreeSet::new()));
            segments.push((space.segment(), BTreeSet::new()));
            for step in 0..3000 {
                let (segment, pages) = &mut segments[stream.below(3) as usize];
                // It grows for a while and shrinks for a while.
                let grows = (step / 600) % 2 == 0;
                if pages.is_empty() || stream.below(10) < if grows { 9 } else { 2 } {
                    let hint = stream.below(u64::from(space.size()) + 10) as u32;
                    let direction = match stream.below(3) {
                        0 => AllocationDirection::None,
                        1 => AllocationDirection::Up,
                        _ => AllocationDirection::Down,
                    };
                    let page = space.allocate(*segment, hint, direction);
                    assert!(pages.insert(page), "page {page} was handed out twice");
                } else {
                    let nth = stream.below(pages.len() as u64) as usize;
                    let page = *pages.iter().nth(nth).unwrap();
                    pages.remove(&page);
                    space.free(*segment, page);
                }
                if step % 500 == 0 {
                    for (number, (_, pages)) in segments.iter().enumerate() {
                        assert_eq!(space.check(number as u64 + 1), *pages);
                    }
                }
            }
            for (segment, pages) in segments {
                let mut mtr = space.sandbox.pages.begin(&mut space.context);
                let count = segment_pages(&mut mtr, segment).unwrap();
                mtr.commit();
                assert_eq!(count.used as usize, pages.len());
                assert!(count.reserved >= count.used);
                space.drop_segment(segment);
            }
            let map = check_space(&space.sandbox.pages, SPACE).unwrap();
            assert_eq!(map.faults, Vec::<String>::new());
            let left: Vec<_> = map.owners.keys().map(|page| page.0).collect();
            assert_eq!(left, [0, 1], "header and bitmap are all that is left");
        });
    }
}

#[test]
fn more_segments_than_a_page_has_inodes() {
    virtually(1, || {
        let mut space = Space::new(4);
        let segments: Vec<_> = (0..200).map(|_| space.segment()).collect();
        let pages: BTreeSet<_> = segments.iter().map(|segment| segment.page).collect();
        assert_eq!(pages.len(), 3);
        space.check(1);
        for segment in segments {
            space.drop_segment(segment);
        }
        let map = check_space(&space.sandbox.pages, SPACE).unwrap();
        assert_eq!((map.faults.len(), map.owners.len()), (0, 2));
    });
}

#[test]
fn a_reservation_is_there_when_it_is_needed() {
    virtually(1, || {
        let mut space = Space::new(4);
        let segment = space.segment();
        let mut mtr = space.sandbox.pages.begin(&mut space.context);
        reserve_free_extents(&mut mtr, SPACE, 3, 5, ReservePurpose::Normal).unwrap();
        mtr.commit();
        // Header, bitmap, inodes, and the five.
        assert_eq!(space.size(), 8);
        let mut hint = 0;
        while space.size() < 64 {
            hint = space.allocate(segment, hint + 1, AllocationDirection::Up);
            if hint == 34 {
                break;
            }
        }
        let mut mtr = space.sandbox.pages.begin(&mut space.context);
        reserve_free_extents(&mut mtr, SPACE, 3, 40, ReservePurpose::Normal).unwrap();
        mtr.commit();
        assert!(space.size() >= 64 * 6, "{} pages", space.size());
        space.check(1);
    });
}
