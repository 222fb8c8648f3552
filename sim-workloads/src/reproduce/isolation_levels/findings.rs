//! What the report says, and what would refute it.

use super::{FLAVORS, Key, LEVELS, LONG, LONG_S, QUICK_THREADS, SHORT_S};
use crate::report::json::{Answer, Finding};
use crate::reproduce::finished::{Finished, FinishedCell};
use crate::reproduce::report::{Extent, Findings};
use crate::stats::median;

/// Up to as many threads nothing is contended.
const FEW_THREADS: u32 = 32;

/// Consistent reads of a transaction: ten point selects and four ranges.
const READS: f64 = 14.0;

pub(super) fn findings(finished: &Finished, extent: &Extent<'_>) -> Findings {
    let mut claims = errors(finished);
    for flavor in FLAVORS {
        claims.extend(LEVELS.map(|level| peak(finished, flavor, level)));
    }
    // The report's own figures are 15 % and 34 %, with a tolerance in points.
    claims.push(ratio(finished, FLAVORS[0], 0.05));
    claims.push(ratio(finished, FLAVORS[1], 0.08));
    for flavor in FLAVORS {
        claims.extend(LEVELS.map(|level| views(finished, flavor, level)));
    }
    claims.extend(LEVELS.map(|level| walks(finished, level)));
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

/// What a study looks at: RC as a share of RR, and how both go from one number of threads
/// to the next.
pub(super) fn answers(finished: &Finished) -> Vec<Answer> {
    let mut answers = Vec::new();
    for flavor in FLAVORS {
        let mut answer = |text: String, above: (&str, u32), below: (&str, u32)| {
            let ratio = |figure: fn(&FinishedCell) -> Option<f64>| {
                let [above, below] = [above, below].map(|(level, threads)| {
                    let key = Key {
                        flavor,
                        level,
                        threads,
                        seconds: SHORT_S,
                    };
                    finished.find(&key.labels()).and_then(figure)
                });
                Some(above? / below?)
            };
            answers.push(Answer {
                text: format!("{flavor}: {text}"),
                published: ratio(|cell| cell.published("tps")),
                figure: ratio(FinishedCell::tps),
            });
        };
        let [repeatable, committed] = LEVELS;
        let [_, peak, all, most] = QUICK_THREADS;
        for threads in [all, most] {
            answer(
                format!("RC / RR with {threads} threads"),
                (committed, threads),
                (repeatable, threads),
            );
        }
        for (level, name) in [(repeatable, "RR"), (committed, "RC")] {
            answer(
                format!("{name}, {all} threads / {peak}"),
                (level, all),
                (level, peak),
            );
        }
    }
    for flavor in FLAVORS {
        for level in LEVELS {
            let cells = column(finished, flavor, level);
            let first = cells.first();
            answers.push(Answer {
                text: format!("{flavor} {level}: tps of one thread"),
                published: first.and_then(|cell| cell.published("tps")),
                figure: first.and_then(|cell| cell.tps()),
            });
        }
    }
    answers
}

fn threads_of(cell: &FinishedCell) -> u32 {
    let threads = cell.cell.labels["threads"].as_u64();
    threads.map_or(0, |threads| threads as u32)
}

/// Cells with published figures.
fn published(finished: &Finished) -> impl Iterator<Item = &FinishedCell> {
    let cells = finished.cells.iter();
    cells.filter(|cell| cell.published("tps").is_some())
}

/// The published cells of a column, by threads.
fn column<'a>(finished: &'a Finished, flavor: &str, level: &str) -> Vec<&'a FinishedCell> {
    let is_in = |cell: &&FinishedCell| {
        let labels = &cell.cell.labels;
        labels["flavor"] == flavor && labels["transaction_isolation"] == level
    };
    let mut cells: Vec<_> = published(finished).filter(is_in).collect();
    cells.sort_by_key(|cell| threads_of(cell));
    cells
}

/// How far cells are off: where nothing is contended, and where the mutexes decide.
fn errors(finished: &Finished) -> Vec<Finding> {
    let of = |is_in: fn(u32) -> bool| {
        let cells = published(finished).filter(|cell| is_in(threads_of(cell)));
        let errors = cells.map(|cell| Some(cell.relative_error("tps")?.abs()));
        // One that is missing leaves nothing to say about all of them.
        let mut errors: Vec<f64> = errors.collect::<Option<_>>().unwrap_or_default();
        errors.sort_by(f64::total_cmp);
        errors
    };
    let few = of(|threads| threads <= FEW_THREADS);
    let many = of(|threads| threads > FEW_THREADS);
    vec![
        Finding::new(
            format!(
                "median error of the {} cells with up to {FEW_THREADS} threads: at most 6 %",
                few.len()
            ),
            median(&few),
            |error| error <= 0.06,
        ),
        Finding::new(
            format!(
                "median error of the {} cells with more threads: at most 15 %",
                many.len()
            ),
            median(&many),
            |error| error <= 0.15,
        ),
        Finding::new(
            "largest error of those: at most 40 %",
            many.last().copied(),
            |error| error <= 0.4,
        ),
    ]
}

/// The number of threads with the most transactions, against the published one.
fn peak(finished: &Finished, flavor: &str, level: &str) -> Finding {
    let cells = column(finished, flavor, level);
    let place = |figures: Vec<Option<f64>>| {
        let figures: Vec<f64> = figures.into_iter().collect::<Option<_>>()?;
        let places = figures.iter().enumerate();
        let highest = places.max_by(|(_, a), (_, b)| a.total_cmp(b));
        Some(highest?.0)
    };
    let ours = place(cells.iter().map(|cell| cell.tps()).collect());
    let theirs = place(cells.iter().map(|cell| cell.published("tps")).collect());
    let threads = |place: Option<usize>| place.map(|place| threads_of(cells[place]));
    let text = format!(
        "{flavor} {level} peaks at {} threads, or one step beside",
        threads(theirs).unwrap_or(0)
    );
    let is_near = ours.zip(theirs).is_some_and(|(a, b)| a.abs_diff(b) <= 1);
    Finding::new(text, threads(ours).map(f64::from), |_| is_near)
}

/// RC as a share of RR with the most threads.
fn ratio(finished: &Finished, flavor: &str, points: f64) -> Finding {
    const MOST: u32 = 1024;
    let share = |figure: fn(&FinishedCell) -> Option<f64>| {
        let [repeatable, committed] = LEVELS.map(|level| {
            let key = Key {
                flavor,
                level,
                threads: MOST,
                seconds: SHORT_S,
            };
            figure(finished.find(&key.labels())?)
        });
        Some(committed? / repeatable?)
    };
    let theirs = share(|cell| cell.published("tps"));
    let text = format!(
        "{flavor}: RC makes {:.1} % of RR with {MOST} threads, within {:.0} points",
        theirs.unwrap_or(f64::NAN) * 100.0,
        points * 100.0
    );
    Finding::new(text, share(FinishedCell::tps), |ours| {
        theirs.is_some_and(|theirs| (ours - theirs).abs() <= points)
    })
}

/// A counter over all runs of a column, a transaction.
fn counted(finished: &Finished, flavor: &str, level: &str, counter: &str) -> Option<f64> {
    let cells = column(finished, flavor, level);
    let total = |figure: &dyn Fn(&crate::report::json::RunDocument) -> f64| {
        cells.iter().map(|cell| cell.sum(figure)).sum::<f64>()
    };
    let transactions = total(&|run| run.transactions as f64);
    let count = total(&|run| run.metrics.get(counter).map_or(f64::NAN, |&n| n as f64));
    let ratio = count / transactions;
    ratio.is_finite().then_some(ratio)
}

/// Read views opened: one for each read, or one for all.
fn views(finished: &Finished, flavor: &str, level: &str) -> Finding {
    let expected = if level == LEVELS[0] { 1.0 } else { READS };
    Finding::new(
        format!("{flavor} {level} opens {expected} read views a transaction, within 5 %"),
        counted(finished, flavor, level, "innosim_read_views_opened"),
        |figure| (figure / expected - 1.0).abs() <= 0.05,
    )
}

/// Walks in search of one id. The published slopes are 15.0 and 2.0 walks a transaction,
/// one more than there are views.
fn walks(finished: &Finished, level: &str) -> Finding {
    let flavor = FLAVORS[0];
    Finding::new(
        format!(
            "{flavor} {level} walks the list once a transaction for an implicit lock, within 0.3"
        ),
        counted(finished, flavor, level, "innosim_implicit_lock_walks"),
        |figure| (figure - 1.0).abs() <= 0.3,
    )
}

/// A long run against the short ones.
fn long(finished: &Finished, (flavor, level, threads): (&str, &str, u32)) -> Finding {
    let tps = |seconds| {
        let key = Key {
            flavor,
            level,
            threads,
            seconds,
        };
        finished.find(&key.labels())?.tps()
    };
    let change = tps(LONG_S).zip(tps(SHORT_S));
    Finding::new(
        format!(
            "{flavor} {level} {threads} threads: {LONG_S} s give what {SHORT_S} s do, within 5 %"
        ),
        change.map(|(long, short)| long / short - 1.0),
        |change| change.abs() <= 0.05,
    )
}
