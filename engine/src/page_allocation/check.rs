//! What must hold for the lists and bitmaps of a tablespace.
//!
//! For tests, crash tests and tools; nobody may change the tablespace meanwhile. Every
//! extent below the free limit is on exactly one list, that of its state; every used page
//! has one owner; the counts are right.

use std::collections::BTreeMap;

use super::AllocationError;
use super::file_lists::node_field;
use crate::page::extent_descriptor::{
    EXTENT_PAGES, ExtentDescriptor, ExtentState, PAGES_PER_DESCRIPTOR_PAGE, descriptor_page,
};
use crate::page::field::Field;
use crate::page::file_list::{FileAddress, ListBase};
use crate::page::segment_inode::{INODE_MAGIC, INODES_PER_PAGE, SegmentInode};
use crate::page::space_header::{self as header, SPACE_HEADER_PAGE};
use crate::page::{PageId, PageNumber, SpaceId};
use crate::redo_log::{MiniTransactionContext, Pages};
use crate::runtime::LatchMode;

/// Whose a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageOwner {
    /// A single page in use that no segment names: header, descriptors, inodes.
    Space,
    /// A page in use by the segment of this id.
    Segment(u64),
}

/// The owners of all used pages of a tablespace, and what is wrong.
#[derive(Clone, Debug, Default)]
pub struct SpaceMap {
    /// The used pages.
    pub owners: BTreeMap<PageNumber, PageOwner>,
    /// In words, with page and value.
    pub faults: Vec<String>,
}

/// Checks a tablespace.
///
/// # Errors
/// If a page cannot be had.
pub fn check_space(pages: &Pages, space: SpaceId) -> Result<SpaceMap, AllocationError> {
    let mut check = Check {
        pages,
        space,
        context: MiniTransactionContext::new(0),
        map: SpaceMap::default(),
        listed: BTreeMap::new(),
    };
    check.run()?;
    Ok(check.map)
}

struct Check<'a> {
    pages: &'a Pages,
    space: SpaceId,
    context: MiniTransactionContext,
    map: SpaceMap,
    /// First page of each extent that was met on a list, and the list.
    listed: BTreeMap<u32, &'static str>,
}

/// What a descriptor says.
struct ExtentView {
    state: Option<ExtentState>,
    segment: u64,
    used: Vec<u32>,
}

impl Check<'_> {
    fn fault(&mut self, what: String) {
        self.map.faults.push(what);
    }

    /// Looks at a page under its latch.
    fn look<T>(
        &mut self,
        page: PageNumber,
        look: impl FnOnce(&crate::page::PageBytes) -> T,
    ) -> Result<T, AllocationError> {
        let id = PageId {
            space: self.space,
            page,
        };
        let mut mtr = self.pages.begin(&mut self.context);
        let handle = mtr.fix(id, LatchMode::S)?;
        let result = look(mtr.page(handle));
        mtr.commit();
        Ok(result)
    }

    fn extent(&mut self, first: u32) -> Result<ExtentView, AllocationError> {
        let number = PageNumber(first);
        let descriptor = ExtentDescriptor::of_page(number);
        self.look(descriptor_page(number), |page| ExtentView {
            state: descriptor.state(page),
            segment: descriptor.segment_id().get(page),
            used: (0..EXTENT_PAGES)
                .filter(|&index| !descriptor.is_free(page, index))
                .map(|index| first + index)
                .collect(),
        })
    }

    /// Walks a list; returns its nodes.
    fn walk(
        &mut self,
        on: PageNumber,
        base: Field<ListBase>,
    ) -> Result<Vec<FileAddress>, AllocationError> {
        let base_value = self.look(on, |page| base.get(page))?;
        let name = base.region().name;
        let mut nodes = Vec::new();
        let (mut previous, mut at) = (FileAddress::NULL, base_value.first);
        while !at.is_null() && nodes.len() <= base_value.length as usize {
            let (id, field) = node_field(self.space, at)?;
            let node = self.look(id.page, |page| field.get(page))?;
            if node.previous != previous {
                self.fault(format!(
                    "{name} of page {on}: the node at {at} names {} as the one before, not {previous}",
                    node.previous
                ));
            }
            nodes.push(at);
            (previous, at) = (at, node.next);
        }
        if nodes.len() != base_value.length as usize || base_value.last != previous {
            self.fault(format!(
                "{name} of page {on}: its base says {} nodes from {} to {}, {} were found, to {}",
                base_value.length,
                base_value.first,
                base_value.last,
                nodes.len(),
                previous
            ));
        }
        Ok(nodes)
    }

    /// Walks a list of extents; returns the number of used pages of them.
    fn extents(
        &mut self,
        on: PageNumber,
        base: Field<ListBase>,
        state: ExtentState,
        segment: u64,
        used: std::ops::RangeInclusive<u32>,
    ) -> Result<u32, AllocationError> {
        let name = base.region().name;
        let mut sum = 0;
        for node in self.walk(on, base)? {
            let Some(descriptor) = ExtentDescriptor::of_node(node) else {
                self.fault(format!("{name} of page {on} leads to {node}, no extent"));
                continue;
            };
            let first = descriptor.first_page(node.page).0;
            let extent = self.extent(first)?;
            if extent.state != Some(state) || extent.segment != segment {
                self.fault(format!(
                    "extent {first} on {name} of page {on} has state {} and segment {}, expected {} and {segment}",
                    extent.state.map_or("unknown", ExtentState::name),
                    extent.segment,
                    state.name()
                ));
            }
            let count = extent.used.len() as u32;
            if !used.contains(&count) {
                self.fault(format!("extent {first} on {name} has {count} used pages"));
            }
            if let Some(other) = self.listed.insert(first, name) {
                self.fault(format!("extent {first} is on {other} and on {name}"));
            }
            let owner = match state {
                ExtentState::Segment => PageOwner::Segment(segment),
                _ => PageOwner::Space,
            };
            for page in extent.used {
                self.map.owners.insert(PageNumber(page), owner);
            }
            sum += count;
        }
        Ok(sum)
    }

    fn run(&mut self) -> Result<(), AllocationError> {
        let first = SPACE_HEADER_PAGE;
        let (size, limit, fragments_used) = self.look(first, |page| {
            (
                header::SIZE.get(page),
                header::FREE_LIMIT.get(page),
                header::FRAGMENTS_USED.get(page),
            )
        })?;
        let file = self.pages.spaces.get(self.space).map(|space| space.size());
        // A crash may have left a file that grew, and a header that does not know it.
        if file.is_none_or(|file| file < size) {
            let file = file.unwrap_or(0);
            self.fault(format!("FSP_SIZE is {size}, the file has {file} pages"));
        }
        if !limit.is_multiple_of(EXTENT_PAGES) || limit > size.next_multiple_of(EXTENT_PAGES) {
            self.fault(format!(
                "FSP_FREE_LIMIT is {limit} in a file of {size} pages"
            ));
            return Ok(());
        }
        self.extents(first, header::FREE, ExtentState::Free, 0, 0..=0)?;
        let (partly, wholly) = (ExtentState::FreeFragment, ExtentState::FullFragment);
        let used = self.extents(first, header::FREE_FRAGMENTS, partly, 0, 1..=63)?;
        self.extents(first, header::FULL_FRAGMENTS, wholly, 0, 64..=64)?;
        if used != fragments_used {
            self.fault(format!(
                "FSP_FRAG_N_USED is {fragments_used}, {used} pages are used"
            ));
        }
        for descriptors in (0..limit).step_by(PAGES_PER_DESCRIPTOR_PAGE as usize) {
            for page in [descriptors, descriptors + 1] {
                if !self.map.owners.contains_key(&PageNumber(page)) {
                    self.fault(format!("page {page}, of the space itself, is free"));
                }
            }
        }
        for list in [header::INODES_FULL, header::INODES_FREE] {
            for node in self.walk(first, list)? {
                if self.map.owners.get(&node.page) != Some(&PageOwner::Space) {
                    self.fault(format!("the page {} of inodes is free", node.page));
                }
                for index in 0..INODES_PER_PAGE {
                    self.segment(node.page, SegmentInode::nth(index))?;
                }
            }
        }
        for extent in (0..limit).step_by(EXTENT_PAGES as usize) {
            if !self.listed.contains_key(&extent) {
                self.fault(format!("extent {extent} is on no list"));
            }
        }
        let beyond = self.map.owners.range(PageNumber(size)..).next();
        if let Some((page, _)) = beyond {
            let page = *page;
            self.fault(format!("page {page} is in use, but the file ends before"));
        }
        Ok(())
    }

    fn segment(&mut self, on: PageNumber, inode: SegmentInode) -> Result<(), AllocationError> {
        let (id, magic, says, fragments) = self.look(on, |page| {
            (
                inode.segment_id().get(page),
                inode.magic().get(page),
                inode.not_full_used().get(page),
                inode.fragments(page).collect::<Vec<_>>(),
            )
        })?;
        if id == 0 {
            return Ok(());
        }
        if magic != INODE_MAGIC {
            self.fault(format!("segment {id} on page {on} has magic {magic}"));
        }
        let state = ExtentState::Segment;
        self.extents(on, inode.free(), state, id, 0..=0)?;
        let used = self.extents(on, inode.not_full(), state, id, 1..=63)?;
        self.extents(on, inode.full(), state, id, 64..=64)?;
        if used != says {
            self.fault(format!(
                "segment {id}: FSEG_NOT_FULL_N_USED is {says}, {used} pages are used"
            ));
        }
        for page in fragments {
            let owner = self.map.owners.insert(page, PageOwner::Segment(id));
            if owner != Some(PageOwner::Space) {
                let owner = match owner {
                    Some(PageOwner::Segment(other)) => format!("is of segment {other}, too"),
                    _ => "is free".to_owned(),
                };
                self.fault(format!("page {page}, a fragment of segment {id}, {owner}"));
            }
        }
        Ok(())
    }
}
