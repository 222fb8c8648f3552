//! Tablespaces: created, opened, damaged, extended, flushed.

use std::path::Path;
use std::sync::Arc;

use innosim_engine::page::{
    NoLog, PAGE_SIZE, PageBytes, PageId, PageNumber, PageType, PageWriter, SpaceId, fil,
    space_header,
};
use innosim_engine::runtime::files::{
    AlignedBuffer, Create, FileKind, FileSystem, IoMode, OpenOptions,
};
use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_engine::runtime::{self, WaitKind, spawn};
use innosim_engine::sysvar::FlushMethod;
use innosim_engine::tablespace::{TablespaceError, Tablespaces, offset};
use innosim_tests::disk::solid_state_disk;

const FLAGS: u32 = space_header::FLAGS_DYNAMIC_CRC32;

fn virtually<T: 'static>(main: impl FnOnce() -> T + 'static) -> T {
    let options = SimulationOptions {
        disks: vec![("disk".to_owned(), solid_state_disk())],
        ..SimulationOptions::new(CpuProfile::uniform(4), 1)
    };
    let mut simulation = Simulation::new(&options).unwrap();
    simulation.run(main).expect("nobody waits for ever")
}

fn tablespaces(method: FlushMethod) -> Tablespaces {
    let files = FileSystem::new();
    files.create_directory("/db").unwrap();
    Tablespaces::new(files, method, true)
}

/// A header page of a tablespace, stamped; `change` comes before the stamp.
fn header(space: u32, change: impl FnOnce(&mut PageWriter<'_, NoLog>)) -> Box<PageBytes> {
    let mut page = Box::new([0; PAGE_SIZE]);
    let mut log = NoLog;
    let mut writer = PageWriter::new(&mut page, &mut log);
    writer.initialise_page(PageId::new(space, 0), PageType::SpaceHeader);
    writer.set(space_header::SPACE_ID, SpaceId(space));
    writer.set(space_header::FLAGS, FLAGS);
    writer.set(space_header::SIZE, 4);
    change(&mut writer);
    drop(writer);
    fil::stamp_for_write(&mut page, 77);
    page
}

fn write_file(files: &FileSystem, path: &str, first: &PageBytes, pages: u64) {
    let options = OpenOptions {
        create: Create::OrTruncate,
        io: IoMode::Buffered,
        kind: FileKind::Data,
    };
    let file = files.open(path, options).unwrap();
    file.write_at(first, 0, WaitKind::Other).unwrap();
    let length = pages * PAGE_SIZE as u64;
    file.extend(length, WaitKind::Other).unwrap();
    file.sync(false, WaitKind::Other).unwrap();
}

#[test]
fn what_was_created_can_be_opened_again() {
    virtually(|| {
        let tablespaces = tablespaces(FlushMethod::ODirect);
        let path = Path::new("/db/t1.ibd");
        let created = tablespaces
            .create(SpaceId(9), "db/t1", path, FLAGS, 4)
            .unwrap();
        assert_eq!((created.id(), created.size()), (SpaceId(9), 4));
        let image = tablespaces.files().image(&header(9, |_| ()));
        created
            .file()
            .write_image(&image, 0, WaitKind::Other)
            .unwrap();
        created.note_write();
        drop(created);
        tablespaces.close_all().unwrap();
        assert!(tablespaces.is_empty() && tablespaces.get(SpaceId(9)).is_none());

        let opened = tablespaces.open("db/t1", path).unwrap();
        assert_eq!(opened.id(), SpaceId(9));
        assert_eq!((opened.name(), opened.size()), ("db/t1", 4));
        let mut buffer = AlignedBuffer::new(PAGE_SIZE).unwrap();
        let frame: &mut PageBytes = (&mut buffer[..]).try_into().unwrap();
        opened.read_page(PageNumber(0), frame).unwrap();
        assert_eq!(fil::page_id(frame), PageId::new(9, 0));
        opened.read_page(PageNumber(3), frame).unwrap();
        assert!(fil::is_all_zero(frame));
        assert!(matches!(
            opened.read_page(PageNumber(4), frame),
            Err(TablespaceError::BeyondEnd { pages: 4, .. })
        ));
        opened.extend(70).unwrap();
        opened.read_page(PageNumber(69), frame).unwrap();
        opened.extend(5).unwrap();
        assert_eq!(opened.size(), 70, "a file does not shrink");
    });
}

#[test]
fn an_id_is_open_once_and_a_file_is_created_once() {
    virtually(|| {
        let tablespaces = tablespaces(FlushMethod::ODirect);
        let create = |space, path: &str| {
            let path = Path::new(path);
            tablespaces.create(SpaceId(space), "db/t", path, FLAGS, 1)
        };
        create(3, "/db/t3.ibd").unwrap();
        create(2, "/db/t2.ibd").unwrap();
        let error = create(3, "/db/other.ibd").unwrap_err();
        assert_eq!(
            error.to_string(),
            "tablespace 3 cannot be /db/other.ibd: it is open as /db/t3.ibd"
        );
        let error = create(4, "/db/t3.ibd").unwrap_err();
        assert!(error.to_string().contains("/db/t3.ibd"), "{error}");
        let ids: Vec<_> = tablespaces
            .iter()
            .map(|tablespace| tablespace.id().0)
            .collect();
        assert_eq!(ids, [2, 3], "in order");
        assert!(tablespaces.close(SpaceId(3)));
        assert!(!tablespaces.close(SpaceId(3)));
        assert_eq!(tablespaces.len(), 1);
    });
}

#[test]
fn each_unsuitable_file_is_refused_with_its_reason() {
    virtually(|| {
        let tablespaces = tablespaces(FlushMethod::ODirect);
        let refused = |name: &str, page: &PageBytes| {
            let path = format!("/db/{name}.ibd");
            write_file(tablespaces.files(), &path, page, 4);
            let error = tablespaces.open("db/t", Path::new(&path)).unwrap_err();
            assert!(error.to_string().contains(&path), "{error}");
            error
        };
        let error = refused("empty", &[0; PAGE_SIZE]);
        assert!(matches!(error, TablespaceError::NoHeader { .. }), "{error}");

        let mut page = header(9, |_| ());
        page[5000] ^= 1;
        let error = refused("damaged", &page);
        assert!(error.is_corruption(), "{error}");

        let page = header(9, |writer| writer.set(space_header::SPACE_ID, SpaceId(8)));
        let error = refused("contradiction", &page);
        assert!(
            error.to_string().ends_with("is tablespace 8, expected 9"),
            "{error}"
        );

        let page = header(9, |writer| writer.set(space_header::FLAGS, 0x4021));
        let error = refused("sdi", &page);
        assert!(error.to_string().contains("SDI"), "{error}");

        let page = header(9, |writer| writer.set(space_header::FLAGS, 0x29));
        let error = refused("compressed", &page);
        assert!(error.to_string().contains("0x29"), "{error}");

        // MariaDB's: the checksum is at the very end, over all before it.
        let mut page = header(9, |writer| writer.set(space_header::FLAGS, 0x15));
        let checksum = innosim_engine::page::checksum::full_crc32(&page);
        page[PAGE_SIZE - 4..].copy_from_slice(&checksum.to_be_bytes());
        let error = refused("mariadb", &page);
        assert!(error.to_string().contains("full_crc32"), "{error}");

        let missing = tablespaces.open("db/t", Path::new("/db/none.ibd"));
        assert!(missing.unwrap_err().to_string().contains("/db/none.ibd"));

        // Recovery may have to open a file without a header.
        let path = Path::new("/db/empty.ibd");
        let opened = tablespaces.open_unchecked(SpaceId(6), "db/t", path);
        assert_eq!(opened.unwrap().size(), 4);
        let other = tablespaces.create(SpaceId(7), "db/t", Path::new("/db/7.ibd"), 0x15, 4);
        assert!(matches!(other, Err(TablespaceError::Flags { .. })));
    });
}

fn syncs(tablespaces: &Tablespaces) -> u64 {
    let statistics = tablespaces.files().statistics();
    statistics.kind(FileKind::Data).syncs.count
}

#[test]
fn a_flush_that_would_cover_nothing_new_is_not_made() {
    virtually(|| {
        let tablespaces = tablespaces(FlushMethod::ODirect);
        let make = |space: u32| {
            let path = format!("/db/t{space}.ibd");
            let path = Path::new(&path);
            let created = tablespaces.create(SpaceId(space), "db/t", path, FLAGS, 1);
            created.unwrap()
        };
        let (first, second) = (make(1), make(2));
        let start = syncs(&tablespaces);
        assert_eq!(start, 2, "a new file is flushed");
        tablespaces.flush_unflushed().unwrap();
        first.flush().unwrap();
        assert_eq!(syncs(&tablespaces), start);
        first.note_write();
        first.note_write();
        tablespaces.flush_unflushed().unwrap();
        assert_eq!(syncs(&tablespaces), start + 1, "one file, one flush");
        second.note_write();
        first.flush().unwrap();
        assert_eq!(syncs(&tablespaces), start + 1);
        tablespaces.flush_for_checkpoint().unwrap();
        assert_eq!(syncs(&tablespaces), start + 2);
    });
}

#[test]
fn the_flush_methods_differ() {
    virtually(|| {
        for (method, after_growth, after_write, at_checkpoint) in [
            (FlushMethod::ODirect, 1, 1, 1),
            (FlushMethod::Fsync, 1, 1, 1),
            (FlushMethod::ODirectNoFsync, 1, 0, 0),
            (FlushMethod::Nosync, 1, 1, 0),
        ] {
            let tablespaces = tablespaces(method);
            let path = format!("/db/{method}.ibd");
            let created = tablespaces.create(SpaceId(1), "db/t", Path::new(&path), FLAGS, 1);
            let created = created.unwrap();
            let mut before = 0;
            let mut made = |expected: u64, what| {
                let now = syncs(&tablespaces);
                assert_eq!(now - before, expected, "{method} {what}");
                before = now;
            };
            made(after_growth, "growth");
            created.note_write();
            tablespaces.flush_unflushed().unwrap();
            made(after_write, "write");
            created.note_write();
            tablespaces.flush_for_checkpoint().unwrap();
            made(at_checkpoint, "checkpoint");
        }
    });
}

/// Threads that write a little and want it durable at once. Returns how many flushes were
/// made, and how many were wanted.
fn group_flush(directory: &Path) -> (u64, u64) {
    const THREADS: u64 = 8;
    const WRITES: u64 = 20;
    let files = FileSystem::new();
    files.create_directory(directory).unwrap();
    let tablespaces = Arc::new(Tablespaces::new(files, FlushMethod::ODirect, true));
    let path = directory.join("t1.ibd");
    let created = tablespaces
        .create(SpaceId(1), "db/t1", &path, FLAGS, THREADS as u32)
        .unwrap();
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let (created, tablespaces) = (created.clone(), tablespaces.clone());
            spawn("writer", move || {
                let mut stream = runtime::stream(&format!("writer {number}"));
                let image = tablespaces.files().image(&[number as u8; PAGE_SIZE]);
                for _ in 0..WRITES {
                    let place = offset(number as u32);
                    created
                        .file()
                        .write_image(&image, place, WaitKind::Other)
                        .unwrap();
                    created.note_write();
                    match stream.below(2) {
                        0 => created.flush().unwrap(),
                        _ => tablespaces.flush_unflushed().unwrap(),
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join();
    }
    let made = syncs(&tablespaces);
    tablespaces.flush_unflushed().unwrap();
    assert_eq!(syncs(&tablespaces), made, "nothing is left to flush");
    (made, THREADS * WRITES)
}

#[test]
fn one_flush_serves_many_under_the_virtual_clock() {
    let (made, wanted) = virtually(|| group_flush(Path::new("/db")));
    assert!(made < wanted, "{made} flushes for {wanted} writes");
}

#[test]
fn one_flush_serves_many_with_real_threads() {
    let directory = tempfile::tempdir().unwrap();
    let (made, wanted) = group_flush(directory.path());
    assert!(made <= wanted + 1, "{made} flushes for {wanted} writes");
}
