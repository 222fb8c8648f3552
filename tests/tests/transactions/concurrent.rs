//! Users, purge and readers at once, under the virtual clock.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

use innosim_engine::lock::{LockOutcome, RecordLockMode};
use innosim_engine::page::PageId;
use innosim_engine::redo_log::MiniTransactionContext;
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND};
use innosim_engine::runtime::{WaitKind, now, sleep, spawn, stream};
use innosim_engine::sysvar::{Flavor, TransactionIsolation};
use innosim_engine::transaction::{BeginOptions, Transaction, Transactions};

use super::store::Store;
use super::{create_in, settings, virtually};

const BEGIN: BeginOptions = BeginOptions::read_write(TransactionIsolation::RepeatableRead);
const ACCOUNTS: u32 = 12;

/// Locks a row in X. False if the transaction has to give up.
fn lock(transactions: &Transactions, transaction: &mut Transaction, key: u32) -> bool {
    transactions.become_read_write(transaction).unwrap();
    let locks = transactions.locks();
    loop {
        let mode = RecordLockMode::EXCLUSIVE_RECORD;
        let page = PageId::new(77, 4);
        match locks.lock_record(&mut transaction.locks, page, key as u16 + 2, mode) {
            Ok(LockOutcome::Granted) => return true,
            Ok(LockOutcome::Wait) => {
                if locks.wait(&mut transaction.locks).is_err() {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
}

/// What the row holds now; the caller has locked it.
fn balance(store: &Store, key: u32) -> u32 {
    store.rows.lock()[&key].content.0
}

/// Money is moved from account to account; every view sees the same sum.
fn bank(flavor: Flavor, seed: u64) -> (u64, u64, u64) {
    virtually(seed, move || bank_in(Path::new("/test"), flavor))
}

fn bank_in(directory: &Path, flavor: Flavor) -> (u64, u64, u64) {
    let mut settings = settings(flavor);
    settings.purge_threads = 3;
    settings.purge_batch_size = 20;
    settings.purge_truncate_frequency = 4;
    let (_sandbox, transactions) = create_in(directory, &settings);
    let store = Arc::new(Store::new(&transactions));
    let mut session = transactions.session(0);
    transactions.begin(&mut session, BEGIN).unwrap();
    for key in 0..ACCOUNTS {
        store.put(&transactions, &mut session, key, Some((1000, None)));
    }
    transactions.commit(&mut session).unwrap();
    transactions.end_session(session);
    let purge = transactions.start_purge(store.clone());
    let moved = Arc::new(AtomicU64::new(0));
    let mut users = Vec::new();
    for number in 0..8 {
        let (transactions, store) = (transactions.clone(), store.clone());
        let moved = moved.clone();
        users.push(spawn("user", move || {
            let mut stream = stream(&format!("user {number}"));
            let mut transaction = transactions.session(number);
            for _ in 0..60 {
                transactions.begin(&mut transaction, BEGIN).unwrap();
                let from = stream.below(ACCOUNTS.into()) as u32;
                let to = stream.below(ACCOUNTS.into()) as u32;
                let both = lock(&transactions, &mut transaction, from)
                    && lock(&transactions, &mut transaction, to);
                if both && from != to {
                    let note = Some(vec![number as u8; stream.below(400) as usize]);
                    let left = (balance(&store, from).wrapping_sub(1), note.clone());
                    store.put(&transactions, &mut transaction, from, Some(left));
                    sleep(stream.below(50) * MICROSECOND, WaitKind::Other);
                    let more = (balance(&store, to).wrapping_add(1), note);
                    // Sometimes by way of a deleted row.
                    if stream.below(3) == 0 {
                        store.put(&transactions, &mut transaction, to, None);
                    }
                    store.put(&transactions, &mut transaction, to, Some(more));
                }
                if both && stream.below(4) > 0 {
                    transactions.commit(&mut transaction).unwrap();
                    moved.fetch_add(1, Relaxed);
                } else {
                    transactions.rollback(&mut transaction, &*store).unwrap();
                }
            }
            transactions.end_session(transaction);
        }));
    }
    for number in 8..11 {
        let (transactions, store) = (transactions.clone(), store.clone());
        users.push(spawn("reader", move || {
            let mut transaction = transactions.session(number);
            let mut context = MiniTransactionContext::new(number);
            for _ in 0..25 {
                transactions.begin(&mut transaction, BEGIN).unwrap();
                transactions.open_view(&mut transaction);
                for _ in 0..2 {
                    let mut sum = 0;
                    for key in 0..ACCOUNTS {
                        let row = store.read(&transactions, &transaction, &mut context, key);
                        sum += row.expect("no account is ever gone").0;
                        sleep(20 * MICROSECOND, WaitKind::Other);
                    }
                    assert_eq!(sum, 1000 * ACCOUNTS);
                }
                transactions.commit(&mut transaction).unwrap();
            }
            transactions.end_session(transaction);
        }));
    }
    for user in users {
        user.join();
    }
    // Purge catches up by itself.
    for _ in 0..200 {
        if transactions.undo().history_length() == 0 {
            break;
        }
        sleep(5 * MILLISECOND, WaitKind::Other);
    }
    transactions.stop_purge(purge);
    assert_eq!(transactions.undo().history_length(), 0);
    assert_eq!(transactions.purge_failures(), 0);
    assert_eq!(store.deleted_rows(), 0);
    assert_eq!(transactions.system().lengths(), (0, 0));
    assert_eq!(transactions.locks().lock_objects(), 0);
    let sum: u32 = store.contents().values().map(|row| row.0).sum();
    assert_eq!(sum, 1000 * ACCOUNTS);
    let metrics = &transactions.undo().pages().metrics;
    let deadlocks = metrics.total(innosim_engine::metrics::Counter::Deadlocks);
    (moved.load(Relaxed), deadlocks, now())
}

#[test]
fn every_view_sees_the_same_sum() {
    let mut deadlocks = 0;
    for flavor in [Flavor::MySql5_6, Flavor::MySql5_7, Flavor::MySql8_4] {
        for seed in 1..=3 {
            let result = bank(flavor, seed);
            assert!(result.0 > 200);
            deadlocks += result.1;
        }
    }
    assert!(deadlocks > 0, "some had to give way");
}

#[test]
fn every_view_sees_the_same_sum_under_the_real_clock() {
    for flavor in [Flavor::MySql5_6, Flavor::MySql5_7, Flavor::MySql8_4] {
        let directory = tempfile::tempdir().unwrap();
        assert!(bank_in(directory.path(), flavor).0 > 100);
    }
}

#[test]
fn one_seed_gives_one_run() {
    assert_eq!(bank(Flavor::MySql8_4, 5), bank(Flavor::MySql8_4, 5));
}
