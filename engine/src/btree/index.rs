//! An index: where its tree is, how its records look, and its latch.

use std::sync::Arc;

use super::error::BtreeError;
use crate::page::file_list::SegmentHeader;
use crate::page::index_header::{LEAF_SEGMENT, TOP_SEGMENT};
use crate::page::record_build::MAX_RECORD_SIZE;
use crate::page::{IndexPage, PAGE_SIZE, PageId, PageNumber, RecordFormat, SpaceId};
use crate::page_allocation::{AllocationDirection, allocate_page, create_segment, segment_pages};
use crate::redo_log::{MiniTransaction, PageHandle};
use crate::runtime::{LatchClass, LatchMode, PageLatch};

/// Share of a page, in percent, below which it is merged with a neighbour (MySQL's
/// default `MERGE_THRESHOLD`).
pub const MERGE_THRESHOLD: u32 = 50;

/// More levels than this has no tree: with two records a page it would have 2^24 leaves.
pub const LEVELS_MAX: usize = 24;

/// An index. Shared by all that use it, in an `Arc`.
#[derive(Debug)]
pub struct Index {
    /// Its number, on each of its pages.
    pub id: u64,
    /// Its name, for errors: table and index.
    pub name: Box<str>,
    /// The tablespace.
    pub space: SpaceId,
    /// The root page; it stays the same as long as the index lives.
    pub root: PageNumber,
    /// The tree's latch: S to search it, SX (or X) to change which pages it has.
    pub latch: Arc<PageLatch>,
    /// The layout of its records.
    pub format: RecordFormat,
    /// How many leading fields must be unique; all key fields for a secondary index that
    /// is not unique, as its entries end with the primary key.
    pub unique_fields: usize,
    /// The segment of the leaves.
    pub leaf_segment: SegmentHeader,
    /// The segment of the root and of all other pages above the leaves.
    pub node_segment: SegmentHeader,
    /// Below so many percent of a page a neighbour is looked for to merge with.
    pub merge_threshold: u32,
    /// How the tree's latch is held to change its pages: SX since MySQL 5.7, so that
    /// searches go on; X up to 5.6.
    pub change_latch: LatchMode,
}

/// What a new index is made from.
#[derive(Clone, Debug)]
pub struct IndexDefinition {
    /// Its number.
    pub id: u64,
    /// Its name, for errors.
    pub name: String,
    /// The layout of its records.
    pub format: RecordFormat,
    /// How many leading fields must be unique.
    pub unique_fields: usize,
}

impl Index {
    /// Creates an index without records: its segments and its root page.
    ///
    /// # Errors
    /// If there is no room in the tablespace, or a page cannot be had.
    pub fn create(
        mtr: &mut MiniTransaction<'_>,
        space: SpaceId,
        definition: IndexDefinition,
    ) -> Result<Index, BtreeError> {
        let node_segment = create_segment(mtr, space)?;
        let hint = node_segment.page;
        let root = allocate_page(mtr, node_segment, hint, AllocationDirection::Up)?;
        let leaf_segment = create_segment(mtr, space)?;
        let id = mtr.page_id(root);
        let mut writer = mtr.writer(root);
        writer.initialise_index_page(id, 0, definition.id);
        writer.set(TOP_SEGMENT, node_segment);
        writer.set(LEAF_SEGMENT, leaf_segment);
        drop(writer);
        Ok(Index::new(
            space,
            id.page,
            definition,
            leaf_segment,
            node_segment,
        ))
    }

    /// Finds an index again by its root page.
    ///
    /// # Errors
    /// If the root cannot be had or is not the root of this index.
    pub fn open(
        mtr: &mut MiniTransaction<'_>,
        space: SpaceId,
        root: PageNumber,
        definition: IndexDefinition,
    ) -> Result<Index, BtreeError> {
        let page = mtr.fix(PageId { space, page: root }, LatchMode::S)?;
        let bytes = mtr.page(page);
        let (leaf, node) = (LEAF_SEGMENT.get(bytes), TOP_SEGMENT.get(bytes));
        let index = Index::new(space, root, definition, leaf, node);
        index.check_page(mtr, page, None)?;
        mtr.release(page);
        Ok(index)
    }

    fn new(
        space: SpaceId,
        root: PageNumber,
        definition: IndexDefinition,
        leaf_segment: SegmentHeader,
        node_segment: SegmentHeader,
    ) -> Index {
        Index {
            id: definition.id,
            name: definition.name.into(),
            space,
            root,
            latch: Arc::new(PageLatch::of_class(LatchClass::IndexTree)),
            format: definition.format,
            unique_fields: definition.unique_fields,
            leaf_segment,
            node_segment,
            merge_threshold: MERGE_THRESHOLD,
            change_latch: LatchMode::SX,
        }
    }

    /// Whether its leaf records are the rows.
    pub fn is_clustered(&self) -> bool {
        self.format.is_clustered()
    }

    /// The address of one of its pages.
    #[inline]
    pub fn page_id(&self, page: PageNumber) -> PageId {
        PageId {
            space: self.space,
            page,
        }
    }

    /// Bytes of records below which a page is merged.
    pub(super) fn merge_size(&self) -> usize {
        PAGE_SIZE * self.merge_threshold as usize / 100
    }

    /// The most bytes that a node pointer of this index can have.
    pub(super) fn node_pointer_size_max(&self) -> usize {
        let key = &self.format.columns()[..self.format.key_fields()];
        let data: usize = key.iter().map(|column| column.max_length() + 2).sum();
        // Header, child page number, NULL bits of all columns.
        let size = 5 + 4 + self.format.columns().len().div_ceil(8) + data;
        size.min(MAX_RECORD_SIZE)
    }

    /// Checks that a page is one of this index's, and of this level.
    #[inline]
    pub(super) fn check_page(
        &self,
        mtr: &MiniTransaction<'_>,
        page: PageHandle,
        level: Option<u16>,
    ) -> Result<(), BtreeError> {
        let view = mtr.index_page(page);
        if view.index_id() != self.id {
            return Err(self.damaged(mtr.page_id(page), "PAGE_INDEX_ID", view.index_id(), self.id));
        }
        match level {
            Some(level) if view.level() != level => {
                Err(self.wrong_level(view, mtr.page_id(page), level))
            }
            None if usize::from(view.level()) >= LEVELS_MAX => {
                Err(self.wrong_level(view, mtr.page_id(page), LEVELS_MAX as u16 - 1))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn wrong_level(&self, view: IndexPage<'_>, page: PageId, level: u16) -> BtreeError {
        self.damaged(page, "PAGE_LEVEL", view.level(), level)
    }

    #[cold]
    pub(super) fn damaged(
        &self,
        page: PageId,
        what: &'static str,
        found: impl Into<u64>,
        expected: impl Into<u64>,
    ) -> BtreeError {
        BtreeError::Damaged {
            index: self.name.clone(),
            page,
            what,
            found: found.into(),
            expected: expected.into(),
        }
    }

    // ---- figures --------------------------------------------------------------

    /// Number of levels, 1 for a tree that is one leaf.
    ///
    /// # Errors
    /// If the root cannot be had.
    pub fn height(&self, mtr: &mut MiniTransaction<'_>) -> Result<usize, BtreeError> {
        let root = mtr.fix(self.page_id(self.root), LatchMode::S)?;
        self.check_page(mtr, root, None)?;
        let height = usize::from(mtr.index_page(root).level()) + 1;
        mtr.release(root);
        Ok(height)
    }

    /// Number of leaf pages. Takes the tablespace's latch: in a mini-transaction of its
    /// own.
    ///
    /// # Errors
    /// If a page cannot be had.
    pub fn leaf_pages(&self, mtr: &mut MiniTransaction<'_>) -> Result<u32, BtreeError> {
        Ok(segment_pages(mtr, self.leaf_segment)?.used.max(1))
    }
}
