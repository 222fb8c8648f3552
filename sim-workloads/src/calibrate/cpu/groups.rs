//! Groups of costs that always come together, and so can only be told together.
//!
//! A micro-run that looks a row up compares records, finds pages in the hash and fixes them,
//! in nearly the same proportion whatever it does. No run of statements can tell these costs
//! apart, but it can tell what their sum is to the sum of the defaults: a *multiple* for the
//! group.

use innosim_engine::runtime::Cost::{self, *};

/// Costs with one multiple.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// Its name.
    pub name: &'static str,
    /// Its costs.
    pub costs: &'static [Cost],
}

/// All groups. A cost that is in none keeps its default: no micro-run shows it alone.
pub const GROUPS: [Group; 6] = [
    Group {
        name: "lookups",
        costs: &[
            PageHashLookup,
            PageGet,
            PageFirstUse,
            LruMove,
            RecordCompare,
        ],
    },
    Group {
        name: "rows read",
        costs: &[RecordStep, RowFetch, ReadViewSees],
    },
    Group {
        name: "rows changed",
        costs: &[
            RecordInsert,
            RecordDelete,
            RecordUpdate,
            RecordMove,
            RowBuild,
            PageSplit,
            PageAllocate,
            UndoRecordWrite,
            UndoRecordRead,
        ],
    },
    Group {
        name: "redo",
        costs: &[
            MiniTransaction,
            LogReserve,
            LogCopy,
            LogLink,
            LogBlock,
            FlushListChange,
        ],
    },
    Group {
        name: "transactions",
        costs: &[
            TrxSysSection,
            ReadViewCopyId,
            TrxIdLookup,
            TrxIdRemove,
            RollbackSegmentSection,
            Admission,
        ],
    },
    Group {
        name: "locks",
        costs: &[LockSysSection, LockQueueStep, LockChange],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_cost_is_in_one_group_at_most() {
        let all: Vec<Cost> = GROUPS
            .iter()
            .flat_map(|group| group.costs.to_vec())
            .collect();
        let distinct: BTreeSet<Cost> = all.iter().copied().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
