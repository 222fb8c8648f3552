//! A client that notes what it is told.
//!
//! It sends the statements of a sysbench script, one transaction after the other, without
//! the time that a server would spend around them, until the machine or the process dies.
//!
//! Statements that commit by themselves are sent as they are where they only insert: a row
//! of a new key has no order among others. Other changes go between BEGIN and COMMIT, so
//! that the row is locked while they are noted.

use std::sync::Arc;

use innosim_engine::runtime::random::Stream;
use innosim_engine::runtime::time::Time;
use innosim_engine::runtime::{WaitKind, sleep};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::journal::Journal;
use super::ledger::{Change, Event, RowImage, fingerprint};
use crate::run::database::{Connection, StatementError};
use crate::server::EngineConnection;
use crate::workload::statement::StatementClass;
use crate::workload::{Script, Statement};

/// A client task's own state.
pub(super) struct Client {
    number: u32,
    connection: EngineConnection,
    script: Script,
    generator: Xoshiro256PlusPlus,
    thoughts: Stream,
    journal: Arc<dyn Journal>,
    statements: Vec<Statement>,
}

impl Client {
    pub fn new(
        number: u32,
        connection: EngineConnection,
        script: &Script,
        seed: u64,
        journal: Arc<dyn Journal>,
    ) -> Self {
        Client {
            number,
            connection,
            script: script.for_thread(number),
            generator: Xoshiro256PlusPlus::seed_from_u64(seed),
            thoughts: Stream::new(seed, "thoughts"),
            journal,
            statements: Vec::new(),
        }
    }

    /// Works until something goes wrong, and thinks in between for `pace` on average.
    pub fn run(mut self, pace: Time) -> StatementError {
        loop {
            if pace > 0 {
                let length = pace as f64 * self.thoughts.exponential();
                sleep(length as Time, WaitKind::Other);
            }
            if let Err(error) = self.event() {
                return error;
            }
        }
    }

    fn event(&mut self) -> Result<(), StatementError> {
        self.draw_statements();
        while let Err(error) = self.attempt() {
            if let StatementError::Failed(_) | StatementError::Aftermath(_) = error {
                return Err(error);
            }
            self.note(Event::RolledBack);
            self.connection.rollback()?;
            self.draw_statements();
        }
        Ok(())
    }

    fn draw_statements(&mut self) {
        let statements = &mut self.statements;
        self.script
            .next_event(self.number, &mut self.generator, statements);
        let begins = statements.contains(&Statement::Begin);
        let only_inserts = matches!(statements[..], [Statement::Insert { id: None, .. }]);
        let writes = statements
            .iter()
            .any(|statement| statement.class() == StatementClass::Write);
        if writes && !begins && !only_inserts {
            statements.insert(0, Statement::Begin);
            statements.push(Statement::Commit);
        }
    }

    fn note(&self, event: Event) {
        self.journal.note(self.number, event);
    }

    fn attempt(&mut self) -> Result<(), StatementError> {
        let alone = self.statements.len() == 1;
        for index in 0..self.statements.len() {
            let statement = self.statements[index].clone();
            match statement {
                Statement::Commit => {
                    self.note(Event::Committing);
                    self.connection.execute(&statement)?;
                    self.note(Event::Committed);
                }
                Statement::Insert { table, .. } if alone => {
                    self.note(Event::Inserting(table, image_of(&statement)));
                    self.connection.execute(&statement)?;
                    self.note(Event::Inserted(self.connection.last_insert_id()));
                }
                _ => {
                    let affected = self.connection.execute(&statement)?;
                    self.note_change(&statement, affected);
                }
            }
        }
        Ok(())
    }

    fn note_change(&self, statement: &Statement, affected: u64) {
        let (table, id, change) = match *statement {
            Statement::UpdateIndex { table, id } => (table, id, Change::AddToK(1)),
            Statement::UpdateNonIndex { table, id, ref c } => {
                (table, id, Change::SetC(fingerprint(c)))
            }
            Statement::Delete { table, id } => (table, id, Change::Delete),
            Statement::Insert { table, .. } => {
                let id = self.connection.last_insert_id();
                (table, id, Change::Insert(image_of(statement)))
            }
            _ => return,
        };
        if affected > 0 {
            self.note(Event::Changed((table, id), change));
        }
    }
}

/// The row that an insert makes.
fn image_of(insert: &Statement) -> RowImage {
    match insert {
        Statement::Insert { k, c, pad, .. } => RowImage {
            k: *k,
            c: fingerprint(c),
            pad: fingerprint(pad),
        },
        _ => unreachable!("called for inserts only"),
    }
}
