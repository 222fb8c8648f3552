//! What is varied, and what is measured.

/// One cell of the experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// `innodb_doublewrite_pages`: 128 or 16.
    pub batch_pages: u64,
    /// Users.
    pub users: u32,
    /// Users stop while more pages than this are owed.
    pub owed_limit: u64,
    /// Pages that a transaction makes dirty, mean.
    pub pages_per_transaction: f64,
}

impl Cell {
    /// The report's cell, with the mean of its two figures for pages a transaction.
    pub fn new(batch_pages: u64, users: u32) -> Self {
        Cell {
            batch_pages,
            users,
            // innodb_io_capacity_max: what a round may write at most.
            owed_limit: 40_000,
            // Published: 59.2 and 62.8 million pages in 14.6 and 16.2 million transactions.
            pages_per_transaction: (4.06 + 3.87) / 2.0,
        }
    }
}

/// What a cell gave, over the measured time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CellResult {
    /// Transactions a second.
    pub tps: f64,
    /// Doublewrite writes a second.
    pub writes_per_second: f64,
    /// Pages of a doublewrite write, mean.
    pub pages_per_write: f64,
    /// Duration of a doublewrite write, mean, in milliseconds.
    pub write_ms: f64,
    /// Doublewrite writes in flight, mean.
    pub in_flight: f64,
    /// Milliseconds of a transaction spent in page reads, mean.
    pub read_ms: f64,
    /// The same, waiting for its redo to be durable.
    pub redo_ms: f64,
    /// The same, stopped because too many pages were owed.
    pub stopped_ms: f64,
}
