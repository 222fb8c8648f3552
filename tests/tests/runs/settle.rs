//! `--settle always` accounts for CPU at every latch; the default where somebody could
//! notice. On a run of the engine both must agree within 2 %.

use innosim_workloads::report::json::RunDocument;
use innosim_workloads::run::RunArguments;

use super::{document, texts};

/// A run whose clients wait for latches: all rows in the pool, small critical sections,
/// more threads than CPUs have.
fn with(settle: &str) -> RunDocument {
    document(&RunArguments {
        set: texts([
            "innodb_buffer_pool_size=64M",
            "innodb_flush_log_at_trx_commit=2",
            "transaction_isolation=READ-COMMITTED",
        ]),
        flavor: Some("mysql-5.6".into()),
        machine: Some("quad-144-ramdisk".into()),
        workload: Some("sysbench-0.5/oltp".into()),
        rand_type: Some("uniform".into()),
        tables: Some("8".into()),
        table_size: Some("5000".into()),
        threads: Some("96".into()),
        warmup_time: Some("0.1".into()),
        time: Some("0.5".into()),
        settle: Some(settle.into()),
        ..RunArguments::default()
    })
}

/// Microseconds a transaction that clients waited for latches.
fn latch_waits(run: &RunDocument) -> f64 {
    run.time_budget.latch
}

#[test]
fn both_ways_to_settle_agree() {
    let (lazy, always) = (with("lazy"), with("always"));
    assert!(lazy.transactions > 2_000, "{}", lazy.transactions);
    assert!(latch_waits(&lazy) > 20.0, "{}", latch_waits(&lazy));
    for (name, lazy, always) in [
        ("tps", lazy.tps, always.tps),
        ("latch waits", latch_waits(&lazy), latch_waits(&always)),
    ] {
        let difference = (always / lazy - 1.0).abs();
        assert!(difference < 0.02, "{name}: lazy {lazy}, always {always}");
    }
}
