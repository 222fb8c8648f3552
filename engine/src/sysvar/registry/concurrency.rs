//! Variables of admission, spinning and monitoring.

use super::definition::*;
use super::history::*;
use crate::sysvar::flavor::Flavor::*;
use DefaultValue::{Integer, Text};

// Kept by hand: one variable, its history, its meaning.
#[rustfmt::skip]
pub(super) static VARIABLES: &[VariableDefinition] = &[
    // Admission. MariaDB 10.5 dropped it and takes the names without effect.
    integer("innodb_thread_concurrency", Unit::Count, 0, 1000).everywhere(Integer(0))
        .mariadb_ignored(Integer(0)).dynamic()
        .meaning("Threads inside InnoDB at once; 0 for no limit"),
    integer("innodb_concurrency_tickets", Unit::Count, 1, MAX_32_BIT).since(MySql5_1, Integer(500))
        .since(MySql5_6, Integer(5000)).mariadb_ignored(Integer(5000)).dynamic()
        .meaning("Row operations of an admitted thread before it asks again"),
    integer("innodb_thread_sleep_delay", Unit::Microseconds, 0, 1_000_000)
        .everywhere(Integer(10_000)).mariadb_ignored(Integer(10_000)).dynamic()
        .meaning("Sleep of a thread that was not admitted"),
    integer("innodb_adaptive_max_sleep_delay", Unit::Microseconds, 0, 1_000_000)
        .implied(MySql5_1, Integer(0)).since(MySql5_6, Integer(150_000))
        .mariadb_ignored(Integer(150_000)).dynamic()
        .meaning("Upper limit of the sleep when it adapts; 0: it does not"),
    integer("innodb_commit_concurrency", Unit::Count, 0, 1000).everywhere(Integer(0))
        .mariadb_ignored(Integer(0)).dynamic().behaves_as("0")
        .meaning("Threads in commit at once; 0 for no limit"),
    // Spinning.
    integer("innodb_sync_spin_loops", Unit::Count, 0, MAX_32_BIT).everywhere(Integer(30)).dynamic()
        .meaning("Rounds of spinning before a thread sleeps"),
    integer("innodb_spin_wait_delay", Unit::Count, 0, MAX_32_BIT).everywhere(Integer(6))
        .range_since(MySql8_0, 0, 1000).mariadb(Integer(4)).dynamic()
        .meaning("Largest random delay of one round"),
    integer("innodb_spin_wait_pause_multiplier", Unit::Count, 0, 100)
        .implied_everywhere(Integer(50)).since(MySql8_0, Integer(50)).dynamic()
        .meaning("PAUSE instructions in one unit of delay"),
    integer("innodb_sync_array_size", Unit::Count, 1, 1024).since(MySql5_6, Integer(1))
        .mariadb_ignored(Integer(1))
        .meaning("Arrays in which waiting threads are kept"),
    // Monitoring.
    boolean("innodb_status_output").since(MySql5_6, OFF).mariadb(OFF).dynamic()
        .meaning("Write the status to the error log now and then"),
    boolean("innodb_status_output_locks").since(MySql5_6, OFF).mariadb(OFF).dynamic()
        .meaning("With the locks"),
    boolean("innodb_status_file").everywhere(OFF)
        .meaning("Write the status to a file now and then"),
    text("innodb_monitor_enable").since(MySql5_6, Text("")).mariadb(Text("")).dynamic()
        .meaning("Counters to switch on"),
    text("innodb_monitor_disable").since(MySql5_6, Text("")).mariadb(Text("")).dynamic()
        .meaning("Counters to switch off"),
    text("innodb_monitor_reset").since(MySql5_6, Text("")).mariadb(Text("")).dynamic()
        .meaning("Counters to reset"),
    text("innodb_monitor_reset_all").since(MySql5_6, Text("")).mariadb(Text("")).dynamic()
        .meaning("Counters to reset with their maxima"),
    integer("innodb_fatal_semaphore_wait_threshold", Unit::Seconds, 1, MAX_32_BIT)
        .mariadb(Integer(600))
        .meaning("Wait for a latch after which the server stops itself (MariaDB)"),
];
