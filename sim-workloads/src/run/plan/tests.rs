//! Options combine, and what is wrong is told in one go.

use super::*;
use innosim_engine::runtime::time::SECOND;

fn arguments() -> RunArguments {
    RunArguments::default()
}

#[test]
fn the_defaults_are_those_of_the_contract() {
    let plan = arguments().plan().unwrap();
    assert_eq!(plan.clock, Clock::Virtual);
    assert_eq!(plan.settings.flavor(), Flavor::MySql8_4);
    assert_eq!(plan.machine.name, "laptop-nvme");
    assert_eq!((plan.scale.get(), plan.seed), (1, 1));
    assert_eq!(plan.settle, Settle::Lazy);
    assert_eq!(plan.script.info().name, "oltp_read_write");
    assert_eq!((plan.tables, plan.table_size, plan.threads), (1, 10_000, 1));
    let length = Length {
        warm_up: 0,
        time: Some(10 * SECOND),
        events: None,
    };
    assert_eq!(plan.length, length);
    assert_eq!(plan.report_interval, None);
    assert_eq!(plan.warnings, not_built(Flavor::MySql8_4));
    assert!(!plan.is_stepped());
}

#[test]
fn what_is_set_counts_more_than_the_option_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("my.cnf");
    let text = "[mysqld]\ninnodb_io_capacity = 300\ninnodb_io_capacity_max = 900\n\
                innodb_spin_wait_delay = 12\nloose_innodb_nothing = 1\n";
    std::fs::write(&file, text).unwrap();
    let plan = RunArguments {
        defaults_file: Some(file),
        set: vec!["innodb-io-capacity=500".into()],
        ..arguments()
    }
    .plan()
    .unwrap();
    assert_eq!(plan.settings.scaled().innodb_io_capacity(), 500);
    assert_eq!(plan.settings.scaled().innodb_io_capacity_max(), 900);
    assert_eq!(plan.spin().wait_delay, 12);
    let [warning, _not_built] = &plan.warnings[..] else {
        panic!("{:?}", plan.warnings)
    };
    assert!(
        warning.starts_with("note: ") && warning.contains("my.cnf:5: "),
        "{warning}"
    );
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("my.cnf");
    std::fs::write(&file, "[mysqld]\ninnodb_io_capacity = many\n[broken\n").unwrap();
    let problems = RunArguments {
        defaults_file: Some(file.clone()),
        set: vec!["innodb_io_capactiy=1".into(), "nonsense".into()],
        flavor: Some("mysql-9.0".into()),
        workload: Some("oltp_read_writ".into()),
        tables: Some("0".into()),
        threads: Some("-1".into()),
        time: Some("soon".into()),
        rand_type: Some("normal".into()),
        clock: Some("atomic".into()),
        machine: Some("cray".into()),
        scale: Some("1.5".into()),
        settle: Some("never".into()),
        datadir: Some(file.clone()),
        ..arguments()
    }
    .plan()
    .unwrap_err()
    .to_string()
    .replace(&file.display().to_string(), "my.cnf");
    insta::assert_snapshot!(problems, @"
    --clock=atomic: accepted is virtual or real
    --settle=never: accepted is lazy or always
    unknown flavor 'mysql-9.0': the flavors are mysql-5.1, mysql-5.5, mysql-5.6, mysql-5.7, mysql-8.0, mysql-8.4, mariadb-10.11
    --tables=0: accepted is a whole number from 1 to 65536
    --threads=-1: accepted is a whole number from 1 to 16384
    --scale=1.5: accepted is a whole number from 1 to 1000000
    --time=soon: accepted is a number of seconds from 0 to 10000000
    --datadir=my.cnf: accepted is a directory, or a path where there is nothing
    --rand-type=normal: accepted is uniform, gaussian, special, pareto or zipfian
    my.cnf:2: innodb_io_capacity = many: not a number; accepted: an integer of at least 100 pages/s (suffixes K, M, G, T, P, E)
    my.cnf:3: wrong group definition '[broken': expected [group]
    --set: 'nonsense' is no assignment: expected NAME=VALUE
    --set: unknown variable 'innodb_io_capactiy' (did you mean innodb_io_capacity?)
    machine = cray: no such profile or file: accepted are array-16-spindles, dual-56-nvme, host, laptop-nvme, nvme-24core, nvme-48core, quad-144-ramdisk, or a path to a TOML file
    no workload is called 'oltp_read_writ'; did you mean 'oltp_read_write'? There are: sysbench-0.4/complex, sysbench-0.4/simple, sysbench-0.4/nontrx, sysbench-0.4/fetch-update, sysbench-0.5/oltp, sysbench-0.5/oltp_prepared, sysbench-0.5/select, sysbench-0.5/update_index, sysbench-0.5/update_non_index, sysbench-0.5/insert, sysbench-0.5/delete, legacy-1.0/oltp, legacy-1.0/select, legacy-1.0/update_index, legacy-1.0/update_non_index, legacy-1.0/insert, legacy-1.0/delete, oltp_point_select, oltp_read_only, oltp_read_write, oltp_write_only, oltp_update_index, oltp_update_non_index, oltp_insert, oltp_delete, sysbench-1.1/oltp_point_select, sysbench-1.1/oltp_read_only, sysbench-1.1/oltp_read_write, sysbench-1.1/oltp_write_only, sysbench-1.1/oltp_update_index, sysbench-1.1/oltp_update_non_index, sysbench-1.1/oltp_insert, sysbench-1.1/oltp_delete
    ");
}

#[test]
fn a_number_of_events_takes_the_place_of_the_time() {
    let plan = |events: &str, time: Option<&str>, threads: &str| {
        RunArguments {
            events: Some(events.into()),
            time: time.map(Into::into),
            threads: Some(threads.into()),
            ..arguments()
        }
        .plan()
    };
    let stepped = plan("1000", None, "1").unwrap();
    assert_eq!(
        (stepped.length.events, stepped.length.time),
        (Some(1000), None)
    );
    assert!(stepped.is_stepped());
    assert!(!plan("1000", None, "2").unwrap().is_stepped());
    let both = plan("1000", Some("2.5"), "1").unwrap();
    assert_eq!(both.length.time, Some(5 * SECOND / 2));
    assert_eq!(
        plan("0", Some("0"), "1").unwrap_err().to_string(),
        "--time=0: accepted is more than 0 where --events sets no limit"
    );
}

#[test]
fn the_scale_divides_rows_and_pool_but_not_what_is_reported() {
    let plan = RunArguments {
        table_size: Some("1000000".into()),
        scale: Some("16".into()),
        set: vec!["innodb_buffer_pool_size=64G".into()],
        ..arguments()
    }
    .plan()
    .unwrap();
    assert_eq!(plan.table_size, 1_000_000);
    assert_eq!(plan.schema.tables()[0].rows, 62_500);
    assert_eq!(plan.settings.scaled().innodb_buffer_pool_size(), 4 << 30);
    let one_row = RunArguments {
        table_size: Some("3".into()),
        scale: Some("16".into()),
        ..arguments()
    };
    assert_eq!(one_row.plan().unwrap().schema.tables()[0].rows, 1);
}

#[test]
fn the_real_clock_is_on_this_host() {
    let real = RunArguments {
        clock: Some("real".into()),
        ..arguments()
    };
    let plan = real.plan().unwrap();
    assert_eq!(plan.machine.name, "host");
    assert_eq!(plan.warnings, not_built(Flavor::MySql8_4));
    let other = RunArguments {
        machine: Some("nvme-24core".into()),
        ..real
    };
    let plan = other.plan().unwrap();
    assert_eq!(plan.settings.machine().logical_cpus, 24);
    let last = plan.warnings.last().unwrap();
    assert!(last.starts_with("the run is on this host"), "{last}");
}

#[test]
fn a_scale_that_leaves_no_redo_log_is_refused_before_anything_is_done() {
    for (flavor, variable) in [
        ("mysql-8.4", "innodb_redo_log_capacity = 104857600"),
        ("mysql-5.7", "innodb_log_file_size = 50331648"),
    ] {
        let call = |scale: &str| RunArguments {
            scale: Some(scale.into()),
            flavor: Some(flavor.into()),
            ..arguments()
        };
        let problems = call("10000").plan().unwrap_err().to_string();
        for part in [variable, "--scale 10000", "accepted are at least"] {
            assert!(problems.contains(part), "{problems}");
        }
        call("1000").plan().unwrap();
    }
}
