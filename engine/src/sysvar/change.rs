//! Variables that change while a server runs: what `SET GLOBAL` does to the settings.
//!
//! ```text
//!   name ─▶ known to this flavor? ─▶ value readable? ─▶ in range? ─▶ goes with the others?
//!                no: an error             no: an error      no: the nearest, a warning
//! ```
//!
//! One after the other, as so many statements. Unlike at a start no default is derived
//! again: `innodb_io_capacity_max` stays where it is when `innodb_io_capacity` changes. Of
//! two that bound each other it is the one being set that yields, but for
//! `innodb_max_dirty_pages_pct`, which takes its low-water mark along (MySQL 5.6 to 8.4).
//!
//! Whether the engine can apply a change is not asked here.

use super::errors::Location;
use super::excerpt::Excerpt;
use super::flavor::Flavor;
use super::option_name::{Prefix, understand};
use super::registry::{Presence, VariableDefinition};
use super::settings::{Assignment, Origin, Settings, scaled};
use super::value::{Malformed, Value, read_value};

/// A change that cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChangeError {
    /// Nobody knows the name.
    #[error("unknown variable '{}'{}", Excerpt(.name), nearest.map_or(String::new(), |name| format!(" (did you mean {name}?)")))]
    UnknownName {
        /// As written.
        name: String,
        /// The nearest known name.
        nearest: Option<&'static str>,
    },
    /// The flavor's server has no such variable, or does nothing with it.
    #[error("{flavor} has no variable {name} that could be changed")]
    UnknownToServer {
        /// The variable.
        name: &'static str,
        /// The flavor.
        flavor: Flavor,
    },
    /// The value cannot be read, or asks for the rule of the default.
    #[error("{name} = {}: {}; accepted: {accepted}", Excerpt(.value), reason.as_ref().map_or("a value is needed".to_owned(), ToString::to_string))]
    Value {
        /// The variable.
        name: &'static str,
        /// As written.
        value: String,
        /// Why not.
        reason: Option<Malformed>,
        /// The accepted values in words.
        accepted: String,
    },
}

/// One variable that has got another value, or the same again.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedVariable {
    /// The registry's entry.
    pub definition: &'static VariableDefinition,
    /// The unscaled value before.
    pub from: Value,
    /// The unscaled value now.
    pub to: Value,
}

/// Settings with changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedSettings {
    /// All settings.
    pub settings: Settings,
    /// What was changed, in the order of the changes; also what was not named, but had to
    /// follow.
    pub changed: Vec<ChangedVariable>,
    /// What the user should know of the values.
    pub warnings: Vec<String>,
}

/// The lower of a pair, and the upper: never above it.
const BOUNDS: [(&str, &str); 2] = [
    ("innodb_io_capacity", "innodb_io_capacity_max"),
    (
        "innodb_max_dirty_pages_pct_lwm",
        "innodb_max_dirty_pages_pct",
    ),
];

/// The one that takes the other of its pair along.
const LEADER: &str = "innodb_max_dirty_pages_pct";

impl Settings {
    /// The settings after these changes (names, with `-` or `_`, and values), one after the
    /// other.
    ///
    /// # Errors
    /// The first change that cannot be made.
    pub fn change(&self, changes: &[(String, String)]) -> Result<ChangedSettings, ChangeError> {
        let mut after = ChangedSettings {
            settings: self.clone(),
            changed: Vec::new(),
            warnings: Vec::new(),
        };
        for (name, value) in changes {
            after.change(name, value)?;
        }
        Ok(after)
    }
}

impl ChangedSettings {
    fn change(&mut self, name: &str, text: &str) -> Result<(), ChangeError> {
        let flavor = self.settings.flavor;
        let unknown = |nearest| ChangeError::UnknownName {
            name: name.to_owned(),
            nearest,
        };
        let option = understand(&name.trim().replace('-', "_"))
            .map_err(|unknown_name| unknown(unknown_name.nearest))?;
        let definition = option.definition;
        if option.prefix != Prefix::None || option.loose {
            return Err(unknown(Some(definition.name)));
        }
        if definition.in_flavor(flavor).presence != Presence::Variable {
            let name = definition.name;
            return Err(ChangeError::UnknownToServer { name, flavor });
        }
        let refused = |reason| ChangeError::Value {
            name: definition.name,
            value: text.to_owned(),
            reason,
            accepted: definition.accepted(flavor),
        };
        let reading =
            read_value(definition, flavor, text).map_err(|malformed| refused(Some(malformed)))?;
        let value = reading.value.ok_or_else(|| refused(None))?;
        for remark in reading.remarks {
            self.warnings.push(format!("{}: {remark}", definition.name));
        }
        let value = self.fit(definition.name, value);
        self.set(definition.name, value, text);
        Ok(())
    }

    /// What a variable becomes that is set to a value; the one that follows it is changed.
    fn fit(&mut self, name: &'static str, value: Value) -> Value {
        let other = BOUNDS.iter().find_map(|&(lower, upper)| match name {
            _ if name == lower => Some((upper, true)),
            _ if name == upper => Some((lower, false)),
            _ => None,
        });
        let Some((other, is_lower)) = other else {
            return value;
        };
        let Some(bound) = self.settings.get(other).map(|other| other.unscaled.clone()) else {
            return value;
        };
        let is_above = match (&value, &bound) {
            (Value::Integer(value), Value::Integer(bound)) => value > bound,
            (Value::Real(value), Value::Real(bound)) => value > bound,
            _ => return value,
        };
        if value == bound || is_above != is_lower {
            return value;
        }
        let relation = if is_lower { "higher" } else { "lower" };
        let (follows, used) = match name {
            LEADER => (other, value.clone()),
            _ => (name, bound),
        };
        self.warnings.push(format!(
            "{name} cannot be set {relation} than {other}: {follows} is set to {used}"
        ));
        if follows == other {
            let text = used.to_string();
            self.set(other, used, &text);
            return value;
        }
        used
    }

    fn set(&mut self, name: &'static str, value: Value, text: &str) {
        let scale = self.settings.scale;
        let settings = &mut self.settings.settings;
        let index = settings.binary_search_by(|setting| setting.definition.name.cmp(name));
        let setting = &mut settings[index.expect("a variable of the flavor has a value")];
        self.changed.push(ChangedVariable {
            definition: setting.definition,
            from: setting.unscaled.clone(),
            to: value.clone(),
        });
        setting.scaled = scaled(&value, setting.definition.scaling, scale);
        setting.unscaled = value.clone();
        setting.origin = Origin::Option;
        setting.assignments.push(Assignment {
            location: Location::CommandLine,
            written: text.to_owned(),
            value: Some(value),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysvar::{MachineFacts, Options, resolve};

    fn settings(flavor: Flavor) -> Settings {
        let machine = MachineFacts {
            logical_cpus: 8,
            memory_bytes: 16 << 30,
        };
        resolve(flavor, &Options::new(), machine, 4.try_into().unwrap()).unwrap()
    }

    fn change(flavor: Flavor, changes: &[(&str, &str)]) -> Result<ChangedSettings, ChangeError> {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let changes: Vec<_> = changes.iter().map(own).collect();
        settings(flavor).change(&changes)
    }

    #[test]
    fn a_change_concerns_what_it_names_and_nothing_derived() {
        let before = settings(Flavor::MySql8_4);
        let after = change(
            Flavor::MySql8_4,
            &[
                ("innodb-io-capacity", "2K"),
                ("innodb_lru_scan_depth", "400"),
            ],
        )
        .unwrap();
        let now = after.settings;
        assert_eq!(now.unscaled().innodb_io_capacity(), 2048);
        assert_eq!(now.unscaled().innodb_io_capacity_max(), 20_000);
        assert_eq!(now.unscaled().innodb_lru_scan_depth(), 400);
        assert_eq!(now.scaled().innodb_lru_scan_depth(), 100, "scale 4");
        assert_eq!(after.warnings, Vec::<String>::new());
        let changed = |name| before.get(name) != now.get(name);
        let names: Vec<_> = now.iter().map(|setting| setting.definition.name).collect();
        let changed: Vec<_> = names.into_iter().filter(|name| changed(name)).collect();
        assert_eq!(changed, ["innodb_io_capacity", "innodb_lru_scan_depth"]);
    }

    #[test]
    fn what_does_not_fit_yields_with_a_warning() {
        let after = change(
            Flavor::MySql8_4,
            &[
                ("innodb_io_capacity", "30000"),
                ("innodb_io_capacity_max", "100"),
                ("innodb_max_dirty_pages_pct", "5"),
                ("innodb_doublewrite_pages", "1000"),
            ],
        )
        .unwrap();
        let now = after.settings.unscaled();
        assert_eq!(now.innodb_io_capacity(), 20_000);
        assert_eq!(now.innodb_io_capacity_max(), 20_000);
        assert_eq!(now.innodb_max_dirty_pages_pct(), 5.0);
        assert_eq!(now.innodb_max_dirty_pages_pct_lwm(), 5.0);
        assert_eq!(now.innodb_doublewrite_pages(), 512);
        assert_eq!(after.warnings.len(), 4, "{:?}", after.warnings);
        let expected = "innodb_io_capacity cannot be set higher than innodb_io_capacity_max: \
                        innodb_io_capacity is set to 20000";
        assert_eq!(after.warnings[0], expected);
        let raised = [
            ("innodb_io_capacity_max", "40000"),
            ("innodb_io_capacity", "40000"),
        ];
        let raised = change(Flavor::MySql8_4, &raised).unwrap();
        assert_eq!(raised.settings.unscaled().innodb_io_capacity(), 40_000);
        assert!(raised.warnings.is_empty());
    }

    #[test]
    fn what_cannot_be_is_an_error_that_names_the_variable() {
        for (flavor, name, value, expected) in [
            (
                Flavor::MySql8_4,
                "innodb_io_capactiy",
                "1",
                "unknown variable 'innodb_io_capactiy' (did you mean innodb_io_capacity?)",
            ),
            (
                Flavor::MySql8_4,
                "innodb_io_capacity",
                "many",
                "innodb_io_capacity = many: ",
            ),
            (
                Flavor::MySql8_4,
                "innodb_doublewrite_pages",
                "0",
                "innodb_doublewrite_pages = 0: a value is needed; accepted: ",
            ),
            (
                Flavor::MySql5_7,
                "innodb_doublewrite_pages",
                "16",
                "mysql-5.7 has no variable innodb_doublewrite_pages",
            ),
        ] {
            let error = change(flavor, &[(name, value)]).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
