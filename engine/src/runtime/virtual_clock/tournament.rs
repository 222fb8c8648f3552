//! A winner tree over the hardware threads: who finishes its charge first?
//!
//! ```text
//!                 2            each inner node names the leaf with the least
//!              /     \         key below it; of equal keys the one set first wins
//!             0       2
//!           /  \    /  \
//!    keys   5   9   3   7
//! ```
//!
//! A hardware thread has at most one charge in flight, and re-timing it (a
//! sibling started or stopped, the frequency changed) is one walk from its leaf
//! to the root, with no stale entry left behind as a heap would.
//!
//! Charges that end together are common: a release wakes all who sleep for a latch,
//! and all become ready at one instant. If the lower leaf won, tasks on low hardware
//! threads would get such a latch for ever, and the others never.

pub(super) struct Tournament {
    keys: Vec<u64>,
    /// When each key was set, in the order of all sets: breaks ties.
    turns: Vec<u64>,
    next_turn: u64,
    winners: Vec<u16>,
    leaves: usize,
}

impl Tournament {
    pub(super) fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two().max(2);
        assert!(leaves <= u16::MAX as usize, "too many hardware threads");
        let mut tree = Tournament {
            keys: vec![u64::MAX; leaves],
            turns: (0..leaves as u64).collect(),
            next_turn: leaves as u64,
            winners: vec![0; leaves],
            leaves,
        };
        for node in (1..leaves).rev() {
            tree.winners[node] = tree.play(node);
        }
        tree
    }

    #[inline]
    fn player(&self, node: usize) -> u16 {
        if node >= self.leaves {
            (node - self.leaves) as u16
        } else {
            self.winners[node]
        }
    }

    #[inline]
    fn play(&self, node: usize) -> u16 {
        let left = self.player(2 * node);
        let right = self.player(2 * node + 1);
        let (l, r) = (left as usize, right as usize);
        if self.keys[r] < self.keys[l]
            || (self.keys[r] == self.keys[l] && self.turns[r] < self.turns[l])
        {
            right
        } else {
            left
        }
    }

    /// The leaf with the least key, of several the one whose key was set first.
    #[inline]
    pub(super) fn winner(&self) -> usize {
        self.winners[1] as usize
    }

    #[inline]
    pub(super) fn key(&self, leaf: usize) -> u64 {
        self.keys[leaf]
    }

    #[inline]
    pub(super) fn set(&mut self, leaf: usize, key: u64) {
        self.keys[leaf] = key;
        self.turns[leaf] = self.next_turn;
        self.next_turn += 1;
        let mut node = (leaf + self.leaves) / 2;
        while node >= 1 {
            let before = self.winners[node];
            let after = self.play(node);
            self.winners[node] = after;
            // The matches above do not involve this leaf, neither before nor now.
            if before as usize != leaf && after as usize != leaf {
                break;
            }
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_the_least_key_that_was_set_first(
            count in 1usize..40,
            sets in prop::collection::vec((0usize..40, 0u64..10), 1..300),
        ) {
            let mut tree = Tournament::new(count);
            let mut keys: Vec<_> = (0..count).map(|i| (u64::MAX, i)).collect();
            for (turn, (leaf, key)) in sets.into_iter().enumerate() {
                let leaf = leaf % count;
                keys[leaf] = (key, count + turn);
                tree.set(leaf, key);
                let best = (0..count).min_by_key(|&i| keys[i]).unwrap();
                prop_assert_eq!(tree.winner(), best);
                prop_assert_eq!(tree.key(best), keys[best].0);
            }
        }
    }
}
