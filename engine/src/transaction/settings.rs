//! What a transaction system is made from, and what differs between versions.

use crate::sysvar::{self, Flavor, Settings, TransactionIsolation};

/// How somebody finds out whether the transaction of an id is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityCheck {
    /// 5.1 to 5.6: a walk of the list, under the mutexes of the lock system and of the
    /// transaction system; also for one's own rows.
    ListWalk,
    /// 5.7: a look-up under the transaction system's mutex.
    LookUp,
    /// 8.0 on: mostly a comparison with the smallest active id, else a look-up in one of
    /// 256 shards with a mutex each.
    SmallestId,
}

/// The mutexes and lists that a version has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionRules {
    /// Up to 5.6 a transaction gets an id when it begins, and BEGIN puts it on the list of
    /// read-write transactions; later ones do so with the first change.
    pub listed_at_begin: bool,
    /// From 8.0 numbers have a mutex of their own; before, they are taken under
    /// `trx_sys->mutex`.
    pub number_mutex: bool,
    /// How implicit locks are looked up.
    pub activity_check: ActivityCheck,
    /// Up to 5.6, a view is closed in a critical section of its own at commit; later, in
    /// the one that takes the transaction off the list.
    pub closes_view_apart: bool,
    /// Whether rollback segments are in undo tablespaces (8.0) or in the system tablespace.
    pub undo_tablespaces: bool,
}

impl TransactionRules {
    /// The rules of a version.
    pub fn of_flavor(flavor: Flavor) -> TransactionRules {
        let old = TransactionRules {
            listed_at_begin: true,
            number_mutex: false,
            activity_check: ActivityCheck::ListWalk,
            closes_view_apart: true,
            undo_tablespaces: false,
        };
        let of_5_7 = TransactionRules {
            listed_at_begin: false,
            activity_check: ActivityCheck::LookUp,
            closes_view_apart: false,
            ..old
        };
        match flavor {
            Flavor::MySql5_1 | Flavor::MySql5_5 | Flavor::MySql5_6 => old,
            Flavor::MySql5_7 => of_5_7,
            Flavor::MySql8_0 | Flavor::MySql8_4 => TransactionRules {
                number_mutex: true,
                activity_check: ActivityCheck::SmallestId,
                undo_tablespaces: true,
                ..of_5_7
            },
            // Its hash of active transactions is searched without a mutex.
            Flavor::MariaDb10_11 => TransactionRules {
                activity_check: ActivityCheck::SmallestId,
                ..of_5_7
            },
        }
    }
}

/// What a transaction system is made from.
#[derive(Clone, Debug)]
pub struct TransactionSettings {
    /// What the version does.
    pub rules: TransactionRules,
    /// `innosim_read_view`.
    pub read_view: sysvar::ReadViewAlgorithm,
    /// `transaction_isolation`.
    pub isolation: TransactionIsolation,
    /// `innodb_lock_wait_timeout`, in seconds.
    pub lock_wait_timeout: u64,
    /// `innodb_rollback_on_timeout`.
    pub rollback_on_timeout: bool,
    /// `innodb_rollback_segments`: all of them, or in each undo tablespace.
    pub rollback_segments: usize,
    /// `innodb_undo_tablespaces`; 0 for the system tablespace.
    pub undo_tablespaces: usize,
    /// The first size of an undo tablespace, in pages.
    pub undo_space_pages: u32,
    /// `innodb_purge_threads`; 0 for the master thread's purge.
    pub purge_threads: usize,
    /// `innodb_purge_batch_size`, in undo pages.
    pub purge_batch_size: usize,
    /// `innodb_purge_rseg_truncate_frequency`, in batches.
    pub purge_truncate_frequency: u64,
}

impl TransactionSettings {
    /// The settings that a run's variables ask for.
    pub fn from_variables(settings: &Settings) -> TransactionSettings {
        let values = settings.scaled();
        let rules = TransactionRules::of_flavor(settings.flavor());
        let undo_tablespaces = match rules.undo_tablespaces {
            // The two that every instance has.
            true => values.innodb_undo_tablespaces().clamp(2, 127) as usize,
            false => 0,
        };
        TransactionSettings {
            rules,
            read_view: values.innosim_read_view(),
            isolation: values.transaction_isolation(),
            lock_wait_timeout: values.innodb_lock_wait_timeout(),
            rollback_on_timeout: values.innodb_rollback_on_timeout(),
            rollback_segments: values.innodb_rollback_segments() as usize,
            undo_tablespaces,
            undo_space_pages: super::undo::UNDO_SPACE_PAGES,
            purge_threads: values.innodb_purge_threads() as usize,
            purge_batch_size: values.innodb_purge_batch_size() as usize,
            purge_truncate_frequency: values
                .get("innodb_purge_rseg_truncate_frequency")
                .and_then(sysvar::Value::as_integer)
                .unwrap_or(128),
        }
    }
}

impl Default for TransactionSettings {
    /// Those of MySQL 8.4 on a small machine.
    fn default() -> Self {
        TransactionSettings {
            rules: TransactionRules::of_flavor(Flavor::MySql8_4),
            read_view: sysvar::ReadViewAlgorithm::IdVectorCopy,
            isolation: TransactionIsolation::RepeatableRead,
            lock_wait_timeout: 50,
            rollback_on_timeout: false,
            rollback_segments: 128,
            undo_tablespaces: 2,
            undo_space_pages: super::undo::UNDO_SPACE_PAGES,
            purge_threads: 1,
            purge_batch_size: 300,
            purge_truncate_frequency: 128,
        }
    }
}
