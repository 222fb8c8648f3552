//! The virtual clock by small programs whose timing is known.

use std::sync::Arc;

use innosim_engine::runtime::profile::{CpuProfile, SpinSettings};
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, NEVER, SECOND};
use innosim_engine::runtime::virtual_clock::{Outcome, Simulation, SimulationOptions};
use innosim_engine::runtime::{
    self, Event, LatchClass, LatchMode, Mutex, PageLatch, WaitKind, charge, now, settle, sleep,
    spawn,
};

fn simulation(cpu: CpuProfile) -> Box<Simulation> {
    Simulation::new(&SimulationOptions::new(cpu, 1)).expect("the profile is valid")
}

fn on_cores<T: 'static>(cores: u32, main: impl FnOnce() -> T + 'static) -> T {
    simulation(CpuProfile::uniform(cores))
        .run(main)
        .expect("nobody waits for ever")
}

#[test]
fn work_takes_its_time_and_sleep_takes_no_cpu() {
    let end = on_cores(1, || {
        let other = spawn("other", || {
            sleep(5 * MICROSECOND, WaitKind::Other);
            charge(3 * MICROSECOND);
            settle();
            now()
        });
        charge(4 * MICROSECOND);
        settle();
        assert_eq!(now(), 4 * MICROSECOND);
        other.join()
    });
    // The other task starts when main first waits, at 4 µs, and sleeps without a CPU.
    assert_eq!(end, 12 * MICROSECOND);
}

#[test]
fn two_tasks_on_one_core_share_it_by_slices() {
    let cpu = CpuProfile {
        time_slice_us: 10.0,
        ..CpuProfile::uniform(1)
    };
    let ends = simulation(cpu)
        .run(|| {
            let task = |work: u64| {
                spawn("task", move || {
                    charge(work * MICROSECOND);
                    settle();
                    now() / MICROSECOND
                })
            };
            let (long, short) = (task(25), task(15));
            (long.join(), short.join())
        })
        .unwrap();
    // long 0-10, short 10-20, long 20-30, short 30-35, long 35-40
    assert_eq!(ends, (40, 35));
}

#[test]
fn a_hot_latch_is_held_for_virtual_time_and_waiters_spin_then_sleep() {
    let cpu = CpuProfile {
        wake_latency_us: 5.0,
        ..CpuProfile::uniform(4)
    };
    let mut simulation = simulation(cpu);
    simulation
        .run(|| {
            let mutex = Arc::new(Mutex::new(LatchClass::Hot, 0u64));
            let handles: Vec<_> = (0..4)
                .map(|_| {
                    let mutex = mutex.clone();
                    spawn("worker", move || {
                        for _ in 0..100 {
                            let mut count = mutex.lock();
                            charge(30 * MICROSECOND);
                            *count += 1;
                            drop(count);
                            charge(MICROSECOND);
                        }
                    })
                })
                .collect();
            for handle in handles {
                handle.join();
            }
            assert_eq!(*mutex.lock(), 400);
        })
        .unwrap();
    let latch = simulation.statistics().latch(LatchClass::Hot);
    assert_eq!(latch.acquired, 401);
    assert_eq!(latch.hold, 400 * 30 * MICROSECOND);
    // The holder is back after 1 µs, before a sleeper has woken: mostly it barges in.
    assert!(latch.contended > 10 && latch.contended < 200, "{latch:?}");
    // A spin lasts 30 rounds of 750 ns on average, less than a hold.
    assert!(latch.slept > 50, "{latch:?}");
    assert!(simulation.now() >= 400 * 30 * MICROSECOND);
    assert!(
        simulation.now() < 500 * 30 * MICROSECOND,
        "{}",
        simulation.now()
    );
}

#[test]
fn a_latch_barges_whoever_asks_first_after_a_release_gets_it() {
    // The holder releases and asks again at the same instant: a FIFO latch would
    // make it wait behind the spinner; here it barges in.
    on_cores(2, || {
        let mutex = Arc::new(Mutex::new(LatchClass::Hot, ()));
        let guard = mutex.lock();
        let waiter = {
            let mutex = mutex.clone();
            spawn("waiter", move || {
                drop(mutex.lock());
                now()
            })
        };
        charge(MICROSECOND);
        settle();
        drop(guard);
        let again = mutex.lock();
        let taken = now();
        assert_eq!(taken, MICROSECOND);
        charge(2 * MICROSECOND);
        drop(again);
        let end = waiter.join();
        assert!((3 * MICROSECOND..5 * MICROSECOND).contains(&end), "{end}");
    });
}

#[test]
fn a_signal_between_reset_and_wait_is_not_lost() {
    on_cores(2, || {
        let event = Arc::new(Event::new());
        let count = event.reset();
        event.set();
        event.reset();
        assert!(event.wait(count, NEVER, WaitKind::Other));
        let count = event.reset();
        let start = now();
        assert!(!event.wait(count, MILLISECOND, WaitKind::Other));
        assert_eq!(now() - start, MILLISECOND);
    });
}

#[test]
fn shared_exclusive_lets_readers_in_and_an_upgrade_waits_for_them() {
    on_cores(4, || {
        let latch = Arc::new(PageLatch::of_class(LatchClass::PageHash));
        let wait = || WaitKind::Latch;
        let reader = latch.lock(LatchMode::S, wait);
        let upgrading = latch.lock(LatchMode::SX, wait);
        assert!(latch.try_lock(LatchMode::X).is_none());
        assert!(latch.try_lock(LatchMode::SX).is_none());
        let second = latch.try_lock(LatchMode::S).expect("S goes with SX");
        let writer = {
            let latch = latch.clone();
            spawn("writer", move || {
                let held = latch.lock(LatchMode::X, || WaitKind::Latch);
                let taken = now();
                // SAFETY: held in X just above.
                unsafe { latch.unlock(LatchMode::X, held) };
                taken
            })
        };
        sleep(MICROSECOND, WaitKind::Other);
        // SAFETY: each is held in the mode named.
        unsafe {
            latch.unlock(LatchMode::S, reader);
            latch.unlock(LatchMode::S, second);
            sleep(MICROSECOND, WaitKind::Other);
            latch.unlock(LatchMode::SX, upgrading);
        }
        assert!(writer.join() >= 2 * MICROSECOND);
        assert!(!latch.is_locked());
    });
}

#[test]
fn everybody_waiting_is_an_error_that_names_them() {
    let error = simulation(CpuProfile::uniform(1))
        .run(|| {
            let event = Event::new();
            let count = event.reset();
            event.wait(count, NEVER, WaitKind::RowLock);
        })
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the simulation stalled at 0 ps: main waits for row_lock"
    );
}

#[test]
fn a_power_cut_unwinds_every_task_and_the_machine_starts_again() {
    let mut simulation = simulation(CpuProfile::uniform(2));
    let outcome = simulation
        .run_until(10 * MILLISECOND, || {
            let mutex = Arc::new(Mutex::new(LatchClass::Hot, 0u64));
            for _ in 0..8 {
                let mutex = mutex.clone();
                spawn("worker", move || {
                    loop {
                        let mut count = mutex.lock();
                        charge(7 * MICROSECOND);
                        *count += 1;
                        drop(count);
                        sleep(3 * MICROSECOND, WaitKind::Other);
                    }
                });
            }
            sleep(SECOND, WaitKind::Other);
        })
        .unwrap();
    assert!(matches!(outcome, Outcome::PowerCut));
    assert_eq!(simulation.now(), 10 * MILLISECOND);
    let end = simulation.run(|| {
        sleep(MILLISECOND, WaitKind::Other);
        now()
    });
    assert_eq!(end.unwrap(), 11 * MILLISECOND);
}

#[test]
fn a_panic_of_a_task_reaches_the_caller_and_unwinds_the_others() {
    let mut simulation = simulation(CpuProfile::uniform(2));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = simulation.run(|| {
            let mutex = Arc::new(Mutex::new(LatchClass::Hot, ()));
            let other = mutex.clone();
            spawn("holder", move || {
                let _guard = other.lock();
                sleep(SECOND, WaitKind::Other);
            });
            sleep(MICROSECOND, WaitKind::Other);
            let _waiting = spawn("waiter", move || drop(mutex.lock()));
            sleep(MICROSECOND, WaitKind::Other);
            panic!("a bug");
        });
    }));
    assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "a bug");
    assert!(!runtime::is_virtual());
    assert_eq!(simulation.run(|| 7).unwrap(), 7);
}

#[test]
fn the_same_seed_draws_the_same_numbers_at_the_same_times() {
    let run = |seed: u64| {
        let mut options = SimulationOptions::new(CpuProfile::uniform(4), seed);
        options.spin = SpinSettings {
            loops: 3,
            ..SpinSettings::default()
        };
        let mut simulation = Simulation::new(&options).unwrap();
        simulation.record_draws();
        simulation
            .run(|| {
                let mutex = Arc::new(Mutex::new(LatchClass::TrxSys, ()));
                let handles: Vec<_> = (0..16)
                    .map(|number| {
                        let mutex = mutex.clone();
                        spawn("worker", move || {
                            let mut stream = runtime::stream(&format!("think {number}"));
                            for _ in 0..50 {
                                drop(mutex.lock());
                                charge(stream.below(3 * MICROSECOND));
                            }
                        })
                    })
                    .collect();
                handles.into_iter().for_each(runtime::JoinHandle::join);
            })
            .unwrap();
        (
            simulation.take_draws(),
            simulation.now(),
            simulation.statistics().clone(),
        )
    };
    let (first, second, other) = (run(1), run(1), run(2));
    use innosim_engine::runtime::virtual_clock::first_difference;
    assert_eq!(first_difference(&first.0, &second.0), None);
    assert_eq!((first.1, &first.2), (second.1, &second.2));
    assert!(first_difference(&first.0, &other.0).is_some());
}
