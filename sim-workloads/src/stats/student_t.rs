//! Student's t distribution, for any number of degrees of freedom.
//!
//! Welch's formula gives fractional degrees, so a table is not enough. The
//! distribution function is a regularised incomplete beta function,
//!
//! ```text
//!   P(T > t) = I(v / (v + t^2); v/2, 1/2) / 2
//! ```
//!
//! computed by its continued fraction (DLMF 8.17.22) with Lentz's method as modified
//! by I. J. Thompson and A. R. Barnett (1986); the quantile is found by bisection,
//! which cannot fail to converge.

/// ln B(a, b) = ln Gamma(a) + ln Gamma(b) - ln Gamma(a + b).
fn log_beta(a: f64, b: f64) -> f64 {
    libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b)
}

/// The regularised incomplete beta function I_x(a, b).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = libm::exp(a * libm::log(x) + b * libm::log1p(-x) - log_beta(a, b));
    // The fraction converges fast on this side of the mode; use the symmetry on the other.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(x, a, b) / a
    } else {
        1.0 - front * continued_fraction(1.0 - x, b, a) / b
    }
}

fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const ITERATIONS: u32 = 500;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for m in 1..=ITERATIONS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        result *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        result *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    result
}

/// P(T <= t) for Student's t with `degrees_of_freedom` degrees.
///
/// # Panics
/// If the degrees are not positive.
pub fn student_t_cumulative(t: f64, degrees_of_freedom: f64) -> f64 {
    assert!(
        degrees_of_freedom > 0.0,
        "degrees of freedom {degrees_of_freedom}"
    );
    let x = degrees_of_freedom / (degrees_of_freedom + t * t);
    let tail = incomplete_beta(x, degrees_of_freedom / 2.0, 0.5) / 2.0;
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The t with P(T <= t) = `probability`; the two-sided 95 % value is at 0.975.
///
/// # Panics
/// If the probability is not strictly between 0 and 1 or the degrees not positive.
pub fn student_t_quantile(probability: f64, degrees_of_freedom: f64) -> f64 {
    assert!(
        probability > 0.0 && probability < 1.0,
        "probability {probability}"
    );
    if probability < 0.5 {
        return -student_t_quantile(1.0 - probability, degrees_of_freedom);
    }
    let mut high = 1.0;
    while student_t_cumulative(high, degrees_of_freedom) < probability && high < 1e300 {
        high *= 2.0;
    }
    let mut low = 0.0;
    // 200 halvings exhaust the digits of any interval found above.
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if student_t_cumulative(middle, degrees_of_freedom) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-sided 95 % and 99 % values as printed in statistical tables.
    const TABLE: [(f64, f64, f64); 13] = [
        (1.0, 12.706, 63.657),
        (2.0, 4.303, 9.925),
        (3.0, 3.182, 5.841),
        (4.0, 2.776, 4.604),
        (5.0, 2.571, 4.032),
        (6.0, 2.447, 3.707),
        (7.0, 2.365, 3.499),
        (8.0, 2.306, 3.355),
        (9.0, 2.262, 3.250),
        (10.0, 2.228, 3.169),
        (20.0, 2.086, 2.845),
        (30.0, 2.042, 2.750),
        (120.0, 1.980, 2.617),
    ];

    #[test]
    fn quantiles_match_the_printed_table() {
        for (degrees, at_95, at_99) in TABLE {
            let error_95 = (student_t_quantile(0.975, degrees) - at_95).abs();
            let error_99 = (student_t_quantile(0.995, degrees) - at_99).abs();
            assert!(
                error_95 < 0.000_51 && error_99 < 0.000_51,
                "{degrees} degrees"
            );
        }
    }

    #[test]
    fn closed_forms() {
        // One degree is Cauchy's: t = tan(pi (p - 1/2)).
        let exact = (std::f64::consts::PI * 0.475).tan();
        assert!((student_t_quantile(0.975, 1.0) / exact - 1.0).abs() < 1e-12);
        // Two degrees: F(t) = 1/2 + t / (2 sqrt(2 + t^2)).
        for t in [-3.0f64, -0.1, 0.0, 0.5, 7.0] {
            let exact = 0.5 + t / (2.0 * (2.0 + t * t).sqrt());
            assert!((student_t_cumulative(t, 2.0) - exact).abs() < 1e-13, "{t}");
        }
    }

    #[test]
    fn tends_to_the_normal_distribution() {
        assert!((student_t_quantile(0.975, 1e7) - 1.959_964).abs() < 1e-5);
    }

    #[test]
    fn is_symmetric_and_fractional_degrees_lie_between() {
        assert_eq!(
            student_t_quantile(0.025, 5.0),
            -student_t_quantile(0.975, 5.0)
        );
        let between = student_t_quantile(0.975, 4.5);
        assert!(between < student_t_quantile(0.975, 4.0));
        assert!(between > student_t_quantile(0.975, 5.0));
    }
}
