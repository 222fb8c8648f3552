//! The tablespace's header, and how a file grows.
//!
//! ```text
//!   0            free limit            size             file
//!   |  described     |  exists, not yet   |  does not exist
//!   |  on lists      |  described         |  yet
//! ```
//!
//! A new file has a few pages and grows page by page to one extent; then by one extent at
//! a time while it has fewer than 32, and by four from there on. Descriptors are set up
//! four extents at a time, when the list of free extents has run out.

use std::sync::Arc;

use super::AllocationError;
use super::file_lists::{ListPlace, add_last};
use crate::page::extent_descriptor::{
    EXTENT_PAGES, ExtentDescriptor, ExtentState, PAGES_PER_DESCRIPTOR_PAGE, descriptor_page,
};
use crate::page::field::Field;
use crate::page::file_list::ListBase;
use crate::page::space_header::{self as header, FLAGS_DYNAMIC_CRC32, SPACE_HEADER_PAGE};
use crate::page::{PageId, PageNumber, PageType, SpaceId};
use crate::redo_log::{FileOperation, MiniTransaction, PageHandle};
use crate::runtime::LatchMode;
use crate::tablespace::Tablespace;

/// Extents whose descriptors are set up at a time, and by which a large file grows
/// (`FSP_FREE_ADD`).
pub const FREE_EXTENTS_ADDED: u32 = 4;

/// A file with fewer extents grows by one extent at a time.
pub const SMALL_SPACE_EXTENTS: u32 = 32;

/// A tablespace whose latch the mini-transaction holds in X, and its header page.
pub(super) struct Space {
    pub(super) id: SpaceId,
    pub(super) tablespace: Arc<Tablespace>,
    pub(super) header: PageHandle,
}

/// Takes the tablespace's latch for the rest of the mini-transaction.
fn latch(
    mtr: &mut MiniTransaction<'_>,
    space: SpaceId,
) -> Result<Arc<Tablespace>, AllocationError> {
    let tablespace = mtr.pages().spaces.get(space);
    let tablespace = tablespace.ok_or(AllocationError::NoTablespace(space))?;
    mtr.hold_space(&tablespace, LatchMode::X);
    Ok(tablespace)
}

/// Writes the header of a tablespace that has just been created, and the descriptors of
/// its first extents. The file has at least 4 pages, all zero.
///
/// # Errors
/// If the tablespace is not open or a page cannot be had.
pub fn create_space(mtr: &mut MiniTransaction<'_>, space: SpaceId) -> Result<(), AllocationError> {
    let tablespace = latch(mtr, space)?;
    let size = tablespace.size();
    let id = PageId {
        space,
        page: SPACE_HEADER_PAGE,
    };
    if size < 4 {
        return Err(AllocationError::Damaged {
            page: id,
            what: "the number of pages of a new file",
            found: size.into(),
            accepted: "4 and more",
        });
    }
    let page = mtr.fix_new(id)?;
    let mut writer = mtr.writer(page);
    writer.initialise_page(id, PageType::SpaceHeader);
    writer.set(header::SPACE_ID, space);
    writer.set(header::SIZE, size);
    writer.set(header::FLAGS, FLAGS_DYNAMIC_CRC32);
    for list in [
        header::FREE,
        header::FREE_FRAGMENTS,
        header::FULL_FRAGMENTS,
        header::INODES_FULL,
        header::INODES_FREE,
    ] {
        writer.set(list, ListBase::EMPTY);
    }
    writer.set(header::NEXT_SEGMENT_ID, 1);
    drop(writer);
    let space = Space {
        id: space,
        tablespace,
        header: page,
    };
    space.describe_extents(mtr)
}

impl Space {
    /// Latches a tablespace and its header page.
    pub(super) fn open(
        mtr: &mut MiniTransaction<'_>,
        space: SpaceId,
    ) -> Result<Space, AllocationError> {
        let tablespace = latch(mtr, space)?;
        let page = PageId {
            space,
            page: SPACE_HEADER_PAGE,
        };
        let header = mtr.fix(page, LatchMode::X)?;
        let id = header::SPACE_ID.get(mtr.page(header));
        if id != space {
            return Err(AllocationError::Damaged {
                page,
                what: "FSP_SPACE_ID",
                found: id.0.into(),
                accepted: "the tablespace's own number",
            });
        }
        Ok(Space {
            id: space,
            tablespace,
            header,
        })
    }

    pub(super) fn page_id(&self, page: PageNumber) -> PageId {
        PageId {
            space: self.id,
            page,
        }
    }

    pub(super) fn list(&self, base: Field<ListBase>) -> ListPlace {
        ListPlace::new(self.header, base)
    }

    pub(super) fn size(&self, mtr: &MiniTransaction<'_>) -> u32 {
        header::SIZE.get(mtr.page(self.header))
    }

    pub(super) fn free_limit(&self, mtr: &MiniTransaction<'_>) -> u32 {
        header::FREE_LIMIT.get(mtr.page(self.header))
    }

    /// An error of the header or another page of this tablespace.
    pub(super) fn damaged(
        &self,
        page: PageNumber,
        what: &'static str,
        found: impl Into<u64>,
        accepted: &'static str,
    ) -> AllocationError {
        AllocationError::Damaged {
            page: self.page_id(page),
            what,
            found: found.into(),
            accepted,
        }
    }

    /// Makes the file `pages` pages long, if it is shorter.
    pub(super) fn grow_to(
        &self,
        mtr: &mut MiniTransaction<'_>,
        pages: u32,
    ) -> Result<(), AllocationError> {
        self.tablespace
            .extend(pages)
            .map_err(|source| AllocationError::Extend {
                space: self.id,
                pages,
                source,
            })?;
        let space = self.id;
        mtr.log_file_operation(&FileOperation::Extend { space, pages });
        mtr.writer(self.header).set(header::SIZE, pages);
        Ok(())
    }

    /// Makes the file longer by InnoDB's rule.
    pub(super) fn grow(&self, mtr: &mut MiniTransaction<'_>) -> Result<(), AllocationError> {
        let size = self.size(mtr);
        let wanted = extension(size).ok_or(self.damaged(
            SPACE_HEADER_PAGE,
            "FSP_SIZE",
            size,
            "less than the most pages that a file can have",
        ))?;
        self.grow_to(mtr, wanted)
    }

    /// Sets up the descriptors of the next extents, so that some are free. Grows the file
    /// if it has none that are not described.
    pub(super) fn add_free_extents(
        &self,
        mtr: &mut MiniTransaction<'_>,
    ) -> Result<(), AllocationError> {
        let limit = u64::from(self.free_limit(mtr));
        let enough = limit + u64::from(EXTENT_PAGES * FREE_EXTENTS_ADDED);
        if u64::from(self.size(mtr)) < enough {
            self.grow(mtr)?;
        }
        self.describe_extents(mtr)
    }

    /// Sets up descriptors of extents that the file has in full, until four are free; of
    /// the first extent in any case.
    fn describe_extents(&self, mtr: &mut MiniTransaction<'_>) -> Result<(), AllocationError> {
        let size = self.size(mtr);
        let mut first = self.free_limit(mtr);
        let mut added = 0;
        while first == 0 || (size - first.min(size) >= EXTENT_PAGES && added < FREE_EXTENTS_ADDED) {
            mtr.writer(self.header)
                .set(header::FREE_LIMIT, first + EXTENT_PAGES);
            let has_descriptors = first.is_multiple_of(PAGES_PER_DESCRIPTOR_PAGE);
            if has_descriptors {
                if first > 0 {
                    self.create_page(mtr, first, PageType::ExtentDescriptors)?;
                }
                self.create_page(mtr, first + 1, PageType::ChangeBufferBitmap)?;
            }
            let number = PageNumber(first);
            let on = descriptor_page(number);
            let page = mtr.fix(self.page_id(on), LatchMode::X)?;
            let extent = ExtentDescriptor::of_page(number);
            let mut writer = mtr.writer(page);
            extent.initialise(&mut writer);
            if has_descriptors {
                extent.set_free(&mut writer, 0, false);
                extent.set_free(&mut writer, 1, false);
                extent.set_state(&mut writer, ExtentState::FreeFragment);
            }
            drop(writer);
            let node = extent.node_address(on);
            if has_descriptors {
                add_last(mtr, self.list(header::FREE_FRAGMENTS), node)?;
                let used = header::FRAGMENTS_USED.get(mtr.page(self.header));
                mtr.writer(self.header)
                    .set(header::FRAGMENTS_USED, used + 2);
            } else {
                add_last(mtr, self.list(header::FREE), node)?;
                added += 1;
            }
            first += EXTENT_PAGES;
        }
        Ok(())
    }

    fn create_page(
        &self,
        mtr: &mut MiniTransaction<'_>,
        page: u32,
        page_type: PageType,
    ) -> Result<(), AllocationError> {
        let id = self.page_id(PageNumber(page));
        let handle = mtr.fix_new(id)?;
        mtr.writer(handle).initialise_page(id, page_type);
        Ok(())
    }
}

/// The size in pages to which a file of `size` pages grows; `None` if it cannot.
///
/// Source: `fsp_try_extend_data_file` and `fsp_get_pages_to_extend_ibd` of InnoDB 5.7 to
/// 8.4, 16 KiB pages.
pub const fn extension(size: u32) -> Option<u32> {
    // A fraction of an extent is filled up first.
    let whole = if size < EXTENT_PAGES {
        EXTENT_PAGES
    } else {
        size
    };
    let extents = if whole < SMALL_SPACE_EXTENTS * EXTENT_PAGES {
        1
    } else {
        FREE_EXTENTS_ADDED
    };
    whole.checked_add(extents * EXTENT_PAGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_grow_by_one_extent_and_then_by_four() {
        assert_eq!(extension(7), Some(128));
        assert_eq!(extension(64), Some(128));
        assert_eq!(extension(31 * 64), Some(32 * 64));
        assert_eq!(extension(32 * 64), Some(36 * 64));
        assert_eq!(extension(u32::MAX - 100), None);
    }
}
