//! Who sees what, and who waits for whom.

use std::path::Path;
use std::sync::Arc;

use innosim_engine::engine::{Engine, Session};
use innosim_engine::runtime::time::{MILLISECOND, SECOND};
use innosim_engine::runtime::{
    JoinHandle, LatchClass, WaitKind, now, runtime_statistics, sleep, spawn,
};
use innosim_engine::sysvar::Flavor;
use innosim_engine::sysvar::TransactionIsolation::{
    self, ReadCommitted, ReadUncommitted, RepeatableRead, Serializable,
};
use innosim_engine::table::{Assignment, IndexReading, ReadLock, Table, Value};

use crate::world::*;

/// Rows 1 to 9 with k = 10 * id, and two sessions.
fn with_two_sessions(
    directory: &Path,
    variables: &[&str],
    body: impl FnOnce(&Arc<Engine>, &Arc<Table>, &mut Session, &mut Session),
) {
    let settings = settings(variables);
    let engine = create(directory, &settings, STEPPED);
    let table = sysbench(&engine, 9);
    let (mut one, mut other) = (engine.session(0), engine.session(1));
    body(&engine, &table, &mut one, &mut other);
    one.close().unwrap();
    other.close().unwrap();
    engine.purge_all().unwrap();
    assert_eq!(engine.rows().locks.lock_objects(), 0);
    shut_down(&engine);
}

/// k of the rows in a range of k, by the secondary index.
fn by_k(session: &mut Session, table: &Table, reading: IndexReading) -> Vec<(i64, i64)> {
    let mut seen = Vec::new();
    let ends: (&[Value<'_>], &[Value<'_>]) = (&[], &[]);
    session
        .index_range_select(table, 0, ends, reading, ReadLock::None, |row| {
            seen.push((row.integer(1).unwrap(), row.integer(0).unwrap()));
        })
        .unwrap();
    seen
}

fn change_everything(table: &Table, session: &mut Session) {
    for id in [2, 5] {
        session
            .update(table, &[id.into()], &[Assignment::add(1, 1)])
            .unwrap();
    }
    session.delete(table, &[3.into()]).unwrap();
    session.delete(table, &[4.into()]).unwrap();
    session.insert(table, &row(4, 44)).unwrap();
    session.insert(table, &row(10, 5)).unwrap();
}

#[test]
fn a_view_stays_as_it_is_or_moves_on_with_each_statement() {
    under_both_clocks(|directory| {
        with_two_sessions(directory, &[], |engine, table, one, other| {
            let old: Vec<(i64, i64)> = (1..=9).map(|id| (id, id * 10)).collect();
            let new = vec![
                (1, 10),
                (2, 21),
                (4, 44),
                (5, 51),
                (6, 60),
                (7, 70),
                (8, 80),
                (9, 90),
                (10, 5),
            ];
            let expect = |session: &mut Session, rows: &[(i64, i64)]| {
                assert_eq!(all_rows(session, table), rows);
                let mut sorted: Vec<_> = rows.iter().map(|&(id, k)| (k, id)).collect();
                sorted.sort_unstable();
                for reading in [IndexReading::Covering, IndexReading::Rows] {
                    assert_eq!(by_k(session, table, reading), sorted, "{reading:?}");
                }
                for id in 1..=10 {
                    let k = rows.iter().find(|row| row.0 == id).map(|row| row.1);
                    assert_eq!(k_of(session, table, id), k, "row {id}");
                }
            };
            one.begin(RepeatableRead, false).unwrap();
            expect(one, &old);
            other.begin(RepeatableRead, false).unwrap();
            change_everything(table, other);
            // One's own changes are seen, others' are not.
            expect(other, &new);
            expect(one, &old);
            one.begin(ReadCommitted, false).unwrap();
            expect(one, &old);
            one.begin(ReadUncommitted, false).unwrap();
            assert_eq!(all_rows(one, table), new);
            one.begin(RepeatableRead, true).unwrap();
            expect(one, &old);
            other.commit().unwrap();
            expect(one, &old);
            // Purge leaves what the view needs.
            engine.purge_all().unwrap();
            expect(one, &old);
            assert!(engine.levels().history_list_length > 0);
            let error = one.insert(table, &row(20, 1)).unwrap_err();
            assert_eq!(error.mysql_number(), Some(1792), "{error}");
            expect(one, &old);
            one.begin(ReadCommitted, false).unwrap();
            expect(one, &new);
            one.commit().unwrap();
            expect(one, &new);
            engine.purge_all().unwrap();
            assert_eq!(engine.levels().history_list_length, 0);
            expect(one, &new);
        });
    });
}

#[test]
fn an_old_view_follows_a_long_history() {
    under_both_clocks(|directory| {
        with_two_sessions(directory, &[], |engine, table, one, other| {
            one.begin(RepeatableRead, true).unwrap();
            assert_eq!(k_of(one, table, 1), Some(10));
            for round in 0..50 {
                let text = "x".repeat(round % 100);
                let changes = [Assignment::add(1, 1), Assignment::set(2, text.as_str())];
                other.update(table, &[1.into()], &changes).unwrap();
                if round % 7 == 0 {
                    other.delete(table, &[2.into()]).unwrap();
                    other.insert(table, &row(2, round as i64)).unwrap();
                }
                engine.step().unwrap();
            }
            assert_eq!(k_of(one, table, 1), Some(10));
            assert_eq!(k_of(one, table, 2), Some(20));
            let old: Vec<_> = (1..=9).map(|id| (id * 10, id)).collect();
            assert_eq!(by_k(one, table, IndexReading::Rows), old);
            assert_eq!(k_of(other, table, 1), Some(60));
            one.commit().unwrap();
            assert_eq!(k_of(one, table, 1), Some(60));
        });
    });
}

/// Runs a statement in a task of its own.
fn in_background<T: Send + 'static>(
    engine: &Arc<Engine>,
    table: &Arc<Table>,
    isolation: TransactionIsolation,
    body: impl FnOnce(&mut Session, &Table) -> T + Send + 'static,
) -> JoinHandle<T> {
    let (engine, table) = (engine.clone(), table.clone());
    spawn("session", move || {
        let mut session = engine.session(7);
        session.begin(isolation, false).unwrap();
        let result = body(&mut session, &table);
        session.commit().unwrap();
        session.close().unwrap();
        result
    })
}

fn pause() {
    sleep(50 * MILLISECOND, WaitKind::Other);
}

#[test]
fn a_writer_waits_for_a_writer_and_then_adds_to_what_it_left() {
    under_both_clocks(|directory| {
        with_two_sessions(directory, &[], |engine, table, one, _| {
            one.begin(RepeatableRead, false).unwrap();
            one.update(table, &[1.into()], &[Assignment::add(1, 5)])
                .unwrap();
            one.insert(table, &row(20, 1)).unwrap();
            one.delete(table, &[2.into()]).unwrap();
            let update = in_background(engine, table, RepeatableRead, |session, table| {
                let start = now();
                session
                    .update(table, &[1.into()], &[Assignment::add(1, 100)])
                    .unwrap();
                now() - start
            });
            // The implicit lock of an insert, and a row that is deleted.
            let insert = in_background(engine, table, RepeatableRead, |session, table| {
                let error = session.insert(table, &row(20, 2)).unwrap_err();
                error.mysql_number()
            });
            let revive = in_background(engine, table, RepeatableRead, |session, table| {
                session.insert(table, &row(2, 2)).unwrap()
            });
            pause();
            one.commit().unwrap();
            assert!(update.join() >= 40 * MILLISECOND);
            assert_eq!(insert.join(), Some(1062));
            assert_eq!(revive.join(), 2);
            assert_eq!(k_of(one, table, 1), Some(115));
            assert_eq!(k_of(one, table, 2), Some(2));
        });
    });
}

#[test]
fn a_rollback_lets_the_waiter_have_the_old_row() {
    under_both_clocks(|directory| {
        with_two_sessions(directory, &[], |engine, table, one, _| {
            one.begin(RepeatableRead, false).unwrap();
            one.update(table, &[1.into()], &[Assignment::add(1, 5)])
                .unwrap();
            one.insert(table, &row(20, 1)).unwrap();
            let update = in_background(engine, table, ReadCommitted, |session, table| {
                session
                    .update(table, &[1.into()], &[Assignment::add(1, 100)])
                    .unwrap();
            });
            let insert = in_background(engine, table, ReadCommitted, |session, table| {
                session.insert(table, &row(20, 2)).unwrap();
            });
            pause();
            one.rollback().unwrap();
            update.join();
            insert.join();
            assert_eq!(k_of(one, table, 1), Some(110));
            assert_eq!(k_of(one, table, 20), Some(2));
        });
    });
}

#[test]
fn locked_ranges_keep_phantoms_out_but_not_under_read_committed() {
    under_both_clocks(|directory| {
        with_two_sessions(directory, &[], |engine, table, one, _| {
            for (isolation, waits) in [(RepeatableRead, true), (ReadCommitted, false)] {
                one.begin(isolation, false).unwrap();
                let (first, last) = ([100.into()], [200.into()]);
                let rows = one
                    .range_select(table, &first, &last, ReadLock::Exclusive, |_| ())
                    .unwrap();
                assert_eq!(rows, 0);
                let insert = in_background(engine, table, isolation, move |session, table| {
                    let start = now();
                    session.insert(table, &row(150, 1)).unwrap();
                    session.delete(table, &[150.into()]).unwrap();
                    now() - start
                });
                pause();
                one.commit().unwrap();
                assert_eq!(insert.join() >= 40 * MILLISECOND, waits, "{isolation}");
                engine.purge_all().unwrap();
            }
            // By the secondary index: the entries and the gaps between them.
            one.begin(RepeatableRead, false).unwrap();
            let ends: (&[Value<'_>], &[Value<'_>]) = (&[20.into()], &[40.into()]);
            let lock = ReadLock::Shared;
            let rows = one
                .index_range_select(table, 0, ends, IndexReading::Rows, lock, |_| ())
                .unwrap();
            assert_eq!(rows, 3);
            let insert = in_background(engine, table, RepeatableRead, |session, table| {
                let start = now();
                session.insert(table, &row(150, 35)).unwrap();
                now() - start
            });
            let update = in_background(engine, table, RepeatableRead, |session, table| {
                let start = now();
                session
                    .update(table, &[3.into()], &[Assignment::set(1, 1)])
                    .unwrap();
                now() - start
            });
            let shared = in_background(engine, table, RepeatableRead, |session, table| {
                let read = |_: &innosim_engine::table::Row<'_>| ();
                let start = now();
                session
                    .point_select(table, &[2.into()], ReadLock::Shared, read)
                    .unwrap();
                now() - start
            });
            pause();
            one.commit().unwrap();
            assert!(insert.join() >= 40 * MILLISECOND);
            assert!(update.join() >= 40 * MILLISECOND);
            assert!(shared.join() < 40 * MILLISECOND);
        });
    });
}

#[test]
fn a_serializable_select_locks_what_it_reads() {
    under_both_clocks(|directory| {
        with_two_sessions(directory, &[], |engine, table, one, other| {
            one.begin(Serializable, false).unwrap();
            assert_eq!(k_of(one, table, 1), Some(10));
            let update = in_background(engine, table, RepeatableRead, |session, table| {
                session
                    .update(table, &[1.into()], &[Assignment::add(1, 1)])
                    .unwrap();
            });
            pause();
            // A plain reader does not wait, and sees what is committed.
            assert_eq!(k_of(other, table, 1), Some(10));
            one.commit().unwrap();
            update.join();
            assert_eq!(k_of(other, table, 1), Some(11));
        });
    });
}

#[test]
fn a_wait_ends_after_the_timeout_and_only_the_statement_is_taken_back() {
    under_both_clocks(|directory| {
        let variables = ["innodb_lock_wait_timeout=1"];
        with_two_sessions(directory, &variables, |_, table, one, other| {
            one.begin(RepeatableRead, false).unwrap();
            one.update(table, &[1.into()], &[Assignment::add(1, 1)])
                .unwrap();
            other.begin(RepeatableRead, false).unwrap();
            other
                .update(table, &[2.into()], &[Assignment::add(1, 1)])
                .unwrap();
            let start = now();
            let error = other
                .update(table, &[1.into()], &[Assignment::add(1, 1)])
                .unwrap_err();
            assert_eq!(error.mysql_number(), Some(1205), "{error}");
            assert!((SECOND..3 * SECOND).contains(&(now() - start)));
            assert!(other.is_in_transaction());
            other.commit().unwrap();
            one.commit().unwrap();
            assert_eq!(k_of(one, table, 1), Some(11));
            assert_eq!(k_of(one, table, 2), Some(21));
        });
    });
}

#[test]
fn a_deadlock_costs_one_of_them_its_transaction() {
    under_both_clocks(|directory| {
        with_two_sessions(directory, &[], |engine, table, one, _| {
            one.begin(RepeatableRead, false).unwrap();
            one.update(table, &[1.into()], &[Assignment::add(1, 1)])
                .unwrap();
            let other = in_background(engine, table, RepeatableRead, |session, table| {
                session
                    .update(table, &[2.into()], &[Assignment::add(1, 2)])
                    .unwrap();
                let crossed = session.update(table, &[1.into()], &[Assignment::add(1, 2)]);
                if let Err(error) = &crossed {
                    assert_eq!(error.mysql_number(), Some(1213), "{error}");
                    assert!(!session.is_in_transaction());
                }
                crossed.is_ok()
            });
            pause();
            let mine = one.update(table, &[2.into()], &[Assignment::add(1, 1)]);
            let survived = mine.is_ok();
            if let Err(error) = mine {
                assert_eq!(error.mysql_number(), Some(1213), "{error}");
            }
            one.commit().unwrap();
            assert_ne!(other.join(), survived, "one of the two gives way");
            let expected = if survived { (11, 21) } else { (12, 22) };
            let found = (k_of(one, table, 1), k_of(one, table, 2));
            assert_eq!(found, (Some(expected.0), Some(expected.1)));
        });
    });
}

#[test]
fn admission_limits_who_is_inside() {
    under_both_clocks(|directory| {
        let variables = ["innodb_thread_concurrency=1"];
        with_two_sessions(directory, &variables, |engine, table, one, _| {
            let tasks: Vec<_> = (0..4)
                .map(|number| {
                    in_background(engine, table, RepeatableRead, move |session, table| {
                        for round in 0..20 {
                            let id = (number + round) % 9 + 1;
                            session
                                .update(table, &[id.into()], &[Assignment::add(1, 1)])
                                .unwrap();
                            session.commit().unwrap();
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.join();
            }
            assert_eq!(engine.rows().admission.inside(), 0);
            let sum: i64 = all_rows(one, table).iter().map(|row| row.1).sum();
            assert_eq!(sum, 450 + 80);
        });
    });
}

/// Published, for 5.6: one walk of the transaction list a transaction is not for a view;
/// the INSERT of sysbench meets the row that its own transaction has just deleted.
#[test]
fn an_insert_over_an_own_deleted_row_asks_once_who_is_active() {
    let acquired = || runtime_statistics().latches[LatchClass::TrxSys as usize].acquired;
    let body = move || {
        let settings = settings_of(Flavor::MySql5_6, &[]);
        let engine = create(Path::new("data"), &settings, STEPPED);
        let table = sysbench(&engine, 9);
        let mut session = engine.session(0);
        session.begin(RepeatableRead, false).unwrap();
        session.delete(&table, &[4.into()]).unwrap();
        let before = acquired();
        session.insert(&table, &row(4, 44)).unwrap();
        assert_eq!(acquired() - before, 1);
        session.commit().unwrap();
        session.close().unwrap();
        shut_down(&engine);
    };
    simulation(1).run(body).unwrap();
}
