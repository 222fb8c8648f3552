//! What the benches of innosim share.

use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::time::MICROSECOND;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_engine::runtime::{self, time::Time};

/// A machine on which every part of the scheduler works: two sockets, SMT whose
/// rates change with the sibling, frequency that falls with active cores, slices.
pub fn busy_machine() -> CpuProfile {
    CpuProfile {
        sockets: 2,
        cores_per_socket: 12,
        threads_per_core: 2,
        smt_rate: vec![1.0, 0.65],
        turbo: vec![(1, 1.0), (24, 0.8)],
        time_slice_us: 100.0,
        context_switch_us: 1.0,
        wake_latency_us: 5.0,
        ..CpuProfile::uniform(1)
    }
}

/// Runs `tasks` tasks that each use CPU in short random charges, and now and then
/// sleep, for `length` of virtual time. Returns how often a task was resumed.
pub fn switch_storm(tasks: usize, length: Time) -> u64 {
    let options = SimulationOptions::new(busy_machine(), 1);
    let mut simulation = Simulation::new(&options).expect("the profile is valid");
    simulation
        .run(move || {
            let handles: Vec<_> = (0..tasks)
                .map(|number| {
                    runtime::spawn("worker", move || {
                        let mut stream = runtime::stream(&format!("worker {number}"));
                        while runtime::now() < length {
                            for _ in 0..16 {
                                runtime::charge(stream.below(2 * MICROSECOND));
                                runtime::settle();
                            }
                            let length = stream.below(10 * MICROSECOND);
                            runtime::sleep(length, runtime::WaitKind::Other);
                        }
                    })
                })
                .collect();
            for handle in handles {
                handle.join();
            }
        })
        .expect("nobody waits for ever");
    simulation.statistics().switches
}
