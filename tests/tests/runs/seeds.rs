//! The option files of the five reports: each runs for two seconds, and its warnings are
//! those of a list.
//!
//! The list is `tests/data/seeds/warnings.txt`. With `INNOSIM_WRITE_WARNINGS=1` this test
//! writes it; the change is to be read before it is committed.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use innosim_workloads::run::RunArguments;

use super::document;

/// Option file, flavor, machine, workload.
const RUNS: [[&str; 4]; 10] = [
    [
        "doublewrite-pages-tuned",
        "mysql-8.4",
        "nvme-24core",
        "oltp_write_only",
    ],
    [
        "doublewrite-pages-tuned",
        "mysql-8.4",
        "nvme-48core",
        "oltp_write_only",
    ],
    [
        "doublewrite-pages-dedicated",
        "mysql-8.4",
        "nvme-24core",
        "oltp_write_only",
    ],
    [
        "doublewrite-pages-dedicated",
        "mysql-8.4",
        "nvme-48core",
        "oltp_write_only",
    ],
    [
        "buffer-pool-instances-5.1",
        "mysql-5.1",
        "array-16-spindles",
        "sysbench-0.4/fetch-update",
    ],
    [
        "buffer-pool-instances-5.5",
        "mysql-5.5",
        "array-16-spindles",
        "sysbench-0.4/fetch-update",
    ],
    [
        "isolation-levels",
        "mysql-5.6",
        "quad-144-ramdisk",
        "sysbench-0.5/oltp",
    ],
    [
        "isolation-levels",
        "mysql-5.7",
        "quad-144-ramdisk",
        "sysbench-0.5/oltp",
    ],
    [
        "log-file-size",
        "mysql-5.1",
        "laptop-nvme",
        "sysbench-0.4/complex",
    ],
    [
        "io-capacity",
        "mariadb-10.11",
        "laptop-nvme",
        "oltp_read_write",
    ],
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn every_option_file_runs_with_the_warnings_of_the_list() {
    let seeds = repository().join("data/seeds");
    let mut found = String::new();
    for [name, flavor, machine, workload] in RUNS {
        let file = seeds.join(format!("{name}.cnf"));
        let run = document(&RunArguments {
            defaults_file: Some(file.clone()),
            flavor: Some(flavor.into()),
            machine: Some(machine.into()),
            workload: Some(workload.into()),
            // Sizes are not the point here: pools of gigabytes would only take time.
            scale: Some("64".into()),
            table_size: Some("128000".into()),
            threads: Some("2".into()),
            time: Some("2".into()),
            ..RunArguments::default()
        });
        assert!(
            run.transactions > 20,
            "{name}: {} transactions",
            run.transactions
        );
        assert_eq!(run.time_s, 2.0, "{name}");
        let _ = writeln!(found, "{name}.cnf, {flavor}, {machine}, {workload}");
        let path = format!("{}:", file.display());
        for warning in &run.warnings {
            // Their figures are results, which change with the model.
            if !warning.starts_with("scale ") {
                let _ = writeln!(found, "    {}", warning.replace(&path, "line "));
            }
        }
    }
    let list = repository().join("tests/data/seeds/warnings.txt");
    if std::env::var_os("INNOSIM_WRITE_WARNINGS").is_some() {
        std::fs::write(&list, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&list).unwrap();
    assert!(found == expected, "expected:\n{expected}\nfound:\n{found}");
}
