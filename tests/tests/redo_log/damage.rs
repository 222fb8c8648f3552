//! Logs that cannot be recovered from, and what is said about them.

use std::path::Path;

use innosim_engine::page::PageType;
use innosim_engine::page::SpaceId;
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::redo_log::{
    FileLayout, FileOperation, MiniTransactionContext, PoolSource, RedoLogError, RedoSettings,
    block,
};
use innosim_engine::runtime::files::{Create, FileKind, FileSystem, IoMode, OpenOptions};
use innosim_engine::runtime::{LatchMode, WaitKind};

use super::model::recover;
use super::support::{SPACE, as_5_7, create, page, threads, under_both_clocks};

/// Three mini-transactions in pages 1 to 3, each a block and more; returns where each
/// ends.
fn three_changes(sandbox: &Sandbox) -> [u64; 3] {
    let mut context = MiniTransactionContext::new(0);
    [1, 2, 3].map(|number| {
        let mut mtr = sandbox.pages.begin(&mut context);
        let handle = mtr.fix_new(page(number)).unwrap();
        let mut writer = mtr.writer(handle);
        writer.initialise_page(page(number), PageType::UndoLog);
        writer.write(100, &[number as u8; 700]);
        drop(writer);
        let end = mtr.commit();
        sandbox.pages.log.flush_up_to(end);
        end
    })
}

fn is_made(sandbox: &Sandbox, number: u32) -> bool {
    let mut context = MiniTransactionContext::new(0);
    let mut mtr = sandbox.pages.begin(&mut context);
    let handle = mtr.fix(page(number), LatchMode::S).unwrap();
    let byte = mtr.page(handle)[799];
    mtr.commit();
    assert!(byte == 0 || byte == number as u8);
    byte != 0
}

/// Flips a bit of a file.
fn damage(path: &Path, offset: u64) {
    let options = OpenOptions {
        create: Create::Existing,
        io: IoMode::Buffered,
        kind: FileKind::Other,
    };
    let file = FileSystem::new().open(path, options).unwrap();
    let mut byte = [0];
    file.read_at(&mut byte, offset, WaitKind::Other).unwrap();
    file.write_at(&[byte[0] ^ 0x10], offset, WaitKind::Other)
        .unwrap();
    file.sync(false, WaitKind::Other).unwrap();
}

/// Where an LSN of the first file is in it.
fn offset_of(lsn: u64) -> u64 {
    2048 + lsn - 8192
}

fn first_file(directory: &Path, settings: &RedoSettings) -> std::path::PathBuf {
    match settings.layout {
        FileLayout::Numbered { .. } => directory.join("#innodb_redo/#ib_redo0"),
        FileLayout::Ring { .. } => directory.join("ib_logfile0"),
    }
}

#[test]
fn a_log_ends_at_its_last_good_group() {
    under_both_clocks(|directory| {
        // Padding of first writes would clear the blocks that follow.
        let unpadded = RedoSettings {
            write_ahead_size: 512,
            ..threads()
        };
        for (name, settings) in [("8.4", threads()), ("5.7", as_5_7()), ("512", unpadded)] {
            let directory = directory.join(name);
            let ends = three_changes(&create(&directory, &settings, 100, 64));
            // In the second block of the second group.
            damage(&first_file(&directory, &settings), offset_of(ends[1] - 10));
            let (sandbox, report) = recover(&directory, &settings, 100).unwrap();
            assert_eq!((report.end_lsn, report.groups), (ends[0], 1), "{name}");
            assert_eq!((report.pages, report.pages_made), (1, 1));
            assert!(report.torn_bytes > 0);
            let hole = Some(block::block_start(ends[1] - 10));
            assert_eq!(report.hole_lsn, hole, "{name}");
            assert_eq!(report.lost_bytes, ends[2] - ends[0], "{name}");
            assert!(is_made(&sandbox, 1) && !is_made(&sandbox, 2) && !is_made(&sandbox, 3));
            // It goes on there: what was behind the end does not come back, though the
            // new group ends where a good block of the third group followed.
            let sn = |lsn| block::sn_of(lsn);
            let rest_of_group = sn(ends[1]) - sn(ends[0]) - 700;
            let damaged = block::block_start(ends[1] - 10);
            let new_end = damaged + 512 + 12;
            assert!(ends[2] > new_end);
            let length = (sn(new_end) - sn(ends[0]) - rest_of_group) as usize;
            let mut context = MiniTransactionContext::new(0);
            let mut mtr = sandbox.pages.begin(&mut context);
            let handle = mtr.fix_new(page(9)).unwrap();
            let mut writer = mtr.writer(handle);
            writer.initialise_page(page(9), PageType::UndoLog);
            writer.write(100, &vec![9; length]);
            drop(writer);
            let end = mtr.commit();
            assert_eq!(end, new_end, "{name}");
            sandbox.pages.log.flush_up_to(end);
            let (sandbox, report) = recover(&directory, &settings, 100).unwrap();
            assert_eq!((report.end_lsn, report.groups), (end, 2), "{name}");
            assert_eq!(report.torn_bytes, 0, "{name}");
            assert_eq!((report.hole_lsn, report.lost_bytes), (None, 0), "{name}");
            assert!(is_made(&sandbox, 1) && is_made(&sandbox, 9) && !is_made(&sandbox, 3));
        }
    });
}

#[test]
fn nothing_to_do_after_a_checkpoint() {
    under_both_clocks(|directory| {
        let settings = threads();
        let sandbox = create(directory, &settings, 100, 64);
        let pages = &sandbox.pages;
        let source = PoolSource::new(&pages.pool, pages.spaces.clone());
        pages.log.set_source(Some(source));
        let end = three_changes(&sandbox)[2];
        sandbox.flush_all();
        pages.log.step().unwrap();
        let (sandbox, report) = recover(directory, &settings, 100).unwrap();
        assert!(!report.was_needed());
        assert_eq!((report.checkpoint_lsn, report.end_lsn), (end, end));
        assert!(is_made(&sandbox, 3));
    });
}

#[test]
fn one_damaged_checkpoint_is_survived_and_two_are_not() {
    under_both_clocks(|directory| {
        for (name, settings) in [("8.4", threads()), ("5.7", as_5_7())] {
            let directory = directory.join(name);
            let sandbox = create(&directory, &settings, 100, 64);
            let pages = &sandbox.pages;
            let source = PoolSource::new(&pages.pool, pages.spaces.clone());
            pages.log.set_source(Some(source));
            let ends = three_changes(&sandbox);
            sandbox.flush_all();
            pages.log.step().unwrap();
            let file = first_file(&directory, &settings);
            // The second checkpoint is in the second slot.
            damage(&file, 1536 + 9);
            let (sandbox, report) = recover(&directory, &settings, 100).unwrap();
            assert_eq!((report.checkpoint_lsn, report.end_lsn), (8204, ends[2]));
            assert_eq!(report.groups, 3, "{name}");
            assert!(is_made(&sandbox, 2));
            damage(&file, 512 + 9);
            let error = recover(&directory, &settings, 100).unwrap_err();
            assert!(
                matches!(error, RedoLogError::NoCheckpoint { .. }),
                "{error}"
            );
            let text = error.to_string();
            assert!(text.contains("offset 512: checksum"), "{text}");
            assert!(text.contains("offset 1536: checksum"), "{text}");
        }
    });
}

#[test]
fn a_log_that_ends_before_the_pages_do_is_refused() {
    under_both_clocks(|directory| {
        let settings = threads();
        let sandbox = create(directory, &settings, 100, 64);
        let pages = &sandbox.pages;
        let source = PoolSource::new(&pages.pool, pages.spaces.clone());
        pages.log.set_source(Some(source));
        three_changes(&sandbox);
        sandbox.flush_all();
        pages.log.step().unwrap();
        // After the checkpoint page 1 once more, and into its file.
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = sandbox.pages.begin(&mut context);
        let handle = mtr.fix(page(1), LatchMode::X).unwrap();
        mtr.writer(handle).write(900, &[1; 700]);
        let last = mtr.commit();
        let mut mtr = sandbox.pages.begin(&mut context);
        let handle = mtr.fix(page(1), LatchMode::X).unwrap();
        mtr.writer(handle).write(2000, &[1; 700]);
        let newest = mtr.commit();
        sandbox.flush_all();
        assert!(newest > last + 600);
        damage(&first_file(directory, &settings), offset_of(newest - 520));
        let error = recover(directory, &settings, 100).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&format!("space 5 page 1 has LSN {newest}")),
            "{text}"
        );
        assert!(text.contains("or their end was lost"), "{text}");
    });
}

#[test]
fn a_checkpoint_behind_the_end_of_the_log_is_refused() {
    under_both_clocks(|directory| {
        let settings = threads();
        let sandbox = create(directory, &settings, 100, 64);
        let pages = &sandbox.pages;
        let source = PoolSource::new(&pages.pool, pages.spaces.clone());
        pages.log.set_source(Some(source));
        let ends = three_changes(&sandbox);
        sandbox.flush_all();
        pages.log.step().unwrap();
        damage(&first_file(directory, &settings), offset_of(ends[2] - 1));
        let error = recover(directory, &settings, 100).unwrap_err();
        assert!(matches!(error, RedoLogError::CutShort { .. }), "{error}");
    });
}

#[test]
fn missing_files_and_foreign_files_are_named() {
    under_both_clocks(|directory| {
        let settings = threads();
        let error = recover(&directory.join("none"), &settings, 100).unwrap_err();
        assert!(error.to_string().contains("no redo files in"), "{error}");
        let path = directory.join("8.4");
        drop(create(&path, &settings, 100, 64));
        let files = FileSystem::new();
        let metrics = std::sync::Arc::new(innosim_engine::metrics::Metrics::new(1));
        let again =
            innosim_engine::redo_log::RedoLog::create(files.clone(), &path, &settings, metrics);
        let error = again.unwrap_err().to_string();
        assert!(error.contains("#ib_redo0 exists"), "{error}");
        damage(&first_file(&path, &settings), 3);
        let error = recover(&path, &settings, 100).unwrap_err().to_string();
        assert!(error.contains("#ib_redo0: the file's header"), "{error}");
        // Half of a ring.
        let path = directory.join("5.7");
        drop(create(&path, &as_5_7(), 100, 64));
        files.remove(path.join("ib_logfile2")).unwrap();
        let error = recover(&path, &as_5_7(), 100).unwrap_err().to_string();
        assert!(error.contains("innodb_log_files_in_group"), "{error}");
    });
}

#[test]
fn redo_of_tablespaces_that_are_not_there() {
    under_both_clocks(|directory| {
        let settings = threads();
        let sandbox = create(directory, &settings, 100, 64);
        let end = three_changes(&sandbox)[2];
        sandbox.create_space(SpaceId(7), 16);
        let mut context = MiniTransactionContext::new(0);
        let id = innosim_engine::page::PageId::new(7, 3);
        let mut mtr = sandbox.pages.begin(&mut context);
        mtr.log_file_operation(&FileOperation::Extend {
            space: SpaceId(SPACE),
            pages: 80,
        });
        let handle = mtr.fix_new(id).unwrap();
        mtr.writer(handle).initialise_page(id, PageType::UndoLog);
        let written = mtr.commit();
        sandbox.pages.log.flush_up_to(written);
        let error = recover(directory, &settings, 100).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("redo at LSN {end} changes space 7 page 3, but tablespace 7 is not open")
        );
        // It was dropped: then it may be missing.
        let mut mtr = sandbox.pages.begin(&mut context);
        mtr.log_file_operation(&FileOperation::Delete { space: SpaceId(7) });
        let dropped = mtr.commit();
        sandbox.pages.log.flush_up_to(dropped);
        let (sandbox, report) = recover(directory, &settings, 100).unwrap();
        assert_eq!(report.end_lsn, dropped);
        assert!(is_made(&sandbox, 3));
        let space = sandbox.pages.spaces.get(SpaceId(SPACE)).unwrap();
        assert_eq!(space.size(), 80, "extended as redo says");
    });
}
