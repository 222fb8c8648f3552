//! Read views under `trx_sys->mutex`: REPEATABLE READ against READ COMMITTED.
//!
//! ```text
//!  one user:  BEGIN  10 point selects  4 ranges  2 updates  DELETE  INSERT  COMMIT
//!             |      |                                              |       |
//!  trx_sys    id     open a view: RR once, RC at each select        implicit-lock   number,
//!  (5.6: at BEGIN)   (RC also closes it at each statement's end)    checks          leave the list
//! ```
//!
//! Opening a view in 5.6 walks the list of read-write transactions, in 5.7 it copies
//! a vector of their ids; both under the one mutex. The list holds every transaction
//! that has begun, also those that wait for admission (5.6), or that have written
//! (5.7). An implicit-lock check takes the mutex too; in 5.6 it does so inside
//! `lock_sys->mutex`, and the INSERT's, which meets the transaction's own
//! delete-marked row, walks the list.
//!
//! The estimate that a run should meet, µs per transaction at saturation (one
//! critical section at a time, so 1 / throughput = the mutex time of a transaction):
//! 5.6: walks x n x 0.080 + acquisitions x section, with 15 walks (RC) or 2 (RR);
//! 5.7: 34 (RC) or 7 (RR) acquisitions x section, section about 2 µs.

mod admission;
mod tables;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use innosim_engine::runtime::profile::{CpuProfile, SpinSettings};
use innosim_engine::runtime::random::{QuantileTable, Stream};
use innosim_engine::runtime::time::{MICROSECOND, NANOSECOND, SECOND, Time};
use innosim_engine::runtime::virtual_clock::{
    Settle, Simulation, SimulationOptions, SimulationStatistics,
};
use innosim_engine::runtime::{
    self, LatchClass, Mutex, WaitKind, charge, now, settle, sleep, spawn, stall,
};

use super::Length;
use admission::Admission;

pub use tables::report;

/// How a view is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// MySQL 5.6: a walk of the transaction list.
    V56,
    /// MySQL 5.7: a copy of the id vector.
    V57,
}

/// When a view is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Once a transaction.
    RepeatableRead,
    /// At every consistent read.
    ReadCommitted,
}

/// One cell of the experiment.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// The algorithm.
    pub version: Version,
    /// The isolation level.
    pub isolation: Isolation,
    /// Users.
    pub threads: u32,
}

/// Costs, each with its source.
mod cost {
    use super::{MICROSECOND, NANOSECOND, Time};

    /// 5.6: one step of the list walk, to a transaction that runs on the walker's
    /// socket, and on another one: the engine's `trx_list_step_near` and `_far`, with their
    /// sources. The slopes of the 5.6 columns give 0.080 µs over both, with a quarter of them
    /// on the walker's socket.
    pub const WALK_STEP_NEAR: Time = 30 * NANOSECOND;
    pub const WALK_STEP_FAR: Time = 100 * NANOSECOND;
    /// 5.7: copying one id. Fitted: slope of the 5.7 RC column, 0.0042 µs / 14.
    pub const COPY_ID: Time = 300;
    /// Instructions of a critical section besides its cache lines. Estimate.
    pub const SECTION: Time = 100 * NANOSECOND;
    /// Server and client CPU of a statement, mean. Fitted as one sum to the
    /// one-thread cells (1.36 ms a transaction); the split follows the cost table of
    /// the fact sheet: point select 1, range 1.6, writes 1.8.
    pub const POINT_SELECT: Time = 50 * MICROSECOND;
    pub const RANGE: Time = 88 * MICROSECOND;
    pub const WRITE: Time = 92 * MICROSECOND;
    pub const BEGIN: Time = 30 * MICROSECOND;
    pub const COMMIT: Time = 60 * MICROSECOND;
    /// Spread of a statement's CPU. Literature: service times of short statements
    /// have a coefficient of variation of about a half.
    pub const SPREAD: f64 = 0.5;
}

/// `innodb_thread_concurrency` and `innodb_spin_wait_delay` of the report.
const THREAD_CONCURRENCY: u32 = 144;
const SPIN_WAIT_DELAY: u32 = 12;

/// Sockets that are told apart; the profile has no more.
const SOCKETS: usize = 8;

#[derive(Default)]
struct TrxSys {
    /// Read-write transactions on the list, by the socket on which they began.
    active: [u64; SOCKETS],
}

impl TrxSys {
    fn all(&self) -> u64 {
        self.active.iter().sum()
    }

    fn walk(&self) -> Time {
        let near = self.active[runtime::socket()];
        near * cost::WALK_STEP_NEAR + (self.all() - near) * cost::WALK_STEP_FAR
    }
}

struct Server {
    cell: Cell,
    trx_sys: Mutex<TrxSys>,
    lock_sys: Mutex<()>,
    admission: Admission,
    committed: AtomicU64,
    spread: QuantileTable,
}

impl Server {
    /// One critical section of `trx_sys`; what it walks or copies is memory-bound.
    fn section(&self, work: impl FnOnce(&mut TrxSys) -> Time) {
        let mut trx_sys = self.trx_sys.lock();
        charge(cost::SECTION);
        stall(work(&mut trx_sys));
    }

    fn open_view(&self) {
        self.section(|trx_sys| match self.cell.version {
            Version::V56 => trx_sys.walk(),
            Version::V57 => trx_sys.all() * cost::COPY_ID,
        });
    }

    /// Implicit-lock checks of a writing statement that take the mutex. 5.6: for the
    /// locking read and for the change of the clustered record (UPDATE, DELETE), for
    /// each secondary entry marked, and for INSERT's duplicate check. 5.7 answers most
    /// of them without it: three of the seven acquisitions of a transaction are left.
    fn checks(&self, statement: u32) -> u32 {
        match (self.cell.version, statement) {
            (Version::V56, 15 | 17) => 3,
            (Version::V56, 16) => 2,
            (Version::V57, 17) => 0,
            _ => 1,
        }
    }

    fn check_implicit_lock(&self, id_is_active: bool) {
        match self.cell.version {
            Version::V56 => {
                let lock_sys = self.lock_sys.lock();
                self.section(|trx_sys| u64::from(id_is_active) * trx_sys.walk());
                drop(lock_sys);
            }
            Version::V57 => self.section(|_| 0),
        }
    }

    fn work(&self, stream: &mut Stream, mean: Time) {
        charge((mean as f64 * stream.draw(&self.spread)) as Time);
    }

    /// The statements of one transaction from number `first` on.
    fn transaction(&self, stream: &mut Stream, first: u32) {
        let read_committed = self.cell.isolation == Isolation::ReadCommitted;
        let mut view_open = false;
        let mut listed = None;
        let begin_listed = self.cell.version == Version::V56;
        for statement in first..20 {
            if listed.is_none() && (begin_listed || statement >= 15) {
                let socket = runtime::socket();
                self.section(|trx_sys| {
                    trx_sys.active[socket] += 1;
                    0
                });
                listed = Some(socket);
            }
            match statement {
                0 => self.work(stream, cost::BEGIN),
                1..=14 => {
                    let mean = if statement <= 10 {
                        cost::POINT_SELECT
                    } else {
                        cost::RANGE
                    };
                    // The server's part before and after the engine's.
                    self.work(stream, mean / 2);
                    self.admission.enter();
                    if !view_open {
                        self.open_view();
                        view_open = true;
                    }
                    self.work(stream, mean / 2);
                    self.admission.leave();
                    if read_committed {
                        self.section(|_| 0);
                        view_open = false;
                    }
                }
                15..=18 => {
                    self.work(stream, cost::WRITE / 2);
                    self.admission.enter();
                    for check in 0..self.checks(statement) {
                        self.check_implicit_lock(statement == 18 && check == 0);
                    }
                    drop(self.lock_sys.lock());
                    self.work(stream, cost::WRITE / 2);
                    self.admission.leave();
                }
                _ => {
                    self.work(stream, cost::COMMIT);
                    self.section(|_| 0); // the transaction's number
                    drop(self.lock_sys.lock()); // its locks
                    self.section(|trx_sys| {
                        if let Some(socket) = listed {
                            trx_sys.active[socket] -= 1;
                        }
                        0
                    });
                    if self.cell.version == Version::V56 && view_open {
                        self.section(|_| 0);
                    }
                    settle();
                    self.committed.fetch_add(1, Relaxed);
                }
            }
        }
    }
}

/// What a cell gave.
#[derive(Debug, Clone)]
pub struct CellResult {
    /// Transactions a second.
    pub tps: f64,
    /// What the simulation counted, warm-up included.
    pub statistics: SimulationStatistics,
}

/// Runs one cell.
pub fn run_cell(
    cpu: &CpuProfile,
    cell: &Cell,
    length: Length,
    settle: Settle,
    seed: u64,
) -> anyhow::Result<CellResult> {
    let spin = SpinSettings {
        wait_delay: SPIN_WAIT_DELAY,
        ..SpinSettings::default()
    };
    let mut options = SimulationOptions::new(cpu.clone(), seed);
    (options.spin, options.settle) = (spin, settle);
    let mut simulation = Simulation::new(&options)?;
    let cell = *cell;
    let committed = simulation.run(move || {
        let server = Arc::new(Server {
            trx_sys: Mutex::new(LatchClass::TrxSys, TrxSys::default()),
            lock_sys: Mutex::new(LatchClass::LockSys, ()),
            admission: Admission::new(THREAD_CONCURRENCY),
            committed: AtomicU64::new(0),
            spread: QuantileTable::lognormal(cost::SPREAD),
            cell,
        });
        for number in 0..server.cell.threads {
            let server = server.clone();
            spawn("user", move || {
                let mut stream = runtime::stream(&format!("user {number}"));
                // Users start in different statements: no common rhythm.
                let mut first = stream.below(20) as u32;
                loop {
                    server.transaction(&mut stream, first);
                    first = 0;
                }
            });
        }
        sleep(length.warm_up, WaitKind::Other);
        let (before, start) = (server.committed.load(Relaxed), now());
        sleep(length.measure, WaitKind::Other);
        (server.committed.load(Relaxed) - before, now() - start)
    })?;
    let (transactions, time) = committed;
    Ok(CellResult {
        tps: transactions as f64 * SECOND as f64 / time as f64,
        statistics: simulation.statistics().clone(),
    })
}
