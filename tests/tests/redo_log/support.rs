//! Running a test under both clocks.

use std::path::Path;

use innosim_engine::page::PageId;
use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_tests::disk::solid_state_disk;

/// The tablespace of all tests.
pub const SPACE: u32 = 5;

pub fn page(number: u32) -> PageId {
    PageId::new(SPACE, number)
}

/// A machine of four cores and a disk.
pub fn options(seed: u64) -> SimulationOptions {
    let cpu = CpuProfile {
        time_slice_us: 500.0,
        context_switch_us: 1.0,
        wake_latency_us: 3.0,
        wake_call_us: 1.0,
        io_call_us: 2.0,
        line_same_socket_ns: 40.0,
        ..CpuProfile::uniform(4)
    };
    SimulationOptions {
        disks: vec![("disk".to_owned(), solid_state_disk())],
        ..SimulationOptions::new(cpu, seed)
    }
}

pub fn simulation(seed: u64) -> Box<Simulation> {
    Simulation::new(&options(seed)).expect("the profile is valid")
}

/// Runs a test in a directory under the virtual clock, then under the real one.
pub fn under_both_clocks(body: fn(&Path)) {
    simulation(1)
        .run(move || body(Path::new("/test")))
        .expect("nobody waits for ever");
    let directory = tempfile::tempdir().unwrap();
    body(directory.path());
}
