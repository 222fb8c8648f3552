//! `innosim reproduce`: published reports, cell by cell, with claims and controls checked.
//!
//! ```text
//!   report ──► cells ──► groups ──► jobs ──► documents ──► findings ──► text, JSON, page
//!              (labels,   (one       (one     (kept in a    (claims,
//!               seeds)     base)      process) cache)        controls)
//! ```
//!
//! * [`report`] – what a report is: its cells, what is claimed, what would refute it.
//! * [`isolation_levels`], [`doublewrite_pages`], [`threads_5_6_5_7`] – the reports.
//! * [`machines`] – their machines, changed for controls; [`constants`] are those that were
//!   fitted.
//! * [`study`] – how far answers depend on them, on the disk and on the scale.
//! * [`cache`], [`base`] – what is kept on disk: runs, and data directories to begin from.
//! * [`groups`] – which runs share a warm-up, and how they become processes;
//!   [`processes`] starts one and reads what it gives, [`estimate`] tells how long it takes.
//! * [`jobs`] – processes side by side.
//! * [`finished`] – what came of it, as claims ask for it.
//! * [`execute`] – all of it in order.
//! * [`warnings`] – whether the runs can be trusted.
//! * [`text`] – what is printed; [`fidelity`] – a page of the book.
//!
//! Nothing here computes a result: a cell is a call of `innosim run` or a future of
//! `innosim futures`, and could be typed.

pub mod base;
pub mod cache;
pub mod constants;
pub mod doublewrite_pages;
pub mod estimate;
pub mod execute;
pub mod fidelity;
mod fingerprint;
pub mod finished;
pub mod groups;
pub mod isolation_levels;
pub mod jobs;
mod loading;
pub mod machines;
pub mod processes;
pub mod report;
#[cfg(test)]
pub(crate) mod sample;
pub mod study;
pub mod text;
pub mod threads_5_6_5_7;
pub mod warnings;

pub use execute::{Options, Program, reproduce};
pub use report::{Amount, Report};

use innosim_engine::sysvar::{Excerpt, nearest};

/// All reports.
pub const REPORTS: [&dyn Report; 3] = [
    &isolation_levels::IsolationLevels,
    &doublewrite_pages::DoublewritePages,
    &threads_5_6_5_7::Threads,
];

/// A name that no report has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "report {}: accepted are {}{}",
    Excerpt(.name),
    REPORTS.map(Report::name).join(", "),
    .nearest.map_or(String::new(), |name| format!(" (did you mean {name}?)"))
)]
pub struct UnknownReport {
    /// As given.
    pub name: String,
    /// The nearest known name.
    pub nearest: Option<&'static str>,
}

/// The report of a name.
///
/// # Errors
/// If there is none.
pub fn find(name: &str) -> Result<&'static dyn Report, UnknownReport> {
    let mut reports = REPORTS.into_iter();
    let found = reports.find(|report| report.name() == name);
    found.ok_or_else(|| UnknownReport {
        name: name.to_owned(),
        nearest: nearest(name, REPORTS.map(Report::name)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_found_by_its_name() {
        for report in REPORTS {
            assert_eq!(find(report.name()).unwrap().name(), report.name());
        }
        let Err(error) = find("isolation-level") else {
            panic!("there is no such report");
        };
        assert_eq!(
            error.to_string(),
            "report isolation-level: accepted are isolation-levels, doublewrite-pages, \
             threads-5.6-5.7 (did you mean isolation-levels?)"
        );
    }
}
