//! The shape of every script's transactions.

use super::*;
use crate::workload::options::NontrxMode;
use crate::workload::random::RandomType;
use crate::workload::statement::StatementClass;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;

fn many_tables() -> ScriptOptions {
    ScriptOptions {
        tables: 1_000,
        ..Default::default()
    }
}

fn events(name: &str, options: &ScriptOptions, count: usize) -> Vec<Vec<Statement>> {
    let mut script = Script::new(name, options, 1).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    (0..count)
        .map(|_| {
            let mut out = Vec::new();
            script.next_event(0, &mut rng, &mut out);
            out
        })
        .collect()
}

fn event(name: &str, options: &ScriptOptions) -> Vec<Statement> {
    events(name, options, 1).remove(0)
}

/// One letter a statement.
fn shape(event: &[Statement]) -> String {
    event
        .iter()
        .map(|statement| match statement {
            Statement::Begin => 'B',
            Statement::Commit => 'C',
            Statement::PointSelect { .. } => 'p',
            Statement::SimpleRange { .. } => 'r',
            Statement::SumRange { .. } => 's',
            Statement::OrderRange { .. } => 'o',
            Statement::DistinctRange { .. } => 'd',
            Statement::UpdateIndex { .. } => 'k',
            Statement::UpdateNonIndex { .. } => 'c',
            Statement::Delete { .. } => 'x',
            Statement::Insert { .. } => 'i',
        })
        .collect()
}

fn tables(event: &[Statement]) -> Vec<u32> {
    event.iter().filter_map(Statement::table).collect()
}

#[test]
fn every_script_has_its_shape() {
    let expected = [
        ("oltp_point_select", "p"),
        ("oltp_read_only", "BpppppppppprsodC"),
        ("oltp_read_write", "BpppppppppprsodkcxiC"),
        ("oltp_write_only", "BkcxiC"),
        ("oltp_update_index", "k"),
        ("oltp_update_non_index", "c"),
        ("oltp_insert", "i"),
        ("oltp_delete", "x"),
        ("sysbench-1.1/oltp_read_write", "BpppppppppprsodkcxiC"),
        ("legacy-1.0/oltp", "BpppppppppprsodkcxiC"),
        ("sysbench-0.5/oltp", "BpppppppppprsodkcxiC"),
        ("sysbench-0.5/oltp_prepared", "BpppppppppprsodkcxiC"),
        ("sysbench-0.5/select", "p"),
        ("sysbench-0.5/update_index", "k"),
        ("sysbench-0.5/update_non_index", "c"),
        ("sysbench-0.5/insert", "i"),
        ("sysbench-0.5/delete", "x"),
        ("sysbench-0.4/complex", "BpppppppppprsodkckxiC"),
        ("sysbench-0.4/simple", "p"),
        ("sysbench-0.4/nontrx", "p"),
    ];
    for (name, letters) in expected {
        assert_eq!(shape(&event(name, &many_tables())), letters, "{name}");
    }
}

#[test]
fn a_read_write_event_is_14_reads_4_writes_2_others() {
    let event = event("oltp_read_write", &ScriptOptions::default());
    let count = |class| event.iter().filter(|s| s.class() == class).count();
    assert_eq!(count(StatementClass::Read), 14);
    assert_eq!(count(StatementClass::Write), 4);
    assert_eq!(count(StatementClass::Other), 2);
}

#[test]
fn version_1_0_draws_a_table_per_group() {
    for event in events("oltp_read_write", &many_tables(), 20) {
        let tables = tables(&event);
        // 10 point selects share one; delete and insert share one.
        assert!(tables[..10].iter().all(|t| *t == tables[0]));
        assert_eq!(tables[16], tables[17]);
        // Eight groups over a thousand tables: two alike are rare, all alike impossible.
        let distinct: BTreeSet<u32> = tables.iter().copied().collect();
        assert!(distinct.len() >= 7, "{tables:?}");
    }
}

#[test]
fn version_0_5_draws_a_table_per_transaction() {
    let mut all = BTreeSet::new();
    for name in ["sysbench-0.5/oltp", "legacy-1.0/oltp"] {
        for event in events(name, &many_tables(), 20) {
            let distinct: BTreeSet<u32> = tables(&event).into_iter().collect();
            assert_eq!(distinct.len(), 1);
            all.extend(distinct);
        }
    }
    assert!(all.len() > 15, "the table must change between transactions");
}

#[test]
fn version_0_4_has_one_table_and_constant_rows() {
    let event = event("sysbench-0.4/complex", &many_tables());
    assert!(tables(&event).iter().all(|&table| table == 1));
    let n = event.len();
    let (Statement::UpdateIndex { id: updated, .. }, Statement::Delete { id: deleted, .. }) =
        (&event[n - 4], &event[n - 3])
    else {
        panic!("{event:?}");
    };
    let Statement::Insert {
        id: inserted,
        k: 0,
        c,
        pad,
        ..
    } = &event[n - 2]
    else {
        panic!("{event:?}");
    };
    assert_eq!(updated, deleted);
    assert_eq!(*inserted, Some(*deleted));
    assert_eq!(c, &[b' '; 120]);
    assert_eq!(pad.trim_ascii_end().len(), 50);
}

#[test]
fn a_delete_is_followed_by_an_insert_of_the_same_id() {
    for event in events("oltp_write_only", &ScriptOptions::default(), 50) {
        let [
            ..,
            Statement::Delete { table, id },
            insert,
            Statement::Commit,
        ] = &event[..]
        else {
            panic!("{event:?}");
        };
        let Statement::Insert {
            table: into,
            id: inserted,
            ..
        } = insert
        else {
            panic!("{insert:?}");
        };
        assert_eq!((Some(*id), table), (*inserted, into));
    }
}

#[test]
fn ranges_hold_range_size_rows() {
    let options = ScriptOptions {
        range_size: 7,
        ..Default::default()
    };
    let event = event("oltp_read_only", &options);
    let Statement::SumRange { from, to, .. } = event[12] else {
        panic!("{event:?}")
    };
    assert_eq!(to - from + 1, 7);
}

#[test]
fn counts_and_switches_are_obeyed() {
    let options = ScriptOptions {
        point_selects: 2,
        sum_ranges: 3,
        order_ranges: 0,
        index_updates: 2,
        delete_inserts: 2,
        ..Default::default()
    };
    assert_eq!(
        shape(&event("oltp_read_write", &options)),
        "BpprsssdkkcxixiC"
    );
    assert_eq!(
        shape(&event("sysbench-0.4/complex", &options)),
        "BpprsssdkkckxikxiC"
    );
    let options = ScriptOptions {
        skip_trx: true,
        range_selects: false,
        ..options
    };
    assert_eq!(shape(&event("oltp_read_write", &options)), "ppkkcxixi");
    // oltp_point_select always sends one.
    assert_eq!(shape(&event("oltp_point_select", &options)), "p");
    assert_eq!(shape(&event("oltp_update_index", &options)), "kk");
    let read_only = ScriptOptions {
        read_only: true,
        ..Default::default()
    };
    assert_eq!(
        shape(&event("sysbench-0.5/oltp", &read_only)),
        "BpppppppppprsodC"
    );
    let write_only = ScriptOptions {
        write_only: true,
        ..Default::default()
    };
    assert_eq!(shape(&event("sysbench-0.5/oltp", &write_only)), "BkcxiC");
    assert_eq!(
        shape(&event("sysbench-0.4/complex", &write_only)),
        "BkckxiC"
    );
}

#[test]
fn nontrx_runs_the_chosen_statement() {
    let modes = [
        (NontrxMode::Select, "p"),
        (NontrxMode::UpdateKey, "k"),
        (NontrxMode::UpdateNokey, "c"),
        (NontrxMode::Insert, "i"),
        (NontrxMode::Delete, "x"),
    ];
    for (nontrx_mode, letters) in modes {
        let options = ScriptOptions {
            nontrx_mode,
            ..Default::default()
        };
        assert_eq!(shape(&event("sysbench-0.4/nontrx", &options)), letters);
    }
}

#[test]
fn fetch_update_is_half_and_half() {
    let all = events(
        "sysbench-0.4/fetch-update",
        &ScriptOptions::default(),
        10_000,
    );
    let fetches = all.iter().filter(|event| shape(event) == "p").count();
    assert!(
        all.iter()
            .all(|event| ["p", "c"].contains(&shape(event).as_str()))
    );
    // Standard deviation 50.
    assert!(fetches.abs_diff(5_000) < 200, "{fetches}");
}

#[test]
fn inserts_leave_the_id_to_auto_increment_or_use_unique_ones() {
    let Statement::Insert { id, .. } = event("oltp_insert", &ScriptOptions::default())[0] else {
        panic!();
    };
    assert_eq!(id, None);
    let options = ScriptOptions {
        auto_inc: false,
        threads: 3,
        ..Default::default()
    };
    let mut script = Script::new("oltp_insert", &options, 1).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    for i in 0..3_000 {
        script.next_event(i % 3, &mut rng, &mut out);
        let Statement::Insert { id: Some(id), .. } = out[0] else {
            panic!("{out:?}")
        };
        assert!(seen.insert(id), "{id} twice");
    }
    // A signed column takes half of them below zero, an unsigned one none.
    assert!(seen.iter().filter(|&&id| id < 0).count().abs_diff(1_500) < 120);
    assert!(seen.iter().all(|id| (-(1 << 31)..1 << 31).contains(id)));
    for event in events("sysbench-0.5/insert", &options, 100) {
        assert!(matches!(
            event[0],
            Statement::Insert {
                id: Some(0..=0xffff_ffff),
                ..
            }
        ));
    }
}

#[test]
fn a_thread_does_not_depend_on_the_others() {
    let options = ScriptOptions {
        auto_inc: false,
        threads: 2,
        ..many_tables()
    };
    let run = |order: &[u32]| {
        let mut script = Script::new("oltp_insert", &options, 9).unwrap();
        let mut generators = [1, 2].map(Xoshiro256PlusPlus::seed_from_u64);
        let mut out = Vec::new();
        let mut of_thread_one = Vec::new();
        for &thread in order {
            script.next_event(thread, &mut generators[thread as usize], &mut out);
            if thread == 1 {
                of_thread_one.extend(out.iter().map(Statement::to_string));
            }
        }
        of_thread_one
    };
    assert_eq!(run(&[0, 1, 0, 1, 0, 1]), run(&[1, 1, 1, 0]));
}

#[test]
fn generating_reuses_the_buffer() {
    let mut script = Script::new("oltp_read_write", &ScriptOptions::default(), 1).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut out = Vec::new();
    script.next_event(0, &mut rng, &mut out);
    let (address, capacity) = (out.as_ptr(), out.capacity());
    for _ in 0..1_000 {
        script.next_event(0, &mut rng, &mut out);
    }
    assert_eq!((out.as_ptr(), out.capacity()), (address, capacity));
}

#[test]
fn the_default_distribution_is_the_versions() {
    let spread = |name: &str| {
        let ids: BTreeSet<i64> = events(name, &ScriptOptions::default(), 500)
            .iter()
            .map(|event| match event[0] {
                Statement::PointSelect { id, .. } => id,
                ref other => panic!("{other:?}"),
            })
            .collect();
        ids.len()
    };
    // 500 draws: special's 75 hot keys repeat, uniform's 10,000 hardly do.
    assert!(spread("oltp_point_select") < 300);
    assert!(spread("sysbench-1.1/oltp_point_select") > 450);
    let options = ScriptOptions {
        rand_type: Some(RandomType::Pareto),
        ..ScriptOptions::default()
    };
    let low = events("oltp_point_select", &options, 500)
        .iter()
        .filter(|event| matches!(event[0], Statement::PointSelect { id: 1..=2_000, .. }))
        .count();
    assert!((360..440).contains(&low), "{low} of 500 in the first fifth");
}

#[test]
fn names_are_unique() {
    let names: BTreeSet<&str> = scripts().map(|info| info.name).collect();
    assert_eq!(names.len(), scripts().count());
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let error = Script::new("oltp_readwrite", &ScriptOptions::default(), 1).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("did you mean 'oltp_read_write'?"), "{text}");
    assert!(text.contains("sysbench-0.4/fetch-update"), "{text}");
}

#[test]
fn options_are_checked() {
    let options = ScriptOptions {
        tables: 0,
        ..Default::default()
    };
    assert!(matches!(
        Script::new("oltp_insert", &options, 1),
        Err(WorkloadError::Option(error)) if error.name == "tables"
    ));
}

#[test]
fn a_threads_own_copy_draws_what_the_whole_would() {
    let options = ScriptOptions {
        threads: 5,
        auto_inc: false,
        ..Default::default()
    };
    let mut whole = Script::new("oltp_insert", &options, 9).unwrap();
    let mut copy = whole.for_thread(3);
    let draw = |script: &mut Script| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let mut out = Vec::new();
        script.next_event(3, &mut rng, &mut out);
        out
    };
    for _ in 0..10 {
        assert_eq!(draw(&mut whole), draw(&mut copy));
    }
}
