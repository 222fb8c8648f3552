//! Results for people: cells, claims and controls as tables.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::kernel::{Table, Value};
use crate::report::json::{Cell, Finding, ReportDocument, ReproduceDocument};

/// All reports.
pub fn text(document: &ReproduceDocument) -> String {
    let mut text = String::new();
    for (number, report) in document.reports.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        one(&mut text, report);
    }
    text
}

/// Writing to a string cannot fail, here and below.
fn one(text: &mut String, report: &ReportDocument) {
    let _ = writeln!(
        text,
        "{} on {}, scale {}",
        report.name, report.machine, report.scale
    );
    if report.quick {
        text.push_str(
            "shape: a few cells, short runs of one seed; --full reproduces with intervals and \
             controls\n",
        );
    }
    for assumption in &report.assumptions {
        let _ = writeln!(text, "  * {assumption}");
    }
    if !report.cells.is_empty() {
        let _ = write!(text, "\n{}", cells(report));
    }
    let verdict = if report.quick {
        "has the shape"
    } else {
        "reproduced"
    };
    for (title, verdict, findings) in [
        ("Claims", verdict, &report.claims),
        ("Controls", "holds", &report.controls),
    ] {
        if !findings.is_empty() {
            let _ = write!(text, "\n{}", table_of(title, verdict, findings));
        }
    }
    text.push('\n');
    for warning in &report.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    for failure in &report.failures {
        let _ = writeln!(text, "failed: {failure}");
    }
    let (runs, seconds) = (report.runs, report.wall_s);
    let _ = writeln!(text, "{runs} runs carried out, {seconds:.0} s");
}

/// The names of all labels, in the order of their first use.
pub fn label_names(cells: &[Cell]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in cells.iter().flat_map(|cell| cell.labels.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// A label's value as text; nothing where the cell has no such label.
pub fn label(cell: &Cell, name: &str) -> String {
    match cell.labels.get(name) {
        None => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn cells(report: &ReportDocument) -> Table {
    let names = label_names(&report.cells);
    let figures = ["metric", "published", "simulated", "±", "error", "fitted"];
    let columns: Vec<&str> = names.iter().copied().chain(figures).collect();
    let mut table = Table::new(
        "Published against simulated; ± is half a 95 % interval over the seeds",
        &columns,
    );
    for cell in &report.cells {
        let decimals = if cell.simulated.abs() < 100.0 { 2 } else { 0 };
        let dash = || Value::from("-");
        let labels = names.iter().map(|name| Value::from(label(cell, name)));
        let figures = [
            cell.metric.as_str().into(),
            cell.published
                .map_or_else(dash, |figure| Value::Number(figure, decimals)),
            Value::Number(cell.simulated, decimals),
            cell.ci95_high
                .map_or_else(dash, |high| Value::Number(high - cell.simulated, decimals)),
            cell.relative_error.map_or_else(dash, Value::Change),
            if cell.fitted { "yes" } else { "" }.into(),
        ];
        table.push(labels.chain(figures).collect());
    }
    table
}

fn table_of(title: &str, verdict: &str, findings: &[Finding]) -> Table {
    let mut table = Table::new(title, &["", "figure", verdict]);
    for finding in findings {
        let figure = finding.figure.map_or_else(|| "-".into(), rounded);
        let holds = said(finding);
        table.push(vec![finding.text.as_str().into(), figure, holds.into()]);
    }
    table
}

/// Whether a finding holds, in a word or two.
pub fn said(finding: &Finding) -> &'static str {
    match (finding.holds, finding.judged) {
        (true, true) => "yes",
        (false, true) => "NO",
        (true, false) => "yes (not judged)",
        (false, false) => "no (not judged)",
    }
}

/// Three digits or more.
pub(super) fn rounded(figure: f64) -> Value {
    let decimals = match figure.abs() {
        size if size < 10.0 => 3,
        size if size < 1000.0 => 1,
        _ => 0,
    };
    Value::Number(figure, decimals)
}

#[cfg(test)]
mod tests {
    use super::super::sample::report;
    use super::*;

    #[test]
    fn all_of_a_report_is_told() {
        let document = ReproduceDocument {
            reports: vec![report()],
        };
        insta::assert_snapshot!(text(&document), @"
        sky on laptop-nvme, scale 4
          * It is day.

        Published against simulated; ± is half a 95 % interval over the seeds
        | flavor    | threads | time_s | metric         | published | simulated | ± | error  | fitted |
        |-----------|---------|--------|----------------|-----------|-----------|---|--------|--------|
        | mysql-5.6 | 36      |        | tps            |       200 |       208 | 5 | +4.0 % | yes    |
        |           | 1       | 60     | latency_ms.avg | -         |      1.50 | - | -      |        |

        Claims
        |               | figure | reproduced |
        |---------------|--------|------------|
        | the sky is up |  0.062 | yes        |
        | the sky is up |  0.062 | NO         |

        Controls
        |               | figure | holds           |
        |---------------|--------|-----------------|
        | the sky is up |  0.062 | no (not judged) |

        warning: clouds
        failed: rain: wet
        4 runs carried out, 3 s
        ");
    }

    #[test]
    fn a_short_form_reproduces_nothing() {
        let quick = ReportDocument {
            quick: true,
            ..report()
        };
        let text = text(&ReproduceDocument {
            reports: vec![quick],
        });
        assert!(text.contains("\nshape: "), "{text}");
        assert!(
            text.contains("has the shape") && !text.contains("reproduced"),
            "{text}"
        );
    }

    #[test]
    fn what_is_told_either_way_decides_nothing() {
        let mut document = report();
        assert!(!document.all_hold());
        document.failures.clear();
        assert!(!document.all_hold());
        document.claims.retain(|claim| claim.holds);
        assert!(document.all_hold());
        document.controls[0].judged = true;
        assert!(!document.all_hold());
    }
}
