//! What a published report is to this program: machines, runs, and what must come out.
//!
//! ```text
//!   Report ──cells()──► Cell ── labels          threads=36, flavor=mysql-5.6 …
//!                            ├─ published       tps 12361
//!                            ├─ setup, changed  what to run
//!                            └─ seeds           how often
//!          ──findings()─► claims, controls      over the finished cells
//! ```
//!
//! A report is a value of a type that implements [`Report`]; its published figures come
//! from the CSV files in `data/seeds`, its settings from the option files there, both of
//! them compiled in. To add a report, implement the trait in a file of its own and name it
//! in [`REPORTS`](super::REPORTS).

use std::num::NonZeroU32;

use serde_json::{Map, Value};

use super::finished::Finished;
use super::machines::{Adjustment, MachineChange};
use crate::report::json::{Answer, Finding};
use crate::run::RunArguments;

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// A few cells of one seed, to see the shape.
    Quick,
    /// Every cell, three seeds, all controls.
    Full,
}

/// What is asked of a report: on which machine, at which scale, how much.
#[derive(Debug, Clone, Copy)]
pub struct Extent<'a> {
    /// The name of a built-in profile.
    pub machine: &'a str,
    /// What sizes are divided by.
    pub scale: NonZeroU32,
    /// How much.
    pub amount: Amount,
}

impl Extent<'_> {
    /// Whether everything is run.
    pub fn is_full(&self) -> bool {
        self.amount == Amount::Full
    }
}

/// A published report.
pub trait Report: Sync {
    /// The name on the command line and in results.
    fn name(&self) -> &'static str;

    /// The profiles that may have been the report's machine, the most likely first. In
    /// quick mode only that one is run.
    fn machines(&self) -> &'static [&'static str];

    /// What sizes are divided by, if nobody says otherwise.
    fn default_scale(&self, amount: Amount) -> NonZeroU32;

    /// What the report leaves open and how it is read here; what quick mode leaves out.
    fn assumptions(&self, extent: &Extent<'_>) -> Vec<String>;

    /// What has to be run.
    ///
    /// # Errors
    /// If the published figures cannot be read.
    fn cells(&self, extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>>;

    /// The constants of its machines that were fitted, and to what: at most six.
    fn constants(&self) -> Vec<FittedConstant>;

    /// Of the cells of the full form those that a study of its answers needs, of one seed.
    ///
    /// # Errors
    /// If the published figures cannot be read.
    fn study_cells(&self, extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>>;

    /// The scales of a study, the report's own among them, the coarsest first.
    fn study_scales(&self) -> Vec<NonZeroU32>;

    /// What the report is about, in figures, over the cells of a study.
    fn answers(&self, finished: &Finished) -> Vec<Answer>;

    /// What a server does, the report's machine has, or its users did, that the model
    /// leaves out: one sentence each.
    fn leaves_out(&self) -> &'static [&'static str];

    /// What is claimed, and the controls, over what came of the runs. A finding whose runs
    /// failed does not hold.
    fn findings(&self, finished: &Finished, extent: &Extent<'_>) -> Findings;
}

/// A constant of a machine that was fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedConstant {
    /// The built-in profile.
    pub machine: &'static str,
    /// Its key there: names, and numbers from 0 in lists, with dots.
    pub key: &'static str,
    /// The labels of the cells that it was fitted to; none where it was fitted to other
    /// figures of the report.
    pub cells: Vec<Map<String, Value>>,
}

/// What is found about a report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// What the report says.
    pub claims: Vec<Finding>,
    /// What must come out if the mechanism is the stated one.
    pub controls: Vec<Finding>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// A file of settings that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionFile {
    /// Its name without directory.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// What a run begins from: everything but what may be changed once it is warm.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The options of the run, without paths, seed, machine and lengths.
    pub arguments: RunArguments,
    /// Its settings.
    pub option_file: Option<OptionFile>,
    /// The name of a built-in profile.
    pub machine: String,
    /// How that machine is changed.
    pub change: MachineChange,
    /// Values of it that are others, for a study.
    pub adjustments: Vec<Adjustment>,
    /// The length of warm-up and measurement, in seconds.
    pub length: Length,
}

/// How long a run is, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length {
    /// Before the measurement, at least.
    pub warm_up_s: f64,
    /// The measurement.
    pub measure_s: f64,
    /// Whether the runs of a group begin from one warm state, and how; without, each has a
    /// warm-up of its own.
    pub warm_state: Option<WarmState>,
}

/// A state that several runs begin from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmState {
    /// Between the change of what is a run's own, its variables and its seed, and its
    /// measurement, in seconds.
    pub settle_s: f64,
    /// Whether the warm-up has to last for three times as long as a page stays dirty:
    /// where flushing is what is measured.
    pub until_steady: bool,
}

impl WarmState {
    /// Transactions of each client that settle a short run: at the snapshot all clients stand
    /// before a transaction, and only by and by they are in all phases of one again.
    pub const SETTLE_TRANSACTIONS: u32 = 4;

    /// What seeds share where all data is in the pool: settled when that many transactions
    /// have passed at so many transactions a second, to a twentieth of a second.
    pub fn of_short_runs(threads: u32, tps: f64) -> Self {
        let seconds = f64::from(Self::SETTLE_TRANSACTIONS * threads) / tps;
        WarmState {
            settle_s: (seconds * 20.0).ceil() / 20.0,
            until_steady: false,
        }
    }

    /// The same in words, for the assumptions of a report.
    pub fn shared_by_seeds() -> String {
        format!(
            "The seeds of a cell share its warm-up, and differ from there on only: each begins \
             with {} transactions of every client that are not measured.",
            Self::SETTLE_TRANSACTIONS
        )
    }
}

impl Length {
    /// Everything that one run alone simulates, in seconds; at least.
    pub fn total_s(&self) -> f64 {
        let settle_s = self.warm_state.map_or(0.0, |state| state.settle_s);
        self.warm_up_s + settle_s + self.measure_s
    }
}

/// One set of runs that differ in their seed only.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// What identifies it.
    pub labels: Map<String, Value>,
    /// Published figures by the name of the metric, dots for nesting; a metric without
    /// figure is a neighbour of published cells. None at all for a control.
    pub figures: Vec<(&'static str, Option<f64>)>,
    /// Whether a constant of the model was fitted to these figures.
    pub fitted: bool,
    /// What to begin from.
    pub setup: Setup,
    /// System variables of this cell, as `name=value`, which may be changed once the
    /// database is warm.
    pub changed: Vec<String>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Transactions a second to expect, for the estimate of the time that is left.
    pub expected_tps: f64,
}

/// Labels from names and values.
pub fn labels<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    let owned = pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    owned.collect()
}
