//! The page of a sweep.

use serde_json::{Map, Value};

use super::Page;
use super::chart::{Bar, bars};
use crate::report::json::SweepDocument;

fn plain(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}

fn label(set: &Map<String, Value>) -> String {
    let parts: Vec<String> = set
        .iter()
        .map(|(name, value)| format!("{name}={}", plain(value)))
        .collect();
    parts.join(" ")
}

/// A sweep as an HTML page.
pub fn sweep(document: &SweepDocument) -> String {
    let mut page = Page::new(&format!("A sweep of {} runs", document.points.len()));
    if let Some(first) = document.points.first() {
        let run = &first.run;
        page.paragraph(&format!(
            "The first: {}, {} threads, {} on {}, scale {}, {:.1} s.",
            run.workload, run.threads, run.flavor, run.machine, run.scale, run.time_s
        ));
    }
    page.heading("Transactions a second, with 95 % intervals over the seeds");
    let rows: Vec<Bar> = document
        .summary
        .iter()
        .map(|row| Bar {
            label: label(&row.set),
            value: row.tps.mean,
            interval: row.tps.ci95_low.zip(row.tps.ci95_high),
        })
        .collect();
    page.drawing(&bars(&rows));
    page.heading("Every run");
    let names = document
        .points
        .first()
        .map(|point| point.set.keys().cloned());
    let figures = [
        "tps",
        "qps",
        "mean ms",
        "95 % ms",
        "latch µs",
        "redo flush µs",
        "page read µs",
    ];
    let header: Vec<String> = names
        .into_iter()
        .flatten()
        .chain(figures.map(str::to_owned))
        .collect();
    let rows = document.points.iter().map(|point| {
        let run = &point.run;
        let figures = [
            run.tps,
            run.qps,
            run.latency_ms.avg,
            run.latency_ms.p95,
            run.time_budget.latch,
            run.time_budget.log_sync,
            run.time_budget.page_read,
        ];
        let figures = figures.map(|figure| format!("{figure:.2}"));
        point.set.values().map(plain).chain(figures).collect()
    });
    page.wide_table(&header, rows);
    let mut warnings: Vec<&String> = Vec::new();
    for warning in document.points.iter().flat_map(|point| &point.run.warnings) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    for warning in warnings {
        page.warning(warning);
    }
    page.end()
}
