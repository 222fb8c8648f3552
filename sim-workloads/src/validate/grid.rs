//! The cells of a validation.
//!
//! Tables are two and a half times as large as the buffer pool, so that pages are read, evicted
//! and written all the time; the small redo log is full within the run, so that flushing is
//! driven by it, and the large one is not.

use serde_json::{Map, Value};

use crate::run::RunArguments;

/// Which cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// Both workloads, 1 to 32 threads, doublewrite pages and redo capacity; and what a commit
    /// waits for.
    Full,
    /// Eight cells of it, with smaller tables.
    Quick,
    /// What a commit waits for, alone.
    Commit,
}

/// Sizes and lengths of a grid's runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    /// Tables.
    pub tables: u32,
    /// Rows of each.
    pub rows: u32,
    /// Buffer pool, MiB.
    pub pool_mib: u32,
    /// The two redo capacities, MiB.
    pub redo_mib: [u32; 2],
    /// Seconds of writes before anything is measured, so that the trees are not as the loader
    /// left them.
    pub ageing_s: f64,
    /// Seconds before each measurement.
    pub warm_up_s: f64,
    /// Seconds of each measurement.
    pub measure_s: f64,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// What is varied.
    pub labels: Map<String, Value>,
    /// Its options, without clock, machine and files.
    pub arguments: RunArguments,
}

impl Grid {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Grid::Full => "full",
            Grid::Quick => "quick",
            Grid::Commit => "commit",
        }
    }

    /// Its sizes.
    pub const fn size(self) -> Size {
        match self {
            Grid::Quick => Size {
                tables: 4,
                rows: 100_000,
                pool_mib: 40,
                redo_mib: [16, 1024],
                ageing_s: 5.0,
                warm_up_s: 1.0,
                measure_s: 3.0,
            },
            Grid::Full | Grid::Commit => Size {
                tables: 4,
                rows: 250_000,
                pool_mib: 96,
                redo_mib: [32, 1024],
                ageing_s: 20.0,
                warm_up_s: 2.0,
                measure_s: 6.0,
            },
        }
    }

    /// Its cells, of runs of this size.
    pub fn cells(self, size: &Size) -> Vec<Cell> {
        let mut cells = Vec::new();
        let workloads = ["oltp_read_write", "oltp_write_only"];
        let [small, large] = size.redo_mib;
        if self != Grid::Commit {
            let (threads, pages, redo): (&[u32], &[u32], &[u32]) = match self {
                Grid::Quick => (&[1, 8], &[16, 128], &[small]),
                _ => (&[1, 2, 8, 32], &[16, 128], &[small, large]),
            };
            for workload in workloads {
                for &threads in threads {
                    for &pages in pages {
                        for &redo in redo {
                            cells.push(cell(size, workload, threads, pages, redo, 1));
                        }
                    }
                }
            }
        }
        if self != Grid::Quick {
            for threads in [1, 8] {
                for flush in [0, 1, 2] {
                    let one = cell(size, "oltp_write_only", threads, 128, large, flush);
                    if !cells.contains(&one) {
                        cells.push(one);
                    }
                }
            }
        }
        cells
    }
}

fn cell(
    size: &Size,
    workload: &str,
    threads: u32,
    doublewrite_pages: u32,
    redo_mib: u32,
    flush_at_commit: u32,
) -> Cell {
    let mut labels = Map::new();
    labels.insert("workload".into(), workload.into());
    labels.insert("threads".into(), threads.into());
    labels.insert("innodb_doublewrite_pages".into(), doublewrite_pages.into());
    labels.insert(
        "innodb_redo_log_capacity".into(),
        format!("{redo_mib}M").into(),
    );
    labels.insert(
        "innodb_flush_log_at_trx_commit".into(),
        flush_at_commit.into(),
    );
    let mut arguments = common(size);
    arguments.workload = Some(workload.into());
    arguments.threads = Some(threads.to_string());
    arguments.set.extend([
        format!("innodb_doublewrite_pages={doublewrite_pages}"),
        format!("innodb_redo_log_capacity={redo_mib}M"),
        format!("innodb_flush_log_at_trx_commit={flush_at_commit}"),
    ]);
    Cell { labels, arguments }
}

/// What all cells share.
fn common(size: &Size) -> RunArguments {
    RunArguments {
        tables: Some(size.tables.to_string()),
        table_size: Some(size.rows.to_string()),
        rand_type: Some("uniform".into()),
        warmup_time: Some(size.warm_up_s.to_string()),
        time: Some(size.measure_s.to_string()),
        set: vec![
            format!("innodb_buffer_pool_size={}M", size.pool_mib),
            "innodb_buffer_pool_instances=1".into(),
            // Under the real clock handlers write themselves: so they do under both.
            "innodb_use_native_aio=OFF".into(),
            // And its latches are parking_lot's, which pause for 14 PAUSEs and yield seven times
            // before a thread sleeps: three microseconds, here seven rounds of 18 on average.
            "innodb_sync_spin_loops=7".into(),
            "innodb_spin_wait_delay=2".into(),
            "innodb_spin_wait_pause_multiplier=18".into(),
        ],
        ..RunArguments::default()
    }
}

/// The run that makes trees what they are after a while.
pub fn ageing(size: &Size) -> RunArguments {
    let mut arguments = common(size);
    arguments.workload = Some("oltp_write_only".into());
    arguments.threads = Some("8".into());
    arguments.warmup_time = Some("0".into());
    arguments.time = Some(size.ageing_s.to_string());
    arguments
        .set
        .push(format!("innodb_redo_log_capacity={}M", size.redo_mib[1]));
    arguments
        .set
        .push("innodb_flush_log_at_trx_commit=2".into());
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_can_be_planned_under_both_clocks() {
        for grid in [Grid::Full, Grid::Quick, Grid::Commit] {
            let size = grid.size();
            for cell in grid.cells(&size) {
                for clock in ["real", "virtual"] {
                    let mut arguments = cell.arguments.clone();
                    arguments.clock = Some(clock.into());
                    arguments.machine = Some("host".into());
                    let plan = arguments.plan().unwrap();
                    for (name, value) in &cell.labels {
                        let text = value.as_str().map_or(value.to_string(), str::to_owned);
                        let is_set = arguments.set.contains(&format!("{name}={text}"));
                        assert!(is_set || name == "workload" || name == "threads", "{name}");
                    }
                    let mut warnings = plan.warnings.iter();
                    assert!(warnings.all(|warning| warning.starts_with("note: ")));
                }
            }
            ageing(&size).plan().unwrap();
        }
    }

    #[test]
    fn cells_differ_and_have_the_numbers_that_the_documentation_says() {
        let labels = |grid: Grid| {
            let cells = grid.cells(&grid.size());
            let mut texts: Vec<String> = cells
                .iter()
                .map(|cell| format!("{:?}", cell.labels))
                .collect();
            let all = texts.len();
            texts.sort();
            texts.dedup();
            assert_eq!(texts.len(), all);
            all
        };
        assert_eq!(labels(Grid::Full), 36);
        assert_eq!(labels(Grid::Quick), 8);
        assert_eq!(labels(Grid::Commit), 6);
    }
}
