//! The oracle for the rules by which debts of CPU are settled.
//!
//! The lazy rules let a task act before its time where nobody is in the way; settling
//! at every acquire and release does not, and costs an event for each. On programs that
//! do little but latch, throughput and waits must agree within 2 %.

use std::sync::Arc;

use innosim_engine::runtime::profile::{Broadcast, CpuProfile};
use innosim_engine::runtime::random::QuantileTable;
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, NANOSECOND, Time};
use innosim_engine::runtime::virtual_clock::{
    Settle, Simulation, SimulationOptions, SimulationStatistics,
};
use innosim_engine::runtime::{
    self, JoinHandle, LatchClass, LatchMode, Mutex, PageLatch, WaitKind, charge, now, sleep, spawn,
};

/// What a transaction of the program does: so many page reads and writes, and visits
/// to the hot latches.
#[derive(Clone, Copy, Debug)]
struct Program {
    tasks: u64,
    cores: u32,
    reads: u64,
    writes: u64,
    /// Mean CPU between two latches, in ns.
    between: u64,
}

const LENGTH: Time = 300 * MILLISECOND;

struct Pool {
    trx_sys: Mutex<u64>,
    lock_sys: Mutex<u64>,
    log: Mutex<u64>,
    pages: Vec<PageLatch>,
}

fn run(program: Program, settle: Settle) -> (f64, SimulationStatistics) {
    let cpu = CpuProfile {
        sockets: 2,
        cores_per_socket: program.cores / 2,
        time_slice_us: 500.0,
        context_switch_us: 1.0,
        wake_latency_us: 4.0,
        wake_call_us: 0.5,
        broadcast: Broadcast::WakeAll,
        sleep_call_us: 0.5,
        line_same_socket_ns: 40.0,
        line_cross_socket_ns: 120.0,
        ..CpuProfile::uniform(1)
    };
    let options = SimulationOptions {
        settle,
        ..SimulationOptions::new(cpu, 1)
    };
    let mut simulation = Simulation::new(&options).expect("the profile is valid");
    let transactions: u64 = simulation
        .run(move || {
            let pool = Arc::new(Pool {
                trx_sys: Mutex::new(LatchClass::TrxSys, 0),
                lock_sys: Mutex::new(LatchClass::LockSys, 0),
                log: Mutex::new(LatchClass::LogBuffer, 0),
                pages: (0..200)
                    .map(|_| PageLatch::of_class(LatchClass::PageHash))
                    .collect(),
            });
            let tasks: Vec<_> = (0..program.tasks)
                .map(|number| {
                    let pool = pool.clone();
                    spawn("client", move || client(&pool, program, number))
                })
                .collect();
            tasks.into_iter().map(JoinHandle::join).sum()
        })
        .expect("nobody waits for ever");
    let seconds = runtime::time::to_seconds(simulation.now());
    (
        transactions as f64 / seconds,
        simulation.statistics().clone(),
    )
}

fn client(pool: &Pool, program: Program, number: u64) -> u64 {
    let spread = QuantileTable::lognormal(1.0);
    let mut stream = runtime::stream(&format!("client {number}"));
    let mut transactions = 0;
    while now() < LENGTH {
        let mut work = |mean: u64| {
            let drawn = stream.draw(&spread) * (mean * NANOSECOND) as f64;
            charge(drawn as Time);
            stream.next_u64()
        };
        work(program.between);
        {
            let mut count = pool.trx_sys.lock();
            work(300);
            *count += 1;
        }
        for access in 0..program.reads + program.writes {
            let mode = if access < program.reads {
                LatchMode::S
            } else {
                LatchMode::X
            };
            // One access in sixteen goes to one of four pages.
            let random = work(program.between);
            let page = match random % 16 {
                0 => random >> 8 & 3,
                _ => (random >> 8) % 200,
            };
            let page = &pool.pages[page as usize];
            let held = page.lock(mode, || WaitKind::Latch);
            work(900);
            if mode == LatchMode::X {
                let mut lsn = pool.log.lock();
                work(250);
                *lsn += 1;
                drop(lsn);
                work(300);
            }
            // SAFETY: taken in this mode above.
            unsafe { page.unlock(mode, held) };
            if mode == LatchMode::X {
                let mut count = pool.lock_sys.lock();
                work(200);
                *count += 1;
            }
        }
        let pause = stream.exponential() * 5.0 * MICROSECOND as f64;
        sleep(pause as Time, WaitKind::LogSync);
        transactions += 1;
    }
    transactions
}

/// The hot classes that the program latches.
const HOT: [LatchClass; 3] = [
    LatchClass::TrxSys,
    LatchClass::LockSys,
    LatchClass::LogBuffer,
];

/// Compares the two ways of settling.
fn check(program: Program) {
    let [(lazy_rate, lazy), (always_rate, always)] =
        [Settle::Lazy, Settle::Always].map(|settle| run(program, settle));
    let difference = lazy_rate / always_rate - 1.0;
    assert!(
        difference.abs() < 0.02,
        "{program:?}: {lazy_rate:.0} transactions a second, {always_rate:.0} by the oracle: {:+.2} %",
        100.0 * difference
    );
    // Mean wait of a transaction, in ns.
    let wait = |counts: &SimulationStatistics, classes: &[LatchClass]| {
        let waits: Time = classes.iter().map(|&class| counts.latch(class).wait).sum();
        let transactions = counts.latch(LatchClass::TrxSys).acquired;
        waits as f64 / NANOSECOND as f64 / transactions as f64
    };
    let (lazy_wait, always_wait) = (wait(&lazy, &HOT), wait(&always, &HOT));
    let difference = lazy_wait / always_wait - 1.0;
    assert!(
        difference.abs() < 0.02,
        "{program:?}: {lazy_wait:.0} ns of waits for hot latches, {always_wait:.0} by the oracle: {:+.2} %",
        100.0 * difference
    );
    // A reader behind a latch that is not hot is not seen by those who want to write,
    // unless time passes while it reads: that is what the lazy rules leave out. Of a
    // transaction's whole time it must be little.
    let pages = [LatchClass::PageHash];
    let missed = (wait(&lazy, &pages) - wait(&always, &pages)).abs();
    let whole = program.tasks as f64 / always_rate * 1e9;
    assert!(
        missed < 0.005 * whole,
        "{program:?}: {missed:.0} ns of waits for latches that are not hot are missed in {whole:.0} ns"
    );
    // The rules are worth it: that is what they save.
    assert!(2 * lazy.switches < always.switches);
}

#[test]
fn readers_and_writers_on_their_own_cores() {
    check(Program {
        tasks: 16,
        cores: 16,
        reads: 10,
        writes: 3,
        between: 2_000,
    });
}

#[test]
fn more_tasks_than_cores() {
    check(Program {
        tasks: 32,
        cores: 8,
        reads: 6,
        writes: 2,
        between: 1_500,
    });
}

#[test]
fn without_shared_latches_the_lazy_rules_leave_nothing_out() {
    let program = Program {
        tasks: 24,
        cores: 24,
        reads: 0,
        writes: 3,
        between: 700,
    };
    let [(lazy_rate, lazy), (always_rate, always)] =
        [Settle::Lazy, Settle::Always].map(|settle| run(program, settle));
    assert_eq!(lazy_rate, always_rate);
    assert_eq!(lazy.latches, always.latches);
    // The hot latches are saturated: that is not because nobody waits.
    let latch = lazy.latch(LatchClass::LockSys);
    assert!(latch.wait > 10 * latch.hold, "{latch:?}");
}

// ---- the rules, one by one --------------------------------------------------------

fn both(machine: CpuProfile, program: impl Fn() + Copy + 'static) -> [SimulationStatistics; 2] {
    [Settle::Lazy, Settle::Always].map(|settle| {
        let options = SimulationOptions {
            settle,
            ..SimulationOptions::new(machine.clone(), 1)
        };
        let mut simulation = Simulation::new(&options).expect("the profile is valid");
        simulation.run(program).expect("nobody waits for ever");
        simulation.statistics().clone()
    })
}

#[test]
fn fetching_the_lines_is_part_of_the_hold() {
    let machine = CpuProfile {
        line_same_socket_ns: 100.0,
        ..CpuProfile::uniform(2)
    };
    let counts = both(machine, || {
        let latch = Arc::new(Mutex::new(LatchClass::TrxSys, ()));
        let other = latch.clone();
        let second = spawn("second", move || {
            sleep(10 * MICROSECOND, WaitKind::Other);
            let _guard = other.lock();
            charge(3 * MICROSECOND);
        });
        let guard = latch.lock();
        charge(2 * MICROSECOND);
        drop(guard);
        second.join();
    });
    for counts in counts {
        let lines = u64::from(LatchClass::TrxSys.facts().lines) * 100 * NANOSECOND;
        assert_eq!(
            counts.latch(LatchClass::TrxSys).hold,
            5 * MICROSECOND + lines
        );
    }
}

#[test]
fn work_before_an_exclusive_latch_is_not_done_inside_it() {
    for mode in [LatchMode::SX, LatchMode::X] {
        // The page is free, so nobody notices when it is asked for; but the hot latch
        // inside makes time pass while it is held.
        let counts = both(CpuProfile::uniform(1), move || {
            let page = PageLatch::of_class(LatchClass::PageHash);
            let hot = Mutex::new(LatchClass::Hot, ());
            charge(11 * MICROSECOND);
            let held = page.lock(mode, || WaitKind::Latch);
            charge(2 * MICROSECOND);
            let guard = hot.lock();
            charge(3 * MICROSECOND);
            drop(guard);
            // SAFETY: taken in this mode above.
            unsafe { page.unlock(mode, held) };
        });
        for counts in counts {
            assert_eq!(counts.latch(LatchClass::Hot).hold, 3 * MICROSECOND);
            assert_eq!(counts.latch(LatchClass::PageHash).hold, 5 * MICROSECOND);
        }
    }
}
