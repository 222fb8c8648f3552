//! Which runs the demo consists of.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::run::RunArguments;
use crate::sweep::GridPoint;

/// What an experiment varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Experiment {
    /// `innodb_doublewrite_pages`.
    Doublewrite,
    /// `innodb_redo_log_capacity`.
    Redo,
    /// `transaction_isolation` and the number of threads.
    Isolation,
}

/// One run of the demo.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// What it belongs to.
    pub experiment: Experiment,
    /// On the modelled machine, rather than on this computer.
    pub is_modelled: bool,
    /// What is varied.
    pub set: Map<String, Value>,
    /// Its options.
    pub arguments: RunArguments,
}

impl Cell {
    /// The cell as a run of a sweep.
    pub fn point(&self) -> GridPoint {
        let mut set = Map::new();
        let place = if self.is_modelled { MACHINE } else { "here" };
        set.insert("on".into(), place.into());
        set.extend(self.set.clone());
        GridPoint {
            set,
            arguments: self.arguments.clone(),
        }
    }

    /// The cell in a few words.
    pub fn label(&self) -> String {
        crate::sweep::jobs::label(&self.point())
    }
}

/// The modelled machine.
pub const MACHINE: &str = "nvme-24core";

/// Pages of a doublewrite batch: the default of 8.4 in effect up to 8.4.0, and what a bug
/// report found to be faster.
pub const DOUBLEWRITE_PAGES: [u64; 2] = [128, 16];

/// Redo capacities.
pub const REDO_CAPACITIES: [&str; 2] = ["64M", "1G"];

/// Isolation levels.
pub const ISOLATION_LEVELS: [&str; 2] = ["REPEATABLE-READ", "READ-COMMITTED"];

/// Client threads of the isolation experiment.
pub const THREADS: [u32; 5] = [1, 4, 16, 64, 256];

/// Client threads of the others.
const FEW_THREADS: u32 = 16;

/// All runs over a directory: of each experiment those on the modelled machine, then those
/// on this computer.
pub fn all(directory: &Path) -> Vec<Cell> {
    let base = directory.join("data");
    let mut cells = Vec::new();
    for is_modelled in [true, false] {
        for pages in DOUBLEWRITE_PAGES {
            let varied = ("innodb_doublewrite_pages", pages.into());
            cells.push(shared(Experiment::Doublewrite, is_modelled, varied, &base));
        }
        for capacity in REDO_CAPACITIES {
            let varied = ("innodb_redo_log_capacity", capacity.into());
            cells.push(shared(Experiment::Redo, is_modelled, varied, &base));
        }
    }
    for threads in THREADS {
        cells.extend(ISOLATION_LEVELS.map(|level| isolation(level, threads)));
    }
    cells
}

/// A run over the shared tables: 4 tables of 300,000 rows, written at random.
fn shared(
    experiment: Experiment,
    is_modelled: bool,
    (name, value): (&str, Value),
    base: &Path,
) -> Cell {
    let variables: &[&str] = match experiment {
        // A quarter of the tables fits the pool: pages are read and written all the time,
        // as in the report.
        Experiment::Doublewrite => &[
            "innodb_buffer_pool_size=80M",
            "innodb_redo_log_capacity=1G",
            "innodb_io_capacity=20000",
            "innodb_lru_scan_depth=4096",
            "innodb_write_io_threads=16",
        ],
        // All of them fit: pages are written only because redo needs its space back.
        _ => &[
            "innodb_buffer_pool_size=512M",
            "innodb_buffer_pool_instances=1",
            "innodb_max_dirty_pages_pct_lwm=0",
        ],
    };
    let mut set = Map::new();
    set.insert(name.into(), value.clone());
    let mut variables: Vec<String> = variables.iter().map(|&text| text.into()).collect();
    let value = value.as_str().map_or(value.to_string(), str::to_owned);
    variables.push(format!("{name}={value}"));
    let (base, datadir): (Option<PathBuf>, _) = match is_modelled {
        true => (Some(base.into()), None),
        false => (None, Some(base.into())),
    };
    Cell {
        experiment,
        is_modelled,
        set,
        arguments: RunArguments {
            set: variables,
            workload: Some("oltp_write_only".into()),
            rand_type: Some("uniform".into()),
            tables: Some("4".into()),
            table_size: Some("300000".into()),
            threads: Some(FEW_THREADS.to_string()),
            warmup_time: Some(if is_modelled { "1" } else { "2" }.into()),
            time: Some("6".into()),
            report_interval: Some("1".into()),
            clock: Some(if is_modelled { "virtual" } else { "real" }.into()),
            machine: is_modelled.then(|| MACHINE.into()),
            base,
            datadir,
            ..RunArguments::default()
        },
    }
}

/// A run of MySQL 5.6, where opening a view is a walk of the list of transactions, over
/// tables of its own that are in the pool.
fn isolation(level: &str, threads: u32) -> Cell {
    let mut set = Map::new();
    set.insert("transaction_isolation".into(), level.into());
    set.insert("threads".into(), threads.into());
    Cell {
        experiment: Experiment::Isolation,
        is_modelled: true,
        set,
        arguments: RunArguments {
            set: vec![
                "innodb_buffer_pool_size=256M".into(),
                "innodb_flush_log_at_trx_commit=2".into(),
                format!("transaction_isolation={level}"),
            ],
            flavor: Some("mysql-5.6".into()),
            workload: Some("oltp_read_write".into()),
            rand_type: Some("uniform".into()),
            tables: Some("8".into()),
            table_size: Some("25000".into()),
            threads: Some(threads.to_string()),
            warmup_time: Some("0.2".into()),
            time: Some("0.5".into()),
            machine: Some(MACHINE.into()),
            ..RunArguments::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_can_be_planned() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("data")).unwrap();
        let cells = all(directory.path());
        assert_eq!(cells.len(), 2 * 4 + 10);
        for cell in &cells {
            let plan = cell.arguments.plan().unwrap();
            assert_eq!(plan.settings.scale().get(), 1);
            for (name, value) in &cell.set {
                if name != "threads" {
                    let setting = plan.settings.get(name).unwrap();
                    let assigned = &cell.arguments.set.last().unwrap();
                    let text = value.as_str().map_or(value.to_string(), str::to_owned);
                    assert_eq!(**assigned, format!("{name}={text}"), "{setting:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_loaded_once_is_the_same_for_all_that_share_it() {
        let cells = all("/d".as_ref());
        let shared: Vec<_> = cells
            .iter()
            .filter(|cell| cell.experiment != Experiment::Isolation)
            .map(|cell| {
                let arguments = &cell.arguments;
                let base = arguments.base.as_ref().or(arguments.datadir.as_ref());
                (
                    base,
                    &arguments.tables,
                    &arguments.table_size,
                    &arguments.flavor,
                )
            })
            .collect();
        assert!(shared.windows(2).all(|pair| pair[0] == pair[1]));
        assert!(shared[0].0.is_some());
    }
}
