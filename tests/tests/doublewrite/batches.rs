//! Batches hold N pages and are written once; the files are divided as the server's are.

use std::path::Path;

use innosim_engine::buffer_pool::{FlushKind, PageSink};
use innosim_engine::metrics::Counter;
use innosim_engine::runtime::files::{FileKind, KindStatistics};
use innosim_engine::sysvar::{DoublewriteMode, FlushMethod};
use innosim_tests::flushing::{World, WorldSettings, virtually};

const DIRECTORY: &str = "/test";

/// What the files of a kind have seen since an earlier look.
fn io(world: &World, kind: FileKind, earlier: Option<&KindStatistics>) -> KindStatistics {
    let mut now = *world.tablespaces.files().statistics().kind(kind);
    if let Some(earlier) = earlier {
        now.writes.count -= earlier.writes.count;
        now.writes.bytes -= earlier.writes.bytes;
        now.syncs.count -= earlier.syncs.count;
    }
    now
}

/// Writes 60 pages as one flush-list batch; returns the I/O of doublewrite and data files.
fn write_60(world: &World) -> [KindStatistics; 2] {
    for number in 0..60 {
        world.modify(number, 7);
    }
    let kinds = [FileKind::Doublewrite, FileKind::Data];
    let before = kinds.map(|kind| io(world, kind, None));
    assert_eq!(world.pool.flush_list_batch(0, 60, u64::MAX), 60);
    world.pool.wait_for_flush(0, FlushKind::List);
    world.doublewrite.wait_for_pending();
    for number in 0..60 {
        assert_eq!(world.version_in_file(number), 7);
    }
    [0, 1].map(|index| io(world, kinds[index], Some(&before[index])))
}

fn settings() -> WorldSettings {
    WorldSettings::new(320, 1, 320)
}

#[test]
fn a_batch_is_one_write_of_n_pages() {
    for pages in [1, 4, 8, 60, 128] {
        virtually(move || {
            let mut settings = settings();
            settings.doublewrite.pages = pages;
            let world = World::create(Path::new(DIRECTORY), &settings);
            let [copies, data] = write_60(&world);
            let batches = 60_u64.div_ceil(pages as u64);
            assert_eq!(copies.writes.count, batches, "{pages} pages");
            assert_eq!(copies.writes.bytes, 60 * 16384);
            assert_eq!(copies.syncs.count, 0, "O_DIRECT leaves it out");
            assert_eq!((data.writes.count, data.writes.bytes), (60, 60 * 16384));
            // Two batches may share a flush.
            assert!((1..=batches).contains(&data.syncs.count), "{data:?}");
            let total = |counter| world.metrics.total(counter);
            assert_eq!(total(Counter::DoublewriteWrites), batches);
            assert_eq!(total(Counter::DoublewritePagesWritten), 60);
            assert_eq!(total(Counter::DoublewriteAsyncRequests), 60);
            assert_eq!(total(Counter::DoublewriteFlushRequests), batches);
            // One batch in flight: all but the first come while another one runs.
            let waits = total(Counter::DoublewriteFlushWaitEvents);
            assert!(waits >= batches.saturating_sub(1), "{waits}");
            world.shut_down();
        });
    }
}

#[test]
fn copies_are_flushed_if_the_settings_say_so() {
    virtually(|| {
        let mut settings = settings();
        settings.doublewrite.sync_copies = true;
        let world = World::create(Path::new(DIRECTORY), &settings);
        let [copies, _] = write_60(&world);
        assert_eq!((copies.writes.count, copies.syncs.count), (8, 8));
        world.shut_down();
    });
}

#[test]
fn without_doublewrite_pages_go_to_their_places_at_once() {
    virtually(|| {
        let mut settings = settings();
        settings.doublewrite.mode = DoublewriteMode::Off;
        let world = World::create(Path::new(DIRECTORY), &settings);
        let [copies, data] = write_60(&world);
        assert_eq!(copies, KindStatistics::default());
        assert_eq!((data.writes.count, data.syncs.count), (60, 1));
        assert_eq!(world.metrics.total(Counter::DoublewriteWrites), 0);
        world.shut_down();
    });
}

#[test]
fn detection_writes_page_numbers_only() {
    virtually(|| {
        let mut settings = settings();
        settings.doublewrite.mode = DoublewriteMode::DetectOnly;
        let world = World::create(Path::new(DIRECTORY), &settings);
        let [copies, data] = write_60(&world);
        assert_eq!((copies.writes.count, copies.writes.bytes), (8, 8 * 8192));
        assert_eq!(data.writes.count, 60);
        assert_eq!(world.metrics.total(Counter::DoublewritePagesWritten), 60);
        world.shut_down();
    });
}

#[test]
fn without_handlers_the_flusher_does_all_writes_itself() {
    virtually(|| {
        let mut settings = settings();
        settings.has_handlers = false;
        let world = World::create(Path::new(DIRECTORY), &settings);
        let [copies, data] = write_60(&world);
        assert_eq!((copies.writes.count, data.writes.count), (8, 60));
        assert_eq!(data.syncs.count, 8, "one after each batch");
        let waits = world.metrics.total(Counter::DoublewriteFlushWaitEvents);
        assert_eq!(waits, 0);
        world.shut_down();
    });
}

#[test]
fn a_thread_without_a_frame_writes_one_page_with_its_own_copy() {
    for (mode, copies_of_page) in [
        (DoublewriteMode::On, 1),
        (DoublewriteMode::DetectOnly, 1),
        (DoublewriteMode::Off, 0),
    ] {
        virtually(move || {
            let mut settings = WorldSettings::new(40, 1, 320);
            settings.doublewrite.mode = mode;
            let world = World::create(Path::new(DIRECTORY), &settings);
            let before = io(&world, FileKind::Doublewrite, None);
            for number in 0..60 {
                world.modify(number, 3);
            }
            let singles = world.pool.statistics(0).single_page_flushes;
            assert_eq!(singles, 20);
            let copies = io(&world, FileKind::Doublewrite, Some(&before));
            assert_eq!(copies.writes.count, copies_of_page * singles);
            assert_eq!(copies.writes.bytes, copies_of_page * singles * 16384);
            let total = |counter| world.metrics.total(counter);
            let requests = total(Counter::DoublewriteSyncRequests);
            assert_eq!(requests, copies_of_page * singles);
            assert_eq!(total(Counter::DoublewriteWrites), 0, "not counted there");
            world.shut_down_with(|| {
                for number in 0..60 {
                    assert_eq!(world.version_in_file(number), 3);
                }
            });
        });
    }
}

#[test]
fn files_have_the_sizes_of_a_default_server() {
    virtually(|| {
        let mut settings = settings();
        settings.doublewrite.pages = 128;
        settings.doublewrite.files = 3;
        drop(World::create(Path::new(DIRECTORY), &settings));
        settings.doublewrite.files = 2;
        let spaces = innosim_tests::flushing::recovered(Path::new(DIRECTORY), FlushMethod::ODirect);
        let world = World::over(Path::new(DIRECTORY), spaces.0, &settings);
        let files = world.tablespaces.files();
        let entries = files.list(DIRECTORY).unwrap();
        let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
        // The third file of the earlier life is gone.
        assert_eq!(names, ["#ib_16384_0.dblwr", "#ib_16384_1.dblwr", "t1.ibd"]);
        let options = innosim_engine::runtime::files::OpenOptions {
            create: innosim_engine::runtime::files::Create::Existing,
            io: innosim_engine::runtime::files::IoMode::Buffered,
            kind: FileKind::Other,
        };
        let length = |name| {
            let file = files.open(Path::new(DIRECTORY).join(name), options);
            file.unwrap().length().unwrap()
        };
        assert_eq!(length("#ib_16384_0.dblwr"), 6_291_456);
        assert_eq!(length("#ib_16384_1.dblwr"), 14_680_064);
        world.shut_down();
    });
}

#[test]
fn files_can_lie_in_a_directory_of_their_own() {
    virtually(|| {
        let mut settings = settings();
        settings.doublewrite.directory = Some("dblwr".into());
        let world = World::create(Path::new(DIRECTORY), &settings);
        let names = |directory: &str| -> Vec<String> {
            let entries = world.tablespaces.files().list(directory).unwrap();
            entries.into_iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(DIRECTORY), ["dblwr", "t1.ibd"]);
        let own = names("/test/dblwr");
        assert_eq!(own, ["#ib_16384_0.dblwr", "#ib_16384_1.dblwr"]);
        world.shut_down();
    });
}
