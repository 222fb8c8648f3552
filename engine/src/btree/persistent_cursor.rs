//! A place in an index that outlives the mini-transaction.
//!
//! Nobody may hold a latch while waiting for a row lock, or while a client takes its time.
//! So a cursor stores where it was, lets everything go, and finds its place again later:
//!
//! ```text
//!   store     page, origin, page LSN, key
//!   restore   page still in the pool, LSN the same?   the place is what it was
//!             else                                    search for the key
//! ```
//!
//! The page LSN stands for InnoDB's modify clock. It is coarser, since it also advances
//! when a record was only inserted elsewhere on the page; then the search costs a little,
//! and the result is the same. A page that has left the tree was changed when it did.

use super::error::BtreeError;
use super::index::Index;
use super::search::{BtreeLatch, Position, search_leaf};
use crate::buffer_pool::{BufferPoolError, FixMode};
use crate::page::record_compare::KeyField;
use crate::page::record_format::MAX_COLUMNS;
use crate::page::{Lsn, PageId, PageNumber, SearchMode, SpaceId, fil};
use crate::redo_log::MiniTransaction;
use crate::runtime::LatchMode;

/// A key that owns its bytes; reused, it does not allocate once it has grown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredKey {
    bytes: Vec<u8>,
    /// Length of each field; `None` for NULL.
    lengths: Vec<Option<usize>>,
}

impl StoredKey {
    /// Stores a key.
    pub fn set(&mut self, key: &[KeyField<'_>]) {
        self.bytes.clear();
        self.lengths.clear();
        for field in key {
            self.bytes.extend_from_slice(field.unwrap_or_default());
            self.lengths.push(field.map(<[u8]>::len));
        }
    }

    /// Gives the key back, for as long as a function runs.
    pub fn with<T>(&self, use_key: impl FnOnce(&[KeyField<'_>]) -> T) -> T {
        let mut fields = [None; MAX_COLUMNS];
        let mut rest = &self.bytes[..];
        for (field, length) in fields.iter_mut().zip(&self.lengths) {
            *field = length.map(|length| {
                let (value, behind) = rest.split_at(length);
                rest = behind;
                value
            });
        }
        use_key(&fields[..self.lengths.len()])
    }
}

/// Where a restored cursor is.
#[derive(Clone, Copy, Debug)]
pub enum Restored {
    /// At the record that was stored.
    Same(Position),
    /// That record is gone; this is the last one before it, or an infimum. The next one
    /// is the first behind the stored place.
    Before(Position),
}

/// A stored place; see the module's opening.
#[derive(Clone, Debug)]
pub struct PersistentCursor {
    page: PageId,
    origin: u16,
    lsn: Lsn,
    key: StoredKey,
}

impl Default for PersistentCursor {
    fn default() -> Self {
        PersistentCursor {
            page: PageId {
                space: SpaceId(0),
                page: PageNumber::NULL,
            },
            origin: 0,
            lsn: 0,
            key: StoredKey::default(),
        }
    }
}

impl PersistentCursor {
    /// A cursor without a place.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores a position, which is at a record.
    ///
    /// # Panics
    /// If it is at the end of a page.
    pub fn store(&mut self, mtr: &mut MiniTransaction<'_>, index: &Index, position: &Position) {
        // What this mini-transaction changed gets its LSN only when it commits.
        let is_modified = mtr.is_modified(position.leaf);
        let record = position.record(mtr);
        self.key.set(&index.format.key_of(record));
        self.page = mtr.page_id(position.leaf);
        self.origin = position.origin;
        self.lsn = match is_modified {
            true => Lsn::MAX,
            false => fil::PAGE_LSN.get(mtr.page(position.leaf)),
        };
    }

    /// The key of the stored record.
    pub fn key(&self) -> &StoredKey {
        &self.key
    }

    /// Finds the place again, in a mini-transaction that holds no page.
    ///
    /// # Errors
    /// As [`search_leaf`].
    pub fn restore(
        &self,
        mtr: &mut MiniTransaction<'_>,
        index: &Index,
        latch: BtreeLatch,
    ) -> Result<Restored, BtreeError> {
        let mode = match latch {
            BtreeLatch::SearchLeaf => Some(LatchMode::S),
            BtreeLatch::ModifyLeaf => Some(LatchMode::X),
            BtreeLatch::ModifyTree(_) => None,
        };
        if let Some(mode) = mode
            && let Some(position) = self.restore_unchanged(mtr, index, mode)?
        {
            return Ok(Restored::Same(position));
        }
        self.key.with(|key| {
            let position = search_leaf(mtr, index, key, SearchMode::LessOrEqual, latch)?;
            let is_same = position.is_at_record() && position.matched == key.len();
            Ok(match is_same {
                true => Restored::Same(position),
                false => Restored::Before(position),
            })
        })
    }

    /// The page as it was, if it still is.
    fn restore_unchanged(
        &self,
        mtr: &mut MiniTransaction<'_>,
        index: &Index,
        mode: LatchMode,
    ) -> Result<Option<Position>, BtreeError> {
        if self.page.space != index.space || self.page.page.is_null() {
            return Ok(None);
        }
        let leaf = match mtr.fix_with(self.page, mode, FixMode::IfInPool) {
            Ok(leaf) => leaf,
            Err(BufferPoolError::NotInPool(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let bytes = mtr.page(leaf);
        let view = mtr.index_page(leaf);
        let is_same = fil::PAGE_LSN.get(bytes) == self.lsn
            && view.index_id() == index.id
            && view.level() == 0;
        if !is_same {
            mtr.release(leaf);
            return Ok(None);
        }
        Ok(Some(Position::at(
            leaf,
            self.origin,
            index.format.key_fields(),
        )))
    }
}
