//! What there is to know about one variable, for `explain` and the reference page.

use super::flavor::Flavor;
use super::modelled::is_modelled;
use super::number::size_with_suffix;
use super::registry::{
    self, DefaultValue, Kind, Presence, Scaling, Support, Unit, VariableDefinition,
};

/// One variable in words and figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The name.
    pub name: &'static str,
    /// Other names, with the flavors that know them.
    pub aliases: Vec<(&'static str, &'static [Flavor])>,
    /// One line of meaning.
    pub meaning: &'static str,
    /// What a number counts; none for other kinds.
    pub unit: Option<Unit>,
    /// What `--scale N` does to it.
    pub scaling: Scaling,
    /// Whether the engine obeys it.
    pub modelled: bool,
    /// For a variable that is not modelled: the value the model behaves as.
    pub behaves_as: Option<&'static str>,
    /// Which other servers or builds know the name, where no flavor does.
    pub elsewhere: Option<&'static str>,
    /// Anything else.
    pub note: Option<&'static str>,
    /// One row for each flavor, in their order.
    pub flavors: Vec<FlavorRow>,
}

/// What holds in one flavor.
#[derive(Clone, Debug, PartialEq)]
pub struct FlavorRow {
    /// The flavor.
    pub flavor: Flavor,
    /// Whether its server knows the variable.
    pub presence: Presence,
    /// The default, or the value that the server behaves as; sizes with a suffix,
    /// rules in words. None where nothing corresponds to the variable.
    pub default: Option<String>,
    /// The accepted values in words.
    pub accepted: String,
    /// Whether `SET GLOBAL` can change it.
    pub dynamic: bool,
    /// What innosim does when it is set.
    pub support: Support,
}

/// Explains the variable of that name, or of which it is another name; dashes count
/// as underscores.
pub fn explain(name: &str) -> Option<Explanation> {
    let (definition, _) = registry::find(&name.replace('-', "_"))?;
    Some(explain_definition(definition))
}

/// Explains an entry of the registry.
pub fn explain_definition(definition: &'static VariableDefinition) -> Explanation {
    let unit = match definition.kind {
        Kind::Integer { unit, .. } | Kind::Real { unit, .. } => Some(unit),
        _ => None,
    };
    Explanation {
        name: definition.name,
        aliases: registry::ALIASES
            .iter()
            .filter(|alias| alias.of == definition.name)
            .map(|alias| (alias.name, alias.known_to))
            .collect(),
        meaning: definition.meaning,
        unit,
        scaling: definition.scaling,
        modelled: is_modelled(definition.name),
        behaves_as: definition.behaves_as,
        elsewhere: definition.elsewhere,
        note: definition.note,
        flavors: Flavor::ALL
            .into_iter()
            .map(|flavor| flavor_row(definition, flavor, unit))
            .collect(),
    }
}

fn flavor_row(definition: &VariableDefinition, flavor: Flavor, unit: Option<Unit>) -> FlavorRow {
    let entry = definition.in_flavor(flavor);
    FlavorRow {
        flavor,
        presence: entry.presence,
        default: entry.default.map(|default| default_in_words(default, unit)),
        accepted: definition.accepted(flavor),
        dynamic: entry.dynamic,
        support: definition.support(flavor),
    }
}

fn default_in_words(default: DefaultValue, unit: Option<Unit>) -> String {
    match default {
        DefaultValue::Integer(bytes) if unit == Some(Unit::Bytes) => size_with_suffix(bytes),
        DefaultValue::Integer(value) => value.to_string(),
        DefaultValue::Real(value) => value.to_string(),
        DefaultValue::Boolean(value) => if value { "ON" } else { "OFF" }.to_owned(),
        DefaultValue::Text(text) => text.to_owned(),
        DefaultValue::Derived(rule) => rule.describe().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_tells_the_history() {
        let explanation = explain("innodb-buffer-pool-size").unwrap();
        assert!(explanation.modelled);
        assert_eq!(explanation.scaling, Scaling::Bytes);
        let row = &explanation.flavors[Flavor::MySql5_6 as usize];
        assert_eq!((row.default.as_deref(), row.dynamic), (Some("128M"), false));
        assert_eq!(row.support, Support::Modelled);
        assert!(explanation.flavors[Flavor::MySql5_7 as usize].dynamic);
        assert_eq!(
            row.accepted,
            "an integer of at least 5242880 bytes (suffixes K, M, G, T, P, E)"
        );
    }

    #[test]
    fn aliases_explain_their_variable() {
        let explanation = explain("tx_isolation").unwrap();
        assert_eq!(explanation.name, "transaction_isolation");
        assert_eq!(explanation.aliases[0].0, "tx_isolation");
        assert!(explain("nothing").is_none());
    }

    #[test]
    fn every_variable_can_be_explained() {
        for definition in registry::in_name_order() {
            assert_eq!(
                explain_definition(definition).flavors.len(),
                Flavor::ALL.len()
            );
        }
    }
}
