//! One client: sysbench's loop over one connection.
//!
//! ```text
//!   ask for an event ──► draw its statements ──► send them one by one ──► count it
//!         ▲                    ▲                        │
//!         │                    └── deadlock, timeout: roll back, once more
//!         └────────────────────────────────────────────────────────────────┘
//! ```
//!
//! An event's latency is that of all its attempts together, as sysbench measures it. A
//! retry sends the same statements (0.4) or draws new ones (later versions).

use std::sync::Arc;

use innosim_engine::runtime::random::Stream;
use innosim_engine::runtime::time::NANOSECOND;
use innosim_engine::runtime::{self, now};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::database::{Connection, Database, StatementError};
use super::gate::Gate;
use super::recorder::{ClientRecorder, Recorder};
use super::server_layer::ServerLayer;
use crate::report::QueryCounters;
use crate::workload::version::RetryRule;
use crate::workload::{Script, Statement};

/// Events between two steps of a stepped run.
pub const EVENTS_PER_STEP: u64 = 100;

/// What the clients of a run share.
#[derive(Debug)]
pub(super) struct Shared<D> {
    pub database: Arc<D>,
    pub server: ServerLayer,
    pub gate: Gate,
    pub recorder: Recorder,
    /// Whether the client steps the database.
    pub stepped: bool,
}

/// A client task's own state.
pub(super) struct Client<D: Database> {
    number: u32,
    shared: Arc<Shared<D>>,
    script: Script,
    connection: D::Connection,
    recorder: ClientRecorder,
    /// Draws statements.
    generator: Xoshiro256PlusPlus,
    /// Draws what the server layer costs.
    stream: Stream,
    /// How often the streams were taken anew.
    reseeded: u32,
    statements: Vec<Statement>,
    events: u64,
}

/// The streams of a client: what it asks for, and what the server layer costs.
fn streams(number: u32) -> (Xoshiro256PlusPlus, Stream) {
    let seed = runtime::stream(&format!("client {number}")).next_u64();
    (
        Xoshiro256PlusPlus::seed_from_u64(seed),
        runtime::stream(&format!("server layer {number}")),
    )
}

impl<D: Database> Client<D> {
    /// Connects. To be called by the client's own task.
    pub fn connect(number: u32, shared: Arc<Shared<D>>, script: Script) -> Self {
        let (generator, stream) = streams(number);
        Client {
            number,
            script,
            connection: shared.database.connect(number),
            recorder: shared.recorder.of_client(number),
            reseeded: shared.gate.reseeded(),
            shared,
            generator,
            stream,
            statements: Vec::new(),
            events: 0,
        }
    }

    /// Runs events until the gate closes, and disconnects.
    ///
    /// # Errors
    /// If the engine cannot go on.
    pub fn run(mut self) -> Result<(), StatementError> {
        while self.shared.gate.next_event() {
            if self.reseeded != self.shared.gate.reseeded() {
                (self.generator, self.stream) = streams(self.number);
                self.reseeded = self.shared.gate.reseeded();
            }
            self.event()?;
            self.events += 1;
            if self.shared.stepped && self.events.is_multiple_of(EVENTS_PER_STEP) {
                self.shared.database.step()?;
            }
        }
        self.recorder.hand_over(&self.shared.recorder);
        self.connection.close()
    }

    fn event(&mut self) -> Result<(), StatementError> {
        let mut counters = QueryCounters::default();
        let begin = now();
        self.draw_statements();
        while let Err(error) = self.attempt(&mut counters) {
            match error {
                StatementError::Deadlock => counters.errors.deadlocks += 1,
                StatementError::LockWaitTimeout => counters.errors.lock_wait_timeouts += 1,
                StatementError::Failed(_) | StatementError::Aftermath(_) => return Err(error),
            }
            self.connection.rollback()?;
            if self.shared.gate.is_closed() {
                // Clients that keep waiting for each other must not hold up the end.
                return Ok(());
            }
            if self.script.info().version.retry_rule() == RetryRule::NewStatements {
                self.draw_statements();
            }
        }
        counters.transactions = 1;
        let end = now();
        let latency_ns = (end - begin) / NANOSECOND;
        let all = &self.shared.recorder;
        self.recorder.event(all, end, &counters, latency_ns);
        Ok(())
    }

    fn draw_statements(&mut self) {
        let statements = &mut self.statements;
        self.script
            .next_event(self.number, &mut self.generator, statements);
    }

    fn attempt(&mut self, counters: &mut QueryCounters) -> Result<(), StatementError> {
        let version = self.script.info().version;
        for statement in &self.statements {
            self.shared.server.wait_for_network();
            let outside = self.shared.server.draw(statement, &mut self.stream);
            outside.before();
            let affected = self.connection.execute(statement)?;
            outside.after();
            counters.count(statement.class_in_report(version, affected));
        }
        Ok(())
    }
}
