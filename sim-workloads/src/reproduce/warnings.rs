//! Whether the runs of a report can be trusted: the limits of their scale, the length of
//! their warm-ups, what a flavor lacks.
//!
//! Of the validity figures the wait for pages under flush is judged by the report, which
//! knows the effect that is claimed. Waits for row locks should not be more than at half
//! the scale, by one in a hundred transactions; so where there are fewer than that, no run
//! at half the scale is needed to know it.

use std::num::NonZeroU32;

use innosim_engine::sysvar::{Flavor, registry};

use super::finished::{Finished, FinishedCell};
use super::groups::needed_warm_up_s;
use crate::report::json::Validity;
use crate::run::validity::{ROUND_SHARE_MAX, SECONDS_MIN};

/// Waits for row locks a transaction that cannot be too many.
const ROW_LOCK_WAITS_MAX: f64 = 0.01;

/// What the user should know of these runs.
pub fn of(finished: &Finished, scale: NonZeroU32) -> Vec<String> {
    let mut warnings = Vec::new();
    if scale.get() > 1 {
        warnings.extend(scale_warnings(finished, scale));
    }
    for cell in &finished.cells {
        let length = cell.cell.setup.length;
        let needed = |one| needed_warm_up_s(one, length);
        let short = cell.runs.iter().filter(|one| needed(one) > one.warm_up_s);
        if let Some(one) = short.max_by(|a, b| needed(a).total_cmp(&needed(b))) {
            warnings.push(format!(
                "{}: the warm-up of {:.0} s is shorter than the {:.0} s after which flushing is \
                 steady",
                name(cell),
                one.warm_up_s,
                needed(one)
            ));
        }
    }
    warnings.extend(read_only(finished));
    let runs = finished.cells.iter().flat_map(|cell| &cell.runs);
    for warning in runs.flat_map(|one| &one.run.warnings) {
        let text = warning.strip_prefix("note: ").unwrap_or(warning);
        let about_flavor = text.starts_with("mysql-") || text.starts_with("mariadb-");
        if about_flavor && !warnings.iter().any(|known| known == text) {
            warnings.push(text.to_owned());
        }
    }
    warnings
}

/// Variables that runs changed in a warm state and that no server can change while it runs.
fn read_only(finished: &Finished) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for cell in &finished.cells {
        let Some(state) = cell.cell.setup.length.warm_state else {
            continue;
        };
        for run in cell.runs.iter().map(|one| &one.run) {
            let Ok(flavor) = run.flavor.parse::<Flavor>() else {
                continue;
            };
            let names = cell.cell.changed.iter();
            let names = names.filter_map(|changed| changed.split('=').next());
            for (definition, _) in names.filter_map(registry::find) {
                let text = format!(
                    "{} is read-only in a server: it was changed in a warm state, while clients \
                     paused, at least {} s before measuring",
                    definition.name, state.settle_s
                );
                if !definition.in_flavor(flavor).dynamic && !warnings.contains(&text) {
                    warnings.push(text);
                }
            }
        }
    }
    warnings
}

/// A validity figure, its limit, and how far it is beyond it: more than 1 is too much.
struct Limit {
    figure: fn(&Validity) -> Option<f64>,
    excess: fn(f64) -> f64,
    text: fn(f64) -> String,
}

const LIMITS: [Limit; 4] = [
    Limit {
        figure: |validity| Some(validity.round_share),
        excess: |share| share / ROUND_SHARE_MAX,
        text: |share| {
            format!(
                "a round of the page cleaner flushes up to {:.1} % of the pool (at most {:.0} %)",
                share * 100.0,
                ROUND_SHARE_MAX * 100.0
            )
        },
    },
    Limit {
        figure: |validity| validity.turnover_s,
        excess: |seconds| SECONDS_MIN / seconds,
        text: |seconds| {
            format!("the pool is replaced within {seconds:.1} s (at least {SECONDS_MIN:.0} s)")
        },
    },
    Limit {
        figure: |validity| validity.dirty_to_flush_s,
        excess: |seconds| SECONDS_MIN / seconds,
        text: |seconds| {
            format!("a changed page is flushed within {seconds:.1} s (at least {SECONDS_MIN:.0} s)")
        },
    },
    Limit {
        figure: |validity| Some(validity.row_lock_waits),
        excess: |waits| waits / ROW_LOCK_WAITS_MAX,
        text: |waits| {
            format!(
                "up to {waits:.3} waits for row locks a transaction, more than {ROW_LOCK_WAITS_MAX}: \
                 compare with a run at half the scale"
            )
        },
    },
];

fn scale_warnings(finished: &Finished, scale: NonZeroU32) -> Vec<String> {
    let cells: Vec<_> = finished
        .cells
        .iter()
        .filter_map(|cell| Some((cell, cell.validity()?)))
        .collect();
    let mut warnings = Vec::new();
    for limit in &LIMITS {
        let figures = cells
            .iter()
            .filter_map(|(cell, validity)| Some((*cell, (limit.figure)(validity)?)));
        let beyond: Vec<_> = figures
            .filter(|(_, figure)| (limit.excess)(*figure) > 1.0)
            .collect();
        let worst = beyond
            .iter()
            .max_by(|(_, a), (_, b)| (limit.excess)(*a).total_cmp(&(limit.excess)(*b)));
        if let Some((cell, figure)) = worst {
            warnings.push(format!(
                "scale {scale} distorts {} of {} cells: {}; worst: {}",
                beyond.len(),
                cells.len(),
                (limit.text)(*figure),
                name(cell)
            ));
        }
    }
    warnings
}

/// A cell in a few words.
fn name(cell: &FinishedCell) -> String {
    let labels = cell.cell.labels.iter();
    let words: Vec<String> = labels
        .map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name}={text}"),
            None => format!("{name}={value}"),
        })
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::report::WarmState;
    use super::super::sample;
    use super::*;
    use crate::report::json::RunDocument;

    fn warnings(scale: u32, change: impl Fn(&mut RunDocument)) -> Vec<String> {
        let mut cell = sample::cell(json!({"threads": 16}), &[], 2);
        cell.setup.length.warm_state = Some(WarmState {
            settle_s: 0.0,
            until_steady: true,
        });
        let finished = sample::finished(cell, |_, run| {
            run.warnings.clear();
            run.validity = Validity {
                round_share: 0.1,
                turnover_s: None,
                dirty_to_flush_s: None,
                flushed_page_wait_us: 1000.0,
                row_lock_waits: 0.01,
            };
            change(run);
        });
        let finished = Finished {
            cells: vec![finished],
        };
        of(&finished, NonZeroU32::new(scale).unwrap())
    }

    #[test]
    fn each_limit_has_its_warning() {
        assert_eq!(warnings(16, |_| ()), Vec::<String>::new());
        type Change = fn(&mut RunDocument);
        let changes: [(Change, &str); 3] = [
            (
                |run| run.validity.round_share = 0.36,
                "scale 16 distorts 1 of 1 cells: a round of the page cleaner flushes up to 36.0 \
                 % of the pool (at most 10 %); worst: threads=16",
            ),
            (
                |run| run.validity.turnover_s = Some(3.5),
                "scale 16 distorts 1 of 1 cells: the pool is replaced within 3.5 s (at least 10 \
                 s); worst: threads=16",
            ),
            (
                |run| run.validity.row_lock_waits = 0.05,
                "scale 16 distorts 1 of 1 cells: up to 0.050 waits for row locks a transaction, \
                 more than 0.01: compare with a run at half the scale; worst: threads=16",
            ),
        ];
        for (change, expected) in changes {
            assert_eq!(warnings(16, change), [expected]);
            assert_eq!(warnings(1, change), Vec::<String>::new());
        }
    }

    #[test]
    fn a_warm_up_that_was_too_short_is_told() {
        let told = warnings(1, |run| run.validity.dirty_to_flush_s = Some(15.0));
        assert_eq!(
            told,
            [
                "threads=16: the warm-up of 1 s is shorter than the 45 s after which flushing is \
              steady"
            ]
        );
    }

    #[test]
    fn what_a_flavor_lacks_is_told_once() {
        let told = warnings(1, |run| {
            run.warnings = vec![
                "note: mysql-8.4: no shards".into(),
                "a.cnf:3: back_log is not modelled".into(),
                "mysql-8.4: no shards".into(),
            ];
        });
        assert_eq!(told, ["mysql-8.4: no shards"]);
    }
}
