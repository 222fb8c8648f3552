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

/// The processes that have this text in their environment.
fn processes_with(text: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let has = |path: std::path::PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(text)
    };
    entries.filter(|entry| has(entry.path())).count()
}

#[test]
fn the_runs_of_a_sweep_end_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let temporary = directory.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mark = temporary.to_str().unwrap();
    for (name, number) in [("TERM", 15), ("INT", 2), ("KILL", 9)] {
        let mut child = Command::new(PROGRAM)
            .args(["sweep", "--clock=real", "--time=60", "--table-size=1000"])
            .args(["--vary=threads=1,2", "--jobs=2"])
            .args([
                "--set=innodb_redo_log_capacity=8M",
                "--set=innodb_buffer_pool_size=8M",
            ])
            .env("TMPDIR", &temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command can be started");
        let begin = Instant::now();
        let wait_until = |what: &str, is_so: &dyn Fn() -> bool| {
            while !is_so() {
                assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        let directories = || fs::read_dir(&temporary).unwrap().count();
        wait_until("both runs are at work", &|| directories() == 2);
        assert_eq!(processes_with(mark), 3);
        signal(&child, name);
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        if name == "KILL" {
            // Nobody waits for them then.
            wait_until("they end by themselves", &|| directories() == 0);
        }
        assert_eq!(directories(), 0, "SIG{name}");
        wait_until("the processes are gone", &|| processes_with(mark) == 0);
    }
}
