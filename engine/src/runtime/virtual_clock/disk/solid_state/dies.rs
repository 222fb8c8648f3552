//! Flash dies: many servers, each with its own queue.

use std::collections::VecDeque;

use crate::runtime::virtual_clock::disk::counters::StationCounters;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::runtime::virtual_clock::disk::service_time::Sampler;
use crate::runtime::virtual_clock::disk::{Stage, Step, Time};

/// What a die does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// Read (a piece of) the part with this index.
    Read(u32),
    /// Program the unit whose first segment has this index.
    Program(u32),
}

/// All dies of a device.
#[derive(Debug)]
pub(super) struct Dies {
    dies: Vec<Die>,
    read_time: Sampler,
    program_time: Sampler,
    reads_first: bool,
    /// The die that the next program goes to.
    next_program: usize,
}

#[derive(Debug, Default)]
struct Die {
    /// Served lane by lane: with `reads_first`, reads are in lane 0 and programs in lane 1;
    /// otherwise all are in lane 0.
    lanes: [VecDeque<Operation>; 2],
    current: Option<(Operation, Time)>,
    busy: Time,
}

impl Dies {
    pub(super) fn new(
        count: u32,
        read_time: Sampler,
        program_time: Sampler,
        reads_first: bool,
    ) -> Self {
        let dies = (0..count).map(|_| Die::default()).collect();
        Dies {
            dies,
            read_time,
            program_time,
            reads_first,
            next_program: 0,
        }
    }

    /// Draws service times from other generators from here on.
    pub(super) fn reseed(&mut self, reads: Xoshiro256PlusPlus, programs: Xoshiro256PlusPlus) {
        self.read_time.reseed(reads);
        self.program_time.reseed(programs);
    }

    /// The die that holds a stripe unit.
    ///
    /// Units go round the dies, each row of them rotated by a hash of its number: a
    /// sequential read meets every die equally, and no stride (a B-tree level, an extent
    /// header every 64 pages) meets one die only.
    fn holding(&self, unit: u64) -> usize {
        let dies = self.dies.len() as u64;
        let row = unit / dies;
        // Fibonacci hashing: multiply by 2⁶⁴ over the golden ratio, use the high half.
        let rotation = row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        ((unit + rotation) % dies) as usize
    }

    /// Queue the read of one stripe unit for a part.
    pub(super) fn read(
        &mut self,
        unit: u64,
        part: u32,
        counters: &mut StationCounters,
        step: &mut Step,
    ) {
        let die = self.holding(unit);
        self.dies[die].lanes[0].push_back(Operation::Read(part));
        counters.arrive(step.now);
        self.start_if_idle(die, counters, step);
    }

    /// Queue a program at the next die in turn. The flash translation layer writes a log:
    /// where a page goes depends on when it comes, not on its address.
    pub(super) fn program(&mut self, unit: u32, counters: &mut StationCounters, step: &mut Step) {
        let die = self.next_program;
        self.next_program = (die + 1) % self.dies.len();
        let lane = usize::from(self.reads_first);
        self.dies[die].lanes[lane].push_back(Operation::Program(unit));
        counters.arrive(step.now);
        self.start_if_idle(die, counters, step);
    }

    /// The current operation of a die is over: start the next one and return the old one.
    pub(super) fn finish(
        &mut self,
        die: u32,
        counters: &mut StationCounters,
        step: &mut Step,
    ) -> Operation {
        let entry = &mut self.dies[die as usize];
        let (operation, service) = entry.current.take().expect("an idle die finished");
        entry.busy += service;
        counters.finish(step.now, service);
        self.start_if_idle(die as usize, counters, step);
        operation
    }

    fn start_if_idle(&mut self, die: usize, counters: &mut StationCounters, step: &mut Step) {
        let entry = &mut self.dies[die];
        if entry.current.is_some() {
            return;
        }
        let Some(operation) = entry.lanes.iter_mut().find_map(VecDeque::pop_front) else {
            return;
        };
        let service = match operation {
            Operation::Read(_) => self.read_time.draw(),
            Operation::Program(_) => self.program_time.draw(),
        };
        entry.current = Some((operation, service));
        counters.start(step.now);
        step.after(service, Stage::Unit, die as u32);
    }

    pub(super) fn busy(&self) -> Vec<Time> {
        self.dies.iter().map(|die| die.busy).collect()
    }

    pub(super) fn clear(&mut self) {
        for die in &mut self.dies {
            die.lanes.iter_mut().for_each(VecDeque::clear);
            die.current = None;
        }
    }
}
