//! What a run counted and what was set, as tables.

use serde_json::Value;

use super::super::page::{Page, grouped};
use crate::report::json::{LatchSummary, RunDocument};
use crate::run::validity::{ROUND_SHARE_MAX, SECONDS_MIN};

/// Latches that are shown at once.
const LATCHES: usize = 12;

pub(super) fn latches(page: &mut Page, latches: &[LatchSummary]) {
    let row = |latch: &LatchSummary| {
        let share = latch.contended as f64 / latch.acquired.max(1) as f64 * 100.0;
        [
            latch.name.clone(),
            grouped(latch.acquired),
            grouped(latch.contended),
            format!("{share:.2} %"),
            format!("{:.3}", latch.wait_ns as f64 / 1e6),
            format!("{:.3}", latch.hold_ns as f64 / 1e6),
        ]
    };
    let header = [
        "latch",
        "taken",
        "waited for",
        "share",
        "time waited, ms",
        "time held, ms",
    ];
    page.section("Latches");
    let (most, rest) = latches.split_at(latches.len().min(LATCHES));
    page.table(header, most.iter().map(row));
    if !rest.is_empty() {
        page.folded(&format!("{} more", rest.len()), |page| {
            page.table(header, rest.iter().map(row));
        });
    }
    page.end_section();
}

pub(super) fn files(page: &mut Page, run: &RunDocument) {
    let rows = run.files.iter().map(|file| {
        let mean_ms = |count: u64, picoseconds: u64| {
            format!("{:.3}", picoseconds as f64 / 1e9 / count.max(1) as f64)
        };
        let mib = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
        let name = file.event_name.rsplit('/').next().unwrap_or_default();
        [
            name.to_owned(),
            grouped(file.count_read),
            mib(file.bytes_read),
            mean_ms(file.count_read, file.sum_timer_read_ps),
            grouped(file.count_write),
            mib(file.bytes_written),
            mean_ms(file.count_write, file.sum_timer_write_ps),
            grouped(file.count_sync),
            mean_ms(file.count_sync, file.sum_timer_sync_ps),
        ]
    });
    let header = [
        "file", "reads", "MiB", "mean ms", "writes", "MiB", "mean ms", "flushes", "mean ms",
    ];
    page.section("Files");
    page.table(header, rows);
    page.note("An asynchronous request counts with the time of its submission, as in MySQL.");
    page.end_section();
}

pub(super) fn settings(page: &mut Page, run: &RunDocument) {
    page.section("Settings");
    if run.defaults.is_empty() {
        page.paragraph("All variables have their defaults.");
    } else {
        let rows = run.defaults.iter().map(|(name, default)| {
            let value = run.variables.get(name).map(plain).unwrap_or_default();
            [name.clone(), value, plain(default)]
        });
        page.table(["variable", "value", "default"], rows);
        page.note("Defaults are the flavor's on this machine.");
    }
    let variables = run.variables.iter();
    let variables = variables.map(|(name, value)| [name.clone(), plain(value)]);
    page.folded("All variables", |page| {
        page.table(["variable", "value"], variables);
    });
    for (title, figures) in [("Status", &run.status), ("INNODB_METRICS", &run.metrics)] {
        let rows = figures
            .iter()
            .map(|(name, value)| [name.clone(), value.to_string()]);
        page.folded(title, |page| page.table(["name", "value"], rows));
    }
    page.end_section();
}

pub(super) fn validity(page: &mut Page, run: &RunDocument) {
    let validity = &run.validity;
    let seconds = |figure: Option<f64>| figure.map_or("–".to_owned(), |s| format!("{s:.1} s"));
    // As they are given, sizes have no limit to keep to.
    let limit = |text: String| {
        if run.scale == 1 {
            "–".to_owned()
        } else {
            text
        }
    };
    let rows = [
        [
            "pages of a round of the cleaner / pool".to_owned(),
            format!("{:.2} %", validity.round_share * 100.0),
            limit(format!("at most {:.0} %", ROUND_SHARE_MAX * 100.0)),
        ],
        [
            "turnover of the pool".to_owned(),
            seconds(validity.turnover_s),
            limit(format!("at least {SECONDS_MIN:.0} s")),
        ],
        [
            "first change to flush".to_owned(),
            seconds(validity.dirty_to_flush_s),
            limit(format!("at least {SECONDS_MIN:.0} s")),
        ],
        [
            "waiting for pages under flush".to_owned(),
            format!("{:.2} µs a transaction", validity.flushed_page_wait_us),
            limit("judged by a second run".to_owned()),
        ],
        [
            "waits for row locks".to_owned(),
            format!("{:.4} a transaction", validity.row_lock_waits),
            limit("judged by a second run".to_owned()),
        ],
    ];
    page.section("Whether the scale can be trusted");
    if run.scale == 1 {
        page.note("Sizes are as given: there is no scale that could distort.");
    }
    page.table(["figure", "here", "limit"], rows);
    page.end_section();
}

/// A value without the quotes of JSON.
fn plain(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}
