//! Read views against a reference, and what transactions cost.

mod admission;
mod costs;
mod visibility;

use crate::runtime::profile::CpuProfile;
use crate::runtime::virtual_clock::{Simulation, SimulationOptions};

/// Runs a test on a virtual machine of so many cores.
fn virtually<T: 'static>(cores: u32, main: impl FnOnce() -> T + 'static) -> T {
    let options = SimulationOptions::new(CpuProfile::uniform(cores), 1);
    let mut simulation = Simulation::new(&options).unwrap();
    simulation.run(main).expect("nobody waits for ever")
}
