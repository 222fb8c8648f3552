//! What a crash must leave, by the settings.
//!
//! | settings | what may be found |
//! |---|---|
//! | doublewrite buffer, its batches durable before their data writes; `innodb_flush_log_at_trx_commit=1` | nothing |
//! | no doublewrite buffer, pages larger than what the disk writes at once | damaged pages |
//! | batches not flushed, and the disk's cache lost with the power | damaged pages, lost commits |
//! | `innodb_flush_log_at_trx_commit` 0 or 2 | lost commits |
//!
//! Where something is to be found, the test has failed if nothing was.

use innosim_engine::doublewrite::DoublewriteSettings;
use innosim_engine::page::PAGE_SIZE;
use innosim_engine::redo_log::CommitPolicy;
use innosim_engine::runtime::virtual_clock::disk::{CacheProtection, DiskProfile};
use innosim_engine::sysvar::DoublewriteMode;
use serde::Serialize;

use super::fault::FaultKind;
use crate::machine::FileKind;
use crate::run::{Clock, RunPlan};

/// What the settings promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// Everything: a fault fails the test.
    All,
    /// Torn pages cannot be repaired: the test fails if none is found, or another fault.
    DamagedPages,
    /// Less: the test fails if no fault is found.
    Loss,
}

impl Promise {
    /// What the settings of a plan promise.
    pub fn of(plan: &RunPlan) -> Promise {
        let doublewrite = DoublewriteSettings::from_variables(&plan.settings);
        let commit = plan.settings.scaled().innodb_flush_log_at_trx_commit();
        let commit = CommitPolicy::from_variable(commit);
        if plan.clock == Clock::Real {
            // A killed process leaves all that it has written.
            return match commit {
                CommitPolicy::Nothing => Promise::Loss,
                CommitPolicy::Flush | CommitPolicy::Write => Promise::All,
            };
        }
        let copies = &plan.machine.disks[&plan.machine.placement[&FileKind::Doublewrite]];
        let tables = &plan.machine.disks[&plan.machine.placement[&FileKind::Tables]];
        if commit != CommitPolicy::Flush {
            Promise::Loss
        } else if atomic_write_bytes(tables) as usize >= PAGE_SIZE {
            Promise::All
        } else if doublewrite.mode != DoublewriteMode::On {
            Promise::DamagedPages
        } else if is_volatile(copies) && !doublewrite.sync_copies {
            Promise::Loss
        } else {
            Promise::All
        }
    }

    /// Whether it was kept, or is found not to have been given, as far as these faults go.
    pub fn holds(self, mut found: impl Iterator<Item = FaultKind>) -> bool {
        match self {
            Promise::All => found.next().is_none(),
            Promise::Loss => found.next().is_some(),
            Promise::DamagedPages => {
                found.next() == Some(FaultKind::DamagedPage)
                    && found.all(|kind| kind == FaultKind::DamagedPage)
            }
        }
    }

    /// In a sentence.
    pub const fn in_words(self) -> &'static str {
        match self {
            Promise::All => "every acknowledged commit, nothing half-done, sound pages",
            Promise::DamagedPages => {
                "no protection of torn pages: some must be found, and nothing else"
            }
            Promise::Loss => "no protection against loss: some must be found",
        }
    }
}

/// Whether completed writes can be lost with the power.
fn is_volatile(disk: &DiskProfile) -> bool {
    let protection = match disk {
        DiskProfile::SolidState(disk) => Some(disk.cache),
        DiskProfile::RotatingArray(disk) => disk.cache.map(|cache| cache.protection),
    };
    protection == Some(CacheProtection::Volatile)
}

fn atomic_write_bytes(disk: &DiskProfile) -> u32 {
    match disk {
        DiskProfile::SolidState(disk) => disk.atomic_write_bytes,
        DiskProfile::RotatingArray(disk) => disk.atomic_write_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::super::CrashArguments;
    use super::*;
    use crate::run::RunArguments;

    fn promise(cache: &str, set: &[&str]) -> Promise {
        let arguments = CrashArguments {
            run: RunArguments {
                set: set.iter().map(|set| (*set).to_owned()).collect(),
                ..RunArguments::default()
            },
            cache: Some(cache.into()),
            ..CrashArguments::default()
        };
        arguments.test().unwrap().promise
    }

    #[test]
    fn the_settings_say_what_is_promised() {
        let always = "innosim_doublewrite_fsync=always";
        assert_eq!(promise("protected", &[]), Promise::All);
        assert_eq!(promise("volatile", &[]), Promise::Loss);
        assert_eq!(promise("volatile", &[always]), Promise::All);
        let off = "innodb_doublewrite=OFF";
        assert_eq!(promise("protected", &[off]), Promise::DamagedPages);
        let lazy = "innodb_flush_log_at_trx_commit=2";
        assert_eq!(promise("protected", &[lazy]), Promise::Loss);
    }

    #[test]
    fn what_was_found_is_held_against_the_promise() {
        use FaultKind::*;
        let holds = |promise: Promise, found: &[FaultKind]| promise.holds(found.iter().copied());
        assert!(holds(Promise::All, &[]));
        assert!(!holds(Promise::All, &[DamagedPage]));
        assert!(!holds(Promise::Loss, &[]));
        assert!(holds(Promise::Loss, &[LostCommit]));
        assert!(!holds(Promise::DamagedPages, &[]));
        assert!(holds(Promise::DamagedPages, &[DamagedPage, DamagedPage]));
        assert!(!holds(Promise::DamagedPages, &[DamagedPage, LostCommit]));
    }
}
