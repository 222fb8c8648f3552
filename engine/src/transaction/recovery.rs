//! Recovery of transactions: what was running when the server stopped is there again.
//!
//! Redo has restored all pages, undo pages among them. The slots of the rollback segments
//! tell which transactions had undo that is not that of a committed one:
//!
//! ```text
//!   slot's state    what it means                         what is done
//!   active          the transaction had not committed     rolled back
//!   prepared        it had promised to commit             committed
//!   cached          committed, kept for reuse             kept for reuse
//!   to free         committed inserts                     freed
//! ```
//!
//! Resurrected transactions are active: their rows are locked, implicitly, until they have
//! been rolled back, and so others may work meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rollback::{RollbackError, UndoApplier};
use super::session::Transaction;
use super::transactions::{TransactionError, Transactions};
use super::undo::{RollbackSegment, UndoError, UndoSegment};
use crate::page::rollback_segment::{self as layout, UNDO_SLOTS};
use crate::page::undo_page::{UndoKind, UndoSegmentState};
use crate::redo_log::MiniTransactionContext;
use crate::runtime::LatchMode;

/// Transactions that were running when the server stopped, the youngest first.
#[derive(Debug, Default)]
pub struct Recovered {
    transactions: Vec<(Transaction, bool)>,
    /// Undo records that a rollback will have to apply.
    pub rows_to_undo: u64,
}

impl Recovered {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.transactions.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    /// Rolls them all back, or commits those that were prepared.
    ///
    /// # Errors
    /// If undo cannot be read, or a row cannot be restored.
    pub fn finish(
        self,
        transactions: &Transactions,
        applier: &dyn UndoApplier,
    ) -> Result<usize, RollbackError> {
        let count = self.transactions.len();
        for (mut transaction, is_prepared) in self.transactions {
            if is_prepared {
                transactions.commit(&mut transaction)?;
            } else {
                transactions.rollback(&mut transaction, applier)?;
            }
            transactions.end_session(transaction);
        }
        Ok(count)
    }
}

/// What was found of one transaction.
#[derive(Debug)]
struct Found {
    rollback_segment: Arc<RollbackSegment>,
    segments: [Option<UndoSegment>; 2],
    is_prepared: bool,
}

impl Transactions {
    /// Reads all rollback segments: history, cached segments, and transactions that had not
    /// ended.
    pub(super) fn recover(
        &self,
        context: &mut MiniTransactionContext,
    ) -> Result<Recovered, TransactionError> {
        let mut found = BTreeMap::new();
        for segment in self.undo().rollback_segments() {
            self.recover_history(segment, context)?;
            self.recover_slots(segment, context, &mut found)?;
        }
        self.system().recovered();
        let mut recovered = Recovered::default();
        for (
            id,
            Found {
                rollback_segment,
                segments,
                is_prepared,
            },
        ) in found.into_iter().rev()
        {
            let mut transaction = self.session(0);
            self.system().resurrect(&mut transaction, id);
            let tops = segments.iter().flatten().filter_map(|segment| segment.top);
            let next = tops.map(|top| top.undo_no + 1).max().unwrap_or(0);
            let undo = &mut transaction.undo;
            undo.rollback_segment = Some(rollback_segment);
            undo.segments = segments;
            undo.next_undo_no = next;
            recovered.rows_to_undo += next;
            recovered.transactions.push((transaction, is_prepared));
        }
        Ok(recovered)
    }

    fn recover_history(
        &self,
        segment: &RollbackSegment,
        context: &mut MiniTransactionContext,
    ) -> Result<(), UndoError> {
        let mut mtr = self.undo().pages().begin(context);
        let header = mtr.fix(segment.header(), LatchMode::S)?;
        let bytes = mtr.page(header);
        let history = layout::HISTORY.get(bytes);
        let max_trx_no = layout::MAX_TRX_NO.get(bytes);
        mtr.release(header);
        self.system().ids().note_seen(max_trx_no);
        if history.last.is_null() {
            mtr.commit();
            return Ok(());
        }
        let (newest, _) = segment.position_of(&mut mtr, history.first)?;
        let (oldest, _) = segment.position_of(&mut mtr, history.last)?;
        mtr.commit();
        self.system().ids().note_seen(newest.trx_no);
        segment.state.lock().oldest = Some(oldest);
        self.undo().enqueue(oldest.trx_no, segment.number);
        self.undo().history_grows(history.length.into());
        Ok(())
    }

    fn recover_slots(
        &self,
        rollback_segment: &Arc<RollbackSegment>,
        context: &mut MiniTransactionContext,
        found: &mut BTreeMap<u64, Found>,
    ) -> Result<(), UndoError> {
        let mut buffer = Vec::new();
        let mut mtr = self.undo().pages().begin(context);
        let header = mtr.fix(rollback_segment.header(), LatchMode::S)?;
        let bytes = mtr.page(header);
        let used: Vec<usize> = (0..UNDO_SLOTS)
            .filter(|&slot| !layout::undo_slot(slot).get(bytes).is_null())
            .collect();
        mtr.commit();
        for slot in used {
            let mut mtr = self.undo().pages().begin(context);
            let loaded = rollback_segment.load_slot(&mut mtr, slot, &mut buffer)?;
            mtr.commit();
            let Some((segment, state, trx_id)) = loaded else {
                continue;
            };
            self.system().ids().note_seen(trx_id);
            let kind = match segment.kind {
                UndoKind::Insert => 0,
                UndoKind::Update => 1,
            };
            match state {
                UndoSegmentState::Active | UndoSegmentState::Prepared => {
                    let entry = found.entry(trx_id).or_insert_with(|| Found {
                        rollback_segment: rollback_segment.clone(),
                        segments: [None, None],
                        is_prepared: false,
                    });
                    entry.is_prepared |= state == UndoSegmentState::Prepared;
                    entry.segments[kind] = Some(segment);
                }
                UndoSegmentState::Cached => {
                    rollback_segment.state.lock().cached[kind].push(segment);
                }
                UndoSegmentState::ToFree => {
                    let header = rollback_segment.header();
                    segment.free(self.undo().pages(), context, header)?;
                }
                // Purge finds it by the history; its slot was freed with the commit.
                UndoSegmentState::ToPurge => {}
            }
        }
        Ok(())
    }
}
