//! The oracle for the rules by which debts of CPU are settled.
//!
//! The lazy rules let a task act before its time where nobody is in the way; settling
//! at every acquire and release does not, and costs an event for each. On programs that
//! do little but latch, throughput and waits must agree within 2 %.

use std::sync::Arc;

use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::time::{MICROSECOND, NANOSECOND};
use innosim_engine::runtime::virtual_clock::{
    Settle, Simulation, SimulationOptions, SimulationStatistics,
};
use innosim_engine::runtime::{
    LatchClass, LatchMode, Mutex, PageLatch, WaitKind, charge, sleep, spawn,
};

// ---- the rules, one by one --------------------------------------------------------

fn both(machine: CpuProfile, program: impl Fn() + Copy + 'static) -> [SimulationStatistics; 2] {
    [Settle::Lazy, Settle::Always].map(|settle| {
        let options = SimulationOptions {
            settle,
            ..SimulationOptions::new(machine.clone(), 1)
        };
        let mut simulation = Simulation::new(&options).expect("the profile is valid");
        simulation.run(program).expect("nobody waits for ever");
        simulation.statistics().clone()
    })
}

#[test]
fn fetching_the_lines_is_part_of_the_hold() {
    let machine = CpuProfile {
        line_same_socket_ns: 100.0,
        ..CpuProfile::uniform(2)
    };
    let counts = both(machine, || {
        let latch = Arc::new(Mutex::new(LatchClass::TrxSys, ()));
        let other = latch.clone();
        let second = spawn("second", move || {
            sleep(10 * MICROSECOND, WaitKind::Other);
            let _guard = other.lock();
            charge(3 * MICROSECOND);
        });
        let guard = latch.lock();
        charge(2 * MICROSECOND);
        drop(guard);
        second.join();
    });
    for counts in counts {
        let lines = u64::from(LatchClass::TrxSys.facts().lines) * 100 * NANOSECOND;
        assert_eq!(
            counts.latch(LatchClass::TrxSys).hold,
            5 * MICROSECOND + lines
        );
    }
}

#[test]
fn work_before_an_exclusive_latch_is_not_done_inside_it() {
    for mode in [LatchMode::SX, LatchMode::X] {
        // The page is free, so nobody notices when it is asked for; but the hot latch
        // inside makes time pass while it is held.
        let counts = both(CpuProfile::uniform(1), move || {
            let page = PageLatch::new();
            let hot = Mutex::new(LatchClass::Hot, ());
            charge(11 * MICROSECOND);
            let held = page.lock(mode, || WaitKind::Latch);
            charge(2 * MICROSECOND);
            let guard = hot.lock();
            charge(3 * MICROSECOND);
            drop(guard);
            // SAFETY: taken in this mode above.
            unsafe { page.unlock(mode, held) };
        });
        for counts in counts {
            assert_eq!(counts.latch(LatchClass::Hot).hold, 3 * MICROSECOND);
            assert_eq!(counts.latch(LatchClass::Page).hold, 5 * MICROSECOND);
        }
    }
}
