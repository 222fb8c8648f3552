//! From a measurement to the JSON document of a run.

use std::collections::BTreeMap;

use innosim_engine::runtime::time::{NANOSECOND, to_seconds};
use innosim_engine::runtime::{LatchClass, RuntimeStatistics, WaitKind};
use innosim_engine::sysvar::{Options, Settings, examine};

use super::host_usage::HostUsage;
use super::measure::Measurement;
use super::plan::RunPlan;
use super::validity::{validity, warnings};
use crate::report::json::{FileSummary, LatchSummary, RunDocument, TimeBudget};

/// The document. `warnings` are those of the run itself; they follow the plan's.
pub fn document(
    plan: &RunPlan,
    measurement: &Measurement,
    more_warnings: Vec<String>,
    usage: &HostUsage,
) -> RunDocument {
    let seconds = to_seconds(measurement.time);
    let counters = &measurement.counters;
    let rate = |count: u64| {
        if seconds > 0.0 {
            count as f64 / seconds
        } else {
            0.0
        }
    };
    let metrics = &measurement.metrics;
    let time_budget = time_budget(&measurement.runtime, counters.transactions);
    let waits = time_budget.flushed_page;
    let validity = validity(metrics, measurement.time, counters.transactions, waits);
    let mut all_warnings = plan.warnings.clone();
    all_warnings.extend(more_warnings);
    all_warnings.extend(warnings(
        &validity,
        metrics,
        measurement.time,
        &plan.settings,
    ));
    RunDocument {
        innosim: env!("CARGO_PKG_VERSION").to_owned(),
        clock: plan.clock.name().to_owned(),
        machine: plan.machine.name.clone(),
        flavor: plan.settings.flavor().name().to_owned(),
        scale: plan.scale.get().into(),
        seed: plan.seed,
        workload: plan.script.info().name.to_owned(),
        threads: plan.threads,
        tables: plan.tables,
        table_size: plan.table_size,
        time_s: seconds,
        transactions: counters.transactions,
        queries: counters.queries(),
        tps: rate(counters.transactions),
        qps: rate(counters.queries()),
        errors: counters.errors.total(),
        latency_ms: measurement.latency.summary(),
        intervals: measurement.intervals.clone(),
        variables: variables(&plan.settings),
        defaults: defaults(&plan.settings),
        status: owned(metrics.status()),
        metrics: owned(metrics.metrics()),
        files: files(measurement),
        latches: latches(&measurement.runtime),
        time_budget,
        validity,
        warnings: all_warnings,
        host: usage.so_far(),
    }
}

/// The variables on which the run depends, as the server of full size has them.
fn variables(settings: &Settings) -> BTreeMap<String, serde_json::Value> {
    let in_json = |value| serde_json::to_value(value).expect("a number or a string");
    settings
        .modelled()
        .map(|setting| {
            (
                setting.definition.name.to_owned(),
                in_json(&setting.unscaled),
            )
        })
        .collect()
}

/// What the variables that have another value would have if nothing were set.
fn defaults(settings: &Settings) -> BTreeMap<String, serde_json::Value> {
    let (flavor, machine) = (settings.flavor(), settings.machine());
    let untouched = examine(flavor, &Options::new(), machine, settings.scale()).settings;
    let (values, mut defaults) = (variables(settings), variables(&untouched));
    defaults.retain(|name, default| values.get(name) != Some(default));
    defaults
}

fn owned(figures: BTreeMap<&str, i64>) -> BTreeMap<String, i64> {
    let own = |(name, value): (&str, i64)| (name.to_owned(), value);
    figures.into_iter().map(own).collect()
}

fn files(measurement: &Measurement) -> Vec<FileSummary> {
    let rows = measurement.metrics.files();
    rows.iter()
        .map(|row| FileSummary {
            event_name: row.event.name().to_owned(),
            count_read: row.read.count,
            sum_timer_read_ps: row.read.sum_timer_ps,
            bytes_read: row.read.bytes,
            count_write: row.write.count,
            sum_timer_write_ps: row.write.sum_timer_ps,
            bytes_written: row.write.bytes,
            count_sync: row.sync.count,
            sum_timer_sync_ps: row.sync.sum_timer_ps,
        })
        .collect()
}

/// The latch classes that were used, the most waited for first.
fn latches(runtime: &RuntimeStatistics) -> Vec<LatchSummary> {
    let mut rows: Vec<_> = LatchClass::ALL
        .iter()
        .zip(&runtime.latches)
        .filter(|(_, counts)| counts.acquired > 0)
        .map(|(class, counts)| LatchSummary {
            name: class.facts().name.to_owned(),
            acquired: counts.acquired,
            contended: counts.contended,
            wait_ns: counts.wait / NANOSECOND,
            hold_ns: counts.hold / NANOSECOND,
        })
        .collect();
    // The sort is stable: equal waits stay in the order of the classes.
    rows.sort_by_key(|row| std::cmp::Reverse(row.wait_ns));
    rows
}

/// Mean µs of the clients' time per transaction, by use.
fn time_budget(runtime: &RuntimeStatistics, transactions: u64) -> TimeBudget {
    let mean = |kind: WaitKind| {
        if transactions == 0 {
            return 0.0;
        }
        to_seconds(runtime.user_time[kind as usize]) * 1e6 / transactions as f64
    };
    TimeBudget {
        cpu: mean(WaitKind::Cpu),
        run_queue: mean(WaitKind::RunQueue),
        latch: mean(WaitKind::Latch),
        row_lock: mean(WaitKind::RowLock),
        page_read: mean(WaitKind::PageRead),
        free_page: mean(WaitKind::FreePage),
        flushed_page: mean(WaitKind::FlushedPage),
        log_write: mean(WaitKind::LogWrite),
        log_sync: mean(WaitKind::LogSync),
        admission: mean(WaitKind::Admission),
        other: mean(WaitKind::Other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::LatencyRecorder;
    use crate::run::RunArguments;
    use innosim_engine::metrics::{Counter, Metrics, Reading};
    use innosim_engine::runtime::time::{MICROSECOND, SECOND};
    use innosim_engine::runtime::{RealMachine, runtime_statistics};

    fn measurement() -> Measurement {
        let metrics = Metrics::new(1);
        metrics.shard(0).add(Counter::RowsRead, 20);
        let mut runtime = RealMachine::new(1).run(runtime_statistics);
        runtime.user_time = [0; WaitKind::COUNT];
        runtime.user_time[WaitKind::Cpu as usize] = 3_000 * MICROSECOND;
        runtime.user_time[WaitKind::LogSync as usize] = 500 * MICROSECOND;
        runtime.latches[LatchClass::TrxSys as usize].acquired = 3;
        runtime.latches[LatchClass::LockSys as usize].acquired = 2;
        runtime.latches[LatchClass::LockSys as usize].wait = 7_000;
        let mut latency = LatencyRecorder::default();
        latency.record(1_000_000);
        Measurement {
            time: 2 * SECOND,
            counters: crate::report::QueryCounters {
                reads: 15,
                others: 5,
                transactions: 10,
                ..Default::default()
            },
            latency,
            clients: Vec::new(),
            intervals: Vec::new(),
            metrics: metrics.snapshot(&|_: Reading| 0),
            runtime,
        }
    }

    #[test]
    fn figures_come_from_where_they_belong() {
        let plan = RunArguments {
            set: vec![
                "innodb_buffer_pool_size=64G".into(),
                "innodb_doublewrite=ON".into(),
            ],
            scale: Some("16".into()),
            ..RunArguments::default()
        };
        let plan = plan.plan().unwrap();
        let usage = HostUsage::begin();
        let run = document(&plan, &measurement(), vec!["of the run".into()], &usage);
        assert_eq!((run.time_s, run.tps, run.qps), (2.0, 5.0, 10.0));
        assert_eq!(
            (run.time_budget.cpu, run.time_budget.log_sync),
            (300.0, 50.0)
        );
        assert_eq!(run.time_budget.total(), 350.0);
        let latches: Vec<_> = run
            .latches
            .iter()
            .map(|latch| latch.name.as_str())
            .collect();
        assert_eq!(latches, ["lock_sys_mutex", "trx_sys_mutex"]);
        assert_eq!(run.latches[0].wait_ns, 7);
        assert_eq!(run.status["Innodb_rows_read"], 20);
        assert_eq!(run.variables["innodb_buffer_pool_size"], 64u64 << 30);
        assert_eq!(run.variables["innodb_doublewrite"], "ON");
        assert_eq!(run.defaults["innodb_buffer_pool_size"], 128u64 << 20);
        assert!(!run.defaults.contains_key("innodb_doublewrite"));
        assert_eq!(run.warnings.last().unwrap(), "of the run");
        assert_eq!(
            (run.machine.as_str(), run.clock.as_str()),
            ("laptop-nvme", "virtual")
        );
        // Whatever is in it can be read back, to the last bit.
        let text = serde_json::to_string(&run).unwrap();
        assert!(serde_json::from_str::<RunDocument>(&text).unwrap() == run);
    }
}
