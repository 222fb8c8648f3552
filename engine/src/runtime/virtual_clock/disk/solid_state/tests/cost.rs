//! A run made again from its calls alone: the same result, and what a call costs the host.

use std::time::Duration;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::runtime::virtual_clock::disk::test_bench::{FLUSH, read, replay, write};
use crate::runtime::virtual_clock::disk::{DiskModel, SECOND, Time};

/// A mix of reads, writes and flushes of 64 clients; the number of calls, and the CPU time of
/// making them again.
fn run_twice(cache: CacheProtection, pages_per_write: u32, time: Time) -> (usize, Duration) {
    let profile = SolidStateProfile {
        dies: 32,
        command_us: 2.0,
        bandwidth_mib_s: 3000.0,
        latency_us: 8.0,
        read: ServiceTime::Lognormal {
            mean_us: 80.0,
            cv: 0.2,
        },
        program: ServiceTime::Lognormal {
            mean_us: 580.0,
            cv: 0.2,
        },
        reads_first: true,
        write_buffer_kib: 8192,
        admission: Admission::RoundRobin,
        cache,
        ..profile()
    };
    let mut bench = bench(&profile);
    bench.trace = Some(Vec::new());
    bench.closed_load(64, 0, time, |bench, client| {
        let address = bench.address(1 << 38, 16384);
        match client % 8 {
            0 => write(address, pages_per_write * 16384),
            1 if bench.address(2, 1) == 0 => FLUSH,
            1 => write(address, 512),
            _ => read(address, 16384),
        }
    });
    let trace = bench.trace.take().unwrap();
    let generator = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut again = DiskProfile::SolidState(profile).build(generator).unwrap();
    let start = cpu_time();
    let completed = replay(&mut again, &trace);
    let elapsed = cpu_time() - start;
    let counters = again.counters(bench.now);
    assert_eq!(counters, bench.disk.counters(bench.now));
    let kinds = [counters.read, counters.write, counters.flush];
    assert_eq!(
        completed,
        kinds.iter().map(|kind| kind.completed).sum::<u64>()
    );
    (trace.len(), elapsed)
}

/// CPU time of this thread: other work on the machine must not count.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|field| field.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

#[test]
fn a_disk_is_a_function_of_its_calls() {
    assert!(run_twice(CacheProtection::Volatile, 3, SECOND / 50).0 > 1000);
}

/// Prints nanoseconds per call: `cargo test --release -p innosim-engine cost_of_a_call --
/// --ignored --nocapture`.
#[test]
#[ignore = "a measurement, which asserts nothing"]
fn cost_of_a_call() {
    for (name, cache, pages) in [
        ("pages", CacheProtection::Protected, 1),
        ("writes of 2 MiB", CacheProtection::Protected, 128),
        ("pages, volatile", CacheProtection::Volatile, 1),
    ] {
        let (calls, elapsed) = run_twice(cache, pages, 2 * SECOND);
        println!(
            "{name:16} {calls:8} calls, {:5.1} ns",
            elapsed.as_nanos() as f64 / calls as f64
        );
    }
}
