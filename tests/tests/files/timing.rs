//! How long requests take under the virtual clock, to the picosecond.
//!
//! The disk of these tests: a command 1 µs, a transfer 1 µs a KiB, 10 µs of latency, a
//! die's read 50 µs and its program 200 µs, a FLUSH 100 µs.

use innosim_engine::runtime::WaitKind::Other;
use innosim_engine::runtime::files::{
    Create, FileKind, FileSystem, IMAGE_BYTES, IoMode, OpenOptions, Placement,
};
use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::time::{MICROSECOND, Time};
use innosim_engine::runtime::virtual_clock::disk::{CacheProtection, DiskCounters};
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_engine::runtime::{WaitKind, now, sleep, spawn};

use crate::{PAGE, buffered, direct, machine, options_with, page, solid_state};

fn took(work: impl FnOnce()) -> Time {
    let start = now();
    work();
    now() - start
}

/// Runs a program on the disk and returns its counters.
fn counters(cache: CacheProtection, program: impl FnOnce() + 'static) -> DiskCounters {
    let mut simulation = machine(cache);
    simulation.run(program).unwrap();
    simulation.disk_counters(0).unwrap()
}

#[test]
fn a_direct_write_is_one_request_of_its_whole_length() {
    let counters = counters(CacheProtection::Protected, || {
        let files = FileSystem::new();
        let file = files.open("t1.ibd", direct(Create::New)).unwrap();
        let images: Vec<_> = (0..8).map(|n| page(&files, n, 1)).collect();
        let one = took(|| file.write_image(&images[0], 0, Other).unwrap());
        assert_eq!(one, 27 * MICROSECOND);
        let eight = took(|| file.write_images(&images, 0, Other).unwrap());
        assert_eq!(eight, (1 + 128 + 10) * MICROSECOND);
        let bytes = vec![1; 512];
        let sector = took(|| file.write_at(&bytes, 0, Other).unwrap());
        assert_eq!(sector, (1 + 10) * MICROSECOND + MICROSECOND / 2);
        let data = *files.statistics().kind(FileKind::Data);
        assert_eq!((data.writes.count, data.writes.bytes), (3, 9 * PAGE + 512));
        assert_eq!(data.writes.time, one + eight + sector);
    });
    assert_eq!(
        (counters.write.completed, counters.write.bytes),
        (3, 9 * PAGE + 512)
    );
    assert_eq!(counters.read.completed, 0);
}

#[test]
fn a_read_waits_for_the_die_and_a_file_in_pieces_takes_a_request_for_each() {
    let counters = counters(CacheProtection::Protected, || {
        let (a, b) = (
            crate::open("a", direct(Create::New)),
            crate::open("b", direct(Create::New)),
        );
        // They grow in turn, 1 MiB a time, so that each lies in two pieces.
        for mib in [1, 2] {
            a.set_length(mib << 20).unwrap();
            b.set_length(mib << 20).unwrap();
        }
        let mut bytes = vec![0; IMAGE_BYTES];
        let time = took(|| a.read_at(&mut bytes, 0, Other).unwrap());
        assert_eq!(time, (1 + 50 + 16 + 10) * MICROSECOND);
        let mut bytes = vec![0; 2 * IMAGE_BYTES];
        a.read_at(&mut bytes, (1 << 20) - PAGE, Other).unwrap();
    });
    assert_eq!(counters.read.completed, 3);
}

#[test]
fn a_buffered_write_takes_a_copy_and_its_sync_the_device() {
    let cpu = CpuProfile {
        io_call_us: 2.0,
        page_copy_us: 4.0,
        ..CpuProfile::uniform(2)
    };
    let disks = options_with(&[solid_state(CacheProtection::Protected, 512)], 1).disks;
    let options = SimulationOptions {
        disks,
        ..SimulationOptions::new(cpu, 1)
    };
    let mut simulation = Simulation::new(&options).unwrap();
    simulation
        .run(|| {
            let file = crate::open("redo", buffered(Create::New));
            let block = vec![1; 4096];
            for number in 0..32 {
                let time = took(|| file.write_at(&block, number * 4096, Other).unwrap());
                assert_eq!(time, 3 * MICROSECOND);
            }
            // 128 KiB in one request, then the FLUSH.
            let time = took(|| file.sync(true, Other).unwrap());
            assert_eq!(time, (2 + (1 + 128 + 10) + (1 + 100 + 10)) * MICROSECOND);
            // Cached: a system call and a copy.
            let mut bytes = vec![0; IMAGE_BYTES];
            let time = took(|| file.read_at(&mut bytes, 0, Other).unwrap());
            assert_eq!(time, 6 * MICROSECOND);
            assert!(bytes.iter().all(|&byte| byte == 1));
            // Nothing is dirty: only the FLUSH.
            let time = took(|| file.sync(true, Other).unwrap());
            assert_eq!(time, (2 + (1 + 100 + 10)) * MICROSECOND);
        })
        .unwrap();
    let counters = simulation.disk_counters(0).unwrap();
    assert_eq!(
        (counters.write.completed, counters.write.bytes),
        (1, 128 << 10)
    );
    assert_eq!((counters.read.completed, counters.flush.completed), (0, 2));
}

#[test]
fn a_small_redo_write_costs_a_block_of_4_kib_and_nothing_is_read_back() {
    let counters = counters(CacheProtection::Protected, || {
        let file = crate::open("redo", buffered(Create::New));
        file.extend(64 << 10, Other).unwrap();
        file.sync(true, Other).unwrap();
        for block in 0..10 {
            file.write_at(&[1; 512], block * 512, Other).unwrap();
            file.sync(true, Other).unwrap();
        }
    });
    assert_eq!(counters.write.completed, 11);
    assert_eq!(counters.write.bytes, (64 << 10) + 10 * 4096);
    assert_eq!(counters.read.completed, 0);
}

#[test]
fn what_is_not_cached_is_read_before_a_part_of_it_is_written() {
    let mut simulation = machine(CacheProtection::Protected);
    simulation
        .run(|| {
            let file = crate::open("redo", buffered(Create::New));
            file.write_at(&vec![1; 4 * IMAGE_BYTES], 0, Other).unwrap();
            file.sync(true, Other).unwrap();
        })
        .unwrap();
    // The machine restarts: its page cache is empty.
    let crash = innosim_engine::runtime::files::Crash::PowerLoss;
    simulation.resolve_crash(crash).unwrap();
    simulation
        .run(|| {
            let file = crate::open("redo", buffered(Create::Existing));
            // Whole blocks of 4 KiB need no reading, parts do, and once.
            file.write_at(&[2; 4096], 4096, Other).unwrap();
            file.write_at(&[2; 512], 8192, Other).unwrap();
            file.write_at(&[2; 512], 8704, Other).unwrap();
            let mut bytes = vec![0; 2 * IMAGE_BYTES];
            file.read_at(&mut bytes, 0, Other).unwrap();
            assert!(bytes[..4096].iter().all(|&byte| byte == 1));
            assert!(bytes[4096..9216].iter().all(|&byte| byte == 2));
            assert!(bytes[9216..].iter().all(|&byte| byte == 1));
        })
        .unwrap();
    let read = simulation.disk_counters(0).unwrap().read;
    // Block 2 for the write; blocks 0 and 3 to 7 for the read, in two runs.
    assert_eq!((read.completed, read.bytes), (3, 4096 + 4096 + 5 * 4096));
}

#[test]
fn o_sync_writes_through_with_every_write() {
    let options = OpenOptions {
        create: Create::New,
        io: IoMode::BufferedSync,
        kind: FileKind::Log,
    };
    let counters = counters(CacheProtection::Volatile, move || {
        let file = crate::open("redo", options);
        for block in 0..5 {
            file.write_at(&[1; 512], block * 512, Other).unwrap();
        }
    });
    assert_eq!((counters.write.completed, counters.flush.completed), (5, 5));
}

#[test]
fn the_sync_of_a_volatile_device_waits_for_earlier_writes_of_all_files() {
    let time_of_sync = |cache| {
        machine(cache)
            .run(|| {
                let files = FileSystem::new();
                let (a, b) = (
                    files.open("a", direct(Create::New)).unwrap(),
                    files.open("b", direct(Create::New)).unwrap(),
                );
                let images: Vec<_> = (0..40).map(|n| page(&files, n, 1)).collect();
                a.write_images(&images, 0, Other).unwrap();
                took(|| b.sync(true, Other).unwrap())
            })
            .unwrap()
    };
    let protected = time_of_sync(CacheProtection::Protected);
    assert_eq!(protected, (1 + 100 + 10) * MICROSECOND);
    // 40 programs on 4 dies, of which some ran during the transfer of 640 µs.
    let volatile = time_of_sync(CacheProtection::Volatile);
    assert!(volatile > protected + 1000 * MICROSECOND, "{volatile}");
}

#[test]
fn a_second_sync_waits_for_the_write_back_that_the_first_has_begun() {
    machine(CacheProtection::Protected)
        .run(|| {
            let file = crate::open("redo", buffered(Create::New));
            file.write_at(&vec![1; 1 << 20], 0, Other).unwrap();
            let first = {
                let file = file.clone();
                spawn("first", move || {
                    file.sync(true, Other).unwrap();
                    now()
                })
            };
            sleep(50 * MICROSECOND, Other);
            file.sync(true, Other).unwrap();
            let second = now();
            // 1 MiB takes 1.024 ms to get to the device.
            assert!(second > 1024 * MICROSECOND, "{second}");
            assert!(second >= first.join());
        })
        .unwrap();
}

#[test]
fn files_without_a_device_take_no_time_and_are_read_and_written_all_the_same() {
    let mut simulation = Simulation::new(&options_with(&[], 1)).unwrap();
    simulation
        .run(|| {
            let files = FileSystem::new();
            let file = files.open("t1.ibd", direct(Create::New)).unwrap();
            file.write_image(&page(&files, 1, 2), PAGE, Other).unwrap();
            file.sync(true, Other).unwrap();
            let mut bytes = vec![0; 2 * IMAGE_BYTES];
            file.read_at(&mut bytes, 0, Other).unwrap();
            assert_eq!((bytes[0], bytes[IMAGE_BYTES + 9]), (0, 2));
            assert_eq!(now(), 0);
        })
        .unwrap();
}

#[test]
fn kinds_of_files_go_to_their_devices_and_waits_to_their_row_of_the_budget() {
    let disk = solid_state(CacheProtection::Protected, 512);
    let mut options = options_with(&[disk.clone(), disk], 1);
    options.placement = Placement::default().with(FileKind::Log, 1);
    let mut simulation = Simulation::new(&options).unwrap();
    let reading = simulation
        .run(|| {
            let files = FileSystem::new();
            let data = files.open("t1.ibd", direct(Create::New)).unwrap();
            let redo = files.open("redo", buffered(Create::New)).unwrap();
            data.write_image(&page(&files, 0, 1), 0, Other).unwrap();
            redo.write_at(&[1; 512], 0, WaitKind::LogWrite).unwrap();
            redo.sync(true, WaitKind::LogSync).unwrap();
            let mut bytes = [0; IMAGE_BYTES];
            took(|| data.read_at(&mut bytes, 0, WaitKind::PageRead).unwrap())
        })
        .unwrap();
    let completed = |device| {
        let counters = simulation.disk_counters(device).unwrap();
        [counters.read, counters.write, counters.flush].map(|kind| kind.completed)
    };
    assert_eq!((completed(0), completed(1)), ([1, 1, 0], [0, 1, 1]));
    let budget = &simulation.statistics().ended_time();
    // The die is busy with the page's own program at first.
    assert!(reading > 77 * MICROSECOND);
    assert_eq!(budget[WaitKind::PageRead as usize], reading);
    let sync = (1 + 4 + 10) + (1 + 100 + 10);
    assert_eq!(budget[WaitKind::LogSync as usize], sync * MICROSECOND);
}
