//! What recovery makes of copies and pages, one case after the other.

use std::path::Path;

use innosim_engine::buffer_pool::FlushKind;
use innosim_engine::page::{Lsn, PageCorruption};
use innosim_engine::runtime::WaitKind;
use innosim_engine::runtime::files::{Create, FileKind, FileSystem, IoMode, OpenOptions};
use innosim_engine::sysvar::{DoublewriteMode, FlushMethod};
use innosim_engine::tablespace::offset;
use innosim_tests::flushing::{
    FILE, World, WorldSettings, page, recovered, recovered_behind, version_in_file, virtually,
};

const DIRECTORY: &str = "/test";

fn overwrite(name: &str, at: u64, bytes: &[u8]) {
    let options = OpenOptions {
        create: Create::Existing,
        io: IoMode::Buffered,
        kind: FileKind::Other,
    };
    let path = Path::new(DIRECTORY).join(name);
    let file = FileSystem::new().open(path, options).unwrap();
    file.write_at(bytes, at, WaitKind::Other).unwrap();
    file.sync(false, WaitKind::Other).unwrap();
}

/// Ten pages of version 2, whose copies are in the first slots of the first segments, and
/// whose older copies, of version 1, are behind them.
fn world(mode: DoublewriteMode) {
    let mut settings = WorldSettings::new(320, 1, 320);
    settings.doublewrite.mode = mode;
    settings.doublewrite.pages = 10;
    let world = World::create(Path::new(DIRECTORY), &settings);
    for version in 1..=2 {
        for number in 0..10 {
            world.modify(number, version);
        }
        assert_eq!(world.pool.flush_list_batch(0, 10, u64::MAX), 10);
        world.pool.wait_for_flush(0, FlushKind::List);
    }
    world.shut_down();
}

#[test]
fn each_case_is_treated_as_the_server_does() {
    virtually(|| {
        world(DoublewriteMode::On);
        // The second batch is in the second segment of file 0, at page 10.
        let copies = "#ib_16384_0.dblwr";
        let place = |copy: u32| offset(10 + copy);
        overwrite(FILE, offset(1) + 5000, b"torn");
        overwrite(FILE, offset(2), &[0; 16384]);
        // Page 3 torn, its newest copy, too: the older one is better than nothing.
        overwrite(FILE, offset(3) + 512, &[9; 512]);
        overwrite(copies, place(3) + 512, &[9; 512]);
        // Page 4 torn, and both copies.
        overwrite(FILE, offset(4) + 512, &[9; 512]);
        overwrite(copies, place(4) + 512, &[9; 512]);
        overwrite(copies, offset(4) + 512, &[9; 512]);
        // Page 5 sound, its copy torn: nothing happens.
        overwrite(copies, place(5) + 512, &[9; 512]);
        // Page 6 is another, intact one: misplaced.
        let (spaces, report) = recovered(Path::new(DIRECTORY), FlushMethod::ODirect);
        assert_eq!(report.files, 2);
        assert_eq!((report.copies, report.torn_copies), (16, 4));
        assert_eq!(report.superseded, 7, "older copies of 0, 1, 2, 6 to 9");
        let restored: Vec<_> = report.restored.iter().map(|page| page.page).collect();
        assert_eq!(restored, [page(1), page(2), page(3)]);
        let checksum = report.restored[0].corruption;
        assert!(matches!(checksum, Some(PageCorruption::Checksum { .. })));
        assert_eq!(report.restored[1].corruption, None, "all zeros");
        assert_eq!((report.sound, report.copy_newer), (6, 0));
        let unrepaired: Vec<_> = report.unrepaired.iter().map(|page| page.page).collect();
        assert_eq!(unrepaired, [page(4)]);
        let error = report.check().unwrap_err().to_string();
        assert!(error.contains("t1.ibd: space 5 page 4"), "{error}");
        assert!(error.contains("its copy is torn, too"), "{error}");
        let versions: Vec<_> = (0..10)
            .map(|number| version_in_file(&spaces, number).ok())
            .collect();
        let two = Some(2);
        assert_eq!(
            versions,
            [two, two, two, Some(1), None, two, two, two, two, two]
        );
        spaces.close_all().unwrap();

        // Again: what was repaired is sound now.
        let (spaces, report) = recovered(Path::new(DIRECTORY), FlushMethod::ODirect);
        assert_eq!((report.restored.len(), report.unrepaired.len()), (0, 1));
        assert_eq!(report.sound, 9);
        spaces.close_all().unwrap();
    });
}

#[test]
fn a_page_that_lies_in_anothers_place_is_put_right() {
    virtually(|| {
        world(DoublewriteMode::On);
        let (spaces, _) = recovered(Path::new(DIRECTORY), FlushMethod::ODirect);
        let space = spaces.iter().next().unwrap();
        let mut bytes = vec![0; 16384];
        let file = space.file();
        {
            let mut buffer = innosim_engine::runtime::files::AlignedBuffer::new(16384).unwrap();
            file.read_at(&mut buffer, offset(7), WaitKind::Other)
                .unwrap();
            bytes.copy_from_slice(&buffer);
        }
        spaces.close_all().unwrap();
        overwrite(FILE, offset(6), &bytes);
        let (spaces, report) = recovered(Path::new(DIRECTORY), FlushMethod::ODirect);
        assert_eq!(report.restored.len(), 1);
        assert!(matches!(
            report.restored[0].corruption,
            Some(PageCorruption::Misplaced { .. })
        ));
        assert_eq!(version_in_file(&spaces, 6), Ok(2));
    });
}

#[test]
fn copies_of_no_tablespace_and_of_no_page_are_counted_and_left_alone() {
    virtually(|| {
        world(DoublewriteMode::On);
        let files = FileSystem::new();
        let path = Path::new(DIRECTORY).join(FILE);
        let options = OpenOptions {
            create: Create::Existing,
            io: IoMode::Buffered,
            kind: FileKind::Other,
        };
        // A file that lost its end has pages 0 to 3 and a half.
        let file = files.open(&path, options).unwrap();
        file.set_length(offset(3) + 8192).unwrap();
        let (spaces, report) = recovered(Path::new(DIRECTORY), FlushMethod::ODirect);
        assert_eq!((report.sound, report.beyond_end), (3, 7));
        spaces.close_all().unwrap();

        let spaces = innosim_engine::tablespace::Tablespaces::new(
            FileSystem::new(),
            FlushMethod::ODirect,
            true,
        );
        let report =
            innosim_engine::doublewrite::recover(&files, Path::new(DIRECTORY), &spaces, 0).unwrap();
        assert_eq!(report.unknown_tablespace, 10);
        assert!(report.check().is_ok());
        let nowhere = Path::new("/nowhere");
        let report = innosim_engine::doublewrite::recover(&files, nowhere, &spaces, 0).unwrap();
        assert_eq!(
            report,
            innosim_engine::doublewrite::RecoveryReport::default()
        );
    });
}

/// The write of such a copy was complete, and the page has changed since: redo begins at
/// the checkpoint and cannot bring the copy there.
#[test]
fn copies_older_than_the_checkpoint_repair_nothing() {
    virtually(|| {
        world(DoublewriteMode::On);
        overwrite(FILE, offset(1) + 5000, b"torn");
        overwrite(FILE, offset(2), &[0; 16384]);
        let (_, report) = recovered_behind(Path::new(DIRECTORY), FlushMethod::ODirect, Lsn::MAX);
        assert_eq!(report.restored, []);
        let [unrepaired] = &report.unrepaired[..] else {
            panic!("one page is damaged, not {:?}", report.unrepaired);
        };
        assert_eq!(unrepaired.page, page(1));
        let error = report.check().unwrap_err().to_string();
        assert!(error.contains("older than the checkpoint"), "{error}");
    });
}

#[test]
fn missing_files_and_files_of_odd_lengths_are_no_obstacle() {
    virtually(|| {
        world(DoublewriteMode::On);
        let files = FileSystem::new();
        let of = |name: &str| Path::new(DIRECTORY).join(name);
        files
            .rename(of("#ib_16384_1.dblwr"), of("#ib_16384_3.dblwr"))
            .unwrap();
        let options = OpenOptions {
            create: Create::Existing,
            io: IoMode::Buffered,
            kind: FileKind::Other,
        };
        let file = files.open(of("#ib_16384_0.dblwr"), options).unwrap();
        file.set_length(offset(15) + 100).unwrap();
        overwrite(FILE, offset(2) + 512, &[9; 512]);
        overwrite(FILE, offset(9) + 512, &[9; 512]);
        let (spaces, report) = recovered(Path::new(DIRECTORY), FlushMethod::ODirect);
        assert_eq!(report.missing_files, [1, 2]);
        assert_eq!((report.files, report.copies, report.superseded), (2, 15, 5));
        assert_eq!(report.restored.len(), 2);
        assert_eq!(version_in_file(&spaces, 2), Ok(2));
        // The newest copy of page 9 is gone with the file's end.
        assert_eq!(version_in_file(&spaces, 9), Ok(1));
    });
}

#[test]
fn recorded_numbers_say_which_pages_to_check() {
    virtually(|| {
        world(DoublewriteMode::DetectOnly);
        overwrite(FILE, offset(3) + 512, &[9; 512]);
        overwrite(FILE, offset(200) + 512, &[9; 512]);
        let (spaces, report) = recovered(Path::new(DIRECTORY), FlushMethod::ODirect);
        assert_eq!((report.files, report.detect_entries), (3, 10));
        let unrepaired: Vec<_> = report.unrepaired.iter().map(|page| page.page).collect();
        assert_eq!(unrepaired, [page(3)], "page 200 was not being written");
        let error = report.check().unwrap_err().to_string();
        assert!(error.contains("only its number was recorded"), "{error}");
        spaces.close_all().unwrap();
    });
}
