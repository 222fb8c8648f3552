//! What must hold for a tree.
//!
//! For tests, crash tests and tools; nobody may change the index meanwhile. Level by
//! level, from the root down:
//!
//! ```text
//!   each page      of this index and level, consistent in itself, not empty
//!   each level     linked in the order of the node pointers above, keys ascending
//!   each pointer   not above the first key of its child, and equal to it above the leaves
//!   the segments   own these pages, and no others
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::error::BtreeError;
use super::index::{Index, LEVELS_MAX};
use super::persistent_cursor::StoredKey;
use crate::page::check::check_index_page;
use crate::page::file_list::SegmentHeader;
use crate::page::segment_inode::SegmentInode;
use crate::page::{IndexPage, PageNumber, fil};
use crate::page_allocation::{PageOwner, check_space};
use crate::redo_log::{MiniTransactionContext, Pages};
use crate::runtime::LatchMode;

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// What is wrong, in words, with page and value.
    pub faults: Vec<String>,
    /// Pages of each level, leaves first.
    pub pages: Vec<usize>,
    /// Records of the leaves.
    pub records: u64,
    /// Those of them that are marked as deleted.
    pub delete_marked: u64,
}

impl TreeReport {
    /// Number of levels.
    pub fn height(&self) -> usize {
        self.pages.len()
    }
}

/// Checks a tree, and the tablespace it is in. A page that cannot be read is a fault like
/// others; the check goes on with the pages that can.
///
/// # Errors
/// If the root cannot be had, or is not a root.
pub fn check_tree(pages: &Pages, index: &Index) -> Result<TreeReport, BtreeError> {
    let mut check = Check {
        pages,
        index,
        context: MiniTransactionContext::new(0),
        report: TreeReport::default(),
        met: BTreeMap::new(),
        is_whole: true,
    };
    check.run()?;
    Ok(check.report)
}

/// A page that a level above names, and the key of its pointer; `None` if that counts as
/// below every key.
struct Child {
    page: PageNumber,
    bound: Option<StoredKey>,
}

struct Check<'a> {
    pages: &'a Pages,
    index: &'a Index,
    context: MiniTransactionContext,
    report: TreeReport,
    /// The pages of the tree, and their levels.
    met: BTreeMap<PageNumber, u16>,
    /// Whether every page above the leaves could be read, so that `met` has all pages.
    is_whole: bool,
}

impl Check<'_> {
    fn fault(&mut self, what: String) {
        self.report.faults.push(what);
    }

    fn run(&mut self) -> Result<(), BtreeError> {
        let mut mtr = self.pages.begin(&mut self.context);
        let height = self.index.height(&mut mtr)?;
        mtr.commit();
        if height > LEVELS_MAX {
            self.fault(format!("the root is at level {}", height - 1));
            return Ok(());
        }
        self.report.pages = vec![0; height];
        let mut children = vec![Child {
            page: self.index.root,
            bound: None,
        }];
        for level in (0..height as u16).rev() {
            self.report.pages[usize::from(level)] = children.len();
            children = self.level(level, &children)?;
        }
        self.segments()
    }

    /// Checks the pages of a level; returns those of the level below.
    fn level(&mut self, level: u16, pages: &[Child]) -> Result<Vec<Child>, BtreeError> {
        let mut below = Vec::new();
        let mut last = None;
        for (place, child) in pages.iter().enumerate() {
            if self.met.insert(child.page, level).is_some() {
                self.fault(format!("page {} has two node pointers", child.page));
                continue;
            }
            let mut mtr = self.pages.begin(&mut self.context);
            let handle = match mtr.fix(self.index.page_id(child.page), LatchMode::S) {
                Ok(handle) => handle,
                Err(error) => {
                    mtr.commit();
                    self.fault(error.to_string());
                    self.is_whole &= level == 0;
                    last = None;
                    continue;
                }
            };
            let view = mtr.index_page(handle);
            let page = PageCheck {
                index: self.index,
                view,
                level,
                child,
                siblings: (
                    place.checked_sub(1).map(|left| pages[left].page),
                    pages.get(place + 1).map(|right| right.page),
                ),
                upper: pages.get(place + 1).and_then(|right| right.bound.as_ref()),
            };
            let (is_readable, faults) = page.run(&mut last, &mut below);
            self.is_whole &= is_readable || level == 0;
            // The records of a damaged page lead anywhere.
            if is_readable && level == 0 {
                self.report.records += view.record_count() as u64;
                let marked = view.records().filter(|record| record.is_delete_marked());
                self.report.delete_marked += marked.count() as u64;
            }
            mtr.commit();
            self.report.faults.extend(faults);
        }
        Ok(below)
    }

    /// The segments have the tree's pages and no others.
    fn segments(&mut self) -> Result<(), BtreeError> {
        // What lies below an unreadable page is not known.
        if !self.is_whole {
            return Ok(());
        }
        let space = match check_space(self.pages, self.index.space) {
            Ok(space) => space,
            Err(error) => {
                self.fault(error.to_string());
                return Ok(());
            }
        };
        self.report.faults.extend(space.faults);
        let root = self.index.root;
        for (segment, is_leaf, name) in [
            (self.index.leaf_segment, true, "leaf"),
            (self.index.node_segment, false, "node"),
        ] {
            let id = self.segment_id(segment)?;
            let tree: BTreeSet<_> = self
                .met
                .iter()
                .filter(|&(&page, &level)| (level == 0 && page != root) == is_leaf)
                .map(|(&page, _)| page)
                .collect();
            let owned: BTreeSet<_> = space
                .owners
                .iter()
                .filter(|&(_, &owner)| owner == PageOwner::Segment(id))
                .map(|(&page, _)| page)
                .collect();
            for page in tree.symmetric_difference(&owned) {
                let fault = match tree.contains(page) {
                    true => format!("page {page} is not of the {name} segment {id}"),
                    false => format!("page {page} of the {name} segment {id} is not in the tree"),
                };
                self.fault(fault);
            }
        }
        Ok(())
    }

    fn segment_id(&mut self, header: SegmentHeader) -> Result<u64, BtreeError> {
        let mut mtr = self.pages.begin(&mut self.context);
        let page = mtr.fix(self.index.page_id(header.page), LatchMode::S)?;
        let inode = SegmentInode::of_header(header);
        let id = inode.map_or(0, |inode| inode.segment_id().get(mtr.page(page)));
        mtr.commit();
        Ok(id)
    }
}

/// The check of one page.
struct PageCheck<'a> {
    index: &'a Index,
    view: IndexPage<'a>,
    level: u16,
    child: &'a Child,
    siblings: (Option<PageNumber>, Option<PageNumber>),
    /// The key of the next pointer above.
    upper: Option<&'a StoredKey>,
}

impl PageCheck<'_> {
    /// Checks the page; returns whether its records can be read, and the faults. `last` is
    /// the last key of its level so far.
    fn run(&self, last: &mut Option<StoredKey>, below: &mut Vec<Child>) -> (bool, Vec<String>) {
        let (view, format) = (self.view, &self.index.format);
        let page = self.child.page;
        let mut faults = Vec::new();
        if fil::is_all_zero(view.bytes()) {
            faults.push(format!(
                "page {page} holds only zeros, expected was one of level {}",
                self.level
            ));
            *last = None;
            return (false, faults);
        }
        if view.index_id() != self.index.id || view.level() != self.level {
            faults.push(format!(
                "page {page} is of index {} and level {}, expected {} and {}",
                view.index_id(),
                view.level(),
                self.index.id,
                self.level
            ));
            *last = None;
            return (false, faults);
        }
        if let Err(found) = check_index_page(view.bytes(), format) {
            faults.extend(found.iter().map(|fault| format!("page {page}: {fault}")));
            *last = None;
            return (false, faults);
        }
        let siblings = (view.previous_page(), view.next_page());
        if siblings != self.siblings {
            faults.push(format!(
                "page {page} has the siblings {}, the level above says {}",
                in_words(siblings),
                in_words(self.siblings)
            ));
        }
        let is_root = page == self.index.root;
        if view.record_count() == 0 && !(is_root && self.level == 0) {
            faults.push(format!("page {page} of level {} is empty", self.level));
        }
        let is_stamped = self.level == 0 && !self.index.is_clustered();
        if !is_root && (view.max_trx_id() > 0) != is_stamped {
            faults.push(format!(
                "page {page} of level {} has PAGE_MAX_TRX_ID {}",
                self.level,
                view.max_trx_id()
            ));
        }
        self.check_keys(last, &mut faults);
        if self.level > 0 {
            below.extend(view.records().map(|record| {
                let mut key = StoredKey::default();
                key.set(&format.key_of(record));
                Child {
                    page: record.child(format),
                    bound: (!record.is_min_rec()).then_some(key),
                }
            }));
        }
        (true, faults)
    }

    fn check_keys(&self, last: &mut Option<StoredKey>, faults: &mut Vec<String>) {
        let (view, format) = (self.view, &self.index.format);
        let page = self.child.page;
        let Some(first) = view.records().next() else {
            return;
        };
        if !first.is_min_rec() {
            if let Some(last) = last
                && !last.with(|key| format.compare(key, first).ordering.is_lt())
            {
                faults.push(format!(
                    "page {page}: its first key does not follow the level's"
                ));
            }
            if let Some(bound) = &self.child.bound {
                let ordering = bound.with(|key| format.compare(key, first).ordering);
                if ordering.is_gt() || self.level > 0 && ordering.is_ne() {
                    let how = if ordering.is_gt() { "above" } else { "below" };
                    faults.push(format!("page {page}: the pointer's key is {how} its first"));
                }
            }
        }
        let end = view.record(view.last_record());
        if let Some(upper) = self.upper
            && !end.is_min_rec()
            && !upper.with(|key| format.compare(key, end).ordering.is_gt())
        {
            faults.push(format!(
                "page {page}: its last key is not below the next pointer"
            ));
        }
        let mut key = StoredKey::default();
        key.set(&format.key_of(end));
        *last = (!end.is_min_rec()).then_some(key);
    }
}

/// The pages to the left and to the right.
fn in_words((left, right): (Option<PageNumber>, Option<PageNumber>)) -> String {
    let name = |page: Option<PageNumber>| page.map_or("none".to_owned(), |page| page.to_string());
    format!("{} and {}", name(left), name(right))
}
