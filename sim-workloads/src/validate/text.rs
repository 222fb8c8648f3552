//! A validation as text.

use std::fmt;

use super::execute::Validation;
use super::judge::{JudgedCell, parts};
use crate::kernel::{Table, Value};

/// The labels in a few words: the values, in the order of the title.
fn name(cell: &JudgedCell) -> String {
    let words: Vec<String> = cell
        .labels
        .values()
        .map(|value| value.as_str().map_or(value.to_string(), str::to_owned))
        .collect();
    words.join(" ")
}

/// The use of time in which real and predicted differ most.
fn largest_difference(cell: &JudgedCell) -> String {
    let (real, predicted) = (parts(&cell.real_budget), parts(&cell.predicted_budget));
    let pairs = real
        .iter()
        .zip(&predicted)
        .map(|(&(name, real), &(_, predicted))| (name, real, predicted));
    pairs
        .max_by(|a, b| (a.1 - a.2).abs().total_cmp(&(b.1 - b.2).abs()))
        .map_or(String::new(), |(name, real, predicted)| {
            format!("{name} {real:.0} -> {predicted:.0} us")
        })
}

impl fmt::Display for Validation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "validate, grid {}, {} real runs a cell, against the profile {}\n",
            self.grid, self.repeats, self.machine
        )?;
        let columns = [
            "workload, threads, dblwr pages, redo, flush at commit",
            "real tps",
            "spread",
            "predicted",
            "error",
            "real pages/trx",
            "predicted",
            "error",
            "others' CPU",
            "largest difference",
        ];
        let mut table = Table::new("The same runs under both clocks", &columns);
        let share = |value: Option<f64>| value.map_or_else(|| "-".into(), Value::Change);
        for cell in &self.cells {
            table.push(vec![
                name(cell).into(),
                Value::Number(cell.tps.real, 0),
                share(cell.tps.spread),
                Value::Number(cell.tps.predicted, 0),
                share(cell.tps.relative_error),
                Value::Number(cell.pages_written.real, 3),
                Value::Number(cell.pages_written.predicted, 3),
                share(cell.pages_written.relative_error),
                Value::Change(cell.others_cpu),
                largest_difference(cell).into(),
            ]);
        }
        write!(f, "{table}")?;
        let mut bars = Table::new("\nBars", &["bar", "median error", "accepted", "holds"]);
        for bar in &self.bars {
            bars.push(vec![
                bar.text.as_str().into(),
                share(bar.median_error),
                Value::Change(bar.accepted),
                if bar.holds { "yes" } else { "NO" }.into(),
            ]);
        }
        write!(f, "{bars}")?;
        for warning in &self.warnings {
            writeln!(f, "\nwarning: {warning}")?;
        }
        Ok(())
    }
}
