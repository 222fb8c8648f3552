//! What a crash test can find wrong.

use std::fmt;

use serde::Serialize;

use crate::complaint::in_words;

/// What is wrong, by what was promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// A change is not there though its client was told that it is durable.
    LostCommit,
    /// A change is there that was never to be committed, or a part of a transaction.
    HalfDone,
    /// A page is not what was written to it, and there was no copy to repair it from.
    DamagedPage,
    /// Pages are intact, and do not fit together.
    Structure,
    /// The engine could not go on, or did not start.
    Failed,
}

impl FaultKind {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            FaultKind::LostCommit => "lost commit",
            FaultKind::HalfDone => "half done",
            FaultKind::DamagedPage => "damaged page",
            FaultKind::Structure => "structure",
            FaultKind::Failed => "failed",
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// What kind of thing.
    pub kind: FaultKind,
    /// A sentence.
    pub text: String,
}

impl Fault {
    /// An error of the engine. One about a page whose bytes are wrong is told apart.
    pub fn of_error(error: &anyhow::Error) -> Fault {
        let text = in_words(error);
        // The errors are nested by many modules; what they have in common is the page's
        // own words.
        let damaged = ["checksum 0x", "torn, low LSN word", "cannot be repaired"];
        let kind = match damaged.iter().any(|words| text.contains(words)) {
            true => FaultKind::DamagedPage,
            false => FaultKind::Failed,
        };
        Fault { kind, text }
    }

    /// A task that panicked.
    pub fn of_panic(payload: &(dyn std::any::Any + Send)) -> Fault {
        let words = payload.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| payload.downcast_ref::<&str>().copied());
        Fault {
            kind: FaultKind::Failed,
            text: format!("panic: {}", words.unwrap_or("without words")),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_page_is_told_from_other_errors() {
        let kind = |words: &str| Fault::of_error(&anyhow::anyhow!("{words}")).kind;
        let torn = "t.ibd: page 5: torn, low LSN word 0x1 in the header but 0x2 in the trailer";
        assert_eq!(kind(torn), FaultKind::DamagedPage);
        assert_eq!(kind("the disk is full"), FaultKind::Failed);
    }
}
