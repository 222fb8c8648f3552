//! Twice the same run: the same document but for the host's part, and the same files, byte
//! by byte; and the same whether the tables were loaded for it or before.

use std::fs;
use std::path::Path;

use innosim_workloads::run::RunArguments;
use serde_json::Value;

use super::{document, files, texts};

/// A small edition of the run of the doublewrite report, which reads, writes, and flushes.
fn arguments() -> RunArguments {
    RunArguments {
        set: texts([
            "innodb_buffer_pool_size=8M",
            "innodb_redo_log_capacity=16M",
            "innodb_io_capacity=20000",
            "innodb_flush_method=O_DIRECT",
        ]),
        machine: Some("nvme-24core".into()),
        workload: Some("oltp_write_only".into()),
        rand_type: Some("uniform".into()),
        tables: Some("4".into()),
        table_size: Some("10000".into()),
        threads: Some("32".into()),
        time: Some("1".into()),
        ..RunArguments::default()
    }
}

fn without_host(arguments: &RunArguments) -> Value {
    let mut document = serde_json::to_value(document(arguments)).unwrap();
    document.as_object_mut().unwrap().remove("host").unwrap();
    document
}

#[test]
fn two_runs_of_a_seed_differ_in_the_host_only() {
    let directory = tempfile::tempdir().unwrap();
    let datadirs = ["a", "b", "c"].map(|name| directory.path().join(name));
    let with = |datadir: &Path, seed: &str| RunArguments {
        datadir: Some(datadir.into()),
        seed: Some(seed.into()),
        ..arguments()
    };
    let first = without_host(&with(&datadirs[0], "1"));
    let second = without_host(&with(&datadirs[1], "1"));
    assert!(first["status"]["Innodb_buffer_pool_pages_flushed"].as_u64() > Some(100));
    assert_eq!(first, second);
    let (left, right) = (files(&datadirs[0]), files(&datadirs[1]));
    assert!(left.len() > 8, "{:?}", left.keys());
    assert!(left.keys().eq(right.keys()));
    for (name, bytes) in &left {
        assert!(*bytes == right[name], "{} differs", name.display());
    }
    let other = without_host(&with(&datadirs[2], "2"));
    assert_ne!(first["transactions"], other["transactions"]);
}

#[test]
fn tables_loaded_before_are_as_good_as_tables_loaded_now() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("base");
    let prepared = RunArguments {
        datadir: Some(base.clone()),
        ..arguments()
    };
    let plan = prepared.plan().unwrap();
    fs::create_dir(&base).unwrap();
    use innosim_workloads::run::{NobodyWatches, Server};
    use innosim_workloads::server::EngineServer;
    EngineServer::prepare(&plan, &base, &mut NobodyWatches).unwrap();
    let before = files(&base);
    let over_base = without_host(&RunArguments {
        base: Some(base.clone()),
        ..arguments()
    });
    assert!(before == files(&base), "a base stays as it is");
    assert_eq!(over_base, without_host(&arguments()));
}
