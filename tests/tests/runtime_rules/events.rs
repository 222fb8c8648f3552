//! A wake-up is not lost, under either clock.
//!
//! Two or more tasks pass a turn around. Whoever waits has seen that it is not its
//! turn *before* it waits, and the turn may come between the two: only the signal
//! count tells it. A lost wake-up would be a wait that ends with its time limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use innosim_engine::runtime::profile::{Broadcast, CpuProfile};
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, NEVER, SECOND, Time};
use innosim_engine::runtime::{
    self, Event, JoinHandle, WaitKind, charge, is_virtual, now, sleep, spawn,
};

use super::{on_cores, simulation};

/// `tasks` tasks take `turns` turns in order, with one event for all of them.
fn pass_the_turn(tasks: u64, turns: u64) {
    let turn = Arc::new(AtomicU64::new(0));
    let event = Arc::new(Event::new());
    let handles: Vec<_> = (0..tasks)
        .map(|me| {
            let (turn, event) = (turn.clone(), event.clone());
            spawn("player", move || {
                let mut stream = runtime::stream(&format!("player {me}"));
                loop {
                    // Virtual time passes here and there, so that the signal falls
                    // between the steps of the others; no real time does.
                    charge(stream.below(3 * MICROSECOND));
                    let count = event.reset();
                    charge(stream.below(3 * MICROSECOND));
                    let now = turn.load(SeqCst);
                    if now >= turns {
                        return;
                    }
                    if now % tasks == me {
                        turn.store(now + 1, SeqCst);
                        event.set();
                    } else {
                        charge(stream.below(3 * MICROSECOND));
                        let woken = event.wait(count, 20 * SECOND, WaitKind::Other);
                        assert!(woken, "the wake-up of turn {now} was lost");
                    }
                }
            })
        })
        .collect();
    handles.into_iter().for_each(JoinHandle::join);
    assert_eq!(turn.load(SeqCst), turns);
}

#[test]
fn no_wake_up_is_lost_between_os_threads() {
    assert!(!is_virtual());
    pass_the_turn(2, 5_000);
    pass_the_turn(5, 2_000);
}

#[test]
fn no_wake_up_is_lost_between_tasks() {
    for cores in [1, 2, 4] {
        let cpu = CpuProfile {
            time_slice_us: 1.0,
            wake_latency_us: 2.0,
            sleep_call_us: 1.0,
            ..CpuProfile::uniform(cores)
        };
        let mut simulation = simulation(cpu);
        simulation
            .run(|| {
                pass_the_turn(2, 2_000);
                pass_the_turn(5, 2_000);
            })
            .unwrap();
        // No wait ended with its time limit: that is 20 s.
        assert!(simulation.now() < SECOND);
    }
}

/// When each of three tasks that wait for an event goes on, and the one that sets it, in
/// µs after the set.
fn going_on_after(broadcast: Broadcast) -> (Vec<u64>, u64) {
    let cpu = CpuProfile {
        wake_latency_us: 10.0,
        wake_call_us: 3.0,
        broadcast,
        ..CpuProfile::uniform(8)
    };
    simulation(cpu)
        .run(|| {
            let event = Arc::new(Event::new());
            let wait = |_| {
                let event = event.clone();
                spawn("waiter", move || {
                    // Their time is over while the later ones are still to be woken: they
                    // have been signalled.
                    assert!(event.wait(
                        event.reset(),
                        MILLISECOND + 15 * MICROSECOND,
                        WaitKind::Other
                    ));
                    now()
                })
            };
            let waiters: Vec<_> = (0..3).map(wait).collect();
            sleep(MILLISECOND, WaitKind::Other);
            let start = now();
            event.set();
            runtime::settle();
            let set = now() - start;
            let woken = waiters.into_iter().map(|waiter| waiter.join() - start);
            (
                woken.map(|at| at / MICROSECOND).collect(),
                set / MICROSECOND,
            )
        })
        .unwrap()
}

#[test]
fn a_broadcast_wakes_all_or_each_wakes_the_next() {
    // Calls of 3 µs one after the other, each task ready 10 µs after its own.
    assert_eq!(going_on_after(Broadcast::WakeAll), (vec![13, 16, 19], 9));
    // One call; who is woken calls the next before it goes on.
    assert_eq!(going_on_after(Broadcast::Requeue), (vec![16, 29, 39], 3));
}

#[test]
fn only_the_count_of_the_reset_before_the_look_saves_the_wake_up() {
    // The wrong order, look first and reset then, does lose it: so the tests above
    // could fail.
    on_cores(2, || {
        let event = Event::new();
        // Looked: not yet. Now the other side sets it, and the reset comes too late.
        event.set();
        let late = event.reset();
        assert!(!event.wait(late, MILLISECOND, WaitKind::Other));
        let early = event.reset();
        event.set();
        event.reset();
        assert!(event.wait(early, MILLISECOND, WaitKind::Other));
    });
}

/// A set that comes while the waiter is on its way to sleep, at every instant of it.
#[test]
fn a_signal_on_the_way_to_sleep_is_not_lost() {
    for at in (0..60).map(|tenth| (2 * tenth + 1) * MICROSECOND / 20) {
        let cpu = CpuProfile {
            sleep_call_us: 3.0,
            ..CpuProfile::uniform(2)
        };
        let woken_at: Time = simulation(cpu)
            .run(move || {
                let event = Arc::new(Event::new());
                let signalled = event.clone();
                let waiter = spawn("waiter", move || {
                    let count = event.reset();
                    charge(MICROSECOND);
                    assert!(event.wait(count, NEVER, WaitKind::Other));
                    now()
                });
                sleep(at, WaitKind::Other);
                signalled.set();
                waiter.join()
            })
            .unwrap();
        // Up to 1 µs it works, then until 4 µs it goes to sleep and looks once more.
        let expected = match at {
            ..MICROSECOND => MICROSECOND,
            _ => at.max(4 * MICROSECOND),
        };
        assert_eq!(woken_at, expected, "signal at {at} ps");
    }
}

#[test]
fn a_set_event_lets_everybody_through_until_it_is_reset() {
    fn check() {
        let event = Arc::new(Event::new());
        let count = event.reset();
        let waiters: Vec<_> = (0..8)
            .map(|_| {
                let event = event.clone();
                spawn("waiter", move || {
                    event.wait(count, 20 * SECOND, WaitKind::Other)
                })
            })
            .collect();
        event.set();
        assert!(waiters.into_iter().all(JoinHandle::join));
        // Set while set counts once, and the count is as good as the flag.
        event.set();
        assert!(event.wait(count, NEVER, WaitKind::Other));
        let again = event.reset();
        assert_ne!(count, again);
        assert!(event.wait(count, NEVER, WaitKind::Other));
        assert!(!event.wait(again, MICROSECOND, WaitKind::Other));
    }
    check();
    on_cores(3, check);
}
