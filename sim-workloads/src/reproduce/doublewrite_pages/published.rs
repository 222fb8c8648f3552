//! The published figures: throughput by cell, and the summary of the doublewrite files.

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::{Config, PAGES, QUERIES, THREADS};

const CELLS: &str = include_str!("../../../../data/seeds/doublewrite-pages.csv");
const FILES: &str = include_str!("../../../../data/seeds/doublewrite-pages-file-io.csv");

/// Seconds of each of the two runs between which the counters were not reset.
pub(super) const RUN_S: f64 = 1500.0;

/// Seconds over which the file summaries were taken: both runs, and the rest between them.
const SUMMARY_S: f64 = 2.0 * RUN_S + 180.0;

/// Pages of 16 KiB.
const PAGES_PER_MIB: f64 = 64.0;

#[derive(Debug, Clone, Deserialize)]
struct CellRow {
    config: String,
    threads: u32,
    innodb_doublewrite_pages: u32,
    qps: f64,
    latency_avg_ms: f64,
}

#[derive(Debug, Clone, Deserialize)]
struct FileRow {
    innodb_doublewrite_pages: u32,
    count_write: f64,
    sum_timer_write_ps: f64,
    mib_written: f64,
}

/// Both tables.
#[derive(Debug, Clone)]
pub(super) struct Published {
    cells: Vec<CellRow>,
    files: Vec<FileRow>,
}

/// The figures of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figures {
    pub qps: f64,
    pub latency_avg_ms: f64,
}

/// What the doublewrite files did with a batch size, under tuned settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FileFigures {
    /// Mean time of a write, in milliseconds.
    pub write_ms: f64,
    /// Mean number of writes under way.
    pub in_flight: f64,
    /// Pages written for each transaction.
    pub pages_per_transaction: f64,
}

impl Published {
    pub fn read() -> anyhow::Result<Self> {
        let cells = csv::Reader::from_reader(CELLS.as_bytes()).into_deserialize();
        let files = csv::Reader::from_reader(FILES.as_bytes()).into_deserialize();
        let published = Published {
            cells: cells
                .collect::<csv::Result<_>>()
                .context("doublewrite-pages.csv")?,
            files: files
                .collect::<csv::Result<_>>()
                .context("doublewrite-pages-file-io.csv")?,
        };
        for pages in PAGES {
            for config in Config::ALL {
                let there = |threads| published.row(config, threads, pages).is_some();
                ensure!(
                    THREADS.into_iter().all(there),
                    "doublewrite-pages.csv: {} with {pages} pages is missing",
                    config.name()
                );
            }
            let there = published.file_row(pages).is_some();
            ensure!(
                there,
                "doublewrite-pages-file-io.csv: {pages} pages are missing"
            );
        }
        Ok(published)
    }

    fn row(&self, config: Config, threads: u32, pages: u32) -> Option<&CellRow> {
        let mut rows = self.cells.iter();
        rows.find(|row| {
            row.config == config.name()
                && (row.threads, row.innodb_doublewrite_pages) == (threads, pages)
        })
    }

    fn file_row(&self, pages: u32) -> Option<&FileRow> {
        let mut rows = self.files.iter();
        rows.find(|row| row.innodb_doublewrite_pages == pages)
    }

    /// # Panics
    /// If there is no such cell; [`read`](Self::read) has seen that all are there.
    pub fn figures(&self, config: Config, threads: u32, pages: u32) -> Figures {
        let row = self
            .row(config, threads, pages)
            .expect("read with all cells");
        Figures {
            qps: row.qps,
            latency_avg_ms: row.latency_avg_ms,
        }
    }

    /// Transactions a second of a cell.
    pub fn tps(&self, config: Config, threads: u32, pages: u32) -> f64 {
        self.figures(config, threads, pages).qps / QUERIES
    }

    /// By how much 16 pages are faster than 128: 0.062 is 6.2 %.
    pub fn effect(&self, config: Config, threads: u32) -> f64 {
        let [large, small] = PAGES.map(|pages| self.tps(config, threads, pages));
        small / large - 1.0
    }

    /// The same as time that a transaction saves, in microseconds.
    pub fn effect_us(&self, config: Config, threads: u32) -> f64 {
        let time = |pages| f64::from(threads) * 1e6 / self.tps(config, threads, pages);
        time(PAGES[0]) - time(PAGES[1])
    }

    /// # Panics
    /// As [`figures`](Self::figures).
    pub fn files(&self, pages: u32) -> FileFigures {
        let row = self.file_row(pages).expect("read with both sizes");
        let tps: f64 = THREADS
            .iter()
            .map(|&threads| self.tps(Config::Tuned, threads, pages))
            .sum();
        FileFigures {
            write_ms: row.sum_timer_write_ps / row.count_write / 1e9,
            in_flight: row.sum_timer_write_ps / 1e12 / SUMMARY_S,
            pages_per_transaction: row.mib_written * PAGES_PER_MIB / (tps * RUN_S),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_derived_is_what_the_report_implies() {
        let published = Published::read().unwrap();
        let percent = |config, threads| format!("{:.1}", published.effect(config, threads) * 100.0);
        assert_eq!(percent(Config::Tuned, 16), "6.2");
        assert_eq!(percent(Config::Tuned, 64), "14.3");
        assert_eq!(percent(Config::Dedicated, 16), "2.1");
        // 6.35: the report's text rounds it up.
        assert_eq!(percent(Config::Dedicated, 64), "6.3");
        assert_eq!(published.effect_us(Config::Tuned, 16).round(), 244.0);
        assert_eq!(published.effect_us(Config::Tuned, 64).round(), 1351.0);
        let text = |pages| {
            let files = published.files(pages);
            format!(
                "{:.2} ms, {:.2} in flight, {:.2} pages",
                files.write_ms, files.in_flight, files.pages_per_transaction
            )
        };
        assert_eq!(text(128), "19.24 ms, 2.87 in flight, 4.06 pages");
        assert_eq!(text(16), "1.99 ms, 2.46 in flight, 3.87 pages");
    }
}
