//! Mini-transactions: changes of several pages that are redone all or not at all.
//!
//! Inserting a record may change one page, splitting a page four. A crash in between must
//! not show. So each step from one consistent state of the pages to the next is a
//! mini-transaction:
//!
//! ```text
//!   begin     nothing held, nothing recorded
//!   fix       page 3 in S, page 7 in X         the memo remembers
//!   writer    changes page 7                   the bytes go into the group of records
//!   commit    group -> log buffer              gets its LSNs
//!             page 7: LSN, flush list
//!             latches off, in reverse order
//! ```
//!
//! No page is released after it was changed and before the commit, so the order of redo
//! in the log is the order in which each page was changed. A mini-transaction cannot be
//! rolled back: who finds out in the middle that it cannot go on must have looked before
//! the first change.
//!
//! It is short, and holds latches. Nothing that waits for a user, for a row lock or for
//! the log is done inside.

use std::sync::Arc;

use super::memo::{OtherLatch, PageHandle, PageSlot, Savepoint, Slot};
use super::pages::{MiniTransactionContext, Pages};
use super::record::{FileOperation, GroupBuffer};
use crate::buffer_pool::{BufferPoolError, FixMode};
use crate::page::{IndexPage, Lsn, PageBytes, PageId, PageWriter, fil};
use crate::runtime::{self, Cost, Held, LatchMode, PageLatch, WaitKind, cpu};
use crate::tablespace::Tablespace;

/// Why a mini-transaction does not get a page.
pub type PageAccessError = BufferPoolError;

/// A mini-transaction; see the module's opening.
///
/// Dropped without a commit it releases what it holds; then it must not have changed
/// anything. While a task unwinds the drop does nothing: what it holds stays held, and
/// the engine is not usable any more.
#[derive(Debug)]
#[must_use = "a mini-transaction is ended by its commit"]
pub struct MiniTransaction<'m> {
    pub(super) pages: &'m Pages,
    pub(super) context: &'m mut MiniTransactionContext,
}

impl<'m> MiniTransaction<'m> {
    /// What it works on.
    pub fn pages(&self) -> &'m Pages {
        self.pages
    }

    /// The number of its task.
    pub fn shard(&self) -> usize {
        self.context.waits.shard
    }

    // ---- pages ----------------------------------------------------------------

    /// Gets a page, latched in `mode`; reads it if it is not in the pool. A page that is
    /// held already in that mode or a stronger one is answered from the memo; one that is
    /// held in SX becomes X where X is wanted.
    ///
    /// # Errors
    /// If the pool cannot give the page.
    ///
    /// # Panics
    /// If the page is held in S and wanted in SX or X: two tasks that did this would wait
    /// for each other.
    #[inline]
    pub fn fix(&mut self, page: PageId, mode: LatchMode) -> Result<PageHandle, PageAccessError> {
        self.fix_with(page, mode, FixMode::Normal)
    }

    /// As [`fix`](Self::fix), with a word on how the page is to be got.
    ///
    /// # Errors
    /// As there.
    // With all that it does on its way to a page in the pool, but by itself: searches have
    // two or three calls of it.
    #[inline(never)]
    pub fn fix_with(
        &mut self,
        page: PageId,
        mode: LatchMode,
        how: FixMode,
    ) -> Result<PageHandle, PageAccessError> {
        if let Some(slot) = self.context.memo.find_page(page) {
            return Ok(self.use_again(slot, mode));
        }
        let pool = &self.pages.pool;
        let block = pool.fix(page, how, &mut self.context.waits)?;
        let held = pool.lock_page(block, mode);
        Ok(self.context.memo.push_page(block, page, mode, held))
    }

    /// As [`fix`](Self::fix), but without waiting for the latch: `None` if somebody
    /// else holds it.
    ///
    /// # Errors
    /// As there.
    pub fn try_fix(
        &mut self,
        page: PageId,
        mode: LatchMode,
    ) -> Result<Option<PageHandle>, PageAccessError> {
        if let Some(slot) = self.context.memo.find_page(page) {
            return Ok(Some(self.use_again(slot, mode)));
        }
        let pool = &self.pages.pool;
        let block = pool.fix(page, FixMode::Normal, &mut self.context.waits)?;
        let Some(held) = pool.try_lock_page(block, mode) else {
            pool.unfix(block);
            return Ok(None);
        };
        Ok(Some(self.context.memo.push_page(block, page, mode, held)))
    }

    /// Gets a page that is being made, latched in X, without reading it. Its first change
    /// must initialise it (`PageWriter::initialise_page` or `initialise_index_page`): it
    /// holds zeros, or what it held in an earlier life.
    ///
    /// # Errors
    /// As for [`fix`](Self::fix).
    pub fn fix_new(&mut self, page: PageId) -> Result<PageHandle, PageAccessError> {
        if let Some(slot) = self.context.memo.find_page(page) {
            return Ok(self.use_again(slot, LatchMode::X));
        }
        let pool = &self.pages.pool;
        let block = pool.fix_new(page, &mut self.context.waits)?;
        let held = pool.lock_page(block, LatchMode::X);
        Ok(self.context.memo.push_page(block, page, LatchMode::X, held))
    }

    /// The handle of a page that is held already.
    #[inline(never)]
    fn use_again(&mut self, index: u32, mode: LatchMode) -> PageHandle {
        let pool = &self.pages.pool;
        let slot = self.context.memo.page_slot(index);
        if slot.mode < mode {
            assert!(
                slot.mode == LatchMode::SX,
                "{} is held in S and wanted in {mode:?}",
                slot.page
            );
            // SAFETY: held in SX, as the memo says.
            unsafe { pool.latch(slot.block).upgrade() };
            slot.mode = LatchMode::X;
        }
        slot.uses += 1;
        PageHandle {
            slot: index,
            number: slot.number,
        }
    }

    /// The handle of a page, if it is held, without asking for it once more.
    pub fn held_page(&mut self, page: PageId) -> Option<PageHandle> {
        let memo = &mut self.context.memo;
        let slot = memo.find_page(page)?;
        let number = memo.page_slot(slot).number;
        Some(PageHandle { slot, number })
    }

    /// The bytes of a page.
    ///
    /// # Panics
    /// This and all that takes a handle: if the page has been released.
    #[inline]
    pub fn page(&self, handle: PageHandle) -> &PageBytes {
        let block = self.context.memo.page(handle).block;
        // SAFETY: the page is latched, at least in S, as long as it is in the memo, and
        // it leaves the memo by way of `&mut self`. Only a writer, which borrows `self`
        // exclusively (or another page, `writer_and_page`), changes it.
        unsafe { &*self.pages.pool.frame(block) }
    }

    /// A page as an index page.
    #[inline]
    pub fn index_page(&self, handle: PageHandle) -> IndexPage<'_> {
        IndexPage::new(self.page(handle))
    }

    /// A writer of a page, which is held in X.
    ///
    /// # Panics
    /// If it is held in another mode.
    #[inline]
    pub fn writer(&mut self, handle: PageHandle) -> PageWriter<'_, GroupBuffer> {
        let frame = self.begin_writing(handle);
        // SAFETY: the page is latched in X, and `self` is borrowed exclusively as long as
        // the writer lives.
        PageWriter::new(unsafe { &mut *frame }, &mut self.context.group)
    }

    /// A writer of one page and the bytes of another one: for moving records.
    ///
    /// # Panics
    /// If they are the same page, or the first is not held in X.
    pub fn writer_and_page(
        &mut self,
        target: PageHandle,
        source: PageHandle,
    ) -> (PageWriter<'_, GroupBuffer>, &PageBytes) {
        let frame = self.begin_writing(target);
        let source = self.context.memo.page(source).block;
        let source = self.pages.pool.frame(source);
        assert!(frame != source, "a page cannot be read while it is written");
        // SAFETY: both pages are latched, the first in X; they are different frames; and
        // `self` is borrowed exclusively as long as either reference lives.
        unsafe {
            let writer = PageWriter::new(&mut *frame, &mut self.context.group);
            (writer, &*source)
        }
    }

    fn begin_writing(&mut self, handle: PageHandle) -> *mut PageBytes {
        self.note_changed();
        let slot = self.context.memo.page(handle);
        assert!(
            slot.mode == LatchMode::X,
            "{} is held in {:?}, so it cannot be changed",
            slot.page,
            slot.mode
        );
        self.context.group.begin_page(slot.page);
        self.context.writing = Some(handle);
        self.pages.pool.frame(slot.block)
    }

    /// Marks the page of the last writer if it was changed.
    #[inline]
    fn note_changed(&mut self) {
        if self.context.group.take_changed()
            && let Some(handle) = self.context.writing
        {
            self.context.memo.page_mut(handle).modified = true;
        }
    }

    /// The address of a page.
    pub fn page_id(&self, handle: PageHandle) -> PageId {
        self.context.memo.page(handle).page
    }

    /// The mode in which a page is held.
    pub fn mode(&self, handle: PageHandle) -> LatchMode {
        self.context.memo.page(handle).mode
    }

    /// Whether a page has been changed in this mini-transaction.
    pub fn is_modified(&mut self, handle: PageHandle) -> bool {
        self.note_changed();
        self.context.memo.page(handle).modified
    }

    // ---- other latches --------------------------------------------------------

    /// Takes a latch that is not a page's, such as an index tree's, and keeps it until
    /// the commit. One that is held already is treated as a page would be.
    ///
    /// # Panics
    /// As [`fix`](Self::fix).
    pub fn hold(&mut self, latch: &Arc<PageLatch>, mode: LatchMode) {
        self.hold_other(OtherLatch::Latch(latch.clone()), mode);
    }

    /// Takes a tablespace's latch; otherwise as [`hold`](Self::hold).
    ///
    /// # Panics
    /// As there.
    pub fn hold_space(&mut self, space: &Arc<Tablespace>, mode: LatchMode) {
        self.hold_other(OtherLatch::Space(space.clone()), mode);
    }

    fn hold_other(&mut self, owner: OtherLatch, wanted: LatchMode) {
        let memo = &mut self.context.memo;
        let Some(index) = memo.find_latch(owner.latch()) else {
            let held = owner.latch().lock(wanted, || WaitKind::Latch);
            memo.push_latch(owner, wanted, held);
            return;
        };
        if let Slot::Latch { mode, uses, .. } = memo.slot_mut(index) {
            if *mode < wanted {
                assert!(
                    *mode == LatchMode::SX,
                    "a latch is held in S and wanted in {wanted:?}"
                );
                // SAFETY: held in SX, as the memo says.
                unsafe { owner.latch().upgrade() };
                *mode = LatchMode::X;
            }
            *uses += 1;
        }
    }

    /// The mode in which a latch is held that is not a page's.
    pub fn latch_mode(&mut self, latch: &PageLatch) -> Option<LatchMode> {
        let index = self.context.memo.find_latch(latch)?;
        match self.context.memo.slot_mut(index) {
            Slot::Latch { mode, .. } => Some(*mode),
            _ => None,
        }
    }

    /// Gives up a latch that is not a page's. (If it was asked for several times, the
    /// last of so many calls does.)
    ///
    /// # Panics
    /// If it is not held.
    pub fn release_latch(&mut self, latch: &PageLatch) {
        let memo = &mut self.context.memo;
        let index = memo.find_latch(latch).expect("the latch is held");
        if let Slot::Latch { uses, .. } = memo.slot_mut(index) {
            *uses -= 1;
            if *uses == 0 {
                let slot = memo.take(index);
                self.let_go(slot);
            }
        }
    }

    // ---- giving up early ------------------------------------------------------

    /// Gives up a page that was not changed. (If it was asked for several times, the
    /// last of so many calls does.)
    ///
    /// # Panics
    /// If it was changed.
    pub fn release(&mut self, handle: PageHandle) {
        self.note_changed();
        let slot = self.context.memo.page_mut(handle);
        slot.uses -= 1;
        if slot.uses == 0 {
            assert_unmodified(slot);
            self.forget_writer(handle);
            let slot = self.context.memo.take(handle.slot as usize);
            self.let_go(slot);
        }
    }

    /// A mark: what is taken from here on can be given up at once.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint(self.context.memo.len())
    }

    /// Gives up all pages and latches that were taken since a mark, in reverse order;
    /// what was held before stays, even if it was asked for again since.
    ///
    /// # Panics
    /// If one of the pages was changed.
    pub fn release_since(&mut self, savepoint: Savepoint) {
        self.note_changed();
        self.context.writing = None;
        while self.context.memo.len() > savepoint.0 {
            if let Some(slot) = self.context.memo.pop() {
                if let Slot::Page(page) = &slot {
                    assert_unmodified(page);
                }
                self.let_go(slot);
            }
        }
    }

    fn forget_writer(&mut self, handle: PageHandle) {
        if self.context.writing == Some(handle) {
            self.context.writing = None;
        }
    }

    fn let_go(&self, slot: Slot) {
        match slot {
            Slot::Page(PageSlot {
                block, mode, held, ..
            }) => {
                // SAFETY: the memo has had it, and has it no more.
                unsafe { self.pages.pool.latch(block).unlock(mode, held) };
                self.pages.pool.unfix(block);
            }
            Slot::Latch {
                owner, mode, held, ..
            } => release_other(&owner, mode, held),
            Slot::Released => {}
        }
    }

    fn let_go_of_all(&mut self) {
        while let Some(slot) = self.context.memo.pop() {
            self.let_go(slot);
        }
    }

    // ---- records and the end --------------------------------------------------

    /// Records something done to a file.
    pub fn log_file_operation(&mut self, operation: &FileOperation) {
        self.note_changed();
        self.context.group.file_operation(operation);
    }

    /// From here on changes are not recorded, though their pages become dirty: for bulk
    /// loads, whose pages are flushed before the load counts.
    ///
    /// # Panics
    /// If something has been recorded already.
    pub fn set_no_log(&mut self) {
        assert!(
            self.context.group.is_empty(),
            "a mini-transaction is recorded as a whole or not at all"
        );
        self.context.group.set_silent();
    }

    /// Ends the mini-transaction: its records go to the log, its pages to the flush
    /// lists, its latches are released. Returns the end of its redo, 0 if it has none.
    ///
    /// Its redo is not durable yet: see [`RedoLog::flush_up_to`](super::RedoLog).
    pub fn commit(mut self) -> Lsn {
        self.note_changed();
        let MiniTransactionContext {
            memo, group, waits, ..
        } = &mut *self.context;
        let pages = self.pages;
        let note = |start, end| {
            for slot in memo.modified() {
                // SAFETY: a modified page is latched in X, and no writer of it is alive,
                // since it would borrow the mini-transaction.
                fil::set_page_lsn(unsafe { &mut *pages.pool.frame(slot.block) }, end);
                pages.pool.note_modified(slot.block, start, end);
            }
        };
        cpu(Cost::MiniTransaction);
        let end = if !group.is_empty() {
            let makes_dirty = || {
                memo.modified()
                    .any(|slot| pages.pool.would_enter_flush_list(slot.block))
            };
            pages
                .log
                .append(group.finish(), waits.shard, makes_dirty, note)
        } else {
            if group.is_silent() {
                let now = pages.log.current_lsn();
                note(now - 1, now);
            }
            0
        };
        self.let_go_of_all();
        end
    }
}

fn release_other(owner: &OtherLatch, mode: LatchMode, held: Held) {
    // SAFETY: the memo has had it, and has it no more.
    unsafe { owner.latch().unlock(mode, held) };
}

fn assert_unmodified(slot: &PageSlot) {
    assert!(
        !slot.modified,
        "{} was changed, so it is held until the commit",
        slot.page
    );
}

impl Drop for MiniTransaction<'_> {
    fn drop(&mut self) {
        if self.context.memo.is_empty() || runtime::is_unwinding() {
            return;
        }
        self.note_changed();
        let changed = self.context.memo.modified().next().map(|slot| slot.page);
        self.let_go_of_all();
        if let Some(page) = changed {
            panic!("a mini-transaction that changed {page} was not committed");
        }
    }
}
