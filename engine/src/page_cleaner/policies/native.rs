//! The rule of the InnoDB plugin of MySQL 5.1 and of 5.5, whose master thread flushes.
//!
//! ```text
//!   too many dirty pages:  io_capacity
//!   otherwise:             dirty pages x redo a second / redo capacity  -  LRU flushes
//! ```
//!
//! at most `innodb_io_capacity`: as many pages as would have to be flushed to be through
//! with all of them when redo has come round once. Redo a second is the mean of 20 seconds,
//! and the last second on top. When redo runs short users flush themselves in the server;
//! here the cleaner does that for them, without a limit.

use super::{FlushPlan, FlushPolicy, PolicySettings, split_evenly};
use crate::page::Lsn;
use crate::page_cleaner::policy::FlushSnapshot;

/// Seconds of the averages (`BUF_FLUSH_STAT_N_INTERVAL`).
const INTERVALS: usize = 20;

/// The policy; see the module's opening.
#[derive(Clone, Debug)]
pub struct Native51 {
    settings: PolicySettings,
    last_lsn: Option<Lsn>,
    /// Redo and LRU flushes of the last intervals, a ring.
    redo: [u64; INTERVALS],
    lru_flushed: [u64; INTERVALS],
    next: usize,
}

impl Native51 {
    /// Without a history.
    pub fn new(settings: PolicySettings) -> Self {
        Native51 {
            settings,
            last_lsn: None,
            redo: [0; INTERVALS],
            lru_flushed: [0; INTERVALS],
            next: 0,
        }
    }
}

impl FlushPolicy for Native51 {
    fn name(&self) -> &'static str {
        "native51"
    }

    fn change(&mut self, settings: PolicySettings) {
        self.settings = settings;
    }

    fn plan(&mut self, snapshot: &FlushSnapshot<'_>) -> FlushPlan {
        let mut plan = FlushPlan::nothing(snapshot.instances);
        if let Some(target) = snapshot.sync_target {
            plan.lsn_limit = target;
            plan.total = u64::MAX;
            plan.pages.fill(u64::MAX);
            return plan;
        }
        let last_lsn = self.last_lsn.replace(snapshot.lsn);
        let redo = snapshot.lsn - last_lsn.unwrap_or(snapshot.lsn);
        let intervals = INTERVALS as u64;
        let redo_rate = self.redo.iter().sum::<u64>() / intervals + redo;
        let lru_rate = self.lru_flushed.iter().sum::<u64>() / intervals + snapshot.lru_flushed;
        self.redo[self.next] = redo;
        self.lru_flushed[self.next] = snapshot.lru_flushed;
        self.next = (self.next + 1) % INTERVALS;
        plan.average_lsn_rate = redo_rate;
        let capacity = self.settings.percent_of_io(100);
        plan.total = if snapshot.dirty_percent() > self.settings.max_dirty_pages_pct {
            plan.percent_for_dirty = 100;
            capacity
        } else if self.settings.adaptive_flushing {
            let wanted = u128::from(snapshot.dirty_pages) * u128::from(redo_rate)
                / u128::from(snapshot.redo.capacity.max(1));
            plan.pages_for_lsn = wanted.min(u128::from(u64::MAX)) as u64;
            plan.pages_for_lsn.saturating_sub(lru_rate).min(capacity)
        } else {
            0
        };
        let pages = plan.total;
        split_evenly(&mut plan, pages);
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_cleaner::policy::DirtyAges;
    use crate::page_cleaner::redo_state::RedoAges;

    struct NoAges;

    impl DirtyAges for NoAges {
        fn pages_up_to(&self, _: usize, _: Lsn, _: usize) -> usize {
            0
        }
    }

    #[test]
    fn flushing_keeps_pace_with_redo() {
        let mut policy = Native51::new(PolicySettings {
            io_capacity: 200,
            max_dirty_pages_pct: 75.0,
            ..PolicySettings::new()
        });
        let mut now = FlushSnapshot {
            now: 0,
            lsn: 1000,
            oldest_modification: None,
            checkpoint_age: 0,
            redo: RedoAges {
                capacity: 100_000,
                async_age: 80_000,
                sync_age: 90_000,
            },
            list_flushed: 0,
            lru_flushed: 0,
            lru_pages: 9999,
            free_frames: 0,
            dirty_pages: 5000,
            instances: 1,
            sync_target: None,
            dirty_ages: &NoAges,
        };
        assert_eq!(policy.plan(&now).total, 0, "no redo yet");
        now.lsn += 1000;
        // 5000 * 1000 / 100000.
        assert_eq!(policy.plan(&now).total, 50);
        // (0 + 1000) / 20 + 1000 = 1050: 52.5; of which 12 went by way of the LRU list.
        now.lsn += 1000;
        now.lru_flushed = 12;
        assert_eq!(policy.plan(&now).total, 40);
        now.lsn += 1_000_000;
        assert_eq!(policy.plan(&now).total, 200, "the ceiling");
        now.dirty_pages = 7501;
        let plan = policy.plan(&now);
        assert_eq!((plan.total, plan.percent_for_dirty), (200, 100));
    }
}
