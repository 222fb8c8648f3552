//! The nearest known name to one that was mistyped.
//!
//! The measure is the optimal string alignment distance: the least number of
//! insertions, deletions, replacements and swaps of neighbours that turn one name
//! into the other (Damerau 1964, Levenshtein 1966). Case is ignored, and a name
//! that only lacks its `innodb_` prefix counts as very near.

/// The candidate nearest to `name`, or none when even the nearest is too far away to
/// be a plausible slip (more than a third of the name's length, and more than two).
/// Of equally near candidates the first in alphabetical order wins.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_ascii_lowercase();
    let length = wanted.chars().count();
    let limit = (length / 3).max(2);
    // Each character more or less costs a step, so most candidates need no table.
    let within = |candidate: &str| {
        let plausible = length.abs_diff(candidate.chars().count()) <= limit;
        plausible
            .then(|| distance(&wanted, candidate))
            .filter(|distance| *distance <= limit)
    };
    candidates
        .into_iter()
        .filter_map(|candidate| {
            // Forgetting the prefix is one slip, not seven.
            let without_prefix = candidate
                .strip_prefix("innodb_")
                .and_then(within)
                .map(|distance| distance + 1);
            let nearest = [within(candidate), without_prefix]
                .into_iter()
                .flatten()
                .min()?;
            Some((nearest, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment distance between two names, in characters.
pub fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    // Three rows of the usual table: two before the current one, for swaps.
    let mut before_last = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for row in 1..=left.len() {
        let mut current = vec![row; right.len() + 1];
        for column in 1..=right.len() {
            let replaced = last[column - 1] + usize::from(left[row - 1] != right[column - 1]);
            let mut best = replaced.min(last[column] + 1).min(current[column - 1] + 1);
            let swapped = row > 1
                && column > 1
                && left[row - 1] == right[column - 2]
                && left[row - 2] == right[column - 1];
            if swapped {
                best = best.min(before_last[column - 2] + 1);
            }
            current[column] = best;
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 4] = [
        "innodb_buffer_pool_size",
        "innodb_io_capacity",
        "innodb_io_capacity_max",
        "sync_binlog",
    ];

    #[test]
    fn distances_by_hand() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(
            distance("io_capacity", "io_capactiy"),
            1,
            "a swap is one slip"
        );
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn slips_find_their_name() {
        assert_eq!(
            nearest("innodb_buffer_pool_sise", NAMES),
            Some("innodb_buffer_pool_size")
        );
        assert_eq!(
            nearest("INNODB_IO_CAPACITY", NAMES),
            Some("innodb_io_capacity")
        );
        assert_eq!(
            nearest("buffer_pool_size", NAMES),
            Some("innodb_buffer_pool_size")
        );
        assert_eq!(nearest("sync_binlgo", NAMES), Some("sync_binlog"));
    }

    #[test]
    fn what_resembles_nothing_gets_no_suggestion() {
        assert_eq!(nearest("wsrep_provider", NAMES), None);
        assert_eq!(nearest("", NAMES), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), NAMES), None, "and quickly");
    }

    proptest! {
        #[test]
        fn the_distance_is_symmetric_and_bounded(left in ".{0,12}", right in ".{0,12}") {
            let between = distance(&left, &right);
            prop_assert_eq!(between, distance(&right, &left));
            prop_assert!(between <= left.chars().count().max(right.chars().count()));
            prop_assert_eq!(between == 0, left == right);
        }
    }
}
