//! From a profile to a virtual machine: disks by number, files on disks.

use innosim_engine::runtime::device::Device;
use innosim_engine::runtime::files::{FileKind as EngineFileKind, Placement};
use innosim_engine::runtime::profile::SpinSettings;
use innosim_engine::runtime::virtual_clock::SimulationOptions;
use innosim_engine::runtime::virtual_clock::disk::{CacheProtection, DiskProfile};
use innosim_engine::sysvar::MachineFacts;

use super::{FileKind, MachineProfile};

impl MachineProfile {
    /// What a simulation of this machine is made of: its disks in the order of their
    /// names, its files where the profile places them, everything else at its default.
    pub fn simulation_options(&self, seed: u64, spin: SpinSettings) -> SimulationOptions {
        let disks = self.disks.iter();
        SimulationOptions {
            disks: disks
                .map(|(name, disk)| (name.clone(), disk.clone()))
                .collect(),
            costs: self.costs.clone(),
            placement: self.placement(),
            spin,
            ..SimulationOptions::new(self.cpu.clone(), seed)
        }
    }

    /// The device in such a simulation on which files of a kind lie.
    ///
    /// # Panics
    /// If the placement names a disk that the machine does not have; a profile that was
    /// read never does.
    pub fn device(&self, kind: FileKind) -> Device {
        let name = &self.placement[&kind];
        let place = self.disks.keys().position(|disk| disk == name);
        Device(place.expect("the placement names a disk of the machine") as u16)
    }

    /// Where the engine's files lie. All tablespaces are one kind to the engine: see
    /// [`MachineProfile::placement_warnings`].
    fn placement(&self) -> Placement {
        let on = |kind| self.device(kind).0;
        Placement::default()
            .with(EngineFileKind::Data, on(FileKind::Tables))
            .with(EngineFileKind::Log, on(FileKind::Redo))
            .with(EngineFileKind::Doublewrite, on(FileKind::Doublewrite))
            .with(EngineFileKind::Temporary, on(FileKind::Temporary))
            .with(EngineFileKind::Other, on(FileKind::Tables))
    }

    /// What of the placement an engine on this machine cannot follow.
    pub fn placement_warnings(&self) -> Vec<String> {
        let tables = &self.placement[&FileKind::Tables];
        [FileKind::System, FileKind::Undo]
            .into_iter()
            .filter(|kind| self.placement[kind] != *tables)
            .map(|kind| {
                format!(
                    "{}: placement.{} = {} has no effect: system and undo tablespaces lie with \
                     the tables, on {tables}",
                    self.name,
                    kind.name(),
                    self.placement[&kind]
                )
            })
            .collect()
    }

    /// The same machine for crashes: all disks have such a cache, and a power failure leaves
    /// so many bytes all old or all new. A disk without a cache stays one. Write buffers are
    /// as small as they can be, so that bursts of page writes are under way for a while.
    pub fn for_crashes(&self, protection: CacheProtection, atomic_write_bytes: u32) -> Self {
        let mut machine = self.clone();
        for disk in machine.disks.values_mut() {
            match disk {
                DiskProfile::SolidState(disk) => {
                    disk.cache = protection;
                    disk.atomic_write_bytes = atomic_write_bytes;
                    let least = disk.max_request_kib + disk.program_kib;
                    disk.write_buffer_kib = disk.write_buffer_kib.min(least);
                }
                DiskProfile::RotatingArray(disk) => {
                    disk.atomic_write_bytes = atomic_write_bytes;
                    if let Some(cache) = &mut disk.cache {
                        cache.protection = protection;
                    }
                }
            }
        }
        machine
    }

    /// The same machine with one more disk, on which files of one kind lie.
    pub fn with_disk_for(&self, kind: FileKind, name: &str, disk: DiskProfile) -> Self {
        let mut machine = self.clone();
        machine.disks.insert(name.into(), disk);
        machine.placement.insert(kind, name.into());
        machine
    }

    /// What a server's derived defaults see of the machine.
    pub fn facts(&self) -> MachineFacts {
        MachineFacts {
            logical_cpus: self.cpu.logical_cpus(),
            memory_bytes: (self.memory_gib * f64::from(1 << 30)) as u64,
        }
    }
}
