mod counting;
mod names;
mod views;

use super::{Metrics, MetricsSnapshot, Reading};

/// A snapshot of an engine all of whose readings are 0.
fn snapshot(metrics: &Metrics) -> MetricsSnapshot {
    metrics.snapshot(&|_: Reading| 0)
}
