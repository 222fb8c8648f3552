//! `reproduce --json`: published figures against simulated ones.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Constant, TimeBudget, Validity};
use crate::stats::{MeanInterval, relative_error};

/// `reproduce --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReproduceDocument {
    /// The reports, in the order asked for; one entry for each machine that may have been
    /// the report's.
    pub reports: Vec<ReportDocument>,
}

/// One published report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportDocument {
    /// Its name: `doublewrite-pages`, ...
    pub name: String,
    /// The machine profile that stands for the report's machine.
    pub machine: String,
    /// The scale it was simulated at.
    pub scale: u64,
    /// Every published figure.
    pub cells: Vec<Cell>,
    /// What the report says, checked on the simulated figures.
    pub claims: Vec<Finding>,
    /// Runs that must come out a certain way if the mechanism is the stated one.
    pub controls: Vec<Finding>,
    /// Whether these are the short runs of one seed, which show a shape and reproduce
    /// nothing.
    pub quick: bool,
    /// What the report leaves open, and how it is read here.
    pub assumptions: Vec<String>,
    /// What the user should know: scales that distort, warm-ups that were too short.
    pub warnings: Vec<String>,
    /// Runs that failed, and why.
    pub failures: Vec<String>,
    /// Runs of this report that were carried out now, rather than found in the cache.
    pub runs: u64,
    /// Time on the wall, in seconds.
    pub wall_s: f64,
    /// The option files with which its cells run.
    pub option_files: Vec<OptionFileText>,
    /// innosim's version; empty in results of versions that did not tell.
    #[serde(default)]
    pub innosim: String,
    /// The constants of the machine that were fitted.
    #[serde(default)]
    pub constants: Vec<Constant>,
    /// What the model leaves out.
    #[serde(default)]
    pub leaves_out: Vec<String>,
}

/// An option file that comes with the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionFileText {
    /// Its name, without directory.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// One published figure and its simulated counterpart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What identifies it: variables, `threads`, `flavor`, `config`.
    pub labels: Map<String, Value>,
    /// A name from `run --json`: `tps`, `qps`, ...
    pub metric: String,
    /// The report's figure; `null` where it has none, but a neighbour of one that has.
    pub published: Option<f64>,
    /// Ours, the mean over the seeds.
    pub simulated: f64,
    /// (simulated - published) / published; `null` where there is no published figure, or
    /// it is 0.
    pub relative_error: Option<f64>,
    /// Whether a constant was fitted to this cell; the others are predictions.
    pub fitted: bool,
    /// Number of seeds.
    pub n: u64,
    /// Lower end of the 95 % interval over the seeds; `null` of one seed.
    pub ci95_low: Option<f64>,
    /// Upper end.
    pub ci95_high: Option<f64>,
    /// Whether the scale can be trusted: of all seeds the figures that speak most against
    /// it; `null` if there is no run.
    pub validity: Option<Validity>,
    /// The seeds of the runs that ended well.
    pub seeds: Vec<u64>,
    /// Where the time of a mean transaction goes, the mean over the seeds; `null` if there is
    /// no run.
    pub time_budget: Option<TimeBudget>,
}

impl Cell {
    /// A cell with its error.
    pub fn new(
        labels: Map<String, Value>,
        metric: &str,
        published: Option<f64>,
        simulated: MeanInterval,
        n: u64,
    ) -> Self {
        Self {
            labels,
            metric: metric.to_owned(),
            published,
            simulated: simulated.mean,
            relative_error: published.and_then(|figure| relative_error(figure, simulated.mean)),
            fitted: false,
            n,
            ci95_low: simulated.ci95_low,
            ci95_high: simulated.ci95_high,
            validity: None,
            seeds: Vec::new(),
            time_budget: None,
        }
    }
}

/// A claim or a control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What is said, with the bound that decides it.
    pub text: String,
    /// Whether it holds in the simulation.
    pub holds: bool,
    /// The number that decides it; `null` if there is none.
    pub figure: Option<f64>,
    /// Whether it counts for the exit code; the others are told either way.
    pub judged: bool,
}

impl Finding {
    /// A finding that holds if there is a figure and it is accepted.
    pub fn new(
        text: impl Into<String>,
        figure: Option<f64>,
        accepts: impl FnOnce(f64) -> bool,
    ) -> Self {
        Finding {
            text: text.into(),
            holds: figure.is_some_and(accepts),
            figure,
            judged: true,
        }
    }

    /// The same, told either way.
    #[must_use]
    pub fn for_information(self) -> Self {
        Finding {
            judged: false,
            ..self
        }
    }
}

impl ReportDocument {
    /// Whether all that is judged holds, and all runs ended well.
    pub fn all_hold(&self) -> bool {
        let mut findings = self.claims.iter().chain(&self.controls);
        self.failures.is_empty() && findings.all(|finding| finding.holds || !finding.judged)
    }
}
