//! The report's eight figures, and how much of the effect hangs on the device.

mod sensitivity;

use innosim_engine::runtime::time::{MILLISECOND, SECOND, Time};
use innosim_engine::runtime::virtual_clock::disk::SolidStateProfile;

use super::controls::solid_state;
use super::{Cell, CellResult, INSTANCES, PAGE, Published, run_cell};
use crate::kernel::{Bar, Kernel, KernelOptions, KernelReport, Length, Table, Value};
use crate::machine::MachineProfile;
use crate::stats::{MeanInterval, mean_interval_95};

/// Users and pages of the report, in its order.
const USERS: [u32; 2] = [16, 64];
const PAGES: [u64; 2] = [128, 16];
/// How far write times and writes in flight may be from the published ones.
const TOLERANCE: f64 = 0.30;

/// How much later each further seed's measured time begins.
const STAGGER: Time = 1_700 * MILLISECOND;

/// A machine and its users, run with both batch sizes.
#[derive(Clone)]
struct Variant {
    name: String,
    machine: MachineProfile,
    owed_limit: u64,
    /// Pages a transaction, for each of [`PAGES`].
    pages_per_transaction: [f64; 2],
}

/// Results by users, pages and seed.
type Results = [[Vec<CellResult>; 2]; 2];

struct Runs<'a> {
    options: &'a KernelOptions,
    length: Length,
    seeds: u64,
}

impl Runs<'_> {
    /// How a table's figures were made, for its title.
    fn how(&self) -> String {
        let seconds = self.length.measure / SECOND;
        format!(
            "seeds: {}, {seconds} s after at least 20 s of warm-up",
            self.seeds
        )
    }

    fn run(&self, variant: &Variant) -> anyhow::Result<Results> {
        let mut results = Results::default();
        for (by_pages, users) in results.iter_mut().zip(USERS) {
            for (place, pages) in PAGES.into_iter().enumerate() {
                let cell = Cell {
                    owed_limit: variant.owed_limit,
                    pages_per_transaction: variant.pages_per_transaction[place],
                    ..Cell::new(pages, users)
                };
                for seed in 0..self.seeds {
                    let (machine, settle) = (&variant.machine, self.options.settle);
                    // Where bursts and users lock into a cycle, all seeds follow the same
                    // one: windows that begin at different places of it show the error.
                    let length = Length {
                        warm_up: self.length.warm_up + seed * STAGGER,
                        ..self.length
                    };
                    let seed = self.options.seed + seed;
                    let result = run_cell(machine, &cell, length, settle, seed)?;
                    by_pages[place].push(result);
                }
                let step = format!("{}: {users} users, {pages} pages", variant.name);
                self.options.progress.step(&step);
            }
        }
        Ok(results)
    }
}

fn mean(results: &[CellResult], figure: fn(&CellResult) -> f64) -> f64 {
    results.iter().map(figure).sum::<f64>() / results.len() as f64
}

fn interval(samples: &[f64]) -> MeanInterval {
    mean_interval_95(samples).expect("there is at least one seed")
}

/// The change of tps from 128 to 16 pages, seed by seed, as "+6.2 % (+-0.5)".
fn effect(by_pages: &[Vec<CellResult>; 2]) -> Value {
    let pairs = by_pages[0].iter().zip(&by_pages[1]);
    let ratios: Vec<f64> = pairs
        .map(|(large, small)| small.tps / large.tps - 1.0)
        .collect();
    let interval = interval(&ratios);
    let change = Value::Change(interval.mean);
    match interval.ci95_high {
        Some(high) => format!("{change} (+-{:.1})", (high - interval.mean) * 100.0).into(),
        None => change,
    }
}

/// Write time and writes in flight over a server's life of 16 and then 64 users, equally
/// long: a write counts as often as it was made, time in flight by the time it took.
fn over_both_users(results: &Results, pages: usize) -> (f64, f64) {
    let [few, many] = [0, 1].map(|users| &results[users][pages]);
    let time = |results: &[CellResult]| mean(results, |result| result.in_flight);
    let writes = |results: &[CellResult]| mean(results, |result| result.writes_per_second);
    let in_flight = (time(few) + time(many)) / 2.0;
    let write_ms = (time(few) + time(many)) / (writes(few) + writes(many)) * 1e3;
    (write_ms, in_flight)
}

/// The rate at which a device programs, bytes a second, and Little's estimate from it.
struct Estimate {
    bytes_per_second: f64,
}

impl Estimate {
    fn new(disk: &SolidStateProfile) -> Self {
        let bytes = f64::from(disk.dies) * f64::from(disk.program_kib) * 1024.0;
        Estimate {
            bytes_per_second: bytes / (disk.program.mean_us() * 1e-6),
        }
    }

    fn write_ms(&self, pages: u64) -> f64 {
        (INSTANCES * pages * PAGE) as f64 / self.bytes_per_second * 1e3
    }

    fn in_flight(&self, tps: f64, pages_per_transaction: f64) -> f64 {
        let written = tps * pages_per_transaction * 2.0 * PAGE as f64;
        INSTANCES as f64 / 2.0 * (written / self.bytes_per_second).min(1.0)
    }
}

/// The experiment: the report's cells, then what the effect hangs on.
///
/// # Errors
/// If the machine has its tables on spindles or cannot be built, or the simulation stalls.
pub fn report(options: &KernelOptions) -> anyhow::Result<KernelReport> {
    let mut report = KernelReport::new(Kernel::DoublewriteQueue, options);
    let published = Published::load()?;
    let mut machine = options.machine.clone();
    let estimate = Estimate::new(solid_state(&mut machine)?);
    let ordinary = Cell::new(PAGES[0], USERS[0]);
    let base = Variant {
        name: "as profiled".into(),
        machine,
        owed_limit: ordinary.owed_limit,
        pages_per_transaction: [ordinary.pages_per_transaction; 2],
    };
    let seconds = if options.quick { 20 } else { 60 };
    let runs = Runs {
        options,
        length: Length {
            warm_up: 20 * SECOND,
            measure: seconds * SECOND,
        },
        seeds: if options.quick { 1 } else { 3 },
    };
    let variants = if options.quick {
        0
    } else {
        sensitivity::VARIANTS
    };
    options.progress.expect((1 + variants) * 4);

    let published_tps = |pages| (published.tps(pages, 16) + published.tps(pages, 64)) / 2.0;
    let in_flight = PAGES.map(|pages| {
        let dirty = published.pages_per_transaction(pages);
        estimate.in_flight(published_tps(pages), dirty)
    });
    report.estimate = vec![
        format!(
            "Estimate (Little): a doublewrite write lasts 8 x N x 16 KiB / {:.0} MiB/s = {:.1} ms \
             (128), {:.2} ms (16).",
            estimate.bytes_per_second / f64::from(1 << 20),
            estimate.write_ms(128),
            estimate.write_ms(16),
        ),
        format!(
            "Estimate (utilisation): 8 / 2 x pages/s x 32 KiB / that = {:.2} and {:.2} in flight at \
             the published tps; 4 at most.",
            in_flight[0], in_flight[1],
        ),
    ];

    let results = runs.run(&base)?;
    let dirty = ordinary.pages_per_transaction;
    report
        .tables
        .push(cells_table(&runs, &results, &published, &estimate, dirty));
    for (place, pages) in PAGES.into_iter().enumerate() {
        let (write_ms, in_flight) = over_both_users(&results, place);
        let bar = |text: &str, published, simulated| {
            let text = format!("{text}, {pages} pages");
            Bar::within(text, published, simulated, TOLERANCE)
        };
        report.bars.extend([
            bar("doublewrite write, ms", published.write_ms(pages), write_ms),
            bar(
                "doublewrite writes in flight",
                published.in_flight(pages),
                in_flight,
            ),
        ]);
    }
    if !options.quick {
        report
            .tables
            .push(sensitivity::arbitration(&runs, &base, &results)?);
        report.tables.push(sensitivity::assumptions(
            &runs, &base, &results, &published,
        )?);
        report.tables.push(sensitivity::controls(&runs, &base)?);
    }
    options.progress.finish();
    Ok(report)
}

/// The report's eight cells: throughput and the doublewrite's figures, and where a
/// transaction's time went.
fn cells_table(
    runs: &Runs,
    results: &Results,
    published: &Published,
    estimate: &Estimate,
    pages_per_transaction: f64,
) -> Table {
    let columns = [
        "users",
        "pages",
        "published tps",
        "tps",
        "+-",
        "error",
        "write ms",
        "estimate",
        "in flight",
        "4 x util.",
        "pages/write",
        "read ms/trx",
        "redo ms/trx",
        "stopped ms/trx",
    ];
    let mut table = Table::new(format!("The report's cells ({})", runs.how()), &columns);
    for (by_pages, users) in results.iter().zip(USERS) {
        for (results, pages) in by_pages.iter().zip(PAGES) {
            let samples: Vec<f64> = results.iter().map(|result| result.tps).collect();
            let tps = interval(&samples);
            let wanted = published.tps(pages, users);
            let figure = |figure, decimals| Value::Number(mean(results, figure), decimals);
            let in_flight = estimate.in_flight(tps.mean, pages_per_transaction);
            table.push(vec![
                Value::count(users),
                Value::count(pages as f64),
                Value::count(wanted),
                Value::count(tps.mean),
                Value::half_width(&tps, 0),
                Value::Change(tps.mean / wanted - 1.0),
                figure(|result| result.write_ms, 2),
                Value::Number(estimate.write_ms(pages), 2),
                figure(|result| result.in_flight, 2),
                Value::Number(in_flight, 2),
                figure(|result| result.pages_per_write, 1),
                figure(|result| result.read_ms, 2),
                figure(|result| result.redo_ms, 2),
                figure(|result| result.stopped_ms, 2),
            ]);
        }
    }
    table
}
