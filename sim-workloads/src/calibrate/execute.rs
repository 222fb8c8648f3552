//! The parts of a calibration in their order.

use std::path::{Path, PathBuf};

use anyhow::Context;
use innosim_engine::runtime::CostTable;
use innosim_engine::runtime::virtual_clock::disk::DiskProfile;

use super::cpu::{fit, micro_run, pages};
use super::disk::{self, facts, measure};
use super::host_profile::{Measurements, text};
use super::latches;
use super::report::CalibrationReport;
use crate::machine::MachineProfile;
use crate::progress::Progress;

/// Which parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// CPU costs.
    pub cpu: bool,
    /// Lines, wake-ups, switches.
    pub latches: bool,
    /// The disk.
    pub disk: bool,
}

/// What a calibration is asked to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which parts.
    pub parts: Parts,
    /// A directory on the disk to be measured; nothing is left in it.
    pub directory: PathBuf,
    /// Where the tables of the micro-runs go: in memory, if it can be.
    pub in_memory: PathBuf,
    /// The profile that takes care of what is not measured.
    pub base: MachineProfile,
    /// Seconds of a point or a micro-run in a round.
    pub seconds: f64,
    /// Rounds.
    pub rounds: usize,
    /// The call with its date, for the profile.
    pub call: String,
}

/// Where tables are that no disk is to slow down: the system's shared memory, or what the
/// system has for temporary files.
pub fn in_memory() -> PathBuf {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() {
        shared.into()
    } else {
        std::env::temp_dir()
    }
}

/// Whether a profile can be the base: its disk is to be replaced by one that is fitted.
///
/// # Errors
/// If it has several disks, or rotating ones.
pub fn check_base(base: &MachineProfile) -> anyhow::Result<()> {
    let disks: Vec<&DiskProfile> = base.disks.values().collect();
    anyhow::ensure!(
        matches!(disks[..], [DiskProfile::SolidState(_)]),
        "machine = {}: accepted is a profile with one disk, of the model solid_state",
        base.name
    );
    Ok(())
}

/// Measures, fits, and reports.
///
/// # Errors
/// If files cannot be made or requests fail.
pub fn calibrate(options: &Options, progress: &Progress) -> anyhow::Result<CalibrationReport> {
    let parts = options.parts;
    let mut machine = options.base.clone();
    let mut measured = Measurements::default();
    let mut warnings = Vec::new();
    let mut points = Vec::new();
    let temporary = |parent: &Path| {
        tempfile::Builder::new()
            .prefix("innosim-calibrate-")
            .tempdir_in(parent)
            .with_context(|| parent.display().to_string())
    };
    if parts.latches {
        let batches = (options.seconds * options.rounds as f64 * 2000.0) as usize;
        measured.latches = Some(latches::measure(batches.clamp(200, 5000)));
        measured.apply(&mut machine);
    }
    if parts.disk {
        let directory = temporary(&options.directory)?;
        let path = directory.path();
        let (seconds, rounds) = (options.seconds, options.rounds);
        let (found, notes) = measure::measure(path, seconds, rounds, progress)?;
        warnings.extend(notes);
        let facts = facts::facts(path);
        let copy = facts::page_copy_us(path)?;
        drop(directory);
        let fitted = disk::fit::fit(&machine, facts, &found, copy, progress)?;
        points.clone_from(&fitted.points);
        measured.disk = Some(fitted);
        measured.apply(&mut machine);
    }
    if parts.cpu {
        let directory = temporary(&options.in_memory)?;
        let effort = micro_run::Effort {
            seconds: options.seconds,
            rounds: options.rounds,
        };
        let observed = micro_run::observe(directory.path(), effort, progress)?;
        measured.cpu = Some(fit::fit(
            &observed,
            pages::measure(200),
            &CostTable::default(),
        ));
        measured.apply(&mut machine);
    }
    progress.finish();
    let profile = text(&machine, &measured, &options.base.name, &options.call);
    // What was written must be what was meant.
    MachineProfile::parse("the profile measured", &profile)?;
    Ok(CalibrationReport::new(
        options, &measured, points, profile, warnings,
    ))
}
