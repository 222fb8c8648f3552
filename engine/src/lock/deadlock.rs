//! Deadlocks: circles of transactions that wait for each other.
//!
//! ```text
//!   A waits for B,  B waits for C and D,  D asks for what A has
//!
//!          +-----> B ---> C
//!          |       |
//!          A <---- D <----   the search starts at D, which closes the circle
//! ```
//!
//! Who is about to wait searches, depth first: whom do I wait for, whom does that one
//! wait for, and is it me? As every wait has been searched when it began, a new circle
//! goes through the new waiter. The lightest of the circle gives way: what weighs is
//! work, undo records written and locks held; among equals the new waiter goes.
//!
//! The search runs under the mutex of the lock system. With N waiters for one row the
//! next one looks at N objects, and that is what ends the throughput of a hot row.
//!
//! Source: the fact sheet's section 5.4 (InnoDB up to 8.0.17).

use super::lock_table::{LockTable, NONE};
use super::owner::OwnerId;

/// A search that has come so deep counts as a deadlock
/// (`LOCK_MAX_DEPTH_IN_DEADLOCK_CHECK`).
pub(super) const DEPTH_MAX: usize = 200;
/// And so does one of so many steps (`LOCK_MAX_N_STEPS_IN_DEADLOCK_CHECK`).
pub(super) const STEPS_MAX: u64 = 1_000_000;

/// An owner on the way from where the search began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    owner: OwnerId,
    /// The next object of the queue to look at.
    next: u32,
    /// Whether the owner itself has a lock in front of its request that conflicts with it.
    own_conflict: bool,
}

impl LockTable {
    /// Searches from an owner that waits. Returns who has to give way, if anybody.
    pub(super) fn find_victim(&mut self, start: OwnerId) -> Option<OwnerId> {
        self.search += 1;
        self.tally.searches += 1;
        let mut stack = std::mem::take(&mut self.search_stack);
        stack.clear();
        let victim = self.search_from(start, &mut stack);
        self.search_stack = stack;
        victim
    }

    fn frame(&self, owner: OwnerId) -> Frame {
        let wait = self.owner(owner).waiting;
        Frame {
            owner,
            next: self.first(self.lock(wait).target),
            own_conflict: false,
        }
    }

    fn search_from(&mut self, start: OwnerId, stack: &mut Vec<Frame>) -> Option<OwnerId> {
        if self.owner(start).waiting == NONE {
            return None;
        }
        stack.push(self.frame(start));
        let mut steps = 0;
        while let Some(top) = stack.last_mut() {
            let wait = self.owner(top.owner).waiting;
            let other = top.next;
            if other == wait || other == NONE {
                stack.pop();
                continue;
            }
            top.next = self.next(other);
            steps += 1;
            self.tally.search_steps += 1;
            if !self.modes_conflict(wait, other) {
                continue;
            }
            let blocker = self.lock(other).owner;
            if blocker == top.owner {
                top.own_conflict = true;
                continue;
            }
            if blocker == start {
                return Some(self.lightest(start, stack));
            }
            let blocker_wait = self.owner(blocker).waiting;
            if blocker_wait == NONE || self.owner(blocker).mark == self.search {
                continue;
            }
            // One that waits in the same queue for the same waits for nobody but those in
            // front of it, who are looked at here anyway, and for this owner's own locks.
            let (mine, theirs) = (self.lock(wait), self.lock(blocker_wait));
            let same_queue = blocker_wait == other
                && mine.target == theirs.target
                && mine.mode == theirs.mode
                && mine.heap == theirs.heap;
            if same_queue && !top.own_conflict {
                continue;
            }
            if steps > STEPS_MAX || stack.len() >= DEPTH_MAX {
                return Some(start);
            }
            self.owner_mut(blocker).mark = self.search;
            stack.push(self.frame(blocker));
        }
        None
    }

    /// The lightest on the stack, which is the circle.
    fn lightest(&self, start: OwnerId, stack: &[Frame]) -> OwnerId {
        let mut victim = start;
        for frame in stack {
            if self.weight(frame.owner) < self.weight(victim) {
                victim = frame.owner;
            }
        }
        victim
    }

    /// What a rollback would throw away.
    fn weight(&self, owner: OwnerId) -> u64 {
        let entry = self.owner(owner);
        entry.state.undo_records() + u64::from(entry.locks)
    }
}
