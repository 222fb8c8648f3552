//! The solid-state disk against queueing theory, arithmetic and the order of things.

mod order;
mod queueing;
mod replay;

use super::{Admission, SolidStateProfile};
use crate::runtime::virtual_clock::disk::test_bench::Bench;
use crate::runtime::virtual_clock::disk::{CacheProtection, DiskProfile, ServiceTime};

/// One die, constant times, everything but the die practically free.
fn profile() -> SolidStateProfile {
    SolidStateProfile {
        dies: 1,
        max_request_kib: 128,
        command_us: 0.0,
        bandwidth_mib_s: 1e6,
        latency_us: 0.0,
        read: ServiceTime::Deterministic { mean_us: 100.0 },
        stripe_kib: 16,
        program: ServiceTime::Deterministic { mean_us: 500.0 },
        program_kib: 16,
        reads_first: false,
        write_buffer_kib: 0,
        admission: Admission::Fifo,
        cache: CacheProtection::Protected,
        flush_us: 10.0,
        merge_flushes: false,
        atomic_write_bytes: 4096,
    }
}

fn bench(profile: &SolidStateProfile) -> Bench {
    Bench::new(&DiskProfile::SolidState(profile.clone()), 11)
}

#[test]
fn errors_name_key_value_and_range() {
    let mut wrong = profile();
    wrong.dies = 0;
    wrong.program = ServiceTime::Lognormal {
        mean_us: 500.0,
        cv: 11.0,
    };
    wrong.write_buffer_kib = 100;
    wrong.bandwidth_mib_s = f64::NAN;
    let error = wrong.validate().unwrap_err().to_string();
    let expected = "dies = 0: accepted is 1 to 1024\n\
        bandwidth_mib_s = NaN: accepted is 1 to 1000000\n\
        program.cv = 11: accepted is 0.000001 to 10\n\
        write_buffer_kib = 100: accepted is 0, or max_request_kib + program_kib = 144 to 16777216";
    assert_eq!(error, expected);
    assert!(profile().validate().is_ok());
}

#[test]
fn a_profile_is_read_from_toml() {
    let text = r#"
        model = "solid_state"
        dies = 32
        max_request_kib = 128
        command_us = 2.0
        bandwidth_mib_s = 3000
        latency_us = 8.0
        read = { distribution = "lognormal", mean_us = 80.0, cv = 0.2 }
        stripe_kib = 16
        program = { distribution = "exponential", mean_us = 580.0 }
        program_kib = 16
        reads_first = true
        write_buffer_kib = 8192
        admission = "round_robin"
        cache = "volatile"
        flush_us = 400.0
        merge_flushes = true
        atomic_write_bytes = 16384
    "#;
    let parsed: DiskProfile = toml::from_str(text).unwrap();
    let expected = SolidStateProfile {
        dies: 32,
        command_us: 2.0,
        bandwidth_mib_s: 3000.0,
        latency_us: 8.0,
        read: ServiceTime::Lognormal {
            mean_us: 80.0,
            cv: 0.2,
        },
        program: ServiceTime::Exponential { mean_us: 580.0 },
        reads_first: true,
        write_buffer_kib: 8192,
        admission: Admission::RoundRobin,
        cache: CacheProtection::Volatile,
        flush_us: 400.0,
        merge_flushes: true,
        atomic_write_bytes: 16384,
        ..profile()
    };
    assert_eq!(parsed, DiskProfile::SolidState(expected));
    let again: DiskProfile = toml::from_str(&toml::to_string(&parsed).unwrap()).unwrap();
    assert_eq!(parsed, again);

    for (from, to, complaint) in [
        ("dies = 32", "dyes = 32", "dyes"),
        ("dies = 32", "", "dies"),
        ("\"exponential\"", "\"normal\"", "normal"),
        ("mean_us = 80.0, cv", "mean_us = 80.0, vc", "vc"),
    ] {
        let error = toml::from_str::<DiskProfile>(&text.replace(from, to)).unwrap_err();
        assert!(error.to_string().contains(complaint), "{error}");
    }
}

#[test]
fn the_file_layer_is_told_what_a_power_failure_does() {
    let volatile = SolidStateProfile {
        cache: CacheProtection::Volatile,
        atomic_write_bytes: 16384,
        ..profile()
    };
    let disk = bench(&volatile).disk;
    assert_eq!(disk.atomic_write_bytes(), 16384);
    assert_eq!(disk.cache_protection(), CacheProtection::Volatile);
    assert_eq!(disk.capacity_bytes(), None);
}
