//! What latches count, and what is said when tasks wait for each other for ever.

use std::sync::Arc;

use innosim_engine::runtime::LatchStatistics;
use innosim_engine::runtime::profile::{CpuProfile, SpinSettings};
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, SECOND};
use innosim_engine::runtime::virtual_clock::{Outcome, Simulation, SimulationOptions};
use innosim_engine::runtime::{
    Event, LatchClass, LatchMode, Mutex, PageLatch, RwLock, RwLockUpgradableReadGuard, WaitKind,
    charge, sleep, spawn,
};

fn without_spinning(cpu: CpuProfile) -> Box<Simulation> {
    let mut options = SimulationOptions::new(cpu, 1);
    options.spin.loops = 0;
    Simulation::new(&options).expect("the profile is valid")
}

#[test]
fn a_wait_and_a_hold_are_counted_to_the_picosecond() {
    let mut simulation = without_spinning(CpuProfile {
        wake_latency_us: 3.0,
        ..CpuProfile::uniform(2)
    });
    simulation
        .run(|| {
            let mutex = Arc::new(Mutex::new(LatchClass::Hot, ()));
            let wanted = mutex.clone();
            let guard = mutex.lock();
            let waiter = spawn("waiter", move || {
                charge(4 * MICROSECOND);
                let _guard = wanted.lock();
                charge(2 * MICROSECOND);
            });
            charge(10 * MICROSECOND);
            drop(guard);
            waiter.join();
        })
        .unwrap();
    assert_eq!(
        *simulation.statistics().latch(LatchClass::Hot),
        LatchStatistics {
            acquired: 2,
            contended: 1,
            slept: 1,
            // From 4 to 10 µs, and the wake-up.
            wait: 9 * MICROSECOND,
            hold: 12 * MICROSECOND,
        }
    );
    // Nothing else was latched.
    let others = LatchClass::ALL
        .iter()
        .filter(|&&class| class != LatchClass::Hot);
    for &class in others {
        let nothing = LatchStatistics::default();
        assert_eq!(*simulation.statistics().latch(class), nothing, "{class:?}");
    }
}

#[test]
fn modes_that_go_together_do_not_contend() {
    use LatchMode::{S, SX, X};
    for (held, wanted, together) in [
        (S, S, true),
        (S, SX, true),
        (S, X, false),
        (SX, S, true),
        (SX, SX, false),
        (SX, X, false),
        (X, S, false),
        (X, SX, false),
        (X, X, false),
    ] {
        let mut simulation = without_spinning(CpuProfile::uniform(2));
        simulation
            .run(move || {
                let latch = Arc::new(PageLatch::of_class(LatchClass::PageHash));
                let other = latch.clone();
                let first = latch.lock(held, || WaitKind::Latch);
                let task = spawn("second", move || {
                    charge(MICROSECOND);
                    assert_eq!(other.try_lock(wanted).is_some(), together);
                    if together {
                        return;
                    }
                    let second = other.lock(wanted, || WaitKind::FlushedPage);
                    // SAFETY: taken in this mode just above.
                    unsafe { other.unlock(wanted, second) };
                });
                charge(30 * MICROSECOND);
                // SAFETY: taken in this mode above.
                unsafe { latch.unlock(held, first) };
                task.join();
            })
            .unwrap();
        let latch = simulation.statistics().latch(LatchClass::PageHash);
        let waits = u64::from(!together);
        assert_eq!(latch.acquired, 2, "{held:?} and {wanted:?}");
        assert_eq!(latch.contended, waits, "{held:?} and {wanted:?}");
        assert_eq!(
            latch.wait,
            waits * 29 * MICROSECOND,
            "{held:?} and {wanted:?}"
        );
        // The wait is booked under what it was for.
        let budget = simulation.statistics().ended_time();
        assert_eq!(budget[WaitKind::FlushedPage as usize], latch.wait);
        assert_eq!(budget[WaitKind::Latch as usize], 0);
    }
}

#[test]
fn an_upgrade_waits_for_the_readers_inside_and_keeps_new_ones_out() {
    let mut simulation = without_spinning(CpuProfile::uniform(4));
    simulation
        .run(|| {
            let latch = Arc::new(RwLock::new(LatchClass::IndexTree, Vec::new()));
            let (inside, late) = (latch.clone(), latch.clone());
            let inside = spawn("reader inside", move || {
                let guard = inside.read();
                charge(30 * MICROSECOND);
                assert!(guard.is_empty());
            });
            let late = spawn("late reader", move || {
                charge(25 * MICROSECOND);
                assert_eq!(*late.read(), ["upgraded"]);
            });
            sleep(MICROSECOND, WaitKind::Other);
            let guard = latch.upgradable_read();
            let mut guard = RwLockUpgradableReadGuard::upgrade(guard);
            guard.push("upgraded");
            charge(10 * MICROSECOND);
            drop(guard);
            inside.join();
            late.join();
        })
        .unwrap();
    assert_eq!(simulation.now(), 40 * MICROSECOND);
    let latch = simulation.statistics().latch(LatchClass::IndexTree);
    // The upgrade from 1 to 30 µs, the late reader from 25 to 40.
    assert_eq!((latch.contended, latch.wait), (2, 44 * MICROSECOND));
}

#[test]
fn two_tasks_that_wait_for_each_other_are_named_with_what_they_wait_for() {
    let mut simulation = without_spinning(CpuProfile::uniform(4));
    let error = simulation
        .run(|| {
            let (a, b) = (
                Arc::new(Mutex::new(LatchClass::TrxSys, ())),
                Arc::new(Mutex::new(LatchClass::LockSys, ())),
            );
            let (a2, b2) = (a.clone(), b.clone());
            let left = spawn("left", move || {
                let _a = a.lock();
                charge(5 * MICROSECOND);
                drop(b.lock());
            });
            spawn("right", move || {
                let _b = b2.lock();
                charge(7 * MICROSECOND);
                drop(a2.lock());
            });
            spawn("row waiter", || {
                let event = Event::new();
                let count = event.reset();
                event.wait(
                    count,
                    innosim_engine::runtime::time::NEVER,
                    WaitKind::RowLock,
                );
            });
            left.join();
        })
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the simulation stalled at 7000000 ps: main waits for other; left waits for latch; \
         right waits for latch; row waiter waits for row_lock"
    );
    // The machine is not stuck itself.
    assert_eq!(simulation.run(|| 7), Ok(7));
}

#[test]
fn spinners_that_wait_for_each_other_end_up_asleep_and_are_named_too() {
    let mut options = SimulationOptions::new(CpuProfile::uniform(1), 1);
    options.spin = SpinSettings::default();
    let mut simulation = Simulation::new(&options).unwrap();
    let error = simulation
        .run(|| {
            let mutex = Arc::new(Mutex::new(LatchClass::Plain, ()));
            let _forever = mutex.lock();
            let wanted = mutex.clone();
            spawn("waiter", move || drop(wanted.lock()));
            drop(mutex.lock());
        })
        .unwrap_err();
    assert_eq!(
        error.waiting,
        ["main waits for latch", "waiter waits for latch"]
    );
}

#[test]
fn the_largest_spin_settings_make_a_waiter_spin_for_ever() {
    let mut options = SimulationOptions::new(CpuProfile::uniform(2), 1);
    options.spin = SpinSettings {
        loops: u32::MAX,
        wait_delay: u32::MAX,
        pause_multiplier: 100,
    };
    let mut simulation = Simulation::new(&options).unwrap();
    let outcome = simulation.run_until(SECOND, || {
        let mutex = Arc::new(Mutex::new(LatchClass::Hot, ()));
        let guard = mutex.lock();
        let other = mutex.clone();
        spawn("waiter", move || drop(other.lock()));
        sleep(MILLISECOND, WaitKind::Other);
        drop(guard);
        sleep(10 * SECOND, WaitKind::Other);
    });
    // A spin lasts ten seconds, at most; the waiter has its next look within them.
    assert!(matches!(outcome.unwrap(), Outcome::PowerCut));
    assert_eq!(simulation.statistics().latch(LatchClass::Hot).slept, 0);
}
