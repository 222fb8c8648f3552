//! Several futures of one warm state: what each is depends on nothing but itself.

use innosim_engine::runtime::time::MILLISECOND;
use innosim_workloads::report::json::RunDocument;
use innosim_workloads::run::snapshot::{Future, SnapshotOptions, future, futures};
use innosim_workloads::run::{NobodyWatches, RunArguments, RunPlan};
use innosim_workloads::server::EngineServer;
use serde_json::Value;

use super::texts;

/// A run that reads, writes and flushes, after two seconds of warm-up.
fn plan() -> RunPlan {
    let arguments = RunArguments {
        set: texts([
            "innodb_buffer_pool_size=8M",
            "innodb_redo_log_capacity=16M",
            "innodb_io_capacity=2000",
            "innodb_flush_method=O_DIRECT",
        ]),
        workload: Some("oltp_write_only".into()),
        rand_type: Some("uniform".into()),
        tables: Some("2".into()),
        table_size: Some("20000".into()),
        threads: Some("8".into()),
        warmup_time: Some("1.5".into()),
        time: Some("1".into()),
        ..RunArguments::default()
    };
    arguments.plan().unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn options(jobs: usize) -> SnapshotOptions {
    SnapshotOptions {
        jobs,
        settle_time: 300 * MILLISECOND,
        ..SnapshotOptions::default()
    }
}

fn of(label: &str, variables: &[(&str, &str)], seed: u64) -> Future {
    let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    Future {
        label: label.to_owned(),
        variables: variables.iter().map(own).collect(),
        seed,
    }
}

fn carried_out(list: &[Future], jobs: usize) -> Vec<RunDocument> {
    futures::<EngineServer>(&plan(), list, &options(jobs), NobodyWatches)
        .unwrap_or_else(|error| panic!("{error:#}"))
}

fn without_host(document: &RunDocument) -> Value {
    let mut document = serde_json::to_value(document).unwrap();
    document.as_object_mut().unwrap().remove("host").unwrap();
    document
}

fn pages_per_write(document: &RunDocument) -> f64 {
    let status = |name: &str| document.status[name] as f64;
    status("Innodb_dblwr_pages_written") / status("Innodb_dblwr_writes")
}

#[test]
fn a_future_depends_on_itself_alone() {
    let list = [
        of("control", &[], 1),
        of("other seed", &[], 2),
        of("small batches", &[("innodb_doublewrite_pages", "4")], 1),
        of("control again", &[], 1),
        of(
            "lazy",
            &[
                ("innodb_flush_log_at_trx_commit", "2"),
                ("innodb_io_capacity", "500"),
                ("innosim_flush_latch", "after_copy"),
            ],
            1,
        ),
    ];
    let documents = carried_out(&list, 1);
    let seen: Vec<_> = documents.iter().map(without_host).collect();

    // Two at a time, and in another order.
    let mut backwards: Vec<_> = list.iter().rev().cloned().collect();
    backwards.rotate_left(2);
    let mut others = carried_out(&backwards, 2);
    others.rotate_right(2);
    others.reverse();
    for ((one, other), future) in seen.iter().zip(&others).zip(&list) {
        assert!(*one == without_host(other), "{}", future.label);
    }
    // Without a fork.
    for place in [0, 2] {
        let alone = future::<EngineServer>(&plan(), &list[place], &options(1), NobodyWatches);
        let alone = alone.unwrap_or_else(|error| panic!("{error:#}"));
        assert!(seen[place] == without_host(&alone), "{}", list[place].label);
    }

    // Each is what it is said to be.
    assert_eq!(seen[0], seen[3]);
    let [control, other_seed, small, _, lazy] = &documents[..] else {
        panic!("one document a future");
    };
    assert_ne!(control.transactions, other_seed.transactions);
    assert_eq!((control.seed, other_seed.seed), (1, 2));
    assert!((1.0..1.01).contains(&control.time_s));
    assert_eq!(small.variables["innodb_doublewrite_pages"], 4);
    assert_eq!(control.variables["innodb_doublewrite_pages"], 128);
    // Pages count at the end of their batch, so that a batch under way at an end of the
    // measurement makes a small difference.
    let small_batches = pages_per_write(small);
    assert!((2.0..4.1).contains(&small_batches), "{small_batches}");
    assert!(
        pages_per_write(control) > 5.0,
        "{}",
        pages_per_write(control)
    );
    assert!(lazy.time_budget.log_sync < control.time_budget.log_sync / 4.0);
    let says = |document: &RunDocument, words: &str| {
        let found = document
            .warnings
            .iter()
            .any(|warning| warning.contains(words));
        assert!(found, "{words}: {:?}", document.warnings);
    };
    says(control, "changed at the snapshot: no variable");
    says(small, "innodb_doublewrite_pages from 128 to 4");
    says(small, "no server can change it while it runs");
    says(lazy, "innodb_io_capacity from 2000 to 500");
    assert!(control.host.wall_s > 0.0 && control.host.wall_s < others[0].host.wall_s + 60.0);
}

#[test]
fn a_future_that_fails_is_named_with_its_reason() {
    let list = [
        of("sound", &[], 1),
        of("no such thing", &[("innodb_buffer_pool_size", "1G")], 1),
    ];
    let failed = futures::<EngineServer>(&plan(), &list, &options(2), NobodyWatches);
    let message = format!("{:#}", failed.unwrap_err());
    let expected = "no such thing: innodb_buffer_pool_size cannot be changed at a snapshot";
    assert!(message.starts_with(expected), "{message}");
    let mut plan = plan();
    plan.length.events = Some(100);
    let refused = futures::<EngineServer>(&plan, &list, &options(1), NobodyWatches);
    assert!(refused.unwrap_err().to_string().contains("--time"));
}
