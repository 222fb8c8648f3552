//! Who waits behind a doublewrite batch: `innodb_doublewrite_pages` 128 against 16.
//!
//! ```text
//!   16 or 64 users                                8 page cleaners, once a second
//!   6 statements of CPU, 2.4 page reads           a burst of what its instance owes:
//!   redo: write + flush, one leader for all         ┌► write N pages in ONE request   (doublewrite)
//!   a transaction owes 4 pages ──── owed ──────────►│  write N pages, all at once     (data files)
//!     too many owed: stop ◄─────────────────────────└─ wait for the slowest
//!
//!                   all of it through the queues of one device
//! ```
//!
//! A burst is written as fast as the doublewrite allows, so while it lasts each instance has
//! a batch outstanding: 8 × N pages in the device's queues. Whether a redo write waits behind
//! them is the device's arbitration, a property of the machine's profile.
//!
//! Nothing here knows N but the batch. Pages a transaction are the same for both N (the
//! report wrote 4.06 and 3.87: that difference is an effect, so it may not be an input).
//!
//! The estimate that a run should meet, with X the rate at which the device programs:
//! a doublewrite write lasts 8 × N × 16 KiB / X (Little's law), and 8 / 2 × utilisation of
//! them are in flight, where utilisation = pages/s × 32 KiB / X (a batch spends half of its
//! life in each of its two writes, and bursts fill the utilised share of the time).

mod cell;
pub mod controls;
mod published;
mod tables;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use innosim_engine::runtime::device::{Completions, Device};
use innosim_engine::runtime::profile::SpinSettings;
use innosim_engine::runtime::random::{QuantileTable, Stream};
use innosim_engine::runtime::time::{
    MICROSECOND, MILLISECOND, NANOSECOND, NEVER, SECOND, Time, to_seconds,
};
use innosim_engine::runtime::virtual_clock::{Settle, Simulation, SimulationOptions};
use innosim_engine::runtime::{
    Event, LatchClass, Mutex, WaitKind, charge, now, settle, sleep, spawn, stream,
};

use super::Length;
use crate::machine::{FileKind, MachineProfile, ServerProfile};

pub use cell::{Cell, CellResult};
pub use published::Published;
pub use tables::report;

/// `innodb_buffer_pool_instances` of the report: as many cleaners and doublewrite instances.
pub const INSTANCES: u64 = 8;
const PAGE: u64 = 16 * 1024;
/// Pages of the tables, 300 GB. Estimate: any large number spreads reads over the dies.
const TABLE_PAGES: u64 = 300_000_000_000 / PAGE;
/// Where doublewrite files and redo log lie: behind the tables.
const DOUBLEWRITE_AT: u64 = TABLE_PAGES * PAGE;
const REDO_AT: u64 = DOUBLEWRITE_AT + (1 << 30);
/// The report's redo capacity: the log is written round and round.
const REDO_BYTES: u64 = 8 << 30;

/// A transaction of `oltp_write_only`: BEGIN, two updates, a delete, an insert, COMMIT.
const STATEMENTS: u32 = 6;
/// Each of the four changes misses the pool with this probability: 2.4 reads. Estimate.
const MISS: f64 = 0.6;
/// Bytes of redo of a transaction: rows, index entries, undo. Estimate.
const REDO: u64 = 2_400;
/// Checksum (1 to 2 µs) and copy (2 µs) of a page into the doublewrite buffer. Estimate.
const PREPARE_PAGE: Time = 4 * MICROSECOND;
/// Appending to the log buffer. Estimate.
const APPEND: Time = 500 * NANOSECOND;

/// What is summed since the start; the difference of two snapshots is an interval's.
#[derive(Clone, Copy)]
enum Sum {
    Transactions,
    Writes,
    Pages,
    WriteTime,
    ReadTime,
    RedoTime,
    StoppedTime,
}
const SUMS: usize = Sum::StoppedTime as usize + 1;

#[derive(Default)]
struct RedoLog {
    end: u64,
    durable: u64,
    has_leader: bool,
}

struct Server {
    cell: Cell,
    cost: ServerProfile,
    spread: QuantileTable,
    tables: Device,
    doublewrite: Device,
    redo_device: Device,
    redo: Mutex<RedoLog>,
    redo_written: Event,
    /// Pages that each instance owes.
    owed: [AtomicU64; INSTANCES as usize],
    /// Fewer pages are owed.
    room: Event,
    sums: [AtomicU64; SUMS],
}

impl Server {
    fn add(&self, sum: Sum, amount: u64) {
        self.sums[sum as usize].fetch_add(amount, Relaxed);
    }

    fn sums(&self) -> [u64; SUMS] {
        std::array::from_fn(|sum| self.sums[sum].load(Relaxed))
    }

    fn is_too_far_behind(&self) -> bool {
        let owed: u64 = self.owed.iter().map(|owed| owed.load(Relaxed)).sum();
        owed > self.cell.owed_limit
    }

    fn stop_while_too_many_pages_are_owed(&self) {
        settle();
        let start = now();
        loop {
            let count = self.room.reset();
            if !self.is_too_far_behind() {
                break;
            }
            self.room.wait(count, NEVER, WaitKind::FreePage);
        }
        self.add(Sum::StoppedTime, now() - start);
    }

    fn transaction(&self, stream: &mut Stream) {
        self.stop_while_too_many_pages_are_owed();
        for statement in 0..STATEMENTS {
            let mean = self.cost.statement_us * MICROSECOND as f64;
            charge((mean * stream.draw(&self.spread)) as Time);
            let is_change = statement != 0 && statement != STATEMENTS - 1;
            if is_change && stream.uniform() < MISS {
                let address = stream.below(TABLE_PAGES) * PAGE;
                let time = self.tables.read(address, PAGE as u32, WaitKind::PageRead);
                self.add(Sum::ReadTime, time);
            }
        }
        // Pages are dirty, and may be chosen for flushing, before the commit.
        let whole = self.cell.pages_per_transaction as u64;
        let one_more = stream.uniform() < self.cell.pages_per_transaction - whole as f64;
        for _ in 0..whole + u64::from(one_more) {
            self.owed[stream.below(INSTANCES) as usize].fetch_add(1, Relaxed);
        }
        self.make_redo_durable();
        self.add(Sum::Transactions, 1);
    }

    /// Group commit: one leader writes and flushes for all who have appended so far.
    fn make_redo_durable(&self) {
        let start = now();
        let mut log = self.redo.lock();
        charge(APPEND);
        log.end += REDO;
        let end = log.end;
        while log.durable < end {
            if log.has_leader {
                let count = self.redo_written.reset();
                drop(log);
                self.redo_written.wait(count, NEVER, WaitKind::LogSync);
                log = self.redo.lock();
                continue;
            }
            log.has_leader = true;
            let (from, to) = (log.durable, log.end);
            drop(log);
            // Whole blocks of 512 bytes, the last one again.
            let first = from / 512 * 512;
            let length = to.next_multiple_of(512) - first;
            let address = REDO_AT + first % REDO_BYTES;
            let disk = self.redo_device;
            disk.write(address, length as u32, WaitKind::LogWrite);
            disk.flush(WaitKind::LogSync);
            log = self.redo.lock();
            log.durable = to;
            log.has_leader = false;
            drop(log);
            self.redo_written.set();
            break;
        }
        self.add(Sum::RedoTime, now() - start);
    }

    /// One burst of one instance.
    fn flush_instance(&self, instance: u64, stream: &mut Stream) {
        let owed = &self.owed[instance as usize];
        let mut left = owed.load(Relaxed);
        while left > 0 {
            let batch = left.min(self.cell.batch_pages);
            charge(batch * PREPARE_PAGE);
            let address = DOUBLEWRITE_AT + instance * (64 << 20);
            let bytes = (batch * PAGE) as u32;
            let time = self.doublewrite.write(address, bytes, WaitKind::Other);
            self.add(Sum::Writes, 1);
            self.add(Sum::Pages, batch);
            self.add(Sum::WriteTime, time);
            let pages = Completions::new();
            for _ in 0..batch {
                let address = stream.below(TABLE_PAGES) * PAGE;
                pages.submit_write(self.tables, address, PAGE as u32);
            }
            pages.wait_all(WaitKind::FlushedPage);
            let were_too_many = self.is_too_far_behind();
            owed.fetch_sub(batch, Relaxed);
            if were_too_many && !self.is_too_far_behind() {
                self.room.set();
            }
            left -= batch;
        }
    }
}

/// A round a second: every instance flushes what it owes; a longer round delays the next.
fn page_cleaner(server: &Arc<Server>) {
    for round in 0_u64.. {
        let start = now();
        let workers: Vec<_> = (0..INSTANCES)
            .map(|instance| {
                let server = server.clone();
                spawn("page cleaner", move || {
                    let mut stream = stream(&format!("cleaner {instance} round {round}"));
                    server.flush_instance(instance, &mut stream);
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join());
        let left = SECOND.saturating_sub(now() - start);
        sleep(left, WaitKind::Other);
    }
}

/// Runs one cell.
///
/// # Errors
/// If the machine cannot be built or the simulation stalls.
pub fn run_cell(
    machine: &MachineProfile,
    cell: &Cell,
    length: Length,
    settle: Settle,
    seed: u64,
) -> anyhow::Result<CellResult> {
    let options = SimulationOptions {
        settle,
        ..machine.simulation_options(seed, SpinSettings::default())
    };
    let server = Server {
        cell: cell.clone(),
        cost: machine.server,
        spread: QuantileTable::lognormal(machine.server.statement_cv),
        tables: machine.device(FileKind::Tables),
        doublewrite: machine.device(FileKind::Doublewrite),
        redo_device: machine.device(FileKind::Redo),
        redo: Mutex::new(LatchClass::LogBuffer, RedoLog::default()),
        redo_written: Event::new(),
        owed: Default::default(),
        room: Event::new(),
        sums: Default::default(),
    };
    let (before, after, time) = Simulation::new(&options)?.run(move || {
        let server = Arc::new(server);
        for number in 0..server.cell.users {
            let server = server.clone();
            spawn("user", move || {
                let mut stream = stream(&format!("user {number}"));
                loop {
                    server.transaction(&mut stream);
                }
            });
        }
        let cleaned = server.clone();
        spawn("page cleaner coordinator", move || page_cleaner(&cleaned));
        sleep(length.warm_up, WaitKind::Other);
        let (before, start) = (server.sums(), now());
        sleep(length.measure, WaitKind::Other);
        (before, server.sums(), now() - start)
    })?;
    let sum = |sum: Sum| (after[sum as usize] - before[sum as usize]) as f64;
    let transactions = sum(Sum::Transactions);
    let per_transaction_ms = |part| sum(part) / transactions / MILLISECOND as f64;
    Ok(CellResult {
        tps: transactions / to_seconds(time),
        writes_per_second: sum(Sum::Writes) / to_seconds(time),
        pages_per_write: sum(Sum::Pages) / sum(Sum::Writes),
        write_ms: sum(Sum::WriteTime) / sum(Sum::Writes) / MILLISECOND as f64,
        in_flight: sum(Sum::WriteTime) / time as f64,
        read_ms: per_transaction_ms(Sum::ReadTime),
        redo_ms: per_transaction_ms(Sum::RedoTime),
        stopped_ms: per_transaction_ms(Sum::StoppedTime),
    })
}
