//! The sample option files of `tests/data/mycnf` against what their `expect.md` says.

use super::*;

const OLTP: &str = include_str!("../../../../tests/data/mycnf/01-oltp-loose-indent.cnf");
const TYPOS: &str = include_str!("../../../../tests/data/mycnf/03-units-and-typos.cnf");

/// Eight hardware threads: by 8.4's rule two instances, which divide a 16 GiB pool.
const LAPTOP: MachineFacts = MachineFacts {
    logical_cpus: 8,
    memory_bytes: 16 * GIB,
};

fn examine_text(flavor: Flavor, text: &str) -> Examination {
    examine(flavor, &options_of(text), LAPTOP, SCALE_1)
}

fn settings_of(flavor: Flavor, text: &str) -> Settings {
    resolve(flavor, &options_of(text), LAPTOP, SCALE_1).unwrap()
}

/// The files of case 04, with or without the file that has a bad line.
fn case_04(with_bad_file: bool) -> MemoryFiles {
    let mut files = vec![
        (
            "04-include.cnf",
            include_str!("../../../../tests/data/mycnf/04-include.cnf"),
        ),
        (
            "04-include-extra.cnf",
            include_str!("../../../../tests/data/mycnf/04-include-extra.cnf"),
        ),
        (
            "04-include.d/10-memory.cnf",
            include_str!("../../../../tests/data/mycnf/04-include.d/10-memory.cnf"),
        ),
        (
            "04-include.d/30-readme.txt",
            include_str!("../../../../tests/data/mycnf/04-include.d/30-readme.txt"),
        ),
    ];
    if with_bad_file {
        let bad = include_str!("../../../../tests/data/mycnf/04-include.d/20-io.cnf");
        files.push(("04-include.d/20-io.cnf", bad));
    }
    MemoryFiles::new(&files)
}

fn examine_case_04(flavor: Flavor, with_bad_file: bool) -> Examination {
    let mut options = Options::new();
    options.read_file(&case_04(with_bad_file), Path::new("04-include.cnf"));
    examine(flavor, &options, LAPTOP, SCALE_1)
}

fn check(settings: &Settings, expected: &[(&str, &str)]) {
    for (name, wanted) in expected {
        assert_eq!(
            value(settings, name),
            *wanted,
            "{name} in {}",
            settings.flavor()
        );
    }
}

#[test]
fn case_01_has_the_expected_values() {
    for flavor in [Flavor::MySql5_7, Flavor::MySql8_0, Flavor::MySql8_4] {
        let settings = settings_of(flavor, OLTP);
        check(
            &settings,
            &[
                ("innodb_buffer_pool_size", "214748364800"),
                ("innodb_buffer_pool_instances", "8"),
                ("innodb_redo_log_capacity", "32212254720"),
                ("innodb_log_file_size", "16106127360"),
                ("innodb_log_files_in_group", "2"),
                ("innodb_log_buffer_size", "67108864"),
                ("innodb_doublewrite", "ON"),
                ("innodb_flush_log_at_trx_commit", "1"),
                ("innodb_flush_method", "O_DIRECT_NO_FSYNC"),
                ("innodb_io_capacity", "1500"),
                ("innodb_io_capacity_max", "2500"),
                ("innodb_max_dirty_pages_pct", "90"),
                ("innodb_max_dirty_pages_pct_lwm", "10"),
                ("innodb_lru_scan_depth", "8192"),
                ("innodb_page_cleaners", "4"),
                ("innodb_adaptive_hash_index", "OFF"),
                (
                    "innodb_change_buffering",
                    if flavor == Flavor::MySql8_4 {
                        "none"
                    } else {
                        "all"
                    },
                ),
                ("innodb_thread_concurrency", "0"),
                ("transaction_isolation", "READ-COMMITTED"),
                ("binlog_format", "ROW"),
                ("sync_binlog", "1"),
                ("innodb_file_per_table", "ON"),
            ],
        );
    }
    assert_eq!(
        value(&settings_of(Flavor::MySql5_6, OLTP), "sync_binlog"),
        "0"
    );
}

/// Names that the warnings of one kind speak of, with the level.
fn named(settings: &Settings, pick: fn(&WarningKind) -> Option<&str>) -> Vec<(Level, String)> {
    settings
        .warnings()
        .iter()
        .filter_map(|warning| pick(&warning.kind).map(|name| (warning.level, name.to_owned())))
        .collect()
}

fn unknown_to_server(kind: &WarningKind) -> Option<&str> {
    match kind {
        WarningKind::UnknownToServer { name, .. } | WarningKind::UnknownName { name, .. } => {
            Some(name)
        }
        _ => None,
    }
}

#[test]
fn case_01_names_what_is_stale_by_version() {
    use Level::{Note, Warning};
    let unknown = |flavor| named(&settings_of(flavor, OLTP), unknown_to_server);
    let told = |level, name: &str| (level, name.to_owned());
    // 8.0: two that its server refuses, three that only loose_ saves.
    assert_eq!(
        unknown(Flavor::MySql8_0),
        [
            told(Warning, "query_cache_type"),
            told(Warning, "innodb_support_xa"),
            told(Note, "innodb_log_checksum_algorithm"),
            told(Note, "innodb_sched_priority_cleaner"),
            told(Note, "metadata_locks_hash_instances"),
        ]
    );
    // 8.4 also dropped ssl.
    assert_eq!(unknown(Flavor::MySql8_4)[0], told(Warning, "ssl"));
    assert_eq!(unknown(Flavor::MySql8_4).len(), 6);
    // 5.7 knows all but the fork's two; metadata_locks_hash_instances it takes and ignores.
    assert_eq!(
        unknown(Flavor::MySql5_7),
        [
            told(Note, "innodb_log_checksum_algorithm"),
            told(Note, "innodb_sched_priority_cleaner")
        ]
    );
    let ignored = named(&settings_of(Flavor::MySql5_7, OLTP), |kind| match kind {
        WarningKind::IgnoredByServer { name, .. } => Some(name),
        _ => None,
    });
    assert_eq!(
        ignored,
        [
            told(Warning, "innodb_support_xa"),
            told(Note, "metadata_locks_hash_instances")
        ]
    );
}

#[test]
fn case_01_reads_no_group_of_the_start_script() {
    let settings = settings_of(Flavor::MySql5_7, OLTP);
    let pool = settings.get("innodb_buffer_pool_size").unwrap();
    assert_eq!(pool.assignments.len(), 1);
    assert_eq!(pool.assignments[0].written, "200G");
    let not_read = warnings(&settings)
        .into_iter()
        .filter(|warning| warning.contains("mysqld_safe"));
    assert_eq!(
        not_read.collect::<Vec<_>>(),
        [
            "my.cnf:68: innodb_buffer_pool_size has no effect: the server does not read the \
             group [mysqld_safe]"
        ]
    );
}

#[test]
fn case_03_reports_every_bad_line_in_one_run() {
    let examination = examine_text(Flavor::MySql8_4, TYPOS);
    assert_eq!(
        errors(&examination),
        [
            "my.cnf:5: innodb_page_size = 4KB: accepted: 16384, also written 16K or 16k; innosim \
             has pages of that size only",
            "my.cnf:10: innodb_io_capacity_max = 20000;: unknown suffix ';'; accepted: \
             an integer of at least 100 pages/s (suffixes K, M, G, T, P, E)",
            "my.cnf:15: innodb_online_alter_log_max_size = 1.5G: unknown suffix '.'; accepted: \
             an integer of at least 65536 bytes (suffixes K, M, G, T, P, E)",
            "my.cnf:16: 'innodb_open_files 4000' is no option name: expected NAME, or NAME = \
             VALUE",
            "my.cnf:18: innodb_max_purge_lag = 0x400: unknown suffix 'x'; accepted: \
             an integer from 0 to 4294967295 (suffixes K, M, G, T, P, E)",
        ]
    );
    // The four that a real server stops at; the page size is innosim's own limit.
    let fatal = examination
        .errors
        .iter()
        .filter(|error| !matches!(error.problem, Problem::UnsupportedPageSize(_)));
    assert_eq!(fatal.count(), 4);
}

#[test]
fn case_03_has_the_expected_values_and_adjustments() {
    for flavor in [Flavor::MySql8_0, Flavor::MySql8_4] {
        let settings = examine_text(flavor, TYPOS).settings;
        check(
            &settings,
            &[
                ("innodb_buffer_pool_size", "17179869184"),
                ("innodb_log_file_size", "1073741824"),
                ("innodb_log_buffer_size", "67108864"),
                ("innodb_page_size", "4096"),
                ("innodb_redo_log_capacity", "2147483648"),
                ("max_allowed_packet", "1073741824"),
                ("innodb_io_capacity", "100"),
                ("innodb_flush_log_at_trx_commit", "2"),
                ("innodb_purge_threads", "32"),
                ("innodb_doublewrite_pages", "512"),
                ("innodb_lru_scan_depth", "100"),
                ("innodb_max_dirty_pages_pct", "75.5"),
                ("innodb_stats_on_metadata", "OFF"),
                ("innodb_adaptive_hash_index", "ON"),
                ("innodb_read_io_threads", "8"),
            ],
        );
        let told: Vec<String> = settings
            .warnings()
            .iter()
            .filter(|warning| !matches!(warning.kind, WarningKind::NotModelled { .. }))
            .map(|warning| warning.to_string())
            .collect();
        let moved = |line: u32, name: &str, given: &str, used: u32, accepted: &str| {
            format!(
                "my.cnf:{line}: {name}: {given} is out of range: set to {used}; \
                 accepted: {accepted} (suffixes K, M, G, T, P, E)"
            )
        };
        let pages = "0 (automatic), or an integer from 1 to 512 pages";
        assert_eq!(
            told,
            [
                "my.cnf:5: innodb_page_size: only the first letter of the suffix 'KB' counts: \
                 read as 4096"
                    .to_owned(),
                moved(
                    9,
                    "innodb_io_capacity",
                    "50",
                    100,
                    "an integer of at least 100 pages/s"
                ),
                moved(
                    11,
                    "innodb_flush_log_at_trx_commit",
                    "3",
                    2,
                    "an integer from 0 to 2"
                ),
                moved(
                    12,
                    "innodb_purge_threads",
                    "64",
                    32,
                    "an integer from 1 to 32"
                ),
                moved(13, "innodb_doublewrite_pages", "600", 512, pages),
                moved(
                    14,
                    "innodb_lru_scan_depth",
                    "-1",
                    100,
                    "an integer of at least 100 pages"
                ),
                "my.cnf:3: innodb_log_file_size has no effect: innodb_redo_log_capacity is set"
                    .to_owned(),
            ]
        );
    }
}

#[test]
fn case_04_stops_at_the_option_without_a_group() {
    for flavor in [Flavor::MySql5_7, Flavor::MySql8_0, Flavor::MySql8_4] {
        assert_eq!(
            errors(&examine_case_04(flavor, true)),
            [
                "04-include.d/20-io.cnf:1: option 'innodb_flush_neighbors' stands before any \
             [group]"
            ]
        );
    }
}

#[test]
fn case_04_without_the_bad_file() {
    for (flavor, io_capacity, flush_neighbors) in [
        (Flavor::MySql5_7, "300", "1"),
        (Flavor::MySql8_0, "1200", "0"),
        (Flavor::MySql8_4, "800", "0"),
    ] {
        let examination = examine_case_04(flavor, false);
        assert_eq!(errors(&examination), [""; 0]);
        check(
            &examination.settings,
            &[
                ("innodb_buffer_pool_size", "10737418240"),
                ("innodb_buffer_pool_instances", "4"),
                ("innodb_flush_method", "O_DIRECT"),
                ("innodb_log_buffer_size", "33554432"),
                ("innodb_io_capacity", io_capacity),
                ("innodb_flush_log_at_trx_commit", "2"),
                ("innodb_flush_neighbors", flush_neighbors),
            ],
        );
        assert_eq!(warnings(&examination.settings), [""; 0]);
    }
}

#[test]
fn case_04_keeps_the_chain_of_assignments() {
    let settings = examine_case_04(Flavor::MySql8_0, false).settings;
    let chain = |name| -> Vec<String> {
        let setting = settings.get(name).unwrap();
        setting
            .assignments
            .iter()
            .map(|one| format!("{} {}", one.location, one.written))
            .collect()
    };
    assert_eq!(
        chain("innodb_buffer_pool_size"),
        [
            "04-include.cnf:3 8G",
            "04-include.d/10-memory.cnf:2 12G",
            "04-include-extra.cnf:3 10G"
        ]
    );
    assert_eq!(
        chain("innodb_io_capacity"),
        ["04-include.cnf:8 800", "04-include.cnf:18 1200"]
    );
    assert_eq!(chain("innodb_flush_neighbors"), [""; 0]);
    let last = settings
        .get("innodb_io_capacity")
        .unwrap()
        .assignments
        .last()
        .unwrap();
    assert!(matches!(&last.location, Location::File { group, .. } if &**group == "mysqld-8.0"));
}
