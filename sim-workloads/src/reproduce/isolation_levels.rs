//! The report *isolation-levels*: REPEATABLE READ against READ COMMITTED, 1 to 1024
//! threads on 144 hardware threads, MySQL 5.6.35 and 5.7.17.
//!
//! ```text
//!   tps |        5.7 RR  ________          a view a transaction
//!       |      ,'
//!       |    ,'  5.7 RC  ________          a view a statement: copies of the id vector
//!       |  ,/\__ 5.6 RR                    one walk of the list, and one of a lock check
//!       | /  \__ 5.6 RC                    fifteen walks
//!       +----------------- threads
//! ```
//!
//! Opening a view takes `trx_sys->mutex`, and what is done under it depends on the version
//! and on how many transactions are active. RC opens one for each of the fourteen reads of
//! a transaction, RR one for all of them.
//!
//! All data is in the pool and nothing is claimed about flushing, so short runs do; two
//! cells are run for a minute to show it. The 8.4 column has no published figures: it is a
//! prediction.

mod findings;

use std::num::NonZeroU32;

use anyhow::Context;
use serde::Deserialize;

use super::finished::Finished;
use super::machines::MachineChange;
use super::report::{
    Amount, Cell, Extent, Findings, FittedConstant, Length, OptionFile, Report, Setup, WarmState,
    labels,
};
use crate::report::json::Answer;
use crate::run::RunArguments;

const PUBLISHED: &str = include_str!("../../../data/seeds/isolation-levels.csv");

const OPTIONS: OptionFile = OptionFile {
    name: "isolation-levels.cnf",
    text: include_str!("../../../data/seeds/isolation-levels.cnf"),
};

/// The two levels, as `transaction_isolation` spells them.
pub const LEVELS: [&str; 2] = ["REPEATABLE-READ", "READ-COMMITTED"];

/// The flavors of the published columns.
pub const FLAVORS: [&str; 2] = ["mysql-5.6", "mysql-5.7"];

/// A column without published figures, beside which of those that have them it stands.
const PREDICTED: (&str, &str) = ("mysql-8.4", "mysql-5.7");

/// A cell by flavor, level and threads.
type Place = (&'static str, &'static str, u32);

/// The constants of the machine that were fitted, and the cells that they were fitted to:
/// six numbers, since the frequency curve has two points.
const FITTED: [(&str, &[Place]); 5] = [
    ("cpu.smt_rate.1", &[("mysql-5.7", LEVELS[0], 144)]),
    (
        "cpu.turbo",
        &[("mysql-5.7", LEVELS[0], 36), ("mysql-5.7", LEVELS[0], 72)],
    ),
    ("cpu.line_cross_socket_ns", &[("mysql-5.7", LEVELS[1], 144)]),
    ("server.statement_us", &[("mysql-5.7", LEVELS[0], 1)]),
    ("costs.read_view_copy_id", &[("mysql-5.7", LEVELS[1], 1024)]),
];

/// What was not fitted, but chosen by who knew the published figures.
const CHOSEN: &str = "Not fitted, but estimated from the literature when the report's curves were \
     known: the stall of a cold cache (cpu.cold_cache_us), the lines of the log system that a \
     commit takes, and a step of a walk through 5.6's transaction list (trx_list_step_far).";

/// What the model of this report is without.
const LEAVES_OUT: &[&str] = &[
    "The server outside the engine as anything but CPU: no table cache, no metadata locks, no \
     memory allocator, each of which has mutexes of its own.",
    "Where memory lies: pages and latches are as far from every socket as from every other, \
     but for the transfer of modified cache lines.",
    "The memory bandwidth that cores share: it is a part of the curve of frequencies.",
];

/// The threads of quick mode, and of the column without published figures: alone, at RC's
/// peak, all hardware threads, too many.
const QUICK_THREADS: [u32; 4] = [1, 36, 144, 1024];

/// Cells that are also run for a minute: where RC of 5.6 falls, and below 5.7's plateau.
pub const LONG: [(&str, &str, u32); 2] =
    [("mysql-5.6", LEVELS[1], 144), ("mysql-5.7", LEVELS[1], 8)];

/// Seconds of those.
pub const LONG_S: f64 = 60.0;

/// Seeds of a published comparison.
const SEEDS: u64 = 3;

/// One of the published figures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Row {
    engine: String,
    transaction_isolation: String,
    threads: u32,
    tps: f64,
}

impl Row {
    /// `5.6.35` is of flavor `mysql-5.6`.
    fn flavor(&self) -> anyhow::Result<&'static str> {
        let of_engine = |flavor: &&&str| {
            let version = flavor.strip_prefix("mysql-").unwrap_or(flavor);
            let patch = self.engine.strip_prefix(version);
            patch.is_some_and(|patch| patch.starts_with('.'))
        };
        let flavor = FLAVORS.iter().find(of_engine).copied();
        flavor.with_context(|| format!("isolation-levels.csv: engine {}", self.engine))
    }
}

fn rows() -> csv::Result<Vec<Row>> {
    let mut reader = csv::Reader::from_reader(PUBLISHED.as_bytes());
    reader.deserialize().collect()
}

/// The report.
#[derive(Debug, Clone, Copy)]
pub struct IsolationLevels;

impl Report for IsolationLevels {
    fn name(&self) -> &'static str {
        "isolation-levels"
    }

    fn machines(&self) -> &'static [&'static str] {
        &["quad-144-ramdisk"]
    }

    fn default_scale(&self, _amount: Amount) -> NonZeroU32 {
        NonZeroU32::new(4).unwrap_or(NonZeroU32::MIN)
    }

    fn assumptions(&self, extent: &Extent<'_>) -> Vec<String> {
        let length = match extent.amount {
            Amount::Full => FULL,
            Amount::Quick => QUICK,
        };
        let mut all = vec![
            "The report does not say how large its tables are: 8 tables of 10,000,000 rows is our \
             reading, which its pool of 128 GiB holds with ease."
                .to_owned(),
            format!(
                "Runs of {} s after {} s of warm-up: all data is in the pool, and nothing is claimed \
                 about flushing.",
                length.measure_s, length.warm_up_s
            ),
        ];
        if extent.is_full() {
            all.push(WarmState::shared_by_seeds());
        }
        all.push(CHOSEN.to_owned());
        all.push(match extent.amount {
            Amount::Full => format!(
                "{} has no published figures: its cells are predictions, of one seed.",
                PREDICTED.0
            ),
            Amount::Quick => format!(
                "Of the published cells those with {QUICK_THREADS:?} threads; none of {}.",
                PREDICTED.0
            ),
        });
        all
    }

    fn cells(&self, extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>> {
        let rows = rows().context("isolation-levels.csv")?;
        let seeds = if extent.is_full() { SEEDS } else { 1 };
        let mut cells = Vec::new();
        for row in &rows {
            if extent.is_full() || QUICK_THREADS.contains(&row.threads) {
                let key = Key::of(row, row.flavor()?);
                cells.push(key.cell(extent, Some(row.tps), row.tps, seeds));
            }
        }
        if extent.is_full() {
            let (predicted, beside) = PREDICTED;
            for row in &rows {
                if row.flavor()? == beside && QUICK_THREADS.contains(&row.threads) {
                    cells.push(Key::of(row, predicted).cell(extent, None, row.tps, 1));
                }
            }
            for (flavor, level, threads) in LONG {
                let of_cell = |row: &&Row| {
                    row.flavor().is_ok_and(|found| found == flavor)
                        && (&*row.transaction_isolation, row.threads) == (level, threads)
                };
                let row = rows.iter().find(of_cell);
                let row =
                    row.with_context(|| format!("no figure of {flavor} {level} {threads}"))?;
                let key = Key {
                    seconds: LONG_S,
                    ..Key::of(row, flavor)
                };
                let mut cell = key.cell(extent, None, row.tps, 1);
                cell.figures.clear();
                cells.push(cell);
            }
        }
        Ok(cells)
    }

    fn constants(&self) -> Vec<FittedConstant> {
        let labels_of = |&(flavor, level, threads): &Place| {
            let key = Key {
                flavor,
                level,
                threads,
                seconds: SHORT_S,
            };
            key.labels()
        };
        let of = |(key, places): (&'static str, &[Place])| FittedConstant {
            machine: self.machines()[0],
            key,
            cells: places.iter().map(labels_of).collect(),
        };
        FITTED.into_iter().map(of).collect()
    }

    fn study_cells(&self, extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>> {
        let mut cells = Vec::new();
        for row in &rows().context("isolation-levels.csv")? {
            if QUICK_THREADS.contains(&row.threads) {
                let key = Key::of(row, row.flavor()?);
                cells.push(key.cell(extent, Some(row.tps), row.tps, 1));
            }
        }
        Ok(cells)
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

/// Seconds of a published cell's run.
const SHORT_S: f64 = 2.0;

/// What a published cell needs: see the module's opening.
const FULL: Length = Length {
    warm_up_s: 1.0,
    measure_s: SHORT_S,
    warm_state: None,
};

/// Half of that.
const QUICK: Length = Length {
    warm_up_s: 0.5,
    measure_s: 1.0,
    warm_state: None,
};

/// What identifies a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Key<'a> {
    flavor: &'a str,
    level: &'a str,
    threads: u32,
    seconds: f64,
}

impl<'a> Key<'a> {
    fn of(row: &'a Row, flavor: &'a str) -> Self {
        Key {
            flavor,
            level: &row.transaction_isolation,
            threads: row.threads,
            seconds: SHORT_S,
        }
    }

    fn place(&self) -> (&str, &str, u32) {
        (self.flavor, self.level, self.threads)
    }

    fn labels(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut labels = labels([
            ("flavor", self.flavor.into()),
            ("transaction_isolation", self.level.into()),
            ("threads", self.threads.into()),
        ]);
        if self.seconds != SHORT_S {
            labels.insert("time_s".into(), self.seconds.into());
        }
        labels
    }

    fn cell(&self, extent: &Extent<'_>, published: Option<f64>, expected: f64, seeds: u64) -> Cell {
        let arguments = RunArguments {
            set: vec![format!("transaction_isolation={}", self.level)],
            flavor: Some(self.flavor.into()),
            workload: Some("sysbench-0.5/oltp".into()),
            rand_type: Some("special".into()),
            tables: Some("8".into()),
            table_size: Some("10000000".into()),
            threads: Some(self.threads.to_string()),
            ..RunArguments::default()
        };
        Cell {
            labels: self.labels(),
            figures: vec![("tps", published)],
            fitted: published.is_some()
                && FITTED
                    .iter()
                    .any(|(_, places)| places.contains(&self.place())),
            setup: Setup {
                arguments,
                option_file: Some(OPTIONS),
                machine: extent.machine.into(),
                change: MachineChange::None,
                adjustments: Vec::new(),
                length: match extent.amount {
                    Amount::Full => Length {
                        measure_s: self.seconds,
                        warm_state: published
                            .is_some()
                            .then(|| WarmState::of_short_runs(self.threads, expected)),
                        ..FULL
                    },
                    Amount::Quick => QUICK,
                },
            },
            changed: Vec::new(),
            seeds: (1..=seeds).collect(),
            expected_tps: expected,
        }
    }
}

#[cfg(test)]
mod tests;
