//! The real clock: OS threads, and what they count.
//!
//! Under the real clock the host does the work; all that is left to the runtime is to
//! know who waited for what, and how long. Each thread counts for itself, in its own
//! cache lines, and whoever wants a figure sums over the threads:
//!
//! ```text
//!   RealMachine ──┬── thread "user 1"    waits[kind], latches[class]
//!                 ├── thread "user 2"    …
//!                 └── thread "cleaner"   …
//! ```
//!
//! The time on and off the CPU comes from the kernel's scheduler statistics of the
//! thread; what is neither that nor a wait known by name is `other`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::accounting::{LatchStatistics, RuntimeStatistics, TaskRole, TimeBudget};
use super::ambient;
use super::latch_class::LatchClass;
use super::tasks::now;
use super::time::{NANOSECOND, Time};
use super::wait_kind::WaitKind;

/// Every so many acquisitions of a latch class a hold is timed.
pub(super) const HOLD_SAMPLE: u64 = 64;

#[derive(Debug, Default)]
struct LatchCounts {
    acquired: AtomicU64,
    contended: AtomicU64,
    wait: AtomicU64,
    hold: AtomicU64,
}

/// A thread of a real machine, with what it counts. Only the thread itself writes.
#[derive(Debug)]
pub(super) struct RealTask {
    machine: Arc<MachineShared>,
    role: TaskRole,
    started: Time,
    /// The kernel's number of the thread.
    thread: AtomicU64,
    /// Set when the thread ends: its elapsed, running and queued time.
    ended: AtomicU64,
    ran: AtomicU64,
    queued: AtomicU64,
    waits: [AtomicU64; WaitKind::COUNT],
    latches: Vec<LatchCounts>,
}

#[derive(Debug)]
pub(super) struct MachineShared {
    seed: u64,
    tasks: parking_lot::Mutex<Vec<Arc<RealTask>>>,
}

/// The host as a machine to run on.
#[derive(Debug)]
pub struct RealMachine {
    shared: Arc<MachineShared>,
}

/// Adds to a counter that only this thread writes.
#[inline]
fn bump(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(by), Relaxed);
}

impl RealMachine {
    /// A machine whose random streams have this seed.
    pub fn new(seed: u64) -> Self {
        let tasks = parking_lot::Mutex::new(Vec::new());
        RealMachine {
            shared: Arc::new(MachineShared { seed, tasks }),
        }
    }

    /// Runs `main` on this thread as a background task; tasks that it starts belong to
    /// the machine.
    ///
    /// # Panics
    /// If this thread runs on a machine or a simulation already.
    pub fn run<T>(&self, main: impl FnOnce() -> T) -> T {
        let task = self.shared.new_task(TaskRole::Background);
        task.enter(main)
    }
}

impl MachineShared {
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn new_task(self: &Arc<Self>, role: TaskRole) -> Arc<RealTask> {
        let task = Arc::new(RealTask {
            machine: self.clone(),
            role,
            started: now(),
            thread: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            ran: AtomicU64::new(0),
            queued: AtomicU64::new(0),
            waits: std::array::from_fn(|_| AtomicU64::new(0)),
            latches: LatchClass::ALL
                .iter()
                .map(|_| LatchCounts::default())
                .collect(),
        });
        self.tasks.lock().push(task.clone());
        task
    }

    /// The sum over all threads, those that have ended included.
    pub(super) fn statistics(&self) -> RuntimeStatistics {
        let mut sum = RuntimeStatistics::empty(now());
        for task in self.tasks.lock().iter() {
            task.add_to(&mut sum);
        }
        sum
    }

    /// The latches alone, in the order of [`LatchClass::ALL`].
    pub(super) fn latch_statistics(&self) -> Vec<LatchStatistics> {
        let mut sum = vec![LatchStatistics::default(); LatchClass::ALL.len()];
        for task in self.tasks.lock().iter() {
            task.add_latches_to(&mut sum);
        }
        sum
    }
}

impl RealTask {
    pub(super) fn machine(&self) -> &Arc<MachineShared> {
        &self.machine
    }

    /// Runs a function as this task, on this thread.
    pub(super) fn enter<T>(self: &Arc<Self>, body: impl FnOnce() -> T) -> T {
        let _entered = ambient::EnteredReal::new(self);
        self.thread.store(
            rustix::thread::gettid().as_raw_nonzero().get() as u64,
            Relaxed,
        );
        let value = body();
        let (ran, queued) = self.scheduled();
        self.ran.store(ran, Relaxed);
        self.queued.store(queued, Relaxed);
        self.ended.store(now(), Relaxed);
        value
    }

    /// A wait of this thread has ended.
    #[inline]
    pub(super) fn waited(&self, kind: WaitKind, length: Time) {
        bump(&self.waits[kind as usize], length);
    }

    /// This thread has taken a latch at once; true if the hold is to be timed.
    #[inline]
    pub(super) fn took(&self, class: LatchClass) -> bool {
        let counts = &self.latches[class as usize];
        let acquired = counts.acquired.load(Relaxed) + 1;
        counts.acquired.store(acquired, Relaxed);
        acquired.is_multiple_of(HOLD_SAMPLE)
    }

    /// This thread has waited for a latch.
    pub(super) fn waited_for_latch(&self, class: LatchClass, kind: WaitKind, length: Time) {
        let counts = &self.latches[class as usize];
        bump(&counts.contended, 1);
        bump(&counts.wait, length);
        self.waited(kind, length);
    }

    /// A hold that was to be timed has ended.
    pub(super) fn held(&self, class: LatchClass, length: Time) {
        bump(&self.latches[class as usize].hold, length * HOLD_SAMPLE);
    }

    /// Time on a CPU and time in a run queue, from the kernel; zero where the kernel
    /// keeps no such figures.
    fn scheduled(&self) -> (Time, Time) {
        let thread = self.thread.load(Relaxed);
        let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat"));
        let text = text.unwrap_or_default();
        let mut fields = text
            .split_ascii_whitespace()
            .map(|field| field.parse().unwrap_or(0));
        let mut next = || fields.next().unwrap_or(0) * NANOSECOND;
        (next(), next())
    }

    fn add_latches_to(&self, sum: &mut [LatchStatistics]) {
        for (total, counts) in sum.iter_mut().zip(&self.latches) {
            total.acquired += counts.acquired.load(Relaxed);
            total.contended += counts.contended.load(Relaxed);
            total.wait += counts.wait.load(Relaxed);
            total.hold += counts.hold.load(Relaxed);
        }
    }

    fn add_to(&self, sum: &mut RuntimeStatistics) {
        self.add_latches_to(&mut sum.latches);
        let ended = self.ended.load(Relaxed);
        let (until, (ran, queued)) = if ended == 0 {
            (sum.at, self.scheduled())
        } else {
            (ended, (self.ran.load(Relaxed), self.queued.load(Relaxed)))
        };
        let mut budget: TimeBudget = std::array::from_fn(|kind| self.waits[kind].load(Relaxed));
        let waited: Time = budget.iter().sum();
        let elapsed = until.saturating_sub(self.started);
        budget[WaitKind::Cpu as usize] += ran;
        budget[WaitKind::RunQueue as usize] += queued;
        // A wait includes the short time in the run queue after it: never below zero.
        budget[WaitKind::Other as usize] += elapsed.saturating_sub(waited + ran + queued);
        for (total, spent) in sum.time_of(self.role).iter_mut().zip(budget) {
            *total += spent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{Event, Mutex, latch_statistics, runtime_statistics, spawn_as};

    #[test]
    fn a_contended_latch_is_counted_by_the_thread_that_waits() {
        let machine = RealMachine::new(1);
        let statistics = machine.run(|| {
            let mutex = Arc::new(Mutex::new(LatchClass::TrxSys, 0u64));
            let guard = mutex.lock();
            let started = Arc::new(Event::new());
            let count = started.reset();
            let user = {
                let (mutex, started) = (mutex.clone(), started.clone());
                spawn_as(TaskRole::User, "user", move || {
                    started.set();
                    *mutex.lock() += 1;
                })
            };
            started.wait(count, crate::runtime::time::SECOND, WaitKind::Other);
            // Hold on until the user waits, or for a second at most.
            let waits = || runtime_statistics().user_time[WaitKind::Cpu as usize] > 0;
            for _ in 0..1000 {
                if waits() {
                    break;
                }
                crate::runtime::sleep(crate::runtime::time::MILLISECOND, WaitKind::Other);
            }
            drop(guard);
            user.join();
            runtime_statistics()
        });
        let latch = statistics.latches[LatchClass::TrxSys as usize];
        assert_eq!(latch.acquired, 2);
        assert!(latch.contended <= 1);
        assert_eq!(latch.contended == 1, latch.wait > 0);
        let waited = statistics.user_time[WaitKind::Latch as usize];
        assert_eq!(waited, latch.wait);
        let latches = machine.run(latch_statistics);
        assert_eq!(latches[LatchClass::TrxSys as usize], latch);
    }

    #[test]
    fn counts_outlive_the_thread_and_differences_start_at_zero() {
        let machine = RealMachine::new(1);
        machine.run(|| {
            let before = runtime_statistics();
            let work = || {
                let mutex = Mutex::new(LatchClass::Plain, ());
                for _ in 0..1000 {
                    drop(mutex.lock());
                }
            };
            spawn_as(TaskRole::User, "user", work).join();
            let difference = runtime_statistics().since(&before);
            let latch = difference.latches[LatchClass::Plain as usize];
            assert_eq!((latch.acquired, latch.contended, latch.wait), (1000, 0, 0));
            let total: Time = difference.user_time.iter().sum();
            assert!(total > 0 && total <= difference.at);
        });
    }
}
