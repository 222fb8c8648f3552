//! Text of others made harmless: in HTML, and in JSON inside of a `<script>`.
//!
//! Names of workloads, paths, values of option files and warnings may hold anything. In a
//! script element a browser reads no entities and stops at the first `</script`, so that in
//! JSON the characters of markup are written as `\u003c`; they only occur in strings there.

use std::fmt::{self, Write as _};

use serde::Serialize;

/// Text with what HTML would take for markup made harmless, in content and in quoted
/// attributes.
pub(super) struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => formatter.write_str("&amp;")?,
                '<' => formatter.write_str("&lt;")?,
                '>' => formatter.write_str("&gt;")?,
                '"' => formatter.write_str("&quot;")?,
                '\'' => formatter.write_str("&#39;")?,
                other => formatter.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// A value as JSON that may stand in a script element.
pub(super) fn script_json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("finite numbers and text");
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            // The last two end a line in older JavaScript.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(safe, "\\u{:04x}", character as u32);
            }
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><script>alert('1')</script>&\"<!--\u{2028}";

    #[test]
    fn markup_becomes_text() {
        let escaped = Escaped(HOSTILE).to_string();
        assert!(!escaped.contains(['<', '>', '"', '\'']), "{escaped}");
        assert!(escaped.starts_with("&lt;/script&gt;&lt;script&gt;alert(&#39;1"));
        assert_eq!(Escaped("a & b").to_string(), "a &amp; b");
    }

    #[test]
    fn json_ends_no_script_and_reads_the_same() {
        let json = script_json(&[HOSTILE]);
        assert!(!json.contains(['<', '>', '&', '\u{2028}']), "{json}");
        let back: Vec<String> = serde_json::from_str(&json).unwrap();
        assert_eq!(back, [HOSTILE]);
    }
}
