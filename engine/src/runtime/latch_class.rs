//! Latch classes: what is counted together, and what a critical section costs.
//!
//! All latches that protect one kind of thing share a class, as in
//! performance_schema. The class says how the virtual clock treats them:
//!
//! * **hot**: the debt of CPU is settled before such a latch is asked for and
//!   before it is released, so that it is *held for virtual time* and others find
//!   it taken. A latch that is not hot is settled before it is asked for in SX or X,
//!   and before it is released only if it has been held for virtual time anyway.
//! * **lines**: how many cache lines a critical section touches that its last
//!   holder, on another core, has modified: the latch word and the data behind it.
//! * **word-line accesses**: how often a holder touches the line of the latch word
//!   itself. Spinning threads read that line; after each of their polls the holder
//!   must fetch it back.

/// The mode in which a latch is asked for or held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LatchMode {
    /// Shared: any number of S, and one SX beside them.
    S,
    /// Shared-exclusive: one at a time; readers go on.
    SX,
    /// Exclusive.
    X,
}

/// How a class is treated; see the module's opening.
#[derive(Clone, Copy, Debug)]
pub struct LatchClassFacts {
    /// The name users see, performance_schema's where it has one.
    pub name: &'static str,
    /// The weakest mode in which the class is hot; `None`: never.
    pub hot_from: Option<LatchMode>,
    /// Cache lines a critical section fetches from the last holder's core.
    pub lines: u32,
    /// Accesses of the holder to the line of the latch word, the release included.
    pub word_line_accesses: u32,
}

macro_rules! latch_classes {
    ($( $(#[$doc:meta])* $variant:ident = $name:literal, $hot:expr, $lines:literal, $word:literal; )*) => {
        /// A kind of latch. The source of the line counts is the list of fields that
        /// InnoDB's critical section of that name writes or reads, a line each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum LatchClass { $( $(#[$doc])* $variant, )* }

        impl LatchClass {
            /// All classes, in the order of their numbers.
            pub const ALL: &'static [LatchClass] = &[ $( LatchClass::$variant, )* ];

            /// How the class is treated.
            #[inline]
            pub const fn facts(self) -> &'static LatchClassFacts {
                const FACTS: &[LatchClassFacts] = &[ $( LatchClassFacts {
                    name: $name, hot_from: $hot, lines: $lines, word_line_accesses: $word,
                }, )* ];
                &FACTS[self as usize]
            }
        }
    };
}

use LatchMode::S;

latch_classes! {
    /// A latch that protects little and briefly. Also a test's.
    Plain = "plain", None, 1, 1;
    /// A plain latch that is always settled: for tests and teaching.
    Hot = "hot", Some(S), 1, 1;
    /// Transaction ids, lists of transactions and read views: word, id counter, list
    /// base and its first node, id vector head and end, view list base and first node.
    TrxSys = "trx_sys_mutex", Some(S), 8, 2;
    /// Numbers of transactions in commit (8.0): word, list base, last node, low limit.
    TrxSysSerialisation = "trx_sys_serialisation_mutex", Some(S), 4, 1;
    /// A part of the map from ids to active transactions (8.0): word, bucket, node.
    TrxSysShard = "trx_sys_shard_mutex", None, 3, 1;
    /// The lock system: word, hash cell, lock object, the transaction's lock list,
    /// the lock's bitmap, counters.
    LockSys = "lock_sys_mutex", Some(S), 6, 2;
    /// Reservation and copy into the log buffer: word, sn with the buffer's fill, and the
    /// buffer's tail. The lines of the buffer are only stored to, all at once: fetching
    /// them takes as long as fetching one. (Counted as two more lines before 5.7 under
    /// REPEATABLE READ in the isolation-levels report was looked at.)
    LogBuffer = "log_sys_mutex", Some(S), 3, 2;
    /// Putting pages into the flush lists in the order of their redo, up to 5.7: the word;
    /// the lists have latches of their own.
    LogFlushOrder = "log_flush_order_mutex", Some(S), 1, 1;
    /// Writing the log buffer to the log file.
    LogWriter = "log_writer_mutex", Some(S), 3, 1;
    /// Flushing the log file.
    LogFlusher = "log_flusher_mutex", Some(S), 2, 1;
    /// Checkpoints.
    LogCheckpointer = "log_checkpointer_mutex", Some(S), 2, 1;
    /// A doublewrite instance's batch: word, batch header, page list end.
    Doublewrite = "dblwr_mutex", Some(S), 3, 1;
    /// The LRU list of a pool instance: word, list base, two neighbours, old pointer.
    BufferPoolLru = "buf_pool_LRU_list_mutex", Some(S), 5, 1;
    /// The free list of a pool instance: word, list base, first node.
    BufferPoolFree = "buf_pool_free_list_mutex", Some(S), 3, 1;
    /// The flush list of a pool instance: word, list base, first node.
    FlushList = "flush_list_mutex", Some(S), 3, 1;
    /// Counts of running flushes of a pool instance.
    FlushState = "buf_pool_flush_state_mutex", Some(S), 2, 1;
    /// Page cleaner slots.
    PageCleaner = "page_cleaner_mutex", None, 2, 1;
    /// A part of the page hash of a pool instance.
    PageHash = "hash_table_locks", None, 1, 1;
    /// A page in the buffer pool. A scan reads a leaf for microseconds under S, and whoever
    /// wants to change it waits: without settling there such waits were 40 % too short.
    Page = "buf_block_lock", Some(S), 1, 1;
    /// The tree of an index; held in S on the way down, over the latches of pages.
    IndexTree = "index_tree_rw_lock", Some(S), 1, 1;
    /// A rollback segment: word, header fields, cached list, history base.
    RollbackSegment = "rseg_mutex", Some(S), 4, 1;
    /// Space and segment allocation of a tablespace.
    Tablespace = "fil_space_latch", None, 2, 1;
    /// The table of open tablespaces.
    FileSystem = "fil_system_mutex", None, 2, 1;
    /// An array of asynchronous requests: word, slot, reserved count. InnoDB has one for
    /// reads and one for writes (`os_aio_read_mutex`, `os_aio_write_mutex`).
    AsynchronousIo = "os_aio_mutex", None, 3, 1;
    /// The queue of rollback segments with something to purge.
    PurgeQueue = "purge_sys_pq_mutex", None, 2, 1;
    /// Purge's read view.
    Purge = "trx_purge_latch", Some(S), 2, 1;
    /// Tables and indexes.
    Dictionary = "dict_sys_mutex", None, 2, 1;
    /// Admission to the engine (`innodb_thread_concurrency`).
    Admission = "srv_conc", Some(S), 2, 1;
}

impl LatchClass {
    /// Whether a request in this mode is settled; see the module's opening.
    #[inline]
    pub const fn is_hot(self, mode: LatchMode) -> bool {
        match self.facts().hot_from {
            Some(weakest) => mode as u8 >= weakest as u8,
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latches_that_are_held_while_pages_are_read_are_hot_in_every_mode() {
        for class in [LatchClass::Page, LatchClass::IndexTree, LatchClass::Purge] {
            assert!(class.is_hot(LatchMode::S));
        }
        assert!(LatchClass::TrxSys.is_hot(LatchMode::S));
        assert!(!LatchClass::PageHash.is_hot(LatchMode::X));
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = LatchClass::ALL
            .iter()
            .map(|class| class.facts().name)
            .collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), LatchClass::ALL.len());
    }
}
