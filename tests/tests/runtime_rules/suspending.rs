//! What a task pays before it ends, and cells that are borrowed between its suspends.

use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::time::{MICROSECOND, Time};
use innosim_engine::runtime::{TaskCell, charge, now, settle, spawn};

use super::{on_cores, simulation};

#[test]
fn a_task_pays_its_debt_before_it_ends() {
    let mut simulation = simulation(CpuProfile::uniform(1));
    let end = simulation.run(|| {
        charge(5 * MICROSECOND);
        now()
    });
    assert_eq!(end.unwrap(), 5 * MICROSECOND);
    assert_eq!(simulation.now(), 5 * MICROSECOND);
}

#[test]
fn a_task_does_not_begin_before_its_parent_has_spawned_it() {
    let born = on_cores(2, || {
        charge(5 * MICROSECOND);
        let child = spawn("child", now);
        charge(7 * MICROSECOND);
        child.join()
    });
    assert_eq!(born, 5 * MICROSECOND);
}

#[test]
fn waking_the_task_that_joins_costs_the_one_that_ends() {
    let cpu = CpuProfile {
        wake_call_us: 2.0,
        ..CpuProfile::uniform(1)
    };
    // One core: main runs when the ended task has paid for waking it.
    let end = simulation(cpu).run(|| {
        spawn("child", || charge(MICROSECOND)).join();
        now()
    });
    assert_eq!(end.unwrap(), 3 * MICROSECOND);
}

#[test]
fn a_borrow_that_is_closed_before_the_suspend_is_none() {
    // Two tasks borrow the same cell in turn, each giving way between its borrows.
    let order = on_cores(2, || {
        let cell = std::rc::Rc::new(TaskCell::new(Vec::new()));
        struct OneThread(std::rc::Rc<TaskCell<Vec<Time>>>);
        // SAFETY: the tasks of a simulation share one OS thread.
        unsafe impl Send for OneThread {}
        impl OneThread {
            fn note(&self) {
                for _ in 0..3 {
                    self.0.borrow().push(now());
                    charge(MICROSECOND);
                    settle();
                }
            }
        }
        let (mine, other) = (OneThread(cell.clone()), OneThread(cell));
        let task = spawn("other", move || other.note());
        mine.note();
        task.join();
        mine.0.borrow().clone()
    });
    let us = MICROSECOND;
    assert_eq!(order, [0, 0, us, us, 2 * us, 2 * us]);
}

#[test]
#[should_panic(expected = "a TaskCell is already borrowed")]
fn a_second_borrow_is_a_bug() {
    let cell = TaskCell::new(0);
    let _first = cell.borrow();
    let _second = cell.borrow();
}
