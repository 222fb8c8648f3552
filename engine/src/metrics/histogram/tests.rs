use proptest::prelude::*;

use super::*;

/// The exact percentile by nearest rank.
fn exact(sorted: &[u64], per_mille: u32) -> u64 {
    let rank = (sorted.len() as u64 * u64::from(per_mille))
        .div_ceil(1000)
        .max(1);
    sorted[rank as usize - 1]
}

fn histogram_of(values: &[u64]) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    for value in values {
        histogram.record(*value);
    }
    histogram
}

/// The picture in the module's documentation, and the ends of the scale.
#[test]
fn buckets_are_where_the_picture_shows_them() {
    for value in 0..32 {
        assert_eq!(bucket_of(value), value as usize);
    }
    assert_eq!((bucket_of(32), bucket_of(33), bucket_of(34)), (32, 32, 33));
    assert_eq!((bucket_of(63), bucket_of(64), bucket_of(67)), (47, 48, 48));
    assert_eq!(
        (bucket_of(124), bucket_of(127), bucket_of(128)),
        (63, 63, 64)
    );
    assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    assert_eq!(bounds_of(BUCKETS - 1).1, u64::MAX);
}

/// Buckets follow each other without a gap, and none is wider than a sixteenth.
#[test]
fn buckets_cover_all_values() {
    let mut next = Some(0_u64);
    for bucket in 0..BUCKETS {
        let (low, high) = bounds_of(bucket);
        assert_eq!(Some(low), next);
        assert_eq!((bucket_of(low), bucket_of(high)), (bucket, bucket));
        assert!((high - low) as u128 * 16 < (low as u128).max(1));
        next = high.checked_add(1);
    }
    assert_eq!(next, None);
}

#[test]
fn an_empty_histogram_has_no_figures() {
    let empty = LatencyHistogram::new();
    assert_eq!((empty.count(), empty.sum()), (0, 0));
    assert_eq!((empty.min(), empty.max(), empty.mean()), (None, None, None));
    assert_eq!(empty.percentile(500), None);
}

/// Small numbers are exact: 1 to 10 by nearest rank.
#[test]
fn percentiles_of_small_numbers_are_exact() {
    let ten = histogram_of(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(ten.percentile(0), Some(1));
    assert_eq!(ten.percentile(100), Some(1));
    assert_eq!(ten.percentile(101), Some(2));
    assert_eq!(ten.percentile(500), Some(5));
    assert_eq!(ten.percentile(950), Some(10));
    assert_eq!(ten.percentile(1000), Some(10));
    assert_eq!(ten.mean(), Some(5.5));
}

/// A flush of 1 ms in a thousand of 100 µs: the mean hides it, the largest does not.
#[test]
fn figures_of_times() {
    let mut histogram = histogram_of(&[100_000_000; 999]);
    histogram.record(1_000_000_000);
    assert_eq!(histogram.count(), 1000);
    assert_eq!(histogram.sum(), 100_900_000_000);
    assert_eq!(histogram.max(), Some(1_000_000_000));
    assert_eq!(histogram.min(), Some(100_000_000));
    for (per_mille, exact) in [(500, 1e8), (999, 1e8), (1000, 1e9)] {
        let shown = histogram.percentile(per_mille).unwrap() as f64;
        assert!((shown / exact - 1.0).abs() <= LatencyHistogram::RELATIVE_ERROR);
    }
}

/// Two million pages that were dirty for twelve seconds are 2.4e19 ps, more than 64 bits
/// hold.
#[test]
fn a_sum_may_pass_64_bits() {
    let shared = SharedHistogram::new();
    for _ in 0..3 {
        shared.record(u64::MAX - 7);
    }
    let warm = shared.snapshot();
    assert_eq!(warm.sum(), 3 * (u128::from(u64::MAX) - 7));
    shared.record(24);
    let measured = shared.snapshot().since(&warm);
    assert_eq!((measured.sum(), measured.mean()), (24, Some(24.0)));

    let mut merged = histogram_of(&[u64::MAX, u64::MAX]);
    merged.merge(&warm);
    assert_eq!(merged.mean(), Some((5.0 * u64::MAX as f64 - 21.0) / 5.0));
}

/// The warm-up's extremes do not survive in a difference: there the outermost buckets
/// bound them.
#[test]
fn a_difference_does_not_remember_extremes() {
    let mut histogram = histogram_of(&[3, 1_000_000]);
    let warm = histogram.clone();
    histogram.record(500);
    histogram.record(700);

    let measured = histogram.since(&warm);
    assert_eq!((measured.count(), measured.sum()), (2, 1200));
    assert_eq!(measured.min(), Some(bounds_of(bucket_of(500)).0));
    assert_eq!(measured.max(), Some(bounds_of(bucket_of(700)).1));

    // What is inside of the outermost bucket is known exactly.
    histogram.record(2_000_000);
    assert_eq!(histogram.since(&warm).max(), Some(2_000_000));
    assert_eq!(histogram.since(&histogram), LatencyHistogram::new());
}

#[test]
#[should_panic(expected = "former state")]
fn a_difference_to_a_stranger_is_a_bug() {
    let _ = histogram_of(&[1]).since(&histogram_of(&[2]));
}

/// A full bucket stays full, shared or not.
#[test]
fn full_buckets_do_not_wrap() {
    let mut histogram = histogram_of(&[7]);
    histogram.buckets[7] = u32::MAX;
    histogram.record(7);
    histogram.merge(&histogram_of(&[7]));
    assert_eq!(histogram.buckets[7], u32::MAX);

    let shared = SharedHistogram::new();
    shared.buckets[7].store(BUCKET_LIMIT, Relaxed);
    shared.record(7);
    assert_eq!(shared.buckets[7].load(Relaxed), BUCKET_LIMIT);
}

/// A value whose bucket is seen before its extremes, as a reader may see it.
#[test]
fn a_half_recorded_value_has_bounds() {
    let shared = SharedHistogram::new();
    shared.buckets[bucket_of(500)].store(1, Relaxed);
    let (low, high) = bounds_of(bucket_of(500));
    let seen = shared.snapshot();
    assert_eq!((seen.min(), seen.max()), (Some(low), Some(high)));
    assert_eq!(seen.percentile(500), Some(low + (high - low) / 2));
}

/// Times of all lengths: each power of two is as likely as any other.
fn times() -> impl Strategy<Value = u64> {
    (0..u64::BITS, any::<u64>()).prop_map(|(shift, value)| value >> shift)
}

proptest! {
    /// The promised error, against the exact percentile of the sorted values.
    #[test]
    fn percentiles_keep_their_promise(
        mut values in prop::collection::vec(times(), 1..400),
        per_mille in 0_u32..=1000,
    ) {
        let histogram = histogram_of(&values);
        values.sort_unstable();
        let exact = exact(&values, per_mille);
        let shown = histogram.percentile(per_mille).unwrap();
        // In whole numbers, since a float cannot tell large neighbours apart.
        prop_assert!(u128::from(shown.abs_diff(exact)) * 32 <= u128::from(exact));
        prop_assert_eq!(histogram.count(), values.len() as u64);
        prop_assert_eq!(histogram.min(), values.first().copied());
        prop_assert_eq!(histogram.max(), values.last().copied());
    }

    /// Merged parts are the whole; the whole less a part is the other part, whose
    /// percentiles keep the promise too.
    #[test]
    fn parts_make_the_whole(
        first in prop::collection::vec(times(), 0..200),
        mut second in prop::collection::vec(times(), 1..200),
        per_mille in 0_u32..=1000,
    ) {
        let whole = histogram_of(&[first.clone(), second.clone()].concat());
        let mut merged = histogram_of(&first);
        merged.merge(&histogram_of(&second));
        prop_assert_eq!(&merged, &whole);

        let rest = whole.since(&histogram_of(&first));
        prop_assert_eq!(rest.buckets, histogram_of(&second).buckets);
        second.sort_unstable();
        let exact = exact(&second, per_mille);
        let shown = rest.percentile(per_mille).unwrap();
        prop_assert!(u128::from(shown.abs_diff(exact)) * 32 <= u128::from(exact));
    }

    /// Shared or not, the same values make the same histogram.
    #[test]
    fn the_shared_histogram_is_the_same(
        values in prop::collection::vec(times().prop_map(|time| time >> 8), 0..200),
    ) {
        let shared = SharedHistogram::new();
        for value in &values {
            shared.record(*value);
        }
        prop_assert_eq!(shared.snapshot(), histogram_of(&values));
    }
}
