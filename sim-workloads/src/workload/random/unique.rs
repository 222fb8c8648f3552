//! Ids that never repeat, for inserts without auto-increment.
//!
//! `oltp_insert` with `--auto-inc=off` needs ids that are unique over all threads
//! and spread over the whole 32-bit range, with no table of used ones. sysbench
//! does it with a permutation from number theory (Jeff Preshing, "How to generate a
//! sequence of unique random integers", 2012):
//!
//! ```text
//!   p prime, p = 3 mod 4.    x <= p/2:  x -> x^2 mod p
//!                            x >  p/2:  x -> p - (x^2 mod p)
//! ```
//!
//! The squares of 0..=p/2 are all different modulo p, and so are their negatives,
//! and no square is the negative of another: a bijection on 0..p. p = 2^32 - 5 is
//! the largest such prime below 2^32; the five integers above it map to themselves.
//! Two rounds with an offset between them hide the pattern.
//!
//! sysbench's threads share one counter. Here thread t of n takes the indices
//! t, t + n, t + 2n, ...: unique all the same, and a thread's ids do not depend on
//! who ran first.

const PRIME: u64 = 4_294_967_291;

/// Flips bits between the two rounds, so that index 0 is not id 0.
const SCRAMBLE: u32 = 0x5a17_c3e1;

/// The ids of one thread: distinct from each other and from other threads' ids for
/// 2^32 draws over all threads.
#[derive(Debug, Clone)]
pub struct UniqueIds {
    next_index: u32,
    stride: u32,
    offset: u32,
}

impl UniqueIds {
    /// The ids of thread `thread` (from 0) of `threads`; `seed` picks the sequence
    /// and must be the same for all of them.
    ///
    /// # Panics
    /// If `thread` is not below `threads`.
    pub fn new(seed: u64, thread: u32, threads: u32) -> Self {
        assert!(thread < threads, "thread {thread} of {threads}");
        let start = permute((seed >> 32) as u32);
        Self {
            next_index: start.wrapping_add(thread),
            stride: threads,
            offset: permute(seed as u32),
        }
    }

    /// The next id, anywhere in 0..2^32. sysbench 1.0 subtracts 2^31 to fit it into its
    /// signed column; the older ones have unsigned columns.
    pub fn next_id(&mut self) -> u32 {
        let index = self.next_index;
        self.next_index = index.wrapping_add(self.stride);
        permute(permute(index).wrapping_add(self.offset) ^ SCRAMBLE)
    }
}

/// The permutation of 0..2^32 described above.
fn permute(x: u32) -> u32 {
    permute_modulo(u64::from(x), PRIME) as u32
}

fn permute_modulo(x: u64, prime: u64) -> u64 {
    if x >= prime {
        return x;
    }
    let square = x * x % prime;
    if x <= prime / 2 {
        square
    } else {
        prime - square
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn is_a_permutation_for_every_small_prime_of_the_kind() {
        for prime in [3u64, 7, 11, 19, 23, 31, 43, 1019] {
            let images: BTreeSet<u64> = (0..prime + 5).map(|x| permute_modulo(x, prime)).collect();
            assert_eq!(images, (0..prime + 5).collect(), "p = {prime}");
        }
    }

    #[test]
    fn needs_a_prime_that_is_three_modulo_four() {
        let images: BTreeSet<u64> = (0..13).map(|x| permute_modulo(x, 13)).collect();
        assert!(
            images.len() < 13,
            "13 = 1 mod 4 has squares that are negatives of squares"
        );
        assert_eq!(PRIME % 4, 3);
    }

    #[test]
    fn threads_share_no_id() {
        let mut seen = BTreeSet::new();
        for thread in 0..7 {
            let mut ids = UniqueIds::new(99, thread, 7);
            for _ in 0..5_000 {
                let id = ids.next_id();
                assert!(seen.insert(id), "{id} twice");
            }
        }
    }

    #[test]
    fn spreads_over_the_range() {
        let mut ids = UniqueIds::new(1, 0, 1);
        let mut octants = [0u32; 8];
        for _ in 0..8_000 {
            octants[(ids.next_id() >> 29) as usize] += 1;
        }
        // Binomial with mean 1000 and standard deviation 29.6.
        assert!(
            octants.iter().all(|&n| (880..1120).contains(&n)),
            "{octants:?}"
        );
    }
}
