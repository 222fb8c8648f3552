//! A whole run: files, machine, database, measurement, results.

use std::path::Path;
use std::sync::Arc;

use innosim_engine::runtime::time::Time;

use super::data_directory::DataDirectory;
use super::database::Database;
use super::document::document;
use super::host_usage::HostUsage;
use super::machine::Machine;
use super::measure::{Drive, Measurement, measure};
use super::plan::{RunFiles, RunPlan};
use super::pool_memory;
use crate::complaint::in_words;
use crate::report::IntervalLine;
use crate::report::json::RunDocument;

/// A database that a run can prepare, open and close.
pub trait Server: Database + Sized {
    /// Loads the tables of a plan that a directory of the host does not have, before the
    /// run's machine is switched on. `watch` is told how far loading has come.
    ///
    /// # Errors
    /// If the directory is not one of this database, holds other tables than the plan's,
    /// or cannot be written.
    fn prepare(plan: &RunPlan, directory: &Path, watch: &mut dyn Watch) -> anyhow::Result<()>;

    /// Opens the database in a data directory. Called by the machine's main task.
    ///
    /// # Errors
    /// If its files cannot be read, or do not hold the plan's tables.
    fn open(plan: &RunPlan, data: &Path) -> anyhow::Result<Arc<Self>>;

    /// Closes it, as `innodb_fast_shutdown` says.
    ///
    /// # Errors
    /// If the engine cannot write what it has to.
    fn close(self: Arc<Self>) -> anyhow::Result<()>;

    /// What the user should know of what happened, so far.
    fn take_warnings(&self) -> Vec<String>;
}

/// Who is told what a run is doing.
pub trait Watch {
    /// Some rows of a table have been loaded.
    fn loaded(&mut self, table: &str, rows: u64, of: u64);

    /// Something about the data directory that the user should know.
    fn note(&mut self, _message: &str) {}

    /// The clients are about to start.
    fn starts(&mut self);

    /// An interval has ended.
    fn interval(&mut self, line: &IntervalLine);

    /// The state that several futures begin from has been reached, after so much time.
    fn warm(&mut self, _warm_up: Time) {}

    /// One of several futures of a warm state has been measured: the one at this place of
    /// the list.
    fn future_ended(&mut self, _place: usize, _label: &str, _document: &RunDocument) {}
}

/// Watches in silence.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyWatches;

impl Watch for NobodyWatches {
    fn loaded(&mut self, _table: &str, _rows: u64, _of: u64) {}
    fn starts(&mut self) {}
    fn interval(&mut self, _line: &IntervalLine) {}
}

/// What a run gave.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// Everything measured.
    pub measurement: Measurement,
    /// The document made of it.
    pub document: RunDocument,
    /// Why the changes are not in the data directory that was to keep them, or the database
    /// could not be closed: what was measured before is good.
    pub unwritten: Option<String>,
}

/// Carries a plan out. A data directory that is kept has the run's changes in it when all
/// went well; a run under the virtual clock that fails leaves it as it was prepared.
///
/// # Errors
/// If there is no memory for the buffer pool, machine or files cannot be made, or the
/// engine cannot go on. What fails after the measurement is in
/// [`unwritten`](RunResult::unwritten).
pub fn execute<S: Server>(
    plan: &RunPlan,
    mut watch: impl Watch + 'static,
) -> anyhow::Result<RunResult> {
    let usage = HostUsage::begin();
    pool_memory::require(plan)?;
    let directory = DataDirectory::new(&plan.files)?;
    S::prepare(plan, directory.path(), &mut watch)?;
    let mut machine = Machine::new(plan, directory.path())?;
    let data = machine.data().to_path_buf();
    let inside = plan.clone();
    let ran = machine.run(move || -> anyhow::Result<_> {
        let server = S::open(&inside, &data)?;
        watch.starts();
        let drive = Drive::new(&inside);
        let measurement = measure(&server, &drive, |line| watch.interval(line))?;
        let mut warnings = server.take_warnings();
        let closed = server.clone().close();
        warnings.extend(server.take_warnings());
        Ok((measurement, warnings, closed))
    })?;
    let (measurement, warnings, closed) = ran?;
    let written = closed.and_then(|()| match plan.files {
        RunFiles::Kept(_) => machine.write_out(),
        _ => Ok(()),
    });
    let document = document(plan, &measurement, warnings, &usage);
    Ok(RunResult {
        measurement,
        document,
        unwritten: written.err().map(|error| in_words(&error)),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::arguments::RunArguments;
    use super::super::sleeping::Sleeping;
    use super::*;

    fn plan(clock: &str, seed: u64, datadir: Option<&Path>) -> RunPlan {
        RunArguments {
            clock: Some(clock.into()),
            workload: Some("oltp_point_select".into()),
            events: Some("250".into()),
            seed: Some(seed.to_string()),
            tables: Some("2".into()),
            report_interval: Some("0.1".into()),
            datadir: datadir.map(Into::into),
            ..RunArguments::default()
        }
        .plan()
        .unwrap()
    }

    /// Keeps what it is told.
    #[derive(Clone, Default)]
    struct Diary(Arc<Mutex<Vec<String>>>);

    impl Diary {
        fn write(&self, line: String) {
            self.0.lock().unwrap().push(line);
        }
    }

    impl Watch for Diary {
        fn loaded(&mut self, table: &str, rows: u64, of: u64) {
            self.write(format!("{table}: {rows} of {of}"));
        }
        fn starts(&mut self) {
            self.write("starts".into());
        }
        fn interval(&mut self, line: &IntervalLine) {
            self.write(format!("{:.1} s", line.elapsed_s));
        }
    }

    #[test]
    fn a_run_loads_measures_and_leaves_its_files() {
        for clock in ["virtual", "real"] {
            let directory = tempfile::tempdir().unwrap();
            let datadir = directory.path().join("data");
            let diary = Diary::default();
            let plan = plan(clock, 1, Some(&datadir));
            let result = execute::<Sleeping>(&plan, diary.clone()).unwrap();
            assert_eq!(result.document.transactions, 250);
            let mut warnings = plan.warnings.clone();
            warnings.push("all was a dream".into());
            assert_eq!(result.document.warnings, warnings);
            let lines = diary.0.lock().unwrap().clone();
            let begin = [
                "sbtest1: 10000 of 10000",
                "sbtest2: 10000 of 10000",
                "starts",
            ];
            assert_eq!(lines[..3], begin);
            assert!(lines.len() > 4, "{lines:?}");
            assert_eq!(std::fs::read(datadir.join("tables")).unwrap(), b"sbtest2");
            assert!(datadir.join("open").exists(), "{clock}");
        }
    }

    #[test]
    fn a_simulation_that_fails_leaves_files_as_they_were_prepared() {
        let directory = tempfile::tempdir().unwrap();
        let datadir = directory.path().join("data");
        let plan = plan("virtual", 13, Some(&datadir));
        let error = execute::<Sleeping>(&plan, NobodyWatches).unwrap_err();
        assert_eq!(error.to_string(), "the disk is full");
        assert_eq!(std::fs::read(datadir.join("tables")).unwrap(), b"sbtest2");
        assert!(!datadir.join("open").exists());
    }

    #[test]
    fn under_the_virtual_clock_only_the_host_differs() {
        let run = || {
            let result = execute::<Sleeping>(&plan("virtual", 1, None), NobodyWatches).unwrap();
            let mut document = serde_json::to_value(result.document).unwrap();
            let host = document.as_object_mut().unwrap().remove("host").unwrap();
            assert!(host["wall_s"].as_f64().unwrap() > 0.0);
            document
        };
        assert!(run() == run());
    }
}
