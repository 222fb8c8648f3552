//! The machine of a run: a simulation or the host, and where its data directory is.
//!
//! ```text
//!              the files of a data directory on the host
//!   virtual    are the base of virtual files, and are not changed before the end
//!   real       are what the run works on
//! ```

use std::path::{Path, PathBuf};

use innosim_engine::runtime::RealMachine;
use innosim_engine::runtime::files::HostLock;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};

use super::data_directory::lock_on_host;
use super::plan::{Clock, RunFiles, RunPlan};
use crate::machine::memory;

/// Where the files of a temporary directory are among virtual files. Those of a directory
/// that the user knows are where the user has them, so that messages name them so.
const TEMPORARY_DATA: &str = "data";

/// A machine, switched on.
pub struct Machine {
    kind: Kind,
    data: PathBuf,
}

enum Kind {
    Virtual {
        simulation: Box<Simulation>,
        /// The directory of the host under the virtual files.
        directory: PathBuf,
        /// Nobody else is to change it. Under the real clock the engine sees to that.
        _lock: HostLock,
    },
    Real(RealMachine),
}

impl Machine {
    /// The machine of a plan, with a data directory of the host.
    ///
    /// # Errors
    /// If the simulation cannot be built, or the directory not be read or is in use.
    pub fn new(plan: &RunPlan, directory: &Path) -> anyhow::Result<Self> {
        // Half of what is free, so that two runs at a time have room.
        let images = memory("MemAvailable").map(|free| free / 2);
        Self::with_image_memory(plan, directory, images)
    }

    /// The same with so many bytes of memory for images of pages; without a number, all
    /// that are made.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_image_memory(
        plan: &RunPlan,
        directory: &Path,
        image_bytes: Option<u64>,
    ) -> anyhow::Result<Self> {
        match plan.clock {
            Clock::Virtual => {
                let shared = matches!(plan.files, RunFiles::Base(_));
                let lock = lock_on_host(directory, shared)?;
                let options = SimulationOptions {
                    settle: plan.settle,
                    memory_budget: image_bytes,
                    ..plan.machine.simulation_options(plan.seed, plan.spin())
                };
                let mut simulation = Simulation::new(&options)?;
                let data = match plan.files {
                    RunFiles::Temporary => Path::new(TEMPORARY_DATA),
                    RunFiles::Kept(_) | RunFiles::Base(_) => directory,
                };
                simulation.files_mut().mount(directory, data)?;
                if shared {
                    simulation.files_mut().base_stays();
                }
                Ok(Machine {
                    kind: Kind::Virtual {
                        simulation,
                        directory: directory.into(),
                        _lock: lock,
                    },
                    data: data.into(),
                })
            }
            Clock::Real => Ok(Machine {
                kind: Kind::Real(RealMachine::new(plan.seed)),
                data: directory.into(),
            }),
        }
    }

    /// The data directory, as the engine sees it.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Runs `main` as the machine's main task.
    ///
    /// # Errors
    /// If the simulation stalls: every task waits for something that cannot happen.
    pub fn run<T: 'static>(&mut self, main: impl FnOnce() -> T + 'static) -> anyhow::Result<T> {
        match &mut self.kind {
            Kind::Virtual { simulation, .. } => Ok(simulation.run(main)?),
            Kind::Real(machine) => Ok(machine.run(main)),
        }
    }

    /// Writes what has changed in the virtual files into the directory of the host. Under
    /// the real clock it is there already. Either all of it is written or nothing: see
    /// [`write_out`](innosim_engine::runtime::files::VirtualFiles::write_out).
    ///
    /// # Errors
    /// If the host has no room, or cannot write.
    pub fn write_out(&mut self) -> anyhow::Result<()> {
        if let Kind::Virtual {
            simulation,
            directory,
            ..
        } = &mut self.kind
        {
            simulation.files_mut().write_out(&self.data, &*directory)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::arguments::RunArguments;
    use super::super::data_directory::TemporaryDirectory;
    use super::*;
    use innosim_engine::runtime::WaitKind;
    use innosim_engine::runtime::files::{Create, FileKind, FileSystem, IoMode, OpenOptions};

    fn plan(clock: &str) -> RunPlan {
        RunArguments {
            clock: Some(clock.into()),
            ..RunArguments::default()
        }
        .plan()
        .unwrap()
    }

    /// Writes a page to a file of the machine's data directory.
    fn write_page(machine: &mut Machine, name: &str, create: Create, byte: u8) {
        let path = machine.data().join(name);
        machine
            .run(move || {
                let files = FileSystem::new();
                let options = OpenOptions {
                    create,
                    io: IoMode::Buffered,
                    kind: FileKind::Data,
                };
                let file = files.open(&path, options).unwrap();
                file.write_at(&[byte; 512], 0, WaitKind::Other).unwrap();
            })
            .unwrap();
    }

    #[test]
    fn both_clocks_leave_the_same_files_in_a_data_directory() {
        for clock in ["virtual", "real"] {
            let directory = TemporaryDirectory::new().unwrap();
            let (plan, path) = (plan(clock), directory.path());
            let mut machine = Machine::new(&plan, path).unwrap();
            write_page(&mut machine, "a", Create::New, 7);
            machine.write_out().unwrap();
            drop(machine);
            assert_eq!(fs::read(path.join("a")).unwrap(), [7; 512]);

            let mut again = Machine::new(&plan, path).unwrap();
            write_page(&mut again, "a", Create::Existing, 8);
            again.write_out().unwrap();
            assert_eq!(fs::read(path.join("a")).unwrap(), [8; 512], "{clock}");
        }
    }

    #[test]
    fn messages_name_the_files_where_the_user_has_them() {
        let directory = TemporaryDirectory::new().unwrap();
        let mut plan = plan("virtual");
        plan.files = RunFiles::Kept(directory.path().into());
        let mut machine = Machine::new(&plan, directory.path()).unwrap();
        let path = machine.data().join("missing");
        let expected = directory.path().join("missing").display().to_string();
        let opened = move || {
            let options = OpenOptions {
                create: Create::Existing,
                io: IoMode::Buffered,
                kind: FileKind::Data,
            };
            FileSystem::new()
                .open(&path, options)
                .unwrap_err()
                .to_string()
        };
        let error = machine.run(opened).unwrap();
        assert!(error.contains(&expected), "{error}");
    }

    #[test]
    fn a_simulation_changes_its_base_at_the_end_only_and_alone() {
        let directory = TemporaryDirectory::new().unwrap();
        let (plan, path) = (plan("virtual"), directory.path());
        let mut machine = Machine::new(&plan, path).unwrap();
        write_page(&mut machine, "a", Create::New, 7);
        assert!(!path.join("a").exists());
        let Err(error) = Machine::new(&plan, path) else {
            panic!("two machines had one directory");
        };
        assert!(error.to_string().contains("in use"), "{error}");
    }
}
