//! The processes of a sweep: so many at a time, each one run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::grid::GridPoint;
use crate::progress::Progress;
use crate::report::json::RunDocument;
use crate::run::children::StartedChild;

/// What came of one run.
pub type Outcome = Result<RunDocument, String>;

/// How runs are started.
#[derive(Debug, Clone)]
pub struct Runner {
    /// The program.
    pub program: PathBuf,
    /// What comes before the options of a run.
    pub arguments: Vec<OsString>,
    /// How many run at a time, at least one.
    pub jobs: usize,
}

impl Runner {
    /// The running program itself, with its subcommand `run`.
    ///
    /// # Errors
    /// If the system does not tell the program's path.
    pub fn this_program(jobs: usize) -> std::io::Result<Self> {
        Ok(Runner {
            program: std::env::current_exe()?,
            arguments: vec!["run".into()],
            jobs,
        })
    }

    /// Carries all runs out; what came of each, in their order. Progress is theirs alone.
    pub fn run_all(&self, points: &[GridPoint], progress: &Progress) -> Vec<Outcome> {
        progress.expect(points.len() as u64);
        let outcomes = self.run_each(points, progress);
        progress.finish();
        outcomes
    }

    /// As [`run_all`](Self::run_all), as a part of something larger that expects a step for
    /// each.
    pub fn run_each(&self, points: &[GridPoint], progress: &Progress) -> Vec<Outcome> {
        let next = AtomicUsize::new(0);
        let outcomes: Vec<Mutex<Option<Outcome>>> =
            points.iter().map(|_| Mutex::default()).collect();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, points.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Relaxed);
                        let Some(point) = points.get(number) else {
                            break;
                        };
                        let outcome = self.run(point);
                        progress.step(&told(point, &outcome));
                        let mut slot = outcomes[number]
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner);
                        *slot = Some(outcome);
                    }
                });
            }
        });
        let take = |slot: Mutex<Option<Outcome>>| {
            let outcome = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
            outcome.expect("every number was taken by a worker, which ended")
        };
        outcomes.into_iter().map(take).collect()
    }

    /// Carries one run out.
    pub fn run(&self, point: &GridPoint) -> Outcome {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .args(point.arguments.command_line())
            .args(["--json", "-"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let output = StartedChild::start(&mut command)
            .and_then(StartedChild::output)
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {}", output.status, reason(&message)));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("the run's document cannot be read: {error}"))
    }
}

/// Why a process failed: what the program complains of, without its progress and its
/// warnings; whatever was said last if it complains of nothing.
pub(crate) fn reason(text: &str) -> String {
    const LINES: usize = 5;
    let complaint = |line: &&str| {
        line.strip_prefix("innosim: ")
            .is_some_and(|rest| !rest.starts_with("warning: ") && !rest.starts_with("note: "))
    };
    let mut lines: Vec<&str> = text.lines().filter(complaint).collect();
    if lines.is_empty() {
        lines = text.trim().lines().collect();
    }
    let last = &lines[lines.len().saturating_sub(LINES)..];
    let last: Vec<&str> = last
        .iter()
        .map(|line| line.strip_prefix("innosim: ").unwrap_or(line))
        .collect();
    last.join("; ")
}

/// What was varied, as one line.
pub fn label(point: &GridPoint) -> String {
    let parts: Vec<String> = point
        .set
        .iter()
        .map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name}={text}"),
            None => format!("{name}={value}"),
        })
        .collect();
    if parts.is_empty() {
        "the run".to_owned()
    } else {
        parts.join(" ")
    }
}

fn told(point: &GridPoint, outcome: &Outcome) -> String {
    match outcome {
        Ok(run) => format!("{}: {:.1} tps", label(point), run.tps),
        Err(_) => format!("{}: failed", label(point)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid::Grid;
    use super::*;
    use crate::run::RunArguments;
    use std::num::NonZeroU32;

    /// A shell in the place of the program: it fails for three threads, and prints
    /// something that is no document otherwise.
    fn shell(script: &str) -> Runner {
        Runner {
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into(), "run".into()],
            jobs: 2,
        }
    }

    fn outcomes(script: &str) -> Vec<Outcome> {
        let vary = ["threads=1,3,5".to_owned()];
        let grid = Grid::new(&RunArguments::default(), &vary, NonZeroU32::MIN).unwrap();
        shell(script).run_all(&grid.points, &Progress::silent())
    }

    #[test]
    fn a_run_that_fails_leaves_the_others_alone() {
        let script = r#"case "$*" in *--threads=3*) echo one >&2; echo "no disk" >&2; exit 1;;
                                   *--threads=5*) echo "1: loaded" >&2
                                                  echo "innosim: warning: old" >&2
                                                  echo "innosim: no memory" >&2
                                                  echo bye >&2; exit 2;; esac
                        echo "\"$*\"""#;
        let outcomes = outcomes(script);
        assert_eq!(outcomes[1], Err("exit status: 1: one; no disk".to_owned()));
        assert_eq!(outcomes[2], Err("exit status: 2: no memory".to_owned()));
        let message = outcomes[0].as_ref().unwrap_err();
        assert!(
            message.starts_with("the run's document cannot be read"),
            "{message}"
        );
    }

    #[test]
    fn every_run_is_called_with_its_own_options() {
        let directory = tempfile::tempdir().unwrap();
        let script = format!(r#"echo "$*" > "{}/$$""#, directory.path().display());
        outcomes(&script);
        let mut calls: Vec<String> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect();
        calls.sort();
        let expected = [1, 3, 5].map(|threads| format!("--threads={threads} --json -\n"));
        assert_eq!(calls, expected);
    }

    #[test]
    fn a_program_that_cannot_be_started_is_named() {
        let runner = Runner {
            program: "/nowhere/innosim".into(),
            ..shell("")
        };
        let grid = Grid::new(&RunArguments::default(), &[], NonZeroU32::MIN).unwrap();
        let outcomes = runner.run_all(&grid.points, &Progress::silent());
        assert!(
            outcomes[0]
                .as_ref()
                .unwrap_err()
                .starts_with("/nowhere/innosim: ")
        );
    }
}
