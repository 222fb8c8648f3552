//! sysbench 0.4's OLTP test modes (`--test=oltp --oltp-test-mode=...`).
//!
//! One table, `sbtest`; rows are constant (k = 0, c = one blank), so the index on k
//! starts as one long run of duplicates. Statements are prepared.
//!
//! * `complex`: as `oltp_read_write`, with *five* writes: one more update of k hits
//!   the row that is then deleted and inserted again. Statement digests published
//!   from runs of 0.4 show two updates of k for each update of c.
//! * `simple`: one select by primary key.
//! * `nontrx`: one statement, chosen by `nontrx_mode`.
//! * `fetch-update`: half the events fetch a row by primary key, half update one.
//!   Not in sysbench's distribution but in MySQL bug 57489, which does not say which
//!   column; here it is c, which no index holds, so the data page, undo and redo are
//!   the only work.

use rand::Rng;

use super::draw::Draw;
use super::{Protocol, ScriptInfo, Statement, SysbenchVersion};
use crate::workload::options::NontrxMode;
use crate::workload::schema::{C_0_4, PAD_0_4};

/// The only table.
const TABLE: u32 = 1;

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Complex,
    Simple,
    Nontrx,
    FetchUpdate,
}

impl Kind {
    pub(super) fn event<R: Rng + ?Sized>(self, draw: &mut Draw<'_, R>) {
        match self {
            Self::Complex => draw.transaction(complex),
            Self::Simple => select(draw),
            Self::Nontrx => match draw.options.nontrx_mode {
                NontrxMode::Select => select(draw),
                NontrxMode::UpdateKey => draw.index_update(TABLE),
                NontrxMode::UpdateNokey => draw.non_index_update(TABLE),
                NontrxMode::Insert => {
                    let id = draw.insert_id();
                    insert(draw, id);
                }
                NontrxMode::Delete => draw.delete(TABLE),
            },
            Self::FetchUpdate => {
                if draw.coin() {
                    select(draw);
                } else {
                    draw.non_index_update(TABLE);
                }
            }
        }
    }
}

fn select<R: Rng + ?Sized>(draw: &mut Draw<'_, R>) {
    let id = draw.id();
    draw.out.push(Statement::PointSelect { table: TABLE, id });
}

fn insert<R: Rng + ?Sized>(draw: &mut Draw<'_, R>, id: Option<i64>) {
    draw.out.push(Statement::Insert {
        table: TABLE,
        id,
        k: 0,
        c: C_0_4,
        pad: PAD_0_4,
    });
}

fn complex<R: Rng + ?Sized>(draw: &mut Draw<'_, R>) {
    if !draw.options.write_only {
        draw.point_selects(TABLE);
        if draw.options.range_selects {
            draw.simple_ranges(TABLE);
            draw.sum_ranges(TABLE);
            draw.order_ranges(TABLE);
            draw.distinct_ranges(TABLE);
        }
    }
    if !draw.options.read_only {
        draw.index_updates(TABLE);
        draw.non_index_updates(TABLE);
        for _ in 0..draw.options.delete_inserts {
            let id = draw.id();
            draw.out.push(Statement::UpdateIndex { table: TABLE, id });
            draw.out.push(Statement::Delete { table: TABLE, id });
            insert(draw, Some(id));
        }
    }
}

const fn script(name: &'static str, kind: Kind, summary: &'static str) -> ScriptInfo {
    ScriptInfo {
        name,
        version: SysbenchVersion::V0_4,
        protocol: Protocol::Prepared,
        summary,
        kind: super::Kind::V0_4(kind),
    }
}

/// The modes.
pub(super) static SCRIPTS: &[ScriptInfo] = &[
    script(
        "sysbench-0.4/complex",
        Kind::Complex,
        "10 selects by primary key, 4 ranges, 3 updates, a delete and an insert; one table",
    ),
    script(
        "sysbench-0.4/simple",
        Kind::Simple,
        "one select by primary key, autocommit",
    ),
    script(
        "sysbench-0.4/nontrx",
        Kind::Nontrx,
        "one statement (--oltp-nontrx-mode), autocommit",
    ),
    script(
        "sysbench-0.4/fetch-update",
        Kind::FetchUpdate,
        "one fetch or one update by primary key, half each, autocommit",
    ),
];
