//! What a calibration says: tables for people, the same figures as JSON for programs.

use std::fmt;

use serde::Serialize;

use super::cpu::fit::CpuFit;
use super::disk::fit::FittedPoint;
use super::execute::Options;
use super::host_profile::Measurements;
use super::latches::{Figure, LatchFigures};
use crate::kernel::{Table, Value};

/// Everything a calibration found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibrationReport {
    /// The version of the program.
    pub innosim: &'static str,
    /// The call, with its date.
    pub call: String,
    /// CPU costs, if they were measured.
    pub cpu: Option<CpuFit>,
    /// Lines, wake-ups, switches, likewise.
    pub latches: Option<LatchFigures>,
    /// The disk at its points, likewise.
    pub disk: Vec<FittedPoint>,
    /// Median of the absolute relative errors of the disk's points.
    pub disk_median_error: Option<f64>,
    /// The profile, as text.
    pub profile: String,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl CalibrationReport {
    pub(super) fn new(
        options: &Options,
        measured: &Measurements,
        disk: Vec<FittedPoint>,
        profile: String,
        warnings: Vec<String>,
    ) -> Self {
        CalibrationReport {
            innosim: env!("CARGO_PKG_VERSION"),
            call: options.call.clone(),
            cpu: measured.cpu.clone(),
            latches: measured.latches.clone(),
            disk,
            disk_median_error: measured.disk.as_ref().map(|fit| fit.median_error),
            profile,
            warnings,
        }
    }
}

fn sure(value: Option<f64>, decimals: usize) -> Value {
    value.map_or_else(|| "-".into(), |value| Value::Number(value, decimals))
}

fn cpu_tables(fit: &CpuFit) -> [Table; 3] {
    let columns = [
        "transaction of",
        "driver us",
        "default us",
        "measured us",
        "predicted us",
        "error",
        "spread",
    ];
    let title = format!(
        "CPU of one-thread runs, a transaction; median error {:.1} %",
        fit.median_error * 100.0
    );
    let mut runs = Table::new(title, &columns);
    for run in &fit.runs {
        runs.push(vec![
            run.name.into(),
            Value::Number(run.driver_us, 2),
            Value::Number(run.default_us, 2),
            Value::Number(run.measured_us, 2),
            Value::Number(run.predicted_us, 2),
            Value::Change(run.relative_error),
            Value::Change(run.spread),
        ]);
    }
    let columns = [
        "costs of",
        "times the default",
        "standard error",
        "identified",
    ];
    let mut groups = Table::new("Multiples of the cost table", &columns);
    for group in &fit.groups {
        groups.push(vec![
            group.name.into(),
            Value::Number(group.multiple, 2),
            sure(group.standard_error, 2),
            if group.identified {
                "yes"
            } else {
                "no: keeps its defaults"
            }
            .into(),
        ]);
    }
    groups.push(vec![
        "a statement, us, uncharged".into(),
        Value::Number(fit.statement_us, 2),
        sure(fit.statement_standard_error, 2),
        "-".into(),
    ]);
    groups.push(vec![
        "a statement, us, driver".into(),
        Value::Number(fit.driver_statement_us(), 2),
        "-".into(),
        "-".into(),
    ]);
    let columns = ["cost", "default ns", "quartile ns", "median ns", "batches"];
    let mut pages = Table::new("Costs of a whole page, measured by themselves", &columns);
    for page in &fit.pages {
        pages.push(vec![
            page.name.into(),
            Value::Number(page.default, 0),
            Value::Number(page.nanoseconds, 0),
            Value::Number(page.median, 0),
            Value::Number(page.batches as f64, 0),
        ]);
    }
    [runs, groups, pages]
}

fn latch_table(figures: &LatchFigures) -> Table {
    let mut table = Table::new(
        "What threads cost each other",
        &["figure", "quartile", "median", "batches"],
    );
    let mut row = |name: &str, figure: Option<Figure>| {
        if let Some(figure) = figure {
            table.push(vec![
                name.into(),
                Value::Number(figure.value, 3),
                Value::Number(figure.median, 3),
                Value::Number(figure.batches as f64, 0),
            ]);
        }
    };
    row(
        "line from another core of the socket, ns",
        figures.line_same_socket_ns,
    );
    row("line from another socket, ns", figures.line_cross_socket_ns);
    row("PAUSE, ns", Some(figures.pause_ns));
    row("yield to nobody, us", Some(figures.yield_call_us));
    row("switch to another thread, us", figures.context_switch_us);
    row("call that wakes, us", Some(figures.wake_call_us));
    row(
        "that call until the thread runs, us",
        Some(figures.wake_total_us),
    );
    row(
        "CPU of a sleep and a wake-up, us",
        Some(figures.sleep_cycle_cpu_us),
    );
    row(
        "a sleep of 1 ms beyond that, us",
        Some(figures.timer_slack_us),
    );
    table
}

fn disk_table(points: &[FittedPoint], median_error: Option<f64>) -> Table {
    let title = format!(
        "The disk; median error of the mean times {:.1} %",
        median_error.unwrap_or(f64::NAN) * 100.0
    );
    let columns = [
        "request",
        "measured/s",
        "predicted/s",
        "measured us",
        "predicted us",
        "error",
        "spread",
        "cv",
        "predicted cv",
        "CPU us",
        "predicted CPU us",
    ];
    let mut table = Table::new(title, &columns);
    for point in points {
        let (m, p) = (&point.measured, &point.predicted);
        table.push(vec![
            point.point.label().into(),
            Value::Number(m.per_second, 0),
            Value::Number(p.per_second, 0),
            Value::Number(m.mean_us, 1),
            Value::Number(p.mean_us, 1),
            Value::Change(point.relative_error),
            Value::Change(point.spread),
            Value::Number(m.cv, 2),
            Value::Number(p.cv, 2),
            Value::Number(m.cpu_us, 1),
            Value::Number(p.cpu_us, 1),
        ]);
    }
    table
}

impl fmt::Display for CalibrationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.call)?;
        if let Some(figures) = &self.latches {
            write!(f, "\n{}", latch_table(figures))?;
        }
        if !self.disk.is_empty() {
            write!(f, "\n{}", disk_table(&self.disk, self.disk_median_error))?;
        }
        if let Some(fit) = &self.cpu {
            for table in cpu_tables(fit) {
                write!(f, "\n{table}")?;
            }
        }
        Ok(())
    }
}
