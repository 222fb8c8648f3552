//! The machine, changed: what must add or remove an effect if the mechanism is the one
//! that is claimed. Changes are to the profile; the experiment's code stays the same.

use innosim_engine::runtime::virtual_clock::disk::{Admission, DiskProfile, SolidStateProfile};

use crate::machine::{FileKind, MachineProfile};

/// The device that holds the tables.
///
/// # Errors
/// If that is not a solid-state disk.
pub fn solid_state(machine: &mut MachineProfile) -> anyhow::Result<&mut SolidStateProfile> {
    let name = machine.placement[&FileKind::Tables].clone();
    match machine.disks.get_mut(&name) {
        Some(DiskProfile::SolidState(disk)) => Ok(disk),
        _ => anyhow::bail!(
            "machine {}: disks.{name}.model = rotating_array: this kernel accepts solid_state",
            machine.name
        ),
    }
}

/// The machine with its device changed.
///
/// # Errors
/// As [`solid_state`].
pub fn with_disk(
    machine: &MachineProfile,
    change: impl FnOnce(&mut SolidStateProfile),
) -> anyhow::Result<MachineProfile> {
    let mut machine = machine.clone();
    change(solid_state(&mut machine)?);
    Ok(machine)
}

/// The machine with a device that takes all writes in the order of their age, and reads
/// before them.
///
/// # Errors
/// As [`solid_state`].
pub fn one_queue(machine: &MachineProfile) -> anyhow::Result<MachineProfile> {
    with_disk(machine, |disk| {
        disk.admission = Admission::Fifo;
        disk.reads_first = true;
    })
}

/// The machine with a device that takes writes from its queues in turn, and reads before
/// them: NVMe's default arbitration.
///
/// # Errors
/// As [`solid_state`].
pub fn queues_in_turn(machine: &MachineProfile) -> anyhow::Result<MachineProfile> {
    with_disk(machine, |disk| {
        disk.admission = Admission::RoundRobin;
        disk.reads_first = true;
    })
}

/// The machine with the redo log on a second device of the same kind.
///
/// # Errors
/// As [`solid_state`].
pub fn redo_apart(machine: &MachineProfile) -> anyhow::Result<MachineProfile> {
    let disk = solid_state(&mut machine.clone())?.clone();
    Ok(machine.with_disk_for(FileKind::Redo, "redo", DiskProfile::SolidState(disk)))
}

/// The machine with the doublewrite files on the RAM disk of `quad-144-ramdisk`, which
/// takes no time to speak of.
///
/// # Errors
/// If that profile cannot be read.
pub fn doublewrite_for_nothing(machine: &MachineProfile) -> anyhow::Result<MachineProfile> {
    let ram = MachineProfile::load("quad-144-ramdisk")?.disks["ram"].clone();
    Ok(machine.with_disk_for(FileKind::Doublewrite, "ram", ram))
}
