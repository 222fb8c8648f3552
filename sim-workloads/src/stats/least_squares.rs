//! Least squares with coefficients that cannot be negative: times, counts, multiples.
//!
//! C. L. Lawson and R. J. Hanson, "Solving Least Squares Problems" (1974), chapter 23: a set
//! of columns is *free*, the others' coefficients are zero. The column with the steepest
//! descent is freed, the free ones are solved for, and one that would become negative goes
//! back to zero. It ends where no column can be freed with a gain.
//!
//! The problems here have a dozen columns, so that the normal equations, solved by
//! elimination with pivots, are exact enough; columns are scaled to length one before.

/// A fit of `rows × coefficients` to `wanted`.
#[derive(Debug, Clone, PartialEq)]
pub struct LeastSquares {
    /// One a column, zero or more.
    pub coefficients: Vec<f64>,
    /// Standard error of each that is above zero; `None` where the others can take its
    /// place, or where there are no more rows than columns.
    pub standard_errors: Vec<Option<f64>>,
    /// Wanted less fitted, a row each.
    pub residuals: Vec<f64>,
    /// Standard deviation of the weighted residuals; `None` where there are no more rows than
    /// columns.
    pub standard_deviation: Option<f64>,
}

/// Relative to the largest pivot: what is smaller is zero.
const SINGULAR: f64 = 1e-10;

/// Fits coefficients of zero or more. Each row has a value for each column; `weights` are
/// the factors by which rows count (1 over their standard deviation).
///
/// # Panics
/// If the numbers of rows, wanted values and weights differ.
pub fn fit_non_negative(rows: &[Vec<f64>], wanted: &[f64], weights: &[f64]) -> LeastSquares {
    assert!(rows.len() == wanted.len() && rows.len() == weights.len());
    let columns = rows.first().map_or(0, Vec::len);
    let column = |c: usize| rows.iter().zip(weights).map(move |(row, w)| row[c] * w);
    let lengths: Vec<f64> = (0..columns)
        .map(|c| column(c).map(|value| value * value).sum::<f64>().sqrt())
        .collect();
    let scaled: Vec<Vec<f64>> = (0..columns)
        .map(|c| {
            column(c)
                .map(|value| value / lengths[c].max(f64::MIN_POSITIVE))
                .collect()
        })
        .collect();
    let target: Vec<f64> = wanted.iter().zip(weights).map(|(y, w)| y * w).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let gram = |c: usize, d: usize| dot(&scaled[c], &scaled[d]);
    let aim: Vec<f64> = scaled.iter().map(|column| dot(column, &target)).collect();

    let mut free: Vec<usize> = Vec::new();
    let mut solution = vec![0.0; columns];
    let mut refused = vec![false; columns];
    // Each round frees a column for good or refuses it until something changes.
    for _ in 0..10 * (columns + 1) {
        let gain = |c: usize| aim[c] - free.iter().map(|&d| gram(c, d) * solution[d]).sum::<f64>();
        let candidates =
            (0..columns).filter(|c| !free.contains(c) && !refused[*c] && lengths[*c] > 0.0);
        let steepest = candidates.max_by(|&a, &b| gain(a).total_cmp(&gain(b)));
        let Some(next) = steepest.filter(|&c| gain(c) > 1e-12 * target.len() as f64) else {
            break;
        };
        free.push(next);
        loop {
            let matrix: Vec<Vec<f64>> = free
                .iter()
                .map(|&c| free.iter().map(|&d| gram(c, d)).collect())
                .collect();
            let sides: Vec<f64> = free.iter().map(|&c| aim[c]).collect();
            let Some(solved) = solve(matrix, sides) else {
                // It says nothing that the others do not say.
                free.retain(|&c| c != next);
                refused[next] = true;
                continue;
            };
            if solved.iter().all(|&value| value > 0.0) {
                for (&c, value) in free.iter().zip(solved) {
                    solution[c] = value;
                }
                if free.contains(&next) {
                    refused.fill(false);
                }
                break;
            }
            // As far towards the solution as all stay at zero or above.
            let steps = free.iter().zip(&solved).filter(|(_, value)| **value <= 0.0);
            let step = steps
                .map(|(&c, value)| solution[c] / (solution[c] - value))
                .fold(1.0, f64::min);
            for (&c, value) in free.iter().zip(&solved) {
                solution[c] += step * (value - solution[c]);
            }
            let before = free.len();
            free.retain(|&c| solution[c] > 1e-14);
            if free.len() == before {
                // Rounding: it was all but zero.
                free.retain(|&c| c != next);
                refused[next] = true;
            }
        }
        for (c, value) in solution.iter_mut().enumerate() {
            if !free.contains(&c) {
                *value = 0.0;
            }
        }
    }

    let coefficients: Vec<f64> = (0..columns)
        .map(|c| {
            if lengths[c] > 0.0 {
                solution[c] / lengths[c]
            } else {
                0.0
            }
        })
        .collect();
    let residuals: Vec<f64> = rows
        .iter()
        .zip(wanted)
        .map(|(row, y)| y - dot(row, &coefficients))
        .collect();
    let squares: f64 = residuals
        .iter()
        .zip(weights)
        .map(|(residual, w)| (residual * w) * (residual * w))
        .sum();
    let freedom = rows.len().saturating_sub(free.len());
    let standard_deviation = (freedom > 0).then(|| (squares / freedom as f64).sqrt());
    let mut standard_errors = vec![None; columns];
    if let Some(deviation) = standard_deviation {
        for (place, &c) in free.iter().enumerate() {
            let matrix: Vec<Vec<f64>> = free
                .iter()
                .map(|&c| free.iter().map(|&d| gram(c, d)).collect())
                .collect();
            let mut unit = vec![0.0; free.len()];
            unit[place] = 1.0;
            standard_errors[c] = solve(matrix, unit)
                .map(|inverse| inverse[place].max(0.0).sqrt() * deviation / lengths[c]);
        }
    }
    LeastSquares {
        coefficients,
        standard_errors,
        residuals,
        standard_deviation,
    }
}

/// Solves a system of equations by elimination with pivots; `None` if it is singular.
fn solve(mut matrix: Vec<Vec<f64>>, mut sides: Vec<f64>) -> Option<Vec<f64>> {
    let n = sides.len();
    for step in 0..n {
        let pivot =
            (step..n).max_by(|&a, &b| matrix[a][step].abs().total_cmp(&matrix[b][step].abs()))?;
        if matrix[pivot][step].abs() < SINGULAR {
            return None;
        }
        matrix.swap(step, pivot);
        sides.swap(step, pivot);
        for row in step + 1..n {
            let factor = matrix[row][step] / matrix[step][step];
            let (above, below) = matrix.split_at_mut(row);
            for (value, from) in below[0][step..].iter_mut().zip(&above[step][step..]) {
                *value -= factor * from;
            }
            sides[row] -= factor * sides[step];
        }
    }
    for step in (0..n).rev() {
        let known: f64 = (step + 1..n).map(|c| matrix[step][c] * sides[c]).sum();
        sides[step] = (sides[step] - known) / matrix[step][step];
    }
    Some(sides)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-8, "{a} against {b}");
    }

    #[test]
    fn a_line_through_points_has_its_textbook_errors() {
        // y = 1 + 2 x with residuals +1, -1, -1, +1: sum of squares 4, two degrees of
        // freedom, variance 2; x has sum of squares 5 around its mean.
        let xs = [0.0, 1.0, 2.0, 3.0];
        let rows: Vec<Vec<f64>> = xs.iter().map(|&x| vec![1.0, x]).collect();
        let wanted = [2.0, 2.0, 4.0, 8.0];
        let fit = fit_non_negative(&rows, &wanted, &[1.0; 4]);
        close(fit.coefficients[0], 1.0);
        close(fit.coefficients[1], 2.0);
        close(fit.residuals[1], -1.0);
        close(fit.standard_errors[1].unwrap(), (2.0f64 / 5.0).sqrt());
        close(
            fit.standard_errors[0].unwrap(),
            (2.0f64 * (0.25 + 2.25 / 5.0)).sqrt(),
        );
    }

    #[test]
    fn what_would_be_negative_is_zero_and_the_others_make_up_for_it() {
        let rows = vec![vec![1.0, 0.0], vec![1.0, 1.0], vec![1.0, 2.0]];
        let fit = fit_non_negative(&rows, &[3.0, 2.0, 1.0], &[1.0; 3]);
        assert_eq!(fit.coefficients[1], 0.0);
        close(fit.coefficients[0], 2.0);
        assert_eq!(fit.standard_errors[1], None);
    }

    #[test]
    fn a_column_that_repeats_another_is_left_out() {
        let rows = vec![
            vec![1.0, 2.0, 0.0],
            vec![2.0, 4.0, 0.0],
            vec![3.0, 6.0, 0.0],
        ];
        let fit = fit_non_negative(&rows, &[2.0, 4.0, 6.0], &[1.0; 3]);
        let used = fit
            .coefficients
            .iter()
            .filter(|&&value| value > 0.0)
            .count();
        assert_eq!(used, 1);
        for residual in fit.residuals {
            close(residual, 0.0);
        }
    }

    #[test]
    fn a_row_counts_by_its_weight() {
        let rows = vec![vec![1.0], vec![1.0]];
        let fit = fit_non_negative(&rows, &[0.0, 3.0], &[1.0, 2f64.sqrt()]);
        close(fit.coefficients[0], 2.0);
    }

    proptest! {
        /// The conditions of Karush, Kuhn and Tucker: no free column and no column at zero
        /// can make the sum of squares smaller.
        #[test]
        fn nothing_is_better(
            values in prop::collection::vec(0.0..1.0_f64, 40),
            wanted in prop::collection::vec(-1.0..1.0_f64, 8),
        ) {
            let rows: Vec<Vec<f64>> = values.chunks(5).map(<[f64]>::to_vec).collect();
            let fit = fit_non_negative(&rows, &wanted, &[1.0; 8]);
            for (c, &coefficient) in fit.coefficients.iter().enumerate() {
                let slope: f64 = rows.iter().zip(&fit.residuals).map(|(row, r)| row[c] * r).sum();
                prop_assert!(coefficient >= 0.0);
                if coefficient > 0.0 {
                    prop_assert!(slope.abs() < 1e-6, "free column {c}: {slope}");
                } else {
                    prop_assert!(slope < 1e-6, "column {c} at zero: {slope}");
                }
            }
        }
    }
}
