//! Variables of page flushing: budgets, the adaptive rule, the page cleaners.

use super::definition::*;
use super::history::*;
use crate::sysvar::derive::DerivedDefault::*;
use crate::sysvar::flavor::Flavor::*;
use DefaultValue::{Derived, Integer, Real};

// Kept by hand: one variable, its history, its meaning.
#[rustfmt::skip]
pub(super) static VARIABLES: &[VariableDefinition] = &[
    // Budgets.
    integer("innodb_io_capacity", Unit::PagesPerSecond, 100, UNBOUNDED).everywhere(Integer(200))
        .since(MySql8_4, Integer(10_000)).dynamic()
        .meaning("Unit of all background flushing"),
    integer("innodb_io_capacity_max", Unit::PagesPerSecond, 100, UNBOUNDED)
        .implied(MySql5_1, Derived(IoCapacity)).since(MySql5_6, Derived(IoCapacityMax5_6))
        .since(MySql8_4, Derived(IoCapacityMax8_4)).mariadb(Derived(IoCapacityMax5_6)).dynamic()
        .meaning("Most pages that flush-list flushing writes a second")
        .note("innodb_io_capacity is lowered to it"),
    // Dirty share.
    real("innodb_max_dirty_pages_pct", Unit::Percent, 0.0, 99.999).everywhere(Real(75.0))
        .since(MySql8_0, Real(90.0)).mariadb(Real(90.0)).dynamic()
        .meaning("Dirty share of the pool at which flushing runs at full capacity")
        .note("an integer up to 5.6"),
    real("innodb_max_dirty_pages_pct_lwm", Unit::Percent, 0.0, 99.999).implied(MySql5_1, Real(0.0))
        .since(MySql5_6, Real(0.0)).since(MySql8_0, Real(10.0)).mariadb(Real(0.0)).dynamic()
        .meaning("Dirty share at which flushing starts; 0 for none").note("an integer in 5.6"),
    // The adaptive rule.
    boolean("innodb_adaptive_flushing").everywhere(ON).dynamic()
        .meaning("Flush by the age of the redo log before its limit comes near"),
    integer("innodb_adaptive_flushing_lwm", Unit::Percent, 0, 70).implied(MySql5_1, Integer(10))
        .since(MySql5_6, Integer(10)).mariadb(Integer(10)).dynamic()
        .meaning("Share of the redo capacity at which the adaptive rule starts"),
    integer("innodb_flushing_avg_loops", Unit::Count, 1, 1000).implied(MySql5_1, Integer(30))
        .since(MySql5_6, Integer(30)).mariadb(Integer(30)).dynamic()
        .meaning("Rounds over which the adaptive rule averages"),
    boolean("innodb_flush_sync").implied(MySql5_1, ON).since(MySql5_7, ON).mariadb(ON).dynamic()
        .meaning("Exceed innodb_io_capacity when the redo log is nearly full"),
    integer("innodb_idle_flush_pct", Unit::Percent, 0, 100).implied(MySql5_1, Integer(100))
        .since(MySql8_0, Integer(100)).mariadb_ignored(Integer(100)).dynamic()
        .meaning("Share of innodb_io_capacity that an idle server flushes"),
    integer("innodb_flush_neighbors", Unit::Count, 0, 2).implied(MySql5_1, Integer(1))
        .since(MySql5_6, Integer(1)).since(MySql8_0, Integer(0)).mariadb(Integer(1)).dynamic()
        .behaves_as("0")
        .meaning("Flush dirty neighbours too: 0 none, 1 the contiguous ones, 2 the whole extent"),
    // Who flushes.
    integer("innodb_page_cleaners", Unit::Count, 1, 64).implied(MySql5_1, Integer(0))
        .implied(MySql5_6, Integer(1)).since(MySql5_7, Derived(PageCleaners5_7))
        .since(MySql8_4, Derived(PageCleaners8_4)).mariadb_ignored(Integer(1))
        .meaning("Threads that flush pages; 0 (5.1, 5.5): the master thread does it")
        .note("at most innodb_buffer_pool_instances"),
    // Other servers' policies: known here so that their files get a useful answer.
    choice("innodb_adaptive_flushing_method", &["native", "estimate", "keep_average", "reflex"])
        .elsewhere("Percona Server 5.1 and 5.5")
        .meaning("Flush policy; here: innosim_flush_policy"),
    choice("innodb_cleaner_lsn_age_factor", &["legacy", "high_checkpoint"])
        .elsewhere("Percona Server 5.6 on")
        .meaning("Curve of flushing over redo age"),
    choice("innodb_empty_free_list_algorithm", &["legacy", "backoff"])
        .elsewhere("Percona Server 5.6 on")
        .meaning("What a thread without a free frame does"),
    integer("innodb_sched_priority_cleaner", Unit::Count, 0, 39)
        .elsewhere("Percona Server 5.6 and 5.7")
        .meaning("Scheduling priority of the page cleaners"),
    text("innodb_parallel_doublewrite_path").elsewhere("Percona Server 5.7 and 8.0")
        .meaning("File of the parallel doublewrite buffer"),
    choice("innodb_flush_neighbor_pages", &["none", "area", "cont"])
        .elsewhere("Percona Server 5.1 and 5.5")
        .meaning("Flush dirty neighbours too"),
];
