//! Pages of real runs, as the command writes them.

use std::path::Path;
use std::process::Command;

/// A page of a short run under the virtual clock. The call is the same each time, also in
/// the name of the file.
fn page_of(seed: &str, directory: &Path) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_innosim"))
        .current_dir(directory)
        .args(["run", "--workload", "oltp_write_only", "--threads", "4"])
        .args(["--table-size", "1000", "--time", "0.5"])
        .args(["--report-interval", "0.1", "--machine", "nvme-24core"])
        .args(["--set", "innodb_redo_log_capacity=64M"])
        .args(["--seed", seed, "--html", "page.html"])
        .output()
        .expect("the command can be started");
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    std::fs::read_to_string(directory.join("page.html")).expect("a page")
}

#[test]
fn the_same_call_writes_the_same_page() {
    let directory = tempfile::tempdir().unwrap();
    let page = page_of("1", directory.path());
    assert!(
        page == page_of("1", directory.path()),
        "something of the host is in the page"
    );
    assert!(page != page_of("2", directory.path()));

    // What is needed to make it again.
    for told in [
        "--set innodb_redo_log_capacity=64M --seed 1 --html page.html",
        "innodb_redo_log_capacity</td>",
        "# The machine of the doublewrite report",
        concat!("innosim ", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(page.contains(told), "{told}");
    }
    // Every series of a run that writes; a log that is flushed keeps its disk busy.
    for label in [
        "transactions",
        "median",
        "95th percentile",
        "99th percentile",
        "age",
        "sync flush",
        "capacity",
        "modified",
        "free",
        "nvme, writes",
        "nvme, flushes",
        "not purged",
    ] {
        let series = format!("{{\"label\":\"{label}\",");
        assert!(page.contains(&series), "{label}");
    }
}
