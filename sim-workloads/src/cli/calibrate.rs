//! `innosim calibrate`: this host, measured and written down as a machine profile.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, ValueEnum};

use super::{Failure, Outcome, output, warn};
use crate::calibrate::execute::{Options, Parts, calibrate, check_base, in_memory};
use crate::calibrate::host_profile::today;
use crate::machine::{HOST, MachineProfile};
use crate::progress::{Progress, say};
use crate::run::Problems;

/// Measure this host under the real clock, and write a machine profile for `--machine`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What to measure.
    #[arg(value_enum, default_value_t = Part::All)]
    part: Part,
    /// A directory on the disk to measure, with 600 MiB free; nothing is left in it
    #[arg(long, value_name = "D", default_value = ".")]
    datadir: PathBuf,
    /// Write the profile to a file [default: standard output, after the tables]
    #[arg(long, value_name = "F.toml")]
    output: Option<PathBuf>,
    /// The profile from which what is not measured is taken; what an earlier call has written,
    /// for instance
    #[arg(long, value_name = "NAME|F.toml", default_value = HOST)]
    machine: String,
    /// Seconds of each point and of each micro-run in a round, 0.05 to 60
    #[arg(
        long,
        value_name = "S",
        default_value = "0.3",
        allow_negative_numbers = true
    )]
    time: String,
    /// Rounds, 1 to 100
    #[arg(
        long,
        value_name = "N",
        default_value = "3",
        allow_negative_numbers = true
    )]
    repeat: String,
    /// Write the figures as JSON to a file, or with `-` to standard output in place of text
    #[arg(long, value_name = "F|-")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// What the engine's own work costs, and the driver's.
    Cpu,
    /// Cache lines, wake-ups, switches.
    Latches,
    /// Reads, writes and syncs of the disk below --datadir.
    Disk,
    /// All of them.
    All,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Cpu => "cpu",
            Part::Latches => "latches",
            Part::Disk => "disk",
            Part::All => "all",
        }
    }
}

impl Arguments {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let options = self.options()?;
        for (option, path) in [("output", &self.output), ("json", &self.json)] {
            if let Some(path) = path.as_ref().filter(|path| path.as_os_str() != "-") {
                output::check_file(option, path)?;
            }
        }
        let progress = Progress::on_standard_error();
        let report = calibrate(&options, &progress).map_err(Failure::Work)?;
        warn(&report.warnings);
        // The profile first: it is what may have taken minutes.
        if let Some(path) = &self.output {
            output::write_file(path, &report.profile).map_err(Failure::Work)?;
            say(format_args!(
                "innosim: the profile is in {}",
                path.display()
            ));
        }
        output::write(&report, self.json.as_deref()).map_err(Failure::Work)?;
        let prints_json = self
            .json
            .as_ref()
            .is_some_and(|path| path.as_os_str() == "-");
        if self.output.is_none() && !prints_json {
            output::print(&format!("\n{}", report.profile)).map_err(Failure::Work)?;
        }
        Ok(Outcome::Done)
    }

    fn options(&self) -> Result<Options, Failure> {
        let mut problems = Problems::default();
        let rounds = problems.whole("repeat", Some(&self.repeat), 3, 1..=100);
        let seconds = match self.time.trim().parse::<f64>() {
            Ok(seconds) if (0.05..=60.0).contains(&seconds) => seconds,
            _ => {
                problems.refuse("time", &self.time, "a number of seconds from 0.05 to 60");
                0.3
            }
        };
        if !self.datadir.is_dir() {
            let value = self.datadir.display().to_string();
            problems.refuse("datadir", &value, "a directory that exists");
        }
        let base = MachineProfile::load(&self.machine);
        match &base {
            Err(error) => problems.add(error),
            Ok(base) => {
                if let Err(error) = check_base(base) {
                    problems.add(error);
                }
            }
        }
        problems
            .into_result()
            .map_err(|problems| Failure::Call(problems.into()))?;
        let base = base.map_err(|error| Failure::Call(anyhow!(error)))?;
        let part = self.part;
        let is = |wanted| part == wanted || part == Part::All;
        Ok(Options {
            parts: Parts {
                cpu: is(Part::Cpu),
                latches: is(Part::Latches),
                disk: is(Part::Disk),
            },
            directory: self.datadir.clone(),
            in_memory: in_memory(),
            base,
            seconds,
            rounds: rounds as usize,
            call: format!(
                "innosim calibrate {} --time {} --repeat {}, {}",
                part.name(),
                self.time.trim(),
                self.repeat.trim(),
                today()
            ),
        })
    }
}
