//! Where a page's figures come from: enough to make them again.

use std::ffi::OsStr;

use super::page::Page;
use crate::machine::profile_text;

/// The call that made a page, and the machines as they were described to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// As it could be typed.
    pub command: String,
    /// Name and text of each machine profile.
    pub profiles: Vec<(String, String)>,
}

impl Origin {
    /// This process's call, with these machines. Of a profile that cannot be read any more
    /// the text is missing.
    pub fn of_this_call<'a>(machines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut profiles: Vec<(String, String)> = Vec::new();
        for name in machines {
            if profiles.iter().any(|(known, _)| known == name) {
                continue;
            }
            if let Some(text) = profile_text(name) {
                profiles.push((name.to_owned(), text));
            }
        }
        let words = std::env::args_os().skip(1);
        let words: Vec<String> = words.map(|word| quoted(&word)).collect();
        Origin {
            command: format!("innosim {}", words.join(" ")),
            profiles,
        }
    }

    /// The section that tells it.
    pub(super) fn write(&self, page: &mut Page, seeds: &str) {
        page.section("Made by");
        page.command(&self.command);
        page.paragraph(&format!(
            "innosim {}, {seeds}. Under the virtual clock the same call gives the same figures.",
            env!("CARGO_PKG_VERSION")
        ));
        for (name, text) in &self.profiles {
            page.folded(&format!("Machine profile {name}"), |page| {
                page.preformatted(text);
            });
        }
        page.end_section();
    }
}

/// A word as a shell takes it for one.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_can_be_typed_again() {
        for (word, expected) in [
            ("--set", "--set"),
            ("a=16,128", "a=16,128"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
        ] {
            assert_eq!(quoted(OsStr::new(word)), expected);
        }
    }

    #[test]
    fn profiles_are_told_once_and_those_that_are_gone_left_out() {
        let origin = Origin::of_this_call(["nvme-24core", "nvme-24core", "gone.toml"]);
        let names: Vec<_> = origin.profiles.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["nvme-24core"]);
        assert!(origin.profiles[0].1.contains("sockets"));
        assert!(origin.command.starts_with("innosim"));
    }
}
