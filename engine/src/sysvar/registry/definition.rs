//! What one entry of the registry says: the data types. `history.rs` has the words in
//! which the tables say it.

use super::super::derive::DerivedDefault;
use super::super::flavor::Flavor;
use super::super::modelled;

/// One kibibyte, in bytes.
pub const KIB: u64 = 1 << 10;
/// One mebibyte, in bytes.
pub const MIB: u64 = 1 << 20;
/// One gibibyte, in bytes.
pub const GIB: u64 = 1 << 30;
/// The largest value of a 64-bit unsigned variable: "no upper bound".
pub const UNBOUNDED: u64 = u64::MAX;
/// The largest value of a 32-bit unsigned variable.
pub const MAX_32_BIT: u64 = u32::MAX as u64;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Plain count or code.
    Count,
    /// Bytes.
    Bytes,
    /// Mebibytes.
    Mebibytes,
    /// Pages.
    Pages,
    /// Pages a second.
    PagesPerSecond,
    /// Percent.
    Percent,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
}

impl Unit {
    /// The unit as a word for the end of a number; empty for a plain count.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Count => "",
            Unit::Bytes => "bytes",
            Unit::Mebibytes => "MiB",
            Unit::Pages => "pages",
            Unit::PagesPerSecond => "pages/s",
            Unit::Percent => "%",
            Unit::Seconds => "s",
            Unit::Milliseconds => "ms",
            Unit::Microseconds => "us",
        }
    }
}

/// The kind of value a variable holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// An unsigned integer; its bounds depend on the flavor.
    Integer {
        /// What it counts.
        unit: Unit,
        /// Values are rounded down to a multiple of this; 1 for none.
        block_size: u64,
        /// Whether an explicit 0 means "the default rule", as for instances.
        zero_is_automatic: bool,
    },
    /// A real number.
    Real {
        /// What it measures.
        unit: Unit,
        /// The least accepted value.
        minimum: f64,
        /// The greatest accepted value.
        maximum: f64,
    },
    /// ON or OFF.
    Boolean,
    /// One of a list of names.
    Choice {
        /// The names, in the order of MySQL's numbers for them.
        names: &'static [&'static str],
        /// Other accepted spellings and the names they stand for.
        synonyms: &'static [(&'static str, &'static str)],
        /// How many of the names can also be given by number.
        numbered: usize,
    },
    /// Free text: a name, a path, a list or a set of flags. Not looked into.
    Text,
}

/// Whether a flavor's server knows the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Unknown, and nothing corresponds to it.
    Absent,
    /// Unknown as a variable, but the server behaves as if it had a fixed value.
    Implied,
    /// The name is accepted and has no effect.
    Ignored,
    /// A variable that can be set.
    Variable,
}

/// A default as the table states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultValue {
    /// An integer.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// ON or OFF.
    Boolean(bool),
    /// The name of a choice, or a text.
    Text(&'static str),
    /// Computed from other settings and the machine.
    Derived(DerivedDefault),
}

/// What `--scale N` does to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// Kept: periods, rates, thread counts, the device's own sizes.
    Kept,
    /// Bytes that belong to the size of the data: divided by N, down to whole pages.
    Bytes,
    /// Pages that are a share of the buffer pool: divided by N, at least one. That a
    /// scaled `innodb_lru_scan_depth` covers two seconds of an instance's evictions
    /// depends on the run's rate, so whoever runs it checks that.
    Pages,
}

/// What innosim does with a variable that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// The engine obeys it.
    Modelled,
    /// The flavor's server accepts it; the model does not depend on it. Setting it is
    /// named in a warning.
    AcceptedNotModelled,
    /// The flavor's server refuses it. Setting it is named in a warning and has no effect.
    Unknown,
}

/// What holds for a variable in one flavor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InFlavor {
    /// Whether the server knows it.
    pub presence: Presence,
    /// Its default; none when `presence` is `Absent`.
    pub default: Option<DefaultValue>,
    /// Whether `SET GLOBAL` can change it.
    pub dynamic: bool,
    /// Least and greatest value of an integer.
    pub range: (u64, u64),
    /// How many of a choice's names this server knows, from the front.
    pub known_choices: usize,
}

/// One system variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariableDefinition {
    /// The name, with underscores.
    pub name: &'static str,
    /// One line of meaning.
    pub meaning: &'static str,
    /// The kind of value.
    pub kind: Kind,
    /// What `--scale N` does to it.
    pub scaling: Scaling,
    /// For a variable that is not modelled: the one value of which the model's
    /// behaviour is true, so that setting it needs no warning.
    pub behaves_as: Option<&'static str>,
    /// Which other servers or builds know the name, where no flavor does.
    pub elsewhere: Option<&'static str>,
    /// Anything else a user should know.
    pub note: Option<&'static str>,
    pub(super) flavors: [InFlavor; Flavor::ALL.len()],
}

impl VariableDefinition {
    /// What holds in a flavor.
    pub const fn in_flavor(&self, flavor: Flavor) -> &InFlavor {
        &self.flavors[flavor as usize]
    }

    /// Whether the flavor's server accepts the name.
    pub const fn is_known_to(&self, flavor: Flavor) -> bool {
        matches!(
            self.in_flavor(flavor).presence,
            Presence::Variable | Presence::Ignored
        )
    }

    /// What innosim does when this variable is set under a flavor.
    pub fn support(&self, flavor: Flavor) -> Support {
        match self.in_flavor(flavor).presence {
            Presence::Absent | Presence::Implied => Support::Unknown,
            Presence::Variable if modelled::is_modelled(self.name) => Support::Modelled,
            Presence::Variable | Presence::Ignored => Support::AcceptedNotModelled,
        }
    }

    /// The accepted values in words, for messages and reference pages.
    pub fn accepted(&self, flavor: Flavor) -> String {
        let (minimum, maximum) = self.in_flavor(flavor).range;
        match self.kind {
            Kind::Integer {
                unit,
                zero_is_automatic,
                ..
            } => {
                let automatic = if zero_is_automatic && minimum > 0 {
                    "0 (automatic), or "
                } else {
                    ""
                };
                let unit = if unit.name().is_empty() {
                    String::new()
                } else {
                    format!(" {}", unit.name())
                };
                let bounds = if maximum == UNBOUNDED {
                    format!("of at least {minimum}{unit}")
                } else {
                    format!("from {minimum} to {maximum}{unit}")
                };
                format!("{automatic}an integer {bounds} (suffixes K, M, G, T, P, E)")
            }
            Kind::Real {
                unit,
                minimum,
                maximum,
            } => format!("a number from {minimum} to {maximum} {}", unit.name())
                .trim_end()
                .to_owned(),
            Kind::Boolean => "ON, OFF, TRUE, FALSE, 1 or 0".to_owned(),
            Kind::Choice { names, .. } => {
                format!(
                    "one of {}",
                    names[..self.in_flavor(flavor).known_choices].join(", ")
                )
            }
            Kind::Text => "any text".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{choice, integer, real};
    use super::*;
    use Flavor::*;

    #[test]
    fn accepted_values_are_told_in_words() {
        let count = integer("x", Unit::PagesPerSecond, 100, UNBOUNDED);
        assert_eq!(
            count.accepted(MySql8_4),
            "an integer of at least 100 pages/s (suffixes K, M, G, T, P, E)"
        );
        let instances = integer("x", Unit::Count, 1, 64).zero_is_automatic();
        assert_eq!(
            instances.accepted(MySql8_4),
            "0 (automatic), or an integer from 1 to 64 (suffixes K, M, G, T, P, E)"
        );
        assert_eq!(
            real("x", Unit::Percent, 0.0, 99.999).accepted(MySql8_4),
            "a number from 0 to 99.999 %"
        );
        let choice = choice("x", &["a", "b", "c"]).choices_until(MySql5_7, 2);
        assert_eq!(choice.accepted(MySql5_7), "one of a, b");
        assert_eq!(choice.accepted(MySql8_0), "one of a, b, c");
    }
}
