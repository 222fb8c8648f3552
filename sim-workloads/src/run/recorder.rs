//! What clients count, and who adds it up.
//!
//! ```text
//!   client 0 ─┐                     ┌─► an interval: what was added, its percentile
//!   client 1 ─┼─► shard 0 … shard n ┤
//!   client … ─┘    (one lock each)  └─► the measurement: everything since its start
//! ```
//!
//! Under the virtual clock all tasks share one host thread and one shard is enough. The
//! locks are the host's own: they are held for a few additions, never while a task is
//! suspended, and cost no virtual time, so that counting does not change what is counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::report::{LatencyRecorder, QueryCounters, ThreadCounters};

/// Shards under the real clock: enough that clients of a large host rarely meet.
const SHARDS_MAX: u32 = 16;

#[derive(Debug, Default)]
struct Shard {
    counters: QueryCounters,
    latency: LatencyRecorder,
}

#[derive(Debug, Default)]
struct ClientCells {
    events: AtomicU64,
    execution_ns: AtomicU64,
}

/// The counts of all clients of a run.
#[derive(Debug)]
pub struct Recorder {
    shards: Vec<Mutex<Shard>>,
    clients: Vec<ClientCells>,
}

impl Recorder {
    /// Nothing counted yet, for so many clients.
    pub fn new(clients: u32, is_virtual: bool) -> Self {
        let shards = if is_virtual {
            1
        } else {
            clients.min(SHARDS_MAX)
        };
        Recorder {
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            clients: (0..clients).map(|_| ClientCells::default()).collect(),
        }
    }

    fn shard(&self, client: u32) -> MutexGuard<'_, Shard> {
        lock(&self.shards[client as usize % self.shards.len()])
    }

    /// A client has ended an event: its statements, and how long it took.
    pub fn event(&self, client: u32, counters: QueryCounters, latency_ns: u64) {
        let cells = &self.clients[client as usize];
        cells.events.fetch_add(1, Relaxed);
        cells.execution_ns.fetch_add(latency_ns, Relaxed);
        let mut shard = self.shard(client);
        shard.counters = shard.counters + counters;
        shard.latency.record(latency_ns);
    }

    /// Forgets everything: the warm-up is over.
    pub fn clear(&self) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.counters = QueryCounters::default();
            shard.latency.clear();
        }
        for client in &self.clients {
            client.events.store(0, Relaxed);
            client.execution_ns.store(0, Relaxed);
        }
    }

    /// Statements and events since the last [`clear`](Self::clear).
    pub fn counters(&self) -> QueryCounters {
        let sum = |sum, shard| sum + lock(shard).counters;
        self.shards.iter().fold(QueryCounters::default(), sum)
    }

    /// Ends an interval: its percentile of latencies, in milliseconds.
    pub fn end_interval(&self, percent: f64) -> f64 {
        if let [only] = &self.shards[..] {
            return lock(only).latency.end_interval(percent);
        }
        let mut merged = LatencyRecorder::default();
        for shard in &self.shards {
            let latency = &mut lock(shard).latency;
            merged.merge(latency);
            latency.end_interval(percent);
        }
        merged.end_interval(percent)
    }

    /// All latencies since the last [`clear`](Self::clear).
    pub fn latency(&self) -> LatencyRecorder {
        let mut merged = LatencyRecorder::default();
        for shard in &self.shards {
            merged.merge(&lock(shard).latency);
        }
        merged
    }

    /// What each client did.
    pub fn clients(&self) -> Vec<ThreadCounters> {
        let read = |cells: &ClientCells| ThreadCounters {
            events: cells.events.load(Relaxed),
            execution_ns: cells.execution_ns.load(Relaxed),
        };
        self.clients.iter().map(read).collect()
    }
}

/// A shard whose holder panicked holds counts like any other.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_add_up_to_what_one_would_have() {
        let one = Recorder::new(40, true);
        let many = Recorder::new(40, false);
        for recorder in [&one, &many] {
            for n in 0..1_000u64 {
                let counters = QueryCounters {
                    reads: n % 3,
                    transactions: 1,
                    ..Default::default()
                };
                recorder.event((n % 40) as u32, counters, n * n * 1_000 + 1);
            }
        }
        assert_eq!((one.shards.len(), many.shards.len()), (1, 16));
        assert_eq!(one.counters(), many.counters());
        assert_eq!(one.counters().transactions, 1_000);
        assert_eq!(one.latency().summary(), many.latency().summary());
        assert_eq!(one.clients(), many.clients());
        assert_eq!(one.clients()[3].events, 25);
        let percentile = one.end_interval(95.0);
        assert!(percentile > 0.0);
        assert_eq!(percentile, many.end_interval(95.0));
        assert_eq!(
            (one.end_interval(95.0), many.end_interval(95.0)),
            (0.0, 0.0)
        );
        many.clear();
        assert_eq!(many.latency().count(), 0);
        assert_eq!(many.counters(), QueryCounters::default());
        assert_eq!(many.clients()[3], ThreadCounters::default());
    }
}
