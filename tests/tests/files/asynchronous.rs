//! Asynchronous page I/O: handlers, segments, full arrays, errors.

use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use innosim_engine::runtime::WaitKind::Other;
use innosim_engine::runtime::files::{
    AsyncIo, Create, FileKind, FileSystem, FrameArena, IMAGE_BYTES, Next, SLOTS_PER_SEGMENT,
};
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, NEVER};
use innosim_engine::runtime::virtual_clock::disk::CacheProtection;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_engine::runtime::{JoinHandle, now, sleep, spawn};

use crate::{PAGE, buffered, direct, machine, options_with, page, page_bytes, solid_state};

/// A token, and what became of its request.
type Fate<T> = (T, Result<(), String>);

/// Handlers that collect what completes.
fn start_handlers<T: Send + 'static>(array: &Arc<AsyncIo<T>>) -> Vec<JoinHandle<Vec<Fate<T>>>> {
    (0..array.segments())
        .map(|segment| {
            let array = array.clone();
            spawn(&format!("io handler {segment}"), move || {
                let mut seen = Vec::new();
                loop {
                    match array.next(segment, 10 * MILLISECOND) {
                        Next::Completed(done) => {
                            seen.push((done.token, done.result.map_err(|e| e.to_string())));
                        }
                        Next::TimedOut => {}
                        Next::Closed => return seen,
                    }
                }
            })
        })
        .collect()
}

fn finish<T: Ord>(array: &AsyncIo<T>, handlers: Vec<JoinHandle<Vec<Fate<T>>>>) -> Vec<Fate<T>> {
    array.close();
    let mut all: Vec<_> = handlers.into_iter().flat_map(JoinHandle::join).collect();
    all.sort();
    all
}

fn write_and_read(root: &Path) {
    write_and_read_through(root, AsyncIo::new);
}

fn write_and_read_by_handlers(root: &Path) {
    write_and_read_through(root, AsyncIo::simulated);
}

/// 1500 pages written by four tasks through four handlers, and read back by four more.
fn write_and_read_through(root: &Path, array: fn(usize) -> AsyncIo<u64>) {
    const PAGES: u64 = 1500;
    let files = FileSystem::new();
    files.create_directory(root).unwrap();
    let file = files
        .open(root.join("t1.ibd"), direct(Create::New))
        .unwrap();
    file.allocate(PAGES * PAGE).unwrap();

    let writes = Arc::new(array(4));
    let handlers = start_handlers(&writes);
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (writes, file, files) = (writes.clone(), file.clone(), files.clone());
            spawn("writer", move || {
                for number in (writer..PAGES).step_by(4) {
                    let image = page(&files, number, 7);
                    writes
                        .submit_write_image(&file, image, number * PAGE, number, Other)
                        .unwrap();
                }
            })
        })
        .collect();
    writers.into_iter().for_each(JoinHandle::join);
    let written = finish(&writes, handlers);
    let expected: Vec<_> = (0..PAGES).map(|number| (number, Ok(()))).collect();
    assert_eq!(written, expected);
    assert_eq!(writes.statistics().completed, PAGES);
    assert_eq!(writes.pending(), [0; 4]);

    let reads = Arc::new(array(3));
    let handlers = start_handlers(&reads);
    let frames = FrameArena::new(PAGES as usize, false).unwrap();
    for number in 0..PAGES {
        let frame = frames.frame(number as usize);
        // SAFETY: each frame is read into once, and looked at after the handlers' end.
        unsafe {
            reads
                .submit_read(&file, frame, number * PAGE, number, Other)
                .unwrap();
        }
    }
    assert_eq!(finish(&reads, handlers), expected);
    for number in 0..PAGES {
        // SAFETY: all reads have completed.
        let bytes = unsafe { &*frames.frame(number as usize).as_ptr() };
        assert!(*bytes == page_bytes(number, 7), "page {number}");
    }
    let data = *files.statistics().kind(FileKind::Data);
    assert_eq!((data.reads.count, data.reads.bytes), (PAGES, PAGES * PAGE));
    assert_eq!(data.writes.count, PAGES);
}

/// A read behind the end, and one of a page that is not one.
fn mistakes(root: &Path) {
    let files = FileSystem::new();
    files.create_directory(root).unwrap();
    for options in [direct(Create::New), buffered(Create::OrTruncate)] {
        let file = files.open(root.join("f"), options).unwrap();
        file.write_image(&page(&files, 0, 1), 0, Other).unwrap();
        let array = Arc::new(AsyncIo::new(2));
        let handlers = start_handlers(&array);
        let frames = FrameArena::new(3, false).unwrap();
        // SAFETY: as above.
        unsafe {
            array
                .submit_read(&file, frames.frame(0), 0, 0, Other)
                .unwrap();
            array
                .submit_read(&file, frames.frame(1), PAGE, 1, Other)
                .unwrap();
            let misaligned = array.submit_read(&file, frames.frame(2), 512, 2, Other);
            assert!(misaligned.is_err());
        }
        let path = root.join("f");
        let path = path.display();
        let short = format!("short read of {path}: 16384 bytes expected at offset 16384, 0 found");
        assert_eq!(finish(&array, handlers), [(0, Ok(())), (1, Err(short))]);
        // SAFETY: all reads have completed.
        assert!(unsafe { *frames.frame(0).as_ptr() } == page_bytes(0, 1));
    }
}

/// No handler yet: requests of one region fill its segment and then the next ones, and
/// one that finds all full waits until a handler makes room.
fn fill_up(root: &Path) {
    let files = FileSystem::new();
    files.create_directory(root).unwrap();
    let file = files.open(root.join("f"), direct(Create::New)).unwrap();
    let array = Arc::new(AsyncIo::new(3));
    let image = page(&files, 0, 1);
    let submit = |token: usize| {
        // All in the second region of 64 pages: segment 1.
        let offset = (64 + token as u64 % 64) * PAGE;
        array
            .submit_write_image(&file, image.clone(), offset, token, Other)
            .unwrap();
    };
    let slots = SLOTS_PER_SEGMENT;
    for (number, pending) in [
        (200, [0, 200, 0]),
        (300, [0, 256, 44]),
        (600, [88, 256, 256]),
    ] {
        let before: usize = array.pending().iter().sum();
        (before..number).for_each(submit);
        assert_eq!(array.pending(), pending);
    }
    (600..3 * slots).for_each(submit);
    assert_eq!(array.pending(), [slots; 3]);
    assert_eq!(array.statistics().waits, 0);
    let waiting = {
        let (array, file, image) = (array.clone(), file.clone(), image.clone());
        spawn("one too many", move || {
            array
                .submit_write_image(&file, image, 64 * PAGE, usize::MAX, Other)
                .unwrap();
        })
    };
    while array.statistics().waits == 0 {
        sleep(MILLISECOND, Other);
    }
    let handlers = start_handlers(&array);
    waiting.join();
    let seen = finish(&array, handlers);
    let tokens: Vec<_> = seen.iter().map(|(token, _)| *token).collect();
    let expected: Vec<_> = (0..3 * slots).chain([usize::MAX]).collect();
    assert_eq!(tokens, expected);
    assert_eq!(array.pending(), [0; 3]);
}

fn under_the_real_clock(program: impl FnOnce(&Path)) {
    let directory = tempfile::tempdir_in(".").unwrap();
    program(&directory.path().canonicalize().unwrap());
}

fn under_the_virtual_clock(program: impl Fn(&Path) + Copy + 'static) {
    for cache in [CacheProtection::Protected, CacheProtection::Volatile] {
        machine(cache)
            .run(move || program(Path::new("data")))
            .unwrap();
    }
    let mut simulation = Simulation::new(&options_with(&[], 1)).unwrap();
    simulation.run(move || program(Path::new("data"))).unwrap();
}

#[test]
fn pages_arrive_under_the_real_clock() {
    under_the_real_clock(write_and_read);
}

#[test]
fn pages_arrive_under_the_virtual_clock() {
    under_the_virtual_clock(write_and_read);
}

#[test]
fn pages_arrive_through_handlers_that_do_the_work_under_the_virtual_clock() {
    under_the_virtual_clock(write_and_read_by_handlers);
}

#[test]
fn mistakes_are_reported_under_the_real_clock() {
    under_the_real_clock(mistakes);
}

#[test]
fn mistakes_are_reported_under_the_virtual_clock() {
    under_the_virtual_clock(mistakes);
}

#[test]
fn a_full_array_waits_under_the_real_clock() {
    under_the_real_clock(fill_up);
}

#[test]
fn a_full_array_waits_under_the_virtual_clock() {
    under_the_virtual_clock(fill_up);
}

#[test]
fn without_native_requests_a_handler_writes_one_after_the_other() {
    let mut simulation = machine(CacheProtection::Protected);
    simulation
        .run(|| {
            let files = FileSystem::new();
            let file = files.open("t1.ibd", direct(Create::New)).unwrap();
            let array = AsyncIo::simulated(1);
            let image = page(&files, 0, 1);
            for number in 0..10 {
                array
                    .submit_write_image(&file, image.clone(), number * PAGE, number, Other)
                    .unwrap();
            }
            assert_eq!(file.length().unwrap(), 0);
            // Nothing is in the device before a handler comes. A write is a command of 1 µs,
            // a transfer of 16 µs and 10 µs of latency, and the next begins when it is over.
            for number in 0..10 {
                let Next::Completed(done) = array.next(0, NEVER) else {
                    panic!("the array is open");
                };
                assert_eq!(done.token, number);
                let due = (1 + 16 + 10) * MICROSECOND * (number + 1);
                assert_eq!((now(), done.time), (due, due));
            }
            let start = now();
            assert!(matches!(array.next(0, 5 * MICROSECOND), Next::TimedOut));
            assert_eq!(now() - start, 5 * MICROSECOND);
            let mut found = [0; PAGE as usize];
            file.read_at(&mut found, 9 * PAGE, Other).unwrap();
            assert!(found == *image);
            array.close();
            assert!(matches!(array.next(0, NEVER), Next::Closed));
        })
        .unwrap();
}

#[test]
fn requests_are_in_the_device_at_once_and_a_handler_only_takes_completions() {
    let mut simulation = machine(CacheProtection::Protected);
    simulation
        .run(|| {
            let files = FileSystem::new();
            let file = files.open("t1.ibd", direct(Create::New)).unwrap();
            let array = AsyncIo::new(1);
            let image = page(&files, 0, 1);
            for number in 0..10 {
                array
                    .submit_write_image(&file, image.clone(), number * PAGE, number, Other)
                    .unwrap();
            }
            assert_eq!(now(), 0);
            // The first command takes 1 µs, each transfer 16 µs, then 10 µs of latency.
            for number in 0..10 {
                let Next::Completed(done) = array.next(0, NEVER) else {
                    panic!("the array is open");
                };
                assert_eq!(done.token, number);
                let due = (1 + 16 * (number + 1) + 10) * MICROSECOND;
                assert_eq!((now(), done.time), (due, due));
            }
            let start = now();
            assert!(matches!(array.next(0, 5 * MICROSECOND), Next::TimedOut));
            assert_eq!(now() - start, 5 * MICROSECOND);
            // performance_schema sees the submissions only.
            let data = *files.statistics().kind(FileKind::Data);
            assert_eq!((data.writes.count, data.writes.time), (10, 0));
            assert_eq!(array.statistics().completed, 10);
        })
        .unwrap();
    assert_eq!(
        simulation.disk_counters(0).unwrap().write.inside.maximum,
        10
    );
}

#[test]
fn a_power_cut_with_requests_in_flight_leaves_nothing_behind() {
    let mut simulation = Simulation::new(&SimulationOptions {
        disks: options_with(&[solid_state(CacheProtection::Volatile, 512)], 1).disks,
        ..options_with(&[], 1)
    })
    .unwrap();
    for round in 0..20 {
        let cut = simulation.now() + 50 * MICROSECOND;
        let outcome = simulation.run_until(cut, move || {
            let files = FileSystem::new();
            let create = if round == 0 {
                Create::New
            } else {
                Create::Existing
            };
            let file = files.open("t1.ibd", direct(create)).unwrap();
            file.allocate(100 * PAGE).unwrap();
            let frames = FrameArena::new(50, false).unwrap();
            let array = Arc::new(AsyncIo::new(2));
            let handlers = start_handlers(&array);
            for number in 0..50 {
                let image = page(&files, number, round);
                array
                    .submit_write_image(&file, image, number * PAGE, number, Other)
                    .unwrap();
                let destination: NonNull<[u8; IMAGE_BYTES]> = frames.frame(number as usize);
                let offset = (50 + number) * PAGE;
                // SAFETY: the power is cut before anything is read.
                unsafe {
                    array
                        .submit_read(&file, destination, offset, 50 + number, Other)
                        .unwrap();
                }
            }
            finish(&array, handlers);
            drop(frames);
        });
        assert!(matches!(
            outcome,
            Ok(innosim_engine::runtime::virtual_clock::Outcome::PowerCut)
        ));
        let crash = innosim_engine::runtime::files::Crash::PowerLoss;
        let report = simulation.resolve_crash(crash).unwrap();
        assert_eq!(report.kept + report.lost + report.torn, 50);
    }
}
