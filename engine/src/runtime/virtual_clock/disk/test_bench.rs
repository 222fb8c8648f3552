//! A tiny event loop around a disk, for tests: the scheduler's part, and loads to put on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::service_time::uniform;
use super::{
    Agenda, Disk, DiskCounters, DiskEvent, DiskModel, DiskProfile, DiskRequest, RequestId,
    RequestKind, SECOND, Time,
};

/// A disk with a clock.
pub(super) struct Bench {
    pub(super) disk: Disk,
    pub(super) now: Time,
    /// Events taken from the queue so far.
    pub(super) events: u64,
    pub(super) random: Xoshiro256PlusPlus,
    /// All calls of the disk so far, if they are to be kept.
    pub(super) trace: Option<Vec<(Time, Call)>>,
    queue: BinaryHeap<Reverse<Entry>>,
    sequence: u64,
    agenda: Agenda,
    completed: std::collections::VecDeque<RequestId>,
    submitted: Vec<Time>,
}

/// Ordered by time, then by the order of scheduling.
struct Entry {
    key: (Time, u64),
    what: What,
}

enum What {
    Disk(DiskEvent),
    Timer(u64),
}

/// A call of a disk.
#[derive(Clone, Copy)]
pub(super) enum Call {
    Submit(DiskRequest),
    Event(DiskEvent),
}

/// Make the calls of a trace again, without any clock or queue of events.
pub(super) fn replay(disk: &mut Disk, trace: &[(Time, Call)]) -> u64 {
    let mut agenda = Agenda::default();
    let mut completed = 0;
    for &(now, call) in trace {
        match call {
            Call::Submit(request) => disk.submit(now, request, &mut agenda),
            Call::Event(event) => disk.on_event(now, event, &mut agenda),
        }
        completed += agenda.completed.len() as u64;
        agenda.schedule.clear();
        agenda.completed.clear();
    }
    completed
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// What happened next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Completed { id: u64, latency: Time },
    Timer(u64),
}

/// A request without its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) kind: RequestKind,
    pub(super) address: u64,
    pub(super) length: u32,
    pub(super) queue: u32,
}

pub(super) fn read(address: u64, length: u32) -> Ask {
    Ask {
        kind: RequestKind::Read,
        address,
        length,
        queue: 0,
    }
}

pub(super) fn write(address: u64, length: u32) -> Ask {
    Ask {
        kind: RequestKind::Write,
        address,
        length,
        queue: 0,
    }
}

pub(super) const FLUSH: Ask = Ask {
    kind: RequestKind::Flush,
    address: 0,
    length: 0,
    queue: 0,
};

impl Bench {
    pub(super) fn new(profile: &DiskProfile, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let disk = profile.build(random.clone()).expect("a valid profile");
        random.long_jump();
        Bench {
            disk,
            now: 0,
            events: 0,
            random,
            trace: None,
            queue: BinaryHeap::new(),
            sequence: 0,
            agenda: Agenda::default(),
            completed: std::collections::VecDeque::new(),
            submitted: Vec::new(),
        }
    }

    fn schedule(&mut self, at: Time, what: What) {
        assert!(at >= self.now, "an event in the past");
        self.sequence += 1;
        self.queue.push(Reverse(Entry {
            key: (at, self.sequence),
            what,
        }));
    }

    fn drain_agenda(&mut self) {
        let mut agenda = std::mem::take(&mut self.agenda);
        for (at, event) in agenda.schedule.drain(..) {
            self.schedule(at, What::Disk(event));
        }
        self.completed.extend(agenda.completed.drain(..));
        self.agenda = agenda;
    }

    /// Submit now; the number of the request is returned.
    pub(super) fn submit(&mut self, ask: Ask) -> u64 {
        let id = self.submitted.len() as u64;
        self.submitted.push(self.now);
        let Ask {
            kind,
            address,
            length,
            queue,
        } = ask;
        let request = DiskRequest {
            id: RequestId(id),
            kind,
            address,
            length,
            queue,
        };
        if let Some(trace) = &mut self.trace {
            trace.push((self.now, Call::Submit(request)));
        }
        self.disk.submit(self.now, request, &mut self.agenda);
        self.drain_agenda();
        id
    }

    pub(super) fn timer(&mut self, at: Time, tag: u64) {
        self.schedule(at, What::Timer(tag));
    }

    /// Go on to the next completion or timer.
    pub(super) fn next(&mut self) -> Option<Outcome> {
        loop {
            if let Some(RequestId(id)) = self.completed.pop_front() {
                let latency = self.now - self.submitted[id as usize];
                return Some(Outcome::Completed { id, latency });
            }
            let Reverse(Entry { key: (at, _), what }) = self.queue.pop()?;
            self.now = at;
            self.events += 1;
            match what {
                What::Timer(tag) => return Some(Outcome::Timer(tag)),
                What::Disk(event) => {
                    if let Some(trace) = &mut self.trace {
                        trace.push((at, Call::Event(event)));
                    }
                    self.disk.on_event(at, event, &mut self.agenda);
                    self.drain_agenda();
                }
            }
        }
    }

    /// Run until nothing is left to do; latencies of the completions, by request number.
    pub(super) fn drain(&mut self) -> Vec<(u64, Time)> {
        let mut completions = Vec::new();
        while let Some(outcome) = self.next() {
            if let Outcome::Completed { id, latency } = outcome {
                completions.push((id, latency));
            }
        }
        completions
    }

    /// The counters, after a check of the laws that hold for any queue. Everything submitted
    /// must have completed, which makes the laws exact to the picosecond.
    pub(super) fn lawful_counters(&self) -> DiskCounters {
        let counters = self.disk.counters(self.now);
        for kind in [counters.read, counters.write, counters.flush] {
            assert_eq!(kind.inside.value, 0, "something did not complete");
            assert_eq!(kind.inside.integral, kind.latency, "Little's law");
        }
        for station in [
            counters.controller,
            counters.inbound,
            counters.outbound,
            counters.units,
            counters.flush_engine,
        ] {
            assert_eq!(station.busy.value, 0, "something is still served");
            assert_eq!(station.busy.integral, station.service, "utilisation law");
        }
        let units: u128 = self.disk.unit_busy().into_iter().map(u128::from).sum();
        assert_eq!(units, counters.units.service);
        counters
    }

    /// A time from an exponential distribution.
    pub(super) fn exponential(&mut self, mean: f64) -> Time {
        (-mean * libm::log(1.0 - uniform(&mut self.random))) as Time
    }

    /// A multiple of `unit` below `span`, all alike.
    pub(super) fn address(&mut self, span: u64, unit: u64) -> u64 {
        (uniform(&mut self.random) * (span / unit) as f64) as u64 * unit
    }

    /// Poisson arrivals: submit `count` requests with exponential gaps and wait for all.
    /// Latencies in microseconds in the order of submission.
    pub(super) fn open_load(
        &mut self,
        mean_gap: f64,
        count: usize,
        mut ask: impl FnMut(&mut Bench) -> Ask,
    ) -> Vec<f64> {
        let mut latencies = vec![0.0; count];
        let first = self.submitted.len();
        let gap = self.exponential(mean_gap);
        self.timer(self.now + gap, 0);
        while let Some(outcome) = self.next() {
            match outcome {
                Outcome::Completed { id, latency } => {
                    latencies[id as usize - first] = latency as f64 / 1e6;
                }
                Outcome::Timer(_) => {
                    let request = ask(self);
                    self.submit(request);
                    if self.submitted.len() - first < count {
                        let gap = self.exponential(mean_gap);
                        self.timer(self.now + gap, 0);
                    }
                }
            }
        }
        latencies
    }

    /// `clients` that submit their next request when the last is complete, until `warm_up`
    /// and then `time` have passed. Completions per second in each of 20 equal intervals of
    /// `time`, and the counters at the start and at the end of `time`.
    pub(super) fn closed_load(
        &mut self,
        clients: u32,
        warm_up: Time,
        time: Time,
        mut ask: impl FnMut(&mut Bench, u32) -> Ask,
    ) -> (Vec<f64>, DiskCounters, DiskCounters) {
        const INTERVALS: u64 = 20;
        let start = self.now + warm_up;
        let interval = time / INTERVALS;
        let mut completed = vec![0_u32; INTERVALS as usize];
        for index in 0..=INTERVALS {
            self.timer(start + index * interval, index);
        }
        let mut client_of = std::collections::BTreeMap::new();
        for client in 0..clients {
            let request = Ask {
                queue: client,
                ..ask(self, client)
            };
            client_of.insert(self.submit(request), client);
        }
        let mut before = self.disk.counters(self.now);
        let mut current = None;
        loop {
            match self.next().expect("a closed load does not end") {
                Outcome::Timer(0) => {
                    before = self.disk.counters(self.now);
                    current = Some(0);
                }
                Outcome::Timer(INTERVALS) => break,
                Outcome::Timer(index) => current = Some(index as usize),
                Outcome::Completed { id, .. } => {
                    if let Some(index) = current {
                        completed[index] += 1;
                    }
                    let client = client_of.remove(&id).expect("a client's request");
                    let request = Ask {
                        queue: client,
                        ..ask(self, client)
                    };
                    client_of.insert(self.submit(request), client);
                }
            }
        }
        let seconds = interval as f64 / SECOND as f64;
        let rates = completed
            .into_iter()
            .map(|count| f64::from(count) / seconds)
            .collect();
        (rates, before, self.disk.counters(self.now))
    }
}

/// Mean and standard error of a series whose neighbours may depend on each other, by the
/// method of batch means: 20 batches, long enough to be independent.
pub(super) fn mean_and_error(series: &[f64]) -> (f64, f64) {
    let batch = series.len() / 20;
    let means: Vec<f64> = series
        .chunks_exact(batch)
        .map(|values| values.iter().sum::<f64>() / batch as f64)
        .collect();
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    let variance = means.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// Assert that a series has the mean that theory gives. The error of the run must be small
/// enough (2.5 %) for the comparison to mean something, and the deviation within 3.5 of it.
#[track_caller]
pub(super) fn assert_mean(series: &[f64], expected: f64) {
    let (mean, error) = mean_and_error(series);
    assert!(
        error < 0.025 * expected,
        "the run is too short: {mean} ± {error}"
    );
    assert!(
        (mean - expected).abs() < 3.5 * error,
        "{mean} ± {error}, expected {expected}"
    );
}
