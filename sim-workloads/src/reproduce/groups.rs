//! From cells to processes.
//!
//! ```text
//!   cells   tuned, 16 threads, 128 pages ─┐ one group: the same database, warm, with
//!           tuned, 16 threads,  16 pages ─┘ other variables
//!           tuned, 64 threads, 128 pages ─┐
//!           …                             │
//! ```
//!
//! Cells of one *group* have the same machine, settings and threads, so that they could
//! begin to measure from one warm state; what they change, variables and seeds, could be
//! changed there. Each run of a group is a process of its own here, with a warm-up of its
//! own. How a group becomes processes, and what these give, is known to this file alone.

use super::finished::Measured;
use super::report::{Cell, Length, Setup};
use crate::run::RunArguments;
use crate::sweep::{GridPoint, Runner};

/// Cells that can share a warm-up, by their numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Group<'a> {
    /// What they begin from.
    pub setup: &'a Setup,
    /// Their numbers in the list of cells.
    pub cells: Vec<usize>,
}

/// The groups of a list of cells, in the order of their first cells.
pub fn groups(cells: &[Cell]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        match groups.iter_mut().find(|group| *group.setup == cell.setup) {
            Some(group) => group.cells.push(number),
            None => groups.push(Group {
                setup: &cell.setup,
                cells: vec![number],
            }),
        }
    }
    groups
}

/// One run that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The number of its cell.
    pub cell: usize,
    /// Its seed.
    pub seed: u64,
    /// What the cache knows it by.
    pub key: String,
}

/// One process, and the runs that it gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Those runs.
    pub wanted: Vec<Wanted>,
    /// The run as the process is to carry it out.
    point: GridPoint,
    length: Length,
    /// Transactions that will have to be simulated, about.
    pub weight: f64,
}

/// The processes for those runs of a group that are wanted. `arguments` are the group's,
/// with paths; where they have a base it is that of all.
pub fn jobs(cells: &[Cell], arguments: &RunArguments, wanted: Vec<Wanted>) -> Vec<Job> {
    let job = |wanted: Wanted| {
        let cell = &cells[wanted.cell];
        let mut set = cell.labels.clone();
        set.insert("seed".into(), wanted.seed.into());
        let length = cell.setup.length;
        Job {
            point: GridPoint {
                set,
                arguments: with_seed(arguments, cell, wanted.seed),
            },
            length,
            weight: (length.warm_up_s + length.measure_s) * cell.expected_tps,
            wanted: vec![wanted],
        }
    };
    wanted.into_iter().map(job).collect()
}

/// The options of a cell's run: those of its group, and what is its own.
pub fn with_seed(arguments: &RunArguments, cell: &Cell, seed: u64) -> RunArguments {
    let mut arguments = arguments.clone();
    arguments.set.extend(cell.changed.iter().cloned());
    arguments.seed = Some(seed.to_string());
    with_warm_up(arguments, cell.setup.length.warm_up_s, cell.setup.length)
}

fn with_warm_up(mut arguments: RunArguments, warm_up_s: f64, length: Length) -> RunArguments {
    arguments.warmup_time = Some(warm_up_s.to_string());
    arguments.time = Some(length.measure_s.to_string());
    arguments
}

/// How many times as long as a page stays dirty the warm-up has to be.
pub const STEADY_TIMES: f64 = 3.0;

/// Attempts at a warm-up that is long enough.
const ATTEMPTS: u32 = 3;

/// A job in a few words.
pub fn label(job: &Job) -> String {
    crate::sweep::jobs::label(&job.point)
}

/// Carries a job out: what came of each run that it gives, in their order.
pub fn carry_out(job: &Job, runner: &Runner) -> Vec<Result<Measured, String>> {
    vec![until_steady(job, |point| runner.run(point))]
}

/// Runs again with a longer warm-up, if the one before was too short for how long pages
/// stayed dirty.
fn until_steady(
    job: &Job,
    run: impl Fn(&GridPoint) -> crate::sweep::Outcome,
) -> Result<Measured, String> {
    let mut warm_up_s = job.length.warm_up_s;
    let mut attempt = 1;
    loop {
        let mut point = job.point.clone();
        point.arguments = with_warm_up(point.arguments, warm_up_s, job.length);
        let run = run(&point)?;
        let needed = needed_warm_up_s(
            &Measured {
                warm_up_s,
                run: run.clone(),
            },
            job.length,
        );
        if needed <= warm_up_s || attempt == ATTEMPTS {
            return Ok(Measured { warm_up_s, run });
        }
        // A little more, since pages may stay dirty for longer then; whole tens are easier
        // to read.
        warm_up_s = (needed * 1.1 / 10.0).ceil() * 10.0;
        attempt += 1;
    }
}

/// The warm-up that a run should have had, in seconds.
pub fn needed_warm_up_s(measured: &Measured, length: Length) -> f64 {
    let dirty = measured.run.validity.dirty_to_flush_s.unwrap_or(0.0);
    match length.until_steady {
        true => (STEADY_TIMES * dirty).max(length.warm_up_s),
        false => length.warm_up_s,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::super::sample;
    use super::*;

    fn cells() -> Vec<Cell> {
        let cell = |threads: &str, pages: &str| {
            let mut cell = sample::cell(json!({"threads": threads, "pages": pages}), &[], 2);
            cell.setup.arguments.threads = Some(threads.into());
            cell.changed = vec![format!("innodb_doublewrite_pages={pages}")];
            cell
        };
        vec![cell("16", "128"), cell("64", "128"), cell("16", "16")]
    }

    #[test]
    fn cells_that_begin_alike_are_one_group() {
        let cells = cells();
        let numbers: Vec<_> = groups(&cells)
            .into_iter()
            .map(|group| group.cells)
            .collect();
        assert_eq!(numbers, [vec![0, 2], vec![1]]);
    }

    #[test]
    fn each_run_is_a_call_of_its_own() {
        let cells = cells();
        let wanted = |cell, seed| Wanted {
            cell,
            seed,
            key: String::new(),
        };
        let arguments = cells[0].setup.arguments.clone();
        let jobs = jobs(&cells, &arguments, vec![wanted(0, 1), wanted(2, 5)]);
        let call = |job: &Job| {
            let arguments = job.point.arguments.command_line();
            let words: Vec<_> = arguments
                .iter()
                .map(|word| word.to_str().unwrap())
                .collect();
            words.join(" ")
        };
        assert_eq!(
            call(&jobs[1]),
            "--set=innodb_doublewrite_pages=16 --threads=16 --time=2 --warmup-time=1 --seed=5"
        );
        assert_eq!(label(&jobs[0]), "threads=16 pages=128 seed=1");
        assert_eq!(jobs[0].weight, 3.0 * cells[0].expected_tps);
    }

    /// Runs in which pages stay dirty for so many seconds, one after the other.
    fn warm_ups(until_steady: bool, dirty: &[f64]) -> (Vec<String>, f64) {
        let mut cells = cells();
        cells[0].setup.length.until_steady = until_steady;
        let wanted = Wanted {
            cell: 0,
            seed: 1,
            key: String::new(),
        };
        let arguments = cells[0].setup.arguments.clone();
        let job = &jobs(&cells, &arguments, vec![wanted])[0];
        let calls = RefCell::new(Vec::new());
        let measured = super::until_steady(job, |point| {
            let mut calls = calls.borrow_mut();
            let mut run = sample::run();
            run.validity.dirty_to_flush_s = Some(dirty[calls.len()]);
            calls.push(point.arguments.warmup_time.clone().unwrap());
            Ok(run)
        });
        (calls.into_inner(), measured.unwrap().warm_up_s)
    }

    #[test]
    fn a_warm_up_that_was_too_short_is_repeated() {
        assert_eq!(warm_ups(false, &[100.0]), (vec!["1".into()], 1.0));
        assert_eq!(warm_ups(true, &[0.3]), (vec!["1".into()], 1.0));
        let expected = (vec!["1".into(), "70".into()], 70.0);
        assert_eq!(warm_ups(true, &[20.0, 23.0]), expected);
        // It is given up when pages stay dirty ever longer.
        let (calls, warm_up_s) = warm_ups(true, &[10.0, 100.0, 1000.0]);
        assert_eq!((calls.len(), warm_up_s), (3, 330.0));
    }
}
