use super::*;
use crate::runtime::time::{MICROSECOND, SECOND};

fn profile(sockets: u32, cores: u32, smt: u32) -> CpuProfile {
    CpuProfile {
        sockets,
        cores_per_socket: cores,
        threads_per_core: smt,
        smt_rate: vec![1.0, 0.625],
        ..CpuProfile::uniform(1)
    }
}

#[test]
fn a_charge_in_flight_is_retimed_when_its_sibling_starts_and_stops() {
    let mut cpu = Processor::new(&profile(1, 1, 2));
    cpu.occupy(0, 0, 1);
    cpu.start(0, 0, 10 * MICROSECOND * FULL_SPEED, 0);
    assert_eq!(cpu.next_completion(), (10 * MICROSECOND, 0));
    // 4 µs alone, then 1.6 µs side by side do one microsecond of work.
    cpu.occupy(4 * MICROSECOND, 1, 2);
    cpu.start(4 * MICROSECOND, 1, MICROSECOND * FULL_SPEED, 0);
    let (end, thread) = cpu.next_completion();
    assert_eq!(thread, 1);
    assert!(end.abs_diff(4 * MICROSECOND + 1_600_000) <= 2, "{end}");
    cpu.vacate(end, 1);
    let (end, thread) = cpu.next_completion();
    assert_eq!(thread, 0);
    assert!(end.abs_diff(10 * MICROSECOND + 600_000) <= 2, "{end}");
}

#[test]
fn a_charge_of_an_hour_beside_a_busy_sibling_does_not_overflow() {
    let mut cpu = Processor::new(&profile(1, 1, 2));
    cpu.occupy(0, 0, 1);
    cpu.occupy(0, 1, 2);
    cpu.start(0, 0, 3600 * SECOND * FULL_SPEED, 0);
    let (end, _) = cpu.next_completion();
    assert!(end.abs_diff(5760 * SECOND) < SECOND, "{end}");
    let (left, _) = cpu.stop(2880 * SECOND, 0);
    assert!(left.abs_diff(1800 * SECOND * FULL_SPEED) < SECOND * FULL_SPEED);
}

#[test]
fn frequency_falls_with_active_cores() {
    let mut profile = profile(1, 2, 1);
    profile.turbo = vec![(1, 1.0), (2, 0.75)];
    let mut cpu = Processor::new(&profile);
    cpu.occupy(0, 0, 1);
    cpu.start(0, 0, 10 * MICROSECOND * FULL_SPEED, 0);
    cpu.occupy(4 * MICROSECOND, 1, 2);
    cpu.start(4 * MICROSECOND, 1, 3 * MICROSECOND * FULL_SPEED, 0);
    // The second core does 3 µs of work in 4 µs; then the first speeds up.
    assert_eq!(cpu.next_completion(), (8 * MICROSECOND, 1));
    cpu.vacate(8 * MICROSECOND, 1);
    assert_eq!(cpu.next_completion(), (11 * MICROSECOND, 0));
}

#[test]
fn charges_that_end_together_survive_the_change_of_frequency_at_their_end() {
    let mut profile = profile(1, 3, 1);
    profile.turbo = vec![(1, 1.0), (3, 0.7)];
    let mut cpu = Processor::new(&profile);
    for thread in 0..3 {
        cpu.occupy(0, thread, thread as u32);
    }
    for thread in 0..3 {
        cpu.start(0, thread, 10 * MICROSECOND * FULL_SPEED, 0);
    }
    // 10 µs at 179/256 of full speed is no whole number of picoseconds, so the
    // work clock has passed the end of the other two when the first leaves.
    let (end, _) = cpu.next_completion();
    assert_eq!(end, (10 * MICROSECOND * 256).div_ceil(179));
    cpu.vacate(end, 0);
    assert_eq!(cpu.next_completion(), (end, 1));
    cpu.vacate(end, 1);
    assert_eq!(cpu.next_completion(), (end, 2));
}

#[test]
fn a_stall_lasts_as_long_as_it_lasts_whatever_the_frequency() {
    let mut profile = profile(1, 3, 1);
    profile.turbo = vec![(1, 1.0), (2, 0.5), (3, 0.25)];
    let mut cpu = Processor::new(&profile);
    let us = MICROSECOND;
    cpu.occupy(0, 0, 1);
    cpu.occupy(0, 1, 2);
    // 4 µs of stall, then 3 µs of work at full speed.
    cpu.start(0, 0, 3 * us * FULL_SPEED, 4 * us);
    assert_eq!(cpu.next_completion(), (10 * us, 0));
    cpu.vacate(us, 1);
    assert_eq!(cpu.next_completion(), (7 * us, 0));
    cpu.occupy(2 * us, 1, 2);
    cpu.occupy(3 * us, 2, 3);
    assert_eq!(cpu.next_completion(), (16 * us, 0));
    assert_eq!(cpu.left(3 * us, 0), (3 * us * FULL_SPEED, us));
    // The stall is over at 4 µs, and a quarter of a microsecond of work is done.
    cpu.vacate(5 * us, 2);
    assert_eq!(cpu.next_completion(), (5 * us + 5 * us + us / 2, 0));
    assert_eq!(cpu.left(5 * us, 0), (11 * us / 4 * FULL_SPEED, 0));
}

#[test]
fn idle_cores_are_filled_before_idle_siblings_and_the_last_place_is_preferred() {
    let mut cpu = Processor::new(&profile(2, 2, 2));
    // A new task goes to the emptiest socket, a whole core first.
    assert_eq!(cpu.choose_idle(None, None), Some(0));
    cpu.occupy(0, 0, 1);
    assert_eq!(cpu.choose_idle(None, None), Some(4));
    cpu.occupy(0, 4, 2);
    assert_eq!(cpu.choose_idle(None, None), Some(2));
    cpu.occupy(0, 2, 3);
    // Thread 3 is idle, but its core is not: a whole core elsewhere wins.
    assert_eq!(cpu.choose_idle(Some(3), None), Some(6));
    cpu.occupy(0, 6, 4);
    assert_eq!(cpu.choose_idle(Some(3), None), Some(3));
    assert_eq!(cpu.choose_idle(Some(0), None), Some(1));
    for (thread, task) in [(1, 5), (3, 6), (5, 7), (7, 8)] {
        cpu.occupy(0, thread, task);
    }
    assert_eq!(cpu.choose_idle(Some(0), None), None);
    cpu.vacate(0, 5);
    assert_eq!(cpu.choose_idle(Some(0), None), Some(5));
}

#[test]
fn slices_end_in_the_order_in_which_they_began() {
    let mut cpu = Processor::new(&profile(1, 2, 1));
    cpu.occupy(10, 0, 1);
    cpu.occupy(20, 1, 2);
    assert_eq!(cpu.next_slice_end(), NEVER);
    cpu.enqueue(25, 3);
    assert_eq!(
        (cpu.next_slice_end(), cpu.oldest_slice()),
        (10 + cpu.slice, 0)
    );
    cpu.replace(30, 0, 3);
    assert_eq!(
        (cpu.next_slice_end(), cpu.oldest_slice()),
        (20 + cpu.slice, 1)
    );
    cpu.vacate(40, 1);
    assert_eq!(
        (cpu.next_slice_end(), cpu.oldest_slice()),
        (30 + cpu.slice, 0)
    );
}
