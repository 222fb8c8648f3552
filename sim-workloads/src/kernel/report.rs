//! What a kernel experiment says: estimates, tables, and bars that hold or do not.
//!
//! The same report is a text for people and an object for programs. Figures keep their
//! full precision in JSON; the text rounds them to what is meaningful.

use std::fmt;

use comfy_table::{CellAlignment, presets};
use serde::{Serialize, Serializer};

use crate::stats::MeanInterval;

/// A figure that was published, and how close the simulation must come.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// What is compared, with its unit.
    pub text: String,
    /// As published.
    pub published: f64,
    /// As simulated.
    pub simulated: f64,
    /// What is accepted, in words.
    pub accepted: String,
    /// Whether it is met.
    pub holds: bool,
}

impl Bar {
    /// A bar that holds if the simulated figure is within a share of the published one:
    /// 0.06 is 6 %.
    pub fn within(text: impl Into<String>, published: f64, simulated: f64, share: f64) -> Self {
        Bar {
            text: text.into(),
            published,
            simulated,
            accepted: format!("within {} %", (share * 1e4).round() / 100.0),
            holds: (simulated - published).abs() <= share * published.abs(),
        }
    }

    /// (simulated - published) / published.
    pub fn relative_error(&self) -> f64 {
        self.simulated / self.published - 1.0
    }
}

/// A value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A label.
    Text(String),
    /// A figure, and the decimals that it is printed with.
    Number(f64, usize),
    /// A share that is printed as a signed percentage: 0.062 is +6.2 %.
    Change(f64),
}

impl Value {
    /// Half the width of a 95 % interval; a dash where one sample has none.
    pub fn half_width(interval: &MeanInterval, decimals: usize) -> Self {
        match interval.ci95_high {
            Some(high) => Value::Number(high - interval.mean, decimals),
            None => "-".into(),
        }
    }

    /// A whole number.
    pub fn count(value: impl Into<f64>) -> Self {
        Value::Number(value.into(), 0)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Number(value, decimals) => write!(f, "{value:.decimals$}"),
            Value::Change(share) => write!(f, "{:+.1} %", share * 100.0),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Text(text) => serializer.serialize_str(text),
            Value::Number(value, _) | Value::Change(value) => serializer.serialize_f64(*value),
        }
    }
}

/// A table of figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// What it shows, and how it was made.
    pub title: String,
    /// Heads of the columns, with units.
    pub columns: Vec<String>,
    /// As many values a row as there are columns.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        Table {
            title: title.into(),
            columns: columns.iter().map(|&column| column.into()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has not as many values as there are columns.
    pub fn push(&mut self, row: Vec<Value>) {
        assert_eq!(row.len(), self.columns.len(), "a value for each column");
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let mut table = comfy_table::Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(&self.columns);
        for row in &self.rows {
            table.add_row(row.iter().map(|value| {
                let right = !matches!(value, Value::Text(_));
                let cell = comfy_table::Cell::new(value);
                if right {
                    cell.set_alignment(CellAlignment::Right)
                } else {
                    cell
                }
            }));
        }
        writeln!(f, "{table}")
    }
}

/// All that an experiment says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelReport {
    /// The version of the program.
    pub innosim: &'static str,
    /// The experiment's name.
    pub kernel: &'static str,
    /// The machine's name.
    pub machine: String,
    /// The first seed.
    pub seed: u64,
    /// `lazy` or `always`.
    pub settle: &'static str,
    /// Whether it is the short form.
    pub quick: bool,
    /// What queueing theory expects, made before the run.
    pub estimate: Vec<String>,
    /// The figures.
    pub tables: Vec<Table>,
    /// The figures that are judged.
    pub bars: Vec<Bar>,
}

impl KernelReport {
    /// A report of an experiment that has not been run yet.
    pub fn new(kernel: super::Kernel, options: &super::KernelOptions) -> Self {
        use innosim_engine::runtime::virtual_clock::Settle;
        KernelReport {
            innosim: env!("CARGO_PKG_VERSION"),
            kernel: kernel.name(),
            machine: options.machine.name.clone(),
            seed: options.seed,
            settle: match options.settle {
                Settle::Lazy => "lazy",
                Settle::Always => "always",
            },
            quick: options.quick,
            estimate: Vec::new(),
            tables: Vec::new(),
            bars: Vec::new(),
        }
    }

    /// Whether every bar holds.
    pub fn all_hold(&self) -> bool {
        self.bars.iter().all(|bar| bar.holds)
    }
}

impl fmt::Display for KernelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = if self.quick { ", quick" } else { "" };
        writeln!(
            f,
            "kernel {} on {}, seed {}, settle {}{length}\n",
            self.kernel, self.machine, self.seed, self.settle
        )?;
        for line in &self.estimate {
            writeln!(f, "{line}")?;
        }
        for table in &self.tables {
            write!(f, "\n{table}")?;
        }
        let columns = [
            "bar",
            "published",
            "simulated",
            "error",
            "accepted",
            "holds",
        ];
        let mut table = Table::new("Published against simulated", &columns);
        for bar in &self.bars {
            let decimals = if bar.published.abs() < 100.0 { 2 } else { 0 };
            table.push(vec![
                bar.text.as_str().into(),
                Value::Number(bar.published, decimals),
                Value::Number(bar.simulated, decimals),
                Value::Change(bar.relative_error()),
                bar.accepted.as_str().into(),
                if bar.holds { "yes" } else { "NO" }.into(),
            ]);
        }
        write!(f, "\n{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_holds_up_to_its_tolerance_on_both_sides() {
        let holds = |simulated| Bar::within("reads/s", 1000.0, simulated, 0.06).holds;
        assert!(holds(1060.0) && holds(940.0));
        assert!(!holds(1060.1) && !holds(939.9));
        assert!(!holds(f64::NAN));
        let bar = Bar::within("reads/s", 1000.0, 1030.0, 0.06);
        assert_eq!(bar.accepted, "within 6 %");
        assert!((bar.relative_error() - 0.03).abs() < 1e-12);
    }

    #[test]
    fn the_text_rounds_and_the_json_does_not() {
        let mut table = Table::new("Reads", &["clients", "reads/s", "change"]);
        table.push(vec![
            "eight".into(),
            Value::Number(961.25, 0),
            Value::Change(0.0625),
        ]);
        assert_eq!(
            table.to_string(),
            "Reads\n\
             | clients | reads/s | change |\n\
             |---------|---------|--------|\n\
             | eight   |     961 | +6.2 % |\n"
        );
        let json = serde_json::to_value(&table).unwrap();
        assert_eq!(
            json["rows"][0],
            serde_json::json!(["eight", 961.25, 0.0625])
        );
    }
}
