//! One thread, stepped: the engine does the same under both clocks, to the unit.
//!
//! Nothing happens by time in such a run: cleaner, purge and checkpoint take a step after
//! every hundred transactions. What is counted may then not depend on the clock, but for
//! times themselves; and the files are the same, byte by byte: every record, undo record and
//! byte of redo.

use std::path::Path;

use innosim_workloads::report::json::RunDocument;
use innosim_workloads::run::RunArguments;

use super::{document, files, texts};

fn with(clock: &str, workload: &str, datadir: &Path) -> RunDocument {
    document(&RunArguments {
        // Small, so that pages are read, flushed and split. Which page is old enough to be
        // made young again is a question of time, and with it which pages are evicted.
        set: texts([
            "innodb_buffer_pool_size=8M",
            "innodb_redo_log_capacity=16M",
            "innodb_old_blocks_time=0",
        ]),
        workload: Some(workload.into()),
        table_size: Some("40000".into()),
        events: Some("2000".into()),
        clock: Some(clock.into()),
        machine: Some("laptop-nvme".into()),
        datadir: Some(datadir.into()),
        ..RunArguments::default()
    })
}

/// Figures that are times, or what depends on the host: left out.
fn is_time(name: &str) -> bool {
    ["time", "usec", "_rate", "avg_pass"]
        .iter()
        .any(|part| name.contains(part))
}

/// Everything that was counted.
fn counts(run: &RunDocument) -> Vec<(String, i64)> {
    let figures = run.status.iter().chain(&run.metrics);
    let counts = figures.filter(|(name, _)| !is_time(name));
    let mut counts: Vec<_> = counts.map(|(name, count)| (name.clone(), *count)).collect();
    counts.push(("transactions".into(), run.transactions as i64));
    counts.push(("queries".into(), run.queries as i64));
    for file in &run.files {
        for (what, count) in [
            ("reads", file.count_read),
            ("bytes read", file.bytes_read),
            ("writes", file.count_write),
            ("bytes written", file.bytes_written),
            ("syncs", file.count_sync),
        ] {
            counts.push((format!("{}: {what}", file.event_name), count as i64));
        }
    }
    counts
}

#[test]
fn a_stepped_run_counts_the_same_under_both_clocks() {
    for workload in ["oltp_read_write", "oltp_insert"] {
        let directory = tempfile::tempdir().unwrap();
        let datadirs = ["virtual", "real"].map(|clock| directory.path().join(clock));
        let modelled = with("virtual", workload, &datadirs[0]);
        let real = with("real", workload, &datadirs[1]);
        let differences: Vec<_> = counts(&modelled)
            .into_iter()
            .zip(counts(&real))
            .filter(|(left, right)| left != right)
            .collect();
        assert!(differences.is_empty(), "{workload}: {differences:#?}");
        let (left, right) = (files(&datadirs[0]), files(&datadirs[1]));
        assert!(left.keys().eq(right.keys()));
        for (name, bytes) in &left {
            assert!(
                *bytes == right[name],
                "{workload}: {} differs",
                name.display()
            );
        }
        // The parts of interest were at work at all.
        for name in [
            "Innodb_buffer_pool_read_requests",
            "Innodb_buffer_pool_write_requests",
            "Innodb_buffer_pool_pages_flushed",
            "Innodb_dblwr_pages_written",
            "Innodb_os_log_written",
            "Innodb_log_write_requests",
        ] {
            assert!(modelled.status[name] > 100, "{workload}: {name}");
        }
        assert!(modelled.metrics["log_checkpoints"] > 0, "{workload}");
        if workload == "oltp_insert" {
            assert!(modelled.metrics["index_page_splits"] > 0);
        }
    }
}
