//! Segments: creating them, their pages, and their end.
//!
//! Where the next page of a segment comes from, in this order:
//!
//! ```text
//!   1  the hinted page itself, if it is free and in an extent of the segment
//!   2  a free extent around the hinted page, if the segment is large and nearly full
//!   3  any new extent, if so and the segment grows in a direction
//!   4  another page of the hinted extent, if that is the segment's
//!   5  any free page of the segment
//!   6  a fragment page, while the segment has fewer than 32
//!   7  a new extent
//! ```
//!
//! "Nearly full" means that less than an eighth of its reserved pages are free
//! (`FSEG_FILLFACTOR`). A segment of 40 extents and more reserves up to four free extents
//! ahead, so that its pages lie together.
//!
//! Source: InnoDB 5.7 (`fseg_alloc_free_page_low` and below).

use super::extents::Extent;
use super::file_lists::{ListPlace, add_last, remove};
use super::space::Space;
use super::{AllocationDirection, AllocationError};
use crate::page::extent_descriptor::{EXTENT_PAGES, ExtentState};
use crate::page::file_list::{FileAddress, ListNode, SegmentHeader};
use crate::page::segment_inode::{
    FRAGMENT_SLOTS, INODE_MAGIC, INODES_PER_PAGE, PAGE_NODE, SegmentInode,
};
use crate::page::space_header::{self as header};
use crate::page::{PageNumber, PageType, SpaceId};
use crate::redo_log::{MiniTransaction, PageHandle};
use crate::runtime::{Cost, LatchMode, cpu};

/// Of the reserved pages of a segment at least one in so many shall be free before a
/// whole new extent is taken without need (`FSEG_FILLFACTOR`).
const FILL_FACTOR: u32 = 8;
/// A segment with so many extents reserves free ones ahead (`FSEG_FREE_LIST_LIMIT`).
const FREE_LIST_LIMIT: u32 = 40;
/// How many it reserves at most (`FSEG_FREE_LIST_MAX_LEN`).
const FREE_LIST_MAX: u32 = 4;

/// How many pages a segment has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentPages {
    /// Fragment pages and all pages of its extents.
    pub reserved: u32,
    /// Those in use.
    pub used: u32,
}

/// A segment whose inode's page is held in X.
#[derive(Clone, Copy)]
struct Segment {
    page: PageHandle,
    number: PageNumber,
    inode: SegmentInode,
    id: u64,
}

impl Segment {
    fn open(
        mtr: &mut MiniTransaction<'_>,
        space: &Space,
        header: SegmentHeader,
    ) -> Result<Segment, AllocationError> {
        let damaged = |what, found, accepted| space.damaged(header.page, what, found, accepted);
        let inode = SegmentInode::of_header(header).ok_or(damaged(
            "the offset in a segment header",
            u64::from(header.offset),
            "that of an inode: 50 + 192 * (0 to 84)",
        ))?;
        let page = mtr.fix(space.page_id(header.page), LatchMode::X)?;
        let bytes = mtr.page(page);
        let (magic, id) = (inode.magic().get(bytes), inode.segment_id().get(bytes));
        if magic != INODE_MAGIC || id == 0 {
            return Err(damaged(
                "the magic number of a segment's inode",
                u64::from(magic),
                "97937874, with a segment id that is not 0",
            ));
        }
        Ok(Segment {
            page,
            number: header.page,
            inode,
            id,
        })
    }

    fn free(self) -> ListPlace {
        ListPlace::new(self.page, self.inode.free())
    }

    fn not_full(self) -> ListPlace {
        ListPlace::new(self.page, self.inode.not_full())
    }

    fn full(self) -> ListPlace {
        ListPlace::new(self.page, self.inode.full())
    }

    fn not_full_used(self, mtr: &MiniTransaction<'_>) -> u32 {
        self.inode.not_full_used().get(mtr.page(self.page))
    }

    fn set_not_full_used(
        self,
        mtr: &mut MiniTransaction<'_>,
        space: &Space,
        count: u32,
        less: u32,
    ) -> Result<(), AllocationError> {
        let count = count.checked_sub(less).ok_or(space.damaged(
            self.number,
            "FSEG_NOT_FULL_N_USED",
            count,
            "the used pages of FSEG_NOT_FULL's extents",
        ))?;
        mtr.writer(self.page).set(self.inode.not_full_used(), count);
        Ok(())
    }

    fn pages(self, mtr: &MiniTransaction<'_>) -> SegmentPages {
        let fragments = self.inode.fragments(mtr.page(self.page)).count() as u32;
        let full = EXTENT_PAGES * self.full().len(mtr);
        let others = self.free().len(mtr) + self.not_full().len(mtr);
        SegmentPages {
            reserved: fragments + full + EXTENT_PAGES * others,
            used: fragments + full + self.not_full_used(mtr),
        }
    }

    fn owns(self, mtr: &MiniTransaction<'_>, extent: Extent) -> bool {
        extent.state(mtr) == Some(ExtentState::Segment) && extent.segment_id(mtr) == self.id
    }

    /// Makes an extent that is on no list one of this segment's.
    fn adopt(self, mtr: &mut MiniTransaction<'_>, extent: Extent) -> Result<(), AllocationError> {
        let id = self.id;
        extent.change(mtr, |descriptor, writer| {
            descriptor.set_state(writer, ExtentState::Segment);
            writer.set(descriptor.segment_id(), id);
        });
        add_last(mtr, self.free(), extent.node())
    }

    /// Reserves free extents from `hint` on for a large segment that has none.
    fn reserve_ahead(
        self,
        mtr: &mut MiniTransaction<'_>,
        space: &Space,
        hint: PageNumber,
    ) -> Result<(), AllocationError> {
        let reserved = self.pages(mtr).reserved;
        if reserved < FREE_LIST_LIMIT * EXTENT_PAGES || !self.free().is_empty(mtr) {
            return Ok(());
        }
        for ahead in 0..FREE_LIST_MAX {
            let page = PageNumber(hint.0.saturating_add(ahead * EXTENT_PAGES));
            match space.extent_of(mtr, page)? {
                Some(extent) if extent.state(mtr) == Some(ExtentState::Free) => {
                    let extent = space.take_extent(mtr, page)?;
                    self.adopt(mtr, extent)?;
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// A free extent of the segment: one reserved before, else a new one.
    fn take_extent(
        self,
        mtr: &mut MiniTransaction<'_>,
        space: &Space,
        hint: PageNumber,
    ) -> Result<Extent, AllocationError> {
        if let Some(extent) = space.first_extent(mtr, self.free())? {
            return Ok(extent);
        }
        self.take_new_extent(mtr, space, hint)
    }

    fn take_new_extent(
        self,
        mtr: &mut MiniTransaction<'_>,
        space: &Space,
        hint: PageNumber,
    ) -> Result<Extent, AllocationError> {
        let extent = space.take_extent(mtr, hint)?;
        self.adopt(mtr, extent)?;
        let next = PageNumber(extent.first_page().0 + EXTENT_PAGES);
        self.reserve_ahead(mtr, space, next)?;
        Ok(extent)
    }

    /// Marks a free page of one of the segment's extents as used.
    fn use_page(
        self,
        mtr: &mut MiniTransaction<'_>,
        space: &Space,
        extent: Extent,
        page: PageNumber,
    ) -> Result<(), AllocationError> {
        if extent.used_pages(mtr) == 0 {
            remove(mtr, self.free(), extent.node())?;
            add_last(mtr, self.not_full(), extent.node())?;
        }
        extent.set_free(mtr, page, false);
        let used = self.not_full_used(mtr) + 1;
        if extent.used_pages(mtr) == EXTENT_PAGES {
            remove(mtr, self.not_full(), extent.node())?;
            add_last(mtr, self.full(), extent.node())?;
            self.set_not_full_used(mtr, space, used, EXTENT_PAGES)
        } else {
            self.set_not_full_used(mtr, space, used, 0)
        }
    }

    /// Chooses the next page among the segment's extents; `None` if a fragment page
    /// shall be taken.
    fn choose(
        self,
        mtr: &mut MiniTransaction<'_>,
        space: &Space,
        hint: PageNumber,
        direction: AllocationDirection,
    ) -> Result<Option<(Extent, PageNumber)>, AllocationError> {
        let SegmentPages { reserved, used } = self.pages(mtr);
        let hinted = space.extent_of(mtr, hint)?;
        let own_hinted = hinted.filter(|&extent| self.owns(mtr, extent));
        if let Some(extent) = own_hinted
            && extent.is_free(mtr, hint)
        {
            return Ok(Some((extent, hint)));
        }
        let wants_extent =
            reserved - used < reserved / FILL_FACTOR && used >= FRAGMENT_SLOTS as u32;
        if wants_extent && hinted.is_some_and(|e| e.state(mtr) == Some(ExtentState::Free)) {
            let extent = self.take_new_extent(mtr, space, hint)?;
            return Ok(Some((extent, hint)));
        }
        if wants_extent && direction != AllocationDirection::None {
            let extent = self.take_extent(mtr, space, hint)?;
            let first = extent.first_page().0;
            let page = match direction {
                AllocationDirection::Down => first + EXTENT_PAGES - 1,
                _ => first,
            };
            return Ok(Some((extent, PageNumber(page))));
        }
        if let Some(extent) = own_hinted
            && let Some(page) = extent.find_free(mtr, hint)
        {
            return Ok(Some((extent, page)));
        }
        if reserved > used {
            let list = match self.not_full().is_empty(mtr) {
                false => self.not_full(),
                true => self.free(),
            };
            if let Some(extent) = space.first_extent(mtr, list)?
                && let Some(page) = extent.find_free(mtr, extent.first_page())
            {
                return Ok(Some((extent, page)));
            }
            return Err(space.damaged(
                self.number,
                "the number of free pages of a segment",
                reserved - used,
                "what its lists of extents have",
            ));
        }
        if used < FRAGMENT_SLOTS as u32 {
            return Ok(None);
        }
        let extent = self.take_extent(mtr, space, hint)?;
        Ok(Some((extent, extent.first_page())))
    }

    /// Gives a page back.
    fn give_page(
        self,
        mtr: &mut MiniTransaction<'_>,
        space: &Space,
        page: PageNumber,
    ) -> Result<(), AllocationError> {
        let extent = space.described(mtr, page)?;
        if extent.is_free(mtr, page) {
            return Err(space.damaged(page, "the free bit of a page to be freed", 1u32, "0"));
        }
        if extent.state(mtr) != Some(ExtentState::Segment) {
            let bytes = mtr.page(self.page);
            let slot = (0..FRAGMENT_SLOTS)
                .find(|&slot| self.inode.fragment(slot).get(bytes) == page)
                .ok_or(space.damaged(
                    self.number,
                    "the fragment pages of a segment miss the page to be freed",
                    page.0,
                    "a page of the segment",
                ))?;
            mtr.writer(self.page)
                .set(self.inode.fragment(slot), PageNumber::NULL);
            return space.give_fragment(mtr, page);
        }
        if !self.owns(mtr, extent) {
            return Err(space.damaged(
                page,
                "the segment of a page to be freed",
                extent.segment_id(mtr),
                "the segment that frees it",
            ));
        }
        let used = self.not_full_used(mtr);
        if extent.used_pages(mtr) == EXTENT_PAGES {
            remove(mtr, self.full(), extent.node())?;
            add_last(mtr, self.not_full(), extent.node())?;
            self.set_not_full_used(mtr, space, used + EXTENT_PAGES, 1)?;
        } else {
            self.set_not_full_used(mtr, space, used, 1)?;
        }
        extent.set_free(mtr, page, true);
        if extent.used_pages(mtr) == 0 {
            remove(mtr, self.not_full(), extent.node())?;
            space.give_extent(mtr, extent)?;
        }
        Ok(())
    }

    /// Gives an extent back with all pages that it has.
    fn give_extent(
        self,
        mtr: &mut MiniTransaction<'_>,
        space: &Space,
        list: ListPlace,
        extent: Extent,
    ) -> Result<(), AllocationError> {
        let used = extent.used_pages(mtr);
        remove(mtr, list, extent.node())?;
        if used > 0 && used < EXTENT_PAGES {
            let all = self.not_full_used(mtr);
            self.set_not_full_used(mtr, space, all, used)?;
        }
        space.give_extent(mtr, extent)
    }
}

/// Creates a segment without pages. Its header is what finds it again: the caller stores
/// it on a page of its own.
///
/// # Errors
/// If there is no room for its inode, or a page cannot be had.
pub fn create_segment(
    mtr: &mut MiniTransaction<'_>,
    space: SpaceId,
) -> Result<SegmentHeader, AllocationError> {
    let space = Space::open(mtr, space)?;
    let with_free = space.list(header::INODES_FREE);
    if with_free.is_empty(mtr) {
        let number = space.take_fragment(mtr, header::SPACE_HEADER_PAGE)?;
        let id = space.page_id(number);
        let page = mtr.fix_new(id)?;
        mtr.writer(page).initialise_page(id, PageType::Inode);
        mtr.writer(page).set(PAGE_NODE, ListNode::ALONE);
        add_last(mtr, with_free, inode_page_node(number))?;
    }
    let number = with_free
        .first(mtr)
        .map_or(PageNumber::NULL, |node| node.page);
    let page = mtr.fix(space.page_id(number), LatchMode::X)?;
    let mut unused = (0..INODES_PER_PAGE)
        .map(SegmentInode::nth)
        .filter(|inode| !inode.is_used(mtr.page(page)));
    let (inode, next) = (unused.next(), unused.next());
    drop(unused);
    let inode = inode.ok_or(space.damaged(
        number,
        "the number of free inodes of a page on FSP_SEG_INODES_FREE",
        0u32,
        "1 to 85",
    ))?;
    let id = header::NEXT_SEGMENT_ID.get(mtr.page(space.header));
    mtr.writer(space.header)
        .set(header::NEXT_SEGMENT_ID, id + 1);
    inode.initialise(&mut mtr.writer(page), id);
    if next.is_none() {
        remove(mtr, with_free, inode_page_node(number))?;
        add_last(
            mtr,
            space.list(header::INODES_FULL),
            inode_page_node(number),
        )?;
    }
    Ok(inode.header(space.id, number))
}

fn inode_page_node(page: PageNumber) -> FileAddress {
    FileAddress::new(page, PAGE_NODE.offset() as u16)
}

/// Takes a page for a segment, near `hint` if possible. The page is latched in X and holds
/// anything: the caller initialises it.
///
/// # Errors
/// If the file cannot grow, or a page cannot be had.
pub fn allocate_page(
    mtr: &mut MiniTransaction<'_>,
    segment: SegmentHeader,
    hint: PageNumber,
    direction: AllocationDirection,
) -> Result<PageHandle, AllocationError> {
    cpu(Cost::PageAllocate);
    let space = Space::open(mtr, segment.space)?;
    let segment = Segment::open(mtr, &space, segment)?;
    let page = match segment.choose(mtr, &space, hint, direction)? {
        Some((extent, page)) => {
            segment.use_page(mtr, &space, extent, page)?;
            page
        }
        None => {
            let slot = segment.inode.find_empty_fragment(mtr.page(segment.page));
            let slot = slot.ok_or(space.damaged(
                segment.number,
                "the number of empty fragment slots of a segment with fewer than 32 pages",
                0u32,
                "1 and more",
            ))?;
            let page = space.take_fragment(mtr, hint)?;
            mtr.writer(segment.page)
                .set(segment.inode.fragment(slot), page);
            page
        }
    };
    Ok(mtr.fix_new(space.page_id(page))?)
}

/// Gives a page of a segment back. Nobody else can reach the page any more.
///
/// # Errors
/// If the page is not the segment's, or a page cannot be had.
pub fn free_page(
    mtr: &mut MiniTransaction<'_>,
    segment: SegmentHeader,
    page: PageNumber,
) -> Result<(), AllocationError> {
    cpu(Cost::PageAllocate);
    let space = Space::open(mtr, segment.space)?;
    let segment = Segment::open(mtr, &space, segment)?;
    segment.give_page(mtr, &space, page)
}

/// Frees a part of a segment: an extent, or a fragment page, or at last its inode. True
/// if the segment is gone. Each step is short, so that a large segment can be freed in
/// many mini-transactions.
///
/// # Errors
/// If a page cannot be had.
pub fn free_segment_step(
    mtr: &mut MiniTransaction<'_>,
    segment: SegmentHeader,
) -> Result<bool, AllocationError> {
    let space = Space::open(mtr, segment.space)?;
    let segment = Segment::open(mtr, &space, segment)?;
    for list in [segment.full(), segment.not_full(), segment.free()] {
        if let Some(extent) = space.first_extent(mtr, list)? {
            segment.give_extent(mtr, &space, list, extent)?;
            return Ok(false);
        }
    }
    let last = segment.inode.fragments(mtr.page(segment.page)).last();
    if let Some(page) = last {
        segment.give_page(mtr, &space, page)?;
        if segment.inode.fragments(mtr.page(segment.page)).count() > 0 {
            return Ok(false);
        }
    }
    free_inode(mtr, &space, segment)?;
    Ok(true)
}

/// Gives an inode back, and its page with the last one.
fn free_inode(
    mtr: &mut MiniTransaction<'_>,
    space: &Space,
    segment: Segment,
) -> Result<(), AllocationError> {
    let node = inode_page_node(segment.number);
    let used = |mtr: &MiniTransaction<'_>| {
        (0..INODES_PER_PAGE)
            .filter(|&index| SegmentInode::nth(index).is_used(mtr.page(segment.page)))
            .count()
    };
    if used(mtr) == INODES_PER_PAGE {
        remove(mtr, space.list(header::INODES_FULL), node)?;
        add_last(mtr, space.list(header::INODES_FREE), node)?;
    }
    segment.inode.clear(&mut mtr.writer(segment.page));
    if used(mtr) == 0 {
        remove(mtr, space.list(header::INODES_FREE), node)?;
        space.give_fragment(mtr, segment.number)?;
    }
    Ok(())
}

/// How many pages a segment has reserved and uses.
///
/// # Errors
/// If a page cannot be had.
pub fn segment_pages(
    mtr: &mut MiniTransaction<'_>,
    segment: SegmentHeader,
) -> Result<SegmentPages, AllocationError> {
    let space = Space::open(mtr, segment.space)?;
    Ok(Segment::open(mtr, &space, segment)?.pages(mtr))
}
