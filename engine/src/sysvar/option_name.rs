//! From the name of an option to the variable it means.
//!
//! ```text
//!   loose_innodb_io_capacity_max     as innodb_io_capacity_max, and no fuss if unknown
//!   skip_innodb_adaptive_flushing    OFF        disable_… is the same
//!   enable_innodb_flush_sync         ON
//!   maximum_sort_buffer_size         a bound for SET SESSION, not the value
//!   skip_name_resolve                a variable of that very name, which comes first
//! ```
//!
//! `loose_` can be combined with one of the others.

use super::nearest::nearest;
use super::registry::{self, Alias, VariableDefinition};

/// What a prefix does to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    /// No prefix: the value is the value.
    None,
    /// `skip_` or `disable_`: the value is 0.
    Disable,
    /// `enable_`: the value is 1.
    Enable,
    /// `maximum_`: the value is a bound.
    Maximum,
}

/// An option's name, understood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OptionName {
    /// The variable.
    pub definition: &'static VariableDefinition,
    /// The other name by which it was called, if it was.
    pub alias: Option<&'static Alias>,
    /// What the prefix does.
    pub prefix: Prefix,
    /// Whether it was given with `loose_`.
    pub loose: bool,
}

/// An option's name that nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnknownOption {
    /// The nearest known name.
    pub nearest: Option<&'static str>,
    /// Whether it was given with `loose_`.
    pub loose: bool,
}

const PREFIXES: [(&str, Prefix); 4] = [
    ("skip_", Prefix::Disable),
    ("disable_", Prefix::Disable),
    ("enable_", Prefix::Enable),
    ("maximum_", Prefix::Maximum),
];

/// Understands a name that is written with underscores.
pub(super) fn understand(name: &str) -> Result<OptionName, UnknownOption> {
    let mut rest = name;
    let mut prefix = Prefix::None;
    let mut loose = false;
    loop {
        if let Some((definition, alias)) = registry::find(rest) {
            return Ok(OptionName {
                definition,
                alias,
                prefix,
                loose,
            });
        }
        let stripped = PREFIXES
            .iter()
            .find_map(|(text, meaning)| rest.strip_prefix(text).map(|after| (after, *meaning)));
        match (rest.strip_prefix("loose_"), stripped) {
            (Some(after), _) if !loose => {
                loose = true;
                rest = after;
            }
            (_, Some((after, meaning))) if prefix == Prefix::None => {
                prefix = meaning;
                rest = after;
            }
            _ => {
                return Err(UnknownOption {
                    nearest: nearest(rest, registry::names()),
                    loose,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understood(name: &str) -> (&'static str, Prefix, bool) {
        let option = understand(name).unwrap();
        (option.definition.name, option.prefix, option.loose)
    }

    #[test]
    fn prefixes_are_told_from_names() {
        assert_eq!(
            understood("innodb_flush_sync"),
            ("innodb_flush_sync", Prefix::None, false)
        );
        assert_eq!(
            understood("skip_innodb_flush_sync"),
            ("innodb_flush_sync", Prefix::Disable, false)
        );
        assert_eq!(
            understood("disable_innodb_flush_sync"),
            ("innodb_flush_sync", Prefix::Disable, false)
        );
        assert_eq!(
            understood("enable_innodb_flush_sync"),
            ("innodb_flush_sync", Prefix::Enable, false)
        );
        assert_eq!(
            understood("maximum_sort_buffer_size"),
            ("sort_buffer_size", Prefix::Maximum, false)
        );
        assert_eq!(
            understood("loose_innodb_flush_sync"),
            ("innodb_flush_sync", Prefix::None, true)
        );
        assert_eq!(
            understood("loose_skip_innodb_flush_sync"),
            ("innodb_flush_sync", Prefix::Disable, true)
        );
        assert_eq!(
            understood("skip_loose_innodb_flush_sync"),
            ("innodb_flush_sync", Prefix::Disable, true)
        );
        assert_eq!(
            understood("skip_name_resolve"),
            ("skip_name_resolve", Prefix::None, false)
        );
    }

    #[test]
    fn aliases_lead_to_their_variable() {
        let option = understand("tx_isolation").unwrap();
        assert_eq!(option.definition.name, "transaction_isolation");
        assert_eq!(option.alias.map(|alias| alias.name), Some("tx_isolation"));
    }

    #[test]
    fn unknown_names_are_answered_with_the_nearest() {
        let unknown = |name| understand(name).unwrap_err();
        assert_eq!(
            unknown("innodb_io_capacty"),
            UnknownOption {
                nearest: Some("innodb_io_capacity"),
                loose: false
            }
        );
        assert_eq!(
            unknown("loose_skip_innodb_adaptive_flushin"),
            UnknownOption {
                nearest: Some("innodb_adaptive_flushing"),
                loose: true
            }
        );
        assert_eq!(unknown("wsrep_sst_receive_address").nearest, None);
        assert!(
            understand("skip_skip_innodb_flush_sync").is_err(),
            "one of a kind is enough"
        );
        assert!(understand("").is_err());
    }
}
