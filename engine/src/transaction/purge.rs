//! Purge: removing what no reader can need any more.
//!
//! A deleted row is only marked, and an update of an indexed column leaves the old entry
//! in the index. Their undo stays, too, as long as somebody may ask for it. Purge follows
//! the history from its oldest end up to the oldest read view:
//!
//! ```text
//!   history    no 7   no 9   no 12   no 15   no 18      oldest first
//!   read by    done   done   now     |
//!   cut off    x                     low limit of the oldest view
//! ```
//!
//! A batch of so many undo pages is read by the coordinator, its records are dealt out by
//! table, and the workers remove what they point to. All of one table goes to one worker,
//! so that with a single hot table one thread does all. From time to time the history is
//! cut: the undo itself is given back.
//!
//! Source: the fact sheet's section 4.3 (`trx_purge`, `srv_purge_coordinator_thread`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};

use super::purge_fetch::{Batch, Fetch};
use super::read_view::PurgeView;
use super::rollback::ApplyError;
use super::settings::TransactionSettings;
use super::system::TransactionSystem;
use super::transactions::{TransactionError, Transactions};
use super::undo::{UndoRecord, UndoRecordKind};
use crate::metrics::Counter;
use crate::page::roll_pointer::RollPointer;
use crate::redo_log::MiniTransactionContext;
use crate::runtime::time::{MICROSECOND, MILLISECOND, NEVER};
use crate::runtime::{
    Event, JoinHandle, LatchClass, Mutex, RwLock, RwLockReadGuard, WaitKind, now, spawn,
};

/// How long the coordinator waits when there is something in the history that a view
/// still needs.
const IDLE_WAIT: u64 = 10 * MILLISECOND;

/// Removes what undo records point to: the table layer.
pub trait PurgeApplier: Send + Sync {
    /// Removes what the change of this undo record left behind: the delete-marked row, if
    /// its DB_ROLL_PTR is still `pointer`, and entries of secondary indexes that no version
    /// of the row needs that is younger. `context` is free.
    ///
    /// # Errors
    /// If a page of the table cannot be had. A table that does not exist any more is no
    /// error.
    fn purge(
        &self,
        context: &mut MiniTransactionContext,
        record: &UndoRecord<'_>,
        pointer: RollPointer,
        view: &PurgeView,
    ) -> Result<(), ApplyError>;
}

/// The state of purge.
#[derive(Debug)]
pub(super) struct Purge {
    view: RwLock<PurgeView>,
    /// Held for a batch.
    coordinator: Mutex<Coordinator>,
    batch: RwLock<Batch>,
    /// The number of the batch that workers may take from.
    published: AtomicU64,
    next_group: AtomicUsize,
    /// Groups that are not done.
    open_groups: AtomicUsize,
    work: Event,
    done: Event,
    wanted: Event,
    is_suspended: AtomicBool,
    is_stopped: AtomicBool,
    /// Records that could not be purged; their rows stay, delete-marked.
    failures: AtomicU64,
    threads: usize,
    batch_size: usize,
    truncate_frequency: u64,
}

#[derive(Debug)]
struct Coordinator {
    view: PurgeView,
    fetch: Fetch,
    context: MiniTransactionContext,
    batches: u64,
}

/// What a step of purge did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PurgeStep {
    /// Undo pages that were read.
    pub pages: usize,
    /// Undo records that were followed up.
    pub records: usize,
    /// Logs that were cut off the history.
    pub logs_removed: u64,
}

impl Purge {
    pub(super) fn new(settings: &TransactionSettings) -> Self {
        Purge {
            view: RwLock::new(LatchClass::Purge, PurgeView::default()),
            coordinator: Mutex::new(
                LatchClass::Plain,
                Coordinator {
                    view: PurgeView::default(),
                    fetch: Fetch::default(),
                    context: MiniTransactionContext::new(0),
                    batches: 0,
                },
            ),
            batch: RwLock::new(LatchClass::Plain, Batch::default()),
            published: AtomicU64::new(0),
            next_group: AtomicUsize::new(0),
            open_groups: AtomicUsize::new(0),
            work: Event::new(),
            done: Event::new(),
            wanted: Event::new(),
            is_suspended: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            failures: AtomicU64::new(0),
            threads: settings.purge_threads.max(1),
            batch_size: settings.purge_batch_size.max(1),
            truncate_frequency: settings.purge_truncate_frequency.max(1),
        }
    }

    /// Purge's view; while it is held, purge does not go on to another.
    pub(super) fn view(&self) -> RwLockReadGuard<'_, PurgeView> {
        self.view.read()
    }

    /// After a restart: how far purge had come is not known, so everything that nobody can
    /// need now counts as purged. Its undo may be gone, and its pages be others'
    /// (`trx_purge_sys_initialize`).
    pub(super) fn begin_after_restart(&self, system: &TransactionSystem) {
        let mut view = PurgeView::default();
        system.clone_oldest_view(&mut view);
        *self.view.write() = view;
    }

    /// A transaction has committed something for purge.
    pub(super) fn history_has_grown(&self) {
        if self.is_suspended.load(SeqCst) {
            self.wanted.set();
        }
    }

    /// Works off groups of the published batch until there is none left.
    fn work_off(
        &self,
        applier: &dyn PurgeApplier,
        context: &mut MiniTransactionContext,
        metrics: &crate::metrics::Metrics,
    ) {
        let batch = self.batch.read();
        // Nobody makes a new one before this batch is done.
        let view = self.view.read();
        let shard = metrics.shard(context.shard());
        loop {
            let group = self.next_group.fetch_add(1, AcqRel);
            let Some(records) = batch.group(group) else {
                return;
            };
            for entry in records {
                let purged = match UndoRecord::parse(batch.bytes(entry)) {
                    Ok(record) => {
                        shard.increment(match record.kind {
                            UndoRecordKind::DeleteMark => Counter::PurgeDeleteMarkedRecords,
                            _ => Counter::PurgeUpdatedRecords,
                        });
                        applier
                            .purge(context, &record, entry.pointer, &view)
                            .is_ok()
                    }
                    Err(_) => false,
                };
                if !purged {
                    self.failures.fetch_add(1, Relaxed);
                }
            }
            if self.open_groups.fetch_sub(1, AcqRel) == 1 {
                self.done.set();
            }
        }
    }
}

/// Purge's tasks; [`Transactions::stop_purge`] ends them.
#[derive(Debug)]
pub struct PurgeTasks(Vec<JoinHandle<()>>);

impl Transactions {
    /// One batch of purge, by the caller alone: for a server whose master thread purges, for
    /// shutdown, and for tests. Nothing is left to do when it has read no page and removed
    /// no log.
    ///
    /// # Errors
    /// If a page of undo cannot be had.
    pub fn purge_step(&self, applier: &dyn PurgeApplier) -> Result<PurgeStep, TransactionError> {
        self.purge_batch(applier, 1)
    }

    fn purge_batch(
        &self,
        applier: &dyn PurgeApplier,
        threads: usize,
    ) -> Result<PurgeStep, TransactionError> {
        let purge = self.purge_state();
        let metrics = &self.undo().pages().metrics;
        let mut guard = purge.coordinator.lock();
        let coordinator = &mut *guard;
        let shard = metrics.shard(0);
        shard.increment(Counter::PurgeInvoked);
        self.system().clone_oldest_view(&mut coordinator.view);
        purge.view.write().clone_from(&coordinator.view);
        let mut step = PurgeStep::default();
        {
            let mut batch = purge.batch.write();
            batch.clear();
            let fetched = coordinator.fetch.read(
                self.undo(),
                &mut coordinator.context,
                &coordinator.view,
                purge.batch_size,
                &mut batch,
            );
            // Also after an error: what was read is behind the position now.
            batch.deal();
            step.pages = batch.pages;
            step.records = batch.len();
            purge.next_group.store(0, Release);
            purge.open_groups.store(batch.groups(), Release);
            drop(batch);
            fetched?;
        }
        shard.add(Counter::PurgeUndoLogPages, step.pages as u64);
        if step.records > 0 {
            if threads > 1 {
                purge.published.fetch_add(1, AcqRel);
                purge.work.set();
            }
            purge.work_off(applier, &mut coordinator.context, metrics);
            // The event may also be of a batch before, whose last worker was late.
            loop {
                let count = purge.done.reset();
                if purge.open_groups.load(Acquire) == 0 {
                    break;
                }
                purge.done.wait(count, NEVER, WaitKind::Other);
            }
        }
        coordinator.batches += 1;
        let is_due = coordinator.batches.is_multiple_of(purge.truncate_frequency);
        if is_due || step.pages == 0 {
            let start = now();
            let limit = coordinator.fetch.limit();
            step.logs_removed = self.undo().cut_history(&mut coordinator.context, limit)?;
            let took = (now() - start) / MICROSECOND;
            shard.increment(Counter::PurgeTruncateHistoryCount);
            shard.add(Counter::PurgeTruncateHistoryMicroseconds, took);
        }
        Ok(step)
    }

    /// Records that purge could not follow up since the start: their rows stay where they
    /// are, marked as deleted.
    pub fn purge_failures(&self) -> u64 {
        self.purge_state().failures.load(Relaxed)
    }

    /// Starts the coordinator and the workers, as many as `innodb_purge_threads` says, the
    /// coordinator included.
    pub fn start_purge(self: &Arc<Self>, applier: Arc<dyn PurgeApplier>) -> PurgeTasks {
        let threads = self.purge_state().threads;
        let mut tasks = Vec::new();
        for number in 1..threads {
            let (this, applier) = (self.clone(), applier.clone());
            tasks.push(spawn("purge worker", move || {
                this.purge_worker(number, &*applier);
            }));
        }
        let this = self.clone();
        tasks.push(spawn("purge coordinator", move || {
            this.purge_coordinator(&*applier, threads);
        }));
        PurgeTasks(tasks)
    }

    /// Ends purge's tasks after the batch that they are at.
    pub fn stop_purge(&self, tasks: PurgeTasks) {
        let purge = self.purge_state();
        purge.is_stopped.store(true, Release);
        purge.wanted.set();
        purge.work.set();
        for task in tasks.0 {
            task.join();
        }
        purge.is_stopped.store(false, Release);
    }

    fn purge_coordinator(&self, applier: &dyn PurgeApplier, threads: usize) {
        let purge = self.purge_state();
        while !purge.is_stopped.load(Acquire) {
            let step = self.purge_batch(applier, threads);
            let has_work = step.is_ok_and(|step| step.pages > 0 || step.logs_removed > 0);
            if has_work {
                continue;
            }
            let count = purge.wanted.reset();
            // In one order with the length of the history and the look at this flag: either
            // the length is seen here, or the flag by who has made it grow.
            purge.is_suspended.store(true, SeqCst);
            if !purge.is_stopped.load(Acquire) {
                let timeout = match self.undo().history_length() {
                    0 => NEVER,
                    _ => IDLE_WAIT,
                };
                purge.wanted.wait(count, timeout, WaitKind::Other);
            }
            purge.is_suspended.store(false, SeqCst);
        }
    }

    fn purge_worker(&self, number: usize, applier: &dyn PurgeApplier) {
        let purge = self.purge_state();
        let mut context = MiniTransactionContext::new(number);
        let mut seen = purge.published.load(Acquire);
        loop {
            let count = purge.work.reset();
            let published = purge.published.load(Acquire);
            if published != seen {
                seen = published;
                purge.work_off(applier, &mut context, &self.undo().pages().metrics);
            } else if purge.is_stopped.load(Acquire) {
                return;
            } else {
                purge.work.wait(count, NEVER, WaitKind::Other);
            }
        }
    }
}
