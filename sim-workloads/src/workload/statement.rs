//! The statements that the scripts send, as data.
//!
//! A server sees SQL text or a prepared statement's parameters; the engine sees
//! only what that boils down to. A [`Statement`] is this residue: table number, key,
//! new values. Strings are fixed arrays holding the blank-padded column value, so a
//! whole transaction fits in a reused `Vec` and generating one allocates nothing.
//!
//! `Display` gives the SQL back, for logs, lessons and tests.

use std::fmt;

use super::random::text::{CText, PadText};
use super::version::SysbenchVersion;

/// One statement. Tables are numbered from 1 (`sbtest1`); ids are what column `id`
/// holds (signed from sysbench 1.0 on, so `i64` covers all versions).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// BEGIN.
    Begin,
    /// COMMIT.
    Commit,
    /// Select one row's column by primary key.
    PointSelect {
        /// Table number.
        table: u32,
        /// The row.
        id: i64,
    },
    /// Select c of the rows `from..=to`.
    SimpleRange {
        /// Table number.
        table: u32,
        /// First id.
        from: i64,
        /// Last id, included.
        to: i64,
    },
    /// Select SUM(k) over the rows `from..=to`.
    SumRange {
        /// Table number.
        table: u32,
        /// First id.
        from: i64,
        /// Last id, included.
        to: i64,
    },
    /// Select c of the rows `from..=to`, ordered by c (a sort in the server).
    OrderRange {
        /// Table number.
        table: u32,
        /// First id.
        from: i64,
        /// Last id, included.
        to: i64,
    },
    /// Select the distinct c of the rows `from..=to`, ordered by c (a temporary table
    /// and a sort in the server).
    DistinctRange {
        /// Table number.
        table: u32,
        /// First id.
        from: i64,
        /// Last id, included.
        to: i64,
    },
    /// Add one to the indexed column k of one row.
    UpdateIndex {
        /// Table number.
        table: u32,
        /// The row.
        id: i64,
    },
    /// Set column c, which no index holds, of one row.
    UpdateNonIndex {
        /// Table number.
        table: u32,
        /// The row.
        id: i64,
        /// New value.
        c: CText,
    },
    /// Delete one row, which may not be there.
    Delete {
        /// Table number.
        table: u32,
        /// The row.
        id: i64,
    },
    /// Insert one row.
    Insert {
        /// Table number.
        table: u32,
        /// The row's id, or `None` if the engine's AUTO_INCREMENT is to give one.
        id: Option<i64>,
        /// Column k.
        k: i64,
        /// Column c.
        c: CText,
        /// Column pad.
        pad: PadText,
    },
}

/// How sysbench counts a statement in its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatementClass {
    /// A select.
    Read,
    /// An insert, update or delete.
    Write,
    /// Everything else: BEGIN, COMMIT.
    Other,
}

impl Statement {
    /// The class by the statement's kind.
    pub fn class(&self) -> StatementClass {
        match self {
            Self::Begin | Self::Commit => StatementClass::Other,
            Self::PointSelect { .. }
            | Self::SimpleRange { .. }
            | Self::SumRange { .. }
            | Self::OrderRange { .. }
            | Self::DistinctRange { .. } => StatementClass::Read,
            Self::UpdateIndex { .. }
            | Self::UpdateNonIndex { .. }
            | Self::Delete { .. }
            | Self::Insert { .. } => StatementClass::Write,
        }
    }

    /// The class in that version's report, once it is known how many rows the
    /// statement changed: from 1.0 on, a write that hit nothing counts as other.
    pub fn class_in_report(&self, version: SysbenchVersion, affected_rows: u64) -> StatementClass {
        match self.class() {
            StatementClass::Write
                if affected_rows == 0 && version.counts_unaffected_writes_as_other() =>
            {
                StatementClass::Other
            }
            class => class,
        }
    }

    /// The table it touches, counted from 1; `None` for BEGIN and COMMIT.
    pub fn table(&self) -> Option<u32> {
        match *self {
            Self::Begin | Self::Commit => None,
            Self::PointSelect { table, .. }
            | Self::SimpleRange { table, .. }
            | Self::SumRange { table, .. }
            | Self::OrderRange { table, .. }
            | Self::DistinctRange { table, .. }
            | Self::UpdateIndex { table, .. }
            | Self::UpdateNonIndex { table, .. }
            | Self::Delete { table, .. }
            | Self::Insert { table, .. } => Some(table),
        }
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |f: &mut fmt::Formatter<'_>, what, table, from, to, order| {
            write!(
                f,
                "SELECT {what} FROM sbtest{table} WHERE id BETWEEN {from} AND {to}{order}"
            )
        };
        match self {
            Self::Begin => f.write_str("BEGIN"),
            Self::Commit => f.write_str("COMMIT"),
            Self::PointSelect { table, id } => {
                write!(f, "SELECT c FROM sbtest{table} WHERE id = {id}")
            }
            Self::SimpleRange { table, from, to } => range(f, "c", table, from, to, ""),
            Self::SumRange { table, from, to } => range(f, "SUM(k)", table, from, to, ""),
            Self::OrderRange { table, from, to } => range(f, "c", table, from, to, " ORDER BY c"),
            Self::DistinctRange { table, from, to } => {
                range(f, "DISTINCT c", table, from, to, " ORDER BY c")
            }
            Self::UpdateIndex { table, id } => {
                write!(f, "UPDATE sbtest{table} SET k = k + 1 WHERE id = {id}")
            }
            Self::UpdateNonIndex { table, id, c } => {
                write!(
                    f,
                    "UPDATE sbtest{table} SET c = '{}' WHERE id = {id}",
                    column(c)
                )
            }
            Self::Delete { table, id } => write!(f, "DELETE FROM sbtest{table} WHERE id = {id}"),
            Self::Insert {
                table,
                id,
                k,
                c,
                pad,
            } => {
                write!(
                    f,
                    "INSERT INTO sbtest{table} (id, k, c, pad) VALUES ({}, {k}, '{}', '{}')",
                    // Zero asks MySQL for the next AUTO_INCREMENT value.
                    id.unwrap_or(0),
                    column(c),
                    column(pad),
                )
            }
        }
    }
}

/// A CHAR value as a client gets it: without the padding.
fn column(padded: &[u8]) -> impl fmt::Display {
    String::from_utf8_lossy(padded.trim_ascii_end()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::random::text::padded;

    #[test]
    fn classes_follow_the_kind() {
        assert_eq!(Statement::Begin.class(), StatementClass::Other);
        assert_eq!(
            Statement::SumRange {
                table: 1,
                from: 1,
                to: 2
            }
            .class(),
            StatementClass::Read
        );
        assert_eq!(
            Statement::UpdateIndex { table: 1, id: 1 }.class(),
            StatementClass::Write
        );
    }

    #[test]
    fn a_delete_that_hits_nothing_is_other_from_1_0_on() {
        let delete = Statement::Delete { table: 1, id: 9 };
        let class = |version, rows| delete.class_in_report(version, rows);
        assert_eq!(class(SysbenchVersion::V1_0, 1), StatementClass::Write);
        assert_eq!(class(SysbenchVersion::V1_0, 0), StatementClass::Other);
        assert_eq!(class(SysbenchVersion::V0_5, 0), StatementClass::Write);
        // A select of no row stays a read everywhere.
        let select = Statement::PointSelect { table: 1, id: 9 };
        assert_eq!(
            select.class_in_report(SysbenchVersion::V1_0, 0),
            StatementClass::Read
        );
    }

    #[test]
    fn display_is_sql() {
        let range = Statement::DistinctRange {
            table: 3,
            from: 5,
            to: 104,
        };
        assert_eq!(
            range.to_string(),
            "SELECT DISTINCT c FROM sbtest3 WHERE id BETWEEN 5 AND 104 ORDER BY c"
        );
        let insert = Statement::Insert {
            table: 1,
            id: None,
            k: 7,
            c: padded("1-2"),
            pad: padded("3"),
        };
        assert_eq!(
            insert.to_string(),
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, 7, '1-2', '3')"
        );
        assert_eq!(insert.table(), Some(1));
    }
}
