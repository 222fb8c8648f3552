//! What needs a process of its own: memory after crash cuts, and ways to die.

use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;

use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::time::{MICROSECOND, NEVER, SECOND};
use innosim_engine::runtime::virtual_clock::{Outcome, Simulation};
use innosim_engine::runtime::{
    self, Event, LatchClass, Mutex, RwLock, WaitKind, charge, sleep, spawn,
};
use innosim_tests::child;

use super::simulation;

// ---- memory ---------------------------------------------------------------------

/// Pages of this process in memory (proc(5), statm).
fn resident_pages() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("/proc is mounted");
    let resident = statm
        .split(' ')
        .nth(1)
        .expect("the second field is `resident`");
    resident.parse().expect("a number of pages")
}

/// Cuts the power while 40 tasks with data on the heap wait in all ways.
fn cut_once(simulation: &mut Simulation, leak: bool) {
    let cut_at = simulation.now() + 100 * MICROSECOND;
    let outcome = simulation.run_until(cut_at, move || {
        let latch = Arc::new(Mutex::new(LatchClass::Hot, 0_u64));
        let tree = Arc::new(RwLock::new(LatchClass::IndexTree, 0_u64));
        let event = Arc::new(Event::new());
        for number in 0..40_u64 {
            let (latch, tree, event) = (latch.clone(), tree.clone(), event.clone());
            spawn(&format!("task {number}"), move || {
                let mut stream = runtime::stream(&format!("task {number}"));
                let data: Vec<Box<[u64]>> = (0..16)
                    .map(|i| vec![i + number; 64].into_boxed_slice())
                    .collect();
                if leak {
                    std::mem::forget(data[0].clone());
                }
                let mut sum = 0;
                loop {
                    charge(stream.below(10 * MICROSECOND));
                    sum += data[stream.below(16) as usize][7];
                    match stream.below(5) {
                        0 => {
                            *latch.lock() += sum;
                            charge(MICROSECOND);
                        }
                        1 => sum += *tree.read(),
                        2 => *tree.write() += sum,
                        3 => {
                            let count = event.reset();
                            event.wait(count, 20 * MICROSECOND, WaitKind::Other);
                        }
                        _ => sleep(stream.below(10 * MICROSECOND), WaitKind::Other),
                    }
                    event.set();
                }
            });
        }
        let count = event.reset();
        loop {
            event.wait(count, NEVER, WaitKind::Other);
            sleep(SECOND, WaitKind::Other);
        }
    });
    assert!(matches!(outcome, Ok(Outcome::PowerCut)));
}

/// Resident pages after 100 and after 1,000 cuts, ten to a simulation.
fn memory_over_a_thousand_cuts(leak: bool) -> (u64, u64) {
    let mut after_100 = 0;
    for hundreds in 1..=10 {
        for _ in 0..10 {
            let mut simulation = simulation(CpuProfile {
                time_slice_us: 10.0,
                wake_latency_us: 2.0,
                ..CpuProfile::uniform(8)
            });
            for _ in 0..10 {
                cut_once(&mut simulation, leak);
            }
        }
        if hundreds == 1 {
            after_100 = resident_pages();
        }
    }
    (after_100, resident_pages())
}

#[test]
fn a_thousand_crash_cuts_leave_memory_where_a_hundred_left_it() {
    const NAME: &str = "processes::a_thousand_crash_cuts_leave_memory_where_a_hundred_left_it";
    if let Some(task) = child::task() {
        let (before, after) = memory_over_a_thousand_cuts(task == "leak");
        println!("\nresident pages {before} {after}");
        return;
    }
    let grown = |task: &str| {
        let output = child::run(child::command(NAME, task));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("resident pages "))
            .expect("the child reports its memory");
        let pages: Vec<f64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
        pages[1] / pages[0] - 1.0
    };
    let kept = grown("keep");
    assert!(
        kept < 0.05,
        "the resident set grew by {:.1} %",
        100.0 * kept
    );
    // The measure notices tasks that leave half a KiB behind.
    let leaked = grown("leak");
    assert!(leaked > 1.0, "18 MB leaked, seen: {:.1} %", 100.0 * leaked);
}

// ---- stack overflow -------------------------------------------------------------

#[expect(unconditional_recursion, reason = "this is the test")]
fn eat_stack(depth: u64) -> u64 {
    let page = std::hint::black_box([depth; 64]);
    eat_stack(depth + 1) + std::hint::black_box(page)[7]
}

/// Runs this test as a child that is expected to die; returns how, and what it said.
fn death(name: &str, task: &str) -> (Option<i32>, String) {
    let output = child::command(name, task)
        .output()
        .expect("the child starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.signal(), text)
}

const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;

#[test]
fn a_stack_overflow_names_its_task() {
    const NAME: &str = "processes::a_stack_overflow_names_its_task";
    if let Some(name) = child::task() {
        let _ = simulation(CpuProfile::uniform(2)).run(move || {
            let glutton = spawn(&name, || {
                charge(MICROSECOND);
                eat_stack(0)
            });
            spawn("bystander", || sleep(SECOND, WaitKind::Other));
            glutton.join()
        });
        return;
    }
    for task in ["glutton", "page cleaner 3"] {
        let (signal, text) = death(NAME, task);
        let message = format!("task {task} has overflowed its stack\n");
        assert!(text.contains(&message), "{text}");
        assert_eq!(signal, Some(SIGABRT), "{text}");
    }
}

#[test]
fn another_fault_is_not_taken_for_a_stack_overflow() {
    const NAME: &str = "processes::another_fault_is_not_taken_for_a_stack_overflow";
    if child::task().is_some() {
        let _ = simulation(CpuProfile::uniform(1)).run(|| {
            let nowhere: *const u64 = std::ptr::without_provenance(4096);
            // SAFETY: none; the process is meant to die of this.
            std::hint::black_box(unsafe { std::ptr::read_volatile(nowhere) })
        });
        return;
    }
    let (signal, text) = death(NAME, "fault");
    assert!(!text.contains("overflowed"), "{text}");
    assert_eq!(signal, Some(SIGSEGV), "{text}");
}

// ---- latches in destructors -------------------------------------------------------

/// A value whose destructor wants a latch.
struct Greedy(Arc<Mutex<()>>);

impl Drop for Greedy {
    fn drop(&mut self) {
        drop(self.0.lock());
    }
}

#[test]
fn a_destructor_that_wants_a_held_latch_while_it_unwinds_ends_the_process() {
    const NAME: &str =
        "processes::a_destructor_that_wants_a_held_latch_while_it_unwinds_ends_the_process";
    if let Some(task) = child::task() {
        let mut simulation = simulation(CpuProfile::uniform(2));
        let outcome = simulation.run_until(10 * MICROSECOND, move || {
            let latch = Arc::new(Mutex::new(LatchClass::TrxSys, ()));
            let wanted = latch.clone();
            spawn("greedy", move || {
                let _greedy = Greedy(wanted);
                sleep(2 * MICROSECOND, WaitKind::Other);
                assert_ne!(task, "panic");
                sleep(SECOND, WaitKind::Other);
            });
            // A task of a higher number is unwound later, and holds it until then.
            let holder = spawn("holder", move || {
                let _guard = latch.lock();
                sleep(SECOND, WaitKind::Other);
            });
            holder.join();
        });
        drop(outcome);
        return;
    }
    // Neither waiting nor going on is possible: the one would let others run in the
    // middle of an unwinding, the other would give out what another task holds.
    for task in ["panic", "cut"] {
        let (signal, text) = death(NAME, task);
        let message = "task greedy waits for trx_sys_mutex in a destructor while it unwinds";
        assert!(text.contains(message), "{text}");
        assert_eq!(signal, Some(SIGABRT), "{text}");
    }
}
