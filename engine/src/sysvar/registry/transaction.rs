//! Variables of transactions, undo, purge and locks.

use super::definition::*;
use super::history::*;
use crate::sysvar::choices::TransactionIsolation;
use crate::sysvar::derive::DerivedDefault::*;
use crate::sysvar::flavor::Flavor::*;
use DefaultValue::{Derived, Integer, Text};

// Kept by hand: one variable, its history, its meaning.
#[rustfmt::skip]
pub(super) static VARIABLES: &[VariableDefinition] = &[
    choice("transaction_isolation", TransactionIsolation::NAMES).everywhere(Text("REPEATABLE-READ"))
        .dynamic()
        .meaning("Isolation level of new sessions"),
    // Purge.
    integer("innodb_purge_threads", Unit::Count, 1, 32).implied(MySql5_1, Integer(0))
        .since(MySql5_5, Integer(0)).range_since(MySql5_5, 0, 1).since(MySql5_6, Integer(1))
        .range_since(MySql5_6, 1, 32).since(MySql5_7, Integer(4))
        .since(MySql8_4, Derived(PurgeThreads8_4)).mariadb(Integer(4))
        .meaning("Threads that purge old versions; 0: the master thread does it"),
    integer("innodb_purge_batch_size", Unit::Pages, 1, 5000).implied(MySql5_1, Integer(20))
        .since(MySql5_5, Integer(20)).since(MySql5_6, Integer(300)).mariadb(Integer(1000)).dynamic()
        .meaning("Undo pages that one purge batch reads").note("MariaDB: 300 before 10.11.6"),
    integer("innodb_purge_rseg_truncate_frequency", Unit::Count, 1, 128)
        .since(MySql5_7, Integer(128)).mariadb(Integer(128)).dynamic()
        .meaning("Purge batches between two truncations of the history"),
    integer("innodb_max_purge_lag", Unit::Count, 0, MAX_32_BIT).everywhere(Integer(0)).dynamic()
        .behaves_as("0")
        .meaning("History length at which changes are delayed; 0 for never"),
    integer("innodb_max_purge_lag_delay", Unit::Microseconds, 0, 10_000_000)
        .since(MySql5_6, Integer(0)).mariadb(Integer(0)).dynamic()
        .meaning("Longest such delay"),
    // Undo.
    integer("innodb_rollback_segments", Unit::Count, 1, 128).implied(MySql5_1, Integer(1))
        .since(MySql5_5, Integer(128)).mariadb_ignored(Integer(128)).dynamic()
        .meaning("Rollback segments (8.0: in each undo tablespace)"),
    integer("innodb_undo_tablespaces", Unit::Count, 0, 127).implied(MySql5_1, Integer(0))
        .since(MySql5_6, Integer(0)).range_since(MySql5_6, 0, 126).range_since(MySql5_7, 0, 95)
        .ignored_since(MySql8_0, Integer(2)).range_since(MySql8_0, 2, 127).mariadb(Integer(0))
        .meaning("Undo tablespaces; 0: undo lives in the system tablespace"),
    boolean("innodb_undo_log_truncate").since(MySql5_7, OFF).since(MySql8_0, ON).mariadb(OFF)
        .dynamic().behaves_as("OFF")
        .meaning("Shrink undo tablespaces that have grown"),
    integer("innodb_max_undo_log_size", Unit::Bytes, 10 * MIB, UNBOUNDED).scaled(Scaling::Bytes)
        .since(MySql5_7, Integer(GIB)).mariadb(Integer(10 * MIB)).dynamic()
        .meaning("Size at which an undo tablespace is shrunk"),
    text("innodb_undo_directory").since(MySql5_6, Text(".")).since(MySql5_7, Text("./"))
        .mariadb(Text("./"))
        .meaning("Directory of undo tablespaces"),
    boolean("innodb_undo_log_encrypt").since(MySql8_0, OFF).dynamic().behaves_as("OFF")
        .meaning("Encrypt undo"),
    // Locks.
    integer("innodb_lock_wait_timeout", Unit::Seconds, 1, 1_073_741_824).everywhere(Integer(50))
        .mariadb_range(0, 100_000_000).dynamic()
        .meaning("How long a transaction waits for a row lock"),
    boolean("innodb_rollback_on_timeout").everywhere(OFF)
        .meaning("After a lock wait timeout roll back the transaction, not only the statement"),
    boolean("innodb_deadlock_detect").since(MySql5_7, ON).mariadb(ON).dynamic().behaves_as("ON")
        .meaning("Look for deadlocks; otherwise only the timeout ends them"),
    choice("innodb_deadlock_report", &["off", "basic", "full"]).mariadb(Text("full")).dynamic()
        .meaning("What is reported of a deadlock (MariaDB)"),
    boolean("innodb_print_all_deadlocks").since(MySql5_5, OFF).mariadb(OFF).dynamic()
        .meaning("Write every deadlock to the error log"),
    boolean("innodb_table_locks").everywhere(ON).dynamic()
        .meaning("LOCK TABLES also locks inside InnoDB"),
    integer("innodb_autoinc_lock_mode", Unit::Count, 0, 2).everywhere(Integer(1))
        .since(MySql8_0, Integer(2))
        .meaning("AUTO-INC locking: 0 table lock, 1 table lock for bulk inserts, 2 none"),
    boolean("innodb_locks_unsafe_for_binlog").since(MySql5_1, OFF).gone(MySql8_0)
        .mariadb_ignored(OFF).behaves_as("OFF")
        .meaning("No gap locks under REPEATABLE READ"),
    boolean("innodb_snapshot_isolation").mariadb(OFF).dynamic().behaves_as("OFF")
        .meaning("Refuse to lock rows newer than the read view (MariaDB)"),
    choice("innodb_lock_schedule_algorithm", &["fcfs", "vats"]).elsewhere("MariaDB 10.1 to 10.5")
        .meaning("Who gets a released lock"),
    // Two-phase commit and replication.
    boolean("innodb_support_xa").since(MySql5_1, ON).ignored_since(MySql5_7, ON).gone(MySql8_0)
        .mariadb_ignored(ON)
        .meaning("Prepare transactions for XA and for the binary log"),
    integer("innodb_replication_delay", Unit::Milliseconds, 0, MAX_32_BIT)
        .since(MySql5_1, Integer(0)).mariadb_ignored(Integer(0)).dynamic().behaves_as("0")
        .meaning("Delay of the replication thread when innodb_thread_concurrency is reached"),
    // The memcached interface.
    integer("innodb_api_bk_commit_interval", Unit::Seconds, 1, 1_073_741_824)
        .since(MySql5_6, Integer(5)).gone(MySql8_4).dynamic()
        .meaning("Period of commits of idle memcached connections"),
    boolean("innodb_api_disable_rowlock").since(MySql5_6, OFF).gone(MySql8_4)
        .meaning("No row locks for memcached"),
    boolean("innodb_api_enable_binlog").since(MySql5_6, OFF).gone(MySql8_4)
        .meaning("Binary log for memcached"),
    boolean("innodb_api_enable_mdl").since(MySql5_6, OFF).gone(MySql8_4)
        .meaning("Lock tables that memcached uses"),
    integer("innodb_api_trx_level", Unit::Count, 0, 3).since(MySql5_6, Integer(0)).gone(MySql8_4)
        .dynamic()
        .meaning("Isolation level of memcached"),
];
