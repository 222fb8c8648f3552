//! Variables of the server above InnoDB that option files usually hold.
//!
//! The model has no such layer, so none of them is obeyed; they are listed so that a
//! real option file is understood, and a name that a version dropped is told from a
//! slip of the pen. Bounds are those of the newest version that has the variable.

use super::definition::*;
use super::history::*;
use crate::sysvar::flavor::Flavor::*;
use DefaultValue::{Integer, Text};

// Kept by hand: one variable, its history, its meaning.
#[rustfmt::skip]
pub(super) static VARIABLES: &[VariableDefinition] = &[
    // Places and identity.
    text("datadir").everywhere(Text("")).meaning("Data directory"),
    text("basedir").everywhere(Text("")).meaning("Installation directory"),
    text("tmpdir").everywhere(Text("")).meaning("Directory of temporary files"),
    text("socket").everywhere(Text("")).meaning("Socket file"),
    integer("port", Unit::Count, 0, 65_535).everywhere(Integer(3306)).meaning("TCP port"),
    text("bind_address").everywhere(Text("*")).meaning("Addresses to listen on"),
    text("user").everywhere(Text("")).meaning("Operating system user of the server"),
    text("pid_file").everywhere(Text("")).meaning("File of the process id"),
    text("log_error").everywhere(Text("")).meaning("Error log"),
    text("plugin_load").everywhere(Text("")).meaning("Plugins to load"),
    text("plugin_load_add").since(MySql5_6, Text("")).mariadb(Text(""))
        .meaning("More plugins to load"),
    boolean("ignore_builtin_innodb").since(MySql5_1, OFF).ignored_since(MySql5_6, OFF)
        .gone(MySql8_0)
        .meaning("Leave the built-in InnoDB out, for the plugin"),
    text("character_set_server").everywhere(Text("latin1")).since(MySql8_0, Text("utf8mb4"))
        .dynamic()
        .meaning("Character set"),
    text("collation_server").everywhere(Text("latin1_swedish_ci"))
        .since(MySql8_0, Text("utf8mb4_0900_ai_ci")).dynamic()
        .meaning("Collation"),
    text("init_connect").everywhere(Text("")).dynamic().meaning("Statements for every new session"),
    text("sql_mode").everywhere(Text("")).dynamic().meaning("SQL dialect"),
    text("optimizer_switch").everywhere(Text("")).dynamic().meaning("Optimizer features"),
    text("default_storage_engine").since(MySql5_1, Text("MyISAM")).since(MySql5_5, Text("InnoDB"))
        .mariadb(Text("InnoDB")).dynamic()
        .meaning("Engine of new tables"),
    integer("lower_case_table_names", Unit::Count, 0, 2).everywhere(Integer(0))
        .meaning("Case of table names"),
    boolean("explicit_defaults_for_timestamp").since(MySql5_6, OFF).since(MySql8_0, ON).mariadb(ON)
        .dynamic()
        .meaning("TIMESTAMP columns without hidden defaults"),
    text("secure_file_priv").everywhere(Text("")).meaning("Directory for imports and exports"),
    boolean("local_infile").everywhere(ON).since(MySql8_0, OFF).dynamic()
        .meaning("Loading files of clients"),
    text("event_scheduler").everywhere(Text("OFF")).since(MySql8_0, Text("ON")).dynamic()
        .meaning("Event scheduler"),
    text("default_authentication_plugin").since(MySql5_6, Text("mysql_native_password"))
        .since(MySql8_0, Text("caching_sha2_password")).gone(MySql8_4)
        .meaning("Authentication of new users"),
    text("ssl").since(MySql5_1, Text("ON")).gone(MySql8_4).mariadb(Text("OFF")).behaves_as("0")
        .meaning("Encrypted connections"),
    boolean("skip_name_resolve").everywhere(OFF).since(MySql5_5, OFF)
        .meaning("No host name look-ups"),
    boolean("skip_networking").everywhere(OFF).meaning("No TCP connections"),
    boolean("skip_external_locking").everywhere(ON).meaning("No file locks between servers"),
    boolean("core_file").everywhere(OFF).meaning("Write a core file on a crash"),
    boolean("large_pages").everywhere(OFF).behaves_as("OFF")
        .meaning("Huge pages for the buffer pool"),
    boolean("performance_schema").since(MySql5_5, OFF).since(MySql5_6, ON).mariadb(OFF)
        .behaves_as("OFF")
        .meaning("Instrumentation of the server"),
    // Connections and threads.
    integer("max_connections", Unit::Count, 1, 100_000).everywhere(Integer(151)).dynamic()
        .meaning("Connections at once"),
    integer("max_user_connections", Unit::Count, 0, MAX_32_BIT).everywhere(Integer(0)).dynamic()
        .meaning("Connections of one user at once"),
    integer("max_connect_errors", Unit::Count, 1, UNBOUNDED).everywhere(Integer(100))
        .since(MySql5_1, Integer(10)).since(MySql5_6, Integer(100)).dynamic()
        .meaning("Failed connections before a host is blocked"),
    integer("max_prepared_stmt_count", Unit::Count, 0, 4_194_304).everywhere(Integer(16_382))
        .dynamic()
        .meaning("Prepared statements at once"),
    integer("back_log", Unit::Count, 1, 65_535).everywhere(Integer(50)).since(MySql5_6, Integer(80))
        .since(MySql8_0, Integer(151)).mariadb(Integer(80))
        .meaning("Connections that may wait to be taken"),
    integer("thread_cache_size", Unit::Count, 0, 16_384).everywhere(Integer(0))
        .since(MySql5_6, Integer(9)).mariadb(Integer(151)).dynamic()
        .meaning("Threads kept for new connections"),
    integer("thread_stack", Unit::Bytes, 128 * KIB, UNBOUNDED).everywhere(Integer(256 * KIB))
        .since(MySql8_0, Integer(MIB))
        .meaning("Stack of a connection's thread"),
    text("thread_handling").since(MySql5_1, Text("one-thread-per-connection"))
        .mariadb(Text("one-thread-per-connection"))
        .meaning("Threads for connections"),
    integer("thread_pool_size", Unit::Count, 1, 512).since(MySql8_0, Integer(16))
        .mariadb(Integer(16))
        .meaning("Groups of the thread pool"),
    integer("wait_timeout", Unit::Seconds, 1, 31_536_000).everywhere(Integer(28_800)).dynamic()
        .meaning("Idle time of a session"),
    integer("interactive_timeout", Unit::Seconds, 1, 31_536_000).everywhere(Integer(28_800))
        .dynamic()
        .meaning("Idle time of an interactive session"),
    integer("connect_timeout", Unit::Seconds, 2, 31_536_000).everywhere(Integer(10)).dynamic()
        .meaning("Time to connect"),
    integer("net_read_timeout", Unit::Seconds, 1, 31_536_000).everywhere(Integer(30)).dynamic()
        .meaning("Time to read a packet"),
    integer("net_write_timeout", Unit::Seconds, 1, 31_536_000).everywhere(Integer(60)).dynamic()
        .meaning("Time to write a packet"),
    integer("max_allowed_packet", Unit::Bytes, KIB, GIB).block(KIB).everywhere(Integer(MIB))
        .since(MySql5_6, Integer(4 * MIB)).since(MySql8_0, Integer(64 * MIB))
        .mariadb(Integer(16 * MIB)).dynamic()
        .meaning("Longest packet"),
    integer("lock_wait_timeout", Unit::Seconds, 1, 31_536_000).since(MySql5_5, Integer(31_536_000))
        .mariadb(Integer(86_400)).dynamic()
        .meaning("Wait for a metadata lock; for row locks: innodb_lock_wait_timeout"),
    // Caches and buffers.
    integer("table_open_cache", Unit::Count, 1, 524_288).everywhere(Integer(64))
        .since(MySql5_5, Integer(400)).since(MySql5_6, Integer(2000)).since(MySql8_0, Integer(4000))
        .mariadb(Integer(2000)).dynamic()
        .meaning("Open tables"),
    integer("table_open_cache_instances", Unit::Count, 1, 64).since(MySql5_6, Integer(1))
        .since(MySql5_7, Integer(16)).mariadb(Integer(8))
        .meaning("Parts of the cache of open tables"),
    integer("table_definition_cache", Unit::Count, 256, 524_288).everywhere(Integer(400))
        .since(MySql5_6, Integer(1400)).since(MySql8_0, Integer(2000)).dynamic()
        .meaning("Table definitions kept"),
    integer("open_files_limit", Unit::Count, 0, 4_294_967_295).everywhere(Integer(0))
        .since(MySql5_6, Integer(5000))
        .meaning("File descriptors"),
    integer("metadata_locks_hash_instances", Unit::Count, 1, 1024).since(MySql5_6, Integer(8))
        .ignored_since(MySql5_7, Integer(8)).gone(MySql8_0).mariadb_ignored(Integer(8))
        .meaning("Parts of the hash of metadata locks"),
    integer("metadata_locks_cache_size", Unit::Count, 1, 1_048_576).since(MySql5_5, Integer(1024))
        .ignored_since(MySql5_7, Integer(1024)).gone(MySql8_0).mariadb_ignored(Integer(1024))
        .meaning("Metadata lock objects kept"),
    choice("query_cache_type", &["OFF", "ON", "DEMAND"]).since(MySql5_1, Text("ON"))
        .since(MySql5_6, Text("OFF")).gone(MySql8_0).mariadb(Text("OFF")).dynamic()
        .behaves_as("OFF")
        .meaning("Query cache"),
    integer("query_cache_size", Unit::Bytes, 0, UNBOUNDED).block(KIB).since(MySql5_1, Integer(0))
        .since(MySql5_6, Integer(MIB)).gone(MySql8_0).mariadb(Integer(MIB)).dynamic()
        .behaves_as("0")
        .meaning("Memory of the query cache"),
    integer("query_cache_limit", Unit::Bytes, 0, UNBOUNDED).since(MySql5_1, Integer(MIB))
        .gone(MySql8_0).mariadb(Integer(MIB)).dynamic()
        .meaning("Largest cached result"),
    integer("key_buffer_size", Unit::Bytes, 8, UNBOUNDED).everywhere(Integer(8 * MIB))
        .mariadb(Integer(128 * MIB)).dynamic()
        .meaning("Memory for MyISAM indexes"),
    integer("sort_buffer_size", Unit::Bytes, 32 * KIB, UNBOUNDED).everywhere(Integer(2 * MIB))
        .since(MySql5_6, Integer(256 * KIB)).dynamic()
        .meaning("Memory of one sort"),
    integer("join_buffer_size", Unit::Bytes, 128, UNBOUNDED).block(128)
        .everywhere(Integer(128 * KIB)).since(MySql5_6, Integer(256 * KIB))
        .mariadb(Integer(256 * KIB)).dynamic()
        .meaning("Memory of one join without an index"),
    integer("read_buffer_size", Unit::Bytes, 8200, 2_147_479_552).block(4096)
        .everywhere(Integer(128 * KIB)).dynamic()
        .meaning("Memory of one sequential scan"),
    integer("read_rnd_buffer_size", Unit::Bytes, 1, 2_147_483_647).everywhere(Integer(256 * KIB))
        .dynamic()
        .meaning("Memory of one read in sorted order"),
    integer("bulk_insert_buffer_size", Unit::Bytes, 0, UNBOUNDED).everywhere(Integer(8 * MIB))
        .dynamic()
        .meaning("Memory of a bulk insert into MyISAM"),
    integer("myisam_sort_buffer_size", Unit::Bytes, 4096, UNBOUNDED).everywhere(Integer(8 * MIB))
        .dynamic()
        .meaning("Memory of a MyISAM index build"),
    integer("tmp_table_size", Unit::Bytes, KIB, UNBOUNDED).everywhere(Integer(16 * MIB)).dynamic()
        .meaning("Largest temporary table in memory"),
    integer("max_heap_table_size", Unit::Bytes, 16 * KIB, UNBOUNDED).block(KIB)
        .everywhere(Integer(16 * MIB)).dynamic()
        .meaning("Largest MEMORY table"),
    // Logs and replication.
    text("log_bin").everywhere(Text("OFF")).since(MySql8_0, Text("ON")).behaves_as("OFF")
        .meaning("Binary log"),
    integer("server_id", Unit::Count, 0, MAX_32_BIT).everywhere(Integer(0))
        .since(MySql8_0, Integer(1)).mariadb(Integer(1)).dynamic()
        .meaning("Identity in replication"),
    choice("binlog_format", &["MIXED", "STATEMENT", "ROW"]).everywhere(Text("STATEMENT"))
        .since(MySql5_7, Text("ROW")).mariadb(Text("MIXED")).dynamic()
        .meaning("What the binary log holds"),
    choice("binlog_row_image", &["MINIMAL", "NOBLOB", "FULL"]).since(MySql5_6, Text("FULL"))
        .mariadb(Text("FULL")).dynamic()
        .meaning("Columns in row events"),
    text("binlog_checksum").since(MySql5_6, Text("CRC32")).mariadb(Text("CRC32")).dynamic()
        .meaning("Checksum of events"),
    integer("binlog_cache_size", Unit::Bytes, 4096, UNBOUNDED).block(4096)
        .everywhere(Integer(32 * KIB)).dynamic()
        .meaning("Memory for one transaction's events"),
    integer("sync_binlog", Unit::Count, 0, MAX_32_BIT).everywhere(Integer(0))
        .since(MySql5_7, Integer(1)).dynamic()
        .meaning("Groups of transactions for one flush of the binary log; 0: never")
        .note("0 before 5.7.7; without a binary log it has no effect"),
    boolean("binlog_order_commits").since(MySql5_6, ON).dynamic()
        .meaning("Engines commit in the binary log's order"),
    integer("binlog_group_commit_sync_delay", Unit::Microseconds, 0, 1_000_000)
        .since(MySql5_7, Integer(0)).dynamic()
        .meaning("Wait before a flush of the binary log"),
    integer("binlog_group_commit_sync_no_delay_count", Unit::Count, 0, 100_000)
        .since(MySql5_7, Integer(0)).dynamic()
        .meaning("Transactions that end that wait"),
    integer("max_binlog_size", Unit::Bytes, 4096, GIB).block(4096).everywhere(Integer(GIB))
        .dynamic()
        .meaning("Size of a binary log file"),
    integer("expire_logs_days", Unit::Count, 0, 99).since(MySql5_1, Integer(0)).gone(MySql8_4)
        .mariadb(Integer(0)).dynamic()
        .meaning("Days before binary logs are removed"),
    integer("binlog_expire_logs_seconds", Unit::Seconds, 0, MAX_32_BIT)
        .since(MySql8_0, Integer(2_592_000)).mariadb(Integer(0)).dynamic()
        .meaning("Time before binary logs are removed"),
    choice("gtid_mode", &["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"])
        .since(MySql5_6, Text("OFF")).dynamic_since(MySql5_7)
        .meaning("Global transaction ids"),
    choice("enforce_gtid_consistency", &["OFF", "ON", "WARN"]).since(MySql5_6, Text("OFF"))
        .dynamic_since(MySql5_7)
        .meaning("Refuse statements that global ids cannot hold"),
    boolean("log_slave_updates").everywhere(OFF).since(MySql8_0, ON)
        .meaning("Log what replication applies"),
    boolean("log_replica_updates").since(MySql8_0, ON).meaning("Log what replication applies"),
    text("relay_log").everywhere(Text("")).meaning("Relay log"),
    boolean("relay_log_recovery").since(MySql5_5, OFF).mariadb(OFF)
        .meaning("Fetch relay logs anew after a crash"),
    integer("slave_parallel_workers", Unit::Count, 0, 1024).since(MySql5_6, Integer(0))
        .since(MySql8_0, Integer(4)).mariadb(Integer(0)).dynamic()
        .meaning("Threads that apply replicated transactions"),
    integer("replica_parallel_workers", Unit::Count, 0, 1024).since(MySql8_0, Integer(4)).dynamic()
        .meaning("Threads that apply replicated transactions"),
    boolean("read_only").everywhere(OFF).dynamic().meaning("Only replication may write"),
    boolean("general_log").everywhere(OFF).dynamic().meaning("Log of all statements"),
    text("general_log_file").everywhere(Text("")).dynamic().meaning("File of that log"),
    boolean("slow_query_log").everywhere(OFF).dynamic().meaning("Log of slow statements"),
    text("slow_query_log_file").everywhere(Text("")).dynamic().meaning("File of that log"),
    real("long_query_time", Unit::Seconds, 0.0, 31_536_000.0).everywhere(DefaultValue::Real(10.0))
        .dynamic()
        .meaning("When a statement is slow"),
    text("log_output").everywhere(Text("FILE")).dynamic().meaning("Where those logs go"),
    text("log_timestamps").since(MySql5_7, Text("UTC")).dynamic()
        .meaning("Time zone of log entries"),
];
