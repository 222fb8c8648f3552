//! Data directories that cannot be used: a clear message, an exit code, and the files as
//! they were.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use innosim_engine::runtime::files::HostLock;

const PROGRAM: &str = env!("CARGO_BIN_EXE_innosim");

/// Settings of all calls here: small files.
const SMALL: [&str; 2] = [
    "--set=innodb_redo_log_capacity=8M",
    "--set=innodb_buffer_pool_size=8M",
];

/// Calls a subcommand over a data directory.
fn call(subcommand: &str, datadir: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command
        .arg(subcommand)
        .args(SMALL)
        .arg("--datadir")
        .arg(datadir)
        .args(more);
    command.output().expect("the command can be started")
}

/// The messages of a call that failed with this code: what stands after `innosim: `, but
/// for warnings and notes.
fn complaint(output: &Output, code: i32) -> String {
    let errors = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{errors}");
    assert!(!errors.contains("panicked"), "{errors}");
    let lines = errors
        .lines()
        .filter_map(|line| line.strip_prefix("innosim: "));
    let lines = lines.filter(|line| !line.starts_with("note: ") && !line.starts_with("warning: "));
    lines.collect::<Vec<_>>().join("\n")
}

/// A data directory with one small table.
fn prepared() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let datadir = directory.path().join("data");
    let output = call("prepare", &datadir, &[]);
    assert!(output.status.success(), "{output:?}");
    (directory, datadir)
}

/// All files of a directory.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => {
                found.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    found
}

/// The files with data in them: not the doublewrite files, which each start makes anew
/// once their copies are of no more use.
fn data(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = files(directory);
    found.retain(|path, _| {
        path.extension()
            .is_none_or(|extension| extension != "dblwr")
    });
    found
}

/// Every subcommand that opens the directory complains of this, under both clocks, and
/// changes no data.
fn refused(datadir: &Path, expected: &[&str]) {
    let before = data(datadir);
    let calls: [(&str, &[&str]); 3] = [
        ("run", &["--time=0.1"]),
        ("run", &["--time=0.1", "--clock=real"]),
        ("recover", &[]),
    ];
    for (subcommand, more) in calls {
        let message = complaint(&call(subcommand, datadir, more), 1);
        for part in expected {
            assert!(
                message.contains(part),
                "{subcommand} {more:?}: {part:?} is not in {message:?}"
            );
        }
        assert!(
            data(datadir) == before,
            "{subcommand} {more:?} changed files: {message}"
        );
    }
}

#[test]
fn a_directory_in_use() {
    let (_directory, datadir) = prepared();
    let _lock = HostLock::take(&datadir, false).unwrap().unwrap();
    refused(&datadir, &[datadir.to_str().unwrap(), "in use"]);
    let message = complaint(&call("prepare", &datadir, &[]), 1);
    assert!(message.contains("in use"), "{message}");
}

#[test]
fn a_directory_of_another_format() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("mysql.ibd"), "").unwrap();
    fs::write(directory.path().join("ibdata1"), "data").unwrap();
    let before = files(directory.path());
    let path = directory.path().to_str().unwrap();
    for subcommand in ["run", "prepare"] {
        let message = complaint(&call(subcommand, directory.path(), &[]), 1);
        assert!(
            message.contains(path) && message.contains("not empty"),
            "{message}"
        );
    }
    let message = complaint(&call("recover", directory.path(), &[]), 1);
    assert!(
        message.contains(path) && message.contains("MySQL server"),
        "{message}"
    );
    assert!(files(directory.path()) == before);
}

#[test]
fn a_directory_of_another_workload() {
    let (_directory, datadir) = prepared();
    let before = files(&datadir);
    // Columns are unsigned there.
    let more = ["--workload=sysbench-0.5/oltp", "--time=0.1"];
    let message = complaint(&call("run", &datadir, &more), 1);
    assert!(message.contains("other columns or indexes"), "{message}");
    assert!(files(&datadir) == before);
}

#[test]
fn a_directory_with_fewer_rows_is_warned_of() {
    let (_directory, datadir) = prepared();
    let output = call("run", &datadir, &["--table-size=20000", "--time=0.1"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(
        errors.contains("warning: sbtest/sbtest1 has no row 20000"),
        "{errors}"
    );
}

/// Flips a bit in the middle of a page.
fn damage(file: &Path, page: u64) {
    let host = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(file)
        .unwrap();
    let mut byte = [0];
    let at = page * 16_384 + 5_000;
    host.read_exact_at(&mut byte, at).unwrap();
    host.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

/// All leaves of the table are damaged, so that clients come upon the same ones at once.
#[test]
fn damaged_pages_that_many_clients_want() {
    let (_directory, datadir) = prepared();
    let file = datadir.join("sbtest/sbtest1.ibd");
    let pages = fs::metadata(&file).unwrap().len() / 16_384;
    for page in 5..pages {
        damage(&file, page);
    }
    for threads in ["2", "4", "16"] {
        let more = [
            "--threads",
            threads,
            "--time=0.2",
            "--workload=oltp_write_only",
        ];
        let message = complaint(&call("run", &datadir, &more), 1);
        for part in ["sbtest1.ibd", "checksum"] {
            assert!(message.contains(part), "{threads} threads: {message}");
        }
    }
}

/// The pages of an index, without its root.
fn pages_below(file: &Path, root: u64) -> Vec<u64> {
    let bytes = fs::read(file).unwrap();
    let page = |number: u64| &bytes[number as usize * 16_384..][..16_384];
    let is_index = |number: &u64| page(*number)[24..26] == 17_855_u16.to_be_bytes();
    let index_id = |number: u64| &page(number)[66..74];
    (root + 1..bytes.len() as u64 / 16_384)
        .filter(is_index)
        .filter(|&number| index_id(number) == index_id(root))
        .collect()
}

/// Two rows and sixteen clients, who update an index whose leaves are damaged: most of them
/// wait for the rows' locks when the first fails and cannot be rolled back, and they would
/// wait for 34 years.
#[test]
fn clients_that_wait_for_one_that_fails() {
    let (_directory, datadir) = prepared();
    let file = datadir.join("sbtest/sbtest1.ibd");
    let leaves_of_k = pages_below(&file, 4);
    assert!(leaves_of_k.len() > 1);
    for page in leaves_of_k {
        damage(&file, page);
    }
    for clock in ["--clock=virtual", "--clock=real"] {
        let more = [
            clock,
            "--threads=16",
            "--rand-type=uniform",
            "--table-size=2",
            "--time=1",
            "--workload=oltp_write_only",
            "--set=innodb_lock_wait_timeout=1073741824",
        ];
        let message = complaint(&call("run", &datadir, &more), 1);
        for part in ["sbtest1.ibd", "checksum"] {
            assert!(message.contains(part), "{clock}: {message}");
        }
    }
}

#[test]
fn a_page_with_a_wrong_checksum() {
    let (_directory, datadir) = prepared();
    let file = datadir.join("sbtest/sbtest1.ibd");
    // The root of the clustered index, which nobody can do without.
    damage(&file, 3);
    refused(&datadir, &[file.to_str().unwrap(), "page 3", "checksum"]);
}

#[test]
fn a_redo_log_cut_short() {
    let (_directory, datadir) = prepared();
    let redo = datadir.join("#innodb_redo");
    let newest = fs::read_dir(&redo)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .max()
        .unwrap();
    let host = fs::OpenOptions::new().write(true).open(&newest).unwrap();
    host.set_len(1_024).unwrap();
    drop(host);
    refused(&datadir, &["ib_redo"]);
}

#[test]
fn a_redo_log_without_its_checkpoint() {
    let (_directory, datadir) = prepared();
    for entry in fs::read_dir(datadir.join("#innodb_redo")).unwrap() {
        let host = fs::OpenOptions::new()
            .write(true)
            .open(entry.unwrap().path())
            .unwrap();
        // Both checkpoint blocks: the second and the fourth.
        host.write_all_at(&[7; 512], 512).unwrap();
        host.write_all_at(&[7; 512], 3 * 512).unwrap();
    }
    refused(&datadir, &["#innodb_redo", "checkpoint"]);
}

#[test]
fn a_redo_log_that_is_missing() {
    let (_directory, datadir) = prepared();
    fs::remove_dir_all(datadir.join("#innodb_redo")).unwrap();
    refused(&datadir, &["#innodb_redo"]);
}

#[test]
fn too_little_room_is_told_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let datadir = directory.path().join("data");
    // 2,000 tables of 2^31 rows do not fit on any disk of these days.
    let more = ["--tables=2000", "--table-size=2147483647"];
    let message = complaint(&call("prepare", &datadir, &more), 1);
    assert!(message.contains("MiB are needed"), "{message}");
    assert!(files(&datadir).is_empty());
}

#[test]
fn a_run_that_keeps_nothing_needs_no_room_for_its_redo_log() {
    let call = Command::new(PROGRAM)
        .args(["run", "--table-size=100", "--time=0.05", "--threads=2"])
        .args(["--set=innodb_redo_log_capacity=128G", "--json=-"])
        .output()
        .expect("the program can be started");
    let (errors, status) = (String::from_utf8_lossy(&call.stderr), call.status);
    assert!(status.success(), "{errors}");
}

/// A file system of this size that only the call sees; none where that is not allowed.
fn call_on_small_disk(size: &str, mount: &Path, script: &str) -> Option<Output> {
    let may = Command::new("unshare").args(["-rm", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no file system can be mounted for a full disk");
        return None;
    }
    let script = format!("mount -t tmpfs -o size={size} none \"$1\" && {script}");
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", &script, "sh"])
        .args([mount.as_os_str(), PROGRAM.as_ref()])
        .output()
        .expect("the shell can be started");
    Some(output)
}

#[test]
fn a_disk_that_becomes_full() {
    let directory = tempfile::tempdir().unwrap();
    let script = format!(
        "\"$2\" run {} --datadir \"$1/data\" --table-size 100 --workload oltp_insert --threads 4 \
         --clock real --time 120",
        SMALL.join(" ")
    );
    let Some(output) = call_on_small_disk("90m", directory.path(), &script) else {
        return;
    };
    let message = complaint(&output, 1);
    assert!(message.contains("No space left on device"), "{message}");
}

/// The changes of a run under the virtual clock have no room: the files are as they were,
/// and the next run begins from there.
#[test]
fn a_disk_without_room_for_what_a_run_has_changed() {
    let directory = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let (small, copy) = (SMALL.join(" "), copy.path().display());
    let run = format!(
        "\"$2\" run {small} --datadir \"$1/data\" --workload oltp_write_only --events 2000"
    );
    let script = format!(
        "\"$2\" prepare {small} --datadir \"$1/data\" && cp -a \"$1/data\" {copy} || exit 90
         dd if=/dev/zero of=\"$1/full\" bs=64k 2>/dev/null
         {run}; code=$?
         diff -r \"$1/data\" {copy}/data >&2 || exit 91
         rm \"$1/full\"; {run} >/dev/null 2>&1 || exit 92
         diff -r \"$1/data\" {copy}/data >/dev/null && exit 93
         exit $code"
    );
    let Some(output) = call_on_small_disk("90m", directory.path(), &script) else {
        return;
    };
    let message = complaint(&output, 1);
    for part in ["no room for ", "MiB, and 0 MiB are free"] {
        assert!(message.contains(part), "{message}");
    }
    let lines = message.lines().filter(|line| line.contains("no room"));
    assert_eq!(lines.count(), 1, "{message}");
}

#[test]
fn a_buffer_pool_larger_than_the_machine_is_refused_before_anything_is_loaded() {
    let directory = tempfile::tempdir().unwrap();
    for clock in ["--clock=real", "--clock=virtual"] {
        let datadir = directory.path().join(clock);
        let more = ["--set=innodb_buffer_pool_size=100T", clock];
        let message = complaint(&call("run", &datadir, &more), 1);
        let expected = "innodb_buffer_pool_size = 100T: ";
        assert!(message.starts_with(expected), "{message}");
        assert!(message.contains("this machine has "), "{message}");
        assert!(!datadir.exists());
    }
}

#[test]
fn numbers_too_large_for_any_variable_are_warned_of() {
    let directory = tempfile::tempdir().unwrap();
    let datadir = directory.path().join("data");
    let output = call(
        "prepare",
        &datadir,
        &["--set=innodb_io_capacity=20000000000000000000"],
    );
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let expected = "warning: --set: innodb_io_capacity: 20000000000000000000 is out of range";
    assert!(errors.contains(expected), "{errors}");
}

#[test]
fn a_long_line_is_quoted_briefly() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("my.cnf");
    fs::write(
        &file,
        format!("[mysqld]\nx\u{1b}[2J {}\n", "y".repeat(300_000)),
    )
    .unwrap();
    let call = ["run", "--defaults-file", file.to_str().unwrap()];
    let output = Command::new(PROGRAM).args(call).output().unwrap();
    let message = complaint(&output, 2);
    assert!(message.len() < 400, "{} bytes", message.len());
    assert!(
        message.contains("x\\u{1b}[2J yyy") && message.contains('…'),
        "{message}"
    );
}

#[test]
fn calls_that_are_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("my.cnf");
    fs::write(
        &file,
        "[mysqld]\ninnodb_io_capacity = many\ninnodb_io_capactiy = 5\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    for (arguments, parts) in [
        (
            vec!["run", "--set=innodb_io_capactiy=5"],
            ["innodb_io_capactiy", "innodb_io_capacity"],
        ),
        (vec!["run", "--defaults-file", file], ["my.cnf:2", "many"]),
        (
            vec!["run", "--defaults-file", "/nowhere/my.cnf"],
            ["/nowhere/my.cnf", "No such file"],
        ),
        (vec!["run", "--machine=abacus"], ["abacus", "laptop-nvme"]),
        (
            vec!["run", "--base=/nowhere"],
            ["--base=/nowhere", "prepared"],
        ),
        (vec!["prepare"], ["--datadir", "missing"]),
        (vec!["run", "--threads=0"], ["--threads=0", "1 to 16384"]),
        (
            vec!["run", "--threads", "-1"],
            ["--threads=-1", "1 to 16384"],
        ),
        (vec!["run", "--time", "-1"], ["--time=-1", "0 to 10000000"]),
        (
            vec!["sweep", "--repeat", "-3"],
            ["--repeat=-3", "1 to 10000"],
        ),
        (
            vec!["crash-test", "--crashes", "-3"],
            ["--crashes=-3", "accepted is"],
        ),
        (
            vec!["run", "--set=innodb_page_size=7"],
            ["innodb_page_size = 7", "accepted: 16384"],
        ),
        (
            vec!["sweep", "--vary=machine=host", "--clock=real"],
            ["--vary machine", "virtual clock"],
        ),
        (
            vec!["sweep", "--vary=datadir=/a,/b"],
            ["--vary datadir", "its own"],
        ),
        (
            vec!["run", "--json=/nowhere/a.json"],
            ["/nowhere/a.json", "directory that exists"],
        ),
    ] {
        let output = Command::new(PROGRAM).args(&arguments).output().unwrap();
        let message = complaint(&output, 2);
        for part in parts {
            assert!(
                message.contains(part),
                "{arguments:?}: {part:?} is not in {message:?}"
            );
        }
        assert!(output.stdout.is_empty());
    }
}

/// Gives the page that was changed last a copy in a doublewrite file; returns its file and
/// its number. The checkpoint of the shutdown is where that change ends, so the copy is not
/// too old.
fn copy_newest_page(datadir: &Path) -> (String, u64) {
    let mut newest = (0, PathBuf::new(), 0, Vec::new());
    for (path, bytes) in files(datadir) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !(name.ends_with(".ibd") || name.starts_with("undo_") || name == "ibdata1") {
            continue;
        }
        for (number, page) in bytes.chunks_exact(16384).enumerate() {
            let lsn = u64::from_be_bytes(page[16..24].try_into().unwrap());
            if lsn > newest.0 {
                newest = (lsn, path.clone(), number as u64, page.to_vec());
            }
        }
    }
    let (_, path, number, page) = newest;
    fs::write(datadir.join("#ib_16384_0.dblwr"), page).unwrap();
    let file = path.strip_prefix(datadir).unwrap();
    (file.display().to_string(), number)
}

#[test]
fn pages_that_are_repaired_after_a_clean_shutdown_are_named() {
    let (_directory, datadir) = prepared();
    let (file, page) = copy_newest_page(&datadir);
    let name = format!("{file} page {page}");
    damage(&datadir.join(&file), page);
    let before = files(&datadir);
    let output = call("run", &datadir, &["--clock=real", "--time=0.1"]);
    assert!(output.status.success(), "{output:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains(&name), "{errors}");
    assert!(!errors.contains("had not been shut down"), "{errors}");
    // As it was, without the files that the run has made.
    fs::remove_dir_all(&datadir).unwrap();
    for (path, bytes) in before {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let output = call("recover", &datadir, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("1 repaired, from"), "{text}");
    assert!(text.contains(&name), "{text}");
}

#[test]
fn a_creation_that_was_killed_is_begun_anew() {
    let (_directory, datadir) = prepared();
    // As it is just before the end of the creation.
    fs::remove_dir_all(datadir.join("sbtest")).unwrap();
    fs::remove_file(datadir.join("innosim.dictionary")).unwrap();
    fs::write(datadir.join("innosim.creating"), "").unwrap();
    let message = complaint(&call("recover", &datadir, &[]), 1);
    assert!(message.contains("creation was interrupted"), "{message}");
    let output = call("run", &datadir, &["--clock=real", "--time=0.1"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    assert!(
        errors.contains("its creation was interrupted; it is created anew"),
        "{errors}"
    );
}
