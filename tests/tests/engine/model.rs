//! The engine against a map: random transactions, clean restarts and power cuts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use innosim_engine::engine::{Engine, EngineOptions, Session};
use innosim_engine::runtime::files::Crash;
use innosim_engine::runtime::time::{MICROSECOND, NEVER};
use innosim_engine::runtime::virtual_clock::Outcome;
use innosim_engine::runtime::{WaitKind, sleep};
use innosim_engine::sysvar::TransactionIsolation::{ReadCommitted, RepeatableRead};
use innosim_engine::table::{
    Assignment, ColumnType, IndexReading, ReadLock, Table, TableDefinition, Value,
};
use proptest::prelude::*;

use crate::world::*;

const KEYS: i64 = 24;

/// Rows by key: k, and the text's length.
type Rows = BTreeMap<i64, (i64, Option<usize>)>;

#[derive(Clone, Debug)]
enum Operation {
    Insert(i64, i64, usize),
    AddToK(i64, i64),
    SetText(i64, Option<usize>),
    Move(i64, i64),
    Delete(i64),
    Begin(bool),
    Commit,
    Rollback,
    /// Another session begins to read what is committed now.
    OpenView,
    /// It still sees that, and this session its own changes.
    CheckViews,
    Step,
    PurgeAll,
    Restart,
    /// The power fails so many microseconds later.
    PowerCut(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let key = || 1..=KEYS;
    prop_oneof![
        8 => (key(), -3..3_i64, 0..1500_usize).prop_map(|(id, k, text)| Insert(id, k, text)),
        6 => (key(), -2..3_i64).prop_map(|(id, k)| AddToK(id, k)),
        4 => (key(), prop::option::of(0..1900_usize)).prop_map(|(id, text)| SetText(id, text)),
        1 => (key(), key()).prop_map(|(from, to)| Move(from, to)),
        5 => key().prop_map(Delete),
        4 => any::<bool>().prop_map(Begin),
        4 => Just(Commit),
        2 => Just(Rollback),
        2 => Just(OpenView),
        3 => Just(CheckViews),
        2 => Just(Step),
        2 => Just(PurgeAll),
        1 => Just(Restart),
        1 => (0..3000_u64).prop_map(PowerCut),
    ]
}

fn definition() -> TableDefinition {
    TableDefinition::new("test", "model")
        .column("id", ColumnType::Integer)
        .column("k", ColumnType::Integer)
        .nullable_column("text", ColumnType::VarChar(2000))
        .column("filler", ColumnType::Char(100))
        .primary_key(&["id"])
        .unwrap()
        .index("k", &["k"])
        .unwrap()
}

/// What the table holds, by the clustered index.
fn rows_of(session: &mut Session, table: &Table) -> Rows {
    let mut rows = Rows::new();
    session
        .range_select(table, &[], &[], ReadLock::None, |row| {
            let text = row.bytes(2).map(<[u8]>::len);
            let k = row.integer(1).unwrap();
            rows.insert(row.integer(0).unwrap(), (k, text));
        })
        .unwrap();
    rows
}

/// Compares all ways to read the table with the map.
fn check(session: &mut Session, table: &Table, expected: &Rows) {
    assert_eq!(&rows_of(session, table), expected);
    let mut by_k: Vec<_> = expected.iter().map(|(&id, &(k, _))| (k, id)).collect();
    by_k.sort_unstable();
    for reading in [IndexReading::Covering, IndexReading::Rows] {
        let mut seen = Vec::new();
        session
            .index_range_select(table, 0, (&[], &[]), reading, ReadLock::None, |row| {
                seen.push((row.integer(1).unwrap(), row.integer(0).unwrap()));
            })
            .unwrap();
        assert_eq!(seen, by_k, "{reading:?}");
    }
    for id in 1..=KEYS {
        let k = session
            .point_select(table, &[id.into()], ReadLock::None, |row| {
                row.integer(1).unwrap()
            })
            .unwrap();
        assert_eq!(k, expected.get(&id).map(|row| row.0), "row {id}");
    }
}

/// What outlives a power cut: what has been committed, and what would be if the commit
/// under way has succeeded.
#[derive(Debug, Default)]
struct Durable {
    committed: Rows,
    under_way: Option<Rows>,
}

struct Run {
    engine: Arc<Engine>,
    table: Arc<Table>,
    session: Session,
    /// As the open transaction, or everybody, sees them.
    rows: Rows,
    /// A session with an older view, and what it sees.
    reader: Option<(Session, Rows)>,
    durable: Arc<Mutex<Durable>>,
}

impl Run {
    fn begin_again(engine: Arc<Engine>, durable: Arc<Mutex<Durable>>) -> Run {
        let table = engine.table("test/model").unwrap();
        let mut session = engine.session(0);
        let found = rows_of(&mut session, &table);
        {
            let mut durable = durable.lock().unwrap();
            if let Some(rows) = durable.under_way.take()
                && rows == found
            {
                durable.committed = rows;
            }
        }
        let rows = durable.lock().unwrap().committed.clone();
        check(&mut session, &table, &rows);
        Run {
            engine,
            table,
            session,
            rows,
            reader: None,
            durable,
        }
    }

    /// A statement outside of a transaction commits by itself.
    fn before_statement(&mut self, rows: &Rows) {
        if !self.session.is_in_transaction() {
            self.durable.lock().unwrap().under_way = Some(rows.clone());
        }
    }

    fn after_statement(&mut self, rows: Rows) {
        if !self.session.is_in_transaction() {
            self.committed(rows.clone());
        }
        self.rows = rows;
    }

    fn committed(&mut self, rows: Rows) {
        let mut durable = self.durable.lock().unwrap();
        durable.committed = rows;
        durable.under_way = None;
    }

    fn apply(&mut self, operation: &Operation) {
        let mut rows = self.rows.clone();
        match *operation {
            Operation::Insert(id, k, length) => {
                let is_new = !rows.contains_key(&id);
                if is_new {
                    rows.insert(id, (k, Some(length)));
                }
                let text = "t".repeat(length);
                let values: [Value<'_>; 4] =
                    [id.into(), k.into(), text.as_str().into(), "f".into()];
                self.before_statement(&rows);
                let result = self.session.insert(&self.table, &values);
                match result {
                    Ok(_) => assert!(is_new, "{id} was there"),
                    Err(error) => {
                        assert!(!is_new, "{error}");
                        assert_eq!(error.mysql_number(), Some(1062), "{error}");
                    }
                }
                self.after_statement(rows);
            }
            Operation::AddToK(id, k) => {
                if let Some(row) = rows.get_mut(&id) {
                    row.0 += k;
                }
                let assignments = [Assignment::add(1, k)];
                self.update(id, &assignments, rows);
            }
            Operation::SetText(id, length) => {
                if let Some(row) = rows.get_mut(&id) {
                    row.1 = length;
                }
                let text = length.map(|length| "u".repeat(length));
                let value = text.as_deref().map_or(Value::Null, Value::from);
                self.update(id, &[Assignment::set(2, value)], rows);
            }
            Operation::Move(from, to) => {
                let target_taken = rows.contains_key(&to) && from != to;
                if target_taken && rows.contains_key(&from) {
                    self.before_statement(&rows);
                    let key = [from.into()];
                    let error = self
                        .session
                        .update(&self.table, &key, &[Assignment::set(0, to)])
                        .unwrap_err();
                    assert_eq!(error.mysql_number(), Some(1062), "{error}");
                    self.after_statement(rows);
                    return;
                }
                if let Some(row) = rows.remove(&from) {
                    rows.insert(to, row);
                }
                self.update(from, &[Assignment::set(0, to)], rows);
            }
            Operation::Delete(id) => {
                let was_there = rows.remove(&id).is_some();
                self.before_statement(&rows);
                let deleted = self.session.delete(&self.table, &[id.into()]).unwrap();
                assert_eq!(deleted, was_there);
                self.after_statement(rows);
            }
            Operation::Begin(repeatable) => {
                let isolation = if repeatable {
                    RepeatableRead
                } else {
                    ReadCommitted
                };
                self.durable.lock().unwrap().under_way = Some(rows.clone());
                self.session.begin(isolation, false).unwrap();
                self.committed(rows);
            }
            Operation::Commit => {
                self.durable.lock().unwrap().under_way = Some(rows.clone());
                self.session.commit().unwrap();
                self.committed(rows);
            }
            Operation::Rollback => {
                self.session.rollback().unwrap();
                self.rows = self.durable.lock().unwrap().committed.clone();
            }
            Operation::OpenView => {
                self.close_view();
                let mut reader = self.engine.session(1);
                reader.begin(RepeatableRead, true).unwrap();
                let rows = self.durable.lock().unwrap().committed.clone();
                assert_eq!(rows_of(&mut reader, &self.table), rows);
                self.reader = Some((reader, rows));
            }
            Operation::CheckViews => {
                if let Some((reader, rows)) = &mut self.reader {
                    check(reader, &self.table, rows);
                }
                check(&mut self.session, &self.table, &self.rows);
            }
            Operation::Step => {
                self.engine.step().unwrap();
            }
            Operation::PurgeAll => self.engine.purge_all().unwrap(),
            Operation::Restart | Operation::PowerCut(_) => unreachable!("not the session's"),
        }
    }

    fn update(&mut self, id: i64, assignments: &[Assignment<'_>], rows: Rows) {
        let was_there = self.rows.contains_key(&id);
        let changes = self.rows != rows;
        self.before_statement(&rows);
        let updated = self
            .session
            .update(&self.table, &[id.into()], assignments)
            .unwrap();
        assert_eq!(updated.found, was_there);
        // A text of another letter is a change that the lengths do not show.
        assert!(updated.changed || !changes);
        self.after_statement(rows);
    }

    fn close_view(&mut self) {
        if let Some((mut reader, rows)) = self.reader.take() {
            check(&mut reader, &self.table, &rows);
            reader.close().unwrap();
        }
    }

    fn end(mut self) {
        self.close_view();
        let rows = self.rows.clone();
        check(&mut self.session, &self.table, &rows);
        self.session.close().unwrap();
        let rows = self.durable.lock().unwrap().committed.clone();
        let mut session = self.engine.session(0);
        check(&mut session, &self.table, &rows);
        session.close().unwrap();
        shut_down(&self.engine);
    }
}

fn run(operations: Vec<Operation>, options: EngineOptions, seed: u64) {
    let directory = Path::new("data");
    let variables = ["innodb_purge_batch_size=2"];
    let durable = Arc::new(Mutex::new(Durable::default()));
    let mut simulation = simulation(seed);
    simulation
        .run(move || {
            let engine = create(directory, &settings(&variables), options);
            engine.create_table(definition()).unwrap();
            engine.shutdown().unwrap();
        })
        .unwrap();
    let mut rest: Vec<Operation> = operations;
    while !rest.is_empty() {
        let cut = rest
            .iter()
            .position(|operation| matches!(operation, Operation::PowerCut(_)))
            .unwrap_or(rest.len());
        let mut part: Vec<Operation> = rest.drain(..cut).collect();
        let mut cut_after = None;
        if let Some(Operation::PowerCut(after)) = rest.first().cloned() {
            rest.remove(0);
            cut_after = Some(after);
            // What the power failure may hit: it comes some time after this part began.
            part.extend(rest.iter().take(10).cloned());
        }
        part.retain(|operation| !matches!(operation, Operation::PowerCut(_)));
        let until = match cut_after {
            Some(after) => simulation.now() + (after + 1) * 30 * MICROSECOND,
            None => NEVER,
        };
        let shared = durable.clone();
        let body = move || {
            let (engine, _) = open(directory, &settings(&variables), options);
            let mut run = Run::begin_again(engine, shared);
            for operation in part {
                if let Operation::Restart = operation {
                    run.close_view();
                    run.session.rollback().unwrap();
                    let durable = run.durable.clone();
                    run.session.close().unwrap();
                    shut_down(&run.engine);
                    drop(run.engine);
                    let (engine, _) = open(directory, &settings(&variables), options);
                    run = Run::begin_again(engine, durable);
                } else {
                    run.apply(&operation);
                }
            }
            if until == NEVER {
                run.end();
            } else {
                sleep(NEVER, WaitKind::Other);
            }
        };
        if let Outcome::PowerCut = simulation.run_until(until, body).unwrap() {
            simulation.resolve_crash(Crash::PowerLoss).unwrap();
        }
    }
    // Whatever came last, what is there is whole.
    simulation
        .run(move || {
            let (engine, _) = open(directory, &settings(&variables), STEPPED);
            Run::begin_again(engine, durable).end();
        })
        .unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig {
        // A longer run: PROPTEST_CASES=1000.
        cases: std::env::var("PROPTEST_CASES").map_or(24, |cases| cases.parse().unwrap()),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn it_is_a_map_stepped(operations in prop::collection::vec(operation(), 1..120), seed: u64) {
        run(operations, STEPPED, seed);
    }

    #[test]
    fn it_is_a_map_with_tasks(operations in prop::collection::vec(operation(), 1..120), seed: u64) {
        run(operations, WITH_TASKS, seed);
    }
}
