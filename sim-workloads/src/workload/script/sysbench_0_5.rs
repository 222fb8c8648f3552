//! sysbench 0.5's Lua scripts, and the copies of them that 1.0 ships as
//! `oltp_legacy`.
//!
//! One table is drawn per *transaction*: a transaction's locks and pages all belong
//! to one table, which at many tables means fewer different pages per transaction
//! than in 1.0. Statements are text, so the server parses and optimises each one.
//!
//! The legacy copies run under 1.0's driver and random numbers: the same statements,
//! but 1.0's hot window and 1.0's counting.

use rand::Rng;

use super::draw::Draw;
use super::{Protocol, ScriptInfo, SysbenchVersion};

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Oltp,
    Select,
    UpdateIndex,
    UpdateNonIndex,
    Insert,
    Delete,
}

impl Kind {
    pub(super) fn event<R: Rng + ?Sized>(self, draw: &mut Draw<'_, R>) {
        let table = draw.table();
        match self {
            Self::Oltp => draw.transaction(|draw| oltp(draw, table)),
            Self::Select => {
                let id = draw.id();
                draw.out.push(super::Statement::PointSelect { table, id });
            }
            Self::UpdateIndex => draw.index_update(table),
            Self::UpdateNonIndex => draw.non_index_update(table),
            Self::Insert => draw.insert(table),
            Self::Delete => draw.delete(table),
        }
    }
}

fn oltp<R: Rng + ?Sized>(draw: &mut Draw<'_, R>, table: u32) {
    if !draw.options.write_only {
        draw.point_selects(table);
        if draw.options.range_selects {
            draw.simple_ranges(table);
            draw.sum_ranges(table);
            draw.order_ranges(table);
            draw.distinct_ranges(table);
        }
    }
    if !draw.options.read_only {
        draw.index_updates(table);
        draw.non_index_updates(table);
        draw.delete_inserts(table);
    }
}

const fn script(
    name: &'static str,
    version: SysbenchVersion,
    protocol: Protocol,
    kind: Kind,
    summary: &'static str,
) -> ScriptInfo {
    ScriptInfo {
        name,
        version,
        protocol,
        summary,
        kind: super::Kind::V0_5(kind),
    }
}

const OLTP: &str = "10 selects by primary key, 4 ranges, 2 updates, a delete and an insert; \
                    one table per transaction";
const SELECT: &str = "one select by primary key, autocommit";
const UPDATE_INDEX: &str = "one update of the indexed column, autocommit";
const UPDATE_NON_INDEX: &str = "one update of a column without index, autocommit";
const INSERT: &str = "one insert, autocommit";
const DELETE: &str = "one delete by primary key, autocommit";

use Protocol::{Prepared, Text};
use SysbenchVersion::{V0_5, V1_0};

/// 0.5's scripts. `oltp_prepared` is not in its distribution: benchmarkers passed
/// around a copy of `oltp` with prepared statements, and reports of 2017 name it.
pub(super) static SCRIPTS: &[ScriptInfo] = &[
    script("sysbench-0.5/oltp", V0_5, Text, Kind::Oltp, OLTP),
    script(
        "sysbench-0.5/oltp_prepared",
        V0_5,
        Prepared,
        Kind::Oltp,
        OLTP,
    ),
    script("sysbench-0.5/select", V0_5, Text, Kind::Select, SELECT),
    script(
        "sysbench-0.5/update_index",
        V0_5,
        Text,
        Kind::UpdateIndex,
        UPDATE_INDEX,
    ),
    script(
        "sysbench-0.5/update_non_index",
        V0_5,
        Text,
        Kind::UpdateNonIndex,
        UPDATE_NON_INDEX,
    ),
    script("sysbench-0.5/insert", V0_5, Text, Kind::Insert, INSERT),
    script("sysbench-0.5/delete", V0_5, Text, Kind::Delete, DELETE),
];

/// The copies under 1.0.
pub(super) static LEGACY_SCRIPTS: &[ScriptInfo] = &[
    script("legacy-1.0/oltp", V1_0, Text, Kind::Oltp, OLTP),
    script("legacy-1.0/select", V1_0, Text, Kind::Select, SELECT),
    script(
        "legacy-1.0/update_index",
        V1_0,
        Text,
        Kind::UpdateIndex,
        UPDATE_INDEX,
    ),
    script(
        "legacy-1.0/update_non_index",
        V1_0,
        Text,
        Kind::UpdateNonIndex,
        UPDATE_NON_INDEX,
    ),
    script("legacy-1.0/insert", V1_0, Text, Kind::Insert, INSERT),
    script("legacy-1.0/delete", V1_0, Text, Kind::Delete, DELETE),
];
