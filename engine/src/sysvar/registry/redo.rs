//! Variables of the redo log, of checkpoints, shutdown and recovery.

use super::definition::*;
use super::file_io::CHECKSUM_ALGORITHMS;
use super::history::*;
use crate::sysvar::derive::DerivedDefault::*;
use crate::sysvar::flavor::Flavor::*;
use DefaultValue::{Derived, Integer, Text};

/// Why a release build does not list these: they exist only where the server was
/// built with its experimental variables. The run uses them all the same.
const EXPERIMENTAL: &str =
    "only in servers built with experimental variables; innosim always has it";

// Kept by hand: one variable, its history, its meaning.
#[rustfmt::skip]
pub(super) static VARIABLES: &[VariableDefinition] = &[
    // Capacity.
    integer("innodb_redo_log_capacity", Unit::Bytes, 8 * MIB, 512 * GIB).block(MIB)
        .scaled(Scaling::Bytes).implied(MySql5_1, Derived(RedoFiles))
        .since(MySql8_0, Derived(RedoCapacity8_0)).since(MySql8_4, Derived(RedoCapacity8_4))
        .mariadb_implied(Derived(RedoFiles)).dynamic()
        .meaning("Disk space of the redo log")
        .note("older versions have the size and number of files instead"),
    integer("innodb_log_file_size", Unit::Bytes, MIB, 512 * GIB).block(MIB).scaled(Scaling::Bytes)
        .since(MySql5_1, Integer(5 * MIB)).since(MySql5_6, Integer(48 * MIB))
        .mariadb(Integer(96 * MIB)).range_since(MySql5_7, 4 * MIB, 512 * GIB)
        .mariadb_range(4 * MIB, 512 * GIB)
        .meaning("Size of one redo file")
        .note("deprecated in 8.0.30; ignored there when innodb_redo_log_capacity is set"),
    integer("innodb_log_files_in_group", Unit::Count, 2, 100).since(MySql5_1, Integer(2))
        .mariadb_ignored(Integer(1))
        .meaning("Number of redo files")
        .note("deprecated in 8.0.30; ignored there when innodb_redo_log_capacity is set"),
    boolean("innodb_dedicated_server").implied_everywhere(OFF).since(MySql8_0, OFF)
        .meaning("Size the pool and the redo log for a machine that runs nothing else"),
    // Buffer and writes.
    integer("innodb_log_buffer_size", Unit::Bytes, 256 * KIB, MAX_32_BIT).block(KIB)
        .since(MySql5_1, Integer(8 * MIB)).since(MySql5_7, Integer(16 * MIB))
        .since(MySql8_4, Integer(64 * MIB)).mariadb(Integer(16 * MIB)).dynamic_since(MySql8_0)
        .meaning("Memory for redo that is not yet written")
        .note("not scaled: it covers the time of a device write, which is not scaled either"),
    integer("innodb_log_write_ahead_size", Unit::Bytes, 512, 16 * KIB).block(512)
        .implied(MySql5_1, Integer(512)).since(MySql5_7, Integer(8 * KIB))
        .mariadb_implied(Integer(512)).dynamic()
        .meaning("Unit to which first writes into a part of a redo file are padded")
        .note("a power of two, at most the page size"),
    boolean("innodb_log_writer_threads").implied(MySql5_1, OFF).since(MySql8_0, ON)
        .mariadb_implied(OFF).dynamic()
        .meaning("Write and flush redo in threads of its own")
        .note("ON by default whatever the CPUs: a rule by CPUs came after 8.4"),
    // Durability.
    integer("innodb_flush_log_at_trx_commit", Unit::Count, 0, 2).everywhere(Integer(1))
        .mariadb_range(0, 3).dynamic()
        .meaning("At commit: 1 write and flush redo, 2 write it, 0 neither"),
    integer("innodb_flush_log_at_timeout", Unit::Seconds, 0, 2700).implied(MySql5_1, Integer(1))
        .since(MySql5_6, Integer(1)).mariadb(Integer(1)).dynamic()
        .meaning("Period of flushing redo when commits do not"),
    // Checkpoints.
    integer("innodb_log_checkpoint_every", Unit::Milliseconds, 0, 60_000)
        .implied(MySql5_1, Integer(10_000)).implied(MySql5_6, Integer(7_000))
        .since(MySql8_0, Integer(1_000)).mariadb_implied(Integer(1_000)).dynamic()
        .meaning("Period of checkpoints").note(EXPERIMENTAL),
    // Format and place.
    boolean("innodb_log_checksums").since(MySql5_7, ON).mariadb_ignored(ON).dynamic()
        .behaves_as("ON")
        .meaning("Checksum of redo blocks"),
    boolean("innodb_log_compressed_pages").since(MySql5_6, ON).mariadb_ignored(ON).dynamic()
        .meaning("Log images of recompressed pages"),
    choice("innodb_log_checksum_algorithm", CHECKSUM_ALGORITHMS)
        .elsewhere("Percona Server 5.6, and MySQL 5.7 before 5.7.9")
        .meaning("Checksum of redo blocks"),
    integer("innodb_log_block_size", Unit::Bytes, 512, 16 * KIB)
        .elsewhere("Percona Server 5.1 to 5.6")
        .meaning("Size of redo blocks"),
    text("innodb_log_group_home_dir").everywhere(Text("./")).meaning("Directory of the redo log"),
    boolean("innodb_log_file_buffering").mariadb(OFF).dynamic()
        .meaning("Write redo through the page cache (MariaDB)"),
    boolean("innodb_redo_log_encrypt").since(MySql8_0, OFF).dynamic().behaves_as("OFF")
        .meaning("Encrypt redo"),
    text("innodb_redo_log_archive_dirs").since(MySql8_0, Text("")).dynamic()
        .meaning("Where redo may be archived"),
    // User threads that spin while they wait for redo (8.0).
    integer("innodb_log_spin_cpu_abs_lwm", Unit::Percent, 0, MAX_32_BIT)
        .since(MySql8_0, Integer(80)).dynamic()
        .meaning("CPU use of one core below which waiters do not spin"),
    integer("innodb_log_spin_cpu_pct_hwm", Unit::Percent, 0, 100).since(MySql8_0, Integer(50))
        .dynamic()
        .meaning("CPU use of all cores above which waiters do not spin"),
    integer("innodb_log_wait_for_flush_spin_hwm", Unit::Microseconds, 0, UNBOUNDED)
        .since(MySql8_0, Integer(400)).dynamic()
        .meaning("Mean flush time above which waiters do not spin"),
    // Inner sizes and periods of the 8.0 redo log.
    integer("innodb_log_write_max_size", Unit::Bytes, 0, UNBOUNDED).since(MySql8_0, Integer(4096))
        .dynamic()
        .meaning("Most redo in one write of the log writer").note(EXPERIMENTAL),
    integer("innodb_log_writer_spin_delay", Unit::Count, 0, UNBOUNDED)
        .since(MySql8_0, Integer(250_000)).dynamic()
        .meaning("Spins of the log writer before it sleeps").note(EXPERIMENTAL),
    integer("innodb_log_writer_timeout", Unit::Microseconds, 0, UNBOUNDED)
        .since(MySql8_0, Integer(10)).dynamic()
        .meaning("First sleep of the log writer").note(EXPERIMENTAL),
    integer("innodb_log_flusher_spin_delay", Unit::Count, 0, UNBOUNDED)
        .since(MySql8_0, Integer(250_000)).dynamic()
        .meaning("Spins of the log flusher before it sleeps").note(EXPERIMENTAL),
    integer("innodb_log_flusher_timeout", Unit::Microseconds, 0, UNBOUNDED)
        .since(MySql8_0, Integer(10)).dynamic()
        .meaning("First sleep of the log flusher").note(EXPERIMENTAL),
    integer("innodb_log_write_notifier_spin_delay", Unit::Count, 0, UNBOUNDED)
        .since(MySql8_0, Integer(0)).dynamic()
        .meaning("Spins of the write notifier before it sleeps").note(EXPERIMENTAL),
    integer("innodb_log_write_notifier_timeout", Unit::Microseconds, 0, UNBOUNDED)
        .since(MySql8_0, Integer(10)).dynamic()
        .meaning("First sleep of the write notifier").note(EXPERIMENTAL),
    integer("innodb_log_flush_notifier_spin_delay", Unit::Count, 0, UNBOUNDED)
        .since(MySql8_0, Integer(0)).dynamic()
        .meaning("Spins of the flush notifier before it sleeps").note(EXPERIMENTAL),
    integer("innodb_log_flush_notifier_timeout", Unit::Microseconds, 0, UNBOUNDED)
        .since(MySql8_0, Integer(10)).dynamic()
        .meaning("First sleep of the flush notifier").note(EXPERIMENTAL),
    integer("innodb_log_wait_for_write_spin_delay", Unit::Count, 0, UNBOUNDED)
        .since(MySql8_0, Integer(25_000)).dynamic()
        .meaning("Spins of a thread that waits for a write").note(EXPERIMENTAL),
    integer("innodb_log_wait_for_write_timeout", Unit::Microseconds, 0, UNBOUNDED)
        .since(MySql8_0, Integer(1_000)).dynamic()
        .meaning("First sleep of a thread that waits for a write").note(EXPERIMENTAL),
    integer("innodb_log_wait_for_flush_spin_delay", Unit::Count, 0, UNBOUNDED)
        .since(MySql8_0, Integer(25_000)).dynamic()
        .meaning("Spins of a thread that waits for a flush").note(EXPERIMENTAL),
    integer("innodb_log_wait_for_flush_timeout", Unit::Microseconds, 0, UNBOUNDED)
        .since(MySql8_0, Integer(1_000)).dynamic()
        .meaning("First sleep of a thread that waits for a flush").note(EXPERIMENTAL),
    integer("innodb_log_write_events", Unit::Count, 1, UNBOUNDED).since(MySql8_0, Integer(2048))
        .meaning("Events for threads that wait for a write").note(EXPERIMENTAL),
    integer("innodb_log_flush_events", Unit::Count, 1, UNBOUNDED).since(MySql8_0, Integer(2048))
        .meaning("Events for threads that wait for a flush").note(EXPERIMENTAL),
    integer("innodb_log_recent_written_size", Unit::Bytes, 4 * KIB, UNBOUNDED)
        .since(MySql8_0, Integer(MIB))
        .meaning("Ring of redo that is being copied to the log buffer").note(EXPERIMENTAL),
    integer("innodb_log_recent_closed_size", Unit::Bytes, 4 * KIB, UNBOUNDED)
        .since(MySql8_0, Integer(2 * MIB))
        .meaning("Ring of redo whose pages are not yet in the flush lists; the lists' disorder")
        .note(EXPERIMENTAL),
    integer("innodb_log_closer_spin_delay", Unit::Count, 0, UNBOUNDED)
        .elsewhere("MySQL 8.0.11 to 8.0.21")
        .meaning("Spins of the log closer before it sleeps"),
    integer("innodb_log_closer_timeout", Unit::Microseconds, 0, UNBOUNDED)
        .elsewhere("MySQL 8.0.11 to 8.0.21")
        .meaning("First sleep of the log closer"),
    // Shutdown and recovery.
    integer("innodb_fast_shutdown", Unit::Count, 0, 2).everywhere(Integer(1)).mariadb_range(0, 3)
        .dynamic().behaves_as("1")
        .meaning("At shutdown: 0 purge all, 1 flush pages, 2 flush redo only"),
    integer("innodb_force_recovery", Unit::Count, 0, 6).everywhere(Integer(0)).behaves_as("0")
        .meaning("Parts of recovery to leave out"),
    boolean("innodb_read_only").since(MySql5_6, OFF).mariadb(OFF).behaves_as("OFF")
        .meaning("Open the data without changing it"),
    boolean("innodb_force_load_corrupted").since(MySql5_6, OFF).mariadb(OFF)
        .meaning("Open tables that are marked corrupt"),
];
