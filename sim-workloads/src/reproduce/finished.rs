//! What came of the runs, as claims ask for it.

use serde_json::{Map, Value};

use super::report::Cell;
use crate::report::json::{Cell as CellDocument, RunDocument, TimeBudget, Validity};
use crate::stats::{mean, mean_interval_95};

/// One run that ended well.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The warm-up that it had, in seconds: longer than planned where pages stay dirty for
    /// long.
    pub warm_up_s: f64,
    /// What it gave.
    pub run: RunDocument,
}

/// A cell and its runs, in the order of their seeds; those that failed are missing.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedCell {
    /// What was to be run.
    pub cell: Cell,
    /// What came of it.
    pub runs: Vec<Measured>,
}

/// All cells of a report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Finished {
    /// In the order of the report.
    pub cells: Vec<FinishedCell>,
}

impl Finished {
    /// The cell of these labels.
    pub fn find(&self, labels: &Map<String, Value>) -> Option<&FinishedCell> {
        let mut cells = self.cells.iter();
        cells.find(|finished| finished.cell.labels == *labels)
    }
}

impl FinishedCell {
    /// The mean of a figure over the seeds; `None` if no run ended well.
    pub fn mean(&self, figure: impl Fn(&RunDocument) -> f64) -> Option<f64> {
        let figures: Vec<f64> = self.runs.iter().map(|one| figure(&one.run)).collect();
        mean(&figures)
    }

    /// The sum of a figure over the seeds.
    pub fn sum(&self, figure: impl Fn(&RunDocument) -> f64) -> f64 {
        self.runs.iter().map(|one| figure(&one.run)).sum()
    }

    /// Mean transactions a second.
    pub fn tps(&self) -> Option<f64> {
        self.mean(|run| run.tps)
    }

    /// The published figure of a metric.
    pub fn published(&self, metric: &str) -> Option<f64> {
        let mut figures = self.cell.figures.iter();
        figures.find(|(name, _)| *name == metric)?.1
    }

    /// (simulated - published) / published of a metric.
    pub fn relative_error(&self, metric: &str) -> Option<f64> {
        let simulated = self.mean(|run| value_of(run, metric).unwrap_or(f64::NAN))?;
        crate::stats::relative_error(self.published(metric)?, simulated)
    }

    /// An entry of the results for each metric.
    pub fn documents(&self) -> Vec<CellDocument> {
        let document = |(metric, published): &(&str, Option<f64>)| {
            let values = self.runs.iter().map(|one| value_of(&one.run, metric));
            let values: Vec<f64> = values.collect::<Option<_>>()?;
            let interval = mean_interval_95(&values)?;
            let n = values.len() as u64;
            let mut cell =
                CellDocument::new(self.cell.labels.clone(), metric, *published, interval, n);
            cell.fitted = self.cell.fitted;
            cell.validity = self.validity();
            cell.seeds = self.runs.iter().map(|one| one.run.seed).collect();
            let budgets = self.runs.iter().map(|one| one.run.time_budget);
            cell.time_budget = TimeBudget::mean(&budgets.collect::<Vec<_>>());
            Some(cell)
        };
        self.cell.figures.iter().filter_map(document).collect()
    }

    /// Of every validity figure the one that speaks most against the scale.
    pub fn validity(&self) -> Option<Validity> {
        let figures = self.runs.iter().map(|one| one.run.validity);
        figures.reduce(worse)
    }
}

/// Of every figure the one that speaks more against the scale.
pub(super) fn worse(a: Validity, b: Validity) -> Validity {
    Validity {
        round_share: a.round_share.max(b.round_share),
        turnover_s: smaller(a.turnover_s, b.turnover_s),
        dirty_to_flush_s: smaller(a.dirty_to_flush_s, b.dirty_to_flush_s),
        flushed_page_wait_us: a.flushed_page_wait_us.max(b.flushed_page_wait_us),
        row_lock_waits: a.row_lock_waits.max(b.row_lock_waits),
    }
}

fn smaller(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// A figure of a run by its name in the JSON document, dots for nesting.
pub fn value_of(run: &RunDocument, metric: &str) -> Option<f64> {
    match metric {
        "tps" => Some(run.tps),
        "qps" => Some(run.qps),
        "latency_ms.avg" => Some(run.latency_ms.avg),
        _ => {
            let document = serde_json::to_value(run).ok()?;
            let place = format!("/{}", metric.replace('.', "/"));
            document.pointer(&place)?.as_f64()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::sample;
    use super::*;

    #[test]
    fn figures_are_means_over_the_seeds() {
        let cell = sample::cell(json!({"threads": 4}), &[("tps", Some(100.0))], 3);
        let finished = sample::finished(cell, |seed, run| run.tps = 90.0 + seed as f64);
        assert_eq!(finished.tps(), Some(92.0));
        assert!((finished.relative_error("tps").unwrap() + 0.08).abs() < 1e-12);
        let documents = finished.documents();
        let [document] = &documents[..] else {
            panic!("{documents:?}")
        };
        assert_eq!((document.n, document.simulated), (3, 92.0));
        assert!(document.ci95_high.unwrap() > 94.0);
        assert!(!document.fitted);
        assert_eq!(document.seeds, [1, 2, 3]);
        assert_eq!(document.time_budget, Some(sample::run().time_budget));
    }

    #[test]
    fn a_metric_is_found_by_its_name() {
        let run = sample::run();
        assert_eq!(value_of(&run, "latency_ms.p95"), Some(run.latency_ms.p95));
        assert_eq!(value_of(&run, "latency_ms.p96"), None);
    }

    #[test]
    fn what_failed_is_missing_from_the_figures_and_from_the_results() {
        let cell = sample::cell(json!({}), &[("tps", Some(100.0)), ("qps", None)], 2);
        let mut finished = sample::finished(cell, |_, run| run.tps = 50.0);
        finished.runs.pop();
        assert_eq!(finished.documents()[0].n, 1);
        finished.runs.pop();
        assert_eq!((finished.tps(), finished.documents().len()), (None, 0));
        assert_eq!(finished.relative_error("tps"), None);
        assert_eq!(finished.validity(), None);
    }

    #[test]
    fn of_validity_figures_the_worst_counts() {
        let cell = sample::cell(json!({}), &[], 2);
        let finished = sample::finished(cell, |seed, run| {
            run.validity.round_share = 0.01 * seed as f64;
            run.validity.turnover_s = (seed == 2).then_some(4.0);
            run.validity.dirty_to_flush_s = Some(10.0 * seed as f64);
        });
        let worst = finished.validity().unwrap();
        assert_eq!((worst.round_share, worst.turnover_s), (0.02, Some(4.0)));
        assert_eq!(worst.dirty_to_flush_s, Some(10.0));
    }
}
