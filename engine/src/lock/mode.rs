//! Modes of locks, and which of them conflict.
//!
//! A record lock has a strength, shared or exclusive, and a kind that says what is
//! locked: the record, the gap before it, or both.
//!
//! ```text
//!            gap        record           gap
//!   --- 10 ......... 20 ------- and so on ........ supremum
//!           [ gap ]  [ record ]
//!           [    next-key     ]
//!           [ insert intention ]  only asked for, by an insert into the gap
//! ```
//!
//! Gaps do not conflict with each other: a gap lock keeps inserts away and nothing else.
//! The supremum, at the end of each page, stands for the gap after its last record.
//!
//! Source: the fact sheet's section 5.1 (`lock_rec_has_to_wait`).

/// Shared or exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockStrength {
    /// Shared: others may read.
    Shared,
    /// Exclusive.
    Exclusive,
}

impl LockStrength {
    /// Whether two owners can have the same thing in these strengths.
    #[inline]
    pub const fn is_compatible(self, other: LockStrength) -> bool {
        matches!((self, other), (LockStrength::Shared, LockStrength::Shared))
    }
}

/// What of a record is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordLockKind {
    /// The record and the gap before it (`LOCK_ORDINARY`).
    NextKey,
    /// The gap before the record (`LOCK_GAP`).
    Gap,
    /// The record (`LOCK_REC_NOT_GAP`).
    Record,
    /// An insert into the gap before the record (`LOCK_INSERT_INTENTION`): waits for those
    /// who have the gap, and nobody waits for it.
    InsertIntention,
}

/// A record lock's mode: strength and kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordLockMode {
    /// Shared or exclusive.
    pub strength: LockStrength,
    /// What is locked.
    pub kind: RecordLockKind,
}

impl RecordLockMode {
    /// Exclusive, of the record alone: what an update of one found row takes.
    pub const EXCLUSIVE_RECORD: RecordLockMode =
        RecordLockMode::new(LockStrength::Exclusive, RecordLockKind::Record);

    /// What an insert asks for.
    pub const INSERT_INTENTION: RecordLockMode =
        RecordLockMode::new(LockStrength::Exclusive, RecordLockKind::InsertIntention);

    /// A mode.
    pub const fn new(strength: LockStrength, kind: RecordLockKind) -> RecordLockMode {
        RecordLockMode { strength, kind }
    }

    /// Whether a request in this mode has to wait for another transaction's lock in mode
    /// `held` on the same record, which is the supremum or not.
    #[inline]
    pub fn waits_for(self, held: RecordLockMode, on_supremum: bool) -> bool {
        use RecordLockKind::{Gap, InsertIntention, Record};
        if self.strength.is_compatible(held.strength) {
            return false;
        }
        let intends_insert = self.kind == InsertIntention;
        // Gaps do not conflict.
        if !intends_insert && (self.kind == Gap || on_supremum) {
            return false;
        }
        // The record does not conflict with the gap before it.
        if !intends_insert && held.kind == Gap {
            return false;
        }
        if intends_insert && held.kind == Record {
            return false;
        }
        // Nobody waits for an insert that has not happened.
        held.kind != InsertIntention
    }

    /// Whether who has a lock in this mode need not ask for `wanted`.
    #[inline]
    pub fn covers(self, wanted: RecordLockMode, on_supremum: bool) -> bool {
        use RecordLockKind::{Gap, InsertIntention, Record};
        if self.kind == InsertIntention || wanted.kind == InsertIntention {
            return false;
        }
        self.strength >= wanted.strength
            && (self.kind != Record || wanted.kind == Record || on_supremum)
            && (self.kind != Gap || wanted.kind == Gap || on_supremum)
    }
}

/// A table lock's mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableLockMode {
    /// Some rows will be locked in S.
    IntentionShared,
    /// Some rows will be locked in X, or changed.
    IntentionExclusive,
    /// All rows may be read.
    Shared,
    /// Everything.
    Exclusive,
    /// The table's auto-increment counter.
    AutoIncrement,
}

impl TableLockMode {
    /// All modes.
    pub const ALL: [TableLockMode; 5] = [
        TableLockMode::IntentionShared,
        TableLockMode::IntentionExclusive,
        TableLockMode::Shared,
        TableLockMode::Exclusive,
        TableLockMode::AutoIncrement,
    ];

    /// Whether two transactions can have the table in these modes.
    #[inline]
    pub const fn is_compatible(self, other: TableLockMode) -> bool {
        use TableLockMode::{
            AutoIncrement as Ai, IntentionExclusive as Ix, IntentionShared as Is, Shared as S,
        };
        matches!(
            (self, other),
            (Is, Is | Ix | S | Ai) | (Ix, Is | Ix | Ai) | (S, Is | S) | (Ai, Is | Ix)
        )
    }

    /// Whether who has the table in this mode need not ask for `wanted`.
    #[inline]
    pub const fn covers(self, wanted: TableLockMode) -> bool {
        use TableLockMode::{
            AutoIncrement as Ai, Exclusive as X, IntentionExclusive as Ix, IntentionShared as Is,
            Shared as S,
        };
        matches!(
            (self, wanted),
            (X, _) | (S, S | Is) | (Ix, Ix | Is) | (Is, Is) | (Ai, Ai)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::LockStrength::{Exclusive, Shared};
    use super::RecordLockKind::*;
    use super::*;

    fn waits(wanted: (LockStrength, RecordLockKind), held: (LockStrength, RecordLockKind)) -> bool {
        RecordLockMode::new(wanted.0, wanted.1)
            .waits_for(RecordLockMode::new(held.0, held.1), false)
    }

    #[test]
    fn kinds_conflict_as_the_manual_says() {
        // Wanted down, held across: gap, insert intention, record, next-key (all X).
        let kinds = [Gap, InsertIntention, Record, NextKey];
        let expected = [
            [false, false, false, false],
            [true, false, false, true],
            [false, false, true, true],
            [false, false, true, true],
        ];
        for (wanted, row) in kinds.into_iter().zip(expected) {
            for (held, expected) in kinds.into_iter().zip(row) {
                assert_eq!(
                    waits((Exclusive, wanted), (Exclusive, held)),
                    expected,
                    "{wanted:?} after {held:?}"
                );
            }
        }
        assert!(!waits((Shared, NextKey), (Shared, NextKey)));
        assert!(waits((Shared, Record), (Exclusive, NextKey)));
        let supremum = RecordLockMode::new(Exclusive, NextKey);
        assert!(!supremum.waits_for(supremum, true));
        assert!(RecordLockMode::INSERT_INTENTION.waits_for(supremum, true));
    }

    #[test]
    fn what_covers_what() {
        let x = |kind| RecordLockMode::new(Exclusive, kind);
        let s = |kind| RecordLockMode::new(Shared, kind);
        assert!(x(NextKey).covers(s(Record), false));
        assert!(x(NextKey).covers(x(Gap), false));
        assert!(!x(Record).covers(x(NextKey), false));
        assert!(!x(Gap).covers(x(NextKey), false));
        assert!(x(Gap).covers(x(NextKey), true));
        assert!(!s(NextKey).covers(x(Record), false));
        assert!(!x(NextKey).covers(x(InsertIntention), false));
    }

    #[test]
    fn table_modes_are_compatible_both_ways() {
        for a in TableLockMode::ALL {
            assert!(a.covers(a), "{a:?}");
            for b in TableLockMode::ALL {
                assert_eq!(a.is_compatible(b), b.is_compatible(a), "{a:?} {b:?}");
            }
        }
        assert!(!TableLockMode::AutoIncrement.is_compatible(TableLockMode::AutoIncrement));
        assert!(!TableLockMode::IntentionExclusive.is_compatible(TableLockMode::Shared));
    }
}
