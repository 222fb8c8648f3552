//! sysbench's random distributions over a range of keys.
//!
//! Which rows a benchmark touches decides almost everything about a storage
//! engine's day: the hit rate, how often one page is written, who waits for whose
//! row lock. sysbench offers five shapes (share of accesses over the key range):
//!
//! ```text
//!   uniform    gaussian     special         pareto      zipfian
//!                 __          |             |           |
//!                /  \         |             |           \
//!   ________    /    \      __|__            \_          \__
//!   ########  _/######\_  _/##|##\_          ##\____      ##\______
//! ```
//!
//! * **uniform**: every key alike.
//! * **gaussian**: the mean of 12 uniform draws; a bell around the centre whose
//!   standard deviation is 1/12 of the range.
//! * **special**: a quarter of the draws are gaussian, three quarters fall on a
//!   small window at the centre. The window has two forms, see [`Distribution::new`].
//! * **pareto**: self-similar; with h = 0.2 the first 20 % of the keys get 80 %, and
//!   the first 20 % of those get 80 % of that.
//! * **zipfian**: key of rank r with probability proportional to r^-0.8.
//!
//! Hot keys are neighbours in all of them, so hot *pages* are few.
//!
//! Every draw comes from the generator that is passed in, and every logarithm and
//! power from `libm`, whose results do not depend on the host: the same seed gives
//! the same keys everywhere.

pub mod text;
pub mod unique;
pub mod zipfian;

use rand::Rng;

use super::options::OptionError;
use super::version::SysbenchVersion;
use zipfian::Zipfian;

/// The distributions that `--rand-type` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RandomType {
    /// Every key with the same probability.
    Uniform,
    /// A bell around the centre of the range.
    Gaussian,
    /// A bell with a very hot window at its centre (up to sysbench 1.0).
    Special,
    /// Self-similar, hottest at the lowest keys.
    Pareto,
    /// Zipf's law, hottest at the lowest key (sysbench 1.1).
    Zipfian,
}

impl RandomType {
    /// All types, in the order in which sysbench lists them.
    pub const ALL: [Self; 5] = [
        Self::Uniform,
        Self::Gaussian,
        Self::Special,
        Self::Pareto,
        Self::Zipfian,
    ];

    /// The name that `--rand-type` takes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Gaussian => "gaussian",
            Self::Special => "special",
            Self::Pareto => "pareto",
            Self::Zipfian => "zipfian",
        }
    }
}

impl std::fmt::Display for RandomType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for RandomType {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        Self::ALL
            .into_iter()
            .find(|candidate| candidate.as_str() == text)
            .ok_or_else(|| {
                OptionError::new(
                    "rand-type",
                    text,
                    "uniform, gaussian, special, pareto or zipfian",
                )
            })
    }
}

/// The parameters of the distributions, with sysbench's names and defaults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomParameters {
    /// `rand-spec-iter`: uniform draws averaged into one gaussian draw (12).
    pub rand_spec_iter: u32,
    /// `rand-spec-pct`: width of special's hot window, % of the range (1).
    pub rand_spec_pct: u32,
    /// `rand-spec-res`: share of special's draws that fall on the window, % (75).
    pub rand_spec_res: u32,
    /// `rand-pareto-h`: pareto's h; a share h of the keys gets 1-h of the draws (0.2).
    pub rand_pareto_h: f64,
    /// `rand-zipfian-exp`: zipfian's exponent (0.8).
    pub rand_zipfian_exp: f64,
}

impl Default for RandomParameters {
    fn default() -> Self {
        Self {
            rand_spec_iter: 12,
            rand_spec_pct: 1,
            rand_spec_res: 75,
            rand_pareto_h: 0.2,
            rand_zipfian_exp: 0.8,
        }
    }
}

impl RandomParameters {
    /// Checks the ranges.
    ///
    /// # Errors
    /// Names the first parameter that no distribution can be built from.
    pub fn validate(&self) -> Result<(), OptionError> {
        let percent = |name, value: u32| {
            if (1..=100).contains(&value) {
                Ok(())
            } else {
                Err(OptionError::new(name, value, "1 to 100"))
            }
        };
        if self.rand_spec_iter == 0 {
            return Err(OptionError::new("rand-spec-iter", 0, "at least 1"));
        }
        percent("rand-spec-pct", self.rand_spec_pct)?;
        percent("rand-spec-res", self.rand_spec_res)?;
        if !(self.rand_pareto_h > 0.0 && self.rand_pareto_h < 1.0) {
            return Err(OptionError::new(
                "rand-pareto-h",
                self.rand_pareto_h,
                "between 0 and 1, both excluded",
            ));
        }
        if !(self.rand_zipfian_exp >= 0.0 && self.rand_zipfian_exp.is_finite()) {
            return Err(OptionError::new(
                "rand-zipfian-exp",
                self.rand_zipfian_exp,
                "a number of at least 0",
            ));
        }
        Ok(())
    }
}

/// A uniform number in [0, 1) with 53 random bits, the resolution of sysbench's.
pub fn unit_interval<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    const SCALE: f64 = 1.0 / (1u64 << 53) as f64;
    (rng.next_u64() >> 11) as f64 * SCALE
}

/// A uniform integer in `low..=high`: low + floor(u (high - low + 1)).
///
/// # Panics
/// If `low > high` (a bug in the caller).
pub fn uniform<R: Rng + ?Sized>(rng: &mut R, low: u64, high: u64) -> u64 {
    assert!(low <= high, "empty range {low}..={high}");
    low + scaled(rng, (high - low + 1) as f64)
}

/// floor(u n) for a fresh u.
fn scaled<R: Rng + ?Sized>(rng: &mut R, n: f64) -> u64 {
    (unit_interval(rng) * n) as u64
}

/// One distribution over one range, with what can be computed once computed.
#[derive(Debug, Clone)]
pub struct Distribution {
    low: u64,
    high: u64,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    Uniform,
    Gaussian {
        draws: u32,
    },
    SpecialReused {
        draws: u32,
        /// Below this u a draw is gaussian.
        gaussian_share: f64,
        /// Start of the window, counted from `low`.
        offset: u64,
        /// The window's width plus one.
        width: f64,
    },
    SpecialRemainder {
        draws: u32,
        /// The integer is drawn from 1..=range; up to the number of keys it is gaussian.
        range: u64,
        gaussian: bool,
        offset: u64,
        width: u64,
    },
    Pareto {
        power: f64,
    },
    Zipfian(Zipfian),
}

impl Distribution {
    /// A distribution over `low..=high` as that version of sysbench draws it.
    ///
    /// Only *special* differs between versions. With t = high - low (1.0) or n keys
    /// (0.4, 0.5), and the default parameters:
    ///
    /// ```text
    ///   0.4, 0.5   r = 1..=4n   r <= n: gaussian
    ///                           else (r mod n/100), moved to the centre
    ///              -> the window is 1 % of the keys, 49.5 % to 50.5 %
    ///   1.0        u in [0,1)   u < 1/4: gaussian
    ///                           else t/2 - t/200 + floor(u (t/100 + 1)), the same u
    ///              -> u is at least 1/4 here, so only the upper three quarters of the
    ///                 window occur: 0.75 % of the keys, 49.75 % to 50.5 %
    /// ```
    ///
    /// # Panics
    /// If `low > high` or the parameters were not validated.
    pub fn new(
        version: SysbenchVersion,
        kind: RandomType,
        parameters: &RandomParameters,
        low: u64,
        high: u64,
    ) -> Self {
        assert!(low <= high, "empty range {low}..={high}");
        let draws = parameters.rand_spec_iter;
        let shape = match kind {
            RandomType::Uniform => Shape::Uniform,
            RandomType::Gaussian => Shape::Gaussian { draws },
            RandomType::Special if version <= SysbenchVersion::V0_5 => {
                special_remainder(parameters, high - low + 1)
            }
            RandomType::Special => special_reused(parameters, high - low),
            RandomType::Pareto => {
                let h = parameters.rand_pareto_h;
                Shape::Pareto {
                    power: libm::log(h) / libm::log(1.0 - h),
                }
            }
            RandomType::Zipfian => {
                Shape::Zipfian(Zipfian::new(high - low + 1, parameters.rand_zipfian_exp))
            }
        };
        Self { low, high, shape }
    }

    /// Draws a key.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> u64 {
        let keys = (self.high - self.low + 1) as f64;
        let above_low = match self.shape {
            Shape::Uniform => scaled(rng, keys),
            Shape::Gaussian { draws } => gaussian(rng, draws, keys),
            Shape::SpecialReused {
                draws,
                gaussian_share,
                offset,
                width,
            } => {
                let u = unit_interval(rng);
                if u < gaussian_share {
                    gaussian(rng, draws, keys)
                } else {
                    offset + (u * width) as u64
                }
            }
            Shape::SpecialRemainder {
                draws,
                range,
                gaussian,
                offset,
                width,
            } => {
                let r = 1 + scaled(rng, range as f64);
                let key = if gaussian && r <= self.high - self.low + 1 {
                    integer_gaussian(rng, draws, keys)
                } else {
                    r % width + offset
                };
                // 0.4 counts keys from one; its window can begin at zero in a tiny table.
                key.saturating_sub(1)
            }
            Shape::Pareto { power } => (keys * libm::pow(unit_interval(rng), power)) as u64,
            Shape::Zipfian(ref zipfian) => zipfian.sample(rng) - 1,
        };
        // Rounding in the last bit must not leave the table.
        (self.low + above_low).min(self.high)
    }
}

fn special_reused(parameters: &RandomParameters, t: u64) -> Shape {
    let t = t as f64;
    let window = t * f64::from(parameters.rand_spec_pct) / 100.0;
    Shape::SpecialReused {
        draws: parameters.rand_spec_iter,
        gaussian_share: f64::from(100 - parameters.rand_spec_res) / 100.0,
        offset: (t / 2.0 - window / 2.0) as u64,
        width: window + 1.0,
    }
}

fn special_remainder(parameters: &RandomParameters, keys: u64) -> Shape {
    let percent = u64::from(parameters.rand_spec_pct);
    let rest = u64::from(100 - parameters.rand_spec_res);
    Shape::SpecialRemainder {
        draws: parameters.rand_spec_iter,
        range: keys * 100 / rest.max(1),
        gaussian: rest > 0,
        offset: keys / 2 - keys * percent / 200,
        width: (keys * percent / 100).max(1),
    }
}

/// The mean of `draws` uniform numbers, scaled to the number of keys.
fn gaussian<R: Rng + ?Sized>(rng: &mut R, draws: u32, keys: f64) -> u64 {
    let sum: f64 = (0..draws).map(|_| unit_interval(rng)).sum();
    (sum / f64::from(draws) * keys) as u64
}

/// 0.4's bell: the integer mean of `draws` keys counted from one.
fn integer_gaussian<R: Rng + ?Sized>(rng: &mut R, draws: u32, keys: f64) -> u64 {
    let sum: u64 = (0..draws).map(|_| 1 + scaled(rng, keys)).sum();
    sum / u64::from(draws)
}

#[cfg(test)]
mod tests;
