//! What a request to a virtual file costs the host: the bytes alone (a machine without
//! devices, where I/O takes no virtual time), and with a disk behind.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use innosim_benches::busy_machine;
use innosim_engine::runtime::WaitKind::Other;
use innosim_engine::runtime::files::{
    Create, FileKind, FileSystem, IMAGE_BYTES, IoMode, OpenOptions,
};
use innosim_engine::runtime::virtual_clock::disk::{
    Admission, CacheProtection, DiskProfile, ServiceTime, SolidStateProfile,
};
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};

const PAGES: u64 = 4096;
const REQUESTS: u64 = 20_000;

fn disk() -> DiskProfile {
    DiskProfile::SolidState(SolidStateProfile {
        dies: 32,
        max_request_kib: 128,
        command_us: 1.0,
        bandwidth_mib_s: 3000.0,
        latency_us: 10.0,
        read: ServiceTime::Lognormal {
            mean_us: 80.0,
            cv: 0.2,
        },
        stripe_kib: 16,
        program: ServiceTime::Lognormal {
            mean_us: 600.0,
            cv: 0.1,
        },
        program_kib: 64,
        reads_first: true,
        write_buffer_kib: 8192,
        admission: Admission::Fifo,
        cache: CacheProtection::Volatile,
        flush_us: 10.0,
        merge_flushes: true,
        atomic_write_bytes: 4096,
    })
}

#[derive(Clone, Copy)]
enum Request {
    /// The same image to a doublewrite slot and to its page: two writes.
    ImageTwice,
    /// A page that is copied from a slice.
    Bytes,
    Read,
    /// No file at all: what copying a page from memory of that size takes.
    Copy,
    /// 512 bytes to a buffered file, and a sync.
    Redo,
}

/// Time for `rounds` times so many requests; making images and files does not count.
fn time(request: Request, with_disk: bool, rounds: u64) -> Duration {
    let mut options = SimulationOptions::new(busy_machine(), 1);
    if with_disk {
        options.disks.push(("disk".into(), disk()));
    }
    let mut simulation = Simulation::new(&options).expect("the profile is valid");
    let body = move || {
        let files = FileSystem::new();
        let open = |name, io| {
            let options = OpenOptions {
                create: Create::New,
                io,
                kind: FileKind::Data,
            };
            files.open(name, options).expect("a file opens")
        };
        let data = open("t1.ibd", IoMode::Direct);
        let doublewrite = open("dblwr", IoMode::Direct);
        let redo = open("redo", IoMode::Buffered);
        let mut bytes = Box::new([1; IMAGE_BYTES]);
        let memory = vec![1; PAGES as usize * IMAGE_BYTES];
        for number in 0..PAGES {
            let offset = number * IMAGE_BYTES as u64;
            data.write_at(&bytes[..], offset, Other).expect("room");
        }
        doublewrite
            .allocate(128 * IMAGE_BYTES as u64)
            .expect("room");
        redo.allocate(8 << 20).expect("room");
        let mut spent = Duration::ZERO;
        for _ in 0..rounds {
            for number in 0..REQUESTS {
                // A stride that comes to every page, in no order that caches like.
                let offset = number * 2531 % PAGES * IMAGE_BYTES as u64;
                let image = match request {
                    Request::ImageTwice => Some(files.image(&bytes)),
                    _ => None,
                };
                let start = Instant::now();
                match (request, image) {
                    (Request::ImageTwice, Some(image)) => {
                        let slot = number % 128 * IMAGE_BYTES as u64;
                        doublewrite.write_image(&image, slot, Other).expect("room");
                        data.write_image(&image, offset, Other).expect("room");
                    }
                    (Request::Bytes, _) => data.write_at(&bytes[..], offset, Other).expect("room"),
                    (Request::Redo, _) => {
                        let offset = number % 16_384 * 512;
                        redo.write_at(&bytes[..512], offset, Other).expect("room");
                        redo.sync(true, Other).expect("a sync");
                    }
                    (Request::Copy, _) => {
                        let at = offset as usize;
                        bytes.copy_from_slice(&memory[at..at + IMAGE_BYTES]);
                        std::hint::black_box(&bytes);
                    }
                    _ => data.read_at(&mut bytes[..], offset, Other).expect("bytes"),
                }
                spent += start.elapsed();
                if number % 64 == 0 {
                    data.sync(true, Other).expect("a sync");
                }
            }
        }
        spent
    };
    simulation.run(body).expect("nobody waits for ever")
}

fn files(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("virtual files");
    group.sample_size(10);
    group.throughput(Throughput::Elements(REQUESTS));
    for (name, request) in [
        ("doublewrite and data page, one image", Request::ImageTwice),
        ("page from a slice", Request::Bytes),
        ("read of a page", Request::Read),
        ("copy of a page, for comparison", Request::Copy),
        ("redo block and sync", Request::Redo),
    ] {
        for (place, with_disk) in [("no device", false), ("a disk", true)] {
            group.bench_function(format!("{name}, {place}"), |bencher| {
                bencher.iter_custom(|rounds| time(request, with_disk, rounds));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, files);
criterion_main!(benches);
