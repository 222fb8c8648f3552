//! What is waited for in an interval: latches, and the machine's disks.
//!
//! ```text
//!   counts at its begin ─┐
//!                        ├─► waits a second, by latch
//!   counts at its end ───┤
//!                        └─► mean requests inside each disk = integral over time / time
//! ```
//!
//! Both are counted all the time, whoever asks; here readings are taken and subtracted. A
//! reading takes no virtual time.

use std::collections::BTreeMap;

use innosim_engine::runtime::device::device_counters;
use innosim_engine::runtime::virtual_clock::disk::DiskCounters;
use innosim_engine::runtime::{LatchClass, LatchStatistics, latch_statistics};

use crate::report::json::DiskQueue;

/// The readings at the begin of an interval.
#[derive(Debug)]
pub(super) struct IntervalWaits {
    latches: Vec<LatchStatistics>,
    disks: Vec<(String, DiskCounters)>,
}

impl IntervalWaits {
    /// The first interval begins now.
    pub fn begin() -> Self {
        IntervalWaits {
            latches: latch_statistics(),
            disks: device_counters(),
        }
    }

    /// Ends the interval for latches: waits a second, of those that were waited for.
    pub fn latches(&mut self, seconds: f64) -> BTreeMap<String, f64> {
        let before = std::mem::replace(&mut self.latches, latch_statistics());
        let mut rates = BTreeMap::new();
        for ((class, now), before) in LatchClass::ALL.iter().zip(&self.latches).zip(&before) {
            let waits = now.contended - before.contended;
            if waits > 0 && seconds > 0.0 {
                rates.insert(class.facts().name.to_owned(), waits as f64 / seconds);
            }
        }
        rates
    }

    /// Ends the interval for disks.
    pub fn disks(&mut self) -> Vec<DiskQueue> {
        let before = std::mem::replace(&mut self.disks, device_counters());
        let both = self.disks.iter().zip(&before);
        both.map(|((name, now), (_, before))| DiskQueue {
            name: name.clone(),
            reads_in_flight: now.read.inside.mean_since(&before.read.inside),
            writes_in_flight: now.write.inside.mean_since(&before.write.inside),
            flushes_in_flight: now.flush.inside.mean_since(&before.flush.inside),
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::MachineProfile;
    use innosim_engine::runtime::device::Device;
    use innosim_engine::runtime::time::SECOND;
    use innosim_engine::runtime::virtual_clock::Simulation;
    use innosim_engine::runtime::{Mutex, WaitKind, now, sleep, spawn};

    #[test]
    fn a_disk_is_as_full_as_it_was_for_the_share_of_the_interval() {
        let machine = MachineProfile::load("laptop-nvme").unwrap();
        let plan = crate::run::RunArguments::default().plan().unwrap();
        let options = machine.simulation_options(1, plan.spin());
        let mut simulation = Simulation::new(&options).unwrap();
        let run = || {
            let mut waits = IntervalWaits::begin();
            let begin = now();
            Device(0).write(0, 16_384, WaitKind::Other);
            sleep(SECOND, WaitKind::Other);
            // By Little's law: the time that the request was in the disk.
            let inside = device_counters()[0].1.write.latency;
            let share = inside as f64 / (now() - begin) as f64;
            let first = waits.disks();
            sleep(SECOND, WaitKind::Other);
            (share, first, waits.disks())
        };
        let (share, first, second) = simulation.run(run).unwrap();
        assert!(share > 0.0);
        assert!((first[0].writes_in_flight / share - 1.0).abs() < 1e-9);
        assert_eq!(first[0].reads_in_flight, 0.0);
        assert_eq!(second[0].writes_in_flight, 0.0, "only what is new counts");
        assert_eq!(first[0].name, machine.disks.keys().next().unwrap().as_str());
    }

    #[test]
    fn latches_that_were_waited_for_are_named() {
        let machine = MachineProfile::load("laptop-nvme").unwrap();
        let plan = crate::run::RunArguments::default().plan().unwrap();
        let options = machine.simulation_options(1, plan.spin());
        let mut simulation = Simulation::new(&options).unwrap();
        let run = || {
            let mut waits = IntervalWaits::begin();
            let latch = std::sync::Arc::new(Mutex::new(LatchClass::TrxSys, ()));
            let held = latch.lock();
            let other = latch.clone();
            let task = spawn("waits", move || drop(other.lock()));
            sleep(SECOND, WaitKind::Other);
            drop(held);
            task.join();
            (waits.latches(2.0), waits.latches(2.0))
        };
        let (first, second) = simulation.run(run).unwrap();
        let name = LatchClass::TrxSys.facts().name.to_owned();
        assert_eq!(first, BTreeMap::from([(name, 0.5)]));
        assert!(second.is_empty());
    }
}
