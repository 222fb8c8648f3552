//! Latencies, recorded twice.
//!
//! sysbench sorts latencies into 1024 logarithmic buckets between 0.001 ms and
//! 100,000 ms and prints the bucket's value, so its percentiles come in steps of
//! 1.8 % and end at 100 s:
//!
//! ```text
//!   bucket   0        1        ...   526        ...    1023
//!   ms       0.00100  0.00102        12.984            100000
//!            (shorter ones too)                        (longer ones too)
//! ```
//!
//! Its report is reproduced with the same buckets ([`LogHistogram`]). The JSON
//! figures come from an HDR histogram instead, which keeps three significant digits
//! at any length: a stall of ten minutes is reported as one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hdrhistogram::Histogram;

use super::json::LatencyMs;

const BUCKETS: usize = 1024;
const SHORTEST_MS: f64 = 0.001;
const LONGEST_MS: f64 = 100_000.0;
const NANOSECONDS_PER_MS: f64 = 1e6;

/// sysbench's latency histogram.
#[derive(Debug, Clone)]
pub struct LogHistogram {
    counts: Vec<u64>,
    total: u64,
    log_shortest: f64,
    buckets_per_log: f64,
}

impl Default for LogHistogram {
    fn default() -> Self {
        let log_shortest = libm::log(SHORTEST_MS);
        Self {
            counts: vec![0; BUCKETS],
            total: 0,
            log_shortest,
            buckets_per_log: (BUCKETS - 1) as f64 / (libm::log(LONGEST_MS) - log_shortest),
        }
    }
}

impl LogHistogram {
    /// Counts a latency, in milliseconds, in the nearest bucket.
    pub fn record(&mut self, latency_ms: f64) {
        let bucket = self.bucket_of(latency_ms);
        self.counts[bucket] += 1;
        self.total += 1;
    }

    fn bucket_of(&self, latency_ms: f64) -> usize {
        let position = (libm::log(latency_ms) - self.log_shortest) * self.buckets_per_log;
        // A latency of zero gives minus infinity; the cast saturates to the first bucket.
        ((position + 0.5).floor() as usize).min(BUCKETS - 1)
    }

    /// What was recorded since `earlier`, a copy of this histogram's past.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut added = self.clone();
        for (count, before) in added.counts.iter_mut().zip(&earlier.counts) {
            *count -= before;
        }
        added.total -= earlier.total;
        added
    }

    /// The value of the bucket that `percent` of the latencies do not exceed, in
    /// milliseconds; 0 if nothing was recorded.
    pub fn percentile(&self, percent: f64) -> f64 {
        if self.total == 0 {
            return 0.0;
        }
        let wanted = ((self.total as f64 * percent / 100.0 + 0.5).floor() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return self.value_of(bucket);
            }
        }
        self.value_of(BUCKETS - 1)
    }

    /// Number of latencies recorded.
    pub fn total(&self) -> u64 {
        self.total
    }

    fn value_of(&self, bucket: usize) -> f64 {
        libm::exp(bucket as f64 / self.buckets_per_log + self.log_shortest)
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    fn clear(&mut self) {
        self.counts.fill(0);
        self.total = 0;
    }
}

/// sysbench's latency histogram, recorded and read by any thread without waiting.
#[derive(Debug)]
pub struct SharedLogHistogram {
    counts: Vec<AtomicU64>,
    buckets: LogHistogram,
}

impl Default for SharedLogHistogram {
    fn default() -> Self {
        SharedLogHistogram {
            counts: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            buckets: LogHistogram::default(),
        }
    }
}

impl SharedLogHistogram {
    /// Counts a latency in nanoseconds in the nearest bucket.
    pub fn record(&self, latency_ns: u64) {
        let bucket = self
            .buckets
            .bucket_of(latency_ns as f64 / NANOSECONDS_PER_MS);
        self.counts[bucket].fetch_add(1, Relaxed);
    }

    /// Adds what is there now to a histogram.
    pub fn add_to(&self, sum: &mut LogHistogram) {
        for (sum_of_bucket, count) in sum.counts.iter_mut().zip(&self.counts) {
            let count = count.load(Relaxed);
            *sum_of_bucket += count;
            sum.total += count;
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.counts.iter().for_each(|count| count.store(0, Relaxed));
    }
}

/// All that is kept of the latencies of a run.
///
/// Under the real clock each thread owns one and they are merged at the end; under
/// the virtual clock one serves all.
#[derive(Debug, Clone)]
pub struct LatencyRecorder {
    sysbench: LogHistogram,
    precise: Histogram<u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Default for LatencyRecorder {
    fn default() -> Self {
        Self {
            sysbench: LogHistogram::default(),
            precise: Histogram::new(3).expect("three digits are within what it supports"),
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }
}

impl LatencyRecorder {
    /// Records one event's latency in nanoseconds.
    pub fn record(&mut self, latency_ns: u64) {
        let latency_ms = latency_ns as f64 / NANOSECONDS_PER_MS;
        self.sysbench.record(latency_ms);
        self.precise.record(latency_ns).expect("it resizes itself");
        self.sum_ns += u128::from(latency_ns);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Forgets everything, for the end of the warm-up.
    pub fn clear(&mut self) {
        self.sysbench.clear();
        self.precise.reset();
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
    }

    /// Adds another recorder's latencies.
    pub fn merge(&mut self, other: &Self) {
        self.sysbench.merge(&other.sysbench);
        self.precise.add(&other.precise).expect("it resizes itself");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Number of events recorded.
    pub fn count(&self) -> u64 {
        self.sysbench.total()
    }

    /// The histogram behind sysbench's percentile.
    pub fn sysbench_histogram(&self) -> &LogHistogram {
        &self.sysbench
    }

    /// A percentile to three digits, in milliseconds; 0 of nothing.
    pub fn precise_percentile(&self, percent: f64) -> f64 {
        let bucket_end = self.precise.value_at_quantile(percent / 100.0);
        bucket_end.min(self.max_ns) as f64 / NANOSECONDS_PER_MS
    }

    /// The figures of `run --json`; zeros if nothing was recorded.
    pub fn summary(&self) -> LatencyMs {
        let sum = self.sum_ns as f64 / NANOSECONDS_PER_MS;
        let count = self.count();
        LatencyMs {
            min: if count == 0 {
                0.0
            } else {
                self.min_ns as f64 / NANOSECONDS_PER_MS
            },
            avg: if count == 0 { 0.0 } else { sum / count as f64 },
            p50: self.precise_percentile(50.0),
            p95: self.precise_percentile(95.0),
            p99: self.precise_percentile(99.0),
            max: self.max_ns as f64 / NANOSECONDS_PER_MS,
            sum,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_decimals(value: f64) -> String {
        format!("{value:.2}")
    }

    #[test]
    fn bucket_values_are_those_that_sysbench_prints() {
        // Percentiles seen in published sysbench 1.0 and 1.1 reports.
        for printed in [
            "1.27", "3.13", "9.39", "12.98", "16.12", "38.25", "130.13", "816.63",
        ] {
            let mut histogram = LogHistogram::default();
            histogram.record(printed.parse().unwrap());
            assert_eq!(two_decimals(histogram.percentile(95.0)), printed);
        }
    }

    #[test]
    fn out_of_range_goes_to_the_end_buckets() {
        let mut histogram = LogHistogram::default();
        for _ in 0..9 {
            histogram.record(0.0);
        }
        histogram.record(1e9);
        assert!((histogram.percentile(90.0) - 0.001).abs() < 1e-12);
        assert_eq!(two_decimals(histogram.percentile(95.0)), "100000.00");
        assert_eq!(LogHistogram::default().percentile(95.0), 0.0);
    }

    #[test]
    fn the_percentile_counts_rank_by_rounding() {
        let mut histogram = LogHistogram::default();
        // 94 short, 6 long: the rank floor(95.5) = 95 falls on a long one, 94 does not.
        for i in 0..100 {
            histogram.record(if i < 94 { 1.0 } else { 100.0 });
        }
        assert!(histogram.percentile(95.0) > 99.0);
        assert!(histogram.percentile(94.0) < 1.1);
    }

    #[test]
    fn precise_figures_go_beyond_a_hundred_seconds() {
        let mut recorder = LatencyRecorder::default();
        for _ in 0..98 {
            recorder.record(2_000_000);
        }
        recorder.record(600_000_000_000);
        recorder.record(600_000_000_000);
        let summary = recorder.summary();
        assert!((summary.p50 - 2.0).abs() < 0.002, "{}", summary.p50);
        assert_eq!(summary.p99, 600_000.0);
        assert_eq!((summary.min, summary.max), (2.0, 600_000.0));
        assert_eq!(summary.sum, 98.0 * 2.0 + 1_200_000.0);
        assert_eq!(summary.avg, summary.sum / 100.0);
        assert_eq!(
            two_decimals(recorder.sysbench_histogram().percentile(99.0)),
            "100000.00"
        );
    }

    #[test]
    fn nothing_recorded_is_all_zeros() {
        let summary = LatencyRecorder::default().summary();
        assert_eq!(
            summary,
            LatencyMs {
                min: 0.0,
                avg: 0.0,
                p50: 0.0,
                p95: 0.0,
                p99: 0.0,
                max: 0.0,
                sum: 0.0
            }
        );
    }

    #[test]
    fn an_interval_is_what_was_added() {
        let shared = SharedLogHistogram::default();
        let now = || {
            let mut sum = LogHistogram::default();
            shared.add_to(&mut sum);
            sum
        };
        shared.record(50_000_000);
        let first = now();
        assert_eq!(two_decimals(first.percentile(95.0)), "50.11");
        shared.record(1_000_000);
        let second = now();
        assert_eq!(two_decimals(second.since(&first).percentile(95.0)), "1.01");
        assert_eq!(now().since(&second).percentile(95.0), 0.0);
        assert_eq!(second.total(), 2);
        shared.clear();
        assert_eq!(now().total(), 0);
    }

    #[test]
    fn merged_threads_equal_one_recorder() {
        let (mut a, mut b, mut one) = Default::default();
        for i in 1..1_000u64 {
            let recorder: &mut LatencyRecorder = if i % 3 == 0 { &mut a } else { &mut b };
            recorder.record(i * i * 1_000);
            LatencyRecorder::record(&mut one, i * i * 1_000);
        }
        a.merge(&b);
        assert_eq!(a.summary(), one.summary());
        assert_eq!(
            a.sysbench_histogram().percentile(95.0),
            one.sysbench_histogram().percentile(95.0)
        );
        a.clear();
        assert_eq!(a.summary(), LatencyRecorder::default().summary());
    }
}
