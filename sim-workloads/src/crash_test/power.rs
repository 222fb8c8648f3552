//! Power cuts under the virtual clock.
//!
//! A cut comes at any instant: while clients work, while the engine opens its files, in the
//! middle of a recovery that follows another cut. Now and then the engine that was checked
//! ends in good order, or is killed, or loses its power when nothing is going on.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, anyhow};
use innosim_engine::page::Lsn;
use innosim_engine::runtime::files::Crash;
use innosim_engine::runtime::random::Stream;
use innosim_engine::runtime::time::{MILLISECOND, NEVER, Time};
use innosim_engine::runtime::virtual_clock::{Outcome, Simulation, SimulationOptions};
use innosim_engine::runtime::{WaitKind, sleep};

use super::check::{Checked, End, check, set_to_work};
use super::fault::{Fault, FaultKind};
use super::journal::{Journal, SharedLedger};
use super::summary::CrashDocument;
use super::{CRASHES_PER_LOAD, CrashTest};
use crate::progress::Progress;
use crate::run::data_directory::{DataDirectory, lock_on_host};
use crate::run::{NobodyWatches, RunPlan, Server};
use crate::server::EngineServer;

/// Where the data directory is among virtual files.
const DATA: &str = "data";

/// What a client thinks between two transactions where it takes its time, on average.
const SLOW_PACE: Time = 10 * MILLISECOND;

/// How much longer clients may then work.
const SLOW_TIMES: u64 = 10;

/// Carries a test out.
pub(super) fn run(
    test: &CrashTest,
    document: &mut CrashDocument,
    progress: &Progress,
) -> anyhow::Result<()> {
    let load = test.load_plan()?;
    let directory = DataDirectory::new(&load.files)?;
    EngineServer::prepare(&load, directory.path(), &mut NobodyWatches)?;
    let _lock = lock_on_host(directory.path(), true)?;
    for number in 0.. {
        if document.counts.crashes >= test.crashes {
            break;
        }
        let mut series = Series::new(test, number, directory.path())?;
        document.counts.loads += 1;
        if let Err(broken) = series.run(document) {
            let faults = broken.faults()?;
            let repeat = test.repeat(number, series.crashes.max(1));
            document.found(faults, &repeat);
        }
        if let Some(directory) = test.datadir()
            && document.counts.crashes >= test.crashes
        {
            let written = series.simulation.files_mut().write_out(DATA, directory);
            written.with_context(|| directory.display().to_string())?;
        }
        // Between two series, for in the middle of one memory depends on what it does.
        drop(series);
        document.measure_memory(test.crashes);
        progress.step(&told(document));
    }
    Ok(())
}

/// How far it has come.
pub(super) fn told(document: &CrashDocument) -> String {
    let counts = &document.counts;
    let faults: u64 = document.fault_counts.values().sum();
    format!(
        "{} crashes: {} transactions acknowledged, {} torn pages repaired, {faults} faults",
        counts.crashes, counts.acknowledged, counts.pages_repaired
    )
}

/// Why a series ends before its time.
enum Broken {
    /// The engine did something wrong.
    Faults(Vec<Fault>),
    /// The test cannot go on.
    Test(anyhow::Error),
}

impl Broken {
    fn faults(self) -> anyhow::Result<Vec<Fault>> {
        match self {
            Broken::Faults(faults) => Ok(faults),
            Broken::Test(error) => Err(error),
        }
    }
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Broken::Faults(vec![fault])
    }
}

/// Crashes from one load on.
struct Series<'a> {
    test: &'a CrashTest,
    plan: RunPlan,
    simulation: Box<Simulation>,
    ledger: SharedLedger,
    random: Stream,
    /// Crashes so far.
    crashes: u64,
    /// How long the last recovery took.
    recovery_time: Time,
    /// How long it takes to open files that were shut down.
    clean_time: Time,
    /// How long it will take to open the files as they are.
    opening_time: Time,
    checkpoint: Option<Lsn>,
}

impl<'a> Series<'a> {
    fn new(test: &'a CrashTest, number: u64, directory: &Path) -> anyhow::Result<Self> {
        let plan = test.plan(number)?;
        let options = SimulationOptions {
            settle: plan.settle,
            ..plan.machine.simulation_options(plan.seed, plan.spin())
        };
        let mut simulation = Simulation::new(&options)?;
        let mounted = simulation.files_mut().mount(directory, DATA);
        mounted.with_context(|| directory.display().to_string())?;
        Ok(Series {
            test,
            random: Stream::new(plan.seed, "crash test"),
            plan,
            simulation,
            ledger: SharedLedger::default(),
            crashes: 0,
            recovery_time: MILLISECOND,
            clean_time: MILLISECOND,
            opening_time: MILLISECOND,
            checkpoint: None,
        })
    }

    fn run(&mut self, document: &mut CrashDocument) -> Result<(), Broken> {
        // The rows as they were loaded.
        self.check(document, NEVER, End::Shutdown)?;
        self.clean_time = self.recovery_time;
        self.opening_time = self.clean_time;
        while self.crashes < CRASHES_PER_LOAD && document.counts.crashes < self.test.crashes {
            self.work(document)?;
            self.recover(document)?;
        }
        Ok(())
    }

    /// Runs a program until it ends or the power fails.
    fn until<T: 'static>(
        &mut self,
        instant: Time,
        program: impl FnOnce() -> T + 'static,
    ) -> Result<Outcome<T>, Fault> {
        let simulation = std::panic::AssertUnwindSafe(&mut self.simulation);
        let program = std::panic::AssertUnwindSafe(program);
        let run = move || {
            let (simulation, program) = (simulation, program);
            { simulation }.0.run_until(instant, { program }.0)
        };
        match std::panic::catch_unwind(run) {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(stalled)) => Err(Fault {
                kind: FaultKind::Failed,
                text: stalled.to_string(),
            }),
            Err(payload) => Err(Fault::of_panic(&*payload)),
        }
    }

    /// The power is gone.
    fn power_failed(&mut self, document: &mut CrashDocument) -> Result<(), Broken> {
        let resolved = self.simulation.resolve_crash(Crash::PowerLoss);
        let writes = resolved.map_err(|error| Broken::Test(error.into()))?;
        document.counts.add_writes(writes);
        Ok(())
    }

    fn crashed(&mut self, document: &mut CrashDocument, in_recovery: bool) -> Result<(), Broken> {
        self.crashes += 1;
        document.counts.crashes += 1;
        document.counts.during_recovery += u64::from(in_recovery);
        self.power_failed(document)
    }

    /// Clients work until the power fails.
    fn work(&mut self, document: &mut CrashDocument) -> Result<(), Broken> {
        let longest = self.plan.length.time.unwrap_or(MILLISECOND);
        // At full speed there is most to lose; slowly there is time for the background.
        let (pace, longest) = match self.random.below(2) {
            0 => (0, longest),
            _ => (SLOW_PACE, longest.saturating_mul(SLOW_TIMES)),
        };
        let length = match self.random.below(6) {
            0 => self.random.below(self.opening_time),
            _ => self.opening_time + self.random.below(longest),
        };
        let instant = self.simulation.now() + length;
        let opened = Arc::new(AtomicBool::new(false));
        let failures: Arc<Mutex<Vec<Fault>>> = Arc::default();
        let round = self.crashes;
        let (plan, ledger, has_opened) = (self.plan.clone(), self.ledger.clone(), opened.clone());
        let list = failures.clone();
        let failed = move |fault| {
            list.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(fault)
        };
        let outcome = self.until(instant, move || {
            let seed = plan.seed;
            let seeds =
                |client| Stream::new(seed, &format!("crash {round}, client {client}")).next_u64();
            let journal: Arc<dyn Journal> = Arc::new(ledger);
            match set_to_work(&plan, Path::new(DATA), seeds, pace, &journal, failed) {
                Ok(_server) => {
                    has_opened.store(true, Relaxed);
                    sleep(NEVER, WaitKind::Other);
                    anyhow!("the end of time was reached")
                }
                Err(error) => error,
            }
        })?;
        if let Outcome::Finished(error) = outcome {
            return Err(Fault::of_error(&error).into());
        }
        self.crashed(document, !opened.load(Relaxed))?;
        let failures =
            std::mem::take(&mut *failures.lock().unwrap_or_else(PoisonError::into_inner));
        match failures.is_empty() {
            true => Ok(()),
            false => Err(Broken::Faults(failures)),
        }
    }

    /// Recovers and checks; now and then the power fails meanwhile.
    fn recover(&mut self, document: &mut CrashDocument) -> Result<(), Broken> {
        loop {
            let fails = self.random.below(8) == 0;
            let length = self.random.below(self.recovery_time);
            let end = match self.random.below(8) {
                0 | 1 => End::Shutdown,
                2 => End::PurgeAndShutdown,
                _ => End::Killed,
            };
            let power_fails_at_rest = self.random.below(4) > 0;
            let is_last = document.counts.crashes >= self.test.crashes;
            let instant = match fails && !is_last {
                true => self.simulation.now() + length,
                false => NEVER,
            };
            let end = if is_last { End::PurgeAndShutdown } else { end };
            if !self.check(document, instant, end)? {
                continue;
            }
            self.opening_time = match end {
                End::Killed => self.recovery_time,
                End::Shutdown | End::PurgeAndShutdown => self.clean_time,
            };
            if end == End::Killed && power_fails_at_rest {
                self.power_failed(document)?;
            }
            return Ok(());
        }
    }

    /// Recovers and checks, unless the power fails before: then it is false.
    fn check(
        &mut self,
        document: &mut CrashDocument,
        instant: Time,
        end: End,
    ) -> Result<bool, Broken> {
        let (plan, ledger) = (self.plan.clone(), self.ledger.clone());
        let data = PathBuf::from(DATA);
        let outcome = self.until(instant, move || check(&plan, &data, &ledger, end));
        // Also where the power failed, or something else went wrong, after that look.
        let judgement = self.ledger.lock().take_judgement();
        document.counts.add_judgement(&judgement);
        let mut faults = judgement.faults;
        let mut was_checked = false;
        match outcome {
            Err(fault) => faults.push(fault),
            Ok(Outcome::PowerCut) => self.crashed(document, true)?,
            Ok(Outcome::Finished(Err(error))) => faults.push(Fault::of_error(&error)),
            Ok(Outcome::Finished(Ok(Checked {
                report,
                faults: found,
                recovery_time,
            }))) => {
                was_checked = true;
                document.counts.add_recovery(&report, &mut self.checkpoint);
                self.recovery_time = recovery_time.max(MILLISECOND);
                faults.extend(found);
            }
        }
        match faults.is_empty() {
            true => Ok(was_checked),
            false => Err(Broken::Faults(faults)),
        }
    }
}
