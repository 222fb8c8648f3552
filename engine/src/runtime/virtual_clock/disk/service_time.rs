//! How long an operation takes: a mean and a distribution around it.
//!
//! A constant service time makes queues that real devices do not have (two streams lock
//! into step and never meet), so a profile says how its times are spread:
//!
//! | distribution    | coefficient of variation | for |
//! | --------------- | ------------------------ | --- |
//! | `deterministic` | 0                        | arithmetic that must come out exactly |
//! | `exponential`   | 1                        | checks against queueing theory |
//! | `lognormal`     | any (`cv`)               | measured devices: a body and a tail to the right |

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::profile::Checker;
use super::{MICROSECOND, Time};

/// A service time as written in a profile, for example
/// `{ distribution = "lognormal", mean_us = 90.0, cv = 0.2 }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "snake_case", deny_unknown_fields)]
pub enum ServiceTime {
    /// Always the mean.
    Deterministic {
        /// Mean in microseconds.
        mean_us: f64,
    },
    /// Exponential: memoryless, standard deviation equal to the mean.
    Exponential {
        /// Mean in microseconds.
        mean_us: f64,
    },
    /// The exponential of a normal variable.
    Lognormal {
        /// Mean in microseconds (of the time, not of its logarithm).
        mean_us: f64,
        /// Standard deviation divided by the mean.
        cv: f64,
    },
}

impl ServiceTime {
    /// Mean in microseconds.
    pub fn mean_us(&self) -> f64 {
        match *self {
            ServiceTime::Deterministic { mean_us }
            | ServiceTime::Exponential { mean_us }
            | ServiceTime::Lognormal { mean_us, .. } => mean_us,
        }
    }

    /// Note what is out of range: means of 0.001 µs to 10 s, `cv` above 0 and up to 10.
    pub(super) fn check(&self, key: &str, checker: &mut Checker) {
        checker.number(&format!("{key}.mean_us"), self.mean_us(), 0.001, 1e7);
        if let ServiceTime::Lognormal { cv, .. } = *self {
            checker.number(&format!("{key}.cv"), cv, 1e-6, 10.0);
        }
    }
}

/// A [`ServiceTime`] made ready to draw from, with its own stream of random numbers.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    shape: Shape,
    generator: Xoshiro256PlusPlus,
    /// The second of the two normal deviates that one draw makes.
    spare: Option<f64>,
}

/// Parameters in picoseconds.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Constant(Time),
    Exponential { mean: f64 },
    Lognormal { location: f64, scale: f64 },
}

impl Sampler {
    pub(super) fn new(time: ServiceTime, generator: Xoshiro256PlusPlus) -> Self {
        let mean = time.mean_us() * MICROSECOND as f64;
        let shape = match time {
            ServiceTime::Deterministic { .. } => Shape::Constant(round(mean)),
            ServiceTime::Exponential { .. } => Shape::Exponential { mean },
            ServiceTime::Lognormal { cv, .. } => {
                // With Y = exp(N(m, s²)): E[Y] = exp(m + s²/2) and cv² = exp(s²) - 1.
                let variance = libm::log1p(cv * cv);
                let location = libm::log(mean) - variance / 2.0;
                Shape::Lognormal {
                    location,
                    scale: variance.sqrt(),
                }
            }
        };
        Sampler {
            shape,
            generator,
            spare: None,
        }
    }

    /// Draws from another generator from here on.
    pub(super) fn reseed(&mut self, generator: Xoshiro256PlusPlus) {
        self.generator = generator;
        self.spare = None;
    }

    /// One service time.
    pub(super) fn draw(&mut self) -> Time {
        match self.shape {
            Shape::Constant(time) => time,
            Shape::Exponential { mean } => {
                // 1 - u is in (0, 1], so the logarithm is finite.
                round(-mean * libm::log(1.0 - uniform(&mut self.generator)))
            }
            Shape::Lognormal { location, scale } => {
                round(libm::exp(location + scale * self.normal()))
            }
        }
    }

    /// A standard normal deviate by Marsaglia's polar method (Marsaglia and Bray, 1964),
    /// which needs a logarithm and a square root, no sine.
    fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let x = 2.0 * uniform(&mut self.generator) - 1.0;
            let y = 2.0 * uniform(&mut self.generator) - 1.0;
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * libm::log(square) / square).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }
}

/// A number from [0, 1), a multiple of 2⁻⁵³.
pub(super) fn uniform(generator: &mut Xoshiro256PlusPlus) -> f64 {
    (generator.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Nearest whole number of picoseconds.
fn round(picoseconds: f64) -> Time {
    (picoseconds + 0.5) as Time
}

/// A profile's microseconds as picoseconds.
pub(super) fn from_us(microseconds: f64) -> Time {
    round(microseconds * MICROSECOND as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Mean and coefficient of variation of many draws.
    fn moments(time: ServiceTime) -> (f64, f64) {
        let mut sampler = Sampler::new(time, Xoshiro256PlusPlus::seed_from_u64(3));
        let count = 200_000;
        let draws: Vec<f64> = (0..count).map(|_| sampler.draw() as f64 / 1e6).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(count);
        let variance =
            draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(count);
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn moments_are_those_of_the_profile() {
        // The standard error of a mean of 200,000 draws is cv/447; four of them are allowed.
        let constant = moments(ServiceTime::Deterministic { mean_us: 12.5 });
        assert_eq!(constant, (12.5, 0.0));
        let (mean, cv) = moments(ServiceTime::Exponential { mean_us: 80.0 });
        assert!((mean / 80.0 - 1.0).abs() < 4.0 / 447.0, "{mean}");
        assert!((cv - 1.0).abs() < 0.02, "{cv}");
        for wanted in [0.2, 1.5] {
            let (mean, cv) = moments(ServiceTime::Lognormal {
                mean_us: 80.0,
                cv: wanted,
            });
            assert!((mean / 80.0 - 1.0).abs() < 4.0 * wanted / 447.0, "{mean}");
            assert!((cv / wanted - 1.0).abs() < 0.05, "{cv}");
        }
    }
}
