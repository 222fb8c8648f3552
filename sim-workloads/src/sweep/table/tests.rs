//! Two settings, two seeds.

use super::*;
use crate::report::json::tests::sample;
use crate::report::json::{SweepPoint, Validity};
use serde_json::json;

fn document() -> SweepDocument {
    let point = |pages: u64, seed: u64, tps: f64| {
        let Value::Object(set) =
            json!({"innodb_doublewrite_pages": pages, "workload": "a,b", "seed": seed})
        else {
            unreachable!("written as an object")
        };
        let mut run = RunDocument { tps, ..sample() };
        run.validity = Validity {
            turnover_s: None,
            ..run.validity
        };
        SweepPoint { set, run }
    };
    SweepDocument::new(vec![
        point(16, 1, 100.0),
        point(16, 2, 110.0),
        point(128, 1, 90.0),
    ])
}

#[test]
fn csv_has_a_line_a_run_and_empty_fields_for_what_does_not_exist() {
    let mut bytes = Vec::new();
    write_csv(&document(), &mut bytes).unwrap();
    insta::assert_snapshot!(String::from_utf8(bytes).unwrap(), @r#"
    innodb_doublewrite_pages,workload,seed,tps,qps,transactions,queries,errors,time_s,latency_ms.avg,latency_ms.p50,latency_ms.p95,latency_ms.p99,latency_ms.max,time_budget.cpu,time_budget.latch,time_budget.row_lock,time_budget.page_read,time_budget.log_sync,validity.round_share,validity.turnover_s,validity.dirty_to_flush_s
    16,"a,b",1,100.0,20000.0,10000,200000,2,10.0,8.0,7.5,12.9,20.5,61.3,700.0,0.0,0.0,0.0,50.5,0.01,,42.0
    16,"a,b",2,110.0,20000.0,10000,200000,2,10.0,8.0,7.5,12.9,20.5,61.3,700.0,0.0,0.0,0.0,50.5,0.01,,42.0
    128,"a,b",1,90.0,20000.0,10000,200000,2,10.0,8.0,7.5,12.9,20.5,61.3,700.0,0.0,0.0,0.0,50.5,0.01,,42.0
    "#);
}

#[test]
fn the_table_has_a_line_a_combination() {
    insta::assert_snapshot!(summary(&document()), @"
    | innodb_doublewrite_pages | workload | n |    tps | 95 % from |     to |
    |--------------------------|----------|---|--------|-----------|--------|
    |                       16 |      a,b | 2 | 105.00 |     41.47 | 168.53 |
    |                      128 |      a,b | 1 |  90.00 |         - |      - |
    ");
}

#[test]
fn a_sweep_without_a_run_has_headings_only() {
    let empty = SweepDocument::new(Vec::new());
    let mut bytes = Vec::new();
    write_csv(&empty, &mut bytes).unwrap();
    assert!(String::from_utf8(bytes).unwrap().starts_with("tps,qps,"));
    assert_eq!(summary(&empty).lines().count(), 2);
}
