//! The cells of the isolation-levels report, published against simulated.

use serde::Deserialize;

use innosim_engine::runtime::time::{MILLISECOND, SECOND};

use super::{Cell, Isolation, Version, run_cell};
use crate::kernel::{Bar, Kernel, KernelOptions, KernelReport, Length, Table, Value};

const PUBLISHED: &str = include_str!("../../../../data/seeds/isolation-levels.csv");

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
        Length {
            warm_up: SECOND,
            measure: 2 * SECOND,
        }
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
    let mut cells = Vec::new();
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
        cells.push(Compared {
            cell,
            published: row.tps,
            simulated: result.tps,
        });
    }
    options.progress.finish();
    report.tables.push(table);
    report.bars = bars(&cells);
    Ok(report)
}

/// A cell's transactions a second.
#[derive(Clone, Copy, Debug)]
struct Compared {
    cell: Cell,
    published: f64,
    simulated: f64,
}

/// What must hold: what a thread adds to a transaction where the list walk is all that
/// counts, the plateau of the copied views, and both versions at full concurrency.
fn bars(cells: &[Compared]) -> Vec<Bar> {
    use Isolation::{ReadCommitted, RepeatableRead};
    let of = |version, isolation, threads: std::ops::RangeInclusive<u32>| {
        let chosen = cells.iter().filter(move |compared| {
            let cell = &compared.cell;
            (cell.version, cell.isolation) == (version, isolation)
                && threads.contains(&cell.threads)
        });
        chosen.copied().collect::<Vec<Compared>>()
    };
    let mut bars = Vec::new();
    for (isolation, name, from) in [(ReadCommitted, "RC", 64), (RepeatableRead, "RR", 128)] {
        let chosen = of(Version::V56, isolation, from..=u32::MAX);
        // With two points a line fits always.
        if chosen.len() > 2 {
            let text = format!("5.6 {name}, us a transaction for each thread, from {from} threads");
            let published = slope(chosen.iter().map(|one| (one.cell.threads, one.published)));
            let simulated = slope(chosen.iter().map(|one| (one.cell.threads, one.simulated)));
            bars.push(Bar::within(text, published, simulated, 0.2));
        }
    }
    for one in of(Version::V57, ReadCommitted, 72..=1024) {
        let text = format!("5.7 RC at {} threads against the plateau", one.cell.threads);
        bars.push(Bar::within(text, PLATEAU, one.simulated, 0.2));
    }
    for (version, name) in [(Version::V56, "5.6"), (Version::V57, "5.7")] {
        for one in of(version, RepeatableRead, 144..=144) {
            let text = format!("{name} RR at 144 threads");
            bars.push(Bar::within(text, one.published, one.simulated, 0.2));
        }
    }
    bars
}

/// Published transactions a second of 5.7 under RC from 72 to 1024 threads, their mean.
const PLATEAU: f64 = 15_000.0;

/// The slope of the least-squares line through microseconds a transaction against
/// threads: what one more transaction on the list costs every transaction.
fn slope(points: impl Iterator<Item = (u32, f64)> + Clone) -> f64 {
    let points = points.map(|(threads, tps)| (f64::from(threads), 1e6 / tps));
    let count = points.clone().count() as f64;
    let mean_x = points.clone().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.clone().map(|(_, y)| y).sum::<f64>() / count;
    let (mut products, mut squares) = (0.0, 0.0);
    for (x, y) in points {
        products += (x - mean_x) * (y - mean_y);
        squares += (x - mean_x) * (x - mean_x);
    }
    products / squares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_that_of_the_seed_reports_reading() {
        let mut rows: Vec<Row> = csv::Reader::from_reader(PUBLISHED.as_bytes())
            .deserialize()
            .collect::<Result<_, _>>()
            .unwrap();
        rows.retain(|row| row.engine.starts_with("5.6"));
        let of = |isolation: &'static str, from| {
            let chosen = rows
                .iter()
                .filter(move |row| row.transaction_isolation == isolation && row.threads >= from);
            slope(chosen.map(|row| (row.threads, row.tps)))
        };
        assert_eq!(format!("{:.2}", of("READ-COMMITTED", 64)), "1.20");
        assert_eq!(format!("{:.3}", of("REPEATABLE-READ", 128)), "0.157");
    }
}
