//! `sweep --json`: every run, and a summary over the seeds.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::RunDocument;
use crate::stats::{MeanInterval, mean_interval_95};

/// The name under which a seed appears in a point's `set`.
const SEED: &str = "seed";

/// `sweep --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepDocument {
    /// Every run, in the order of the combinations.
    pub points: Vec<SweepPoint>,
    /// One entry a combination, over its seeds.
    pub summary: Vec<SweepSummary>,
}

/// One run of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// What was varied, in the order of the command line.
    pub set: Map<String, Value>,
    /// The run.
    pub run: RunDocument,
}

/// One combination over its seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepSummary {
    /// What was varied, without the seed.
    pub set: Map<String, Value>,
    /// Number of runs.
    pub n: u64,
    /// Transactions a second.
    pub tps: MeanInterval,
}

impl SweepDocument {
    /// Sums up the points: those that differ only in their seed are one combination.
    /// Combinations keep the order in which they first appear.
    pub fn new(points: Vec<SweepPoint>) -> Self {
        let mut groups: Vec<(Map<String, Value>, Vec<f64>)> = Vec::new();
        for point in &points {
            let mut set = point.set.clone();
            // `shift_remove` keeps the order of the others.
            set.shift_remove(SEED);
            match groups.iter_mut().find(|(known, _)| *known == set) {
                Some((_, tps)) => tps.push(point.run.tps),
                None => groups.push((set, vec![point.run.tps])),
            }
        }
        let summary = groups
            .into_iter()
            .map(|(set, tps)| SweepSummary {
                set,
                n: tps.len() as u64,
                tps: mean_interval_95(&tps).expect("a group has a run"),
            })
            .collect();
        Self { points, summary }
    }
}
