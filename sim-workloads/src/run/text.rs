//! What a run prints: sysbench's report, and below it what only a simulated server knows.
//!
//! The first part is sysbench's to the byte, so that whatever reads its reports reads
//! ours. It ends with a blank line; the second part follows.

use std::fmt::Write as _;

use super::measure::{Measurement, PERCENTILE};
use super::plan::RunPlan;
use super::validity::{ROUND_SHARE_MAX, SECONDS_MIN};
use crate::report::final_report::{FinalReport, LatencyFigures};
use crate::report::json::{RunDocument, TimeBudget, Validity};
use crate::report::preamble::Preamble;
use innosim_engine::runtime::time::{SECOND, to_seconds};

/// Latches and uses of time that are listed.
const LISTED: usize = 5;

/// What is printed before the clients start.
pub fn preamble(plan: &RunPlan) -> String {
    let version = plan.script.info().version;
    let line = format!(
        "innosim {} (report as sysbench {version})",
        env!("CARGO_PKG_VERSION")
    );
    Preamble {
        version_line: &line,
        threads: plan.threads,
        rate: None,
        report_interval_s: plan
            .report_interval
            .map(|interval| interval.div_ceil(SECOND)),
        seed: plan.seed,
    }
    .text()
}

/// What is printed at the end.
pub fn results(plan: &RunPlan, measurement: &Measurement, run: &RunDocument) -> String {
    let version = plan.script.info().version;
    let mut out = FinalReport {
        counters: measurement.counters,
        total_time_s: to_seconds(measurement.time),
        latency: LatencyFigures::new(&measurement.latency, PERCENTILE, version),
        percentile: PERCENTILE,
        threads: &measurement.clients,
    }
    .text(version);
    time_budget(&mut out, &run.time_budget);
    latches(&mut out, run);
    validity(&mut out, &run.validity);
    out
}

// Writing to a string cannot fail, so the results below are dropped.

fn time_budget(out: &mut String, budget: &TimeBudget) {
    let total = budget.total();
    let mut parts = [
        ("cpu", budget.cpu),
        ("run queue", budget.run_queue),
        ("latches", budget.latch),
        ("row locks", budget.row_lock),
        ("page reads", budget.page_read),
        ("free pages", budget.free_page),
        ("pages under flush", budget.flushed_page),
        ("redo writes", budget.log_write),
        ("redo flushes", budget.log_sync),
        ("admission", budget.admission),
        ("other", budget.other),
    ];
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let _ = writeln!(out, "Time of a mean transaction (us):");
    for (name, part) in parts.iter().filter(|(_, part)| *part > 0.0).take(LISTED) {
        let share = part / total * 100.0;
        let label = format!("{name}:");
        let _ = writeln!(out, "    {label:<37}{part:<10.1} ({share:.1} %)");
    }
}

fn latches(out: &mut String, run: &RunDocument) {
    let waited: Vec<_> = run
        .latches
        .iter()
        .filter(|latch| latch.wait_ns > 0)
        .collect();
    if waited.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nLatches most waited for (us a transaction):");
    for latch in waited.iter().take(LISTED) {
        let label = format!("{}:", latch.name);
        let wait = latch.wait_ns as f64 / 1e3 / run.transactions.max(1) as f64;
        let share = latch.contended as f64 / latch.acquired.max(1) as f64 * 100.0;
        let _ = writeln!(out, "    {label:<37}{wait:<10.2} ({share:.2} % contended)");
    }
}

fn validity(out: &mut String, validity: &Validity) {
    let seconds = |figure: Option<f64>, never: &str| {
        figure.map_or(never.to_owned(), |seconds| format!("{seconds:.1} s"))
    };
    let _ = writeln!(out, "\nValidity of the scale:");
    let lines = [
        (
            "cleaner round / pool:",
            format!("{:.2} %", validity.round_share * 100.0),
            format!("at most {:.0} %", ROUND_SHARE_MAX * 100.0),
        ),
        (
            "turnover of the pool:",
            seconds(validity.turnover_s, "nothing read"),
            format!("at least {SECONDS_MIN:.0} s"),
        ),
        (
            "first change to flush:",
            seconds(validity.dirty_to_flush_s, "nothing flushed"),
            format!("at least {SECONDS_MIN:.0} s"),
        ),
        (
            "waits for pages under flush:",
            format!("{:.2} us/trx", validity.flushed_page_wait_us),
            "at most 10 % of the effect claimed".to_owned(),
        ),
        (
            "waits for row locks:",
            format!("{:.4} /trx", validity.row_lock_waits),
            "within 1 % of the run at half the scale".to_owned(),
        ),
    ];
    for (label, figure, limit) in lines {
        let _ = writeln!(out, "    {label:<37}{figure:<15} ({limit})");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::json::LatchSummary;
    use crate::report::json::tests::sample;

    #[test]
    fn the_second_part_is_short() {
        let run = RunDocument {
            transactions: 100,
            latches: vec![LatchSummary {
                name: "trx_sys_mutex".into(),
                acquired: 400,
                contended: 10,
                wait_ns: 250_000,
                hold_ns: 0,
            }],
            time_budget: TimeBudget {
                cpu: 750.0,
                log_sync: 200.0,
                latch: 50.0,
                ..TimeBudget::default()
            },
            ..sample()
        };
        let mut out = String::new();
        time_budget(&mut out, &run.time_budget);
        latches(&mut out, &run);
        validity(&mut out, &run.validity);
        insta::assert_snapshot!(out, @"
        Time of a mean transaction (us):
            cpu:                                 750.0      (75.0 %)
            redo flushes:                        200.0      (20.0 %)
            latches:                             50.0       (5.0 %)

        Latches most waited for (us a transaction):
            trx_sys_mutex:                       2.50       (2.50 % contended)

        Validity of the scale:
            cleaner round / pool:                1.00 %          (at most 10 %)
            turnover of the pool:                nothing read    (at least 10 s)
            first change to flush:               42.0 s          (at least 10 s)
            waits for pages under flush:         0.50 us/trx     (at most 10 % of the effect claimed)
            waits for row locks:                 0.0010 /trx     (within 1 % of the run at half the scale)
        ");
    }
}
