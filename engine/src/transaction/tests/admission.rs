//! `innodb_thread_concurrency`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};

use super::super::{Admission, AdmissionSettings, Seat};
use super::virtually;
use crate::runtime::time::{MICROSECOND, MILLISECOND};
use crate::runtime::{WaitKind, now, sleep, spawn, stream};

fn admission(threads: usize, tickets: u64) -> Admission {
    Admission::new(AdmissionSettings {
        thread_concurrency: threads,
        tickets,
        sleep_delay: 10_000,
        max_sleep_delay: 150_000,
    })
}

#[test]
fn no_more_than_the_limit_are_inside() {
    virtually(4, || {
        let admission = Arc::new(admission(3, 5));
        let most = Arc::new(AtomicUsize::new(0));
        let users: Vec<_> = (0..12)
            .map(|number| {
                let (admission, most) = (admission.clone(), most.clone());
                spawn("user", move || {
                    let mut stream = stream(&format!("user {number}"));
                    let mut seat = Seat::default();
                    for _ in 0..20 {
                        admission.enter(&mut seat);
                        most.fetch_max(admission.inside(), Relaxed);
                        sleep(stream.below(300) * MICROSECOND, WaitKind::Other);
                        admission.leave_if_used_up(&mut seat);
                    }
                    admission.leave(&mut seat);
                })
            })
            .collect();
        for user in users {
            user.join();
        }
        assert_eq!(most.load(Relaxed), 3);
        assert_eq!((admission.inside(), admission.waiting()), (0, 0));
    });
}

#[test]
fn who_finds_no_seat_sleeps_and_comes_back_by_force_after_a_lock() {
    virtually(1, || {
        let admission = Arc::new(admission(1, 2));
        let (mut first, mut second) = (Seat::default(), Seat::default());
        admission.enter(&mut first);
        admission.enter_by_force(&mut second);
        assert_eq!(admission.inside(), 2, "over the limit");
        let inside = admission.outside(&mut second, || admission.inside());
        assert_eq!((inside, admission.inside()), (1, 2));
        admission.leave(&mut second);
        let late = {
            let admission = admission.clone();
            spawn("late", move || {
                let mut seat = Seat::default();
                admission.enter(&mut seat);
                let entered = now();
                admission.leave(&mut seat);
                entered
            })
        };
        sleep(MILLISECOND, WaitKind::Other);
        assert_eq!(admission.waiting(), 1);
        admission.leave(&mut first);
        // The first delay halved when the first user came in.
        let entered = late.join();
        assert!((5 * MILLISECOND..5 * MILLISECOND + 10 * MICROSECOND).contains(&entered));
    });
}

#[test]
fn without_a_limit_nothing_is_counted() {
    let admission = admission(0, 5);
    let mut seat = Seat::default();
    admission.enter(&mut seat);
    assert!(!seat.is_inside() && admission.inside() == 0);
}

#[test]
fn once_the_waits_have_ended_everybody_gets_in() {
    virtually(4, || {
        let admission = Arc::new(admission(1, 5));
        let mut never_left = Seat::default();
        admission.enter(&mut never_left);
        let waiting = {
            let admission = admission.clone();
            spawn("user", move || admission.enter(&mut Seat::default()))
        };
        sleep(100 * MILLISECOND, WaitKind::Other);
        assert_eq!((admission.inside(), admission.waiting()), (1, 1));
        admission.end_waits();
        waiting.join();
        admission.enter(&mut Seat::default());
        assert_eq!((admission.inside(), admission.waiting()), (3, 0));
    });
}
