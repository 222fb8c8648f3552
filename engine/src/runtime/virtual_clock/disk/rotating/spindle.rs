//! One disk of an array: its queue, the cache lines it has to write, its head.

use std::collections::BTreeMap;

use super::elevator::{Elevator, View};
use super::mechanics::{Access, Head, Mechanics, Phases};
use super::profile::LINE_BYTES;
use crate::runtime::virtual_clock::disk::Time;
use crate::runtime::virtual_clock::disk::service_time::Sampler;

/// What all disks of an array have in common.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) service: Service,
    pub(super) elevator: Elevator,
    pub(super) queue_depth: usize,
    pub(super) maximum_age: Time,
}

/// How long an operation takes.
#[derive(Debug)]
pub(super) enum Service {
    Mechanical(Mechanics),
    Drawn(Sampler),
}

/// A piece of a host request that waits for a disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostPart {
    /// Slot of the request.
    pub(super) request: u32,
    pub(super) arrived: Time,
    pub(super) access: Access,
}

/// The dirty bytes of a line of the write cache, as far as one disk is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirtyLine {
    /// First dirty byte, on the disk.
    pub(super) from: u64,
    /// First clean byte after it.
    pub(super) to: u64,
    /// Epoch of the oldest write that is in it.
    pub(super) epoch: u64,
}

/// What a disk is doing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Host(HostPart),
    Destage(DirtyLine),
}

/// An operation that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) work: Work,
    pub(super) phases: Phases,
}

/// One disk.
#[derive(Debug)]
pub(super) struct Spindle {
    /// Requests of the host, oldest first.
    queue: Vec<HostPart>,
    /// Lines to write, by line number, so that they can be written in one sweep. A tree is
    /// slower than the tables used elsewhere, but a spindle has a few hundred operations a
    /// second.
    dirty: BTreeMap<u64, DirtyLine>,
    pub(super) current: Option<Operation>,
    head: Head,
    upward: bool,
    /// Whether destaging has the next turn, where turns are taken.
    destage_next: bool,
    pub(super) busy: Time,
}

impl Spindle {
    pub(super) fn new(phase: Time) -> Self {
        Spindle {
            queue: Vec::new(),
            dirty: BTreeMap::new(),
            current: None,
            head: Head {
                offset: 0,
                phase,
                reading_since: None,
            },
            upward: true,
            destage_next: false,
            busy: 0,
        }
    }

    /// Requests of the host inside, waiting and in service.
    pub(super) fn host_load(&self) -> usize {
        let serving = self
            .current
            .is_some_and(|operation| matches!(operation.work, Work::Host(_)));
        self.queue.len() + usize::from(serving)
    }

    /// Distance of the head from a byte, in bytes.
    pub(super) fn distance(&self, offset: u64) -> u64 {
        self.head.offset.abs_diff(offset)
    }

    pub(super) fn enqueue(&mut self, part: HostPart) {
        self.queue.push(part);
    }

    /// Whether a write to this byte would join a line that waits already.
    pub(super) fn has_dirty(&self, offset: u64) -> bool {
        self.dirty.contains_key(&line_of(offset))
    }

    /// Whether the cache has all these bytes for this disk. They lie in one line.
    pub(super) fn is_cached(&self, access: &Access) -> bool {
        self.dirty.get(&line_of(access.offset)).is_some_and(|line| {
            line.from <= access.offset && access.offset + u64::from(access.length) <= line.to
        })
    }

    /// Add a write to the line that it lies in. True if that line waits already: then the
    /// older write will never be made, and both reach the disk at once.
    pub(super) fn absorb(&mut self, write: DirtyLine) -> bool {
        match self.dirty.get_mut(&line_of(write.from)) {
            Some(line) => {
                // The bytes between the two are in the line as well: the controller has read
                // or will read them. A line counts as dirty from the first byte to the last.
                line.from = line.from.min(write.from);
                line.to = line.to.max(write.to);
                true
            }
            None => {
                self.dirty.insert(line_of(write.from), write);
                false
            }
        }
    }

    /// Begin the next operation, if the disk is idle and has one; its duration is returned.
    /// `urgent` gives destaging every second turn.
    pub(super) fn start(&mut self, now: Time, rules: &mut Rules, urgent: bool) -> Option<Time> {
        if self.current.is_some() {
            return None;
        }
        let destage =
            !self.dirty.is_empty() && (self.queue.is_empty() || (urgent && self.destage_next));
        let (work, access) = if destage {
            let line = self.take_next_line()?;
            let length = (line.to - line.from) as u32;
            (
                Work::Destage(line),
                Access {
                    write: true,
                    offset: line.from,
                    length,
                },
            )
        } else {
            let part = self.take_host_part(now, rules)?;
            (Work::Host(part), part.access)
        };
        self.destage_next = !destage;
        self.upward = access.offset >= self.head.offset;
        let phases = match &mut rules.service {
            Service::Mechanical(mechanics) => mechanics.phases(now, &self.head, &access),
            Service::Drawn(sampler) => Phases {
                transfer: sampler.draw(),
                ..Phases::default()
            },
        };
        let duration = phases.total();
        self.head.offset = access.offset + u64::from(access.length);
        self.head.reading_since = (!access.write).then_some(now + duration);
        self.current = Some(Operation { work, phases });
        Some(duration)
    }

    fn take_host_part(&mut self, now: Time, rules: &Rules) -> Option<HostPart> {
        if self.queue.is_empty() {
            return None;
        }
        let view = View {
            now,
            head: &self.head,
            upward: self.upward,
            mechanics: match &rules.service {
                Service::Mechanical(mechanics) => Some(mechanics),
                Service::Drawn(_) => None,
            },
            maximum_age: rules.maximum_age,
        };
        let visible = self.queue.iter().take(rules.queue_depth);
        let index = rules
            .elevator
            .choose(&view, visible.map(|part| (part.arrived, part.access)));
        Some(self.queue.remove(index))
    }

    /// The nearest line in the direction of the sweep; at its end the sweep turns.
    fn take_next_line(&mut self) -> Option<DirtyLine> {
        let position = line_of(self.head.offset);
        let above = self.dirty.range(position..).next();
        let below = self.dirty.range(..position).next_back();
        let chosen = if self.upward {
            above.or(below)
        } else {
            below.or(above)
        };
        let number = *chosen?.0;
        self.dirty.remove(&number)
    }

    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.dirty.clear();
        self.current = None;
        self.head.reading_since = None;
    }
}

fn line_of(offset: u64) -> u64 {
    offset / u64::from(LINE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use crate::runtime::virtual_clock::disk::ServiceTime;

    fn rules() -> Rules {
        let time = ServiceTime::Deterministic { mean_us: 1.0 };
        Rules {
            service: Service::Drawn(Sampler::new(time, Xoshiro256PlusPlus::seed_from_u64(1))),
            elevator: Elevator::Fifo,
            queue_depth: 32,
            maximum_age: Time::MAX,
        }
    }

    fn line(number: u64, from: u64, to: u64) -> DirtyLine {
        let start = number * u64::from(LINE_BYTES);
        DirtyLine {
            from: start + from,
            to: start + to,
            epoch: 0,
        }
    }

    /// Serve everything; say which lines were written in which order (host parts as `None`).
    fn drain(spindle: &mut Spindle, urgent: bool) -> Vec<Option<u64>> {
        let mut order = Vec::new();
        while spindle.start(0, &mut rules(), urgent).is_some() {
            order.push(match spindle.current.take().unwrap().work {
                Work::Host(_) => None,
                Work::Destage(line) => Some(line_of(line.from)),
            });
        }
        order
    }

    #[test]
    fn lines_are_written_in_sweeps() {
        let mut spindle = Spindle::new(0);
        for number in [9, 3, 7] {
            assert!(!spindle.absorb(line(number, 0, 512)));
        }
        spindle.head.offset = 5 * u64::from(LINE_BYTES);
        assert_eq!(drain(&mut spindle, false), [Some(7), Some(9), Some(3)]);
    }

    #[test]
    fn a_rewrite_of_a_waiting_line_is_absorbed() {
        let mut spindle = Spindle::new(0);
        assert!(!spindle.absorb(line(3, 512, 1024)));
        assert!(spindle.has_dirty(line(3, 0, 0).from));
        assert!(spindle.absorb(line(3, 4096, 8192)));
        let start = line(3, 0, 0).from;
        let read = |from, length| Access {
            write: false,
            offset: start + from,
            length,
        };
        assert!(spindle.is_cached(&read(512, 7680)));
        assert!(!spindle.is_cached(&read(0, 1024)));
        assert_eq!(spindle.take_next_line(), Some(line(3, 512, 8192)));
        assert_eq!(spindle.take_next_line(), None);
    }

    #[test]
    fn destaging_waits_for_the_host_unless_it_is_urgent() {
        for (urgent, expected) in [
            (false, [None, None, Some(0), Some(1)]),
            (true, [None, Some(0), None, Some(1)]),
        ] {
            let mut spindle = Spindle::new(0);
            let access = Access {
                write: false,
                offset: 0,
                length: 1,
            };
            for _ in 0..2 {
                spindle.enqueue(HostPart {
                    request: 0,
                    arrived: 0,
                    access,
                });
            }
            spindle.absorb(line(0, 0, 10));
            spindle.absorb(line(1, 0, 10));
            assert_eq!(drain(&mut spindle, urgent), expected);
        }
    }
}
