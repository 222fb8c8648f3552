//! What is started for which runs.

use serde_json::json;

use super::super::sample;
use super::*;

fn cells() -> Vec<Cell> {
    let cell = |threads: &str, pages: &str| {
        let mut cell = sample::cell(json!({"threads": threads, "pages": pages}), &[], 2);
        cell.setup.arguments.threads = Some(threads.into());
        cell.changed = vec![format!("innodb_doublewrite_pages={pages}")];
        cell
    };
    vec![cell("16", "128"), cell("64", "128"), cell("16", "16")]
}

fn warm(cells: &mut [Cell]) {
    for cell in cells {
        cell.setup.length.warm_state = Some(WarmState {
            settle_s: 5.0,
            until_steady: true,
        });
    }
}

fn wanted(cell: usize, seed: u64) -> Wanted {
    Wanted {
        cell,
        seed,
        key: String::new(),
    }
}

/// Room for four processes.
const MEANS: Means = Means {
    jobs: 3,
    memory: 12 << 30,
    process: 2 << 30,
    images: 16 << 30,
    disk: 1 << 40,
};

fn of(cells: &[Cell], wanted: &[Wanted], means: &Means) -> Vec<Job> {
    let arguments = cells[0].setup.arguments.clone();
    jobs(cells, &arguments, wanted.to_vec(), means)
}

fn call(job: &Job) -> String {
    let words = job.call.command_line();
    let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
    words.join(" ")
}

#[test]
fn cells_that_begin_alike_are_one_group() {
    let cells = cells();
    let numbers: Vec<_> = groups(&cells)
        .into_iter()
        .map(|group| group.cells)
        .collect();
    assert_eq!(numbers, [vec![0, 2], vec![1]]);
}

#[test]
fn without_a_warm_state_each_run_is_a_call_of_its_own() {
    let cells = cells();
    let jobs = of(&cells, &[wanted(0, 1), wanted(2, 5)], &MEANS);
    assert_eq!(
        call(&jobs[1]),
        "run --set=innodb_doublewrite_pages=16 --threads=16 --time=2 --warmup-time=1 --seed=5 \
         --json=-"
    );
    assert_eq!(jobs[0].labels, ["threads=16 pages=128 seed=1"]);
    assert_eq!(jobs[0].weights, [3.0 * cells[0].expected_tps]);
    assert_eq!((jobs.len(), jobs[0].processes), (2, 1));
}

#[test]
fn runs_of_one_warm_state_are_one_process_that_forks() {
    let mut cells = cells();
    warm(&mut cells);
    let runs = [wanted(0, 1), wanted(0, 2), wanted(2, 1)];
    let jobs = of(&cells, &runs, &MEANS);
    let [job] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!(
        call(job),
        "futures --threads=16 --time=2 --warmup-time=1 --seed=1 \
         --future=seed=1,innodb_doublewrite_pages=128 \
         --future=seed=2,innodb_doublewrite_pages=128 \
         --future=seed=1,innodb_doublewrite_pages=16 --settle-time=5 --until-steady --jobs=3 \
         --image-memory=1024"
    );
    // The warm-up, of a second, is the first one's.
    assert_eq!(job.weights, [800.0, 700.0, 700.0]);
    assert_eq!((job.processes, job.memory), (3, 12 << 30));
}

#[test]
fn no_more_are_forked_than_memory_allows() {
    let mut cells = cells();
    warm(&mut cells);
    let runs = [wanted(0, 1), wanted(2, 1)];
    let with_disk = |memory: u64, images: u64, disk: u64| {
        let means = Means {
            memory: memory << 30,
            images: images << 30,
            disk: disk << 30,
            ..MEANS
        };
        let jobs = of(&cells, &runs, &means);
        (jobs.len(), jobs[0].processes, call(&jobs[0]))
    };
    let with = |memory, images| with_disk(memory, images, 1024);
    let (jobs, processes, words) = with(20, 16);
    assert_eq!((jobs, processes), (1, 2));
    let images = (20 << 10) / 3 - 2048;
    assert!(
        words.ends_with(&format!("--image-memory={images}")),
        "{words}"
    );
    // All data in the pool: one child beside its parent, and another group beside both.
    let (_, processes, words) = with(8, 0);
    assert_eq!(processes, 1);
    assert!(words.ends_with("--image-memory=512"), "{words}");
    let (_, processes, _) = with(6, 1);
    assert_eq!(processes, 1);
    let (_, processes, _) = with_disk(20, 16, 47);
    assert_eq!(processes, 1, "disk for two");
    assert_eq!(with_disk(20, 16, 31).0, 2, "disk for one");
    // Not even one beside its parent: each warms up for itself, to the same end.
    let (jobs, _, words) = with(4, 1);
    assert_eq!(jobs, 2);
    assert_eq!(
        words,
        "futures --threads=16 --time=2 --warmup-time=1 --seed=1 \
         --future=seed=1,innodb_doublewrite_pages=128 --settle-time=5 --until-steady"
    );
    // One that is left of a group needs no second process.
    let jobs = of(&cells, &runs[..1], &MEANS);
    assert_eq!((call(&jobs[0]), jobs[0].processes), (words, 1));
}

#[test]
fn a_warm_up_has_to_be_as_long_as_pages_stay_dirty() {
    let mut cells = cells();
    let needed = |cells: &[Cell], dirty: f64| {
        let mut run = sample::run();
        run.validity.dirty_to_flush_s = Some(dirty);
        let measured = Measured {
            warm_up_s: 1.0,
            run,
        };
        needed_warm_up_s(&measured, cells[0].setup.length)
    };
    assert_eq!(needed(&cells, 100.0), 1.0);
    warm(&mut cells);
    assert_eq!((needed(&cells, 100.0), needed(&cells, 0.1)), (300.0, 1.0));
}
