//! SIGKILL under the real clock.
//!
//! ```text
//!   this process                         the victim, a process of its own
//!   starts it ─────────────────────────► opens the database, sets clients to work
//!   reads notes ◄──────── pipe ───────── clients' notes
//!   SIGKILL ───────────────────────────► is gone
//!   recovers, checks
//! ```
//!
//! It tests that recovery copes with files as an engine leaves them that was interrupted
//! anywhere. It does not test durability: what the victim has written is in the kernel's
//! page cache, which survives it. Only the loss of power, which the virtual clock has, tells
//! whether something was flushed that had to be.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::Context;
use innosim_engine::page::Lsn;
use innosim_engine::runtime::RealMachine;
use innosim_engine::runtime::random::Stream;
use innosim_engine::runtime::time::{NANOSECOND, SECOND};
use innosim_engine::runtime::{WaitKind, sleep};

use super::check::{Checked, End, check, set_to_work};
use super::fault::{Fault, FaultKind};
use super::journal::{Journal, PipeJournal, SharedLedger, read_notes};
use super::power::told;
use super::summary::CrashDocument;
use super::{CRASHES_PER_LOAD, CrashTest};
use crate::progress::{Progress, say};
use crate::run::children::StartedChild;
use crate::run::data_directory::DataDirectory;
use crate::run::{NobodyWatches, RunArguments, RunFiles, RunPlan, Server};
use crate::server::EngineServer;

/// The signal that cannot be caught.
const SIGKILL: i32 = 9;

/// How long a victim may take to open its files.
const PATIENCE: Duration = Duration::from_secs(60);

/// Carries a test out.
pub(super) fn run(
    test: &CrashTest,
    program: &Path,
    document: &mut CrashDocument,
    progress: &Progress,
) -> anyhow::Result<()> {
    for number in 0.. {
        if document.counts.crashes >= test.crashes {
            break;
        }
        let left = test.crashes - document.counts.crashes;
        let is_last = left <= CRASHES_PER_LOAD;
        let files = match test.datadir() {
            Some(directory) if is_last => RunFiles::Kept(directory.clone()),
            _ => RunFiles::Temporary,
        };
        let directory = DataDirectory::new(&files)?;
        let load = test.load_plan()?;
        EngineServer::prepare(&load, directory.path(), &mut NobodyWatches)?;
        document.counts.loads += 1;
        let mut series = Series {
            test,
            program,
            number,
            plan: test.plan(number)?,
            directory: directory.path(),
            ledger: SharedLedger::default(),
            random: Stream::new(test.seed(number), "crash test"),
            checkpoint: None,
        };
        let crashes = left.min(CRASHES_PER_LOAD);
        let faults = series.run(crashes, document)?;
        document.found(faults, &test.repeat(number, crashes));
        document.measure_memory(test.crashes);
        progress.step(&told(document));
    }
    Ok(())
}

/// Kills from one load on.
struct Series<'a> {
    test: &'a CrashTest,
    program: &'a Path,
    number: u64,
    plan: RunPlan,
    directory: &'a Path,
    ledger: SharedLedger,
    random: Stream,
    checkpoint: Option<Lsn>,
}

impl Series<'_> {
    /// Kills so many times, or until something is wrong.
    fn run(&mut self, kills: u64, document: &mut CrashDocument) -> anyhow::Result<Vec<Fault>> {
        let mut faults = self.check(document);
        for round in 0..kills {
            if !faults.is_empty() {
                break;
            }
            faults = self.kill(round, document)?;
            faults.extend(self.check(document));
        }
        Ok(faults)
    }

    /// Starts a victim and kills it.
    fn kill(&mut self, round: u64, document: &mut CrashDocument) -> anyhow::Result<Vec<Fault>> {
        let longest = self.plan.length.time.unwrap_or(SECOND);
        // While it opens its files; or after so much work.
        let opens = self.random.below(6) == 0;
        let length = self.random.below(if opens { longest / 8 } else { longest });
        let mut victim = self.start(round)?;
        let notes = victim
            .process()
            .stdout
            .take()
            .context("the victim has no pipe")?;
        let before = self.ledger.lock().acknowledged();
        let ledger = self.ledger.clone();
        let (works, work_begins) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            // Nobody waits for it where the victim is killed before.
            read_notes(notes, &ledger, || {
                let _ = works.send(());
            })
        });
        if !opens {
            // It fails where the victim ends without a note.
            let _ = work_begins.recv_timeout(PATIENCE);
        }
        std::thread::sleep(Duration::from_nanos(length / NANOSECOND));
        victim.process().kill()?;
        let status = victim.process().wait()?;
        let read = reader.join();
        let read = read.map_err(|_| anyhow::anyhow!("the reader of notes panicked"))?;
        document.counts.crashes += 1;
        let nothing_done = self.ledger.lock().acknowledged() == before;
        document.counts.during_recovery += u64::from(nothing_done);
        let mut faults = Vec::new();
        if status.signal() != Some(SIGKILL) {
            let text = format!("the engine's process ended before it was killed: {status}");
            let kind = FaultKind::Failed;
            faults.push(Fault { kind, text });
        }
        if let Err(error) = read {
            faults.push(Fault::of_error(&error.context("notes of the clients")));
        }
        Ok(faults)
    }

    fn start(&self, round: u64) -> anyhow::Result<StartedChild> {
        let arguments = RunArguments {
            datadir: Some(self.directory.into()),
            ..self.test.arguments(self.number)
        };
        let mut command = Command::new(self.program);
        command
            .arg("crash-test")
            .args(arguments.command_line())
            .arg(format!("--victim={round}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let started = StartedChild::start(&mut command);
        started.with_context(|| self.program.display().to_string())
    }

    fn check(&mut self, document: &mut CrashDocument) -> Vec<Fault> {
        let end = match self.random.below(3) {
            0 => End::PurgeAndShutdown,
            _ => End::Shutdown,
        };
        let machine = RealMachine::new(self.plan.seed);
        let checked = machine.run(|| check(&self.plan, self.directory, &self.ledger, end));
        let judgement = self.ledger.lock().take_judgement();
        document.counts.add_judgement(&judgement);
        let mut faults = judgement.faults;
        match checked {
            Err(error) => faults.push(Fault::of_error(&error)),
            Ok(Checked {
                report,
                faults: found,
                ..
            }) => {
                document.counts.add_recovery(&report, &mut self.checkpoint);
                faults.extend(found);
            }
        }
        faults
    }
}

/// Is the victim: works on the data directory of the options until it is killed, and writes
/// notes to standard output.
///
/// # Errors
/// If the database cannot be opened, or a client cannot go on.
pub fn be_killed(arguments: &RunArguments, round: u64) -> anyhow::Result<()> {
    let plan = arguments.plan()?;
    let directory = arguments.datadir.as_deref();
    let directory = directory.context("the victim needs a data directory")?;
    let seed = plan.seed;
    let seeds = |client| Stream::new(seed, &format!("crash {round}, client {client}")).next_u64();
    let journal: Arc<dyn Journal> = Arc::new(PipeJournal::new(std::io::stdout()));
    RealMachine::new(seed).run(|| {
        let failed = |fault: Fault| {
            say(format_args!("innosim: {fault}"));
            std::process::exit(1);
        };
        let _server = set_to_work(&plan, directory, seeds, 0, &journal, failed)?;
        loop {
            sleep(SECOND, WaitKind::Other);
        }
    })
}
