//! How far a simulated mean may be from the true one: confidence intervals.
//!
//! A simulation that should agree with a formula never does so exactly. How much
//! disagreement is chance follows from the run itself:
//!
//! * values that do not depend on each other: Student's interval;
//! * values in a row that do (the waits of successive customers): the means of long
//!   *batches* of them are nearly independent, and Student's interval is over those;
//! * a system that starts afresh now and then (a queue that has run empty): its
//!   *regeneration cycles* are independent exactly, and the ratio of two sums over
//!   cycles has an interval of its own (Crane and Lemoine 1977).
//!
//! All intervals here have 99.99 % coverage, so that a right simulation of any seed
//! passes; and a test states how narrow the interval must be, or it could not fail.

use innosim_engine::runtime::random::normal_quantile;

const COVERAGE: f64 = 0.9999;

/// A mean with its interval of 99.99 % coverage: `mean` ± `half_width`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub mean: f64,
    /// Half the interval's width.
    pub half_width: f64,
}

impl Interval {
    /// The mean of independent values.
    pub fn of_independent(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let deviation = (squares / (count - 1.0) / count).sqrt();
        Interval {
            mean,
            half_width: student_quantile((1.0 + COVERAGE) / 2.0, count - 1.0) * deviation,
        }
    }

    /// The mean of values in a row, from the means of so many batches. What does not
    /// fill the last batch is left out.
    pub fn of_batches(values: &[f64], batches: usize) -> Self {
        let length = values.len() / batches;
        let means: Vec<f64> = values
            .chunks_exact(length)
            .take(batches)
            .map(|batch| batch.iter().sum::<f64>() / length as f64)
            .collect();
        Self::of_independent(&means)
    }

    /// The ratio of the first sums to the second over regeneration cycles.
    pub fn of_cycles(cycles: &[(f64, f64)]) -> Self {
        let count = cycles.len() as f64;
        let (above, below) = cycles
            .iter()
            .fold((0.0, 0.0), |sum, cycle| (sum.0 + cycle.0, sum.1 + cycle.1));
        let ratio = above / below;
        let squares: f64 = cycles
            .iter()
            .map(|(above, below)| (above - ratio * below).powi(2))
            .sum();
        let deviation = (squares / (count - 1.0) / count).sqrt() / (below / count);
        Interval {
            mean: ratio,
            half_width: normal_quantile((1.0 + COVERAGE) / 2.0) * deviation,
        }
    }

    /// Asserts that `theory` lies in the interval, and that the interval is no wider
    /// than this share of it to each side.
    ///
    /// # Panics
    /// If not, with all the figures.
    #[track_caller]
    pub fn assert_is(&self, theory: f64, narrow: f64, what: &str) {
        let Interval { mean, half_width } = self;
        assert!(
            half_width / theory <= narrow,
            "{what}: {mean:.6e} ± {half_width:.2e} is too wide an interval to compare with {theory:.6e}"
        );
        assert!(
            (mean - theory).abs() <= *half_width,
            "{what}: simulated {mean:.6e} ± {half_width:.2e}, in theory {theory:.6e}"
        );
    }
}

/// The quantile of Student's distribution, by its expansion around the normal one
/// (Abramowitz and Stegun, 26.7.5); good to three digits from 20 degrees of freedom.
fn student_quantile(p: f64, degrees: f64) -> f64 {
    let z = normal_quantile(p);
    let z2 = z * z;
    z + z * (z2 + 1.0) / (4.0 * degrees)
        + z * ((5.0 * z2 + 16.0) * z2 + 3.0) / (96.0 * degrees * degrees)
        + z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / (384.0 * degrees.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use innosim_engine::runtime::random::Stream;

    #[test]
    fn student_quantiles_match_published_tables() {
        for (p, degrees, published) in [
            (0.975, 30.0, 2.042),
            (0.995, 40.0, 2.704),
            (0.9995, 30.0, 3.646),
            (0.9995, 60.0, 3.460),
        ] {
            let value = student_quantile(p, degrees);
            assert!((value - published).abs() < 0.002, "{p} {degrees}: {value}");
        }
    }

    #[test]
    fn an_interval_of_known_values() {
        let values: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        let interval = Interval::of_independent(&values);
        assert_eq!(interval.mean, 0.5);
        // The standard error is sqrt(10/39/40) = 0.08006, the quantile 4.32.
        assert!((interval.half_width - 0.346).abs() < 0.002, "{interval:?}");
        let batches = Interval::of_batches(&values, 20);
        assert_eq!((batches.mean, batches.half_width), (0.5, 0.0));
        let cycles = [(2.0, 1.0), (4.0, 2.0)];
        let ratio = Interval::of_cycles(&cycles);
        assert_eq!((ratio.mean, ratio.half_width), (2.0, 0.0));
    }

    #[test]
    fn the_interval_holds_the_mean_of_dependent_values_too() {
        // Moving averages of exponential values with mean 1: neighbours depend.
        let mut missed = [0; 2];
        for seed in 0..200 {
            let mut stream = Stream::new(seed, "coverage");
            let raw: Vec<f64> = (0..4_010).map(|_| stream.exponential()).collect();
            let values: Vec<f64> = raw
                .windows(10)
                .map(|window| window.iter().sum::<f64>() / 10.0)
                .collect();
            let intervals = [
                Interval::of_independent(&values),
                Interval::of_batches(&values, 40),
            ];
            for (missed, interval) in missed.iter_mut().zip(intervals) {
                *missed += usize::from((interval.mean - 1.0).abs() > interval.half_width);
            }
        }
        // Taking dependent values for independent ones misses often; batches do not.
        assert!(missed[0] > 20 && missed[1] == 0, "{missed:?}");
    }
}
