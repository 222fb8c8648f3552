//! The rule of MySQL 5.7, 8.0 and 8.4.
//!
//! ```text
//!   urgency   = max(percent for dirty pages, percent for the age of redo)
//!
//!               urgency x io_capacity + pages flushed a second + pages for redo's speed
//!   pages     = -----------------------------------------------------------------------
//!                                              3
//! ```
//!
//! and at most `innodb_io_capacity_max`. The second and third term make it steady: where
//! the three agree, their mean is what they are. They also make it slow: the averages are
//! renewed every 30 rounds, and half of each is the past.
//!
//! The percents:
//!
//! ```text
//!   dirty:  dirty % * 100 / (max_dirty_pages_pct + 1)          from the low-water mark on
//!   age:    (io_max / io) * f * sqrt(f) / 7.5                  f: age in % of its limit
//! ```
//!
//! `io_max / io` is an integer division, as in the server: 390 / 200 is 1. All divisions
//! here are the server's, roundings included; seconds are whole ones.
//!
//! A sync round of 8.0 and later flushes up to twice `innodb_io_capacity_max`; one of 5.7
//! has no limit ("furious flushing").

use crate::page::Lsn;
use crate::page_cleaner::policy::{FlushPlan, FlushPolicy, FlushSnapshot};
use crate::page_cleaner::settings::PolicySettings;
use crate::runtime::time::{SECOND, Time};

/// Redo is looked ahead for so many seconds (`buf_flush_lsn_scan_factor`).
const LSN_SCAN_FACTOR: u64 = 3;

/// Beyond this percentage for the age of redo, instances get pages by how many old ones
/// they have.
const UNEVEN_ABOVE_PERCENT: u64 = 30;

/// Percent of `innodb_io_capacity` that a share of dirty pages asks for
/// (`get_pct_for_dirty`).
pub fn percent_for_dirty(settings: &PolicySettings, dirty_percent: f64) -> u64 {
    let low_water_mark = settings.max_dirty_pages_pct_lwm;
    if dirty_percent == 0.0 {
        0
    } else if low_water_mark == 0.0 {
        match dirty_percent >= settings.max_dirty_pages_pct {
            true => 100,
            false => 0,
        }
    } else if dirty_percent >= low_water_mark {
        (dirty_percent * 100.0 / (settings.max_dirty_pages_pct + 1.0)) as u64
    } else {
        0
    }
}

/// Percent of `innodb_io_capacity` that an age of redo asks for (`get_pct_for_lsn`).
pub fn percent_for_age(settings: &PolicySettings, age: u64, capacity: u64, async_age: u64) -> u64 {
    let low_water_mark = settings.adaptive_flushing_lwm * capacity / 100;
    if age < low_water_mark || (age < async_age && !settings.adaptive_flushing) {
        return 0;
    }
    let async_age = async_age.max(1);
    let factor = match settings.is_8_0 {
        true => age as f64 * 100.0 / async_age as f64,
        false => (u128::from(age) * 100 / u128::from(async_age)) as f64,
    };
    let ratio = settings.io_capacity_max / settings.io_capacity.max(1);
    (ratio as f64 * (factor * factor.sqrt()) / 7.5) as u64
}

/// Where the present averaging window began.
#[derive(Clone, Copy, Debug)]
struct Window {
    lsn: Lsn,
    time: Time,
}

/// The policy; see the module's opening.
#[derive(Clone, Debug)]
pub struct V57 {
    settings: PolicySettings,
    window: Option<Window>,
    rounds: u64,
    pages: u64,
    average_page_rate: u64,
    average_lsn_rate: u64,
}

impl V57 {
    /// Without a history.
    pub fn new(settings: PolicySettings) -> Self {
        V57 {
            settings,
            window: None,
            rounds: 0,
            pages: 0,
            average_page_rate: 0,
            average_lsn_rate: 0,
        }
    }

    /// Renews the averages if it is time.
    fn average(&mut self, snapshot: &FlushSnapshot<'_>, window: Window) -> bool {
        self.pages += snapshot.list_flushed;
        self.rounds += 1;
        let elapsed = snapshot.now.saturating_sub(window.time) / SECOND;
        let loops = self.settings.flushing_avg_loops;
        if self.rounds < loops && elapsed < loops {
            return false;
        }
        let elapsed = elapsed.max(1);
        let page_rate = self.pages as f64 / elapsed as f64;
        self.average_page_rate = ((page_rate + self.average_page_rate as f64) / 2.0) as u64;
        let lsn_rate = (snapshot.lsn - window.lsn) / elapsed;
        self.average_lsn_rate = (self.average_lsn_rate + lsn_rate) / 2;
        self.restart(snapshot);
        true
    }

    fn restart(&mut self, snapshot: &FlushSnapshot<'_>) {
        self.window = Some(Window {
            lsn: snapshot.lsn,
            time: snapshot.now,
        });
        self.rounds = 0;
        self.pages = 0;
    }

    /// Pages of each instance that became dirty at an LSN or before.
    fn old_pages(&self, snapshot: &FlushSnapshot<'_>, target: Lsn) -> Vec<u64> {
        let instances = snapshot.instances;
        let limit = match self.settings.is_8_0 {
            true => {
                let share = 2 * self.settings.io_capacity_max / instances as u64;
                (share * LSN_SCAN_FACTOR * 2) as usize
            }
            false => usize::MAX,
        };
        (0..instances)
            .map(|instance| snapshot.dirty_ages.pages_up_to(instance, target, limit) as u64)
            .collect()
    }

    fn look_ahead(&self) -> u64 {
        self.average_lsn_rate * LSN_SCAN_FACTOR
    }

    fn plan_timed(&self, snapshot: &FlushSnapshot<'_>, plan: &mut FlushPlan) {
        let settings = &self.settings;
        let target = snapshot.oldest().saturating_add(self.look_ahead());
        let old = self.old_pages(snapshot, target);
        let requested = |old: u64| old / LSN_SCAN_FACTOR + 1;
        let sum = (old.iter().sum::<u64>() / LSN_SCAN_FACTOR).max(1);
        plan.pages_for_lsn = sum;
        let urgency = plan.percent_for_dirty.max(plan.percent_for_lsn);
        let terms = settings.percent_of_io(urgency)
            + self.average_page_rate
            + sum.min(2 * settings.io_capacity_max);
        plan.total = (terms / 3).min(settings.io_capacity_max);
        if plan.percent_for_lsn > UNEVEN_ABOVE_PERCENT {
            for (pages, &old) in plan.pages.iter_mut().zip(&old) {
                *pages = requested(old) * plan.total / sum + 1;
            }
        } else {
            let share = plan.total / snapshot.instances as u64;
            plan.pages.fill(share + u64::from(settings.is_8_0));
        }
    }

    fn plan_sync(&self, snapshot: &FlushSnapshot<'_>, target: Lsn, plan: &mut FlushPlan) {
        let settings = &self.settings;
        plan.lsn_limit = target.saturating_add(self.look_ahead());
        if !settings.is_8_0 {
            plan.total = u64::MAX;
            plan.pages.fill(u64::MAX);
            return;
        }
        let old = self.old_pages(snapshot, plan.lsn_limit);
        let sum = old.iter().sum::<u64>();
        plan.pages_for_lsn = sum;
        plan.total = sum
            .min(2 * settings.io_capacity_max)
            .max(settings.io_capacity);
        for (pages, &old) in plan.pages.iter_mut().zip(&old) {
            *pages = old * plan.total / sum.max(1) + 1;
        }
    }
}

impl FlushPolicy for V57 {
    fn name(&self) -> &'static str {
        "v57"
    }

    fn change(&mut self, settings: PolicySettings) {
        self.settings = settings;
    }

    fn plan(&mut self, snapshot: &FlushSnapshot<'_>) -> FlushPlan {
        let mut plan = FlushPlan::nothing(snapshot.instances);
        let is_furious = snapshot.sync_target.is_some() && !self.settings.is_8_0;
        match self.window {
            // A furious round is outside of the averages.
            _ if is_furious => {}
            None => {
                self.restart(snapshot);
                if snapshot.sync_target.is_none() {
                    return plan;
                }
            }
            Some(window) if window.lsn == snapshot.lsn && snapshot.sync_target.is_none() => {
                plan.average_page_rate = self.average_page_rate;
                plan.average_lsn_rate = self.average_lsn_rate;
                return plan;
            }
            Some(window) => plan.is_window_over = self.average(snapshot, window),
        }
        plan.average_page_rate = self.average_page_rate;
        plan.average_lsn_rate = self.average_lsn_rate;
        plan.percent_for_dirty = percent_for_dirty(&self.settings, snapshot.dirty_percent());
        let redo = &snapshot.redo;
        plan.percent_for_lsn = percent_for_age(
            &self.settings,
            snapshot.age(),
            redo.capacity,
            redo.async_age,
        );
        match snapshot.sync_target {
            None => self.plan_timed(snapshot, &mut plan),
            Some(target) => self.plan_sync(snapshot, target, &mut plan),
        }
        plan
    }
}

#[cfg(test)]
#[path = "v57_tests.rs"]
mod tests;
