//! Named random streams.
//!
//! Every use of chance has a stream of its own, named after what it decides, and
//! seeded from the run's seed and the name. Adding a draw in one place then leaves
//! all others as they were, and two runs of one seed can be compared draw by draw.
//!
//! Distributions that need `ln` or `exp` use the `libm` crate: the host's own
//! functions differ in the last bit between machines. Where a distribution is
//! drawn for every statement, a table of its quantiles replaces the formula.

use rand::Rng;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream {
    generator: Xoshiro256PlusPlus,
    id: u64,
}

/// FNV-1a, 64 bits: stable names, not security.
fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Stream {
    /// The stream `name` of a run with this seed.
    pub fn new(seed: u64, name: &str) -> Self {
        let id = name_hash(name);
        // Golden-ratio mixing keeps seeds 0, 1, 2 … apart for every name;
        // seed_from_u64 runs SplitMix64 over the result.
        let mixed = id ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        Stream {
            generator: Xoshiro256PlusPlus::seed_from_u64(mixed),
            id,
        }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let value = self.generator.next_u64();
        super::ambient::log_draw(self.id, value);
        value
    }

    /// The next 64 random bits, for the scheduler, which logs them itself.
    #[inline]
    pub(super) fn next_unlogged(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// The generator itself, for a model that draws for itself (its draws are not
    /// logged).
    pub(super) fn into_generator(self) -> Xoshiro256PlusPlus {
        self.generator
    }

    /// The number of the stream in a draw log.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Uniform in [0, 1), with 53 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        unit(self.next_u64())
    }

    /// Uniform in 0..`bound`; 0 if the bound is 0 (multiply-shift: the bias is
    /// below bound / 2^64).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        scale(self.next_u64(), bound)
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }

    /// A value of the table.
    #[inline]
    pub fn draw(&mut self, table: &QuantileTable) -> f64 {
        table.at(self.next_u64())
    }
}

/// 64 random bits as a number in [0, 1).
#[inline]
pub(super) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// 64 random bits as a number in 0..bound.
#[inline]
pub(super) fn scale(bits: u64, bound: u64) -> u64 {
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

/// A distribution as 4096 equally likely values.
#[derive(Debug, Clone)]
pub struct QuantileTable {
    values: Vec<f64>,
}

impl QuantileTable {
    const BITS: u32 = 12;
    const LENGTH: usize = 1 << Self::BITS;

    fn from_quantiles(quantile: impl Fn(f64) -> f64) -> Self {
        let values = (0..Self::LENGTH)
            .map(|i| quantile((i as f64 + 0.5) / Self::LENGTH as f64))
            .collect();
        QuantileTable { values }
    }

    /// Scales the values so that their mean is exactly `mean`.
    fn with_mean(mut self, mean: f64) -> Self {
        let now = self.values.iter().sum::<f64>() / Self::LENGTH as f64;
        for value in &mut self.values {
            *value *= mean / now;
        }
        self
    }

    /// The value that 64 random bits pick.
    #[inline]
    pub(super) fn at(&self, bits: u64) -> f64 {
        self.values[(bits >> (64 - Self::BITS)) as usize]
    }

    /// The standard normal distribution.
    pub fn normal() -> Self {
        Self::from_quantiles(normal_quantile)
    }

    /// Lognormal with mean 1 and this coefficient of variation.
    pub fn lognormal(cv: f64) -> Self {
        let sigma = libm::sqrt(libm::log(1.0 + cv * cv));
        Self::from_quantiles(|p| libm::exp(sigma * normal_quantile(p))).with_mean(1.0)
    }

    /// Exponential with mean 1.
    pub fn exponential() -> Self {
        Self::from_quantiles(|p| -libm::log(1.0 - p)).with_mean(1.0)
    }
}

/// The inverse of the normal distribution function: P. J. Acklam's rational
/// approximation (2003), relative error below 1.2e-9.
#[expect(clippy::excessive_precision, reason = "the coefficients as published")]
pub fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_690e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    const LOW: f64 = 0.02425;
    let tail = |q: f64| {
        (((((C[0] * q + C[1]) * q + C[2]) * q + C[3]) * q + C[4]) * q + C[5])
            / ((((D[0] * q + D[1]) * q + D[2]) * q + D[3]) * q + 1.0)
    };
    if p < LOW {
        tail(libm::sqrt(-2.0 * libm::log(p)))
    } else if p > 1.0 - LOW {
        -tail(libm::sqrt(-2.0 * libm::log(1.0 - p)))
    } else {
        let q = p - 0.5;
        let r = q * q;
        (((((A[0] * r + A[1]) * r + A[2]) * r + A[3]) * r + A[4]) * r + A[5]) * q
            / (((((B[0] * r + B[1]) * r + B[2]) * r + B[3]) * r + B[4]) * r + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_repeatable_and_apart() {
        let draw = |seed, name| {
            let mut stream = Stream::new(seed, name);
            [stream.next_u64(), stream.next_u64()]
        };
        assert_eq!(draw(1, "spin"), draw(1, "spin"));
        assert_ne!(draw(1, "spin"), draw(2, "spin"));
        assert_ne!(draw(1, "spin"), draw(1, "disk"));
    }

    #[test]
    fn normal_quantiles_match_published_values() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959_963_985), (0.01, -2.326_347_874)] {
            assert!((normal_quantile(p) - z).abs() < 1e-8, "{p}");
        }
    }

    #[test]
    fn tables_have_the_moments_they_promise() {
        for cv in [0.1, 0.5, 1.0] {
            let table = QuantileTable::lognormal(cv);
            let n = table.values.len() as f64;
            let mean = table.values.iter().sum::<f64>() / n;
            let variance = table
                .values
                .iter()
                .map(|x| (x - mean) * (x - mean))
                .sum::<f64>()
                / n;
            assert!((mean - 1.0).abs() < 1e-12);
            // The top 1/8192 of the distribution is cut off.
            assert!((libm::sqrt(variance) / cv - 1.0).abs() < 0.02, "cv {cv}");
        }
        let table = QuantileTable::exponential();
        assert!((table.values.iter().sum::<f64>() / 4096.0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn below_stays_below_and_covers_all() {
        let mut stream = Stream::new(7, "test");
        let mut seen = [0u32; 10];
        for _ in 0..10_000 {
            seen[stream.below(10) as usize] += 1;
        }
        // Five standard deviations of a binomial count around 1000.
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert_eq!(stream.below(0), 0);
    }
}
