//! A histogram of times: log-linear buckets of fixed number.
//!
//! Every power of two is cut into sixteen equal buckets, so that a bucket is never wider
//! than a sixteenth of its values, and its middle never further than a thirty-second
//! from any of them. Below 16 a bucket is one value.
//!
//! ```text
//!   value   0 1 2 … 15 │ 16 17 … 31 │ 32-33 34-35 … 62-63 │ 64-67 … 124-127 │ … 2^64-1
//!   bucket  0 1 2 … 15 │ 16 17 … 31 │ 32    33    …  47   │ 48    …   63    │ …   975
//!                        width 1      width 2               width 4
//! ```
//!
//! The bucket is found with a count of leading zeros, without a table and without
//! floating point, hence the same on every machine. This is the layout of HdrHistogram,
//! cut to 32-bit counts so that it fits into 4 KiB.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Bits of a value that tell the buckets of one power of two apart.
const SUB_BUCKET_BITS: u32 = 4;
/// Buckets for each power of two.
const SUB_BUCKETS: usize = 1 << SUB_BUCKET_BITS;
/// The values below 16, and the powers 2^4 to 2^63.
const BUCKETS: usize = SUB_BUCKETS + (u64::BITS - SUB_BUCKET_BITS) as usize * SUB_BUCKETS;

/// Where a shared bucket stops counting. So many threads can pass the check at once and
/// add before the count wraps; there are never that many.
const BUCKET_LIMIT: u32 = u32::MAX - (1 << 16);

const _: () = assert!(size_of::<LatencyHistogram>() <= 4096);
const _: () = assert!(size_of::<SharedHistogram>() <= 4096);

/// The bucket of a value.
const fn bucket_of(value: u64) -> usize {
    if value < SUB_BUCKETS as u64 {
        return value as usize;
    }
    // The leading one and the four bits behind it, after a shift that drops the rest:
    // 16 to 31, and sixteen buckets for each shift before.
    let shift = u64::BITS - 1 - SUB_BUCKET_BITS - value.leading_zeros();
    shift as usize * SUB_BUCKETS + (value >> shift) as usize
}

/// Smallest and largest value of a bucket.
const fn bounds_of(bucket: usize) -> (u64, u64) {
    if bucket < 2 * SUB_BUCKETS {
        return (bucket as u64, bucket as u64);
    }
    let shift = (bucket / SUB_BUCKETS - 1) as u32;
    let low = ((bucket % SUB_BUCKETS + SUB_BUCKETS) as u64) << shift;
    (low, low + ((1 << shift) - 1))
}

/// A histogram of times in picoseconds (of any whole numbers, in fact): at most 4 KiB,
/// never allocates, mergeable.
#[derive(Clone, PartialEq, Eq)]
pub struct LatencyHistogram {
    buckets: [u32; BUCKETS],
    /// 2^64 ps are 213 days: the ages of many pages together pass that within minutes.
    sum: u128,
    smallest: u64,
    largest: u64,
}

impl LatencyHistogram {
    /// A percentile is within this share of the exact one.
    pub const RELATIVE_ERROR: f64 = 1.0 / (2 * SUB_BUCKETS) as f64;

    /// An empty histogram.
    pub const fn new() -> Self {
        Self {
            buckets: [0; BUCKETS],
            sum: 0,
            smallest: u64::MAX,
            largest: 0,
        }
    }

    /// Adds a value. A bucket that holds 2^32 - 1 values stays there.
    pub fn record(&mut self, value: u64) {
        let bucket = &mut self.buckets[bucket_of(value)];
        *bucket = bucket.saturating_add(1);
        self.sum += u128::from(value);
        self.smallest = self.smallest.min(value);
        self.largest = self.largest.max(value);
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket = bucket.saturating_add(*more);
        }
        self.sum += other.sum;
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
    }

    /// The values that came after `earlier`, a former state of this histogram. Their
    /// smallest and largest are right to a bucket: a sixteenth of the value.
    ///
    /// # Panics
    ///
    /// If `earlier` holds a value that this one does not.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = self.clone();
        for (bucket, before) in difference.buckets.iter_mut().zip(&earlier.buckets) {
            *bucket = bucket
                .checked_sub(*before)
                .expect("the earlier histogram is a former state of this one");
        }
        difference.sum = self.sum.saturating_sub(earlier.sum);
        difference.fit_extremes();
        difference
    }

    /// Makes the extremes agree with the buckets: an extreme outside of the outermost
    /// bucket belongs to a value that is not there, and is replaced by that bucket's bound.
    fn fit_extremes(&mut self) {
        let filled = |count: &u32| *count > 0;
        let (Some(first), Some(last)) = (
            self.buckets.iter().position(filled),
            self.buckets.iter().rposition(filled),
        ) else {
            (self.smallest, self.largest) = (u64::MAX, 0);
            return;
        };
        if bucket_of(self.smallest) != first {
            self.smallest = bounds_of(first).0;
        }
        if bucket_of(self.largest) != last {
            self.largest = bounds_of(last).1;
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|count| u64::from(*count)).sum()
    }

    /// Sum of the values, exact.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Mean of the values, exact to a rounding of `f64`; none without values.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// Smallest value; none without values.
    pub fn min(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.smallest)
    }

    /// Largest value; none without values.
    pub fn max(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.largest)
    }

    /// The value that `per_mille` thousandths of the values do not exceed, by nearest
    /// rank: 500 is the median, 990 the 99th percentile, 0 the smallest. It is within
    /// [`RELATIVE_ERROR`](Self::RELATIVE_ERROR) of the exact one. None without values.
    ///
    /// # Panics
    ///
    /// If `per_mille` is above 1000.
    pub fn percentile(&self, per_mille: u32) -> Option<u64> {
        assert!(per_mille <= 1000, "there are a thousand thousandths");
        let count = self.count();
        // In 128 bits, since a float's 0.07 of 100 values is more than 7.
        let rank = (u128::from(count) * u128::from(per_mille))
            .div_ceil(1000)
            .max(1) as u64;
        let mut seen = 0;
        for (bucket, in_bucket) in self.buckets.iter().enumerate() {
            seen += u64::from(*in_bucket);
            if seen >= rank {
                let (low, high) = bounds_of(bucket);
                // The exact one lies between smallest and largest: moving the answer
                // between them cannot move it away.
                return Some(
                    (low + (high - low) / 2)
                        .max(self.smallest)
                        .min(self.largest),
                );
            }
        }
        None
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

/// The figures, not a thousand buckets.
impl std::fmt::Debug for LatencyHistogram {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LatencyHistogram")
            .field("count", &self.count())
            .field("sum", &self.sum)
            .field("min", &self.min())
            .field("p50", &self.percentile(500))
            .field("p95", &self.percentile(950))
            .field("p99", &self.percentile(990))
            .field("max", &self.max())
            .finish()
    }
}

/// A histogram that several threads record into, without a lock.
pub(super) struct SharedHistogram {
    buckets: [AtomicU32; BUCKETS],
    /// The sum's lower and upper half: see [`add_to_sum`](Self::add_to_sum).
    sum: AtomicU64,
    sum_high: AtomicU64,
    smallest: AtomicU64,
    largest: AtomicU64,
}

impl SharedHistogram {
    pub(super) const fn new() -> Self {
        Self {
            buckets: [const { AtomicU32::new(0) }; BUCKETS],
            sum: AtomicU64::new(0),
            sum_high: AtomicU64::new(0),
            smallest: AtomicU64::new(u64::MAX),
            largest: AtomicU64::new(0),
        }
    }

    /// Adds a value: two relaxed additions, and rarely more.
    pub(super) fn record(&self, value: u64) {
        let bucket = &self.buckets[bucket_of(value)];
        if bucket.load(Relaxed) < BUCKET_LIMIT {
            bucket.fetch_add(1, Relaxed);
        }
        self.add_to_sum(value);
        // A new extreme is rare: a load keeps the line shared where an unconditional
        // exchange would take it from the other cores.
        if value < self.smallest.load(Relaxed) {
            self.smallest.fetch_min(value, Relaxed);
        }
        if value > self.largest.load(Relaxed) {
            self.largest.fetch_max(value, Relaxed);
        }
    }

    /// The thread whose addition wraps the lower half carries into the upper one.
    fn add_to_sum(&self, value: u64) {
        let before = self.sum.fetch_add(value, Relaxed);
        if before.checked_add(value).is_none() {
            self.sum_high.fetch_add(1, Relaxed);
        }
    }

    fn sum(&self) -> u128 {
        u128::from(self.sum_high.load(Relaxed)) << 64 | u128::from(self.sum.load(Relaxed))
    }

    /// What was recorded until now. A value that is just being recorded may be in the
    /// buckets and not yet in the extremes, or the other way round; that its carry is not
    /// yet in the sum would take a value in 213 days.
    pub(super) fn snapshot(&self) -> LatencyHistogram {
        let mut histogram = LatencyHistogram {
            buckets: std::array::from_fn(|bucket| self.buckets[bucket].load(Relaxed)),
            sum: self.sum(),
            smallest: self.smallest.load(Relaxed),
            largest: self.largest.load(Relaxed),
        };
        histogram.fit_extremes();
        histogram
    }
}

#[cfg(test)]
mod tests;
