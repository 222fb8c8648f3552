//! What the page cleaner obeys.

use crate::sysvar::{Flavor, Settings};

/// What flush policies obey; pages as the engine works with them (scaled).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicySettings {
    /// `innodb_io_capacity`, in pages a second; at least 1.
    pub io_capacity: u64,
    /// `innodb_io_capacity_max`, in pages a second.
    pub io_capacity_max: u64,
    /// `innodb_max_dirty_pages_pct`.
    pub max_dirty_pages_pct: f64,
    /// `innodb_max_dirty_pages_pct_lwm`.
    pub max_dirty_pages_pct_lwm: f64,
    /// `innodb_adaptive_flushing`.
    pub adaptive_flushing: bool,
    /// `innodb_adaptive_flushing_lwm`, in percent of the redo capacity.
    pub adaptive_flushing_lwm: u64,
    /// `innodb_flushing_avg_loops`.
    pub flushing_avg_loops: u64,
    /// The details of 8.0 and later, where they differ from 5.7: ages are not rounded to
    /// percents, counting old pages stops somewhere, a split is rounded up, and sync rounds
    /// have a limit.
    pub is_8_0: bool,
}

impl PolicySettings {
    /// MySQL 8.4's defaults.
    pub fn new() -> Self {
        PolicySettings {
            io_capacity: 10_000,
            io_capacity_max: 20_000,
            max_dirty_pages_pct: 90.0,
            max_dirty_pages_pct_lwm: 10.0,
            adaptive_flushing: true,
            adaptive_flushing_lwm: 10,
            flushing_avg_loops: 30,
            is_8_0: true,
        }
    }

    /// A percentage of `innodb_io_capacity`, in pages.
    pub fn percent_of_io(&self, percent: u64) -> u64 {
        (self.io_capacity as f64 * (percent as f64 / 100.0)) as u64
    }
}

impl Default for PolicySettings {
    fn default() -> Self {
        PolicySettings::new()
    }
}

/// What the page cleaner obeys.
#[derive(Clone, Debug, PartialEq)]
pub struct CleanerSettings {
    /// What the policy obeys.
    pub policy: PolicySettings,
    /// `innosim_flush_policy`.
    pub policy_name: String,
    /// `innodb_page_cleaners`: the coordinator is one of them. At most as many as
    /// instances work; 0, as in 5.5, is 1.
    pub cleaners: usize,
    /// `innodb_lru_scan_depth`: free frames that an instance shall have.
    pub lru_scan_depth: usize,
    /// `innodb_idle_flush_pct`.
    pub idle_flush_pct: u64,
    /// `innodb_flush_sync`.
    pub flush_sync: bool,
    /// Whether a thread without a free frame can wake the coordinator before its time
    /// (since 5.7).
    pub wakes_early: bool,
}

impl CleanerSettings {
    /// MySQL 8.4's defaults for a pool of so many instances.
    pub fn new(instances: usize) -> Self {
        CleanerSettings {
            policy: PolicySettings::new(),
            policy_name: "v57".to_owned(),
            cleaners: instances,
            lru_scan_depth: 1024,
            idle_flush_pct: 100,
            flush_sync: true,
            wakes_early: true,
        }
    }

    /// What a run's variables ask for.
    pub fn from_variables(settings: &Settings) -> Self {
        let values = settings.scaled();
        let flavor = settings.flavor();
        let before_5_7 = matches!(
            flavor,
            Flavor::MySql5_1 | Flavor::MySql5_5 | Flavor::MySql5_6
        );
        CleanerSettings {
            policy: PolicySettings {
                io_capacity: values.innodb_io_capacity().max(1),
                io_capacity_max: values.innodb_io_capacity_max(),
                max_dirty_pages_pct: values.innodb_max_dirty_pages_pct(),
                max_dirty_pages_pct_lwm: values.innodb_max_dirty_pages_pct_lwm(),
                adaptive_flushing: values.innodb_adaptive_flushing(),
                adaptive_flushing_lwm: values.innodb_adaptive_flushing_lwm(),
                flushing_avg_loops: values.innodb_flushing_avg_loops(),
                is_8_0: !before_5_7 && flavor != Flavor::MySql5_7,
            },
            policy_name: values.innosim_flush_policy().to_owned(),
            cleaners: values.innodb_page_cleaners() as usize,
            lru_scan_depth: values.innodb_lru_scan_depth() as usize,
            idle_flush_pct: values.innodb_idle_flush_pct(),
            flush_sync: values.innodb_flush_sync(),
            wakes_early: !before_5_7,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::sysvar::{MachineFacts, Options, resolve};

    fn of_variables(flavor: Flavor, assignments: &[&str]) -> CleanerSettings {
        let machine = MachineFacts {
            logical_cpus: 8,
            memory_bytes: 16 << 30,
        };
        let mut options = Options::new();
        for assignment in assignments {
            options.set(assignment);
        }
        let settings = resolve(flavor, &options, machine, NonZeroU32::MIN).unwrap();
        CleanerSettings::from_variables(&settings)
    }

    #[test]
    fn variables_have_the_servers_meaning() {
        let defaults = of_variables(Flavor::MySql8_4, &[]);
        assert_eq!(defaults, CleanerSettings::new(1));
        let of_5_7 = of_variables(Flavor::MySql5_7, &["innodb_io_capacity=300"]);
        assert!(!of_5_7.policy.is_8_0 && of_5_7.wakes_early);
        assert_eq!(of_5_7.policy.io_capacity, 300);
        let of_5_6 = of_variables(Flavor::MySql5_6, &[]);
        assert!(!of_5_6.wakes_early);
        let policies = [
            (Flavor::MySql5_1, "native51"),
            (Flavor::MySql5_5, "native51"),
            (Flavor::MySql5_6, "v56"),
            (Flavor::MySql5_7, "v57"),
            (Flavor::MySql8_0, "v57"),
            (Flavor::MySql8_4, "v57"),
            (Flavor::MariaDb10_11, "maria105"),
        ];
        for (flavor, name) in policies {
            let settings = of_variables(flavor, &[]);
            assert_eq!(settings.policy_name, name);
            assert!(crate::page_cleaner::policies::by_name(name, settings.policy).is_ok());
        }
    }
}
