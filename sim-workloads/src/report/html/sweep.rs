//! The page of a sweep.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::bars::{Pair, pairs, short};
use super::budget;
use super::origin::Origin;
use super::page::{Page, Row, threads};
use super::plot::{Point, curves};
use crate::report::json::{SweepDocument, SweepPoint, SweepSummary, TimeBudget};

/// More curves than this in one plot cannot be told apart.
const CURVES_MAX: usize = 16;

/// More bars than this are folded.
const BARS_MAX: usize = 40;

const THROUGHPUT: &str = "transactions/s";

/// A sweep as an HTML page.
pub fn sweep(document: &SweepDocument, origin: &Origin) -> String {
    let mut page = Page::new(&format!("A sweep of {} runs", document.points.len()));
    at_a_glance(&mut page, document);
    throughput(&mut page, &document.summary);
    if !document.points.is_empty() {
        page.section("Where the time of a mean transaction goes");
        let budgets = budgets(document);
        match budgets.len() > BARS_MAX {
            true => page.folded(&format!("{} combinations", budgets.len()), |page| {
                budget::bars(page, &budgets);
            }),
            false => budget::bars(&mut page, &budgets),
        }
        page.end_section();
    }
    every_run(&mut page, &document.points);
    settings(&mut page, &document.points);
    let mut seeds: Vec<u64> = document.points.iter().map(|point| point.run.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    origin.write(&mut page, &format!("seeds {}", seeds.join(", ")));
    page.end()
}

fn at_a_glance(page: &mut Page, document: &SweepDocument) {
    if let Some(first) = document.points.first() {
        let run = &first.run;
        page.note(&format!(
            "The first: {}, {}, {} on {}, scale {}, {:.1} s.",
            run.workload,
            threads(run.threads),
            run.flavor,
            run.machine,
            run.scale,
            run.time_s
        ));
    }
    let mut warnings: Vec<&String> = Vec::new();
    for warning in document.points.iter().flat_map(|point| &point.run.warnings) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
            page.warning(warning);
        }
    }
}

fn plain(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}

/// What was varied in words; `but` is left out.
fn label(set: &Map<String, Value>, but: &[&str]) -> String {
    let parts: Vec<String> = set
        .iter()
        .filter(|(name, _)| !but.contains(&name.as_str()))
        .map(|(name, value)| format!("{name}={}", plain(value)))
        .collect();
    match parts.is_empty() {
        true => "all".to_owned(),
        false => parts.join(", "),
    }
}

/// A plot for each variable with values that are numbers; bars where there is none.
fn throughput(page: &mut Page, summary: &[SweepSummary]) {
    page.section("Throughput");
    page.note("Means over the seeds, with their 95 % intervals.");
    let names: Vec<&String> = match summary.first() {
        Some(first) => first.set.keys().collect(),
        None => Vec::new(),
    };
    let mut plots = 0;
    for name in names {
        let Some(axis) = Axis::of(name, summary) else {
            continue;
        };
        let mut found: Vec<(String, Vec<Point>)> = Vec::new();
        for (row, &x) in summary.iter().zip(&axis.xs) {
            let point = Point {
                x,
                y: row.tps.mean,
                interval: row.tps.ci95_low.zip(row.tps.ci95_high),
                published: None,
            };
            let label = label(&row.set, &[name]);
            match found.iter_mut().find(|(known, _)| *known == label) {
                Some((_, points)) => points.push(point),
                None => found.push((label, vec![point])),
            }
        }
        if found.len() <= CURVES_MAX {
            let title = format!("Throughput against {name}");
            page.plot(&title, curves(&axis.label, THROUGHPUT, &found));
            plots += 1;
        }
    }
    let bar = |row: &SweepSummary| Pair {
        label: label(&row.set, &[]),
        published: None,
        simulated: row.tps.mean,
        interval: row.tps.ci95_low.zip(row.tps.ci95_high),
        value: short(row.tps.mean),
    };
    let all = pairs(&summary.iter().map(bar).collect::<Vec<_>>());
    match plots == 0 && summary.len() <= BARS_MAX {
        true => {
            page.heading("Transactions a second");
            page.raw(&all);
        }
        false => page.folded("Every combination", |page| page.raw(&all)),
    }
    page.end_section();
}

/// A variable as a horizontal axis.
struct Axis {
    label: String,
    /// Its value in each row of the summary.
    xs: Vec<f64>,
}

impl Axis {
    /// `None` if it has values that are no numbers, or one value only.
    fn of(name: &str, summary: &[SweepSummary]) -> Option<Axis> {
        let values = summary.iter().map(|row| row.set.get(name));
        let values: Vec<&Value> = values.collect::<Option<_>>()?;
        let (mut xs, mut is_size) = (Vec::new(), false);
        for value in &values {
            match (value.as_f64(), value.as_str()) {
                (Some(number), _) => xs.push(number),
                (None, Some(text)) => {
                    xs.push(bytes(text)?);
                    is_size = true;
                }
                _ => return None,
            }
        }
        if xs.iter().all(|x| *x == xs[0]) {
            return None;
        }
        let mut label = name.to_owned();
        if is_size {
            let mib = f64::from(1 << 20);
            xs.iter_mut().for_each(|x| *x /= mib);
            label.push_str(" (MiB)");
        }
        Some(Axis { label, xs })
    }
}

/// `64M` in bytes.
fn bytes(text: &str) -> Option<f64> {
    let last = text.chars().last()?;
    let power = "KMGT".find(last.to_ascii_uppercase())?;
    let number: f64 = text[..text.len() - last.len_utf8()].parse().ok()?;
    number
        .is_finite()
        .then(|| number * f64::from(1 << 10).powi(power as i32 + 1))
}

/// The mean budget of each combination, in the order of the summary.
fn budgets(document: &SweepDocument) -> Vec<(String, TimeBudget)> {
    let same = |point: &SweepPoint, set: &Map<String, Value>| {
        set.iter()
            .all(|(name, value)| point.set.get(name) == Some(value))
    };
    let of_row = |row: &SweepSummary| {
        let points = document.points.iter().filter(|point| same(point, &row.set));
        let budgets: Vec<TimeBudget> = points.map(|point| point.run.time_budget).collect();
        Some((label(&row.set, &[]), TimeBudget::mean(&budgets)?))
    };
    document.summary.iter().filter_map(of_row).collect()
}

fn every_run(page: &mut Page, points: &[SweepPoint]) {
    let Some(first) = points.first() else { return };
    let figures = [
        "tps",
        "qps",
        "mean ms",
        "95 % ms",
        "99 % ms",
        "latch µs",
        "redo flush µs",
        "page read µs",
    ];
    let names = first.set.keys().cloned();
    let header: Vec<String> = names.chain(figures.map(str::to_owned)).collect();
    let rows = points.iter().map(|point| {
        let run = &point.run;
        let figures = [
            run.tps,
            run.qps,
            run.latency_ms.avg,
            run.latency_ms.p95,
            run.latency_ms.p99,
            run.time_budget.latch,
            run.time_budget.log_sync,
            run.time_budget.page_read,
        ];
        let figures = figures.map(|figure| format!("{figure:.2}"));
        let cells = point.set.values().map(plain).chain(figures);
        Row::from(cells.collect::<Vec<_>>())
    });
    page.section("Every run");
    page.wide_table(&header, rows);
    page.end_section();
}

/// What was set in all runs alike, and what varies.
fn settings(page: &mut Page, points: &[SweepPoint]) {
    let mut set: BTreeMap<&str, (String, String)> = BTreeMap::new();
    for run in points.iter().map(|point| &point.run) {
        for (name, default) in &run.defaults {
            set.entry(name).or_insert_with(|| {
                let value =
                    |run: &crate::report::json::RunDocument| run.variables.get(name).cloned();
                let alike = points.iter().all(|point| value(&point.run) == value(run));
                let value = match alike {
                    true => value(run).as_ref().map(plain).unwrap_or_default(),
                    false => "varies".to_owned(),
                };
                (value, plain(default))
            });
        }
    }
    if set.is_empty() {
        return;
    }
    let rows = set
        .into_iter()
        .map(|(name, (value, default))| [name.to_owned(), value, default]);
    page.section("Settings");
    page.table(["variable", "value", "default"], rows);
    page.end_section();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_suffixes() {
        assert_eq!(bytes("64M"), Some(67_108_864.0));
        assert_eq!(bytes("2g"), Some(2_147_483_648.0));
        for text in ["", "M", "ON", "64", "infM", "é"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn an_axis_has_numbers_that_differ() {
        let summary = |values: Value| -> Vec<SweepSummary> {
            let values = values.as_array().unwrap().clone();
            let row = |value| SweepSummary {
                set: Map::from_iter([("v".to_owned(), value)]),
                n: 1,
                tps: crate::stats::mean_interval_95(&[1.0]).unwrap(),
            };
            values.into_iter().map(row).collect()
        };
        let axis = Axis::of("v", &summary(serde_json::json!(["64M", "1G"]))).unwrap();
        assert_eq!(
            (axis.xs, axis.label.as_str()),
            (vec![64.0, 1024.0], "v (MiB)")
        );
        let axis = Axis::of("v", &summary(serde_json::json!([1, 16]))).unwrap();
        assert_eq!((axis.xs, axis.label.as_str()), (vec![1.0, 16.0], "v"));
        for values in [serde_json::json!([1, 1]), serde_json::json!(["ON", "OFF"])] {
            assert!(Axis::of("v", &summary(values)).is_none());
        }
    }
}
