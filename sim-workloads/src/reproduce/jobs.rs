//! Processes side by side: no more than there are cores, and no more than there is memory
//! for.
//!
//! ```text
//!   memory  |######aaaa######bbbb______|        two of this size fit
//!           |##########cccccccccc######|dddd    the fourth waits, or runs alone
//! ```
//!
//! Jobs begin in their order. One whose estimate does not fit beside the others waits
//! until some have ended; one that does not fit at all runs alone.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a job is expected to take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Work, in any unit that is the same for all jobs.
    pub weight: f64,
    /// Memory, in bytes.
    pub memory: u64,
}

/// What jobs may take together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Jobs at a time, at least one.
    pub jobs: usize,
    /// Memory, in bytes.
    pub memory: u64,
}

#[derive(Debug)]
struct State {
    next: usize,
    running: usize,
    memory: u64,
    done_weight: f64,
}

/// Carries all jobs out; what came of each, in their order. `done` is told of each that
/// has ended and, when something can be said, of the time that the others will take.
pub fn carry_out<J: Sync, T: Send>(
    jobs: &[J],
    cost: impl Fn(&J) -> Cost + Sync,
    limits: Limits,
    work: impl Fn(&J) -> T + Sync,
    done: impl Fn(&J, &T, Option<Duration>) + Sync,
) -> Vec<T> {
    let begin = Instant::now();
    let all_weight: f64 = jobs.iter().map(|job| cost(job).weight).sum();
    let state = Mutex::new(State {
        next: 0,
        running: 0,
        memory: 0,
        done_weight: 0.0,
    });
    let ended = Condvar::new();
    let results: Vec<Mutex<Option<T>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let worker = || {
        while let Some(number) = begin_next(jobs, &cost, limits, &state, &ended) {
            let (job, cost) = (&jobs[number], cost(&jobs[number]));
            let result = work(job);
            let left = {
                let mut state = lock(&state);
                state.running -= 1;
                state.memory -= cost.memory;
                state.done_weight += cost.weight;
                time_left(begin.elapsed(), state.done_weight, all_weight)
            };
            ended.notify_all();
            done(job, &result, left);
            *lock(&results[number]) = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..limits.jobs.clamp(1, jobs.len().max(1)) {
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
        let memory = cost(jobs.get(number)?).memory;
        if state.running == 0 || state.memory.saturating_add(memory) <= limits.memory {
            state.next += 1;
            state.running += 1;
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

    /// The most memory and the most jobs at one time.
    fn most(memory: &[u64], limits: Limits) -> (u64, u64) {
        let now = [AtomicU64::new(0), AtomicU64::new(0)];
        let most = [AtomicU64::new(0), AtomicU64::new(0)];
        let add = |place: usize, amount: u64| {
            let sum = now[place].fetch_add(amount, SeqCst) + amount;
            most[place].fetch_max(sum, SeqCst);
        };
        let results = carry_out(
            memory,
            |&memory| Cost {
                weight: 1.0,
                memory,
            },
            limits,
            |&memory| {
                add(0, memory);
                add(1, 1);
                std::thread::sleep(Duration::from_millis(20));
                now[0].fetch_sub(memory, SeqCst);
                now[1].fetch_sub(1, SeqCst);
                memory * 10
            },
            |_, _, _| {},
        );
        let expected: Vec<u64> = memory.iter().map(|memory| memory * 10).collect();
        assert_eq!(results, expected, "in the order of the jobs");
        (most[0].load(SeqCst), most[1].load(SeqCst))
    }

    #[test]
    fn no_more_run_than_memory_and_cores_allow() {
        let limits = Limits {
            jobs: 3,
            memory: 10,
        };
        assert_eq!(most(&[1, 1, 1, 1, 1, 1], limits), (3, 3));
        let (memory, jobs) = most(&[6, 6, 4, 6, 4], limits);
        assert!(memory <= 10 && jobs <= 2, "{memory} bytes, {jobs} jobs");
    }

    #[test]
    fn one_that_never_fits_runs_alone() {
        let limits = Limits {
            jobs: 4,
            memory: 10,
        };
        let (memory, _) = most(&[3, 50, 3], limits);
        assert_eq!(memory, 50);
        assert_eq!(most(&[], limits), (0, 0));
    }

    #[test]
    fn the_time_left_is_told_by_the_work_left() {
        let told = Mutex::new(Vec::new());
        carry_out(
            &[3.0, 1.0],
            |&weight| Cost { weight, memory: 0 },
            Limits { jobs: 1, memory: 0 },
            |_| std::thread::sleep(Duration::from_millis(30)),
            |_, (), left| told.lock().unwrap().push(left.unwrap()),
        );
        let told = told.into_inner().unwrap();
        assert!(told[0] >= Duration::from_millis(10), "{told:?}");
        assert_eq!(told[1], Duration::ZERO);
        assert_eq!(time_left(Duration::from_secs(9), 0.0, 5.0), None);
    }
}
