//! The words in which the registry's tables are written.
//!
//! An entry reads as the history of its variable:
//!
//! ```text
//! integer("innodb_page_cleaners", Unit::Count, 1, 64)
//!     .implied(MySql5_1, Integer(0))            no such variable; the server behaves as 0
//!     .implied(MySql5_6, Integer(1))            from 5.6 on it behaves as 1
//!     .since(MySql5_7, Derived(PageCleaners5_7))   from 5.7 on it exists, with this default
//!     .since(MySql8_4, Derived(PageCleaners8_4))   from 8.4 on another default
//!     .mariadb_ignored(Integer(1))              MariaDB takes the name and ignores it
//!     .meaning("Threads that flush pages in the background")
//! ```
//!
//! `since`, `implied`, `ignored_since` and `gone` hold from the named version to the
//! newest MySQL; a later call for a later version overrides the tail. MariaDB is
//! never touched by them.

use super::definition::{
    DefaultValue, InFlavor, Kind, Presence, Scaling, Unit, VariableDefinition,
};
use crate::sysvar::flavor::Flavor;

/// ON, as a default.
pub(super) const ON: DefaultValue = DefaultValue::Boolean(true);
/// OFF, as a default.
pub(super) const OFF: DefaultValue = DefaultValue::Boolean(false);

// All of this is `const`: the tables are data in the binary, built by the compiler.

const fn new(
    name: &'static str,
    kind: Kind,
    range: (u64, u64),
    choices: usize,
) -> VariableDefinition {
    let absent = InFlavor {
        presence: Presence::Absent,
        default: None,
        dynamic: false,
        range,
        known_choices: choices,
    };
    VariableDefinition {
        name,
        meaning: "",
        kind,
        scaling: Scaling::Kept,
        behaves_as: None,
        elsewhere: None,
        note: None,
        flavors: [absent; Flavor::ALL.len()],
    }
}

/// An integer variable and its bounds.
pub(super) const fn integer(
    name: &'static str,
    unit: Unit,
    minimum: u64,
    maximum: u64,
) -> VariableDefinition {
    let kind = Kind::Integer {
        unit,
        block_size: 1,
        zero_is_automatic: false,
    };
    new(name, kind, (minimum, maximum), 0)
}

/// A real-valued variable and its bounds.
pub(super) const fn real(
    name: &'static str,
    unit: Unit,
    minimum: f64,
    maximum: f64,
) -> VariableDefinition {
    new(
        name,
        Kind::Real {
            unit,
            minimum,
            maximum,
        },
        (0, 0),
        0,
    )
}

/// A variable that is ON or OFF.
pub(super) const fn boolean(name: &'static str) -> VariableDefinition {
    new(name, Kind::Boolean, (0, 0), 0)
}

/// A variable that takes one of the names, each also by its number.
pub(super) const fn choice(
    name: &'static str,
    names: &'static [&'static str],
) -> VariableDefinition {
    new(
        name,
        Kind::Choice {
            names,
            synonyms: &[],
            numbered: names.len(),
        },
        (0, 0),
        names.len(),
    )
}

/// A variable of free text.
pub(super) const fn text(name: &'static str) -> VariableDefinition {
    new(name, Kind::Text, (0, 0), 0)
}

impl VariableDefinition {
    /// From `first` on a variable, with this default.
    pub(super) const fn since(self, first: Flavor, default: DefaultValue) -> Self {
        self.onwards(first, Presence::Variable, Some(default))
    }

    /// From `first` on no variable; the server behaves as this value.
    pub(super) const fn implied(self, first: Flavor, value: DefaultValue) -> Self {
        self.onwards(first, Presence::Implied, Some(value))
    }

    /// From `first` on accepted without effect; the server behaves as this value.
    pub(super) const fn ignored_since(self, first: Flavor, value: DefaultValue) -> Self {
        self.onwards(first, Presence::Ignored, Some(value))
    }

    /// From `first` on unknown.
    pub(super) const fn gone(self, first: Flavor) -> Self {
        self.onwards(first, Presence::Absent, None)
    }

    /// A variable with this default in every flavor, MariaDB included.
    pub(super) const fn everywhere(self, default: DefaultValue) -> Self {
        self.since(Flavor::MySql5_1, default).mariadb(default)
    }

    /// No variable in any flavor; every server behaves as this value.
    pub(super) const fn implied_everywhere(self, value: DefaultValue) -> Self {
        self.implied(Flavor::MySql5_1, value).mariadb_implied(value)
    }

    /// A variable with this default in MariaDB.
    pub(super) const fn mariadb(self, default: DefaultValue) -> Self {
        self.set(Flavor::MariaDb10_11, Presence::Variable, Some(default))
    }

    /// No variable in MariaDB, which behaves as this value.
    pub(super) const fn mariadb_implied(self, value: DefaultValue) -> Self {
        self.set(Flavor::MariaDb10_11, Presence::Implied, Some(value))
    }

    /// Accepted by MariaDB without effect; it behaves as this value.
    pub(super) const fn mariadb_ignored(self, value: DefaultValue) -> Self {
        self.set(Flavor::MariaDb10_11, Presence::Ignored, Some(value))
    }

    const fn onwards(
        mut self,
        first: Flavor,
        presence: Presence,
        default: Option<DefaultValue>,
    ) -> Self {
        assert!(
            !first.is_mariadb(),
            "MariaDB is not on MySQL's line of versions"
        );
        let mut index = first as usize;
        while index <= Flavor::MySql8_4 as usize {
            self = self.set(Flavor::ALL[index], presence, default);
            index += 1;
        }
        self
    }

    const fn set(
        mut self,
        flavor: Flavor,
        presence: Presence,
        default: Option<DefaultValue>,
    ) -> Self {
        self.flavors[flavor as usize].presence = presence;
        self.flavors[flavor as usize].default = default;
        self
    }

    /// One line of meaning.
    pub(super) const fn meaning(mut self, meaning: &'static str) -> Self {
        self.meaning = meaning;
        self
    }

    /// `SET GLOBAL` can change it in every flavor.
    pub(super) const fn dynamic(self) -> Self {
        self.dynamic_since(Flavor::MySql5_1)
    }

    /// `SET GLOBAL` can change it from `first` on, and in MariaDB.
    pub(super) const fn dynamic_since(mut self, first: Flavor) -> Self {
        let mut index = first as usize;
        while index < self.flavors.len() {
            self.flavors[index].dynamic = true;
            index += 1;
        }
        self
    }

    /// MySQL from `first` on has these bounds instead.
    pub(super) const fn range_since(mut self, first: Flavor, minimum: u64, maximum: u64) -> Self {
        let mut index = first as usize;
        while index <= Flavor::MySql8_4 as usize {
            self.flavors[index].range = (minimum, maximum);
            index += 1;
        }
        self
    }

    /// MariaDB has these bounds instead.
    pub(super) const fn mariadb_range(mut self, minimum: u64, maximum: u64) -> Self {
        self.flavors[Flavor::MariaDb10_11 as usize].range = (minimum, maximum);
        self
    }

    /// MySQL up to `last` knows only the first `count` names.
    pub(super) const fn choices_until(mut self, last: Flavor, count: usize) -> Self {
        let mut index = 0;
        while index <= last as usize {
            self.flavors[index].known_choices = count;
            index += 1;
        }
        self
    }

    /// MariaDB knows only the first `count` names.
    pub(super) const fn mariadb_choices(mut self, count: usize) -> Self {
        self.flavors[Flavor::MariaDb10_11 as usize].known_choices = count;
        self
    }

    /// Values are rounded down to a multiple of `size`.
    pub(super) const fn block(mut self, size: u64) -> Self {
        match &mut self.kind {
            Kind::Integer { block_size, .. } => *block_size = size,
            _ => panic!("only integers have blocks"),
        }
        self
    }

    /// An explicit 0 asks for the default rule.
    pub(super) const fn zero_is_automatic(mut self) -> Self {
        match &mut self.kind {
            Kind::Integer {
                zero_is_automatic, ..
            } => *zero_is_automatic = true,
            _ => panic!("only integers can be automatic"),
        }
        self
    }

    /// Other spellings of a choice, and that only the first `count` have numbers.
    pub(super) const fn spellings(
        mut self,
        spellings: &'static [(&'static str, &'static str)],
        count: usize,
    ) -> Self {
        match &mut self.kind {
            Kind::Choice {
                synonyms, numbered, ..
            } => {
                *synonyms = spellings;
                *numbered = count;
            }
            _ => panic!("only choices have spellings"),
        }
        self
    }

    /// `--scale N` divides it.
    pub(super) const fn scaled(mut self, scaling: Scaling) -> Self {
        self.scaling = scaling;
        self
    }

    /// The value of which the model's behaviour is true.
    pub(super) const fn behaves_as(mut self, value: &'static str) -> Self {
        self.behaves_as = Some(value);
        self
    }

    /// No flavor knows it, but these servers or builds do.
    pub(super) const fn elsewhere(mut self, servers: &'static str) -> Self {
        self.elsewhere = Some(servers);
        self
    }

    /// Anything else a user should know.
    pub(super) const fn note(mut self, note: &'static str) -> Self {
        self.note = Some(note);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Flavor::*;

    #[test]
    fn a_history_fills_the_versions_it_names() {
        let cleaners = integer("x", Unit::Count, 1, 64)
            .implied(MySql5_1, DefaultValue::Integer(1))
            .since(MySql5_7, DefaultValue::Integer(4))
            .gone(MySql8_4)
            .mariadb_ignored(DefaultValue::Integer(1))
            .range_since(MySql8_0, 1, 8)
            .dynamic_since(MySql5_7);
        let presences: Vec<Presence> = Flavor::ALL
            .iter()
            .map(|flavor| cleaners.in_flavor(*flavor).presence)
            .collect();
        use Presence::*;
        assert_eq!(
            presences,
            [
                Implied, Implied, Implied, Variable, Variable, Absent, Ignored
            ]
        );
        assert_eq!(cleaners.in_flavor(MySql5_7).range, (1, 64));
        assert_eq!(cleaners.in_flavor(MySql8_0).range, (1, 8));
        assert_eq!(cleaners.in_flavor(MariaDb10_11).range, (1, 64));
        assert!(!cleaners.in_flavor(MySql5_6).dynamic);
        assert!(cleaners.in_flavor(MariaDb10_11).dynamic);
        assert!(cleaners.is_known_to(MariaDb10_11) && !cleaners.is_known_to(MySql5_6));
    }
}
