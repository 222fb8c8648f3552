//! A database that does nothing: what is left is what the driver costs.

use std::sync::Arc;

use innosim_engine::metrics::{Metrics, MetricsSnapshot, Reading};

use crate::run::database::{Connection, Database, Levels, StatementError};
use crate::workload::Statement;

/// Answers every statement at once, as if it had changed a row.
#[derive(Debug)]
pub struct Nothing(Metrics);

impl Nothing {
    /// One of them.
    pub fn new() -> Arc<Self> {
        Arc::new(Nothing(Metrics::new(1)))
    }
}

/// A connection to it.
#[derive(Debug)]
pub struct ToNothing;

impl Connection for ToNothing {
    fn execute(&mut self, statement: &Statement) -> Result<u64, StatementError> {
        // So that the statement has to exist, as far as the compiler knows.
        std::hint::black_box(statement);
        Ok(1)
    }

    fn rollback(&mut self) -> Result<(), StatementError> {
        Ok(())
    }

    fn close(self) -> Result<(), StatementError> {
        Ok(())
    }
}

impl Database for Nothing {
    type Connection = ToNothing;

    fn connect(self: &Arc<Self>, _client: u32) -> ToNothing {
        ToNothing
    }

    fn step(&self) -> Result<(), StatementError> {
        Ok(())
    }

    fn fail(&self) {}

    fn levels(&self) -> Levels {
        Levels::default()
    }

    fn snapshot(&self) -> MetricsSnapshot {
        self.0.snapshot(&|_: Reading| 0)
    }

    fn restart_extremes(&self) {}
}
