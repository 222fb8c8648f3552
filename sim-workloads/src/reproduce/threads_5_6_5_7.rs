//! The report *threads-5.6-5.7*: MySQL 5.6 against 5.7 by client threads, 1 to 1200, on 56
//! hardware threads (V. Tkachenko, May 2016).
//!
//! ```text
//!   tps |          ______ 5.7
//!       |        ,'       `-._        above 68 threads 5.6 falls, and 5.7 goes on
//!       |      ,/\            `-.
//!       |    ,'   `-._ 5.6       `.
//!       +--------------------------- threads
//! ```
//!
//! It is a *prediction*: nothing of the model was made for it. Its machine is that of
//! isolation-levels with other cores, frequencies and server layer, of which one constant is
//! fitted, to what one thread does.
//!
//! READ COMMITTED, so that each of fourteen reads opens a view; rows by the Pareto
//! distribution, so that the hottest are waited for; and `innodb_thread_concurrency=0`, so
//! that everybody who comes is let in.

mod findings;

use std::num::NonZeroU32;

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::finished::Finished;
use super::machines::MachineChange;
use super::report::{
    Amount, Cell, Extent, Findings, FittedConstant, Length, OptionFile, Report, Setup, WarmState,
    labels,
};
use crate::report::json::Answer;
use crate::run::RunArguments;

const PUBLISHED: &str = include_str!("../../../data/more-reports/threads-5.6-5.7.csv");

const OPTIONS: OptionFile = OptionFile {
    name: "threads-5.6-5.7.cnf",
    text: include_str!("../../../data/more-reports/threads-5.6-5.7.cnf"),
};

/// The flavors of the published columns.
pub const FLAVORS: [&str; 2] = ["mysql-5.6", "mysql-5.7"];

/// The threads of quick mode and of a study: alone, where the columns part, the later peak,
/// too many.
const QUICK_THREADS: [u32; 4] = [1, 68, 145, 1200];

/// Threads of the cells that the machine was fitted to, and the constant.
const FITTED: (&str, u32) = ("server.statement_us", 1);

/// Cells that are also run for a minute: behind both peaks.
pub const LONG: [(&str, u32); 2] = [(FLAVORS[0], 145), (FLAVORS[1], 870)];

/// Seconds of those.
pub const LONG_S: f64 = 60.0;

/// Seeds of a published comparison.
const SEEDS: u64 = 3;

/// What the model of this report is without.
const LEAVES_OUT: &[&str] = &[
    "The binary log, which the report had on: no second log, no order of commits.",
    "The network as anything but a time: no interrupts, no limit of packets.",
    "The server outside the engine as anything but CPU: no table cache, no metadata locks, no \
     memory allocator, each of which has mutexes of its own.",
    "5.5, which the report has too, and its one mutex over locks and transactions.",
];

/// One of the published figures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Row {
    engine: String,
    threads: u32,
    tps: f64,
}

impl Row {
    fn flavor(&self) -> anyhow::Result<&'static str> {
        let is_it = |flavor: &&&str| flavor.strip_prefix("mysql-") == Some(&self.engine);
        let flavor = FLAVORS.iter().find(is_it).copied();
        flavor.with_context(|| format!("threads-5.6-5.7.csv: engine {}", self.engine))
    }
}

fn rows() -> csv::Result<Vec<Row>> {
    let mut reader = csv::Reader::from_reader(PUBLISHED.as_bytes());
    reader.deserialize().collect()
}

/// The report.
#[derive(Debug, Clone, Copy)]
pub struct Threads;

impl Report for Threads {
    fn name(&self) -> &'static str {
        "threads-5.6-5.7"
    }

    fn machines(&self) -> &'static [&'static str] {
        &["dual-56-nvme"]
    }

    fn default_scale(&self, _amount: Amount) -> NonZeroU32 {
        NonZeroU32::new(4).unwrap_or(NonZeroU32::MIN)
    }

    fn assumptions(&self, extent: &Extent<'_>) -> Vec<String> {
        let mut all = vec![
            "A prediction: the machine is that of isolation-levels with other cores, frequencies \
             and server layer."
                .to_owned(),
            "sysbench of May 2016 is read as 0.5, whose transactions are on one table each and \
             whose statements are sent as text."
                .to_owned(),
            "The drive is not named: it is that of doublewrite-pages.".to_owned(),
            format!(
                "Runs of {SHORT_S} s after {WARM_UP_S} s of warm-up, longer where a transaction \
                 takes longer: all data is in the pool, and nothing is claimed about flushing."
            ),
        ];
        if extent.is_full() {
            let [warm_up_s, measure_s] = CROWD_S;
            all.push(format!(
                "With more than {CROWD} threads {measure_s} s after {warm_up_s} s: the queues of \
                 the hottest rows grow for so long."
            ));
            all.push(WarmState::shared_by_seeds());
        } else {
            all.push(format!(
                "Of the published cells those with {QUICK_THREADS:?} threads."
            ));
        }
        all
    }

    fn cells(&self, extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>> {
        if !extent.is_full() {
            return of_few_threads(extent);
        }
        let rows = rows().context("threads-5.6-5.7.csv")?;
        let mut cells = Vec::new();
        for row in &rows {
            cells.push(cell(row, extent, SHORT_S, SEEDS)?);
        }
        for (flavor, threads) in LONG {
            let is_it = |row: &&Row| {
                row.threads == threads && row.flavor().is_ok_and(|found| found == flavor)
            };
            let row = rows.iter().find(is_it);
            let row = row.with_context(|| format!("no figure of {flavor} {threads}"))?;
            cells.push(cell(row, extent, LONG_S, 1)?);
        }
        Ok(cells)
    }

    fn constants(&self) -> Vec<FittedConstant> {
        let (key, threads) = FITTED;
        vec![FittedConstant {
            machine: self.machines()[0],
            key,
            cells: FLAVORS
                .map(|flavor| labels_of(flavor, threads, SHORT_S))
                .to_vec(),
        }]
    }

    fn study_cells(&self, extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>> {
        of_few_threads(extent)
    }

    fn study_scales(&self) -> Vec<NonZeroU32> {
        [16, 8, 4].into_iter().filter_map(NonZeroU32::new).collect()
    }

    fn answers(&self, finished: &Finished) -> Vec<Answer> {
        findings::answers(finished)
    }

    fn leaves_out(&self) -> &'static [&'static str] {
        LEAVES_OUT
    }

    fn findings(&self, finished: &Finished, extent: &Extent<'_>) -> Findings {
        findings::findings(finished, extent)
    }
}

/// The cells of quick mode, of one seed.
fn of_few_threads(extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>> {
    let rows = rows().context("threads-5.6-5.7.csv")?;
    let few = rows
        .iter()
        .filter(|row| QUICK_THREADS.contains(&row.threads));
    few.map(|row| cell(row, extent, SHORT_S, 1)).collect()
}

/// Seconds of a published cell's run, at least.
const SHORT_S: f64 = 2.0;

/// Seconds before it, at least.
const WARM_UP_S: f64 = 1.0;

/// As many times as a published transaction takes a run lasts, and its warm-up, at least.
const LATENCIES: f64 = 4.0;

/// With more threads than these the queues of the hottest rows grow for ten seconds before
/// 5.7 is steady.
const CROWD: u32 = 300;

/// Seconds before such a cell's run, and of it, at least.
const CROWD_S: [f64; 2] = [15.0, 8.0];

/// Seconds before a cell's run, and of it, at least.
fn least_seconds(threads: u32, extent: &Extent<'_>) -> [f64; 2] {
    match extent.is_full() && threads > CROWD {
        true => CROWD_S,
        false => [WARM_UP_S, SHORT_S],
    }
}

fn labels_of(flavor: &str, threads: u32, seconds: f64) -> Map<String, Value> {
    let mut labels = labels([("flavor", flavor.into()), ("threads", threads.into())]);
    if seconds != SHORT_S {
        labels.insert("time_s".into(), seconds.into());
    }
    labels
}

fn cell(row: &Row, extent: &Extent<'_>, seconds: f64, seeds: u64) -> anyhow::Result<Cell> {
    let flavor = row.flavor()?;
    let arguments = RunArguments {
        flavor: Some(flavor.into()),
        workload: Some("sysbench-0.5/oltp".into()),
        rand_type: Some("pareto".into()),
        tables: Some("10".into()),
        table_size: Some("10000000".into()),
        threads: Some(row.threads.to_string()),
        ..RunArguments::default()
    };
    let is_published = seconds == SHORT_S;
    let latencies_s = (LATENCIES * f64::from(row.threads) / row.tps).ceil();
    let [warm_up_s, measure_s] = least_seconds(row.threads, extent);
    Ok(Cell {
        labels: labels_of(flavor, row.threads, seconds),
        figures: match is_published {
            true => vec![("tps", Some(row.tps))],
            false => Vec::new(),
        },
        fitted: is_published && row.threads == FITTED.1,
        setup: Setup {
            arguments,
            option_file: Some(OPTIONS),
            machine: extent.machine.into(),
            change: MachineChange::None,
            adjustments: Vec::new(),
            length: Length {
                warm_up_s: latencies_s.max(warm_up_s),
                measure_s: latencies_s.max(measure_s).max(seconds),
                warm_state: (is_published && extent.is_full())
                    .then(|| WarmState::of_short_runs(row.threads, row.tps)),
            },
        },
        changed: Vec::new(),
        seeds: (1..=seeds).collect(),
        expected_tps: row.tps,
    })
}

#[cfg(test)]
mod tests;
