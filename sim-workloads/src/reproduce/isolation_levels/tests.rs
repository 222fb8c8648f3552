//! Each claim holds for the published figures, and fails where they are not met.

use serde_json::json;

use super::super::sample;
use super::*;
use crate::report::json::{Finding, RunDocument};

fn extent(amount: Amount) -> Extent<'static> {
    Extent {
        machine: "quad-144-ramdisk",
        scale: IsolationLevels.default_scale(amount),
        amount,
    }
}

/// Runs that give the published figures and the counters that are expected, changed.
fn judged(amount: Amount, change: impl Fn(&Cell, &mut RunDocument)) -> Findings {
    let extent = extent(amount);
    let cells = IsolationLevels.cells(&extent).unwrap();
    let finished = sample::all(cells, |cell, run| {
        run.tps = cell.expected_tps;
        run.transactions = 1_000;
        let committed = cell.labels["transaction_isolation"] == "READ-COMMITTED";
        let views = if committed { 14_000 } else { 1_000 };
        run.metrics
            .insert("innosim_read_views_opened".into(), views);
        run.metrics
            .insert("innosim_implicit_lock_walks".into(), 1_000);
        change(cell, run);
    });
    IsolationLevels.findings(&finished, &extent)
}

fn failing(findings: &Findings) -> Vec<String> {
    let all = findings.claims.iter().chain(&findings.controls);
    let failing = all.filter(|finding| !finding.holds);
    failing.map(|finding| finding.text.clone()).collect()
}

#[test]
fn all_published_cells_are_there() {
    let cells = IsolationLevels.cells(&extent(Amount::Full)).unwrap();
    let published = cells
        .iter()
        .filter(|cell| cell.figures.iter().any(|(_, tps)| tps.is_some()));
    assert_eq!(published.count(), 56);
    assert_eq!(cells.len(), 56 + 8 + 2);
    let runs: usize = cells.iter().map(|cell| cell.seeds.len()).sum();
    assert_eq!(runs, 56 * 3 + 8 + 2);
    let quick = IsolationLevels.cells(&extent(Amount::Quick)).unwrap();
    assert_eq!(quick.len(), 16);
    assert!(quick.iter().all(|cell| cell.seeds == [1]));
    let fitted: Vec<_> = cells.iter().filter(|cell| cell.fitted).collect();
    assert_eq!(fitted.len(), 6);
    assert!(
        fitted
            .iter()
            .all(|cell| cell.labels["flavor"] == FLAVORS[1])
    );
}

#[test]
fn every_cell_can_be_planned() {
    let directory = tempfile::tempdir().unwrap();
    let options = directory.path().join("my.cnf");
    std::fs::write(&options, OPTIONS.text).unwrap();
    for cell in IsolationLevels.cells(&extent(Amount::Full)).unwrap() {
        let mut arguments = cell.setup.arguments.clone();
        arguments.defaults_file = Some(options.clone());
        arguments.scale = Some("4".into());
        arguments.machine = Some(cell.setup.machine.clone());
        let plan = arguments.plan().unwrap();
        assert_eq!(plan.schema.tables().len(), 8);
        assert_eq!(plan.schema.tables()[0].rows, 2_500_000);
        let level = plan.settings.get("transaction_isolation").unwrap();
        let expected = cell.labels["transaction_isolation"].as_str().unwrap();
        assert_eq!(level.unscaled.to_string(), expected);
    }
}

#[test]
fn the_published_figures_meet_every_claim() {
    for amount in [Amount::Quick, Amount::Full] {
        let findings = judged(amount, |_, _| ());
        assert_eq!(failing(&findings), Vec::<String>::new());
        assert_eq!(findings.claims.len(), 3 + 4 + 2 + 4 + 2);
    }
    assert_eq!(judged(Amount::Full, |_, _| ()).controls.len(), 2);
}

fn is(cell: &Cell, flavor: &str, level: &str, threads: u32) -> bool {
    cell.labels["flavor"] == flavor
        && cell.labels["transaction_isolation"] == level
        && cell.labels["threads"] == threads
}

#[test]
fn errors_beyond_the_bounds_fail() {
    let few = judged(Amount::Full, |cell, run| {
        if cell.labels["threads"].as_u64() <= Some(32) {
            run.tps *= 1.061;
        }
    });
    assert_eq!(
        failing(&few)[0],
        "median error of the 24 cells with up to 32 threads: at most 6 %"
    );
    let many = judged(Amount::Full, |cell, run| {
        if cell.labels["threads"].as_u64() > Some(32) {
            run.tps *= 0.849;
        }
    });
    assert_eq!(
        failing(&many)[0],
        "median error of the 32 cells with more threads: at most 15 %"
    );
    let one = judged(Amount::Full, |cell, run| {
        if is(cell, "mysql-5.7", "REPEATABLE-READ", 256) {
            run.tps *= 0.59;
        }
    });
    assert_eq!(failing(&one), ["largest error of those: at most 40 %"]);
}

#[test]
fn a_peak_elsewhere_fails() {
    let beside = judged(Amount::Full, |cell, run| {
        if is(cell, "mysql-5.6", "READ-COMMITTED", 36) {
            run.tps *= 1.2;
        }
    });
    assert_eq!(failing(&beside), Vec::<String>::new(), "one step beside 32");
    let elsewhere = judged(Amount::Full, |cell, run| {
        if is(cell, "mysql-5.6", "READ-COMMITTED", 16) || is(cell, "mysql-5.6", "READ-COMMITTED", 8)
        {
            run.tps = 14_000.0 - run.tps / 100.0;
        }
    });
    let text = "mysql-5.6 READ-COMMITTED peaks at 32 threads, or one step beside";
    assert!(
        failing(&elsewhere).contains(&text.to_owned()),
        "{elsewhere:?}"
    );
}

#[test]
fn ratios_are_judged_in_points() {
    let findings = judged(Amount::Full, |cell, run| {
        if is(cell, "mysql-5.6", "READ-COMMITTED", 1024) {
            run.tps = 5_139.0 * 0.21;
        }
        if is(cell, "mysql-5.7", "READ-COMMITTED", 1024) {
            run.tps *= 1.3;
        }
    });
    assert_eq!(
        failing(&findings)[..2],
        [
            "mysql-5.6: RC makes 15.2 % of RR with 1024 threads, within 5 points",
            "mysql-5.7: RC makes 33.8 % of RR with 1024 threads, within 8 points",
        ]
    );
}

#[test]
fn counters_are_counted_over_the_column() {
    let findings = judged(Amount::Full, |cell, run| {
        if cell.labels["transaction_isolation"] == "READ-COMMITTED" {
            run.metrics
                .insert("innosim_read_views_opened".into(), 12_000);
        } else {
            run.metrics
                .insert("innosim_implicit_lock_walks".into(), 2_000);
        }
    });
    assert_eq!(
        failing(&findings),
        [
            "mysql-5.6 READ-COMMITTED opens 14 read views a transaction, within 5 %",
            "mysql-5.7 READ-COMMITTED opens 14 read views a transaction, within 5 %",
            "mysql-5.6 REPEATABLE-READ walks the list once a transaction for an implicit lock, \
             within 0.3",
        ]
    );
    // A program that does not count them does not meet the claim.
    let uncounted = judged(Amount::Quick, |_, run| run.metrics.clear());
    assert_eq!(failing(&uncounted).len(), 6);
}

#[test]
fn a_long_run_that_gives_something_else_fails() {
    let findings = judged(Amount::Full, |cell, run| {
        if cell.labels.get("time_s") == Some(&json!(60.0)) {
            run.tps *= 0.94;
        }
    });
    assert_eq!(failing(&findings).len(), 2);
    assert!(findings.controls.iter().all(|control| !control.holds));
}

#[test]
fn without_runs_nothing_holds() {
    let extent = extent(Amount::Full);
    let cells = IsolationLevels.cells(&extent).unwrap();
    let mut finished = sample::all(cells, |_, _| ());
    for cell in &mut finished.cells {
        cell.runs.clear();
    }
    let findings = IsolationLevels.findings(&finished, &extent);
    let holds = |finding: &&Finding| finding.holds || finding.figure.is_some();
    let all = findings.claims.iter().chain(&findings.controls);
    assert_eq!(all.filter(holds).count(), 0);
}
