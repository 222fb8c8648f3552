//! The nearest known name to a mistyped one.

/// The candidate with the smallest edit distance to `name`; the first of equals.
///
/// # Panics
/// If there are no candidates.
pub(super) fn nearest<'a>(name: &str, candidates: &[&'a str]) -> &'a str {
    candidates
        .iter()
        .min_by_key(|candidate| edit_distance(name, candidate))
        .expect("there are scripts")
}

/// Levenshtein's distance: letters to insert, delete or change.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    // row[j]: distance between the letters of `a` so far and the first j of `b`.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for j in 0..b.len() {
            let change = diagonal + usize::from(letter != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_distances() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("abc", "abc"), 0);
    }

    #[test]
    fn the_nearest_wins_and_ties_go_to_the_first() {
        assert_eq!(
            nearest("oltp-read-only", &["oltp_insert", "oltp_read_only"]),
            "oltp_read_only"
        );
        assert_eq!(nearest("x", &["a", "b"]), "a");
    }
}
