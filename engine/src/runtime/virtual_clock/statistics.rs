//! What a simulation counts: switches, waits for latches, time budgets.

use super::Simulation;
use super::task::State;
use crate::runtime::accounting::{LatchStatistics, RuntimeStatistics, TaskRole, TimeBudget};
use crate::runtime::cost::Cost;
use crate::runtime::latch_class::LatchClass;
use crate::runtime::time::Time;
use crate::runtime::wait_kind::WaitKind;

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
    /// How often each cost was charged, in the order of [`Cost::ALL`].
    pub charges: [u64; Cost::COUNT],
    /// The time of the user tasks that have ended, summed.
    pub ended_user_time: TimeBudget,
    /// The time of the background tasks that have ended, summed.
    pub ended_background_time: TimeBudget,
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
            charges: [0; Cost::COUNT],
            ended_user_time: [0; WaitKind::COUNT],
            ended_background_time: [0; WaitKind::COUNT],
        }
    }

    /// The counts of a latch class.
    pub fn latch(&self, class: LatchClass) -> &LatchStatistics {
        &self.latches[class as usize]
    }

    /// The time of all tasks that have ended, summed.
    pub fn ended_time(&self) -> TimeBudget {
        std::array::from_fn(|kind| self.ended_user_time[kind] + self.ended_background_time[kind])
    }

    pub(super) fn ended_time_of(&mut self, role: TaskRole) -> &mut TimeBudget {
        match role {
            TaskRole::User => &mut self.ended_user_time,
            TaskRole::Background => &mut self.ended_background_time,
        }
    }
}

impl Simulation {
    /// The counters now, running tasks included.
    ///
    /// # Safety
    /// Called by the current task of `simulation`; no reference into it is live.
    pub(in crate::runtime) unsafe fn runtime_statistics(
        simulation: *mut Simulation,
    ) -> RuntimeStatistics {
        // SAFETY: by the caller's promise.
        let this = unsafe { &mut *simulation };
        let now = this.now;
        let mut sum = RuntimeStatistics::empty(now);
        sum.latches.clone_from(&this.statistics.latches);
        sum.charges = this.statistics.charges.to_vec();
        sum.user_time = this.statistics.ended_user_time;
        sum.background_time = this.statistics.ended_background_time;
        for id in 0..this.tasks.len() as u32 {
            let task = this.task(id);
            if task.state == State::Ended {
                continue;
            }
            let running = now - task.since;
            let total = sum.time_of(task.role);
            for (total, spent) in total.iter_mut().zip(task.budget) {
                *total += spent;
            }
            total[task.doing as usize] += running;
        }
        sum
    }
}
