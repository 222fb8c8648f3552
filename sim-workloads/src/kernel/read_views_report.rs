//! The cells of the isolation-levels report, published against simulated.

use serde::Deserialize;

use innosim_engine::runtime::time::MILLISECOND;

use super::read_views::{Cell, Isolation, Length, Version, run_cell};
use super::{Kernel, KernelOptions, KernelReport, Table, Value};

const PUBLISHED: &str = include_str!("../../../data/seeds/isolation-levels.csv");

#[derive(Deserialize)]
struct Row {
    engine: String,
    transaction_isolation: String,
    threads: u32,
    tps: f64,
}

/// Runs every published cell.
///
/// # Errors
/// If the machine cannot be built or the simulation stalls.
pub fn report(options: &KernelOptions) -> anyhow::Result<KernelReport> {
    let mut report = KernelReport::new(Kernel::ReadViews, options);
    report.estimate = vec![
        "Estimate at saturation, us of the mutex per transaction: 5.6, 15 (RC) or 2 (RR) walks"
            .into(),
        "of 0.080 us for each of n transactions; 5.7, 34 (RC) or 7 (RR) sections of 2 us.".into(),
    ];
    let length = if options.quick {
        Length {
            warm_up: 200 * MILLISECOND,
            measure: 300 * MILLISECOND,
        }
    } else {
        Length::default()
    };
    let mut rows = Vec::new();
    for row in csv::Reader::from_reader(PUBLISHED.as_bytes()).deserialize() {
        let row: Row = row?;
        if !options.quick || [1, 36, 144, 1024].contains(&row.threads) {
            rows.push(row);
        }
    }
    options.progress.expect(rows.len() as u64);
    let columns = [
        "engine",
        "isolation",
        "threads",
        "published tps",
        "simulated",
        "error",
    ];
    let mut table = Table::new(
        "Transactions a second by isolation level and threads",
        &columns,
    );
    for row in rows {
        let read_committed = row.transaction_isolation == "READ-COMMITTED";
        let cell = Cell {
            version: if row.engine.starts_with("5.6") {
                Version::V56
            } else {
                Version::V57
            },
            isolation: if read_committed {
                Isolation::ReadCommitted
            } else {
                Isolation::RepeatableRead
            },
            threads: row.threads,
        };
        let (cpu, seed) = (&options.machine.cpu, options.seed);
        let result = run_cell(cpu, &cell, length, options.settle, seed)?;
        let step = format!(
            "{} {} {}",
            row.engine, row.transaction_isolation, row.threads
        );
        options.progress.step(&step);
        table.push(vec![
            row.engine.into(),
            row.transaction_isolation.into(),
            Value::count(row.threads),
            Value::count(row.tps),
            Value::count(result.tps),
            Value::Change(result.tps / row.tps - 1.0),
        ]);
    }
    options.progress.finish();
    report.tables.push(table);
    Ok(report)
}
