//! The report *doublewrite-pages*: `innodb_doublewrite_pages` 128 against 16, at 16 and 64
//! threads, with hand-tuned settings and with `innodb_dedicated_server` (MySQL 8.4.0).
//!
//! ```text
//!   128 pages   |========2 MiB========|          one batch a doublewrite instance, then
//!    16 pages   |=256k=|=256k=|=256k=| …         its pages; a redo write that comes behind
//!                      ^ redo                    a batch waits for less
//! ```
//!
//! Who waits behind whom in the disk decides the effect; so the controls move the redo log
//! to a disk of its own, and the doublewrite files to one that takes no time. Page latches
//! that are held during a flush make an effect too, which at a reduced scale is larger than
//! it is on the server: a run with `innosim_flush_latch=after_copy` shows how much of it is
//! that.

mod findings;
mod published;

use std::num::NonZeroU32;

use serde_json::{Map, Value};

use self::published::Published;
use super::finished::Finished;
use super::machines::MachineChange;
use super::report::{
    Amount, Cell, Extent, Findings, FittedConstant, Length, OptionFile, Report, Setup, WarmState,
    labels,
};
use crate::report::json::Answer;
use crate::run::RunArguments;

/// Seeds of a published comparison.
const SEEDS: u64 = 3;

/// Statements of a transaction of oltp_write_only: two updates, a delete, an insert, and
/// BEGIN and COMMIT.
pub const QUERIES: f64 = 6.0;

/// The settings of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Config {
    /// By hand.
    Tuned,
    /// By `innodb_dedicated_server`.
    Dedicated,
}

impl Config {
    /// Both.
    pub const ALL: [Config; 2] = [Config::Tuned, Config::Dedicated];

    /// The word in the published table.
    pub const fn name(self) -> &'static str {
        match self {
            Config::Tuned => "tuned",
            Config::Dedicated => "dedicated",
        }
    }

    /// `innodb_lru_scan_depth` on the server: as set, or 8.4's default.
    const fn scan_depth(self) -> u32 {
        match self {
            Config::Tuned => 20_000,
            Config::Dedicated => 1_024,
        }
    }

    const fn option_file(self) -> OptionFile {
        match self {
            Config::Tuned => OptionFile {
                name: "doublewrite-pages-tuned.cnf",
                text: include_str!("../../../data/seeds/doublewrite-pages-tuned.cnf"),
            },
            Config::Dedicated => OptionFile {
                name: "doublewrite-pages-dedicated.cnf",
                text: include_str!("../../../data/seeds/doublewrite-pages-dedicated.cnf"),
            },
        }
    }
}

/// The published numbers of threads.
pub const THREADS: [u32; 2] = [16, 64];

/// The published batch sizes: the default of 8.4.0, and what the report proposes.
pub const PAGES: [u32; 2] = [128, 16];

/// How a control differs from the published cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Not at all.
    AsPublished,
    /// A page's latch is released when the page is copied, not when it is written.
    AfterCopy,
    /// The machine is another.
    Machine(MachineChange),
    /// `innodb_lru_scan_depth`: half and twice the report's 20,000.
    ScanDepth(u32),
}

/// `innodb_lru_scan_depth`, halved and doubled.
pub const SCAN_DEPTHS: [u32; 2] = [10_000, 40_000];

/// Frames that an instance evicts in two seconds at the published 5,915 transactions a
/// second (tuned, 64 threads, 128 pages): 2.5 page reads a transaction, which uniform keys
/// in a pool of a fifth of the data need, over eight instances.
const EVICTED_IN_TWO_SECONDS: u32 = 3_700;

/// The machines of the controls.
pub const MACHINE_CHANGES: [MachineChange; 2] = [
    MachineChange::DoublewriteForNothing,
    MachineChange::RedoApart,
];

/// What identifies a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    config: Config,
    threads: u32,
    pages: u32,
    variant: Variant,
}

impl Key {
    fn labels(&self) -> Map<String, Value> {
        let mut labels = labels([
            ("config", self.config.name().into()),
            ("threads", self.threads.into()),
            ("innodb_doublewrite_pages", self.pages.into()),
        ]);
        let more: Option<(&str, Value)> = match self.variant {
            Variant::AsPublished => None,
            Variant::AfterCopy => Some(("innosim_flush_latch", "after_copy".into())),
            Variant::Machine(change) => Some(("disks", change.name().into())),
            Variant::ScanDepth(depth) => Some(("innodb_lru_scan_depth", depth.into())),
        };
        labels.extend(more.map(|(name, value)| (name.to_owned(), value)));
        labels
    }

    /// The `innodb_lru_scan_depth` to set, before it is divided by the scale. Of the server's
    /// own depth so much is left that it covers two seconds of evictions, or all of it where
    /// that is less: a cleaner's round is still one a second in a smaller pool. A control's
    /// depth is in proportion.
    fn scan_depth(&self, scale: NonZeroU32) -> u32 {
        let server = self.config.scan_depth();
        let left = (server / scale).max(EVICTED_IN_TWO_SECONDS.min(server)) * scale.get();
        match self.variant {
            Variant::ScanDepth(depth) => {
                (u64::from(left) * u64::from(depth) / u64::from(server)) as u32
            }
            _ => left,
        }
    }

    /// System variables that may be changed once the database is warm.
    fn changed(&self, scale: NonZeroU32) -> Vec<String> {
        let mut changed = vec![format!("innodb_doublewrite_pages={}", self.pages)];
        match self.variant {
            Variant::AsPublished | Variant::Machine(_) => {}
            Variant::AfterCopy => changed.push("innosim_flush_latch=after_copy".into()),
            Variant::ScanDepth(_) => {
                changed.push(format!("innodb_lru_scan_depth={}", self.scan_depth(scale)));
            }
        }
        changed
    }

    fn cell(&self, extent: &Extent<'_>, published: &Published, seeds: u64) -> Cell {
        let plain = Key {
            variant: Variant::AsPublished,
            ..*self
        };
        let depth = plain.scan_depth(extent.scale);
        let arguments = RunArguments {
            set: vec![format!("innodb_lru_scan_depth={depth}")],
            flavor: Some("mysql-8.4".into()),
            workload: Some("oltp_write_only".into()),
            rand_type: Some("uniform".into()),
            tables: Some("8".into()),
            table_size: Some("140000000".into()),
            threads: Some(self.threads.to_string()),
            ..RunArguments::default()
        };
        let figures = published.figures(self.config, self.threads, self.pages);
        Cell {
            labels: self.labels(),
            figures: match self.variant {
                Variant::AsPublished | Variant::AfterCopy => vec![
                    ("qps", Some(figures.qps)),
                    ("latency_ms.avg", Some(figures.latency_avg_ms)),
                ],
                // Machines and settings that the report did not have.
                Variant::Machine(_) | Variant::ScanDepth(_) => vec![("qps", None)],
            },
            fitted: matches!(self.variant, Variant::AsPublished | Variant::AfterCopy)
                && FITTED.contains(&(self.config, self.threads, self.pages)),
            setup: Setup {
                arguments,
                option_file: Some(self.config.option_file()),
                machine: extent.machine.into(),
                change: match self.variant {
                    Variant::Machine(change) => change,
                    _ => MachineChange::None,
                },
                adjustments: Vec::new(),
                length: match extent.amount {
                    Amount::Full => FULL,
                    Amount::Quick => QUICK,
                },
            },
            changed: self.changed(extent.scale),
            seeds: (1..=seeds).collect(),
            expected_tps: figures.qps / QUERIES,
        }
    }
}

/// The cells that a constant of the model was fitted to.
const FITTED: &[(Config, u32, u32)] = &[];

/// A minute, once flushing is steady.
const FULL: Length = Length {
    warm_up_s: 90.0,
    measure_s: 60.0,
    warm_state: Some(WarmState {
        settle_s: 10.0,
        until_steady: true,
    }),
};

/// Enough to fill a pool of 1 GiB, and to see batches.
const QUICK: Length = Length {
    warm_up_s: 20.0,
    measure_s: 20.0,
    warm_state: Some(WarmState {
        settle_s: 5.0,
        until_steady: false,
    }),
};

/// The threads of quick mode, which runs the tuned settings alone.
const QUICK_THREADS: u32 = 16;

/// What the model of this report is without.
const LEAVES_OUT: &[&str] = &[
    "The binary log: the report's settings name none, and a default server writes one.",
    "The file system between server and drive: no extents, no journal, no page cache.",
    "Garbage collection inside the drive as events of its own: it is a part of the mean time \
     of a program.",
    "The network, and a client with CPUs of its own: what a statement costs outside the engine \
     is charged to the server's CPUs.",
];

/// The published pair on which machines and scan depths are tried: the largest effect.
pub const CONTROLLED: (Config, u32) = (Config::Tuned, 64);

/// The report.
#[derive(Debug, Clone, Copy)]
pub struct DoublewritePages;

impl DoublewritePages {
    /// Everything that is run, and for how many seeds.
    fn keys(extent: &Extent<'_>) -> Vec<(Key, u64)> {
        let mut keys = Vec::new();
        let mut pair = |config, threads, variant, seeds| {
            keys.extend(PAGES.map(|pages| {
                let key = Key {
                    config,
                    threads,
                    pages,
                    variant,
                };
                (key, seeds)
            }));
        };
        if !extent.is_full() {
            for variant in [Variant::AsPublished, Variant::AfterCopy] {
                pair(Config::Tuned, QUICK_THREADS, variant, 1);
            }
            return keys;
        }
        // A page's latch that is held while the page is written distorts all pairs at this
        // scale but perhaps the one with the largest effect, so one seed of those shows how
        // much. What is compared needs three.
        for config in Config::ALL {
            for threads in THREADS {
                if !is_compared(extent) {
                    pair(config, threads, Variant::AfterCopy, 1);
                    continue;
                }
                let seeds = match (config, threads) == CONTROLLED {
                    true => SEEDS,
                    false => 1,
                };
                pair(config, threads, Variant::AsPublished, seeds);
                pair(config, threads, Variant::AfterCopy, SEEDS);
            }
        }
        // The device is the same in all readings of the machine: once is enough.
        if is_compared(extent) {
            let (config, threads) = CONTROLLED;
            let machines = MACHINE_CHANGES.map(Variant::Machine);
            let depths = SCAN_DEPTHS.map(Variant::ScanDepth);
            for variant in machines.into_iter().chain(depths) {
                pair(config, threads, variant, 1);
            }
        }
        keys
    }
}

/// Whether this is the reading of the machine that is compared with the report. The others
/// show what depends on the reading: one seed, told either way.
fn is_compared(extent: &Extent<'_>) -> bool {
    extent.machine == DoublewritePages.machines()[0]
}

impl Report for DoublewritePages {
    fn name(&self) -> &'static str {
        "doublewrite-pages"
    }

    fn machines(&self) -> &'static [&'static str] {
        &["nvme-24core", "nvme-48core"]
    }

    fn default_scale(&self, amount: Amount) -> NonZeroU32 {
        let scale = match amount {
            Amount::Full => 16,
            Amount::Quick => 64,
        };
        NonZeroU32::new(scale).unwrap_or(NonZeroU32::MIN)
    }

    fn assumptions(&self, extent: &Extent<'_>) -> Vec<String> {
        let mut all = vec![
            format!(
                "The report names the processor, and not how many there are: {} is one reading of \
                 {}.",
                extent.machine,
                self.machines().join(" and ")
            ),
            "It does not name the drive: the profile's is one of its class.".to_owned(),
            format!(
                "innodb_lru_scan_depth is divided by the scale, but keeps at least {EVICTED_IN_TWO_SECONDS} \
                 pages, two seconds of an instance's evictions, or at the server's own depth \
                 where that is less."
            ),
            "Keys are uniform: 4.06 and 3.87 pages written a transaction fit nothing else."
                .to_owned(),
        ];
        if !is_compared(extent) {
            all.push(
                "This reading shows what depends on the number of processors: one seed, with \
                 innosim_flush_latch=after_copy, and everything is told either way. The other one \
                 is compared with the report."
                    .to_owned(),
            );
        }
        all.push(match extent.amount {
            Amount::Full => {
                "The file summaries were published over both runs, of 16 and of 64 threads, and \
                 three minutes of rest; here over both runs, with what is dirty between them \
                 for the rest. Three seeds: with innosim_flush_latch=after_copy, which is compared \
                 where pages under flush are waited for as on no server, and as published where \
                 the published effect is largest; one seed: the other cells as published, and \
                 machines and scan depths of the controls. The runs of a group share one warm-up, \
                 so that seeds differ from there on only."
                    .to_owned()
            }
            Amount::Quick => format!(
                "Of the published cells those with tuned settings and {QUICK_THREADS} threads. At \
                 scale {} pages under flush are waited for as on no server, and {:.0} s of warm-up \
                 are not enough for a steady state.",
                extent.scale, QUICK.warm_up_s
            ),
        });
        all
    }

    fn cells(&self, extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>> {
        let published = Published::read()?;
        let keys = Self::keys(extent).into_iter();
        Ok(keys
            .map(|(key, seeds)| key.cell(extent, &published, seeds))
            .collect())
    }

    fn constants(&self) -> Vec<FittedConstant> {
        let of = |machine| FittedConstant {
            machine,
            key: "disks.nvme.program.mean_us",
            // To the summary of the doublewrite files, which is of two cells together.
            cells: Vec::new(),
        };
        self.machines().iter().copied().map(of).collect()
    }

    fn study_cells(&self, extent: &Extent<'_>) -> anyhow::Result<Vec<Cell>> {
        let published = Published::read()?;
        let (config, threads) = CONTROLLED;
        let variants = [Variant::AsPublished, Variant::AfterCopy].into_iter();
        let keys = variants.flat_map(|variant| {
            PAGES.map(|pages| Key {
                config,
                threads,
                pages,
                variant,
            })
        });
        Ok(keys.map(|key| key.cell(extent, &published, 1)).collect())
    }

    fn study_scales(&self) -> Vec<NonZeroU32> {
        [64, 32, 16, 8]
            .into_iter()
            .filter_map(NonZeroU32::new)
            .collect()
    }

    fn answers(&self, finished: &Finished) -> Vec<Answer> {
        match Published::read() {
            Ok(published) => findings::answers(finished, &published),
            Err(_) => Vec::new(),
        }
    }

    fn leaves_out(&self) -> &'static [&'static str] {
        LEAVES_OUT
    }

    fn findings(&self, finished: &Finished, extent: &Extent<'_>) -> Findings {
        match Published::read() {
            Ok(published) => findings::findings(finished, &published, extent),
            Err(error) => Findings {
                warnings: vec![error.to_string()],
                ..Findings::default()
            },
        }
    }
}

#[cfg(test)]
mod tests;
