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
use super::profile::ProfileError;
use super::time::{NANOSECOND, Time};
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
            const fn default_nanoseconds(self) -> u64 {
                const DEFAULTS: &[u64] = &[ $( $nanoseconds, )* ];
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
    /// Copying a page into a doublewrite batch. Published: 16 KiB at 20 GB/s, source
    /// and destination outside the core's caches.
    PageCopy = "page_copy", Work 800;
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
            Cost::ALL[index].default_nanoseconds() * NANOSECOND
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
        self.0[*cost as usize] = super::profile::nanos(nanoseconds);
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
    let simulation = ambient::simulation();
    if !simulation.is_null() {
        // SAFETY: the current task calls, and no reference into the simulation is live.
        unsafe {
            let time = (*simulation).cost(cost) * times;
            match cost.kind() {
                CostKind::Work => Simulation::charge(simulation, time),
                CostKind::Stall => Simulation::stall(simulation, time),
            }
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
