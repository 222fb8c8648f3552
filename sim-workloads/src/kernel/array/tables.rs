//! The array against the published rates, and what the span of its seeks costs.

use serde::Deserialize;

use innosim_engine::runtime::time::SECOND;

use super::{Cell, CellResult, NARROW, WIDE, run_cell};
use crate::kernel::{Bar, Kernel, KernelOptions, KernelReport, Length, Table, Value};
use crate::stats::{MeanInterval, mean_interval_95};

/// Share of writes in the requests of the update runs. Published: iostat, 545 of 1,448
/// requests a second in the slow runs and 784 of 2,146 in the fast ones.
const WRITES: f64 = 0.37;
/// How far a simulated rate may be from the published one.
const TOLERANCE: f64 = 0.06;

const PUBLISHED: &str = include_str!("../../../../data/seeds/buffer-pool-instances.csv");

/// Clients and published reads a second of the read-only runs, 8 to 64 clients: with more,
/// the server's own limits are in between.
pub fn published_reads() -> anyhow::Result<Vec<(u32, f64)>> {
    #[derive(Deserialize)]
    struct Row {
        condition: String,
        engine: String,
        threads: u32,
        tps_or_qps: f64,
    }
    let mut reads = Vec::new();
    for row in csv::Reader::from_reader(PUBLISHED.as_bytes()).deserialize() {
        let row: Row = row?;
        if row.condition == "fetch_only" && row.engine == "5.1.50" && row.threads <= 64 {
            reads.push((row.threads, row.tps_or_qps));
        }
    }
    Ok(reads)
}

struct Runs<'a> {
    options: &'a KernelOptions,
    length: Length,
    seeds: u64,
}

impl Runs<'_> {
    /// The mean of a cell over the seeds, and the 95 % interval of its rate.
    fn mean(&self, cell: &Cell) -> anyhow::Result<(CellResult, MeanInterval)> {
        let mut results = Vec::new();
        for seed in 0..self.seeds {
            let (machine, settle) = (&self.options.machine, self.options.settle);
            let seed = self.options.seed + seed;
            results.push(run_cell(machine, cell, self.length, settle, seed)?);
        }
        let gigabytes = cell.span / 1_000_000_000;
        let step = format!("{} clients, {gigabytes} GB", cell.clients);
        self.options.progress.step(&step);
        let mean = |figure: fn(&CellResult) -> f64| {
            results.iter().map(figure).sum::<f64>() / results.len() as f64
        };
        let rates: Vec<f64> = results.iter().map(|result| result.rate).collect();
        let interval = mean_interval_95(&rates).expect("there is at least one seed");
        let result = CellResult {
            rate: mean(|result| result.rate),
            latency_ms: mean(|result| result.latency_ms),
            service_ms: mean(|result| result.service_ms),
            seek_ms: mean(|result| result.seek_ms),
            rotation_ms: mean(|result| result.rotation_ms),
        };
        Ok((result, interval))
    }
}

/// The experiment: rates against the published ones, and what the span costs.
///
/// # Errors
/// As [`run_cell`].
pub fn report(options: &KernelOptions) -> anyhow::Result<KernelReport> {
    let mut report = KernelReport::new(Kernel::Array, options);
    let published = published_reads()?;
    let seconds = if options.quick { 20 } else { 60 };
    let runs = Runs {
        options,
        length: Length {
            warm_up: 2 * SECOND,
            measure: seconds * SECOND,
        },
        seeds: if options.quick { 1 } else { 3 },
    };
    let estimate = |clients: u32| f64::from(clients) / f64::from(clients + 15) * 16.0 / 5.8e-3;
    report.estimate = vec![
        "Estimate: sixteen servers of 5.8 ms without memory in a closed network,".into(),
        "N / (N + 15) x 16 / 5.8 ms reads/s; longer seeks lengthen the 5.8 ms.".into(),
    ];
    options.progress.expect(published.len() as u64 + 10 + 2);
    let how = format!("seeds: {}, {seconds} s after 2 s of warm-up", runs.seeds);

    let columns = [
        "clients",
        "published",
        "estimate",
        "simulated",
        "+-",
        "error",
        "latency ms",
    ];
    let title = format!("Random reads of 16 KiB over 120 GB, reads/s ({how})");
    let mut table = Table::new(title, &columns);
    for (clients, rate) in published {
        let cell = Cell {
            clients,
            span: NARROW,
            writes: 0.0,
        };
        let (result, interval) = runs.mean(&cell)?;
        let text = format!("reads/s with {clients} clients");
        let bar = Bar::within(text, rate, result.rate, TOLERANCE);
        table.push(vec![
            Value::count(clients),
            Value::count(rate),
            Value::count(estimate(clients)),
            Value::count(result.rate),
            Value::half_width(&interval, 0),
            Value::Change(bar.relative_error()),
            Value::Number(result.latency_ms, 2),
        ]);
        report.bars.push(bar);
    }
    report.tables.push(table);
    report.tables.push(span_table(&runs, &how)?);
    report.tables.push(update_table(&runs, &how)?);
    options.progress.finish();
    Ok(report)
}

/// Where the time of a disk's read goes, by span.
fn span_table(runs: &Runs, how: &str) -> anyhow::Result<Table> {
    let columns = [
        "clients",
        "span GB",
        "reads/s",
        "service ms",
        "seek ms",
        "rotation ms",
        "rate against 120 GB",
        "service against 120 GB",
    ];
    let mut table = Table::new(
        format!("What the span of the seeks costs ({how})"),
        &columns,
    );
    for clients in [1, 8, 16, 32, 64] {
        let mut narrow: Option<CellResult> = None;
        for span in [NARROW, WIDE] {
            let writes = 0.0;
            let (result, _) = runs.mean(&Cell {
                clients,
                span,
                writes,
            })?;
            let base = *narrow.get_or_insert(result);
            table.push(vec![
                Value::count(clients),
                Value::count((span / 1_000_000_000) as f64),
                Value::count(result.rate),
                Value::Number(result.service_ms, 2),
                Value::Number(result.seek_ms, 2),
                Value::Number(result.rotation_ms, 2),
                Value::Change(result.rate / base.rate - 1.0),
                Value::Change(result.service_ms / base.service_ms - 1.0),
            ]);
        }
    }
    Ok(table)
}

/// iostat of the update runs against random page writes among the reads: a crude stand-in,
/// as InnoDB sorts its writes, doubles them and syncs.
fn update_table(runs: &Runs, how: &str) -> anyhow::Result<Table> {
    let columns = [
        "run",
        "queue",
        "span GB",
        "published requests/s",
        "simulated",
        "error",
    ];
    let title = format!("Update runs, 37 % of the requests write; not judged ({how})");
    let mut table = Table::new(title, &columns);
    // Published: iostat, mean of two intervals each.
    for (run, clients, span, published) in [
        ("before undo grew", 40, NARROW, 2_146.0),
        ("after undo grew", 33, WIDE, 1_430.0),
    ] {
        let writes = WRITES;
        let (result, _) = runs.mean(&Cell {
            clients,
            span,
            writes,
        })?;
        table.push(vec![
            run.into(),
            Value::count(clients),
            Value::count((span / 1_000_000_000) as f64),
            Value::count(published),
            Value::count(result.rate),
            Value::Change(result.rate / published - 1.0),
        ]);
    }
    Ok(table)
}
