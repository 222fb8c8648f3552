//! How far a report's answers depend on what was fitted, on the disk's arbitration, and on
//! the scale.
//!
//! ```text
//!                     effect   time of a write
//!   as fitted          +9 %        19 ms
//!   program  -25 %     +8 %        14 ms       each fitted constant, less and more
//!   program  +25 %    +10 %        24 ms
//!   fifo               +2 %        21 ms       each other arbitration of the disks
//!   scale 32           +8 %        19 ms       each scale
//! ```
//!
//! An answer that follows a fitted constant one to one is that constant in other words; one
//! that stays is what the model says. A study runs a few cells of one seed for each variant;
//! runs are kept and found as those of the report are, so that the cells as they are come
//! from its full form.

pub mod tables;

use std::num::NonZeroU32;
use std::time::Instant;

use anyhow::Context;
use toml::{Table, Value};

use super::base::Bases;
use super::constants;
use super::execute::{Log, Options, finish};
use super::finished::{Finished, FinishedCell};
use super::machines::Adjustment;
use super::report::{Amount, Cell, Extent, FittedConstant, Report};
use super::warnings;
use crate::complaint::in_words;
use crate::machine::built_in_text;
use crate::report::json::{Constant, ConstantStudy, StudiesDocument, StudyDocument, StudyRow};

/// What a fitted constant is multiplied by.
const FACTORS: [f64; 2] = [0.75, 1.25];

/// One variant of the model.
struct Variant {
    name: String,
    /// None if the profile cannot be changed so, and why.
    adjustments: anyhow::Result<Vec<Adjustment>>,
}

/// Studies reports. One that cannot be studied at all is among the results, with the reason
/// in each of its rows.
///
/// # Errors
/// If the cache cannot be used, or published figures cannot be read.
pub fn study(reports: &[&dyn Report], options: &Options<'_>) -> anyhow::Result<StudiesDocument> {
    let bases = Bases::new(&options.cache.path().join("bases"), options.base_bytes)?;
    let studies = reports.iter().map(|report| one(*report, &bases, options));
    let studies = studies.collect::<anyhow::Result<_>>()?;
    options.progress.finish();
    Ok(StudiesDocument { studies })
}

fn one(report: &dyn Report, bases: &Bases, options: &Options<'_>) -> anyhow::Result<StudyDocument> {
    let begin = Instant::now();
    let machine = report.machines()[0];
    let own_scale = options
        .scale
        .unwrap_or_else(|| report.default_scale(Amount::Full));
    let extent = |scale| Extent {
        machine,
        scale,
        amount: Amount::Full,
    };
    let constants: Vec<FittedConstant> = report
        .constants()
        .into_iter()
        .filter(|constant| constant.machine == machine)
        .collect();
    let mut variants = vec![Variant {
        name: "as fitted".to_owned(),
        adjustments: Ok(Vec::new()),
    }];
    for constant in &constants {
        variants.extend(FACTORS.map(|factor| {
            let adjusted = constants::adjusted(constant, factor);
            let value = adjusted.as_ref().map(|one| one.value.to_string());
            Variant {
                name: format!(
                    "{} {:+.0} %: {}",
                    constant.key,
                    (factor - 1.0) * 100.0,
                    value.unwrap_or_default()
                ),
                adjustments: adjusted.map(|one| vec![one]),
            }
        }));
    }
    let of_constants = variants.len();
    variants.extend(arbitrations(machine)?);

    let mut log = Log::default();
    let mut rows = rows(
        report,
        &variants,
        &extent(own_scale),
        &mut log,
        bases,
        options,
    )?;
    let arbitration = rows.split_off(of_constants);
    let mut rows = rows.into_iter();
    let as_fitted = rows.next().context("the first of the rows")?;
    let mut studied = Vec::new();
    for constant in &constants {
        let (less, more) = (rows.next(), rows.next());
        studied.push(ConstantStudy {
            constant: document(constant)?,
            less: less.context("a row for each")?,
            more: more.context("a row for each")?,
        });
    }
    let mut scales = Vec::new();
    for scale in report.study_scales() {
        if scale == own_scale {
            scales.push(StudyRow {
                variant: scale.to_string(),
                ..as_fitted.clone()
            });
            continue;
        }
        let variant = Variant {
            name: scale.to_string(),
            adjustments: Ok(Vec::new()),
        };
        let variants = [variant];
        scales.extend(self::rows(
            report,
            &variants,
            &extent(scale),
            &mut log,
            bases,
            options,
        )?);
    }
    let cells = report.study_cells(&extent(own_scale))?;
    Ok(StudyDocument {
        innosim: env!("CARGO_PKG_VERSION").to_owned(),
        name: report.name().to_owned(),
        machine: machine.to_owned(),
        scale: own_scale.get().into(),
        measure_s: cells
            .first()
            .map_or(0.0, |cell| cell.setup.length.measure_s),
        as_fitted,
        constants: studied,
        arbitration,
        scales,
        warnings: log.warnings,
        runs: log.runs,
        wall_s: begin.elapsed().as_secs_f64(),
    })
}

/// A fitted constant with its value and its source.
///
/// # Errors
/// If its profile does not have it.
pub fn document(constant: &FittedConstant) -> anyhow::Result<Constant> {
    let FittedConstant {
        machine,
        key,
        cells,
    } = constant;
    Ok(Constant {
        machine: (*machine).to_owned(),
        key: (*key).to_owned(),
        value: constants::value(machine, key)?.to_string(),
        source: constants::source(machine, key),
        cells: cells.clone(),
    })
}

/// A row for each variant, all of them run together.
fn rows(
    report: &dyn Report,
    variants: &[Variant],
    extent: &Extent<'_>,
    log: &mut Log,
    bases: &Bases,
    options: &Options<'_>,
) -> anyhow::Result<Vec<StudyRow>> {
    let mut cells: Vec<Cell> = Vec::new();
    let mut rows = Vec::new();
    for variant in variants {
        let begin = cells.len();
        let failure = match &variant.adjustments {
            Err(error) => Some(in_words(error)),
            Ok(adjustments) => {
                for mut cell in report.study_cells(extent)? {
                    cell.setup.adjustments.clone_from(adjustments);
                    cells.push(cell);
                }
                None
            }
        };
        rows.push((variant, begin..cells.len(), failure));
    }
    let mut of_these = Log::default();
    let finished = finish(&mut of_these, cells.clone(), extent, bases, options);
    log.warnings.append(&mut of_these.warnings);
    log.runs += of_these.runs;
    // Nothing could be begun: there is no room, say.
    let (finished, why) = match finished {
        Ok(finished) => (finished, None),
        Err(error) => {
            let nothing = |cell| FinishedCell {
                cell,
                runs: Vec::new(),
            };
            let cells = cells.into_iter().map(nothing).collect();
            (Finished { cells }, Some(in_words(&error)))
        }
    };
    let mut documents = Vec::new();
    for (variant, range, failure) in rows {
        let failures = of_these
            .failures
            .iter()
            .filter(|(cell, _)| range.contains(cell))
            .map(|(_, reason)| reason.clone());
        let failures = failures.chain(failure).chain(why.clone()).collect();
        let of_variant = Finished {
            cells: finished.cells[range].to_vec(),
        };
        let validity = of_variant
            .cells
            .iter()
            .filter_map(FinishedCell::validity)
            .reduce(super::finished::worse);
        let named = |warning| match variant.name == "as fitted" {
            true => warning,
            false => format!("{}: {warning}", variant.name),
        };
        for warning in warnings::of(&of_variant, extent.scale)
            .into_iter()
            .map(named)
        {
            if !log.warnings.contains(&warning) {
                log.warnings.push(warning);
            }
        }
        documents.push(StudyRow {
            variant: variant.name.clone(),
            answers: report.answers(&of_variant),
            validity,
            failures,
        });
    }
    Ok(documents)
}

/// The other arbitrations of a machine's disks: the order in which the write buffer admits,
/// and whether reads go before programs.
fn arbitrations(machine: &str) -> anyhow::Result<Vec<Variant>> {
    let text = built_in_text(machine).with_context(|| format!("machine {machine}: unknown"))?;
    let profile: Table = text.parse()?;
    let disks = profile.get("disks").and_then(Value::as_table);
    let mut variants = Vec::new();
    for (name, disk) in disks.into_iter().flatten() {
        // A disk with heads has an elevator, and no such choice.
        let (Some(admission), Some(reads_first)) = (disk.get("admission"), disk.get("reads_first"))
        else {
            continue;
        };
        for other_admission in ["round_robin", "fifo"] {
            for other_first in [false, true] {
                let is_own = admission.as_str() == Some(other_admission)
                    && reads_first.as_bool() == Some(other_first);
                if is_own {
                    continue;
                }
                let order = match other_first {
                    true => "reads before programs",
                    false => "reads and programs as they come",
                };
                let of = |key: &str, value: Value| Adjustment {
                    key: format!("disks.{name}.{key}"),
                    value,
                };
                variants.push(Variant {
                    name: format!("{name}: {other_admission}, {order}"),
                    adjustments: Ok(vec![
                        of("admission", other_admission.into()),
                        of("reads_first", other_first.into()),
                    ]),
                });
            }
        }
    }
    Ok(variants)
}

/// Runs that a study asks for, and the transactions that they simulate at most: those that
/// are kept are not run.
///
/// # Errors
/// If published figures cannot be read.
pub fn amount(report: &dyn Report, own_scale: Option<NonZeroU32>) -> anyhow::Result<(usize, f64)> {
    let machine = report.machines()[0];
    let scale = own_scale.unwrap_or_else(|| report.default_scale(Amount::Full));
    let cells = report.study_cells(&Extent {
        machine,
        scale,
        amount: Amount::Full,
    })?;
    let constants = report.constants();
    let constants = constants
        .iter()
        .filter(|one| one.machine == machine)
        .count();
    let others = report
        .study_scales()
        .iter()
        .filter(|other| **other != scale)
        .count();
    let variants = 1 + FACTORS.len() * constants + arbitrations(machine)?.len() + others;
    let groups = super::groups::groups(&cells);
    let transactions = groups.iter().map(|group| {
        let length = group.setup.length;
        let own_s = length.total_s() - length.warm_up_s;
        let of_cell = |&number: &usize| {
            let cell = &cells[number];
            let warm_up_s = match length.warm_state {
                None => length.warm_up_s,
                Some(_) => 0.0,
            };
            (own_s + warm_up_s) * cell.expected_tps * cell.seeds.len() as f64
        };
        let shared = length.warm_state.map_or(0.0, |_| {
            group
                .cells
                .first()
                .map_or(0.0, |&number| length.warm_up_s * cells[number].expected_tps)
        });
        group.cells.iter().map(of_cell).sum::<f64>() + shared
    });
    let transactions = transactions.sum::<f64>() * variants as f64;
    let runs: usize = cells.iter().map(|cell| cell.seeds.len()).sum();
    Ok((runs * variants, transactions))
}

#[cfg(test)]
mod tests {
    use super::super::REPORTS;
    use super::*;

    #[test]
    fn every_report_can_be_studied() {
        for report in REPORTS {
            let own = report.default_scale(Amount::Full);
            assert!(report.study_scales().contains(&own), "{}", report.name());
            let extent = |scale| Extent {
                machine: report.machines()[0],
                scale,
                amount: Amount::Full,
            };
            // What is studied at the report's own scale is what its full form has run.
            let full = report.cells(&extent(own)).unwrap();
            let studied = report.study_cells(&extent(own)).unwrap();
            assert!(!studied.is_empty());
            for cell in &studied {
                let mut same = full.iter().filter(|one| one.labels == cell.labels);
                let same = same.next().unwrap();
                assert_eq!((&same.setup, &same.changed), (&cell.setup, &cell.changed));
                assert_eq!(cell.seeds, [1]);
            }
            let finished = super::super::sample::all(studied, |_, _| ());
            let answers = report.answers(&finished);
            assert!(!answers.is_empty());
            let none = Finished {
                cells: finished
                    .cells
                    .into_iter()
                    .map(|cell| FinishedCell {
                        runs: Vec::new(),
                        ..cell
                    })
                    .collect(),
            };
            let without = report.answers(&none);
            assert_eq!(without.len(), answers.len());
            assert!(without.iter().all(|answer| answer.figure.is_none()));
            assert!(!report.leaves_out().is_empty());
            let (runs, transactions) = amount(report, None).unwrap();
            assert!(runs > 0 && transactions > 1e4, "{runs} {transactions}");
        }
    }

    #[test]
    fn a_disk_has_three_other_arbitrations() {
        let names: Vec<String> = arbitrations("nvme-24core")
            .unwrap()
            .into_iter()
            .map(|variant| variant.name)
            .collect();
        assert_eq!(
            names,
            [
                "nvme: round_robin, reads and programs as they come",
                "nvme: round_robin, reads before programs",
                "nvme: fifo, reads before programs",
            ]
        );
        assert!(arbitrations("array-16-spindles").unwrap().is_empty());
    }
}
