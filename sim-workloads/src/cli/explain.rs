//! `innosim explain`: what a system variable is, was and does.

use std::fmt::{self, Write as _};

use anyhow::anyhow;
use clap::Args;
use comfy_table::{Table, presets};
use innosim_engine::runtime::cost::CostKind;
use innosim_engine::runtime::time::NANOSECOND;
use innosim_engine::runtime::{Cost, CostTable};
use innosim_engine::sysvar::registry::{self, Presence, Scaling, Support};
use innosim_engine::sysvar::{Explanation, Flavor, FlavorRow, explain, is_modelled, nearest};

use super::{Failure, Outcome, output};

/// The topic beside variables: what the engine's own work costs.
const COSTS: &str = "costs";

/// Explain a system variable: meaning, range and default in every version, and whether
/// the engine obeys it. Without a name, list all of them.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A system variable, with dashes or underscores; or `costs`, for what the engine's
    /// own work costs on a virtual machine.
    #[arg(value_name = "VARIABLE")]
    variable: Option<String>,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Outcome, Failure> {
        let text = match self.variable.as_deref() {
            None => list(),
            Some(COSTS) => costs(),
            Some(name) => one(name).map_err(Failure::Call)?,
        };
        output::print(&text).map_err(Failure::Work)?;
        Ok(Outcome::Done)
    }
}

fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(header);
    table.add_rows(rows);
    format!("{table}\n")
}

/// Every variable in one line.
fn list() -> String {
    let flavor = Flavor::default();
    let variables = registry::in_name_order();
    let modelled = variables
        .iter()
        .filter(|entry| is_modelled(entry.name))
        .count();
    let rows = variables.iter().map(|entry| {
        let row = explain(entry.name).expect("an entry of the registry");
        let row = &row.flavors[flavor as usize];
        vec![
            entry.name.to_owned(),
            if is_modelled(entry.name) { "yes" } else { "" }.to_owned(),
            row.default.clone().unwrap_or_else(|| "-".to_owned()),
            entry.meaning.to_owned(),
        ]
    });
    let default = format!("default in {flavor}");
    let listed = table(&["variable", "modelled", &default, "meaning"], rows);
    format!(
        "{listed}\n{} variables, {modelled} of them modelled\n",
        variables.len()
    )
}

/// What the engine's own work costs, by the names that a machine profile can replace.
fn costs() -> String {
    let defaults = CostTable::default();
    let rows = Cost::ALL.iter().map(|cost| {
        let kind = match cost.kind() {
            CostKind::Work => "instructions",
            CostKind::Stall => "memory",
        };
        let nanoseconds = defaults.get(*cost) / NANOSECOND;
        vec![
            cost.name().to_owned(),
            nanoseconds.to_string(),
            kind.to_owned(),
        ]
    });
    table(&["cost", "ns", "of"], rows)
}

/// One variable.
fn one(name: &str) -> anyhow::Result<String> {
    let Some(explanation) = explain(name) else {
        let written = name.replace('-', "_");
        let hint = nearest(&written, registry::names())
            .map_or(String::new(), |name| format!(" (did you mean {name}?)"));
        return Err(anyhow!("explain {name}: no such variable{hint}"));
    };
    Ok(in_words(&explanation).expect("writing to a string cannot fail"))
}

fn in_words(explanation: &Explanation) -> Result<String, fmt::Error> {
    let mut out = String::new();
    writeln!(out, "{}\n{}.\n", explanation.name, explanation.meaning)?;
    let mut line = |label: &str, text: &str| writeln!(out, "{label:<13} {text}");
    let modelled = match (explanation.modelled, explanation.behaves_as) {
        (true, _) => "yes, the engine obeys it".to_owned(),
        (false, Some(value)) => format!("no, the engine behaves as {value}"),
        (false, None) => "no, a run does not depend on it".to_owned(),
    };
    line("modelled", &modelled)?;
    if let Some(unit) = explanation
        .unit
        .map(|unit| unit.name())
        .filter(|unit| !unit.is_empty())
    {
        line("unit", unit)?;
    }
    let scaling = match explanation.scaling {
        Scaling::Kept => "kept as it is",
        Scaling::Bytes => "divided, to whole pages",
        Scaling::Pages => "divided, to at least one",
    };
    line("--scale", scaling)?;
    for (alias, known_to) in &explanation.aliases {
        let flavors: Vec<&str> = known_to.iter().map(|flavor| flavor.name()).collect();
        line("also called", &format!("{alias} in {}", flavors.join(", ")))?;
    }
    if let Some(elsewhere) = explanation.elsewhere {
        line("known to", elsewhere)?;
    }
    if let Some(note) = explanation.note {
        line("note", note)?;
    }
    let rows = explanation.flavors.iter().map(flavor_row);
    let header = ["flavor", "default", "accepted", "SET GLOBAL", "when set"];
    write!(out, "\n{}", table(&header, rows))?;
    let implied = |row: &FlavorRow| row.presence == Presence::Implied;
    if explanation.flavors.iter().any(implied) {
        writeln!(
            out,
            "\n(value): what a server without the variable behaves as"
        )?;
    }
    Ok(out)
}

fn flavor_row(row: &FlavorRow) -> Vec<String> {
    let default = row.default.clone().unwrap_or_else(|| "-".to_owned());
    let (default, accepted, dynamic) = match row.presence {
        Presence::Absent => ("-".to_owned(), "-", "-"),
        Presence::Implied => (format!("({default})"), "-", "-"),
        Presence::Ignored => (default, "anything", "-"),
        Presence::Variable => (
            default,
            row.accepted.as_str(),
            if row.dynamic { "yes" } else { "no" },
        ),
    };
    let support = match row.support {
        Support::Modelled => "obeyed",
        Support::AcceptedNotModelled => "accepted, no effect",
        Support::Unknown => "unknown to this server",
    };
    vec![
        row.flavor.to_string(),
        default,
        accepted.to_owned(),
        dynamic.to_owned(),
        support.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_with_a_history() {
        insta::assert_snapshot!(one("innodb-lru-scan-depth").unwrap(), @"
        innodb_lru_scan_depth
        Free frames that the page cleaner keeps in each instance.

        modelled      yes, the engine obeys it
        unit          pages
        --scale       divided, to at least one
        note          before 5.6 user threads keep free frames themselves; 5.6's depth is assumed there

        | flavor        | default | accepted                                                     | SET GLOBAL | when set               |
        |---------------|---------|--------------------------------------------------------------|------------|------------------------|
        | mysql-5.1     | (1024)  | -                                                            | -          | unknown to this server |
        | mysql-5.5     | (1024)  | -                                                            | -          | unknown to this server |
        | mysql-5.6     | 1024    | an integer of at least 100 pages (suffixes K, M, G, T, P, E) | yes        | obeyed                 |
        | mysql-5.7     | 1024    | an integer of at least 100 pages (suffixes K, M, G, T, P, E) | yes        | obeyed                 |
        | mysql-8.0     | 1024    | an integer of at least 100 pages (suffixes K, M, G, T, P, E) | yes        | obeyed                 |
        | mysql-8.4     | 1024    | an integer of at least 100 pages (suffixes K, M, G, T, P, E) | yes        | obeyed                 |
        | mariadb-10.11 | 1536    | an integer of at least 100 pages (suffixes K, M, G, T, P, E) | yes        | obeyed                 |

        (value): what a server without the variable behaves as
        ");
    }

    #[test]
    fn a_variable_that_is_not_modelled_and_has_another_name() {
        insta::assert_snapshot!(one("table_cache").unwrap(), @"
        table_open_cache
        Open tables.

        modelled      no, a run does not depend on it
        --scale       kept as it is
        also called   table_cache in mysql-5.1, mysql-5.5

        | flavor        | default | accepted                                                | SET GLOBAL | when set            |
        |---------------|---------|---------------------------------------------------------|------------|---------------------|
        | mysql-5.1     | 64      | an integer from 1 to 524288 (suffixes K, M, G, T, P, E) | yes        | accepted, no effect |
        | mysql-5.5     | 400     | an integer from 1 to 524288 (suffixes K, M, G, T, P, E) | yes        | accepted, no effect |
        | mysql-5.6     | 2000    | an integer from 1 to 524288 (suffixes K, M, G, T, P, E) | yes        | accepted, no effect |
        | mysql-5.7     | 2000    | an integer from 1 to 524288 (suffixes K, M, G, T, P, E) | yes        | accepted, no effect |
        | mysql-8.0     | 4000    | an integer from 1 to 524288 (suffixes K, M, G, T, P, E) | yes        | accepted, no effect |
        | mysql-8.4     | 4000    | an integer from 1 to 524288 (suffixes K, M, G, T, P, E) | yes        | accepted, no effect |
        | mariadb-10.11 | 2000    | an integer from 1 to 524288 (suffixes K, M, G, T, P, E) | yes        | accepted, no effect |
        ");
    }

    #[test]
    fn the_list_has_every_variable_once() {
        let text = list();
        for entry in registry::all() {
            let row = format!("| {} ", entry.name);
            let rows = text.lines().filter(|line| line.starts_with(&row));
            assert_eq!(rows.count(), 1, "{row}");
        }
        assert!(text.ends_with("of them modelled\n"));
        assert!(costs().contains("| page_hash_lookup "));
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        assert_eq!(
            one("innodb-io-capactiy").unwrap_err().to_string(),
            "explain innodb-io-capactiy: no such variable (did you mean innodb_io_capacity?)"
        );
    }
}
