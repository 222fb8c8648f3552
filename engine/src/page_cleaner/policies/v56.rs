//! The rule of MySQL 5.6.
//!
//! ```text
//!               urgency x io_capacity + pages flushed a round
//!   pages     = ---------------------------------------------      up to an LSN limit:
//!                                     2
//!   limit     = oldest + redo a round x (1 + what the last round left undone)
//! ```
//!
//! All numbers are integers, and a round is taken for a second, however long it was. There
//! is no sync round in the server: users flush themselves when redo runs short. Here the
//! cleaner does that for them, without a limit.

use super::v57::percent_for_age;
use super::{FlushPlan, FlushPolicy, PolicySettings, split_evenly};
use crate::page::Lsn;
use crate::page_cleaner::policy::FlushSnapshot;

/// The policy; see the module's opening.
#[derive(Clone, Debug)]
pub struct V56 {
    settings: PolicySettings,
    /// LSN at which the averaging window began.
    window: Option<Lsn>,
    rounds: u64,
    pages: u64,
    average_page_rate: u64,
    average_lsn_rate: u64,
    last_lsn: Lsn,
    last_requested: u64,
}

impl V56 {
    /// Without a history.
    pub fn new(settings: PolicySettings) -> Self {
        V56 {
            settings,
            window: None,
            rounds: 0,
            pages: 0,
            average_page_rate: 0,
            average_lsn_rate: 0,
            last_lsn: 0,
            last_requested: 0,
        }
    }

    fn percent_for_dirty(&self, dirty_percent: u64) -> u64 {
        let max = self.settings.max_dirty_pages_pct as u64;
        let low_water_mark = self.settings.max_dirty_pages_pct_lwm as u64;
        match dirty_percent {
            0 => 0,
            _ if max == 0 => 100,
            _ if low_water_mark == 0 => 100 * u64::from(dirty_percent >= max),
            _ if dirty_percent > low_water_mark => dirty_percent * 100 / (max + 1),
            _ => 0,
        }
    }

    fn average(&mut self, snapshot: &FlushSnapshot<'_>, began: Lsn) -> bool {
        self.pages += snapshot.list_flushed;
        self.rounds += 1;
        let loops = self.settings.flushing_avg_loops;
        if self.rounds < loops {
            return false;
        }
        self.average_page_rate = (self.pages / loops + self.average_page_rate) / 2;
        let lsn_rate = (snapshot.lsn - began) / loops;
        self.average_lsn_rate = (self.average_lsn_rate + lsn_rate) / 2;
        self.window = Some(snapshot.lsn);
        self.rounds = 0;
        self.pages = 0;
        true
    }
}

impl FlushPolicy for V56 {
    fn name(&self) -> &'static str {
        "v56"
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
        let Some(began) = self.window else {
            self.window = Some(snapshot.lsn);
            self.last_lsn = snapshot.lsn;
            return plan;
        };
        if began == snapshot.lsn {
            return plan;
        }
        plan.is_window_over = self.average(snapshot, began);
        plan.average_page_rate = self.average_page_rate;
        plan.average_lsn_rate = self.average_lsn_rate;
        plan.percent_for_dirty = self.percent_for_dirty(snapshot.dirty_percent() as u64);
        let settings = PolicySettings {
            is_8_0: false,
            ..self.settings
        };
        let redo = &snapshot.redo;
        plan.percent_for_lsn =
            percent_for_age(&settings, snapshot.age(), redo.capacity, redo.async_age);
        let urgency = plan.percent_for_dirty.max(plan.percent_for_lsn);
        plan.total = ((settings.percent_of_io(urgency) + self.average_page_rate) / 2)
            .min(settings.io_capacity_max);
        let is_moving = snapshot.lsn - self.last_lsn > self.average_lsn_rate / 2;
        let undone = match is_moving {
            true => self.last_requested / (snapshot.list_flushed + 1),
            false => 0,
        };
        plan.lsn_limit = snapshot
            .oldest()
            .saturating_add(self.average_lsn_rate.saturating_mul(undone + 1));
        let pages = plan.total;
        split_evenly(&mut plan, pages);
        self.last_lsn = snapshot.lsn;
        self.last_requested = plan.total;
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_cleaner::policy::DirtyAges;
    use crate::page_cleaner::redo_state::RedoAges;

    struct None;

    impl DirtyAges for None {
        fn pages_up_to(&self, _: usize, _: Lsn, _: usize) -> usize {
            0
        }
    }

    #[test]
    fn pages_are_the_mean_of_urgency_and_what_was_flushed() {
        let mut policy = V56::new(PolicySettings {
            io_capacity: 200,
            io_capacity_max: 2000,
            max_dirty_pages_pct: 75.0,
            max_dirty_pages_pct_lwm: 0.0,
            flushing_avg_loops: 2,
            ..PolicySettings::new()
        });
        let mut now = FlushSnapshot {
            now: 0,
            lsn: 1000,
            oldest_modification: Some(1000),
            checkpoint_age: 0,
            redo: RedoAges {
                capacity: 10_000,
                async_age: 8000,
                sync_age: 9000,
            },
            list_flushed: 0,
            lru_flushed: 0,
            lru_pages: 999,
            free_frames: 0,
            dirty_pages: 750,
            instances: 3,
            sync_target: Option::None,
            dirty_ages: &None,
        };
        assert_eq!(policy.plan(&now), FlushPlan::nothing(3));
        now.lsn = 1500;
        // 75 % dirty: 100 % of 200; (200 + 0) / 2. A third is 33.3, rounded up. Redo has
        // moved, but nothing was asked for: up to the oldest.
        let plan = policy.plan(&now);
        assert_eq!((plan.total, plan.pages.as_slice()), (100, &[34; 3][..]));
        assert_eq!((plan.percent_for_dirty, plan.lsn_limit), (100, 1000));
        // Second round: 60 pages in two rounds, of 30 a round half: 15; 1000 of redo, 250.
        now.lsn = 2000;
        now.list_flushed = 60;
        now.dirty_pages = 749;
        let plan = policy.plan(&now);
        assert!(plan.is_window_over);
        assert_eq!((plan.average_page_rate, plan.average_lsn_rate), (15, 250));
        // 74 % dirty: nothing. Age 1000, f = 12, ratio 10: 55 % = 110;
        // (110 + 15) / 2 = 62. Asked for 100, flushed 60: 100 / 61 = 1 left undone.
        assert_eq!((plan.percent_for_lsn, plan.total), (55, 62));
        assert_eq!(plan.lsn_limit, 1000 + 2 * 250);
    }
}
