//! The machine of a run: a simulation or the host, and where its data directory is.
//!
//! ```text
//!              without --datadir           with --datadir D
//!   virtual    virtual files, empty        D mounted below them; written out at the end
//!   real       a temporary directory       D itself
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use innosim_engine::runtime::RealMachine;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use tempfile::TempDir;

use super::plan::{Clock, RunPlan};
use crate::machine::memory;

/// Where the data directory is among virtual files.
const VIRTUAL_DATA: &str = "data";

/// A machine, switched on.
pub struct Machine {
    kind: Kind,
    data: PathBuf,
}

enum Kind {
    Virtual {
        simulation: Box<Simulation>,
        /// The host's directory that the files go to.
        datadir: Option<PathBuf>,
    },
    Real {
        machine: RealMachine,
        _temporary: Option<TempDir>,
    },
}

impl Machine {
    /// The machine of a plan.
    ///
    /// # Errors
    /// If the simulation cannot be built, or a directory of the host not be made or read.
    pub fn new(plan: &RunPlan) -> anyhow::Result<Self> {
        let in_datadir = || match &plan.datadir {
            Some(directory) => directory.display().to_string(),
            None => "a temporary directory".to_owned(),
        };
        match plan.clock {
            Clock::Virtual => {
                let options = SimulationOptions {
                    settle: plan.settle,
                    // Half of what is free, so that two runs at a time have room.
                    memory_budget: memory("MemAvailable").map(|free| free / 2),
                    ..plan.machine.simulation_options(plan.seed, plan.spin())
                };
                let mut simulation = Simulation::new(&options)?;
                if let Some(directory) = plan.datadir.as_ref().filter(|path| path.exists()) {
                    let files = simulation.files_mut();
                    files
                        .mount(directory, VIRTUAL_DATA)
                        .with_context(in_datadir)?;
                }
                Ok(Machine {
                    kind: Kind::Virtual {
                        simulation,
                        datadir: plan.datadir.clone(),
                    },
                    data: VIRTUAL_DATA.into(),
                })
            }
            Clock::Real => {
                let machine = RealMachine::new(plan.seed);
                let temporary = match &plan.datadir {
                    Some(directory) => {
                        fs::create_dir_all(directory).with_context(in_datadir)?;
                        None
                    }
                    None => {
                        let made = tempfile::Builder::new().prefix("innosim-").tempdir();
                        Some(made.with_context(in_datadir)?)
                    }
                };
                let data = match (&plan.datadir, &temporary) {
                    (Some(directory), _) => directory.clone(),
                    (None, Some(directory)) => directory.path().to_path_buf(),
                    (None, None) => unreachable!("one of them was made"),
                };
                Ok(Machine {
                    kind: Kind::Real {
                        machine,
                        _temporary: temporary,
                    },
                    data,
                })
            }
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
            Kind::Real { machine, .. } => Ok(machine.run(main)),
        }
    }

    /// Writes the virtual files out into the data directory that was asked for. Under the
    /// real clock they are there already.
    ///
    /// # Errors
    /// If the host cannot write them.
    pub fn write_out(&mut self) -> anyhow::Result<()> {
        if let Kind::Virtual {
            simulation,
            datadir: Some(directory),
        } = &mut self.kind
        {
            let files = simulation.files_mut();
            let written = files.write_out(VIRTUAL_DATA, &*directory);
            written.with_context(|| directory.display().to_string())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::RunArguments;
    use super::*;
    use innosim_engine::runtime::WaitKind;
    use innosim_engine::runtime::files::{Create, FileKind, FileSystem, IoMode, OpenOptions};

    fn plan(clock: &str, datadir: Option<&Path>) -> RunPlan {
        RunArguments {
            clock: Some(clock.into()),
            datadir: datadir.map(Into::into),
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
                files.create_directory(path.parent().unwrap()).unwrap();
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
            let directory = tempfile::tempdir().unwrap();
            let datadir = directory.path().join("new/data");
            let plan = plan(clock, Some(&datadir));
            let mut machine = Machine::new(&plan).unwrap();
            write_page(&mut machine, "a", Create::New, 7);
            machine.write_out().unwrap();
            drop(machine);
            assert_eq!(fs::read(datadir.join("a")).unwrap(), [7; 512]);

            let mut again = Machine::new(&plan).unwrap();
            write_page(&mut again, "a", Create::Existing, 8);
            again.write_out().unwrap();
            assert_eq!(fs::read(datadir.join("a")).unwrap(), [8; 512], "{clock}");
        }
    }

    #[test]
    fn a_temporary_directory_goes_with_the_machine() {
        let mut machine = Machine::new(&plan("real", None)).unwrap();
        let data = machine.data().to_path_buf();
        write_page(&mut machine, "a", Create::New, 1);
        assert!(data.join("a").exists());
        drop(machine);
        assert!(!data.exists());
    }
}
