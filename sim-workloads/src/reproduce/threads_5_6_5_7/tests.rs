//! Each claim holds for the published figures, and fails where they are not met.

use super::super::sample;
use super::*;
use crate::report::json::RunDocument;

fn extent(amount: Amount) -> Extent<'static> {
    Extent {
        machine: "dual-56-nvme",
        scale: Threads.default_scale(amount),
        amount,
    }
}

/// Runs that give the published figures, changed.
fn judged(amount: Amount, change: impl Fn(&str, u64, &mut RunDocument)) -> Findings {
    let extent = extent(amount);
    let finished = sample::all(Threads.cells(&extent).unwrap(), |cell, run| {
        run.tps = cell.expected_tps;
        let flavor = cell.labels["flavor"].as_str().unwrap();
        change(flavor, cell.labels["threads"].as_u64().unwrap(), run);
    });
    Threads.findings(&finished, &extent)
}

fn failing(findings: &Findings) -> Vec<&str> {
    let all = findings.claims.iter().chain(&findings.controls);
    let failing = all.filter(|finding| !finding.holds);
    failing.map(|finding| finding.text.as_str()).collect()
}

#[test]
fn all_published_cells_are_there_and_can_be_planned() {
    let cells = Threads.cells(&extent(Amount::Full)).unwrap();
    let published = cells.iter().filter(|cell| !cell.figures.is_empty());
    assert_eq!((published.count(), cells.len()), (2 * 18, 2 * 18 + 2));
    assert_eq!(cells.iter().filter(|cell| cell.fitted).count(), 2);
    let directory = tempfile::tempdir().unwrap();
    let options = directory.path().join("my.cnf");
    std::fs::write(&options, OPTIONS.text).unwrap();
    for cell in &cells {
        let mut arguments = cell.setup.arguments.clone();
        arguments.defaults_file = Some(options.clone());
        arguments.scale = Some("4".into());
        arguments.machine = Some(cell.setup.machine.clone());
        let plan = arguments.plan().unwrap();
        assert_eq!(plan.schema.tables().len(), 10);
        let level = plan.settings.get("transaction_isolation").unwrap();
        assert_eq!(level.unscaled.to_string(), "READ-COMMITTED");
        // No transaction takes longer than the warm-up.
        let latency_s = f64::from(plan.threads) / cell.expected_tps;
        assert!(cell.setup.length.warm_up_s > 3.0 * latency_s);
    }
    let quick = Threads.cells(&extent(Amount::Quick)).unwrap();
    assert_eq!(quick.len(), 2 * QUICK_THREADS.len());
}

#[test]
fn the_published_figures_meet_every_claim() {
    for amount in [Amount::Quick, Amount::Full] {
        let findings = judged(amount, |_, _, _| ());
        assert_eq!(failing(&findings), Vec::<&str>::new());
        assert_eq!(findings.claims.len(), 4);
    }
}

#[test]
fn five_seven_has_to_be_ahead_of_five_six() {
    let findings = judged(Amount::Full, |flavor, threads, run| {
        if flavor == FLAVORS[1] && threads == 210 {
            run.tps = 5_800.0;
        }
    });
    let failing = failing(&findings);
    assert!(
        failing[0].starts_with("5.7 is above 5.6 with 68 threads"),
        "{failing:?}"
    );
    assert!((findings.claims[0].figure.unwrap() - 5_800.0 / 5_817.01).abs() < 1e-9);
}

#[test]
fn a_peak_may_be_two_steps_beside_its_place() {
    let with_peak = |place: u64| {
        judged(Amount::Full, |flavor, threads, run| {
            if flavor == FLAVORS[0] && threads == place {
                run.tps = 20_000.0;
            }
        })
    };
    let text = "mysql-5.6 peaks at 68 threads, or up to 2 steps beside";
    for (place, is_near) in [
        (20, false),
        (31, true),
        (46, true),
        (100, true),
        (145, true),
        (210, false),
    ] {
        let findings = with_peak(place);
        let finding = findings
            .claims
            .iter()
            .find(|claim| claim.text == text)
            .unwrap();
        assert_eq!(
            (finding.holds, finding.figure),
            (is_near, Some(place as f64))
        );
    }
}

#[test]
fn errors_and_long_runs_are_told() {
    let findings = judged(Amount::Full, |_, threads, run| {
        if threads > 1 {
            run.tps *= 1.3;
        }
    });
    let error = &findings.claims[3];
    assert!(!error.holds && !error.judged && (error.figure.unwrap() - 0.3).abs() < 1e-9);
    let extent = extent(Amount::Full);
    let cells = Threads.cells(&extent).unwrap();
    let finished = sample::all(cells, |cell, run| {
        run.tps = cell.expected_tps;
        if cell.labels.contains_key("time_s") {
            run.tps *= 0.94;
        }
    });
    let findings = Threads.findings(&finished, &extent);
    assert!(findings.controls.iter().all(|control| !control.holds));
    assert_eq!(findings.controls.len(), 2);
}

#[test]
fn without_runs_nothing_holds() {
    let extent = extent(Amount::Full);
    let mut finished = sample::all(Threads.cells(&extent).unwrap(), |_, _| ());
    for cell in &mut finished.cells {
        cell.runs.clear();
    }
    let findings = Threads.findings(&finished, &extent);
    let all = findings.claims.iter().chain(&findings.controls);
    for finding in all {
        assert!(!finding.holds && finding.figure.is_none(), "{finding:?}");
    }
}
