//! Creating, inserting, selecting, updating, deleting; shutting down and opening again.

use std::path::Path;

use innosim_engine::engine::{EngineOptions, StatementKind};
use innosim_engine::sysvar::TransactionIsolation::RepeatableRead;
use innosim_engine::table::{
    Assignment, ColumnType, IndexReading, ReadLock, TableDefinition, Updated, Value,
};

use crate::world::*;

fn one_session(directory: &Path, options: EngineOptions) {
    let settings = settings(&[]);
    let engine = create(directory, &settings, options);
    let table = engine.create_table(TableDefinition::sysbench(1)).unwrap();
    let mut session = engine.session(0);
    assert_eq!(all_rows(&mut session, &table), []);
    for id in 1..=300 {
        let number = session.insert(&table, &row(id, id * 10)).unwrap();
        assert_eq!(number, id);
    }
    // AUTO_INCREMENT goes on.
    assert_eq!(session.insert(&table, &row(0, 7)).unwrap(), 301);
    let expected: Vec<_> = (1..=300)
        .map(|id| (id, id * 10))
        .chain([(301, 7)])
        .collect();
    assert_eq!(all_rows(&mut session, &table), expected);
    assert_eq!(k_of(&mut session, &table, 77), Some(770));
    assert_eq!(k_of(&mut session, &table, 302), None);

    session.begin(RepeatableRead, false).unwrap();
    let changed = session
        .update(&table, &[77.into()], &[Assignment::add(1, 1)])
        .unwrap();
    assert_eq!(
        changed,
        Updated {
            found: true,
            changed: true
        }
    );
    let missing = session
        .update(&table, &[999.into()], &[Assignment::add(1, 1)])
        .unwrap();
    assert!(!missing.found);
    assert!(session.delete(&table, &[78.into()]).unwrap());
    assert!(!session.delete(&table, &[78.into()]).unwrap());
    assert_eq!(k_of(&mut session, &table, 77), Some(771));
    assert_eq!(k_of(&mut session, &table, 78), None);
    session.commit().unwrap();

    // By the secondary index: the row that was updated by its new value only.
    for reading in [IndexReading::Covering, IndexReading::Rows] {
        let mut seen = Vec::new();
        let ends: (&[Value<'_>], &[Value<'_>]) = (&[760.into()], &[800.into()]);
        session
            .index_range_select(&table, 0, ends, reading, ReadLock::None, |row| {
                seen.push((row.integer(1).unwrap(), row.integer(0).unwrap()));
            })
            .unwrap();
        assert_eq!(
            seen,
            [(760, 76), (771, 77), (790, 79), (800, 80)],
            "{reading:?}"
        );
    }

    session.begin(RepeatableRead, false).unwrap();
    session.insert(&table, &row(78, 1)).unwrap();
    session.delete(&table, &[1.into()]).unwrap();
    session
        .update(&table, &[77.into()], &[Assignment::set(1, 5)])
        .unwrap();
    session
        .update(&table, &[76.into()], &[Assignment::set(0, 1000)])
        .unwrap();
    assert_eq!(k_of(&mut session, &table, 1000), Some(760));
    session.rollback().unwrap();
    assert_eq!(k_of(&mut session, &table, 77), Some(771));
    assert_eq!(k_of(&mut session, &table, 78), None);
    assert_eq!(k_of(&mut session, &table, 1), Some(10));
    assert_eq!(k_of(&mut session, &table, 1000), None);
    assert_eq!(k_of(&mut session, &table, 76), Some(760));
    let before = all_rows(&mut session, &table);
    session.close().unwrap();
    shut_down(&engine);
    drop(engine);

    let (engine, report) = open(directory, &settings, options);
    assert!(!report.was_needed(), "{report:?}");
    let table = engine.table("sbtest/sbtest1").unwrap();
    let mut session = engine.session(0);
    assert_eq!(all_rows(&mut session, &table), before);
    assert_eq!(session.insert(&table, &row(0, 8)).unwrap(), 302);
    session.close().unwrap();
    let statements = engine.statement_counts();
    assert_eq!(statements.get(StatementKind::Insert), 1);
    assert_eq!(statements.get(StatementKind::Select), 1);
    assert_eq!(statements.get(StatementKind::Commit), 0);
    engine.purge_all().unwrap();
    assert_eq!(engine.levels().history_list_length, 0);
    let status = engine.metrics_snapshot().status();
    assert_eq!(status["Innodb_rows_inserted"], 1);
    assert_eq!(status["Innodb_rows_read"], 300);
    assert!(status["Innodb_data_read"] > 0 && status["Innodb_data_fsyncs"] > 0);
    shut_down(&engine);
}

#[test]
fn one_session_stepped() {
    under_both_clocks(|directory| one_session(directory, STEPPED));
}

#[test]
fn one_session_with_tasks() {
    under_both_clocks(|directory| one_session(directory, WITH_TASKS));
}

#[test]
fn rows_of_changing_length_and_null() {
    under_both_clocks(|directory| {
        let settings = settings(&[]);
        let engine = create(directory, &settings, STEPPED);
        let definition = TableDefinition::new("test", "t")
            .column("id", ColumnType::BigInteger)
            .nullable_column("v", ColumnType::VarChar(4000))
            .nullable_column("n", ColumnType::Integer)
            .primary_key(&["id"])
            .unwrap()
            .index("n_v", &["n"])
            .unwrap();
        let table = engine.create_table(definition).unwrap();
        let mut session = engine.session(0);
        let text = |length: usize| "x".repeat(length);
        for id in 0..100 {
            let text = text(id as usize * 3);
            session
                .insert(&table, &[id.into(), text.as_str().into(), Value::Null])
                .unwrap();
        }
        let length_of = |session: &mut innosim_engine::engine::Session, id: i64| {
            let read = |row: &innosim_engine::table::Row<'_>| row.bytes(1).map(<[u8]>::len);
            session
                .point_select(&table, &[id.into()], ReadLock::None, read)
                .unwrap()
                .unwrap()
        };
        session.begin(RepeatableRead, false).unwrap();
        for id in 0..100 {
            // Longer by far: pages are split.
            let text = text(3900 - id as usize);
            let changes = [Assignment::set(1, text.as_str()), Assignment::set(2, id)];
            session.update(&table, &[id.into()], &changes).unwrap();
        }
        assert_eq!(length_of(&mut session, 5), Some(3895));
        session.rollback().unwrap();
        for id in 0..100 {
            assert_eq!(length_of(&mut session, id), Some(id as usize * 3));
        }
        for id in 0..100 {
            let changes = [Assignment::set(1, Value::Null), Assignment::set(2, -id)];
            session.update(&table, &[id.into()], &changes).unwrap();
        }
        assert_eq!(length_of(&mut session, 5), None);
        let mut keys = Vec::new();
        let ends: (&[Value<'_>], &[Value<'_>]) = (&[(-5).into()], &[(-3).into()]);
        session
            .index_range_select(&table, 0, ends, IndexReading::Rows, ReadLock::None, |row| {
                keys.push(row.integer(0).unwrap());
            })
            .unwrap();
        assert_eq!(keys, [5, 4, 3]);
        session.close().unwrap();
        engine.purge_all().unwrap();
        shut_down(&engine);
    });
}

#[test]
fn many_rows_are_loaded_updated_and_purged() {
    under_both_clocks(|directory| {
        let settings = settings(&["innodb_flush_log_at_trx_commit=2"]);
        let engine = create(directory, &settings, WITH_TASKS);
        let table = sysbench(&engine, 5000);
        let mut session = engine.session(0);
        for id in (1..=5000).step_by(3) {
            session
                .update(&table, &[id.into()], &[Assignment::add(1, 1)])
                .unwrap();
        }
        for id in (2..=5000).step_by(3) {
            session.delete(&table, &[id.into()]).unwrap();
        }
        let rows = all_rows(&mut session, &table);
        assert_eq!(rows.len(), 3333);
        assert!(
            rows.iter()
                .all(|&(id, k)| k == id * 10 + i64::from(id % 3 == 1))
        );
        session.close().unwrap();
        engine.purge_all().unwrap();
        engine.shutdown().unwrap();
        drop(engine);
        let (engine, _) = open(directory, &settings, STEPPED);
        let table = engine.table("sbtest/sbtest1").unwrap();
        let mut session = engine.session(0);
        assert_eq!(all_rows(&mut session, &table), rows);
        session.close().unwrap();
        shut_down(&engine);
    });
}
