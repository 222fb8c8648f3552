//! What clients count while they run.

use std::ops::{Add, Sub};

use crate::workload::StatementClass;

/// Errors that end an event and that sysbench ignores by default, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorCounters {
    /// Chosen as a deadlock's victim (error 1213).
    pub deadlocks: u64,
    /// Waited longer than `innodb_lock_wait_timeout` for a row (error 1205).
    pub lock_wait_timeouts: u64,
    /// Any other error.
    pub others: u64,
}

impl ErrorCounters {
    /// All kinds together: sysbench's "ignored errors".
    pub fn total(&self) -> u64 {
        self.deadlocks + self.lock_wait_timeouts + self.others
    }
}

/// Statements and transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryCounters {
    /// Selects.
    pub reads: u64,
    /// Inserts, updates and deletes.
    pub writes: u64,
    /// BEGIN, COMMIT and, from sysbench 1.0 on, writes that changed nothing.
    pub others: u64,
    /// Events that ended well: transactions, or single statements under autocommit.
    pub transactions: u64,
    /// Events that did not, and were tried again.
    pub errors: ErrorCounters,
    /// Connections opened again.
    pub reconnects: u64,
}

impl QueryCounters {
    /// Counts one executed statement.
    pub fn count(&mut self, class: StatementClass) {
        match class {
            StatementClass::Read => self.reads += 1,
            StatementClass::Write => self.writes += 1,
            StatementClass::Other => self.others += 1,
        }
    }

    /// All statements.
    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.others
    }
}

/// Sums over threads.
impl Add for QueryCounters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.combine(other, |a, b| a + b)
    }
}

/// What an interval added: the counters at its end less those at its start.
impl Sub for QueryCounters {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        self.combine(earlier, |a, b| a - b)
    }
}

impl QueryCounters {
    fn combine(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            reads: with(self.reads, other.reads),
            writes: with(self.writes, other.writes),
            others: with(self.others, other.others),
            transactions: with(self.transactions, other.transactions),
            errors: ErrorCounters {
                deadlocks: with(self.errors.deadlocks, other.errors.deadlocks),
                lock_wait_timeouts: with(
                    self.errors.lock_wait_timeouts,
                    other.errors.lock_wait_timeouts,
                ),
                others: with(self.errors.others, other.errors.others),
            },
            reconnects: with(self.reconnects, other.reconnects),
        }
    }
}

/// What one thread did, for the fairness lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadCounters {
    /// Events ended.
    pub events: u64,
    /// Sum of their latencies, in nanoseconds.
    pub execution_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> QueryCounters {
        let mut counters = QueryCounters {
            transactions: 3,
            reconnects: 1,
            ..Default::default()
        };
        counters.count(StatementClass::Read);
        counters.count(StatementClass::Read);
        counters.count(StatementClass::Write);
        counters.count(StatementClass::Other);
        counters.errors = ErrorCounters {
            deadlocks: 4,
            lock_wait_timeouts: 2,
            others: 1,
        };
        counters
    }

    #[test]
    fn statements_are_counted_by_class() {
        let counters = sample();
        assert_eq!(
            (counters.reads, counters.writes, counters.others),
            (2, 1, 1)
        );
        assert_eq!(counters.queries(), 4);
        assert_eq!(counters.errors.total(), 7);
    }

    #[test]
    fn an_interval_is_a_difference() {
        let twice = sample() + sample();
        assert_eq!(twice.errors.total(), 14);
        assert_eq!(twice - sample(), sample());
    }
}
