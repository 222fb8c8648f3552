//! How uneven a run is: jitter and stalls as results of their own.
//!
//! Two settings with the same mean throughput are not alike if one of them stops
//! for three seconds every minute. From the per-second series:
//!
//! ```text
//!   tps
//!   1000 |####  #####  ####     17 seconds: mean 765, 5th percentile 0,
//!        |####  #####  ####     worst second 0, 2 stalls, 4 seconds stalled
//!      0 +----__-----__----
//! ```

use super::{mean, sample_standard_deviation};

/// The unevenness of a series of per-second rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jitter {
    /// Mean rate.
    pub mean: f64,
    /// Sample standard deviation divided by the mean; 0 for fewer than two seconds.
    pub coefficient_of_variation: f64,
    /// The rate that 5 % of the seconds do not exceed.
    pub p5: f64,
    /// The rate that 95 % of the seconds do not exceed.
    pub p95: f64,
    /// The worst second.
    pub worst: f64,
    /// Number of stalls: unbroken stretches below a tenth of the mean.
    pub stalls: usize,
    /// Seconds spent in stalls.
    pub stalled_seconds: usize,
}

impl Jitter {
    /// Of a per-second series; `None` of an empty one.
    pub fn of(series: &[f64]) -> Option<Self> {
        let mean = mean(series)?;
        let mut sorted = series.to_vec();
        sorted.sort_by(f64::total_cmp);
        let stalled: Vec<bool> = series.iter().map(|rate| *rate < mean / 10.0).collect();
        let begins = |i: usize| stalled[i] && (i == 0 || !stalled[i - 1]);
        let deviation = sample_standard_deviation(series).unwrap_or(0.0);
        Some(Self {
            mean,
            coefficient_of_variation: if mean == 0.0 { 0.0 } else { deviation / mean },
            p5: nearest_rank(&sorted, 0.05)?,
            p95: nearest_rank(&sorted, 0.95)?,
            worst: sorted[0],
            stalls: (0..stalled.len()).filter(|&i| begins(i)).count(),
            stalled_seconds: stalled.iter().filter(|&&stalled| stalled).count(),
        })
    }
}

/// The smallest value that a share `quantile` of the sorted values does not exceed
/// (the nearest-rank percentile); `None` of nothing.
pub fn nearest_rank(sorted: &[f64], quantile: f64) -> Option<f64> {
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stalls_and_their_seconds() {
        let series = [100.0, 0.0, 5.0, 100.0, 100.0, 2.0, 93.0];
        let jitter = Jitter::of(&series).unwrap();
        assert_eq!(jitter.mean, 400.0 / 7.0);
        assert_eq!((jitter.stalls, jitter.stalled_seconds), (2, 3));
        assert_eq!((jitter.worst, jitter.p5, jitter.p95), (0.0, 0.0, 100.0));
    }

    #[test]
    fn a_steady_series_has_no_jitter() {
        let jitter = Jitter::of(&[50.0; 10]).unwrap();
        assert_eq!(jitter.coefficient_of_variation, 0.0);
        assert_eq!((jitter.stalls, jitter.worst, jitter.p95), (0, 50.0, 50.0));
        assert_eq!(Jitter::of(&[]), None);
    }

    #[test]
    fn a_dead_series_is_no_stall_of_itself() {
        let jitter = Jitter::of(&[0.0, 0.0]).unwrap();
        assert_eq!((jitter.coefficient_of_variation, jitter.stalls), (0.0, 0));
    }

    #[test]
    fn ranks_are_the_nearest() {
        let sorted = [15.0, 20.0, 35.0, 40.0, 50.0];
        let at = |quantile| nearest_rank(&sorted, quantile).unwrap();
        assert_eq!(
            [at(0.05), at(0.3), at(0.4), at(0.5), at(1.0)],
            [15.0, 20.0, 20.0, 35.0, 50.0]
        );
        assert_eq!(nearest_rank(&[], 0.5), None);
    }
}
