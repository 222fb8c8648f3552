//! The rules for code under the virtual clock, each by a program that leans on it.

use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::time::MICROSECOND;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_engine::runtime::{charge, now, spawn};

fn simulation(cpu: CpuProfile) -> Box<Simulation> {
    Simulation::new(&SimulationOptions::new(cpu, 1)).expect("the profile is valid")
}

// ---- debts ----------------------------------------------------------------------

#[test]
fn a_task_pays_its_debt_before_it_ends() {
    let mut simulation = simulation(CpuProfile::uniform(1));
    let end = simulation.run(|| {
        charge(5 * MICROSECOND);
        now()
    });
    assert_eq!(end.unwrap(), 5 * MICROSECOND);
    assert_eq!(simulation.now(), 5 * MICROSECOND);
}

#[test]
fn waking_the_task_that_joins_costs_the_one_that_ends() {
    let cpu = CpuProfile {
        wake_call_us: 2.0,
        ..CpuProfile::uniform(1)
    };
    // One core: main runs when the ended task has paid for waking it.
    let end = simulation(cpu).run(|| {
        spawn("child", || charge(MICROSECOND)).join();
        now()
    });
    assert_eq!(end.unwrap(), 3 * MICROSECOND);
}
