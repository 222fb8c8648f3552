//! Crash tests: the machine loses its power, or the process is killed, and what is left is
//! compared with what clients were told.
//!
//! ```text
//!   load ─► clients work ─► power cut ─► recovery ─► check ─┐
//!             ▲                             │  ▲            │
//!             │                             └──┘            │
//!             │                     another cut, now and    │
//!             │                     then, in its middle     │
//!             └────────── ten times, then a fresh load ─────┘
//! ```
//!
//! * [`ledger`], [`journal`] – what clients were told, kept where the crash does not reach;
//!   [`client`] writes it.
//! * [`check`] – recovery, and a look at rows, pages, trees and indexes.
//! * [`power`] – power cuts under the virtual clock, at any instant: writes that were not
//!   durable are kept, lost or torn, as the seed says.
//! * [`kill`] – SIGKILL under the real clock. It tests recovery, and nothing that has to do
//!   with durability: the kernel's page cache survives the process.
//! * [`promise`] – what must hold, which is a question of the settings; [`fault`] is what
//!   does not.
//! * [`summary`] – the figures.
//!
//! A test under the virtual clock repeats itself to the last bit. Ten crashes from one load
//! on are a *series* with a seed of its own, so that a fault can be had again without all
//! that went before.

mod check;
mod client;
pub mod fault;
pub mod journal;
pub mod kill;
pub mod ledger;
pub mod power;
pub mod promise;
pub mod summary;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use innosim_engine::runtime::virtual_clock::disk::CacheProtection;
use innosim_engine::sysvar::Flavor;

use self::promise::Promise;
use self::summary::CrashDocument;
use crate::progress::Progress;
use crate::run::{Clock, Problems, RunArguments, RunPlan};

/// Crashes from one load on.
pub const CRASHES_PER_LOAD: u64 = 10;

/// Bytes that a cut leaves all old or all new: the sector of a disk, a quarter of a page.
pub const TORN_BYTES: u32 = 4096;

/// The workloads that take turns, if none is asked for.
const WORKLOADS: [&str; 2] = ["oltp_write_only", "oltp_insert"];

/// Rows are loaded from this seed whatever the seed of the crashes is, so that one load
/// serves all series.
const LOAD_SEED: &str = "1";

/// The options of a crash test, as they were typed.
#[derive(Debug, Clone, Default)]
pub struct CrashArguments {
    /// Those of a run.
    pub run: RunArguments,
    /// How many crashes.
    pub crashes: Option<String>,
    /// What becomes of the disk's cache.
    pub cache: Option<String>,
    /// What is to be found.
    pub expect: Option<String>,
}

/// A crash test, ready to be carried out.
#[derive(Debug, Clone)]
pub struct CrashTest {
    arguments: CrashArguments,
    plan: RunPlan,
    workloads: Vec<String>,
    crashes: u64,
    /// `None`: as the machine's profile says.
    cache: Option<CacheProtection>,
    promise: Promise,
}

/// Sizes at which, divided by the scale, pages are written, evicted and checkpointed all the
/// time. Below 256 pages a buffer pool would have no LRU batches.
fn small(flavor: Flavor) -> [&'static str; 3] {
    let redo = if flavor.is_mysql_since(Flavor::MySql8_0) {
        "innodb_redo_log_capacity=8M"
    } else {
        "innodb_log_file_size=4M"
    };
    [
        "innodb_buffer_pool_size=24M",
        "innodb_log_buffer_size=1M",
        redo,
    ]
}

impl CrashArguments {
    /// Reads everything and changes nothing.
    ///
    /// # Errors
    /// All that is wrong with the options, the option file, the machine profile and the
    /// workload.
    pub fn test(mut self) -> Result<CrashTest, Problems> {
        let mut problems = Problems::default();
        let crashes = self.crashes.as_deref();
        let crashes = problems.whole("crashes", crashes, 100, 1..=10_000_000);
        let caches = [
            ("protected", Some(CacheProtection::Protected)),
            ("volatile", Some(CacheProtection::Volatile)),
            ("machine", None),
        ];
        let cache = problems.choice("cache", self.cache.as_deref(), &caches);
        let promises = [
            ("settings", None),
            ("nothing", Some(Promise::All)),
            ("damaged-pages", Some(Promise::DamagedPages)),
            ("loss", Some(Promise::Loss)),
        ];
        let promise = problems.choice("expect", self.expect.as_deref(), &promises);
        if let Some(events) = &self.run.events {
            let accepted = "no number of transactions: clients work until the crash";
            problems.refuse("events", events, accepted);
        }
        for (option, value) in [
            ("warmup-time", &self.run.warmup_time),
            ("report-interval", &self.run.report_interval),
        ] {
            if let Some(value) = value {
                let accepted = "none: clients work until the crash, and nothing is measured";
                problems.refuse(option, value, accepted);
            }
        }
        if let Some(base) = &self.run.base {
            let accepted = "none: a crash test loads its own tables";
            problems.refuse("base", &base.display().to_string(), accepted);
        }
        let is_real = self.run.clock.as_deref() == Some("real");
        if let Some(cache) = self.cache.as_deref().filter(|_| is_real) {
            let accepted = "no cache under the real clock: the process dies, not the disk";
            problems.refuse("cache", cache, accepted);
        }
        if let Some(directory) = &self.run.datadir
            && std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
        {
            let value = directory.display().to_string();
            let accepted = "an empty directory, or a path where there is nothing";
            problems.refuse("datadir", &value, accepted);
        }
        let workloads = match &self.run.workload {
            Some(workload) => vec![workload.clone()],
            None => WORKLOADS.map(str::to_owned).to_vec(),
        };
        self.fill_in(is_real);
        let plan = self.run.plan();
        if let Err(others) = &plan {
            problems.merge(others.clone());
        }
        problems.into_result()?;
        let mut plan = plan?;
        if let Some(protection) = cache.filter(|_| plan.clock == Clock::Virtual) {
            plan.machine = plan.machine.for_crashes(protection, TORN_BYTES);
        }
        let promise = promise.unwrap_or_else(|| Promise::of(&plan));
        Ok(CrashTest {
            arguments: self,
            plan,
            workloads,
            crashes,
            cache,
            promise,
        })
    }

    /// What differs from the defaults of a run.
    fn fill_in(&mut self, is_real: bool) {
        let run = &mut self.run;
        let default = |option: &mut Option<String>, value: &str| {
            option.get_or_insert_with(|| value.to_owned());
        };
        default(&mut run.workload, WORKLOADS[0]);
        default(&mut run.threads, "16");
        default(&mut run.tables, "3");
        default(&mut run.table_size, "40000");
        default(&mut run.scale, "4");
        default(&mut run.time, if is_real { "1" } else { "0.25" });
        if run.defaults_file.is_none() {
            let flavor = run.flavor.as_deref().map(str::parse);
            let flavor = flavor.and_then(Result::ok).unwrap_or_default();
            let small = small(flavor).map(str::to_owned);
            // What was asked for comes last, and counts.
            run.set.splice(0..0, small);
        }
    }
}

impl CrashTest {
    /// What the user should know before.
    pub fn warnings(&self) -> &[String] {
        &self.plan.warnings
    }

    /// Carries it out. `program` is this program, which the test of the real clock starts
    /// to kill it.
    ///
    /// # Errors
    /// If the test itself cannot go on: files of the host, processes. What the engine does
    /// wrong is in the document.
    pub fn run(&self, program: &Path, progress: &Progress) -> anyhow::Result<CrashDocument> {
        let mut document = CrashDocument::new(self);
        progress.expect(self.crashes.div_ceil(CRASHES_PER_LOAD));
        match self.plan.clock {
            Clock::Virtual => power::run(self, &mut document, progress)?,
            Clock::Real => kill::run(self, program, &mut document, progress)?,
        }
        progress.finish();
        document.end(self);
        Ok(document)
    }

    /// The workload of a series.
    fn workload(&self, series: u64) -> &str {
        &self.workloads[series as usize % self.workloads.len()]
    }

    /// The seed of a series.
    fn seed(&self, series: u64) -> u64 {
        self.plan.seed.wrapping_add(series)
    }

    /// The options of a series, as those of a run.
    fn arguments(&self, series: u64) -> RunArguments {
        RunArguments {
            workload: Some(self.workload(series).to_owned()),
            seed: Some(self.seed(series).to_string()),
            datadir: None,
            ..self.arguments.run.clone()
        }
    }

    /// The plan of a series.
    fn plan(&self, series: u64) -> anyhow::Result<RunPlan> {
        Ok(RunPlan {
            machine: self.plan.machine.clone(),
            ..self.arguments(series).plan()?
        })
    }

    /// The plan by which tables are loaded.
    fn load_plan(&self) -> anyhow::Result<RunPlan> {
        let arguments = RunArguments {
            seed: Some(LOAD_SEED.to_owned()),
            ..self.arguments(0)
        };
        Ok(arguments.plan()?)
    }

    /// Where the last state is to be left.
    fn datadir(&self) -> Option<&PathBuf> {
        self.arguments.run.datadir.as_ref()
    }

    /// The call that repeats a series up to one of its crashes.
    fn repeat(&self, series: u64, crashes: u64) -> String {
        let mut call: Vec<OsString> = vec!["innosim".into(), "crash-test".into()];
        call.extend(self.arguments(series).command_line());
        call.push(format!("--crashes={crashes}").into());
        for (name, value) in [
            ("cache", &self.arguments.cache),
            ("expect", &self.arguments.expect),
        ] {
            if let Some(value) = value {
                call.push(format!("--{name}={value}").into());
            }
        }
        let words: Vec<_> = call.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}
