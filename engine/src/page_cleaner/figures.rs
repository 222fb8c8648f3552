//! What the cleaner has done, for the judgement of a run: a run whose rounds come late, or
//! write everything there is, measures something else than the steady state.

use crate::runtime::time::Time;

/// Why a round was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoundKind {
    /// Nothing was done.
    #[default]
    Nothing,
    /// The second was over, on a server at work.
    Timed,
    /// Woken for free frames: LRU batches only.
    Woken,
    /// Redo is short.
    Sync,
    /// The second was over, on a server without work.
    Idle,
}

/// What one round has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundReport {
    /// Why.
    pub kind: RoundKind,
    /// Pages that the policy asked for.
    pub requested: u64,
    /// Pages sent off from flush lists.
    pub list_pages: u64,
    /// Pages sent off by LRU batches.
    pub lru_pages: u64,
    /// Clean pages evicted by LRU batches.
    pub evicted: u64,
    /// From the request to the last slot, in picoseconds.
    pub time: Time,
}

impl RoundReport {
    /// What InnoDB takes for flushed: clean pages that were evicted, too.
    pub fn flushed(&self) -> u64 {
        self.list_pages + self.lru_pages + self.evicted
    }
}

/// Sums over rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CleanerFigures {
    /// Rounds of a server at work, once a second.
    pub timed_rounds: u64,
    /// Rounds for free frames.
    pub woken_rounds: u64,
    /// Rounds that redo waited for.
    pub sync_rounds: u64,
    /// Rounds of an idle server.
    pub idle_rounds: u64,
    /// Pages sent off from flush lists.
    pub list_pages: u64,
    /// Pages sent off by LRU batches.
    pub lru_pages: u64,
    /// Clean pages evicted by LRU batches.
    pub evicted: u64,
    /// Most pages that one round sent off.
    pub largest_round: u64,
    /// The longest round, in picoseconds.
    pub longest_round: Time,
    /// Rounds that came more than 3 s too late: where InnoDB warns that its settings might
    /// not be optimal.
    pub late_rounds: u64,
    /// The last round that did something.
    pub last: RoundReport,
}

impl CleanerFigures {
    /// Adds a round.
    pub(super) fn note(&mut self, round: &RoundReport) {
        match round.kind {
            RoundKind::Nothing => return,
            RoundKind::Timed => self.timed_rounds += 1,
            RoundKind::Woken => self.woken_rounds += 1,
            RoundKind::Sync => self.sync_rounds += 1,
            RoundKind::Idle => self.idle_rounds += 1,
        }
        self.list_pages += round.list_pages;
        self.lru_pages += round.lru_pages;
        self.evicted += round.evicted;
        self.largest_round = self.largest_round.max(round.list_pages + round.lru_pages);
        self.longest_round = self.longest_round.max(round.time);
        self.last = *round;
    }
}
