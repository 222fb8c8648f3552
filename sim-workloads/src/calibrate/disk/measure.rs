//! The host's disk at all points, and a model's disk at the same.
//!
//! Rounds are interleaved: every point is measured once before any is measured again, so
//! that what else the host does for a while hits all points alike. What counts is the round
//! with the least mean, because others on the host only add to it.

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
    /// Of the round with the least mean.
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
                let sample = probe(&files, directory, point, from_seconds(length_s), usize::MAX)?;
                let (label, mean) = (point.label(), sample.mean_us);
                progress.step(&format!("{label}: {mean:.0} us"));
                samples.push(sample);
            }
        }
        let measured = points
            .iter()
            .zip(&samples)
            .map(|(&point, samples)| Measured {
                point,
                sample: least(samples),
                spread: spread(samples),
            });
        Ok((measured.collect(), files.take_warnings()))
    })
}

/// The round with the least mean time.
fn least(samples: &[Sample]) -> Sample {
    let by_mean = |a: &&Sample, b: &&Sample| a.mean_us.total_cmp(&b.mean_us);
    *samples
        .iter()
        .min_by(by_mean)
        .expect("there is at least one round")
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
    // Where the model is faster than expected the time would hold too many.
    let most = (2.0 * requests / f64::from(point.depth)).ceil() as usize;
    let options = machine.simulation_options(1, SpinSettings::default());
    let mut simulation = Simulation::new(&options)?;
    simulation.run(move || {
        let files = FileSystem::new();
        let directory = Path::new("");
        make_file(&files, directory, false)?;
        probe(&files, directory, point, length, most)
    })?
}
