//! Defaults that a server computes from other settings and from its machine.
//!
//! Each rule is a pure function of *unscaled* sizes, logical CPUs and memory:
//! `--scale N` divides what comes out, never what goes in. A 64 GiB pool at scale 64
//! keeps the instances of a 64 GiB pool.
//!
//! ```text
//!   memory ──▶ buffer_pool_size ──▶ buffer_pool_instances ──▶ page_cleaners
//!     (dedicated server)  └▶ chunk ──┘        ▲
//!   cpus ─────────────────────────────────────┴──▶ read threads, purge threads, redo
//! ```
//!
//! Sources: the MySQL 8.0 and 8.4 manuals, and InnoDB 5.6 to 8.4.

use super::registry::{GIB, MIB};

/// A default that is a rule; [`DerivedDefault::describe`] says it in words.
///
/// The version at the end of a name is the first to use the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DerivedDefault {
    /// 128 MiB, or by memory on a dedicated server.
    BufferPoolSize8_0,
    /// 8, or 1 in a pool below 1 GiB.
    BufferPoolInstances5_6,
    /// By pool chunks and CPUs.
    BufferPoolInstances8_4,
    /// The whole pool is allocated at once.
    WholePool,
    /// A 64th of the pool.
    ChunkSizeMariaDb10_8,
    /// 4, at most the instances.
    PageCleaners5_7,
    /// One for each instance.
    PageCleaners8_4,
    /// `innodb_io_capacity` itself: there is no second limit.
    IoCapacity,
    /// Twice `innodb_io_capacity`, at least 2000.
    IoCapacityMax5_6,
    /// Twice `innodb_io_capacity`.
    IoCapacityMax8_4,
    /// Half the CPUs, 4 to 64.
    ReadIoThreads8_4,
    /// 1 up to 16 CPUs, 4 above.
    PurgeThreads8_4,
    /// An eighth of the CPUs, 4 to 256.
    ParallelReadThreads8_4,
    /// `innodb_write_io_threads`.
    DoublewritePages8_0,
    /// File size times number of files.
    RedoFiles,
    /// 100 MiB, or file size times files where set, or by memory on a dedicated server.
    RedoCapacity8_0,
    /// 100 MiB, or file size times files where set, or by CPUs on a dedicated server.
    RedoCapacity8_4,
    /// fsync, or O_DIRECT_NO_FSYNC on a dedicated server.
    FlushMethod8_0,
    /// `table_open_cache`, at least 300.
    OpenFiles5_6,
}

impl DerivedDefault {
    /// The rule in words, for reference pages.
    pub const fn describe(self) -> &'static str {
        match self {
            DerivedDefault::BufferPoolSize8_0 => {
                "128M; with innodb_dedicated_server 50 % of memory from 1G to 4G, 75 % above"
            }
            DerivedDefault::BufferPoolInstances5_6 => "8, or 1 when the pool is below 1G",
            DerivedDefault::BufferPoolInstances8_4 => {
                "1 up to a pool of 1G; above, the smaller of pool/chunk/2 and cpus/4, from 1 to 64"
            }
            DerivedDefault::WholePool => "the whole of an instance",
            DerivedDefault::ChunkSizeMariaDb10_8 => "a 64th of the pool, at least 1M",
            DerivedDefault::PageCleaners5_7 => "4, at most innodb_buffer_pool_instances",
            DerivedDefault::PageCleaners8_4 => "innodb_buffer_pool_instances",
            DerivedDefault::IoCapacity => "innodb_io_capacity",
            DerivedDefault::IoCapacityMax5_6 => "twice innodb_io_capacity, at least 2000",
            DerivedDefault::IoCapacityMax8_4 => "twice innodb_io_capacity",
            DerivedDefault::ReadIoThreads8_4 => "cpus/2, from 4 to 64",
            DerivedDefault::PurgeThreads8_4 => "1 up to 16 cpus, 4 above",
            DerivedDefault::ParallelReadThreads8_4 => "cpus/8, from 4 to 256",
            DerivedDefault::DoublewritePages8_0 => "innodb_write_io_threads",
            DerivedDefault::RedoFiles => "innodb_log_file_size times innodb_log_files_in_group",
            DerivedDefault::RedoCapacity8_0 => {
                "100M; innodb_log_file_size times innodb_log_files_in_group where one is set; \
                 with innodb_dedicated_server by memory"
            }
            DerivedDefault::RedoCapacity8_4 => {
                "100M; innodb_log_file_size times innodb_log_files_in_group where one is set; \
                 with innodb_dedicated_server cpus/2 GiB, at most 16G"
            }
            DerivedDefault::FlushMethod8_0 => {
                "fsync; with innodb_dedicated_server O_DIRECT_NO_FSYNC"
            }
            DerivedDefault::OpenFiles5_6 => "table_open_cache, at least 300",
        }
    }
}

/// Pool bytes of a dedicated server with that much memory (MySQL 8.0 and 8.4 manuals).
pub fn dedicated_buffer_pool_size(memory_bytes: u64) -> u64 {
    if memory_bytes < GIB {
        128 * MIB
    } else if memory_bytes <= 4 * GIB {
        memory_bytes / 2
    } else {
        memory_bytes / 4 * 3
    }
}

/// Instances of a pool of that many bytes (InnoDB 5.6 to 8.0, 64-bit Linux).
pub fn buffer_pool_instances_5_6(pool_bytes: u64) -> u64 {
    if pool_bytes < GIB { 1 } else { 8 }
}

/// Instances of a pool (MySQL 8.4 manual): a hint by chunks and a hint by CPUs, of
/// which the smaller counts.
pub fn buffer_pool_instances_8_4(pool_bytes: u64, chunk_bytes: u64, logical_cpus: u64) -> u64 {
    if pool_bytes <= GIB {
        return 1;
    }
    let by_chunks = pool_bytes / chunk_bytes.max(1) / 2;
    let by_cpus = logical_cpus / 4;
    by_chunks.min(by_cpus).clamp(1, 64)
}

/// Chunk bytes of a MariaDB pool (10.8 and later size it by the pool).
pub fn chunk_size_mariadb_10_8(pool_bytes: u64) -> u64 {
    (pool_bytes / 64).max(MIB)
}

/// Cleaner threads for that many instances (InnoDB 5.7 and 8.0).
pub fn page_cleaners_5_7(instances: u64) -> u64 {
    instances.min(4)
}

/// Flushing's upper limit in pages a second (InnoDB 5.6 to 8.0).
pub fn io_capacity_max_5_6(io_capacity: u64) -> u64 {
    io_capacity.saturating_mul(2).max(2000)
}

/// Flushing's upper limit in pages a second (MySQL 8.4 manual).
pub fn io_capacity_max_8_4(io_capacity: u64) -> u64 {
    io_capacity.saturating_mul(2)
}

/// Threads for asynchronous reads (MySQL 8.4 manual).
pub fn read_io_threads_8_4(logical_cpus: u64) -> u64 {
    (logical_cpus / 2).clamp(4, 64)
}

/// Purge threads (MySQL 8.4 manual).
pub fn purge_threads_8_4(logical_cpus: u64) -> u64 {
    if logical_cpus <= 16 { 1 } else { 4 }
}

/// Threads for parallel index scans (MySQL 8.4 manual).
pub fn parallel_read_threads_8_4(logical_cpus: u64) -> u64 {
    (logical_cpus / 8).clamp(4, 256)
}

/// Redo bytes of a dedicated server: half a GiB a CPU, at most 16 GiB (MySQL 8.4 manual).
/// Below two CPUs the general default of 100 MiB stays.
pub fn dedicated_redo_capacity_8_4(logical_cpus: u64) -> u64 {
    if logical_cpus < 2 {
        return 100 * MIB;
    }
    (logical_cpus / 2).min(16) * GIB
}

/// Redo bytes of a dedicated server with that much memory (MySQL 8.0 manual, 8.0.30 and
/// later). `pool_is_set`: the user has set the pool's size, which matters from 2 to 4 GiB.
pub fn dedicated_redo_capacity_8_0(memory_bytes: u64, pool_is_set: bool) -> u64 {
    // The manual's limits of 10.66 and 170.66 GiB are 32/3 and 512/3.
    if memory_bytes < 2 * GIB {
        100 * MIB
    } else if memory_bytes < 4 * GIB {
        if pool_is_set {
            rounded_gib(memory_bytes, 1, 2) * (GIB / 2)
        } else {
            GIB
        }
    } else if memory_bytes <= 32 * GIB / 3 {
        rounded_gib(memory_bytes, 3, 4) * (GIB / 2)
    } else if memory_bytes <= 512 * GIB / 3 {
        rounded_gib(memory_bytes, 9, 16) * GIB
    } else {
        128 * GIB
    }
}

/// `bytes * numerator / denominator` in GiB, rounded half up.
fn rounded_gib(bytes: u64, numerator: u64, denominator: u64) -> u64 {
    let numerator = u128::from(bytes) * u128::from(numerator);
    let denominator = u128::from(denominator) * u128::from(GIB);
    // At most 2^64 * 9/16 / 2^30, so it fits.
    ((2 * numerator + denominator) / (2 * denominator)) as u64
}

/// Redo bytes by the older pair of variables (MySQL 8.0.30 and later hold the result
/// within the bounds of `innodb_redo_log_capacity`).
pub fn redo_capacity_from_files(file_bytes: u64, files: u64) -> u64 {
    file_bytes.saturating_mul(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_of_5_6_to_8_0_turn_at_one_gib() {
        for (pool, instances) in [(128 * MIB, 1), (GIB - 1, 1), (GIB, 8), (64 * GIB, 8)] {
            assert_eq!(buffer_pool_instances_5_6(pool), instances, "pool {pool}");
        }
    }

    #[test]
    fn instances_of_8_4_by_the_smaller_hint() {
        // (pool, cpus, instances), chunk 128 MiB; hints worked out by hand.
        for (pool, cpus, instances) in [
            (128 * MIB, 64, 1),
            (GIB, 64, 1),
            (GIB + 128 * MIB, 64, 4), // 9 chunks / 2 = 4, cpus 16
            (2 * GIB, 8, 2),          // 16 / 2 = 8, cpus 2
            (64 * GIB, 24, 6),        // 512 / 2 = 256, cpus 6
            (64 * GIB, 48, 12),
            (64 * GIB, 3, 1), // 3 / 4 = 0, raised to 1
            (1024 * GIB, 512, 64),
        ] {
            assert_eq!(
                buffer_pool_instances_8_4(pool, 128 * MIB, cpus),
                instances,
                "{pool} {cpus}"
            );
        }
        assert_eq!(
            buffer_pool_instances_8_4(2 * GIB, 2 * GIB, 64),
            1,
            "one chunk: hint 0"
        );
    }

    #[test]
    fn threads_of_8_4_by_cpus() {
        // (cpus, read threads, purge threads, parallel read threads)
        for (cpus, read, purge, parallel) in [
            (1, 4, 1, 4),
            (8, 4, 1, 4),
            (16, 8, 1, 4),
            (17, 8, 4, 4),
            (48, 24, 4, 6),
            (144, 64, 4, 18),
        ] {
            assert_eq!(read_io_threads_8_4(cpus), read, "read at {cpus}");
            assert_eq!(purge_threads_8_4(cpus), purge, "purge at {cpus}");
            assert_eq!(
                parallel_read_threads_8_4(cpus),
                parallel,
                "parallel at {cpus}"
            );
        }
    }

    #[test]
    fn io_capacity_max_doubles() {
        for (capacity, max_5_6, max_8_4) in [
            (100, 2000, 200),
            (1000, 2000, 2000),
            (1001, 2002, 2002),
            (20_000, 40_000, 40_000),
        ] {
            assert_eq!(io_capacity_max_5_6(capacity), max_5_6);
            assert_eq!(io_capacity_max_8_4(capacity), max_8_4);
        }
        assert_eq!(io_capacity_max_8_4(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_dedicated_server_sizes_its_pool_by_memory() {
        for (memory, pool) in [
            (512 * MIB, 128 * MIB),
            (GIB, 512 * MIB),
            (4 * GIB, 2 * GIB),
            (8 * GIB, 6 * GIB),
            (128 * GIB, 96 * GIB),
        ] {
            assert_eq!(dedicated_buffer_pool_size(memory), pool, "memory {memory}");
        }
    }

    #[test]
    fn a_dedicated_server_sizes_its_redo() {
        // 8.4: by CPUs.
        for (cpus, gib) in [(2, 1), (4, 2), (24, 12), (32, 16), (48, 16)] {
            assert_eq!(dedicated_redo_capacity_8_4(cpus), gib * GIB, "cpus {cpus}");
        }
        assert_eq!(dedicated_redo_capacity_8_4(1), 100 * MIB);
        // 8.0.30: by memory. 8 GiB: round(6) half GiB; 16: round(9) GiB; 128: 72 GiB.
        for (memory, half_gib) in [(2, 2), (4, 3), (8, 6), (16, 18), (128, 144), (256, 256)] {
            let capacity = dedicated_redo_capacity_8_0(memory * GIB, false);
            assert_eq!(capacity, half_gib * (GIB / 2), "memory {memory} GiB");
        }
        assert_eq!(dedicated_redo_capacity_8_0(GIB, true), 100 * MIB);
        assert_eq!(
            dedicated_redo_capacity_8_0(3 * GIB, true),
            GIB,
            "round(1.5) is 2 halves"
        );
        assert_eq!(dedicated_redo_capacity_8_0(2 * GIB, true), GIB / 2);
    }
}
