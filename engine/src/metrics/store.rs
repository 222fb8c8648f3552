//! Where counters are bumped.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use crossbeam_utils::CachePadded;

use super::cells::{Cells, Extreme, FileQuantity, Growing, UpAndDown};
use super::file_io::{FileEvent, FileOperation};
use super::histogram::SharedHistogram;
use super::registry::{Counter, Gauge, Level, Reading, Set, WaitFamily, WaitMember};
use super::snapshot::MetricsSnapshot;
use super::timing::Timing;

/// More shards than this gain nothing: InnoDB's own counters have 64 slots.
const SHARDS_MAX: usize = 64;

/// What the engine answers when a snapshot is taken. A closure over [`Reading`] is one;
/// its `match` is complete, so that no reading can be forgotten.
///
/// It may take latches: no lock of the metrics is held while it is asked.
pub trait ValueSource {
    /// The value now.
    fn read(&self, reading: Reading) -> i64;
}

impl<F: Fn(Reading) -> i64> ValueSource for F {
    fn read(&self, reading: Reading) -> i64 {
        self(reading)
    }
}

/// All counters of one engine, shared by all its parts in an `Arc`.
///
/// No operation but [`snapshot`](Self::snapshot) allocates, and none waits.
pub struct Metrics {
    shards: Box<[CachePadded<Shard>]>,
    /// Number of shards - 1; the number is a power of two.
    mask: usize,
    gauges: [AtomicI64; Gauge::COUNT],
    timings: Box<[SharedHistogram]>,
}

/// The counters of a few tasks. Which shard a count goes to decides how fast it is, never
/// what the sum is.
#[derive(Default)]
pub struct Shard {
    cells: Cells<AtomicU64>,
}

impl Metrics {
    /// Counters at 0, in so many shards, rounded up to a power of two and at most 64.
    /// One shard is best under the virtual clock, which runs on one host thread; as many
    /// as there are hardware threads under the real one.
    pub fn new(shards: usize) -> Self {
        let shards = shards.clamp(1, SHARDS_MAX).next_power_of_two();
        Self {
            shards: (0..shards).map(|_| CachePadded::default()).collect(),
            mask: shards - 1,
            gauges: [const { AtomicI64::new(0) }; Gauge::COUNT],
            timings: Timing::ALL.iter().map(|_| SharedHistogram::new()).collect(),
        }
    }

    /// The shard for a hint: any number that tells the tasks apart that run at one time,
    /// such as a task's or an instance's. 0 will do where counting is rare.
    #[inline]
    pub fn shard(&self, hint: usize) -> &Shard {
        &self.shards[hint & self.mask]
    }

    /// Sets a gauge. Each has one owner; of two at once either may win.
    pub fn set(&self, gauge: Gauge, value: i64) {
        self.gauges[gauge as usize].store(value, Relaxed);
    }

    /// The last value of a gauge.
    pub fn gauge(&self, gauge: Gauge) -> i64 {
        self.gauges[gauge as usize].load(Relaxed)
    }

    /// Records a time, in picoseconds.
    pub fn record_time(&self, timing: Timing, picoseconds: u64) {
        self.timings[timing as usize].record(picoseconds);
    }

    /// A counter now, over all shards: for the engine's own decisions, such as whether the
    /// server is active.
    pub fn total(&self, counter: Counter) -> u64 {
        let place = Growing::counter(counter);
        self.shards
            .iter()
            .map(|shard| shard.cells.growing(place))
            .sum()
    }

    /// A level now, over all shards. With other threads at work it may be off by what they
    /// are just changing.
    pub fn level(&self, level: Level) -> i64 {
        let place = UpAndDown::level(level);
        self.shards.iter().fold(0_u64, |sum, shard| {
            sum.wrapping_add(shard.cells.level(place))
        }) as i64
    }

    /// Forgets the smallest and largest of sets and of file times: called where a
    /// measurement begins, so that they are the measurement's and not the warm-up's.
    pub fn restart_extremes(&self) {
        for shard in &self.shards {
            shard.cells.restart_extremes();
        }
    }

    /// All figures now. With other threads at work they are not of one instant.
    pub fn snapshot(&self, source: &impl ValueSource) -> MetricsSnapshot {
        let mut cells = Box::<Cells<u64>>::default();
        for shard in &self.shards {
            cells.merge(&shard.cells);
        }
        MetricsSnapshot {
            cells,
            gauges: std::array::from_fn(|gauge| self.gauges[gauge].load(Relaxed)),
            readings: std::array::from_fn(|reading| source.read(Reading::ALL[reading])),
            timings: self.timings.iter().map(SharedHistogram::snapshot).collect(),
        }
    }
}

impl Shard {
    /// Adds one.
    #[inline]
    pub fn increment(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Adds some.
    #[inline]
    pub fn add(&self, counter: Counter, amount: u64) {
        self.cells.add(Growing::counter(counter), amount);
    }

    /// Some more are there.
    #[inline]
    pub fn raise(&self, level: Level, amount: u64) {
        self.cells.raise(UpAndDown::level(level), amount);
    }

    /// Some are gone; whichever shard they were raised on.
    #[inline]
    pub fn lower(&self, level: Level, amount: u64) {
        self.cells.lower(UpAndDown::level(level), amount);
    }

    /// One call of a set, and what it added.
    pub fn record_call(&self, set: Set, amount: u64) {
        self.cells.add(Growing::set_total(set), amount);
        self.cells.add(Growing::set_calls(set), 1);
        self.cells.widen(Extreme::set(set), amount);
    }

    /// Someone came to a place where one waits, and waited for so many rounds; 0 if what
    /// was wanted was there.
    pub fn record_wait(&self, family: WaitFamily, rounds: u64) {
        if rounds == 0 {
            self.cells
                .add(Growing::wait(family, WaitMember::NoWaits), 1);
        } else {
            self.cells.add(Growing::wait(family, WaitMember::Waits), 1);
            self.cells
                .add(Growing::wait(family, WaitMember::WaitLoops), rounds);
        }
    }

    /// An operation on a file begins. Until it ends it is pending.
    pub fn file_operation_begins(&self, event: FileEvent, operation: FileOperation) {
        self.cells.raise(UpAndDown::pending(event, operation), 1);
    }

    /// An operation on a file ended after so long. A flush has no bytes.
    pub fn file_operation_ends(
        &self,
        event: FileEvent,
        operation: FileOperation,
        picoseconds: u64,
        bytes: u64,
    ) {
        let cells = &self.cells;
        cells.lower(UpAndDown::pending(event, operation), 1);
        cells.add(Growing::file(event, operation, FileQuantity::Count), 1);
        cells.add(
            Growing::file(event, operation, FileQuantity::Picoseconds),
            picoseconds,
        );
        cells.add(Growing::file(event, operation, FileQuantity::Bytes), bytes);
        cells.widen(Extreme::file(event, operation), picoseconds);
    }
}

/// The size, not thousands of numbers.
impl std::fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Metrics")
            .field("shards", &self.shards.len())
            .finish_non_exhaustive()
    }
}
