//! From micro-runs to multiples of the cost table.
//!
//! For every micro-run the engine's CPU is written as a sum, each term of which is known but
//! for one factor that all micro-runs share:
//!
//! ```text
//!   measured - driver - system calls = multiple(lookups) × what the default costs give
//!                                    + multiple(locks)   × …
//!                                    + per statement     × statements
//! ```
//!
//! The last term is what the engine does for a statement besides what it charges: a call,
//! values put together. It is the model's as much as the driver's, and becomes a part of the
//! server layer.
//!
//! Factors come from least squares on *relative* errors, none below zero, with one row more
//! for each group, which says that its multiple is 1, give or take 1. Where the micro-runs know
//! better that row counts for nothing; where they know nothing it decides, and no group is
//! pushed to zero or to ten for a gain of a percent. A group whose multiple is not known to
//! [`SURE`] keeps its defaults, and the fit is made again for the others.

use innosim_engine::runtime::time::MICROSECOND;
use innosim_engine::runtime::{Cost, CostTable};
use serde::Serialize;

use super::groups::GROUPS;
use super::micro_run::Observed;
use super::pages::PageCost;
use crate::calibrate::host_profile::rounded;
use crate::machine::StatementWeights;
use crate::run::server_layer::KINDS;
use crate::stats::{LeastSquares, fit_non_negative};

/// A multiple is identified if its standard error is at most this.
const SURE: f64 = 0.5;

/// How far the micro-runs are thought to be off, relative: what the model leaves out.
const NOISE: f64 = 0.1;

/// How far a multiple is thought to be from 1 before anything is measured.
const PRIOR: f64 = 1.0;

/// The factor of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FittedGroup {
    /// Its name.
    pub name: &'static str,
    /// By what its default costs are multiplied; 1 where it was not identified.
    pub multiple: f64,
    /// Of the multiple.
    pub standard_error: Option<f64>,
    /// Whether the micro-runs tell it from the others.
    pub identified: bool,
}

/// One micro-run against the fit, µs a transaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FittedRun {
    /// Its name.
    pub name: &'static str,
    /// CPU with the engine, the driver's included.
    pub measured_us: f64,
    /// CPU of the driver alone.
    pub driver_us: f64,
    /// By the default costs and no server layer.
    pub default_us: f64,
    /// By the fit, the driver's included.
    pub predicted_us: f64,
    /// (predicted - measured) / measured.
    pub relative_error: f64,
    /// Largest over smallest of the rounds, less one.
    pub spread: f64,
}

/// All that the micro-runs say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CpuFit {
    /// In the order of [`GROUPS`].
    pub groups: Vec<FittedGroup>,
    /// What the engine does for a statement besides what it charges, µs.
    pub statement_us: f64,
    /// Of it.
    pub statement_standard_error: Option<f64>,
    /// What the driver does for a statement of each kind (BEGIN, point select, range, write,
    /// COMMIT), µs.
    pub driver_us: [f64; KINDS],
    /// In their order.
    pub runs: Vec<FittedRun>,
    /// Costs of whole pages, measured by themselves.
    pub pages: Vec<PageCost>,
    /// Median of the absolute relative errors.
    pub median_error: f64,
}

/// Statements of a transaction of `oltp_read_write`, by kind.
const READ_WRITE: [f64; KINDS] = [1.0, 10.0, 4.0, 4.0, 1.0];

impl CpuFit {
    /// What a statement of each kind costs outside of what the engine charges, µs.
    fn outside_us(&self) -> [f64; KINDS] {
        self.driver_us.map(|driver| driver + self.statement_us)
    }

    /// The driver's share of the mean statement of `oltp_read_write`, µs.
    pub fn driver_statement_us(&self) -> f64 {
        mean_of_read_write(self.driver_us)
    }

    /// The profile's `statement_us`.
    pub fn server_statement_us(&self) -> f64 {
        mean_of_read_write(self.outside_us())
    }

    /// The profile's weights.
    pub fn weights(&self) -> StatementWeights {
        let mean = self.server_statement_us().max(f64::MIN_POSITIVE);
        let [begin, point_select, range, write, commit] =
            self.outside_us().map(|us| rounded(us / mean));
        StatementWeights {
            begin,
            point_select,
            range,
            write,
            commit,
            text_protocol: 1.0,
        }
    }
}

fn mean_of_read_write(us: [f64; KINDS]) -> f64 {
    let sum: f64 = us
        .iter()
        .zip(READ_WRITE)
        .map(|(us, count)| us * count)
        .sum();
    sum / READ_WRITE.iter().sum::<f64>()
}

/// What the driver does for each kind: least squares over the runs without an engine.
fn driver(observed: &[Observed]) -> [f64; KINDS] {
    let rows: Vec<Vec<f64>> = observed.iter().map(|run| run.kinds.to_vec()).collect();
    let wanted: Vec<f64> = observed.iter().map(|run| run.driver_us).collect();
    let weights: Vec<f64> = wanted.iter().map(|us| 1.0 / us).collect();
    let found = fit_non_negative(&rows, &wanted, &weights).coefficients;
    std::array::from_fn(|kind| found.get(kind).copied().unwrap_or(0.0))
}

/// The fit.
///
/// # Panics
/// If there is no micro-run.
pub fn fit(observed: &[Observed], pages: Vec<PageCost>, defaults: &CostTable) -> CpuFit {
    let share = |run: &Observed, costs: &[Cost]| -> f64 {
        costs
            .iter()
            .map(|&cost| run.charges[cost as usize] * us(defaults, cost))
            .sum()
    };
    let fixed_costs: Vec<Cost> = Cost::ALL
        .iter()
        .copied()
        .filter(|cost| GROUPS.iter().all(|group| !group.costs.contains(cost)))
        .collect();
    let all: Vec<usize> = (0..GROUPS.len()).collect();
    let solve = |free: &[usize]| -> LeastSquares {
        let fixed = |run: &Observed| -> f64 {
            let kept = all.iter().filter(|group| !free.contains(group));
            run.uncharged_us
                + share(run, &fixed_costs)
                + kept
                    .map(|&group| share(run, GROUPS[group].costs))
                    .sum::<f64>()
        };
        let of_run = |run: &Observed| -> Vec<f64> {
            let groups = free.iter().map(|&group| share(run, GROUPS[group].costs));
            groups.chain([run.statements()]).collect()
        };
        let mut rows: Vec<Vec<f64>> = observed.iter().map(of_run).collect();
        let mut wanted: Vec<f64> = observed
            .iter()
            .map(|run| run.engine_us() - fixed(run))
            .collect();
        let mut weights: Vec<f64> = observed
            .iter()
            .map(|run| 1.0 / run.with_engine_us)
            .collect();
        for place in 0..free.len() {
            let mut row = vec![0.0; free.len() + 1];
            row[place] = 1.0;
            rows.push(row);
            wanted.push(1.0);
            weights.push(NOISE / PRIOR);
        }
        fit_non_negative(&rows, &wanted, &weights)
    };
    let first = solve(&all);
    // Residuals of a few runs can be small by chance: no less than the noise is assumed.
    let at_least = |found: &LeastSquares| {
        let deviation = found.standard_deviation.unwrap_or(0.0);
        (NOISE / deviation.max(f64::MIN_POSITIVE)).max(1.0)
    };
    let error_of = |group: usize| Some(first.standard_errors[group]? * at_least(&first));
    let is_sure = |&group: &usize| error_of(group).is_some_and(|error| error <= SURE);
    let free: Vec<usize> = all.iter().copied().filter(is_sure).collect();
    let found = solve(&free);
    let groups = GROUPS.iter().enumerate().map(|(number, group)| {
        let place = free.iter().position(|&free| free == number);
        FittedGroup {
            name: group.name,
            multiple: place.map_or(1.0, |place| found.coefficients[place]),
            standard_error: error_of(number),
            identified: place.is_some(),
        }
    });
    let runs: Vec<FittedRun> = observed
        .iter()
        .zip(&found.residuals)
        .map(|(run, residual)| FittedRun {
            name: run.name,
            measured_us: run.with_engine_us,
            driver_us: run.driver_us,
            default_us: run.uncharged_us + share(run, Cost::ALL),
            predicted_us: run.with_engine_us - residual,
            relative_error: -residual / run.with_engine_us,
            spread: run.spread,
        })
        .collect();
    let mut errors: Vec<f64> = runs.iter().map(|run| run.relative_error.abs()).collect();
    errors.sort_unstable_by(f64::total_cmp);
    CpuFit {
        groups: groups.collect(),
        statement_us: found.coefficients[free.len()],
        statement_standard_error: found.standard_errors[free.len()],
        driver_us: driver(observed),
        median_error: crate::stats::nearest_rank(&errors, 0.5).unwrap_or(f64::NAN),
        runs,
        pages,
    }
}

fn us(costs: &CostTable, cost: Cost) -> f64 {
    costs.get(cost) as f64 / MICROSECOND as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Micro-runs of a machine whose costs are known multiples of the defaults.
    fn observed(multiples: &[f64], statement_us: f64, noise: &[f64]) -> Vec<Observed> {
        let defaults = CostTable::default();
        let shapes: [&[f64]; 12] = [
            &[4.0, 1.0, 0.0, 0.0, 1.0, 0.0],
            &[40.0, 10.0, 0.0, 0.0, 1.0, 0.0],
            &[9.0, 100.0, 0.0, 0.0, 1.0, 0.0],
            &[9.0, 1000.0, 0.0, 0.0, 2.0, 0.0],
            &[9.0, 1.0, 4.0, 6.0, 3.0, 2.0],
            &[20.0, 1.0, 1.0, 9.0, 50.0, 7.0],
            &[30.0, 5.0, 8.0, 2.0, 1.0, 3.0],
            &[20.0, 50.0, 1.0, 40.0, 9.0, 1.0],
            &[5.0, 10.0, 1.0, 20.0, 2.0, 8.0],
            &[15.0, 0.0, 1.0, 12.0, 90.0, 5.0],
            &[25.0, 2.0, 1.0, 3.0, 1.0, 120.0],
            &[10.0, 4.0, 30.0, 5.0, 5.0, 9.0],
        ];
        let of_shape = |(number, shape): (usize, &&[f64])| {
            let mut charges = vec![0.0; Cost::COUNT];
            let statements = 2.0 + (number % 5) as f64 * 3.0;
            let mut engine = statements * statement_us + 0.5;
            for ((group, &count), multiple) in GROUPS.iter().zip(*shape).zip(multiples) {
                for &cost in group.costs {
                    charges[cost as usize] = count;
                    engine += count * us(&defaults, cost) * multiple;
                }
            }
            let wrong = noise.get(number % noise.len().max(1)).unwrap_or(&0.0);
            Observed {
                name: "made up",
                kinds: [1.0, statements - 2.0, 0.0, 0.0, 1.0],
                with_engine_us: (engine + 2.0) * (1.0 + wrong),
                driver_us: 2.0,
                spread: 0.0,
                charges,
                uncharged_us: 0.5,
            }
        };
        shapes.iter().enumerate().map(of_shape).collect()
    }

    #[test]
    fn multiples_are_found_again() {
        let multiples = [0.5, 1.5, 2.0, 0.25, 3.0, 1.0];
        let fit = fit(
            &observed(&multiples, 0.3, &[]),
            Vec::new(),
            &CostTable::default(),
        );
        for (group, multiple) in fit.groups.iter().zip(multiples) {
            // The row that says 1 pulls a little.
            assert!(group.identified, "{group:?}");
            assert!((group.multiple - multiple).abs() < 0.2, "{group:?}");
        }
        assert!(fit.median_error < 0.02, "{}", fit.median_error);
    }

    #[test]
    fn what_no_run_shows_keeps_its_default() {
        let mut runs = observed(&[0.5, 1.5, 2.0, 1.0, 1.0, 1.0], 0.3, &[0.05, -0.05, 0.03]);
        for run in &mut runs {
            for cost in GROUPS[5].costs {
                run.charges[*cost as usize] = 0.0;
            }
        }
        let fit = fit(&runs, Vec::new(), &CostTable::default());
        let locks = &fit.groups[5];
        assert_eq!(
            (locks.multiple, locks.identified),
            (1.0, false),
            "{locks:?}"
        );
        let rows_read = &fit.groups[1];
        assert!(
            rows_read.identified && (rows_read.multiple - 1.5).abs() < 0.2,
            "{rows_read:?}"
        );
    }
}
