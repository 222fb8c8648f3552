//! Variables of the buffer pool: its size, its split, the LRU list, read-ahead, the
//! dump, and the structures that live on top of it.

use super::definition::*;
use super::history::*;
use crate::sysvar::derive::DerivedDefault::*;
use crate::sysvar::flavor::Flavor::*;
use DefaultValue::{Derived, Integer, Text};

// Kept by hand: one variable, its history, its meaning.
#[rustfmt::skip]
pub(super) static VARIABLES: &[VariableDefinition] = &[
    // Size and split.
    integer("innodb_buffer_pool_size", Unit::Bytes, 5 * MIB, UNBOUNDED).block(MIB)
        .scaled(Scaling::Bytes).everywhere(Integer(128 * MIB))
        .since(MySql8_0, Derived(BufferPoolSize8_0)).dynamic_since(MySql5_7)
        .meaning("Size of the buffer pool")
        .note("MySQL 5.7 on rounds it up to a multiple of chunk size times instances"),
    integer("innodb_buffer_pool_instances", Unit::Count, 1, 64).zero_is_automatic()
        .implied(MySql5_1, Integer(1)).since(MySql5_5, Integer(1))
        .since(MySql5_6, Derived(BufferPoolInstances5_6))
        .since(MySql8_4, Derived(BufferPoolInstances8_4)).mariadb_ignored(Integer(1))
        .meaning("Parts of the buffer pool, each with its own lists and mutexes")
        .note("takes effect in a pool of 1G or more"),
    integer("innodb_buffer_pool_chunk_size", Unit::Bytes, MIB, UNBOUNDED).block(MIB)
        .scaled(Scaling::Bytes).implied(MySql5_1, Derived(WholePool))
        .since(MySql5_7, Integer(128 * MIB)).mariadb(Derived(ChunkSizeMariaDb10_8))
        .meaning("Unit in which an instance's memory is allocated and resized"),
    // LRU list.
    integer("innodb_old_blocks_pct", Unit::Percent, 5, 95).everywhere(Integer(37)).dynamic()
        .meaning("Share of the LRU list that is its old sublist"),
    integer("innodb_old_blocks_time", Unit::Milliseconds, 0, MAX_32_BIT).everywhere(Integer(0))
        .since(MySql5_6, Integer(1000)).mariadb(Integer(1000)).dynamic()
        .meaning("Time after its first access before a page can leave the old sublist"),
    integer("innodb_lru_scan_depth", Unit::Pages, 100, UNBOUNDED).scaled(Scaling::Pages)
        .implied(MySql5_1, Integer(1024)).since(MySql5_6, Integer(1024)).mariadb(Integer(1536))
        .dynamic()
        .meaning("Free frames that the page cleaner keeps in each instance")
        .note("before 5.6 user threads keep free frames themselves; 5.6's depth is assumed there"),
    integer("innodb_lru_flush_size", Unit::Pages, 1, UNBOUNDED).mariadb(Integer(32)).dynamic()
        .scaled(Scaling::Pages)
        .meaning("Pages of the LRU batch that a thread without a free frame writes (MariaDB)"),
    // Read-ahead.
    integer("innodb_read_ahead_threshold", Unit::Pages, 0, 64).everywhere(Integer(56)).dynamic()
        .meaning("Pages of an area read in sequence that start a linear read-ahead; 0 for none")
        .note("counted within a read-ahead area, whose size already follows the pool: not scaled"),
    boolean("innodb_random_read_ahead").everywhere(OFF).dynamic().behaves_as("OFF")
        .meaning("Read the rest of an area when many of its pages are in the pool"),
    // Dump, load, and what a core file holds.
    boolean("innodb_buffer_pool_dump_at_shutdown").since(MySql5_6, OFF).since(MySql5_7, ON)
        .mariadb(ON).dynamic()
        .meaning("Write the list of cached pages at shutdown"),
    boolean("innodb_buffer_pool_load_at_startup").since(MySql5_6, OFF).since(MySql5_7, ON)
        .mariadb(ON)
        .meaning("Read the listed pages at start"),
    boolean("innodb_buffer_pool_dump_now").since(MySql5_6, OFF).mariadb(OFF).dynamic()
        .meaning("Write the list of cached pages now"),
    boolean("innodb_buffer_pool_load_now").since(MySql5_6, OFF).mariadb(OFF).dynamic()
        .meaning("Read the listed pages now"),
    boolean("innodb_buffer_pool_load_abort").since(MySql5_6, OFF).mariadb(OFF).dynamic()
        .meaning("Stop a running load"),
    integer("innodb_buffer_pool_dump_pct", Unit::Percent, 1, 100).implied(MySql5_6, Integer(100))
        .since(MySql5_7, Integer(25)).mariadb(Integer(25)).dynamic()
        .meaning("Share of each instance's LRU list that is dumped"),
    text("innodb_buffer_pool_filename").since(MySql5_6, Text("ib_buffer_pool"))
        .mariadb(Text("ib_buffer_pool")).dynamic()
        .meaning("File of the dump"),
    boolean("innodb_buffer_pool_in_core_file").since(MySql8_0, ON).since(MySql8_4, OFF).dynamic()
        .meaning("Include the pool in core files"),
    integer("innodb_buf_dump_status_frequency", Unit::Percent, 0, 100).mariadb(Integer(0)).dynamic()
        .meaning("How often a dump reports its progress (MariaDB)"),
    // Memory.
    boolean("innodb_numa_interleave").since(MySql5_6, OFF).since(MySql8_4, ON).mariadb(OFF)
        .meaning("Spread the pool's memory over NUMA nodes"),
    boolean("innodb_use_sys_malloc").since(MySql5_1, ON).ignored_since(MySql5_6, ON).gone(MySql5_7)
        .behaves_as("ON")
        .meaning("Use the system's memory allocator"),
    integer("innodb_additional_mem_pool_size", Unit::Bytes, 512 * KIB, MAX_32_BIT)
        .since(MySql5_1, Integer(8 * MIB)).ignored_since(MySql5_6, Integer(8 * MIB)).gone(MySql5_7)
        .meaning("Memory of InnoDB's own allocator"),
    integer("innodb_page_hash_locks", Unit::Count, 1, 1024).elsewhere("debug builds of the server")
        .meaning("Locks of each instance's page hash"),
    // Change buffer and adaptive hash index.
    choice("innodb_change_buffering", &["none", "inserts", "deletes", "changes", "purges", "all"])
        .since(MySql5_1, Text("inserts")).since(MySql5_5, Text("all")).since(MySql8_4, Text("none"))
        .mariadb(Text("none")).choices_until(MySql5_1, 2).dynamic().behaves_as("none")
        .meaning("Which changes of secondary indexes are buffered instead of applied at once"),
    integer("innodb_change_buffer_max_size", Unit::Percent, 0, 50).since(MySql5_6, Integer(25))
        .mariadb(Integer(25)).dynamic()
        .meaning("Largest share of the pool for the change buffer"),
    boolean("innodb_adaptive_hash_index").everywhere(ON).since(MySql8_4, OFF).mariadb(OFF).dynamic()
        .behaves_as("OFF")
        .meaning("Build hash indexes over often searched B-tree pages"),
    integer("innodb_adaptive_hash_index_parts", Unit::Count, 1, 512).since(MySql5_7, Integer(8))
        .mariadb(Integer(8))
        .meaning("Partitions of the adaptive hash index"),
    integer("innodb_adaptive_hash_index_partitions", Unit::Count, 1, 64)
        .elsewhere("Percona Server 5.5 and 5.6")
        .meaning("Partitions of the adaptive hash index"),
];
