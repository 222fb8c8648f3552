//! A run made again from its calls alone gives the same result.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::runtime::virtual_clock::disk::test_bench::{FLUSH, read, replay, write};
use crate::runtime::virtual_clock::disk::{DiskModel, SECOND};

/// A mix of reads, writes and flushes of 64 clients.
#[test]
fn a_disk_is_a_function_of_its_calls() {
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
        cache: CacheProtection::Volatile,
        ..profile()
    };
    let mut bench = bench(&profile);
    bench.trace = Some(Vec::new());
    bench.closed_load(64, 0, SECOND / 50, |bench, client| {
        let address = bench.address(1 << 38, 16384);
        match client % 8 {
            0 => write(address, 3 * 16384),
            1 if bench.address(2, 1) == 0 => FLUSH,
            1 => write(address, 512),
            _ => read(address, 16384),
        }
    });
    let trace = bench.trace.take().unwrap();
    let generator = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut again = DiskProfile::SolidState(profile).build(generator).unwrap();
    let completed = replay(&mut again, &trace);
    let counters = again.counters(bench.now);
    assert_eq!(counters, bench.disk.counters(bench.now));
    let kinds = [counters.read, counters.write, counters.flush];
    assert_eq!(
        completed,
        kinds.iter().map(|kind| kind.completed).sum::<u64>()
    );
    assert!(trace.len() > 1000);
}
