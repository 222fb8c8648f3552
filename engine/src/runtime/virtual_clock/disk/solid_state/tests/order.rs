//! Who waits for whom: splitting, admission, reads and programs, flushes.

use super::*;
use crate::runtime::virtual_clock::disk::test_bench::{Ask, FLUSH, Outcome, read, write};
use crate::runtime::virtual_clock::disk::{DiskModel, MICROSECOND, SECOND, Time};

const KIB: u32 = 1024;

/// Completion times by request number, in microseconds, of requests submitted at time 0.
fn completions(profile: &SolidStateProfile, asks: &[Ask]) -> Vec<f64> {
    let mut bench = bench(profile);
    for &ask in asks {
        bench.submit(ask);
    }
    let mut times = vec![0.0; asks.len()];
    for (id, latency) in bench.drain() {
        times[id as usize] = latency as f64 / MICROSECOND as f64;
    }
    bench.lawful_counters();
    times
}

#[test]
fn a_request_completes_with_its_last_part() {
    // 300 KiB are 3 commands and 19 stripe units; 1 µs a command, 1 µs a KiB on the link.
    let profile = SolidStateProfile {
        command_us: 1.0,
        bandwidth_mib_s: 1e6 / 1024.0,
        latency_us: 7.0,
        ..profile()
    };
    let mut bench = bench(&profile);
    bench.submit(read(0, 300 * KIB));
    let latency = bench.drain()[0].1;
    // One die: all units one after the other; then the last part, 44 KiB, is transferred.
    let expected = 1 + 19 * 100 + 44 + 7;
    assert_eq!(latency, expected * MICROSECOND);
    let counters = bench.lawful_counters();
    assert_eq!(
        (counters.controller.served, counters.outbound.served),
        (3, 3)
    );
    assert_eq!((counters.die_reads, counters.read.completed), (19, 1));
    assert_eq!(counters.read.bytes, u64::from(300 * KIB));

    // On 32 dies all units are read at once; the parts queue for the link.
    let wide = SolidStateProfile {
        dies: 32,
        ..profile
    };
    let parallel = completions(&wide, &[read(0, 300 * KIB)]);
    assert_eq!(parallel, [1.0 + 100.0 + 128.0 + 128.0 + 44.0 + 7.0]);
}

#[test]
fn an_unaligned_page_is_read_from_two_dies() {
    let profile = SolidStateProfile {
        dies: 4,
        ..profile()
    };
    let mut bench = bench(&profile);
    bench.submit(read(8 * 1024, 16 * KIB));
    bench.drain();
    assert_eq!(bench.lawful_counters().die_reads, 2);
}

#[test]
fn small_writes_share_a_program_unit() {
    let profile = SolidStateProfile {
        write_buffer_kib: 1024,
        ..profile()
    };
    let mut bench = bench(&profile);
    for index in 0..33 {
        bench.submit(write(index * 512, 512));
    }
    bench.drain();
    let counters = bench.lawful_counters();
    assert_eq!(counters.programs, 1);
    assert_eq!(
        counters.buffer.value, 512,
        "one is left over and waits for company"
    );

    let unbuffered = SolidStateProfile {
        write_buffer_kib: 0,
        ..profile
    };
    let mut bench = super::bench(&unbuffered);
    bench.submit(write(0, 512));
    bench.submit(write(0, 40 * KIB));
    bench.drain();
    let counters = bench.lawful_counters();
    assert_eq!(counters.programs, 1 + 3);
    assert_eq!(counters.padding, 15 * 1024 + 512 + 8 * 1024);
}

/// How long a small write waits that is submitted behind eight writes of 2 MiB from eight
/// queues, in microseconds; and the drain rate in KiB/µs.
fn wait_behind_backlog(admission: Admission) -> (f64, f64) {
    let profile = SolidStateProfile {
        dies: 32,
        program: ServiceTime::Lognormal {
            mean_us: 580.0,
            cv: 0.2,
        },
        write_buffer_kib: 1024,
        admission,
        ..profile()
    };
    let large = (0..8).map(|queue| Ask {
        queue,
        ..write(u64::from(queue) << 30, 2048 * KIB)
    });
    let small = Ask {
        queue: 8,
        ..write(0, 4 * KIB)
    };
    let asks: Vec<Ask> = large.chain([small]).collect();
    let rate = 32.0 * 16.0 / 580.0;
    (completions(&profile, &asks)[8], rate)
}

#[test]
fn fifo_admission_makes_a_small_write_wait_for_the_backlog() {
    let (wait, rate) = wait_behind_backlog(Admission::Fifo);
    // All that is outstanding, but for what fits into the buffer.
    let expected = (8.0 * 2048.0 - 1024.0) / rate;
    assert!((wait / expected - 1.0).abs() < 0.05, "{wait} {expected}");
    assert!(wait > 16_000.0);
}

#[test]
fn round_robin_admission_makes_it_wait_for_one_part_of_each_queue() {
    let (wait, rate) = wait_behind_backlog(Admission::RoundRobin);
    // Eight parts of 128 KiB fill the buffer at once; the small write is the ninth and waits
    // for the first program; at most it waits for another eight.
    assert!(wait < 8.0 * 128.0 / rate, "{wait}");

    // The same in a steady state: eight queues that never run dry, and a ninth that writes
    // one small block at a time, waits for eight parts and goes on.
    for (admission, expected) in [
        (Admission::RoundRobin, 8.0 * 128.0),
        (Admission::Fifo, 8.0 * 2048.0 - 1024.0),
    ] {
        let profile = SolidStateProfile {
            dies: 32,
            program: ServiceTime::Lognormal {
                mean_us: 580.0,
                cv: 0.2,
            },
            write_buffer_kib: 1024,
            admission,
            ..profile()
        };
        let mut bench = bench(&profile);
        let (mut waits, mut small) = (Vec::new(), None);
        let large = |queue| Ask {
            queue,
            ..write(u64::from(queue) << 30, 2048 * KIB)
        };
        let mut queue_of: Vec<u32> = (0..8).collect();
        for queue in 0..8 {
            bench.submit(large(queue));
        }
        bench.timer(SECOND / 20, 0);
        while waits.len() < 60 {
            let submit_small = match bench.next().expect("writers never stop") {
                Outcome::Timer(_) => true,
                Outcome::Completed { id, latency } if small == Some(id) => {
                    waits.push(latency as f64 / MICROSECOND as f64);
                    true
                }
                Outcome::Completed { id, .. } => {
                    let queue = queue_of[id as usize];
                    bench.submit(large(queue));
                    queue_of.push(queue);
                    false
                }
            };
            if submit_small {
                small = Some(bench.submit(Ask {
                    queue: 8,
                    ..write(0, 4 * KIB)
                }));
                queue_of.push(8);
            }
        }
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!(
            (mean * rate / expected - 1.0).abs() < 0.10,
            "{mean} {}",
            expected / rate
        );
    }
}

#[test]
fn a_read_passes_waiting_programs_only_if_reads_go_first() {
    for (reads_first, expected) in [(true, 500.0 + 100.0), (false, 8.0 * 500.0 + 100.0)] {
        let profile = SolidStateProfile {
            reads_first,
            ..profile()
        };
        let mut bench = bench(&profile);
        bench.submit(write(0, 128 * KIB));
        bench.timer(10 * MICROSECOND, 0);
        assert_eq!(bench.next(), Some(Outcome::Timer(0)));
        let id = bench.submit(read(0, 512));
        let (_, latency) = *bench.drain().iter().find(|done| done.0 == id).unwrap();
        let micros = latency as f64 / MICROSECOND as f64;
        assert!(
            (micros - (expected - 10.0)).abs() < 1.0,
            "{micros} {expected}"
        );
    }
}

#[test]
fn a_write_goes_to_the_next_die_whatever_its_address() {
    let profile = SolidStateProfile {
        dies: 4,
        ..profile()
    };
    let times = completions(&profile, &[write(0, 16 * KIB); 8]);
    assert!(
        times[..4].iter().all(|time| (500.0..501.0).contains(time)),
        "{times:?}"
    );
    assert!(
        times[4..]
            .iter()
            .all(|time| (1000.0..1001.0).contains(time)),
        "{times:?}"
    );
}

/// A buffered disk with one die, so that each unit of a backlog takes another 500 µs.
fn buffered(cache: CacheProtection) -> SolidStateProfile {
    SolidStateProfile {
        write_buffer_kib: 1024,
        cache,
        ..profile()
    }
}

#[test]
fn a_flush_of_a_volatile_cache_waits_for_all_earlier_writes_and_no_later_one() {
    // Four units before the flush (in one write of 60 KiB, so that the last unit is not
    // full), four after it.
    let asks = [write(0, 60 * KIB), FLUSH, write(0, 64 * KIB)];
    let times = completions(&buffered(CacheProtection::Volatile), &asks);
    assert!(
        times[0] < 1.0 && times[2] < 2.0,
        "writes complete in the buffer: {times:?}"
    );
    assert!((times[1] - (4.0 * 500.0 + 10.0)).abs() < 1.0, "{times:?}");

    let times = completions(&buffered(CacheProtection::Protected), &asks);
    assert!((times[1] - 10.0).abs() < 1.0, "{times:?}");
}

#[test]
fn a_flush_waits_for_writes_that_are_not_even_in_the_buffer() {
    // 2 MiB through a buffer of 1 MiB: 128 units.
    let asks = [write(0, 2048 * KIB), FLUSH];
    let times = completions(&buffered(CacheProtection::Volatile), &asks);
    assert!((times[1] - (128.0 * 500.0 + 10.0)).abs() < 2.0, "{times:?}");
    assert!(times[0] < times[1] / 2.0 + 500.0);
}

#[test]
fn flushes_are_served_one_after_another_or_merged() {
    for (merge_flushes, expected) in [
        (false, [10.0, 20.0, 30.0, 40.0]),
        (true, [10.0, 20.0, 20.0, 20.0]),
    ] {
        let profile = SolidStateProfile {
            merge_flushes,
            ..profile()
        };
        assert_eq!(completions(&profile, &[FLUSH; 4]), expected);
    }
}

#[test]
fn a_second_flush_waits_for_its_own_writes_too() {
    let asks = [write(0, 8 * KIB), FLUSH, write(0, 8 * KIB), FLUSH];
    let times = completions(&buffered(CacheProtection::Volatile), &asks);
    // The first flush has the unit closed when its own write is in, half full; the other
    // write takes a second one.
    assert!((times[1] - (500.0 + 10.0)).abs() < 1.0, "{times:?}");
    assert!((times[3] - (2.0 * 500.0 + 10.0)).abs() < 1.0, "{times:?}");
}

/// A mix of everything; completions with their times, and the last draw.
fn mixed_run(seed: u64) -> (Vec<(u64, Time)>, u64) {
    let profile = SolidStateProfile {
        dies: 8,
        command_us: 2.0,
        bandwidth_mib_s: 2000.0,
        latency_us: 5.0,
        read: ServiceTime::Lognormal {
            mean_us: 80.0,
            cv: 0.3,
        },
        program: ServiceTime::Exponential { mean_us: 500.0 },
        reads_first: true,
        write_buffer_kib: 512,
        admission: Admission::RoundRobin,
        cache: CacheProtection::Volatile,
        ..profile()
    };
    let mut bench = Bench::new(&DiskProfile::SolidState(profile), seed);
    let mut completions = Vec::new();
    bench.open_load(60e6, 5000, |bench| {
        let address = bench.address(1 << 36, 512);
        let queue = bench.address(16, 1) as u32;
        let length = 512 * (1 + bench.address(400, 1) as u32);
        let ask = match bench.address(10, 1) {
            0 => FLUSH,
            1..5 => write(address, length),
            _ => read(address, 16 * KIB),
        };
        completions.push((bench.events, bench.now));
        Ask { queue, ..ask }
    });
    let counters = bench.lawful_counters();
    assert_eq!(
        counters.read.completed + counters.write.completed + counters.flush.completed,
        5000
    );
    (completions, bench.now)
}

#[test]
fn one_seed_gives_one_run() {
    assert_eq!(mixed_run(5), mixed_run(5));
    assert_ne!(mixed_run(5), mixed_run(6));
}

#[test]
fn after_a_power_cut_old_events_mean_nothing() {
    let mut bench = bench(&buffered(CacheProtection::Volatile));
    for ask in [write(0, 2048 * KIB), read(0, 64 * KIB), FLUSH] {
        bench.submit(ask);
    }
    bench.timer(700 * MICROSECOND, 0);
    while bench.next() != Some(Outcome::Timer(0)) {}
    bench.disk.power_cut(bench.now);
    assert_eq!(bench.disk.counters(bench.now).buffer.value, 0);
    let late = bench.submit(write(0, 16 * KIB));
    let flush = bench.submit(FLUSH);
    let done: Vec<u64> = bench
        .drain()
        .into_iter()
        .map(|completion| completion.0)
        .collect();
    assert_eq!(done, [late, flush]);
}
