//! Where one redo file ends and the next begins: what a crash may leave there, and what
//! it may not. (What happens to whole data directories is tested with the engine.)

use std::path::{Path, PathBuf};

use innosim_engine::page::{Lsn, PageType};
use innosim_engine::redo_log::block::{sn_of, write_checksum};
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::redo_log::{
    FileLayout, MiniTransactionContext, PoolSource, RedoLogError, RedoSettings,
};
use innosim_engine::runtime::files::{Create, File, FileKind, FileSystem, IoMode, OpenOptions};
use innosim_engine::runtime::{LatchMode, WaitKind};

use super::model::recover;
use super::support::{as_5_7, create, page, threads, under_both_clocks};

const HEADER: u64 = 2048;
const PAGES: u32 = 64;

fn file_size(settings: &RedoSettings) -> u64 {
    match settings.layout {
        FileLayout::Numbered { file_size } | FileLayout::Ring { file_size, .. } => file_size,
    }
}

/// The LSN behind the last block of the first file.
fn first_end(settings: &RedoSettings) -> Lsn {
    8192 + file_size(settings) - HEADER
}

fn redo_file(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("#innodb_redo/#ib_redo{number}"))
}

fn open_file(path: &Path) -> File {
    let options = OpenOptions {
        create: Create::Existing,
        io: IoMode::Buffered,
        kind: FileKind::Other,
    };
    FileSystem::new().open(path, options).unwrap()
}

fn exists(path: &Path) -> bool {
    FileSystem::new().exists(path).unwrap()
}

/// Changes some pages in one mini-transaction: so many bytes in each. Redo is flushed.
fn change(sandbox: &Sandbox, pages: std::ops::Range<u32>, length: usize, value: u8) -> Lsn {
    let mut context = MiniTransactionContext::new(0);
    let mut mtr = sandbox.pages.begin(&mut context);
    for number in pages {
        let handle = mtr.fix_new(page(number)).unwrap();
        let mut writer = mtr.writer(handle);
        writer.initialise_page(page(number), PageType::UndoLog);
        writer.write(100, &vec![value; length]);
        drop(writer);
    }
    let end = mtr.commit();
    sandbox.pages.log.flush_up_to(end);
    end
}

fn value(sandbox: &Sandbox, number: u32) -> u8 {
    let mut context = MiniTransactionContext::new(0);
    let mut mtr = sandbox.pages.begin(&mut context);
    let handle = mtr.fix(page(number), LatchMode::S).unwrap();
    let value = mtr.page(handle)[100];
    mtr.commit();
    value
}

fn set_checkpoints(sandbox: &Sandbox) {
    let pages = &sandbox.pages;
    let source = PoolSource::new(&pages.pool, pages.spaces.clone());
    pages.log.set_source(Some(source));
}

/// Small changes, until the log has filled this much of its first file.
fn fill_to(sandbox: &Sandbox, lsn: Lsn) {
    while sandbox.pages.log.current_lsn() < lsn {
        change(sandbox, 1..2, 1000, 1);
    }
}

/// Fills the first file to its last byte.
fn fill_exactly(sandbox: &Sandbox, settings: &RedoSettings) -> Lsn {
    fill_to(sandbox, first_end(settings) - 20_000);
    let log = &sandbox.pages.log;
    let before = sn_of(log.current_lsn());
    let overhead = sn_of(change(sandbox, 1..2, 1000, 1)) - before - 1000;
    // Behind the header of the first block of the next file.
    let wanted = first_end(settings) + 12;
    while sn_of(wanted) - sn_of(log.current_lsn()) > 4000 {
        change(sandbox, 1..2, 1000, 1);
    }
    let rest = sn_of(wanted) - sn_of(log.current_lsn()) - overhead;
    let end = change(sandbox, 1..2, rest as usize, 1);
    assert_eq!(end, wanted);
    end
}

#[test]
fn a_group_that_is_torn_behind_the_end_of_a_file_goes_with_the_file() {
    under_both_clocks(|directory| {
        let settings = threads();
        let sandbox = create(directory, &settings, 100, PAGES);
        fill_to(&sandbox, first_end(&settings) - 10_000);
        let whole = sandbox.pages.log.current_lsn();
        let torn = change(&sandbox, 2..20, 4000, 7);
        assert!(torn > first_end(&settings) + 10_000);
        drop(sandbox);
        let second = redo_file(directory, 1);
        open_file(&second)
            .write_at(&[0; 512], HEADER + 512, WaitKind::Other)
            .unwrap();
        // A second crash right after the first recovery finds the same.
        for round in 0..2 {
            let (sandbox, report) = recover(directory, &settings, 100).unwrap();
            assert_eq!(report.end_lsn, whole, "round {round}");
            assert_eq!((value(&sandbox, 1), value(&sandbox, 3)), (1, 0));
            assert!(!exists(&second));
        }
        // And it goes on, with a file of the same number.
        let (sandbox, _) = recover(directory, &settings, 100).unwrap();
        let end = change(&sandbox, 2..20, 4000, 8);
        assert!(exists(&second));
        drop(sandbox);
        let (sandbox, report) = recover(directory, &settings, 100).unwrap();
        assert_eq!(report.end_lsn, end);
        assert_eq!(value(&sandbox, 3), 8);
        drop(sandbox);
        FileSystem::new().remove(&second).unwrap();
        let error = recover(directory, &settings, 100).unwrap_err();
        assert!(matches!(error, RedoLogError::FileMissing { .. }), "{error}");
    });
}

/// A crash between the file's name and its first block, or before that between the name
/// and the mark in the file before.
#[test]
fn a_file_that_was_made_and_not_begun_is_used() {
    under_both_clocks(|directory| {
        let settings = threads();
        for is_marked in [false, true] {
            let directory = directory.join(format!("{is_marked}"));
            let sandbox = create(&directory, &settings, 100, PAGES);
            let whole = fill_exactly(&sandbox, &settings);
            change(&sandbox, 2..3, 100, 7);
            drop(sandbox);
            let (first, second) = (redo_file(&directory, 0), redo_file(&directory, 1));
            let blocks = vec![0; (file_size(&settings) - HEADER) as usize];
            open_file(&second)
                .write_at(&blocks, HEADER, WaitKind::Other)
                .unwrap();
            let mut header = [0; 512];
            let file = open_file(&first);
            file.read_at(&mut header, 0, WaitKind::Other).unwrap();
            assert_eq!(header[48..52], [0, 0, 0, 8]);
            if !is_marked {
                header[51] = 0;
                write_checksum(&mut header);
                file.write_at(&header, 0, WaitKind::Other).unwrap();
            }
            for _ in 0..2 {
                let (sandbox, report) = recover(&directory, &settings, 100).unwrap();
                assert_eq!(report.end_lsn, whole);
                assert_eq!((value(&sandbox, 1), value(&sandbox, 2)), (1, 0));
            }
            let (sandbox, _) = recover(&directory, &settings, 100).unwrap();
            let end = change(&sandbox, 2..3, 100, 8);
            drop(sandbox);
            let (sandbox, report) = recover(&directory, &settings, 100).unwrap();
            assert_eq!((report.end_lsn, value(&sandbox, 2)), (end, 8));
            drop(sandbox);
            FileSystem::new().remove(&second).unwrap();
            let error = recover(&directory, &settings, 100).unwrap_err();
            assert!(matches!(error, RedoLogError::FileMissing { .. }), "{error}");
        }
    });
}

#[test]
fn a_log_that_ends_with_its_file_has_a_checkpoint_there() {
    under_both_clocks(|directory| {
        for (name, settings) in [("8.4", threads()), ("5.7", as_5_7())] {
            for with_checkpoint in [false, true] {
                let directory = directory.join(format!("{name}{with_checkpoint}"));
                let sandbox = create(&directory, &settings, 100, PAGES);
                set_checkpoints(&sandbox);
                let end = fill_exactly(&sandbox, &settings);
                if with_checkpoint {
                    sandbox.flush_all();
                    sandbox.pages.log.step().unwrap();
                }
                drop(sandbox);
                for _ in 0..2 {
                    let (_, report) = recover(&directory, &settings, 100).unwrap();
                    assert_eq!(report.end_lsn, end);
                    assert_eq!(report.checkpoint_lsn == end, with_checkpoint, "{name}");
                }
                let (sandbox, _) = recover(&directory, &settings, 100).unwrap();
                let end = change(&sandbox, 2..3, 100, 8);
                drop(sandbox);
                let (sandbox, report) = recover(&directory, &settings, 100).unwrap();
                assert_eq!((report.end_lsn, value(&sandbox, 2)), (end, 8), "{name}");
            }
        }
    });
}

#[test]
fn a_file_of_a_ring_that_was_cut_short_is_named() {
    under_both_clocks(|directory| {
        let settings = as_5_7();
        drop(create(directory, &settings, 100, PAGES));
        let path = directory.join("ib_logfile1");
        for length in [500_000, 1000, 0] {
            open_file(&path).set_length(length).unwrap();
            let error = recover(directory, &settings, 100).unwrap_err().to_string();
            assert!(error.contains("ib_logfile1"), "{error}");
            let lengths = format!("{length} bytes, {} expected", file_size(&settings));
            assert!(error.contains(&lengths), "{error}");
        }
    });
}
