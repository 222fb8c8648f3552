//! Changes of variables while the engine runs: at a snapshot, where one warm state goes on
//! into several futures.
//!
//! | part | variables |
//! |---|---|
//! | page cleaner | `innodb_io_capacity`, `_max`, `innodb_lru_scan_depth`, dirty pages, adaptive flushing |
//! | redo log | `innodb_flush_log_at_trx_commit`, `_at_timeout`, `innodb_flush_sync` |
//! | buffer pool | `innodb_old_blocks_pct`, `_time`, `innosim_flush_latch` |
//! | doublewrite buffer | `innodb_doublewrite_pages`, `_files`, `innosim_doublewrite_fsync` |
//! | engine | `transaction_isolation` |
//!
//! Most of them are dynamic in a server, too. Those that are not are here because a server
//! that was started with the other value would, after its warm-up, be in the same state but
//! for what the change makes anew.

use super::Engine;
use super::error::EngineError;
use super::settings::EngineSettings;
use crate::buffer_pool::BufferPoolSettings;
use crate::doublewrite::DoublewriteSettings;
use crate::page_cleaner::CleanerSettings;
use crate::redo_log::RedoSettings;
use crate::sysvar::{ChangedVariable, Settings};

/// Who has to hear of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Cleaner,
    Redo,
    /// Both of the above.
    CleanerAndRedo,
    OldBlocks,
    FlushLatch,
    Doublewrite,
    Engine,
}

/// The variables that can be changed, and whose they are.
static CHANGEABLE: [(&str, Part); 19] = [
    ("innodb_io_capacity", Part::Cleaner),
    ("innodb_io_capacity_max", Part::Cleaner),
    ("innodb_lru_scan_depth", Part::Cleaner),
    ("innodb_max_dirty_pages_pct", Part::Cleaner),
    ("innodb_max_dirty_pages_pct_lwm", Part::Cleaner),
    ("innodb_adaptive_flushing", Part::Cleaner),
    ("innodb_adaptive_flushing_lwm", Part::Cleaner),
    ("innodb_flushing_avg_loops", Part::Cleaner),
    ("innodb_idle_flush_pct", Part::Cleaner),
    ("innodb_flush_sync", Part::CleanerAndRedo),
    ("innodb_flush_log_at_trx_commit", Part::Redo),
    ("innodb_flush_log_at_timeout", Part::Redo),
    ("innodb_old_blocks_pct", Part::OldBlocks),
    ("innodb_old_blocks_time", Part::OldBlocks),
    ("innosim_flush_latch", Part::FlushLatch),
    ("innodb_doublewrite_pages", Part::Doublewrite),
    ("innodb_doublewrite_files", Part::Doublewrite),
    ("innosim_doublewrite_fsync", Part::Doublewrite),
    ("transaction_isolation", Part::Engine),
];

/// Whose a variable is; none if it cannot be changed.
fn part_of(name: &str) -> Option<Part> {
    let mut changeable = CHANGEABLE.iter();
    changeable
        .find(|(known, _)| *known == name)
        .map(|&(_, part)| part)
}

/// Whether a variable can be changed at a snapshot, by
/// [`Engine::change_at_snapshot`].
pub fn can_change_at_snapshot(name: &str) -> bool {
    part_of(name).is_some()
}

/// What a change of variables came to.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotChange {
    /// Every variable from here on.
    pub settings: Settings,
    /// What was changed.
    pub changed: Vec<ChangedVariable>,
    /// What the user should know: values that did not fit, and variables that no server
    /// could change while it runs.
    pub warnings: Vec<String>,
}

impl Engine {
    /// Changes variables (name and value as a user writes them) while no session is in a
    /// transaction; background tasks may be anywhere. Either all of them are changed or,
    /// but for an error of the file system, none.
    ///
    /// A variable that is named is applied also where its value stays the same: the
    /// doublewrite files are made anew then, too, so that futures of one warm state differ
    /// in the value only. It takes time: a round of the page cleaner that is under way is
    /// waited for, and so are pending page writes before the doublewrite files are made.
    ///
    /// # Errors
    /// If a value is malformed, a variable is not known to the flavor, or cannot be
    /// changed here; or if the new doublewrite files cannot be made.
    pub fn change_at_snapshot(
        &self,
        variables: &[(String, String)],
    ) -> Result<SnapshotChange, EngineError> {
        self.check_usable()?;
        let after = self.variables.get().change(variables)?;
        for changed in &after.changed {
            let name = changed.definition.name;
            if part_of(name).is_none() {
                return Err(EngineError::NotChangeable { name });
            }
        }
        let settings = after.settings;
        let is_for = |parts: &[Part]| {
            let mut names = after.changed.iter().map(|changed| changed.definition.name);
            names.any(|name| part_of(name).is_some_and(|part| parts.contains(&part)))
        };
        if is_for(&[Part::Doublewrite]) {
            let doublewrite = DoublewriteSettings::from_variables(&settings);
            self.doublewrite.change(doublewrite)?;
        }
        if is_for(&[Part::Redo, Part::CleanerAndRedo]) {
            self.pages
                .log
                .change(&RedoSettings::from_variables(&settings)?);
        }
        if is_for(&[Part::Cleaner, Part::CleanerAndRedo]) {
            self.cleaner
                .change(CleanerSettings::from_variables(&settings));
        }
        let pool = BufferPoolSettings::from_variables(&settings);
        if is_for(&[Part::OldBlocks]) {
            self.pages.pool.set_old_blocks_pct(pool.old_blocks_pct);
            self.pages.pool.set_old_blocks_time(pool.old_blocks_time);
        }
        if is_for(&[Part::FlushLatch]) {
            self.pages.pool.set_flush_latch(pool.flush_latch);
        }
        if is_for(&[Part::Engine]) {
            let options = self.settings().options;
            self.settings
                .replace(EngineSettings::from_variables(&settings, options));
        }
        self.variables.replace(settings.clone());

        let mut warnings = after.warnings;
        let flavor = settings.flavor();
        for ChangedVariable {
            definition,
            from,
            to,
        } in &after.changed
        {
            if !definition.in_flavor(flavor).dynamic {
                warnings.push(format!(
                    "{} was changed from {from} to {to} at a snapshot, while nothing was under \
                     way: no server can change it while it runs",
                    definition.name
                ));
            }
        }
        Ok(SnapshotChange {
            settings,
            changed: after.changed,
            warnings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysvar::{is_modelled, registry};

    #[test]
    fn what_can_be_changed_is_obeyed() {
        for (name, _) in CHANGEABLE {
            assert!(
                registry::find(name).is_some() && is_modelled(name),
                "{name}"
            );
        }
    }
}
