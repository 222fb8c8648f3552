//! From arguments to a plan: everything is read and checked before anything is done.
//!
//! ```text
//!   arguments ──► numbers, names ──┐
//!   option file ──► options ───────┼──► all problems at once, or a plan
//!   machine profile ──► facts ─────┤
//!   workload ──► script, schema ───┘
//! ```

use std::fmt;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use innosim_engine::redo_log::RedoSettings;
use innosim_engine::runtime::profile::SpinSettings;
use innosim_engine::runtime::time::{Time, from_seconds};
use innosim_engine::runtime::virtual_clock::Settle;
use innosim_engine::sysvar::{Excerpt, Flavor, Level, Options, Settings, examine, resolve};

use super::arguments::RunArguments;
use super::not_built::not_built;
use super::option_files::HostOptionFiles;
use crate::machine::{HOST, MachineProfile};
use crate::workload::random::RandomType;
use crate::workload::schema::Schema;
use crate::workload::{Script, ScriptOptions};

/// Which clock a run is under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The simulation's.
    Virtual,
    /// The host's.
    Real,
}

impl Clock {
    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Clock::Virtual => "virtual",
            Clock::Real => "real",
        }
    }
}

/// How long a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// Before the measurement.
    pub warm_up: Time,
    /// The measurement ends after this time, if it has not ended before.
    pub time: Option<Time>,
    /// It ends after so many events, if it has not ended before.
    pub events: Option<u64>,
}

/// Where on the host a run's files are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RunFiles {
    /// In a temporary directory, and gone afterwards.
    #[default]
    Temporary,
    /// In this directory, with the run's changes afterwards.
    Kept(PathBuf),
    /// In this directory, which has all tables and stays as it is.
    Base(PathBuf),
}

/// What is set otherwise while tables are loaded: the files are the same, but a table that
/// is not complete need not survive a crash, so that nothing is written twice.
pub const LOADING: [&str; 4] = [
    "innodb_doublewrite=OFF",
    "innodb_flush_method=fsync",
    "innodb_buffer_pool_instances=1",
    "innodb_fast_shutdown=1",
];

/// Buffer pool of the engine that loads, which fills pages one after the other.
const LOADING_POOL_BYTES: u64 = 128 << 20;

/// A run, ready to be carried out.
#[derive(Debug, Clone)]
pub struct RunPlan {
    /// Which clock.
    pub clock: Clock,
    /// The machine.
    pub machine: MachineProfile,
    /// Every system variable.
    pub settings: Settings,
    /// The same but for a few that matter to loading: see [`LOADING`].
    pub loading: Settings,
    /// What the clients do, on tables of scaled size.
    pub script: Script,
    /// The tables, of scaled size.
    pub schema: Schema,
    /// Client threads.
    pub threads: u32,
    /// Tables.
    pub tables: u32,
    /// Rows a table before scaling.
    pub table_size: u64,
    /// What sizes are divided by.
    pub scale: NonZeroU32,
    /// The seed.
    pub seed: u64,
    /// When debts of CPU are settled.
    pub settle: Settle,
    /// How long.
    pub length: Length,
    /// Time between intermediate lines, if there are any.
    pub report_interval: Option<Time>,
    /// Where the files are.
    pub files: RunFiles,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// All that is wrong with a call; one problem a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems(Vec<String>);

impl Problems {
    /// One more.
    pub fn add(&mut self, problem: impl fmt::Display) {
        self.0.push(problem.to_string());
    }

    /// All of another list that are not here yet.
    pub fn merge(&mut self, others: Problems) {
        for other in others.0 {
            if !self.0.contains(&other) {
                self.0.push(other);
            }
        }
    }

    /// Nothing, if there is none.
    ///
    /// # Errors
    /// The problems, if there are any.
    pub fn into_result(self) -> Result<(), Problems> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }

    /// An option has a value that is not accepted.
    pub fn refuse(&mut self, option: &str, value: &str, accepted: impl fmt::Display) {
        let value = Excerpt(value);
        self.add(format_args!("--{option}={value}: accepted is {accepted}"));
    }

    /// A whole number within a range; the default where it is not given or wrong.
    pub fn whole(
        &mut self,
        option: &str,
        text: Option<&str>,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> u64 {
        let Some(text) = text else { return default };
        match text.trim().parse() {
            Ok(value) if range.contains(&value) => value,
            _ => {
                let (low, high) = (range.start(), range.end());
                self.refuse(
                    option,
                    text,
                    format_args!("a whole number from {low} to {high}"),
                );
                default
            }
        }
    }

    /// Seconds from 0 to ten million, with decimals.
    pub fn seconds(&mut self, option: &str, text: Option<&str>, default: f64) -> f64 {
        const LONGEST: f64 = 1e7;
        let Some(text) = text else { return default };
        match text.trim().parse() {
            Ok(value) if (0.0..=LONGEST).contains(&value) => value,
            _ => {
                self.refuse(option, text, "a number of seconds from 0 to 10000000");
                default
            }
        }
    }

    /// Something with a name.
    fn named<T: FromStr<Err: fmt::Display> + Default>(&mut self, text: Option<&str>) -> T {
        match text.map_or(Ok(T::default()), T::from_str) {
            Ok(value) => value,
            Err(problem) => {
                self.add(problem);
                T::default()
            }
        }
    }

    /// One of a few words, the first of which is the default.
    pub fn choice<T: Copy>(
        &mut self,
        option: &str,
        text: Option<&str>,
        choices: &[(&str, T)],
    ) -> T {
        let (_, default) = choices[0];
        let Some(text) = text else { return default };
        match choices.iter().find(|(name, _)| *name == text) {
            Some((_, value)) => *value,
            None => {
                let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
                self.refuse(option, text, names.join(" or "));
                default
            }
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Problems {}

impl RunArguments {
    /// Reads everything and changes nothing.
    ///
    /// # Errors
    /// All that is wrong with the options, the option file, the machine profile and the
    /// workload.
    pub fn plan(&self) -> Result<RunPlan, Problems> {
        let mut problems = Problems::default();
        let clocks = [("virtual", Clock::Virtual), ("real", Clock::Real)];
        let clock = problems.choice("clock", self.clock.as_deref(), &clocks);
        let settles = [("lazy", Settle::Lazy), ("always", Settle::Always)];
        let settle = problems.choice("settle", self.settle.as_deref(), &settles);
        let flavor: Flavor = problems.named(self.flavor.as_deref());
        let whole = |problems: &mut Problems, option, text: &Option<String>, default, range| {
            problems.whole(option, text.as_deref(), default, range)
        };
        let tables = whole(&mut problems, "tables", &self.tables, 1, 1..=65_536) as u32;
        let rows_max = i32::MAX as u64;
        let table_size = whole(
            &mut problems,
            "table-size",
            &self.table_size,
            10_000,
            1..=rows_max,
        );
        let threads = whole(&mut problems, "threads", &self.threads, 1, 1..=16_384) as u32;
        let scale = whole(&mut problems, "scale", &self.scale, 1, 1..=1_000_000) as u32;
        let scale = NonZeroU32::new(scale).unwrap_or(NonZeroU32::MIN);
        let seed = whole(&mut problems, "seed", &self.seed, 1, 0..=u64::MAX);
        let length = self.length(&mut problems);
        let every = self.report_interval.as_deref();
        let report_interval = from_seconds(problems.seconds("report-interval", every, 0.0));
        self.check_directories(clock, &mut problems);

        let options = ScriptOptions {
            threads,
            tables,
            table_size: (table_size / u64::from(scale.get())).max(1) as u32,
            rand_type: self.rand_type(&mut problems),
            ..ScriptOptions::default()
        };
        let workload = self.workload.as_deref().unwrap_or("oltp_read_write");
        let script = Script::new(workload, &options, seed);
        let machine = MachineProfile::load(self.machine.as_deref().unwrap_or(match clock {
            Clock::Virtual => "laptop-nvme",
            Clock::Real => HOST,
        }));
        // Without a machine the defaults are not known, but what is malformed is.
        let facts = machine
            .as_ref()
            .map_or(UNKNOWN_MACHINE, MachineProfile::facts);
        let mut options = self.options();
        let settings = resolve(flavor, &options, facts, scale);
        for assignment in LOADING {
            options.set(assignment);
        }
        let pool = LOADING_POOL_BYTES * u64::from(scale.get());
        options.set(&format!("innodb_buffer_pool_size={pool}"));
        // What is wrong with these is wrong with the others, too.
        let loading = examine(flavor, &options, facts, scale).settings;
        match &settings {
            Err(errors) => errors.iter().for_each(|error| problems.add(error)),
            Ok(settings) => {
                if let Err(error) = RedoSettings::from_variables(settings) {
                    problems.add(error);
                }
            }
        }
        if let Err(error) = &machine {
            problems.add(error);
        }
        if let Err(error) = &script {
            problems.add(error);
        }
        problems.into_result()?;
        let (Ok(settings), Ok(machine), Ok(script)) = (settings, machine, script) else {
            unreachable!("each of them has left a problem");
        };

        let mut warnings: Vec<String> = settings.warnings().iter().map(in_words).collect();
        warnings.extend(not_built(flavor));
        if clock == Clock::Virtual {
            warnings.extend(machine.placement_warnings());
        } else if machine.name != HOST {
            warnings.push(format!(
                "the run is on this host: of the machine {} only CPUs and memory count, for \
                 derived defaults",
                machine.name
            ));
        }
        Ok(RunPlan {
            clock,
            schema: Schema::new(&script, seed),
            // 0.4 has one table whatever is asked for.
            tables: script.options().tables,
            machine,
            settings,
            loading,
            script,
            threads,
            table_size,
            scale,
            seed,
            settle,
            length,
            report_interval: (report_interval > 0).then_some(report_interval),
            files: self.files(),
            warnings,
        })
    }

    fn check_directories(&self, clock: Clock, problems: &mut Problems) {
        if let Some(directory) = &self.datadir
            && directory.exists()
            && !directory.is_dir()
        {
            let value = directory.display().to_string();
            let accepted = "a directory, or a path where there is nothing";
            problems.refuse("datadir", &value, accepted);
        }
        if let Some(directory) = &self.base {
            let value = directory.display().to_string();
            if !directory.is_dir() {
                problems.refuse("base", &value, "a data directory that was prepared");
            } else if clock == Clock::Real {
                let accepted = "no base under the real clock, which changes its files: give it \
                                a copy of them with --datadir";
                problems.refuse("base", &value, accepted);
            }
        }
    }

    fn files(&self) -> RunFiles {
        match (&self.datadir, &self.base) {
            (Some(directory), _) => RunFiles::Kept(directory.clone()),
            (None, Some(directory)) => RunFiles::Base(directory.clone()),
            (None, None) => RunFiles::Temporary,
        }
    }

    fn length(&self, problems: &mut Problems) -> Length {
        let events = problems.whole("events", self.events.as_deref(), 0, 0..=1 << 53);
        let default = if events == 0 { 10.0 } else { 0.0 };
        let time = problems.seconds("time", self.time.as_deref(), default);
        let warm_up = problems.seconds("warmup-time", self.warmup_time.as_deref(), 0.0);
        if time == 0.0 && events == 0 {
            problems.refuse("time", "0", "more than 0 where --events sets no limit");
        }
        Length {
            warm_up: from_seconds(warm_up),
            time: (time > 0.0).then(|| from_seconds(time)),
            events: (events > 0).then_some(events),
        }
    }

    fn rand_type(&self, problems: &mut Problems) -> Option<RandomType> {
        match self.rand_type.as_deref().map(str::parse) {
            None => None,
            Some(Ok(kind)) => Some(kind),
            Some(Err(problem)) => {
                problems.add(problem);
                None
            }
        }
    }

    /// The option file, and after it what was set.
    fn options(&self) -> Options {
        let mut options = Options::new();
        if let Some(file) = &self.defaults_file {
            options.read_file(&HostOptionFiles, file);
        }
        for assignment in &self.set {
            options.set(assignment);
        }
        options
    }
}

/// Stands in for a machine that could not be read.
const UNKNOWN_MACHINE: innosim_engine::sysvar::MachineFacts =
    innosim_engine::sysvar::MachineFacts {
        logical_cpus: 1,
        memory_bytes: 1 << 30,
    };

fn in_words(warning: &innosim_engine::sysvar::OptionWarning) -> String {
    match warning.level {
        Level::Warning => warning.to_string(),
        Level::Note => format!("note: {warning}"),
    }
}

impl RunPlan {
    /// Whether flushing, purge and checkpoints are done in steps by the client and not by
    /// tasks of their own: then a run does the same under both clocks.
    pub fn is_stepped(&self) -> bool {
        self.length.events.is_some() && self.threads == 1
    }

    /// How latches spin.
    pub fn spin(&self) -> SpinSettings {
        let values = self.settings.unscaled();
        let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        SpinSettings {
            loops: number(values.innodb_sync_spin_loops()),
            wait_delay: number(values.innodb_spin_wait_delay()),
            pause_multiplier: number(values.innodb_spin_wait_pause_multiplier()),
        }
    }
}

#[cfg(test)]
mod tests;
