//! Zipf's law by rejection-inversion.
//!
//! Rank k of n has probability proportional to k^-e. Inverting the sum of these
//! probabilities would need a table of n entries; W. Hörmann and G. Derflinger
//! ("Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996) invert an integral instead and reject the
//! little that lies between the curve and its steps:
//!
//! ```text
//!   h(x) = x^-e      H(x) = integral of h      H's inverse is a formula
//!
//!   |\
//!   | \___            draw u between H(1.5) - h(1) and H(n + 0.5),
//!   | |   \_____      x = inverse(u), k = x rounded;
//!   | |   |     \__   keep k if u >= H(k + 0.5) - h(k), else draw again
//!   +-1---2-----3---
//! ```
//!
//! Constant memory, and at e = 0.8 about one draw per sample. This is the method of
//! sysbench 1.1 (the program's 0.8 and rank 1 = smallest key come with it).

use rand::Rng;

use super::unit_interval;

/// A Zipf distribution over the ranks 1..=n.
#[derive(Debug, Clone)]
pub struct Zipfian {
    ranks: u64,
    exponent: f64,
    /// H(1.5) - h(1): the lower end of the integral.
    lowest: f64,
    /// H(n + 0.5): the upper end.
    highest: f64,
    /// A k this close below x is accepted without evaluating H.
    quick_accept: f64,
}

impl Zipfian {
    /// Over 1..=`ranks` with probability proportional to rank^-`exponent`.
    ///
    /// # Panics
    /// If `ranks` is 0 or the exponent negative.
    pub fn new(ranks: u64, exponent: f64) -> Self {
        assert!(ranks > 0, "no ranks");
        assert!(exponent >= 0.0, "negative exponent {exponent}");
        let mut zipfian = Self {
            ranks,
            exponent,
            lowest: 0.0,
            highest: 0.0,
            quick_accept: 0.0,
        };
        zipfian.lowest = zipfian.integral(1.5) - 1.0;
        zipfian.highest = zipfian.integral(ranks as f64 + 0.5);
        zipfian.quick_accept =
            2.0 - zipfian.inverse_integral(zipfian.integral(2.5) - zipfian.density(2.0));
        zipfian
    }

    /// Draws a rank.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> u64 {
        loop {
            let u = self.highest + unit_interval(rng) * (self.lowest - self.highest);
            let x = self.inverse_integral(u);
            let rank = (x + 0.5).floor().clamp(1.0, self.ranks as f64);
            if rank - x <= self.quick_accept || u >= self.integral(rank + 0.5) - self.density(rank)
            {
                return rank as u64;
            }
        }
    }

    /// h(x) = x^-e.
    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// H(x) = (x^(1-e) - 1) / (1-e), which tends to ln x as e tends to 1.
    fn integral(&self, x: f64) -> f64 {
        let logarithm = libm::log(x);
        let y = (1.0 - self.exponent) * logarithm;
        // expm1(y) / y keeps its digits where e is near 1.
        let ratio = if y.abs() > 1e-8 {
            libm::expm1(y) / y
        } else {
            1.0 + y / 2.0
        };
        ratio * logarithm
    }

    /// The x with H(x) = u.
    fn inverse_integral(&self, u: f64) -> f64 {
        // Below -1 only by rounding; log1p must not see it.
        let y = (u * (1.0 - self.exponent)).max(-1.0);
        let ratio = if y.abs() > 1e-8 {
            libm::log1p(y) / y
        } else {
            1.0 - y / 2.0
        };
        libm::exp(ratio * u)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_distr::Distribution as _;
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn exact_probabilities(ranks: u64, exponent: f64) -> Vec<f64> {
        let weights: Vec<f64> = (1..=ranks)
            .map(|k| libm::pow(k as f64, -exponent))
            .collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / total).collect()
    }

    /// Pearson's statistic of `samples` draws against exact probabilities.
    fn chi_square(draw: impl Fn(&mut Xoshiro256PlusPlus) -> u64, p: &[f64], samples: u32) -> f64 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut counts = vec![0u32; p.len()];
        for _ in 0..samples {
            counts[draw(&mut rng) as usize - 1] += 1;
        }
        p.iter()
            .zip(counts)
            .map(|(p, count)| {
                let expected = p * f64::from(samples);
                (f64::from(count) - expected) * (f64::from(count) - expected) / expected
            })
            .sum()
    }

    /// Mean plus four standard deviations of a chi-square with n - 1 degrees of freedom.
    fn chi_square_bound(categories: usize) -> f64 {
        let degrees = categories as f64 - 1.0;
        degrees + 4.0 * (2.0 * degrees).sqrt()
    }

    #[test]
    fn matches_the_exact_probabilities_on_small_ranges() {
        for exponent in [0.0, 0.5, 0.8, 1.0, 1.5] {
            let p = exact_probabilities(40, exponent);
            let zipfian = Zipfian::new(40, exponent);
            let statistic = chi_square(|rng| zipfian.sample(rng), &p, 200_000);
            assert!(
                statistic < chi_square_bound(p.len()),
                "e = {exponent}: {statistic}"
            );
        }
    }

    #[test]
    fn the_test_sees_a_wrong_exponent() {
        let zipfian = Zipfian::new(40, 0.82);
        let p = exact_probabilities(40, 0.8);
        let statistic = chi_square(|rng| zipfian.sample(rng), &p, 200_000);
        assert!(statistic > chi_square_bound(p.len()), "{statistic}");
    }

    #[test]
    fn an_independent_sampler_has_the_same_shares() {
        // rand_distr rejects from another hat; its means must agree within the error
        // of two sample means.
        let ranks = 10_000u64;
        let samples = 100_000u32;
        let ours = Zipfian::new(ranks, 0.8);
        let theirs = rand_distr::Zipf::new(ranks as f64, 0.8).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        for top in [1u64, 10, 100, 1_000] {
            let hits = |mut draw: Box<dyn FnMut() -> u64 + '_>| {
                (0..samples).filter(|_| draw() <= top).count() as f64 / f64::from(samples)
            };
            let a = hits(Box::new(|| ours.sample(&mut rng)));
            let mut other = Xoshiro256PlusPlus::seed_from_u64(12);
            let b = hits(Box::new(|| theirs.sample(&mut other) as u64));
            let exact: f64 = exact_probabilities(ranks, 0.8)[..top as usize].iter().sum();
            let error = (exact * (1.0 - exact) / f64::from(samples)).sqrt();
            assert!(
                (a - exact).abs() < 4.0 * error,
                "top {top}: {a} against {exact}"
            );
            assert!(
                (a - b).abs() < 4.0 * error * 2f64.sqrt(),
                "top {top}: {a} and {b}"
            );
        }
    }

    #[test]
    fn the_integral_and_its_inverse_are_inverse_also_near_exponent_one() {
        for exponent in [0.0, 0.8, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 2.0] {
            let zipfian = Zipfian::new(10_000_000, exponent);
            for x in [1.0, 1.5, 3.25, 1000.0, 1e7] {
                let back = zipfian.inverse_integral(zipfian.integral(x));
                // H flattens as e grows, so the inverse loses digits at large x.
                assert!(
                    (back / x - 1.0).abs() < 1e-6,
                    "e = {exponent}, x = {x}: {back}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn ranks_stay_in_range(ranks in 1u64..1_000_000_000, exponent in 0.0f64..3.0, seed: u64) {
            let zipfian = Zipfian::new(ranks, exponent);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            for _ in 0..20 {
                let rank = zipfian.sample(&mut rng);
                prop_assert!((1..=ranks).contains(&rank));
            }
        }
    }
}
