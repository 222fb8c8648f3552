//! The page of reproduced reports: each with its plots, its cells, and what holds.
//!
//! Cells that differ in `threads`, or in another label with at least three numbers, are curves
//! over it; others are pairs of bars. Published figures are beside ours in either.

use super::bars::{Pair, pairs, short};
use super::budget;
use super::origin::Origin;
use super::page::{Page, Row};
use super::plot::{Point, curves};
use crate::report::json::{Cell, Finding, ReportDocument, ReproduceDocument};
use crate::reproduce::text::{label, label_names, said};

/// Values of a label that make an axis.
const AXIS_MIN: usize = 3;

/// What is drawn in a plot.
const SIGNS: &str = r#"<ul class="legend">
<li><svg class="sign" viewBox="0 0 32 18"><path d="M0 9H32"/><circle class="point" cx="16" cy="9" r="4"/></svg>simulated</li>
<li><svg class="sign" viewBox="0 0 32 18"><path class="area" d="M0 3H32V15H0z"/><path d="M10 3h12M16 3v12M10 15h12"/></svg>95 % interval over the seeds</li>
<li><svg class="sign" viewBox="0 0 32 18"><path d="M16 2l7 7l-7 7l-7-7z"/></svg>published</li>
</ul>
"#;

/// Reports as an HTML page.
pub fn reproduce(document: &ReproduceDocument, origin: &Origin) -> String {
    let mut page = Page::new("Published reports, reproduced");
    let target = |number: usize| format!("report-{number}");
    let reports = document.reports.iter().enumerate();
    if document.reports.len() > 1 {
        let link = |(number, report): (usize, &ReportDocument)| (target(number), title(report));
        page.links(&reports.clone().map(link).collect::<Vec<_>>());
    }
    for (number, report) in reports {
        one(&mut page, &target(number), report);
    }
    let cells = document.reports.iter().flat_map(|report| &report.cells);
    let mut seeds: Vec<u64> = cells.flat_map(|cell| cell.seeds.clone()).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    origin.write(&mut page, &format!("seeds {}", seeds.join(", ")));
    page.end()
}

fn title(report: &ReportDocument) -> String {
    format!("{} on {}", report.name, report.machine)
}

fn one(page: &mut Page, target: &str, report: &ReportDocument) {
    page.target_section(target, &title(report));
    at_a_glance(page, report);
    plots(page, &report.cells);
    findings(page, "Claims", verdict(report), &report.claims);
    findings(page, "Controls", "holds", &report.controls);
    if !report.cells.is_empty() {
        page.heading("Cells");
        cells(page, &report.cells);
        budgets(page, &report.cells);
    }
    for file in &report.option_files {
        page.folded(&format!("Settings: {}", file.name), |page| {
            page.preformatted(&file.text);
        });
    }
    page.end_section();
}

/// One seed has no interval: it has a shape, or has not.
fn verdict(report: &ReportDocument) -> &'static str {
    match report.quick {
        true => "has the shape",
        false => "reproduced",
    }
}

fn at_a_glance(page: &mut Page, report: &ReportDocument) {
    if report.quick {
        page.warning("A shape: a few cells, short runs of one seed. Nothing is reproduced by it.");
    }
    let held = |findings: &[Finding]| {
        let judged = findings.iter().filter(|finding| finding.judged);
        let holding = judged.clone().filter(|finding| finding.holds).count();
        match judged.count() {
            0 => "–".to_owned(),
            all => format!("{holding} of {all}"),
        }
    };
    let predicted = report.cells.iter().filter(|cell| !cell.fitted);
    let errors = predicted.filter_map(|cell| cell.relative_error);
    let mut errors: Vec<f64> = errors.map(f64::abs).collect();
    errors.sort_by(f64::total_cmp);
    let median = match errors.is_empty() {
        true => "–".to_owned(),
        false => format!("{:.1} %", errors[errors.len() / 2] * 100.0),
    };
    page.tiles([
        ("claims that hold", held(&report.claims)),
        ("controls that hold", held(&report.controls)),
        ("median error of predicted cells", median),
        ("sizes are divided by", report.scale.to_string()),
    ]);
    page.heading("How the report is read");
    page.list(&report.assumptions);
    for text in &report.warnings {
        page.warning(text);
    }
    for text in &report.failures {
        page.warning(&format!("Failed: {text}"));
    }
}

/// A plot or bars for each metric.
fn plots(page: &mut Page, cells: &[Cell]) {
    let mut metrics: Vec<&str> = Vec::new();
    for cell in cells {
        if !metrics.contains(&cell.metric.as_str()) {
            metrics.push(&cell.metric);
        }
    }
    for metric in metrics {
        let of_metric: Vec<&Cell> = cells.iter().filter(|cell| cell.metric == metric).collect();
        let name = in_words(metric);
        match axis(&of_metric) {
            Some(axis) => {
                let curves = curves(&axis, &name, &columns(&of_metric, &axis));
                page.plot(&format!("{name} against {axis}"), curves);
                page.raw(SIGNS);
                page.note("A click on a name hides its line.");
            }
            None => {
                page.heading(&name);
                page.raw(&pairs(&of_metric.into_iter().map(pair).collect::<Vec<_>>()));
            }
        }
    }
}

/// A metric with its unit.
fn in_words(metric: &str) -> String {
    match metric {
        "tps" => "transactions/s".to_owned(),
        "qps" => "statements/s".to_owned(),
        "latency_ms.avg" => "mean latency (ms)".to_owned(),
        other => other.to_owned(),
    }
}

/// The label with the most numbers, if there are enough: the axis.
fn axis(cells: &[&Cell]) -> Option<String> {
    let names = cells.first()?.labels.keys();
    let values = |name: &String| -> Option<usize> {
        let value = |cell: &&Cell| cell.labels.get(name)?.as_f64();
        let mut values: Vec<f64> = cells.iter().map(value).collect::<Option<_>>()?;
        values.sort_by(f64::total_cmp);
        values.dedup();
        Some(values.len())
    };
    let counted = names.filter_map(|name| Some((values(name)?, name)));
    let enough = counted.filter(|(count, _)| *count >= AXIS_MIN);
    // Of equal ones the first.
    let most = enough.reduce(|best, next| if next.0 > best.0 { next } else { best });
    Some(most?.1.clone())
}

/// A curve for each combination of the other labels.
fn columns(cells: &[&Cell], axis: &str) -> Vec<(String, Vec<Point>)> {
    let mut columns: Vec<(String, Vec<Point>)> = Vec::new();
    for cell in cells {
        let point = Point {
            x: cell.labels[axis].as_f64().unwrap_or_default(),
            y: cell.simulated,
            interval: cell.ci95_low.zip(cell.ci95_high),
            published: cell.published,
        };
        let name = label_but(cell, axis);
        match columns.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push(point),
            None => columns.push((name, vec![point])),
        }
    }
    columns
}

/// The values of a cell's labels; those of numbers with their names.
fn label_but(cell: &Cell, but: &str) -> String {
    let parts = cell.labels.iter().filter(|(name, _)| *name != but);
    let parts = parts.map(|(name, value)| match value.as_str() {
        Some(text) => text.to_owned(),
        None => format!("{name}={value}"),
    });
    let name = parts.collect::<Vec<_>>().join(" ");
    match name.is_empty() {
        true => "simulated".to_owned(),
        false => name,
    }
}

fn pair(cell: &Cell) -> Pair {
    let error = match cell.relative_error {
        Some(error) => format!(" ({:+.1} %)", error * 100.0),
        None => String::new(),
    };
    Pair {
        label: label_but(cell, ""),
        published: cell.published,
        simulated: cell.simulated,
        interval: cell.ci95_low.zip(cell.ci95_high),
        value: format!("{}{error}", short(cell.simulated)),
    }
}

fn findings(page: &mut Page, title: &str, verdict: &str, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    page.heading(title);
    let rows = findings.iter().map(|finding| {
        let figure = finding.figure.map_or("–".to_owned(), short);
        [said(finding).to_owned(), figure, finding.text.clone()]
    });
    page.table([verdict, "figure", "what is said"], rows);
    page.note("Shares and errors among the figures are fractions: 0.134 is 13.4 %.");
}

fn cells(page: &mut Page, cells: &[Cell]) {
    let names = label_names(cells);
    let any_fitted = cells.iter().any(|cell| cell.fitted);
    let figures = [
        "metric",
        "published",
        "simulated",
        "95 % from",
        "to",
        "error",
        "seeds",
    ];
    let columns = names.iter().chain(&figures).copied();
    let columns = columns.chain(any_fitted.then_some("fitted"));
    let header: Vec<String> = columns.map(str::to_owned).collect();
    let rows = cells.iter().map(|cell| {
        let number = |figure: Option<f64>| figure.map_or("–".to_owned(), short);
        let error = cell.relative_error;
        let figures = [
            cell.metric.clone(),
            number(cell.published),
            number(Some(cell.simulated)),
            number(cell.ci95_low),
            number(cell.ci95_high),
            error.map_or("–".to_owned(), |error| format!("{:+.1} %", error * 100.0)),
            cell.n.to_string(),
        ];
        let fitted = any_fitted.then(|| if cell.fitted { "fitted" } else { "" }.to_owned());
        let labels = names.iter().map(|name| label(cell, name));
        let row = Row::from(labels.chain(figures).chain(fitted).collect::<Vec<_>>());
        row.with_class(cell.fitted.then_some("fitted"))
    });
    page.wide_table(&header, rows);
    page.note(match any_fitted {
        true => {
            "A constant of the model was fitted to the marked cells; all others are predictions."
        }
        false => "No constant of the model was fitted to these cells: all are predictions.",
    });
}

/// Where the time goes in each cell, once for all its metrics.
fn budgets(page: &mut Page, cells: &[Cell]) {
    let mut budgets = Vec::new();
    for cell in cells {
        let label = label_but(cell, "");
        if let Some(budget) = cell.time_budget
            && !budgets.iter().any(|(known, _)| *known == label)
        {
            budgets.push((label, budget));
        }
    }
    if !budgets.is_empty() {
        page.folded(
            "Where the time of a mean transaction goes, by cell",
            |page| {
                budget::bars(page, &budgets);
            },
        );
    }
}
