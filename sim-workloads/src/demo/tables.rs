//! The demo's tables: a figure a row, a run a column.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;

use super::cells::{
    DOUBLEWRITE_PAGES, Experiment, ISOLATION_LEVELS, MACHINE, REDO_CAPACITIES, THREADS,
};
use super::document::DemoDocument;
use crate::report::json::{FileSummary, RunDocument};

/// A figure of a run: its name and its text.
type Figure = (&'static str, fn(&RunDocument) -> String);

/// What both experiments with writes begin with.
const COMMON: [Figure; 2] = [
    ("transactions/s", |run| format!("{:.0}", run.tps)),
    ("95 % of transactions within (ms)", |run| {
        format!("{:.1}", run.latency_ms.p95)
    }),
];

const DOUBLEWRITE: [Figure; 9] = [
    ("pages of a doublewrite batch", |run| {
        let pages = counter(run, "Innodb_dblwr_pages_written");
        ratio(pages, counter(run, "Innodb_dblwr_writes") as u64)
    }),
    ("pages written one by one, by clients (%)", |run| {
        let single = run.metrics.get("dblwr_sync_requests").copied();
        let single = single.unwrap_or(0) as f64;
        ratio(100.0 * single, counter(run, "Innodb_pages_written") as u64)
    }),
    ("a doublewrite write takes (ms)", |run| {
        let file = file(run, "innodb_dblwr_file");
        ratio(file.sum_timer_write_ps as f64 / 1e9, file.count_write)
    }),
    ("a flush of a data file takes (ms)", |run| {
        let file = file(run, "innodb_data_file");
        ratio(file.sum_timer_sync_ps as f64 / 1e9, file.count_sync)
    }),
    ("pages flushed a transaction", flushed_per_transaction),
    ("time of a transaction: CPU (us)", |run| {
        microseconds(run.time_budget.cpu)
    }),
    ("    reading pages (us)", |run| {
        microseconds(run.time_budget.page_read)
    }),
    ("    waiting for pages under flush (us)", |run| {
        microseconds(run.time_budget.flushed_page + run.time_budget.free_page)
    }),
    ("    waiting for redo (us)", redo_wait),
];

const REDO: [Figure; 5] = [
    ("slowest second (transactions/s)", |run| {
        let rates = run.intervals.iter().map(|interval| interval.tps);
        format!("{:.0}", rates.fold(f64::INFINITY, f64::min))
    }),
    ("pages flushed a transaction", flushed_per_transaction),
    ("redo written (MiB/s)", |run| {
        let bytes = counter(run, "Innodb_os_log_written");
        format!("{:.1}", bytes / f64::from(1 << 20) / run.time_s.max(0.001))
    }),
    ("oldest change not on disk (MiB of redo)", |run| {
        let ages = run.intervals.iter().map(|interval| interval.checkpoint_age);
        format!("{:.0}", ages.max().unwrap_or(0) as f64 / f64::from(1 << 20))
    }),
    ("time of a transaction: redo (us)", redo_wait),
];

fn counter(run: &RunDocument, name: &str) -> f64 {
    run.status.get(name).copied().unwrap_or(0) as f64
}

fn flushed_per_transaction(run: &RunDocument) -> String {
    let flushed = counter(run, "Innodb_buffer_pool_pages_flushed");
    ratio(flushed, run.transactions)
}

fn redo_wait(run: &RunDocument) -> String {
    microseconds(run.time_budget.log_write + run.time_budget.log_sync)
}

fn microseconds(figure: f64) -> String {
    format!("{figure:.0}")
}

fn ratio(sum: f64, count: u64) -> String {
    match count {
        0 => "-".into(),
        _ => format!("{:.2}", sum / count as f64),
    }
}

fn file(run: &RunDocument, name: &str) -> FileSummary {
    let mut files = run.files.iter();
    let file = files.find(|file| file.event_name.ends_with(name));
    file.cloned().unwrap_or_default()
}

fn table(header: Vec<String>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

impl DemoDocument {
    /// An experiment of two values on two machines.
    fn side_by_side(
        &self,
        experiment: Experiment,
        name: &str,
        values: &[Value],
        figures: &[Figure],
    ) -> Table {
        let mut header = vec![name.to_owned()];
        let mut runs = Vec::new();
        for (modelled, place) in [(false, "here"), (true, MACHINE)] {
            for value in values {
                let text = value.as_str().map_or(value.to_string(), str::to_owned);
                header.push(format!("{text} {place}"));
                runs.push(self.find(experiment, modelled, &[(name, value.clone())]));
            }
        }
        let mut table = table(header);
        for (label, figure) in COMMON.iter().chain(figures) {
            let cells = runs.iter().map(|run| run.map_or("-".into(), figure));
            table.add_row(std::iter::once((*label).to_owned()).chain(cells));
        }
        table
    }

    fn isolation(&self) -> Table {
        let header = [
            "threads",
            "RR trx/s",
            "RC trx/s",
            "RC / RR",
            "RR: wait for trx_sys (us/trx)",
            "RC: wait for trx_sys (us/trx)",
        ];
        let mut table = table(header.map(str::to_owned).to_vec());
        for threads in THREADS {
            let runs = ISOLATION_LEVELS.map(|level| {
                let set = [
                    ("transaction_isolation", level.into()),
                    ("threads", threads.into()),
                ];
                self.find(Experiment::Isolation, true, &set)
            });
            let [Some(rr), Some(rc)] = runs else { continue };
            table.add_row([
                threads.to_string(),
                format!("{:.0}", rr.tps),
                format!("{:.0}", rc.tps),
                format!("{:.2}", rc.tps / rr.tps),
                trx_sys_wait(rr),
                trx_sys_wait(rc),
            ]);
        }
        table
    }
}

fn trx_sys_wait(run: &RunDocument) -> String {
    let mut latches = run.latches.iter();
    let latch = latches.find(|latch| latch.name == "trx_sys_mutex");
    ratio(
        latch.map_or(0.0, |latch| latch.wait_ns as f64 / 1e3),
        run.transactions,
    )
}

impl fmt::Display for DemoDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Shapes, not published figures: 1.2 million rows and runs of a few seconds.\n\
             \"here\" is this computer with real files on its disk; {MACHINE} is a model of a\n\
             server with 24 hardware threads and an NVMe disk, and gives the same every time.\n"
        )?;
        writeln!(
            f,
            "1. Doublewrite batches of 128 or 16 pages (oltp_write_only, 16 threads, a pool of a\n   \
             quarter of the tables). A batch is one write: what comes after it on the disk waits\n   \
             for all of it, and so does who wants to change one of its pages. But every batch\n   \
             ends with a flush of the data files: where that is slow, the page cleaner falls\n   \
             behind, and clients that find no free page write dirty ones themselves, one by one.\n"
        )?;
        let pages = DOUBLEWRITE_PAGES.map(Value::from);
        let experiment = Experiment::Doublewrite;
        let doublewrite =
            self.side_by_side(experiment, "innodb_doublewrite_pages", &pages, &DOUBLEWRITE);
        writeln!(f, "{doublewrite}\n")?;
        writeln!(
            f,
            "2. A redo log of 64 MiB or 1 GiB (oltp_write_only, 16 threads, all tables in the\n   \
             pool). Pages are written because the log needs the space of their oldest change; in\n   \
             a large log a page collects more changes before.\n"
        )?;
        let capacities = REDO_CAPACITIES.map(Value::from);
        let redo = self.side_by_side(
            Experiment::Redo,
            "innodb_redo_log_capacity",
            &capacities,
            &REDO,
        );
        writeln!(f, "{redo}\n")?;
        writeln!(
            f,
            "3. REPEATABLE READ or READ COMMITTED (MySQL 5.6, oltp_read_write, {MACHINE} only).\n   \
             RR opens one view a transaction, RC one a statement, and each walks the list of\n   \
             active transactions under one mutex, trx_sys.\n"
        )?;
        writeln!(f, "{}", self.isolation())
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::DemoCell;
    use super::*;
    use crate::report::json::LatchSummary;
    use crate::report::json::tests::sample;

    #[test]
    fn every_table_has_its_runs() {
        let mut cells = Vec::new();
        for (number, cell) in super::super::cells::all("/d".as_ref())
            .into_iter()
            .enumerate()
        {
            let run = RunDocument {
                tps: 1000.0 + number as f64,
                transactions: 10,
                latches: vec![LatchSummary {
                    name: "trx_sys_mutex".into(),
                    acquired: 1,
                    contended: 1,
                    wait_ns: 50_000,
                    hold_ns: 0,
                }],
                ..sample()
            };
            cells.push(DemoCell {
                experiment: cell.experiment,
                modelled: cell.is_modelled,
                set: cell.set,
                run,
            });
        }
        let text = DemoDocument::new(cells).to_string();
        for number in 0..18 {
            assert!(
                text.contains(&(1000 + number).to_string()),
                "{number}:\n{text}"
            );
        }
        assert!(text.contains("128 here") && text.contains("1G nvme-24core"));
        assert!(text.contains("5.00"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 132), "{text}");
    }

    /// A page that a client writes itself is a write of its own, and no batch.
    #[test]
    fn pages_written_one_by_one_are_told_apart_from_batches() {
        let status = [
            ("Innodb_dblwr_writes", 10),
            ("Innodb_dblwr_pages_written", 155),
            ("Innodb_pages_written", 620),
        ];
        let run = RunDocument {
            status: status.map(|(name, value)| (name.to_owned(), value)).into(),
            metrics: [("dblwr_sync_requests".to_owned(), 465)].into(),
            ..sample()
        };
        let texts = DOUBLEWRITE.map(|(_, figure)| figure(&run));
        assert_eq!(texts[..2], ["15.50", "75.00"]);
    }

    #[test]
    fn without_runs_there_are_dashes() {
        let text = DemoDocument::new(Vec::new()).to_string();
        assert!(text.contains("| transactions/s"), "{text}");
        assert!(text.contains(" - "), "{text}");
    }
}
