//! How sure is a difference? Means, intervals, lines and jitter.
//!
//! Two runs of a benchmark never agree to the last digit, not even simulated ones
//! with two seeds. A figure is therefore a mean *and* an interval, and a claim ("16
//! pages are faster") is an interval of the difference that leaves out zero:
//!
//! ```text
//!   128 pages     |----o----|
//!   16 pages                    |---o---|
//!   difference  0 ......... |-------o-------|      0 lies outside: it holds
//! ```
//!
//! All intervals are at 95 % and use Student's t, because three or five seeds are
//! far from "many". [`welch_difference_95`] is for independent runs,
//! [`paired_difference_95`] for runs forked from one warm state or sharing seeds,
//! which removes what both have in common.

mod jitter;
mod least_squares;
mod line;
mod student_t;

pub use jitter::{Jitter, nearest_rank};
pub use least_squares::{LeastSquares, fit_non_negative};
pub use line::{LineFit, fit_line};
pub use student_t::{student_t_cumulative, student_t_quantile};

use serde::{Deserialize, Serialize};

/// A mean with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeanInterval {
    /// The sample mean.
    pub mean: f64,
    /// Lower end; `None` when one sample says nothing about the spread.
    pub ci95_low: Option<f64>,
    /// Upper end.
    pub ci95_high: Option<f64>,
}

impl MeanInterval {
    fn around(mean: f64, half_width: Option<f64>) -> Self {
        Self {
            mean,
            ci95_low: half_width.map(|half| mean - half),
            ci95_high: half_width.map(|half| mean + half),
        }
    }

    /// Whether the interval is known and leaves out `value`: for a difference and zero,
    /// whether the difference is significant at 5 %.
    pub fn excludes(&self, value: f64) -> bool {
        match (self.ci95_low, self.ci95_high) {
            (Some(low), Some(high)) => value < low || value > high,
            _ => false,
        }
    }
}

/// The arithmetic mean; `None` of nothing.
pub fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
}

/// The sum of squared deviations from the mean.
fn squared_deviations(samples: &[f64], mean: f64) -> f64 {
    samples.iter().map(|x| (x - mean) * (x - mean)).sum()
}

/// The sample standard deviation (divided by n - 1); `None` of fewer than two.
pub fn sample_standard_deviation(samples: &[f64]) -> Option<f64> {
    if samples.len() < 2 {
        return None;
    }
    let mean = mean(samples)?;
    Some((squared_deviations(samples, mean) / (samples.len() - 1) as f64).sqrt())
}

/// The population standard deviation (divided by n), which sysbench prints over its
/// threads; 0 of nothing.
pub fn population_standard_deviation(samples: &[f64]) -> f64 {
    match mean(samples) {
        Some(mean) => (squared_deviations(samples, mean) / samples.len() as f64).sqrt(),
        None => 0.0,
    }
}

/// The half width t s / sqrt(n) of a mean's 95 % interval.
fn half_width_95(standard_error: f64, degrees_of_freedom: f64) -> f64 {
    student_t_quantile(0.975, degrees_of_freedom) * standard_error
}

/// The mean of samples with its 95 % confidence interval; `None` of nothing.
pub fn mean_interval_95(samples: &[f64]) -> Option<MeanInterval> {
    let mean = mean(samples)?;
    let n = samples.len() as f64;
    let half = sample_standard_deviation(samples).map(|sd| half_width_95(sd / n.sqrt(), n - 1.0));
    Some(MeanInterval::around(mean, half))
}

/// The difference `b - a` of two independent sets of runs with its 95 % interval.
///
/// The two spreads may differ: B. L. Welch's test with the Welch-Satterthwaite
/// degrees of freedom (Biometrika 34, 1947). `None` when a set is empty.
pub fn welch_difference_95(a: &[f64], b: &[f64]) -> Option<MeanInterval> {
    let difference = mean(b)? - mean(a)?;
    let half = || {
        let (na, nb) = (a.len() as f64, b.len() as f64);
        let (sa, sb) = (sample_standard_deviation(a)?, sample_standard_deviation(b)?);
        let (va, vb) = (sa * sa / na, sb * sb / nb);
        let variance = va + vb;
        if variance == 0.0 {
            return Some(0.0);
        }
        let degrees = variance * variance / (va * va / (na - 1.0) + vb * vb / (nb - 1.0));
        Some(half_width_95(variance.sqrt(), degrees))
    };
    Some(MeanInterval::around(difference, half()))
}

/// The mean of the differences `b[i] - a[i]` with its 95 % interval. `None` when the
/// sets are empty or of different lengths.
pub fn paired_difference_95(a: &[f64], b: &[f64]) -> Option<MeanInterval> {
    if a.len() != b.len() {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    mean_interval_95(&differences)
}

/// (simulated - published) / published: +0.05 is five percent too high. `None` where
/// the published figure is zero.
pub fn relative_error(published: f64, simulated: f64) -> Option<f64> {
    (published != 0.0).then(|| (simulated - published) / published)
}

/// The median of sorted figures: the mean of the middle two, if there are two; `None` of
/// none.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        _ if sorted.is_empty() => None,
        0 => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
        _ => Some(sorted[middle]),
    }
}

/// The mean of the errors' absolute values; `None` of nothing.
pub fn mean_absolute_error(errors: &[f64]) -> Option<f64> {
    let absolute: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    mean(&absolute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} against {b}");
    }

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), Some(3.0));
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
    }

    #[test]
    fn means_and_deviations() {
        // The textbook set: mean 5, sum of squares 32.
        let set = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&set), Some(5.0));
        assert_eq!(population_standard_deviation(&set), 2.0);
        close(
            sample_standard_deviation(&set).unwrap(),
            (32.0f64 / 7.0).sqrt(),
            1e-15,
        );
        assert_eq!(mean(&[]), None);
        assert_eq!(sample_standard_deviation(&[1.0]), None);
        assert_eq!(population_standard_deviation(&[]), 0.0);
    }

    #[test]
    fn an_interval_of_three_runs() {
        // mean 10, sd 1, t(2) = 4.302653: 10 +- 4.302653 / sqrt(3).
        let interval = mean_interval_95(&[9.0, 10.0, 11.0]).unwrap();
        close(interval.ci95_low.unwrap(), 10.0 - 2.484_138, 1e-5);
        close(interval.ci95_high.unwrap(), 10.0 + 2.484_138, 1e-5);
        assert!(!interval.excludes(12.0));
        assert!(interval.excludes(12.5));
    }

    #[test]
    fn one_run_has_no_interval_and_decides_nothing() {
        let interval = mean_interval_95(&[7.0]).unwrap();
        assert_eq!(
            interval,
            MeanInterval {
                mean: 7.0,
                ci95_low: None,
                ci95_high: None
            }
        );
        assert!(!interval.excludes(0.0));
        assert_eq!(mean_interval_95(&[]), None);
    }

    #[test]
    fn welch_against_a_hand_calculation() {
        // a: mean 2, variance 1, n 3.  b: mean 6, variance 20/3, n 4.
        let difference = welch_difference_95(&[1.0, 2.0, 3.0], &[3.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!(difference.mean, 4.0);
        let (va, vb) = (1.0 / 3.0, 20.0 / 3.0 / 4.0);
        let degrees: f64 = 4.0 / (va * va / 2.0 + vb * vb / 3.0);
        close(va + vb, 2.0, 1e-12);
        close(degrees, 4.075_47, 1e-5);
        // Between t(4) = 2.776 and t(5) = 2.571.
        let t = (difference.ci95_high.unwrap() - 4.0) / 2f64.sqrt();
        assert!(t < 2.776_45 && t > 2.75, "{t}");
        assert!(difference.excludes(0.0));
    }

    #[test]
    fn pairing_removes_what_both_runs_share() {
        let a = [100.0, 200.0, 300.0];
        let b = [101.0, 202.0, 303.0];
        let paired = paired_difference_95(&a, &b).unwrap();
        assert_eq!(paired.mean, 2.0);
        // sd 1, as in an_interval_of_three_runs.
        close(paired.ci95_high.unwrap() - 2.0, 2.484_138, 1e-5);
        let welch = welch_difference_95(&a, &b).unwrap();
        assert!(welch.ci95_high.unwrap() > 200.0);
        assert_eq!(paired_difference_95(&a, &b[..2]), None);
    }

    #[test]
    fn equal_runs_have_a_difference_of_exactly_zero() {
        let difference = welch_difference_95(&[5.0, 5.0], &[5.0, 5.0]).unwrap();
        assert_eq!(difference, MeanInterval::around(0.0, Some(0.0)));
        assert!(!difference.excludes(0.0));
    }

    #[test]
    fn relative_errors_are_signed() {
        assert_eq!(relative_error(200.0, 210.0), Some(0.05));
        assert_eq!(relative_error(0.0, 1.0), None);
        close(mean_absolute_error(&[0.1, -0.3]).unwrap(), 0.2, 1e-15);
    }
}
