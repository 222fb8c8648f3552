//! Waiting times and throughputs that theory gives in closed form.

use super::*;
use crate::runtime::virtual_clock::disk::test_bench::{Ask, assert_mean, read, write};
use crate::runtime::virtual_clock::disk::{MICROSECOND, SECOND, ServiceTime};

const SPAN: u64 = 1 << 40;

/// Response times (µs) of random small reads that arrive at a rate of `load` per die and
/// mean service time.
fn responses(profile: &SolidStateProfile, load: f64, count: usize) -> Vec<f64> {
    let mut bench = bench(profile);
    let mean = profile.read.mean_us() * MICROSECOND as f64;
    let gap = mean / load / f64::from(profile.dies);
    let latencies = bench.open_load(gap, count, |bench| {
        let address = bench.address(SPAN, 16384);
        read(address, 512)
    });
    let counters = bench.lawful_counters();
    assert_eq!(counters.die_reads, count as u64);
    // Utilisation = throughput × mean service time, here against the profile's mean.
    let utilisation = counters.units.busy.integral as f64 / bench.now as f64;
    let expected = count as f64 / bench.now as f64 * mean;
    assert!(
        (utilisation / expected - 1.0).abs() < 0.02,
        "{utilisation} {expected}"
    );
    latencies
}

#[test]
fn one_die_with_exponential_reads_is_m_m_1() {
    let mut profile = profile();
    profile.read = ServiceTime::Exponential { mean_us: 100.0 };
    assert_mean(&responses(&profile, 0.7, 200_000), 100.0 / (1.0 - 0.7));
}

#[test]
fn one_die_with_any_service_is_m_g_1() {
    // Pollaczek and Khinchine: wait = load × service × (1 + cv²) / (2 (1 - load)).
    for (read, square) in [
        (ServiceTime::Deterministic { mean_us: 100.0 }, 0.0),
        (
            ServiceTime::Lognormal {
                mean_us: 100.0,
                cv: 0.5,
            },
            0.25,
        ),
    ] {
        let mut profile = profile();
        profile.read = read;
        let expected = 100.0 + 0.6 * 100.0 * (1.0 + square) / (2.0 * 0.4);
        assert_mean(&responses(&profile, 0.6, 100_000), expected);
    }
}

#[test]
fn many_dies_are_as_many_single_queues() {
    // One queue for all eight would give 104 µs: the address decides who waits, not luck.
    let mut profile = profile();
    profile.dies = 8;
    profile.read = ServiceTime::Exponential { mean_us: 100.0 };
    assert_mean(&responses(&profile, 0.7, 200_000), 100.0 / (1.0 - 0.7));
}

#[test]
fn reads_first_is_a_queue_with_two_priorities() {
    // Cobham's formula for a queue without preemption: with the mean residual service R,
    // the first class waits R / (1 - its load), and without classes all wait R / (1 - load).
    let (read_us, program_us) = (100.0, 500.0);
    let (read_load, program_load) = (0.2, 0.4);
    let residual = (read_load * read_us + program_load * program_us) / 2.0;
    for (reads_first, expected) in [
        (true, read_us + residual / (1.0 - read_load)),
        (false, read_us + residual / (1.0 - read_load - program_load)),
    ] {
        let profile = SolidStateProfile {
            reads_first,
            ..profile()
        };
        let mut bench = bench(&profile);
        let (reads, writes) = (read_load / read_us, program_load / program_us);
        let mut is_read = Vec::new();
        let latencies = bench.open_load(1e6 / (reads + writes), 200_000, |bench| {
            let address = bench.address(SPAN, 16384);
            let share = bench.address(1000, 1) as f64 / 1000.0;
            is_read.push(share < reads / (reads + writes));
            if is_read[is_read.len() - 1] {
                read(address, 512)
            } else {
                write(address, 512)
            }
        });
        bench.lawful_counters();
        let of_reads: Vec<f64> = latencies
            .iter()
            .zip(&is_read)
            .filter(|(_, read)| **read)
            .map(|(l, _)| *l)
            .collect();
        assert_mean(&of_reads, expected);
    }
}

/// Requests per second of `clients` in a closed loop.
fn throughput(profile: &SolidStateProfile, clients: u32, ask: fn(u64) -> Ask) -> f64 {
    let mut bench = bench(profile);
    let (rates, before, after) = bench.closed_load(clients, SECOND / 10, SECOND / 2, |bench, _| {
        ask(bench.address(SPAN, 16384))
    });
    // Little's law in its usual form: clients = throughput × mean latency.
    let seconds = (after.active.until - before.active.until) as f64 / SECOND as f64;
    let completed = after.read.completed + after.write.completed
        - before.read.completed
        - before.write.completed;
    let latency = (after.read.latency + after.write.latency
        - before.read.latency
        - before.write.latency) as f64
        / SECOND as f64
        / completed as f64;
    let inside = completed as f64 / seconds * latency;
    assert!(
        (inside / f64::from(clients) - 1.0).abs() < 0.02,
        "{inside} of {clients}"
    );
    rates.iter().sum::<f64>() / rates.len() as f64
}

#[test]
fn sustained_writes_run_at_the_rate_of_the_dies() {
    for (write_buffer_kib, dies) in [(8192, 32), (1024, 32), (0, 8)] {
        let profile = SolidStateProfile {
            dies,
            write_buffer_kib,
            ..profile()
        };
        let rate = throughput(&profile, 16, |address| write(address, 256 * 1024));
        let expected = f64::from(dies) * 16.0 / 256.0 / 500e-6;
        assert!((rate / expected - 1.0).abs() < 0.01, "{rate} {expected}");
    }
}

#[test]
fn the_controller_limits_the_rate_of_commands() {
    let profile = SolidStateProfile {
        dies: 64,
        command_us: 4.0,
        ..profile()
    };
    let rate = throughput(&profile, 256, |address| read(address, 4096));
    assert!((rate / 250_000.0 - 1.0).abs() < 0.01, "{rate}");
    // A request of two commands counts twice.
    let rate = throughput(&profile, 256, |address| read(address, 129 * 1024));
    assert!(rate < 125_000.0, "{rate}");
}

#[test]
fn the_link_limits_the_bandwidth() {
    let profile = SolidStateProfile {
        dies: 64,
        bandwidth_mib_s: 1000.0,
        write_buffer_kib: 8192,
        program: ServiceTime::Deterministic { mean_us: 100.0 },
        ..profile()
    };
    for ask in [
        |address| read(address, 65536),
        |address| write(address, 65536),
    ] {
        let rate = throughput(&profile, 128, ask);
        assert!((rate / 16_000.0 - 1.0).abs() < 0.01, "{rate}");
    }
}

#[test]
fn the_fixed_latency_adds_time_but_no_queue() {
    let profile = SolidStateProfile {
        dies: 64,
        latency_us: 1000.0,
        ..profile()
    };
    // 200 clients, 1.1 ms each if no die is met twice; a serial stage of 1 ms would give 1000.
    let rate = throughput(&profile, 200, |address| read(address, 512));
    assert!((120_000.0..182_000.0).contains(&rate), "{rate}");
}
