//! The settings of a run: every variable's value, unscaled and scaled, and where it
//! came from.
//!
//! ```text
//!   options ──▶ explicit values ─┐
//!   flavor  ──▶ defaults ────────┼─▶ unscaled ──÷ scale──▶ scaled
//!   machine ──▶ derived ones ────┘   (the server of        (what the engine
//!                                     full size)            works with)
//! ```
//!
//! Bounds hold for the unscaled values. A scaled value may lie below the least that
//! a server accepts (100 MiB of redo at scale 64 is 1.6 MiB) and is not raised: the
//! run models the server of full size.

use std::num::NonZeroU32;

use super::derive::DerivedDefault;
use super::errors::{Location, OptionWarning};
use super::flavor::Flavor;
use super::modelled::Values;
use super::registry::{Presence, Scaling, Support, VariableDefinition};
use super::value::Value;

/// What the machine of a run has; derived defaults depend on it. Under the virtual
/// clock it is the profile's, never the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineFacts {
    /// Logical CPUs (hardware threads).
    pub logical_cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The flavor's default.
    Default,
    /// A rule over other settings and the machine.
    Derived(DerivedDefault),
    /// The flavor has no such variable; its server behaves as this value.
    Implied,
    /// The last of the setting's assignments.
    Option,
}

/// One assignment of a variable, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The place.
    pub location: Location,
    /// The value as written; for a name without a value, what it stands for.
    pub written: String,
    /// The value as read; none where it asks for the default rule.
    pub value: Option<Value>,
}

/// One variable in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The registry's entry.
    pub definition: &'static VariableDefinition,
    /// What the server of full size would have.
    pub unscaled: Value,
    /// What the engine works with.
    pub scaled: Value,
    /// Where the value came from.
    pub origin: Origin,
    /// Every assignment in the order of reading; the last one counts.
    pub assignments: Vec<Assignment>,
}

/// Every variable's value in a run. See [`resolve`](super::resolve()).
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub(super) flavor: Flavor,
    pub(super) machine: MachineFacts,
    pub(super) scale: NonZeroU32,
    /// Sorted by name.
    pub(super) settings: Vec<Setting>,
    pub(super) warnings: Vec<OptionWarning>,
}

impl Settings {
    /// The flavor.
    pub fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// The machine by which defaults were derived.
    pub fn machine(&self) -> MachineFacts {
        self.machine
    }

    /// The divisor of sizes; 1 for a run of full size.
    pub fn scale(&self) -> NonZeroU32 {
        self.scale
    }

    /// The values that the engine works with: sizes are divided by the scale.
    pub fn scaled(&self) -> Values<'_> {
        Values::new(self, |setting| &setting.scaled)
    }

    /// The values of the server of full size, from which margins, limits and other
    /// derived numbers are computed before they are divided.
    pub fn unscaled(&self) -> Values<'_> {
        Values::new(self, |setting| &setting.unscaled)
    }

    /// What the user should know, in the order of the options.
    pub fn warnings(&self) -> &[OptionWarning] {
        &self.warnings
    }

    /// Every variable that has a value in this flavor, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter()
    }

    /// The variables whose values the run depends on, in the order of names: those
    /// that are modelled, and exist in this flavor or stand for what it does.
    pub fn modelled(&self) -> impl Iterator<Item = &Setting> {
        self.iter()
            .filter(|setting| super::modelled::is_modelled(setting.definition.name))
    }

    /// One variable by its name; none where the flavor has nothing of the kind.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.settings
            .binary_search_by(|setting| setting.definition.name.cmp(name))
            .ok()
            .map(|index| &self.settings[index])
    }
}

impl Setting {
    /// Whether the flavor's server has the variable.
    pub fn presence(&self, flavor: Flavor) -> Presence {
        self.definition.in_flavor(flavor).presence
    }

    /// What innosim does with it.
    pub fn support(&self, flavor: Flavor) -> Support {
        self.definition.support(flavor)
    }
}

/// The page size of every innosim file, in bytes.
pub const PAGE_SIZE: u64 = 16 * 1024;

/// A value divided by the scale. Bytes are rounded down to whole pages, and nothing
/// becomes less than one page.
pub(super) fn scaled(value: &Value, scaling: Scaling, scale: NonZeroU32) -> Value {
    let scale = u64::from(scale.get());
    match (scaling, value) {
        (Scaling::Bytes, Value::Integer(bytes)) if scale > 1 => {
            let pages = bytes / scale / PAGE_SIZE;
            Value::Integer(pages.max(1) * PAGE_SIZE)
        }
        (Scaling::Pages, Value::Integer(pages)) if scale > 1 => {
            Value::Integer((pages / scale).max(1))
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysvar::registry::{GIB, MIB};

    #[test]
    fn sizes_are_divided_and_nothing_else() {
        let divided = |value, scaling, scale| {
            scaled(
                &Value::Integer(value),
                scaling,
                NonZeroU32::new(scale).unwrap(),
            )
            .as_integer()
            .unwrap()
        };
        assert_eq!(divided(64 * GIB, Scaling::Bytes, 64), GIB);
        assert_eq!(
            divided(100 * MIB, Scaling::Bytes, 64),
            1_638_400,
            "below 8M and not raised"
        );
        assert_eq!(divided(100 * MIB, Scaling::Bytes, 3), 2133 * PAGE_SIZE);
        assert_eq!(divided(MIB, Scaling::Bytes, 1000), PAGE_SIZE);
        assert_eq!(divided(20_000, Scaling::Pages, 16), 1250);
        assert_eq!(divided(100, Scaling::Pages, 1000), 1);
        assert_eq!(divided(20_000, Scaling::Kept, 16), 20_000);
        assert_eq!(
            divided(5_000_001, Scaling::Bytes, 1),
            5_000_001,
            "scale 1 changes nothing"
        );
    }
}
