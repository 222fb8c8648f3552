//! The requests inside a disk, from submission to the completion of their last part.

use super::counters::DiskCounters;
use super::slab::Slab;
use super::{DiskRequest, RequestId, RequestKind, Stage, Step, Time};

/// Requests in flight. A device splits each into parts that finish in any order; the last
/// one completes the request, after a fixed latency that many requests can spend at the
/// same time (host driver, firmware, interrupt: things with a duration but no queue).
#[derive(Debug)]
pub(super) struct Requests {
    table: Slab<InFlight>,
    latency: Time,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    id: RequestId,
    kind: RequestKind,
    length: u32,
    submitted: Time,
    parts_left: u32,
}

impl Requests {
    pub(super) fn new(latency: Time) -> Self {
        Requests {
            table: Slab::default(),
            latency,
        }
    }

    /// Accept a request that will be served in `parts` parts; its slot is returned.
    pub(super) fn open(
        &mut self,
        now: Time,
        request: &DiskRequest,
        parts: u32,
        counters: &mut DiskCounters,
    ) -> u32 {
        if self.table.len() == 0 {
            counters.active.add(now, 1);
        }
        counters.kind_mut(request.kind).inside.add(now, 1);
        let length = if request.kind == RequestKind::Flush {
            0
        } else {
            request.length
        };
        self.table.insert(InFlight {
            id: request.id,
            kind: request.kind,
            length,
            submitted: now,
            parts_left: parts,
        })
    }

    /// One part of a request is done.
    pub(super) fn finish_part(&mut self, slot: u32, counters: &mut DiskCounters, step: &mut Step) {
        let request = &mut self.table[slot];
        request.parts_left -= 1;
        if request.parts_left > 0 {
            return;
        }
        if self.latency == 0 {
            self.complete(slot, counters, step);
        } else {
            step.after(self.latency, Stage::Completion, slot);
        }
    }

    /// The request's latency has passed.
    pub(super) fn complete(&mut self, slot: u32, counters: &mut DiskCounters, step: &mut Step) {
        let request = self.table.remove(slot);
        let of_kind = counters.kind_mut(request.kind);
        of_kind.inside.subtract(step.now, 1);
        of_kind.completed += 1;
        of_kind.bytes += u64::from(request.length);
        of_kind.latency += u128::from(step.now - request.submitted);
        if self.table.len() == 0 {
            counters.active.subtract(step.now, 1);
        }
        step.agenda.completed.push(request.id);
    }

    pub(super) fn clear(&mut self) {
        self.table.clear();
    }
}
