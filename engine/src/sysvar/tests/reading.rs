//! How single options are read: prefixes, `--set`, names that nobody knows, and
//! arbitrary text.

use super::*;
use crate::sysvar::registry::Presence;
use proptest::prelude::*;

fn mysqld(flavor: Flavor, text: &str) -> Examination {
    examine_text(flavor, &format!("[mysqld]\n{text}"))
}

fn set(flavor: Flavor, assignments: &[&str]) -> Examination {
    let mut options = Options::new();
    for assignment in assignments {
        options.set(assignment);
    }
    examine(flavor, &options, MACHINE, SCALE_1)
}

#[test]
fn prefixes_set_the_value() {
    let examination = mysqld(
        Flavor::MySql8_4,
        "skip-innodb-doublewrite\ndisable_innodb_flush_sync\nenable-innodb-rollback-on-timeout\n\
         loose_skip_innodb_adaptive_flushing\nloose-innodb_io_capacity=300",
    );
    assert_eq!(errors(&examination), [""; 0]);
    let values = examination.settings.unscaled();
    assert_eq!(values.innodb_doublewrite(), DoublewriteMode::Off);
    assert!(!values.innodb_flush_sync());
    assert!(values.innodb_rollback_on_timeout());
    assert!(!values.innodb_adaptive_flushing());
    assert_eq!(values.innodb_io_capacity(), 300);
}

#[test]
fn a_prefix_takes_no_value_and_a_number_needs_one() {
    let examination = mysqld(
        Flavor::MySql8_4,
        "skip-innodb-flush-sync=1\ninnodb_io_capacity\ninnodb_io_capacity=",
    );
    assert_eq!(
        errors(&examination),
        [
            "my.cnf:2: skip_innodb_flush_sync = 1: an option with the prefix skip_, disable_ \
             or enable_ takes no value",
            "my.cnf:3: innodb_io_capacity needs a value; accepted: \
             an integer of at least 100 pages/s (suffixes K, M, G, T, P, E)",
            "my.cnf:4: innodb_io_capacity = : not a number; accepted: \
             an integer of at least 100 pages/s (suffixes K, M, G, T, P, E)",
        ]
    );
}

#[test]
fn a_maximum_is_no_value() {
    let settings = mysqld(Flavor::MySql8_4, "maximum-sort_buffer_size=1M").settings;
    assert_eq!(value(&settings, "sort_buffer_size"), "262144");
    assert_eq!(
        warnings(&settings),
        [
            "my.cnf:2: maximum_sort_buffer_size bounds later SET statements, of which a run \
             has none; it is ignored"
        ]
    );
}

#[test]
fn unknown_names_are_warnings_in_files() {
    let text = "innodb_io_capactiy=1\nloose_innodb_io_capactiy=1\nwsrep_on=1\n\
                innodb_adaptive_flushing_method=reflex";
    let settings = mysqld(Flavor::MySql8_4, text).settings;
    assert_eq!(
        warnings(&settings),
        [
            "my.cnf:2: unknown variable 'innodb_io_capactiy' \
             (did you mean innodb_io_capacity?); it is ignored",
            "my.cnf:3: unknown variable 'loose_innodb_io_capactiy' \
             (did you mean innodb_io_capacity?); it is ignored",
            "my.cnf:4: unknown variable 'wsrep_on'; it is ignored",
            "my.cnf:5: innodb_adaptive_flushing_method is unknown to mysql-8.4 \
             (a variable of Percona Server 5.1 and 5.5): its server would refuse to start; \
             it is ignored",
        ]
    );
    let levels: Vec<Level> = settings
        .warnings()
        .iter()
        .map(|warning| warning.level)
        .collect();
    use Level::{Note, Warning};
    assert_eq!(levels, [Warning, Note, Warning, Warning]);
}

#[test]
fn unknown_names_are_errors_on_the_command_line() {
    let assignments = [
        "innodb_io_capactiy=1",
        "innodb_io_capacity",
        "=1",
        "two words=1",
    ];
    assert_eq!(
        errors(&set(Flavor::MySql8_4, &assignments)),
        [
            "--set: 'innodb_io_capacity' is no assignment: expected NAME=VALUE",
            "--set: '=1' is no assignment: expected NAME=VALUE",
            "--set: 'two words=1' is no assignment: expected NAME=VALUE",
            "--set: unknown variable 'innodb_io_capactiy' (did you mean innodb_io_capacity?)",
        ]
    );
}

#[test]
fn the_command_line_comes_after_the_files() {
    let mut options = options_of("[mysqld]\ninnodb_io_capacity=300");
    options.set("innodb-io-capacity = 400");
    options.set("innodb_max_dirty_pages_pct=abc");
    let examination = examine(Flavor::MySql8_4, &options, MACHINE, SCALE_1);
    assert_eq!(value(&examination.settings, "innodb_io_capacity"), "400");
    assert_eq!(
        errors(&examination),
        [
            "--set: innodb_max_dirty_pages_pct = abc: not a number; accepted: a number from 0 \
             to 99.999 %"
        ]
    );
}

#[test]
fn the_flavor_decides_which_names_exist() {
    let isolation = |flavor| {
        let settings = mysqld(flavor, "tx_isolation=READ-COMMITTED").settings;
        (
            settings.unscaled().transaction_isolation(),
            warnings(&settings),
        )
    };
    assert_eq!(
        isolation(Flavor::MySql5_6),
        (TransactionIsolation::ReadCommitted, vec![])
    );
    let (level, told) = isolation(Flavor::MySql8_0);
    assert_eq!(level, TransactionIsolation::RepeatableRead);
    assert_eq!(
        told,
        [
            "my.cnf:2: tx_isolation is unknown to mysql-8.0 (elsewhere another name of \
             transaction_isolation): \
          its server would refuse to start; it is ignored"
        ]
    );
}

#[test]
fn mariadb_reads_its_own_groups_and_ignores_what_it_dropped() {
    let text = "[mariadb-10.11]\ninnodb_io_capacity=500\n[mysqld-8.0]\ninnodb_io_capacity=600\n\
                [mariadbd]\ninnodb_thread_concurrency=16";
    let settings = examine_text(Flavor::MariaDb10_11, text).settings;
    assert_eq!(settings.unscaled().innodb_io_capacity(), 500);
    assert_eq!(settings.unscaled().innodb_thread_concurrency(), 0);
    assert_eq!(
        warnings(&settings),
        [
            "my.cnf:6: mariadb-10.11 accepts innodb_thread_concurrency and ignores it, and so \
             does innosim"
        ]
    );
}

#[test]
fn bad_lines_in_foreign_groups_are_not_ours() {
    let text = "[client]\nno equals sign\ninnodb_x y\n[mysqld]\ninnodb_io_capacity=500";
    assert_eq!(errors(&examine_text(Flavor::MySql8_4, text)), [""; 0]);
}

#[test]
fn what_the_model_does_anyway_needs_no_warning() {
    let text = "innodb_file_per_table\ninnodb_flush_neighbors=0\n\
                innodb_adaptive_hash_index=off\nquery_cache_type=0";
    assert_eq!(warnings(&mysqld(Flavor::MySql5_7, text).settings), [""; 0]);
    assert_eq!(
        warnings(&mysqld(Flavor::MySql5_7, "innodb_flush_neighbors=1").settings),
        ["my.cnf:2: innodb_flush_neighbors is not modelled: the model behaves as 0"]
    );
}

#[test]
fn values_are_serialised_as_numbers_and_strings() {
    let settings = mysqld(Flavor::MySql8_4, "").settings;
    let json = |name: &str| toml::Value::try_from(settings.unscaled().get(name).unwrap()).unwrap();
    assert_eq!(json("innodb_io_capacity"), toml::Value::Integer(10_000));
    assert_eq!(json("innodb_max_dirty_pages_pct"), toml::Value::Float(90.0));
    assert_eq!(json("innodb_flush_sync"), toml::Value::String("ON".into()));
    assert_eq!(
        json("innodb_flush_method"),
        toml::Value::String("O_DIRECT".into())
    );
}

/// Lines that look like option files more often than not.
fn line() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> = registry::names().collect();
    prop_oneof![
        4 => (prop::sample::select(names), "[ =-]{0,3}[-+]?[0-9a-zA-Z.;'\"\\\\#]{0,12}")
            .prop_map(|(name, rest)| format!("{name}{rest}")),
        1 => "(loose|skip|disable|enable|maximum)[-_][a-z_-]{0,20}(=[a-z0-9]{0,5})?",
        1 => "\\[(mysqld|server|client|mysqld-8\\.[04])?\\]?",
        1 => "!include(dir)? ?[a-z./]{0,6}",
        1 => "\\PC{0,40}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever stands in a file: no panic, in every flavor; every integer in the
    /// range that the server accepts; and the same text gives the same result.
    #[test]
    fn no_text_panics(
        lines in prop::collection::vec(line(), 0..20),
        flavor in 0..7usize,
        assignment in "\\PC{0,20}",
    ) {
        let flavor = Flavor::ALL[flavor];
        let mut options = options_of(&format!("[mysqld]\n{}", lines.join("\n")));
        options.set(&assignment);
        let machine = MachineFacts { logical_cpus: 0, memory_bytes: u64::MAX };
        let scale = NonZeroU32::new(7).unwrap();
        let examination = examine(flavor, &options, machine, scale);
        let settings = &examination.settings;
        crate::sysvar::modelled::read_every_getter(settings.scaled());
        for setting in settings.iter() {
            let entry = setting.definition.in_flavor(flavor);
            let (minimum, maximum) = entry.range;
            if let (Presence::Variable, Value::Integer(value)) = (entry.presence, &setting.unscaled) {
                let name = setting.definition.name;
                prop_assert!((minimum..=maximum).contains(value), "{} = {}", name, value);
            }
        }
        for warning in settings.warnings() {
            prop_assert!(!warning.to_string().is_empty());
        }
        prop_assert_eq!(&examine(flavor, &options, machine, scale), &examination);
    }
}
