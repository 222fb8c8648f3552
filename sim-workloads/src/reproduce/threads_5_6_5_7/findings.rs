//! What the report says.

use super::{FLAVORS, LONG, LONG_S, QUICK_THREADS, SHORT_S, labels_of, rows};
use crate::report::json::{Answer, Finding};
use crate::reproduce::finished::{Finished, FinishedCell};
use crate::reproduce::report::{Extent, Findings};
use crate::stats::median;

/// From as many threads on 5.7 is ahead.
const MANY_THREADS: u32 = 68;

/// Steps of the published threads that a peak may be beside its place.
const STEPS: usize = 2;

pub(super) fn findings(finished: &Finished, extent: &Extent<'_>) -> Findings {
    let mut claims = vec![ahead(finished)];
    claims.extend(FLAVORS.map(|flavor| peak(finished, flavor)));
    claims.push(error(finished));
    let controls = match extent.is_full() {
        true => LONG.map(|cell| long(finished, cell)).to_vec(),
        false => Vec::new(),
    };
    Findings {
        claims,
        controls,
        warnings: Vec::new(),
    }
}

/// The numbers of threads that were published.
fn steps() -> Vec<u32> {
    let rows = rows().unwrap_or_default();
    let of_first = rows
        .iter()
        .filter(|row| row.flavor().ok() == Some(FLAVORS[0]));
    of_first.map(|row| row.threads).collect()
}

fn of<'a>(finished: &'a Finished, flavor: &str, threads: u32) -> Option<&'a FinishedCell> {
    finished.find(&labels_of(flavor, threads, SHORT_S))
}

/// 5.7 over 5.6 where it has the least lead.
fn ahead(finished: &Finished) -> Finding {
    let cells = steps().into_iter().filter_map(|threads| {
        let [old, new] = FLAVORS.map(|flavor| of(finished, flavor, threads));
        (threads >= MANY_THREADS).then_some(old.zip(new)?)
    });
    let ratios = cells.map(|(old, new)| Some(new.tps()? / old.tps()?));
    let ratios: Option<Vec<f64>> = ratios.collect();
    let least = ratios.and_then(|ratios| ratios.into_iter().reduce(f64::min));
    Finding::new(
        format!("5.7 is above 5.6 with {MANY_THREADS} threads and more: the least of 5.7 / 5.6"),
        least,
        |ratio| ratio > 1.0,
    )
}

/// The number of threads with the most transactions, against the published one.
fn peak(finished: &Finished, flavor: &str) -> Finding {
    let steps = steps();
    let place = |figure: &dyn Fn(&FinishedCell) -> Option<f64>| {
        let mut highest: Option<(usize, f64)> = None;
        for (place, threads) in steps.iter().enumerate() {
            let Some(cell) = of(finished, flavor, *threads) else {
                continue;
            };
            // One that failed may have been the highest.
            let tps = figure(cell)?;
            if highest.is_none_or(|(_, most)| tps > most) {
                highest = Some((place, tps));
            }
        }
        highest.map(|(place, _)| place)
    };
    let ours = place(&FinishedCell::tps);
    let theirs = place(&|cell| cell.published("tps"));
    let threads = |place: Option<usize>| place.map(|place| steps[place]);
    let is_near = ours
        .zip(theirs)
        .is_some_and(|(ours, theirs)| ours.abs_diff(theirs) <= STEPS);
    Finding::new(
        format!(
            "{flavor} peaks at {} threads, or up to {STEPS} steps beside",
            threads(theirs).unwrap_or(0)
        ),
        threads(ours).map(f64::from),
        |_| is_near,
    )
}

/// How far cells are off that nothing was fitted to.
fn error(finished: &Finished) -> Finding {
    let predicted = |cell: &&FinishedCell| cell.published("tps").is_some() && !cell.cell.fitted;
    let cells = finished.cells.iter().filter(predicted);
    let errors = cells.map(|cell| Some(cell.relative_error("tps")?.abs()));
    let mut errors: Vec<f64> = errors.collect::<Option<_>>().unwrap_or_default();
    errors.sort_by(f64::total_cmp);
    let text = format!(
        "median error of {} predicted cells: at most 20 %",
        errors.len()
    );
    Finding::new(text, median(&errors), |error| error <= 0.2).for_information()
}

/// A long run against the short ones.
fn long(finished: &Finished, (flavor, threads): (&str, u32)) -> Finding {
    let tps = |seconds| finished.find(&labels_of(flavor, threads, seconds))?.tps();
    let change = tps(LONG_S).zip(tps(SHORT_S));
    Finding::new(
        format!("{flavor} {threads} threads: {LONG_S} s give what short runs do, within 5 %"),
        change.map(|(long, short)| long / short - 1.0),
        |change| change.abs() <= 0.05,
    )
}

/// What a study looks at.
pub(super) fn answers(finished: &Finished) -> Vec<Answer> {
    let mut answers = Vec::new();
    for flavor in FLAVORS {
        for threads in QUICK_THREADS {
            let cell = of(finished, flavor, threads);
            answers.push(Answer {
                text: format!("{flavor}: tps with {threads} threads"),
                published: cell.and_then(|cell| cell.published("tps")),
                figure: cell.and_then(FinishedCell::tps),
            });
        }
    }
    for threads in QUICK_THREADS {
        let ratio = |figure: fn(&FinishedCell) -> Option<f64>| {
            let [old, new] = FLAVORS.map(|flavor| of(finished, flavor, threads).and_then(figure));
            Some(new? / old?)
        };
        answers.push(Answer {
            text: format!("5.7 / 5.6 with {threads} threads"),
            published: ratio(|cell| cell.published("tps")),
            figure: ratio(FinishedCell::tps),
        });
    }
    answers
}
