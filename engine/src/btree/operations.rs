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
use crate::redo_log::{MiniTransaction, MiniTransactionContext, Pages};

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
#[derive(Clone, Copy)]
enum Attempt {
    /// On the leaf alone.
    Optimistic,
    /// Pages may be split or merged.
    Pessimistic,
}

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
        let (index, changer) = (self.index, self.changer);
        self.change(
            key,
            false,
            TreeIntention::Insert,
            |attempt, mtr, position| {
                Ok(match attempt {
                    Attempt::Optimistic => {
                        optimistic_insert(mtr, index, position, image, changer).is_some()
                    }
                    Attempt::Pessimistic => {
                        pessimistic_insert(mtr, index, position, image, changer)?;
                        true
                    }
                })
            },
        )
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
        let (index, changer) = (self.index, self.changer);
        self.change(key, true, TreeIntention::Both, |attempt, mtr, position| {
            Ok(match attempt {
                Attempt::Optimistic => {
                    optimistic_update(mtr, index, position, image, changer).is_some()
                }
                Attempt::Pessimistic => {
                    pessimistic_update(mtr, index, position, image, changer)?;
                    true
                }
            })
        })
    }

    /// Takes a record out. False if the key is not there.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn remove(&mut self, key: &[KeyField<'_>]) -> Result<bool, BtreeError> {
        let (index, changer) = (self.index, self.changer);
        self.change(
            key,
            true,
            TreeIntention::Delete,
            |attempt, mtr, position| {
                Ok(match attempt {
                    Attempt::Optimistic => optimistic_remove(mtr, index, position, changer),
                    Attempt::Pessimistic => {
                        pessimistic_remove(mtr, index, position, changer)?;
                        true
                    }
                })
            },
        )
    }

    /// Makes a change at a key, if the key is there or not, as wanted; `make` says whether
    /// an attempt has made it.
    fn change(
        &mut self,
        key: &[KeyField<'_>],
        wants_found: bool,
        intention: TreeIntention,
        make: impl Fn(Attempt, &mut MiniTransaction<'_>, &Position) -> Result<bool, BtreeError>,
    ) -> Result<bool, BtreeError> {
        for attempt in [Attempt::Optimistic, Attempt::Pessimistic] {
            let latch = match attempt {
                Attempt::Optimistic => BtreeLatch::ModifyLeaf,
                Attempt::Pessimistic => BtreeLatch::ModifyTree(intention),
            };
            let mut mtr = self.pages.begin(self.context);
            let how = SearchMode::LessOrEqual;
            let position = search_leaf(&mut mtr, self.index, key, how, latch)?;
            if is_found(&position, key) != wants_found {
                return Ok(false);
            }
            let is_made = make(attempt, &mut mtr, &position);
            mtr.commit();
            if is_made? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
