//! The data directories that runs begin from, loaded side by side.
//!
//! A loader is one thread that computes, so two versions' bases take no longer than one as
//! long as there are cores and memory for both.

use std::collections::BTreeMap;

use super::base::{Base, Bases};
use super::jobs::{Cost, Limits, carry_out};
use crate::progress::Progress;
use crate::run::{RunPlan, Watch};

/// A base that is wanted.
#[derive(Debug)]
pub(super) struct WantedBase<'a> {
    /// What decides its bytes.
    pub key: &'a str,
    /// How it is loaded.
    pub plan: &'a RunPlan,
    /// Bytes of memory that loading it takes.
    pub memory: u64,
}

/// All of these bases by their keys, loaded if they are not there.
///
/// # Errors
/// If one of them cannot be had; of several, what is wrong with the first.
pub(super) fn load(
    bases: &Bases,
    wanted: &[WantedBase<'_>],
    limits: Limits,
    progress: &Progress,
) -> anyhow::Result<BTreeMap<String, Base>> {
    let mut by_key: Vec<&WantedBase<'_>> = Vec::new();
    for one in wanted {
        if by_key.iter().all(|known| known.key != one.key) {
            by_key.push(one);
        }
    }
    let cost = |one: &&WantedBase<'_>| Cost {
        processes: 1,
        memory: one.memory,
    };
    let loaded = carry_out(&by_key, cost, limits, |one| {
        bases.prepare(one.plan, &mut Loading(progress))
    });
    let keys = by_key.iter().map(|one| one.key.to_owned());
    keys.zip(loaded)
        .map(|(key, base)| Ok((key, base?)))
        .collect()
}

/// Announces what is loaded.
struct Loading<'a>(&'a Progress);

impl Watch for Loading<'_> {
    fn loaded(&mut self, table: &str, rows: u64, of: u64) {
        if rows == of {
            self.0.expect(1);
            self.0.step(&format!("{table}: {rows} rows loaded"));
        }
    }

    fn note(&mut self, message: &str) {
        self.0.expect(1);
        self.0.step(message);
    }

    fn starts(&mut self) {}

    fn interval(&mut self, _line: &crate::report::IntervalLine) {}
}
