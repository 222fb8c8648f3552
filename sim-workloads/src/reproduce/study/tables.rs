//! A study as tables: an answer a row, a variant a column.

use std::fmt::Write as _;

use crate::kernel::{Table, Value};
use crate::report::json::{StudiesDocument, StudyDocument, StudyRow, Validity};

/// All studies, for people.
pub fn text(document: &StudiesDocument) -> String {
    let mut text = String::new();
    for (number, study) in document.studies.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        one(&mut text, study);
    }
    text
}

/// Writing to a string cannot fail.
fn one(text: &mut String, study: &StudyDocument) {
    let _ = writeln!(
        text,
        "{} on {}, scale {}: how far its answers depend on what was fitted, on the disk and on \
         the scale; one seed, {:.0} s",
        study.name, study.machine, study.scale, study.measure_s
    );
    for table in sensitivity(study).iter().chain(&scales(study)) {
        let _ = write!(text, "\n{table}");
    }
    text.push('\n');
    for warning in &study.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    for failure in failures(study) {
        let _ = writeln!(text, "failed: {failure}");
    }
    let _ = writeln!(
        text,
        "{} runs carried out, {:.0} s",
        study.runs, study.wall_s
    );
}

/// Why figures are missing, each with its variant.
pub fn failures(study: &StudyDocument) -> Vec<String> {
    let of_row = |row: &StudyRow| {
        let variant = row.variant.clone();
        let failures = row.failures.clone().into_iter();
        failures.map(move |failure| format!("{variant}: {failure}"))
    };
    let mut all: Vec<String> = Vec::new();
    // The report's own scale is a row of two tables.
    for failure in study.rows().flat_map(of_row) {
        if !all.contains(&failure) {
            all.push(failure);
        }
    }
    all
}

/// A table for each fitted constant, and one for the disks' arbitration.
pub fn sensitivity(study: &StudyDocument) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for one in &study.constants {
        let columns = [
            ("-25 %".to_owned(), &one.less),
            ("as fitted".to_owned(), &study.as_fitted),
            ("+25 %".to_owned(), &one.more),
        ];
        let title = format!("{} = {}", one.constant.key, one.constant.value);
        tables.push(table(&title, study, &columns));
    }
    if !study.arbitration.is_empty() {
        let mut columns = vec![("as it is".to_owned(), &study.as_fitted)];
        let others = study.arbitration.iter();
        columns.extend(others.map(|row| (row.variant.clone(), row)));
        tables.push(table("Arbitration of the disk", study, &columns));
    }
    tables
}

/// The answers by scale, with what says whether a scale can be trusted.
pub fn scales(study: &StudyDocument) -> Option<Table> {
    if study.scales.is_empty() {
        return None;
    }
    let columns: Vec<_> = study
        .scales
        .iter()
        .map(|row| (format!("scale {}", row.variant), row))
        .collect();
    let mut table = table("Scales", study, &columns);
    type Figure = fn(&Validity) -> Option<f64>;
    let figures: [(&str, Figure, usize); 5] = [
        (
            "pages of a cleaner's round, % of the pool (at most 10)",
            |validity| Some(validity.round_share * 100.0),
            1,
        ),
        (
            "turnover of the pool, s (at least 10)",
            |validity| validity.turnover_s,
            0,
        ),
        (
            "from dirtying to flush, s (at least 10)",
            |validity| validity.dirty_to_flush_s,
            1,
        ),
        (
            "wait for pages under flush, us a transaction",
            |validity| Some(validity.flushed_page_wait_us),
            0,
        ),
        (
            "waits for row locks a transaction",
            |validity| Some(validity.row_lock_waits),
            4,
        ),
    ];
    for (text, figure, decimals) in figures {
        let mut row = vec![Value::from(text), "".into()];
        row.extend(study.scales.iter().map(|of| {
            let figure = of.validity.as_ref().and_then(figure);
            figure.map_or_else(|| "-".into(), |figure| Value::Number(figure, decimals))
        }));
        table.push(row);
    }
    Some(table)
}

fn table(title: &str, study: &StudyDocument, columns: &[(String, &StudyRow)]) -> Table {
    let heads: Vec<&str> = columns.iter().map(|(head, _)| head.as_str()).collect();
    let heads: Vec<&str> = ["", "published"].into_iter().chain(heads).collect();
    let mut table = Table::new(title, &heads);
    for (number, answer) in study.as_fitted.answers.iter().enumerate() {
        let mut row = vec![answer.text.as_str().into(), shown(answer.published)];
        let figures = columns.iter().map(|(_, row)| {
            let answer = row.answers.get(number);
            shown(answer.and_then(|answer| answer.figure))
        });
        row.extend(figures);
        table.push(row);
    }
    table
}

/// Three digits or more; a dash where there is none.
pub fn shown(figure: Option<f64>) -> Value {
    let Some(figure) = figure else {
        return "-".into();
    };
    let decimals = match figure.abs() {
        size if size < 10.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    };
    Value::Number(figure, decimals)
}

#[cfg(test)]
mod tests {
    use super::super::super::sample;
    use super::*;

    #[test]
    fn answers_are_rows_and_variants_are_columns() {
        let document = StudiesDocument {
            studies: vec![sample::study()],
        };
        insta::assert_snapshot!(text(&document), @"
        sky on laptop-nvme, scale 4: how far its answers depend on what was fitted, on the disk and on the scale; one seed, 60 s

        server.statement_us = 60.0
        |           | published | -25 % | as fitted | +25 % |
        |-----------|-----------|-------|-----------|-------|
        | effect, % |      14.3 |  8.50 |      9.00 |  10.2 |
        | tps | all | -         |   850 |       900 |  1025 |

        Arbitration of the disk
        |           | published | as it is | nvme: fifo, reads before programs |
        |-----------|-----------|----------|-----------------------------------|
        | effect, % |      14.3 |     9.00 |                             -1.00 |
        | tps | all | -         |      900 |                              -100 |

        Scales
        |                                                        | published | scale 4 | scale 2 |
        |--------------------------------------------------------|-----------|---------|---------|
        | effect, %                                              |      14.3 |    9.00 | -       |
        | tps | all                                              | -         |     900 | -       |
        | pages of a cleaner's round, % of the pool (at most 10) |           |     0.9 | -       |
        | turnover of the pool, s (at least 10)                  |           |      21 | -       |
        | from dirtying to flush, s (at least 10)                |           | -       | -       |
        | wait for pages under flush, us a transaction           |           |       9 | -       |
        | waits for row locks a transaction                      |           |  0.0012 | -       |

        warning: the sky is grey
        failed: 2: threads=1 seed=1: there is no room
        5 runs carried out, 61 s
        ");
    }
}
