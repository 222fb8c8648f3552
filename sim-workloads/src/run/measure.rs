//! The phases of a run over an open database: warm-up, measurement, end.
//!
//! ```text
//!   clients   ├── warm-up ──┤├──────────── measurement ────────────┤ last events
//!   counters             cleared                               read      not counted
//!   main task              ▲ |    interval    |    interval    |  ▲
//!                     snapshot                                 snapshot
//! ```
//!
//! The main task sleeps between the ends of intervals and reads counters there; clients
//! never wait for it. By time the measurement ends at its instant, whatever is under way;
//! by number of events it ends when the last of them has.
//!
//! Under the real clock the main task may get a CPU late, where clients want all of them. So
//! clients end by the clock, not by its word; an event counts by its own end; and an interval
//! is as long as it was.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use innosim_engine::metrics::MetricsSnapshot;
use innosim_engine::runtime::time::{NEVER, SECOND, Time, to_seconds};
use innosim_engine::runtime::{
    self, Event, JoinHandle, RuntimeStatistics, TaskRole, WaitKind, now, runtime_statistics,
    spawn_as,
};

use super::client::{Client, Shared};
use super::database::{Database, StatementError};
use super::gate::Gate;
use super::interval_waits::IntervalWaits;
use super::plan::{Length, RunPlan};
use super::recorder::Recorder;
use super::server_layer::ServerLayer;
use crate::report::json::Interval;
use crate::report::{IntervalLine, LatencyRecorder, QueryCounters, ThreadCounters};
use crate::workload::Script;

/// The percentile that lines and reports show, sysbench's default.
pub const PERCENTILE: u32 = 95;

/// What is driven, and for how long.
#[derive(Debug, Clone)]
pub struct Drive {
    /// What clients do.
    pub script: Script,
    /// How many clients there are.
    pub clients: u32,
    /// What statements cost outside the engine.
    pub server: ServerLayer,
    /// How long.
    pub length: Length,
    /// Length of the intervals of the series.
    pub interval: Time,
    /// Whether the client steps the database.
    pub stepped: bool,
}

impl Drive {
    /// What a plan drives. Without intermediate lines an interval is a second.
    pub fn new(plan: &RunPlan) -> Self {
        Drive {
            script: plan.script.clone(),
            clients: plan.threads,
            server: ServerLayer::new(
                &plan.machine.server,
                plan.script.info().protocol,
                plan.machine.cpu.timer_slack_us,
            ),
            length: plan.length,
            interval: plan.report_interval.unwrap_or(SECOND),
            stepped: plan.is_stepped(),
        }
    }
}

/// What a measurement gave.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// Its length.
    pub time: Time,
    /// Statements and events.
    pub counters: QueryCounters,
    /// Latencies of events.
    pub latency: LatencyRecorder,
    /// What each client did.
    pub clients: Vec<ThreadCounters>,
    /// The series.
    pub intervals: Vec<Interval>,
    /// What the engine counted.
    pub metrics: MetricsSnapshot,
    /// What the runtime counted.
    pub runtime: RuntimeStatistics,
}

/// The client tasks, and how they tell that they have ended.
struct Clients {
    tasks: Vec<JoinHandle<()>>,
    ended: Arc<Ended>,
}

#[derive(Debug)]
struct Ended {
    running: AtomicU32,
    all: Event,
    failure: Mutex<Option<StatementError>>,
}

impl Ended {
    /// Keeps the first failure; of the others' that only say that there was one, one until
    /// it comes.
    fn note(&self, failure: StatementError) {
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if let None | Some(StatementError::Aftermath(_)) = *first {
            *first = Some(failure);
        }
    }
}

impl Clients {
    fn start<D: Database>(shared: &Arc<Shared<D>>, drive: &Drive) -> Self {
        let ended = Arc::new(Ended {
            running: AtomicU32::new(drive.clients),
            all: Event::new(),
            failure: Mutex::new(None),
        });
        let start = |number| {
            let (shared, ended) = (shared.clone(), ended.clone());
            let script = drive.script.for_thread(number);
            spawn_as(TaskRole::User, &format!("client {number}"), move || {
                if let Err(failure) = Client::connect(number, shared.clone(), script).run() {
                    shared.gate.close();
                    ended.note(failure);
                    // The client may have locked what others wait for.
                    shared.database.fail();
                }
                if ended.running.fetch_sub(1, SeqCst) == 1 {
                    ended.all.set();
                }
                shared.gate.client_ended();
            })
        };
        let tasks = (0..drive.clients).map(start).collect();
        Clients { tasks, ended }
    }

    /// Waits until an instant, or until all clients have ended: true.
    fn ended_before(&self, instant: Time) -> bool {
        loop {
            let count = self.ended.all.reset();
            if self.ended.running.load(SeqCst) == 0 {
                return true;
            }
            let left = instant.saturating_sub(now());
            if left == 0 {
                return false;
            }
            let timeout = if instant == NEVER { NEVER } else { left };
            self.ended.all.wait(count, timeout, WaitKind::Other);
        }
    }

    fn join(self) -> Result<(), StatementError> {
        self.tasks.into_iter().for_each(JoinHandle::join);
        let mut failure = self
            .ended
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        failure.take().map_or(Ok(()), Err)
    }
}

/// Runs clients over a database and measures. Called by the main task of a machine;
/// `on_interval` is told each interval when it ends.
///
/// # Errors
/// If the engine cannot go on.
pub fn measure<D: Database>(
    database: &Arc<D>,
    drive: &Drive,
    on_interval: impl FnMut(&IntervalLine),
) -> Result<Measurement, StatementError> {
    let mut driving = Driving::new(database, drive.clone());
    if drive.length.warm_up > 0 {
        driving.run_for(drive.length.warm_up);
    }
    driving.measure(on_interval)
}

/// A database with clients at work, or about to be.
pub(super) struct Driving<D: Database> {
    shared: Arc<Shared<D>>,
    drive: Drive,
    /// None before they have started.
    clients: Option<Clients>,
}

impl<D: Database> Driving<D> {
    /// Clients that have not started yet.
    pub fn new(database: &Arc<D>, drive: Drive) -> Self {
        let shared = Arc::new(Shared {
            database: database.clone(),
            server: drive.server.clone(),
            gate: Gate::new(drive.length.events),
            recorder: Recorder::new(drive.clients, runtime::is_virtual()),
            stepped: drive.stepped,
        });
        Driving {
            shared,
            drive,
            clients: None,
        }
    }

    fn clients(&mut self) -> &Clients {
        self.clients
            .get_or_insert_with(|| Clients::start(&self.shared, &self.drive))
    }

    /// Lets them work for so long, and counts nothing.
    pub fn run_for(&mut self, time: Time) {
        let until = now() + time;
        self.clients().ended_before(until);
    }

    /// Waits until every client is between two events, and has no transaction open; they
    /// wait there.
    ///
    /// # Errors
    /// If the engine cannot go on.
    pub fn pause(&mut self) -> Result<(), StatementError> {
        let ended = self.clients().ended.clone();
        self.shared.gate.pause(|| ended.running.load(SeqCst));
        if ended.running.load(SeqCst) > 0 && !self.shared.gate.is_closed() {
            return Ok(());
        }
        // One of them has failed: nothing else makes them end before the measurement.
        self.shared.gate.close();
        self.shared.gate.resume();
        self.clients.take().map_or(Ok(()), Clients::join)
    }

    /// They go on, each with random streams of what is now the run's seed.
    pub fn resume_reseeded(&self) {
        self.shared.gate.reseed();
        self.shared.gate.resume();
    }

    /// Measures, and lets the clients end.
    ///
    /// # Errors
    /// If the engine cannot go on.
    pub fn measure(
        mut self,
        mut on_interval: impl FnMut(&IntervalLine),
    ) -> Result<Measurement, StatementError> {
        let shared = self.shared.clone();
        let length = self.drive.length;
        shared.database.restart_extremes();
        let metrics_before = shared.database.snapshot();
        let runtime_before = runtime_statistics();
        let start = now();
        let deadline = length.time.map_or(NEVER, |time| start.saturating_add(time));
        let is_virtual = runtime::is_virtual();
        // Under the virtual clock the main task is never late, and says itself when it ends.
        let latest = if is_virtual { NEVER } else { deadline };
        shared.recorder.begin(start, deadline);
        shared.gate.close_at(latest);
        shared.gate.count_from_now();
        self.clients();

        let drive = self.drive.clone();
        let mut series = Series::new(&shared, &drive, start);
        loop {
            let ended = self.clients().ended_before(series.next.min(deadline));
            let at = now();
            if ended && at < latest {
                break;
            }
            if at >= series.next {
                on_interval(&series.end_interval(latest));
            }
            if at >= deadline {
                break;
            }
        }
        let intervals = series.intervals;
        let time = now().min(latest) - start;
        // What clients do until they notice does not count. Under the real clock that is
        // known of each event, and what they have kept to themselves is added before.
        let at_the_end = is_virtual.then(|| shared.recorder.recorded());
        let runtime = runtime_statistics().since(&runtime_before);
        let metrics = shared.database.snapshot().since(&metrics_before);
        shared.gate.close();
        self.clients.take().map_or(Ok(()), Clients::join)?;
        let recorded = at_the_end.unwrap_or_else(|| shared.recorder.recorded());
        Ok(Measurement {
            time,
            counters: recorded.counters,
            latency: recorded.latency,
            clients: recorded.clients,
            intervals,
            metrics,
            runtime,
        })
    }
}

/// The series of intervals so far.
struct Series<'a, D> {
    shared: &'a Shared<D>,
    clients: u32,
    length: Time,
    start: Time,
    /// Where the present interval began, and what had been counted there.
    begin: Time,
    counted: QueryCounters,
    waits: IntervalWaits,
    /// Where it ends.
    next: Time,
    intervals: Vec<Interval>,
}

impl<'a, D: Database> Series<'a, D> {
    fn new(shared: &'a Shared<D>, drive: &Drive, start: Time) -> Self {
        Series {
            shared,
            clients: drive.clients,
            length: drive.interval,
            start,
            begin: start,
            counted: QueryCounters::default(),
            waits: IntervalWaits::begin(),
            next: start + drive.interval,
            intervals: Vec::new(),
        }
    }

    /// Ends the interval now; nothing counts after `latest`.
    fn end_interval(&mut self, latest: Time) -> IntervalLine {
        let counted = self.shared.recorder.counters();
        let at = now().min(latest);
        let percentiles = [50.0, f64::from(PERCENTILE), 99.0];
        let [p50, p95, p99] = self.shared.recorder.end_interval(percentiles);
        let line = IntervalLine {
            elapsed_s: to_seconds(at - self.start),
            threads: self.clients,
            counters: counted - self.counted,
            length_s: to_seconds(at - self.begin),
            latency_ms: p95,
            percentile: PERCENTILE,
            queue: None,
        };
        let levels = self.shared.database.levels();
        self.intervals.push(Interval {
            t_s: line.elapsed_s,
            tps: line.counters.transactions as f64 / line.length_s,
            qps: line.counters.queries() as f64 / line.length_s,
            latency_p95_ms: line.latency_ms,
            checkpoint_age: levels.checkpoint_age,
            dirty_pages: levels.dirty_pages,
            free_pages: levels.free_pages,
            history_list_length: levels.history_list_length,
            latency_p50_ms: p50,
            latency_p99_ms: p99,
            latch_waits_per_s: self.waits.latches(line.length_s),
            disks: self.waits.disks(),
        });
        self.counted = counted;
        self.begin = at;
        // A host that was held up skips intervals rather than report empty ones.
        while self.next <= at {
            self.next += self.length;
        }
        line
    }
}

#[cfg(test)]
mod tests;
