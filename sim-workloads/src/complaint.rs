//! Errors in words: each link of a chain once, on lines that a terminal only shows.

/// The links of an error's chain, from the outermost on, without those that the one
/// before has in its own words already: many errors of the engine name their cause.
pub fn in_words(error: &anyhow::Error) -> String {
    let mut words = String::new();
    let mut before = String::new();
    for link in error.chain() {
        let link = link.to_string();
        if !before.contains(&link) {
            if !words.is_empty() {
                words.push_str(": ");
            }
            words.push_str(&link);
            before = link;
        }
    }
    words
}

/// A line with its control characters by name: a file's name may have any.
pub fn printable(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    for letter in line.chars() {
        match letter.is_control() {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use innosim_engine::runtime::files::{FileError, Operation};

    use super::*;

    #[test]
    fn every_link_is_told_once() {
        let cause = std::io::Error::from_raw_os_error(28);
        let error = FileError::Failed {
            path: "t1.ibd".into(),
            operation: Operation::Sync,
            source: cause,
        };
        let error = anyhow::Error::from(error).context("cannot load t1");
        assert_eq!(
            in_words(&error),
            "cannot load t1: cannot sync t1.ibd: No space left on device (os error 28)"
        );
        let plain = anyhow!("c").context("b").context("a");
        assert_eq!(in_words(&plain), "a: b: c");
    }

    #[test]
    fn control_characters_are_named() {
        assert_eq!(printable("a\u{1b}[1m é"), "a\\u{1b}[1m é");
    }
}
