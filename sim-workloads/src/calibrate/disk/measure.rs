//! The host's disk at all points, and a model's disk at the same.
//!
//! Rounds are interleaved: every point is measured once before any is measured again, so
//! that what else the host does for a while hits all points alike. A figure is the median
//! over the rounds.

use std::path::Path;

use innosim_engine::runtime::RealMachine;
use innosim_engine::runtime::files::FileSystem;
use innosim_engine::runtime::profile::SpinSettings;
use innosim_engine::runtime::time::{Time, from_seconds};
use innosim_engine::runtime::virtual_clock::Simulation;

use super::probe::{Action, Point, Sample, make_file, probe};
use crate::machine::MachineProfile;
use crate::progress::Progress;

/// A page.
const PAGE: u32 = 16 << 10;

/// All points, by what they are good for.
pub fn points() -> Vec<Point> {
    let point = |action, bytes, depth| Point {
        action,
        bytes,
        depth,
    };
    let mut points = Vec::new();
    for depth in [1, 2, 4, 8, 16, 32] {
        points.push(point(Action::Read, PAGE, depth));
    }
    for depth in [1, 2, 4, 8, 16, 32] {
        points.push(point(Action::Write, PAGE, depth));
    }
    for kib in [64, 256, 1024] {
        points.push(point(Action::Read, kib << 10, 2));
        points.push(point(Action::Write, kib << 10, 1));
        points.push(point(Action::Write, kib << 10, 4));
    }
    for bytes in [512, 1024, 2048, 4096] {
        points.push(point(Action::LogWriteAndSync, bytes, 1));
    }
    points.push(point(Action::LogWriteAndSync, 512, 4));
    for writes in [1, 4, 16, 64] {
        points.push(point(Action::WritesThenSync(writes), PAGE, 1));
    }
    for depth in [4, 16] {
        points.push(point(Action::WritesThenSync(1), PAGE, depth));
    }
    points
}

/// A point with what was measured there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The point.
    pub point: Point,
    /// The medians over the rounds.
    pub sample: Sample,
    /// Largest over smallest mean of the rounds, less one.
    pub spread: f64,
}

/// Measures the disk below a directory: each point so long, so many rounds.
///
/// # Errors
/// If files cannot be made, or a request fails.
pub fn measure(
    directory: &Path,
    length_s: f64,
    rounds: usize,
    progress: &Progress,
) -> anyhow::Result<(Vec<Measured>, Vec<String>)> {
    let points = points();
    let machine = RealMachine::new(1);
    machine.run(|| {
        let files = FileSystem::new();
        make_file(&files, directory, true)?;
        progress.expect((rounds * points.len()) as u64);
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); points.len()];
        for _ in 0..rounds {
            for (samples, &point) in samples.iter_mut().zip(&points) {
                let sample = probe(&files, directory, point, from_seconds(length_s))?;
                let (label, mean) = (point.label(), sample.mean_us);
                progress.step(&format!("{label}: {mean:.0} us"));
                samples.push(sample);
            }
        }
        let measured = points.iter().zip(&samples).map(|(&point, samples)| Measured {
            point,
            sample: medians(samples),
            spread: spread(samples),
        });
        Ok((measured.collect(), files.take_warnings()))
    })
}

fn median(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_unstable_by(f64::total_cmp);
    crate::stats::nearest_rank(&values, 0.5).unwrap_or(f64::NAN)
}

fn medians(samples: &[Sample]) -> Sample {
    Sample {
        count: samples.iter().map(|sample| sample.count).sum(),
        per_second: median(samples, |sample| sample.per_second),
        mean_us: median(samples, |sample| sample.mean_us),
        cv: median(samples, |sample| sample.cv),
        p50_us: median(samples, |sample| sample.p50_us),
        p95_us: median(samples, |sample| sample.p95_us),
        cpu_us: median(samples, |sample| sample.cpu_us),
    }
}

fn spread(samples: &[Sample]) -> f64 {
    let means = samples.iter().map(|sample| sample.mean_us);
    let (low, high) = means.fold((f64::INFINITY, 0.0_f64), |(low, high), mean| {
        (low.min(mean), high.max(mean))
    });
    high / low - 1.0
}

/// Runs a machine at a point, long enough for so many requests at the rate that is expected;
/// fewer of those that are large, or come with many others.
///
/// # Errors
/// If the machine cannot be built, or a request fails.
pub fn predict(
    machine: &MachineProfile,
    point: Point,
    expected_per_second: f64,
    requests: f64,
) -> anyhow::Result<Sample> {
    const FEWEST: f64 = 60.0;
    let with_each = match point.action {
        Action::WritesThenSync(writes) => 1.0 + f64::from(writes),
        _ => f64::from(point.bytes / PAGE).max(1.0),
    };
    let requests = (requests / with_each).max(FEWEST);
    let length: Time = from_seconds(requests / expected_per_second);
    let options = machine.simulation_options(1, SpinSettings::default());
    let mut simulation = Simulation::new(&options)?;
    simulation.run(move || {
        let files = FileSystem::new();
        let directory = Path::new("");
        make_file(&files, directory, false)?;
        probe(&files, directory, point, length)
    })?
}
