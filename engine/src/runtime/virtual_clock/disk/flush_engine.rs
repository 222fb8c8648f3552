//! The part of a device that carries out FLUSH commands, one after another.

use std::collections::VecDeque;

use super::counters::StationCounters;
use super::{Stage, Step, Time};

/// A serial server of flushes. With `merge`, those that wait while one is served are served
/// together afterwards: all of them were submitted before that service begins, so one is as
/// good as many.
#[derive(Debug)]
pub(super) struct FlushEngine {
    duration: Time,
    merge: bool,
    waiting: VecDeque<u32>,
    serving: VecDeque<u32>,
}

impl FlushEngine {
    pub(super) fn new(duration: Time, merge: bool) -> Self {
        FlushEngine {
            duration,
            merge,
            waiting: VecDeque::new(),
            serving: VecDeque::new(),
        }
    }

    /// Queue the flush of a request.
    pub(super) fn push(&mut self, request: u32, counters: &mut StationCounters, step: &mut Step) {
        counters.arrive(step.now);
        self.waiting.push_back(request);
        if self.serving.is_empty() {
            self.start(counters, step);
        }
    }

    /// After [`Stage::Flush`]: the requests whose flush is over, one with each call. With the
    /// call that returns none the next service begins.
    pub(super) fn finish(
        &mut self,
        counters: &mut StationCounters,
        step: &mut Step,
    ) -> Option<u32> {
        let request = self.serving.pop_front();
        if request.is_some() {
            counters.finish(step.now, self.duration);
        } else {
            self.start(counters, step);
        }
        request
    }

    fn start(&mut self, counters: &mut StationCounters, step: &mut Step) {
        let count = if self.merge {
            self.waiting.len()
        } else {
            self.waiting.len().min(1)
        };
        if count == 0 {
            return;
        }
        self.serving.extend(self.waiting.drain(..count));
        for _ in 0..count {
            counters.start(step.now);
        }
        step.after(self.duration, Stage::Flush, 0);
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.serving.clear();
    }
}
