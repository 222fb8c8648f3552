//! Data directories that are refused: the message says what is wrong, and nothing in the
//! directory has changed, so that whoever puts the right file back can try again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use innosim_engine::engine::Engine;
use innosim_engine::page::{PAGE_SIZE, PageBytes, fil};
use innosim_engine::redo_log::block::write_checksum;
use innosim_engine::runtime::WaitKind;
use innosim_engine::runtime::files::{
    AlignedBuffer, Create, File, FileKind, FileSystem, IoMode, OpenOptions,
};
use innosim_engine::sysvar::Settings;
use innosim_engine::table::Assignment;

use crate::world::*;

/// The smallest redo files, and a pool that no page has to leave: no page has a copy then.
const VARIABLES: &[&str] = &["innodb_redo_log_capacity=8M", "innodb_buffer_pool_size=32M"];
const PAGE: u64 = PAGE_SIZE as u64;
/// Where a tablespace's flags are in its first page.
const FLAGS: usize = 54;

fn open_file(path: &Path) -> File {
    let options = OpenOptions {
        create: Create::Existing,
        io: IoMode::Buffered,
        kind: FileKind::Other,
    };
    FileSystem::new().open(path, options).unwrap()
}

fn read_all(path: &Path) -> Vec<u8> {
    let file = open_file(path);
    let mut bytes = vec![0; file.length().unwrap() as usize];
    if !bytes.is_empty() {
        file.read_at(&mut bytes, 0, WaitKind::Other).unwrap();
    }
    bytes
}

/// All files below a directory, and their bytes; a directory has none.
fn snapshot(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in FileSystem::new().list(directory).unwrap() {
        let path = directory.join(entry.name);
        if entry.is_directory {
            found.append(&mut snapshot(&path));
            found.insert(path, Vec::new());
        } else {
            let bytes = read_all(&path);
            found.insert(path, bytes);
        }
    }
    found
}

/// Which files differ.
fn changes(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let all = before.keys().chain(after.keys());
    let mut changed: Vec<String> = all
        .filter(|path| before.get(*path) != after.get(*path))
        .map(|path| path.display().to_string())
        .collect();
    changed.sort();
    changed.dedup();
    changed
}

/// What an engine leaves that was killed: several redo files and a spare one, and pages in
/// the doublewrite files. Nothing was written to the first pages of the tablespaces since
/// it was opened.
fn killed(directory: &Path, settings: &Settings) {
    let engine = create(directory, settings, STEPPED);
    sysbench(&engine, 300);
    shut_down(&engine);
    drop(engine);
    let (engine, _) = open(directory, settings, STEPPED);
    let table = engine.table("sbtest/sbtest1").unwrap();
    let mut session = engine.session(0);
    for round in 0..6 {
        for id in 1..=300 {
            session
                .update(&table, &[id.into()], &[Assignment::add(1, round)])
                .unwrap();
        }
    }
    engine.pages().log.step().unwrap();
    session.close().unwrap();
}

/// The redo files of a directory with their numbers, the newest last.
fn redo_files(directory: &Path) -> Vec<(u64, PathBuf)> {
    let redo = directory.join("#innodb_redo");
    let mut found = Vec::new();
    for entry in FileSystem::new().list(&redo).unwrap() {
        let number = entry.name.strip_prefix("#ib_redo").unwrap();
        if let Ok(number) = number.parse() {
            found.push((number, redo.join(entry.name)));
        }
    }
    found.sort();
    found
}

/// Harms a directory, and expects that it is refused with a message that has all of these
/// parts, twice, and not changed.
fn refused(directory: &Path, settings: &Settings, harm: impl FnOnce(&Path) -> Vec<String>) {
    killed(directory, settings);
    let spare = redo_files(directory).last().unwrap().0 + 1;
    let spare = directory.join(format!("#innodb_redo/#ib_redo{spare}_tmp"));
    assert!(FileSystem::new().exists(spare).unwrap());
    let expected = harm(directory);
    let before = snapshot(directory);
    for _ in 0..2 {
        let opened = Engine::open(FileSystem::new(), directory, settings, STEPPED);
        let message = match opened {
            Ok((_, report)) => panic!("{} was opened: {report:?}", directory.display()),
            Err(error) => error.to_string(),
        };
        for part in &expected {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
        assert_eq!(changes(&before, &snapshot(directory)), [""; 0], "{message}");
    }
}

fn remove(path: &Path) {
    FileSystem::new().remove(path).unwrap();
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn the_newest_redo_file_is_missing() {
    under_both_clocks(|directory| {
        refused(directory, &settings(VARIABLES), |directory| {
            let files = redo_files(directory);
            assert!(files.len() >= 3, "{files:?}");
            let (_, newest) = files.last().unwrap();
            let length = read_all(newest).len();
            remove(newest);
            vec![
                file_name(newest),
                "is missing".into(),
                format!("{length} bytes"),
                file_name(&files[files.len() - 2].1),
            ]
        });
    });
}

#[test]
fn several_redo_files_are_missing() {
    under_both_clocks(|directory| {
        refused(directory, &settings(VARIABLES), |directory| {
            let files = redo_files(directory);
            for (_, file) in &files[1..] {
                remove(file);
            }
            vec![file_name(&files[1].1), "is missing".into()]
        });
    });
}

#[test]
fn a_redo_file_in_the_middle_is_missing() {
    under_both_clocks(|directory| {
        refused(directory, &settings(VARIABLES), |directory| {
            let files = redo_files(directory);
            remove(&files[1].1);
            vec![file_name(&files[1].1), "is missing".into()]
        });
    });
}

#[test]
fn the_redo_file_with_the_checkpoint_is_missing() {
    under_both_clocks(|directory| {
        refused(directory, &settings(VARIABLES), |directory| {
            let files = redo_files(directory);
            remove(&files[0].1);
            let mut parts = vec!["no redo file has a valid checkpoint".into()];
            for (_, file) in &files[1..] {
                parts.push(format!(
                    "{}: both checkpoint slots are empty",
                    file.display()
                ));
            }
            parts
        });
    });
}

#[test]
fn a_redo_file_was_cut_short() {
    under_both_clocks(|directory| {
        for (number, length) in [(0, 100_000), (1, 512), (2, 2048), (3, 0)] {
            let directory = directory.join(format!("{number}"));
            refused(&directory, &settings(VARIABLES), |directory| {
                let files = redo_files(directory);
                let (_, path) = match number {
                    0 => files.last().unwrap(),
                    number => &files[files.len() - number],
                };
                let file = open_file(path);
                let expected = file.length().unwrap();
                file.set_length(length).unwrap();
                vec![
                    file_name(path),
                    format!("{length} bytes"),
                    format!("{expected} expected"),
                ]
            });
        }
    });
}

#[test]
fn a_redo_file_has_another_format() {
    under_both_clocks(|directory| {
        refused(directory, &settings(VARIABLES), |directory| {
            let files = redo_files(directory);
            let (_, newest) = files.last().unwrap();
            let file = open_file(newest);
            let mut block = [0; 512];
            file.read_at(&mut block, 0, WaitKind::Other).unwrap();
            block[..4].copy_from_slice(&6_u32.to_be_bytes());
            write_checksum(&mut block);
            file.write_at(&block, 0, WaitKind::Other).unwrap();
            vec![file_name(newest), "format 0x6".into()]
        });
    });
}

/// Changes a page of a file, and its checksum if it is to be sound.
fn change_page(path: &Path, number: u64, sound: bool, change: impl FnOnce(&mut PageBytes)) {
    let file = open_file(path);
    let mut buffer = AlignedBuffer::new(PAGE_SIZE).unwrap();
    file.read_at(&mut buffer, number * PAGE, WaitKind::Other)
        .unwrap();
    let page: &mut PageBytes = (&mut buffer[..]).try_into().unwrap();
    change(page);
    if sound {
        let lsn = fil::PAGE_LSN.get(page);
        fil::stamp_for_write(page, lsn);
    }
    file.write_at(&buffer, number * PAGE, WaitKind::Other)
        .unwrap();
}

#[test]
fn a_page_that_the_engine_starts_with_is_damaged() {
    under_both_clocks(|directory| {
        for (name, page) in [
            ("ibdata1", 0),
            ("ibdata1", 5),
            ("undo_001", 0),
            ("undo_002", 3),
            ("sbtest/sbtest1.ibd", 0),
            ("sbtest/sbtest1.ibd", 3),
        ] {
            let directory = directory.join(format!("{}{page}", name.replace('/', "_")));
            refused(&directory, &settings(VARIABLES), |directory| {
                let path = directory.join(name);
                change_page(&path, page, false, |bytes| bytes[5000] ^= 1);
                vec![name.into(), format!("page {page}"), "checksum".into()]
            });
        }
    });
}

#[test]
fn a_tablespace_has_another_page_size() {
    under_both_clocks(|directory| {
        refused(directory, &settings(VARIABLES), |directory| {
            let path = directory.join("ibdata1");
            change_page(&path, 0, true, |page| {
                // 4 KiB pages: 3 in bits 6 to 9.
                let flags: u32 = 0x21 | 3 << 6;
                page[FLAGS..FLAGS + 4].copy_from_slice(&flags.to_be_bytes());
            });
            vec!["ibdata1".into(), "another page size".into()]
        });
    });
}

/// Once the file is back everything is there.
#[test]
fn a_missing_redo_file_can_be_put_back() {
    under_both_clocks(|directory| {
        let settings = settings(VARIABLES);
        killed(directory, &settings);
        let files = redo_files(directory);
        let (_, newest) = files.last().unwrap();
        let elsewhere = directory.join("elsewhere");
        FileSystem::new().rename(newest, &elsewhere).unwrap();
        let opened = Engine::open(FileSystem::new(), directory, &settings, STEPPED);
        assert!(opened.is_err());
        FileSystem::new().rename(&elsewhere, newest).unwrap();
        let (engine, report) = open(directory, &settings, STEPPED);
        assert!(report.was_needed());
        let table = engine.table("sbtest/sbtest1").unwrap();
        let mut session = engine.session(0);
        let expected: Vec<_> = (1..=300).map(|id| (id, id * 10 + 15)).collect();
        assert_eq!(all_rows(&mut session, &table), expected);
        session.close().unwrap();
        shut_down(&engine);
    });
}
