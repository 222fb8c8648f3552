//! The groups of statements that all generations share.
//!
//! Each group is one loop: draw a key, push a statement. What differs between the
//! generations is who picks the table and which groups follow each other.

use rand::Rng;

use crate::workload::options::ScriptOptions;
use crate::workload::random::text::{CText, PadText, random_c, random_pad};
use crate::workload::random::unique::UniqueIds;
use crate::workload::random::{Distribution, uniform, unit_interval};
use crate::workload::statement::Statement;

/// Everything one event is drawn from, and where it goes.
pub(super) struct Draw<'a, R: Rng + ?Sized> {
    pub options: &'a ScriptOptions,
    pub ids: &'a Distribution,
    /// Whether column id is signed, so that unique ids must be moved below 2^31.
    pub signed: bool,
    pub unique_ids: &'a mut UniqueIds,
    pub rng: &'a mut R,
    pub out: &'a mut Vec<Statement>,
}

impl<R: Rng + ?Sized> Draw<'_, R> {
    /// A table, uniformly.
    pub fn table(&mut self) -> u32 {
        uniform(self.rng, 1, u64::from(self.options.tables)) as u32
    }

    /// A row id (or value of k) from the configured distribution.
    pub fn id(&mut self) -> i64 {
        self.ids.sample(self.rng) as i64
    }

    /// True in half of the cases.
    pub fn coin(&mut self) -> bool {
        unit_interval(self.rng) < 0.5
    }

    /// A fresh value for column c.
    pub fn c(&mut self) -> CText {
        random_c(self.rng)
    }

    /// A fresh value for column pad.
    pub fn pad(&mut self) -> PadText {
        random_pad(self.rng)
    }

    /// The id of an insert: left to AUTO_INCREMENT or unique.
    pub fn insert_id(&mut self) -> Option<i64> {
        let shift = if self.signed { 1 << 31 } else { 0 };
        (!self.options.auto_inc).then(|| i64::from(self.unique_ids.next_id()) - shift)
    }

    /// The body inside BEGIN and COMMIT, or bare with `skip_trx`.
    pub fn transaction(&mut self, body: impl FnOnce(&mut Self)) {
        let explicit = !self.options.skip_trx;
        if explicit {
            self.out.push(Statement::Begin);
        }
        body(self);
        if explicit {
            self.out.push(Statement::Commit);
        }
    }

    /// `point_selects` selects by primary key.
    pub fn point_selects(&mut self, table: u32) {
        for _ in 0..self.options.point_selects {
            let id = self.id();
            self.out.push(Statement::PointSelect { table, id });
        }
    }

    /// `count` ranges, each beginning at a drawn id.
    pub fn ranges(&mut self, count: u32, statement: impl Fn(i64, i64) -> Statement) {
        for _ in 0..count {
            let from = self.id();
            let to = from + i64::from(self.options.range_size) - 1;
            self.out.push(statement(from, to));
        }
    }

    /// `simple_ranges` selects of a range.
    pub fn simple_ranges(&mut self, table: u32) {
        self.ranges(self.options.simple_ranges, |from, to| {
            Statement::SimpleRange { table, from, to }
        });
    }

    /// `sum_ranges` sums over a range.
    pub fn sum_ranges(&mut self, table: u32) {
        self.ranges(self.options.sum_ranges, |from, to| Statement::SumRange {
            table,
            from,
            to,
        });
    }

    /// `order_ranges` ordered selects of a range.
    pub fn order_ranges(&mut self, table: u32) {
        self.ranges(self.options.order_ranges, |from, to| {
            Statement::OrderRange { table, from, to }
        });
    }

    /// `distinct_ranges` distinct selects of a range.
    pub fn distinct_ranges(&mut self, table: u32) {
        self.ranges(self.options.distinct_ranges, |from, to| {
            Statement::DistinctRange { table, from, to }
        });
    }

    /// `index_updates` updates of k.
    pub fn index_updates(&mut self, table: u32) {
        for _ in 0..self.options.index_updates {
            self.index_update(table);
        }
    }

    /// One update of k.
    pub fn index_update(&mut self, table: u32) {
        let id = self.id();
        self.out.push(Statement::UpdateIndex { table, id });
    }

    /// `non_index_updates` updates of c.
    pub fn non_index_updates(&mut self, table: u32) {
        for _ in 0..self.options.non_index_updates {
            self.non_index_update(table);
        }
    }

    /// One update of c.
    pub fn non_index_update(&mut self, table: u32) {
        let id = self.id();
        let c = self.c();
        self.out.push(Statement::UpdateNonIndex { table, id, c });
    }

    /// `delete_inserts` pairs: delete a row and insert it again with new values.
    pub fn delete_inserts(&mut self, table: u32) {
        for _ in 0..self.options.delete_inserts {
            let id = self.id();
            let k = self.id();
            self.out.push(Statement::Delete { table, id });
            let (c, pad) = (self.c(), self.pad());
            self.out.push(Statement::Insert {
                table,
                id: Some(id),
                k,
                c,
                pad,
            });
        }
    }

    /// One insert of a new row.
    pub fn insert(&mut self, table: u32) {
        let id = self.insert_id();
        let k = self.id();
        let (c, pad) = (self.c(), self.pad());
        self.out.push(Statement::Insert {
            table,
            id,
            k,
            c,
            pad,
        });
    }

    /// One delete of a row drawn at random.
    pub fn delete(&mut self, table: u32) {
        let id = self.id();
        self.out.push(Statement::Delete { table, id });
    }
}
