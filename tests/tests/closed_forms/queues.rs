//! The run queue as the queues of the textbooks: M/M/1, M/M/c, processor sharing.
//!
//! A job arrives, uses CPU for an exponential time, and is gone. The discipline is
//! the slice's: with a slice longer than any job the run queue is first come, first
//! served; with a slice much shorter than a job it shares the processor.
//!
//! A source task on the same cores would queue for them like any job, and what it
//! emits would not be a Poisson stream. So the moments of arrival are drawn first,
//! and each job sleeps until its own: a timer needs no CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::random::Stream;
use innosim_engine::runtime::time::{MICROSECOND, Time};
use innosim_engine::runtime::{JoinHandle, WaitKind, charge, now, settle, sleep, spawn};
use innosim_tests::confidence::Interval;

/// A mean service of 50 µs: many debts of CPU, and 50 of the shortest slices.
const SERVICE: Time = 50 * MICROSECOND;

#[derive(Debug, Clone, Copy)]
struct Job {
    arrival: Time,
    service: Time,
    end: Time,
}

impl Job {
    fn sojourn(&self) -> f64 {
        (self.end - self.arrival) as f64 / SERVICE as f64
    }

    fn size(&self) -> f64 {
        self.service as f64 / SERVICE as f64
    }

    fn wait(&self) -> f64 {
        (self.end - self.arrival - self.service) as f64 / SERVICE as f64
    }
}

/// A Poisson stream of exponential jobs that keep one server busy for `load` of the
/// time (or `load` servers, if it is above 1).
fn poisson_jobs(count: usize, load: f64) -> Vec<Job> {
    let mut gaps = Stream::new(1, "gaps between arrivals");
    let mut services = Stream::new(1, "services");
    let mut arrival = 0;
    (0..count)
        .map(|_| {
            arrival += (gaps.exponential() * SERVICE as f64 / load) as Time;
            let service = (services.exponential() * SERVICE as f64) as Time;
            Job {
                arrival,
                service,
                end: 0,
            }
        })
        .collect()
}

/// Lets the jobs happen on this processor; fills in when each ended.
fn simulate(cpu: CpuProfile, jobs: Vec<Job>) -> Vec<Job> {
    // A worker takes the next job of all when it has done its last. There are more
    // workers than there are ever jobs in the system, so one is always in time.
    const WORKERS: usize = 300;
    let mut jobs = jobs;
    let plan = Arc::new(jobs.clone());
    let ends = super::simulation(cpu).run(move || {
        let next = Arc::new(AtomicUsize::new(0));
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| {
                let (plan, next) = (plan.clone(), next.clone());
                spawn("worker", move || {
                    let mut ends = Vec::new();
                    loop {
                        let number = next.fetch_add(1, Relaxed);
                        let Some(job) = plan.get(number) else {
                            return ends;
                        };
                        assert!(now() <= job.arrival, "too few workers");
                        sleep(job.arrival - now(), WaitKind::Other);
                        charge(job.service);
                        settle();
                        ends.push((number, now()));
                    }
                })
            })
            .collect();
        workers.into_iter().flat_map(JoinHandle::join).collect()
    });
    let ends: Vec<(usize, Time)> = ends.expect("every job ends");
    for (number, end) in ends {
        jobs[number].end = end;
    }
    jobs
}

/// A processor whose slices are longer than any job.
fn first_come_first_served(cores: u32) -> CpuProfile {
    CpuProfile {
        time_slice_us: 1e6,
        ..CpuProfile::uniform(cores)
    }
}

/// When the jobs end if `servers` serve them in the order of arrival (Lindley's
/// recursion for one server, Kiefer and Wolfowitz's for more).
fn ends_in_order_of_arrival(jobs: &[Job], servers: usize) -> Vec<Time> {
    let mut free_at = vec![0; servers];
    jobs.iter()
        .map(|job| {
            let first = free_at.iter_mut().min().expect("there is a server");
            *first = job.arrival.max(*first) + job.service;
            *first
        })
        .collect()
}

/// Sums over regeneration cycles (a cycle begins with a job that finds the system
/// empty) of two values of each job.
fn cycles(jobs: &[Job], values: impl Fn(&Job) -> (f64, f64)) -> Vec<(f64, f64)> {
    let mut cycles = Vec::new();
    let mut all_gone = 0;
    for job in jobs {
        if job.arrival >= all_gone {
            cycles.push((0.0, 0.0));
        }
        let sums = cycles.last_mut().expect("the first job finds it empty");
        let (above, below) = values(job);
        sums.0 += above;
        sums.1 += below;
        all_gone = all_gone.max(job.end);
    }
    // The last cycle may be cut short.
    cycles.pop();
    cycles
}

/// The probability that a job must wait in M/M/c at this load (Erlang's C formula).
fn erlang_c(servers: u32, load: f64) -> f64 {
    let mut blocking = 1.0;
    for n in 1..=servers {
        blocking = load * blocking / (f64::from(n) + load * blocking);
    }
    let utilisation = load / f64::from(servers);
    blocking / (1.0 - utilisation + utilisation * blocking)
}

#[test]
fn erlang_c_has_its_known_values() {
    // One server: the utilisation. Two: 2ρ²/(1+ρ). Four at 3.2: 0.5964 (tables).
    assert!((erlang_c(1, 0.8) - 0.8).abs() < 1e-12);
    assert!((erlang_c(2, 1.6) - 2.0 * 0.64 / 1.8).abs() < 1e-12);
    assert!((erlang_c(4, 3.2) - 0.5964).abs() < 1e-4);
}

fn check_first_come_first_served(servers: u32, load: f64, jobs: usize, narrow: f64) {
    let jobs = simulate(first_come_first_served(servers), poisson_jobs(jobs, load));
    let ends = ends_in_order_of_arrival(&jobs, servers as usize);
    for (number, (job, end)) in jobs.iter().zip(ends).enumerate() {
        assert_eq!(job.end, end, "end of job {number} on {servers} cores");
    }
    let wait = erlang_c(servers, load) / (f64::from(servers) - load);
    let interval = Interval::of_cycles(&cycles(&jobs, |job| (job.wait(), 1.0)));
    let what = format!("mean wait of M/M/{servers} at load {load}, in services");
    interval.assert_is(wait, narrow, &what);
}

#[test]
fn one_core_is_an_m_m_1_queue_at_half_load() {
    check_first_come_first_served(1, 0.5, 200_000, 0.05);
}

#[test]
fn one_core_is_an_m_m_1_queue_at_four_fifths() {
    check_first_come_first_served(1, 0.8, 600_000, 0.06);
}

#[test]
fn four_cores_are_an_m_m_4_queue_at_four_fifths() {
    check_first_come_first_served(4, 3.2, 600_000, 0.08);
}

#[test]
fn short_slices_share_the_processor() {
    const LOAD: f64 = 0.6;
    let slice = CpuProfile {
        time_slice_us: 1.0,
        ..CpuProfile::uniform(1)
    };
    let jobs = simulate(slice, poisson_jobs(100_000, LOAD));
    // The mean is that of first come, first served: 1/(1 − ρ).
    let stretch = 1.0 / (1.0 - LOAD);
    Interval::of_cycles(&cycles(&jobs, |job| (job.sojourn(), 1.0))).assert_is(
        stretch,
        0.06,
        "mean sojourn of M/M/1 with processor sharing",
    );
    // But a job of size x takes x/(1 − ρ), where in order of arrival it would take
    // x + ρ/(1 − ρ): a short job twice or ten times as long, a long one half.
    let bounds = [0.1, 0.3, 0.6, 1.0, 1.5, 2.5, 10.0];
    for range in bounds.windows(2) {
        let part = cycles(&jobs, |job| {
            if (range[0]..range[1]).contains(&job.size()) {
                (job.sojourn(), job.size())
            } else {
                (0.0, 0.0)
            }
        });
        let mut interval = Interval::of_cycles(&part);
        // Slices are not infinitely short. With N others a job waits N slices for its
        // first and N for its last, broken one, but no more than a slice in mean for
        // the one it interrupts: at most E[N]/2 slices more or less than its share.
        let slice = MICROSECOND as f64 / SERVICE as f64;
        let others = LOAD / (1.0 - LOAD);
        interval.half_width += others / 2.0 * slice / range[0];
        let what = format!("sojourn over size of jobs of size {range:?}");
        interval.assert_is(stretch, 0.15, &what);
    }
}
