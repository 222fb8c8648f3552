//! sysbench 1.0's and 1.1's `oltp_*` scripts.
//!
//! Every *group* of statements draws a table of its own, so a transaction over many
//! tables touches up to eight of them. The two generations run the same scripts;
//! they differ in the default distribution (see
//! [`SysbenchVersion`]).
//!
//! ```text
//!   script                  reads  writes  other   queries
//!   oltp_point_select          1       0      0        1
//!   oltp_read_only            14       0      2       16
//!   oltp_read_write           14       4      2       20
//!   oltp_write_only            0       4      2        6
//!   oltp_update_index          0       1      0        1
//!   oltp_update_non_index      0       1      0        1
//!   oltp_insert                0       1      0        1   (plain text)
//!   oltp_delete                0       1      0        1   (other when nothing is hit)
//! ```

use rand::Rng;

use super::draw::Draw;
use super::{Protocol, ScriptInfo, SysbenchVersion};

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    PointSelect,
    ReadOnly,
    ReadWrite,
    WriteOnly,
    UpdateIndex,
    UpdateNonIndex,
    Insert,
    Delete,
}

impl Kind {
    pub(super) fn event<R: Rng + ?Sized>(self, draw: &mut Draw<'_, R>) {
        match self {
            Self::PointSelect => point_selects(draw),
            Self::ReadOnly => draw.transaction(reads),
            Self::ReadWrite => draw.transaction(|draw| {
                reads(draw);
                writes(draw);
            }),
            Self::WriteOnly => draw.transaction(writes),
            Self::UpdateIndex => {
                let table = draw.table();
                draw.index_updates(table);
            }
            Self::UpdateNonIndex => {
                let table = draw.table();
                draw.non_index_updates(table);
            }
            Self::Insert => {
                let table = draw.table();
                draw.insert(table);
            }
            Self::Delete => {
                let table = draw.table();
                draw.delete(table);
            }
        }
    }
}

fn point_selects<R: Rng + ?Sized>(draw: &mut Draw<'_, R>) {
    let table = draw.table();
    draw.point_selects(table);
}

fn reads<R: Rng + ?Sized>(draw: &mut Draw<'_, R>) {
    point_selects(draw);
    if draw.options.range_selects {
        let table = draw.table();
        draw.simple_ranges(table);
        let table = draw.table();
        draw.sum_ranges(table);
        let table = draw.table();
        draw.order_ranges(table);
        let table = draw.table();
        draw.distinct_ranges(table);
    }
}

fn writes<R: Rng + ?Sized>(draw: &mut Draw<'_, R>) {
    let table = draw.table();
    draw.index_updates(table);
    let table = draw.table();
    draw.non_index_updates(table);
    let table = draw.table();
    draw.delete_inserts(table);
}

/// One list for both generations, so that they cannot drift apart.
macro_rules! scripts {
    ($version:ident, $prefix:literal) => {
        scripts! { $version, $prefix,
            "oltp_point_select" PointSelect Prepared
                "one select by primary key, autocommit",
            "oltp_read_only" ReadOnly Prepared
                "10 selects by primary key and 4 ranges in a transaction",
            "oltp_read_write" ReadWrite Prepared
                "oltp_read_only's reads, 2 updates, a delete and an insert",
            "oltp_write_only" WriteOnly Prepared
                "2 updates, a delete and an insert in a transaction",
            "oltp_update_index" UpdateIndex Prepared
                "one update of the indexed column, autocommit",
            "oltp_update_non_index" UpdateNonIndex Prepared
                "one update of a column without index, autocommit",
            "oltp_insert" Insert Text
                "one insert, autocommit",
            "oltp_delete" Delete Prepared
                "one delete by primary key, autocommit",
        }
    };
    ($version:ident, $prefix:literal,
        $($name:literal $kind:ident $protocol:ident $summary:literal,)*) => {
        &[$(ScriptInfo {
            name: concat!($prefix, $name),
            version: SysbenchVersion::$version,
            protocol: Protocol::$protocol,
            summary: $summary,
            kind: super::Kind::V1_0(Kind::$kind),
        }),*]
    };
}

/// 1.0's scripts, by the names that sysbench gives them.
pub(super) static SCRIPTS: &[ScriptInfo] = scripts!(V1_0, "");

/// The same scripts under 1.1: uniform by default.
pub(super) static SCRIPTS_1_1: &[ScriptInfo] = scripts!(V1_1, "sysbench-1.1/");
