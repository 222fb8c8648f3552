//! The `innosim` command as its users see it: streams, exit codes, JSON.

use std::process::{Command, Output};

fn innosim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_innosim"))
        .args(arguments)
        .output()
        .expect("the command can be started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the command writes UTF-8")
}

#[test]
fn a_kernel_prints_its_tables_and_its_progress_apart() {
    let output = innosim(&["kernel", "array", "--quick"]);
    assert_eq!(output.status.code(), Some(0));
    let results = text(&output.stdout);
    assert!(results.starts_with("kernel array on array-16-spindles, seed 1, settle lazy, quick\n"));
    assert!(
        results.contains("| reads/s with 64 clients |      2316 |"),
        "{results}"
    );
    let progress = text(&output.stderr);
    assert!(progress.contains("8 clients, 120 GB"), "{progress}");
    assert!(!results.contains("1: 8 clients"));
}

#[test]
fn json_is_one_object_and_the_same_for_the_same_seed() {
    let run = |seed| {
        let output = innosim(&["kernel", "array", "--quick", "--seed", seed, "--json", "-"]);
        assert_eq!(output.status.code(), Some(0));
        text(&output.stdout)
    };
    let first = run("5");
    assert_eq!(first, run("5"));
    assert_ne!(first, run("6"));
    let report: serde_json::Value = serde_json::from_str(&first).expect("one JSON object");
    assert_eq!(report["kernel"], "array");
    assert_eq!(report["seed"], 5);
    let bars = report["bars"].as_array().expect("a list of bars");
    assert_eq!(bars.len(), 4);
    for bar in bars {
        assert_eq!(bar["holds"], true);
        assert_eq!(bar["accepted"], "within 6 %");
        assert!(bar["published"].is_f64() && bar["simulated"].is_f64());
    }
}

#[test]
fn json_goes_to_a_file_beside_the_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("array.json");
    let output = innosim(&[
        "kernel",
        "array",
        "--quick",
        "--json",
        path.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).starts_with("kernel array"));
    let json = std::fs::read_to_string(&path).unwrap();
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["machine"], "array-16-spindles");
}

#[test]
fn a_bar_that_does_not_hold_is_exit_code_1_with_all_results() {
    // Half of the spindles, each twice as large, cannot make the published rates.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("half.toml");
    let profile = include_str!("../profiles/array-16-spindles.toml");
    let half = profile.replace("spindles = 16 ", "spindles = 8 ");
    std::fs::write(&path, half.replace("_gb = 73.4 ", "_gb = 146.8 ")).unwrap();
    let output = innosim(&[
        "kernel",
        "array",
        "--quick",
        "--machine",
        path.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("| NO"));
}

#[test]
fn an_array_too_small_for_the_files_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("small.toml");
    let profile = include_str!("../profiles/array-16-spindles.toml");
    std::fs::write(&path, profile.replace("spindles = 16 ", "spindles = 8 ")).unwrap();
    let machine = path.to_str().unwrap();
    let output = innosim(&["kernel", "array", "--machine", machine]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("disks.array holds 293599937024 bytes"));
}

#[test]
fn a_wrong_call_is_exit_code_2_and_says_what_is_accepted() {
    for (arguments, expected) in [
        (vec!["kernel", "aray"], "doublewrite-queue"),
        (vec!["kernel", "array", "--seed", "many"], "--seed"),
        (vec!["kernel", "array", "--settle", "never"], "always"),
        (
            vec!["kernel", "array", "--machine", "cray"],
            "array-16-spindles, dual-56-nvme, host, laptop-nvme",
        ),
        (
            vec![
                "kernel",
                "doublewrite-queue",
                "--machine",
                "array-16-spindles",
            ],
            "this kernel accepts solid_state",
        ),
        (vec![], "Usage"),
    ] {
        let output = innosim(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let message = text(&output.stderr);
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_is_no_error() {
    let output = innosim(&["kernel", "--help"]);
    assert_eq!(output.status.code(), Some(0));
    let help = text(&output.stdout);
    for word in [
        "read-views",
        "doublewrite-queue",
        "array",
        "--settle",
        "--seed",
        "--json",
    ] {
        assert!(help.contains(word), "{help}");
    }
}

#[test]
fn a_variable_is_explained_and_a_wrong_name_is_exit_code_2() {
    let output = innosim(&["explain", "innodb-io-capacity"]);
    assert_eq!(output.status.code(), Some(0));
    let told = text(&output.stdout);
    assert!(told.starts_with("innodb_io_capacity\n"), "{told}");
    assert!(told.contains("| mysql-8.4 "), "{told}");

    let output = innosim(&["explain"]);
    assert!(text(&output.stdout).contains("| innodb_redo_log_capacity "));

    let output = innosim(&["explain", "innodb-io-capactiy"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "innosim: explain innodb-io-capactiy: no such variable (did you mean \
         innodb_io_capacity?)\n"
    );
    assert!(output.stdout.is_empty());
}
