//! How a read view is opened: one algorithm for each generation of InnoDB.
//!
//! All of them do it under `trx_sys->mutex`, and what they do there is what a server of
//! many cores stops at. The set of active transactions may have hundreds of members; a
//! *walk* goes to each transaction object, whose line another core has just changed, a
//! *copy* takes eight bytes each from one vector.
//!
//! ```text
//!    5.1 to 5.6    n x 30 ns (same socket) or 96 ns (another)      1000 active: 80 µs
//!    5.7 to 8.4    n x 0.3 ns                                                   0.3 µs
//! ```
//!
//! To add an algorithm, implement [`ReadViewAlgorithm`] in a file of its own and name it
//! in `innosim_read_view`.

use std::sync::Arc;

use super::active::{ActiveTransactions, TransactionState};
use super::ids::TrxId;
use crate::runtime::{Cost, cpu_times, socket};
use crate::sysvar;

/// How the active transactions get into a view.
pub trait ReadViewAlgorithm: Send + Sync + std::fmt::Debug {
    /// Its name in `innosim_read_view`.
    fn name(&self) -> &'static str;

    /// Puts the ids of all active transactions but `creator` into `ids`, which is empty;
    /// sorted. Called under `trx_sys->mutex`: charges what it does.
    fn collect(&self, active: &ActiveTransactions, creator: TrxId, ids: &mut Vec<TrxId>);

    /// Whether a reader's closed view stays where it is, to be opened again without the
    /// mutex if nothing has happened.
    fn keeps_closed_views(&self) -> bool;
}

/// 5.1 to 5.6: from transaction to transaction.
#[derive(Clone, Copy, Debug)]
pub struct ListWalk;

impl ReadViewAlgorithm for ListWalk {
    fn name(&self) -> &'static str {
        sysvar::ReadViewAlgorithm::TrxListWalk.name()
    }

    fn collect(&self, active: &ActiveTransactions, creator: TrxId, ids: &mut Vec<TrxId>) {
        let mut walk = Walk::new();
        for transaction in active.list() {
            walk.step(transaction);
            let id = transaction.id();
            if id != creator {
                ids.push(id);
            }
        }
        walk.charge();
    }

    fn keeps_closed_views(&self) -> bool {
        false
    }
}

/// Looks for an active transaction as 5.6 does: from the youngest on, through the list.
pub(super) fn find_by_walk(
    active: &ActiveTransactions,
    id: TrxId,
) -> Option<&Arc<TransactionState>> {
    let mut walk = Walk::new();
    let mut found = None;
    for transaction in active.list().iter().rev() {
        walk.step(transaction);
        if transaction.id() <= id {
            found = (transaction.id() == id).then_some(transaction);
            break;
        }
    }
    walk.charge();
    found
}

/// Steps of a walk, by where the transactions run that it meets.
struct Walk {
    here: usize,
    near: u64,
    far: u64,
}

impl Walk {
    fn new() -> Self {
        Walk {
            here: socket(),
            near: 0,
            far: 0,
        }
    }

    #[inline]
    fn step(&mut self, transaction: &TransactionState) {
        if transaction.socket() == self.here {
            self.near += 1;
        } else {
            self.far += 1;
        }
    }

    fn charge(self) {
        cpu_times(Cost::TrxListStepNear, self.near);
        cpu_times(Cost::TrxListStepFar, self.far);
    }
}

/// 5.7 to 8.4: the sorted vector of ids, in two pieces around the creator's own.
#[derive(Clone, Copy, Debug)]
pub struct IdVectorCopy;

impl ReadViewAlgorithm for IdVectorCopy {
    fn name(&self) -> &'static str {
        sysvar::ReadViewAlgorithm::IdVectorCopy.name()
    }

    fn collect(&self, active: &ActiveTransactions, creator: TrxId, ids: &mut Vec<TrxId>) {
        let all = active.ids();
        match all.binary_search(&creator) {
            Ok(own) => {
                ids.extend_from_slice(&all[..own]);
                ids.extend_from_slice(&all[own + 1..]);
            }
            Err(_) => ids.extend_from_slice(all),
        }
        cpu_times(Cost::ReadViewCopyId, all.len() as u64);
    }

    fn keeps_closed_views(&self) -> bool {
        true
    }
}

/// The algorithm that `innosim_read_view` names.
pub fn of_variable(choice: sysvar::ReadViewAlgorithm) -> Box<dyn ReadViewAlgorithm> {
    match choice {
        sysvar::ReadViewAlgorithm::TrxListWalk => Box::new(ListWalk),
        sysvar::ReadViewAlgorithm::IdVectorCopy => Box::new(IdVectorCopy),
    }
}
