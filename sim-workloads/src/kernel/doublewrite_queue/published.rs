//! The report's figures, from its tables.

use serde::Deserialize;

const THROUGHPUT: &str = include_str!("../../../../data/seeds/doublewrite-pages.csv");
const FILE_IO: &str = include_str!("../../../../data/seeds/doublewrite-pages-file-io.csv");

/// Statements of a transaction, which the report counts as queries.
const QUERIES: f64 = 6.0;
/// Time over which the file counters ran: two runs of 1500 s with 180 s of rest between.
const COUNTED_S: f64 = 3_180.0;

/// What was published for the hand-tuned configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    throughput: Vec<Throughput>,
    file_io: Vec<FileIo>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Throughput {
    config: String,
    threads: u32,
    innodb_doublewrite_pages: u64,
    qps: f64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct FileIo {
    config: String,
    innodb_doublewrite_pages: u64,
    count_write: f64,
    sum_timer_write_ps: f64,
    mib_written: f64,
}

impl Published {
    /// Reads the tables that come with the program.
    ///
    /// # Errors
    /// If they are not as this code expects them.
    pub fn load() -> anyhow::Result<Self> {
        let rows = |text: &'static str| csv::Reader::from_reader(text.as_bytes());
        let throughput = rows(THROUGHPUT).into_deserialize();
        let file_io = rows(FILE_IO).into_deserialize();
        let mut published = Published {
            throughput: throughput.collect::<Result<Vec<Throughput>, _>>()?,
            file_io: file_io.collect::<Result<Vec<FileIo>, _>>()?,
        };
        published.throughput.retain(|row| row.config == "tuned");
        published.file_io.retain(|row| row.config == "tuned");
        let sizes = |pages| published.file_io_of(pages).is_some();
        let cells = |pages| [16, 64].map(|users| published.tps(pages, users) > 0.0);
        let complete = [128, 16].map(|pages| sizes(pages) && cells(pages) == [true, true]);
        anyhow::ensure!(complete == [true, true], "a published figure is missing");
        Ok(published)
    }

    /// Transactions a second; 0 for a cell that was not published.
    pub fn tps(&self, pages: u64, users: u32) -> f64 {
        let is_it =
            |row: &&Throughput| (row.innodb_doublewrite_pages, row.threads) == (pages, users);
        let row = self.throughput.iter().find(is_it);
        row.map_or(0.0, |row| row.qps / QUERIES)
    }

    fn file_io_of(&self, pages: u64) -> Option<&FileIo> {
        let mut rows = self.file_io.iter();
        rows.find(|row| row.innodb_doublewrite_pages == pages)
    }

    /// Mean duration of a doublewrite write over both runs of a server's life, in ms.
    pub fn write_ms(&self, pages: u64) -> f64 {
        let row = self.file_io_of(pages);
        row.map_or(0.0, |row| row.sum_timer_write_ps / row.count_write / 1e9)
    }

    /// Doublewrite writes in flight, mean over the time counted.
    pub fn in_flight(&self, pages: u64) -> f64 {
        let row = self.file_io_of(pages);
        row.map_or(0.0, |row| row.sum_timer_write_ps / 1e12 / COUNTED_S)
    }

    /// Pages that a transaction made dirty, mean over both runs.
    pub fn pages_per_transaction(&self, pages: u64) -> f64 {
        let written = self
            .file_io_of(pages)
            .map_or(0.0, |row| row.mib_written * 64.0);
        written / ((self.tps(pages, 16) + self.tps(pages, 64)) * 1500.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_report() {
        let published = Published::load().unwrap();
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 2e-3, "{a} against {b}");
        close(published.tps(128, 16), 3809.0);
        close(published.tps(16, 64), 6759.0);
        close(published.write_ms(128), 19.235);
        close(published.write_ms(16), 1.988);
        close(published.in_flight(128), 2.872);
        close(published.in_flight(16), 2.456);
        close(published.pages_per_transaction(128), 4.056);
        close(published.pages_per_transaction(16), 3.874);
        assert_eq!(published.tps(64, 16), 0.0);
    }
}
