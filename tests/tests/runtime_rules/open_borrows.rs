//! Debug builds notice a `TaskCell` that stays borrowed while others may run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND};
use innosim_engine::runtime::{
    Event, LatchClass, Mutex, TaskCell, WaitKind, charge, settle, sleep, spawn,
};

use super::on_cores;

/// Runs `wait` with a borrow open, and another task around or not; returns what the
/// panic said, if there was one.
fn wait_with_a_borrow_open(alone: bool, wait: fn(&Arc<Mutex<()>>)) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| {
        on_cores(2, move || {
            let mutex = Arc::new(Mutex::new(LatchClass::Hot, ()));
            let held = mutex.clone();
            if !alone {
                spawn("other", move || {
                    let _guard = held.lock();
                    for _ in 0..100 {
                        charge(MICROSECOND);
                        settle();
                    }
                });
                sleep(MICROSECOND / 2, WaitKind::Other);
            }
            let cell = TaskCell::new(7);
            let borrow = cell.borrow();
            wait(&mutex);
            assert_eq!(*borrow, 7);
        });
    }));
    panic
        .err()
        .map(|payload| match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(_) => "another panic".into(),
        })
}

#[test]
fn a_borrow_that_is_open_at_a_suspend_is_a_bug() {
    let sleeping: fn(&Arc<Mutex<()>>) = |_| sleep(MICROSECOND, WaitKind::Other);
    let settling: fn(&Arc<Mutex<()>>) = |_| {
        charge(5 * MICROSECOND);
        settle();
    };
    let charging: fn(&Arc<Mutex<()>>) = |_| charge(25 * MICROSECOND);
    let waiting: fn(&Arc<Mutex<()>>) = |_| {
        let event = Event::new();
        event.wait(event.reset(), MILLISECOND, WaitKind::Other);
    };
    let latching: fn(&Arc<Mutex<()>>) = |mutex| drop(mutex.lock());
    for (name, wait, alone_too) in [
        ("sleep", sleeping, true),
        ("settle", settling, true),
        ("charge", charging, true),
        ("wait", waiting, true),
        // A free latch lets nobody else run.
        ("latch", latching, false),
    ] {
        for alone in [false, true] {
            let said = wait_with_a_borrow_open(alone, wait);
            let named = said.is_some_and(|text| text.contains("a borrow is open"));
            assert_eq!(named, alone_too || !alone, "{name}, alone: {alone}");
        }
    }
}
