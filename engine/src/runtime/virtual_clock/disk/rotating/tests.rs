//! The array against queueing theory and geometry, and who waits for whom in it.

mod cache;
mod positioning;

use super::*;
use crate::runtime::virtual_clock::disk::test_bench::{Ask, Bench, FLUSH, Outcome, read, write};
use crate::runtime::virtual_clock::disk::{DiskProfile, MILLISECOND, SECOND};

const PAGE: u32 = 16 * 1024;

/// Disks of 100 GB at 10,000 rpm, everything but them practically free.
fn profile() -> RotatingArrayProfile {
    RotatingArrayProfile {
        spindles: 16,
        copies: 1,
        mirror_reads: MirrorReads::FreerCopy,
        stripe_kib: 64,
        partition_offset_bytes: 0,
        capacity_gb: 100.0,
        drive: DriveProfile::Mechanical {
            rpm: 10_000.0,
            media_mib_s: 100.0,
            seek: SeekProfile {
                track_to_track_ms: 0.3,
                average_ms: 3.8,
                full_stroke_ms: 7.8,
                write_settle_ms: 0.5,
            },
        },
        elevator: Elevator::Fifo,
        queue_depth: 32,
        maximum_age_ms: 500.0,
        command_us: 0.0,
        latency_us: 0.0,
        flush_us: 10.0,
        atomic_write_bytes: 512,
        cache: None,
    }
}

fn cached(protection: CacheProtection) -> RotatingArrayProfile {
    let cache = ArrayCacheProfile {
        size_mib: 1,
        protection,
        destage: Destage::Idle,
        destage_threshold: 0.8,
    };
    RotatingArrayProfile {
        cache: Some(cache),
        ..profile()
    }
}

fn bench(profile: &RotatingArrayProfile) -> Bench {
    Bench::new(&DiskProfile::RotatingArray(profile.clone()), 17)
}

/// Completion times by request number, in milliseconds, of requests submitted at time 0.
fn completions(bench: &mut Bench, asks: &[Ask]) -> Vec<f64> {
    for &ask in asks {
        bench.submit(ask);
    }
    let mut times = vec![0.0; asks.len()];
    for (id, latency) in bench.drain() {
        times[id as usize] = latency as f64 / MILLISECOND as f64;
    }
    times
}

#[test]
fn errors_name_key_value_and_range() {
    let wrong = RotatingArrayProfile {
        spindles: 5,
        copies: 2,
        stripe_kib: 40,
        drive: DriveProfile::Exponential { mean_ms: 5.8 },
        elevator: Elevator::Look,
        ..profile()
    };
    let expected = "spindles = 5: accepted is an even number, with copies = 2\n\
        stripe_kib = 40: accepted is a multiple of 16 from 16 to 16384\n\
        elevator = look: accepted is fifo, with drive.kind = exponential";
    assert_eq!(wrong.validate().unwrap_err().to_string(), expected);

    let mut wrong = cached(CacheProtection::Volatile);
    wrong.cache.as_mut().unwrap().destage_threshold = 0.0;
    let DriveProfile::Mechanical { seek, .. } = &mut wrong.drive else {
        unreachable!()
    };
    seek.full_stroke_ms = 3.0;
    let expected = "drive.seek.full_stroke_ms = 3: accepted is 3.8 to 100\n\
        cache.destage_threshold = 0: accepted is 0.01 to 1";
    assert_eq!(wrong.validate().unwrap_err().to_string(), expected);
}

#[test]
fn a_profile_is_read_from_toml() {
    let text = r#"
        model = "rotating_array"
        spindles = 16
        copies = 1
        stripe_kib = 64
        capacity_gb = 100
        elevator = "fifo"
        queue_depth = 32
        maximum_age_ms = 500
        command_us = 0
        latency_us = 0
        flush_us = 10
        atomic_write_bytes = 512
        [drive]
        kind = "mechanical"
        rpm = 10000
        media_mib_s = 100
        [drive.seek]
        track_to_track_ms = 0.3
        average_ms = 3.8
        full_stroke_ms = 7.8
        write_settle_ms = 0.5
        [cache]
        size_mib = 1
        protection = "volatile"
        destage = "idle"
        destage_threshold = 0.8
    "#;
    let parsed: DiskProfile = toml::from_str(text).unwrap();
    assert_eq!(
        parsed,
        DiskProfile::RotatingArray(cached(CacheProtection::Volatile))
    );
    let error = toml::from_str::<DiskProfile>(&text.replace("rpm", "rmp")).unwrap_err();
    assert!(error.to_string().contains("rmp"), "{error}");
}

#[test]
fn a_request_that_crosses_stripe_units_is_split() {
    let mut bench = bench(&profile());
    completions(&mut bench, &[read(60 * 1024, 64 * 1024), read(0, 512)]);
    let counters = bench.lawful_counters();
    assert_eq!((counters.units.served, counters.read.completed), (3, 2));
    let busy = bench.disk.unit_busy();
    assert!(busy[0] > 0 && busy[1] > 0 && busy[2..].iter().all(|&time| time == 0));
}

#[test]
fn a_mirrored_write_goes_to_both_copies_and_a_read_to_the_freer_one() {
    let profile = RotatingArrayProfile {
        copies: 2,
        ..profile()
    };
    let mut pair = bench(&profile);
    let times = completions(&mut pair, &[write(0, PAGE)]);
    let counters = pair.lawful_counters();
    assert_eq!(counters.units.served, 2);
    let slowest = pair.disk.unit_busy().into_iter().max().unwrap();
    assert_eq!(
        times[0],
        slowest as f64 / MILLISECOND as f64,
        "complete with the second copy"
    );

    // Two reads of one page meet two idle disks.
    let mut pair = bench(&profile);
    completions(&mut pair, &[read(0, PAGE); 2]);
    pair.lawful_counters();
    assert!(pair.disk.unit_busy()[..2].iter().all(|&time| time > 0));

    // Sixteen disks as pairs, read at random by 16 clients: the choice between two halves
    // the queues, so the disks are busier than sixteen disks without a choice.
    let rate = |copies, capacity_gb| {
        let profile = RotatingArrayProfile {
            copies,
            capacity_gb,
            ..profile.clone()
        };
        let mut bench = bench(&profile);
        let span = profile.capacity_bytes();
        let (rates, ..) = bench.closed_load(16, SECOND, 20 * SECOND, |bench, _| {
            read(bench.address(span, PAGE.into()), PAGE)
        });
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    let (striped, mirrored) = (rate(1, 100.0), rate(2, 100.0));
    assert!(mirrored > 1.1 * striped, "{mirrored} {striped}");
}

#[test]
fn with_first_copy_the_second_one_takes_writes_only() {
    let profile = RotatingArrayProfile {
        copies: 2,
        mirror_reads: MirrorReads::FirstCopy,
        ..profile()
    };
    let mut pair = bench(&profile);
    completions(&mut pair, &[read(0, PAGE); 3]);
    assert_eq!(pair.disk.unit_busy()[1], 0);
    pair.submit(write(0, PAGE));
    pair.drain();
    assert!(pair.disk.unit_busy()[1] > 0);
}

#[test]
fn behind_an_odd_partition_one_page_in_four_crosses_stripe_units() {
    let profile = RotatingArrayProfile {
        partition_offset_bytes: 63 * 512,
        ..profile()
    };
    let mut bench = bench(&profile);
    let pages: Vec<Ask> = (0..40).map(|page| read(page * 16384, PAGE)).collect();
    completions(&mut bench, &pages);
    assert_eq!(bench.lawful_counters().units.served, 50);
    assert_eq!(bench.disk.capacity_bytes(), Some(profile.capacity_bytes()));
    assert_eq!(profile.capacity_bytes() % 512, 0);
}

/// A mix of everything; times of the submissions and of the end.
fn mixed_run(seed: u64) -> (Vec<u64>, u64) {
    let profile = RotatingArrayProfile {
        copies: 2,
        elevator: Elevator::ShortestPositioning,
        command_us: 20.0,
        latency_us: 100.0,
        ..cached(CacheProtection::Volatile)
    };
    let mut bench = Bench::new(&DiskProfile::RotatingArray(profile), seed);
    let mut moments = Vec::new();
    bench.open_load(2e9, 3000, |bench| {
        moments.push(bench.now);
        let address = bench.address(300_000_000_000, 512);
        match bench.address(20, 1) {
            0 => FLUSH,
            1..8 => write(address % (1 << 24), 512 * (1 + address as u32 % 300)),
            _ => read(address, PAGE),
        }
    });
    let counters = bench.lawful_counters();
    assert_eq!(
        counters.read.completed + counters.write.completed + counters.flush.completed,
        3000
    );
    assert!(counters.mechanics.absorbed > 0);
    (moments, bench.now)
}

#[test]
fn one_seed_gives_one_run() {
    assert_eq!(mixed_run(5), mixed_run(5));
    assert_ne!(mixed_run(5), mixed_run(6));
}

#[test]
fn after_a_power_cut_old_events_mean_nothing() {
    let mut bench = bench(&cached(CacheProtection::Volatile));
    for ask in [write(0, 3 << 20), read(0, PAGE), FLUSH] {
        bench.submit(ask);
    }
    bench.timer(3 * MILLISECOND, 0);
    while bench.next() != Some(Outcome::Timer(0)) {}
    bench.disk.power_cut(bench.now);
    let late = bench.submit(write(0, PAGE));
    let flush = bench.submit(FLUSH);
    let done: Vec<u64> = bench
        .drain()
        .into_iter()
        .map(|completion| completion.0)
        .collect();
    assert_eq!(done, [late, flush]);
}

#[test]
#[should_panic(expected = "reaches beyond")]
fn an_address_outside_is_the_callers_bug() {
    bench(&profile()).submit(read(16 * 100_000_000_000, 512));
}
