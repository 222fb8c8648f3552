//! What threads cost each other on this host: cache lines, wake-ups, switches.
//!
//! ```text
//!   line        A writes ──► B sees it, writes ──► A sees it      half of a round trip
//!   wake-up     A: |t0 call t1|
//!               B:  asleep      …      |t2 runs                   t2 - t0
//!   switch      A yields ─ B yields ─ A …      both on one CPU
//! ```
//!
//! Each figure is the lower quartile of many batches: what else runs on the host only makes a
//! batch longer, and a thread that is preempted makes it a thousand times longer. Threads are
//! pinned to CPUs where the figure is about which CPUs they are.

use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use rustix::thread::{CpuSet, sched_setaffinity, sched_yield};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// A figure, and how far the batches are spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// The lower quartile.
    pub value: f64,
    /// The median.
    pub median: f64,
    /// Batches.
    pub batches: usize,
}

impl Figure {
    /// Of batches.
    ///
    /// # Panics
    /// If there is none.
    fn of(mut batches: Vec<f64>) -> Self {
        batches.sort_unstable_by(f64::total_cmp);
        let rank = |share| crate::stats::nearest_rank(&batches, share);
        Figure {
            value: rank(0.25).expect("there are batches"),
            median: rank(0.5).expect("there are batches"),
            batches: batches.len(),
        }
    }
}

/// All figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatchFigures {
    /// A modified line from another core of the socket, ns.
    pub line_same_socket_ns: Option<Figure>,
    /// A modified line from another socket, ns; none where there is one socket.
    pub line_cross_socket_ns: Option<Figure>,
    /// A PAUSE instruction, ns.
    pub pause_ns: Figure,
    /// A yield that finds nobody, µs.
    pub yield_call_us: Figure,
    /// A yield that switches to another thread, less that, µs; none where threads cannot be
    /// pinned.
    pub context_switch_us: Option<Figure>,
    /// The call that wakes a sleeping thread, µs.
    pub wake_call_us: Figure,
    /// From the beginning of that call until the other thread runs, µs.
    pub wake_total_us: Figure,
    /// CPU of the thread that goes to sleep and wakes, µs.
    pub sleep_cycle_cpu_us: Figure,
    /// What a sleep of a millisecond takes beyond that, µs.
    pub timer_slack_us: Figure,
}

impl LatchFigures {
    /// From the end of the call that wakes to the woken thread being ready: the whole less the
    /// call and the switch, µs.
    pub fn wake_latency_us(&self) -> f64 {
        (self.wake_total_us.value - self.wake_call_us.value - self.switch_us()).max(0.0)
    }

    /// CPU to go to sleep: a sleeper's cycle less the switch back to it, µs.
    pub fn sleep_call_us(&self) -> f64 {
        (self.sleep_cycle_cpu_us.value - self.switch_us()).max(0.0)
    }

    fn switch_us(&self) -> f64 {
        self.context_switch_us.map_or(0.0, |figure| figure.value)
    }
}

/// Measures everything, with so many batches of each kind.
pub fn measure(batches: usize) -> LatchFigures {
    let cpus = Cpu::all();
    let (near, far) = pairs(&cpus);
    let yield_call_us = Figure::of(yields(batches));
    let switches = cpus.first().map(|cpu| switches(cpu.number, batches));
    let (call, total, cycle) = wake_ups(near.or(far), batches);
    LatchFigures {
        line_same_socket_ns: near.map(|pair| Figure::of(lines(pair, batches))),
        line_cross_socket_ns: far.map(|pair| Figure::of(lines(pair, batches))),
        pause_ns: Figure::of(pauses(batches)),
        context_switch_us: switches.map(|each| {
            let less = |value: f64| (value - yield_call_us.value).max(0.0);
            Figure::of(each.into_iter().map(less).collect())
        }),
        yield_call_us,
        wake_call_us: Figure::of(call),
        wake_total_us: Figure::of(total),
        sleep_cycle_cpu_us: Figure::of(cycle),
        timer_slack_us: Figure::of(slack(batches.min(200))),
    }
}

/// A CPU of the system, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cpu {
    number: usize,
    socket: u32,
    core: u32,
}

impl Cpu {
    /// Those that this process may run on.
    fn all() -> Vec<Cpu> {
        let allowed = rustix::thread::sched_getaffinity(None);
        let file = |cpu: usize, name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}");
            let text = std::fs::read_to_string(path).ok()?;
            text.trim().parse::<u32>().ok()
        };
        let numbers = 0..CpuSet::MAX_CPU;
        let Ok(allowed) = allowed else {
            return Vec::new();
        };
        numbers
            .filter(|&cpu| allowed.is_set(cpu))
            .map(|number| Cpu {
                number,
                socket: file(number, "physical_package_id").unwrap_or(0),
                core: file(number, "core_id").unwrap_or(number as u32),
            })
            .collect()
    }
}

/// Two CPUs on different cores of one socket, and two on different sockets.
fn pairs(cpus: &[Cpu]) -> (Option<[usize; 2]>, Option<[usize; 2]>) {
    let Some(first) = cpus.first() else {
        return (None, None);
    };
    let with = |other: Option<&Cpu>| other.map(|other| [first.number, other.number]);
    let near = |cpu: &&Cpu| cpu.socket == first.socket && cpu.core != first.core;
    let far = |cpu: &&Cpu| cpu.socket != first.socket;
    (with(cpus.iter().find(near)), with(cpus.iter().find(far)))
}

/// Pins this thread; where the system refuses, it runs anywhere.
fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}

fn us(since: Instant) -> f64 {
    since.elapsed().as_nanos() as f64 / 1e3
}

/// Transfers of a line between two CPUs, ns each.
fn lines(cpus: [usize; 2], batches: usize) -> Vec<f64> {
    const ROUNDS: u64 = 1000;
    let line = CachePadded::new(AtomicU64::new(0));
    let last = batches as u64 * ROUNDS * 2;
    thread::scope(|scope| {
        scope.spawn(|| {
            pin(cpus[1]);
            let mut mine = 1;
            while mine < last {
                wait_for(&line, mine);
                line.store(mine + 1, SeqCst);
                mine += 2;
            }
        });
        let measure = scope.spawn(|| {
            pin(cpus[0]);
            let mut times = Vec::with_capacity(batches);
            let mut mine = 0;
            for _ in 0..batches {
                let begin = Instant::now();
                for _ in 0..ROUNDS {
                    wait_for(&line, mine);
                    line.store(mine + 1, SeqCst);
                    mine += 2;
                }
                times.push(us(begin) * 1e3 / (2 * ROUNDS) as f64);
            }
            times
        });
        measure.join().expect("it does not panic")
    })
}

/// Spins until the line has a value; yields now and then, for whom it waits may have no CPU.
fn wait_for(line: &AtomicU64, value: u64) {
    let mut tries = 0u32;
    while line.load(SeqCst) != value {
        tries += 1;
        if tries.is_multiple_of(10_000) {
            sched_yield();
        }
    }
}

fn pauses(batches: usize) -> Vec<f64> {
    const PAUSES: u32 = 2000;
    let batch = |_| {
        let begin = Instant::now();
        for _ in 0..PAUSES {
            spin_loop();
        }
        us(begin) * 1e3 / f64::from(PAUSES)
    };
    (0..batches).map(batch).collect()
}

fn yields(batches: usize) -> Vec<f64> {
    const YIELDS: u32 = 20;
    let batch = |_| {
        let begin = Instant::now();
        for _ in 0..YIELDS {
            sched_yield();
        }
        us(begin) / f64::from(YIELDS)
    };
    (0..batches).map(batch).collect()
}

/// Yields of two threads on one CPU, µs each: both do nothing else.
fn switches(cpu: usize, batches: usize) -> Vec<f64> {
    const YIELDS: u32 = 20;
    let stop = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            pin(cpu);
            while stop.load(SeqCst) == 0 {
                sched_yield();
            }
        });
        let measure = scope.spawn(|| {
            pin(cpu);
            let mut times = Vec::with_capacity(batches);
            for _ in 0..batches {
                let begin = Instant::now();
                for _ in 0..YIELDS {
                    sched_yield();
                }
                // Each of ours comes with one of the other's.
                times.push(us(begin) / f64::from(2 * YIELDS));
            }
            stop.store(1, SeqCst);
            times
        });
        measure.join().expect("it does not panic")
    })
}

/// Wake-ups of a parked thread: the call, from the call until it runs, and the CPU that the
/// thread uses for it; µs.
///
/// The two are on CPUs of their own, as those of a server mostly are: on one CPU the woken
/// thread would take the place of the waker within the call, and nobody would be interrupted.
/// The waker does not sleep either, or the system would soon have both on one CPU.
fn wake_ups(cpus: Option<[usize; 2]>, batches: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let measuring = thread::spawn(move || {
        if let Some([waker, _]) = cpus {
            pin(waker);
        }
        wake_ups_of(cpus.map(|[_, sleeper]| sleeper), batches)
    });
    measuring.join().expect("it does not panic")
}

fn wake_ups_of(cpu_of_sleeper: Option<usize>, batches: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let origin = Instant::now();
    let shared = Arc::new((AtomicU32::new(0), AtomicU64::new(0), AtomicU64::new(0)));
    let (asked, ran_at, cpu) = (&shared.0, &shared.1, &shared.2);
    let sleeper = {
        let shared = shared.clone();
        thread::spawn(move || {
            if let Some(cpu) = cpu_of_sleeper {
                pin(cpu);
            }
            let (asked, ran_at, cpu) = (&shared.0, &shared.1, &shared.2);
            let mut seen = 0;
            loop {
                thread::park();
                let now = origin.elapsed().as_nanos() as u64;
                let number = asked.load(SeqCst);
                if number == u32::MAX {
                    return;
                }
                if number != seen {
                    seen = number;
                    let used = clock_gettime(ClockId::ThreadCPUTime);
                    cpu.store(
                        used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64,
                        SeqCst,
                    );
                    ran_at.store(now, SeqCst);
                }
            }
        })
    };
    let (mut calls, mut totals, mut cycles) = (Vec::new(), Vec::new(), Vec::new());
    let mut cpu_before = None;
    for number in 1..=batches as u32 {
        // Long enough for the other to be asleep, and its CPU with it.
        let idle = Instant::now();
        while us(idle) < 200.0 {
            spin_loop();
        }
        ran_at.store(0, SeqCst);
        asked.store(number, SeqCst);
        let begin = origin.elapsed().as_nanos() as u64;
        sleeper.thread().unpark();
        let called = origin.elapsed().as_nanos() as u64;
        while ran_at.load(SeqCst) == 0 {
            black_box(());
            spin_loop();
        }
        calls.push((called - begin) as f64 / 1e3);
        totals.push(ran_at.load(SeqCst).saturating_sub(begin) as f64 / 1e3);
        let used = cpu.load(SeqCst);
        if let Some(before) = cpu_before.replace(used) {
            cycles.push(used.saturating_sub(before) as f64 / 1e3);
        }
    }
    asked.store(u32::MAX, SeqCst);
    sleeper.thread().unpark();
    sleeper.join().expect("it does not panic");
    (calls, totals, cycles)
}

fn slack(batches: usize) -> Vec<f64> {
    let batch = |_| {
        let begin = Instant::now();
        thread::sleep(Duration::from_millis(1));
        us(begin) - 1000.0
    };
    (0..batches).map(batch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_lower_quartile() {
        let figure = Figure::of(vec![9.0, 1.0, 2.0, 3.0, 1e6, 4.0, 5.0, 6.0]);
        assert_eq!((figure.value, figure.median, figure.batches), (2.0, 4.0, 8));
    }

    #[test]
    fn pairs_are_of_two_cores_and_of_two_sockets() {
        let cpu = |number, socket, core| Cpu {
            number,
            socket,
            core,
        };
        let cpus = [cpu(0, 0, 0), cpu(1, 0, 0), cpu(2, 0, 1), cpu(3, 1, 0)];
        assert_eq!(pairs(&cpus), (Some([0, 2]), Some([0, 3])));
        assert_eq!(pairs(&cpus[..2]), (None, None));
        assert_eq!(pairs(&[]), (None, None));
    }

    #[test]
    fn every_figure_is_a_time() {
        let figures = measure(20);
        let all = [
            Some(figures.pause_ns),
            figures.line_same_socket_ns,
            Some(figures.yield_call_us),
            Some(figures.wake_call_us),
            Some(figures.wake_total_us),
            Some(figures.sleep_cycle_cpu_us),
            Some(figures.timer_slack_us),
        ];
        for figure in all.into_iter().flatten() {
            assert!(figure.value > 0.0 && figure.value.is_finite(), "{figure:?}");
        }
        assert!(figures.wake_latency_us() <= figures.wake_total_us.value);
    }
}
