//! All figures at one moment, and what changed between two.

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::cells::{Cells, Extreme, FileQuantity, Growing, UpAndDown};
use super::file_io::{FileEvent, FileOperation, FileSummary, OperationSummary};
use super::histogram::LatencyHistogram;
use super::registry::{
    self, Counter, Gauge, Level, Origin, Reading, Set, SetMember, WaitFamily, WaitMember,
};
use super::timing::Timing;

/// All figures at one moment, or what was counted between two.
///
/// It serializes as the keys `status`, `metrics` and `files` of a run's JSON, each in the
/// order of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsSnapshot {
    pub(super) cells: Box<Cells<u64>>,
    pub(super) gauges: [i64; Gauge::COUNT],
    pub(super) readings: [i64; Reading::COUNT],
    pub(super) timings: Box<[LatencyHistogram]>,
}

impl MetricsSnapshot {
    /// What was counted after `earlier`: counters, sets, waits, sums of files and times
    /// are subtracted; levels, gauges and readings stay as they are now. Figures that are
    /// worked out from these, such as means, are then those of the time in between.
    /// The smallest and largest are of the time since they were
    /// [restarted](super::Metrics::restart_extremes).
    ///
    /// # Panics
    ///
    /// If `earlier` is not an earlier snapshot of the same metrics.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cells: Box::new(self.cells.since(&earlier.cells)),
            gauges: self.gauges,
            readings: self.readings,
            timings: self
                .timings
                .iter()
                .zip(&earlier.timings)
                .map(|(now, before)| now.since(before))
                .collect(),
        }
    }

    /// A counter.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.cells.get(Growing::counter(counter))
    }

    /// What the calls of a set added up to.
    pub fn set_total(&self, set: Set) -> u64 {
        self.cells.get(Growing::set_total(set))
    }

    /// The number of calls of a set.
    pub fn set_calls(&self, set: Set) -> u64 {
        self.cells.get(Growing::set_calls(set))
    }

    /// The smallest and the largest call of a set.
    pub fn set_extremes(&self, set: Set) -> Option<(u64, u64)> {
        let place = Extreme::set(set);
        self.cells.smallest(place).zip(self.cells.largest(place))
    }

    /// How often nobody had to wait at a place, how often someone had to, and the rounds
    /// that took.
    pub fn waits(&self, family: WaitFamily) -> (u64, u64, u64) {
        let get = |member| self.cells.get(Growing::wait(family, member));
        (
            get(WaitMember::NoWaits),
            get(WaitMember::Waits),
            get(WaitMember::WaitLoops),
        )
    }

    /// A level.
    pub fn level(&self, level: Level) -> i64 {
        self.cells.level(UpAndDown::level(level))
    }

    /// A gauge.
    pub fn gauge(&self, gauge: Gauge) -> i64 {
        self.gauges[gauge as usize]
    }

    /// A reading.
    pub fn reading(&self, reading: Reading) -> i64 {
        self.readings[reading as usize]
    }

    /// The distribution of a time, in picoseconds.
    pub fn timing(&self, timing: Timing) -> &LatencyHistogram {
        &self.timings[timing as usize]
    }

    /// The sums of one operation on one kind of file.
    pub fn file_operation(&self, event: FileEvent, operation: FileOperation) -> OperationSummary {
        let get = |quantity| self.cells.get(Growing::file(event, operation, quantity));
        let extreme = Extreme::file(event, operation);
        OperationSummary {
            count: get(FileQuantity::Count),
            sum_timer_ps: get(FileQuantity::Picoseconds),
            min_timer_ps: self.cells.smallest(extreme).unwrap_or(0),
            max_timer_ps: self.cells.largest(extreme).unwrap_or(0),
            bytes: get(FileQuantity::Bytes),
            pending: self.cells.level(UpAndDown::pending(event, operation)),
        }
    }

    /// Adds operations on files that are counted elsewhere, where the files are: how many,
    /// their time in picoseconds, their bytes. Their extremes are not known there.
    pub fn add_file_operations(
        &mut self,
        event: FileEvent,
        operation: FileOperation,
        (count, picoseconds, bytes): (u64, u64, u64),
    ) {
        for (quantity, amount) in [
            (FileQuantity::Count, count),
            (FileQuantity::Picoseconds, picoseconds),
            (FileQuantity::Bytes, bytes),
        ] {
            let place = Growing::file(event, operation, quantity);
            self.cells.add_to_sum(place, amount);
        }
    }

    /// `performance_schema.file_summary_by_event_name`: a row for each kind of file, in
    /// the order of names.
    pub fn files(&self) -> Vec<FileSummary> {
        let mut rows: Vec<_> = FileEvent::ALL
            .iter()
            .map(|event| FileSummary {
                event: *event,
                read: self.file_operation(*event, FileOperation::Read),
                write: self.file_operation(*event, FileOperation::Write),
                sync: self.file_operation(*event, FileOperation::Sync),
            })
            .collect();
        rows.sort_by_key(|row| row.event.name());
        rows
    }

    /// `SHOW GLOBAL STATUS LIKE 'Innodb%'`: the variables that are numbers.
    pub fn status(&self) -> BTreeMap<&'static str, i64> {
        registry::all()
            .filter_map(|definition| Some((definition.status_name?, self.value(definition.origin))))
            .collect()
    }

    /// The columns NAME and COUNT of `INNODB_METRICS`.
    pub fn metrics(&self) -> BTreeMap<&'static str, i64> {
        registry::all()
            .filter_map(|definition| Some((definition.metric?.name, self.value(definition.origin))))
            .collect()
    }

    /// What a view shows of a figure.
    pub(super) fn value(&self, origin: Origin) -> i64 {
        match origin {
            Origin::Counter(counter) => shown(self.counter(counter)),
            Origin::Set(set, SetMember::Total) => shown(self.set_total(set)),
            Origin::Set(set, SetMember::Calls) => shown(self.set_calls(set)),
            Origin::Set(set, SetMember::PerCall) => shown(
                self.set_total(set)
                    .checked_div(self.set_calls(set))
                    .unwrap_or(0),
            ),
            Origin::Wait(family, member) => shown(self.cells.get(Growing::wait(family, member))),
            Origin::Level(level) => self.level(level),
            Origin::Gauge(gauge) => self.gauge(gauge),
            Origin::Reading(reading) => self.reading(reading),
            Origin::Rule(rule) => rule(self),
        }
    }
}

/// A count as the views show it. None comes near the limit in a run.
pub(super) fn shown(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Serialize for MetricsSnapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("MetricsSnapshot", 3)?;
        object.serialize_field("status", &self.status())?;
        object.serialize_field("metrics", &self.metrics())?;
        object.serialize_field("files", &self.files())?;
        object.end()
    }
}
