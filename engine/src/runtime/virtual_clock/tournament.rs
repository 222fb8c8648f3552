//! A winner tree over the hardware threads: who finishes its charge first?
//!
//! ```text
//!                 2            each inner node names the leaf with the least
//!              /     \         key below it; equal keys go to the lower leaf
//!             0       2
//!           /  \    /  \
//!    keys   5   9   3   7
//! ```
//!
//! A hardware thread has at most one charge in flight, and re-timing it (a
//! sibling started or stopped, the frequency changed) is one walk from its leaf
//! to the root, with no stale entry left behind as a heap would.

pub(super) struct Tournament {
    keys: Vec<u64>,
    winners: Vec<u16>,
    leaves: usize,
}

impl Tournament {
    pub(super) fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two().max(2);
        assert!(leaves <= u16::MAX as usize, "too many hardware threads");
        let mut tree = Tournament {
            keys: vec![u64::MAX; leaves],
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
        if self.keys[right as usize] < self.keys[left as usize] {
            right
        } else {
            left
        }
    }

    /// The leaf with the least key.
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
        fn names_the_first_least_key(
            count in 1usize..40,
            sets in prop::collection::vec((0usize..40, 0u64..10), 1..300),
        ) {
            let mut tree = Tournament::new(count);
            let mut keys = vec![u64::MAX; count];
            for (leaf, key) in sets {
                let leaf = leaf % count;
                keys[leaf] = key;
                tree.set(leaf, key);
                let best = (0..count).min_by_key(|&i| (keys[i], i)).unwrap();
                prop_assert_eq!(tree.winner(), best);
                prop_assert_eq!(tree.key(best), keys[best]);
            }
        }
    }
}
