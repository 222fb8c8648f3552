//! A page of the book that says how far the model can be trusted, made of results.
//!
//! ```text
//!   reproduce --full --json ──┐
//!                             ├──► fitted constants, errors, claims, sensitivity, scales
//!   reproduce --study --json ─┘    what is left out, warnings, the commands
//! ```
//!
//! Every figure and every sentence about a report comes from these results or from the
//! report's definition that was in the program when they were made; what was not run is
//! said to be missing.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value as Json};

use super::report::Amount;
use super::study::tables;
use super::{REPORTS, find};
use crate::kernel::{Table, Value};
use crate::report::json::{Cell, Finding, ReportDocument, StudyDocument};
use crate::stats::median;

/// The page of these reports and studies, in the order of the program's list of reports.
/// Of a report that is in neither it says that it is missing.
pub fn page(reports: &[ReportDocument], studies: &[StudyDocument]) -> String {
    let mut names: Vec<&str> = REPORTS.iter().map(|report| report.name()).collect();
    let others = reports.iter().map(|report| report.name.as_str());
    for name in others.chain(studies.iter().map(|study| study.name.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut page = String::from(INTRODUCTION);
    let mut versions: Vec<&str> = Vec::new();
    let of_reports = reports.iter().map(|report| report.innosim.as_str());
    for version in of_reports.chain(studies.iter().map(|study| study.innosim.as_str())) {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    let versions: Vec<&str> = versions
        .into_iter()
        .map(|version| {
            if version.is_empty() {
                "unknown"
            } else {
                version
            }
        })
        .collect();
    if !versions.is_empty() {
        let _ = writeln!(
            page,
            "\nMade from results of innosim {}.",
            versions.join(", ")
        );
    }
    for name in names {
        let of_name = |report: &&ReportDocument| report.name == name;
        let documents: Vec<&ReportDocument> = reports.iter().filter(of_name).collect();
        let mut studies = studies.iter();
        one(
            &mut page,
            name,
            &documents,
            studies.find(|study| study.name == name),
        );
    }
    page
}

const INTRODUCTION: &str = "\
# How far the model can be trusted

This page is made by `innosim reproduce --fidelity`, from results, and not by hand. For each
published report it tells which constants of the model were fitted and to what, how far the
other cells are from what was published, which claims hold, and how far the answers depend on
what was fitted, on the disk's arbitration and on the scale.
";

/// Writing to a string cannot fail, here and below.
fn one(page: &mut String, name: &str, reports: &[&ReportDocument], study: Option<&StudyDocument>) {
    let _ = writeln!(page, "\n## {name}\n\n```console");
    for command in commands(name, reports, study) {
        let _ = writeln!(page, "{command}");
    }
    page.push_str("```\n");
    if reports.is_empty() {
        let _ = writeln!(page, "\n**Missing:** the report's cells have not been run.");
    }
    for report in reports {
        machine(page, report);
    }
    match study {
        None => {
            let _ = writeln!(
                page,
                "\n### How far answers depend on the model\n\n**Missing:** the study has not been \
                 run."
            );
        }
        Some(study) => depends(page, study),
    }
    let leaves_out = reports.first().map(|report| report.leaves_out.as_slice());
    if let Some(sentences) = leaves_out.filter(|sentences| !sentences.is_empty()) {
        page.push_str("\n### What the model leaves out\n");
        list(page, sentences);
    }
}

/// What was typed to get these results.
fn commands(name: &str, reports: &[&ReportDocument], study: Option<&StudyDocument>) -> Vec<String> {
    let own = find(name)
        .ok()
        .map(|report| report.default_scale(Amount::Full));
    let scale = |scale: u64| match own {
        Some(own) if u64::from(own.get()) == scale => String::new(),
        _ => format!(" --scale {scale}"),
    };
    let mut commands = Vec::new();
    let full = match reports.first() {
        None => " --full".to_owned(),
        Some(report) if report.quick => scale(report.scale),
        Some(report) => format!(" --full{}", scale(report.scale)),
    };
    commands.push(format!("innosim reproduce {name}{full}"));
    let of_study = study.map_or(String::new(), |study| scale(study.scale));
    commands.push(format!("innosim reproduce --study {name}{of_study}"));
    commands
}

fn machine(page: &mut String, report: &ReportDocument) {
    let _ = writeln!(page, "\n### On {}, scale {}", report.machine, report.scale);
    if report.quick {
        page.push_str("\n**A shape only:** a few cells, short runs of one seed.\n");
    }
    list(page, &report.assumptions);
    for failure in &report.failures {
        let _ = writeln!(page, "\n**Missing:** {failure}");
    }
    page.push_str("\nFitted constants:\n");
    if report.constants.is_empty() {
        page.push_str("\nnone of this machine.\n");
    } else {
        let columns = ["constant", "value", "source", "cells fitted to"];
        let mut table = Table::new("", &columns);
        for constant in &report.constants {
            let cells: Vec<String> = constant.cells.iter().map(in_words).collect();
            table.push(vec![
                format!("`{}`", constant.key).into(),
                constant.value.as_str().into(),
                constant.source.clone().unwrap_or_default().into(),
                match cells.is_empty() {
                    true => "none: other figures of the report".into(),
                    false => cells.join("; ").into(),
                },
            ]);
        }
        markdown(page, &table);
    }
    errors(page, &report.cells);
    findings(page, "Claim", &report.claims);
    findings(page, "Control", &report.controls);
    if !report.warnings.is_empty() {
        page.push_str("\nWarnings:\n");
        list(page, &report.warnings);
    }
}

/// Errors of fitted cells and of predicted ones, by metric.
fn errors(page: &mut String, cells: &[Cell]) {
    let mut groups: BTreeMap<(&str, bool), Vec<(f64, &Cell)>> = BTreeMap::new();
    for cell in cells {
        if let Some(error) = cell.relative_error {
            let group = groups.entry((&cell.metric, cell.fitted)).or_default();
            group.push((error, cell));
        }
    }
    if groups.is_empty() {
        page.push_str("\n**Missing:** no cell with a published figure has been run.\n");
        return;
    }
    let columns = [
        "metric",
        "cells",
        "number",
        "median error",
        "worst error",
        "of",
    ];
    let mut table = Table::new("", &columns);
    for ((metric, fitted), mut errors) in groups {
        errors.sort_by(|(a, _), (b, _)| a.abs().total_cmp(&b.abs()));
        let sizes: Vec<f64> = errors.iter().map(|(error, _)| error.abs()).collect();
        let median = median(&sizes).map_or_else(
            || Value::from("-"),
            |median| format!("{:.1} %", median * 100.0).into(),
        );
        let Some((worst, cell)) = errors.last() else {
            continue;
        };
        table.push(vec![
            metric.into(),
            if fitted { "fitted" } else { "predicted" }.into(),
            Value::Number(errors.len() as f64, 0),
            median,
            Value::Change(*worst),
            in_words(&cell.labels).into(),
        ]);
    }
    page.push_str("\nErrors, (simulated - published) / published:\n");
    markdown(page, &table);
}

fn findings(page: &mut String, title: &str, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    let mut table = Table::new("", &[title, "figure", "holds"]);
    for finding in findings {
        let holds = match (finding.figure, finding.judged) {
            (None, _) => "missing",
            (Some(_), true) if finding.holds => "yes",
            (Some(_), true) => "**no**",
            (Some(_), false) if finding.holds => "yes; told either way",
            (Some(_), false) => "no; told either way",
        };
        let figure = finding
            .figure
            .map_or_else(|| "-".into(), super::text::rounded);
        table.push(vec![finding.text.as_str().into(), figure, holds.into()]);
    }
    markdown(page, &table);
}

fn depends(page: &mut String, study: &StudyDocument) {
    let _ = writeln!(
        page,
        "\n### How far answers depend on the model\n\nOn {}, one seed, {:.0} s measured.",
        study.machine, study.measure_s
    );
    let tables = tables::sensitivity(study);
    if study.constants.is_empty() {
        page.push_str("\nNo constant of this machine was fitted.\n");
    }
    for table in tables.iter().chain(&tables::scales(study)) {
        let _ = writeln!(page, "\n{}:", table.title);
        markdown(page, table);
    }
    for failure in tables::failures(study) {
        let _ = writeln!(page, "\n**Missing:** {failure}");
    }
    if !study.warnings.is_empty() {
        page.push_str("\nWarnings:\n");
        list(page, &study.warnings);
    }
}

/// Labels in a few words.
fn in_words(labels: &Map<String, Json>) -> String {
    let words = labels.values().map(|value| match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn list(page: &mut String, sentences: &[String]) {
    page.push('\n');
    for sentence in sentences {
        let _ = writeln!(page, "* {sentence}");
    }
}

fn markdown(page: &mut String, table: &Table) {
    let line = |page: &mut String, cells: &[String]| {
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    };
    page.push('\n');
    line(page, &table.columns);
    line(page, &vec!["---".to_owned(); table.columns.len()]);
    for row in &table.rows {
        // A bar would end the cell.
        let row = row
            .iter()
            .map(|value| value.to_string().replace('|', "\\|"));
        line(page, &row.collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// What the page of a few results has to be is in the repository.
    #[test]
    fn a_page_is_made_of_results() {
        let page = page(&[sample::report()], &[sample::study()]);
        insta::assert_snapshot!(page);
    }

    #[test]
    fn what_is_not_there_is_said_to_be_missing() {
        let without = page(&[], &[]);
        let missing = without.matches("**Missing:**").count();
        assert_eq!(missing, 2 * REPORTS.len(), "{without}");
        let mut report = sample::report();
        report.cells.clear();
        report.claims[0].figure = None;
        let page = page(&[report], &[]);
        for part in [
            "no cell with a published figure has been run",
            "| missing |",
            "the study has not been run",
            "rain: wet",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
