//! What the report says, and what would refute it.
//!
//! ```text
//!   effect = tps with 16 pages / tps with 128 pages - 1        by settings and threads
//! ```
//!
//! Where transactions wait for pages under flush for more than a tenth of the time that the
//! published effect saves them, the scale has made an effect of its own. What is compared
//! with the report then are the runs with `innosim_flush_latch=after_copy`, without such
//! waits; both effects are told.

use super::published::{Published, RUN_S};
use super::{
    CONTROLLED, Config, Key, MACHINE_CHANGES, PAGES, QUICK_THREADS, SCAN_DEPTHS, THREADS, Variant,
    is_compared,
};
use crate::report::json::{Answer, FileSummary, Finding, RunDocument};
use crate::reproduce::finished::{Finished, FinishedCell};
use crate::reproduce::machines::MachineChange;
use crate::reproduce::report::{Extent, Findings};
use crate::stats::paired_difference_95;

/// Most of the effect that waits for pages under flush may be.
const WAIT_SHARE_MAX: f64 = 0.1;

/// Batches that are as full as the report's: pages a write, by batch size.
const FILL: [(f64, f64); 2] = [(123.5, 125.7), (15.9, 16.0)];

pub(super) fn findings(
    finished: &Finished,
    published: &Published,
    extent: &Extent<'_>,
) -> Findings {
    let judge = Judge {
        finished,
        published,
    };
    let mut claims = judge.files();
    let pairs: Vec<(Config, u32)> = match extent.is_full() {
        false => vec![(Config::Tuned, QUICK_THREADS)],
        true => Config::ALL
            .into_iter()
            .flat_map(|config| THREADS.map(|threads| (config, threads)))
            .collect(),
    };
    if extent.is_full() {
        claims.extend(THREADS.map(|threads| judge.dedicated(threads)));
    }
    claims.push(judge.never_worse(&pairs));
    if extent.is_full() {
        claims.push(judge.larger_when_tuned());
    }
    claims.extend(pairs.iter().map(|&pair| judge.as_published(pair)));
    if extent.is_full() {
        claims.extend(Config::ALL.map(|config| judge.more_with_threads(config)));
    }
    let is_asked_for = |pair, variant| judge.pair(pair, variant).is_some();
    let mut controls = Vec::new();
    for &pair in &pairs {
        if is_asked_for(pair, Variant::AsPublished) {
            controls.push(judge.after_copy(pair));
        }
    }
    for change in MACHINE_CHANGES {
        if is_asked_for(CONTROLLED, Variant::Machine(change)) {
            controls.push(judge.other_machine(change));
        }
    }
    for depth in SCAN_DEPTHS {
        if is_asked_for(CONTROLLED, Variant::ScanDepth(depth)) {
            controls.push(judge.scan_depth(depth));
        }
    }
    let warnings = pairs.iter().filter_map(|&pair| judge.warning(pair));
    if !is_compared(extent) {
        let told = |findings: Vec<Finding>| {
            let told = findings.into_iter().map(Finding::for_information);
            told.collect::<Vec<_>>()
        };
        (claims, controls) = (told(claims), told(controls));
    }
    Findings {
        claims,
        controls,
        warnings: warnings.collect(),
    }
}

/// What a study looks at: the largest published effect, and the writes behind it.
pub(super) fn answers(finished: &Finished, published: &Published) -> Vec<Answer> {
    let judge = Judge {
        finished,
        published,
    };
    let (config, threads) = CONTROLLED;
    let name = name(CONTROLLED);
    let effect = |variant| {
        judge
            .effect(CONTROLLED, variant)
            .map(|effect| effect * 100.0)
    };
    let theirs = published.effect(config, threads) * 100.0;
    let mut answers = vec![
        Answer {
            text: format!("{name}: effect of 16 pages, %"),
            published: Some(theirs),
            figure: effect(Variant::AsPublished),
        },
        Answer {
            text: "the same with innosim_flush_latch=after_copy, %".to_owned(),
            published: Some(theirs),
            figure: effect(Variant::AfterCopy),
        },
    ];
    for pages in PAGES {
        let cell = judge.cell(key(config, threads, pages, Variant::AsPublished));
        answers.push(Answer {
            text: format!("{pages} pages: tps"),
            published: Some(published.tps(config, threads, pages)),
            figure: cell.and_then(FinishedCell::tps),
        });
        let writes = |cell: &FinishedCell| {
            let time_ms = cell.sum(|run| of_files(run, |files| files.sum_timer_write_ps)) / 1e9;
            let figure = time_ms / cell.sum(|run| of_files(run, |files| files.count_write));
            figure.is_finite().then_some(figure)
        };
        answers.push(Answer {
            text: format!("{pages} pages: mean time of a doublewrite write, ms"),
            // Published over both numbers of threads.
            published: Some(published.files(pages).write_ms),
            figure: cell.and_then(writes),
        });
    }
    answers
}

const fn key(config: Config, threads: u32, pages: u32, variant: Variant) -> Key {
    Key {
        config,
        threads,
        pages,
        variant,
    }
}

/// The summary of the doublewrite files.
fn doublewrite_files(run: &RunDocument) -> Option<&FileSummary> {
    const NAME: &str = "wait/io/file/innodb/innodb_dblwr_file";
    run.files.iter().find(|file| file.event_name == NAME)
}

fn of_files(run: &RunDocument, figure: fn(&FileSummary) -> u64) -> f64 {
    doublewrite_files(run).map_or(0.0, |files| figure(files) as f64)
}

struct Judge<'a> {
    finished: &'a Finished,
    published: &'a Published,
}

/// What a claim says of the runs that it rests on.
const fn note(variant: Variant) -> &'static str {
    match variant {
        Variant::AfterCopy => "; with innosim_flush_latch=after_copy",
        _ => "",
    }
}

impl Judge<'_> {
    fn cell(&self, key: Key) -> Option<&FinishedCell> {
        self.finished.find(&key.labels())
    }

    /// Both cells of a pair, 128 pages first.
    fn pair(
        &self,
        (config, threads): (Config, u32),
        variant: Variant,
    ) -> Option<[&FinishedCell; 2]> {
        let [large, small] = PAGES.map(|pages| self.cell(key(config, threads, pages, variant)));
        Some([large?, small?])
    }

    /// Transactions a second of the seeds that both cells of a pair have, and that are
    /// among those asked for.
    fn tps_by_seed(
        &self,
        pair: (Config, u32),
        variant: Variant,
        seeds: &[u64],
    ) -> Option<[Vec<f64>; 2]> {
        let cells = self.pair(pair, variant)?;
        let of = |cell: &FinishedCell, seed: u64| {
            let mut runs = cell.runs.iter();
            runs.find(|one| one.run.seed == seed).map(|one| one.run.tps)
        };
        let both = |&seed: &u64| Some((of(cells[0], seed)?, of(cells[1], seed)?));
        let (large, small): (Vec<f64>, Vec<f64>) = seeds.iter().filter_map(both).unzip();
        (!large.is_empty()).then_some([large, small])
    }

    fn effect_of_seeds(&self, pair: (Config, u32), variant: Variant, seeds: &[u64]) -> Option<f64> {
        let [large, small] = self.tps_by_seed(pair, variant, seeds)?;
        let ratio = small.iter().sum::<f64>() / large.iter().sum::<f64>();
        ratio.is_finite().then_some(ratio - 1.0)
    }

    fn seeds(&self, pair: (Config, u32), variant: Variant) -> Vec<u64> {
        let cells = self.pair(pair, variant);
        cells.map_or(Vec::new(), |[large, _]| large.cell.seeds.clone())
    }

    fn effect(&self, pair: (Config, u32), variant: Variant) -> Option<f64> {
        self.effect_of_seeds(pair, variant, &self.seeds(pair, variant))
    }

    /// Time that a transaction waits for pages under flush, in microseconds: the longer
    /// one of both batch sizes.
    fn wait_us(&self, pair: (Config, u32)) -> Option<f64> {
        let cells = self.pair(pair, Variant::AsPublished)?;
        let [large, small] = cells.map(|cell| cell.mean(|run| run.validity.flushed_page_wait_us));
        Some(large?.max(small?))
    }

    fn is_distorted(&self, pair: (Config, u32)) -> bool {
        let claimed = self.published.effect_us(pair.0, pair.1);
        self.wait_us(pair)
            .is_some_and(|wait| wait > WAIT_SHARE_MAX * claimed)
    }

    /// The runs of some pairs that are held against the report: as they are, or those without
    /// waits for pages under flush. The latter where such waits distort a pair, and where they
    /// have more seeds.
    fn compared(&self, pairs: &[(Config, u32)]) -> Variant {
        let is_fit = |pair: (Config, u32)| {
            let [plain, control] =
                [Variant::AsPublished, Variant::AfterCopy].map(|of| self.seeds(pair, of).len());
            plain >= control && !self.is_distorted(pair)
        };
        match pairs.iter().all(|&pair| is_fit(pair)) {
            true => Variant::AsPublished,
            false => Variant::AfterCopy,
        }
    }

    fn compared_effect(&self, pair: (Config, u32)) -> Option<f64> {
        self.effect(pair, self.compared(&[pair]))
    }

    fn warning(&self, pair: (Config, u32)) -> Option<String> {
        if !self.is_distorted(pair) {
            return None;
        }
        let (wait, claimed) = (
            self.wait_us(pair)?,
            self.published.effect_us(pair.0, pair.1),
        );
        let plain = self.effect(pair, Variant::AsPublished)? * 100.0;
        let figures = match self.effect(pair, Variant::AfterCopy) {
            Some(effect) => format!(
                "with innosim_flush_latch=after_copy it is {:+.1} %, and {plain:+.1} % as it is: \
                 the former is compared",
                effect * 100.0,
            ),
            None => format!("it is {plain:+.1} % as it is"),
        };
        Some(format!(
            "{}: transactions wait {wait:.0} us for pages under flush, {:.0} % of the {claimed:.0} \
             us that the published effect saves (at most {:.0} %); {figures}",
            name(pair),
            wait / claimed * 100.0,
            WAIT_SHARE_MAX * 100.0
        ))
    }

    // ---- claims -------------------------------------------------------------------

    /// What the doublewrite files do under tuned settings, over all numbers of threads, as
    /// it was published.
    fn files(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let variant = self.compared(&THREADS.map(|threads| (Config::Tuned, threads)));
        let note = note(variant);
        for (pages, (low, high)) in PAGES.into_iter().zip(FILL) {
            let total = |figure: fn(&RunDocument) -> f64| {
                let cell = |threads| self.cell(key(Config::Tuned, threads, pages, variant));
                let cells: Vec<_> = THREADS.into_iter().filter_map(cell).collect();
                cells.iter().map(|cell| cell.sum(figure)).sum::<f64>()
            };
            let ratio = |above: f64, below: f64| (below > 0.0).then_some(above / below);
            let writes = total(|run| of_files(run, |files| files.count_write));
            let written = total(|run| of_files(run, |files| files.bytes_written)) / 16384.0;
            let time_s = total(|run| of_files(run, |files| files.sum_timer_write_ps)) / 1e12;
            let theirs = self.published.files(pages);
            let per_transaction = ratio(written, total(|run| run.transactions as f64));
            findings.push(Finding::new(
                format!("{pages}: pages a doublewrite write, {low} to {high}{note}"),
                ratio(written, writes),
                |fill| (low..=high).contains(&fill),
            ));
            for (text, published, figure, share) in [
                (
                    "mean time of a doublewrite write, ms",
                    theirs.write_ms,
                    ratio(time_s * 1e3, writes),
                    0.3,
                ),
                (
                    "doublewrite writes in flight",
                    theirs.in_flight,
                    ratio(time_s, total(|run| run.time_s)),
                    0.25,
                ),
                (
                    "pages written a transaction",
                    theirs.pages_per_transaction,
                    per_transaction
                        .zip(self.written_in_rest(pages, variant))
                        .map(|(in_runs, in_rest)| in_runs + in_rest),
                    0.12,
                ),
            ] {
                let text = format!(
                    "{pages}: {text}, {published:.2} within {:.0} %{note}",
                    share * 100.0
                );
                findings.push(Finding::new(text, figure, |figure| {
                    (figure / published - 1.0).abs() <= share
                }));
            }
        }
        findings
    }

    /// Pages that are dirty when the first of the two published runs ends, for each
    /// transaction of the runs that there are: an idle server writes them in the three minutes
    /// of rest, which are within the published summary and not within ours.
    fn written_in_rest(&self, pages: u32, variant: Variant) -> Option<f64> {
        let cell = |threads| self.cell(key(Config::Tuned, threads, pages, variant));
        let dirty = cell(THREADS[0])?.mean(|run| {
            let dirty = run.status.get("Innodb_buffer_pool_pages_dirty");
            dirty.map_or(f64::NAN, |dirty| (dirty * run.scale as i64) as f64)
        })?;
        let tps = THREADS.into_iter().filter_map(cell);
        let tps: f64 = tps.filter_map(FinishedCell::tps).sum();
        Some(dirty / (tps * RUN_S))
    }

    /// How much faster the dedicated server is.
    fn dedicated(&self, threads: u32) -> Finding {
        let pages = PAGES[0];
        let variant = self.compared(&Config::ALL.map(|config| (config, threads)));
        let [tuned, dedicated] = Config::ALL.map(|config| {
            let key = key(config, threads, pages, variant);
            self.cell(key).and_then(FinishedCell::tps)
        });
        let [slow, fast] = Config::ALL.map(|config| self.published.tps(config, threads, pages));
        let published = fast / slow;
        Finding::new(
            format!(
                "dedicated / tuned, {threads} threads: {published:.2} within 20 %{}",
                note(variant)
            ),
            dedicated
                .zip(tuned)
                .map(|(dedicated, tuned)| dedicated / tuned),
            |ratio| (ratio / published - 1.0).abs() <= 0.2,
        )
    }

    fn never_worse(&self, pairs: &[(Config, u32)]) -> Finding {
        let effects = pairs.iter().map(|&pair| self.compared_effect(pair));
        let effects: Option<Vec<f64>> = effects.collect();
        Finding::new(
            format!(
                "16 pages are at least as good as 128: the least of {} effects",
                pairs.len()
            ),
            effects.and_then(|effects| effects.into_iter().reduce(f64::min)),
            |effect| effect >= 0.0,
        )
    }

    fn larger_when_tuned(&self) -> Finding {
        let difference = |threads| {
            let effects = Config::ALL.map(|config| self.compared_effect((config, threads)));
            let [tuned, dedicated] = effects;
            Some(tuned? - dedicated?)
        };
        let differences: Option<Vec<f64>> = THREADS.into_iter().map(difference).collect();
        Finding::new(
            "the effect is larger with tuned settings than with dedicated: the lesser difference",
            differences.and_then(|all| all.into_iter().reduce(f64::min)),
            |difference| difference > 0.0,
        )
    }

    fn as_published(&self, pair: (Config, u32)) -> Finding {
        let published = self.published.effect(pair.0, pair.1);
        let variant = self.compared(&[pair]);
        let mut text = format!(
            "{}: effect {:.1} %, within a factor of 2.5 or 5 points{}",
            name(pair),
            published * 100.0,
            note(variant)
        );
        let by_seed = self.tps_by_seed(pair, variant, &self.seeds(pair, variant));
        let interval = by_seed.and_then(|[large, small]| {
            let mean = large.iter().sum::<f64>() / large.len() as f64;
            let difference = paired_difference_95(&large, &small)?;
            Some((difference.ci95_low? / mean, difference.ci95_high? / mean))
        });
        if let Some((low, high)) = interval {
            let (low, high) = (low * 100.0, high * 100.0);
            text.push_str(&format!("; 95 % interval {low:+.1} to {high:+.1} %"));
        }
        Finding::new(text, self.effect(pair, variant), |effect| {
            let ratio = effect / published;
            (effect - published).abs() <= 0.05 || (0.4..=2.5).contains(&ratio)
        })
    }

    /// The report has it so; no model that was tried has it with both sizes.
    fn more_with_threads(&self, config: Config) -> Finding {
        let [few, many] = THREADS.map(|threads| self.compared_effect((config, threads)));
        let difference = few.zip(many).map(|(few, many)| many - few);
        let text = format!("{}: 64 threads show more than 16", config.name());
        Finding::new(text, difference, |difference| difference > 0.0).for_information()
    }

    // ---- controls -----------------------------------------------------------------

    /// A control's effect, and the effect as it is, of the seeds that both have. Nothing can
    /// be kept or removed of an effect that is not there.
    fn against_plain(&self, pair: (Config, u32), variant: Variant) -> Option<(f64, f64)> {
        let others = self.seeds(pair, Variant::AsPublished);
        let mut seeds = self.seeds(pair, variant);
        seeds.retain(|seed| others.contains(seed));
        let plain = self.effect_of_seeds(pair, Variant::AsPublished, &seeds)?;
        let control = self.effect_of_seeds(pair, variant, &seeds)?;
        (plain > 0.0).then_some((control, plain))
    }

    fn after_copy(&self, pair: (Config, u32)) -> Finding {
        let both = self.against_plain(pair, Variant::AfterCopy);
        Finding::new(
            format!(
                "{}: innosim_flush_latch=after_copy keeps 70 % of the effect",
                name(pair)
            ),
            both.map(|(control, plain)| control / plain),
            |kept| kept >= 0.7,
        )
    }

    fn other_machine(&self, change: MachineChange) -> Finding {
        let both = self.against_plain(CONTROLLED, Variant::Machine(change));
        let kept = both.map(|(control, plain)| control / plain);
        let name = name(CONTROLLED);
        match change {
            MachineChange::RedoApart => Finding::new(
                format!("{name}: redo on a disk of its own removes half of the effect or more"),
                kept,
                |kept| kept <= 0.5,
            ),
            _ => Finding::new(
                format!(
                    "{name}: doublewrite files that take no time remove the effect: a quarter is \
                     left at most, or a point"
                ),
                kept,
                |kept| {
                    let left = both.map_or(f64::INFINITY, |(control, _)| control);
                    kept.abs() <= 0.25 || left.abs() <= 0.01
                },
            ),
        }
    }

    fn scan_depth(&self, depth: u32) -> Finding {
        let both = self.against_plain(CONTROLLED, Variant::ScanDepth(depth));
        Finding::new(
            format!(
                "{}: innodb_lru_scan_depth={depth} leaves half of the effect or more",
                name(CONTROLLED)
            ),
            both.map(|(control, plain)| control / plain),
            |kept| kept >= 0.5,
        )
    }
}

fn name((config, threads): (Config, u32)) -> String {
    format!("{}, {threads} threads", config.name())
}
