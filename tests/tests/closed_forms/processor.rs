//! Hardware threads that share a core, slices, and the frequency curve.

use std::sync::Arc;

use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::random::QuantileTable;
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, SECOND, Time};
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_engine::runtime::{
    self, JoinHandle, LatchClass, Mutex, WaitKind, charge, give_way, now, settle, sleep, spawn,
};
use innosim_tests::confidence::Interval;

/// Starts a task for each of the jobs, all at the time 0; returns when each ended.
fn ends_of(cpu: CpuProfile, jobs: Vec<Time>) -> Vec<Time> {
    super::simulation(cpu)
        .run(move || {
            let tasks: Vec<_> = jobs
                .into_iter()
                .map(|work| {
                    spawn("job", move || {
                        charge(work);
                        settle();
                        now()
                    })
                })
                .collect();
            tasks.into_iter().map(JoinHandle::join).collect()
        })
        .expect("every job ends")
}

// ---- SMT siblings ---------------------------------------------------------------

/// One core with two hardware threads: each runs at `rate` while both are busy.
fn siblings(rate: f64) -> CpuProfile {
    CpuProfile {
        threads_per_core: 2,
        smt_rate: vec![1.0, rate],
        time_slice_us: 1e6,
        ..CpuProfile::uniform(1)
    }
}

/// When the jobs end on two siblings, the others waiting in order: between two ends
/// each of the (at most two) jobs in service loses the same amount of work.
fn ends_on_siblings(rate: f64, jobs: &[f64]) -> Vec<f64> {
    let mut ends = vec![0.0; jobs.len()];
    let mut waiting = jobs.iter().copied().enumerate();
    let mut running: Vec<(usize, f64)> = waiting.by_ref().take(2).collect();
    let mut time = 0.0;
    while !running.is_empty() {
        let least = running
            .iter()
            .map(|job| job.1)
            .fold(f64::INFINITY, f64::min);
        time += least / if running.len() == 2 { rate } else { 1.0 };
        running.retain_mut(|(number, left)| {
            *left -= least;
            let ended = *left <= 0.0;
            if ended {
                ends[*number] = time;
            }
            !ended
        });
        while running.len() < 2
            && let Some(next) = waiting.next()
        {
            running.push(next);
        }
    }
    ends
}

#[test]
fn two_jobs_on_siblings_share_the_core_until_one_ends() {
    // 30 and 50 µs at rate 0.6: side by side for 50 µs, then 20 µs alone.
    let ends = ends_of(siblings(0.6), vec![30 * MICROSECOND, 50 * MICROSECOND]);
    for (end, expected) in ends.iter().zip([50 * MICROSECOND, 70 * MICROSECOND]) {
        assert!(end.abs_diff(expected) <= expected / 10_000, "{ends:?}");
    }
}

#[test]
fn jobs_on_siblings_end_when_the_fluid_model_says() {
    for rate in [0.5, 0.6, 0.65, 0.7, 0.83, 1.0] {
        for count in 1..=9_u64 {
            // Sizes from 5 to 200 µs in no order.
            let jobs: Vec<Time> = (0..count)
                .map(|i| (5 + (i * 67 + 31) % 196) * MICROSECOND)
                .collect();
            let sizes: Vec<f64> = jobs.iter().map(|&work| work as f64).collect();
            let expected = ends_on_siblings(rate, &sizes);
            let ends = ends_of(siblings(rate), jobs);
            for (number, (end, expected)) in ends.iter().zip(expected).enumerate() {
                let error = (*end as f64 - expected).abs() / expected;
                assert!(
                    error < 1e-4,
                    "job {number} of {count} at rate {rate}: {end} ps, in theory {expected}"
                );
            }
        }
    }
}

/// Two tasks that in turn sleep and use CPU on two siblings: a closed network of an
/// infinite server and a processor-sharing one whose speed is 1 with one task and
/// 2·rate with two. It has product form, so the distributions do not matter, only the
/// means Z (sleep) and S (CPU): with a = S/Z the chances of 0, 1 and 2 tasks at the
/// CPU are as 1 : 2a : 2a²/(2·rate).
fn closed_throughput(rate: f64, sleep: f64, cpu: f64) -> f64 {
    let a = cpu / sleep;
    let (one, two) = (2.0 * a, a * a / rate);
    (one + 2.0 * rate * two) / (1.0 + one + two) / cpu
}

#[test]
fn two_tasks_on_siblings_have_the_throughput_of_the_closed_network() {
    const RATE: f64 = 0.6;
    const SLEEP: Time = 40 * MICROSECOND;
    const CPU: Time = 60 * MICROSECOND;
    const WINDOW: Time = 50 * MILLISECOND;
    const WINDOWS: usize = 100;
    let tables = [
        ("exponential", QuantileTable::exponential()),
        ("lognormal", QuantileTable::lognormal(1.5)),
        ("constant", QuantileTable::lognormal(0.0)),
    ];
    for (name, table) in tables {
        let tasks = super::simulation(siblings(RATE)).run(move || {
            let tasks: Vec<_> = (0..2)
                .map(|number| {
                    let table = table.clone();
                    spawn("task", move || {
                        let mut stream = runtime::stream(&format!("task {number}"));
                        let mut done = vec![0.0; WINDOWS];
                        loop {
                            sleep(
                                (stream.exponential() * SLEEP as f64) as Time,
                                WaitKind::Other,
                            );
                            charge((stream.draw(&table) * CPU as f64) as Time);
                            settle();
                            match done.get_mut((now() / WINDOW) as usize) {
                                Some(count) => *count += 1.0,
                                None => return done,
                            }
                        }
                    })
                })
                .collect();
            tasks.into_iter().map(JoinHandle::join).collect::<Vec<_>>()
        });
        let counts = tasks.expect("both end");
        let rates: Vec<f64> = (0..WINDOWS)
            .map(|i| (counts[0][i] + counts[1][i]) / (WINDOW / MILLISECOND) as f64)
            .collect();
        Interval::of_independent(&rates).assert_is(
            closed_throughput(RATE, SLEEP as f64, CPU as f64) * MILLISECOND as f64,
            0.02,
            &format!("throughput with {name} CPU, in 1/ms"),
        );
    }
}

// ---- slices ---------------------------------------------------------------------

const SLICE: Time = 10 * MICROSECOND;

fn sliced(cores: u32) -> CpuProfile {
    CpuProfile {
        time_slice_us: 10.0,
        ..CpuProfile::uniform(cores)
    }
}

#[test]
fn equal_jobs_take_turns_slice_by_slice() {
    // Slice i of job j is number i·n + j of all; c of them run at a time.
    for cores in 1..=4_u64 {
        for jobs in cores..=9 {
            let slices = 5;
            let ends = ends_of(sliced(cores as u32), vec![slices * SLICE; jobs as usize]);
            for (j, end) in (0..jobs).zip(ends) {
                let number = (slices - 1) * jobs + j;
                let expected = (number / cores + 1) * SLICE;
                assert_eq!(end, expected, "job {j} of {jobs} on {cores} cores");
            }
        }
    }
}

/// Round robin by the book: the queue in rounds, each core in turn.
fn ends_in_turns(cores: usize, jobs: &[Time]) -> Vec<Time> {
    let mut ends = vec![0; jobs.len()];
    let mut queue: std::collections::VecDeque<(usize, Time)> =
        jobs.iter().copied().enumerate().collect();
    // What each core does: until when, the job, and what is then left of it.
    let mut running: Vec<(Time, usize, Time)> = Vec::new();
    let mut time = 0;
    loop {
        while running.len() < cores
            && let Some((number, left)) = queue.pop_front()
        {
            let part = left.min(SLICE);
            running.push((time + part, number, left - part));
        }
        let Some(first) = (0..running.len()).min_by_key(|&i| running[i].0) else {
            return ends;
        };
        let (end, number, left) = running.remove(first);
        time = end;
        if left == 0 {
            ends[number] = end;
        } else {
            queue.push_back((number, left));
        }
    }
}

#[test]
fn unequal_jobs_end_as_round_robin_says() {
    for cores in 1..=4 {
        for count in [5_u64, 8, 13] {
            // No two slices end at the same instant but by chance of the sizes, which
            // are no multiples of a slice and differ in their last digits.
            let jobs: Vec<Time> = (0..count)
                .map(|i| (7 + (i * 37 + 11) % 91) * MICROSECOND + (i + 1) * 1_001)
                .collect();
            let ends = ends_of(sliced(cores), jobs.clone());
            assert_eq!(
                ends,
                ends_in_turns(cores as usize, &jobs),
                "{count} jobs on {cores} cores"
            );
        }
    }
}

#[test]
fn a_context_switch_is_charged_each_time_a_task_gets_a_core() {
    let cpu = CpuProfile {
        context_switch_us: 1.0,
        ..sliced(1)
    };
    // Each job of 36 µs gets 9 µs out of each slice of 10. Main has switched in once
    // before, and the first job starts while main still waits for its end: 1 + 8 · 10.
    let ends = ends_of(cpu, vec![36 * MICROSECOND; 2]);
    assert_eq!(ends, [71 * MICROSECOND, 81 * MICROSECOND]);
}

#[test]
fn caches_are_cold_after_another_task_and_warm_after_a_pause() {
    let cpu = CpuProfile {
        cold_cache_us: 2.0,
        ..sliced(1)
    };
    // As above with 8 µs of each slice; the first job is 2 + 8 in its first slice, too.
    let ends = ends_of(cpu.clone(), vec![32 * MICROSECOND; 2]);
    assert_eq!(ends, [72 * MICROSECOND, 82 * MICROSECOND]);
    // Nobody else runs while it sleeps.
    let cpu = CpuProfile {
        time_slice_us: 1e6,
        ..cpu
    };
    let elapsed = super::simulation(cpu)
        .run(|| {
            let begin = now();
            for _ in 0..5 {
                charge(3 * MICROSECOND);
                sleep(4 * MICROSECOND, WaitKind::Other);
            }
            now() - begin
        })
        .unwrap();
    assert_eq!(elapsed, 5 * 7 * MICROSECOND);
}

#[test]
fn who_gives_way_queues_behind_those_that_are_ready_and_pays_nothing() {
    let cpu = CpuProfile {
        time_slice_us: 1e6,
        ..CpuProfile::uniform(1)
    };
    let rounds = |tasks: u64| {
        let order: Arc<Mutex<Vec<u64>>> = Arc::new(Mutex::new(LatchClass::Plain, Vec::new()));
        let log = order.clone();
        let elapsed = super::simulation(cpu.clone())
            .run(move || {
                let all: Vec<_> = (0..tasks)
                    .map(|number| {
                        let log = log.clone();
                        spawn("gives way", move || {
                            for _ in 0..3 {
                                charge(5 * MICROSECOND);
                                settle();
                                log.lock().push(number);
                                give_way();
                            }
                        })
                    })
                    .collect();
                all.into_iter().for_each(JoinHandle::join);
                now()
            })
            .unwrap();
        let order = std::mem::take(&mut *order.lock());
        (elapsed, order)
    };
    assert_eq!(rounds(1), (15 * MICROSECOND, vec![0, 0, 0]));
    let expected = vec![0, 1, 2, 0, 1, 2, 0, 1, 2];
    assert_eq!(rounds(3), (45 * MICROSECOND, expected));
}

/// A task takes a hot latch at the beginning of its slice and holds it for `hold` of
/// CPU; the next in turn wants it and sleeps; `hogs` more tasks use up their slices.
/// Returns the wait for the latch.
fn wait_behind_a_cut_holder(hold: Time, hogs: u64) -> Time {
    let mut options = SimulationOptions::new(sliced(1), 1);
    options.spin.loops = 0;
    let mut simulation = Simulation::new(&options).unwrap();
    simulation
        .run(move || {
            let latch = Arc::new(Mutex::new(LatchClass::Hot, ()));
            let (held, wanted) = (latch.clone(), latch);
            let holder = spawn("holder", move || {
                let guard = held.lock();
                charge(hold);
                settle();
                drop(guard);
                now()
            });
            let waiter = spawn("waiter", move || drop(wanted.lock()));
            for _ in 0..hogs {
                spawn("hog", || charge(SECOND));
            }
            waiter.join();
            holder.join()
        })
        .unwrap();
    let latch = simulation.statistics().latch(LatchClass::Hot);
    assert_eq!((latch.acquired, latch.contended), (2, 1));
    latch.wait
}

#[test]
fn a_holder_that_is_cut_off_makes_its_waiter_wait_a_round_for_each_slice() {
    // With a slice of 10 µs and h hogs a hold of 25 µs takes three slices, between
    // which the hogs have theirs. The waiter asks when the first has ended and is
    // woken in the middle of the third; then the holder ends, but the hogs are first.
    for hogs in 0..6 {
        let released = 2 * (1 + hogs) * SLICE + SLICE / 2;
        let asked = SLICE;
        let runs_again = hogs * SLICE;
        assert_eq!(
            wait_behind_a_cut_holder(25 * MICROSECOND, hogs),
            released - asked + runs_again,
            "{hogs} hogs"
        );
    }
}

#[test]
fn a_holder_that_is_not_cut_off_is_never_waited_for_on_one_core() {
    let cpu = CpuProfile {
        time_slice_us: 30.0,
        ..CpuProfile::uniform(1)
    };
    let mut simulation = super::simulation(cpu);
    simulation
        .run(|| {
            let latch = Arc::new(Mutex::new(LatchClass::Hot, ()));
            let tasks: Vec<_> = (0..5)
                .map(|_| {
                    let latch = latch.clone();
                    spawn("task", move || {
                        let guard = latch.lock();
                        charge(25 * MICROSECOND);
                        drop(guard);
                    })
                })
                .collect();
            tasks.into_iter().for_each(JoinHandle::join);
        })
        .unwrap();
    assert_eq!(simulation.now(), 125 * MICROSECOND);
    assert_eq!(simulation.statistics().latch(LatchClass::Hot).contended, 0);
}

// ---- frequency ------------------------------------------------------------------

/// How long `tasks` always busy tasks take for a millisecond of work each, in pieces.
fn length_of_a_millisecond(turbo: &[(u32, f64)], tasks: u64) -> Time {
    const PIECES: u64 = 1_000;
    let cpu = CpuProfile {
        turbo: turbo.to_vec(),
        ..CpuProfile::uniform(10)
    };
    let ends: Vec<Time> = super::simulation(cpu)
        .run(move || {
            let tasks: Vec<_> = (0..tasks)
                .map(|_| {
                    spawn("busy", || {
                        for _ in 0..PIECES {
                            charge(MILLISECOND / PIECES);
                            settle();
                        }
                        now()
                    })
                })
                .collect();
            tasks.into_iter().map(JoinHandle::join).collect()
        })
        .unwrap();
    assert!(ends.iter().all(|&end| end == ends[0]), "{ends:?}");
    // The end of each piece is rounded up to a picosecond.
    ends[0] - PIECES / 2
}

#[test]
fn busy_tasks_do_the_work_that_the_frequency_curve_says() {
    // Factors in 256ths are met exactly: 1, 15/16, 14/16, 13/16, 12/16, 11.5/16 …
    let exact = [(1, 1.0), (5, 0.75), (9, 0.625)];
    for tasks in 1..=10 {
        let speed = match tasks {
            1..=5 => 1.0 - 0.0625 * (tasks - 1) as f64,
            6..=9 => 0.75 - 0.03125 * (tasks - 5) as f64,
            _ => 0.625,
        };
        let length = length_of_a_millisecond(&exact, tasks) as f64;
        let throughput = tasks as f64 * MILLISECOND as f64 / length;
        let theory = tasks as f64 * speed;
        assert!(
            (throughput / theory - 1.0).abs() < 1e-6,
            "{tasks} tasks do the work of {throughput}, in theory {theory}"
        );
    }
    // Any other is rounded to a 256th.
    let rounded = [(1, 1.0), (7, 0.8123), (10, 0.7)];
    let profile = CpuProfile {
        turbo: rounded.to_vec(),
        ..CpuProfile::uniform(10)
    };
    for tasks in 1..=10 {
        let speed = MILLISECOND as f64 / length_of_a_millisecond(&rounded, tasks) as f64;
        let error = (speed - profile.speed(tasks as usize)).abs();
        assert!(error < 0.5 / 256.0 + 1e-6, "{tasks} tasks: speed {speed}");
    }
}
