//! What a user wrote, as messages quote it.

use std::fmt::{self, Display, Write};

/// Characters that a message quotes of a text at most.
const LONGEST: usize = 80;

/// The beginning of a text, with an ellipsis where it goes on, and with the names of
/// control characters in their place: a message must stay one line, and not be able to
/// tell a terminal what to do.
#[derive(Clone, Copy, Debug)]
pub struct Excerpt<'a>(pub &'a str);

impl Display for Excerpt<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = match self.0.char_indices().nth(LONGEST) {
            Some(_) => LONGEST - 1,
            None => LONGEST,
        };
        for letter in self.0.chars().take(kept) {
            match letter.is_control() {
                true => write!(formatter, "{}", letter.escape_default())?,
                false => formatter.write_char(letter)?,
            }
        }
        match kept < LONGEST {
            true => formatter.write_char('…'),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_control_characters_named() {
        let shown = |text: &str| Excerpt(text).to_string();
        assert_eq!(shown(""), "");
        assert_eq!(shown("größer = 5"), "größer = 5");
        assert_eq!(shown("a\u{1b}[31m\tb\u{9b}"), "a\\u{1b}[31m\\tb\\u{9b}");
        let just = "ä".repeat(80);
        assert_eq!(shown(&just), just);
        let more = "ä".repeat(300_000);
        assert_eq!(shown(&more), "ä".repeat(79) + "…");
    }
}
