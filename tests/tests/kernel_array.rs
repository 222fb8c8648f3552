//! The kernel experiment on spindles: published rates, the span of seeks, closed forms.
//!
//! Runs here last 20 s after 2 s. A rate of n reads in 20 s has a relative standard deviation
//! of at most 1 / sqrt(n), that of a Poisson count (disks are more regular): 0.7 % for the
//! slowest of the published rates, a ninth of the tolerance of 6 %.

use innosim_engine::runtime::time::SECOND;
use innosim_engine::runtime::virtual_clock::Settle;
use innosim_engine::runtime::virtual_clock::disk::{
    DiskProfile, DriveProfile, Elevator, RotatingArrayProfile,
};
use innosim_workloads::kernel::Length;
use innosim_workloads::kernel::array::{Cell, CellResult, NARROW, WIDE, published_reads, run_cell};
use innosim_workloads::machine::MachineProfile;

const LENGTH: Length = Length {
    warm_up: 2 * SECOND,
    measure: 20 * SECOND,
};

fn profile() -> MachineProfile {
    MachineProfile::load("array-16-spindles").expect("a built-in profile")
}

fn changed(change: impl FnOnce(&mut RotatingArrayProfile)) -> MachineProfile {
    let mut machine = profile();
    match machine.disks.get_mut("array") {
        Some(DiskProfile::RotatingArray(array)) => change(array),
        other => panic!("the profile has an array, not {other:?}"),
    }
    machine
}

fn reads(machine: &MachineProfile, clients: u32, span: u64, settle: Settle) -> CellResult {
    let cell = Cell {
        clients,
        span,
        writes: 0.0,
    };
    run_cell(machine, &cell, LENGTH, settle, 1).expect("the experiment runs")
}

#[track_caller]
fn within(what: &str, simulated: f64, expected: f64, share: f64) {
    let error = simulated / expected - 1.0;
    assert!(
        error.abs() <= share,
        "{what}: {simulated:.3} against {expected:.3}, {:+.1} %",
        error * 100.0
    );
}

#[test]
fn the_published_rates_are_met_within_six_percent() {
    let published = published_reads().unwrap();
    assert_eq!(
        published,
        [(8, 961.0), (16, 1373.0), (32, 1825.0), (64, 2316.0)]
    );
    for (clients, rate) in published {
        let result = reads(&profile(), clients, NARROW, Settle::Lazy);
        within(&format!("{clients} clients"), result.rate, rate, 0.06);
        // Little's law over the clients, who do nothing but wait for the array.
        let inside = result.rate * result.latency_ms / 1e3;
        within("clients inside", inside, clients.into(), 0.01);
    }
}

#[test]
fn a_wider_span_costs_seeks_and_nothing_else() {
    // One client: no choice for the elevator, half a revolution of 6 ms on average.
    let narrow = reads(&profile(), 1, NARROW, Settle::Lazy);
    let wide = reads(&profile(), 1, WIDE, Settle::Lazy);
    for result in [narrow, wide] {
        // 3,500 reads of uniform(0, 6) ms: the mean has a standard error of 0.03 ms.
        assert!((result.rotation_ms - 3.0).abs() < 0.12, "{result:?}");
    }
    let seeks = wide.seek_ms - narrow.seek_ms;
    assert!((0.85..1.1).contains(&seeks), "{seeks}");
    let rest = (wide.service_ms - narrow.service_ms) - seeks;
    assert!(rest.abs() < 0.12, "{rest}");
    // No span at all: the arm crosses no track to speak of.
    let still = reads(&profile(), 1, 64 << 20, Settle::Lazy);
    assert!(still.seek_ms < 0.25, "{still:?}");
    assert!(still.rate > 1.3 * narrow.rate);
}

#[test]
fn sixteen_memoryless_servers_meet_the_closed_form() {
    let machine = changed(|array| {
        array.copies = 1;
        array.mirror_reads = Default::default();
        array.partition_offset_bytes = 0;
        array.drive = DriveProfile::Exponential { mean_ms: 5.8 };
        array.elevator = Elevator::Fifo;
        array.command_us = 0.0;
        array.latency_us = 0.0;
    });
    for clients in [8, 64] {
        let expected = f64::from(clients) / f64::from(clients + 15) * 16.0 / 5.8e-3;
        let result = reads(&machine, clients, NARROW, Settle::Lazy);
        // 0.7 % is one standard deviation; the host's system calls take 0.1 %.
        within(&format!("{clients} clients"), result.rate, expected, 0.025);
    }
}

#[test]
fn disks_that_may_not_choose_gain_little_from_a_long_queue() {
    let by_age = changed(|array| array.elevator = Elevator::Fifo);
    let at = |machine: &MachineProfile| reads(machine, 64, NARROW, Settle::Lazy);
    let (choosing, by_age) = (at(&profile()), at(&by_age));
    assert!(by_age.rate < 0.75 * choosing.rate, "{}", by_age.rate);
    assert!(by_age.rotation_ms > 2.0 * choosing.rotation_ms);
}

#[test]
fn settling_at_every_latch_gives_the_same_figures() {
    for clients in [8, 64] {
        let lazy = reads(&profile(), clients, NARROW, Settle::Lazy);
        let always = reads(&profile(), clients, NARROW, Settle::Always);
        within("reads/s", lazy.rate, always.rate, 0.02);
        within("latency", lazy.latency_ms, always.latency_ms, 0.02);
    }
}
