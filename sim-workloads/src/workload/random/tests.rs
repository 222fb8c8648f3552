//! Shares against closed forms, positions against hand calculation, and the first
//! keys of a fixed seed.

use super::*;
use proptest::prelude::*;
use rand::{SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::convert::Infallible;

const SAMPLES: u32 = 200_000;

/// Plays back chosen numbers of [0, 1).
struct Scripted<'a>(std::slice::Iter<'a, f64>);

impl<'a> Scripted<'a> {
    fn new(units: &'a [f64]) -> Self {
        Self(units.iter())
    }
}

impl TryRng for Scripted<'_> {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("the distributions draw 64 bits")
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let unit = self.0.next().expect("more draws than expected");
        Ok(((unit * (1u64 << 53) as f64) as u64) << 11)
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("the distributions draw 64 bits")
    }
}

/// The largest number below one that the generator can give.
const ALMOST_ONE: f64 = 1.0 - 1.0 / (1u64 << 53) as f64;

fn distribution(version: SysbenchVersion, kind: RandomType, keys: u64) -> Distribution {
    Distribution::new(version, kind, &RandomParameters::default(), 1, keys)
}

/// Share of the draws that fall on `window`.
fn measured(distribution: &Distribution, window: std::ops::RangeInclusive<u64>) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2024);
    let hits = (0..SAMPLES)
        .filter(|_| window.contains(&distribution.sample(&mut rng)))
        .count();
    hits as f64 / f64::from(SAMPLES)
}

#[track_caller]
fn assert_share(distribution: &Distribution, window: std::ops::RangeInclusive<u64>, exact: f64) {
    let share = measured(distribution, window);
    let error = (exact * (1.0 - exact) / f64::from(SAMPLES)).sqrt();
    assert!(
        (share - exact).abs() < 4.0 * error,
        "{share} against {exact} +- {error}"
    );
}

/// P(mean of 12 uniforms <= x), the Irwin-Hall distribution function scaled to [0, 1].
fn mean_of_twelve_below(x: f64) -> f64 {
    let mut sum = 0.0;
    let mut binomial = 1.0;
    for k in 0..=12u32 {
        let base = 12.0 * x - f64::from(k);
        if base <= 0.0 {
            break;
        }
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        sum += sign * binomial * libm::pow(base, 12.0);
        binomial = binomial * f64::from(12 - k) / f64::from(k + 1);
    }
    sum / 479_001_600.0
}

#[test]
fn the_reference_distribution_function_is_right() {
    assert_eq!(mean_of_twelve_below(0.0), 0.0);
    assert!((mean_of_twelve_below(0.5) - 0.5).abs() < 1e-9);
    assert!((mean_of_twelve_below(1.0 / 12.0) - 1.0 / 479_001_600.0).abs() < 1e-15);
    // One standard deviation is 1/12 of the range; the bell is nearly normal there.
    let within = mean_of_twelve_below(0.5 + 1.0 / 12.0) - mean_of_twelve_below(0.5 - 1.0 / 12.0);
    assert!((within - 0.6827).abs() < 0.01, "{within}");
}

#[test]
fn uniform_covers_both_ends() {
    assert_eq!(uniform(&mut Scripted::new(&[0.0]), 5, 9), 5);
    assert_eq!(uniform(&mut Scripted::new(&[ALMOST_ONE]), 5, 9), 9);
    assert_eq!(uniform(&mut Scripted::new(&[0.4]), 5, 9), 7);
    assert_eq!(uniform(&mut Scripted::new(&[0.999]), 7, 7), 7);
}

#[test]
fn uniform_shares_are_equal() {
    let uniform = distribution(SysbenchVersion::V1_1, RandomType::Uniform, 1_000_000);
    assert_share(&uniform, 1..=10_000, 0.01);
    assert_share(&uniform, 250_001..=750_000, 0.5);
}

#[test]
fn gaussian_is_the_mean_of_twelve_uniforms() {
    let gaussian = distribution(SysbenchVersion::V1_0, RandomType::Gaussian, 1_000_000);
    assert_eq!(gaussian.sample(&mut Scripted::new(&[0.5; 12])), 500_001);
    for (low, high) in [(1, 400_000), (450_001, 550_000), (600_001, 1_000_000)] {
        let exact =
            mean_of_twelve_below(high as f64 / 1e6) - mean_of_twelve_below((low - 1) as f64 / 1e6);
        assert_share(&gaussian, low..=high, exact);
    }
}

#[test]
fn special_1_0_uses_three_quarters_of_its_window() {
    let special = distribution(SysbenchVersion::V1_0, RandomType::Special, 10_000_000);
    // t = 9,999,999: the window starts at 1 + floor(t/2 - t/200) = 4,950,000; the
    // smallest u that is not gaussian, 1/4, lies 25,000 keys further.
    assert_eq!(special.sample(&mut Scripted::new(&[0.25])), 4_975_000);
    assert_eq!(special.sample(&mut Scripted::new(&[ALMOST_ONE])), 5_050_000);
    // Just below 1/4 twelve more draws decide.
    let mut draws = vec![0.249_999];
    draws.extend([0.125; 12]);
    assert_eq!(special.sample(&mut Scripted::new(&draws)), 1_250_001);
}

#[test]
fn special_1_0_has_76_percent_on_0_75_percent_of_the_keys() {
    let special = distribution(SysbenchVersion::V1_0, RandomType::Special, 10_000_000);
    let bell = mean_of_twelve_below(0.505) - mean_of_twelve_below(0.497_499_9);
    let exact = 0.75 + 0.25 * bell;
    assert!((exact - 0.759).abs() < 0.001, "{exact}");
    assert_share(&special, 4_975_000..=5_050_000, exact);
    // Nothing but the bell below the upper three quarters.
    let below = 0.25 * (mean_of_twelve_below(0.497_499_9) - mean_of_twelve_below(0.495));
    assert_share(&special, 4_950_001..=4_974_999, below);
}

#[test]
fn special_0_4_uses_its_whole_window() {
    for version in [SysbenchVersion::V0_4, SysbenchVersion::V0_5] {
        let special = distribution(version, RandomType::Special, 10_000);
        // r = 1 + floor(0.25 * 40000) = 10001, the first that is not gaussian:
        // 10001 mod 100 + 5000 - 50.
        assert_eq!(special.sample(&mut Scripted::new(&[0.25])), 4_951);
        // r = 40000, a multiple of 100: the window's first key.
        assert_eq!(special.sample(&mut Scripted::new(&[ALMOST_ONE])), 4_950);
        // r = 39999: its last.
        assert_eq!(special.sample(&mut Scripted::new(&[0.999_95])), 5_049);
        // The integer mean of twelve keys is an integer sum, so half a key lower.
        let bell = mean_of_twelve_below((5_050.0 * 12.0 - 6.5) / 120_000.0)
            - mean_of_twelve_below((4_950.0 * 12.0 - 6.5) / 120_000.0);
        assert_share(&special, 4_950..=5_049, 0.75 + 0.25 * bell);
        assert_share(&special, 4_950..=4_974, 0.25 * 0.75 + 0.25 * bell / 4.0);
    }
}

#[test]
fn pareto_is_self_similar() {
    let pareto = distribution(SysbenchVersion::V1_0, RandomType::Pareto, 1_000_000);
    // P(key <= m) = (m/n)^(ln 0.8 / ln 0.2): 80 % of 20 %, 64 % of 4 %, 51.2 % of 0.8 %.
    assert_share(&pareto, 1..=200_000, 0.8);
    assert_share(&pareto, 1..=40_000, 0.64);
    assert_share(&pareto, 1..=8_000, 0.512);
    assert_share(
        &pareto,
        1..=1,
        libm::pow(1e-6, libm::log(0.8) / libm::log(0.2)),
    );
}

#[test]
fn zipfian_counts_ranks_from_the_lowest_key() {
    let zipfian = Distribution::new(
        SysbenchVersion::V1_1,
        RandomType::Zipfian,
        &RandomParameters::default(),
        101,
        200,
    );
    let weight = |k: u64| libm::pow(k as f64, -0.8);
    let total: f64 = (1..=100).map(weight).sum();
    assert_share(&zipfian, 101..=101, weight(1) / total);
    assert_share(
        &zipfian,
        102..=105,
        (2..=5).map(weight).sum::<f64>() / total,
    );
}

#[test]
fn parameters_move_the_window() {
    let parameters = RandomParameters {
        rand_spec_pct: 10,
        rand_spec_res: 90,
        ..Default::default()
    };
    let special = Distribution::new(
        SysbenchVersion::V1_0,
        RandomType::Special,
        &parameters,
        1,
        10_001,
    );
    // t = 10,000: window 1,000 wide from 4,500; u from 0.1 on.
    assert_eq!(
        special.sample(&mut Scripted::new(&[0.125])),
        1 + 4_500 + 125
    );
    let mut draws = vec![0.099_9];
    draws.extend([0.75; 12]);
    assert_eq!(special.sample(&mut Scripted::new(&draws)), 1 + 7_500);
    assert_eq!(
        special.sample(&mut Scripted::new(&[ALMOST_ONE])),
        1 + 4_500 + 1_000
    );
    let always_hot = RandomParameters {
        rand_spec_res: 100,
        ..Default::default()
    };
    for version in [SysbenchVersion::V0_4, SysbenchVersion::V1_0] {
        let special = Distribution::new(version, RandomType::Special, &always_hot, 1, 10_000);
        assert_share(&special, 4_940..=5_060, 1.0 - f64::EPSILON);
    }
}

#[test]
fn names_round_trip_and_unknown_ones_list_the_accepted() {
    for kind in RandomType::ALL {
        assert_eq!(kind.as_str().parse(), Ok(kind));
    }
    assert_eq!(
        "normal".parse::<RandomType>().unwrap_err().to_string(),
        "--rand-type=normal: accepted is uniform, gaussian, special, pareto or zipfian"
    );
}

/// A changed value here changes every recorded result: do not update it lightly.
#[test]
fn the_first_keys_of_seed_one() {
    let first = |version, kind| -> Vec<u64> {
        let distribution = distribution(version, kind, 10_000_000);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        (0..6).map(|_| distribution.sample(&mut rng)).collect()
    };
    let v1_0 = SysbenchVersion::V1_0;
    assert_eq!(
        first(v1_0, RandomType::Uniform),
        [
            8_116_122, 7_471_048, 1_001_510, 7_462_169, 1_846_786, 5_904_789
        ]
    );
    assert_eq!(
        first(v1_0, RandomType::Gaussian),
        [
            5_154_426, 4_144_292, 5_830_039, 5_492_877, 3_172_326, 5_280_440
        ]
    );
    assert_eq!(
        first(v1_0, RandomType::Special),
        [
            5_031_162, 5_024_711, 4_235_793, 5_222_517, 5_011_120, 5_023_010
        ]
    );
    assert_eq!(
        first(SysbenchVersion::V0_4, RandomType::Special),
        [
            5_014_487, 5_034_189, 4_235_793, 5_222_517, 4_997_905, 4_953_879
        ]
    );
    assert_eq!(
        first(v1_0, RandomType::Pareto),
        [2_219_067, 1_221_112, 1, 1_210_684, 52, 223_768]
    );
    assert_eq!(
        first(SysbenchVersion::V1_1, RandomType::Zipfian),
        [4_808, 16_966, 6_016_469, 17_228, 3_748_821, 147_544]
    );
}

proptest! {
    #[test]
    fn keys_stay_in_range(
        low in 0u64..1_000,
        keys in 1u64..5_000_000_000,
        seed: u64,
        percent in 1u32..=100,
        hot in 1u32..=100,
        old: bool,
    ) {
        let parameters = RandomParameters {
            rand_spec_pct: percent,
            rand_spec_res: hot,
            ..Default::default()
        };
        prop_assert_eq!(parameters.validate(), Ok(()));
        let version = if old { SysbenchVersion::V0_4 } else { SysbenchVersion::V1_0 };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        for kind in RandomType::ALL {
            let high = low + keys - 1;
            let distribution = Distribution::new(version, kind, &parameters, low, high);
            for _ in 0..10 {
                let key = distribution.sample(&mut rng);
                prop_assert!((low..=high).contains(&key), "{} outside {}..={}", key, low, high);
            }
        }
    }

    #[test]
    fn tiny_tables_work(keys in 1u64..200, seed: u64) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        for version in [SysbenchVersion::V0_4, SysbenchVersion::V1_0] {
            let special = distribution(version, RandomType::Special, keys);
            prop_assert!((1..=keys).contains(&special.sample(&mut rng)));
        }
    }
}
