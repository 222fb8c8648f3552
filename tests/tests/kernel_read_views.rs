//! The kernel experiment on read views: what saturates in each version, and by how much.
//!
//! A cell here runs for a third of a second after 200 ms. Its transactions wait for one
//! mutex, so their number varies less than a Poisson count of as many: for the smallest,
//! some 1,300 transactions, by less than 2.8 %, against a tolerance of 20 %.

use innosim_engine::runtime::LatchClass;
use innosim_engine::runtime::time::MILLISECOND;
use innosim_engine::runtime::virtual_clock::Settle;
use innosim_workloads::kernel::Length;
use innosim_workloads::kernel::read_views::{Cell, CellResult, Isolation, Version, run_cell};
use innosim_workloads::machine::MachineProfile;

const LENGTH: Length = Length {
    warm_up: 200 * MILLISECOND,
    measure: 333 * MILLISECOND,
};

fn run(version: Version, isolation: Isolation, threads: u32, settle: Settle) -> CellResult {
    let machine = MachineProfile::load("quad-144-ramdisk").expect("a built-in profile");
    let cell = Cell {
        version,
        isolation,
        threads,
    };
    run_cell(&machine.cpu, &cell, LENGTH, settle, 1).expect("the experiment runs")
}

#[track_caller]
fn within(what: &str, simulated: f64, expected: f64, share: f64) {
    let error = simulated / expected - 1.0;
    assert!(
        error.abs() <= share,
        "{what}: {simulated:.1} against {expected:.1}, {:+.1} %",
        error * 100.0
    );
}

/// Published transactions a second at 144 threads; 5.7 RC: the plateau of 72 to 1024.
#[test]
fn both_versions_meet_the_published_rates_at_144_threads() {
    use Isolation::{ReadCommitted, RepeatableRead};
    for (what, version, isolation, published) in [
        ("5.6 RC", Version::V56, ReadCommitted, 4472.0),
        ("5.6 RR", Version::V56, RepeatableRead, 17_757.0),
        ("5.7 RC", Version::V57, ReadCommitted, 15_000.0),
        ("5.7 RR", Version::V57, RepeatableRead, 49_500.0),
    ] {
        let result = run(version, isolation, 144, Settle::Lazy);
        within(what, result.tps, published, 0.2);
    }
}

/// Waiting transactions stay on the list that 5.6 walks; admission bounds who copies ids in
/// 5.7. So one falls as threads are added beyond admission, and the other does not.
#[test]
fn more_threads_than_admitted_slow_the_list_walk_only() {
    let list = |threads| {
        run(
            Version::V56,
            Isolation::ReadCommitted,
            threads,
            Settle::Lazy,
        )
        .tps
    };
    within("5.6 RC at 512", list(512), 1465.0, 0.2);
    let copy = |threads| {
        run(
            Version::V57,
            Isolation::ReadCommitted,
            threads,
            Settle::Lazy,
        )
        .tps
    };
    within("5.7 RC at 512 against 144", copy(512), copy(144), 0.1);
}

#[test]
fn lazy_settling_agrees_with_the_oracle() {
    for version in [Version::V56, Version::V57] {
        let [lazy, always] = [Settle::Lazy, Settle::Always]
            .map(|settle| run(version, Isolation::ReadCommitted, 144, settle));
        within("throughput", lazy.tps, always.tps, 0.02);
        let wait = |result: &CellResult| {
            let waits = &result.statistics.latches[LatchClass::TrxSys as usize];
            waits.wait as f64 / waits.acquired as f64
        };
        within("wait for trx_sys", wait(&lazy), wait(&always), 0.02);
    }
}
