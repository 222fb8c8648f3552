//! A cleaner on a device that is full: it tries again, not all the time, and loses nothing.

use std::process::Command;

use innosim_engine::page_cleaner::{CleanerSettings, PolicySettings, RedoAges};
use innosim_engine::runtime::time::{MILLISECOND, SECOND};
use innosim_engine::sysvar::FlushMethod;
use innosim_tests::flushing::{World, WorldSettings, pause};

const CHILD: &str = "INNOSIM_TEST_CLEANER_ON_FULL_DEVICE";
const NAME: &str = "failing::sync_rounds_slow_down_while_writes_fail";

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

#[test]
fn sync_rounds_slow_down_while_writes_fail() {
    if std::env::var_os(CHILD).is_some() {
        return on_a_full_device();
    }
    // The limit is for all of a process, so that it needs one of its own.
    let this = std::env::current_exe().unwrap();
    let child = Command::new(this)
        .args(["--exact", NAME, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{output}{errors}");
    assert!(output.contains("all was well"), "{output}");
}

fn on_a_full_device() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let path = directory.path().canonicalize().unwrap();
    let mut settings = WorldSettings::new(320, 1, 320);
    settings.flush_method = FlushMethod::Fsync;
    settings.doublewrite.direct = false;
    settings.ages = RedoAges {
        capacity: 2000,
        async_age: 1000,
        sync_age: 500,
    };
    let world = World::create(&path, &settings);
    for number in 0..50 {
        world.modify(number, 1);
    }
    limit_files(Some(8 * 4096));
    let cleaner = world.cleaner(CleanerSettings {
        policy: PolicySettings {
            io_capacity: 100,
            io_capacity_max: 200,
            ..PolicySettings::new()
        },
        ..CleanerSettings::new(1)
    });
    cleaner.start();
    pause(2 * SECOND + 500 * MILLISECOND);
    let figures = cleaner.figures();
    assert!((1..=4).contains(&figures.sync_rounds), "{figures:?}");
    assert!(world.doublewrite.trouble().is_some());
    assert!(world.age() > 500);
    limit_files(None);
    pause(2 * SECOND);
    assert!(world.age() <= 500);
    assert_eq!(world.doublewrite.trouble(), None);
    cleaner.stop();
    world.shut_down_with(|| {
        for number in 0..50 {
            assert_eq!(world.version_in_file(number), 1);
        }
    });
    println!("all was well");
}
