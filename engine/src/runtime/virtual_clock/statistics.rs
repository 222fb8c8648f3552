//! What a simulation counts: switches, waits for latches, time budgets.

use crate::runtime::latch_class::LatchClass;
use crate::runtime::time::Time;
use crate::runtime::wait_kind::WaitKind;

/// Counts of one latch class. Times are sums over all tasks, in picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LatchStatistics {
    /// Times it was taken.
    pub acquired: u64,
    /// Times it was not free when asked for.
    pub contended: u64,
    /// Times a waiter gave up spinning and slept.
    pub slept: u64,
    /// From request to acquisition, contended requests only.
    pub wait: Time,
    /// From acquisition to release.
    pub hold: Time,
}

/// Counts of a whole simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulationStatistics {
    /// Times a task was resumed.
    pub switches: u64,
    /// Settles that moved time without leaving the task.
    pub inline_settles: u64,
    /// Slices that ended with others waiting.
    pub preemptions: u64,
    /// Tasks started.
    pub tasks_started: u64,
    /// Random polls of a latch word by a spinning task.
    pub polls: u64,
    /// Time with a task on it, summed over the hardware threads. Spinning and context
    /// switches count.
    pub busy: Time,
    /// Time in the run queue, summed over the tasks.
    pub queued: Time,
    /// By latch class.
    pub latches: Vec<LatchStatistics>,
    /// The time budgets of the tasks that have ended, summed.
    pub ended_budget: [Time; WaitKind::COUNT],
}

impl SimulationStatistics {
    pub(super) fn new() -> Self {
        SimulationStatistics {
            switches: 0,
            inline_settles: 0,
            preemptions: 0,
            tasks_started: 0,
            polls: 0,
            busy: 0,
            queued: 0,
            latches: vec![LatchStatistics::default(); LatchClass::ALL.len()],
            ended_budget: [0; WaitKind::COUNT],
        }
    }

    /// The counts of a latch class.
    pub fn latch(&self, class: LatchClass) -> &LatchStatistics {
        &self.latches[class as usize]
    }
}
