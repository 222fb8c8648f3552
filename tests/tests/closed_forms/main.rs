//! The virtual machine against theory: where a formula says how long something takes,
//! the simulation must take that long.
//!
//! Deterministic programs must meet the formula to the picosecond or to the rounding
//! of the profile's rates. Random ones must meet it within the statistical error of
//! the run, which is computed from the run: see `innosim_tests::confidence`.

mod latches;
mod laws;
mod processor;
mod queues;

use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};

fn simulation(cpu: CpuProfile) -> Box<Simulation> {
    Simulation::new(&SimulationOptions::new(cpu, 1)).expect("the profile is valid")
}
