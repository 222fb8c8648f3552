//! Keys and their order against the text of the contract.

use super::*;
use crate::stats::MeanInterval;
use serde_json::{Map, json};

/// The contract, with `name` and `counter` standing for keys that vary.
const RUN: &str = r#"{"innosim": version, "clock", "machine", "flavor", "scale", "seed",
    "workload", "threads", "tables", "table_size", "time_s", "transactions", "queries", "tps",
    "qps", "errors", "latency_ms": {"min","avg","p50","p95","p99","max","sum"}, "intervals":
    [{"t_s","tps","qps","latency_p95_ms","checkpoint_age","dirty_pages","free_pages",
    "history_list_length","latency_p50_ms","latency_p99_ms","latch_waits_per_s": {latch: n},
    "disks": [{"name","reads_in_flight","writes_in_flight","flushes_in_flight"}]}],
    "variables": {name: value}, "defaults": {name: value}, "status": {"Innodb_…": n}, "metrics":
    {counter: n}, "files": [{"event_name","count_read","sum_timer_read_ps","bytes_read",
    "count_write","sum_timer_write_ps","bytes_written","count_sync","sum_timer_sync_ps"}],
    "latches": [{"name","acquired","contended","wait_ns","hold_ns"}], "time_budget": {"cpu",
    "run_queue","latch","row_lock","page_read","free_page","flushed_page","log_write",
    "log_sync","admission","other"}, "validity": {"round_share","turnover_s",
    "dirty_to_flush_s","flushed_page_wait_us","row_lock_waits"}, "warnings": [...], "host":
    {"wall_s","cpu_s","peak_rss_bytes"}}"#;

const SWEEP_WITHOUT_RUN: &str = r#"{"points": [{"set": {name: value}, "run"}], "summary":
    [{"set", "n", "tps": {"mean","ci95_low","ci95_high"}}]}"#;

const REPRODUCE: &str = r#"{"reports": [{"name","machine","scale","cells": [{"labels": {…},
    "metric","published","simulated","relative_error","fitted": bool,"n","ci95_low","ci95_high",
    "validity": {"round_share","turnover_s","dirty_to_flush_s","flushed_page_wait_us",
    "row_lock_waits"},"seeds","time_budget": {"cpu","run_queue","latch","row_lock","page_read",
    "free_page","flushed_page","log_write","log_sync","admission","other"}}],"claims": [{"text","holds","figure","judged": bool}],"controls":
    [{"text","holds","figure","judged": bool}],"quick": bool,"assumptions","warnings",
    "failures","runs","wall_s","option_files": [{"name","text"}],"innosim","constants",
    "leaves_out"}]}"#;

const STUDY: &str = r#"{"studies": [{"innosim","name","machine","scale","measure_s","as_fitted":
    {"variant","answers": [{"text","published","figure"}],"validity": {"round_share",
    "turnover_s","dirty_to_flush_s","flushed_page_wait_us","row_lock_waits"},"failures"},
    "constants": [{"constant": {"machine","key","value","source","cells": [{…}]},
    "less": {…},"more": {…}}],"arbitration": [{…}],"scales": [{…}],"warnings","runs",
    "wall_s"}]}"#;

/// The quoted names of a contract, in order.
fn promised(contract: &str) -> Vec<String> {
    contract
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// The keys of a document, depth first, in order; of a list only its first element.
fn keys(value: &Value, skip_inside: &[&str]) -> Vec<String> {
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, inner)| {
                let below = if skip_inside.contains(&key.as_str()) {
                    Vec::new()
                } else {
                    keys(inner, skip_inside)
                };
                std::iter::once(key.clone()).chain(below)
            })
            .collect(),
        Value::Array(list) => list
            .first()
            .map_or(Vec::new(), |first| keys(first, skip_inside)),
        _ => Vec::new(),
    }
}

pub(crate) fn sample() -> RunDocument {
    RunDocument {
        innosim: "0.1.0".to_owned(),
        clock: "virtual".to_owned(),
        machine: "laptop-nvme".to_owned(),
        flavor: "mysql-8.4".to_owned(),
        scale: 1,
        seed: 7,
        workload: "oltp_read_write".to_owned(),
        threads: 8,
        tables: 1,
        table_size: 10_000,
        time_s: 10.0,
        transactions: 10_000,
        queries: 200_000,
        tps: 1_000.0,
        qps: 20_000.0,
        errors: 2,
        latency_ms: LatencyMs {
            min: 2.11,
            avg: 8.0,
            p50: 7.5,
            p95: 12.9,
            p99: 20.5,
            max: 61.3,
            sum: 79_988.12,
        },
        intervals: vec![Interval {
            t_s: 1.0,
            tps: 990.0,
            qps: 19_800.0,
            latency_p95_ms: 13.2,
            checkpoint_age: 5_000_000,
            dirty_pages: 120,
            free_pages: 4_096,
            history_list_length: 17,
            latency_p50_ms: 7.6,
            latency_p99_ms: 21.0,
            latch_waits_per_s: BTreeMap::from([("trx_sys_mutex".to_owned(), 0.5)]),
            disks: vec![DiskQueue {
                name: "nvme".to_owned(),
                reads_in_flight: 0.25,
                writes_in_flight: 3.5,
                flushes_in_flight: 0.125,
            }],
        }],
        variables: BTreeMap::from([("innodb_doublewrite_pages".to_owned(), json!(16))]),
        defaults: BTreeMap::from([("innodb_doublewrite_pages".to_owned(), json!(128))]),
        status: BTreeMap::from([("Innodb_…".to_owned(), 3)]),
        metrics: BTreeMap::from([("buffer_pool_reads".to_owned(), 3)]),
        files: vec![FileSummary {
            event_name: "wait/io/file/innodb/innodb_data_file".to_owned(),
            count_read: 1,
            sum_timer_read_ps: 90_000_000,
            bytes_read: 16_384,
            count_write: 0,
            sum_timer_write_ps: 0,
            bytes_written: 0,
            count_sync: 0,
            sum_timer_sync_ps: 0,
        }],
        latches: vec![LatchSummary {
            name: "trx_sys_mutex".to_owned(),
            acquired: 9,
            contended: 1,
            wait_ns: 250,
            hold_ns: 900,
        }],
        time_budget: TimeBudget {
            cpu: 700.0,
            log_sync: 50.5,
            ..Default::default()
        },
        validity: Validity {
            round_share: 0.01,
            turnover_s: None,
            dirty_to_flush_s: Some(42.0),
            flushed_page_wait_us: 0.5,
            row_lock_waits: 0.001,
        },
        warnings: vec!["innodb_foo is not modelled".to_owned()],
        host: Host {
            wall_s: 1.5,
            cpu_s: 1.25,
            peak_rss_bytes: 1 << 28,
        },
    }
}

#[test]
fn run_has_the_promised_keys_in_their_order() {
    let document = serde_json::to_value(sample()).unwrap();
    assert_eq!(
        keys(
            &document,
            &["variables", "defaults", "metrics", "latch_waits_per_s"]
        ),
        promised(RUN)
    );
}

#[test]
fn run_reads_back_what_it_wrote() {
    let text = serde_json::to_string(&sample()).unwrap();
    assert_eq!(
        serde_json::from_str::<RunDocument>(&text).unwrap(),
        sample()
    );
    assert!(
        text.contains(r#""turnover_s":null,"dirty_to_flush_s":42.0"#),
        "{text}"
    );
}

#[test]
fn the_budget_adds_up() {
    let all_ones: TimeBudget = serde_json::from_value(json!({
        "cpu": 1.0, "run_queue": 1.0, "latch": 1.0, "row_lock": 1.0, "page_read": 1.0,
        "free_page": 1.0, "flushed_page": 1.0, "log_write": 1.0, "log_sync": 1.0,
        "admission": 1.0, "other": 1.0,
    }))
    .unwrap();
    assert_eq!(all_ones.total(), 11.0);
    let mean = TimeBudget::mean(&[all_ones, TimeBudget::default()]).unwrap();
    assert_eq!((mean.total(), mean.admission), (5.5, 0.5));
    assert_eq!(TimeBudget::mean(&[]), None);
}

fn point(pages: u64, seed: u64, tps: f64) -> SweepPoint {
    let Value::Object(set) =
        json!({"innodb_doublewrite_pages": pages, "seed": seed, "threads": 16})
    else {
        unreachable!("written as an object")
    };
    SweepPoint {
        set,
        run: RunDocument {
            tps,
            seed,
            ..sample()
        },
    }
}

#[test]
fn sweep_has_the_promised_keys_in_their_order() {
    let document = SweepDocument::new(vec![point(128, 1, 5.0)]);
    let document = serde_json::to_value(document).unwrap();
    assert_eq!(
        keys(&document, &["set", "run"]),
        promised(SWEEP_WITHOUT_RUN)
    );
}

#[test]
fn sweep_sums_up_over_seeds() {
    let points = vec![
        point(128, 1, 9.0),
        point(128, 2, 10.0),
        point(16, 1, 20.0),
        point(128, 3, 11.0),
    ];
    let document = SweepDocument::new(points);
    let [large, small] = &document.summary[..] else {
        panic!("{:?}", document.summary)
    };
    assert_eq!(large.n, 3);
    assert_eq!(
        large.set.keys().collect::<Vec<_>>(),
        ["innodb_doublewrite_pages", "threads"],
        "the seed goes, the order stays"
    );
    assert_eq!(large.tps.mean, 10.0);
    assert!((large.tps.ci95_high.unwrap() - 12.484_138).abs() < 1e-5);
    assert_eq!(small.n, 1);
    assert_eq!(
        small.tps,
        MeanInterval {
            mean: 20.0,
            ci95_low: None,
            ci95_high: None
        }
    );
    assert_eq!(document.points.len(), 4);
}

pub(crate) fn report_sample() -> ReportDocument {
    let Value::Object(labels) = json!({"threads": 16, "innodb_doublewrite_pages": 128}) else {
        unreachable!("written as an object")
    };
    let simulated = MeanInterval {
        mean: 79_989.0,
        ci95_low: Some(79_000.0),
        ci95_high: Some(80_978.0),
    };
    let mut cell = Cell::new(labels, "qps", Some(76_180.0), simulated, 3);
    cell.validity = Some(sample().validity);
    cell.seeds = vec![1, 2, 3];
    cell.time_budget = Some(sample().time_budget);
    let finding = Finding::new("16 pages are faster", Some(0.062), |effect| effect > 0.0);
    ReportDocument {
        name: "doublewrite-pages".to_owned(),
        machine: "nvme-24core".to_owned(),
        scale: 16,
        cells: vec![cell],
        claims: vec![finding.clone()],
        controls: vec![finding.for_information()],
        quick: false,
        assumptions: vec!["uniform keys".to_owned()],
        warnings: vec!["scale 16".to_owned()],
        failures: Vec::new(),
        runs: 3,
        wall_s: 12.5,
        option_files: vec![OptionFileText {
            name: "tuned.cnf".to_owned(),
            text: "[mysqld]\ninnodb_io_capacity = 2000\n".to_owned(),
        }],
        innosim: "0.1.0".to_owned(),
        constants: Vec::new(),
        leaves_out: vec!["the binary log".to_owned()],
    }
}

#[test]
fn reproduce_has_the_promised_keys_in_their_order() {
    let document = ReproduceDocument {
        reports: vec![report_sample()],
    };
    assert_eq!(
        document.reports[0].cells[0].relative_error,
        Some(3_809.0 / 76_180.0)
    );
    let value = serde_json::to_value(&document).unwrap();
    assert_eq!(keys(&value, &["labels"]), promised(REPRODUCE));
    assert_eq!(
        serde_json::from_value::<ReproduceDocument>(value).unwrap(),
        document
    );
}

#[test]
fn results_of_older_versions_can_be_read() {
    let mut value = serde_json::to_value(report_sample()).unwrap();
    for key in ["innosim", "constants", "leaves_out"] {
        value.as_object_mut().unwrap().remove(key).unwrap();
    }
    let read: ReportDocument = serde_json::from_value(value).unwrap();
    assert_eq!(
        (read.innosim.as_str(), read.cells),
        ("", report_sample().cells)
    );
}

#[test]
fn a_study_has_the_promised_keys_in_their_order() {
    let document = StudiesDocument {
        studies: vec![crate::reproduce::sample::study()],
    };
    let value = serde_json::to_value(&document).unwrap();
    let skipped = ["cells", "less", "more", "arbitration", "scales"];
    assert_eq!(keys(&value, &skipped), promised(STUDY));
    assert_eq!(
        serde_json::from_value::<StudiesDocument>(value).unwrap(),
        document
    );
}

#[test]
fn a_cell_without_a_published_figure_has_no_error() {
    let simulated = MeanInterval {
        mean: 1.0,
        ci95_low: None,
        ci95_high: None,
    };
    let cell = Cell::new(Map::new(), "tps", None, simulated, 1);
    let value = serde_json::to_value(&cell).unwrap();
    assert!(value["published"].is_null() && value["relative_error"].is_null());
    assert_eq!(serde_json::from_value::<Cell>(value).unwrap(), cell);
}
