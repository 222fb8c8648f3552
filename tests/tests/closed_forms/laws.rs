//! Laws that hold for every single run, whatever is random in it: the utilisation law
//! (busy servers = throughput × demand) and Little's law (number inside = throughput ×
//! time inside), on a run with everything in it.
//!
//! The left sides are areas that the processor keeps, the right sides are added up
//! task by task: what is counted twice must come out the same, to the picosecond.

use std::sync::Arc;

use innosim_engine::runtime::profile::{CpuProfile, SpinSettings};
use innosim_engine::runtime::random::QuantileTable;
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, SECOND, Time};
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions, SimulationStatistics};
use innosim_engine::runtime::{
    self, JoinHandle, LatchClass, Mutex, WaitKind, charge, now, settle, sleep, spawn,
};
use innosim_tests::confidence::Interval;

/// What the tasks did, by their own count.
#[derive(Default, Clone, Copy)]
struct Done {
    rounds: u64,
    charged: Time,
    charged_in_latch: Time,
    latched: u64,
    slept: Time,
    lived: Time,
}

const TASKS: u64 = 24;
const ROUNDS: u64 = 2_000;

/// More tasks than hardware threads in turn charge, hold a hot latch, and sleep.
fn mixed_run(cpu: CpuProfile, spin: SpinSettings) -> (SimulationStatistics, Time, Done) {
    let mut options = SimulationOptions::new(cpu, 1);
    options.spin = spin;
    let mut simulation = Simulation::new(&options).expect("the profile is valid");
    let total = simulation
        .run(|| {
            let latch = Arc::new(Mutex::new(LatchClass::Hot, ()));
            let demand = QuantileTable::lognormal(1.0);
            let born = now();
            let tasks: Vec<_> = (0..TASKS)
                .map(|number| {
                    let (latch, demand) = (latch.clone(), demand.clone());
                    spawn("task", move || {
                        let mut stream = runtime::stream(&format!("task {number}"));
                        let mut done = Done::default();
                        for _ in 0..ROUNDS {
                            let mut draw =
                                |mean: Time| (stream.draw(&demand) * mean as f64) as Time;
                            let (outside, inside) = (draw(40 * MICROSECOND), draw(2 * MICROSECOND));
                            let rest = draw(30 * MICROSECOND);
                            charge(outside);
                            let guard = latch.lock();
                            charge(inside);
                            drop(guard);
                            sleep(rest, WaitKind::LogSync);
                            done.rounds += 1;
                            done.charged += outside + inside;
                            done.charged_in_latch += inside;
                            done.latched += 1;
                            done.slept += rest;
                        }
                        done.lived = now() - born;
                        done
                    })
                })
                .collect();
            tasks
                .into_iter()
                .map(JoinHandle::join)
                .fold(Done::default(), |sum, done| Done {
                    rounds: sum.rounds + done.rounds,
                    charged: sum.charged + done.charged,
                    charged_in_latch: sum.charged_in_latch + done.charged_in_latch,
                    latched: sum.latched + done.latched,
                    slept: sum.slept + done.slept,
                    lived: sum.lived + done.lived,
                })
        })
        .expect("nobody waits for ever");
    (simulation.statistics().clone(), simulation.now(), total)
}

fn spent(statistics: &SimulationStatistics, kind: WaitKind) -> Time {
    statistics.ended_time()[kind as usize]
}

#[test]
fn busy_time_is_the_sum_of_the_demands() {
    // Nothing but the charges uses CPU: waiters do not spin, switches are free.
    let spin = SpinSettings {
        loops: 0,
        ..SpinSettings::default()
    };
    let cpu = CpuProfile {
        time_slice_us: 20.0,
        wake_latency_us: 3.0,
        ..CpuProfile::uniform(6)
    };
    let (statistics, end, done) = mixed_run(cpu, spin);
    assert_eq!(statistics.busy, done.charged);
    assert_eq!(statistics.busy, spent(&statistics, WaitKind::Cpu));
    // The cores were busy, the run queue was used, holders were cut off.
    let utilisation = statistics.busy as f64 / (6 * end) as f64;
    assert!((0.8..1.0).contains(&utilisation), "{utilisation}");
    assert!(statistics.preemptions > 1_000);
    // The latch is a server too: its time in use is its throughput × hold. Where
    // holders are cut off, the time they wait for a core is part of it.
    let latch = statistics.latch(LatchClass::Hot);
    assert_eq!(latch.acquired, done.latched);
    assert!(latch.hold > done.charged_in_latch && latch.hold < end);
}

#[test]
fn a_latch_is_in_use_for_the_sum_of_its_holds() {
    // A core for each task: a hold is what is charged in it.
    let (statistics, _, done) = mixed_run(
        CpuProfile::uniform(TASKS as u32),
        SpinSettings {
            loops: 1_000_000,
            ..SpinSettings::default()
        },
    );
    let latch = statistics.latch(LatchClass::Hot);
    assert_eq!(latch.hold, done.charged_in_latch);
    assert_eq!((statistics.queued, statistics.preemptions), (0, 0));
    // Spinning burns CPU that is booked as waiting: busy = CPU + spinning.
    assert_eq!(spent(&statistics, WaitKind::Cpu), done.charged);
    assert!(latch.slept == 0 && latch.contended > 1_000, "{latch:?}");
    assert_eq!(latch.wait, spent(&statistics, WaitKind::Latch));
    assert_eq!(statistics.busy, done.charged + latch.wait);
}

#[test]
fn the_mean_run_queue_is_the_throughput_times_the_wait() {
    let cpu = CpuProfile {
        sockets: 2,
        cores_per_socket: 3,
        threads_per_core: 2,
        smt_rate: vec![1.0, 0.65],
        turbo: vec![(1, 1.0), (6, 0.8)],
        time_slice_us: 25.0,
        context_switch_us: 1.0,
        wake_latency_us: 3.0,
        ..CpuProfile::uniform(1)
    };
    let (statistics, end, done) = mixed_run(cpu, SpinSettings::default());
    // N = X·W for the run queue, and both sides times the length of the run.
    assert!(statistics.queued > end, "the run queue was not empty");
    assert_eq!(statistics.queued, spent(&statistics, WaitKind::RunQueue));
    // For the sleepers W is what they asked for; timers are exact here.
    assert_eq!(done.slept, spent(&statistics, WaitKind::LogSync));
    // And for the tasks as a whole: each is somewhere from its birth to its end, main
    // from the first to the last.
    let all: Time = statistics.ended_time().iter().sum();
    assert_eq!(all, done.lived + end);
    // Work takes longer than its demand: siblings, frequency, context switches.
    assert!(spent(&statistics, WaitKind::Cpu) > done.charged * 10 / 9);
}

/// The response time law X = N/(R + Z) on a closed system, and its throughput by the
/// machine-repair model.
#[test]
fn a_closed_system_obeys_the_response_time_law() {
    const SLEEP: Time = 300 * MICROSECOND;
    const DEMAND: Time = 40 * MICROSECOND;
    const LENGTH: Time = SECOND;
    for tasks in [1_u64, 4, 8, 16] {
        let mut simulation = super::simulation(CpuProfile {
            time_slice_us: 1e6,
            ..CpuProfile::uniform(1)
        });
        let cycles: Vec<(Time, f64, f64)> = simulation
            .run(move || {
                let tasks: Vec<_> = (0..tasks)
                    .map(|number| {
                        spawn("task", move || {
                            let mut stream = runtime::stream(&format!("task {number}"));
                            let mut cycles = Vec::new();
                            while now() < LENGTH {
                                let rest = (stream.exponential() * SLEEP as f64) as Time;
                                // The response begins when the timer goes off, not
                                // when the task has got a core to notice.
                                let start = now() + rest;
                                sleep(rest, WaitKind::Other);
                                charge((stream.exponential() * DEMAND as f64) as Time);
                                settle();
                                cycles.push((now(), (now() - start) as f64, rest as f64));
                            }
                            cycles
                        })
                    })
                    .collect();
                tasks.into_iter().flat_map(JoinHandle::join).collect()
            })
            .unwrap();
        // Throughput in 1/ps, by windows.
        const WINDOW: Time = 10 * MILLISECOND;
        let mut rates = vec![0.0; (LENGTH / WINDOW) as usize];
        for (end, ..) in &cycles {
            if let Some(rate) = rates.get_mut((end / WINDOW) as usize) {
                *rate += 1.0 / WINDOW as f64;
            }
        }
        let throughput = Interval::of_independent(&rates);
        // The machine-repair model (M/M/1//N): the chance that n are at the CPU goes as
        // N!/(N − n)! (D/Z)^n.
        let ratio = DEMAND as f64 / SLEEP as f64;
        let mut weight = 1.0;
        let mut sum = 1.0;
        for n in 0..tasks {
            weight *= (tasks - n) as f64 * ratio;
            sum += weight;
        }
        let theory = (1.0 - 1.0 / sum) / DEMAND as f64;
        let what = format!("throughput of {tasks} tasks, in 1/ps");
        throughput.assert_is(theory, 0.08, &what);
        // The law is about this run: its mean response and its mean sleep. Only the
        // cycle in which each task was at the end is counted in part.
        let mean = |value: fn(&(Time, f64, f64)) -> f64| {
            cycles.iter().map(value).sum::<f64>() / cycles.len() as f64
        };
        let (response, rest) = (mean(|cycle| cycle.1), mean(|cycle| cycle.2));
        let law = tasks as f64 / throughput.mean - rest;
        let edge = 2.0 * tasks as f64 / cycles.len() as f64;
        let error = (response - law).abs() / (response + rest);
        assert!(
            error < edge,
            "R = {response}, N/X − Z = {law} with {tasks} tasks"
        );
    }
}
