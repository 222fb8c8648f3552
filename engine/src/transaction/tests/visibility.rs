//! What a view sees, against the definition: what had committed when it was opened, and
//! the reader's own.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::super::*;
use crate::metrics::Metrics;
use crate::sysvar::TransactionIsolation::{ReadCommitted, RepeatableRead};
use crate::sysvar::{self, Flavor};

const SESSIONS: usize = 6;

#[derive(Clone, Debug)]
enum Step {
    Begin(usize, bool),
    Select(usize),
    Write(usize),
    Read(usize),
    EndStatement(usize),
    Commit(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let session = 0..SESSIONS;
    prop_oneof![
        2 => (session.clone(), any::<bool>()).prop_map(|(n, rc)| Step::Begin(n, rc)),
        1 => session.clone().prop_map(Step::Select),
        3 => session.clone().prop_map(Step::Write),
        4 => session.clone().prop_map(Step::Read),
        1 => session.clone().prop_map(Step::EndStatement),
        2 => session.prop_map(Step::Commit),
    ]
}

/// A session, and what its view should see.
struct Reader {
    transaction: Transaction,
    seen: Option<BTreeSet<TrxId>>,
    number: Option<TrxNo>,
}

fn settings(flavor: Flavor, read_view: sysvar::ReadViewAlgorithm) -> TransactionSettings {
    TransactionSettings {
        rules: TransactionRules::of_flavor(flavor),
        read_view,
        ..TransactionSettings::default()
    }
}

fn run(settings: TransactionSettings, steps: &[Step]) -> Result<(), TestCaseError> {
    let system = TransactionSystem::new(settings, Arc::new(Metrics::new(1)), FIRST_TRX_ID);
    let mut readers: Vec<Reader> = (0..SESSIONS)
        .map(|number| Reader {
            transaction: system.session(number),
            seen: None,
            number: None,
        })
        .collect();
    // Writers, and those of them that committed, with their numbers.
    let mut writers = BTreeSet::new();
    let mut committed = BTreeSet::new();
    let mut numbers: Vec<(TrxNo, TrxId)> = Vec::new();
    for step in steps {
        match *step {
            Step::Begin(n, read_committed) if !readers[n].transaction.is_active() => {
                let isolation = if read_committed {
                    ReadCommitted
                } else {
                    RepeatableRead
                };
                let options = BeginOptions::read_write(isolation);
                let _ = system.begin(&mut readers[n].transaction, options);
            }
            Step::Select(n) if !readers[n].transaction.is_active() => {
                let reader = &mut readers[n];
                let _ = system.begin(
                    &mut reader.transaction,
                    BeginOptions::select(RepeatableRead),
                );
                system.open_view(&mut reader.transaction);
                for &id in &writers {
                    prop_assert_eq!(reader.transaction.view().sees(id), committed.contains(&id));
                }
                system.retire(&mut reader.transaction, None);
            }
            Step::Write(n) if readers[n].transaction.is_active() => {
                let transaction = &mut readers[n].transaction;
                let _ = system.become_read_write(transaction);
                writers.insert(transaction.id());
                prop_assert!(system.is_active(transaction.id()));
            }
            Step::Read(n) if readers[n].transaction.is_active() => {
                let reader = &mut readers[n];
                if !reader.transaction.view().is_open() {
                    reader.seen = Some(committed.clone());
                }
                system.open_view(&mut reader.transaction);
                let (own, view) = (reader.transaction.id(), reader.transaction.view());
                let seen = reader.seen.as_ref().unwrap();
                for &id in &writers {
                    prop_assert_eq!(view.sees(id), seen.contains(&id) || id == own, "id {}", id);
                }
                prop_assert!(!view.sees(system.ids().next()));
            }
            Step::EndStatement(n) if readers[n].transaction.is_active() => {
                system.end_statement(&mut readers[n].transaction);
            }
            Step::Commit(n) if readers[n].transaction.is_active() => {
                let reader = &mut readers[n];
                let id = reader.transaction.id();
                let wrote = writers.contains(&id);
                if wrote {
                    let number = system.take_number();
                    numbers.push((number, id));
                    reader.number = Some(number);
                }
                system.retire(&mut reader.transaction, reader.number.take());
                reader.seen = None;
                if wrote {
                    committed.insert(id);
                    prop_assert!(!system.is_active(id));
                }
            }
            _ => {}
        }
        check_purge(&system, &readers, &writers, &committed, &numbers)?;
    }
    let listed = readers.iter().filter(|reader| reader.transaction.is_listed);
    prop_assert_eq!(system.lengths().0, listed.count());
    Ok(())
}

/// Purge throws nothing away that a view may ask for, and all if there is no view.
fn check_purge(
    system: &TransactionSystem,
    readers: &[Reader],
    writers: &BTreeSet<TrxId>,
    committed: &BTreeSet<TrxId>,
    numbers: &[(TrxNo, TrxId)],
) -> Result<(), TestCaseError> {
    let mut purge = PurgeView::default();
    system.clone_oldest_view(&mut purge);
    let views: Vec<&ReadView> = readers
        .iter()
        .map(|reader| reader.transaction.view())
        .filter(|view| view.is_open())
        .collect();
    for &(number, id) in numbers {
        let unseen = views
            .iter()
            .any(|view| !view.sees(id) || view.creator == id);
        if number < purge.low_limit_no {
            prop_assert!(!unseen, "undo of {} is needed", id);
            prop_assert!(purge.sees(id), "and said to be");
        } else {
            prop_assert!(!views.is_empty(), "nobody needs the undo of {}", id);
        }
    }
    for &id in writers {
        if purge.sees(id) {
            prop_assert!(committed.contains(&id));
            prop_assert!(views.iter().all(|view| view.sees(id)));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_view_sees_what_had_committed(steps in prop::collection::vec(step(), 1..120)) {
        for flavor in [Flavor::MySql5_6, Flavor::MySql5_7, Flavor::MySql8_4, Flavor::MariaDb10_11] {
            for read_view in [
                sysvar::ReadViewAlgorithm::TrxListWalk,
                sysvar::ReadViewAlgorithm::IdVectorCopy,
            ] {
                run(settings(flavor, read_view), &steps)?;
            }
        }
    }
}

#[test]
fn a_page_of_a_secondary_index_is_seen_below_the_oldest_writer() {
    let system = TransactionSystem::new(
        TransactionSettings::default(),
        Arc::new(Metrics::new(1)),
        100,
    );
    let mut writer = system.session(0);
    let _ = system.begin(&mut writer, BeginOptions::read_write(RepeatableRead));
    assert_eq!(system.become_read_write(&mut writer), Ok(None));
    let mut reader = system.session(1);
    let _ = system.begin(&mut reader, BeginOptions::read_write(RepeatableRead));
    system.open_view(&mut reader);
    assert!(reader.view().sees_page(99));
    assert!(!reader.view().sees_page(100));
    assert_eq!(system.smallest_active_id(), 100);
    system.retire(&mut writer, None);
    assert_eq!(system.smallest_active_id(), 101);
    let _ = system.begin(&mut writer, BeginOptions::select(RepeatableRead));
    assert_eq!(
        system.become_read_write(&mut writer),
        Err(ReadOnlyTransaction)
    );
}
