//! `SELECT * FROM INFORMATION_SCHEMA.INNODB_METRICS`.
//!
//! Columns that innosim cannot honour are left out: nothing is ever disabled or reset, so
//! there is no STATUS, no TIME_ENABLED, TIME_DISABLED or TIME_RESET. The columns
//! `…_RESET` are the rows of a [difference](MetricsSnapshot::since) of two snapshots.

use serde::Serialize;

use super::registry::{self, MetricDefinition, MetricType, Origin, SetMember};
use super::snapshot::{MetricsSnapshot, shown};

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InnodbMetricsRow {
    /// NAME.
    pub name: &'static str,
    /// SUBSYSTEM.
    pub subsystem: &'static str,
    /// COUNT.
    pub count: i64,
    /// MAX_COUNT: the largest call. Only sets have it; InnoDB gives the highest value
    /// seen of other counters, which for one that grows is COUNT again.
    pub max_count: Option<i64>,
    /// MIN_COUNT: the smallest call. Only sets have it.
    pub min_count: Option<i64>,
    /// AVG_COUNT: of a set's total, the mean of a call; of what is counted, the mean
    /// of a second; of what is a level, nothing.
    pub avg_count: Option<f64>,
    /// TIME_ELAPSED, in seconds.
    pub time_elapsed: u64,
    /// TYPE.
    #[serde(rename = "type")]
    pub metric_type: &'static str,
    /// COMMENT.
    pub comment: &'static str,
}

impl MetricsSnapshot {
    /// The rows in the order of names, given the seconds that were counted over.
    pub fn innodb_metrics(&self, time_elapsed: u64) -> Vec<InnodbMetricsRow> {
        let mut rows: Vec<_> = registry::all()
            .filter_map(|definition| self.row(definition, time_elapsed))
            .collect();
        rows.sort_by_key(|row| row.name);
        rows
    }

    fn row(&self, definition: &MetricDefinition, time_elapsed: u64) -> Option<InnodbMetricsRow> {
        let metric = definition.metric?;
        let count = self.value(definition.origin);
        let extremes = match definition.origin {
            Origin::Set(set, SetMember::Total | SetMember::PerCall) => self.set_extremes(set),
            _ => None,
        };
        let avg_count = match definition.origin {
            Origin::Set(set, SetMember::Total) => mean(count, self.set_calls(set)),
            Origin::Counter(_) | Origin::Set(_, SetMember::Calls) | Origin::Wait(..) => {
                mean(count, time_elapsed)
            }
            Origin::Rule(_) if metric.metric_type != MetricType::Value => mean(count, time_elapsed),
            _ => None,
        };
        Some(InnodbMetricsRow {
            name: metric.name,
            subsystem: metric.subsystem.name(),
            count,
            max_count: extremes.map(|(_, largest)| shown(largest)),
            min_count: extremes.map(|(smallest, _)| shown(smallest)),
            avg_count,
            time_elapsed,
            metric_type: metric.metric_type.name(),
            comment: definition.comment,
        })
    }
}

fn mean(sum: i64, of: u64) -> Option<f64> {
    (of > 0).then(|| sum as f64 / of as f64)
}
