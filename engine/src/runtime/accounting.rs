//! What tasks spend their time on, and what latches cost: the same figures under both
//! clocks.
//!
//! Every moment of a task belongs to one [`WaitKind`]. *User* tasks (sessions) are kept
//! apart from *background* tasks (cleaners, log threads), because the time budget per
//! transaction is about the former. Take [`runtime_statistics`] at the start and at the
//! end of a measurement and subtract.

use super::ambient;
use super::cost::Cost;
use super::latch_class::LatchClass;
use super::tasks::now;
use super::time::Time;
use super::virtual_clock::Simulation;
use super::wait_kind::WaitKind;

/// Time by use, in picoseconds, in the order of [`WaitKind::ALL`].
pub type TimeBudget = [Time; WaitKind::COUNT];

/// Whose time a task's is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskRole {
    /// A session: its time is what a transaction takes.
    User,
    /// A thread of the server.
    Background,
}

/// Counts of one latch class. Times are sums over all tasks, in picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LatchStatistics {
    /// Times it was taken.
    pub acquired: u64,
    /// Times it was not free when asked for.
    pub contended: u64,
    /// Times a waiter gave up spinning and slept. Not known under the real clock.
    pub slept: u64,
    /// From request to acquisition, contended requests only.
    pub wait: Time,
    /// From acquisition to release. Under the real clock extrapolated from every 64th
    /// acquisition of a task.
    pub hold: Time,
}

/// A reading of the runtime's own counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeStatistics {
    /// When it was taken.
    pub at: Time,
    /// By latch class, in the order of [`LatchClass::ALL`].
    pub latches: Vec<LatchStatistics>,
    /// How often each cost was charged, in the order of [`Cost::ALL`]. Zeros under the real
    /// clock, where the work itself takes the time.
    pub charges: Vec<u64>,
    /// The time of the user tasks, summed.
    pub user_time: TimeBudget,
    /// The time of the background tasks, summed.
    pub background_time: TimeBudget,
}

impl RuntimeStatistics {
    pub(super) fn empty(at: Time) -> Self {
        RuntimeStatistics {
            at,
            latches: vec![LatchStatistics::default(); LatchClass::ALL.len()],
            charges: vec![0; Cost::COUNT],
            user_time: [0; WaitKind::COUNT],
            background_time: [0; WaitKind::COUNT],
        }
    }

    /// Where time of a role is added up.
    pub(super) fn time_of(&mut self, role: TaskRole) -> &mut TimeBudget {
        match role {
            TaskRole::User => &mut self.user_time,
            TaskRole::Background => &mut self.background_time,
        }
    }

    /// What has happened since an earlier reading.
    pub fn since(&self, earlier: &RuntimeStatistics) -> RuntimeStatistics {
        let budget = |now: &TimeBudget, then: &TimeBudget| {
            std::array::from_fn(|kind| now[kind].saturating_sub(then[kind]))
        };
        let latches = self.latches.iter().zip(&earlier.latches);
        let charges = self.charges.iter().zip(&earlier.charges);
        RuntimeStatistics {
            at: self.at - earlier.at,
            latches: latches
                .map(|(now, then)| LatchStatistics {
                    acquired: now.acquired - then.acquired,
                    contended: now.contended - then.contended,
                    slept: now.slept - then.slept,
                    wait: now.wait - then.wait,
                    hold: now.hold - then.hold,
                })
                .collect(),
            charges: charges.map(|(now, then)| now - then).collect(),
            user_time: budget(&self.user_time, &earlier.user_time),
            background_time: budget(&self.background_time, &earlier.background_time),
        }
    }
}

/// Reads the counters of the machine that the calling task runs on. Without one (real
/// clock, outside of [`RealMachine::run`](super::RealMachine)) all are zero.
pub fn runtime_statistics() -> RuntimeStatistics {
    let simulation = ambient::simulation();
    if !simulation.is_null() {
        // SAFETY: the current task calls, and no reference into the simulation is live.
        return unsafe { Simulation::runtime_statistics(simulation) };
    }
    match ambient::real_task() {
        Some(task) => task.machine().statistics(),
        None => RuntimeStatistics::empty(now()),
    }
}

/// Reads the counts of latches alone, in the order of [`LatchClass::ALL`]: under the real
/// clock much cheaper than [`runtime_statistics`], which asks the kernel about every thread.
pub fn latch_statistics() -> Vec<LatchStatistics> {
    let simulation = ambient::simulation();
    if !simulation.is_null() {
        // SAFETY: the current task calls, and no reference into the simulation is live.
        return unsafe { (*simulation).statistics().latches.clone() };
    }
    match ambient::real_task() {
        Some(task) => task.machine().latch_statistics(),
        None => vec![LatchStatistics::default(); LatchClass::ALL.len()],
    }
}
