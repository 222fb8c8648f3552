//! Sixteen spindles read at random: rates by clients, and the span of the seeks.
//!
//! ```text
//!   N clients ──► read 16 KiB at a random place ──► wait ──► again
//!                        │
//!          0 ├───── tables, 120 GB ─────┤
//!          0 ├──────────── with the swollen system tablespace, 310 GB ────────────┤
//!             arms cross a part of each disk; how large a part, decides the seeks
//! ```
//!
//! The report (MySQL bug 57489) gives the rates of its read-only runs, whose CPU is far from
//! busy: they are the array's. In its update runs the system tablespace had swollen to 190 GB
//! with undo, and each request took 40 % longer *at a shorter queue*. Undo pages that compete
//! for the pool would have made more requests, not slower ones; a wider span makes slower ones.
//!
//! The estimate that a run should meet: N clients, M servers of S ms without memory serve
//! N / (N + M - 1) × M / S requests a second (a closed network whose states are equally
//! likely); sixteen of 5.8 ms meet the four published rates within 4 %. Real disks vary less,
//! and they choose what to serve next, so they gain more from a long queue.

mod tables;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use innosim_engine::runtime::device::Device;
use innosim_engine::runtime::profile::SpinSettings;
use innosim_engine::runtime::time::{MILLISECOND, to_seconds};
use innosim_engine::runtime::virtual_clock::disk::DiskProfile;
use innosim_engine::runtime::virtual_clock::{Settle, Simulation, SimulationOptions};
use innosim_engine::runtime::{WaitKind, now, settle, sleep, spawn, stream};

use super::Length;
use crate::machine::{FileKind, MachineProfile};

pub use tables::{published_reads, report};

const PAGE: u64 = 16 * 1024;
/// The tables, in bytes.
pub const NARROW: u64 = 120_000_000_000;
/// The tables and a system tablespace of 190 GB.
pub const WIDE: u64 = 310_000_000_000;

/// One cell of the experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Clients, each with one request outstanding.
    pub clients: u32,
    /// Bytes of the array over which requests are spread.
    pub span: u64,
    /// Share of requests that write.
    pub writes: f64,
}

/// What a cell gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellResult {
    /// Requests a second.
    pub rate: f64,
    /// Milliseconds from submission to completion, mean.
    pub latency_ms: f64,
    /// Milliseconds of a disk's operation, mean.
    pub service_ms: f64,
    /// Of those, moving the arm.
    pub seek_ms: f64,
    /// Of those, waiting for the sector to come round.
    pub rotation_ms: f64,
}

/// Whether the array holds the widest span that is read.
///
/// # Errors
/// If not, naming the disk, what it holds and what is accepted.
pub fn check_capacity(machine: &MachineProfile) -> anyhow::Result<()> {
    let name = &machine.placement[&FileKind::Tables];
    if let Some(DiskProfile::RotatingArray(disk)) = machine.disks.get(name)
        && disk.capacity_bytes() < WIDE
    {
        anyhow::bail!(
            "machine {}: disks.{name} holds {} bytes: this kernel accepts {WIDE} and more",
            machine.name,
            disk.capacity_bytes()
        );
    }
    Ok(())
}

/// Runs one cell.
///
/// # Errors
/// If the machine cannot be built or the simulation stalls.
pub fn run_cell(
    machine: &MachineProfile,
    cell: &Cell,
    length: Length,
    settle_rule: Settle,
    seed: u64,
) -> anyhow::Result<CellResult> {
    let options = SimulationOptions {
        settle: settle_rule,
        ..machine.simulation_options(seed, SpinSettings::default())
    };
    let device = machine.device(FileKind::Tables);
    let cell = cell.clone();
    let mut simulation = Simulation::new(&options)?;
    let (requests, latency, time) = simulation.run(move || {
        // Requests and the sum of their times.
        let done = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        for number in 0..cell.clients {
            let (done, cell) = (done.clone(), cell.clone());
            spawn("client", move || client(number, device, &cell, &done));
        }
        sleep(length.warm_up, WaitKind::Other);
        let snapshot = || [0, 1].map(|place: usize| done[place].load(Relaxed));
        let (before, start) = (snapshot(), now());
        sleep(length.measure, WaitKind::Other);
        let after = snapshot();
        (after[0] - before[0], after[1] - before[1], now() - start)
    })?;
    // The disks' own counters include the warm-up, in which they do the same.
    let counters = simulation.disk_counters(device.0.into());
    let counters = counters.ok_or_else(|| anyhow::anyhow!("the machine has no such disk"))?;
    let operations = counters.units.served.max(1) as f64 * MILLISECOND as f64;
    Ok(CellResult {
        rate: requests as f64 / to_seconds(time),
        latency_ms: latency as f64 / requests.max(1) as f64 / MILLISECOND as f64,
        service_ms: counters.units.service as f64 / operations,
        seek_ms: counters.mechanics.seek as f64 / operations,
        rotation_ms: counters.mechanics.rotation as f64 / operations,
    })
}

fn client(number: u32, device: Device, cell: &Cell, done: &[AtomicU64; 2]) {
    let mut stream = stream(&format!("client {number}"));
    loop {
        let address = stream.below(cell.span / PAGE) * PAGE;
        let time = if stream.uniform() < cell.writes {
            device.write(address, PAGE as u32, WaitKind::Other)
        } else {
            device.read(address, PAGE as u32, WaitKind::PageRead)
        };
        settle();
        done[0].fetch_add(1, Relaxed);
        done[1].fetch_add(time, Relaxed);
    }
}
