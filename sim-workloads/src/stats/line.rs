//! Least-squares lines: "µs per transaction = a + b × threads".
//!
//! A latency that grows linearly with the number of threads betrays a list that
//! everyone walks under one mutex; the slope is what one more thread costs each
//! transaction, and its standard error says whether that is a finding.

use super::{MeanInterval, half_width_95, mean, squared_deviations};

/// A line y = intercept + slope x through points, with what is known of its errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineFit {
    /// y at x = 0.
    pub intercept: f64,
    /// Change of y per unit of x.
    pub slope: f64,
    /// Standard error of the slope; `None` with two points, which any line fits.
    pub slope_standard_error: Option<f64>,
    /// Standard error of the intercept; `None` with two points.
    pub intercept_standard_error: Option<f64>,
    /// Share of y's variance that the line explains, 0 to 1 (1 if y is constant).
    pub r_squared: f64,
    /// Number of points.
    pub points: usize,
}

impl LineFit {
    /// The line's y at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// The slope with its 95 % confidence interval.
    pub fn slope_interval_95(&self) -> MeanInterval {
        let degrees = self.points as f64 - 2.0;
        let half = self
            .slope_standard_error
            .map(|error| half_width_95(error, degrees));
        MeanInterval::around(self.slope, half)
    }
}

/// Fits a line through `(x, y)` points by least squares. `None` with fewer than two
/// points or all at one x.
pub fn fit_line(points: &[(f64, f64)]) -> Option<LineFit> {
    if points.len() < 2 {
        return None;
    }
    let xs: Vec<f64> = points.iter().map(|point| point.0).collect();
    let ys: Vec<f64> = points.iter().map(|point| point.1).collect();
    let (mean_x, mean_y) = (mean(&xs)?, mean(&ys)?);
    let sxx = squared_deviations(&xs, mean_x);
    let syy = squared_deviations(&ys, mean_y);
    if sxx == 0.0 {
        return None;
    }
    let sxy: f64 = points
        .iter()
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum();
    let slope = sxy / sxx;
    let intercept = mean_y - slope * mean_x;
    let residuals: f64 = points
        .iter()
        .map(|(x, y)| {
            let residual = y - intercept - slope * x;
            residual * residual
        })
        .sum();
    let n = points.len() as f64;
    let variance = (points.len() > 2).then(|| residuals / (n - 2.0));
    Some(LineFit {
        intercept,
        slope,
        slope_standard_error: variance.map(|v| (v / sxx).sqrt()),
        intercept_standard_error: variance.map(|v| (v * (1.0 / n + mean_x * mean_x / sxx)).sqrt()),
        r_squared: if syy == 0.0 {
            1.0
        } else {
            1.0 - residuals / syy
        },
        points: points.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_calculated_line() {
        // Means 3 and 4, Sxx 10, Sxy 6, Syy 6; residuals sum to 2.4.
        let points = [(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 5.0)];
        let line = fit_line(&points).unwrap();
        assert!((line.slope - 0.6).abs() < 1e-12);
        assert!((line.intercept - 2.2).abs() < 1e-12);
        assert!((line.slope_standard_error.unwrap() - 0.08f64.sqrt()).abs() < 1e-12);
        assert!((line.intercept_standard_error.unwrap() - 0.88f64.sqrt()).abs() < 1e-12);
        assert!((line.r_squared - 0.6).abs() < 1e-12);
        assert!((line.at(10.0) - 8.2).abs() < 1e-12);
        // t(3) = 3.182446 times 0.282843.
        let half = line.slope_interval_95().ci95_high.unwrap() - line.slope;
        assert!((half - 0.900_13).abs() < 1e-4, "{half}");
    }

    #[test]
    fn an_exact_line_has_no_error() {
        let line = fit_line(&[(1.0, 1.0), (2.0, 3.0), (5.0, 9.0)]).unwrap();
        assert!((line.slope - 2.0).abs() < 1e-12);
        assert!(line.slope_standard_error.unwrap() < 1e-9);
        assert!((line.r_squared - 1.0).abs() < 1e-12);
    }

    #[test]
    fn too_few_points_are_no_line() {
        assert_eq!(fit_line(&[(1.0, 1.0)]), None);
        assert_eq!(fit_line(&[(1.0, 1.0), (1.0, 2.0)]), None);
        let two = fit_line(&[(0.0, 1.0), (1.0, 1.0)]).unwrap();
        assert_eq!(
            (two.slope, two.slope_standard_error, two.r_squared),
            (0.0, None, 1.0)
        );
    }
}
