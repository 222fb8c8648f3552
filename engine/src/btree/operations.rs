//! Whole operations: the optimistic attempt, and the pessimistic one if that fails, each
//! in a mini-transaction of its own.
//!
//! Between the two nothing is held, and the tree may change; so the second one searches
//! and judges again. Who needs row locks or undo in between uses the parts. Room in the
//! redo log is the caller's business (`RedoLog::free_check`, before each operation).

use super::error::BtreeError;
use super::index::Index;
use super::insert::{optimistic_insert, pessimistic_insert};
use super::lock_hooks::Changer;
use super::remove::{optimistic_remove, pessimistic_remove};
use super::search::{BtreeLatch, Position, TreeIntention, search_leaf};
use super::update::{optimistic_update, pessimistic_update};
use crate::page::record_compare::KeyField;
use crate::page::{RecordImage, SearchMode};
use crate::redo_log::{MiniTransactionContext, Pages};

/// A tree and who works on it.
pub struct TreeAccess<'a> {
    /// What mini-transactions work on.
    pub pages: &'a Pages,
    /// The task's memory for them.
    pub context: &'a mut MiniTransactionContext,
    /// The index.
    pub index: &'a Index,
    /// Who changes it.
    pub changer: Changer<'a>,
}

/// Which attempt an operation is at.
const ATTEMPTS: [bool; 2] = [false, true];

fn is_found(position: &Position, key: &[KeyField<'_>]) -> bool {
    position.is_at_record() && position.matched == key.len()
}

impl TreeAccess<'_> {
    /// Inserts a record. False, and nothing is done, if its key is there already, be it
    /// marked as deleted.
    ///
    /// # Errors
    /// If a page cannot be had or there is no room.
    pub fn insert(
        &mut self,
        key: &[KeyField<'_>],
        image: RecordImage<'_>,
    ) -> Result<bool, BtreeError> {
        for pessimistic in ATTEMPTS {
            let latch = latch(pessimistic, TreeIntention::Insert);
            let mut mtr = self.pages.begin(self.context);
            let (index, changer) = (self.index, self.changer);
            let position = search_leaf(&mut mtr, index, key, SearchMode::LessOrEqual, latch)?;
            if is_found(&position, key) {
                return Ok(false);
            }
            let result = match pessimistic {
                false => {
                    Ok(optimistic_insert(&mut mtr, index, &position, image, changer).is_some())
                }
                true => {
                    pessimistic_insert(&mut mtr, index, &position, image, changer).map(|_| true)
                }
            };
            mtr.commit();
            if result? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Replaces a record by one with the same key. False if the key is not there.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn update(
        &mut self,
        key: &[KeyField<'_>],
        image: RecordImage<'_>,
    ) -> Result<bool, BtreeError> {
        for pessimistic in ATTEMPTS {
            let latch = latch(pessimistic, TreeIntention::Both);
            let mut mtr = self.pages.begin(self.context);
            let (index, changer) = (self.index, self.changer);
            let position = search_leaf(&mut mtr, index, key, SearchMode::LessOrEqual, latch)?;
            if !is_found(&position, key) {
                return Ok(false);
            }
            let result = match pessimistic {
                false => {
                    Ok(optimistic_update(&mut mtr, index, &position, image, changer).is_some())
                }
                true => {
                    pessimistic_update(&mut mtr, index, &position, image, changer).map(|_| true)
                }
            };
            mtr.commit();
            if result? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes a record out. False if the key is not there.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn remove(&mut self, key: &[KeyField<'_>]) -> Result<bool, BtreeError> {
        for pessimistic in ATTEMPTS {
            let latch = latch(pessimistic, TreeIntention::Delete);
            let mut mtr = self.pages.begin(self.context);
            let (index, changer) = (self.index, self.changer);
            let position = search_leaf(&mut mtr, index, key, SearchMode::LessOrEqual, latch)?;
            if !is_found(&position, key) {
                return Ok(false);
            }
            let result = match pessimistic {
                false => Ok(optimistic_remove(&mut mtr, index, &position, changer)),
                true => pessimistic_remove(&mut mtr, index, &position, changer).map(|()| true),
            };
            mtr.commit();
            if result? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn latch(pessimistic: bool, intention: TreeIntention) -> BtreeLatch {
    match pessimistic {
        false => BtreeLatch::ModifyLeaf,
        true => BtreeLatch::ModifyTree(intention),
    }
}
