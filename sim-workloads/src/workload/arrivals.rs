//! When transactions arrive, if they do not wait for each other (`--rate`).
//!
//! By default sysbench is a *closed loop*: a thread starts its next transaction when
//! the last one ends, so a server that stalls is asked for less. With `--rate` it is
//! an *open loop*: transactions arrive by a Poisson process whatever the server
//! does, queue, and their latency counts from the arrival:
//!
//! ```text
//!   arrivals   |   |  |      ||   |        gaps exponential, mean 1/rate
//!              v   v  v      vv   v
//!   queue     [............]  -> threads -> server
//!              '-- counts as latency --'
//! ```
//!
//! Measuring from the start of the service instead would hide exactly the waiting
//! that a stall causes (coordinated omission).

use rand::Rng;

use super::options::OptionError;
use super::random::unit_interval;

const PICOSECONDS_PER_SECOND: f64 = 1e12;

/// A Poisson arrival process.
#[derive(Debug, Clone)]
pub struct PoissonArrivals {
    mean_gap_ps: f64,
}

impl PoissonArrivals {
    /// Arrivals at a mean of `per_second` transactions a second over all threads.
    ///
    /// # Errors
    /// If the rate is not a positive number.
    pub fn new(per_second: f64) -> Result<Self, OptionError> {
        if per_second > 0.0 && per_second.is_finite() {
            Ok(Self {
                mean_gap_ps: PICOSECONDS_PER_SECOND / per_second,
            })
        } else {
            Err(OptionError::new(
                "rate",
                per_second,
                "a positive number of transactions a second",
            ))
        }
    }

    /// Time from one arrival to the next, in picoseconds: -ln(1 - u) / rate.
    pub fn next_gap_ps<R: Rng + ?Sized>(&self, rng: &mut R) -> u64 {
        // 1 - u is in (0, 1], so the logarithm is finite.
        (-libm::log1p(-unit_interval(rng)) * self.mean_gap_ps) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn gaps_are_exponential() {
        let arrivals = PoissonArrivals::new(1_000.0).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let n = 100_000;
        let gaps: Vec<f64> = (0..n)
            .map(|_| arrivals.next_gap_ps(&mut rng) as f64 / 1e9)
            .collect();
        // Mean and standard deviation of an exponential are both 1 ms; the standard
        // error of the mean is 1/sqrt(n) = 0.0032.
        let mean = gaps.iter().sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.0127, "{mean}");
        // P(gap > 2 ms) = e^-2, standard error 0.0011.
        let long = gaps.iter().filter(|&&gap| gap > 2.0).count() as f64 / f64::from(n);
        assert!((long - libm::exp(-2.0)).abs() < 0.0044, "{long}");
    }

    #[test]
    fn a_rate_must_be_positive() {
        assert!(PoissonArrivals::new(0.0).is_err());
        assert!(PoissonArrivals::new(f64::NAN).is_err());
    }
}
