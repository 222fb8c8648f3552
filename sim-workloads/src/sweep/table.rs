//! A sweep's results: the summary as a table for people, every run as CSV for programs.

use std::io::Write;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;

use crate::report::json::{RunDocument, SweepDocument};

/// A figure of a run, as a column of the CSV.
type Figure = fn(&RunDocument) -> Value;

/// The columns after what was varied: name as in the JSON document, dots for nesting.
const FIGURES: [(&str, Figure); 19] = [
    ("tps", |run| run.tps.into()),
    ("qps", |run| run.qps.into()),
    ("transactions", |run| run.transactions.into()),
    ("queries", |run| run.queries.into()),
    ("errors", |run| run.errors.into()),
    ("time_s", |run| run.time_s.into()),
    ("latency_ms.avg", |run| run.latency_ms.avg.into()),
    ("latency_ms.p50", |run| run.latency_ms.p50.into()),
    ("latency_ms.p95", |run| run.latency_ms.p95.into()),
    ("latency_ms.p99", |run| run.latency_ms.p99.into()),
    ("latency_ms.max", |run| run.latency_ms.max.into()),
    ("time_budget.cpu", |run| run.time_budget.cpu.into()),
    ("time_budget.latch", |run| run.time_budget.latch.into()),
    ("time_budget.row_lock", |run| {
        run.time_budget.row_lock.into()
    }),
    ("time_budget.page_read", |run| {
        run.time_budget.page_read.into()
    }),
    ("time_budget.log_sync", |run| {
        run.time_budget.log_sync.into()
    }),
    ("validity.round_share", |run| {
        run.validity.round_share.into()
    }),
    ("validity.turnover_s", |run| run.validity.turnover_s.into()),
    ("validity.dirty_to_flush_s", |run| {
        run.validity.dirty_to_flush_s.into()
    }),
];

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // An empty field: the figure does not exist.
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Writes every run of a sweep as CSV: what was varied, then its figures.
///
/// # Errors
/// If the output cannot be written.
pub fn write_csv(document: &SweepDocument, output: impl Write) -> csv::Result<()> {
    let mut writer = csv::Writer::from_writer(output);
    let names: Vec<&str> = document
        .points
        .first()
        .map(|point| point.set.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let figures = FIGURES.iter().map(|(name, _)| *name);
    writer.write_record(names.into_iter().chain(figures))?;
    for point in &document.points {
        let figures = FIGURES.iter().map(|(_, figure)| plain(&figure(&point.run)));
        writer.write_record(point.set.values().map(plain).chain(figures))?;
    }
    writer.flush()?;
    Ok(())
}

/// The summary over seeds as a Markdown table.
pub fn summary(document: &SweepDocument) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let names: Vec<String> = document
        .summary
        .first()
        .map(|row| row.set.keys().cloned().collect())
        .unwrap_or_default();
    let figures = ["n", "tps", "95 % from", "to"].map(str::to_owned);
    table.set_header(names.into_iter().chain(figures));
    let tps = |figure: f64| format!("{figure:.2}");
    for row in &document.summary {
        let bound = |figure: Option<f64>| figure.map_or("-".to_owned(), tps);
        let figures = [
            row.n.to_string(),
            tps(row.tps.mean),
            bound(row.tps.ci95_low),
            bound(row.tps.ci95_high),
        ];
        table.add_row(row.set.values().map(plain).chain(figures));
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests;
