//! The disk model's parameters from the points measured.
//!
//! The fitted machine is *run* at every point, and parameters are changed one after the other
//! for as long as that brings the run closer to what was measured:
//!
//! ```text
//!   parameter           moved by these points
//!   latency, command    all              what nobody queues for, and what everybody does
//!   bandwidth           large requests
//!   read, dies          reads            latency at depth 1, plateau at depth 32
//!   program, buffer     writes, syncs    a write is complete in the buffer, or on the medium
//!   flush               syncs
//! ```
//!
//! What is made small is the sum of squares of ln(predicted / measured), a point weighted by
//! how well its rounds agree. Steps begin at a half and are halved until they are a fortieth: finer
//! is below what a host repeats. Parameters that nothing hangs on stay where they began: with
//! more dies than requests, say, the number of dies makes no difference.

use innosim_engine::runtime::virtual_clock::disk::{
    CacheProtection, DiskProfile, ServiceTime, SolidStateProfile,
};
use serde::Serialize;

use super::measure::{Measured, predict};
use super::probe::{Action, Point, Sample};
use crate::machine::MachineProfile;
use crate::progress::Progress;

/// A point, measured and predicted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FittedPoint {
    /// The point.
    pub point: Point,
    /// On the host.
    pub measured: Sample,
    /// Largest over smallest mean of the host's rounds, less one.
    pub spread: f64,
    /// On the fitted machine.
    pub predicted: Sample,
    /// Of the mean time: (predicted - measured) / measured.
    pub relative_error: f64,
}

/// A fitted disk.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskFit {
    /// The machine with it, and with the CPU costs of I/O measured.
    pub machine: MachineProfile,
    /// Its disk.
    pub disk: SolidStateProfile,
    /// Every point.
    pub points: Vec<FittedPoint>,
    /// Median of the absolute relative errors.
    pub median_error: f64,
}

/// What the system says of the disk itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskFacts {
    /// `queue/max_sectors_kb`.
    pub max_request_kib: Option<u32>,
    /// `queue/physical_block_size`.
    pub physical_block_bytes: Option<u32>,
    /// `queue/write_cache` says that a FLUSH is needed.
    pub write_back: Option<bool>,
}

/// The points that a parameter moves.
type Moves = fn(&Point) -> bool;
/// A parameter, to be multiplied.
type Parameter = fn(&mut SolidStateProfile, f64);

fn is_read(point: &Point) -> bool {
    point.action == Action::Read
}

/// Whether a request is a page.
fn is_page(point: &Point) -> bool {
    point.bytes == 16 << 10
}

fn is_sync(point: &Point) -> bool {
    matches!(
        point.action,
        Action::WritesThenSync(_) | Action::LogWriteAndSync
    )
}

fn is_write(point: &Point) -> bool {
    !is_read(point)
}

fn any(_: &Point) -> bool {
    true
}

const PARAMETERS: [(Moves, Parameter); 7] = [
    (any, |disk, factor| {
        disk.latency_us = (disk.latency_us * factor).clamp(0.1, 1e5)
    }),
    (is_read, |disk, factor| scale(&mut disk.read, factor)),
    (any, |disk, factor| {
        disk.command_us = (disk.command_us * factor).clamp(0.01, 1e4)
    }),
    (any, |disk, factor| {
        disk.bandwidth_mib_s = (disk.bandwidth_mib_s * factor).clamp(1.0, 1e6)
    }),
    (any, |disk, factor| {
        let dies = f64::from(disk.dies);
        // By one at least.
        let next = if factor > 1.0 {
            (dies * factor).max(dies + 1.0)
        } else {
            (dies * factor).min(dies - 1.0)
        };
        disk.dies = next.clamp(1.0, 256.0) as u32;
    }),
    (is_write, |disk, factor| scale(&mut disk.program, factor)),
    (is_sync, |disk, factor| {
        disk.flush_us = (disk.flush_us * factor).clamp(0.1, 1e6)
    }),
];

fn scale(time: &mut ServiceTime, factor: f64) {
    if let ServiceTime::Lognormal { mean_us, .. } = time {
        *mean_us = (*mean_us * factor).clamp(0.01, 1e6);
    }
}

/// Fits the disk of a machine that has one, and its CPU's costs of I/O.
///
/// # Errors
/// If the machine cannot be run.
pub fn fit(
    base: &MachineProfile,
    facts: DiskFacts,
    measured: &[Measured],
    page_copy_us: f64,
    progress: &Progress,
) -> anyhow::Result<DiskFit> {
    let mut machine = base.clone();
    machine.cpu.page_copy_us = page_copy_us;
    let single = |action| {
        measured
            .iter()
            .find(|m| m.point.action == action && m.point.depth == 1)
            .map(|m| m.sample)
    };
    let (read, write) = (single(Action::Read), single(Action::Write));
    // The CPU of a request differs: a device that is busy need not be told of one more. What
    // an engine with many in flight pays is nearer to the median over the depths.
    let pages = measured
        .iter()
        .filter(|m| matches!(m.point.action, Action::Read | Action::Write) && is_page(&m.point));
    let mut cpu: Vec<f64> = pages.clone().map(|m| m.sample.cpu_us).collect();
    cpu.sort_unstable_by(f64::total_cmp);
    if let Some(cpu) = crate::stats::nearest_rank(&cpu, 0.5) {
        // A request is a call and the switch back to the thread that waited.
        machine.cpu.io_call_us = (cpu - machine.cpu.context_switch_us).clamp(0.1, 1000.0);
    }
    let most_per_second = pages.map(|m| m.sample.per_second).fold(1.0, f64::max);
    let start = start(facts, read, write, most_per_second, &machine);
    let mut best: Option<(f64, SolidStateProfile)> = None;
    progress.expect(2);
    // A write that is complete in a buffer, and one that is complete on the medium.
    for buffer_kib in [65_536, 0] {
        let begin = SolidStateProfile {
            write_buffer_kib: buffer_kib,
            ..start.clone()
        };
        let (error, disk) = descend(&machine, begin, measured)?;
        progress.step(&format!(
            "write buffer {buffer_kib} KiB: sum of squares {error:.3}"
        ));
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, disk));
        }
    }
    let (_, mut disk) = best.expect("two were tried");
    if let (Some(read), ServiceTime::Lognormal { mean_us, cv }) = (read, &mut disk.read) {
        *cv = (read.cv * read.mean_us / *mean_us).clamp(0.05, 3.0);
    }
    machine = with_disk(&machine, &disk);
    let mut points = Vec::new();
    for m in measured {
        let predicted = predict(&machine, m.point, m.sample.per_second, 4000.0)?;
        points.push(FittedPoint {
            point: m.point,
            measured: m.sample,
            spread: m.spread,
            predicted,
            relative_error: predicted.mean_us / m.sample.mean_us - 1.0,
        });
    }
    let mut errors: Vec<f64> = points
        .iter()
        .map(|point| point.relative_error.abs())
        .collect();
    errors.sort_unstable_by(f64::total_cmp);
    let median_error = crate::stats::nearest_rank(&errors, 0.5).unwrap_or(f64::NAN);
    Ok(DiskFit {
        machine,
        disk,
        points,
        median_error,
    })
}

/// Where the descent begins: sums of times at depth 1.
fn start(
    facts: DiskFacts,
    read: Option<Sample>,
    write: Option<Sample>,
    most_per_second: f64,
    machine: &MachineProfile,
) -> SolidStateProfile {
    let cpu = &machine.cpu;
    let outside = cpu.io_call_us + cpu.wake_latency_us + cpu.context_switch_us;
    let beyond = |sample: Option<Sample>| sample.map_or(50.0, |s| (s.mean_us - outside).max(2.0));
    let (read_us, write_us) = (beyond(read), beyond(write));
    let least = read_us.min(write_us);
    let lognormal = |mean_us: f64, cv| ServiceTime::Lognormal {
        mean_us: mean_us.max(1.0),
        cv,
    };
    SolidStateProfile {
        dies: 16,
        max_request_kib: facts.max_request_kib.unwrap_or(1024).clamp(4, 4096),
        // At most: it may be the CPUs that limit the rate.
        command_us: (1e6 / most_per_second).clamp(0.01, 1e4),
        bandwidth_mib_s: 3000.0,
        latency_us: least * 0.6,
        read: lognormal(read_us - least * 0.6, 0.5),
        stripe_kib: 16,
        program: lognormal(write_us - least * 0.6, 0.3),
        program_kib: 16,
        reads_first: true,
        write_buffer_kib: 65_536,
        admission: innosim_engine::runtime::virtual_clock::disk::Admission::RoundRobin,
        cache: match facts.write_back {
            Some(false) => CacheProtection::Protected,
            _ => CacheProtection::Volatile,
        },
        flush_us: 20.0,
        merge_flushes: true,
        atomic_write_bytes: facts
            .physical_block_bytes
            .filter(|bytes| bytes.is_power_of_two() && (512..=1 << 20).contains(bytes))
            .unwrap_or(512),
    }
}

fn with_disk(machine: &MachineProfile, disk: &SolidStateProfile) -> MachineProfile {
    let mut machine = machine.clone();
    for place in machine.disks.values_mut() {
        *place = DiskProfile::SolidState(disk.clone());
    }
    machine
}

/// Changes one parameter after the other; the sum of squares that is left, and the disk.
fn descend(
    machine: &MachineProfile,
    mut disk: SolidStateProfile,
    measured: &[Measured],
) -> anyhow::Result<(f64, SolidStateProfile)> {
    const REQUESTS: f64 = 400.0;
    let square = |disk: &SolidStateProfile, m: &Measured| -> anyhow::Result<f64> {
        let predicted = predict(
            &with_disk(machine, disk),
            m.point,
            m.sample.per_second,
            REQUESTS,
        )?;
        let error = (predicted.mean_us / m.sample.mean_us).ln();
        // Half the spread of the rounds is taken for a standard deviation.
        let variance = 0.05 * 0.05 + m.spread * m.spread / 4.0;
        Ok(error * error * 0.05 * 0.05 / variance)
    };
    let mut squares = measured
        .iter()
        .map(|m| square(&disk, m))
        .collect::<anyhow::Result<Vec<f64>>>()?;
    let mut step: f64 = 0.5;
    while step > 0.02 {
        let mut improved = false;
        for (moves, parameter) in PARAMETERS {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                let mut changed = disk.clone();
                parameter(&mut changed, factor);
                if changed == disk {
                    continue;
                }
                let mut after = squares.clone();
                for (square_of, m) in after.iter_mut().zip(measured) {
                    if moves(&m.point) {
                        *square_of = square(&changed, m)?;
                    }
                }
                let (old, new): (f64, f64) = (squares.iter().sum(), after.iter().sum());
                if new < old * 0.999 {
                    (disk, squares) = (changed, after);
                    improved = true;
                    break;
                }
            }
        }
        if !improved {
            step /= 2.0;
        }
    }
    Ok((squares.iter().sum(), disk))
}
