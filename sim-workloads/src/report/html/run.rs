//! The page of a run.

use super::Page;
use super::chart::{Bar, bars, line};
use crate::report::json::{Interval, RunDocument};

/// A figure of an interval.
type Figure = fn(&Interval) -> f64;

/// Latches in the table.
const LATCHES: usize = 12;

/// One run as an HTML page.
pub fn run(run: &RunDocument) -> String {
    let mut page = Page::new(&format!(
        "{}, {} threads, {} on {}",
        run.workload, run.threads, run.flavor, run.machine
    ));
    page.paragraph(&format!(
        "{} tables of {} rows, scale {}, {} clock, seed {}, {:.1} s: {:.1} transactions and \
         {:.1} statements a second, {} errors.",
        run.tables,
        run.table_size,
        run.scale,
        run.clock,
        run.seed,
        run.time_s,
        run.tps,
        run.qps,
        run.errors
    ));
    for warning in &run.warnings {
        page.warning(warning);
    }
    latencies(&mut page, run);
    series(&mut page, &run.intervals);
    time_budget(&mut page, run);
    tables(&mut page, run);
    page.end()
}

fn latencies(page: &mut Page, run: &RunDocument) {
    let latency = &run.latency_ms;
    page.heading("Latency of a transaction (ms)");
    let figures = [
        latency.min,
        latency.avg,
        latency.p50,
        latency.p95,
        latency.p99,
        latency.max,
    ];
    let header = ["min", "mean", "median", "95 %", "99 %", "max"];
    page.table(header, [figures.map(|ms| format!("{ms:.2}"))]);
}

fn series(page: &mut Page, intervals: &[Interval]) {
    if intervals.is_empty() {
        return;
    }
    page.heading("Over time");
    let figures: [(&str, Figure); 6] = [
        ("transactions a second", |interval| interval.tps),
        ("95 % of latencies, ms", |interval| interval.latency_p95_ms),
        ("redo since the checkpoint, bytes", |interval| {
            interval.checkpoint_age as f64
        }),
        ("modified pages", |interval| interval.dirty_pages as f64),
        ("free pages", |interval| interval.free_pages as f64),
        ("transactions not purged", |interval| {
            interval.history_list_length as f64
        }),
    ];
    for (title, figure) in figures {
        let points: Vec<(f64, f64)> = intervals
            .iter()
            .map(|interval| (interval.t_s, figure(interval)))
            .collect();
        page.drawing(&line(title, &points));
    }
}

fn time_budget(page: &mut Page, run: &RunDocument) {
    let budget = &run.time_budget;
    let parts = [
        ("computing", budget.cpu),
        ("run queue", budget.run_queue),
        ("latches", budget.latch),
        ("row locks", budget.row_lock),
        ("page reads", budget.page_read),
        ("free pages", budget.free_page),
        ("pages under flush", budget.flushed_page),
        ("redo writes", budget.log_write),
        ("redo flushes", budget.log_sync),
        ("admission", budget.admission),
        ("other", budget.other),
    ];
    page.heading("Where the time of a mean transaction goes (µs)");
    let parts: Vec<Bar> = parts
        .into_iter()
        .map(|(label, value)| Bar {
            label: label.to_owned(),
            value,
            interval: None,
        })
        .collect();
    page.drawing(&bars(&parts));
}

fn tables(page: &mut Page, run: &RunDocument) {
    page.heading("Latches");
    let rows = run.latches.iter().take(LATCHES).map(|latch| {
        [
            latch.name.clone(),
            latch.acquired.to_string(),
            latch.contended.to_string(),
            format!("{:.3}", latch.wait_ns as f64 / 1e6),
            format!("{:.3}", latch.hold_ns as f64 / 1e6),
        ]
    });
    page.table(
        ["latch", "taken", "contended", "waited, ms", "held, ms"],
        rows,
    );
    page.heading("Files");
    let rows = run.files.iter().map(|file| {
        let operation = |count: u64, picoseconds: u64| {
            let mean = picoseconds as f64 / 1e9 / count.max(1) as f64;
            [count.to_string(), format!("{mean:.3}")]
        };
        let [reads, read_ms] = operation(file.count_read, file.sum_timer_read_ps);
        let [writes, write_ms] = operation(file.count_write, file.sum_timer_write_ps);
        let [syncs, sync_ms] = operation(file.count_sync, file.sum_timer_sync_ps);
        let name = file.event_name.rsplit('/').next().unwrap_or_default();
        [
            name.to_owned(),
            reads,
            read_ms,
            writes,
            write_ms,
            syncs,
            sync_ms,
        ]
    });
    let header = ["file", "reads", "ms", "writes", "ms", "flushes", "ms"];
    page.table(header, rows);
    page.heading("Validity of the scale");
    let validity = &run.validity;
    let seconds = |figure: Option<f64>| figure.map_or("-".to_owned(), |s| format!("{s:.1} s"));
    let rows = [
        [
            "cleaner round / pool (at most 10 %)".to_owned(),
            format!("{:.2} %", validity.round_share * 100.0),
        ],
        [
            "turnover of the pool (at least 10 s)".to_owned(),
            seconds(validity.turnover_s),
        ],
        [
            "first change to flush (at least 10 s)".to_owned(),
            seconds(validity.dirty_to_flush_s),
        ],
        [
            "waits for pages under flush, µs a transaction".to_owned(),
            format!("{:.2}", validity.flushed_page_wait_us),
        ],
        [
            "waits for row locks a transaction".to_owned(),
            format!("{:.4}", validity.row_lock_waits),
        ],
    ];
    page.table(["figure", ""], rows);
    let plain = |value: &serde_json::Value| match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    };
    let variables = run
        .variables
        .iter()
        .map(|(name, value)| [name.clone(), plain(value)]);
    page.folded("Variables", ["variable", "value"], variables.collect());
    let count = |(name, value): (&String, &i64)| [name.clone(), value.to_string()];
    page.folded(
        "Status",
        ["variable", "value"],
        run.status.iter().map(count).collect(),
    );
    page.folded(
        "INNODB_METRICS",
        ["name", "count"],
        run.metrics.iter().map(count).collect(),
    );
}
