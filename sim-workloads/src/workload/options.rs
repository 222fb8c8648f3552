//! The options of the OLTP scripts, with sysbench's names and defaults.
//!
//! Fields are named as in sysbench 1.0 (`--point-selects` is `point_selects`); the
//! older versions had the same counts with an `oltp-` in front. Options that only
//! an old version knows are at the end and ignored by the others.

use super::random::{RandomParameters, RandomType};

/// An option whose value no workload can be built from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--{name}={value}: accepted is {accepted}")]
pub struct OptionError {
    /// The option as typed on a command line, without dashes in front.
    pub name: &'static str,
    /// The refused value.
    pub value: String,
    /// What would be accepted.
    pub accepted: &'static str,
}

impl OptionError {
    pub(crate) fn new(
        name: &'static str,
        value: impl std::fmt::Display,
        accepted: &'static str,
    ) -> Self {
        Self {
            name,
            value: value.to_string(),
            accepted,
        }
    }
}

/// The statement of 0.4's non-transactional mode (`--oltp-nontrx-mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NontrxMode {
    /// One select by primary key.
    #[default]
    Select,
    /// One update of the indexed column.
    UpdateKey,
    /// One update of a column without index.
    UpdateNokey,
    /// One insert.
    Insert,
    /// One delete.
    Delete,
}

/// Options of all scripts.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptOptions {
    /// Number of client threads; the scripts only use it to keep unique ids apart.
    pub threads: u32,
    /// Number of tables (1). 0.4 has one table whatever is said here.
    pub tables: u32,
    /// Rows in each table (10000).
    pub table_size: u32,
    /// Rows in each range (100).
    pub range_size: u32,
    /// Selects by primary key in a transaction (10).
    pub point_selects: u32,
    /// Selects of a range (1).
    pub simple_ranges: u32,
    /// Selects of SUM(k) over a range (1).
    pub sum_ranges: u32,
    /// Selects of a range ordered by c (1).
    pub order_ranges: u32,
    /// Selects of the distinct c of a range (1).
    pub distinct_ranges: u32,
    /// Updates of the indexed column k (1).
    pub index_updates: u32,
    /// Updates of the column c (1).
    pub non_index_updates: u32,
    /// Pairs of a delete and an insert of the same id (1).
    pub delete_inserts: u32,
    /// Whether the four kinds of range select run at all (true).
    pub range_selects: bool,
    /// Whether ids come from AUTO_INCREMENT (true).
    pub auto_inc: bool,
    /// Leave out BEGIN and COMMIT: each statement commits by itself (false).
    pub skip_trx: bool,
    /// A secondary index on id instead of the primary key (false).
    pub secondary: bool,
    /// Build the index on k at all (true).
    pub create_secondary: bool,
    /// The distribution of ids; `None` is the default of the script's version.
    pub rand_type: Option<RandomType>,
    /// The distributions' parameters.
    pub random: RandomParameters,
    /// 0.4 and 0.5: no writes (false).
    pub read_only: bool,
    /// 0.4.12's later trees and 0.5: no reads (false).
    pub write_only: bool,
    /// 0.4: the statement of mode `nontrx` (select).
    pub nontrx_mode: NontrxMode,
}

impl Default for ScriptOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            tables: 1,
            table_size: 10_000,
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_selects: true,
            auto_inc: true,
            skip_trx: false,
            secondary: false,
            create_secondary: true,
            rand_type: None,
            random: RandomParameters::default(),
            read_only: false,
            write_only: false,
            nontrx_mode: NontrxMode::Select,
        }
    }
}

impl ScriptOptions {
    /// Checks the ranges.
    ///
    /// # Errors
    /// Names the first option with which no workload can be built.
    pub fn validate(&self) -> Result<(), OptionError> {
        let positive = |name, value: u32| {
            if value > 0 {
                Ok(())
            } else {
                Err(OptionError::new(name, value, "at least 1"))
            }
        };
        positive("threads", self.threads)?;
        positive("tables", self.tables)?;
        positive("table-size", self.table_size)?;
        positive("range-size", self.range_size)?;
        if self.read_only && self.write_only {
            return Err(OptionError::new(
                "oltp-write-only",
                "on",
                "off, because --oltp-read-only is on",
            ));
        }
        self.random.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(ScriptOptions::default().validate(), Ok(()));
    }

    #[test]
    fn a_refused_option_is_named_with_what_is_accepted() {
        let options = ScriptOptions {
            table_size: 0,
            ..Default::default()
        };
        assert_eq!(
            options.validate().unwrap_err().to_string(),
            "--table-size=0: accepted is at least 1"
        );
        let random = RandomParameters {
            rand_pareto_h: 1.0,
            ..Default::default()
        };
        let options = ScriptOptions {
            random,
            ..Default::default()
        };
        assert_eq!(
            options.validate().unwrap_err().to_string(),
            "--rand-pareto-h=1: accepted is between 0 and 1, both excluded"
        );
    }

    #[test]
    fn nothing_to_do_is_refused() {
        let options = ScriptOptions {
            read_only: true,
            write_only: true,
            ..Default::default()
        };
        assert_eq!(options.validate().unwrap_err().name, "oltp-write-only");
    }
}
