//! Whether a run can be trusted although its sizes were divided.
//!
//! ```text
//!   figure                                        limit      judged
//!   pages of a cleaner's round / pages of pool    10 %       at once
//!   turnover of the pool                          10 s       at once
//!   first change of a page to its flush           10 s       at once
//!   time waited for pages under flush             10 % of the effect claimed
//!   row-lock waits a transaction                  +1 % of half the scale
//! ```
//!
//! The last two need a second run to compare with. Where the scale is 1 nothing was
//! divided, and whatever the figures are, the server of that size has them too.

use innosim_engine::metrics::{Counter, MetricsSnapshot, Reading, Set, Timing};
use innosim_engine::runtime::time::{SECOND, Time, to_seconds};
use innosim_engine::sysvar::Settings;

use crate::report::json::Validity;

/// Largest share of the pool that a cleaner's round may flush.
pub const ROUND_SHARE_MAX: f64 = 0.1;
/// Shortest turnover of the pool, and shortest time from dirtying to flush, in seconds.
pub const SECONDS_MIN: f64 = 10.0;
/// Seconds of evictions that an instance's scan depth should cover.
const SCAN_SECONDS: f64 = 2.0;

/// The figures of a measurement of this length. `flushed_page_wait_us` is a mean over
/// transactions, from the time budget.
pub fn validity(
    metrics: &MetricsSnapshot,
    time: Time,
    transactions: u64,
    flushed_page_wait_us: f64,
) -> Validity {
    let pool = metrics.reading(Reading::BufferPoolPagesTotal).max(0) as f64;
    let flushed = [Set::FlushBatchPages, Set::LruBatchFlushPages]
        .map(|set| metrics.set_total(set) as f64)
        .iter()
        .sum::<f64>();
    // Where nobody counted rounds, one a second is what the cleaner means to do.
    let rounds = match metrics.timing(Timing::CleanerRound).count() {
        0 => to_seconds(time),
        rounds => rounds as f64,
    };
    let read = metrics.counter(Counter::PagesRead) as f64;
    let dirty_to_flush = metrics.timing(Timing::DirtyToFlush).mean();
    let waits = metrics.counter(Counter::RowLockWaits) as f64;
    Validity {
        round_share: if pool > 0.0 && rounds > 0.0 {
            flushed / rounds / pool
        } else {
            0.0
        },
        turnover_s: (read > 0.0).then(|| pool / read * to_seconds(time)),
        dirty_to_flush_s: dirty_to_flush.map(|time| time / SECOND as f64),
        flushed_page_wait_us,
        row_lock_waits: if transactions > 0 {
            waits / transactions as f64
        } else {
            0.0
        },
    }
}

/// What is wrong with a scaled run, in words.
pub fn warnings(
    validity: &Validity,
    metrics: &MetricsSnapshot,
    time: Time,
    settings: &Settings,
) -> Vec<String> {
    let scale = settings.scale();
    if scale.get() == 1 {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    let mut warn = |text: String| warnings.push(format!("scale {scale} distorts this run: {text}"));
    if validity.round_share > ROUND_SHARE_MAX {
        warn(format!(
            "a round of the page cleaner flushes {:.1} % of the pool (at most {:.0} %)",
            validity.round_share * 100.0,
            ROUND_SHARE_MAX * 100.0
        ));
    }
    let seconds = [
        ("the pool is replaced", validity.turnover_s),
        ("a changed page is flushed", validity.dirty_to_flush_s),
    ];
    for (what, seconds) in seconds {
        if let Some(seconds) = seconds.filter(|seconds| *seconds < SECONDS_MIN) {
            warn(format!(
                "{what} within {seconds:.1} s (at least {SECONDS_MIN:.0} s)"
            ));
        }
    }
    let values = settings.scaled();
    let evicted = metrics.counter(Counter::PagesRead) as f64 / to_seconds(time).max(1e-9);
    let wanted = evicted / values.innodb_buffer_pool_instances() as f64 * SCAN_SECONDS;
    let depth = values.innodb_lru_scan_depth();
    if wanted > depth as f64 {
        warn(format!(
            "innodb_lru_scan_depth is {depth} after division, but two seconds of an instance's \
             evictions are {wanted:.0} pages"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunArguments;
    use innosim_engine::metrics::Metrics;

    /// 1000 pages; ten rounds that flush 90 and 60 pages; 2000 pages read.
    fn measured() -> MetricsSnapshot {
        let metrics = Metrics::new(1);
        let shard = metrics.shard(0);
        for _ in 0..10 {
            shard.record_call(Set::FlushBatchPages, 90);
            shard.record_call(Set::LruBatchFlushPages, 60);
            metrics.record_time(Timing::CleanerRound, SECOND);
        }
        shard.add(Counter::PagesRead, 2_000);
        shard.add(Counter::RowLockWaits, 5);
        metrics.record_time(Timing::DirtyToFlush, 12 * SECOND);
        metrics.snapshot(&|reading| match reading {
            Reading::BufferPoolPagesTotal => 1_000,
            _ => 0,
        })
    }

    #[test]
    fn figures_are_worked_out_from_the_counters() {
        let figures = validity(&measured(), 10 * SECOND, 1_000, 3.5);
        assert_eq!(figures.round_share, 0.15);
        assert_eq!(figures.turnover_s, Some(5.0));
        let dirty = figures.dirty_to_flush_s.unwrap();
        assert!((dirty - 12.0).abs() < 1e-9, "{dirty}");
        assert_eq!(
            (figures.flushed_page_wait_us, figures.row_lock_waits),
            (3.5, 0.005)
        );

        let nothing = Metrics::new(1).snapshot(&|_: Reading| 0);
        let figures = validity(&nothing, SECOND, 0, 0.0);
        assert_eq!((figures.turnover_s, figures.dirty_to_flush_s), (None, None));
        assert_eq!((figures.round_share, figures.row_lock_waits), (0.0, 0.0));
    }

    #[test]
    fn only_a_scaled_run_is_warned_of() {
        let warned = |scale: &str| {
            let plan = RunArguments {
                scale: Some(scale.into()),
                set: vec!["innodb_lru_scan_depth=1600".into()],
                ..RunArguments::default()
            };
            let settings = plan.plan().unwrap().settings;
            let metrics = measured();
            let figures = validity(&metrics, 10 * SECOND, 1_000, 0.0);
            warnings(&figures, &metrics, 10 * SECOND, &settings)
        };
        assert!(warned("1").is_empty());
        assert_eq!(
            warned("16"),
            [
                "scale 16 distorts this run: a round of the page cleaner flushes 15.0 % of the \
                 pool (at most 10 %)",
                "scale 16 distorts this run: the pool is replaced within 5.0 s (at least 10 s)",
                "scale 16 distorts this run: innodb_lru_scan_depth is 100 after division, but \
                 two seconds of an instance's evictions are 400 pages",
            ]
        );
    }
}
