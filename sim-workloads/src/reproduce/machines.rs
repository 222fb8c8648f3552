//! The report's machine, changed: what must add or remove an effect if the mechanism is
//! the one that is claimed.
//!
//! A change is one to the profile, which is data; the engine does not know of it. Runs are
//! processes of their own, and so a changed profile is written as the text of a TOML file.

use anyhow::{Context, anyhow};
use toml::{Table, Value};

use super::constants;
use crate::machine::{MachineProfile, built_in_text};

/// Another value for a key of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Adjustment {
    /// Its place: names, and numbers from 0 in lists, with dots.
    pub key: String,
    /// The value.
    pub value: Value,
}

/// How a machine is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MachineChange {
    /// Not at all.
    #[default]
    None,
    /// The doublewrite files lie on a RAM disk, which takes no time to speak of.
    DoublewriteForNothing,
    /// The redo log lies on a second disk of the same kind.
    RedoApart,
}

impl MachineChange {
    /// A word for labels and file names.
    pub const fn name(self) -> &'static str {
        match self {
            MachineChange::None => "unchanged",
            MachineChange::DoublewriteForNothing => "doublewrite-for-nothing",
            MachineChange::RedoApart => "redo-apart",
        }
    }
}

/// The text of a built-in profile, changed, and after it with other values.
///
/// # Errors
/// If there is no such profile, it has more than the one disk whose files are moved, it
/// has none of the values, or what comes out is no machine.
pub fn text(
    machine: &str,
    change: MachineChange,
    adjustments: &[Adjustment],
) -> anyhow::Result<String> {
    let text = changed(machine, change)?;
    if adjustments.is_empty() {
        return Ok(text);
    }
    let mut profile: Table = text.parse()?;
    let mut words = Vec::new();
    for Adjustment { key, value } in adjustments {
        *constants::find(&mut profile, key)
            .with_context(|| format!("machine {machine}: it has no {key}"))? = value.clone();
        words.push(format!("{key} = {value}"));
    }
    let text = toml::to_string(&profile)?;
    let words = words.join(", ");
    MachineProfile::parse(machine, &text).with_context(|| words.clone())?;
    Ok(format!(
        "# The profile {machine}, {} disks, with {words}.\n{text}",
        change.name()
    ))
}

/// The text of a built-in profile, changed.
fn changed(machine: &str, change: MachineChange) -> anyhow::Result<String> {
    let text = built_in_text(machine).with_context(|| format!("machine {machine}: unknown"))?;
    let (kind, name, disk) = match change {
        MachineChange::None => return Ok(text.to_owned()),
        MachineChange::DoublewriteForNothing => ("doublewrite", "ram", ram_disk()?),
        MachineChange::RedoApart => ("redo", "redo", only_disk(machine, text)?.1),
    };
    let mut profile: Table = text.parse()?;
    let (only, _) = only_disk(machine, text)?;
    disks(&mut profile)?.insert(name.into(), disk);
    let mut placement = Table::new();
    placement.insert("default".into(), Value::String(only));
    placement.insert(kind.into(), Value::String(name.into()));
    profile.insert("placement".into(), Value::Table(placement));
    let what = change.name();
    let text = toml::to_string(&profile)?;
    Ok(format!(
        "# The profile {machine} with one change: {what}.\n{text}"
    ))
}

fn disks(profile: &mut Table) -> anyhow::Result<&mut Table> {
    let disks = profile.get_mut("disks").and_then(Value::as_table_mut);
    disks.context("a profile has disks")
}

/// The one disk of a profile, and its name.
fn only_disk(machine: &str, text: &str) -> anyhow::Result<(String, Value)> {
    let mut profile: Table = text.parse()?;
    let disks = disks(&mut profile)?;
    let mut all = disks.iter();
    match (all.next(), all.next()) {
        (Some((name, disk)), None) => Ok((name.clone(), disk.clone())),
        _ => Err(anyhow!("machine {machine}: its {} disks", disks.len())),
    }
}

fn ram_disk() -> anyhow::Result<Value> {
    const PROFILE: &str = "quad-144-ramdisk";
    let text = built_in_text(PROFILE).context("the profile of a RAM disk")?;
    Ok(only_disk(PROFILE, text)?.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::FileKind;

    fn changed(change: MachineChange) -> MachineProfile {
        MachineProfile::parse("changed", &text("nvme-24core", change, &[]).unwrap()).unwrap()
    }

    #[test]
    fn a_change_moves_one_kind_of_file_and_leaves_the_rest() {
        let plain = MachineProfile::load("nvme-24core").unwrap();
        let as_it_is = changed(MachineChange::None);
        assert_eq!(as_it_is.disks, plain.disks);
        for (change, kind, disk) in [
            (
                MachineChange::DoublewriteForNothing,
                FileKind::Doublewrite,
                "ram",
            ),
            (MachineChange::RedoApart, FileKind::Redo, "redo"),
        ] {
            let machine = changed(change);
            assert_eq!(machine.disks.len(), 2);
            for one in FileKind::ALL {
                let expected = if one == kind { disk } else { "nvme" };
                assert_eq!(machine.placement[&one], expected, "{change:?}");
            }
            assert_eq!(machine.disks["nvme"], plain.disks["nvme"]);
            assert_eq!((&machine.cpu, &machine.server), (&plain.cpu, &plain.server));
            assert_eq!(machine.costs, plain.costs);
        }
        let apart = changed(MachineChange::RedoApart);
        assert_eq!(apart.disks["redo"], plain.disks["nvme"]);
    }

    #[test]
    fn a_machine_that_is_not_there_is_named() {
        let error = text("abacus", MachineChange::RedoApart, &[]).unwrap_err();
        assert!(error.to_string().contains("abacus"), "{error}");
    }

    #[test]
    fn a_value_is_changed_and_no_other() {
        let adjusted = |key: &str, value: Value| {
            let key = key.to_owned();
            text(
                "nvme-24core",
                MachineChange::RedoApart,
                &[Adjustment { key, value }],
            )
        };
        let machine = adjusted("cpu.smt_rate.1", Value::Float(0.5)).unwrap();
        let machine = MachineProfile::parse("adjusted", &machine).unwrap();
        let apart = changed(MachineChange::RedoApart);
        assert_eq!(machine.cpu.smt_rate, [1.0, 0.5]);
        assert_eq!(
            (&machine.disks, &machine.server),
            (&apart.disks, &apart.server)
        );
        assert_eq!(machine.cpu.turbo, apart.cpu.turbo);
        for (key, value, part) in [
            ("cpu.smt_rat", Value::Float(0.5), "no cpu.smt_rat"),
            ("cpu.smt_rate.2", Value::Float(0.5), "no cpu.smt_rate.2"),
            ("cpu.smt_rate.1", Value::Float(1.5), "smt_rate"),
        ] {
            let error = format!("{:#}", adjusted(key, value).unwrap_err());
            assert!(error.contains(part), "{error}");
        }
    }
}
