//! The rules for code under the virtual clock, each by a program that leans on it.

mod events;
mod forking;
mod latches;
#[cfg(debug_assertions)]
mod open_borrows;
mod processes;
mod suspending;
mod unwinding;

use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};

fn simulation(cpu: CpuProfile) -> Box<Simulation> {
    Simulation::new(&SimulationOptions::new(cpu, 1)).expect("the profile is valid")
}

fn on_cores<T: 'static>(cores: u32, main: impl FnOnce() -> T + 'static) -> T {
    simulation(CpuProfile::uniform(cores))
        .run(main)
        .expect("nobody waits for ever")
}
