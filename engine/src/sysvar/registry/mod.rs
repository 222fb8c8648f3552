//! The one registry of system variables.
//!
//! Everything that deals with settings reads this table: the option-file reader, the
//! command line, sweeps, the reference page, the JSON output. One entry is one
//! variable; what differs by version is inside the entry.
//!
//! ```text
//!   buffer_pool · flushing · file_io · redo · transaction      InnoDB's, by subject
//!   concurrency · tablespace
//!   server                                                     the layer above InnoDB
//!   innosim                                                    our hypothesis switches
//! ```
//!
//! Which of them the engine obeys is *not* in these tables but in
//! `modelled.rs`, so that a variable cannot be called modelled
//! without a typed way to read it.
//!
//! Sources: InnoDB 5.5 to 8.4 and MariaDB 10.5 to 10.11, and the MySQL and MariaDB
//! manuals. Where they differ the entry says so in its note.

mod buffer_pool;
mod concurrency;
mod definition;
mod file_io;
mod flushing;
mod history;
mod innosim;
mod redo;
mod server;
mod tablespace;
mod transaction;

pub use definition::{
    DefaultValue, GIB, InFlavor, KIB, Kind, MAX_32_BIT, MIB, Presence, Scaling, Support, UNBOUNDED,
    Unit, VariableDefinition,
};

use super::flavor::Flavor;

static AREAS: [&[VariableDefinition]; 9] = [
    buffer_pool::VARIABLES,
    flushing::VARIABLES,
    file_io::VARIABLES,
    redo::VARIABLES,
    transaction::VARIABLES,
    concurrency::VARIABLES,
    tablespace::VARIABLES,
    server::VARIABLES,
    innosim::VARIABLES,
];

/// Another name under which some servers know a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The other name.
    pub name: &'static str,
    /// The variable.
    pub of: &'static str,
    /// The flavors whose server accepts the other name.
    pub known_to: &'static [Flavor],
}

/// Every alias.
pub static ALIASES: [Alias; 3] = [
    Alias {
        name: "tx_isolation",
        of: "transaction_isolation",
        known_to: &[
            Flavor::MySql5_1,
            Flavor::MySql5_5,
            Flavor::MySql5_6,
            Flavor::MySql5_7,
            Flavor::MariaDb10_11,
        ],
    },
    Alias {
        name: "table_cache",
        of: "table_open_cache",
        known_to: &[Flavor::MySql5_1, Flavor::MySql5_5],
    },
    Alias {
        name: "innodb_undo_logs",
        of: "innodb_rollback_segments",
        known_to: &[Flavor::MySql5_6, Flavor::MySql5_7],
    },
];

/// Every variable, by subject and then in the order of its table.
pub fn all() -> impl Iterator<Item = &'static VariableDefinition> {
    AREAS.iter().flat_map(|area| area.iter())
}

/// Every variable in the order of names, for outputs and reference pages.
pub fn in_name_order() -> Vec<&'static VariableDefinition> {
    let mut variables: Vec<_> = all().collect();
    variables.sort_by_key(|definition| definition.name);
    variables
}

/// The variable of that name, or of which that is another name. Case matters, and the
/// name must be written with underscores.
pub fn find(name: &str) -> Option<(&'static VariableDefinition, Option<&'static Alias>)> {
    let alias = ALIASES.iter().find(|alias| alias.name == name);
    let name = alias.map_or(name, |alias| alias.of);
    all()
        .find(|definition| definition.name == name)
        .map(|definition| (definition, alias))
}

/// Every name that can be written: variables and aliases.
pub fn names() -> impl Iterator<Item = &'static str> {
    all()
        .map(|definition| definition.name)
        .chain(ALIASES.iter().map(|alias| alias.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_well_formed() {
        let mut seen = BTreeSet::new();
        for name in names() {
            assert!(seen.insert(name), "{name} is there twice");
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
            );
        }
        for alias in &ALIASES {
            assert!(
                find(alias.name).is_some(),
                "{} stands for nothing",
                alias.name
            );
        }
    }

    #[test]
    fn every_entry_is_complete() {
        for definition in all() {
            let name = definition.name;
            assert!(!definition.meaning.is_empty(), "{name} has no meaning");
            let known = Flavor::ALL
                .iter()
                .any(|flavor| definition.is_known_to(*flavor));
            assert!(
                known != definition.elsewhere.is_some(),
                "{name}: no server knows it, or both"
            );
            for flavor in Flavor::ALL {
                let entry = definition.in_flavor(flavor);
                assert_eq!(
                    entry.presence == Presence::Absent,
                    entry.default.is_none(),
                    "{name} in {flavor}: a default, or absent"
                );
                if let Some(default) = entry.default {
                    check_default(definition, flavor, default);
                }
            }
        }
    }

    /// A default is of the variable's kind and within what the flavor accepts.
    fn check_default(definition: &VariableDefinition, flavor: Flavor, default: DefaultValue) {
        let name = definition.name;
        let entry = definition.in_flavor(flavor);
        match (definition.kind, default) {
            (_, DefaultValue::Derived(rule)) => assert!(!rule.describe().is_empty()),
            (Kind::Integer { block_size, .. }, DefaultValue::Integer(value)) => {
                assert_eq!(
                    value % block_size,
                    0,
                    "{name} in {flavor}: not a multiple of its block"
                );
                let (minimum, maximum) = entry.range;
                if entry.presence == Presence::Variable {
                    assert!(
                        (minimum..=maximum).contains(&value),
                        "{name} in {flavor}: {value}"
                    );
                }
            }
            (
                Kind::Real {
                    minimum, maximum, ..
                },
                DefaultValue::Real(value),
            ) => {
                assert!(
                    (minimum..=maximum).contains(&value),
                    "{name} in {flavor}: {value}"
                );
            }
            (Kind::Boolean, DefaultValue::Boolean(_)) | (Kind::Text, DefaultValue::Text(_)) => {}
            (
                Kind::Choice {
                    names,
                    synonyms,
                    numbered,
                },
                DefaultValue::Text(value),
            ) => {
                assert!(
                    names[..entry.known_choices].contains(&value),
                    "{name} in {flavor}: {value}"
                );
                assert!(numbered <= names.len());
                assert!(
                    synonyms.iter().all(|(_, meant)| names.contains(meant)),
                    "{name}: synonyms"
                );
            }
            (kind, default) => panic!("{name} in {flavor}: {default:?} is no {kind:?}"),
        }
    }

    #[test]
    fn only_the_agreed_variables_are_innosims_own() {
        let own: Vec<_> = in_name_order()
            .into_iter()
            .filter(|entry| entry.name.starts_with("innosim_"))
            .collect();
        let names: Vec<_> = own.iter().map(|entry| entry.name).collect();
        assert_eq!(
            names,
            [
                "innosim_doublewrite_fsync",
                "innosim_flush_latch",
                "innosim_flush_policy",
                "innosim_read_view"
            ]
        );
        for entry in own {
            assert!(
                Flavor::ALL
                    .iter()
                    .all(|flavor| entry.support(*flavor) == Support::Modelled)
            );
        }
    }

    #[test]
    fn support_follows_flavor_and_model() {
        let support = |name: &str, flavor| find(name).unwrap().0.support(flavor);
        assert_eq!(
            support("innodb_io_capacity_max", Flavor::MySql5_5),
            Support::Unknown
        );
        assert_eq!(
            support("innodb_io_capacity_max", Flavor::MySql5_6),
            Support::Modelled
        );
        assert_eq!(
            support("innodb_support_xa", Flavor::MySql5_6),
            Support::AcceptedNotModelled
        );
        assert_eq!(
            support("innodb_support_xa", Flavor::MySql8_0),
            Support::Unknown
        );
        assert_eq!(
            support("innodb_thread_concurrency", Flavor::MariaDb10_11),
            Support::AcceptedNotModelled
        );
        assert_eq!(
            support("innodb_sched_priority_cleaner", Flavor::MySql5_7),
            Support::Unknown
        );
    }

    #[test]
    fn bytes_are_scaled_only_where_they_follow_the_data() {
        let scaled: Vec<_> = in_name_order()
            .into_iter()
            .filter(|entry| entry.scaling != Scaling::Kept)
            .map(|entry| entry.name)
            .collect();
        assert_eq!(
            scaled,
            [
                "innodb_buffer_pool_chunk_size",
                "innodb_buffer_pool_size",
                "innodb_log_file_size",
                "innodb_lru_flush_size",
                "innodb_lru_scan_depth",
                "innodb_max_undo_log_size",
                "innodb_redo_log_capacity",
            ]
        );
    }
}
