//! From cells to processes.
//!
//! ```text
//!   cells   tuned, 16 threads, 128 pages ─┐ one group: the same database, warm, with
//!           tuned, 16 threads,  16 pages ─┘ other variables
//!           tuned, 64 threads, 128 pages ─┐
//!           …                             │
//! ```
//!
//! Cells of one *group* have the same machine, settings and threads, and differ in
//! variables and seeds. Where the report says so ([`Length::warm_state`]) they begin from
//! one warm state: the group is one process that warms up and forks
//! ([`snapshot`](crate::run::snapshot)), a child for each run. Elsewhere, and where there is
//! no memory for two processes, each run is a process of its own. What a run gives is the
//! same, whoever else is run: a future depends on its warm state and itself alone.
//!
//! How a group becomes processes, and what these give, is known to this file and to
//! [`processes`](super::processes), which starts them.

use super::finished::Measured;
use super::processes::Call;
use super::report::{Cell, Length, Setup, WarmState};
use crate::run::RunArguments;
use crate::run::futures;
use crate::run::snapshot::STEADY_TIMES;

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
    /// Each of them in a few words.
    pub labels: Vec<String>,
    /// What is started.
    pub call: Call,
    /// Transactions that each run will have to simulate, about; the first with the warm-up.
    pub weights: Vec<f64>,
    /// Processes that compute at a time.
    pub processes: usize,
    /// Memory that all of it takes at most, in bytes; about.
    pub memory: u64,
}

/// What processes of a group may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    /// Processes that compute at a time.
    pub jobs: usize,
    /// Memory that there is, in bytes.
    pub memory: u64,
    /// What a process takes besides page images.
    pub process: u64,
    /// Bytes of all page images that a run can make; 0 where the pool holds all data.
    pub images: u64,
    /// Disk for images that have no room in memory, in bytes.
    pub disk: u64,
}

/// A process with less memory for images writes and reads them all the time. Those of the
/// redo log are there also where all tables are in the pool.
const IMAGES_MIN: u64 = 512 << 20;

impl Means {
    /// Forked processes at a time for so many runs, and what each process may keep of
    /// images; `None` if there is no room for a parent and a child.
    fn forks(&self, runs: usize) -> Option<(usize, u64)> {
        if self.images == 0 {
            // Short runs of many groups: the cores have enough to do with one child each.
            let fits = runs > 1 && self.memory >= self.family(1, IMAGES_MIN);
            return fits.then_some((1, IMAGES_MIN));
        }
        let least = self.process + IMAGES_MIN;
        let processes = (self.memory / least).min(self.disk / self.images.max(1));
        let fit = processes.saturating_sub(1);
        let at_a_time = self.jobs.max(1).min(runs).min(fit as usize);
        if runs < 2 || at_a_time == 0 {
            return None;
        }
        let share = self.memory / (at_a_time as u64 + 1) - self.process;
        Some((at_a_time, share.min(self.images.max(IMAGES_MIN))))
    }

    /// What a parent and so many children take.
    fn family(&self, children: usize, image_bytes: u64) -> u64 {
        let children = children as u64;
        match self.images {
            // Pages stay where they are, and a short run changes few of those that it shares
            // with its parent; measured: less than a third.
            0 => self.process + (self.process / 2 + image_bytes) * children,
            _ => (self.process + image_bytes) * (children + 1),
        }
    }
}

/// The processes for those runs of a group that are wanted. `arguments` are the group's,
/// with paths; where they have a base it is that of all.
pub fn jobs(
    cells: &[Cell],
    arguments: &RunArguments,
    wanted: Vec<Wanted>,
    means: &Means,
) -> Vec<Job> {
    let Some(first) = wanted.first() else {
        return Vec::new();
    };
    let length = cells[first.cell].setup.length;
    let forks = means.forks(wanted.len());
    let alone = |wanted: Wanted| Job {
        labels: vec![label(&cells[wanted.cell], wanted.seed)],
        call: match length.warm_state {
            None => Call::Run(with_seed(arguments, &cells[wanted.cell], wanted.seed)),
            Some(state) => {
                let one = std::slice::from_ref(&wanted);
                futures_call(cells, arguments, one, state, None)
            }
        },
        weights: vec![length.total_s() * cells[wanted.cell].expected_tps],
        processes: 1,
        memory: means.process + means.images.min(means.memory / 2),
        wanted: vec![wanted],
    };
    let (Some(state), Some((at_a_time, image_bytes))) = (length.warm_state, forks) else {
        return wanted.into_iter().map(alone).collect();
    };
    let weight = |(number, wanted): (usize, &Wanted)| {
        let warm_up_s = if number == 0 { length.warm_up_s } else { 0.0 };
        let own_s = length.total_s() - length.warm_up_s;
        (warm_up_s + own_s) * cells[wanted.cell].expected_tps
    };
    let label = |wanted: &Wanted| label(&cells[wanted.cell], wanted.seed);
    vec![Job {
        labels: wanted.iter().map(label).collect(),
        call: futures_call(
            cells,
            arguments,
            &wanted,
            state,
            Some((at_a_time, image_bytes)),
        ),
        weights: wanted.iter().enumerate().map(weight).collect(),
        processes: at_a_time,
        memory: means.family(at_a_time, image_bytes),
        wanted,
    }]
}

/// The seed of the warm-up that a group shares.
const WARM_UP_SEED: u64 = 1;

fn futures_call(
    cells: &[Cell],
    arguments: &RunArguments,
    wanted: &[Wanted],
    state: WarmState,
    forks: Option<(usize, u64)>,
) -> Call {
    let length = cells[wanted[0].cell].setup.length;
    let mut arguments = with_length(arguments.clone(), length);
    arguments.seed = Some(WARM_UP_SEED.to_string());
    let text = |wanted: &Wanted| futures::text(wanted.seed, &cells[wanted.cell].changed);
    Call::Futures {
        arguments,
        futures: wanted.iter().map(text).collect(),
        state,
        forks,
    }
}

/// The options of a cell's run: those of its group, and what is its own.
pub fn with_seed(arguments: &RunArguments, cell: &Cell, seed: u64) -> RunArguments {
    let mut arguments = arguments.clone();
    arguments.set.extend(cell.changed.iter().cloned());
    arguments.seed = Some(seed.to_string());
    with_length(arguments, cell.setup.length)
}

fn with_length(mut arguments: RunArguments, length: Length) -> RunArguments {
    arguments.warmup_time = Some(length.warm_up_s.to_string());
    arguments.time = Some(length.measure_s.to_string());
    arguments
}

/// What of a run is not in the options that [`with_seed`] has for it: how it begins.
pub fn beginning(length: Length) -> String {
    match length.warm_state {
        None => "of its own".to_owned(),
        Some(state) => format!(
            "of a warm state of seed {WARM_UP_SEED}, {}settled for {} s",
            if state.until_steady { "steady, " } else { "" },
            state.settle_s
        ),
    }
}

/// A cell and a seed in a few words.
pub fn label(cell: &Cell, seed: u64) -> String {
    let labels = cell.labels.iter();
    let words = labels.map(|(name, value)| match value.as_str() {
        Some(text) => format!("{name}={text}"),
        None => format!("{name}={value}"),
    });
    let adjusted = cell.setup.adjustments.iter();
    let adjusted = adjusted.map(|one| format!("{}={}", one.key, one.value));
    let seed = format!("seed={seed}");
    let words: Vec<String> = words.chain(adjusted).chain([seed]).collect();
    words.join(" ")
}

/// The warm-up that a run should have had, in seconds.
pub fn needed_warm_up_s(measured: &Measured, length: Length) -> f64 {
    let dirty = measured.run.validity.dirty_to_flush_s.unwrap_or(0.0);
    match length.warm_state {
        Some(state) if state.until_steady => (STEADY_TIMES as f64 * dirty).max(length.warm_up_s),
        _ => length.warm_up_s,
    }
}

#[cfg(test)]
mod tests;
