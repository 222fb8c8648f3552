//! Acquisitions of the mutexes, and time spent under them, as each version has them.

use std::sync::Arc;

use super::super::*;
use super::virtually;
use crate::metrics::{Counter, Metrics};
use crate::page::PageId;
use crate::runtime::time::NANOSECOND;
use crate::runtime::{LatchClass, now, runtime_statistics};
use crate::sysvar::TransactionIsolation::{self, ReadCommitted, RepeatableRead};
use crate::sysvar::{Flavor, ReadViewAlgorithm as Choice};

fn system(flavor: Flavor) -> TransactionSystem {
    counted(flavor, &Arc::new(Metrics::new(1)))
}

fn counted(flavor: Flavor, metrics: &Arc<Metrics>) -> TransactionSystem {
    let read_view = match flavor {
        Flavor::MySql5_1 | Flavor::MySql5_5 | Flavor::MySql5_6 => Choice::TrxListWalk,
        _ => Choice::IdVectorCopy,
    };
    let settings = TransactionSettings {
        rules: TransactionRules::of_flavor(flavor),
        read_view,
        ..TransactionSettings::default()
    };
    TransactionSystem::new(settings, metrics.clone(), FIRST_TRX_ID)
}

fn acquired(class: LatchClass) -> u64 {
    runtime_statistics().latches[class as usize].acquired
}

/// Acquisitions of `trx_sys->mutex` for views, start and commit of one transaction of
/// sysbench's oltp_read_write, or of oltp_read_only.
fn acquisitions(flavor: Flavor, isolation: TransactionIsolation, writes: bool) -> u64 {
    virtually(1, move || {
        let system = system(flavor);
        let mut session = system.session(0);
        let before = acquired(LatchClass::TrxSys);
        let _ = system.begin(&mut session, BeginOptions::read_write(isolation));
        for _ in 0..14 {
            system.open_view(&mut session);
            system.end_statement(&mut session);
        }
        let number = writes.then(|| {
            system.become_read_write(&mut session).unwrap();
            system.take_number()
        });
        system.retire(&mut session, number);
        acquired(LatchClass::TrxSys) - before
    })
}

/// The fact sheet's section 3.4.
#[test]
fn sysbench_takes_the_mutex_as_often_as_the_sheet_says() {
    use Flavor::*;
    assert_eq!(acquisitions(MySql8_4, RepeatableRead, true), 3);
    assert_eq!(acquisitions(MySql8_4, ReadCommitted, true), 30);
    assert_eq!(acquisitions(MySql8_4, RepeatableRead, false), 1);
    assert_eq!(acquisitions(MySql8_4, ReadCommitted, false), 28);
    // With the number under the same mutex.
    assert_eq!(acquisitions(MySql5_7, RepeatableRead, true), 4);
    assert_eq!(acquisitions(MySql5_7, ReadCommitted, true), 31);
    // And with the close of the view apart.
    assert_eq!(acquisitions(MySql5_6, RepeatableRead, true), 5);
    assert_eq!(acquisitions(MySql5_6, ReadCommitted, true), 31);
}

#[test]
fn selects_under_autocommit_need_no_mutex_while_nothing_changes() {
    virtually(1, || {
        let system = system(Flavor::MySql8_4);
        let (mut reader, mut writer) = (system.session(0), system.session(1));
        let mut select = || {
            let before = acquired(LatchClass::TrxSys);
            let _ = system.begin(&mut reader, BeginOptions::select(RepeatableRead));
            system.open_view(&mut reader);
            system.end_statement(&mut reader);
            system.retire(&mut reader, None);
            acquired(LatchClass::TrxSys) - before
        };
        assert_eq!(select(), 1, "the first view is made");
        assert_eq!(select(), 0, "and used again");
        let _ = system.begin(&mut writer, BeginOptions::read_write(RepeatableRead));
        system.become_read_write(&mut writer).unwrap();
        assert_eq!([select(), select()], [1, 1], "any writer defeats it");
        system.retire(&mut writer, None);
        assert_eq!([select(), select()], [1, 0]);
    });
}

#[test]
fn views_and_walks_are_counted() {
    let counts = |flavor, isolation| {
        virtually(1, move || {
            let metrics = Arc::new(Metrics::new(1));
            let system = counted(flavor, &metrics);
            let (mut older, mut reader) = (system.session(0), system.session(1));
            let _ = system.begin(&mut older, BeginOptions::read_write(isolation));
            system.become_read_write(&mut older).unwrap();
            let old = system.ids().next() - 1;
            let _ = system.begin(&mut reader, BeginOptions::read_write(isolation));
            for _ in 0..3 {
                system.open_view(&mut reader);
                system.end_statement(&mut reader);
            }
            assert!(system.is_active(old));
            assert!(!system.is_active(old - 1), "known without a walk");
            let total = |counter| metrics.total(counter);
            let counts = [Counter::ReadViewsOpened, Counter::ImplicitLockWalks].map(total);
            system.retire(&mut reader, None);
            system.retire(&mut older, None);
            counts
        })
    };
    assert_eq!(counts(Flavor::MySql5_6, RepeatableRead), [1, 1]);
    assert_eq!(counts(Flavor::MySql5_6, ReadCommitted), [3, 1]);
    assert_eq!(counts(Flavor::MySql5_7, ReadCommitted), [3, 0]);
}

/// The time that a view takes with so many writers.
fn time_of_a_view(flavor: Flavor, writers: u64) -> u64 {
    virtually(1, move || {
        let system = system(flavor);
        let mut sessions: Vec<_> = (0..writers).map(|n| system.session(n as usize)).collect();
        for session in &mut sessions {
            let _ = system.begin(session, BeginOptions::read_write(RepeatableRead));
            system.become_read_write(session).unwrap();
        }
        let mut reader = system.session(0);
        let options = BeginOptions {
            read_only: true,
            ..BeginOptions::read_write(RepeatableRead)
        };
        let _ = system.begin(&mut reader, options);
        let start = now();
        system.open_view(&mut reader);
        now() - start
    })
}

#[test]
fn a_walk_costs_a_cache_miss_each_and_a_copy_next_to_nothing() {
    let growth = |flavor| (time_of_a_view(flavor, 1001) - time_of_a_view(flavor, 1)) / 1000;
    assert_eq!(growth(Flavor::MySql5_6), 30 * NANOSECOND, "on one socket");
    assert_eq!(growth(Flavor::MySql8_4), 300, "picoseconds");
}

/// Checks of implicit locks: 5.6 walks under both mutexes, 5.7 looks up under one, 8.0
/// compares with the smallest id.
#[test]
fn implicit_locks_are_looked_up_as_each_version_does() {
    let counts = |flavor, own: bool, active: bool| {
        virtually(1, move || {
            let system = system(flavor);
            let (mut owner, mut asker) = (system.session(0), system.session(1));
            for session in [&mut owner, &mut asker] {
                let _ = system.begin(session, BeginOptions::read_write(RepeatableRead));
                system.become_read_write(session).unwrap();
            }
            let id = if own { asker.id() } else { owner.id() };
            if !active {
                system.retire(&mut owner, None);
            }
            let before = (acquired(LatchClass::TrxSys), acquired(LatchClass::LockSys));
            let page = PageId::new(5, 7);
            let locks = system.locks();
            locks.convert_implicit(&asker.locks, page, 2, id, &system);
            let converted = locks.lock_objects() == 1;
            let after = (acquired(LatchClass::TrxSys), acquired(LatchClass::LockSys));
            (after.0 - before.0, after.1 - before.1 - 1, converted)
        })
    };
    use Flavor::*;
    assert_eq!(counts(MySql5_6, false, true), (1, 1, true));
    assert_eq!(counts(MySql5_6, false, false), (1, 1, false));
    assert_eq!(counts(MySql5_6, true, true), (1, 1, false));
    assert_eq!(counts(MySql5_7, false, true), (1, 1, true));
    assert_eq!(counts(MySql5_7, false, false), (1, 0, false));
    assert_eq!(counts(MySql5_7, true, true), (0, 0, false));
    assert_eq!(counts(MySql8_4, false, true), (0, 1, true));
    assert_eq!(counts(MySql8_4, false, false), (0, 0, false));
}
