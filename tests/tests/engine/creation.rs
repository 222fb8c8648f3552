//! Creations of a data directory that were interrupted: whoever creates it again begins
//! anew, and nothing is removed that innosim has not made.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

use innosim_engine::engine::{Engine, EngineError, data_directory};
use innosim_engine::runtime::files::{Crash, Create, FileKind, FileSystem, IoMode, OpenOptions};
use innosim_engine::runtime::time::Time;
use innosim_engine::runtime::virtual_clock::Outcome;
use innosim_engine::runtime::{WaitKind, now};
use innosim_engine::sysvar::Flavor;

use crate::world::*;

const MARK: &str = "innosim.creating";

fn exists(path: &Path) -> bool {
    FileSystem::new().exists(path).unwrap()
}

fn write_file(path: &Path, bytes: &[u8]) {
    let options = OpenOptions {
        create: Create::New,
        io: IoMode::Buffered,
        kind: FileKind::Other,
    };
    let file = FileSystem::new().open(path, options).unwrap();
    file.write_at(bytes, 0, WaitKind::Other).unwrap();
}

fn names(directory: &Path) -> Vec<String> {
    let entries = FileSystem::new().list(directory).unwrap();
    entries.into_iter().map(|entry| entry.name).collect()
}

/// Opens what is there or creates it; returns whether it was there.
fn open_or_create(flavor: Flavor, directory: &Path) -> bool {
    let settings = settings_of(flavor, &[]);
    let files = FileSystem::new();
    let was_there = match Engine::open(files.clone(), directory, &settings, STEPPED) {
        Ok((engine, _)) => {
            shut_down(&engine);
            true
        }
        Err(EngineError::NotADataDirectory { what, .. }) => {
            let is_unfinished =
                exists(directory) && data_directory::is_unfinished(&files, directory).unwrap();
            assert_eq!(is_unfinished, what.contains("interrupted"), "{what}");
            let engine = create(directory, &settings, STEPPED);
            sysbench(&engine, 10);
            shut_down(&engine);
            false
        }
        Err(error) => panic!("{error}"),
    };
    assert!(!exists(&directory.join(MARK)));
    let (engine, _) = open(directory, &settings, STEPPED);
    shut_down(&engine);
    was_there
}

#[test]
fn a_creation_cut_off_at_any_time_can_be_begun_anew() {
    let directory = Path::new("data");
    for flavor in [Flavor::MySql8_4, Flavor::MySql5_6] {
        let settings = settings_of(flavor, &[]);
        let create_it = move || {
            let _engine = create(directory, &settings, STEPPED);
        };
        let mut simulation = simulation(5);
        let length: Rc<Cell<Time>> = Rc::default();
        let (first, told) = (create_it.clone(), length.clone());
        simulation
            .run(move || {
                let begin = now();
                first();
                told.set(now() - begin);
            })
            .unwrap();
        const CUTS: u64 = 20;
        let (mut made_anew, mut was_there) = (0, 0);
        for cut in 0..=CUTS {
            let mut simulation = crate::world::simulation(5);
            let at = simulation.now() + length.get() * cut / CUTS + 1;
            let create_it = create_it.clone();
            let outcome = simulation.run_until(at, move || {
                create_it();
                innosim_engine::runtime::sleep(
                    innosim_engine::runtime::time::NEVER,
                    WaitKind::Other,
                );
            });
            assert!(matches!(outcome, Ok(Outcome::PowerCut)));
            let crash = match cut % 3 {
                0 => Crash::ProcessKill,
                _ => Crash::PowerLoss,
            };
            simulation.resolve_crash(crash).unwrap();
            let opened = simulation.run(move || open_or_create(flavor, directory));
            match opened.unwrap() {
                true => was_there += 1,
                false => made_anew += 1,
            }
        }
        assert!(
            made_anew > CUTS / 2 && was_there > 0,
            "{made_anew} {was_there}"
        );
    }
}

#[test]
fn only_files_of_a_creation_are_removed() {
    under_both_clocks(|directory| {
        let (settings, files) = (settings(&[]), FileSystem::new());
        shut_down(&create(directory, &settings, STEPPED));
        // As if the last step had been missing.
        files.remove(directory.join("innosim.dictionary")).unwrap();
        write_file(&directory.join("innosim.dictionary.new"), b"# innosim");
        write_file(&directory.join("#innodb_redo/#ib_redo1_tmp"), b"x");
        let without_mark = Engine::create(files.clone(), directory, &settings, STEPPED);
        assert!(matches!(
            without_mark.map(|_| ()),
            Err(EngineError::NotEmpty { .. })
        ));
        write_file(&directory.join(MARK), b"");
        for name in ["notes.txt", "ibdata1.old", "undo_1", "#innodb_redo/notes"] {
            let theirs = directory.join(name);
            write_file(&theirs, b"somebody's");
            let before = (names(directory), names(&directory.join("#innodb_redo")));
            let again = Engine::create(files.clone(), directory, &settings, STEPPED);
            let message = again.map(|_| ()).unwrap_err().to_string();
            assert!(message.contains("was interrupted"), "{message}");
            assert!(message.contains(name), "{message}");
            assert!(message.contains("move it away"), "{message}");
            let after = (names(directory), names(&directory.join("#innodb_redo")));
            assert_eq!(before, after);
            files.remove(theirs).unwrap();
        }
        assert!(!open_or_create(Flavor::MySql8_4, directory));
        // The mark alone does not make a finished directory an unfinished one.
        write_file(&directory.join(MARK), b"");
        let again = Engine::create(files, directory, &settings, STEPPED);
        assert!(matches!(
            again.map(|_| ()),
            Err(EngineError::NotEmpty { .. })
        ));
        assert!(open_or_create(Flavor::MySql8_4, directory));
    });
}
