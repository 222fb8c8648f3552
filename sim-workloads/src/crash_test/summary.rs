//! What a crash test has counted, and what it has found.

use std::collections::BTreeMap;
use std::fmt;

use innosim_engine::engine::EngineRecoveryReport;
use innosim_engine::page::Lsn;
use innosim_engine::runtime::files::CrashReport;
use serde::Serialize;

use super::CrashTest;
use super::fault::{Fault, FaultKind};
use super::ledger::Judgement;
use super::promise::Promise;
use crate::machine::figure;
use crate::report::json::Host;
use crate::run::Clock;
use crate::run::host_usage::HostUsage;

/// Faults that are listed; the others are counted.
const FAULTS_LISTED: usize = 20;

/// Everything about a crash test.
#[derive(Debug, Clone, Serialize)]
pub struct CrashDocument {
    /// innosim's version.
    pub innosim: String,
    /// The clock.
    pub clock: &'static str,
    /// The machine.
    pub machine: String,
    /// What becomes of its disks' caches.
    pub cache: String,
    /// The flavor.
    pub flavor: String,
    /// The workloads that took turns.
    pub workloads: Vec<String>,
    /// Clients.
    pub threads: u32,
    /// The seed of the first series.
    pub seed: u64,
    /// What the settings promise.
    pub promise: Promise,
    /// Whether it was kept; or, where they promise less, whether that was seen.
    pub holds: bool,
    /// What was counted.
    #[serde(flatten)]
    pub counts: Counts,
    /// How many faults of each kind there were.
    pub fault_counts: BTreeMap<FaultKind, u64>,
    /// The first of them.
    pub faults: Vec<FoundFault>,
    /// Bytes of memory after a tenth of the crashes, and at the end.
    pub memory_bytes: [u64; 2],
    /// What it has cost the host.
    pub host: Host,
    #[serde(skip)]
    usage: HostUsage,
}

/// A fault, and how to see it again.
#[derive(Debug, Clone, Serialize)]
pub struct FoundFault {
    /// After which crash, from 1.
    pub crash: u64,
    /// What is wrong.
    #[serde(flatten)]
    pub fault: Fault,
    /// The call that repeats it.
    pub repeat: String,
}

/// Counts of a crash test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Power cuts, or processes killed.
    pub crashes: u64,
    /// Of these, before the engine had opened its files.
    pub during_recovery: u64,
    /// Fresh loads.
    pub loads: u64,
    /// Recoveries after which everything was checked.
    pub checks: u64,
    /// Transactions whose clients were told that they are durable.
    pub acknowledged: u64,
    /// Transactions in doubt that are there.
    pub in_doubt_committed: u64,
    /// Transactions in doubt that are not.
    pub in_doubt_lost: u64,
    /// Transactions that had changed something and not sent COMMIT.
    pub unfinished: u64,
    /// Writes that were not durable at a cut, and were kept.
    pub writes_kept: u64,
    /// Likewise, lost.
    pub writes_lost: u64,
    /// Likewise, torn.
    pub writes_torn: u64,
    /// Torn pages that were repaired from their copies.
    pub pages_repaired: u64,
    /// Copies that were torn themselves.
    pub torn_copies: u64,
    /// Recoveries that found another checkpoint than the one before.
    pub checkpoints: u64,
    /// Bytes of redo that recoveries have read.
    pub redo_scanned_bytes: u64,
    /// Bytes of mini-transactions without end.
    pub redo_torn_bytes: u64,
    /// Pages brought up to date.
    pub pages_applied: u64,
    /// Transactions rolled back by recovery.
    pub rolled_back: u64,
    /// Their undo records.
    pub rows_undone: u64,
}

impl Counts {
    /// What a crash has left of the writes.
    pub(super) fn add_writes(&mut self, writes: CrashReport) {
        self.writes_kept += writes.kept;
        self.writes_lost += writes.lost;
        self.writes_torn += writes.torn;
    }

    /// What the ledger says.
    pub(super) fn add_judgement(&mut self, judgement: &Judgement) {
        self.acknowledged += judgement.acknowledged;
        self.in_doubt_committed += judgement.in_doubt_committed;
        self.in_doubt_lost += judgement.in_doubt_lost;
        self.unfinished += judgement.unfinished;
    }

    /// What a recovery has done, and the checkpoint that the last one has found, if there
    /// was one.
    pub(super) fn add_recovery(
        &mut self,
        report: &EngineRecoveryReport,
        last_checkpoint: &mut Option<Lsn>,
    ) {
        self.checks += 1;
        let checkpoint = report.redo.checkpoint_lsn;
        let last = last_checkpoint.replace(checkpoint);
        self.checkpoints += u64::from(last.is_some_and(|last| last != checkpoint));
        self.pages_repaired += report.doublewrite.restored.len() as u64;
        self.torn_copies += report.doublewrite.torn_copies as u64;
        self.redo_scanned_bytes += report.redo.scanned_bytes;
        self.redo_torn_bytes += report.redo.torn_bytes;
        self.pages_applied += report.redo.pages_applied;
        self.rolled_back += report.rolled_back as u64;
        self.rows_undone += report.rows_undone;
    }
}

impl CrashDocument {
    pub(super) fn new(test: &CrashTest) -> Self {
        let usage = HostUsage::begin();
        CrashDocument {
            innosim: env!("CARGO_PKG_VERSION").to_owned(),
            clock: test.plan.clock.name(),
            machine: test.plan.machine.name.clone(),
            cache: match (test.plan.clock, test.cache) {
                (Clock::Real, _) => "page cache of the kernel survives".to_owned(),
                (_, None) => "cache as in the profile".to_owned(),
                (_, Some(protection)) => {
                    let cache = format!("{protection:?}").to_lowercase();
                    format!(
                        "{cache} cache, sectors of {} bytes are torn",
                        super::TORN_BYTES
                    )
                }
            },
            flavor: test.plan.settings.flavor().name().to_owned(),
            workloads: test.workloads.clone(),
            threads: test.plan.threads,
            seed: test.plan.seed,
            promise: test.promise,
            holds: false,
            counts: Counts::default(),
            fault_counts: BTreeMap::new(),
            faults: Vec::new(),
            memory_bytes: [0; 2],
            host: usage.so_far(),
            usage,
        }
    }

    /// A crash is over, and something is wrong.
    pub(super) fn found(&mut self, faults: Vec<Fault>, repeat: &str) {
        for fault in faults {
            *self.fault_counts.entry(fault.kind).or_default() += 1;
            if self.faults.len() < FAULTS_LISTED {
                self.faults.push(FoundFault {
                    crash: self.counts.crashes,
                    fault,
                    repeat: repeat.to_owned(),
                });
            }
        }
    }

    /// Measures memory when a tenth of the crashes is over.
    pub(super) fn measure_memory(&mut self, of: u64) {
        if self.memory_bytes[0] == 0 && self.counts.crashes >= of.div_ceil(10) {
            self.memory_bytes[0] = resident_bytes();
        }
    }

    /// All is done.
    pub(super) fn end(&mut self, test: &CrashTest) {
        self.memory_bytes[1] = resident_bytes();
        self.holds = test.promise.holds(self.fault_counts.keys().copied());
        self.host = self.usage.so_far();
    }
}

/// The resident set of this process; 0 where the system does not tell.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    figure(&status, "VmRSS").unwrap_or(0)
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl fmt::Display for CrashDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let workloads = self.workloads.join(" and ");
        writeln!(
            f,
            "crash test of {}: {workloads}, {} threads, from seed {}",
            self.flavor, self.threads, self.seed
        )?;
        let mut line = |name: &str, text: String| writeln!(f, "    {name:<16} {text}");
        line(
            "machine",
            format!("{} clock, {}, {}", self.clock, self.machine, self.cache),
        )?;
        line("promised", self.promise.in_words().to_owned())?;
        line(
            "crashes",
            format!(
                "{}, {} of them during recovery; {} fresh loads, {} checks",
                counts.crashes, counts.during_recovery, counts.loads, counts.checks
            ),
        )?;
        line(
            "acknowledged",
            format!("{} transactions", counts.acknowledged),
        )?;
        line(
            "in doubt",
            format!(
                "{} transactions that are there, {} that are not",
                counts.in_doubt_committed, counts.in_doubt_lost
            ),
        )?;
        line(
            "unfinished",
            format!("{} transactions before their COMMIT", counts.unfinished),
        )?;
        if self.clock == Clock::Virtual.name() {
            line(
                "writes",
                format!(
                    "not durable when the power failed: {} kept, {} lost, {} torn",
                    counts.writes_kept, counts.writes_lost, counts.writes_torn
                ),
            )?;
        }
        line(
            "torn pages",
            format!(
                "{} repaired from their copies; {} torn copies",
                counts.pages_repaired, counts.torn_copies
            ),
        )?;
        line(
            "redo",
            format!(
                "{:.1} MiB read, {} pages brought up to date, {} checkpoints passed",
                mib(counts.redo_scanned_bytes),
                counts.pages_applied,
                counts.checkpoints
            ),
        )?;
        line(
            "rolled back",
            format!(
                "{} transactions, {} undo records",
                counts.rolled_back, counts.rows_undone
            ),
        )?;
        let [early, late] = self.memory_bytes.map(mib);
        line(
            "memory",
            format!("{early:.1} MiB after a tenth of the crashes, {late:.1} MiB at the end"),
        )?;
        let (wall, cpu) = (self.host.wall_s, self.host.cpu_s);
        line("host", format!("{wall:.1} s, {cpu:.1} s of CPU"))?;
        let kinds = self.fault_counts.iter();
        let kinds: Vec<_> = kinds
            .map(|(kind, count)| format!("{count} × {}", kind.name()))
            .collect();
        let kinds = if kinds.is_empty() {
            "none".to_owned()
        } else {
            kinds.join(", ")
        };
        line("faults", kinds)?;
        for found in &self.faults {
            writeln!(f, "      crash {}: {}", found.crash, found.fault)?;
        }
        if let Some(first) = self.faults.first() {
            writeln!(f, "    again with       {}", first.repeat)?;
        }
        let verdict = match (self.promise, self.holds) {
            (Promise::All, true) => "the promise was kept",
            (Promise::All, false) => "THE PROMISE WAS NOT KEPT",
            (_, true) => "as expected of these settings",
            (_, false) => "NOT WHAT IS EXPECTED OF THESE SETTINGS",
        };
        writeln!(f, "    {verdict}")
    }
}
