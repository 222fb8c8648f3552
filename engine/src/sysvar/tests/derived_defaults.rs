//! Derived defaults and mutual adjustments through whole settings, against tables
//! worked out by hand.

use super::*;
use crate::sysvar::registry::MIB;

/// Settings of a flavor on a machine with that many CPUs and that much memory.
fn on_machine(flavor: Flavor, logical_cpus: u32, memory_bytes: u64, text: &str) -> Settings {
    let machine = MachineFacts {
        logical_cpus,
        memory_bytes,
    };
    resolve(
        flavor,
        &options_of(&format!("[mysqld]\n{text}")),
        machine,
        SCALE_1,
    )
    .unwrap()
}

#[test]
fn every_flavor_gives_every_modelled_variable_a_value() {
    for flavor in Flavor::ALL {
        let settings = settings_of(flavor, "");
        crate::sysvar::modelled::read_every_getter(settings.scaled());
        crate::sysvar::modelled::read_every_getter(settings.unscaled());
        assert_eq!(settings.modelled().count(), MODELLED.len());
        assert_eq!(warnings(&settings), [""; 0], "defaults need no warning");
    }
}

#[test]
fn settings_come_in_the_order_of_names() {
    let settings = settings_of(Flavor::MySql8_4, "");
    let names: Vec<&str> = settings
        .iter()
        .map(|setting| setting.definition.name)
        .collect();
    assert!(names.is_sorted_by(|left, right| left < right));
    assert!(
        !names.contains(&"innodb_support_xa"),
        "8.4 has nothing of the kind"
    );
}

#[test]
fn defaults_by_flavor() {
    // 48 CPUs, nothing set: 5.1, 5.5, 5.6, 5.7, 8.0, 8.4, MariaDB 10.11.
    for (name, expected) in [
        (
            "innodb_buffer_pool_instances",
            ["1", "1", "1", "1", "1", "1", "1"],
        ),
        ("innodb_page_cleaners", ["0", "0", "1", "1", "1", "1", "1"]),
        (
            "innodb_io_capacity",
            ["200", "200", "200", "200", "200", "10000", "200"],
        ),
        (
            "innodb_io_capacity_max",
            ["200", "200", "2000", "2000", "2000", "20000", "2000"],
        ),
        (
            "innodb_max_dirty_pages_pct",
            ["75", "75", "75", "75", "90", "90", "90"],
        ),
        (
            "innodb_max_dirty_pages_pct_lwm",
            ["0", "0", "0", "0", "10", "10", "0"],
        ),
        (
            "innodb_lru_scan_depth",
            ["1024", "1024", "1024", "1024", "1024", "1024", "1536"],
        ),
        (
            "innodb_old_blocks_time",
            ["0", "0", "1000", "1000", "1000", "1000", "1000"],
        ),
        (
            "innodb_read_io_threads",
            ["4", "4", "4", "4", "4", "24", "4"],
        ),
        ("innodb_purge_threads", ["0", "0", "1", "4", "4", "4", "4"]),
        (
            "innodb_purge_batch_size",
            ["20", "20", "300", "300", "300", "300", "1000"],
        ),
        (
            "innodb_doublewrite_pages",
            ["120", "120", "120", "120", "4", "128", "128"],
        ),
        (
            "innodb_doublewrite_files",
            ["0", "0", "0", "0", "2", "2", "0"],
        ),
        (
            "innodb_use_fdatasync",
            ["OFF", "OFF", "OFF", "OFF", "OFF", "ON", "OFF"],
        ),
        (
            "innodb_concurrency_tickets",
            ["500", "500", "5000", "5000", "5000", "5000", "5000"],
        ),
        (
            "innodb_rollback_segments",
            ["1", "128", "128", "128", "128", "128", "128"],
        ),
        (
            "innodb_undo_tablespaces",
            ["0", "0", "0", "0", "2", "2", "0"],
        ),
        (
            "innodb_flush_method",
            [
                "fsync", "fsync", "fsync", "fsync", "fsync", "O_DIRECT", "O_DIRECT",
            ],
        ),
        (
            "innodb_redo_log_capacity",
            [
                "10485760",
                "10485760",
                "100663296",
                "100663296",
                "104857600",
                "104857600",
                "100663296",
            ],
        ),
        (
            "innodb_log_buffer_size",
            [
                "8388608", "8388608", "8388608", "16777216", "16777216", "67108864", "16777216",
            ],
        ),
        (
            "innodb_log_checkpoint_every",
            ["10000", "10000", "7000", "7000", "1000", "1000", "1000"],
        ),
        (
            "innosim_flush_policy",
            [
                "native51", "native51", "v56", "v57", "v57", "v57", "maria105",
            ],
        ),
    ] {
        for (flavor, expected) in Flavor::ALL.into_iter().zip(expected) {
            assert_eq!(
                value(&settings_of(flavor, ""), name),
                expected,
                "{name} in {flavor}"
            );
        }
    }
}

#[test]
fn instances_and_cleaners_by_pool() {
    let both = |flavor, text| {
        let settings = on_machine(flavor, 48, 128 * GIB, text);
        let values = settings.unscaled();
        (
            values.innodb_buffer_pool_instances(),
            values.innodb_page_cleaners(),
        )
    };
    assert_eq!(both(Flavor::MySql5_6, "innodb_buffer_pool_size=8G"), (8, 1));
    assert_eq!(both(Flavor::MySql5_7, "innodb_buffer_pool_size=8G"), (8, 4));
    assert_eq!(
        both(Flavor::MySql5_7, "innodb_buffer_pool_size=1023M"),
        (1, 1)
    );
    assert_eq!(
        both(
            Flavor::MySql8_0,
            "innodb_buffer_pool_size=8G\ninnodb_buffer_pool_instances=0"
        ),
        (8, 4)
    );
    assert_eq!(both(Flavor::MySql8_4, "innodb_buffer_pool_size=1G"), (1, 1));
    assert_eq!(both(Flavor::MySql8_4, "innodb_buffer_pool_size=2G"), (8, 8));
    assert_eq!(
        both(Flavor::MySql8_4, "innodb_buffer_pool_size=64G"),
        (12, 12)
    );
    assert_eq!(
        both(Flavor::MariaDb10_11, "innodb_buffer_pool_size=64G"),
        (1, 1)
    );
}

#[test]
fn a_small_pool_has_one_instance() {
    for flavor in [Flavor::MySql5_7, Flavor::MySql8_0, Flavor::MySql8_4] {
        let settings = on_machine(
            flavor,
            8,
            8 * GIB,
            "innodb_buffer_pool_size=512M\ninnodb_buffer_pool_instances=8",
        );
        assert_eq!(value(&settings, "innodb_buffer_pool_instances"), "1");
        assert_eq!(
            warnings(&settings),
            [
                "my.cnf:3: innodb_buffer_pool_instances is changed from 8 to 1: a pool below \
                 1G has one instance"
            ]
        );
    }
}

#[test]
fn pools_are_rounded_up_to_chunks() {
    // 1.1 GiB in 8 instances of 128 MiB chunks becomes 2 GiB.
    let settings = on_machine(
        Flavor::MySql8_0,
        8,
        8 * GIB,
        "innodb_buffer_pool_size=1127M",
    );
    assert_eq!(settings.unscaled().innodb_buffer_pool_size(), 2 * GIB);
    assert_eq!(
        warnings(&settings),
        [
            "my.cnf:2: innodb_buffer_pool_size is changed from 1127M to 2G: \
          rounded up to a multiple of chunk size times instances"
        ]
    );
    // A chunk larger than an instance shrinks to it: 1 GiB in 64 instances.
    let text = "innodb_buffer_pool_size=1G\ninnodb_buffer_pool_instances=64";
    let settings = on_machine(Flavor::MySql5_7, 8, 8 * GIB, text);
    assert_eq!(
        settings.unscaled().innodb_buffer_pool_chunk_size(),
        16 * MIB
    );
    assert_eq!(settings.unscaled().innodb_buffer_pool_size(), GIB);
    // 5.6 has no chunks.
    let settings = on_machine(
        Flavor::MySql5_6,
        8,
        8 * GIB,
        "innodb_buffer_pool_size=1127M",
    );
    assert_eq!(settings.unscaled().innodb_buffer_pool_size(), 1127 * MIB);
    assert_eq!(
        settings.unscaled().innodb_buffer_pool_chunk_size(),
        1127 * MIB / 8
    );
}

#[test]
fn cleaners_are_at_most_the_instances() {
    let text = "innodb_buffer_pool_size=8G\ninnodb_buffer_pool_instances=2\ninnodb_page_cleaners=4";
    let settings = on_machine(Flavor::MySql8_0, 8, 8 * GIB, text);
    assert_eq!(settings.unscaled().innodb_page_cleaners(), 2);
    assert_eq!(
        warnings(&settings),
        [
            "my.cnf:4: innodb_page_cleaners is changed from 4 to 2: at most \
             innodb_buffer_pool_instances"
        ]
    );
}

#[test]
fn capacity_and_dirty_marks_stay_in_order() {
    let settings = on_machine(Flavor::MySql8_4, 8, 8 * GIB, "innodb_io_capacity_max=2000");
    assert_eq!(settings.unscaled().innodb_io_capacity(), 2000);
    assert_eq!(
        warnings(&settings),
        [
            "my.cnf:2: innodb_io_capacity is changed from 10000 to 2000: at most \
             innodb_io_capacity_max"
        ]
    );
    let settings = on_machine(
        Flavor::MySql5_6,
        8,
        8 * GIB,
        "innodb_io_capacity=3000\ninnodb_io_capacity_max=2500",
    );
    assert_eq!(settings.unscaled().innodb_io_capacity(), 2500);
    let settings = on_machine(Flavor::MySql8_0, 8, 8 * GIB, "innodb_max_dirty_pages_pct=5");
    assert_eq!(settings.unscaled().innodb_max_dirty_pages_pct_lwm(), 5.0);
    assert_eq!(warnings(&settings).len(), 1);
}

#[test]
fn redo_capacity_comes_from_the_files_where_they_are_set() {
    let capacity = |flavor, text| {
        on_machine(flavor, 8, 8 * GIB, text)
            .unscaled()
            .innodb_redo_log_capacity()
    };
    assert_eq!(
        capacity(Flavor::MySql8_4, "innodb_log_file_size=15G"),
        30 * GIB
    );
    assert_eq!(
        capacity(Flavor::MySql8_4, "innodb_log_files_in_group=4"),
        192 * MIB
    );
    assert_eq!(
        capacity(
            Flavor::MySql8_4,
            "innodb_log_file_size=15G\ninnodb_redo_log_capacity=1G"
        ),
        GIB
    );
    assert_eq!(
        capacity(
            Flavor::MySql8_4,
            "innodb_log_file_size=100G\ninnodb_log_files_in_group=100"
        ),
        512 * GIB
    );
    assert_eq!(
        capacity(Flavor::MySql5_7, "innodb_log_file_size=1G"),
        2 * GIB
    );
    assert_eq!(
        capacity(Flavor::MariaDb10_11, "innodb_log_file_size=1G"),
        GIB
    );
}

#[test]
fn old_servers_take_less_than_4_gib_of_redo() {
    let settings = on_machine(Flavor::MySql5_5, 8, 8 * GIB, "innodb_log_file_size=2G");
    assert_eq!(
        warnings(&settings),
        [
            "my.cnf:2: mysql-5.5 would refuse to start: all redo files together have 4G, and \
             it takes less than 4G"
        ]
    );
    assert_eq!(
        warnings(&on_machine(
            Flavor::MySql5_6,
            8,
            8 * GIB,
            "innodb_log_file_size=2G"
        )),
        [""; 0]
    );
}

#[test]
fn a_dedicated_server_sizes_pool_redo_and_in_8_0_the_flush_method() {
    let sizes = |flavor, text| {
        let settings = on_machine(
            flavor,
            24,
            64 * GIB,
            &format!("innodb_dedicated_server\n{text}"),
        );
        let values = settings.unscaled();
        (
            values.innodb_buffer_pool_size() / GIB,
            values.innodb_redo_log_capacity() / GIB,
            values.innodb_flush_method(),
        )
    };
    // 8.4: 75 % of 64 GiB, and half of 24 CPUs in GiB.
    assert_eq!(sizes(Flavor::MySql8_4, ""), (48, 12, FlushMethod::ODirect));
    // 8.0: redo by memory, round(0.5625 * 64) GiB.
    assert_eq!(
        sizes(Flavor::MySql8_0, ""),
        (48, 36, FlushMethod::ODirectNoFsync)
    );
    assert_eq!(
        sizes(Flavor::MySql8_0, "innodb_flush_method=fsync"),
        (48, 36, FlushMethod::Fsync)
    );
    assert_eq!(
        sizes(Flavor::MySql8_4, "innodb_redo_log_capacity=1G"),
        (48, 1, FlushMethod::ODirect)
    );
    assert_eq!(
        sizes(Flavor::MySql8_4, "innodb_log_file_size=2G"),
        (48, 4, FlushMethod::ODirect)
    );
    // 5.7 does not know it.
    let settings = on_machine(Flavor::MySql5_7, 24, 64 * GIB, "innodb_dedicated_server");
    assert_eq!(settings.unscaled().innodb_buffer_pool_size(), 128 * MIB);
    assert!(warnings(&settings)[0].contains("unknown to mysql-5.7"));
}

#[test]
fn doublewrite_pages_of_8_0_follow_the_write_threads() {
    let pages = |text| {
        on_machine(Flavor::MySql8_0, 8, 8 * GIB, text)
            .unscaled()
            .innodb_doublewrite_pages()
    };
    assert_eq!(pages("innodb_write_io_threads=16"), 16);
    assert_eq!(
        pages("innodb_write_io_threads=16\ninnodb_doublewrite_pages=0"),
        16
    );
    assert_eq!(
        pages("innodb_write_io_threads=16\ninnodb_doublewrite_pages=32"),
        32
    );
}

#[test]
fn write_ahead_is_a_power_of_two() {
    let settings = on_machine(
        Flavor::MySql8_4,
        8,
        8 * GIB,
        "innodb_log_write_ahead_size=1536",
    );
    assert_eq!(settings.unscaled().innodb_log_write_ahead_size(), 2048);
    assert_eq!(
        warnings(&settings),
        [
            "my.cnf:2: innodb_log_write_ahead_size is changed from 1536 to 2K: a power of two, \
             at most the page size"
        ]
    );
}

#[test]
fn origins_say_where_a_value_came_from() {
    let settings = on_machine(Flavor::MySql5_6, 8, 8 * GIB, "innodb_io_capacity=1000");
    let origin = |name| settings.get(name).unwrap().origin;
    assert_eq!(origin("innodb_io_capacity"), Origin::Option);
    assert_eq!(
        origin("innodb_io_capacity_max"),
        Origin::Derived(DerivedDefault::IoCapacityMax5_6)
    );
    assert_eq!(origin("innodb_lru_scan_depth"), Origin::Default);
    assert_eq!(origin("innodb_page_cleaners"), Origin::Implied);
}
