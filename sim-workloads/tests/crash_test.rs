//! `innosim crash-test`: that it passes where the settings protect, and that it sees the
//! damage where they do not.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The test's results, which must have ended with this code.
fn crash_test(code: i32, arguments: &[&str]) -> Value {
    let output = call(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["holds"], code == 0, "{document:#}");
    document
}

fn call(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_innosim"));
    command.args(["crash-test", "--json=-"]).args(arguments);
    command.output().expect("the command can be started")
}

fn count(document: &Value, name: &str) -> u64 {
    document[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name}: {document:#}"))
}

const ALWAYS: &str = "--set=innosim_doublewrite_fsync=always";

#[test]
fn settings_that_protect_keep_their_promise() {
    // Without flushes between copies and data where the cache survives, with them where it
    // does not.
    for (cache, more) in [("protected", &[][..]), ("volatile", &[ALWAYS])] {
        let cache = format!("--cache={cache}");
        let arguments = [&["--crashes=20", "--seed=7", &cache], more].concat();
        let document = crash_test(0, &arguments);
        assert_eq!(document["promise"], "all");
        assert_eq!(document["faults"], Value::Array(Vec::new()));
        let counts = [
            ("crashes", 20),
            ("loads", 2),
            ("checks", 12),
            ("during_recovery", 1),
            ("acknowledged", 2000),
            ("in_doubt_committed", 1),
            ("in_doubt_lost", 1),
            ("unfinished", 1),
            ("writes_torn", 5),
            ("checkpoints", 3),
            ("pages_applied", 500),
            ("rolled_back", 5),
        ];
        for (name, least) in counts {
            assert!(
                count(&document, name) >= least,
                "{cache}: {name}: {document:#}"
            );
        }
    }
}

#[test]
fn memory_does_not_grow_with_crashes() {
    // Pages are on their way at nearly every instant.
    let busy = ["--crashes=40", "--workload=oltp_write_only", "--time=0.15"];
    let document = crash_test(0, &busy);
    let bytes = |index: usize| document["memory_bytes"][index].as_f64().unwrap();
    let (after_ten, after_forty) = (bytes(0), bytes(1));
    assert!(after_ten > 1e6, "{after_ten}");
    assert!(after_forty < 1.05 * after_ten, "{after_ten} {after_forty}");
}

#[test]
fn torn_pages_are_found_where_nothing_repairs_them() {
    let off = [
        "--crashes=30",
        "--cache=volatile",
        "--set=innodb_doublewrite=OFF",
    ];
    let document = crash_test(0, &off);
    assert_eq!(document["promise"], "damaged_pages");
    assert!(count(&document["fault_counts"], "damaged_page") > 0);
    assert_eq!(count(&document, "pages_repaired"), 0);
    // Whoever does not expect it is told, and how to see it again.
    let document = crash_test(1, &[&off[..], &["--expect=nothing"]].concat());
    let again = document["faults"][0]["repeat"].as_str().unwrap();
    let again: Vec<&str> = again.split(' ').skip(2).collect();
    let repeated = crash_test(1, &again);
    assert_eq!(repeated["faults"][0]["text"], document["faults"][0]["text"]);
}

/// Many pages are on their way at any instant.
const VOLATILE: [&str; 4] = [
    "--crashes=30",
    "--cache=volatile",
    "--workload=oltp_write_only",
    "--rand-type=uniform",
];

#[test]
fn a_volatile_cache_without_flushes_loses_pages() {
    let document = crash_test(0, &VOLATILE);
    assert_eq!(document["promise"], "loss");
    assert_ne!(document["faults"], Value::Array(Vec::new()));
}

#[test]
fn commits_that_are_not_flushed_are_lost() {
    let lazy = "--set=innodb_flush_log_at_trx_commit=2";
    let document = crash_test(0, &["--crashes=10", lazy]);
    assert!(
        count(&document["fault_counts"], "lost_commit") > 0,
        "{document:#}"
    );
}

#[test]
fn the_same_seed_gives_the_same_crashes() {
    let run = |seed: &str| {
        let mut document = crash_test(0, &["--crashes=4", seed]);
        let object = document.as_object_mut().unwrap();
        object.remove("host");
        object.remove("memory_bytes");
        document
    };
    assert_eq!(run("--seed=3"), run("--seed=3"));
    assert_ne!(run("--seed=3"), run("--seed=4"));
}

#[test]
fn older_servers_survive_too() {
    for flavor in ["mysql-5.6", "mysql-5.7", "mariadb-10.11"] {
        let flavor = format!("--flavor={flavor}");
        crash_test(0, &["--crashes=6", &flavor]);
    }
}

#[test]
fn the_last_state_is_accepted_by_other_programs() {
    let directory = tempfile::tempdir().unwrap();
    for (clock, crashes) in [("virtual", "--crashes=11"), ("real", "--crashes=2")] {
        let datadir = directory.path().join(clock);
        let datadir = datadir.to_str().unwrap();
        let (to, clock) = (format!("--datadir={datadir}"), format!("--clock={clock}"));
        let document = crash_test(0, &[crashes, &to, &clock, "--time=0.3"]);
        assert!(count(&document, "acknowledged") > 0, "{document:#}");
        let schema = Path::new(datadir).join("sbtest");
        let mut tables: Vec<PathBuf> = std::fs::read_dir(schema)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        tables.sort();
        assert_eq!(tables.len(), 3, "{tables:?}");
        for table in tables {
            judge(&table);
        }
        // It is not a place to begin from.
        let output = call(&["--crashes=1", &to]);
        assert_eq!(output.status.code(), Some(2));
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(
            errors.contains("accepted is an empty directory"),
            "{errors}"
        );
    }
}

/// Has a file judged by programs that know nothing of this engine, where they are installed.
fn judge(table: &Path) {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/ibd_check.py");
    let mut python = Command::new("python3");
    python.arg(tool).args(["--schema", "sbtest1"]);
    python.arg(table);
    let mut innochecksum = Command::new("innochecksum");
    innochecksum.arg(table);
    for (name, mut program) in [("python3", python), ("innochecksum", innochecksum)] {
        match program.output() {
            Err(_) => eprintln!("SKIPPED: {name} is not here, the file was not checked by it"),
            Ok(output) => {
                let text = [output.stdout, output.stderr].concat();
                let text = String::from_utf8_lossy(&text);
                assert_eq!(output.status.code(), Some(0), "{name}: {text}");
            }
        }
    }
}

#[test]
fn a_killed_process_leaves_what_recovery_needs() {
    let document = crash_test(0, &["--clock=real", "--crashes=4", "--time=0.5"]);
    assert_eq!(count(&document, "crashes"), 4);
    assert!(count(&document, "acknowledged") > 100, "{document:#}");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let refused = |arguments: &[&str], words: &str| {
        let output = call(arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(words), "{errors}");
    };
    refused(&["--crashes=0"], "--crashes=0: accepted is a whole number");
    refused(&["--events=5"], "clients work until the crash");
    refused(
        &["--cache=none"],
        "accepted is protected or volatile or machine",
    );
    refused(&["--clock=real", "--cache=volatile"], "not the disk");
    refused(
        &["--expect=luck"],
        "settings or nothing or damaged-pages or loss",
    );
}
