//! Pages with content that cannot be: a fault or an error that names them, never a panic.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_innosim");
const PAGE: u64 = 16_384;

/// Calls a subcommand over a data directory, with small files.
fn call(subcommand: &str, datadir: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command
        .arg(subcommand)
        .arg("--set=innodb_redo_log_capacity=8M")
        .arg("--set=innodb_buffer_pool_size=8M")
        .arg("--datadir")
        .arg(datadir)
        .args(more);
    command.output().expect("the command can be started")
}

/// A data directory with two small tables, which was shut down.
fn prepared() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let datadir = directory.path().join("data");
    let output = call("prepare", &datadir, &["--tables=2", "--table-size=5000"]);
    assert!(output.status.success(), "{output:?}");
    (directory, datadir)
}

fn table(datadir: &Path, number: u32) -> PathBuf {
    datadir.join(format!("sbtest/sbtest{number}.ibd"))
}

/// Overwrites a whole page.
fn overwrite(file: &Path, page: u64, bytes: &[u8]) {
    let host = fs::OpenOptions::new().write(true).open(file).unwrap();
    host.write_all_at(bytes, page * PAGE).unwrap();
}

/// What a call has told; it must not have panicked.
fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (report, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(!errors.contains("panicked"), "{errors}");
    (output.status.code(), report, errors)
}

/// The leaves of the clustered index, whose root is page 3.
fn leaves(file: &Path) -> Vec<u64> {
    let bytes = fs::read(file).unwrap();
    let page = |number: u64| &bytes[(number * PAGE) as usize..][..PAGE as usize];
    (4..bytes.len() as u64 / PAGE)
        .filter(|&number| page(number)[24..26] == 17_855_u16.to_be_bytes())
        .filter(|&number| page(number)[64..74] == [&[0, 0], &page(3)[66..74]].concat()[..])
        .collect()
}

/// A page of zeros has no checksum that could be wrong.
#[test]
fn a_check_names_pages_of_zeros_and_unreadable_ones_and_goes_on() {
    let (_directory, datadir) = prepared();
    let leaves = leaves(&table(&datadir, 1));
    let (zeros, torn) = (leaves[20], leaves[25]);
    overwrite(&table(&datadir, 1), zeros, &[0; PAGE as usize]);
    overwrite(&table(&datadir, 1), torn, &[7; PAGE as usize]);
    overwrite(&table(&datadir, 2), torn, &[7; PAGE as usize]);
    let (code, report, errors) = told(&call("recover", &datadir, &["--check"]));
    assert_eq!(code, Some(1), "{report} {errors}");
    assert!(report.contains("redo read"), "{report} {errors}");
    let faults: Vec<&str> = report
        .lines()
        .filter(|line| line.contains("FAULT"))
        .collect();
    for (table, page) in [("sbtest1", zeros), ("sbtest1", torn), ("sbtest2", torn)] {
        let named = |line: &&&str| line.contains(table) && line.contains(&format!("page {page}"));
        assert_eq!(faults.iter().filter(named).count(), 1, "{report}");
    }
    assert_eq!(faults.len(), 3, "{report}");
    assert!(!report.contains("Some("), "{report}");
}

/// A directory whose engine was killed while it wrote.
fn killed() -> (tempfile::TempDir, PathBuf) {
    let (directory, datadir) = prepared();
    let redo = || {
        let files = fs::read_dir(datadir.join("#innodb_redo")).unwrap();
        let mut bytes: Vec<_> = files
            .map(|file| fs::read(file.unwrap().path()).unwrap())
            .collect();
        bytes.sort();
        bytes
    };
    let before = redo();
    let mut child = Command::new(PROGRAM)
        .args(["run", "--clock=real", "--time=60", "--threads=4"])
        .args([
            "--workload=oltp_write_only",
            "--tables=2",
            "--table-size=5000",
        ])
        .args([
            "--set=innodb_redo_log_capacity=8M",
            "--set=innodb_buffer_pool_size=8M",
        ])
        .arg("--datadir")
        .arg(&datadir)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let tick = std::time::Duration::from_millis(300);
    while redo() == before {
        std::thread::sleep(tick);
    }
    std::thread::sleep(tick);
    child.kill().unwrap();
    child.wait().unwrap();
    (directory, datadir)
}

#[test]
fn redo_for_pages_of_zeros_is_refused() {
    let (_directory, datadir) = killed();
    let file = table(&datadir, 1);
    for page in leaves(&file) {
        overwrite(&file, page, &[0; PAGE as usize]);
    }
    for (subcommand, more) in [
        ("run", "--clock=real"),
        ("run", "--time=0.1"),
        ("recover", "--check"),
    ] {
        let (code, report, errors) = told(&call(
            subcommand,
            &datadir,
            &[more, "--threads=1"][..1 + usize::from(subcommand == "run")],
        ));
        assert_eq!(code, Some(1), "{report} {errors}");
        for part in [
            "sbtest1.ibd: redo at LSN",
            "cannot be applied to space 1 page",
        ] {
            assert!(errors.contains(part), "{subcommand}: {errors}");
        }
    }
}

/// Copies the redo files to another directory, or back.
fn copy_redo(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn redo_files_older_than_the_data_files_are_refused() {
    let (directory, datadir) = prepared();
    let (redo, old) = (datadir.join("#innodb_redo"), directory.path().join("old"));
    copy_redo(&redo, &old);
    let more = [
        "--clock=real",
        "--time=0.5",
        "--tables=2",
        "--table-size=5000",
        "--workload=oltp_write_only",
    ];
    let (code, _, errors) = told(&call("run", &datadir, &more));
    assert_eq!(code, Some(0), "{errors}");
    copy_redo(&old, &redo);
    for (subcommand, more) in [("run", &["--time=0.1"][..]), ("recover", &[])] {
        let (code, report, errors) = told(&call(subcommand, &datadir, more));
        assert_eq!(code, Some(1), "{report} {errors}");
        assert!(
            errors.contains("the redo files are older than the data files"),
            "{errors}"
        );
    }
}

#[test]
fn a_system_tablespace_that_was_cut_short_is_refused() {
    let (_directory, datadir) = prepared();
    let file = datadir.join("ibdata1");
    let host = fs::OpenOptions::new().write(true).open(&file).unwrap();
    host.set_len(100_000).unwrap();
    for (subcommand, more) in [("run", &["--time=0.1"][..]), ("recover", &[])] {
        let (code, report, errors) = told(&call(subcommand, &datadir, more));
        assert_eq!(code, Some(1), "{report} {errors}");
        for part in ["ibdata1: 100000 bytes, but its header says", "cut short"] {
            assert!(errors.contains(part), "{errors}");
        }
    }
}

#[test]
fn a_dictionary_that_is_missing_is_named() {
    let (_directory, datadir) = prepared();
    fs::remove_file(datadir.join("innosim.dictionary")).unwrap();
    let (code, _, errors) = told(&call("recover", &datadir, &[]));
    assert_eq!(code, Some(1), "{errors}");
    assert!(
        errors.contains("its innosim.dictionary is missing"),
        "{errors}"
    );
}
