//! `innosim validate`: the same runs under both clocks on this host.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};

use super::{Failure, Outcome, output, warn};
use crate::calibrate::execute as calibration;
use crate::calibrate::host_profile::today;
use crate::machine::{HOST, MachineProfile};
use crate::progress::{Progress, say};
use crate::reproduce::Program;
use crate::reproduce::cache::CacheDirectory;
use crate::reproduce::execute::cache;
use crate::run::Problems;
use crate::validate::execute::{Options, validate};
use crate::validate::grid::Grid;

/// Run the same workloads on this host and on its calibrated profile, and compare.
///
/// Takes about 20 minutes on two CPUs, with --quick three. Runs that have ended are kept, so
/// that a call that was interrupted goes on where it stopped. The exit code is 1 if the median
/// error of throughput is above 15 % (or twice the spread of the real runs), or that of pages
/// written a transaction above 10 %.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A directory on the disk to run on, with 2 GiB free; nothing is left in it
    #[arg(long, value_name = "D", default_value = ".")]
    datadir: PathBuf,
    /// The profile of this host that `calibrate` has written [default: one that is measured
    /// now, and kept for the day]
    #[arg(long, value_name = "F.toml")]
    machine: Option<String>,
    /// Which cells
    #[arg(long, value_enum, default_value_t = GridName::Full)]
    grid: GridName,
    /// The grid `quick`, and a short calibration
    #[arg(long, conflicts_with = "grid")]
    quick: bool,
    /// Real runs of each cell, 1 to 100
    #[arg(
        long,
        value_name = "N",
        default_value = "2",
        allow_negative_numbers = true
    )]
    repeat: String,
    /// Seconds of each measurement, 1 to 3600 [default: that of the grid]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    time: Option<String>,
    /// Virtual runs at a time [default: as many as there are CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    jobs: Option<String>,
    /// Measure again what is kept of today's calls
    #[arg(long)]
    fresh: bool,
    /// Where runs are kept [default: innosim in XDG_CACHE_HOME, or in ~/.cache]
    #[arg(long, value_name = "D")]
    cache_dir: Option<PathBuf>,
    /// Write the figures as JSON to a file, or with `-` to standard output in place of text
    #[arg(long, value_name = "F|-")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum GridName {
    /// 36 cells.
    Full,
    /// 8 cells with smaller tables.
    Quick,
    /// The 6 cells about what a commit waits for.
    Commit,
}

/// What of a call can be wrong, read.
struct Checked {
    grid: Grid,
    repeats: u32,
    seconds: Option<f64>,
    jobs: usize,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let checked = self.check().map_err(|wrong| Failure::Call(wrong.into()))?;
        if let Some(path) = self.json.as_ref().filter(|path| path.as_os_str() != "-") {
            output::check_file("json", path)?;
        }
        let cache = cache(self.cache_dir.as_deref()).map_err(Failure::Call)?;
        let program = Program::this()
            .context("the program's own file")
            .map_err(Failure::Work)?;
        let progress = Progress::on_standard_error();
        let machine = match &self.machine {
            Some(machine) => machine.clone(),
            None => self
                .calibrated(&checked, &cache, &program, &progress)
                .map_err(Failure::Work)?,
        };
        let machine_text = machine_text(&machine).map_err(Failure::Call)?;
        let mut size = checked.grid.size();
        size.measure_s = checked.seconds.unwrap_or(size.measure_s);
        let options = Options {
            grid: checked.grid,
            size,
            repeats: checked.repeats,
            jobs: checked.jobs,
            directory: &self.datadir,
            machine,
            machine_text,
            cache: &cache,
            fresh: self.fresh,
            program,
            progress: &progress,
        };
        let validation = validate(&options).map_err(Failure::Work)?;
        output::write(&validation, self.json.as_deref()).map_err(Failure::Work)?;
        Ok(match validation.all_hold() {
            true => Outcome::Done,
            false => Outcome::CheckFailed,
        })
    }

    fn check(&self) -> Result<Checked, Problems> {
        let mut problems = Problems::default();
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
        let jobs = problems.whole("jobs", self.jobs.as_deref(), cpus, 1..=1024) as usize;
        let repeats = problems.whole("repeat", Some(&self.repeat), 2, 1..=100) as u32;
        let seconds = self
            .time
            .as_ref()
            .and_then(|text| match text.trim().parse::<f64>() {
                Ok(seconds) if (1.0..=3600.0).contains(&seconds) => Some(seconds),
                _ => {
                    problems.refuse("time", text, "a number of seconds from 1 to 3600");
                    None
                }
            });
        if !self.datadir.is_dir() {
            let value = self.datadir.display().to_string();
            problems.refuse("datadir", &value, "a directory that exists");
        }
        if let Some(machine) = &self.machine
            && let Err(error) = MachineProfile::load(machine)
        {
            problems.add(error);
        }
        problems.into_result()?;
        let grid = match (self.quick, self.grid) {
            (true, _) | (_, GridName::Quick) => Grid::Quick,
            (_, GridName::Full) => Grid::Full,
            (_, GridName::Commit) => Grid::Commit,
        };
        Ok(Checked {
            grid,
            repeats,
            seconds,
            jobs,
        })
    }

    /// The path of a profile that was measured today, or is measured now.
    fn calibrated(
        &self,
        checked: &Checked,
        cache: &CacheDirectory,
        program: &Program,
        progress: &Progress,
    ) -> anyhow::Result<String> {
        let seconds = if checked.grid == Grid::Quick {
            0.1
        } else {
            0.3
        };
        let place = std::fs::canonicalize(&self.datadir)?.display().to_string();
        // Of this program, for this directory, today.
        let name = {
            let what = format!("{}\n{place}\n{seconds}\n{}", program.identity, today());
            cache
                .keep_text("calibrations", "call.txt", &what)?
                .with_extension("toml")
        };
        if name.exists() && !self.fresh {
            say(format_args!(
                "innosim: note: the profile is {}",
                name.display()
            ));
            return Ok(name.display().to_string());
        }
        let base = MachineProfile::load(HOST)?;
        let options = calibration::Options {
            parts: calibration::Parts {
                cpu: true,
                latches: true,
                disk: true,
            },
            directory: self.datadir.clone(),
            in_memory: calibration::in_memory(),
            base,
            seconds,
            rounds: 2,
            call: format!(
                "innosim validate, a calibration of {seconds} s a point, {}",
                today()
            ),
        };
        let report = calibration::calibrate(&options, progress)?;
        warn(&report.warnings);
        output::write_file(&name, &report.profile)?;
        say(format_args!(
            "innosim: note: the profile is {}",
            name.display()
        ));
        Ok(name.display().to_string())
    }
}

/// The text of a profile by name or path.
fn machine_text(machine: &str) -> anyhow::Result<String> {
    if let Some(text) = crate::machine::built_in_text(machine) {
        return Ok(text.to_owned());
    }
    std::fs::read_to_string(machine).map_err(|error| anyhow!("{machine}: {error}"))
}
