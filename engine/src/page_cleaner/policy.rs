//! What decides how many pages are flushed: the interface of flush policies.
//!
//! A policy does no I/O, takes no latch and reads no clock. All it knows is the snapshot;
//! between two calls it may keep averages. So it can be tested with numbers, and a new one
//! is one file and one line in [`policies`](super::policies).

use super::redo_state::RedoAges;
use super::settings::PolicySettings;
use crate::page::Lsn;
use crate::runtime::time::Time;

/// How many dirty pages are how old.
pub trait DirtyAges {
    /// Pages at the tail of an instance's flush list that became dirty at `lsn` or before;
    /// counting stops at `limit`.
    fn pages_up_to(&self, instance: usize, lsn: Lsn, limit: usize) -> usize;
}

/// What a policy may look at. Figures of the pool are sums over its instances.
#[derive(Clone, Copy)]
pub struct FlushSnapshot<'a> {
    /// The time.
    pub now: Time,
    /// LSN of the newest redo.
    pub lsn: Lsn,
    /// LSN at which the page that is dirty for longest became so; none if none is dirty.
    pub oldest_modification: Option<Lsn>,
    /// Redo since the last checkpoint.
    pub checkpoint_age: u64,
    /// Ages of redo that matter.
    pub redo: RedoAges,
    /// Pages flushed from flush lists since the last timed round.
    pub list_flushed: u64,
    /// Pages flushed by LRU batches since then.
    pub lru_flushed: u64,
    /// Pages on LRU lists.
    pub lru_pages: u64,
    /// Free frames.
    pub free_frames: u64,
    /// Dirty pages.
    pub dirty_pages: u64,
    /// Instances of the pool.
    pub instances: usize,
    /// In a round that redo waits for: the LSN that the oldest modification shall pass.
    pub sync_target: Option<Lsn>,
    /// How old the dirty pages are.
    pub dirty_ages: &'a dyn DirtyAges,
}

impl FlushSnapshot<'_> {
    /// Redo since the oldest modification.
    pub fn age(&self) -> u64 {
        self.oldest_modification
            .map_or(0, |oldest| self.lsn.saturating_sub(oldest))
    }

    /// The oldest modification; the newest LSN if nothing is dirty.
    pub fn oldest(&self) -> Lsn {
        self.oldest_modification.unwrap_or(self.lsn)
    }

    /// Dirty share of the pool, in percent.
    pub fn dirty_percent(&self) -> f64 {
        100.0 * self.dirty_pages as f64 / (1 + self.lru_pages + self.free_frames) as f64
    }
}

/// What a round shall flush from flush lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlushPlan {
    /// Pages of each instance.
    pub pages: Vec<u64>,
    /// Pages in all, before they were split.
    pub total: u64,
    /// Only pages that became dirty before this.
    pub lsn_limit: Lsn,
    /// Percent of `innodb_io_capacity` that the share of dirty pages asks for.
    pub percent_for_dirty: u64,
    /// Percent of it that the age of redo asks for.
    pub percent_for_lsn: u64,
    /// Pages that the speed of redo asks for.
    pub pages_for_lsn: u64,
    /// Pages flushed a second, averaged.
    pub average_page_rate: u64,
    /// Bytes of redo a second, averaged.
    pub average_lsn_rate: u64,
    /// Whether averages were renewed just now.
    pub is_window_over: bool,
}

impl FlushPlan {
    /// Nothing, for so many instances.
    pub fn nothing(instances: usize) -> Self {
        FlushPlan {
            pages: vec![0; instances],
            lsn_limit: Lsn::MAX,
            ..FlushPlan::default()
        }
    }
}

/// A way to decide how many pages are flushed.
pub trait FlushPolicy: Send {
    /// Its name, as `innosim_flush_policy` has it.
    fn name(&self) -> &'static str;

    /// What the round that begins now shall flush. Called once for every timed round of
    /// an active server, and for every sync round.
    fn plan(&mut self, snapshot: &FlushSnapshot<'_>) -> FlushPlan;

    /// Variables were changed while the engine runs: these are all of them from here on.
    /// Averages stay as they are.
    fn change(&mut self, settings: PolicySettings);
}
