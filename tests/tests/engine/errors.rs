//! What the engine refuses, and that it says why.

use std::path::Path;

use innosim_engine::engine::{Engine, EngineError};
use innosim_engine::runtime::files::{Create, FileKind, FileSystem, IoMode, OpenOptions};
use innosim_engine::runtime::time::MILLISECOND;
use innosim_engine::runtime::{WaitKind, is_virtual, sleep, spawn};
use innosim_engine::sysvar::Flavor;
use innosim_engine::sysvar::TransactionIsolation::RepeatableRead;
use innosim_engine::table::{Assignment, ColumnType, TableDefinition, Value};

use crate::world::*;

fn open_error(directory: &Path) -> String {
    let opened = Engine::open(FileSystem::new(), directory, &settings(&[]), STEPPED);
    opened.map(|_| ()).unwrap_err().to_string()
}

fn write_file(path: &Path, bytes: &[u8]) {
    let options = OpenOptions {
        create: Create::OrTruncate,
        io: IoMode::Buffered,
        kind: FileKind::Other,
    };
    let file = FileSystem::new().open(path, options).unwrap();
    file.write_at(bytes, 0, WaitKind::Other).unwrap();
}

#[test]
fn a_directory_must_be_ours_and_free() {
    under_both_clocks(|directory| {
        let settings = settings(&[]);
        let message = open_error(directory);
        assert!(message.contains("does not exist"), "{message}");
        let engine = create(directory, &settings, STEPPED);
        let message = open_error(directory);
        assert!(message.contains("in use by another engine"), "{message}");
        let again = Engine::create(FileSystem::new(), directory, &settings, STEPPED);
        let message = again.map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("in use"), "{message}");
        shut_down(&engine);
        drop(engine);
        let again = Engine::create(FileSystem::new(), directory, &settings, STEPPED);
        assert!(matches!(again, Err(EngineError::NotEmpty { .. })));

        let other = directory.join("other");
        FileSystem::new().create_directory(&other).unwrap();
        let message = open_error(&other);
        assert!(message.contains("has no innosim.dictionary"), "{message}");
        write_file(&other.join("mysql.ibd"), b"x");
        let message = open_error(&other);
        assert!(message.contains("MySQL server 8.0"), "{message}");
    });
}

#[test]
fn a_dictionary_of_another_format_or_a_damaged_one_is_refused() {
    under_both_clocks(|directory| {
        let engine = create(directory, &settings(&[]), STEPPED);
        engine.create_table(TableDefinition::sysbench(1)).unwrap();
        shut_down(&engine);
        drop(engine);
        let path = directory.join("innosim.dictionary");
        write_file(
            &path,
            b"# innosim dictionary, format 9, 0 bytes, crc32c 00000000\n",
        );
        let message = open_error(directory);
        assert!(message.contains("has format 9"), "{message}");
        write_file(&path, b"hello\n");
        let message = open_error(directory);
        assert!(message.contains("not a dictionary"), "{message}");
    });
}

#[test]
fn a_directory_of_another_flavor_is_refused() {
    under_both_clocks(|directory| {
        let old = settings_of(Flavor::MySql5_7, &[]);
        let engine = create(directory, &old, STEPPED);
        let table = sysbench(&engine, 10);
        let mut session = engine.session(0);
        assert_eq!(k_of(&mut session, &table, 3), Some(30));
        session.close().unwrap();
        shut_down(&engine);
        drop(engine);
        let message = open_error(directory);
        for part in [
            "was made by mysql-5.1, mysql-5.5, mysql-5.6, mysql-5.7 or mariadb-10.11",
            "redo in ib_logfile0",
            "but mysql-8.4 was asked for",
            "undo in undo_001",
            "open it as the flavor that made it",
        ] {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
        let (engine, _) = open(directory, &old, STEPPED);
        shut_down(&engine);
        let newer = directory.join("newer");
        shut_down(&create(&newer, &settings(&[]), STEPPED));
        let opened = Engine::open(FileSystem::new(), &newer, &old, STEPPED);
        let message = opened.map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("mysql-8.0 or mysql-8.4"), "{message}");
        assert!(message.contains("but mysql-5.7 was asked for"), "{message}");
    });
}

#[test]
fn every_flavor_creates_changes_and_recovers() {
    for flavor in Flavor::ALL {
        let mut simulation = simulation(3);
        let settings = settings_of(flavor, &[]);
        let again = settings.clone();
        simulation
            .run(move || {
                let engine = create(Path::new("data"), &settings, WITH_TASKS);
                let table = sysbench(&engine, 100);
                let mut session = engine.session(0);
                for id in 1..=100 {
                    session
                        .update(&table, &[id.into()], &[Assignment::add(1, 1)])
                        .unwrap();
                }
                // No shutdown: what is left is in redo.
            })
            .unwrap();
        simulation
            .run(move || {
                let (engine, _) = open(Path::new("data"), &again, STEPPED);
                let table = engine.table("sbtest/sbtest1").unwrap();
                let mut session = engine.session(0);
                let expected: Vec<_> = (1..=100).map(|id| (id, id * 10 + 1)).collect();
                assert_eq!(all_rows(&mut session, &table), expected, "{flavor}");
                session.close().unwrap();
                engine.purge_all().unwrap();
                shut_down(&engine);
            })
            .unwrap();
    }
}

#[test]
fn statements_that_cannot_be_done_change_nothing() {
    under_both_clocks(|directory| {
        let engine = create(directory, &settings(&[]), STEPPED);
        let table = sysbench(&engine, 10);
        let mut session = engine.session(0);
        session.begin(RepeatableRead, false).unwrap();
        session.insert(&table, &row(11, 1)).unwrap();
        let number = |result: Result<i64, EngineError>| {
            let error = result.unwrap_err();
            (error.mysql_number(), error.to_string())
        };
        let (code, message) = number(session.insert(&table, &row(5, 1)));
        assert_eq!(code, Some(1062));
        assert!(
            message.contains("duplicate entry '5' for key 'sbtest1.PRIMARY'"),
            "{message}"
        );
        let (code, message) = number(session.insert(&table, &row(1 << 40, 1)));
        assert_eq!(code, Some(1264));
        assert!(message.contains("sbtest/sbtest1.id") && message.contains("2147483647"));
        let long = "x".repeat(121);
        let values: [Value<'_>; 4] = [12.into(), 1.into(), long.as_str().into(), "".into()];
        let (code, message) = number(session.insert(&table, &values));
        assert_eq!(code, Some(1406));
        assert!(message.contains("CHAR(120)"), "{message}");
        let (code, _) = number(session.insert(&table, &values[..3]));
        assert_eq!(code, Some(1136));
        let error = session
            .update(&table, &[1.into()], &[Assignment::add(1, i64::MAX)])
            .unwrap_err();
        assert_eq!(error.mysql_number(), Some(1264), "{error}");
        let error = session.delete(&table, &[]).unwrap_err();
        assert!(error.to_string().contains("primary key"), "{error}");
        // An update that ends in a duplicate takes its delete back.
        let error = session
            .update(&table, &[1.into()], &[Assignment::set(0, 2)])
            .unwrap_err();
        assert_eq!(error.mysql_number(), Some(1062), "{error}");
        assert!(session.is_in_transaction());
        session.commit().unwrap();
        let expected: Vec<_> = (1..=10).map(|id| (id, id * 10)).chain([(11, 1)]).collect();
        assert_eq!(all_rows(&mut session, &table), expected);
        session.close().unwrap();
        engine.purge_all().unwrap();
        shut_down(&engine);
        let mut session = engine.session(0);
        let error = session.insert(&table, &row(50, 1)).unwrap_err();
        assert!(error.to_string().contains("shut down"), "{error}");
    });
}

/// Overwrites the pages of a table's file from this one on.
fn damage_pages(file: &Path, first: u64, end: u64) {
    let options = OpenOptions {
        create: Create::Existing,
        io: IoMode::Buffered,
        kind: FileKind::Other,
    };
    let file = FileSystem::new().open(file, options).unwrap();
    for page in first..end {
        let at = page * 16_384 + 5_000;
        file.write_at(b"not what was here", at, WaitKind::Other)
            .unwrap();
    }
}

/// A transaction that can be neither committed nor rolled back keeps its locks: whoever
/// waits for them is told, and does not wait for `innodb_lock_wait_timeout`, 34 years here.
#[test]
fn a_rollback_that_fails_ends_all_waits() {
    under_both_clocks(|directory| {
        let settings = settings(&["innodb_lock_wait_timeout=1073741824"]);
        let engine = create(directory, &settings, STEPPED);
        sysbench(&engine, 3_000);
        shut_down(&engine);
        drop(engine);
        let (engine, _) = open(directory, &settings, STEPPED);
        let table = engine.table("sbtest/sbtest1").unwrap();
        let mut one = engine.session(0);
        one.begin(RepeatableRead, false).unwrap();
        // This reads pages of the clustered index; those of the index k are to be damaged.
        let text = Assignment::set(2, "new");
        one.update(&table, &[1.into()], &[text]).unwrap();
        damage_pages(&directory.join("sbtest/sbtest1.ibd"), 4, 64);
        let waiter = {
            let (engine, table) = (engine.clone(), table.clone());
            spawn("waiter", move || {
                let mut session = engine.session(1);
                session.begin(RepeatableRead, false).unwrap();
                let add = [Assignment::add(1, 1)];
                session.update(&table, &[1.into()], &add).unwrap_err()
            })
        };
        sleep(50 * MILLISECOND, WaitKind::Other);
        let error = one
            .update(&table, &[1.into()], &[Assignment::add(1, 1)])
            .unwrap_err();
        assert!(error.to_string().contains("checksum"), "{error}");
        assert!(!error.is_aftermath(), "{error}");
        let error = waiter.join();
        assert!(error.is_aftermath(), "{error}");
        assert!(error.to_string().contains("has failed"), "{error}");
        // Nothing can be begun or ended any more.
        for error in [
            one.rollback().unwrap_err(),
            one.commit().unwrap_err(),
            engine.session(2).insert(&table, &row(0, 1)).unwrap_err(),
        ] {
            assert!(error.is_aftermath(), "{error}");
        }
    });
}

#[test]
fn tables_that_cannot_be_made_leave_nothing() {
    under_both_clocks(|directory| {
        let engine = create(directory, &settings(&[]), STEPPED);
        let table = sysbench(&engine, 3);
        let again = engine
            .create_table(TableDefinition::sysbench(1))
            .unwrap_err();
        assert_eq!(again.mysql_number(), Some(1050), "{again}");
        let no_key = TableDefinition::new("t", "t").column("a", ColumnType::Integer);
        let error = engine.create_table(no_key).unwrap_err();
        assert!(
            error.to_string().contains("PRIMARY has no column"),
            "{error}"
        );
        let mut ids = [1, 2, 2].iter();
        let loaded = engine.bulk_load(TableDefinition::sysbench(2), |take| match ids.next() {
            Some(&id) => {
                take(&row(id, 1));
                true
            }
            None => false,
        });
        let error = loaded.unwrap_err();
        assert!(error.to_string().contains("row 3"), "{error}");
        assert!(engine.table("sbtest/sbtest2").is_err());
        let file = directory.join("sbtest/sbtest2.ibd");
        assert!(!FileSystem::new().exists(&file).unwrap());
        // The name is free.
        engine.create_table(TableDefinition::sysbench(2)).unwrap();
        assert_eq!(table.name(), "sbtest/sbtest1");
        shut_down(&engine);
        drop(engine);
        let (engine, report) = open(directory, &settings(&[]), STEPPED);
        assert_eq!(report.removed_tables, Vec::<String>::new());
        assert_eq!(engine.dictionary().tables().len(), 2);
        shut_down(&engine);
        assert!(is_virtual() || directory.is_absolute());
    });
}
