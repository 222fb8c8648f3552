//! Sixteen tasks at once in one tree. Each has its own numbers, so each knows what it must
//! find; all of them split and merge the same pages.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

use innosim_engine::runtime::time::MILLISECOND;
use innosim_engine::runtime::virtual_clock::Settle;
use innosim_engine::runtime::{self, LatchMode, WaitKind, spawn};

use super::files::judge_world;
use super::world::{Kind, World, value, virtually_with};

const TASKS: u32 = 16;

#[derive(Clone, Copy)]
struct Load {
    kind: Kind,
    steps: u32,
    numbers: u32,
    frames: usize,
    change_latch: LatchMode,
}

const LOAD: Load = Load {
    kind: Kind::LongKeys,
    steps: 150,
    numbers: 200,
    frames: 1500,
    change_latch: LatchMode::SX,
};

/// What a task has put into the tree.
type Model = BTreeMap<u32, Vec<u8>>;

fn worker(world: &World, task: u32, load: Load) -> Model {
    let mut stream = runtime::stream(&format!("worker {task}"));
    let mut user = world.user(task as usize);
    let mut model = Model::new();
    for step in 0..load.steps {
        let number = stream.below(load.numbers.into()) as u32 * TASKS + task;
        let length = match stream.below(6) {
            0 => stream.below(6000) as usize,
            _ => stream.below(300) as usize,
        };
        let stamp = step << 8 | task;
        let value = match load.kind.has_value() {
            true => value(length, stamp),
            false => Vec::new(),
        };
        // Grows in the first half, shrinks in the second.
        let inserts = if step < load.steps / 2 { 6 } else { 2 };
        match stream.below(10) {
            choice if choice < inserts => {
                let is_new = user.insert(number, &value);
                assert_eq!(is_new, !model.contains_key(&number), "insert {number}");
                if is_new {
                    model.insert(number, value);
                }
            }
            6 => {
                let found = user.range(number, 40);
                assert!(found.is_sorted_by(|one, next| one.0 < next.0));
                let end = found.last().map_or(number, |last| last.0);
                let mine: Model = found
                    .into_iter()
                    .filter(|(number, _)| number % TASKS == task)
                    .collect();
                let expected: Model = model
                    .range(number..=end)
                    .map(|(&number, value)| (number, value.clone()))
                    .collect();
                assert!(mine == expected, "task {task} misses records from {number}");
            }
            7 => {
                let is_there = user.update(number, &value);
                assert_eq!(is_there, model.contains_key(&number), "update {number}");
                if is_there {
                    model.insert(number, value);
                }
            }
            _ => {
                let is_there = model.remove(&number).is_some();
                assert_eq!(user.remove(number), is_there, "remove {number}");
            }
        }
    }
    model
}

/// Runs the load; returns what a second run must repeat.
fn run(directory: &Path, load: Load) -> (u64, usize, u64) {
    let mut world = World::new(directory, load.kind, load.frames);
    let index = Arc::get_mut(&mut world.index).expect("nobody else has it yet");
    index.change_latch = load.change_latch;
    let stop = Arc::new(AtomicBool::new(false));
    let flusher = {
        let (pages, stop) = (world.sandbox.pages.clone(), stop.clone());
        spawn("page_cleaner", move || {
            while !stop.load(Acquire) {
                pages.pool.flush_list_batch(0, 20, u64::MAX);
                runtime::sleep(MILLISECOND, WaitKind::Other);
            }
        })
    };
    let workers: Vec<_> = (0..TASKS)
        .map(|task| {
            let world = world.clone();
            spawn("worker", move || worker(&world, task, load))
        })
        .collect();
    let mut model = Model::new();
    for worker in workers {
        model.extend(worker.join());
    }
    stop.store(true, Release);
    flusher.join();
    let report = world.check();
    let found: Model = world.user(0).range(0, usize::MAX).into_iter().collect();
    assert!(
        found == model,
        "{} records, expected {}",
        found.len(),
        model.len()
    );
    world.shut_down();
    if !runtime::is_virtual() {
        judge_world(&world, model.len());
    }
    (runtime::now(), report.pages.iter().sum(), report.records)
}

fn run_virtually(seed: u64, settle: Settle, load: Load) -> (u64, usize, u64) {
    virtually_with(seed, settle, move || run(Path::new("/test"), load))
}

#[test]
fn no_record_is_lost_and_no_task_waits_for_ever() {
    for kind in Kind::ALL {
        for seed in 1..=6 {
            let load = Load { kind, ..LOAD };
            let (_, pages, _) = run_virtually(seed, Settle::Lazy, load);
            assert!(pages > 10, "{kind:?}, seed {seed}: {pages} pages");
        }
    }
}

#[test]
fn time_may_pass_at_every_latch() {
    for kind in Kind::ALL {
        for seed in 1..=3 {
            run_virtually(seed, Settle::Always, Load { kind, ..LOAD });
        }
    }
}

#[test]
fn pages_come_and_go_in_a_small_pool() {
    for seed in 1..=5 {
        let load = Load {
            frames: 500,
            kind: Kind::Rows,
            numbers: 400,
            ..LOAD
        };
        run_virtually(seed, Settle::Lazy, load);
    }
}

#[test]
fn the_tree_latch_of_5_6_does_as_well() {
    for seed in 1..=4 {
        let load = Load {
            change_latch: LatchMode::X,
            ..LOAD
        };
        run_virtually(seed, Settle::Lazy, load);
    }
}

#[test]
fn a_seed_repeats_itself() {
    let first = run_virtually(5, Settle::Lazy, LOAD);
    assert_eq!(first, run_virtually(5, Settle::Lazy, LOAD));
    assert_ne!(first, run_virtually(6, Settle::Lazy, LOAD));
}

#[test]
fn real_threads_do_as_well() {
    for kind in Kind::ALL {
        let directory = tempfile::tempdir().unwrap();
        let load = Load {
            kind,
            steps: 1000,
            ..LOAD
        };
        run(directory.path(), load);
    }
}
