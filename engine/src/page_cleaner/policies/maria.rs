//! The rule of MariaDB 10.5 and later, as far as it is documented: three terms as in
//! MySQL 5.7, but nothing is flushed below the dirty limit and the low-water mark of redo.
//!
//! ```text
//!   limit     = max_dirty_pages_pct_lwm, or max_dirty_pages_pct if that is 0
//!   nothing     while dirty % < limit and the age of redo asks for nothing
//!   age 0:      min(dirty pages, io_capacity)
//!   otherwise:  (ratio x io_capacity + pages flushed a second + pages for redo's speed) / 3
//!               ratio = max(percent for age / 100, dirty % / max_dirty_pages_pct)
//! ```
//!
//! A sync round flushes `innodb_io_capacity_max` pages.

use super::v57::V57;
use super::{FlushPlan, FlushPolicy, PolicySettings, split_evenly};
use crate::page_cleaner::policy::FlushSnapshot;

/// The policy; see the module's opening.
#[derive(Clone, Debug)]
pub struct Maria105 {
    settings: PolicySettings,
    /// For its averages and its count of old pages.
    inner: V57,
}

impl Maria105 {
    /// Without a history.
    pub fn new(settings: PolicySettings) -> Self {
        Maria105 {
            settings,
            inner: V57::new(settings),
        }
    }
}

impl FlushPolicy for Maria105 {
    fn name(&self) -> &'static str {
        "maria105"
    }

    fn change(&mut self, settings: PolicySettings) {
        self.settings = settings;
        self.inner.change(settings);
    }

    fn plan(&mut self, snapshot: &FlushSnapshot<'_>) -> FlushPlan {
        let settings = &self.settings;
        let mut plan = self.inner.plan(snapshot);
        if snapshot.sync_target.is_some() {
            plan.total = settings.io_capacity_max;
            split_evenly(&mut plan, settings.io_capacity_max);
            return plan;
        }
        let dirty = snapshot.dirty_percent();
        let limit = match settings.max_dirty_pages_pct_lwm {
            0.0 => settings.max_dirty_pages_pct,
            low_water_mark => low_water_mark,
        };
        plan.total = if plan.percent_for_lsn == 0 {
            match dirty < limit {
                true => 0,
                false => snapshot.dirty_pages.min(settings.io_capacity),
            }
        } else {
            let share = dirty / settings.max_dirty_pages_pct.max(1.0) * 100.0;
            let percent = plan.percent_for_lsn.max(share as u64);
            let terms = settings.percent_of_io(percent)
                + plan.average_page_rate
                + plan.pages_for_lsn.min(2 * settings.io_capacity_max);
            (terms / 3).min(settings.io_capacity_max)
        };
        let pages = plan.total;
        split_evenly(&mut plan, pages);
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Lsn;
    use crate::page_cleaner::policy::DirtyAges;
    use crate::page_cleaner::redo_state::RedoAges;

    struct Thirty;

    impl DirtyAges for Thirty {
        fn pages_up_to(&self, _: usize, _: Lsn, _: usize) -> usize {
            30
        }
    }

    #[test]
    fn nothing_is_flushed_before_its_time() {
        let mut policy = Maria105::new(PolicySettings {
            io_capacity: 200,
            io_capacity_max: 2000,
            max_dirty_pages_pct_lwm: 0.0,
            ..PolicySettings::new()
        });
        let mut now = FlushSnapshot {
            now: 0,
            lsn: 1000,
            oldest_modification: Some(1000),
            checkpoint_age: 0,
            redo: RedoAges {
                capacity: 1000,
                async_age: 800,
                sync_age: 900,
            },
            list_flushed: 0,
            lru_flushed: 0,
            lru_pages: 999,
            free_frames: 0,
            dirty_pages: 899,
            instances: 1,
            sync_target: None,
            dirty_ages: &Thirty,
        };
        assert_eq!(policy.plan(&now).total, 0);
        now.lsn += 1;
        assert_eq!(policy.plan(&now).total, 0, "89.9 % and no age");
        now.dirty_pages = 900;
        assert_eq!(policy.plan(&now).total, 200, "the limit");
        // Age 401, f = 50.125, ratio 10: 473 % of 200 = 946; (946 + 0 + 10) / 3 = 318.
        now.lsn += 400;
        now.dirty_pages = 100;
        assert_eq!(policy.plan(&now).total, 318);
        now.sync_target = Some(1100);
        assert_eq!(policy.plan(&now).total, 2000);
    }
}
