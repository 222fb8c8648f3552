//! Random transactions against a reference that copies the whole table for every view.

use std::collections::BTreeMap;
use std::sync::Arc;

use innosim_engine::page::SpaceId;
use innosim_engine::page_allocation::check_space;
use innosim_engine::redo_log::MiniTransactionContext;
use innosim_engine::sysvar::Flavor;
use innosim_engine::sysvar::TransactionIsolation::{ReadCommitted, RepeatableRead};
use innosim_engine::transaction::undo::undo_space_id;
use innosim_engine::transaction::{
    BeginOptions, Transaction, TransactionSavepoint, TransactionSettings, Transactions,
};
use proptest::prelude::*;

use super::store::{Content, Store};
use super::{create, settings, virtually};

const SESSIONS: usize = 4;
const KEYS: u32 = 8;

type Table = BTreeMap<u32, Content>;

#[derive(Clone, Debug)]
pub enum Step {
    Begin(usize, bool),
    Put(usize, u32, Option<Content>),
    /// Many updates of one row: undo of several pages.
    PutMany(usize, u32, u32),
    Read(usize),
    EndStatement(usize),
    Savepoint(usize),
    RollbackTo(usize),
    Commit(usize),
    Rollback(usize),
    Purge,
    Crash,
}

fn content() -> impl Strategy<Value = Content> {
    let note = prop::option::of(prop::collection::vec(any::<u8>(), 0..300));
    (any::<u32>(), note)
}

pub fn step() -> impl Strategy<Value = Step> {
    let session = 0..SESSIONS;
    let key = 0..KEYS;
    prop_oneof![
        4 => (session.clone(), any::<bool>()).prop_map(|(n, rc)| Step::Begin(n, rc)),
        9 => (session.clone(), key.clone(), prop::option::weighted(0.7, content()))
            .prop_map(|(n, key, content)| Step::Put(n, key, content)),
        1 => (session.clone(), key, 20..150_u32)
            .prop_map(|(n, key, count)| Step::PutMany(n, key, count)),
        5 => session.clone().prop_map(Step::Read),
        1 => session.clone().prop_map(Step::EndStatement),
        1 => session.clone().prop_map(Step::Savepoint),
        1 => session.clone().prop_map(Step::RollbackTo),
        4 => session.clone().prop_map(Step::Commit),
        1 => session.prop_map(Step::Rollback),
        2 => Just(Step::Purge),
        1 => Just(Step::Crash),
    ]
}

struct Session {
    transaction: Transaction,
    snapshot: Option<Table>,
    own: BTreeMap<u32, Option<Content>>,
    savepoint: Option<(TransactionSavepoint, BTreeMap<u32, Option<Content>>)>,
}

impl Session {
    fn new(transactions: &Transactions, number: usize) -> Session {
        Session {
            transaction: transactions.session(number),
            snapshot: None,
            own: BTreeMap::new(),
            savepoint: None,
        }
    }

    fn forget(&mut self) {
        self.snapshot = None;
        self.own.clear();
        self.savepoint = None;
    }
}

struct World {
    settings: TransactionSettings,
    transactions: Arc<Transactions>,
    store: Store,
    sessions: Vec<Session>,
    committed: Table,
    context: MiniTransactionContext,
}

impl World {
    fn step(&mut self, step: &Step) {
        match step.clone() {
            Step::Begin(n, read_committed) if !self.sessions[n].transaction.is_active() => {
                let isolation = if read_committed {
                    ReadCommitted
                } else {
                    RepeatableRead
                };
                let options = BeginOptions::read_write(isolation);
                let transaction = &mut self.sessions[n].transaction;
                self.transactions.begin(transaction, options).unwrap();
            }
            Step::Put(n, key, content) => self.put(n, key, content),
            Step::PutMany(n, key, count) => {
                for number in 0..count {
                    self.put(n, key, Some((number, Some(vec![number as u8; 250]))));
                }
            }
            Step::Read(n) if self.sessions[n].transaction.is_active() => self.read(n),
            Step::EndStatement(n) if self.sessions[n].transaction.is_active() => {
                let session = &mut self.sessions[n];
                self.transactions.end_statement(&mut session.transaction);
                if !session.transaction.view().is_open() {
                    session.snapshot = None;
                }
            }
            Step::Savepoint(n) if self.sessions[n].transaction.is_active() => {
                let session = &mut self.sessions[n];
                let savepoint = self.transactions.savepoint(&session.transaction);
                session.savepoint = Some((savepoint, session.own.clone()));
            }
            Step::RollbackTo(n) => {
                let session = &mut self.sessions[n];
                if let Some((savepoint, own)) = session.savepoint.take() {
                    let transaction = &mut session.transaction;
                    let result = self
                        .transactions
                        .rollback_to(transaction, savepoint, &self.store);
                    result.unwrap();
                    session.own = own;
                }
            }
            Step::Commit(n) if self.sessions[n].transaction.is_active() => {
                let session = &mut self.sessions[n];
                let wrote = session.transaction.undo_records() > 0;
                let end = self.transactions.commit(&mut session.transaction).unwrap();
                assert!(end > 0 || !wrote);
                for (key, content) in std::mem::take(&mut session.own) {
                    match content {
                        Some(content) => self.committed.insert(key, content),
                        None => self.committed.remove(&key),
                    };
                }
                session.forget();
            }
            Step::Rollback(n) if self.sessions[n].transaction.is_active() => {
                let session = &mut self.sessions[n];
                let transaction = &mut session.transaction;
                self.transactions
                    .rollback(transaction, &self.store)
                    .unwrap();
                session.forget();
            }
            Step::Purge => {
                self.transactions.purge_step(&self.store).unwrap();
            }
            Step::Crash => self.crash(),
            _ => {}
        }
    }

    fn put(&mut self, n: usize, key: u32, content: Option<Content>) {
        let session = &mut self.sessions[n];
        let transaction = &mut session.transaction;
        if !transaction.is_active() || self.store.is_taken(&self.transactions, transaction, key) {
            return;
        }
        let changed = self
            .store
            .put(&self.transactions, transaction, key, content.clone());
        if changed {
            session.own.insert(key, content);
        }
    }

    fn read(&mut self, n: usize) {
        let session = &mut self.sessions[n];
        if !session.transaction.view().is_open() {
            session.snapshot = Some(self.committed.clone());
        }
        self.transactions.open_view(&mut session.transaction);
        let snapshot = session.snapshot.as_ref().unwrap();
        for key in 0..KEYS {
            let (transaction, context) = (&session.transaction, &mut self.context);
            let seen = self
                .store
                .read(&self.transactions, transaction, context, key);
            let expected = match session.own.get(&key) {
                Some(own) => own.clone(),
                None => snapshot.get(&key).cloned(),
            };
            assert_eq!(seen, expected, "key {key}");
        }
    }

    /// All memory but the pages is lost. (That redo restores the pages is another test's
    /// business.)
    fn crash(&mut self) {
        let pages = self.transactions.undo().pages().clone();
        let (opened, recovered) = Transactions::open(pages, self.settings.clone()).unwrap();
        let active = self
            .sessions
            .iter()
            .filter(|s| s.transaction.undo_records() > 0);
        let with_undo = active.count();
        assert!(recovered.len() >= with_undo);
        self.store.use_transactions(&opened);
        recovered.finish(&opened, &self.store).unwrap();
        self.transactions = opened;
        assert_eq!(self.store.contents(), self.committed);
        self.sessions = (0..SESSIONS)
            .map(|n| Session::new(&self.transactions, n))
            .collect();
    }

    fn finish(&mut self) {
        for n in 0..SESSIONS {
            self.step(&Step::Read(n));
            self.step(&if n % 2 == 0 {
                Step::Commit(n)
            } else {
                Step::Rollback(n)
            });
        }
        assert_eq!(self.store.contents(), self.committed);
        // With no view open everything can be thrown away.
        for round in 0.. {
            let step = self.transactions.purge_step(&self.store).unwrap();
            if step.pages == 0 && step.logs_removed == 0 {
                break;
            }
            assert!(round < 1000, "purge comes to an end");
        }
        assert_eq!(self.transactions.undo().history_length(), 0);
        assert_eq!(self.transactions.purge_failures(), 0);
        assert_eq!(self.store.deleted_rows(), 0);
        assert_eq!(self.store.contents(), self.committed);
        let pages = self.transactions.undo().pages();
        let spaces = match self.settings.undo_tablespaces {
            0 => vec![SpaceId(0)],
            count => (1..=count).map(undo_space_id).collect(),
        };
        for space in spaces {
            let map = check_space(pages, space).unwrap();
            assert_eq!(map.faults, Vec::<String>::new());
            // Headers, and at most a page for each cached segment.
            assert!(map.owners.len() < 40, "{} pages in use", map.owners.len());
        }
    }
}

pub fn run(flavor: Flavor, steps: Vec<Step>) {
    virtually(1, move || {
        let settings = settings(flavor);
        let (_sandbox, transactions) = create(&settings);
        let mut world = World {
            sessions: (0..SESSIONS)
                .map(|n| Session::new(&transactions, n))
                .collect(),
            settings,
            store: Store::new(&transactions),
            transactions,
            committed: Table::new(),
            context: MiniTransactionContext::new(0),
        };
        for step in &steps {
            world.step(step);
        }
        world.finish();
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn readers_see_what_they_must_with_undo_tablespaces(
        steps in prop::collection::vec(step(), 1..150)
    ) {
        run(Flavor::MySql8_4, steps);
    }

    #[test]
    fn readers_see_what_they_must_with_undo_in_the_system_tablespace(
        steps in prop::collection::vec(step(), 1..150)
    ) {
        run(Flavor::MySql5_6, steps);
    }
}
