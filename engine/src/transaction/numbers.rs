//! Numbers that were given out and not yet committed: what bounds purge from above.

use std::collections::VecDeque;

use super::ids::{IdSource, TrxNo};

/// Numbers of transactions in commit. Given out in ascending order, dropped in any.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    open: VecDeque<TrxNo>,
}

impl Numbers {
    /// Gives a number out. The owner's mutex is held.
    pub(super) fn take(&mut self, ids: &IdSource) -> TrxNo {
        let number = ids.take();
        self.open.push_back(number);
        number
    }

    /// A transaction has committed.
    pub(super) fn release(&mut self, number: TrxNo) {
        if let Some(place) = self.open.iter().position(|&other| other == number) {
            self.open.remove(place);
        }
    }

    /// Undo below this number belongs to transactions that have committed. `next` is what
    /// the counter says.
    pub(super) fn low_limit(&self, next: u64) -> TrxNo {
        self.open.front().copied().unwrap_or(next)
    }
}
