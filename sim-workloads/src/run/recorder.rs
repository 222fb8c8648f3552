//! What clients count, and who adds it up.
//!
//! ```text
//!   client 0   own counters ─┐ added up when  ┌─► an interval: what was added
//!   client 1   own counters ─┤  somebody asks ├─► the measurement, at its end
//!   client …   own counters ─┘                │
//!        │                                    │
//!        ├─► buckets of latencies, shared ────┘     atomics: nobody waits
//!        └─► a batch of latencies ─► shard 0 … n    a lock each; read at the end
//! ```
//!
//! The main task reads counters and buckets while clients are at work, and waits for none of
//! them: of a thousand clients that want a CPU it would wait for one that has none. Latencies
//! to three digits are needed at the end only. A client brings them to its shard in batches,
//! so that it rarely meets another one there.
//!
//! Under the real clock what counts is decided by an event's own end: it has to be within the
//! measurement, whenever the main task gets to see that the measurement is over. Totals are
//! read when the clients have ended, and are exact. Under the virtual clock the main task is
//! never late, and what has been recorded counts; all tasks share one host thread, one shard
//! is enough, and a batch is one latency.
//!
//! The locks are the host's own: they are held for a few additions, never while a task is
//! suspended, and cost no virtual time, so that counting does not change what is counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;
use innosim_engine::runtime::time::{NEVER, Time};

use crate::report::{
    ErrorCounters, LatencyRecorder, LogHistogram, QueryCounters, SharedLogHistogram, ThreadCounters,
};

/// Shards under the real clock: enough that clients of a large host rarely meet.
const SHARDS_MAX: u32 = 16;

/// Latencies that a client keeps to itself under the real clock.
const BATCH: usize = 256;

/// What one client has counted.
#[derive(Debug, Default)]
struct ClientCells {
    events: AtomicU64,
    execution_ns: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    others: AtomicU64,
    transactions: AtomicU64,
    deadlocks: AtomicU64,
    lock_wait_timeouts: AtomicU64,
    other_errors: AtomicU64,
    reconnects: AtomicU64,
}

impl ClientCells {
    fn add(&self, counters: &QueryCounters, latency_ns: u64) {
        let QueryCounters {
            reads,
            writes,
            others,
            transactions,
            errors,
            reconnects,
        } = *counters;
        for (cell, amount) in [
            (&self.events, 1),
            (&self.execution_ns, latency_ns),
            (&self.reads, reads),
            (&self.writes, writes),
            (&self.others, others),
            (&self.transactions, transactions),
            (&self.deadlocks, errors.deadlocks),
            (&self.lock_wait_timeouts, errors.lock_wait_timeouts),
            (&self.other_errors, errors.others),
            (&self.reconnects, reconnects),
        ] {
            // The client is the only one that adds.
            cell.store(cell.load(Relaxed) + amount, Relaxed);
        }
    }

    fn counters(&self) -> QueryCounters {
        QueryCounters {
            reads: self.reads.load(Relaxed),
            writes: self.writes.load(Relaxed),
            others: self.others.load(Relaxed),
            transactions: self.transactions.load(Relaxed),
            errors: ErrorCounters {
                deadlocks: self.deadlocks.load(Relaxed),
                lock_wait_timeouts: self.lock_wait_timeouts.load(Relaxed),
                others: self.other_errors.load(Relaxed),
            },
            reconnects: self.reconnects.load(Relaxed),
        }
    }

    /// Of a client that is not at work.
    fn clear(&self) {
        for cell in [
            &self.events,
            &self.execution_ns,
            &self.reads,
            &self.writes,
            &self.others,
            &self.transactions,
            &self.deadlocks,
            &self.lock_wait_timeouts,
            &self.other_errors,
            &self.reconnects,
        ] {
            cell.store(0, Relaxed);
        }
    }

    fn thread(&self) -> ThreadCounters {
        ThreadCounters {
            events: self.events.load(Relaxed),
            execution_ns: self.execution_ns.load(Relaxed),
        }
    }
}

#[derive(Debug, Default)]
struct Shard {
    buckets: CachePadded<SharedLogHistogram>,
    latency: Mutex<LatencyRecorder>,
}

/// The counts of all clients of a run.
#[derive(Debug)]
pub struct Recorder {
    shards: Vec<Shard>,
    clients: Vec<CachePadded<ClientCells>>,
    is_virtual: bool,
    /// Only events that end from here on count.
    from: AtomicU64,
    /// Only events that end up to here count.
    until: AtomicU64,
    /// What the buckets held at the end of the last interval. The main task's.
    interval_began: Mutex<LogHistogram>,
}

/// A client's own part of the recorder.
#[derive(Debug)]
pub struct ClientRecorder {
    client: u32,
    batch: Vec<u64>,
}

/// Everything counted.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Statements and events.
    pub counters: QueryCounters,
    /// Latencies of events.
    pub latency: LatencyRecorder,
    /// What each client did.
    pub clients: Vec<ThreadCounters>,
}

impl Recorder {
    /// Nothing counted yet, for so many clients. Under the real clock nothing counts before
    /// [`begin`](Self::begin).
    pub fn new(clients: u32, is_virtual: bool) -> Self {
        let shards = if is_virtual {
            1
        } else {
            clients.min(SHARDS_MAX)
        };
        Recorder {
            shards: (0..shards).map(|_| Shard::default()).collect(),
            clients: (0..clients).map(|_| CachePadded::default()).collect(),
            is_virtual,
            from: AtomicU64::new(if is_virtual { 0 } else { NEVER }),
            until: AtomicU64::new(NEVER),
            interval_began: Mutex::default(),
        }
    }

    /// The part of a client.
    pub fn of_client(&self, client: u32) -> ClientRecorder {
        let batch = if self.is_virtual { 1 } else { BATCH };
        ClientRecorder {
            client,
            batch: Vec::with_capacity(batch),
        }
    }

    /// The measurement begins: what was counted before is forgotten. Under the real clock it
    /// ends by itself, for events that end after `deadline`.
    pub fn begin(&self, start: Time, deadline: Time) {
        if !self.is_virtual {
            self.until.store(deadline, SeqCst);
            self.from.store(start, SeqCst);
            return;
        }
        for shard in &self.shards {
            lock(&shard.latency).clear();
            shard.buckets.clear();
        }
        *lock(&self.interval_began) = LogHistogram::default();
        for client in &self.clients {
            client.clear();
        }
    }

    /// Statements and events since the measurement began. Waits for nobody.
    pub fn counters(&self) -> QueryCounters {
        let sum = |sum, client: &CachePadded<ClientCells>| sum + client.counters();
        self.clients.iter().fold(QueryCounters::default(), sum)
    }

    /// Ends an interval: these percentiles of its latencies, in milliseconds. Waits for
    /// nobody.
    pub fn end_interval<const N: usize>(&self, percents: [f64; N]) -> [f64; N] {
        let mut now = LogHistogram::default();
        for shard in &self.shards {
            shard.buckets.add_to(&mut now);
        }
        let mut began = lock(&self.interval_began);
        let interval = now.since(&began);
        *began = now;
        percents.map(|percent| interval.percentile(percent))
    }

    /// Everything since the measurement began. Under the real clock the clients have to have
    /// ended: each has a batch of its own before.
    pub fn recorded(&self) -> Recorded {
        let mut latency = LatencyRecorder::default();
        for shard in &self.shards {
            latency.merge(&lock(&shard.latency));
        }
        Recorded {
            counters: self.counters(),
            latency,
            clients: self.clients.iter().map(|client| client.thread()).collect(),
        }
    }
}

impl ClientRecorder {
    /// The client has ended an event at this instant: its statements, and how long it took.
    pub fn event(
        &mut self,
        recorder: &Recorder,
        end: Time,
        counters: &QueryCounters,
        latency_ns: u64,
    ) {
        if end < recorder.from.load(SeqCst) || end > recorder.until.load(SeqCst) {
            return;
        }
        recorder.clients[self.client as usize].add(counters, latency_ns);
        self.shard(recorder).buckets.record(latency_ns);
        self.batch.push(latency_ns);
        if self.batch.len() == self.batch.capacity() {
            self.hand_over(recorder);
        }
    }

    /// Brings what it has kept to itself to where it is added up. A client does this when it
    /// ends.
    pub fn hand_over(&mut self, recorder: &Recorder) {
        let mut latency = lock(&self.shard(recorder).latency);
        for latency_ns in self.batch.drain(..) {
            latency.record(latency_ns);
        }
    }

    fn shard<'a>(&self, recorder: &'a Recorder) -> &'a Shard {
        &recorder.shards[self.client as usize % recorder.shards.len()]
    }
}

/// What a holder that panicked has left holds counts like any other.
fn lock<T>(cell: &Mutex<T>) -> MutexGuard<'_, T> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(recorder: &Recorder, events: impl Iterator<Item = u64>) {
        let clients = recorder.clients.len() as u32;
        let mut own: Vec<_> = (0..clients).map(|n| recorder.of_client(n)).collect();
        for n in events {
            let counters = QueryCounters {
                reads: n % 3,
                transactions: 1,
                ..Default::default()
            };
            own[n as usize % 40].event(recorder, n, &counters, n * n * 1_000 + 1);
        }
        own.iter_mut().for_each(|own| own.hand_over(recorder));
    }

    #[test]
    fn shards_add_up_to_what_one_would_have() {
        let one = Recorder::new(40, true);
        let many = Recorder::new(40, false);
        for recorder in [&one, &many] {
            recorder.begin(0, NEVER);
            counted(recorder, 0..20_000);
        }
        assert_eq!((one.shards.len(), many.shards.len()), (1, 16));
        let (of_one, of_many) = (one.recorded(), many.recorded());
        assert_eq!(of_one.counters, of_many.counters);
        assert_eq!(of_one.counters.transactions, 20_000);
        assert_eq!(of_one.latency.summary(), of_many.latency.summary());
        assert_eq!(of_many.latency.count(), 20_000);
        assert_eq!(of_one.clients, of_many.clients);
        assert_eq!(of_one.clients[3].events, 500);
        let percentiles = one.end_interval([10.0, 95.0]);
        assert!(0.0 < percentiles[0] && percentiles[0] < percentiles[1]);
        assert_eq!(percentiles, many.end_interval([10.0, 95.0]));
        assert_eq!(
            (one.end_interval([95.0]), many.end_interval([95.0])),
            ([0.0], [0.0])
        );
        one.begin(20_000, NEVER);
        let nothing = one.recorded();
        assert_eq!(nothing.latency.count(), 0);
        assert_eq!(nothing.counters, QueryCounters::default());
        assert_eq!(nothing.clients[3], ThreadCounters::default());
        assert_eq!(one.end_interval([95.0]), [0.0]);
    }

    #[test]
    fn under_the_real_clock_an_event_counts_by_its_end() {
        let recorder = Recorder::new(40, false);
        counted(&recorder, 0..100);
        assert_eq!(recorder.counters(), QueryCounters::default());
        recorder.begin(100, 299);
        counted(&recorder, 0..1_000);
        let recorded = recorder.recorded();
        assert_eq!(recorded.counters.transactions, 200);
        assert_eq!(recorded.latency.count(), 200);
        let events: u64 = recorded.clients.iter().map(|client| client.events).sum();
        assert_eq!(events, 200);
    }

    #[test]
    fn the_main_task_waits_for_no_client() {
        let recorder = Recorder::new(40, false);
        recorder.begin(0, NEVER);
        counted(&recorder, 0..40);
        // As if clients had lost their CPUs while they bring a batch.
        let held: Vec<_> = recorder
            .shards
            .iter()
            .map(|shard| lock(&shard.latency))
            .collect();
        assert_eq!(recorder.counters().transactions, 40);
        assert!(recorder.end_interval([95.0])[0] > 0.0);
        drop(held);
    }
}
