//! The page of reproduced reports.

use super::Page;
use super::chart::{Bar, bars};
use crate::report::json::{Cell, Finding, ReportDocument, ReproduceDocument};
use crate::reproduce::text::{label, label_names, said};

/// Reports as an HTML page.
pub fn reproduce(document: &ReproduceDocument) -> String {
    let mut page = Page::new("Published reports, reproduced");
    for report in &document.reports {
        one(&mut page, report);
    }
    page.end()
}

fn one(page: &mut Page, report: &ReportDocument) {
    page.heading(&format!(
        "{} on {}, scale {}",
        report.name, report.machine, report.scale
    ));
    if report.quick {
        page.warning("A shape: a few cells, short runs of one seed.");
    }
    for text in &report.assumptions {
        page.paragraph(text);
    }
    findings(page, "What the report says", &report.claims);
    findings(page, "Controls", &report.controls);
    let rates = report
        .cells
        .iter()
        .filter(|cell| !cell.metric.contains("latency"));
    let rates: Vec<Bar> = rates.flat_map(pair).collect();
    page.drawing(&bars(&rates));
    cells(page, &report.cells);
    for text in report.warnings.iter().chain(&report.failures) {
        page.warning(text);
    }
}

/// A published figure, where there is one, and ours below it.
fn pair(cell: &Cell) -> Vec<Bar> {
    let labels = cell.labels.keys();
    let labels: Vec<String> = labels
        .map(|name| format!("{name}={}", label(cell, name)))
        .collect();
    let published = cell.published.map(|value| Bar {
        label: format!("{} published", labels.join(" ")),
        value,
        interval: None,
    });
    let ours = Bar {
        label: match published {
            Some(_) => "simulated".to_owned(),
            None => labels.join(" "),
        },
        value: cell.simulated,
        interval: cell.ci95_low.zip(cell.ci95_high),
    };
    published.into_iter().chain([ours]).collect()
}

fn findings(page: &mut Page, title: &str, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    let rows = findings.iter().map(|finding| {
        let figure = finding.figure;
        let figure = figure.map_or("-".to_owned(), |figure| format!("{figure:.3}"));
        [finding.text.clone(), figure, said(finding).to_owned()]
    });
    page.table([title, "figure", "holds"], rows);
}

fn cells(page: &mut Page, cells: &[Cell]) {
    let names = label_names(cells);
    let figures = [
        "metric",
        "published",
        "simulated",
        "95 % from",
        "to",
        "error",
        "fitted",
    ];
    let header: Vec<String> = names
        .iter()
        .chain(&figures)
        .map(|&name| name.to_owned())
        .collect();
    let rows = cells.iter().map(|cell| {
        let number = |figure: Option<f64>| figure.map_or("-".to_owned(), |f| format!("{f:.2}"));
        let error = cell.relative_error;
        let figures = [
            cell.metric.clone(),
            number(cell.published),
            number(Some(cell.simulated)),
            number(cell.ci95_low),
            number(cell.ci95_high),
            error.map_or("-".to_owned(), |error| format!("{:+.1} %", error * 100.0)),
            if cell.fitted { "yes" } else { "" }.to_owned(),
        ];
        names
            .iter()
            .map(|name| label(cell, name))
            .chain(figures)
            .collect()
    });
    page.wide_table(&header, rows);
}
