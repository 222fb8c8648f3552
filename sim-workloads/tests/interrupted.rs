//! Runs on real files that are interrupted, or killed.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_innosim");

/// A run under the real clock that would take a minute, with small files.
fn long_run(more: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args([
            "run",
            "--clock=real",
            "--time=60",
            "--threads=4",
            "--table-size=5000",
        ])
        .args(["--workload=oltp_write_only", "--report-interval=0.1"])
        .args([
            "--set=innodb_redo_log_capacity=8M",
            "--set=innodb_buffer_pool_size=8M",
        ])
        .args(more)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Starts a run and waits until its clients are at work.
fn start(mut command: Command, output: &Path) -> Child {
    let file = fs::File::create(output).unwrap();
    let mut child = command
        .stdout(file)
        .spawn()
        .expect("the command can be started");
    let begin = Instant::now();
    while !fs::read_to_string(output).unwrap().contains("tps: ") {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "no interval has ended"
        );
        if let Some(status) = child.try_wait().unwrap() {
            panic!("the run ended with {status}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let status = Command::new("kill")
        .args([&format!("-{name}"), &pid])
        .status();
    assert!(status.expect("kill can be started").success());
}

#[test]
fn a_temporary_directory_goes_when_the_run_is_interrupted() {
    let directory = tempfile::tempdir().unwrap();
    let temporary = directory.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    for (name, number) in [("INT", 2), ("TERM", 15)] {
        let mut command = long_run(&[]);
        command.env("TMPDIR", &temporary);
        let mut child = start(command, &directory.path().join("out"));
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);
        signal(&child, name);
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(number));
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "SIG{name}");
    }
}

#[test]
fn a_run_that_was_killed_is_recovered() {
    let directory = tempfile::tempdir().unwrap();
    let datadir = directory.path().join("data");
    let datadir = datadir.to_str().unwrap();
    for seed in 1..=3 {
        let command = long_run(&["--datadir", datadir, &format!("--seed={seed}")]);
        let mut child = start(command, &directory.path().join("out"));
        child.kill().unwrap();
        child.wait().unwrap();
        let recover = || {
            let output = Command::new(PROGRAM)
                .args(["recover", "--check", "--json=-", "--datadir", datadir])
                .args([
                    "--set=innodb_redo_log_capacity=8M",
                    "--set=innodb_buffer_pool_size=8M",
                ])
                .output()
                .expect("the command can be started");
            assert!(output.status.success(), "{output:?}");
            serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
        };
        let report = recover();
        assert_eq!(report["was_needed"], true, "{report:#}");
        assert!(
            report["redo"]["records_applied"].as_u64() > Some(0),
            "{report:#}"
        );
        assert_eq!(report["faults"], serde_json::json!([]), "{report:#}");
        let report = recover();
        assert_eq!(
            report["was_needed"], false,
            "the shutdown was clean: {report:#}"
        );
    }
}
