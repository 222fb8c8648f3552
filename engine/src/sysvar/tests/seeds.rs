//! The option files of the published reports, each in its flavor, with every warning.

use super::*;

/// A report's option file and the name that the messages show.
macro_rules! seed {
    ($name:literal) => {
        include_str!(concat!("../../../../data/seeds/", $name, ".cnf"))
    };
}

fn check(flavor: Flavor, text: &str, expected_warnings: &[&str], expected_values: &[(&str, &str)]) {
    let settings = settings_of(flavor, text);
    assert_eq!(warnings(&settings), expected_warnings, "{flavor}");
    for (name, wanted) in expected_values {
        assert_eq!(value(&settings, name), *wanted, "{name} in {flavor}");
    }
}

#[test]
fn doublewrite_pages_tuned() {
    check(
        Flavor::MySql8_4,
        seed!("doublewrite-pages-tuned"),
        &[
            "my.cnf:5: innodb_data_file_path is not modelled: the run does not depend on it",
            "my.cnf:6: innodb_temp_data_file_path is not modelled: the run does not depend on it",
            "my.cnf:12: innodb_strict_mode is not modelled: the run does not depend on it",
            "my.cnf:13: innodb_numa_interleave is not modelled: the run does not depend on it",
            "my.cnf:19: innodb_parallel_read_threads is not modelled: the run does not depend \
             on it",
            "my.cnf:20: innodb_ddl_buffer_size is not modelled: the run does not depend on it",
            "my.cnf:21: innodb_ddl_threads is not modelled: the run does not depend on it",
        ],
        &[
            ("innodb_buffer_pool_size", "68719476736"),
            ("innodb_buffer_pool_instances", "8"),
            ("innodb_page_cleaners", "8"),
            ("innodb_io_capacity_max", "40000"),
            ("innodb_redo_log_capacity", "8589934592"),
            ("innodb_doublewrite_pages", "128"),
            ("innodb_doublewrite_files", "2"),
            ("innodb_lock_wait_timeout", "60"),
        ],
    );
}

#[test]
fn doublewrite_pages_dedicated() {
    check(
        Flavor::MySql8_4,
        seed!("doublewrite-pages-dedicated"),
        &[
            // 12 instances of 128 MiB chunks: the next multiple of 1.5 GiB.
            "my.cnf:2: innodb_buffer_pool_size is changed from 64G to 66048M: \
             rounded up to a multiple of chunk size times instances",
            "my.cnf:3: innodb_dedicated_server does not choose innodb_buffer_pool_size: it is \
             set",
        ],
        &[
            ("innodb_buffer_pool_size", "69256347648"),
            // 48 CPUs: 12 instances and cleaners, 16 GiB of redo.
            ("innodb_buffer_pool_instances", "12"),
            ("innodb_page_cleaners", "12"),
            ("innodb_redo_log_capacity", "17179869184"),
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_io_capacity", "10000"),
            ("innodb_log_buffer_size", "67108864"),
        ],
    );
}

#[test]
fn buffer_pool_instances() {
    let common = [
        "my.cnf:13: max_connections is not modelled: the run does not depend on it",
        "my.cnf:14: table_open_cache is not modelled: the run does not depend on it",
        "my.cnf:15: key_buffer_size is not modelled: the run does not depend on it",
    ];
    let values = [
        ("innodb_buffer_pool_size", "17179869184"),
        ("innodb_thread_concurrency", "64"),
        ("innodb_redo_log_capacity", "3984588800"),
        ("innodb_max_dirty_pages_pct", "80"),
        ("innodb_io_capacity", "1000"),
        ("innodb_io_capacity_max", "1000"),
        ("innodb_old_blocks_time", "0"),
        ("innosim_flush_policy", "native51"),
        ("table_open_cache", "2000"),
    ];
    check(
        Flavor::MySql5_1,
        seed!("buffer-pool-instances-5.1"),
        &common,
        &values,
    );
    check(
        Flavor::MySql5_5,
        seed!("buffer-pool-instances-5.5"),
        &common,
        &values,
    );
    let settings = settings_of(Flavor::MySql5_1, seed!("buffer-pool-instances-5.1"));
    assert_eq!(value(&settings, "innodb_buffer_pool_instances"), "1");
    let written: Vec<&str> = settings
        .get("innodb_thread_concurrency")
        .unwrap()
        .assignments
        .iter()
        .map(|assignment| assignment.written.as_str())
        .collect();
    assert_eq!(written, ["0", "64"], "given twice, the last wins");
    let settings = settings_of(Flavor::MySql5_5, seed!("buffer-pool-instances-5.5"));
    assert_eq!(value(&settings, "innodb_buffer_pool_instances"), "4");
}

#[test]
fn a_5_1_server_does_not_know_the_5_5_file() {
    let settings = settings_of(Flavor::MySql5_1, seed!("buffer-pool-instances-5.5"));
    assert_eq!(
        warnings(&settings).last().unwrap(),
        "my.cnf:16: innodb_buffer_pool_instances is unknown to mysql-5.1 (known to mysql-5.5, \
         mysql-5.6, \
         mysql-5.7, mysql-8.0, mysql-8.4, mariadb-10.11): its server would refuse to start; \
         it is ignored"
    );
    assert_eq!(value(&settings, "innodb_buffer_pool_instances"), "1");
}

#[test]
fn isolation_levels() {
    let first = [
        "my.cnf:2: table_open_cache is not modelled: the run does not depend on it",
        "my.cnf:3: table_open_cache_instances is not modelled: the run does not depend on it",
        "my.cnf:5: join_buffer_size is not modelled: the run does not depend on it",
        "my.cnf:6: sort_buffer_size is not modelled: the run does not depend on it",
        "my.cnf:7: max_connections is not modelled: the run does not depend on it",
        "my.cnf:8: back_log is not modelled: the run does not depend on it",
        "my.cnf:9: innodb_open_files is not modelled: the run does not depend on it",
        "my.cnf:13: innodb_buffer_pool_load_at_startup is not modelled: the run does not \
         depend on it",
        "my.cnf:14: innodb_buffer_pool_dump_at_shutdown is not modelled: the run does not \
         depend on it",
    ];
    let last = [
        "my.cnf:28: innodb_buffer_pool_instances: 128 is out of range: set to 64; accepted: 0 \
         (automatic), \
         or an integer from 1 to 64 (suffixes K, M, G, T, P, E)",
        "my.cnf:40: optimizer_switch is not modelled: the run does not depend on it",
    ];
    let values = [
        ("innodb_buffer_pool_size", "137438953472"),
        ("innodb_buffer_pool_instances", "64"),
        ("innodb_thread_concurrency", "144"),
        ("innodb_purge_threads", "4"),
        ("innodb_redo_log_capacity", "137438953472"),
        ("innodb_flush_log_at_timeout", "0"),
        ("innodb_flush_method", "O_DIRECT_NO_FSYNC"),
        ("innodb_io_capacity_max", "36000"),
        ("optimizer_switch", "index_condition_pushdown=off"),
    ];
    let text = seed!("isolation-levels");
    let xa_5_6 = ["my.cnf:19: innodb_support_xa is not modelled: the run does not depend on it"];
    check(
        Flavor::MySql5_6,
        text,
        &[&first[..], &xa_5_6, &last].concat(),
        &values,
    );
    let xa_5_7 =
        ["my.cnf:19: mysql-5.7 accepts innodb_support_xa and ignores it, and so does innosim"];
    check(
        Flavor::MySql5_7,
        text,
        &[&first[..], &xa_5_7, &last].concat(),
        &values,
    );

    let view = |flavor| settings_of(flavor, text).scaled().innosim_read_view();
    assert_eq!(view(Flavor::MySql5_6), ReadViewAlgorithm::TrxListWalk);
    assert_eq!(view(Flavor::MySql5_7), ReadViewAlgorithm::IdVectorCopy);
    let cleaners = |flavor| settings_of(flavor, text).scaled().innodb_page_cleaners();
    assert_eq!(
        (cleaners(Flavor::MySql5_6), cleaners(Flavor::MySql5_7)),
        (1, 4)
    );
}

#[test]
fn log_file_size() {
    check(
        Flavor::MySql5_1,
        seed!("log-file-size"),
        &[],
        &[
            ("innodb_log_file_size", "209715200"),
            ("innodb_log_files_in_group", "2"),
            ("innodb_redo_log_capacity", "419430400"),
            ("innodb_read_io_threads", "8"),
            ("innodb_write_io_threads", "8"),
        ],
    );
}

#[test]
fn io_capacity() {
    check(
        Flavor::MariaDb10_11,
        seed!("io-capacity"),
        &["my.cnf:7: large_pages is not modelled: the model behaves as OFF"],
        &[
            ("innodb_buffer_pool_size", "1153433600"),
            ("innodb_buffer_pool_instances", "1"),
            ("innodb_io_capacity", "6000"),
            ("innodb_io_capacity_max", "8500"),
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_redo_log_capacity", "100663296"),
            ("innosim_flush_policy", "maria105"),
        ],
    );
}
