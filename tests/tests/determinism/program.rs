//! A program in which everything of the virtual machine takes part.

use std::sync::Arc;

use innosim_engine::runtime::profile::{Broadcast, CpuProfile, SpinSettings};
use innosim_engine::runtime::random::QuantileTable;
use innosim_engine::runtime::time::{MICROSECOND, NEVER, Time};
use innosim_engine::runtime::virtual_clock::{Draw, Simulation, SimulationOptions};
use innosim_engine::runtime::{
    self, Event, JoinHandle, LatchClass, LatchMode, Mutex, PageLatch, RwLock,
    RwLockUpgradableReadGuard, WaitKind, charge, now, sleep, spawn,
};

/// What a run leaves to compare: every random number with the time of its draw, and
/// everything that was counted.
#[derive(Debug, PartialEq)]
pub struct Trace {
    pub draws: Vec<Draw>,
    pub counts: String,
}

struct World {
    trx_sys: Mutex<u64>,
    tree: RwLock<u64>,
    pages: Vec<PageLatch>,
    event: Event,
}

const TASKS: u64 = 40;
const ROUNDS: u64 = 60;

fn machine() -> CpuProfile {
    CpuProfile {
        sockets: 2,
        cores_per_socket: 3,
        threads_per_core: 2,
        smt_rate: vec![1.0, 0.65],
        turbo: vec![(1, 1.0), (4, 0.9), (6, 0.77)],
        time_slice_us: 50.0,
        wake_affine: true,
        context_switch_us: 1.3,
        cold_cache_us: 0.8,
        wake_latency_us: 4.1,
        timer_slack_us: 0.7,
        wake_call_us: 0.9,
        broadcast: Broadcast::Requeue,
        yield_call_us: 0.3,
        sleep_call_us: 0.6,
        io_call_us: 0.0,
        page_copy_us: 0.0,
        line_same_socket_ns: 45.0,
        line_cross_socket_ns: 130.0,
        pause_ns: 5.0,
    }
}

/// Runs the program, up to `cut_at` if it comes first.
pub fn run(seed: u64, cut_at: Time) -> Trace {
    let mut options = SimulationOptions::new(machine(), seed);
    // Few loops: waiters spin, sleep, and spin again.
    options.spin = SpinSettings {
        loops: 4,
        ..SpinSettings::default()
    };
    let mut simulation = Simulation::new(&options).expect("the profile is valid");
    simulation.record_draws();
    let outcome = simulation
        .run_until(cut_at, || {
            let world = Arc::new(World {
                trx_sys: Mutex::new(LatchClass::TrxSys, 0),
                tree: RwLock::new(LatchClass::IndexTree, 0),
                pages: (0..7)
                    .map(|_| PageLatch::of_class(LatchClass::PageHash))
                    .collect(),
                event: Event::new(),
            });
            let tasks: Vec<_> = (0..TASKS)
                .map(|number| {
                    let world = world.clone();
                    spawn(&format!("task {number}"), move || work(&world, number))
                })
                .collect();
            let ends: Vec<Time> = tasks.into_iter().map(JoinHandle::join).collect();
            (ends, *world.trx_sys.lock(), *world.tree.read())
        })
        .expect("nobody waits for ever");
    let statistics = simulation.statistics();
    // By name, and those in use only: a class that is new, or in another place, changes
    // nothing that happens here.
    let latches: Vec<_> = LatchClass::ALL
        .iter()
        .zip(&statistics.latches)
        .filter(|(_, counts)| counts.acquired > 0)
        .map(|(class, counts)| (class.facts().name, counts))
        .collect();
    let counts = format!(
        "{outcome:?} {} {:?} {latches:?}",
        simulation.now(),
        [
            statistics.switches,
            statistics.inline_settles,
            statistics.preemptions,
            statistics.tasks_started,
            statistics.polls,
        ],
    );
    let times = format!(
        "{:?} {:?}",
        [statistics.busy, statistics.queued],
        [statistics.ended_user_time, statistics.ended_background_time],
    );
    Trace {
        counts: format!("{counts} {times}"),
        draws: simulation.take_draws(),
    }
}

fn work(world: &World, number: u64) -> Time {
    let demand = QuantileTable::lognormal(0.8);
    let mut stream = runtime::stream(&format!("task {number}"));
    for _ in 0..ROUNDS {
        charge((stream.draw(&demand) * 12.0 * MICROSECOND as f64) as Time);
        match stream.below(7) {
            0 => *world.trx_sys.lock() += 1,
            1 => {
                let page = &world.pages[stream.below(7) as usize];
                let mode = [LatchMode::S, LatchMode::SX, LatchMode::X][stream.below(3) as usize];
                let held = page.lock(mode, || WaitKind::FlushedPage);
                charge((stream.exponential() * 6.0 * MICROSECOND as f64) as Time);
                // SAFETY: taken in this mode just above.
                unsafe { page.unlock(mode, held) };
            }
            2 => {
                let tree = world.tree.upgradable_read();
                charge(stream.below(3 * MICROSECOND));
                *RwLockUpgradableReadGuard::upgrade(tree) += 1;
            }
            3 => {
                let count = world.event.reset();
                let limit = stream.below(50 * MICROSECOND);
                if world.event.wait(count, limit, WaitKind::RowLock) {
                    charge(MICROSECOND);
                }
            }
            4 => {
                let tree = world.tree.read();
                charge(stream.below(25 * MICROSECOND) + *tree);
            }
            5 => {
                world.event.set();
                let length = stream.exponential() * 20.0 * MICROSECOND as f64;
                sleep(length as Time, WaitKind::LogSync);
            }
            _ => {
                let mut own = runtime::stream(&format!("child of {number}"));
                let child = spawn("child", move || {
                    charge(own.below(20 * MICROSECOND));
                    runtime::yield_now();
                    own.uniform()
                });
                charge((child.join() * MICROSECOND as f64) as Time);
            }
        }
    }
    now()
}

/// The program to its end.
pub fn run_whole(seed: u64) -> Trace {
    run(seed, NEVER)
}
