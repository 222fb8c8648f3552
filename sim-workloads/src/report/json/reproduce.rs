//! `reproduce --json`: published figures against simulated ones.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::stats::relative_error;

/// `reproduce --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReproduceDocument {
    /// The reports, in the order asked for.
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
}

/// One published figure and its simulated counterpart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What identifies it: variables, `threads`, `flavor`, `config`.
    pub labels: Map<String, Value>,
    /// A name from `run --json`: `tps`, `qps`, ...
    pub metric: String,
    /// The report's figure.
    pub published: f64,
    /// Ours.
    pub simulated: f64,
    /// (simulated - published) / published; `null` where the published figure is 0.
    pub relative_error: Option<f64>,
    /// Whether a constant was fitted to this cell; the others are predictions.
    pub fitted: bool,
}

impl Cell {
    /// A cell with its error.
    pub fn new(
        labels: Map<String, Value>,
        metric: &str,
        published: f64,
        simulated: f64,
        fitted: bool,
    ) -> Self {
        Self {
            labels,
            metric: metric.to_owned(),
            published,
            simulated,
            relative_error: relative_error(published, simulated),
            fitted,
        }
    }
}

/// A claim or a control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What is said.
    pub text: String,
    /// Whether it holds in the simulation.
    pub holds: bool,
    /// The number that decides it; `null` if there is none.
    pub figure: Option<f64>,
}
