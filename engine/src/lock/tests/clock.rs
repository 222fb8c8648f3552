//! Waiting, under the virtual clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::*};

use super::*;
use crate::metrics::{Counter, Level, Metrics};
use crate::runtime::profile::CpuProfile;
use crate::runtime::time::{MICROSECOND, MILLISECOND, SECOND};
use crate::runtime::virtual_clock::{Simulation, SimulationOptions};
use crate::runtime::{WaitKind, now, sleep, spawn, stream};

fn virtually<T: 'static>(seed: u64, main: impl FnOnce() -> T + 'static) -> T {
    let options = SimulationOptions::new(CpuProfile::uniform(4), seed);
    let mut simulation = Simulation::new(&options).unwrap();
    simulation.run(main).expect("nobody waits for ever")
}

fn system(timeout: u64) -> (Arc<LockSystem>, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::new(1));
    let locks = LockSystem::new(metrics.clone(), timeout);
    (Arc::new(locks), metrics)
}

const X: RecordLockMode = RecordLockMode::EXCLUSIVE_RECORD;

#[test]
fn a_wait_ends_with_the_release() {
    virtually(1, || {
        let (locks, metrics) = system(50);
        let mut holder = locks.join(0);
        let outcome = locks.lock_record(&mut holder, page(1), 2, X);
        assert_eq!(outcome, Ok(LockOutcome::Granted));
        let waiter = {
            let locks = locks.clone();
            spawn("waiter", move || {
                let mut owner = locks.join(1);
                let outcome = locks.lock_record(&mut owner, page(1), 2, X);
                assert_eq!(outcome, Ok(LockOutcome::Wait));
                assert_eq!(locks.wait(&mut owner), Ok(()));
                let outcome = locks.lock_record(&mut owner, page(1), 2, X);
                assert_eq!(outcome, Ok(LockOutcome::Granted));
                let end = now();
                locks.leave(owner);
                end
            })
        };
        sleep(5 * MILLISECOND, WaitKind::Other);
        assert_eq!(metrics.level(Level::RowLockCurrentWaits), 1);
        let released = now();
        locks.release_all(&mut holder);
        let end = waiter.join();
        assert!((released..released + 50 * MICROSECOND).contains(&end));
        assert_eq!(metrics.total(Counter::RowLockWaits), 1);
        assert_eq!(metrics.level(Level::RowLockCurrentWaits), 0);
        assert_eq!(metrics.level(Level::RecordLocks), 0);
        assert_eq!(locks.lock_objects(), 0);
    });
}

#[test]
fn a_wait_that_takes_too_long_ends_with_the_next_full_second() {
    virtually(1, || {
        let (locks, metrics) = system(3);
        let (mut a, mut b, mut c) = (locks.join(0), locks.join(0), locks.join(0));
        let _ = locks.lock_record(&mut a, page(1), 2, X);
        sleep(500 * MILLISECOND, WaitKind::Other);
        let outcome = locks.lock_record(&mut b, page(1), 2, X);
        assert_eq!(outcome, Ok(LockOutcome::Wait));
        assert_eq!(locks.wait(&mut b), Err(LockError::Timeout));
        assert_eq!(now() / MILLISECOND, 4 * SECOND / MILLISECOND);
        assert_eq!(metrics.total(Counter::LockTimeouts), 1);
        // Nothing of the request is left.
        locks.release_all(&mut a);
        let outcome = locks.lock_record(&mut c, page(1), 2, X);
        assert_eq!(outcome, Ok(LockOutcome::Granted));
    });
}

#[test]
fn all_waits_end_at_once_and_none_begins() {
    virtually(1, || {
        let (locks, metrics) = system(1_000_000_000);
        let mut holder = locks.join(0);
        for heap in [2, 3] {
            let _ = locks.lock_record(&mut holder, page(1), heap, X);
        }
        let waiters: Vec<_> = [2, 2, 3]
            .into_iter()
            .map(|heap| {
                let locks = locks.clone();
                spawn("waiter", move || {
                    let mut owner = locks.join(1);
                    let outcome = locks.lock_record(&mut owner, page(1), heap, X);
                    assert_eq!(outcome, Ok(LockOutcome::Wait));
                    let result = locks.wait(&mut owner);
                    locks.leave(owner);
                    result
                })
            })
            .collect();
        sleep(5 * MILLISECOND, WaitKind::Other);
        assert_eq!(metrics.level(Level::RowLockCurrentWaits), 3);
        locks.end_waits();
        for waiter in waiters {
            assert_eq!(waiter.join(), Err(LockError::Ended));
        }
        let mut late = locks.join(0);
        let outcome = locks.lock_record(&mut late, page(1), 2, X);
        assert_eq!(outcome, Err(LockError::Ended));
        // What nobody else has can still be locked, and nothing of the requests is left.
        let outcome = locks.lock_record(&mut late, page(1), 4, X);
        assert_eq!(outcome, Ok(LockOutcome::Granted));
        locks.leave(late);
        locks.leave(holder);
        assert_eq!(metrics.level(Level::RowLockCurrentWaits), 0);
        assert_eq!(locks.lock_objects(), 0);
    });
}

#[test]
fn the_lighter_of_two_is_rolled_back() {
    virtually(1, || {
        let (locks, metrics) = system(50);
        let mut a = locks.join(0);
        let _ = locks.lock_record(&mut a, page(1), 2, X);
        a.state().set_undo_records(10);
        let other = {
            let locks = locks.clone();
            spawn("other", move || {
                let mut b = locks.join(1);
                let _ = locks.lock_record(&mut b, page(1), 3, X);
                let outcome = locks.lock_record(&mut b, page(1), 2, X);
                assert_eq!(outcome, Ok(LockOutcome::Wait));
                let result = locks.wait(&mut b);
                locks.leave(b);
                result
            })
        };
        sleep(MILLISECOND, WaitKind::Other);
        let outcome = locks.lock_record(&mut a, page(1), 3, X);
        assert_eq!(outcome, Ok(LockOutcome::Wait));
        assert_eq!(locks.wait(&mut a), Ok(()));
        assert_eq!(other.join(), Err(LockError::Deadlock));
        assert_eq!(metrics.total(Counter::Deadlocks), 1);
    });
}

/// Users who lock a few rows in any order, and work while they have them.
#[test]
fn nobody_shares_an_exclusive_lock_and_no_wake_up_is_lost() {
    for seed in 1..=6 {
        virtually(seed, move || {
            let (locks, metrics) = system(50);
            const ROWS: usize = 6;
            let holders: Arc<Vec<AtomicI64>> =
                Arc::new((0..ROWS).map(|_| AtomicI64::new(0)).collect());
            let finished = Arc::new(AtomicU64::new(0));
            let users: Vec<_> = (0..24)
                .map(|number| {
                    let (locks, holders) = (locks.clone(), holders.clone());
                    let finished = finished.clone();
                    spawn("user", move || {
                        let mut stream = stream(&format!("user {number}"));
                        let mut owner = locks.join(number);
                        'transactions: for _ in 0..40 {
                            let mut mine = Vec::new();
                            for _ in 0..1 + stream.below(3) {
                                let row = stream.below(ROWS as u64) as usize;
                                loop {
                                    let heap = row as HeapNumber + 2;
                                    match locks.lock_record(&mut owner, page(9), heap, X) {
                                        Ok(LockOutcome::Granted) => break,
                                        Ok(LockOutcome::Wait) => {
                                            if locks.wait(&mut owner).is_ok() {
                                                continue;
                                            }
                                        }
                                        Err(_) => {}
                                    }
                                    give_up(&holders, &mine);
                                    locks.release_all(&mut owner);
                                    continue 'transactions;
                                }
                                if !mine.contains(&row) {
                                    mine.push(row);
                                    assert_eq!(holders[row].fetch_add(1, Relaxed), 0);
                                }
                                sleep(stream.below(200) * MICROSECOND, WaitKind::Other);
                            }
                            give_up(&holders, &mine);
                            locks.release_all(&mut owner);
                            finished.fetch_add(1, Relaxed);
                        }
                        locks.leave(owner);
                    })
                })
                .collect();
            for user in users {
                user.join();
            }
            assert!(finished.load(Relaxed) > 300, "most get through");
            assert!(
                metrics.total(Counter::Deadlocks) > 0,
                "there were deadlocks"
            );
            assert_eq!(metrics.total(Counter::LockTimeouts), 0);
            assert_eq!(metrics.level(Level::RecordLocks), 0);
            assert_eq!(locks.lock_objects(), 0);
            assert!(now() < 40 * SECOND, "no wait ran into its timeout");
        });
    }
}

fn give_up(holders: &[AtomicI64], mine: &[usize]) {
    for &row in mine {
        holders[row].fetch_sub(1, Relaxed);
    }
}
