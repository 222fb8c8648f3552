//! `innosim calibrate` writes a profile that `innosim run` takes, and `innosim validate` puts
//! real and predicted runs side by side. What is measured is this host's, so that nothing here
//! hangs on how fast it is.

use std::path::Path;
use std::process::{Command, Output};

use innosim_workloads::machine::MachineProfile;
use innosim_workloads::progress::Progress;
use innosim_workloads::reproduce::Program;
use innosim_workloads::reproduce::cache::CacheDirectory;
use innosim_workloads::validate::execute::{Options, Validation, validate};
use innosim_workloads::validate::grid::{Grid, Size};
use serde_json::Value;

fn innosim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_innosim"))
        .args(arguments)
        .output()
        .unwrap()
}

#[track_caller]
fn json(output: &Output) -> Value {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_measured_profile_is_one_that_a_run_takes() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let data = directory.path().to_str().unwrap();
    let profile = directory.path().join("host.toml");
    let profile = profile.to_str().unwrap();
    let call = [
        "calibrate",
        "all",
        "--datadir",
        data,
        "--output",
        profile,
        "--time",
        "0.05",
        "--repeat",
        "1",
        "--json",
        "-",
    ];
    let report = json(&innosim(&call));
    assert_eq!(report["disk"].as_array().unwrap().len(), 32);
    for point in report["disk"].as_array().unwrap() {
        for side in ["measured", "predicted"] {
            assert!(point[side]["mean_us"].as_f64().unwrap() > 0.0, "{point}");
        }
    }
    for run in report["cpu"]["runs"].as_array().unwrap() {
        assert!(run["measured_us"].as_f64().unwrap() > 0.0, "{run}");
    }
    for group in report["cpu"]["groups"].as_array().unwrap() {
        let is_default = group["multiple"] == 1.0;
        assert!(group["identified"] == true || is_default, "{group}");
    }
    assert_eq!(report["profile"], std::fs::read_to_string(profile).unwrap());
    // Nothing but the profile is left.
    assert_eq!(std::fs::read_dir(data).unwrap().count(), 1);

    let machine = MachineProfile::load(profile).unwrap();
    assert_eq!(machine.server.statement_us, {
        let text = std::fs::read_to_string(profile).unwrap();
        let line = text
            .lines()
            .find(|line| line.starts_with("statement_us"))
            .unwrap();
        line.split(['=', '#'])
            .nth(1)
            .unwrap()
            .trim()
            .parse::<f64>()
            .unwrap()
    });
    let run = [
        "run",
        "--machine",
        profile,
        "--events",
        "200",
        "--json",
        "-",
    ];
    let (one, two) = (json(&innosim(&run)), json(&innosim(&run)));
    assert_eq!(one["transactions"], 200);
    assert_eq!(
        (&one["tps"], &one["metrics"]),
        (&two["tps"], &two["metrics"])
    );

    // The next call takes from it what it does not measure.
    let call = [
        "calibrate",
        "latches",
        "--machine",
        profile,
        "--time",
        "0.05",
        "--json",
        "-",
    ];
    let second = json(&innosim(&call));
    let text = second["profile"].as_str().unwrap();
    let second = MachineProfile::parse("second", text).unwrap();
    assert_eq!(second.disks, machine.disks);
    assert_eq!(second.costs, machine.costs);
}

#[test]
fn wrong_calls_are_refused_with_what_is_accepted() {
    for (call, message) in [
        (
            vec!["calibrate", "--time", "0"],
            "--time=0: accepted is a number of seconds from 0.05 to 60",
        ),
        (
            vec!["calibrate", "--repeat", "many"],
            "--repeat=many: accepted is a whole number from 1 to 100",
        ),
        (
            vec!["calibrate", "--datadir", "nowhere"],
            "--datadir=nowhere: accepted is a directory that exists",
        ),
        (
            vec!["calibrate", "--machine", "array-16-spindles"],
            "accepted is a profile with one disk, of the model solid_state",
        ),
        (
            vec!["validate", "--machine", "nowhere.toml"],
            "machine = nowhere.toml: no such profile or file",
        ),
        (
            vec!["validate", "--time", "0.5"],
            "--time=0.5: accepted is a number of seconds from 1 to 3600",
        ),
    ] {
        let output = innosim(&call);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{call:?}: {text}");
        assert!(text.contains(message), "{call:?}: {text}");
    }
}

fn small_validation(directory: &Path, cache: &CacheDirectory) -> Validation {
    let program = Program {
        path: env!("CARGO_BIN_EXE_innosim").into(),
        ..Program::this().unwrap()
    };
    let options = Options {
        grid: Grid::Commit,
        size: Size {
            tables: 2,
            rows: 2000,
            pool_mib: 6,
            redo_mib: [16, 64],
            ageing_s: 0.2,
            warm_up_s: 0.05,
            measure_s: 0.2,
        },
        repeats: 2,
        jobs: 2,
        directory,
        machine: "host".into(),
        machine_text: "host".into(),
        cache,
        fresh: false,
        program,
        progress: &Progress::silent(),
    };
    validate(&options).unwrap()
}

#[test]
fn real_and_predicted_runs_stand_side_by_side_and_are_kept() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let kept = tempfile::tempdir().unwrap();
    let cache = CacheDirectory::open(kept.path()).unwrap();
    let first = small_validation(directory.path(), &cache);
    assert_eq!(first.cells.len(), 6);
    for cell in &first.cells {
        assert_eq!(cell.tps.runs.len(), 2);
        assert!(cell.tps.real > 0.0 && cell.tps.predicted > 0.0, "{cell:?}");
        assert!((0.0..=1.0).contains(&cell.others_cpu));
    }
    assert_eq!(first.bars.len(), 2);
    let text = first.to_string();
    assert!(text.contains("oltp_write_only 8 128 64M 2"), "{text}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    // A second call measures nothing, and says the same.
    assert_eq!(small_validation(directory.path(), &cache), first);
}
