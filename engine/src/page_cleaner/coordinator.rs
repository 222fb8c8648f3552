//! The coordinator: when a round is made, and of which kind.
//!
//! ```text
//!   wait for the second to be over, or to be woken
//!     redo is short                      sync round:  LRU and LIST, again at once
//!     the server is at work, timer       LRU and LIST, as many as the policy says
//!     the server is at work, woken       LRU only
//!     it is idle, timer                  LIST, innodb_idle_flush_pct of io_capacity
//!     it is idle, woken                  nothing: who needs a frame writes a page itself
//! ```
//!
//! "At work" is what `innodb_activity_count` says: it grew since the last timed round.
//!
//! Two things are different from InnoDB. A sync round that could send off nothing waits for
//! the writes that are in flight, where InnoDB tries again at once. And while writes fail,
//! sync rounds come once a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use super::figures::{CleanerFigures, RoundKind, RoundReport};
use super::policies::{self, UnknownPolicy};
use super::policy::{DirtyAges, FlushPlan, FlushPolicy, FlushSnapshot};
use super::redo_state::RedoState;
use super::settings::CleanerSettings;
use super::slots::{Done, SlotTimes, Slots, milliseconds};
use crate::buffer_pool::{BufferPool, FlushKind, LruBatch};
use crate::metrics::{Counter, Gauge, Metrics, Set, Timing};
use crate::page::Lsn;
use crate::runtime::time::{MILLISECOND, NEVER, SECOND, Time};
use crate::runtime::{
    Cost, Event, JoinHandle, LatchClass, Mutex, Replaceable, WaitKind, cpu, now, spawn,
};

/// A round that begins so much too late is counted (InnoDB warns).
const LATE: Time = 3 * SECOND;

/// How long a sync round that found nothing to send off waits, if nothing is in flight
/// either: pages are latched, or are just becoming dirty.
const SYNC_PAUSE: Time = 10 * MILLISECOND;

/// The page cleaner; see the module's opening.
pub struct PageCleaner {
    pool: Arc<BufferPool>,
    redo: Arc<dyn RedoState>,
    metrics: Arc<Metrics>,
    settings: Replaceable<CleanerSettings>,
    /// Cleaners at work, the coordinator included.
    cleaners: usize,
    slots: Mutex<Slots>,
    requested: Event,
    finished: Event,
    /// Set after every round.
    tick: Event,
    stopped: Event,
    is_stopping: AtomicBool,
    /// LSN that somebody wants the oldest modification to pass; 0: nobody does.
    wanted_lsn: AtomicU64,
    coordinator: Mutex<Coordinator>,
    figures: Mutex<CleanerFigures>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// What only the coordinator knows.
struct Coordinator {
    policy: Box<dyn FlushPolicy>,
    /// `innodb_activity_count` at the last timed round of an active server.
    last_activity: u64,
    /// Of that round.
    last_list_pages: u64,
    last_lru_pages: u64,
    /// Rounds made by [`PageCleaner::step`].
    steps: u64,
    /// Rounds of this averaging window, and their time.
    passes: u64,
    time: Time,
}

impl DirtyAges for BufferPool {
    fn pages_up_to(&self, instance: usize, lsn: Lsn, limit: usize) -> usize {
        self.list_ages(instance, lsn, limit)
    }
}

impl PageCleaner {
    /// A cleaner for a pool, at rest.
    ///
    /// # Errors
    /// If there is no policy of the name that the settings have.
    pub fn new(
        pool: Arc<BufferPool>,
        redo: Arc<dyn RedoState>,
        settings: CleanerSettings,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<Self>, UnknownPolicy> {
        let policy = policies::by_name(&settings.policy_name, settings.policy)?;
        Ok(PageCleaner::with_policy(
            pool, redo, settings, metrics, policy,
        ))
    }

    /// A cleaner with a policy that is not one of the built-in ones.
    pub fn with_policy(
        pool: Arc<BufferPool>,
        redo: Arc<dyn RedoState>,
        settings: CleanerSettings,
        metrics: Arc<Metrics>,
        policy: Box<dyn FlushPolicy>,
    ) -> Arc<Self> {
        let instances = pool.instance_count();
        let coordinator = Coordinator {
            policy,
            last_activity: metrics.total(Counter::ActivityCount),
            last_list_pages: 0,
            last_lru_pages: 0,
            steps: 0,
            passes: 0,
            time: 0,
        };
        Arc::new(PageCleaner {
            cleaners: settings.cleaners.clamp(1, instances),
            slots: Mutex::new(LatchClass::PageCleaner, Slots::new(instances)),
            requested: Event::new(),
            finished: Event::new(),
            tick: Event::new(),
            stopped: Event::new(),
            is_stopping: AtomicBool::new(false),
            wanted_lsn: AtomicU64::new(0),
            coordinator: Mutex::new(LatchClass::Plain, coordinator),
            figures: Mutex::new(LatchClass::Plain, CleanerFigures::default()),
            tasks: Mutex::new(LatchClass::Plain, Vec::new()),
            pool,
            redo,
            metrics,
            settings: Replaceable::new(settings),
        })
    }

    /// Starts the tasks: the coordinator and the workers.
    pub fn start(self: &Arc<Self>) {
        let mut tasks = self.tasks.lock();
        if !tasks.is_empty() {
            return;
        }
        self.is_stopping.store(false, Release);
        let coordinator = self.clone();
        tasks.push(spawn("page_flush_coordinator_thread", move || {
            coordinator.coordinate();
        }));
        for _ in 1..self.cleaners {
            let worker = self.clone();
            tasks.push(spawn("page_flush_thread", move || worker.work()));
        }
    }

    /// Ends the tasks, after the round that they are in. Dirty pages stay: a clean
    /// shutdown goes on with [`BufferPool::flush_all`].
    pub fn stop(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock());
        if tasks.is_empty() {
            return;
        }
        self.is_stopping.store(true, Release);
        self.stopped.set();
        self.pool.cleaner_wanted().set();
        self.requested.set();
        for task in tasks {
            task.join();
        }
        self.stopped.reset();
    }

    /// One timed round in the calling task, as if a second had passed since the last:
    /// for the stepped mode, in which there are no tasks. The result depends on nothing
    /// but what was done before.
    pub fn step(&self) -> RoundReport {
        let mut coordinator = self.coordinator.lock();
        coordinator.steps += 1;
        let second = coordinator.steps * SECOND;
        self.round(&mut coordinator, true, second)
    }

    /// Asks for the oldest modification to pass an LSN as soon as possible: by the
    /// checkpointer, when redo runs short. Does nothing with `innodb_flush_sync=OFF`.
    pub fn request_sync_flush(&self, lsn: Lsn) {
        if self.settings().flush_sync && self.wanted_lsn.fetch_max(lsn, AcqRel) < lsn {
            self.pool.cleaner_wanted().set();
        }
    }

    /// Set after every round: `buf_flush_tick_event`. Whoever waits for a round resets it.
    pub fn tick(&self) -> &Event {
        &self.tick
    }

    /// What was done so far.
    pub fn figures(&self) -> CleanerFigures {
        *self.figures.lock()
    }

    /// The settings.
    pub fn settings(&self) -> &CleanerSettings {
        self.settings.get()
    }

    /// Obeys other values of the variables that can change while the engine runs, from the
    /// next round on. How many tasks there are, which policy it is, and when it may be
    /// woken stays as it was.
    pub fn change(&self, settings: CleanerSettings) {
        // A round ends as it has begun.
        let mut coordinator = self.coordinator.lock();
        coordinator.policy.change(settings.policy);
        let present = self.settings();
        self.settings.replace(CleanerSettings {
            policy_name: present.policy_name.clone(),
            cleaners: present.cleaners,
            wakes_early: present.wakes_early,
            ..settings
        });
    }

    // ---- tasks ----------------------------------------------------------------

    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Acquire)
    }

    fn coordinate(&self) {
        let wanted = self.pool.cleaner_wanted();
        let mut signals = wanted.reset();
        let mut next = now() + SECOND;
        let mut last = RoundReport::default();
        loop {
            let is_timed = match self.may_sleep(&last) {
                true => self.wait_until(next, signals),
                false => now() >= next,
            };
            if self.is_stopping() {
                return;
            }
            signals = wanted.reset();
            if is_timed {
                let time = now();
                if time > next + LATE {
                    self.figures.lock().late_rounds += 1;
                }
                next = time + SECOND;
            }
            let failures = self.failed_writes();
            last = self.round(&mut self.coordinator.lock(), is_timed, now());
            if last.kind == RoundKind::Sync {
                if self.failed_writes() > failures {
                    self.wait_until(next, signals);
                } else if last.flushed() == 0 {
                    self.wait_for_writes(signals);
                }
            }
        }
    }

    /// Whether the coordinator sleeps until the second is over: not when redo is short,
    /// and not when an idle server had something to flush.
    fn may_sleep(&self, last: &RoundReport) -> bool {
        if self.sync_target().is_some() {
            return false;
        }
        let instances = 0..self.pool.instance_count();
        last.flushed() == 0
            || self.is_active(&self.coordinator.lock())
            || instances
                .into_iter()
                .any(|i| self.pool.pending_reads(i) > 0)
    }

    /// Waits until a time, or until somebody wakes the coordinator; true if the time is
    /// over.
    fn wait_until(&self, next: Time, signals: crate::runtime::SignalCount) -> bool {
        let left = next.saturating_sub(now());
        if left == 0 {
            return true;
        }
        if self.settings().wakes_early {
            return !self
                .pool
                .cleaner_wanted()
                .wait(signals, left, WaitKind::Other);
        }
        let signals = self.stopped.reset();
        if self.is_stopping() {
            return false;
        }
        !self.stopped.wait(signals, left, WaitKind::Other)
    }

    /// After a sync round without a page: waits for the flush-list writes in flight.
    fn wait_for_writes(&self, signals: crate::runtime::SignalCount) {
        let start = now();
        for instance in 0..self.pool.instance_count() {
            self.pool.wait_for_flush(instance, FlushKind::List);
        }
        if now() == start {
            let wanted = self.pool.cleaner_wanted();
            wanted.wait(signals, SYNC_PAUSE, WaitKind::Other);
        }
    }

    fn failed_writes(&self) -> u64 {
        let instances = 0..self.pool.instance_count();
        instances
            .map(|instance| self.pool.statistics(instance).failed_writes)
            .sum()
    }

    fn work(&self) {
        loop {
            let signals = self.requested.reset();
            if self.is_stopping() {
                // For the others, who may not have looked yet.
                self.requested.set();
                return;
            }
            if !self.flush_slot() {
                self.requested.wait(signals, NEVER, WaitKind::Other);
            }
        }
    }

    // ---- rounds ---------------------------------------------------------------

    fn is_active(&self, coordinator: &Coordinator) -> bool {
        self.metrics.total(Counter::ActivityCount) != coordinator.last_activity
    }

    /// The LSN that the oldest modification has to pass, if redo is short.
    fn sync_target(&self) -> Option<Lsn> {
        if !self.settings().flush_sync {
            return None;
        }
        let oldest = self.pool.oldest_modification_lsn();
        let Some(oldest) = oldest else {
            self.wanted_lsn.store(0, Release);
            return None;
        };
        let wanted = self.wanted_lsn.load(Acquire);
        if wanted != 0 && oldest >= wanted {
            // A larger wish that came meanwhile stays.
            let _ = self.wanted_lsn.compare_exchange(wanted, 0, AcqRel, Relaxed);
        }
        let age = self.redo.current_lsn().saturating_sub(oldest);
        let excess = age.saturating_sub(self.redo.ages().sync_age);
        let target = wanted.max(oldest + excess);
        (target > oldest).then_some(target)
    }

    fn round(&self, coordinator: &mut Coordinator, is_timed: bool, time: Time) -> RoundReport {
        let mut round = RoundReport::default();
        let target = self.sync_target();
        let start = now();
        if target.is_some() {
            round.kind = RoundKind::Sync;
            let plan = self.plan(coordinator, target, time);
            round.requested = plan.total;
            self.flush_slots(Some(&plan.pages), plan.lsn_limit, &mut round);
            self.end_round(coordinator, start, &mut round, &plan);
        } else if self.is_active(coordinator) {
            if is_timed {
                round.kind = RoundKind::Timed;
                coordinator.last_activity = self.metrics.total(Counter::ActivityCount);
                let plan = self.plan(coordinator, None, time);
                round.requested = plan.total;
                self.flush_slots(Some(&plan.pages), plan.lsn_limit, &mut round);
                self.end_round(coordinator, start, &mut round, &plan);
            } else {
                round.kind = RoundKind::Woken;
                self.flush_slots(None, 0, &mut round);
                self.end_round(coordinator, start, &mut round, &FlushPlan::default());
            }
        } else if is_timed {
            round.kind = RoundKind::Idle;
            self.flush_idle(&mut round);
            round.time = now() - start;
        }
        self.account(coordinator, is_timed, &round);
        round
    }

    fn plan(
        &self,
        coordinator: &mut Coordinator,
        sync_target: Option<Lsn>,
        time: Time,
    ) -> FlushPlan {
        let pool = &self.pool;
        let (mut lru_pages, mut free_frames, mut dirty_pages) = (0, 0, 0);
        for instance in 0..pool.instance_count() {
            let statistics = pool.statistics(instance);
            lru_pages += statistics.lru as u64;
            free_frames += statistics.free as u64;
            dirty_pages += statistics.dirty as u64;
        }
        // The oldest first: what is dirtied between the two is younger than the LSN.
        let oldest_modification = pool.oldest_modification_lsn();
        let plan = coordinator.policy.plan(&FlushSnapshot {
            now: time,
            lsn: self.redo.current_lsn(),
            oldest_modification,
            checkpoint_age: self.redo.checkpoint_age(),
            redo: self.redo.ages(),
            list_flushed: std::mem::take(&mut coordinator.last_list_pages),
            lru_flushed: std::mem::take(&mut coordinator.last_lru_pages),
            lru_pages,
            free_frames,
            dirty_pages,
            instances: pool.instance_count(),
            sync_target,
            dirty_ages: &**pool,
        });
        debug_assert_eq!(plan.pages.len(), pool.instance_count());
        let set = |gauge, value: u64| {
            self.metrics
                .set(gauge, value.try_into().unwrap_or(i64::MAX));
        };
        set(Gauge::FlushRequested, plan.total);
        set(Gauge::FlushByAge, plan.pages_for_lsn);
        set(Gauge::FlushPercentForDirty, plan.percent_for_dirty);
        set(Gauge::FlushPercentForLsn, plan.percent_for_lsn);
        set(Gauge::FlushAveragePageRate, plan.average_page_rate);
        set(Gauge::FlushLsnAverageRate, plan.average_lsn_rate);
        plan
    }

    /// Requests all slots, works on them, and waits for the last.
    fn flush_slots(&self, pages: Option<&[u64]>, lsn_limit: Lsn, round: &mut RoundReport) {
        {
            let mut slots = self.slots.lock();
            cpu(Cost::CleanerSlot);
            slots.request(pages, lsn_limit);
        }
        self.requested.set();
        while self.flush_slot() {}
        loop {
            let signals = self.finished.reset();
            if self.slots.lock().collect(round) {
                return;
            }
            self.finished.wait(signals, NEVER, WaitKind::Other);
        }
    }

    /// Takes a slot and does its work; false if there is none to take.
    fn flush_slot(&self) -> bool {
        let work = {
            let mut slots = self.slots.lock();
            cpu(Cost::CleanerSlot);
            slots.take()
        };
        let Some(work) = work else {
            return false;
        };
        let mut done = Done::default();
        let start = now();
        let batch = LruBatch {
            scan_depth: self.settings().lru_scan_depth,
        };
        done.lru = self.pool.flush_lru_batch(work.instance, &batch);
        let between = now();
        done.lru_time = between - start;
        if let Some(pages) = work.pages {
            let pages = pages.try_into().unwrap_or(usize::MAX);
            let flushed = self
                .pool
                .flush_list_batch(work.instance, pages, work.lsn_limit);
            done.list_pages = flushed as u64;
            done.list_time = now() - between;
        }
        let is_last = {
            let mut slots = self.slots.lock();
            cpu(Cost::CleanerSlot);
            slots.finish(&work, &done)
        };
        if is_last {
            self.finished.set();
        }
        true
    }

    /// Flushes at the rate of an idle server: the coordinator alone, no LRU batches.
    fn flush_idle(&self, round: &mut RoundReport) {
        let instances = self.pool.instance_count();
        let settings = self.settings();
        round.requested = settings.policy.percent_of_io(settings.idle_flush_pct);
        let share = round.requested.div_ceil(instances as u64);
        let share = share.try_into().unwrap_or(usize::MAX);
        for instance in 0..instances {
            let flushed = self.pool.flush_list_batch(instance, share, Lsn::MAX);
            round.list_pages += flushed as u64;
        }
    }

    /// A round with slots is over.
    fn end_round(
        &self,
        coordinator: &mut Coordinator,
        start: Time,
        round: &mut RoundReport,
        plan: &FlushPlan,
    ) {
        round.time = now() - start;
        coordinator.time += round.time;
        coordinator.passes += 1;
        if plan.is_window_over {
            let times = self.slots.lock().take_times();
            let passes = std::mem::take(&mut coordinator.passes);
            let time = std::mem::take(&mut coordinator.time);
            self.publish_averages(&times, passes, time);
        }
    }

    fn account(&self, coordinator: &mut Coordinator, is_timed: bool, round: &RoundReport) {
        if round.kind == RoundKind::Nothing {
            return;
        }
        if is_timed || round.kind == RoundKind::Sync {
            coordinator.last_list_pages += round.list_pages;
        }
        coordinator.last_lru_pages += round.lru_pages;
        let (set, pages) = match round.kind {
            RoundKind::Sync => (Set::FlushSyncPages, round.flushed()),
            RoundKind::Idle => (Set::FlushBackgroundPages, round.list_pages),
            _ => (Set::FlushAdaptivePages, round.list_pages),
        };
        if pages > 0 {
            self.metrics.shard(0).record_call(set, pages);
        }
        self.metrics.record_time(Timing::CleanerRound, round.time);
        self.figures.lock().note(round);
        self.tick.set();
    }

    /// The times of the averaging window that has ended, in milliseconds.
    fn publish_averages(&self, times: &SlotTimes, passes: u64, time: Time) {
        let (lru, list) = (milliseconds(times.lru), milliseconds(times.list));
        let (lru_passes, list_passes) = (times.lru_passes.max(1), times.list_passes.max(1));
        let passes = passes.max(1);
        let threads = self.cleaners as u64 * passes;
        let instances = self.pool.instance_count() as u64;
        let round = milliseconds(time) / passes;
        let both = (lru + list).max(1);
        let values = [
            (Gauge::FlushAverageTimeSlot, list / list_passes),
            (Gauge::LruFlushAverageTimeSlot, lru / lru_passes),
            (Gauge::FlushAverageTimeThread, list / threads),
            (Gauge::LruFlushAverageTimeThread, lru / threads),
            (Gauge::FlushAverageTimeEstimate, round * list / both),
            (Gauge::LruFlushAverageTimeEstimate, round * lru / both),
            (Gauge::FlushAverageTime, round),
            (Gauge::FlushAveragePasses, list_passes / instances),
            (Gauge::LruFlushAveragePasses, lru_passes / instances),
            (Gauge::FlushAverageRounds, passes),
        ];
        for (gauge, value) in values {
            self.metrics.set(gauge, value as i64);
        }
    }
}

impl std::fmt::Debug for PageCleaner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageCleaner")
            .field("settings", self.settings())
            .field("cleaners", &self.cleaners)
            .finish_non_exhaustive()
    }
}
