//! What the engine's own work costs under the virtual clock.
//!
//! Engine code says what it does, `cpu(Cost::PageHashLookup)`, next to the code that
//! does it; this table says how long that takes. There are two kinds:
//!
//! * **work** runs instructions: a busy sibling thread and a lower frequency stretch it;
//! * **stall** waits for memory: cache misses last as long as they last.
//!
//! No cost depends on a setting that users vary: effects of settings come out of
//! mechanisms. Costs of *latches* (lines fetched, spinning, sleeping) are not here; the
//! virtual latches charge them.
//!
//! The defaults are for a server core at 3 GHz. A machine's profile may replace each by
//! its name.

use super::ambient;
use super::profile::{ProfileError, nanos};
use super::time::Time;
use super::virtual_clock::Simulation;

/// How a cost passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostKind {
    /// Instructions.
    Work,
    /// Memory.
    Stall,
}

macro_rules! costs {
    ($( $(#[$doc:meta])* $variant:ident = $name:literal, $kind:ident $nanoseconds:literal; )*) => {
        /// Something the engine does, with a cost.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Cost { $( $(#[$doc])* $variant, )* }

        impl Cost {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Cost] = &[ $( Cost::$variant, )* ];

            /// The name in profiles.
            pub const fn name(self) -> &'static str {
                const NAMES: &[&str] = &[ $( $name, )* ];
                NAMES[self as usize]
            }

            /// How it passes.
            pub const fn kind(self) -> CostKind {
                const KINDS: &[CostKind] = &[ $( CostKind::$kind, )* ];
                KINDS[self as usize]
            }

            /// The default, in nanoseconds.
            const fn default_nanoseconds(self) -> f64 {
                const DEFAULTS: &[f64] = &[ $( $nanoseconds as f64, )* ];
                DEFAULTS[self as usize]
            }
        }
    };
}

// Sources. "Lines": estimated from the cache lines touched, at 20 ns for one that is in
// the last-level cache and 80 ns for one that is not (Intel's optimization manual gives
// 50-70 cycles, and vendors' memory latencies are 70-90 ns). "Instructions": estimated
// from their number. "Published": figures for CRC-32C and copies on server cores.
costs! {
    // Buffer pool.
    /// A lookup in the page hash: cell and one control block. Lines: 2.
    PageHashLookup = "page_hash_lookup", Stall 40;
    /// Entering a page into the hash, or taking one out. Lines: 1, instructions.
    PageHashChange = "page_hash_change", Work 30;
    /// Counting, fixing and unfixing a page, and the young rule. Instructions.
    PageGet = "page_get", Work 25;
    /// The first use of a page: reading the clock. Published: clock_gettime 20-25 ns.
    PageFirstUse = "page_first_use", Work 25;
    /// Moving a page to the head of the LRU list. Instructions; the latch fetches lines.
    LruMove = "lru_move", Work 40;
    /// Putting a page into the LRU list, or taking one out. Instructions.
    LruChange = "lru_change", Work 25;
    /// Looking at one page of a scan from the LRU tail. Lines: 1 uncached.
    LruScanStep = "lru_scan_step", Stall 80;
    /// Taking a frame from the free list, or giving one back. Instructions.
    FreeListChange = "free_list_change", Work 15;
    /// Putting a page into the flush list, or taking one out. Instructions.
    FlushListChange = "flush_list_change", Work 25;
    /// Looking at one page of a scan from the flush list's tail. Lines: 1 uncached.
    FlushListScanStep = "flush_list_scan_step", Stall 80;
    /// Choosing a page to flush, and accounting for the end of its write. Instructions.
    FlushPage = "flush_page", Work 150;
    /// Taking a page cleaner's slot, or finishing it. Instructions.
    CleanerSlot = "cleaner_slot", Work 50;
    /// A checksum of 16 KiB, made or verified. Published: CRC-32C at 10 GB/s and more.
    PageChecksum = "page_checksum", Work 1500;
    /// Clearing a frame for a new page. Published: 16 KiB at 30 GB/s.
    PageClear = "page_clear", Work 500;

    // Redo log.
    /// Beginning and ending a mini-transaction, and walking its memo. Instructions.
    MiniTransaction = "mini_transaction", Work 60;
    /// Reserving a range of redo: an atomic addition on a line that all cores share.
    /// Lines: 1 of another core. Published: 40-100 cycles on the same die.
    LogReserve = "log_reserve", Stall 40;
    /// Copying redo into a block of the log buffer. Lines: up to 8, written in order.
    LogCopy = "log_copy", Work 40;
    /// Leaving a link in a link buffer and moving its tail. Lines: 2, one of another core.
    LogLink = "log_link", Stall 50;
    /// Copying a page into a doublewrite batch. Published: 16 KiB at 20 GB/s, source
    /// and destination outside the core's caches.
    PageCopy = "page_copy", Work 800;
    /// Completing a block of redo: header and checksum. Published: CRC-32C at 10 GB/s.
    LogBlock = "log_block", Work 60;
    /// Reading a record in recovery and applying it to its page. Instructions.
    RedoApply = "redo_apply", Work 150;

    // Page allocation and B-trees.
    /// Taking a page for a segment, or giving one back: bitmap, lists, counts on three
    /// pages. Instructions.
    PageAllocate = "page_allocate", Work 600;
    /// One comparison of a binary search on a page: slot, record, key. Instructions (20 ns)
    /// and lines: a part of one in the last-level cache.
    RecordCompare = "record_compare", Work 28;
    /// One step from record to record in a scan. Lines: 1, mostly prefetched.
    RecordStep = "record_step", Work 8;
    /// Putting a record into a page: copy, list, directory. Instructions.
    RecordInsert = "record_insert", Work 150;
    /// Taking a record out of a page: list, directory, free list. Instructions.
    RecordDelete = "record_delete", Work 120;
    /// Overwriting fields of a record, or its mark. Instructions.
    RecordUpdate = "record_update", Work 60;
    /// Moving one record to another page or place. Instructions.
    RecordMove = "record_move", Work 30;
    /// What a split or a merge costs besides its records: choosing the border, headers,
    /// siblings. Instructions.
    PageSplit = "page_split", Work 1500;

    // Transactions.
    /// A critical section of the transaction system, besides its cache lines and what it
    /// walks or copies. Instructions; the figure of the read-view experiment.
    TrxSysSection = "trx_sys_section", Work 100;
    /// One step of a walk through the transaction list, to a transaction that runs on the
    /// walker's socket. Lines: 1 in the socket's own cache.
    TrxListStepNear = "trx_list_step_near", Stall 30;
    /// The same, to one on another socket. Literature: a line that somebody has read since
    /// another socket wrote it comes from memory, 90 to 120 ns on machines of four sockets.
    /// Known when this was chosen: the published 5.6 curves imply 80 ns a step, near and far.
    TrxListStepFar = "trx_list_step_far", Stall 100;
    /// Copying one transaction id into a read view: 8 bytes at 27 GB/s. Fitted by the profile
    /// of the isolation-levels report, to 5.7 under READ COMMITTED at 1024 threads.
    ReadViewCopyId = "read_view_copy_id", Stall 0.3;
    /// Looking an id up among the active ones. Lines: 2 of a binary search.
    TrxIdLookup = "trx_id_lookup", Stall 40;
    /// Taking an id out of the sorted vector and moving those above. Instructions.
    TrxIdRemove = "trx_id_remove", Work 30;
    /// Whether a view sees an id: comparisons, or a binary search. Instructions.
    ReadViewSees = "read_view_sees", Work 8;
    /// A critical section of a rollback segment: cached segments, counts. Instructions.
    RollbackSegmentSection = "rollback_segment_section", Work 60;
    /// Writing an undo record to its page: copy, links, header. Instructions.
    UndoRecordWrite = "undo_record_write", Work 120;
    /// Reading an undo record from its page: copy and decoding. Instructions and lines: 2.
    UndoRecordRead = "undo_record_read", Work 100;
    /// Asking for admission, or leaving. Lines: 1 uncached.
    Admission = "admission", Stall 80;

    // Locks.
    /// A critical section of the lock system, besides its cache lines: a call, a hash, a
    /// comparison. Instructions.
    LockSysSection = "lock_sys_section", Work 60;
    /// Looking at one lock object of a queue or of an owner's list. Lines: 1.
    LockQueueStep = "lock_queue_step", Stall 20;
    /// Making a lock object and linking it, or taking one off its lists. Instructions.
    LockChange = "lock_change", Work 40;
    /// Looking at one lock object in the search for a deadlock: others made it, on other
    /// cores. Lines: 1 uncached.
    DeadlockSearchStep = "deadlock_search_step", Stall 80;

    // Rows.
    /// Handing a row to the server: its columns are copied and converted. Instructions,
    /// and lines: 4 of 200 bytes.
    RowFetch = "row_fetch", Work 150;
    /// Converting a row or its changes to stored fields, and putting a record together.
    /// Instructions.
    RowBuild = "row_build", Work 250;
}

impl Cost {
    /// How many there are.
    pub const COUNT: usize = Cost::ALL.len();
}

/// The cost of everything on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostTable([Time; Cost::COUNT]);

impl Default for CostTable {
    fn default() -> Self {
        CostTable(std::array::from_fn(|index| {
            nanos(Cost::ALL[index].default_nanoseconds())
        }))
    }
}

impl CostTable {
    /// A table in which nothing costs anything: for closed-form tests.
    pub fn free() -> Self {
        CostTable([0; Cost::COUNT])
    }

    /// What something costs, in picoseconds.
    #[inline]
    pub fn get(&self, cost: Cost) -> Time {
        self.0[cost as usize]
    }

    /// Replaces a cost.
    ///
    /// # Errors
    /// If no cost has that name, or the value is negative, not a number or above a
    /// millisecond.
    pub fn set(&mut self, name: &str, nanoseconds: f64) -> Result<(), ProfileError> {
        const LONGEST: f64 = 1e6;
        let key = format!("costs.{name}");
        let Some(cost) = Cost::ALL.iter().find(|cost| cost.name() == name) else {
            let accepted = "a cost of this engine; `explain` lists them";
            return Err(ProfileError::new(&key, nanoseconds, accepted));
        };
        if !(0.0..=LONGEST).contains(&nanoseconds) {
            let accepted = "nanoseconds, 0 to 1000000";
            return Err(ProfileError::new(&key, nanoseconds, accepted));
        }
        self.0[*cost as usize] = nanos(nanoseconds);
        Ok(())
    }
}

/// Says that the task does something: adds its cost to the task's debt. Nothing under
/// the real clock, where the work itself takes the time.
#[inline]
pub fn cpu(cost: Cost) {
    cpu_times(cost, 1);
}

/// As [`cpu`], for something done so many times.
#[inline]
pub fn cpu_times(cost: Cost, times: u64) {
    if !ambient::simulation().is_null() {
        charge_cost(cost, times);
    }
}

/// Apart, and with a look of its own, so that a charge is a comparison and a branch
/// wherever it stands.
#[inline(never)]
fn charge_cost(cost: Cost, times: u64) {
    let simulation = ambient::simulation();
    // SAFETY: the current task calls, and no reference into the simulation is live.
    unsafe {
        let time = (*simulation).cost(cost, times);
        match cost.kind() {
            CostKind::Work => Simulation::charge(simulation, time),
            CostKind::Stall => Simulation::stall(simulation, time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = Cost::ALL.iter().map(|cost| cost.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Cost::COUNT);
    }

    #[test]
    fn a_cost_is_replaced_by_its_name() {
        let mut table = CostTable::default();
        table.set("lru_move", 12.5).unwrap();
        assert_eq!(table.get(Cost::LruMove), 12_500);
        assert_eq!(
            table.get(Cost::LruChange),
            CostTable::default().get(Cost::LruChange)
        );
        assert!(table.set("lru_mvoe", 1.0).is_err());
        assert!(table.set("lru_move", f64::NAN).is_err());
        assert!(table.set("lru_move", -1.0).is_err());
    }
}
