//! Service times that follow from addresses, and what elevators make of a queue.

use super::*;
use crate::runtime::virtual_clock::disk::SECOND;
use crate::runtime::virtual_clock::disk::test_bench::{Outcome, assert_mean};

#[test]
fn a_closed_network_of_exponential_disks_is_balanced_mean_value_analysis() {
    // N clients without think time over M equal servers chosen at random complete
    // N / (N + M - 1) × M / service (mean value analysis of a balanced network).
    let profile = RotatingArrayProfile {
        drive: DriveProfile::Exponential { mean_ms: 5.8 },
        ..profile()
    };
    for clients in [8, 16, 32, 64] {
        let mut bench = bench(&profile);
        let (rates, before, after) =
            bench.closed_load(clients, 2 * SECOND, 60 * SECOND, |bench, _| {
                read(bench.address(120_000_000_000, PAGE.into()), PAGE)
            });
        let n = f64::from(clients);
        assert_mean(&rates, n / (n + 15.0) * 16.0 / 5.8e-3);
        let inside = after.read.inside.mean_since(&before.read.inside);
        assert!((inside - n).abs() < 1e-9);
    }
}

/// Mean seek and rotation in milliseconds of random reads over a share of one disk.
fn positioning(elevator: Elevator, clients: u32, share: f64) -> (f64, f64) {
    let profile = RotatingArrayProfile {
        spindles: 1,
        elevator,
        ..profile()
    };
    let span = (profile.capacity_bytes() as f64 * share) as u64;
    let mut bench = bench(&profile);
    let (_, before, after) = bench.closed_load(clients, SECOND, 150 * SECOND, |bench, _| {
        read(bench.address(span, 512), 512)
    });
    let served = (after.units.served - before.units.served) as f64;
    let mean = |time: u128| time as f64 / MILLISECOND as f64 / served;
    (
        mean(after.mechanics.seek - before.mechanics.seek),
        mean(after.mechanics.rotation - before.mechanics.rotation),
    )
}

/// Mean of the seek curve of [`profile`] over random pairs in a share of the stroke, by
/// summation: distances `d` of two random points of [0, s] have density 2 (s - d) / s².
fn mean_seek(share: f64) -> f64 {
    let steps = 100_000;
    (0..steps)
        .map(|step| {
            let d = (f64::from(step) + 0.5) / f64::from(steps) * share;
            let time = if d <= 1.0 / 3.0 {
                0.3 + 3.5 * (3.0 * d).sqrt()
            } else {
                3.8 + 4.0 * (1.5 * (d - 1.0 / 3.0))
            };
            time * 2.0 * (share - d) / (share * share) * (share / f64::from(steps))
        })
        .sum()
}

#[test]
fn seeks_grow_with_the_span_as_the_curve_says() {
    for share in [0.01, 0.05, 0.2, 1.0 / 3.0, 1.0] {
        let (seek, rotation) = positioning(Elevator::Fifo, 1, share);
        let expected = mean_seek(share);
        if share <= 1.0 / 3.0 {
            // E √|x - y| = 8/15 √span.
            let closed = 0.3 + 3.5 * 3.0_f64.sqrt() * 8.0 / 15.0 * share.sqrt();
            assert!(
                (closed / expected - 1.0).abs() < 1e-3,
                "{closed} {expected}"
            );
        }
        // About 20,000 reads, each seek with a deviation below 60 % of its mean: 1.5 % is
        // more than three standard errors.
        assert!(
            (seek / expected - 1.0).abs() < 0.015,
            "{share}: {seek} {expected}"
        );
        // Half a revolution of 6 ms, uniform: standard error 1.73 ms / √20,000.
        assert!((rotation - 3.0).abs() < 0.05, "{share}: {rotation}");
    }
}

#[test]
fn elevators_gain_when_the_queue_is_long() {
    let seek_of = |elevator| positioning(elevator, 8, 1.0).0;
    let (fifo, look) = (seek_of(Elevator::Fifo), seek_of(Elevator::Look));
    let nearest = seek_of(Elevator::ShortestSeek);
    assert!(
        nearest < 0.6 * fifo && look < 0.6 * fifo,
        "{nearest} {look} {fifo}"
    );
    let total = |elevator| {
        let (seek, rotation) = positioning(elevator, 8, 1.0);
        seek + rotation
    };
    // Only an elevator that knows the angle can shorten the rotation.
    let positioned = total(Elevator::ShortestPositioning);
    assert!(
        positioned < 0.9 * total(Elevator::ShortestSeek),
        "{positioned}"
    );
    // With one client there is nothing to choose.
    assert_eq!(
        positioning(Elevator::Fifo, 1, 1.0),
        positioning(Elevator::ShortestPositioning, 1, 1.0)
    );
}

#[test]
fn no_request_waits_much_longer_than_the_maximum_age() {
    for (maximum_age_ms, limit) in [(60_000.0, false), (100.0, true)] {
        let profile = RotatingArrayProfile {
            spindles: 1,
            elevator: Elevator::ShortestSeek,
            maximum_age_ms,
            ..profile()
        };
        let mut bench = bench(&profile);
        // Sixteen clients near the edge, and one request far away.
        let near = |bench: &mut Bench| read(bench.address(1 << 30, 512), 512);
        for _ in 0..16 {
            let ask = near(&mut bench);
            bench.submit(ask);
        }
        let far = bench.submit(read(99_000_000_000, 512));
        let mut wait = None;
        while wait.is_none() && bench.now < 2 * SECOND {
            if let Some(Outcome::Completed { id, latency }) = bench.next() {
                wait = (id == far).then_some(latency);
                let ask = near(&mut bench);
                bench.submit(ask);
            }
        }
        // Served after the request that runs at that age, and itself at most 8 + 6 ms.
        assert_eq!(wait.is_some_and(|wait| wait < 130 * MILLISECOND), limit);
        assert_eq!(wait.is_some(), limit, "starved without a limit");
    }
}

#[test]
fn a_log_without_a_cache_pays_a_revolution_for_each_write() {
    // Each write is submitted 0.1 ms after the last one is complete: the sector is past.
    let profile = RotatingArrayProfile {
        spindles: 1,
        latency_us: 100.0,
        ..profile()
    };
    let mut bench = bench(&profile);
    bench.submit(write(0, 512));
    bench.drain();
    let start = bench.now;
    for index in 1..=50 {
        bench.submit(write(index * 512, 512));
        bench.drain();
    }
    let each = (bench.now - start) as f64 / 50.0 / MILLISECOND as f64;
    assert!((each - 6.0).abs() < 0.02, "{each}");
}
