//! Processes side by side: no more than there are cores, and no more than there is memory
//! for.
//!
//! ```text
//!   memory  |######aaaa######bbbb______|        two of this size fit
//!           |##########cccccccccc######|dddd    the fourth waits, or runs alone
//! ```
//!
//! Jobs begin in their order. One whose estimate does not fit beside the others waits
//! until some have ended; one that does not fit at all runs alone. A job may be several
//! processes, and says itself how far it has come.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a job is expected to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Processes that compute at a time.
    pub processes: usize,
    /// Memory, in bytes.
    pub memory: u64,
}

/// What jobs may take together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Processes at a time, at least one.
    pub processes: usize,
    /// Memory, in bytes.
    pub memory: u64,
}

#[derive(Debug)]
struct State {
    next: usize,
    running: usize,
    processes: usize,
    memory: u64,
}

/// How far all of the work has come.
#[derive(Debug)]
pub struct Meter {
    begin: Instant,
    all: f64,
    done: Mutex<f64>,
}

impl Meter {
    /// Nothing is done yet of so much work, in any unit.
    pub fn new(all: f64) -> Self {
        Meter {
            begin: Instant::now(),
            all,
            done: Mutex::new(0.0),
        }
    }

    /// So much more is done; the time that the rest will take, when something can be said.
    pub fn add(&self, work: f64) -> Option<Duration> {
        let mut done = lock(&self.done);
        *done += work;
        time_left(self.begin.elapsed(), *done, self.all)
    }
}

/// Carries all jobs out; what came of each, in their order.
pub fn carry_out<J: Sync, T: Send>(
    jobs: &[J],
    cost: impl Fn(&J) -> Cost + Sync,
    limits: Limits,
    work: impl Fn(&J) -> T + Sync,
) -> Vec<T> {
    let state = Mutex::new(State {
        next: 0,
        running: 0,
        processes: 0,
        memory: 0,
    });
    let ended = Condvar::new();
    let results: Vec<Mutex<Option<T>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let worker = || {
        while let Some(number) = begin_next(jobs, &cost, limits, &state, &ended) {
            let cost = cost(&jobs[number]);
            let result = work(&jobs[number]);
            {
                let mut state = lock(&state);
                state.running -= 1;
                state.processes -= cost.processes;
                state.memory -= cost.memory;
            }
            ended.notify_all();
            *lock(&results[number]) = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..limits.processes.clamp(1, jobs.len().max(1)) {
            scope.spawn(worker);
        }
    });
    let taken = |slot: Mutex<Option<T>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    let taken = results.into_iter().map(taken);
    taken
        .map(|result| result.expect("every job was begun by a worker, which ended it"))
        .collect()
}

/// Waits until the next job fits; `None` when there is none any more.
fn begin_next<J>(
    jobs: &[J],
    cost: &impl Fn(&J) -> Cost,
    limits: Limits,
    state: &Mutex<State>,
    ended: &Condvar,
) -> Option<usize> {
    let mut state = lock(state);
    loop {
        let number = state.next;
        let Cost { processes, memory } = cost(jobs.get(number)?);
        let fits = state.processes + processes <= limits.processes
            && state.memory.saturating_add(memory) <= limits.memory;
        if state.running == 0 || fits {
            state.next += 1;
            state.running += 1;
            state.processes += processes;
            state.memory += memory;
            return Some(number);
        }
        state = ended.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

fn time_left(elapsed: Duration, done: f64, all: f64) -> Option<Duration> {
    let share = (all - done) / done;
    (done > 0.0 && share.is_finite()).then(|| elapsed.mul_f64(share.max(0.0)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    use super::*;

    /// The most memory and the most processes at one time, of jobs of so many processes
    /// and so much memory.
    fn most(jobs: &[(usize, u64)], limits: Limits) -> (u64, u64) {
        let now = [AtomicU64::new(0), AtomicU64::new(0)];
        let most = [AtomicU64::new(0), AtomicU64::new(0)];
        let add = |place: usize, amount: u64| {
            let sum = now[place].fetch_add(amount, SeqCst) + amount;
            most[place].fetch_max(sum, SeqCst);
        };
        let results = carry_out(
            jobs,
            |&(processes, memory)| Cost { processes, memory },
            limits,
            |&(processes, memory)| {
                let processes = processes as u64;
                add(0, memory);
                add(1, processes);
                std::thread::sleep(Duration::from_millis(20));
                now[0].fetch_sub(memory, SeqCst);
                now[1].fetch_sub(processes, SeqCst);
                memory * 10
            },
        );
        let expected: Vec<u64> = jobs.iter().map(|(_, memory)| memory * 10).collect();
        assert_eq!(results, expected, "in the order of the jobs");
        (most[0].load(SeqCst), most[1].load(SeqCst))
    }

    fn most_memory(memory: &[u64], limits: Limits) -> (u64, u64) {
        let jobs: Vec<(usize, u64)> = memory.iter().map(|&memory| (1, memory)).collect();
        most(&jobs, limits)
    }

    #[test]
    fn no_more_run_than_memory_and_cores_allow() {
        let limits = Limits {
            processes: 3,
            memory: 10,
        };
        assert_eq!(most_memory(&[1, 1, 1, 1, 1, 1], limits), (3, 3));
        let (memory, jobs) = most_memory(&[6, 6, 4, 6, 4], limits);
        assert!(memory <= 10 && jobs <= 2, "{memory} bytes, {jobs} jobs");
        let (_, processes) = most(&[(2, 1), (2, 1), (1, 1), (2, 1)], limits);
        assert!(processes <= 3, "{processes}");
    }

    #[test]
    fn one_that_never_fits_runs_alone() {
        let limits = Limits {
            processes: 4,
            memory: 10,
        };
        let (memory, _) = most_memory(&[3, 50, 3], limits);
        assert_eq!(memory, 50);
        assert_eq!(most(&[(1, 1), (7, 1), (1, 1)], limits).1, 7);
        assert_eq!(most(&[], limits), (0, 0));
    }

    #[test]
    fn the_time_left_is_told_by_the_work_left() {
        let meter = Meter::new(4.0);
        std::thread::sleep(Duration::from_millis(30));
        let left = meter.add(3.0).unwrap();
        assert!(left >= Duration::from_millis(10), "{left:?}");
        assert_eq!(meter.add(1.0), Some(Duration::ZERO));
        assert_eq!(
            time_left(Duration::from_secs(9), 3.0, 4.0),
            Some(Duration::from_secs(3))
        );
        assert_eq!(time_left(Duration::from_secs(9), 0.0, 5.0), None);
    }
}
