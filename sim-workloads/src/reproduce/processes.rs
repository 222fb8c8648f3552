//! Starts the process of a job and reads what it gives.
//!
//! ```text
//!   innosim run …       ──► one document
//!   innosim futures …   ──► a line when a future has ended, a line, …
//! ```
//!
//! A run is told as soon as it is there, so that it can be kept: whatever becomes of the
//! process then, that run is not lost.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use super::execute::Program;
use super::finished::Measured;
use super::groups::Job;
use super::report::WarmState;
use crate::run::RunArguments;
use crate::run::children::StartedChild;
use crate::run::futures::FutureLine;
use crate::sweep::jobs::reason;

/// What is started, with the options of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// One run.
    Run(RunArguments),
    /// Futures of one warm state.
    Futures {
        /// Of the warm-up.
        arguments: RunArguments,
        /// Their texts.
        futures: Vec<String>,
        /// How they begin.
        state: WarmState,
        /// Processes to fork at a time, and bytes of images for each; without, there is one
        /// future, and the process becomes it.
        forks: Option<(usize, u64)>,
    },
}

impl Call {
    /// The words after the program's name.
    pub fn command_line(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        match self {
            Call::Run(arguments) => {
                words.push("run".into());
                words.extend(arguments.command_line());
                words.push("--json=-".into());
            }
            Call::Futures {
                arguments,
                futures,
                state,
                forks,
            } => {
                words.push("futures".into());
                words.extend(arguments.command_line());
                let futures = futures.iter().map(|text| format!("--future={text}").into());
                words.extend(futures);
                words.push(format!("--settle-time={}", state.settle_s).into());
                if state.until_steady {
                    words.push("--until-steady".into());
                }
                if let Some((at_a_time, image_bytes)) = forks {
                    words.push(format!("--jobs={at_a_time}").into());
                    let mebibytes = (image_bytes >> 20).max(1);
                    words.push(format!("--image-memory={mebibytes}").into());
                }
            }
        }
        words
    }
}

/// Carries a job out. `ended` is told of each run by its place in the job, when it has
/// ended; at the latest when the process has, of those that it does not give, why.
pub fn carry_out(
    job: &Job,
    program: &Program,
    mut ended: impl FnMut(usize, Result<Measured, String>),
) {
    let mut is_there = vec![false; job.wanted.len()];
    let result = start(job, program, |place, measured| {
        if let Some(there) = is_there.get_mut(place) {
            *there = true;
            ended(place, Ok(measured));
        }
    });
    let why = match result {
        Ok(()) => "the process has given no document of it".to_owned(),
        Err(why) => why,
    };
    let missing = is_there.iter().enumerate().filter(|(_, there)| !**there);
    for (place, _) in missing {
        ended(place, Err(why.clone()));
    }
}

fn start(
    job: &Job,
    program: &Program,
    mut ended: impl FnMut(usize, Measured),
) -> Result<(), String> {
    let mut command = Command::new(&program.path);
    command
        .args(&program.arguments)
        .args(job.call.command_line())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let started = StartedChild::start(&mut command);
    let mut child = started.map_err(|error| format!("{}: {error}", program.path.display()))?;
    let (output, errors) = {
        let process = child.process();
        (process.stdout.take(), process.stderr.take())
    };
    let (Some(output), Some(mut errors)) = (output, errors) else {
        return Err("the process has no output".to_owned());
    };
    // Neither pipe may fill while the other one is read.
    let (read, message) = std::thread::scope(|scope| {
        let message = scope.spawn(move || {
            let mut bytes = Vec::new();
            // What could be read of it is what there is to tell.
            let _ = errors.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let read = read(job, BufReader::new(output), &mut ended);
        (read, message.join().unwrap_or_default())
    });
    let status = child.process().wait().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("{status}: {}", reason(&message)));
    }
    read
}

fn read(
    job: &Job,
    mut output: impl BufRead,
    ended: &mut impl FnMut(usize, Measured),
) -> Result<(), String> {
    let damaged = |error: serde_json::Error| format!("the run's document cannot be read: {error}");
    if let Call::Run(arguments) = &job.call {
        let run = serde_json::from_reader(output).map_err(damaged)?;
        let warm_up_s = arguments.warmup_time.as_deref().map(str::parse);
        let warm_up_s = warm_up_s.and_then(Result::ok).unwrap_or(0.0);
        ended(0, Measured { warm_up_s, run });
        return Ok(());
    }
    let mut line = String::new();
    loop {
        line.clear();
        match output.read_line(&mut line) {
            Ok(0) => return Ok(()),
            Ok(_) => {
                let line: FutureLine = serde_json::from_str(&line).map_err(damaged)?;
                let measured = Measured {
                    warm_up_s: line.warm_up_s,
                    run: line.run,
                };
                ended(line.future, measured);
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::Wanted;
    use super::super::sample;
    use super::*;

    /// What comes of two futures of a shell in the program's place.
    fn outcomes(script: &str) -> Vec<(usize, Result<f64, String>)> {
        let wanted = |seed| Wanted {
            cell: 0,
            seed,
            key: String::new(),
        };
        let job = Job {
            wanted: vec![wanted(1), wanted(2)],
            labels: vec![String::new(); 2],
            call: Call::Futures {
                arguments: RunArguments::default(),
                futures: vec!["seed=1".into(), "seed=2".into()],
                state: WarmState {
                    settle_s: 1.0,
                    until_steady: false,
                },
                forks: Some((2, 1 << 30)),
            },
            weights: vec![1.0; 2],
            processes: 2,
            memory: 0,
        };
        let program = Program {
            path: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            identity: String::new(),
        };
        let mut outcomes = Vec::new();
        carry_out(&job, &program, |place, outcome| {
            outcomes.push((place, outcome.map(|measured| measured.warm_up_s)));
        });
        outcomes
    }

    fn line(future: usize) -> String {
        let line = FutureLine {
            future,
            warm_up_s: 90.0 + future as f64,
            run: sample::run(),
        };
        serde_json::to_string(&line).unwrap()
    }

    #[test]
    fn what_has_ended_is_told_whatever_becomes_of_the_rest() {
        let script = format!(
            "echo '{}'; echo 'innosim: the disk is full' >&2; exit 1",
            line(1)
        );
        let expected = Err("exit status: 1: the disk is full".to_owned());
        assert_eq!(outcomes(&script), [(1, Ok(91.0)), (0, expected)]);
    }

    #[test]
    fn all_lines_are_read_and_what_is_missing_is_told() {
        let script = format!("echo '{}'; echo '{}'", line(0), line(1));
        assert_eq!(outcomes(&script), [(0, Ok(90.0)), (1, Ok(91.0))]);
        let missing = &outcomes(&format!("echo '{}'", line(0)))[1];
        assert!(missing.1.as_ref().unwrap_err().contains("no document"));
        let damaged = &outcomes("echo {")[0];
        assert!(damaged.1.as_ref().unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn much_to_complain_of_blocks_nothing() {
        let script = format!(
            "i=0; while [ $i -lt 3000 ]; do echo 'innosim: note: all is as it should be, or \
             nearly' >&2; i=$((i+1)); done; echo '{}'; echo '{}'",
            line(0),
            line(1)
        );
        assert!(outcomes(&script).iter().all(|(_, outcome)| outcome.is_ok()));
    }
}
