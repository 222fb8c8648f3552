//! Nothing suspends while a task unwinds, nor after a crash cut.
//!
//! Destructors in the engine do nothing but release what was held. Here they do all
//! they must not do, and still nobody else runs, nobody loses a latch, and a latch
//! that outlives the cut is free. Only a latch that another task holds cannot be had:
//! there the process ends, and says who asked for what.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, NANOSECOND, NEVER, SECOND, Time};
use innosim_engine::runtime::virtual_clock::{Outcome, Settle, Simulation, SimulationOptions};
use innosim_engine::runtime::{
    self, Event, LatchClass, LatchMode, Mutex, PageLatch, RwLock, RwLockUpgradableReadGuard,
    WaitKind, charge, now, settle, sleep, spawn,
};

use super::{on_cores, simulation};

/// What the tasks of the next tests share.
struct World {
    hot: Mutex<u64>,
    tree: RwLock<u64>,
    page: PageLatch,
    event: Event,
    /// Moved on by the bystander: who sees it move has let others run.
    ticks: AtomicU64,
    /// Somebody ran while a task was unwinding.
    disturbed: AtomicBool,
    /// Destructors that ran to their end.
    destroyed: AtomicU64,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(World {
            hot: Mutex::new(LatchClass::Hot, 0),
            tree: RwLock::new(LatchClass::IndexTree, 0),
            page: PageLatch::of_class(LatchClass::PageHash),
            event: Event::new(),
            ticks: AtomicU64::new(0),
            disturbed: AtomicBool::new(false),
            destroyed: AtomicU64::new(0),
        })
    }

    /// Runs for ever, and notices a panic that is none of its business.
    fn stand_by(&self) -> ! {
        loop {
            self.ticks.fetch_add(1, Relaxed);
            if std::thread::panicking() {
                self.disturbed.store(true, Relaxed);
            }
            charge(MICROSECOND / 10);
            settle();
        }
    }

    fn lock_page(&self, mode: LatchMode) -> HeldPage<'_> {
        let held = self.page.lock(mode, || WaitKind::Latch);
        HeldPage(&self.page, mode, Some(held))
    }

    /// Takes everything in X for so long.
    fn hold_all(&self, length: Time) {
        let _hot = self.hot.lock();
        let _tree = self.tree.write();
        let _page = self.lock_page(LatchMode::X);
        sleep(length, WaitKind::Other);
    }
}

/// A page latch that is released with its holder.
struct HeldPage<'a>(&'a PageLatch, LatchMode, Option<runtime::Held>);

impl Drop for HeldPage<'_> {
    fn drop(&mut self) {
        if let Some(held) = self.2.take() {
            // SAFETY: `lock_page` took the latch in this mode.
            unsafe { self.0.unlock(self.1, held) };
        }
    }
}

/// A value whose destructor does all that a destructor must not, with latches of its
/// own that are free.
struct Nosy {
    world: Arc<World>,
    own: Arc<World>,
}

impl Nosy {
    fn new(world: &Arc<World>) -> Self {
        Nosy {
            world: world.clone(),
            own: World::new(),
        }
    }
}

impl Drop for Nosy {
    fn drop(&mut self) {
        let (world, own) = (&self.world, &self.own);
        let before = world.ticks.load(Relaxed);
        charge(30 * MICROSECOND);
        settle();
        sleep(MILLISECOND, WaitKind::Other);
        runtime::yield_now();
        for _ in 0..2 {
            drop(own.hot.lock());
            drop(own.hot.try_lock());
            drop(own.tree.read());
            drop(own.tree.write());
            drop(RwLockUpgradableReadGuard::upgrade(
                own.tree.upgradable_read(),
            ));
            for mode in [LatchMode::S, LatchMode::SX, LatchMode::X] {
                drop(own.lock_page(mode));
            }
        }
        // One that others may hold can be tried.
        drop(world.hot.try_lock());
        for event in [&world.event, &own.event] {
            let count = event.reset();
            event.wait(count, NEVER, WaitKind::Other);
            event.wait(count, MILLISECOND, WaitKind::Other);
            event.set();
        }
        if world.ticks.load(Relaxed) != before {
            world.disturbed.store(true, Relaxed);
        }
        world.destroyed.fetch_add(1, Relaxed);
    }
}

/// Uses every latch of the world from several tasks that get in each other's way:
/// it ends only if all latches are free and have no memory of earlier waiters.
fn use_all(world: &Arc<World>) {
    assert!(!world.page.is_locked());
    let before = *world.hot.lock();
    let handles: Vec<_> = (0..4)
        .map(|_| {
            let world = world.clone();
            spawn("user", move || {
                for _ in 0..10 {
                    let mut hot = world.hot.lock();
                    charge(MICROSECOND);
                    *hot += 1;
                    drop(hot);
                    for mode in [LatchMode::S, LatchMode::SX, LatchMode::X] {
                        let _page = world.lock_page(mode);
                        charge(20 * MICROSECOND);
                    }
                    let tree = world.tree.upgradable_read();
                    charge(MICROSECOND);
                    *RwLockUpgradableReadGuard::upgrade(tree) += 1;
                    charge(MICROSECOND + *world.tree.read());
                }
            })
        })
        .collect();
    handles.into_iter().for_each(runtime::JoinHandle::join);
    assert_eq!(*world.hot.lock(), before + 40);
}

#[test]
fn a_task_that_unwinds_lets_nobody_run_and_harms_no_latch() {
    let world = World::new();
    let seen = world.clone();
    on_cores(3, move || {
        let watching = world.clone();
        spawn("bystander", move || watching.stand_by());
        let held = world.clone();
        let holder = spawn("holder", move || {
            let _tree = held.tree.write();
            let _page = held.lock_page(LatchMode::X);
            sleep(MILLISECOND, WaitKind::Other);
        });
        sleep(MICROSECOND, WaitKind::Other);
        let start = now();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let mut guard = world.hot.lock();
            let _nosy = Nosy::new(&world);
            charge(5 * MICROSECOND);
            *guard += 1;
            panic!("a bug");
        }));
        assert!(caught.is_err());
        assert_eq!(world.destroyed.load(Relaxed), 1);
        let ticks = world.ticks.load(Relaxed);
        // 5 µs before the panic, 30 µs and a yield in the destructor.
        let debt_paid_at = start + 35 * MICROSECOND + NANOSECOND;
        assert_eq!(now(), debt_paid_at, "the debt of the unwound code is kept");
        settle();
        assert_eq!(now(), debt_paid_at);
        assert!(world.ticks.load(Relaxed) > ticks, "and paid");
        assert_eq!(*world.hot.lock(), 1, "the hot latch was released");
        assert!(world.page.is_locked(), "the holder still holds the page");
        assert!(world.page.try_lock(LatchMode::S).is_none());
        holder.join();
        use_all(&world);
    });
    assert!(!seen.disturbed.load(Relaxed));
}

#[test]
fn after_a_panic_the_other_tasks_are_unwound_at_once() {
    let world = World::new();
    let seen = world.clone();
    let mut simulation = simulation(CpuProfile::uniform(3));
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _ = simulation.run(move || {
            let watching = world.clone();
            spawn("bystander", move || watching.stand_by());
            let held = world.clone();
            spawn("holder", move || {
                let _nosy = Nosy::new(&held);
                held.hold_all(SECOND);
            });
            sleep(MICROSECOND, WaitKind::Other);
            let _nosy = Nosy::new(&world);
            panic!("a bug");
        });
    }));
    assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "a bug");
    assert_eq!(simulation.now(), MICROSECOND);
    assert_eq!(seen.destroyed.load(Relaxed), 2);
    assert!(!seen.disturbed.load(Relaxed));
    simulation.run(move || use_all(&seen)).unwrap();
}

/// Tasks that wait in every way there is, each with a nosy destructor on its stack.
fn wait_in_every_way(world: &Arc<World>) {
    let start = |name: &str, body: fn(&World)| {
        let world = world.clone();
        spawn(name, move || {
            let _nosy = Nosy::new(&world);
            body(&world);
        });
    };
    start("holder", |world| world.hold_all(SECOND));
    sleep(MICROSECOND, WaitKind::Other);
    start("spinner or sleeper", |world| drop(world.hot.lock()));
    start("page reader", |world| drop(world.lock_page(LatchMode::S)));
    start("tree writer", |world| drop(world.tree.write()));
    start("event waiter", |world| {
        let count = world.event.reset();
        world.event.wait(count, NEVER, WaitKind::RowLock);
    });
    start("event waiter with a limit", |world| {
        let count = world.event.reset();
        world.event.wait(count, SECOND, WaitKind::RowLock);
    });
    start("charging", |_| charge(SECOND));
    start("ready", |_| {
        loop {
            runtime::yield_now();
            charge(MICROSECOND);
        }
    });
}

const WAITING_TASKS: u64 = 8;

#[test]
fn after_a_cut_nothing_suspends_and_every_latch_is_free() {
    // Waiters that spin until the cut, and waiters that sleep; some ready, some not.
    for loops in [1_000_000, 0] {
        for cores in [2, 16] {
            let cpu = CpuProfile {
                time_slice_us: 20.0,
                ..CpuProfile::uniform(cores)
            };
            let mut options = SimulationOptions::new(cpu, 1);
            options.spin.loops = loops;
            let mut simulation = Simulation::new(&options).unwrap();
            let world = World::new();
            let shared = world.clone();
            let outcome = simulation
                .run_until(MILLISECOND, move || {
                    wait_in_every_way(&shared);
                    sleep(SECOND, WaitKind::Other);
                })
                .unwrap();
            assert!(matches!(outcome, Outcome::PowerCut));
            assert_eq!(simulation.now(), MILLISECOND);
            assert_eq!(world.destroyed.load(Relaxed), WAITING_TASKS);
            simulation.run(move || use_all(&world)).unwrap();
        }
    }
}

#[test]
fn a_cut_between_a_release_and_the_next_poll_leaves_the_latch_free() {
    let mut simulation = simulation(CpuProfile::uniform(4));
    let world = World::new();
    let shared = world.clone();
    // The spinners' next poll comes at 10.005 µs at the earliest.
    let outcome = simulation.run_until(10 * MICROSECOND + 1, move || {
        let (first, second) = (shared.clone(), shared.clone());
        let hot = shared.hot.lock();
        let page = shared.lock_page(LatchMode::X);
        spawn("wants hot", move || drop(first.hot.lock()));
        spawn("wants page", move || drop(second.lock_page(LatchMode::X)));
        charge(10 * MICROSECOND);
        settle();
        drop((hot, page));
        sleep(SECOND, WaitKind::Other);
    });
    assert!(matches!(outcome.unwrap(), Outcome::PowerCut));
    simulation.run(move || use_all(&world)).unwrap();
}

#[test]
fn a_cut_while_writers_wait_for_readers_to_leave_takes_back_their_reservations() {
    let mut simulation = simulation(CpuProfile::uniform(8));
    let world = World::new();
    let shared = world.clone();
    let outcome = simulation.run_until(10 * MICROSECOND, move || {
        let (page, tree) = (shared.clone(), shared.clone());
        spawn("page reader", move || {
            let _page = page.lock_page(LatchMode::S);
            let _tree = page.tree.read();
            sleep(SECOND, WaitKind::Other);
        });
        let page = shared.clone();
        spawn("page writer", move || drop(page.lock_page(LatchMode::X)));
        spawn("upgrading", move || {
            let reading = tree.tree.upgradable_read();
            drop(RwLockUpgradableReadGuard::upgrade(reading));
        });
        sleep(SECOND, WaitKind::Other);
    });
    assert!(matches!(outcome.unwrap(), Outcome::PowerCut));
    simulation.run(move || use_all(&world)).unwrap();
}

#[test]
fn a_cut_in_the_middle_of_a_release_or_an_upgrade_leaves_the_latch_free() {
    // The debt is paid before a release and before an upgrade, and after an
    // acquisition if debts are always settled: the cut comes while it is.
    for rule in [Settle::Lazy, Settle::Always] {
        for cut_at in 1..12 {
            let machine = CpuProfile {
                line_same_socket_ns: 300.0,
                ..CpuProfile::uniform(2)
            };
            let options = SimulationOptions {
                settle: rule,
                ..SimulationOptions::new(machine, 1)
            };
            let mut simulation = Simulation::new(&options).unwrap();
            let world = World::new();
            let shared = world.clone();
            let outcome = simulation.run_until(cut_at * MICROSECOND, move || {
                // Its lines come from the other core.
                let other = shared.clone();
                spawn("other", move || drop(other.hot.lock())).join();
                let hot = shared.hot.lock();
                charge(3 * MICROSECOND);
                drop(hot);
                let page = shared.lock_page(LatchMode::X);
                charge(2 * MICROSECOND);
                settle();
                charge(2 * MICROSECOND);
                drop(page);
                let tree = shared.tree.upgradable_read();
                charge(4 * MICROSECOND);
                drop(RwLockUpgradableReadGuard::upgrade(tree));
                sleep(SECOND, WaitKind::Other);
            });
            assert!(matches!(outcome.unwrap(), Outcome::PowerCut));
            simulation.run(move || use_all(&world)).unwrap();
        }
    }
}

#[test]
fn a_task_that_is_born_during_a_cut_never_lives() {
    struct Parent(Arc<AtomicBool>);
    impl Drop for Parent {
        fn drop(&mut self) {
            let born = self.0.clone();
            drop(spawn("born too late", move || born.store(true, Relaxed)));
        }
    }
    let born = Arc::new(AtomicBool::new(false));
    let mut simulation = simulation(CpuProfile::uniform(2));
    for _ in 0..2 {
        let born = born.clone();
        let _ = simulation.run_until(simulation.now() + MICROSECOND, move || {
            for _ in 0..3 {
                let parent = Parent(born.clone());
                spawn("parent", move || {
                    sleep(SECOND, WaitKind::Other);
                    drop(parent);
                });
            }
            sleep(SECOND, WaitKind::Other);
        });
    }
    assert_eq!(simulation.run(|| 7).unwrap(), 7);
    assert!(!born.load(Relaxed));
    // Its closure, and what that owns, is gone: only this reference is left.
    assert_eq!(Arc::strong_count(&born), 1);
    assert_eq!(simulation.statistics().tasks_started, 2 * 4 + 1);
}
