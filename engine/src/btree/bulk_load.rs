//! A tree built from records that come in key order.
//!
//! Level by level, each page filled and never touched again:
//!
//! ```text
//!   records ──> [leaf][leaf][leaf] ...     15/16 full, linked
//!               first key and number of each
//!          ──> [node][node] ...            full
//!          ──> a level of one page: its records go to the root, the page is freed
//! ```
//!
//! The load may be left out of the redo log; then it counts only when the pages have been
//! flushed, and a crash before that leaves nothing that can be used. Nobody else uses the
//! index meanwhile.
//!
//! Source: InnoDB 5.7 (`btr0bulk.cc`) for the order of things.

use super::error::BtreeError;
use super::index::Index;
use super::persistent_cursor::StoredKey;
use crate::page::index_header::{CLUSTERED_LEAF_RESERVE, INFIMUM};
use crate::page::record_list::RecordRange;
use crate::page::{BulkPage, IndexPage, PageNumber, RecordBuffer, RecordError, fil};
use crate::page_allocation::{AllocationDirection, allocate_page, free_page};
use crate::redo_log::{MiniTransaction, MiniTransactionContext, Pages};
use crate::runtime::{Cost, LatchMode, cpu, cpu_times};

/// How a tree is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkLoadOptions {
    /// Bytes that leaves keep free: 1/16 of a page, as inserts in order would.
    pub leaf_reserve: usize,
    /// Who loads, for secondary leaf pages; at least 1.
    pub trx_id: u64,
    /// Whether the load is in the redo log.
    pub logged: bool,
}

impl Default for BulkLoadOptions {
    fn default() -> Self {
        BulkLoadOptions {
            leaf_reserve: CLUSTERED_LEAF_RESERVE,
            trx_id: 1,
            logged: false,
        }
    }
}

/// Loads records into an index that has none. `next` builds the next record, and says
/// false at the end; it is called while latches are held and must not wait. Returns the
/// number of records.
///
/// # Errors
/// If the index is not empty, records are not in ascending order of keys, one cannot be
/// built, or there is no room. What was loaded is not part of the tree then, and its
/// pages are lost.
pub fn bulk_load(
    pages: &Pages,
    context: &mut MiniTransactionContext,
    index: &Index,
    options: BulkLoadOptions,
    next: impl FnMut(&mut RecordBuffer) -> Result<bool, RecordError>,
) -> Result<u64, BtreeError> {
    let mut load = Load {
        pages,
        context,
        index,
        options,
        records: 0,
    };
    load.check_empty()?;
    let mut level = load.level(0, next)?;
    let records = load.records;
    let mut height = 0;
    while level.len() > 1 {
        height += 1;
        let mut pointers = level.iter();
        level = load.level(height, |record| {
            let pointer = pointers.next();
            if let Some(pointer) = pointer {
                record.clone_from(&pointer.record);
            }
            Ok(pointer.is_some())
        })?;
    }
    if let Some(only) = level.first() {
        load.move_to_root(height, only.page)?;
    }
    Ok(records)
}

/// A page that has been built, and its node pointer.
struct Built {
    record: RecordBuffer,
    page: PageNumber,
}

struct Load<'a> {
    pages: &'a Pages,
    context: &'a mut MiniTransactionContext,
    index: &'a Index,
    options: BulkLoadOptions,
    records: u64,
}

impl Load<'_> {
    fn begin(&mut self) -> MiniTransaction<'_> {
        let mut mtr = self.pages.begin(self.context);
        if !self.options.logged {
            mtr.set_no_log();
        }
        mtr
    }

    fn refuse(&self, needs: &'static str, found: String) -> BtreeError {
        BtreeError::BulkLoad {
            index: self.index.name.clone(),
            needs,
            found,
        }
    }

    fn check_empty(&mut self) -> Result<(), BtreeError> {
        let index = self.index;
        let mut mtr = self.begin();
        let root = mtr.fix(index.page_id(index.root), LatchMode::S)?;
        index.check_page(&mtr, root, None)?;
        let view = mtr.index_page(root);
        let (level, records) = (view.level(), view.record_count());
        mtr.commit();
        match (level, records) {
            (0, 0) => Ok(()),
            _ => {
                let found = format!("its root at level {level} has {records} records");
                Err(self.refuse("an empty index", found))
            }
        }
    }

    /// Builds the pages of a level.
    fn level(
        &mut self,
        level: u16,
        mut next: impl FnMut(&mut RecordBuffer) -> Result<bool, RecordError>,
    ) -> Result<Vec<Built>, BtreeError> {
        let mut record = RecordBuffer::new();
        let mut last_key = None;
        let mut built: Vec<Built> = Vec::new();
        let mut more = next(&mut record)?;
        while more {
            let previous = built.last().map(|built| built.page);
            let index = self.index;
            let options = self.options;
            if options.logged {
                self.pages.log.free_check()?;
            }
            let mut mtr = self.begin();
            let mut page = LevelPage {
                index,
                options,
                level,
                previous,
                records: 0,
            };
            let result = page.build(&mut mtr, &mut record, &mut next, &mut last_key);
            // What was changed cannot be undone; the mini-transaction ends in any case.
            mtr.commit();
            let (pointer, goes_on) = result?;
            self.records += page.records;
            built.push(pointer.ok_or_else(|| {
                let after = self.records;
                let found =
                    format!("a key among the last {after} records is not above the one before");
                self.refuse("records in ascending order of keys", found)
            })?);
            more = goes_on;
        }
        Ok(built)
    }

    /// The records of the only page of the highest level go to the root.
    fn move_to_root(&mut self, level: u16, page: PageNumber) -> Result<(), BtreeError> {
        let index = self.index;
        let trx_id = self.options.trx_id;
        let mut mtr = self.begin();
        let root = mtr.fix(index.page_id(index.root), LatchMode::X)?;
        let only = mtr.fix(index.page_id(page), LatchMode::X)?;
        mtr.writer(root).clear_index_page(level);
        let (mut writer, bytes) = mtr.writer_and_page(root, only);
        let source = IndexPage::new(bytes);
        let all = RecordRange::all(source);
        let copied = writer.copy_records(&index.format, INFIMUM, source, all);
        debug_assert_eq!(copied, Ok(()), "a page's records fit the root");
        if level == 0 && !index.is_clustered() {
            writer.raise_max_trx_id(trx_id);
        }
        drop(writer);
        mtr.writer(only).clear_index_page(level);
        let segment = match level {
            0 => index.leaf_segment,
            _ => index.node_segment,
        };
        let freed = free_page(&mut mtr, segment, page);
        mtr.commit();
        Ok(freed?)
    }
}

/// One page of a level.
struct LevelPage<'a> {
    index: &'a Index,
    options: BulkLoadOptions,
    level: u16,
    previous: Option<PageNumber>,
    records: u64,
}

impl LevelPage<'_> {
    /// Builds the page from `record` on. Returns its pointer, `None` if keys do not
    /// ascend, and whether `record` holds another record.
    fn build(
        &mut self,
        mtr: &mut MiniTransaction<'_>,
        record: &mut RecordBuffer,
        next: &mut impl FnMut(&mut RecordBuffer) -> Result<bool, RecordError>,
        last_key: &mut Option<StoredKey>,
    ) -> Result<(Option<Built>, bool), BtreeError> {
        let index = self.index;
        let previous = match self.previous {
            Some(page) => Some(mtr.fix(index.page_id(page), LatchMode::X)?),
            None => None,
        };
        let is_leaf = self.level == 0;
        let segment = match is_leaf {
            true => index.leaf_segment,
            false => index.node_segment,
        };
        let near = self.previous.unwrap_or(index.root).0;
        let page = allocate_page(mtr, segment, PageNumber(near + 1), AllocationDirection::Up)?;
        let id = mtr.page_id(page);
        if let Some(previous) = previous {
            mtr.writer(previous).set(fil::NEXT, id.page);
        }
        let mut writer = mtr.writer(page);
        writer.initialise_index_page(id, self.level, index.id);
        writer.set_siblings(self.previous, None);
        if is_leaf && !index.is_clustered() {
            writer.raise_max_trx_id(self.options.trx_id);
        }
        let reserve = if is_leaf {
            self.options.leaf_reserve
        } else {
            0
        };
        let mut bulk = BulkPage::new(&mut writer, reserve);
        let mut more = Ok(true);
        while let Ok(true) = more {
            if !bulk.append(record.image()) {
                break;
            }
            self.records += 1;
            more = next(record);
        }
        bulk.finish();
        drop(writer);
        cpu(Cost::PageSplit);
        cpu_times(Cost::RecordMove, self.records);

        let view = mtr.index_page(page);
        let format = &index.format;
        if !ascends(index, view, last_key) {
            return Ok((None, false));
        }
        let mut pointer = RecordBuffer::new();
        let key = format.key_of(view.record(view.first_record()));
        format.build_node_pointer(&key, id.page, self.previous.is_none(), &mut pointer)?;
        let built = Built {
            record: pointer,
            page: id.page,
        };
        Ok((Some(built), more?))
    }
}

/// Whether the keys of a page ascend, from the level's last key on; notes its own last.
fn ascends(index: &Index, page: IndexPage<'_>, last_key: &mut Option<StoredKey>) -> bool {
    let format = &index.format;
    let first = page.record(page.first_record());
    let follows = last_key
        .as_ref()
        .is_none_or(|last| last.with(|key| format.compare(key, first).ordering.is_lt()));
    let mut before = first;
    let ascending = page.records().skip(1).all(|record| {
        let ascends = format.compare_records(before, record).ordering.is_lt();
        before = record;
        ascends
    });
    let key = last_key.get_or_insert_default();
    key.set(&format.key_of(before));
    follows && ascending
}
