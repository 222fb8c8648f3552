//! A run over time: plots below each other that share their axis and their cursor.

use std::collections::BTreeMap;

use super::super::page::Page;
use super::super::plot::{HorizontalAxis, Plot, Series, VerticalAxis};
use crate::report::json::{Interval, RunDocument};

/// Latches that have a line: those that were waited for most.
const LATCHES: usize = 6;

const MIB: f64 = (1 << 20) as f64;

/// Where the age of the checkpoint has consequences: the metric or status that tells it,
/// what it is called here, its colour and its pattern.
const AGES: [(&str, &str, (usize, usize)); 3] = [
    (
        "log_max_modified_age_async",
        "adaptive flushing at full",
        (4, 2),
    ),
    ("log_max_modified_age_sync", "sync flush", (1, 1)),
    ("Innodb_redo_log_capacity_resized", "capacity", (6, 3)),
];

/// All plots of a run with intervals.
pub(super) fn plots(page: &mut Page, run: &RunDocument) {
    let intervals = &run.intervals;
    page.note(
        "One axis of time: the cursor shows all plots at one moment. Drag to see a part, \
         double-click to see all again; a click on a name hides its line.",
    );
    page.raw("<div class=\"panels\">");
    plot(
        page,
        ("Throughput", "transactions/s"),
        intervals,
        vec![line(0, "transactions", intervals, |i| i.tps)],
    );
    plot(
        page,
        ("Latency of a transaction", "ms"),
        intervals,
        vec![
            line(0, "median", intervals, |i| i.latency_p50_ms),
            line(1, "95th percentile", intervals, |i| i.latency_p95_ms),
            line(3, "99th percentile", intervals, |i| i.latency_p99_ms),
        ],
    );
    plot(
        page,
        ("Redo since the checkpoint", "MiB"),
        intervals,
        checkpoint_age(run),
    );
    plot(
        page,
        ("Buffer pool", "pages"),
        intervals,
        vec![
            line(1, "modified", intervals, |i| i.dirty_pages as f64),
            line(2, "free", intervals, |i| i.free_pages as f64),
        ],
    );
    plot(
        page,
        ("Requests in flight, by disk", "mean requests"),
        intervals,
        disks(intervals),
    );
    plot(
        page,
        ("Waits for latches", "waits/s"),
        intervals,
        latches(intervals),
    );
    plot(
        page,
        ("History", "transactions not purged"),
        intervals,
        vec![line(0, "not purged", intervals, |i| {
            i.history_list_length as f64
        })],
    );
    page.raw("</div>");
}

/// Nothing is drawn where nothing was counted.
fn plot(page: &mut Page, (title, y): (&str, &str), intervals: &[Interval], series: Vec<Series>) {
    if series.is_empty() {
        return;
    }
    let plot = Plot {
        id: String::new(),
        x: HorizontalAxis {
            label: "time (s)".to_owned(),
            log: false,
            from_zero: true,
        },
        y: VerticalAxis {
            label: y.to_owned(),
        },
        sync: true,
        xs: intervals.iter().map(|interval| interval.t_s).collect(),
        series,
    };
    page.plot(title, plot);
}

fn line(
    color: usize,
    label: &str,
    intervals: &[Interval],
    value: impl Fn(&Interval) -> f64,
) -> Series {
    Series::line(color, label, intervals.iter().map(value))
}

fn checkpoint_age(run: &RunDocument) -> Vec<Series> {
    let age = line(0, "age", &run.intervals, |i| i.checkpoint_age as f64 / MIB);
    let level = |name: &str| run.metrics.get(name).or_else(|| run.status.get(name));
    let levels = AGES.iter().filter_map(|&(name, label, look)| {
        let bytes = *level(name)?;
        let mib = bytes as f64 / MIB;
        (bytes > 0).then(|| Series::level(look, label, mib, run.intervals.len()))
    });
    std::iter::once(age).chain(levels).collect()
}

/// Reads, writes and flushes of each disk that had any.
fn disks(intervals: &[Interval]) -> Vec<Series> {
    let names = match intervals.first() {
        Some(first) => first.disks.iter().map(|disk| &*disk.name).collect(),
        None => Vec::new(),
    };
    let mut lines = Vec::new();
    for (place, name) in names.into_iter().enumerate() {
        let mut add = |what: &str, value: fn(&crate::report::json::DiskQueue) -> f64| {
            let of_disk = |i: &Interval| i.disks.get(place).map_or(0.0, value);
            if intervals.iter().any(|interval| of_disk(interval) > 0.0) {
                let label = format!("{name}, {what}");
                lines.push(line(lines.len(), &label, intervals, of_disk));
            }
        };
        add("reads", |disk| disk.reads_in_flight);
        add("writes", |disk| disk.writes_in_flight);
        add("flushes", |disk| disk.flushes_in_flight);
    }
    lines
}

fn latches(intervals: &[Interval]) -> Vec<Series> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, rate) in intervals.iter().flat_map(|i| &i.latch_waits_per_s) {
        *sums.entry(name).or_default() += rate;
    }
    let mut most: Vec<(&str, f64)> = sums.into_iter().collect();
    // The sort is stable: equal sums stay in the order of names.
    most.sort_by(|a, b| b.1.total_cmp(&a.1));
    let names = most.into_iter().take(LATCHES).map(|(name, _)| name);
    names
        .enumerate()
        .map(|(number, name)| {
            line(number, name, intervals, |i| {
                i.latch_waits_per_s.get(name).copied().unwrap_or_default()
            })
        })
        .collect()
}
