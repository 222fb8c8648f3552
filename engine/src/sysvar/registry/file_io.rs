//! Variables of the doublewrite buffer and of file I/O.

use super::definition::*;
use super::history::*;
use crate::sysvar::choices::{DoublewriteMode, FlushMethod};
use crate::sysvar::derive::DerivedDefault::*;
use crate::sysvar::flavor::Flavor::*;
use DefaultValue::{Derived, Integer, Text};

/// The names of page checksums; only MariaDB knows the last two.
#[rustfmt::skip]
pub(super) const CHECKSUM_ALGORITHMS: &[&str] = &[
    "crc32", "strict_crc32", "innodb", "strict_innodb", "none", "strict_none",
    "full_crc32", "strict_full_crc32",
];

// Kept by hand: one variable, its history, its meaning.
#[rustfmt::skip]
pub(super) static VARIABLES: &[VariableDefinition] = &[
    // Doublewrite.
    choice("innodb_doublewrite", DoublewriteMode::NAMES)
        .spellings(&[("TRUE", "ON"), ("FALSE", "OFF"), ("DETECT_AND_RECOVER", "ON")], 2)
        .everywhere(Text("ON")).choices_until(MySql5_7, 2).mariadb_choices(2)
        .meaning("Write every page twice, so that a torn one can be repaired"),
    text("innodb_doublewrite_dir").implied(MySql5_1, Text("")).since(MySql8_0, Text(""))
        .mariadb_implied(Text(""))
        .meaning("Directory of the doublewrite files; empty for the data directory"),
    integer("innodb_doublewrite_files", Unit::Count, 1, 256).zero_is_automatic()
        .implied(MySql5_1, Integer(0)).since(MySql8_0, Integer(2)).mariadb_implied(Integer(0))
        .meaning("Doublewrite files; 0 (up to 5.7, MariaDB): an area in the system tablespace")
        .note("the 8.0 manual says twice the instances; the server makes 2"),
    integer("innodb_doublewrite_pages", Unit::Pages, 1, 512).zero_is_automatic()
        .implied(MySql5_1, Integer(120)).since(MySql8_0, Derived(DoublewritePages8_0))
        .since(MySql8_4, Integer(128)).mariadb_implied(Integer(128))
        .meaning("Pages of one doublewrite batch"),
    integer("innodb_doublewrite_batch_size", Unit::Pages, 0, 256)
        .ignored_since(MySql8_0, Integer(0))
        .meaning("Declared by the server and used by nothing in it")
        .note("in 5.6 and 5.7 a variable of debug builds"),
    // I/O threads.
    integer("innodb_read_io_threads", Unit::Count, 1, 64).everywhere(Integer(4))
        .since(MySql8_4, Derived(ReadIoThreads8_4))
        .meaning("Threads (segments) of asynchronous reads"),
    integer("innodb_write_io_threads", Unit::Count, 1, 64).everywhere(Integer(4))
        .meaning("Threads (segments) of asynchronous writes"),
    boolean("innodb_use_native_aio").implied(MySql5_1, OFF).since(MySql5_5, ON).mariadb(ON)
        .meaning("Let the kernel do asynchronous I/O; OFF: its handlers write themselves")
        .note("under the real clock handlers write themselves, whatever it says"),
    boolean("innodb_use_atomic_writes").mariadb(ON)
        .meaning("Skip the doublewrite buffer on devices with atomic writes (MariaDB)"),
    // How files are opened and made durable.
    choice("innodb_flush_method", FlushMethod::NAMES).spellings(&[("fdatasync", "fsync")], 6)
        .everywhere(Text("fsync")).since(MySql8_0, Derived(FlushMethod8_0))
        .since(MySql8_4, Text("O_DIRECT")).mariadb(Text("O_DIRECT")).choices_until(MySql5_5, 5)
        .meaning("How data files are opened and flushed"),
    boolean("innodb_use_fdatasync").implied(MySql5_1, OFF).since(MySql8_0, OFF).since(MySql8_4, ON)
        .mariadb_implied(OFF).dynamic()
        .meaning("Flush with fdatasync instead of fsync"),
    integer("innodb_fsync_threshold", Unit::Bytes, 0, UNBOUNDED).since(MySql8_0, Integer(0))
        .dynamic()
        .meaning("Flush a new file every so many bytes while it is made; 0: once at its end"),
    boolean("innodb_extend_and_initialize").since(MySql8_0, ON).dynamic()
        .meaning("Write zeros when a file grows"),
    // Pages.
    integer("innodb_page_size", Unit::Bytes, 4 * KIB, 64 * KIB).implied(MySql5_1, Integer(16 * KIB))
        .since(MySql5_6, Integer(16 * KIB)).mariadb(Integer(16 * KIB))
        .range_since(MySql5_6, 4 * KIB, 16 * KIB).range_since(MySql5_7, 4 * KIB, 64 * KIB)
        .meaning("Page size; innosim has pages of 16K only"),
    choice("innodb_checksum_algorithm", CHECKSUM_ALGORITHMS).since(MySql5_6, Text("innodb"))
        .since(MySql5_7, Text("crc32")).mariadb(Text("full_crc32")).choices_until(MySql8_4, 6)
        .dynamic().behaves_as("crc32")
        .meaning("Checksum of pages"),
    boolean("innodb_checksums").since(MySql5_1, ON).gone(MySql8_0).mariadb_ignored(ON)
        .behaves_as("ON")
        .meaning("Verify page checksums"),
    // Encryption of files (MariaDB).
    choice("innodb_encrypt_tables", &["OFF", "ON", "FORCE"]).mariadb(Text("OFF")).dynamic()
        .behaves_as("OFF")
        .meaning("Encrypt tables by default (MariaDB)"),
    boolean("innodb_encrypt_log").mariadb(OFF).behaves_as("OFF").meaning("Encrypt redo (MariaDB)"),
    boolean("innodb_encrypt_temporary_tables").mariadb(OFF).behaves_as("OFF")
        .meaning("Encrypt temporary tables (MariaDB)"),
    integer("innodb_encryption_threads", Unit::Count, 0, 255).mariadb(Integer(0)).dynamic()
        .behaves_as("0")
        .meaning("Threads that re-encrypt pages (MariaDB)"),
];
