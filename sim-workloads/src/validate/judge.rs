//! Real against predicted: errors, spreads, and the two bars.
//!
//! The bar for throughput is the median error over the cells against 15 %, or against twice
//! the median spread of the real runs where that is more: a model cannot be asked to be nearer
//! to a host than the host is to itself. Pages written a transaction hardly depend on how fast
//! the host is; their bar is 10 %.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::report::json::{RunDocument, TimeBudget};
use crate::stats::{mean, nearest_rank, relative_error};

/// The error of throughput that is accepted, whatever the spread.
pub const TPS_ERROR: f64 = 0.15;
/// The error of pages written a transaction that is accepted.
pub const PAGES_ERROR: f64 = 0.10;
/// The share of the host's CPUs that others may take while a cell is measured: the profile
/// describes an idle host.
pub const OTHERS_MAX: f64 = 0.1;

/// A figure of a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Mean over the real runs.
    pub real: f64,
    /// Each of them, in the order in which they ran.
    pub runs: Vec<f64>,
    /// Mean difference of a run and the next, over the mean; `None` of one run.
    pub spread: Option<f64>,
    /// Under the virtual clock.
    pub predicted: f64,
    /// (predicted - real) / real; `None` where the real figure is zero.
    pub relative_error: Option<f64>,
}

impl Comparison {
    /// Of real figures with a predicted one.
    ///
    /// # Panics
    /// If there is no real figure.
    pub fn new(runs: Vec<f64>, predicted: f64) -> Self {
        let real = mean(&runs).expect("a cell has a real run");
        let differences: Vec<f64> = runs
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).abs())
            .collect();
        Comparison {
            real,
            spread: mean(&differences)
                .filter(|_| real > 0.0)
                .map(|mean| mean / real),
            predicted,
            relative_error: relative_error(real, predicted),
            runs,
        }
    }
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedCell {
    /// What was varied.
    pub labels: Map<String, Value>,
    /// Transactions a second.
    pub tps: Comparison,
    /// Pages written a transaction.
    pub pages_written: Comparison,
    /// Where the time of a transaction went, µs: mean over the real runs.
    pub real_budget: TimeBudget,
    /// The same, predicted.
    pub predicted_budget: TimeBudget,
    /// The share of the host's CPUs that other processes took, mean over the real runs.
    pub others_cpu: f64,
}

impl JudgedCell {
    /// Whether the host was the profile's while the cell was measured.
    pub fn is_judged(&self) -> bool {
        self.others_cpu <= OTHERS_MAX
    }
}

/// A bar.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// What is judged.
    pub text: String,
    /// The median of the absolute errors; `None` if no cell was judged.
    pub median_error: Option<f64>,
    /// The most that is accepted.
    pub accepted: f64,
    /// Whether it is met.
    pub holds: bool,
}

/// Figures of a run.
pub fn pages_written(run: &RunDocument) -> f64 {
    let pages = run.status.get("Innodb_pages_written").copied().unwrap_or(0);
    if run.transactions == 0 {
        0.0
    } else {
        pages as f64 / run.transactions as f64
    }
}

/// A cell from its runs; `others_cpu` as measured while each real run ran.
pub fn judge(
    labels: &Map<String, Value>,
    real: &[(RunDocument, f64)],
    predicted: &RunDocument,
) -> JudgedCell {
    let runs = |figure: &dyn Fn(&RunDocument) -> f64| -> Vec<f64> {
        real.iter().map(|(run, _)| figure(run)).collect()
    };
    let others: Vec<f64> = real.iter().map(|(_, others)| *others).collect();
    JudgedCell {
        labels: labels.clone(),
        tps: Comparison::new(runs(&|run| run.tps), predicted.tps),
        pages_written: Comparison::new(runs(&pages_written), pages_written(predicted)),
        real_budget: mean_budget(real),
        predicted_budget: predicted.time_budget,
        others_cpu: mean(&others).unwrap_or(0.0),
    }
}

fn mean_budget(real: &[(RunDocument, f64)]) -> TimeBudget {
    let of = |part: &dyn Fn(&TimeBudget) -> f64| {
        let parts: Vec<f64> = real.iter().map(|(run, _)| part(&run.time_budget)).collect();
        mean(&parts).unwrap_or(0.0)
    };
    TimeBudget {
        cpu: of(&|budget| budget.cpu),
        run_queue: of(&|budget| budget.run_queue),
        latch: of(&|budget| budget.latch),
        row_lock: of(&|budget| budget.row_lock),
        page_read: of(&|budget| budget.page_read),
        free_page: of(&|budget| budget.free_page),
        flushed_page: of(&|budget| budget.flushed_page),
        log_write: of(&|budget| budget.log_write),
        log_sync: of(&|budget| budget.log_sync),
        admission: of(&|budget| budget.admission),
        other: of(&|budget| budget.other),
    }
}

/// The parts of a time budget by name.
pub fn parts(budget: &TimeBudget) -> [(&'static str, f64); 11] {
    [
        ("cpu", budget.cpu),
        ("run_queue", budget.run_queue),
        ("latch", budget.latch),
        ("row_lock", budget.row_lock),
        ("page_read", budget.page_read),
        ("free_page", budget.free_page),
        ("flushed_page", budget.flushed_page),
        ("log_write", budget.log_write),
        ("log_sync", budget.log_sync),
        ("admission", budget.admission),
        ("other", budget.other),
    ]
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    nearest_rank(&values, 0.5)
}

/// The bars, over the cells that were measured on an idle host. Where these are not half of
/// all, nothing is known, and no bar holds.
pub fn bars(cells: &[JudgedCell]) -> [Bar; 2] {
    let all = cells.len();
    let cells: Vec<&JudgedCell> = cells.iter().filter(|cell| cell.is_judged()).collect();
    let is_known = 2 * cells.len() > all;
    let errors = |figure: &dyn Fn(&JudgedCell) -> &Comparison| {
        let errors = cells.iter().filter_map(|cell| figure(cell).relative_error);
        median(errors.map(f64::abs).collect())
    };
    let spreads = cells.iter().filter_map(|cell| cell.tps.spread);
    let spread = median(spreads.collect()).unwrap_or(0.0);
    let bar = |text: String, median_error: Option<f64>, accepted: f64| Bar {
        text,
        holds: is_known && median_error.is_some_and(|error| error <= accepted),
        median_error,
        accepted,
    };
    [
        bar(
            format!(
                "transactions/s: median error at most {:.0} %, or twice the median spread of the \
                 real runs ({:.1} %)",
                TPS_ERROR * 100.0,
                spread * 100.0
            ),
            errors(&|cell| &cell.tps),
            TPS_ERROR.max(2.0 * spread),
        ),
        bar(
            format!(
                "pages written a transaction: median error at most {:.0} %",
                PAGES_ERROR * 100.0
            ),
            errors(&|cell| &cell.pages_written),
            PAGES_ERROR,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(tps: &[f64], predicted_tps: f64, pages: f64, predicted_pages: f64) -> JudgedCell {
        JudgedCell {
            labels: Map::new(),
            tps: Comparison::new(tps.to_vec(), predicted_tps),
            pages_written: Comparison::new(vec![pages], predicted_pages),
            real_budget: TimeBudget::default(),
            predicted_budget: TimeBudget::default(),
            others_cpu: 0.0,
        }
    }

    #[test]
    fn a_spread_is_the_mean_difference_of_neighbours() {
        let three = Comparison::new(vec![90.0, 110.0, 100.0], 120.0);
        assert_eq!((three.real, three.spread), (100.0, Some(0.15)));
        assert_eq!(three.relative_error, Some(0.2));
        assert_eq!(Comparison::new(vec![90.0], 90.0).spread, None);
        let zero = Comparison::new(vec![0.0, 0.0], 1.0);
        assert_eq!((zero.spread, zero.relative_error), (None, None));
    }

    #[test]
    fn a_host_that_differs_from_itself_widens_the_bar_for_throughput_only() {
        let steady = [
            cell(&[100.0, 100.0], 116.0, 1.0, 1.05),
            cell(&[100.0, 100.0], 84.0, 1.0, 1.20),
            cell(&[100.0, 100.0], 101.0, 1.0, 0.91),
        ];
        let [tps, pages] = bars(&steady);
        assert_eq!(tps.accepted, TPS_ERROR);
        assert!(!tps.holds && (tps.median_error.unwrap() - 0.16).abs() < 1e-12);
        assert!(pages.holds && (pages.median_error.unwrap() - 0.09).abs() < 1e-12);

        let noisy = [
            cell(&[95.0, 105.0], 116.0, 1.0, 1.2),
            cell(&[95.0, 105.0], 84.0, 1.0, 1.2),
        ];
        let [tps, pages] = bars(&noisy);
        assert!(tps.holds && (tps.accepted - 0.2).abs() < 1e-12);
        assert!(!pages.holds);
    }

    /// A loaded host widens its own bar for throughput; that must not make it hold.
    #[test]
    fn on_a_loaded_host_no_bar_holds() {
        let quiet = cell(&[100.0, 100.0], 101.0, 1.0, 1.0);
        let loaded = JudgedCell {
            others_cpu: 0.11,
            ..cell(&[50.0, 150.0], 180.0, 1.0, 1.5)
        };
        let both = [quiet.clone(), loaded.clone()];
        assert!(bars(&both).iter().all(|bar| !bar.holds));
        let [tps, pages] = bars(&[quiet.clone(), quiet, loaded]);
        assert!(tps.holds && pages.holds, "the loaded cell is left out");
        assert_eq!(tps.accepted, TPS_ERROR);
    }

    #[test]
    fn without_cells_no_bar_holds() {
        let bars = bars(&[]);
        let unknown = |bar: &Bar| !bar.holds && bar.median_error.is_none();
        assert!(bars.iter().all(unknown), "{bars:?}");
    }
}
