//! A session: what a connection is to a server. It has one transaction at a time.
//!
//! ```text
//!   begin ──> statements ──> commit or rollback
//!
//!   a statement without begin:  begin, statement, commit       (autocommit)
//!
//!   a statement fails:          its changes are taken back, the transaction goes on;
//!                               after a deadlock all of the transaction is taken back
//! ```
//!
//! If taking back or committing fails, the transaction can never end, and the engine has
//! failed ([`Engine::fail`]): others must not wait for its locks.

use std::sync::Arc;

use super::Engine;
use super::error::EngineError;
use super::statements::{StatementCounts, StatementKind};
use crate::lock::LockError;
use crate::sysvar::TransactionIsolation;
use crate::table::insert::insert;
use crate::table::read::{self, KeyRange};
use crate::table::update::{delete, update};
use crate::table::{
    Assignment, FieldBuffer, IndexReading, ReadLock, Row, RowError, RowSession, Table, TableError,
    Updated, Value,
};
use crate::transaction::{BeginOptions, TransactionSavepoint};

/// A session; see the module's opening. Used by one task.
///
/// [`close`](Self::close) ends it. One that is dropped with a transaction open leaves it
/// open, as a crash would.
#[derive(Debug)]
pub struct Session {
    engine: Arc<Engine>,
    rows: RowSession,
    /// Values of a statement as stored: a row, or the first key.
    values: FieldBuffer,
    /// The last key of a range.
    last_key: FieldBuffer,
    /// The transaction ends with its statement.
    autocommit: bool,
    /// Statements since the last transaction ended.
    counts: StatementCounts,
}

/// What a statement does to rows, as far as it matters before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// A plain SELECT.
    Read,
    /// It locks or changes rows.
    Change,
}

impl Session {
    pub(super) fn new(engine: Arc<Engine>, shard: usize) -> Session {
        Session {
            rows: engine.rows.session(shard),
            engine,
            values: FieldBuffer::new(),
            last_key: FieldBuffer::new(),
            autocommit: false,
            counts: StatementCounts::default(),
        }
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The transaction's id; 0 as long as it has changed nothing.
    pub fn transaction_id(&self) -> u64 {
        self.rows.transaction.id()
    }

    /// Whether a transaction is open.
    pub fn is_in_transaction(&self) -> bool {
        self.rows.transaction.is_active()
    }

    // ---- transactions ---------------------------------------------------------

    /// Begins a transaction; commits the one that is open, as SQL does.
    ///
    /// # Errors
    /// If that commit fails.
    pub fn begin(
        &mut self,
        isolation: TransactionIsolation,
        read_only: bool,
    ) -> Result<(), EngineError> {
        self.counts.increment(StatementKind::Begin);
        self.end_by_commit()?;
        let options = BeginOptions {
            isolation,
            read_only,
            autocommit_select: false,
        };
        self.begin_with(options)?;
        self.autocommit = false;
        Ok(())
    }

    fn begin_with(&mut self, options: BeginOptions) -> Result<(), EngineError> {
        self.engine.check_usable()?;
        let transactions = &self.engine.rows.transactions;
        transactions.begin(&mut self.rows.transaction, options)?;
        Ok(())
    }

    /// Commits the transaction that is open, if one is. When it returns, the changes are
    /// as durable as `innodb_flush_log_at_trx_commit` wants.
    ///
    /// # Errors
    /// If undo cannot be finished, or redo not be written.
    pub fn commit(&mut self) -> Result<(), EngineError> {
        self.counts.increment(StatementKind::Commit);
        self.end_by_commit()
    }

    fn end_by_commit(&mut self) -> Result<(), EngineError> {
        if !self.is_in_transaction() {
            return Ok(());
        }
        self.engine.check_usable()?;
        let transactions = &self.engine.rows.transactions;
        let committed = transactions.commit(&mut self.rows.transaction);
        let end = self.must_end(committed)?;
        self.engine.statements.add(&mut self.counts);
        self.engine.make_durable(end)
    }

    /// The outcome of something without which the transaction cannot end.
    fn must_end<T, E>(&self, outcome: Result<T, E>) -> Result<T, EngineError>
    where
        EngineError: From<E>,
    {
        if outcome.is_err() {
            // If it has failed before, this may be a consequence.
            self.engine.check_usable()?;
            self.engine.fail();
        }
        Ok(outcome?)
    }

    /// Rolls the transaction back that is open, if one is.
    ///
    /// # Errors
    /// If undo cannot be read or applied.
    pub fn rollback(&mut self) -> Result<(), EngineError> {
        self.counts.increment(StatementKind::Rollback);
        self.end_by_rollback()
    }

    fn end_by_rollback(&mut self) -> Result<(), EngineError> {
        if self.is_in_transaction() {
            self.engine.check_usable()?;
            let store = &*self.engine.rows;
            let transaction = &mut self.rows.transaction;
            let undone = store.transactions.rollback(transaction, store);
            self.must_end(undone)?;
            self.engine.statements.add(&mut self.counts);
        }
        Ok(())
    }

    /// Ends the session; what is open is rolled back.
    ///
    /// # Errors
    /// As [`rollback`](Self::rollback).
    pub fn close(mut self) -> Result<(), EngineError> {
        self.end_by_rollback()?;
        self.engine.statements.add(&mut self.counts);
        let transactions = &self.engine.rows.transactions;
        transactions.end_session(self.rows.transaction);
        Ok(())
    }

    // ---- statements -----------------------------------------------------------

    /// Runs a statement: begins a transaction if none is open, and ends it then; takes
    /// back what a statement did that failed.
    fn statement<T>(
        &mut self,
        kind: StatementKind,
        access: Access,
        body: impl FnOnce(&mut Session) -> Result<T, TableError>,
    ) -> Result<T, EngineError> {
        self.counts.increment(kind);
        self.engine.check_usable()?;
        if access == Access::Change {
            // Room in the redo files, before anything is latched or locked anew.
            self.engine.pages.log.free_check()?;
        }
        if !self.rows.transaction.is_active() {
            let isolation = self.engine.settings().isolation;
            self.begin_with(match access {
                Access::Read => BeginOptions::select(isolation),
                Access::Change => BeginOptions::read_write(isolation),
            })?;
            self.autocommit = true;
        }
        self.engine.rows.admission.enter(&mut self.rows.seat);
        let transactions = &self.engine.rows.transactions;
        let savepoint = transactions.savepoint(&self.rows.transaction);
        let result = body(self);
        let mut ended = match &result {
            Ok(_) => Ok(()),
            Err(error) => self.take_back(error, savepoint),
        };
        self.engine.rows.admission.leave(&mut self.rows.seat);
        if ended.is_ok() && self.is_in_transaction() {
            let transactions = &self.engine.rows.transactions;
            transactions.end_statement(&mut self.rows.transaction);
            if self.autocommit {
                ended = match result {
                    Ok(_) => self.end_by_commit(),
                    Err(_) => self.end_by_rollback(),
                };
            }
        }
        match ended {
            // That another session has failed explains nothing that this one came upon.
            Err(error) if result.is_ok() || !error.is_aftermath() => Err(error),
            _ => Ok(result?),
        }
    }

    /// Takes back what a failed statement did, or all of the transaction.
    fn take_back(
        &mut self,
        error: &TableError,
        savepoint: TransactionSavepoint,
    ) -> Result<(), EngineError> {
        self.engine.check_usable()?;
        let all = match error {
            TableError::Lock(LockError::Deadlock) => true,
            TableError::Lock(LockError::Timeout) => self.engine.settings().rollback_on_timeout,
            _ => false,
        };
        if all {
            return self.end_by_rollback();
        }
        let store = &*self.engine.rows;
        let transaction = &mut self.rows.transaction;
        let undone = store
            .transactions
            .rollback_to(transaction, savepoint, store);
        self.must_end(undone)
    }

    /// Encodes a primary key.
    fn encode_key(&mut self, table: &Table, key: &[Value<'_>]) -> Result<(), RowError> {
        let columns = &table.definition().primary_key;
        if key.len() != columns.len() {
            return Err(RowError::Count {
                table: table.name().into(),
                what: "values of the primary key",
                found: key.len(),
                expected: columns.len(),
            });
        }
        encode(table, columns, key, &mut self.values)
    }

    /// Encodes the ends of a range of an index with these columns.
    fn encode_range(
        &mut self,
        table: &Table,
        columns: &[usize],
        first: &[Value<'_>],
        last: &[Value<'_>],
    ) -> Result<(), RowError> {
        for (values, buffer) in [(first, &mut self.values), (last, &mut self.last_key)] {
            if values.len() > columns.len() {
                return Err(RowError::Count {
                    table: table.name().into(),
                    what: "values at the end of a range",
                    found: values.len(),
                    expected: columns.len(),
                });
            }
            encode(table, columns, values, buffer)?;
        }
        Ok(())
    }

    /// `SELECT ... WHERE key = ...` by primary key: hands the row to `take`. `None` if there
    /// is no such row for this transaction.
    ///
    /// # Errors
    /// If the key's values do not fit, or a page or a lock cannot be had.
    pub fn point_select<R>(
        &mut self,
        table: &Table,
        key: &[Value<'_>],
        lock: ReadLock,
        take: impl FnOnce(&Row<'_>) -> R,
    ) -> Result<Option<R>, EngineError> {
        self.statement(StatementKind::Select, access_of(lock), |session| {
            session.encode_key(table, key)?;
            let Session {
                engine,
                rows,
                values,
                ..
            } = session;
            let key = values.as_fields();
            read::point_select(&engine.rows, rows, table, &key, lock, take)
        })
    }

    /// `SELECT ... WHERE key BETWEEN first AND last` by primary key: hands the rows to
    /// `each`, in the order of their keys, and returns how many there are. A key may have
    /// fewer values than the primary key; none at all stands for the end of the table.
    ///
    /// # Errors
    /// As [`point_select`](Self::point_select).
    pub fn range_select(
        &mut self,
        table: &Table,
        first: &[Value<'_>],
        last: &[Value<'_>],
        lock: ReadLock,
        each: impl FnMut(&Row<'_>),
    ) -> Result<u64, EngineError> {
        self.statement(StatementKind::Select, access_of(lock), |session| {
            session.encode_range(table, &table.definition().primary_key, first, last)?;
            let Session {
                engine,
                rows,
                values,
                last_key,
                ..
            } = session;
            let range = KeyRange {
                first: &values.as_fields(),
                last: &last_key.as_fields(),
            };
            read::range_select(&engine.rows, rows, table, range, lock, each)
        })
    }

    /// As [`range_select`](Self::range_select), by the secondary index of this position in
    /// the table's definition.
    ///
    /// # Errors
    /// As [`point_select`](Self::point_select).
    pub fn index_range_select(
        &mut self,
        table: &Table,
        index: usize,
        ends: (&[Value<'_>], &[Value<'_>]),
        reading: IndexReading,
        lock: ReadLock,
        each: impl FnMut(&Row<'_>),
    ) -> Result<u64, EngineError> {
        self.statement(StatementKind::Select, access_of(lock), |session| {
            let of_index = table.layout().secondary().get(index);
            let of_index = of_index.ok_or_else(|| TableError::no_index(table, index))?;
            session.encode_range(table, of_index.columns(), ends.0, ends.1)?;
            let Session {
                engine,
                rows,
                values,
                last_key,
                ..
            } = session;
            let range = KeyRange {
                first: &values.as_fields(),
                last: &last_key.as_fields(),
            };
            let how = (reading, lock);
            read::index_range_select(&engine.rows, rows, table, index, range, how, each)
        })
    }

    /// `INSERT` of one row, its values in the order of the table's columns. NULL or 0 for
    /// the AUTO_INCREMENT column asks for the next value. Returns the value of that
    /// column; 0 if the table has none.
    ///
    /// # Errors
    /// If there is a row of the key, if a value does not fit, or if a page or a lock cannot
    /// be had.
    pub fn insert(&mut self, table: &Table, values: &[Value<'_>]) -> Result<i64, EngineError> {
        self.statement(StatementKind::Insert, Access::Change, |session| {
            let number = session.encode_row(table, values)?;
            let Session {
                engine,
                rows,
                values,
                ..
            } = session;
            insert(&engine.rows, rows, table, values)?;
            Ok(number)
        })
    }

    /// `UPDATE ... WHERE key = ...` by primary key.
    ///
    /// # Errors
    /// If a value does not fit, if the new primary key is another row's, or if a page or a
    /// lock cannot be had.
    pub fn update(
        &mut self,
        table: &Table,
        key: &[Value<'_>],
        assignments: &[Assignment<'_>],
    ) -> Result<Updated, EngineError> {
        self.statement(StatementKind::Update, Access::Change, |session| {
            session.encode_key(table, key)?;
            let Session {
                engine,
                rows,
                values,
                ..
            } = session;
            update(&engine.rows, rows, table, &values.as_fields(), assignments)
        })
    }

    /// `DELETE ... WHERE key = ...` by primary key. False if there is no such row.
    ///
    /// # Errors
    /// If the key's values do not fit, or a page or a lock cannot be had.
    pub fn delete(&mut self, table: &Table, key: &[Value<'_>]) -> Result<bool, EngineError> {
        self.statement(StatementKind::Delete, Access::Change, |session| {
            session.encode_key(table, key)?;
            let Session {
                engine,
                rows,
                values,
                ..
            } = session;
            delete(&engine.rows, rows, table, &values.as_fields())
        })
    }

    /// Encodes a row, with its AUTO_INCREMENT.
    fn encode_row(&mut self, table: &Table, values: &[Value<'_>]) -> Result<i64, RowError> {
        let definition = table.definition();
        if values.len() != definition.columns.len() {
            return Err(RowError::Count {
                table: table.name().into(),
                what: "values of a row",
                found: values.len(),
                expected: definition.columns.len(),
            });
        }
        let mut number = 0;
        self.values.clear();
        for (column, &value) in values.iter().enumerate() {
            let mut value = value;
            if definition.auto_increment == Some(column) {
                number = match value {
                    Value::Null | Value::Integer(0) => table.take_auto_increment(),
                    Value::Integer(number) => {
                        table.note_key(number);
                        number
                    }
                    Value::Text(_) => 0,
                };
                if number != 0 {
                    value = Value::Integer(number);
                }
            }
            self.values
                .push_column(&definition.columns[column], value)
                .map_err(|fault| RowError::value(definition, column, fault))?;
        }
        Ok(number)
    }
}

fn access_of(lock: ReadLock) -> Access {
    match lock {
        ReadLock::None => Access::Read,
        ReadLock::Shared | ReadLock::Exclusive => Access::Change,
    }
}

fn encode(
    table: &Table,
    columns: &[usize],
    values: &[Value<'_>],
    buffer: &mut FieldBuffer,
) -> Result<(), RowError> {
    let definition = table.definition();
    buffer.clear();
    for (&column, &value) in columns.iter().zip(values) {
        buffer
            .push_column(&definition.columns[column], value)
            .map_err(|fault| RowError::value(definition, column, fault))?;
    }
    Ok(())
}
