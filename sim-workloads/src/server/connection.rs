//! A client's connection: sysbench's statements as calls of a session.
//!
//! | statement | call |
//! |---|---|
//! | `SELECT c ... WHERE id = ?` | point select; c is copied to the client |
//! | `SELECT c ... WHERE id BETWEEN ? AND ?` | range select, likewise |
//! | `SELECT SUM(k) ...` | range select; k is added up |
//! | `UPDATE ... SET k = k + 1` | update of column 1 |
//! | `UPDATE ... SET c = ?` | update of column 2 |
//!
//! Sorting, which `ORDER BY` and `DISTINCT` need, is the server's work and not the
//! engine's. Under the virtual clock it is in what a range costs outside the engine;
//! under the real clock there is no server, and nothing is sorted.

use std::sync::Arc;

use innosim_engine::engine::{EngineError, Session};
use innosim_engine::table::{Assignment, ReadLock, Row, Value};

use super::EngineServer;
use crate::run::database::{Connection, StatementError};
use crate::workload::Statement;

/// Columns of sysbench's tables, by position.
const K: usize = 1;
const C: usize = 2;

/// A client's connection to an engine.
#[derive(Debug)]
pub struct EngineConnection {
    server: Arc<EngineServer>,
    session: Session,
    /// The text of the last result, as a client's network buffer has it.
    result: Vec<u8>,
    /// The number of the last result.
    sum: i64,
    last_insert_id: i64,
}

impl EngineConnection {
    /// A connection of the client with this number.
    pub(super) fn new(server: Arc<EngineServer>, client: u32) -> Self {
        EngineConnection {
            session: server.engine.session(client as usize),
            server,
            result: Vec::new(),
            sum: 0,
            last_insert_id: 0,
        }
    }

    /// The text that the last select gave: column c of its rows, one after the other.
    pub fn result(&self) -> &[u8] {
        &self.result
    }

    /// The number that the last `SELECT SUM(k)` gave.
    pub fn sum(&self) -> i64 {
        self.sum
    }

    /// The primary key that the last insert has given its row, as LAST_INSERT_ID() does.
    pub fn last_insert_id(&self) -> i64 {
        self.last_insert_id
    }

    fn run(&mut self, statement: &Statement) -> Result<u64, EngineError> {
        let EngineConnection {
            server,
            session,
            result,
            sum,
            last_insert_id,
        } = self;
        let Some(number) = statement.table() else {
            match statement {
                Statement::Begin => session.begin(server.engine.settings().isolation, false)?,
                _ => session.commit()?,
            }
            return Ok(0);
        };
        let table = &*server.tables[number as usize - 1];
        result.clear();
        let take_c = |row: &Row<'_>| result.extend_from_slice(row.bytes(C).unwrap_or_default());
        match *statement {
            Statement::Begin | Statement::Commit => unreachable!("they have no table"),
            Statement::PointSelect { id, .. } => {
                let key = [Value::Integer(id)];
                session.point_select(table, &key, ReadLock::None, take_c)?;
            }
            Statement::SimpleRange { from, to, .. }
            | Statement::OrderRange { from, to, .. }
            | Statement::DistinctRange { from, to, .. } => {
                let ends = [[Value::Integer(from)], [Value::Integer(to)]];
                session.range_select(table, &ends[0], &ends[1], ReadLock::None, take_c)?;
            }
            Statement::SumRange { from, to, .. } => {
                let ends = [[Value::Integer(from)], [Value::Integer(to)]];
                *sum = 0;
                session.range_select(table, &ends[0], &ends[1], ReadLock::None, |row| {
                    *sum += row.integer(K).unwrap_or_default();
                })?;
            }
            Statement::UpdateIndex { id, .. } => {
                let key = [Value::Integer(id)];
                let updated = session.update(table, &key, &[Assignment::add(K, 1)])?;
                return Ok(u64::from(updated.changed));
            }
            Statement::UpdateNonIndex { id, ref c, .. } => {
                let key = [Value::Integer(id)];
                let updated = session.update(table, &key, &[Assignment::set(C, c)])?;
                return Ok(u64::from(updated.changed));
            }
            Statement::Delete { id, .. } => {
                return Ok(u64::from(session.delete(table, &[Value::Integer(id)])?));
            }
            Statement::Insert {
                id,
                k,
                ref c,
                ref pad,
                ..
            } => {
                let id = id.map_or(Value::Null, Value::Integer);
                let row = [id, Value::Integer(k), c.into(), pad.into()];
                *last_insert_id = session.insert(table, &row)?;
                return Ok(1);
            }
        }
        Ok(0)
    }
}

impl From<EngineError> for StatementError {
    fn from(error: EngineError) -> Self {
        match error.mysql_number() {
            Some(1213) => StatementError::Deadlock,
            Some(1205) => StatementError::LockWaitTimeout,
            _ if error.is_aftermath() => StatementError::Aftermath(error.into()),
            _ => StatementError::Failed(error.into()),
        }
    }
}

impl Connection for EngineConnection {
    fn execute(&mut self, statement: &Statement) -> Result<u64, StatementError> {
        self.run(statement).map_err(|error| match error.into() {
            StatementError::Failed(error) => {
                StatementError::Failed(error.context(statement.to_string()))
            }
            known => known,
        })
    }

    fn rollback(&mut self) -> Result<(), StatementError> {
        Ok(self.session.rollback()?)
    }

    fn close(self) -> Result<(), StatementError> {
        Ok(self.session.close()?)
    }
}
