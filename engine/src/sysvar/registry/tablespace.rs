//! Variables of tablespace files, row formats, DDL, statistics and full-text search.

use super::definition::*;
use super::history::*;
use crate::sysvar::derive::DerivedDefault::*;
use crate::sysvar::flavor::Flavor::*;
use DefaultValue::{Derived, Integer, Real, Text};

// Kept by hand: one variable, its history, its meaning.
#[rustfmt::skip]
pub(super) static VARIABLES: &[VariableDefinition] = &[
    // Files.
    text("innodb_data_file_path").since(MySql5_1, Text("ibdata1:10M:autoextend"))
        .since(MySql5_6, Text("ibdata1:12M:autoextend")).mariadb(Text("ibdata1:12M:autoextend"))
        .meaning("Files of the system tablespace"),
    text("innodb_data_home_dir").everywhere(Text("")).meaning("Directory of the system tablespace"),
    text("innodb_temp_data_file_path").since(MySql5_7, Text("ibtmp1:12M:autoextend"))
        .mariadb(Text("ibtmp1:12M:autoextend"))
        .meaning("Files of the temporary tablespace"),
    text("innodb_temp_tablespaces_dir").since(MySql8_0, Text("#innodb_temp"))
        .meaning("Directory of session temporary tablespaces"),
    text("innodb_directories").since(MySql8_0, Text(""))
        .meaning("Directories to look for tablespace files in"),
    text("innodb_tmpdir").since(MySql5_6, Text("")).mariadb(Text("")).dynamic()
        .meaning("Directory for files of ALTER TABLE"),
    boolean("innodb_validate_tablespace_paths").since(MySql8_0, ON)
        .meaning("Check the paths of tablespaces at start"),
    boolean("innodb_file_per_table").since(MySql5_1, OFF).since(MySql5_6, ON).mariadb(ON).dynamic()
        .behaves_as("ON")
        .meaning("A tablespace for every table"),
    integer("innodb_open_files", Unit::Count, 10, 2_147_483_647).zero_is_automatic()
        .since(MySql5_1, Integer(300)).since(MySql5_6, Derived(OpenFiles5_6))
        .mariadb(Derived(OpenFiles5_6))
        .meaning("Tablespace files open at once"),
    integer("innodb_autoextend_increment", Unit::Mebibytes, 1, 1000).since(MySql5_1, Integer(8))
        .since(MySql5_6, Integer(64)).mariadb(Integer(64)).dynamic()
        .meaning("Step in which the system tablespace grows"),
    real("innodb_segment_reserve_factor", Unit::Percent, 0.03, 40.0).since(MySql8_0, Real(12.5))
        .dynamic()
        .meaning("Share of a segment's pages kept free"),
    integer("innodb_fill_factor", Unit::Percent, 10, 100).since(MySql5_7, Integer(100))
        .mariadb(Integer(100)).dynamic()
        .meaning("Fill of pages in a sorted index build"),
    // Row format.
    choice("innodb_file_format", &["Antelope", "Barracuda"]).since(MySql5_1, Text("Antelope"))
        .since(MySql5_7, Text("Barracuda")).gone(MySql8_0).mariadb_ignored(Text("Barracuda"))
        .dynamic().behaves_as("Barracuda")
        .meaning("Row formats allowed for new tables"),
    text("innodb_file_format_check").since(MySql5_1, Text("ON")).gone(MySql8_0)
        .mariadb_ignored(Text("ON"))
        .meaning("Check the newest format in the system tablespace"),
    text("innodb_file_format_max").since(MySql5_5, Text("Antelope")).gone(MySql8_0)
        .mariadb_ignored(Text("Antelope")).dynamic()
        .meaning("Newest format in the system tablespace"),
    boolean("innodb_large_prefix").since(MySql5_5, OFF).since(MySql5_7, ON).gone(MySql8_0)
        .mariadb_ignored(ON).dynamic()
        .meaning("Index prefixes of up to 3072 bytes"),
    choice("innodb_default_row_format", &["redundant", "compact", "dynamic"])
        .since(MySql5_7, Text("dynamic")).mariadb(Text("dynamic")).dynamic().behaves_as("dynamic")
        .meaning("Row format of new tables"),
    boolean("innodb_strict_mode").since(MySql5_1, OFF).since(MySql5_7, ON).mariadb(ON).dynamic()
        .meaning("Errors instead of warnings for bad table options"),
    integer("innodb_compression_level", Unit::Count, 0, 9).since(MySql5_6, Integer(6))
        .mariadb(Integer(6)).dynamic()
        .meaning("Level of zlib"),
    integer("innodb_compression_failure_threshold_pct", Unit::Percent, 0, 100)
        .since(MySql5_6, Integer(5)).mariadb(Integer(5)).dynamic()
        .meaning("Failures at which compressed pages get padding"),
    integer("innodb_compression_pad_pct_max", Unit::Percent, 0, 75).since(MySql5_6, Integer(50))
        .mariadb(Integer(50)).dynamic()
        .meaning("Most padding"),
    boolean("innodb_cmp_per_index_enabled").since(MySql5_6, OFF).mariadb(OFF).dynamic()
        .meaning("Compression statistics by index"),
    // DDL.
    integer("innodb_ddl_threads", Unit::Count, 1, 64).since(MySql8_0, Integer(4)).dynamic()
        .meaning("Threads that build an index"),
    integer("innodb_ddl_buffer_size", Unit::Bytes, 64 * KIB, MAX_32_BIT)
        .since(MySql8_0, Integer(MIB)).dynamic()
        .meaning("Memory for building an index"),
    integer("innodb_parallel_read_threads", Unit::Count, 1, 256).since(MySql8_0, Integer(4))
        .since(MySql8_4, Derived(ParallelReadThreads8_4)).dynamic()
        .meaning("Threads that scan a clustered index"),
    integer("innodb_sort_buffer_size", Unit::Bytes, 64 * KIB, 64 * MIB)
        .since(MySql5_6, Integer(MIB)).mariadb(Integer(MIB))
        .meaning("Memory for sorting an index being built"),
    integer("innodb_online_alter_log_max_size", Unit::Bytes, 64 * KIB, UNBOUNDED)
        .since(MySql5_6, Integer(128 * MIB)).mariadb(Integer(128 * MIB)).dynamic()
        .meaning("Changes kept during an online ALTER TABLE"),
    boolean("innodb_disable_sort_file_cache").since(MySql5_6, OFF).mariadb(OFF).dynamic()
        .meaning("Sort files bypass the page cache"),
    boolean("innodb_print_ddl_logs").since(MySql8_0, OFF).dynamic()
        .meaning("Write the DDL log to the error log"),
    // Optimizer statistics.
    boolean("innodb_stats_on_metadata").since(MySql5_1, ON).since(MySql5_6, OFF).mariadb(OFF)
        .dynamic()
        .meaning("Metadata statements refresh the statistics"),
    boolean("innodb_stats_persistent").since(MySql5_6, ON).mariadb(ON).dynamic()
        .meaning("Keep statistics on disk"),
    boolean("innodb_stats_auto_recalc").since(MySql5_6, ON).mariadb(ON).dynamic()
        .meaning("Refresh statistics after many changes"),
    integer("innodb_stats_persistent_sample_pages", Unit::Pages, 1, UNBOUNDED)
        .since(MySql5_6, Integer(20)).mariadb(Integer(20)).dynamic()
        .meaning("Pages sampled for kept statistics"),
    integer("innodb_stats_transient_sample_pages", Unit::Pages, 1, UNBOUNDED)
        .since(MySql5_6, Integer(8)).mariadb(Integer(8)).dynamic()
        .meaning("Pages sampled for statistics in memory"),
    integer("innodb_stats_sample_pages", Unit::Pages, 1, UNBOUNDED).since(MySql5_1, Integer(8))
        .gone(MySql8_0).dynamic()
        .meaning("Pages sampled for statistics"),
    choice("innodb_stats_method", &["nulls_equal", "nulls_unequal", "nulls_ignored"])
        .everywhere(Text("nulls_equal")).dynamic()
        .meaning("How statistics count NULLs"),
    boolean("innodb_stats_include_delete_marked").since(MySql5_6, OFF).mariadb(OFF).dynamic()
        .meaning("Statistics count delete-marked rows"),
    // Full-text search.
    text("innodb_ft_aux_table").since(MySql5_6, Text("")).mariadb(Text("")).dynamic()
        .meaning("Full-text index to look into"),
    integer("innodb_ft_cache_size", Unit::Bytes, 1_600_000, 80_000_000)
        .since(MySql5_6, Integer(8_000_000)).mariadb(Integer(8_000_000))
        .meaning("Memory of a full-text index"),
    integer("innodb_ft_total_cache_size", Unit::Bytes, 32_000_000, 1_600_000_000)
        .since(MySql5_6, Integer(640_000_000)).mariadb(Integer(640_000_000))
        .meaning("Memory of all full-text indexes"),
    boolean("innodb_ft_enable_diag_print").since(MySql5_6, OFF).mariadb(OFF).dynamic()
        .meaning("Full-text diagnostics"),
    boolean("innodb_ft_enable_stopword").since(MySql5_6, ON).mariadb(ON).dynamic()
        .meaning("Leave stop words out"),
    integer("innodb_ft_max_token_size", Unit::Count, 10, 84).since(MySql5_6, Integer(84))
        .mariadb(Integer(84))
        .meaning("Longest indexed word"),
    integer("innodb_ft_min_token_size", Unit::Count, 0, 16).since(MySql5_6, Integer(3))
        .mariadb(Integer(3))
        .meaning("Shortest indexed word"),
    integer("innodb_ft_num_word_optimize", Unit::Count, 1000, 10_000).since(MySql5_6, Integer(2000))
        .mariadb(Integer(2000)).dynamic()
        .meaning("Words of one OPTIMIZE TABLE"),
    integer("innodb_ft_result_cache_limit", Unit::Bytes, 1_000_000, MAX_32_BIT)
        .since(MySql5_6, Integer(2_000_000_000)).mariadb(Integer(2_000_000_000)).dynamic()
        .meaning("Memory of one query's result"),
    integer("innodb_ft_sort_pll_degree", Unit::Count, 1, 16).since(MySql5_6, Integer(2))
        .mariadb(Integer(2))
        .meaning("Threads that build a full-text index"),
    text("innodb_ft_server_stopword_table").since(MySql5_6, Text("")).mariadb(Text("")).dynamic()
        .meaning("Stop words of the server"),
    text("innodb_ft_user_stopword_table").since(MySql5_6, Text("")).mariadb(Text("")).dynamic()
        .meaning("Stop words of a session"),
    boolean("innodb_optimize_fulltext_only").since(MySql5_6, OFF).mariadb(OFF).dynamic()
        .meaning("OPTIMIZE TABLE only tends full-text indexes"),
];
