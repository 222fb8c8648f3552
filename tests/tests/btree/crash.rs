//! Power cuts while a tree is changed: recovery leaves a whole tree, with all that was in
//! the log and nothing that was not.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex};

use innosim_engine::buffer_pool::{BufferPoolSettings, LruBatch};
use innosim_engine::metrics::Metrics;
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::redo_log::{RedoLog, RedoSettings};
use innosim_engine::runtime::files::{Crash, FileSystem};
use innosim_engine::runtime::random::Stream;
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND};
use innosim_engine::runtime::virtual_clock::disk::{CacheProtection, DiskProfile};
use innosim_engine::runtime::virtual_clock::{Outcome, Simulation};
use innosim_engine::runtime::{self, WaitKind, sleep, spawn};
use innosim_tests::disk::solid_state_disk;

use super::world::{Kind, SPACE, World, options, value};

const TASKS: u32 = 8;
const FRAMES: usize = 600;

/// A record's value; `None` if it is not there.
type State = Option<Vec<u8>>;

/// Something that was done to a record, or is being done.
struct Operation {
    /// The log's end before it began.
    before: u64,
    /// The log's end after it was done; all of it is before that.
    after: Option<u64>,
    state: State,
}

#[derive(Default)]
struct History {
    /// What was found last.
    base: State,
    operations: Vec<Operation>,
}

impl History {
    fn now(&self) -> &State {
        match self.operations.last() {
            Some(operation) => &operation.state,
            None => &self.base,
        }
    }

    /// Compares what recovery has left, and goes on from there.
    fn recovered(&mut self, number: u32, found: State, end: u64) {
        let is_durable = |operation: &Operation| operation.after.is_some_and(|lsn| lsn <= end);
        let durable = self.operations.iter().rposition(is_durable);
        let certain = durable.map_or(&self.base, |at| &self.operations[at].state);
        let first = durable.map_or(0, |at| at + 1);
        let possible = &self.operations[first..];
        let is_possible = *certain == found
            || possible
                .iter()
                .any(|operation| operation.before < end && operation.state == found);
        assert!(is_possible, "record {number} is not as it was at LSN {end}");
        self.base = found;
        self.operations.clear();
    }
}

/// What was done to each record; shared by the runs of a machine.
#[derive(Clone, Default)]
struct Model(Arc<Mutex<BTreeMap<u32, History>>>);

impl Model {
    fn state(&self, number: u32) -> State {
        let mut model = self.0.lock().unwrap();
        model.entry(number).or_default().now().clone()
    }

    fn begin(&self, number: u32, before: u64, state: State) {
        let operation = Operation {
            before,
            after: None,
            state,
        };
        let mut model = self.0.lock().unwrap();
        model.entry(number).or_default().operations.push(operation);
    }

    fn end(&self, number: u32, after: u64) {
        let mut model = self.0.lock().unwrap();
        let operations = &mut model.get_mut(&number).unwrap().operations;
        operations.last_mut().unwrap().after = Some(after);
    }

    fn check(&self, world: &World, end: u64) {
        world.check();
        let mut found: BTreeMap<_, _> = world.user(0).range(0, usize::MAX).into_iter().collect();
        let mut model = self.0.lock().unwrap();
        for (&number, history) in model.iter_mut() {
            history.recovered(number, found.remove(&number), end);
        }
        assert!(found.is_empty(), "{found:?} was never inserted");
    }
}

fn worker(world: &World, model: &Model, task: u32) {
    let mut stream = runtime::stream(&format!("worker {task}"));
    let mut user = world.user(task as usize);
    let log = world.sandbox.pages.log.clone();
    for step in 0.. {
        log.free_check().unwrap();
        // It grows and shrinks by turns.
        let range = if step / 60 % 2 == 0 { 120 } else { 20 };
        let number = stream.below(range) as u32 * TASKS + task;
        let length = match stream.below(4) {
            0 => stream.below(5000) as usize,
            _ => stream.below(200) as usize,
        };
        let new = match world.kind.has_value() {
            true => value(length, step),
            false => Vec::new(),
        };
        let removes = stream.below(10) < if range == 20 { 7 } else { 3 };
        let before = log.current_lsn();
        match model.state(number) {
            None => {
                model.begin(number, before, Some(new.clone()));
                assert!(user.insert(number, &new));
            }
            Some(_) if removes => {
                model.begin(number, before, None);
                assert!(user.remove(number));
            }
            Some(_) => {
                model.begin(number, before, Some(new.clone()));
                assert!(user.update(number, &new));
            }
        }
        let after = log.current_lsn();
        model.end(number, after);
        if stream.below(5) == 0 {
            log.flush_up_to(after);
        }
    }
}

/// Writes pages as a cleaner would.
fn clean(sandbox: &Sandbox) {
    let (pool, log) = (&sandbox.pages.pool, &sandbox.pages.log);
    loop {
        let count = pool.cleaner_wanted().reset();
        match log.sync_flush_target() {
            Some(target) => {
                pool.flush_list_batch(0, usize::MAX, target);
                log.pages_were_flushed();
            }
            None => _ = pool.flush_list_batch(0, 10, u64::MAX),
        }
        pool.flush_lru_batch(0, &LruBatch { scan_depth: 8 });
        pool.cleaner_wanted()
            .wait(count, MILLISECOND, WaitKind::Other);
    }
}

fn recover(settings: &RedoSettings, kind: Kind) -> (World, u64, u64) {
    let directory = Path::new("/test");
    let metrics = Arc::new(Metrics::new(1));
    let files = FileSystem::new();
    let recovery = RedoLog::open_for_recovery(files, directory, settings, metrics.clone());
    let recovery = recovery.unwrap();
    let pool = BufferPoolSettings::new((FRAMES * 16384) as u64, 1);
    let sandbox = Sandbox::with(directory, &pool, recovery.log().clone(), metrics);
    sandbox.open_space(SPACE);
    let report = recovery
        .apply(&sandbox.pages.pool, &sandbox.pages.spaces)
        .unwrap();
    sandbox.pages.log.accept_recovery().unwrap();
    let world = World::open(sandbox, kind);
    (world, report.end_lsn, report.records_applied)
}

fn create(settings: &RedoSettings, kind: Kind) {
    let directory = Path::new("/test");
    let metrics = Arc::new(Metrics::new(1));
    let files = FileSystem::new();
    files.create_directory(directory).unwrap();
    let log = RedoLog::create(files, directory, settings, metrics.clone()).unwrap();
    let pool = BufferPoolSettings::new((FRAMES * 16384) as u64, 1);
    let sandbox = Sandbox::with(directory, &pool, log, metrics);
    sandbox.start_log();
    let world = World::create(sandbox, kind);
    world.sandbox.flush_all();
    world.sandbox.pages.spaces.flush_unflushed().unwrap();
    world.sandbox.pages.log.stop().unwrap();
}

/// Cuts the power several times; returns how many redo records were applied.
fn cut_rounds(seed: u64, kind: Kind) -> u64 {
    let settings = RedoSettings::small();
    let mut disk = solid_state_disk();
    if let DiskProfile::SolidState(disk) = &mut disk {
        disk.cache = CacheProtection::Volatile;
        // No doublewrite buffer is here to repair torn pages.
        disk.atomic_write_bytes = 16384;
    }
    let mut simulation = Simulation::new(&options(seed, disk)).unwrap();
    let mut stream = Stream::new(seed, "cuts");
    let model = Model::default();
    let applied = Arc::new(AtomicU64::new(0));
    {
        let settings = settings.clone();
        simulation.run(move || create(&settings, kind)).unwrap();
    }
    for _ in 0..5 {
        let at = simulation.now() + (20 + stream.below(150)) * MILLISECOND;
        let (settings, model, applied) = (settings.clone(), model.clone(), applied.clone());
        let outcome = simulation.run_until(at, move || {
            let (world, end, count) = recover(&settings, kind);
            applied.fetch_add(count, Relaxed);
            model.check(&world, end);
            world.sandbox.start_log();
            for task in 0..TASKS {
                let (world, model) = (world.clone(), model.clone());
                spawn("worker", move || worker(&world, &model, task));
            }
            sleep(50 * MICROSECOND, WaitKind::Other);
            clean(&world.sandbox);
        });
        assert!(matches!(outcome.unwrap(), Outcome::PowerCut));
        simulation.resolve_crash(Crash::PowerLoss).unwrap();
    }
    let counted = applied.clone();
    simulation
        .run(move || {
            let (world, end, count) = recover(&settings, kind);
            counted.fetch_add(count, Relaxed);
            model.check(&world, end);
            world.shut_down();
        })
        .unwrap();
    applied.load(Relaxed)
}

#[test]
fn a_tree_survives_power_cuts() {
    for kind in Kind::ALL {
        for seed in [1, 2, 3, 23] {
            let applied = cut_rounds(seed, kind);
            assert!(applied > 500, "{kind:?}, seed {seed}: {applied} records");
        }
    }
}
