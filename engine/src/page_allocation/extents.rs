//! Taking and giving back whole extents and fragment pages.
//!
//! ```text
//!               take_extent                     used by a segment (state 4)
//!   FREE  ───────────────────────────────────>
//!    ^   \     first page is used               last free page is used
//!    |    `──> FREE_FRAG ──────────────────────────────> FULL_FRAG
//!    |             |  ^                                      |
//!    `─────────────'  `──────────────────────────────────────'
//!      last used page is freed           a page is freed
//! ```

use super::AllocationError;
use super::file_lists::{ListPlace, add_last, remove};
use super::space::Space;
use crate::page::extent_descriptor::{
    EXTENT_PAGES, ExtentDescriptor, ExtentState, descriptor_page,
};
use crate::page::file_list::FileAddress;
use crate::page::space_header as header;
use crate::page::{PageNumber, PageWriter};
use crate::redo_log::{GroupBuffer, MiniTransaction, PageHandle};
use crate::runtime::LatchMode;

/// An extent's descriptor on a page that is held in X.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    page: PageHandle,
    on: PageNumber,
    descriptor: ExtentDescriptor,
}

impl Extent {
    /// The first page of the extent.
    pub(super) fn first_page(self) -> PageNumber {
        self.descriptor.first_page(self.on)
    }

    /// The address of its list node.
    pub(super) fn node(self) -> FileAddress {
        self.descriptor.node_address(self.on)
    }

    pub(super) fn state(self, mtr: &MiniTransaction<'_>) -> Option<ExtentState> {
        self.descriptor.state(mtr.page(self.page))
    }

    pub(super) fn segment_id(self, mtr: &MiniTransaction<'_>) -> u64 {
        self.descriptor.segment_id().get(mtr.page(self.page))
    }

    pub(super) fn used_pages(self, mtr: &MiniTransaction<'_>) -> u32 {
        self.descriptor.used_pages(mtr.page(self.page))
    }

    /// Whether this page of the extent is free.
    pub(super) fn is_free(self, mtr: &MiniTransaction<'_>, page: PageNumber) -> bool {
        self.descriptor
            .is_free(mtr.page(self.page), page.0 % EXTENT_PAGES)
    }

    /// A free page, at or after the hint's place if there is one.
    pub(super) fn find_free(
        self,
        mtr: &MiniTransaction<'_>,
        hint: PageNumber,
    ) -> Option<PageNumber> {
        let index = self
            .descriptor
            .find_free(mtr.page(self.page), hint.0 % EXTENT_PAGES)?;
        Some(PageNumber(self.first_page().0 + index))
    }

    /// Marks a page of the extent as free or used.
    pub(super) fn set_free(self, mtr: &mut MiniTransaction<'_>, page: PageNumber, free: bool) {
        let index = page.0 % EXTENT_PAGES;
        self.change(mtr, |descriptor, writer| {
            descriptor.set_free(writer, index, free);
        });
    }

    pub(super) fn change(
        self,
        mtr: &mut MiniTransaction<'_>,
        change: impl FnOnce(ExtentDescriptor, &mut PageWriter<'_, GroupBuffer>),
    ) {
        change(self.descriptor, &mut mtr.writer(self.page));
    }
}

impl Space {
    /// The extent of a page; `None` if it is not described yet.
    pub(super) fn extent_of(
        &self,
        mtr: &mut MiniTransaction<'_>,
        page: PageNumber,
    ) -> Result<Option<Extent>, AllocationError> {
        if page.0 >= self.free_limit(mtr) || page.0 >= self.size(mtr) {
            return Ok(None);
        }
        let on = descriptor_page(page);
        Ok(Some(Extent {
            page: mtr.fix(self.page_id(on), LatchMode::X)?,
            on,
            descriptor: ExtentDescriptor::of_page(page),
        }))
    }

    /// The extent of a list node.
    pub(super) fn extent_of_node(
        &self,
        mtr: &mut MiniTransaction<'_>,
        node: FileAddress,
    ) -> Result<Extent, AllocationError> {
        let on = node.page;
        match ExtentDescriptor::of_node(node) {
            Some(descriptor) if on == descriptor_page(on) => Ok(Extent {
                page: mtr.fix(self.page_id(on), LatchMode::X)?,
                on,
                descriptor,
            }),
            _ => Err(self.damaged(
                on,
                "the offset of a list node",
                node.offset,
                "that of an extent descriptor",
            )),
        }
    }

    /// The first extent of a list.
    pub(super) fn first_extent(
        &self,
        mtr: &mut MiniTransaction<'_>,
        list: ListPlace,
    ) -> Result<Option<Extent>, AllocationError> {
        match list.first(mtr) {
            Some(node) => self.extent_of_node(mtr, node).map(Some),
            None => Ok(None),
        }
    }

    /// Takes an extent off the free list: that of the hint, if it is free.
    pub(super) fn take_extent(
        &self,
        mtr: &mut MiniTransaction<'_>,
        hint: PageNumber,
    ) -> Result<Extent, AllocationError> {
        let free = self.list(header::FREE);
        let hinted = self.extent_of(mtr, hint)?;
        let extent = match hinted {
            Some(extent) if extent.state(mtr) == Some(ExtentState::Free) => extent,
            _ => {
                if free.is_empty(mtr) {
                    self.add_free_extents(mtr)?;
                }
                self.first_extent(mtr, free)?.ok_or(self.damaged(
                    header::SPACE_HEADER_PAGE,
                    "the length of FSP_FREE after the file has grown",
                    0u32,
                    "1 and more",
                ))?
            }
        };
        remove(mtr, free, extent.node())?;
        Ok(extent)
    }

    /// Puts an extent that is on no list on the free list.
    pub(super) fn give_extent(
        &self,
        mtr: &mut MiniTransaction<'_>,
        extent: Extent,
    ) -> Result<(), AllocationError> {
        extent.change(mtr, |descriptor, writer| descriptor.initialise(writer));
        add_last(mtr, self.list(header::FREE), extent.node())
    }

    /// Takes a single page: of the hint's extent if that is a fragment extent, near the
    /// hint. The file may grow for it. The page is not initialised.
    pub(super) fn take_fragment(
        &self,
        mtr: &mut MiniTransaction<'_>,
        hint: PageNumber,
    ) -> Result<PageNumber, AllocationError> {
        let fragments = self.list(header::FREE_FRAGMENTS);
        let hinted = self.extent_of(mtr, hint)?;
        let extent = match hinted {
            Some(extent) if extent.state(mtr) == Some(ExtentState::FreeFragment) => extent,
            _ => match self.first_extent(mtr, fragments)? {
                Some(extent) => extent,
                None => {
                    let extent = self.take_extent(mtr, hint)?;
                    extent.change(mtr, |descriptor, writer| {
                        descriptor.set_state(writer, ExtentState::FreeFragment);
                    });
                    add_last(mtr, fragments, extent.node())?;
                    extent
                }
            },
        };
        let page = extent.find_free(mtr, hint).ok_or(self.damaged(
            extent.first_page(),
            "the number of free pages of an extent on FSP_FREE_FRAG",
            0u32,
            "1 and more",
        ))?;
        if page.0 >= self.size(mtr) {
            // Only the first extent is described before it exists.
            self.grow_to(mtr, page.0 + 1)?;
        }
        extent.set_free(mtr, page, false);
        let used = header::FRAGMENTS_USED.get(mtr.page(self.header)) + 1;
        if extent.used_pages(mtr) == EXTENT_PAGES {
            remove(mtr, fragments, extent.node())?;
            extent.change(mtr, |descriptor, writer| {
                descriptor.set_state(writer, ExtentState::FullFragment);
            });
            add_last(mtr, self.list(header::FULL_FRAGMENTS), extent.node())?;
            self.set_fragments_used(mtr, used, EXTENT_PAGES)?;
        } else {
            self.set_fragments_used(mtr, used, 0)?;
        }
        Ok(page)
    }

    /// Gives a single page back.
    pub(super) fn give_fragment(
        &self,
        mtr: &mut MiniTransaction<'_>,
        page: PageNumber,
    ) -> Result<(), AllocationError> {
        let extent = self.described(mtr, page)?;
        let used = header::FRAGMENTS_USED.get(mtr.page(self.header));
        let fragments = self.list(header::FREE_FRAGMENTS);
        let state = extent.state(mtr);
        if extent.is_free(mtr, page) {
            return Err(self.damaged(page, "the free bit of a page to be freed", 1u32, "0"));
        }
        match state {
            Some(ExtentState::FullFragment) => {
                extent.set_free(mtr, page, true);
                remove(mtr, self.list(header::FULL_FRAGMENTS), extent.node())?;
                extent.change(mtr, |descriptor, writer| {
                    descriptor.set_state(writer, ExtentState::FreeFragment);
                });
                add_last(mtr, fragments, extent.node())?;
                self.set_fragments_used(mtr, used + EXTENT_PAGES, 1)?;
            }
            Some(ExtentState::FreeFragment) => {
                extent.set_free(mtr, page, true);
                self.set_fragments_used(mtr, used, 1)?;
            }
            other => {
                return Err(self.damaged(
                    page,
                    "the state of a fragment page's extent",
                    other.map_or(u64::from(u32::MAX), |state| u64::from(state as u32)),
                    "2 or 3",
                ));
            }
        }
        if extent.used_pages(mtr) == 0 {
            remove(mtr, fragments, extent.node())?;
            self.give_extent(mtr, extent)?;
        }
        Ok(())
    }

    /// The extent of a page that is in use.
    pub(super) fn described(
        &self,
        mtr: &mut MiniTransaction<'_>,
        page: PageNumber,
    ) -> Result<Extent, AllocationError> {
        let extent = self.extent_of(mtr, page)?;
        extent.ok_or(self.damaged(
            page,
            "the number of a page in use",
            page.0,
            "a number below FSP_SIZE and FSP_FREE_LIMIT",
        ))
    }

    fn set_fragments_used(
        &self,
        mtr: &mut MiniTransaction<'_>,
        count: u32,
        less: u32,
    ) -> Result<(), AllocationError> {
        let count = count.checked_sub(less).ok_or(self.damaged(
            header::SPACE_HEADER_PAGE,
            "FSP_FRAG_N_USED",
            count,
            "the used pages of FSP_FREE_FRAG's extents",
        ))?;
        mtr.writer(self.header).set(header::FRAGMENTS_USED, count);
        Ok(())
    }
}
