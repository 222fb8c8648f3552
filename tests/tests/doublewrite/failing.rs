//! Writes that fail: no page is lost, the error is told, and the next flush tries again.

use std::process::Command;

use innosim_engine::buffer_pool::{FlushKind, PageSink};
use innosim_engine::doublewrite::FailedStep;
use innosim_engine::metrics::Counter;
use innosim_engine::sysvar::{DoublewriteMode, FlushMethod};
use innosim_tests::flushing::{World, WorldSettings};

const CHILD: &str = "INNOSIM_TEST_FAILING_WRITES";

/// The limit of file sizes is for all of a process, so each case needs one of its own.
fn in_child(name: &str, body: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        body();
        println!("all was well");
        return;
    }
    let this = std::env::current_exe().unwrap();
    let child = Command::new(this)
        .args(["--exact", &format!("failing::{name}"), "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{output}{errors}");
    assert!(output.contains("all was well"), "{output}");
}

/// Lets writes at this offset and above fail, as on a full device; `None`: none.
fn limit_files(bytes: Option<u64>) {
    let limit = libc::rlimit {
        rlim_cur: bytes.unwrap_or(libc::RLIM_INFINITY),
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: plain system calls on values that live long enough.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
}

fn world(mode: DoublewriteMode, frames: usize) -> (tempfile::TempDir, World) {
    let directory = tempfile::tempdir_in(".").unwrap();
    let path = directory.path().canonicalize().unwrap();
    let mut settings = WorldSettings::new(frames, 1, 320);
    settings.flush_method = FlushMethod::Fsync;
    settings.doublewrite.direct = false;
    settings.doublewrite.mode = mode;
    let world = World::create(&path, &settings);
    (directory, world)
}

fn flush(world: &World) {
    world.pool.flush_list_batch(0, usize::MAX, u64::MAX);
    world.pool.wait_for_flush(0, FlushKind::List);
    world.doublewrite.wait_for_pending();
}

#[test]
fn pages_whose_data_write_fails_stay_dirty() {
    in_child("pages_whose_data_write_fails_stay_dirty", || {
        for mode in [DoublewriteMode::On, DoublewriteMode::Off] {
            let (_directory, world) = world(mode, 320);
            for number in 290..310 {
                world.modify(number, 4);
            }
            // Behind the doublewrite files' 24 pages, before the end of the data file.
            limit_files(Some(300 * 16384));
            flush(&world);
            let statistics = world.pool.statistics(0);
            assert_eq!((statistics.dirty, statistics.pages_written), (10, 10));
            let trouble = world.doublewrite.trouble().expect("there is");
            assert_eq!(trouble.step, FailedStep::DataWrite);
            assert!(trouble.is_out_of_space && !trouble.is_durability_lost());
            assert!(trouble.message.contains("t1.ibd"), "{}", trouble.message);
            assert_eq!(world.doublewrite.failures(), 10);
            // Again and again, with the same result.
            flush(&world);
            assert_eq!(world.doublewrite.failures(), 20);
            assert_eq!(world.pool.statistics(0).dirty, 10);
            assert_eq!(world.pool.flush_all(), 10);

            limit_files(None);
            world.shut_down_with(|| {
                assert_eq!(world.doublewrite.trouble(), None, "it is over");
                for number in 290..310 {
                    assert_eq!(world.version_in_file(number), 4);
                }
            });
        }
    });
}

#[test]
fn pages_whose_copy_cannot_be_written_are_not_written_at_all() {
    in_child(
        "pages_whose_copy_cannot_be_written_are_not_written_at_all",
        || {
            let (_directory, world) = world(DoublewriteMode::On, 320);
            for number in 0..8 {
                world.modify(number, 4);
            }
            // Less than a batch's 8 pages: none of the three segments can be written.
            limit_files(Some(4 * 16384));
            flush(&world);
            assert_eq!(world.pool.statistics(0).dirty, 8);
            assert_eq!(world.version_in_file(0), 0, "though there was room");
            let trouble = world.doublewrite.trouble().expect("there is");
            assert_eq!(trouble.step, FailedStep::CopyWrite);
            assert!(trouble.message.contains(".dblwr"), "{}", trouble.message);
            assert_eq!(world.metrics.total(Counter::DoublewriteWrites), 0);
            // More batches than there are segments: each goes back to its queue.
            for _ in 0..5 {
                flush(&world);
            }
            assert_eq!(world.doublewrite.failures(), 6);
            limit_files(None);
            world.shut_down_with(|| assert_eq!(world.doublewrite.trouble(), None));
        },
    );
}

#[test]
fn a_single_page_that_cannot_be_written_stays_dirty() {
    in_child("a_single_page_that_cannot_be_written_stays_dirty", || {
        let directory = tempfile::tempdir_in(".").unwrap();
        let path = directory.path().canonicalize().unwrap();
        let mut settings = WorldSettings::new(40, 1, 320);
        settings.flush_method = FlushMethod::Fsync;
        settings.doublewrite.direct = false;
        // Long enough for a few rounds.
        settings.pool.free_frame_timeout = 100 * innosim_engine::runtime::time::MILLISECOND;
        let world = World::create(&path, &settings);
        for number in 0..40 {
            world.modify(number, 4);
        }
        limit_files(Some(4 * 16384));
        let error = world
            .try_lock(100, innosim_engine::runtime::LatchMode::S)
            .unwrap_err();
        assert!(error.to_string().contains("40 hold changes"), "{error}");
        assert!(world.doublewrite.failures() > 2);
        assert_eq!(world.pool.statistics(0).dirty, 40);
        limit_files(None);
        world.touch(100);
        world.shut_down_with(|| {
            for number in 0..40 {
                assert_eq!(world.version_in_file(number), 4);
            }
        });
    });
}
