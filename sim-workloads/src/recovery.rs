//! Opening a data directory after a crash, on the host's own files, and what was found.
//!
//! ```text
//!   torn pages ─► from their doublewrite copies
//!   redo       ─► from the last checkpoint to its last complete group
//!   undo       ─► who had not committed is rolled back
//!   shutdown   ─► clean
//! ```

use std::fmt;
use std::path::Path;

use innosim_engine::engine::{Engine, EngineOptions, EngineRecoveryReport};
use innosim_engine::runtime::RealMachine;
use innosim_engine::runtime::files::FileSystem;
use innosim_engine::runtime::time::to_seconds;
use serde::Serialize;

use crate::run::RunPlan;
use crate::run::data_directory::finish;
use crate::run::pool_memory;

/// What a recovery has found and done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecoveryDocument {
    /// innosim's version.
    pub innosim: String,
    /// The data directory.
    pub datadir: String,
    /// The flavor whose settings were used.
    pub flavor: String,
    /// Whether the engine before had not been shut down.
    pub was_needed: bool,
    /// Torn pages.
    pub doublewrite: DoublewriteFigures,
    /// Redo.
    pub redo: RedoFigures,
    /// Transactions that had not committed.
    pub rolled_back: usize,
    /// Undo records that they had.
    pub rows_undone: u64,
    /// Tables whose creation was interrupted, and which were removed.
    pub removed_tables: Vec<String>,
    /// How long each step took.
    pub times_s: StepTimes,
    /// What a check found that is wrong; nothing without one.
    pub faults: Vec<String>,
    /// What else the user should know.
    pub warnings: Vec<String>,
}

/// What became of torn pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoublewriteFigures {
    /// Sound copies in the doublewrite files.
    pub copies: usize,
    /// Copies that were torn themselves.
    pub torn_copies: usize,
    /// Data pages that were torn, and were repaired.
    pub restored: usize,
    /// Which these are.
    pub restored_pages: Vec<RepairedPage>,
}

/// A page that was torn and was repaired from its copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepairedPage {
    /// The tablespace's file, from the data directory on.
    pub file: String,
    /// The page's number in it.
    pub page: u32,
}

impl RepairedPage {
    /// Pages that a text names.
    const NAMED_MAX: usize = 20;

    /// The pages that were repaired when this data directory was opened.
    pub fn of(report: &EngineRecoveryReport, directory: &Path) -> Vec<RepairedPage> {
        let restored = report.doublewrite.restored.iter();
        restored
            .map(|restored| RepairedPage {
                file: restored
                    .path
                    .strip_prefix(directory)
                    .unwrap_or(&restored.path)
                    .display()
                    .to_string(),
                page: restored.page.page.0,
            })
            .collect()
    }

    /// The pages in one line, the first twenty by name; none if there are none.
    pub fn list(pages: &[RepairedPage]) -> Option<String> {
        let (named, others) = pages.split_at(pages.len().min(Self::NAMED_MAX));
        let mut names: Vec<String> = named
            .iter()
            .map(|named| format!("{} page {}", named.file, named.page))
            .collect();
        if !others.is_empty() {
            names.push(format!("and {} more", others.len()));
        }
        (!names.is_empty()).then(|| names.join(", "))
    }
}

/// What was in the redo log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RedoFigures {
    /// Where it began.
    pub checkpoint_lsn: u64,
    /// The end of the last complete mini-transaction.
    pub end_lsn: u64,
    /// Bytes read.
    pub scanned_bytes: u64,
    /// Bytes of a mini-transaction whose end was lost.
    pub torn_bytes: u64,
    /// Where a damaged block ended the log though sound ones follow it.
    pub hole_lsn: Option<u64>,
    /// Bytes from the end of the log to that of the last sound block: redo that is lost.
    pub lost_bytes: u64,
    /// Complete mini-transactions.
    pub mini_transactions: u64,
    /// Their records.
    pub records: u64,
    /// Records that were applied.
    pub records_applied: u64,
    /// Pages that were not up to date.
    pub pages_applied: u64,
}

/// Seconds that the steps took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepTimes {
    /// Looking for torn pages.
    pub doublewrite: f64,
    /// Reading redo.
    pub scan: f64,
    /// Applying redo.
    pub apply: f64,
    /// Finding transactions and rolling them back.
    pub roll_back: f64,
}

/// Opens a data directory of the host with a plan's settings, looks for faults if it is to
/// `check`, and shuts it down.
///
/// # Errors
/// If the directory is in use, is none of ours, or cannot be recovered; its files are then
/// as they were, but perhaps for torn pages that could be repaired.
pub fn recover(plan: &RunPlan, directory: &Path, check: bool) -> anyhow::Result<RecoveryDocument> {
    pool_memory::require(plan)?;
    finish(directory)?;
    RealMachine::new(plan.seed).run(|| {
        let files = FileSystem::new();
        let options = EngineOptions {
            // Nothing happens but recovery; a checkpoint comes with the shutdown.
            stepped: true,
            metric_shards: 1,
        };
        let (engine, report) = Engine::open(files, directory, &plan.settings, options)?;
        let mut faults = match check {
            true => engine.faults(),
            false => Vec::new(),
        };
        // What was found is worth telling, whatever becomes of the shutdown.
        if let Err(error) = engine.shutdown() {
            faults.push(format!("the shutdown failed: {error}"));
        }
        let mut warnings = engine.files().take_warnings();
        warnings.extend(lost_redo(&report));
        Ok(document(plan, directory, report, faults, warnings))
    })
}

/// A warning of redo that was lost behind a damaged block, if any was.
pub fn lost_redo(report: &EngineRecoveryReport) -> Option<String> {
    let (redo, hole) = (&report.redo, report.redo.hole_lsn?);
    Some(format!(
        "the redo log is damaged at LSN {hole} and was cut off at LSN {}: {} bytes up to the last \
         sound block are lost, with all transactions in them. After a power cut these may never \
         have been durable; after anything else, restore a backup",
        redo.end_lsn, redo.lost_bytes
    ))
}

fn document(
    plan: &RunPlan,
    directory: &Path,
    report: EngineRecoveryReport,
    faults: Vec<String>,
    warnings: Vec<String>,
) -> RecoveryDocument {
    let (doublewrite, redo, times) = (&report.doublewrite, &report.redo, report.times);
    RecoveryDocument {
        innosim: env!("CARGO_PKG_VERSION").to_owned(),
        datadir: directory.display().to_string(),
        flavor: plan.settings.flavor().name().to_owned(),
        was_needed: report.was_needed(),
        doublewrite: DoublewriteFigures {
            copies: doublewrite.copies,
            torn_copies: doublewrite.torn_copies,
            restored: doublewrite.restored.len(),
            restored_pages: RepairedPage::of(&report, directory),
        },
        redo: RedoFigures {
            checkpoint_lsn: redo.checkpoint_lsn,
            end_lsn: redo.end_lsn,
            scanned_bytes: redo.scanned_bytes,
            torn_bytes: redo.torn_bytes,
            hole_lsn: redo.hole_lsn,
            lost_bytes: redo.lost_bytes,
            mini_transactions: redo.groups,
            records: redo.records,
            records_applied: redo.records_applied,
            pages_applied: redo.pages_applied,
        },
        rolled_back: report.rolled_back,
        rows_undone: report.rows_undone,
        times_s: StepTimes {
            doublewrite: to_seconds(times.doublewrite),
            scan: to_seconds(times.scan),
            apply: to_seconds(times.apply),
            roll_back: to_seconds(times.roll_back),
        },
        removed_tables: report.removed_tables,
        faults,
        warnings,
    }
}

impl fmt::Display for RecoveryDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (doublewrite, redo, times) = (&self.doublewrite, &self.redo, &self.times_s);
        match self.was_needed {
            true => writeln!(f, "{}: had not been shut down", self.datadir)?,
            false => writeln!(f, "{}: had been shut down", self.datadir)?,
        }
        writeln!(
            f,
            "    torn pages       {} repaired, from {} sound copies ({:.2} s)",
            doublewrite.restored, doublewrite.copies, times.doublewrite
        )?;
        if let Some(pages) = RepairedPage::list(&doublewrite.restored_pages) {
            writeln!(f, "    repaired         {pages}")?;
        }
        writeln!(
            f,
            "    redo read        LSN {} to {}: {} bytes, {} mini-transactions, {} records ({:.2} s)",
            redo.checkpoint_lsn,
            redo.end_lsn,
            redo.scanned_bytes,
            redo.mini_transactions,
            redo.records,
            times.scan
        )?;
        if redo.torn_bytes > 0 {
            let torn = redo.torn_bytes;
            writeln!(
                f,
                "    redo cut off     {torn} bytes of a mini-transaction without end"
            )?;
        }
        writeln!(
            f,
            "    redo applied     {} records to {} pages ({:.2} s)",
            redo.records_applied, redo.pages_applied, times.apply
        )?;
        writeln!(
            f,
            "    rolled back      {} transactions, {} undo records ({:.2} s)",
            self.rolled_back, self.rows_undone, times.roll_back
        )?;
        for table in &self.removed_tables {
            writeln!(
                f,
                "    removed          {table}, whose creation was interrupted"
            )?;
        }
        for warning in &self.warnings {
            writeln!(f, "    warning          {warning}")?;
        }
        for fault in &self.faults {
            writeln!(f, "    FAULT            {fault}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_repaired_pages_are_named() {
        let page = |page| RepairedPage {
            file: "ibdata1".to_owned(),
            page,
        };
        assert_eq!(RepairedPage::list(&[]), None);
        let list = RepairedPage::list(&[page(5), page(7)]).unwrap();
        assert_eq!(list, "ibdata1 page 5, ibdata1 page 7");
        let pages: Vec<RepairedPage> = (1..=20).map(page).collect();
        let list = RepairedPage::list(&pages).unwrap();
        assert!(list.ends_with(", ibdata1 page 20"), "{list}");
        let pages: Vec<RepairedPage> = (1..=23).map(page).collect();
        let list = RepairedPage::list(&pages).unwrap();
        assert!(list.ends_with(", ibdata1 page 20, and 3 more"), "{list}");
    }
}
